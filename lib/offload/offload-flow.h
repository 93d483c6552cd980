/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_FLOW_H
#define OFFLOAD_FLOW_H 1

/* Flows of the offload engine, and their table
 * ============================================
 *
 * What a flow is, which states it is in (offload-state.h), and what it has
 * counted.  Nothing here knows of threads, ports or tc.
 *
 * Flows are spread over stripes by ufid, and listed there by input port.  Each
 * stripe has a lock, which guards its tables and the flows in it, and a
 * condition, which tells that claims or copies have changed, or that a thread
 * has left a flow.  All functions that take a flow need the lock of its
 * stripe.
 *
 * Life cycle
 * ----------
 *
 * offload_flow_create() puts a flow into the table, which has a reference.
 * offload_flow_remove() takes it out and moves it to those that are being
 * deleted, until offload_flow_gone().  When tc does not delete its rule, that
 * is tried again after a pause, which grows.  If that lasts the flow comes
 * back into the table: see offload_flow_report().  Whoever uses a flow without
 * the lock has a reference of its own: the queue of a thread, the thread that
 * is at it, a user who changes or reads it.
 *
 * Who changes the kernel copy claims it ('kernel_claimed') meanwhile, so that
 * nobody else does.  The copy in tc is changed by the flow's thread only. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/kdp-mpsc-queue.h"
#include "offload/offload-backend.h"
#include "offload/offload-chain.h"
#include "offload/offload-info.h"
#include "offload/offload-state.h"
#include "offload/offload.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/thread.h"
#include "ovs-thread.h"

struct offload_waiter;

/* Pauses after tc has failed to delete a rule: 1 ms, and each time twice as
 * long, up to the last one of 8 s.  The kernel may be out of memory or file
 * descriptors for a moment, so the first ones are short.  With the last one,
 * thousands of rules that a driver does not delete cost their thread little,
 * and a rule goes within ten seconds after the cause is gone. */
#define OFFLOAD_N_PAUSES 14

/* Failures in a row after which neither the user who has deleted the flow nor
 * the end of the engine waits any longer for a rule to be deleted.  The pauses
 * add up to 1,023 ms by then. */
#define OFFLOAD_PATIENCE 11

/* Time in ms after which the end of the engine has no rule wait for another
 * try, however many there are: twice what a single one gets. */
#define OFFLOAD_END_MSEC 2000

/* Stripes of flows: enough that a dozen threads rarely meet. */
#define OFFLOAD_STRIPES 64

/* Rules are listed by when they are to be read: in slots of so many ms, which
 * are used again and again.  Together they are longer than the 10 s after which
 * flows expire by default; what is due later is looked at in between. */
#define OFFLOAD_SLOT_MSEC 1000
#define OFFLOAD_N_SLOTS 16

struct offload_stripe {
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct ovs_mutex mutex;
    pthread_cond_t cond;
    struct hmap flows OVS_GUARDED;      /* By ufid. */
    struct hmap ports OVS_GUARDED;      /* struct offload_port_flows. */
    struct hmap deleting OVS_GUARDED;   /* Those under way in threads. */
    atomic_uint32_t n_tc_only;          /* Flows of 'flows' and 'deleting' that
                                         * are in tc only.  Changed with the
                                         * lock, read without. */
    uint64_t n_rules_gone OVS_GUARDED;  /* How often a flow lost its rule. */
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

/* What was asked for, to account for it. */
enum OVS_PACKED_ENUM offload_request {
    OFFLOAD_NO_REQUEST,
    OFFLOAD_INSERT,
    OFFLOAD_REMAKE,             /* After somebody has deleted it. */
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
    OFFLOAD_ITEM_SWEEP,         /* Rules of a port that nobody knows go. */
};

struct offload_item {
    struct kdp_mpsc_node node;  /* In the queue. */
    struct ovs_list list_node;  /* In one of the thread's lists after that. */
    enum offload_item_type type;
    bool urgent;                /* Comes before offers that wait.  Set by the
                                 * thread that puts it into the queue. */
};

struct offload_flow {
    struct offload_item item;   /* In the queue of 'thread'. */
    struct offload_stripe *stripe;      /* Constant. */
    ovs_u128 ufid;              /* Constant. */
    long long int created;      /* Constant.  In ms. */

    /* All of the rest is guarded by stripe->mutex.  Small members stand
     * together: there may be very many flows. */
    struct hmap_node hmap_node; /* In stripe->flows or ->deleting. */
    struct ovs_list port_node;  /* In the list of its port, if it is in
                                 * stripe->flows. */
    struct offload_desc *desc;  /* What it is. */
    unsigned int n_refs;        /* Table, queue, thread, users. */

    /* States, changed by offload_flow_set_*() only. */
    enum offload_life life;
    enum offload_kernel_copy kernel;
    enum offload_tc_copy tc;
    enum offload_target target; /* What is wanted. */
    enum offload_work work;     /* What the thread does. */

    /* Copies. */
    bool tc_only;               /* In tc, not in the kernel: is counted. */
    bool kernel_claimed;        /* Somebody changes the kernel copy. */
    bool keep_kernel;           /* Also if it is in tc. */
    bool discard_tc;            /* The statistics of the copy that is in tc, or
                                 * is being put there, do not count. */
    enum offload_hw hw;         /* Where the copy in tc was seen. */

    enum offload_request request;   /* What is under way, and not accounted
                                     * for yet. */
    enum offload_reason reason; /* Why it is not in tc. */
    uint8_t n_failures;         /* To delete the kernel copy, in a row. */
    uint8_t n_tc_failures;      /* To delete the copy in tc, likewise, up to
                                 * UINT8_MAX, */
    uint16_t tc_error;          /* and the error of the latest, if not 0. */
    int error;                  /* From tc, or 0. */
    const char *why;            /* 'error' in words, or NULL; valid if 'error'
                                 * is not 0.  If it is in tc, why cards may
                                 * skip it, or NULL. */

    struct offload_desc *tc_desc;   /* What it is in tc if 'tc' is
                                     * OFFLOAD_TC_PRESENT, else NULL. */
    struct offload_rule *rule;      /* NULL if 'tc' is OFFLOAD_TC_NONE. */
    uint64_t moved;             /* Move clock at the latest change of copies,
                                 * or of what is added to their statistics. */

    /* Statistics.  In all: 'base' and those of each copy. */
    struct offload_stats base;
    struct offload_stats tc_seen;       /* Latest known ones of the copies, */
    struct offload_stats kernel_seen;   /* should these vanish.  In tc also of
                                         * one that may be there already. */
    uint64_t tc_since;          /* Move clock when it came to tc last. */
    uint64_t known;             /* Those known are of then or later, 0 if that
                                 * cannot be told. */
    long long int read;         /* When the latest round began in which the
                                 * rule was read, or it came to tc, in ms, */
    uint32_t round;             /* and which that was: see offload-reader.h. */
    struct ovs_list due_node;   /* In stripe->due, while it is in tc. */

    /* What is under way. */
    unsigned int thread;        /* Valid if queued, busy or paused. */
    long long int requested;    /* When, in microseconds. */
    long long int resume;       /* End of the pause in ms, while it is in the
                                 * list of pauses of 'thread'; else 0.  Written
                                 * by the thread. */
    struct offload_chain_waiter chain_waiter;
    struct offload_waiter *waiter;      /* Told when the flow is gone, or
                                         * stuck; or NULL. */
    struct offload_stats *final;        /* Gets all statistics; or NULL. */

    /* After it was not taken. */
    uint64_t port_seq;          /* Of the port when it was rejected. */
    long long int retry;        /* When to offer again, in ms. */
    unsigned int retry_msec;    /* Pause before that. */

    /* See offload-rebalance.h. */
    uint32_t came;              /* When it came to tc, in ms modulo 2^32. */
    uint32_t n_ranked;          /* Packets when it was ranked last,
                                 * likewise, */
    uint32_t n_recent;          /* and those since the ranking before. */

    uint32_t shown[OFFLOAD_MAX_DUMPS];  /* Latest dump of each slot that has
                                         * shown it. */
};

/* Table. */

/* Does something with a flow, the mutex of whose stripe the caller has.  Does
 * not take the flow out of the table. */
typedef void offload_flow_visitor(struct offload_flow *, void *aux);

void offload_table_init(struct offload_table *);
void offload_table_destroy(struct offload_table *);
struct offload_stripe *offload_table_stripe(struct offload_table *,
                                            const ovs_u128 *ufid);
uint64_t offload_table_clock(struct offload_table *);
uint64_t offload_table_n_tc_only(struct offload_table *);
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

/* Has tc failed to delete the rule of 'flow' so often that nobody waits for
 * it? */
static inline bool
offload_flow_is_stuck(const struct offload_flow *flow)
{
    return flow->n_tc_failures >= OFFLOAD_PATIENCE;
}

/* Is the rule of 'flow', which is in tc, what the flow is? */
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

/* Has a thread 'flow', so that it will look at it again? */
static inline bool
offload_flow_has_thread(const struct offload_flow *flow)
{
    return (flow->work == OFFLOAD_WORK_QUEUED
            || flow->work == OFFLOAD_WORK_BUSY);
}

/* Does tc have a copy of 'flow', or a thread change that, so that the flow
 * cannot be forgotten without it? */
static inline bool
offload_flow_needs_thread(const struct offload_flow *flow)
{
    return offload_flow_in_tc(flow) || offload_flow_is_busy(flow);
}

#endif /* lib/offload/offload-flow.h */
