/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_BACKEND_H
#define OFFLOAD_BACKEND_H 1

/* What the offload engine needs of others
 * =======================================
 *
 * A flow may have a copy in the kernel datapath and one in tc.  The engine
 * (offload.h) decides which copies there are; to make, read and delete them is
 * up to two interfaces, so that it can be tested without a kernel, and without
 * knowledge of dpif and netdev:
 *
 *   - struct offload_kernel, the kernel datapath.  Called by the threads of
 *     the users (handlers, revalidators, main) and by offload threads;
 *
 *   - struct offload_backend, tc.  Changed by offload threads only; read by
 *     users, too.  A change may take long: as the threads have no pointers
 *     that RCU guards (ovs-rcu.h), it should be waited for in a quiescent
 *     state.  Users may have some.
 *
 * Both take operations in batches and do them in the order of the array.  They
 * may be called by several threads at the same time.  The engine never has two
 * operations on one flow under way on the same side at the same time, but for
 * OFFLOAD_COPY_GET, which may meet any other operation.
 *
 * Descriptions
 * ------------
 *
 * What a flow is: match and actions as netlink attributes, which the engine
 * does not look into, and the little that it has to know.  A description is
 * constant and counted: who keeps one takes a reference.  Two descriptions of
 * the same flow are the same version of it only if they are the same object.
 *
 * Rules
 * -----
 *
 * What the backend has to know of a rule in tc, such as what tc calls it, is
 * kept where the engine keeps the copy: in a structure that is the backend's
 * and starts with struct offload_rule.  The engine looks into nothing of it,
 * but passes it with each operation on the copy, so that neither side has to
 * look it up by ufid.
 *
 *   - The backend makes it, blank, with 'create_rule' for a put, or when it
 *     finds a rule ('dump').  OFFLOAD_COPY_PUT fills it in before tc has the
 *     rule, as packets may meet that before the put has returned, and
 *     OFFLOAD_COPY_DEL ends it.
 *
 *   - It is counted.  The flow has a reference from before the put is sent
 *     until the copy is known to be gone.  Who reads the copy, or lists rules,
 *     has one meanwhile.  The last one that is given up destroys it; if the
 *     rule was not deleted by then, it stays in tc.
 *
 *   - The flow's pointer is guarded by the engine.  What is in the structure
 *     is the backend's to guard: it is read by several threads while one
 *     changes it.
 *
 * Statistics
 * ----------
 *
 * A copy counts from when it was made.  What OFFLOAD_COPY_DEL reports is all
 * that anybody learns of it.  For most copies it is all that there was, but
 * Linux does not take the statistics and the copy away in one step:
 *
 *   - tfilter_del_notify() fills in the statistics of a rule just before it
 *     removes the rule;
 *
 *   - ovs_flow_cmd_del() does the same with a flow (as of Linux 6.1; other
 *     versions take the flow out of its table first, while other CPUs may be
 *     about to add a packet to its counters).
 *
 * Packets that meet the copy in between are not counted by anybody. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/compiler.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"

/* All zeros is that of a flow that nothing ever met. */
struct offload_stats {
    uint64_t n_packets;
    uint64_t n_bytes;
    long long int used;         /* As time_msec() tells it; 0 if never.  From
                                 * tc also 0 if it does not tell: the engine
                                 * then takes the time at which it finds that
                                 * there were more packets. */
    uint16_t tcp_flags;
};

void offload_stats_add(struct offload_stats *, const struct offload_stats *);

struct offload_desc {
    atomic_uint n_refs;
    ovs_u128 ufid;
    uint32_t in_port;           /* Datapath port that its packets come from. */
    uint32_t recirc_id;         /* Chain that it is part of; 0 is the first. */
    uint32_t kind;              /* A hash of what a device may reject a flow
                                 * for: which bits it matches on and in which
                                 * protocols, types of actions, output ports,
                                 * meters, ends of tunnels.  When flows of a
                                 * kind and port are rejected, others are not
                                 * tried, though a device might take one: for
                                 * another value, or if hashes collide
                                 * (offload-port.h).  0 if unknown: always
                                 * tried. */
    uint32_t spread;            /* A hash by which flows of a port are spread
                                 * over threads: the same for flows that match
                                 * the same packets by the same fields, whose
                                 * rules get in each other's way.  0 if the
                                 * flow goes where its port goes, as all do
                                 * that have to do with chains. */
    bool has_meter;             /* Its actions name meters. */
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

/* What a description is made of; all of it is copied. */
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

/* Whether a device does a rule in tc. */
enum OVS_PACKED_ENUM offload_hw {
    OFFLOAD_HW_UNKNOWN,         /* Nobody has read the rule yet. */
    OFFLOAD_HW_NONE,            /* Only tc does, in software. */
    OFFLOAD_HW_PARTLY,          /* Fewer devices do than do others of its
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

/* For OFFLOAD_COPY_PUT in the kernel.  Tc has one only if there is none. */
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
    struct offload_rule *rule;  /* Tc only: that of the copy.  A blank one for
                                 * OFFLOAD_COPY_PUT. */
    void *cookie;               /* Of the user's operation that this is a part
                                 * of, or NULL.  Kernel only. */

    /* Results. */
    int error;                  /* 0 or a positive errno value: ENOENT if there
                                 * is no such copy. */
    const char *why;            /* PUT, tc: what is known of 'error' in words,
                                 * or without an error why cards may skip the
                                 * rule, or NULL.  It stays for ever. */
    struct offload_stats stats; /* DEL, GET: those of the copy. */
    enum offload_hw hw;         /* GET, tc. */
};

/* The kernel datapath. */
struct offload_kernel {
    void (*operate)(void *aux, struct offload_copy_op *ops[], size_t n);

    /* Deletes all flows.  Returns 0 or a positive errno value. */
    int (*flush)(void *aux);

    /* Have there been more flows than the user wants since the last call, so
     * that idle ones are deleted early?  Called by one thread.  NULL if that
     * is not known. */
    bool (*is_crowded)(void *aux);

    void *aux;
};

/* Where the rules of a port are, for the backend, which finds them there when
 * the port has gone already, or its number is another port's. */
struct offload_place {
    uint32_t data[4];           /* The engine does not look into it. */
};

/* Called by the backend for each rule that it finds.  'desc', with a reference
 * for the callee, says what the rule does; NULL if that cannot be told, or was
 * not asked for.  So is 'rule', which is never NULL. */
typedef void offload_dump_cb(void *cb_aux, const ovs_u128 *ufid,
                             struct offload_desc *desc,
                             const struct offload_stats *,
                             struct offload_rule *rule);

/* Called by the backend for a rule of flow 'ufid' that it has listed. */
typedef void offload_list_cb(void *cb_aux, const ovs_u128 *ufid,
                             const void *told);

/* Called by the backend before it lists 'place', where 'port' has its rules,
 * maybe a port of another datapath.  Returns true if each rule there belongs
 * to a flow or to nobody. */
typedef bool offload_is_known_cb(void *cb_aux, uint32_t port,
                                 const struct offload_place *place);

/* tc.  The stock translation is a backend, an encoder of our own may be one.
 *
 * Errors of OFFLOAD_COPY_PUT, all of which leave tc as it was:
 *
 *     EOPNOTSUPP  the device does not know a match or an action
 *     ENOSPC      the device's tables are full
 *     ENODEV      the device is gone
 *     EEXIST      a rule of somebody else is in the way
 *     others      something else; may go away by itself */
struct offload_backend {
    /* Returns a blank rule with one reference, for the caller. */
    struct offload_rule *(*create_rule)(void *aux);

    void (*operate)(void *aux, struct offload_copy_op *ops[], size_t n);

    /* Calls 'cb' for each of those rules of ours that are better listed than
     * read by OFFLOAD_COPY_GET, as far as they can be; 'told' is then for
     * 'take', and valid during the call.  When rules were used need be told
     * only if 'exact'.  NULL if there are none. */
    void (*list)(void *aux, bool exact, offload_list_cb *cb, void *cb_aux);

    /* Calls 'cb' in the same way for each rule of ours in all places of tc,
     * including devices that are no ports, but not where a port is for which
     * 'is_known' returns false.  NULL if that cannot be done. */
    void (*list_all)(void *aux, offload_is_known_cb *is_known,
                     offload_list_cb *cb, void *cb_aux);

    /* Says whether 'rule' was 'told', and if so stores in '*stats' and '*hw'
     * what OFFLOAD_COPY_GET would.  Must not wait. */
    bool (*take)(void *aux, struct offload_rule *rule, const void *told,
                 struct offload_stats *stats, enum offload_hw *hw);

    /* Returns the rule that was 'told' to a callback of 'list_all', for the
     * caller, or NULL if it may be somebody else's.  Must not wait. */
    struct offload_rule *(*name)(void *aux, const void *told);

    /* Does tc call 'a' and 'b' the same? */
    bool (*is_same)(const struct offload_rule *a,
                    const struct offload_rule *b);

    /* Stores where the rules with input port 'port' are in '*place'.  Returns
     * false if there is no such port.  Must not wait for tc. */
    bool (*locate)(void *aux, uint32_t port, struct offload_place *place);

    /* Calls 'cb' for each rule of ours in 'place', which was that of 'port',
     * and tells what the rules do if 'describe' says so, which takes that the
     * port is there. */
    int (*dump)(void *aux, uint32_t port, const struct offload_place *place,
                bool describe, offload_dump_cb *cb, void *cb_aux);

    void *aux;
};

#endif /* lib/offload/offload-backend.h */
