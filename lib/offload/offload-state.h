/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_STATE_H
#define OFFLOAD_STATE_H 1

/* States of a flow
 * ================
 *
 * A flow of the offload engine has five states, each of which answers one
 * question.  They are independent in that each has transitions of its own;
 * all are guarded by the lock of the flow's stripe and changed by the setters
 * of offload-flow.h only.
 *
 *     life        is it there?             new -> present -> deleting -> gone
 *     kernel      has the kernel a copy?   none, present, refused
 *     tc          has tc a copy?           none, inserting, present
 *     target      where shall it be?       kernel, tc, nowhere
 *     work        what does its thread     idle, queued, busy, waiting,
 *                 do with it?              paused
 *
 * What users are shown, enum offload_state of offload-info.h, is derived from
 * these (offload_flow_state()).
 *
 * What is not a state but a fact of its own stays a boolean of the flow: that
 * somebody has claimed the kernel copy (a lock), that the kernel copy is to be
 * kept (a property of what the flow is), that the statistics of the rule do
 * not count (an order of the user), and that the rule was seen in a device (an
 * observation).  So does whether a waiting flow is still in the list of its
 * chain, which is guarded by another lock.  That the rule in tc is outdated is
 * not stored at all: it was made of another description than the flow has.
 *
 * offload.h shows what leads from one of these to another. */

#include "openvswitch/compiler.h"

enum OVS_PACKED_ENUM offload_life {
    OFFLOAD_LIFE_NEW,           /* In the table, not shown: being made. */
    OFFLOAD_LIFE_PRESENT,       /* In the table.  It has no copies for a moment
                                 * when its rule vanished, or is replaced while
                                 * the kernel refuses it, and until it is
                                 * deleted or changed if it is lost. */
    OFFLOAD_LIFE_DELETING,      /* Out of the table; maybe still in tc.  Comes
                                 * back if that lasts: see
                                 * offload_flow_report(). */
    OFFLOAD_LIFE_GONE,          /* Nothing is left to do. */
};

enum OVS_PACKED_ENUM offload_kernel_copy {
    OFFLOAD_KERNEL_NONE,
    OFFLOAD_KERNEL_PRESENT,
    OFFLOAD_KERNEL_REFUSED,     /* None, because the kernel has another flow
                                 * where this one would be. */
};

enum OVS_PACKED_ENUM offload_tc_copy {
    OFFLOAD_TC_NONE,
    OFFLOAD_TC_INSERTING,       /* May be there already, unknown to us. */
    OFFLOAD_TC_PRESENT,
};

enum OVS_PACKED_ENUM offload_target {
    OFFLOAD_TARGET_KERNEL,
    OFFLOAD_TARGET_TC,
    OFFLOAD_TARGET_NOWHERE,     /* Deleted; if it is present, lost. */
};

enum OVS_PACKED_ENUM offload_work {
    OFFLOAD_WORK_IDLE,
    OFFLOAD_WORK_QUEUED,        /* In the queue of the thread. */
    OFFLOAD_WORK_BUSY,          /* The thread is at it. */
    OFFLOAD_WORK_WAITING,       /* For a rule that recirculates to its chain:
                                 * in no queue. */
    OFFLOAD_WORK_PAUSED,        /* Until its thread tries again to delete the
                                 * rule, or until the flow of the same ufid
                                 * that was there before is gone: in no
                                 * queue. */
};

#endif /* lib/offload/offload-state.h */
