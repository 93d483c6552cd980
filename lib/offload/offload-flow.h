/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_FLOW_H
#define OFFLOAD_FLOW_H 1

/* Flows of the offload engine, and their table
 * ============================================
 *
 * A flow's description, states and statistics.  Nothing here knows about
 * threads, ports or tc.
 *
 * Flows are spread over stripes by ufid, and listed there by input port.  The
 * lock of a stripe guards its tables and the flows in it.  Its condition
 * variable signals that claims or copies have changed, or that a thread has
 * finished with a flow.  A caller that passes a flow to a function holds the
 * lock of the flow's stripe.
 *
 *
 * States
 * ------
 *
 * A flow has five states, each with its own transitions.  Only the setters
 * below change them.
 *
 *     life      is the flow there?               new, present, deleting, gone
 *     kernel    does the kernel have a copy?     none, present, refused
 *     tc        does tc have a copy?             none, inserting, present
 *     target    where should it be?              kernel, tc, nowhere
 *     work      what does its thread do with it? idle, queued, busy, waiting,
 *                                                paused
 *
 * offload_flow_state() derives from these the state that users see (enum
 * offload_state of offload-info.h).  offload.h shows the transitions.
 *
 * Four facts that are independent of the states are booleans: a thread has
 * claimed the kernel copy, the kernel copy must be kept, the statistics of the
 * rule do not count, and the rule was seen in a device.  Whether a waiting
 * flow is still in the list of its chain is also a boolean, since another lock
 * guards it.  Whether the rule in tc is outdated is not stored: it was made
 * from another description than the flow has.
 *
 *
 * Life cycle
 * ----------
 *
 * offload_flow_create() puts a flow into the table, which holds a reference.
 * offload_flow_remove() moves it from there to the flows that are being
 * deleted, until offload_flow_gone().  If tc fails to delete its rule, the
 * deletion is repeated after a pause that grows.  If that keeps failing, the
 * flow returns to the table: see offload_flow_report().  Everything that uses
 * a flow without the lock holds a reference: the queue of a thread, the thread
 * that works on the flow, a user that changes or reads it.
 *
 * A thread that changes the kernel copy claims it ('kernel_claimed') so that
 * no other thread does.  Only the flow's thread changes the copy in tc. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/kdp-mpsc-queue.h"
#include "offload/offload-backend.h"
#include "offload/offload-chain.h"
#include "offload/offload-info.h"
#include "offload/offload.h"
#include "openvswitch/compiler.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/thread.h"
#include "ovs-thread.h"

struct offload_waiter;

/* Number of pauses after tc has failed to delete a rule: 1 ms, then twice as
 * long each time, up to 8 s.  The first ones are short, as the kernel may be
 * out of memory or file descriptors for a moment.  The last one is long enough
 * that thousands of rules that a driver does not delete cost their thread
 * little, and that a rule goes within ten seconds after the cause is gone. */
#define OFFLOAD_N_PAUSES 14

/* Failures in a row after which the deletion of the flow and the shutdown of
 * the engine no longer wait for the rule to be deleted.  The pauses add up to
 * 1,023 ms by then. */
#define OFFLOAD_PATIENCE 11

/* Time in ms after which the shutdown of the engine stops retrying deletions,
 * however many rules are left: twice the time that a single rule gets. */
#define OFFLOAD_END_MSEC 2000

/* Stripes of flows: enough that a dozen threads rarely meet. */
#define OFFLOAD_STRIPES 64

/* Rules are listed by the time when they are to be read, in a ring of slots of
 * OFFLOAD_SLOT_MSEC each.  The ring is longer than the 10 s after which flows
 * expire by default; rules that are due later are checked once per turn of the
 * ring. */
#define OFFLOAD_SLOT_MSEC 1000
#define OFFLOAD_N_SLOTS 16

enum OVS_PACKED_ENUM offload_life {
    OFFLOAD_LIFE_NEW,           /* In the table, not shown: being made. */
    OFFLOAD_LIFE_PRESENT,       /* In the table.  Has no copies for a moment if
                                 * its rule vanished, or if its rule is
                                 * replaced while the kernel refuses the flow;
                                 * if it is lost, until it is deleted or
                                 * changed. */
    OFFLOAD_LIFE_DELETING,      /* Out of the table, maybe still in tc.  If
                                 * that lasts it returns to the table: see
                                 * offload_flow_report(). */
    OFFLOAD_LIFE_GONE,          /* Nothing is left to do. */
};

enum OVS_PACKED_ENUM offload_kernel_copy {
    OFFLOAD_KERNEL_NONE,
    OFFLOAD_KERNEL_PRESENT,
    OFFLOAD_KERNEL_REFUSED,     /* None, because the kernel has another flow
                                 * with the same key. */
};

enum OVS_PACKED_ENUM offload_tc_copy {
    OFFLOAD_TC_NONE,
    OFFLOAD_TC_INSERTING,       /* May already be there, unknown to us. */
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
    OFFLOAD_WORK_BUSY,          /* The thread works on it. */
    OFFLOAD_WORK_WAITING,       /* Waits, in no queue, for a rule that
                                 * recirculates to its chain. */
    OFFLOAD_WORK_PAUSED,        /* Waits, in no queue, until its thread retries
                                 * to delete the rule, or until an older flow
                                 * with the same ufid is gone. */
};

struct offload_stripe {
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct ovs_mutex mutex;
    pthread_cond_t cond;
    struct hmap flows OVS_GUARDED;      /* By ufid. */
    struct hmap ports OVS_GUARDED;      /* struct offload_port_flows. */
    struct hmap deleting OVS_GUARDED;   /* In the hands of threads. */
    atomic_uint32_t n_tc_only;          /* Flows of 'flows' and 'deleting' that
                                         * are in tc only.  Changed with the
                                         * lock, read without. */
    uint64_t n_rules_gone OVS_GUARDED;  /* Times that a flow lost its rule. */
    uint32_t n_rules OVS_GUARDED;       /* Flows that are in tc. */
    struct ovs_list due[OFFLOAD_N_SLOTS] OVS_GUARDED;   /* Flows that are in
                                         * tc. */
    atomic_uint64_t *move_clock;        /* Constant. */
};

/* The flows of a stripe with the same input port.  Exists while there are
 * any. */
struct offload_port_flows {
    struct hmap_node node;      /* In stripe->ports, by number. */
    uint32_t port;
    struct ovs_list flows;      /* struct offload_flow. */
};

struct offload_table {
    struct offload_stripe stripes[OFFLOAD_STRIPES];
    atomic_uint64_t move_clock; /* Increases when copies change. */
};

/* The request to account for. */
enum OVS_PACKED_ENUM offload_request {
    OFFLOAD_NO_REQUEST,
    OFFLOAD_INSERT,
    OFFLOAD_REMAKE,             /* After another process has deleted it. */
    OFFLOAD_MODIFY,
    OFFLOAD_DELETE,
    OFFLOAD_RETURN,
};

/* What is in the queue of a thread. */
enum offload_item_type {
    OFFLOAD_ITEM_FLOW,
    OFFLOAD_ITEM_BARRIER,       /* Everything before it has been done. */
    OFFLOAD_ITEM_ADOPT,         /* A port has come. */
    OFFLOAD_ITEM_PORT_GONE,
    OFFLOAD_ITEM_DISABLED,      /* Offload is turned off. */
    OFFLOAD_ITEM_SWEEP,         /* Delete a port's rules that have no flow. */
};

struct offload_item {
    struct kdp_mpsc_node node;  /* In the queue. */
    struct ovs_list list_node;  /* In one of the thread's lists after that. */
    enum offload_item_type type;
    bool urgent;                /* Processed before waiting offers.  Set by the
                                 * thread that puts it into the queue. */
};

struct offload_flow {
    struct offload_item item;   /* In the queue of 'thread'. */
    struct offload_stripe *stripe;      /* Constant. */
    ovs_u128 ufid;              /* Constant. */
    long long int created;      /* Constant.  In ms. */

    /* stripe->mutex guards all of the rest.  Small members stand together, as
     * there may be very many flows. */
    struct hmap_node hmap_node; /* In stripe->flows or ->deleting. */
    struct ovs_list port_node;  /* In the list of its port, if it is in
                                 * stripe->flows. */
    struct offload_desc *desc;
    unsigned int n_refs;        /* Table, queue, thread, users. */

    /* States, changed by offload_flow_set_*() only. */
    enum offload_life life;
    enum offload_kernel_copy kernel;
    enum offload_tc_copy tc;
    enum offload_target target;
    enum offload_work work;

    /* Copies. */
    bool tc_only;               /* In tc and not in the kernel, and counted in
                                 * 'n_tc_only' of the stripe. */
    bool kernel_claimed;        /* A thread changes the kernel copy. */
    bool keep_kernel;           /* Keep the kernel copy even if it is in tc. */
    bool discard_tc;            /* The statistics of the copy that is in tc, or
                                 * is being put there, do not count. */
    enum offload_hw hw;         /* Where the copy in tc was seen. */

    enum offload_request request;   /* In progress, not accounted for yet. */
    enum offload_reason reason; /* Why it is not in tc. */
    uint8_t n_failures;         /* To delete the kernel copy, in a row. */
    uint8_t n_tc_failures;      /* To delete the copy in tc, in a row, at most
                                 * UINT8_MAX. */
    uint16_t tc_error;          /* Latest error from deleting it, or 0. */
    int error;                  /* From tc, or 0. */
    const char *why;            /* 'error' in words, or NULL.  If the flow is
                                 * in tc, why cards may skip it, or NULL. */

    struct offload_desc *tc_desc;   /* Description of the rule if 'tc' is
                                     * OFFLOAD_TC_PRESENT, else NULL. */
    struct offload_rule *rule;      /* NULL if 'tc' is OFFLOAD_TC_NONE. */
    uint64_t moved;             /* Move clock at the latest change of copies,
                                 * or of what is added to their statistics. */

    /* Statistics: the sum of 'base' and of each copy's own. */
    struct offload_stats base;
    struct offload_stats tc_seen;       /* Last read from each copy, in case it
                                         * vanishes.  'tc_seen' also covers a
                                         * rule that may already be there. */
    struct offload_stats kernel_seen;
    uint64_t tc_since;          /* Move clock when it last came to tc. */
    uint64_t known;             /* Move clock when the statistics were read, or
                                 * earlier; 0 if unknown. */
    long long int read;         /* Start of the latest round that has read the
                                 * rule, or when it came to tc, in ms. */
    uint32_t round;             /* That round: see offload-reader.h. */
    struct ovs_list due_node;   /* In stripe->due, while it is in tc. */

    /* Work in progress. */
    unsigned int thread;        /* Valid if queued, busy or paused. */
    long long int requested;    /* When, in microseconds. */
    long long int resume;       /* End of the pause in ms, while it is in the
                                 * list of pauses of 'thread'; else 0.  Written
                                 * by the thread. */
    struct offload_chain_waiter chain_waiter;
    struct offload_waiter *waiter;      /* Notified when the flow is gone or
                                         * stuck; or NULL. */
    struct offload_stats *final;        /* Gets the final statistics; or
                                         * NULL. */

    /* After a rejection. */
    uint64_t port_seq;          /* Of the port when the flow was rejected. */
    long long int retry;        /* When to offer it again, in ms. */
    unsigned int retry_msec;    /* Pause before that. */

    /* See offload-rebalance.h. */
    uint32_t came;              /* When it came to tc, in ms modulo 2^32. */
    uint32_t n_ranked;          /* Packets at the last ranking, modulo 2^32. */
    uint32_t n_recent;          /* Packets between the last two rankings. */

    uint32_t shown[OFFLOAD_MAX_DUMPS];  /* Latest dump of each slot that has
                                         * shown it. */
};

/* Table. */

/* Called with the mutex of the flow's stripe held.  Must not remove the flow
 * from the table. */
typedef void offload_flow_visitor(struct offload_flow *, void *aux);

void offload_table_init(struct offload_table *);
void offload_table_destroy(struct offload_table *);
struct offload_stripe *offload_table_stripe(struct offload_table *,
                                            const ovs_u128 *ufid);
uint64_t offload_table_clock(struct offload_table *);
void offload_table_visit_port(struct offload_table *, uint32_t port,
                              offload_flow_visitor *, void *aux);

/* Life. */
struct offload_flow *offload_flow_create(struct offload_stripe *stripe,
                                         struct offload_desc *)
    OVS_REQUIRES(stripe->mutex);
struct offload_flow *offload_flow_create_placeholder(
    struct offload_stripe *stripe, const ovs_u128 *ufid)
    OVS_REQUIRES(stripe->mutex);
struct offload_flow *offload_flow_find(struct offload_stripe *stripe,
                                       const ovs_u128 *ufid)
    OVS_REQUIRES(stripe->mutex);
struct offload_flow *offload_flow_find_deleting(
    const struct offload_stripe *stripe, const ovs_u128 *ufid)
    OVS_REQUIRES(stripe->mutex);
void offload_flow_unref(struct offload_flow *);
struct offload_flow *offload_flow_create_stale(
    struct offload_stripe *stripe, const ovs_u128 *ufid, uint32_t port,
    const struct offload_stats *, const struct offload_rule *)
    OVS_REQUIRES(stripe->mutex);
void offload_flow_set_present(struct offload_flow *);
void offload_flow_discard(struct offload_flow *);
void offload_flow_remove(struct offload_flow *);
void offload_flow_gone(struct offload_flow *);
void offload_flow_report(struct offload_flow *, struct offload_stats *);
void offload_flow_tell(struct offload_flow *);
void offload_flow_restore(struct offload_flow *);
void offload_flow_describe(struct offload_flow *, struct offload_desc *);

/* Other states. */
void offload_flow_set_kernel(struct offload_flow *, enum offload_kernel_copy);
void offload_flow_set_tc_inserting(struct offload_flow *,
                                   struct offload_rule *);
void offload_flow_set_tc_present(struct offload_flow *,
                                 const struct offload_desc *);
void offload_flow_set_tc_none(struct offload_flow *);
void offload_flow_set_tc_adopted(struct offload_flow *, struct offload_rule *,
                                 const struct offload_stats *);
void offload_flow_set_target(struct offload_flow *, enum offload_target);
void offload_flow_set_work(struct offload_flow *, enum offload_work);
enum offload_state offload_flow_state(const struct offload_flow *);

/* Claims and statistics. */
void offload_flow_claim(struct offload_flow *);
void offload_flow_release(struct offload_flow *);
void offload_flow_moved(struct offload_flow *);
void offload_flow_saw_tc(struct offload_flow *, const struct offload_stats *,
                         enum offload_hw, long long int when);
void offload_flow_saw_kernel(struct offload_flow *,
                             const struct offload_stats *);
void offload_flow_schedule(struct offload_flow *, long long int due,
                           long long int now);

/* Is 'flow' in the table? */
static inline bool
offload_flow_in_table(const struct offload_flow *flow)
{
    return flow->life <= OFFLOAD_LIFE_PRESENT;
}

static inline bool
offload_flow_in_kernel(const struct offload_flow *flow)
{
    return flow->kernel == OFFLOAD_KERNEL_PRESENT;
}

static inline bool
offload_flow_in_tc(const struct offload_flow *flow)
{
    return flow->tc == OFFLOAD_TC_PRESENT;
}

/* Has tc failed to delete the rule of 'flow' so often that no thread waits for
 * it any longer? */
static inline bool
offload_flow_is_stuck(const struct offload_flow *flow)
{
    return flow->n_tc_failures >= OFFLOAD_PATIENCE;
}

/* Was the rule of 'flow', which is in tc, made from its description? */
static inline bool
offload_flow_is_current(const struct offload_flow *flow)
{
    return flow->tc_desc == flow->desc;
}

static inline bool
offload_flow_is_busy(const struct offload_flow *flow)
{
    return flow->work == OFFLOAD_WORK_BUSY;
}

/* Will a thread process 'flow' again, without being notified? */
static inline bool
offload_flow_has_thread(const struct offload_flow *flow)
{
    return (flow->work == OFFLOAD_WORK_QUEUED
            || flow->work == OFFLOAD_WORK_BUSY);
}

/* Does tc have a copy of 'flow', or does a thread work on it, so that only the
 * thread can end the flow? */
static inline bool
offload_flow_needs_thread(const struct offload_flow *flow)
{
    return offload_flow_in_tc(flow) || offload_flow_is_busy(flow);
}

#endif /* lib/offload/offload-flow.h */
