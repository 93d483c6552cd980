/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_FAKE_H
#define OFFLOAD_FAKE_H 1

/* A kernel datapath and a tc in memory
 * ====================================
 *
 * For tests and measurements of the offload engine.  Both sides count packets,
 * tc comes first, and one lock makes each operation on a copy atomic towards
 * packets, so that what the engine reports can be compared with the truth.
 *
 * As in tc, a copy there is found by its rule (struct offload_rule), not by
 * the ufid of its flow.
 *
 * Operations in tc can be slow, fail, or be held up until the test lets them
 * go; those in the kernel can fail.  The kernel refuses a new flow whose key,
 * in the same chain, is that of another one: it says EEXIST, or if the flow
 * might have been there ENOENT.  Delays are asleep like those of a system
 * call, outside of the lock.
 *
 * Thread safety: all functions but _create and _destroy may be called by any
 * thread at any time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/offload-backend.h"

struct offload_fake;

/* Where a flow is, or a packet went. */
#define OFFLOAD_FAKE_KERNEL (1u << 0)
#define OFFLOAD_FAKE_TC (1u << 1)

/* Decides whether the operation 'op', in tc or in the kernel, fails: returns 0
 * or a positive errno value. */
typedef int offload_fake_fail_cb(void *aux, bool tc,
                                 const struct offload_copy_op *op);

struct offload_fake *offload_fake_create(void);
void offload_fake_destroy(struct offload_fake *);

struct offload_kernel offload_fake_kernel(struct offload_fake *);
struct offload_backend offload_fake_backend(struct offload_fake *);

/* How long each operation in tc takes: from 'min' to 'max' microseconds, by
 * chance. */
void offload_fake_set_delay(struct offload_fake *, unsigned int min,
                            unsigned int max);
/* From now on there is a card, with room for 'n' rules.  Tc refuses others
 * (ENOSPC) if 'only_card', else has them in software. */
void offload_fake_set_card(struct offload_fake *, unsigned int n,
                           bool only_card);
void offload_fake_set_fail(struct offload_fake *, offload_fake_fail_cb *,
                           void *aux);

/* Makes the next 'n' operations of 'type' on one side fail with 'error'.  The
 * failure is copied, since an offload thread reads it, and replaces the one
 * before. */
struct offload_fake_failure {
    bool tc;
    enum offload_copy_type type;
    int error;
    uint32_t n;
};

void offload_fake_fail_next(struct offload_fake *,
                            const struct offload_fake_failure *);

/* Holds up operations that change tc, before they do anything or before they
 * return, until they are let go.  To wait until 'n' are held up. */
void offload_fake_hold(struct offload_fake *);
void offload_fake_hold_returns(struct offload_fake *);
void offload_fake_release(struct offload_fake *);
void offload_fake_wait_held(struct offload_fake *, unsigned int n);

/* A packet of 'n_bytes' meets the flow of 'ufid'.  Returns where it went, 0 if
 * the flow was nowhere. */
unsigned int offload_fake_packet(struct offload_fake *, const ovs_u128 *ufid,
                                 unsigned int n_bytes);

/* Where the flow of 'ufid' is. */
unsigned int offload_fake_where(struct offload_fake *, const ovs_u128 *ufid);

/* What the copy in tc was made of: a reference for the caller, or NULL. */
struct offload_desc *offload_fake_rule(struct offload_fake *,
                                       const ovs_u128 *ufid);
size_t offload_fake_count(struct offload_fake *, bool tc);

/* What others do: put a copy there, or take one away. */
void offload_fake_add(struct offload_fake *, bool tc,
                      const struct offload_desc *);
void offload_fake_remove(struct offload_fake *, bool tc, const ovs_u128 *ufid);

/* Holds up operations in tc on the flow of 'ufid' only, until NULL is
 * given. */
void offload_fake_hold_flow(struct offload_fake *, const ovs_u128 *ufid);

/* From this number on, ports are devices that are none of a datapath. */
#define OFFLOAD_FAKE_NO_PORT 1000

/* Holds up lists of all rules, after they have been made and before they are
 * told, until offload_fake_release(). */
void offload_fake_hold_lists(struct offload_fake *);

/* Calls 'cb' for each copy, with the statistics that it has at the time, and
 * references to what it was made of and, in tc, to its rule.  Copies that come
 * or go meanwhile may be missed. */
void offload_fake_dump(struct offload_fake *, bool tc, offload_dump_cb *,
                       void *cb_aux);

/* Operations in tc so far, and calls of the backend that they came in. */
void offload_fake_get_load(struct offload_fake *, uint64_t *n_ops,
                           uint64_t *n_calls);

#endif /* tests/fake/offload-fake.h */
