/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_BACKEND_H
#define OFFLOAD_BACKEND_H 1

/* Interfaces that the offload engine needs
 * ========================================
 *
 * A flow may have a copy in the kernel datapath and one in tc.  The engine
 * (offload.h) decides which copies there are.  Two interfaces make, read and
 * delete them, so that the engine can be tested without a kernel and does not
 * depend on dpif and netdev:
 *
 *   - struct offload_kernel, the kernel datapath.  Called by the threads of
 *     the users (handlers, revalidators, main) and by offload threads;
 *
 *   - struct offload_backend, tc.  Only offload threads change it; users read
 *     it, too.  A change may take long.  As offload threads have no pointers
 *     that RCU guards (ovs-rcu.h), the backend should wait in a quiescent
 *     state.  Users may have such pointers.
 *
 * Both carry out batches of operations in the order of the array.  Several
 * threads may call them at the same time.  The engine never has two operations
 * on one flow in progress on the same side, except that OFFLOAD_COPY_GET may
 * run at the same time as any other operation.
 *
 * Descriptions
 * ------------
 *
 * A description has a flow's match and actions as netlink attributes, which
 * the engine does not look into, and the little that the engine has to know.
 * It is constant and has a reference count.  Two descriptions of the same flow
 * are the same version of it only if they are the same object.
 *
 * Rules
 * -----
 *
 * What the backend has to know about a rule in tc, such as its name there, is
 * in a structure of the backend that starts with struct offload_rule.  The
 * engine stores it with the flow and passes it with each operation on the
 * copy, so that neither side has to look it up by ufid.  The engine does not
 * look into it.
 *
 *   - The backend creates it, blank, with 'create_rule' for a put, or when it
 *     finds a rule ('dump').  OFFLOAD_COPY_PUT fills it in before tc has the
 *     rule, as packets may use the rule before the put has returned.
 *     OFFLOAD_COPY_DEL ends it.
 *
 *   - It has a reference count.  The flow has a reference from before the put
 *     is sent until the copy is known to be gone.  A thread that reads the
 *     copy or lists rules has one meanwhile.  Giving up the last reference
 *     destroys the structure; if the rule was not deleted by then, it stays in
 *     tc.
 *
 *   - The engine guards the flow's pointer.  The backend guards the content of
 *     the structure: several threads read it while one changes it.
 *
 * Statistics
 * ----------
 *
 * A copy counts from when it was made.  No one can read its counters after
 * OFFLOAD_COPY_DEL has reported them.  For most copies the report is complete,
 * but Linux does not read the statistics and remove the copy in one step:
 *
 *   - tfilter_del_notify() fills in the statistics of a rule just before it
 *     removes the rule;
 *
 *   - ovs_flow_cmd_del() does the same with a flow (as of Linux 6.1; other
 *     versions take the flow out of its table first, while other CPUs may be
 *     about to add a packet to its counters).
 *
 * Packets that use the copy in between are not counted. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/compiler.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"

/* All zeros means that no packet was ever counted. */
struct offload_stats {
    uint64_t n_packets;
    uint64_t n_bytes;
    long long int used;         /* Last use, like time_msec(); 0 if never.  tc
                                 * may also report 0 if it does not know: the
                                 * engine then uses the time at which it sees
                                 * that there were more packets. */
    uint16_t tcp_flags;
};

void offload_stats_add(struct offload_stats *, const struct offload_stats *);

struct offload_desc {
    atomic_uint n_refs;
    ovs_u128 ufid;
    uint32_t in_port;           /* Datapath port that its packets come from. */
    uint32_t recirc_id;         /* Chain that it is part of; 0 is the first. */
    uint32_t kind;              /* A hash of everything for which a device may
                                 * reject a flow: which bits it matches on, in
                                 * which protocols, types of actions, output
                                 * ports, meters, ends of tunnels.  When flows
                                 * of a kind and port are rejected, others are
                                 * not tried, though a device might accept one
                                 * because of another value, or if hashes
                                 * collide (offload-port.h).  0 if unknown:
                                 * always tried. */
    uint32_t spread;            /* A hash by which flows of a port are spread
                                 * over threads.  Flows that match the same
                                 * packets by the same fields, whose rules
                                 * conflict, have the same hash.  0 if the flow
                                 * belongs to the thread of its port, like all
                                 * flows with chains. */
    bool has_meter;             /* Its actions name meters. */
    bool is_partial;            /* It describes a rule of a previous run that
                                 * its backend cannot translate.  Only 'ufid'
                                 * and 'in_port' are known. */
    const uint32_t *outputs;    /* Ports that its actions send to. */
    size_t n_outputs;
    const uint32_t *children;   /* Chains that its actions recirculate to. */
    size_t n_children;
    const void *key;            /* Netlink attributes. */
    size_t key_len;
    const void *mask;
    size_t mask_len;
    const void *actions;
    size_t actions_len;
};

/* Creation copies everything. */
struct offload_desc *offload_desc_create(const struct offload_desc *);
struct offload_desc *offload_desc_ref(const struct offload_desc *);
void offload_desc_unref(struct offload_desc *);

/* A rule in tc, as its backend knows it. */
struct offload_rule {
    atomic_uint n_refs;
    void (*destroy)(struct offload_rule *);
};

void offload_rule_init(struct offload_rule *,
                       void (*destroy)(struct offload_rule *));
struct offload_rule *offload_rule_ref(const struct offload_rule *);
void offload_rule_unref(struct offload_rule *);

/* Where a rule in tc is executed. */
enum OVS_PACKED_ENUM offload_hw {
    OFFLOAD_HW_UNKNOWN,         /* The rule was not read yet. */
    OFFLOAD_HW_NONE,            /* Only in tc's software. */
    OFFLOAD_HW_PARTLY,          /* By fewer devices than other rules of its
                                 * place, such as one of two members of a
                                 * bond. */
    OFFLOAD_HW_ALL,
    OFFLOAD_N_HW
};

static inline bool
offload_in_hw(enum offload_hw hw)
{
    return hw >= OFFLOAD_HW_PARTLY;
}

enum offload_copy_type {
    OFFLOAD_COPY_PUT,
    OFFLOAD_COPY_DEL,
    OFFLOAD_COPY_GET,
};

/* For OFFLOAD_COPY_PUT in the kernel.  tc is sent a put only if it has no
 * copy. */
#define OFFLOAD_PUT_CREATE (1u << 0)        /* It may be new. */
#define OFFLOAD_PUT_MODIFY (1u << 1)        /* It may exist. */
#define OFFLOAD_PUT_ZERO_STATS (1u << 2)    /* Its statistics start again. */

/* An operation on one copy of a flow. */
struct offload_copy_op {
    enum offload_copy_type type;
    unsigned int flags;         /* OFFLOAD_PUT_*. */
    ovs_u128 ufid;
    const struct offload_desc *desc;    /* Not NULL for OFFLOAD_COPY_PUT; for
                                         * others only if it is known. */
    struct offload_rule *rule;  /* tc only: the rule of the copy.  A blank one
                                 * for OFFLOAD_COPY_PUT. */
    void *cookie;               /* Kernel only: from the user's operation that
                                 * this is a part of, or NULL. */

    /* Results. */
    int error;                  /* 0 or a positive errno value: ENOENT if there
                                 * is no such copy. */
    const char *why;            /* PUT, tc: the reason for 'error', or without
                                 * an error why cards may skip the rule, or
                                 * NULL.  Never freed. */
    struct offload_stats stats; /* DEL, GET: statistics of the copy. */
    enum offload_hw hw;         /* GET, tc. */
};

/* The kernel datapath. */
struct offload_kernel {
    void (*operate)(void *aux, struct offload_copy_op *ops[], size_t n);

    /* Deletes all flows.  Returns 0 or a positive errno value. */
    int (*flush)(void *aux);

    /* Have there been more flows than the user wants since the last call, so
     * that idle ones are deleted early?  Called by one thread.  NULL if that
     * is unknown. */
    bool (*is_crowded)(void *aux);

    void *aux;
};

/* Where the rules of a port are.  The backend can find them there even if the
 * port has gone, or another port has its number. */
struct offload_place {
    uint32_t data[4];           /* The engine does not look into it. */
};

/* Called by the backend for each rule that it finds.  The callee gets a
 * reference to 'desc', which describes the rule and is NULL if the rule should
 * not stay or a description was not requested, and to 'rule', which is never
 * NULL. */
typedef void offload_dump_cb(void *cb_aux, const ovs_u128 *ufid,
                             struct offload_desc *desc,
                             const struct offload_stats *,
                             struct offload_rule *rule);

/* Called by the backend for a rule of flow 'ufid' that it has listed. */
typedef void offload_list_cb(void *cb_aux, const ovs_u128 *ufid,
                             const void *listed);

/* Called by the backend before it lists 'place', where 'port', maybe a port of
 * another datapath, has its rules, or UINT32_MAX if no port has.  Returns true
 * if each rule there belongs to a flow or is an orphan, and false if the list
 * is to end. */
typedef bool offload_is_known_cb(void *cb_aux, uint32_t port,
                                 const struct offload_place *place);

/* tc.  The stock translation is one backend; our own encoder could be another.
 *
 * Errors of OFFLOAD_COPY_PUT.  After any of them tc is unchanged:
 *
 *     EOPNOTSUPP  the device does not know a match or an action
 *     ENOSPC      the device's tables are full
 *     ENODEV      the device is gone
 *     EEXIST      a rule of another program is in the way
 *     others      something else; may go away by itself */
struct offload_backend {
    /* Returns a blank rule with one reference, for the caller. */
    struct offload_rule *(*create_rule)(void *aux);

    void (*operate)(void *aux, struct offload_copy_op *ops[], size_t n);

    /* Calls 'cb' for those rules of ours for which a list is better than
     * OFFLOAD_COPY_GET, as far as possible.  Its argument 'listed' is for
     * 'take', and valid during the call.  Only 'exact' requires the times of
     * last use.  NULL if there are no such rules. */
    void (*list)(void *aux, bool exact, offload_list_cb *cb, void *cb_aux);

    /* Calls 'cb' in the same way for each rule of ours in all places of tc,
     * including devices that are not ports, but not in places for which
     * 'is_known' returns false.  NULL if that is not possible. */
    void (*list_all)(void *aux, offload_is_known_cb *is_known,
                     offload_list_cb *cb, void *cb_aux);

    /* Returns true if 'listed' is 'rule', and then stores in '*stats' and
     * '*hw' what OFFLOAD_COPY_GET would.  Must not wait. */
    bool (*take)(void *aux, struct offload_rule *rule, const void *listed,
                 struct offload_stats *stats, enum offload_hw *hw);

    /* Returns the rule that 'listed', from 'list_all', is about, with a
     * reference for the caller, or NULL if it may be another program's.  Must
     * not wait. */
    struct offload_rule *(*name)(void *aux, const void *listed);

    /* Do 'a' and 'b' have the same name in tc? */
    bool (*is_same)(const struct offload_rule *a,
                    const struct offload_rule *b);

    /* Stores in '*place' where the rules with input port 'port' are.  Returns
     * false if there is no such port.  Must not wait for tc. */
    bool (*locate)(void *aux, uint32_t port, struct offload_place *place);

    /* Calls 'cb' for each rule of ours in 'place', where 'port' has or had its
     * rules.  With 'describe', which requires that the port exists, describes
     * the rules. */
    int (*dump)(void *aux, uint32_t port, const struct offload_place *place,
                bool describe, offload_dump_cb *cb, void *cb_aux);

    void *aux;
};

#endif /* lib/offload/offload-backend.h */
