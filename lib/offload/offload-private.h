/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_PRIVATE_H
#define OFFLOAD_PRIVATE_H 1

/* What the files of the offload engine share; see offload.h.
 *
 * Module map: offload.c sets up and configures; offload-operate.c serves
 * users; offload-flow.c decides and accounts; offload-step.c takes the steps;
 * offload-thread.c runs the threads; offload-port.c keeps ports and chains;
 * offload-adopt.c compares with what is in tc; offload-leak.c remembers what
 * could not be deleted there; offload-dump.c and offload-info.c tell. */

#include <pthread.h>

#include "offload/kdp-mpsc-queue.h"
#include "offload/offload-info.h"
#include "offload/offload-state.h"
#include "offload/offload.h"
#include "openvswitch/list.h"
#include "openvswitch/thread.h"
#include "ovs-thread.h"

/* Stripes of flows: enough that a dozen threads rarely meet. */
#define OFFLOAD_STRIPES 64

/* Samples that the exponential average of the latency is mostly about, as in
 * Open vSwitch. */
#define OFFLOAD_EMA_SAMPLES 100

/* Tries to delete a copy: the kernel may be short of memory for a moment, but
 * the thread must not get stuck. */
#define OFFLOAD_MAX_FAILURES 3

struct offload_stripe {
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct ovs_mutex mutex;
    pthread_cond_t cond;        /* Claims and copies have changed. */
    struct hmap flows OVS_GUARDED;      /* By ufid. */
    struct hmap deleting OVS_GUARDED;   /* Those under way in threads. */
    atomic_uint64_t *move_clock;        /* Constant. */
};

/* What was asked for, to account for it. */
enum offload_request {
    OFFLOAD_NO_REQUEST,
    OFFLOAD_INSERT,
    OFFLOAD_MODIFY,
    OFFLOAD_DELETE,
    OFFLOAD_RETURN,
};

/* What is in the queue of a thread. */
enum offload_item_type {
    OFFLOAD_ITEM_FLOW,
    OFFLOAD_ITEM_BARRIER,       /* Everything before it has been done. */
    OFFLOAD_ITEM_URGENT_BARRIER,        /* What is urgent has been. */
    OFFLOAD_ITEM_RETRY_LEAKS,   /* Likewise, then deletes what is left. */
    OFFLOAD_ITEM_ADOPT,
    OFFLOAD_ITEM_FLUSH_PORT,
};

struct offload_item {
    struct kdp_mpsc_node node;  /* In the queue. */
    struct ovs_list list_node;  /* In one of the thread's lists after that. */
    enum offload_item_type type;
};

/* Waits until a number of things have happened. */
struct offload_waiter {
    struct ovs_mutex mutex;
    pthread_cond_t cond;
    unsigned int n OVS_GUARDED; /* Still to happen. */
};

void offload_waiter_init(struct offload_waiter *);
void offload_waiter_add(struct offload_waiter *);
void offload_waiter_done(struct offload_waiter *);
void offload_waiter_wait(struct offload_waiter *, bool quiesce);

/* A message to a thread that is not a flow.  The thread frees it. */
struct offload_control {
    struct offload_item item;
    uint32_t port;
    struct offload_waiter *waiter;  /* Or NULL. */
};

struct offload_flow {
    struct offload_item item;   /* In the queue of 'thread'. */
    struct offload_stripe *stripe;      /* Constant. */
    ovs_u128 ufid;              /* Constant. */
    long long int created;      /* Constant.  In ms. */

    /* All of the rest is guarded by stripe->mutex. */
    struct hmap_node hmap_node; /* In stripe->flows or ->deleting. */
    unsigned int n_refs;        /* Table, queue, thread, users. */
    struct offload_desc *desc;  /* What it is. */

    /* States (offload-state.h), changed by offload_flow_set_*() only. */
    enum offload_life life;
    enum offload_kernel_copy kernel;
    enum offload_tc_copy tc;
    enum offload_target target; /* What is wanted. */
    enum offload_work work;     /* What the thread does. */

    /* Copies. */
    struct offload_desc *tc_desc;   /* What it is in tc if 'tc' is
                                     * OFFLOAD_TC_PRESENT, else NULL. */
    bool kernel_claimed;        /* Somebody changes the kernel copy. */
    bool keep_kernel;           /* Also if it is in tc. */
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
    bool discard_tc;            /* Those of the copy that is in tc, or is being
                                 * put there, do not count. */
    bool in_hw;                 /* The copy in tc was seen in the device. */

    /* What is wanted. */
    enum offload_request request;   /* The one not accounted for yet. */
    long long int requested;    /* When, in microseconds. */
    unsigned int thread;        /* Valid if queued or busy. */
    uint32_t parked_for;        /* Chain, if it waits for one. */
    bool in_park_list;          /* Guarded by chains_mutex. */
    struct ovs_list park_node;  /* Guarded by chains_mutex. */
    struct offload_waiter *waiter;      /* Told when the flow is gone, or */
    struct offload_stats *final;        /* NULL.  Gets all statistics. */

    /* Why it is not in tc. */
    enum offload_reason reason;
    int error;                  /* From tc, or 0. */
    uint64_t port_seq;          /* Of the port when it was rejected. */
    long long int retry;        /* When to offer again, in ms. */
    unsigned int retry_msec;    /* Pause before that. */
    unsigned int n_failures;    /* To delete a copy, in a row. */

    uint32_t shown[OFFLOAD_MAX_DUMPS];  /* Latest dump of each slot that has
                                         * shown it. */
};

enum offload_thread_stop {
    OFFLOAD_THREAD_RUN,
    OFFLOAD_THREAD_HAND_OVER,   /* Give everything to other threads. */
    OFFLOAD_THREAD_DRAIN,       /* Do everything but offers first. */
};

struct offload_thread {
    struct kdp_mpsc_queue queue;
    struct offload *offload;
    unsigned int id;
    pthread_t thread;           /* Valid if 'running'. */
    atomic_bool running;        /* Changed with config_mutex. */
    atomic_bool ever_ran;       /* Likewise. */
    atomic_uint stop;           /* enum offload_thread_stop. */

    /* The thread's own: what it took out of the queue. */
    struct ovs_list urgent;
    struct ovs_list backlog;

    atomic_uint32_t n_queued;   /* Flows in the queue and the lists. */
    atomic_uint32_t most_queued;
    atomic_uint64_t counters[OFFLOAD_N_COUNTERS];
    struct moving_average cumulative;
    struct moving_average exponential;
    struct latency_hist latency;
};

struct offload {
    struct offload_kernel kernel;
    struct offload_backend backend;
    struct offload_stripe stripes[OFFLOAD_STRIPES];
    struct offload_thread threads[OFFLOAD_MAX_THREADS];

    /* Who changes flows reads, who needs that nobody does writes. */
    struct ovs_rwlock gate;
    struct ovs_mutex config_mutex;
    atomic_uint n_threads;      /* The first so many threads are in use. */
    atomic_uint max_queued;
    atomic_uint delay;
    atomic_uint backoff;
    atomic_bool enabled;
    atomic_bool chains_work;    /* The backend can do chains. */
    atomic_uint64_t move_clock; /* Increases when copies change. */

    struct ovs_mutex ports_mutex;
    struct hmap ports OVS_GUARDED;
    uint64_t port_seq OVS_GUARDED;

    struct ovs_mutex chains_mutex;
    struct hmap chains OVS_GUARDED;

    struct ovs_mutex leaks_mutex;
    struct hmap leaks OVS_GUARDED;      /* Rules to be deleted: see
                                         * offload-leak.c. */

    struct ovs_mutex reasons_mutex;
    struct offload_reason_info reasons[OFFLOAD_N_REASONS] OVS_GUARDED;

    struct ovs_mutex dumps_mutex;
    uint32_t dump_ids[OFFLOAD_MAX_DUMPS] OVS_GUARDED;   /* 0 if free. */
    uint32_t last_dump OVS_GUARDED;
};

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

/* Is the rule of 'flow', which is in tc, what the flow is? */
static inline bool
offload_flow_is_current(const struct offload_flow *flow)
{
    return flow->tc_desc == flow->desc;
}

/* Has a thread 'flow', so that it will look at it again? */
static inline bool
offload_flow_has_thread(const struct offload_flow *flow)
{
    return (flow->work == OFFLOAD_WORK_QUEUED
            || flow->work == OFFLOAD_WORK_BUSY);
}

static inline bool
offload_flow_is_busy(const struct offload_flow *flow)
{
    return flow->work == OFFLOAD_WORK_BUSY;
}

/* offload-flow.c */
struct offload_stripe *offload_stripe(struct offload *, const ovs_u128 *ufid);
struct offload_flow *offload_flow_create(struct offload_stripe *stripe,
                                         struct offload_desc *)
    OVS_REQUIRES(stripe->mutex);
struct offload_flow *offload_flow_find(struct offload_stripe *stripe,
                                       const ovs_u128 *ufid)
    OVS_REQUIRES(stripe->mutex);
bool offload_flow_is_deleting(const struct offload_stripe *stripe,
                              const ovs_u128 *ufid)
    OVS_REQUIRES(stripe->mutex);
void offload_flow_unref(struct offload_flow *);
void offload_flow_set_present(struct offload_flow *);
void offload_flow_discard(struct offload_flow *);
void offload_flow_remove(struct offload_flow *);
void offload_flow_gone(struct offload_flow *);
void offload_flow_set_kernel(struct offload_flow *, enum offload_kernel_copy);
void offload_flow_set_tc(struct offload_flow *, enum offload_tc_copy,
                         const struct offload_desc *);
void offload_flow_set_target(struct offload_flow *, enum offload_target);
void offload_flow_set_work(struct offload_flow *, enum offload_work);
void offload_flow_moved(struct offload_flow *);
void offload_flow_offer(struct offload *, struct offload_flow *);
void offload_flow_request(struct offload *, struct offload_flow *,
                          enum offload_request);
void offload_flow_drop_request(struct offload *, struct offload_flow *);
void offload_flow_return(struct offload *, struct offload_flow *,
                         enum offload_reason);
void offload_flow_vanished(struct offload *, struct offload_flow *);
void offload_flow_left_kernel(struct offload *, struct offload_flow *);
void offload_flow_saw_tc(struct offload_flow *, const struct offload_stats *,
                         bool in_hw);
void offload_flow_saw_kernel(struct offload_flow *,
                             const struct offload_stats *);
void offload_flow_reject(struct offload *, struct offload_flow *, int error);
enum offload_state offload_flow_state(const struct offload_flow *);
void offload_flow_push(struct offload *, struct offload_flow *);
void offload_count(struct offload *, unsigned int thread,
                   enum offload_counter);
void offload_note_reason(struct offload *, const struct offload_flow *,
                         enum offload_reason, int error);

/* offload-step.c */
void offload_step_flows(struct offload_thread *, struct offload_flow *flows[],
                        size_t n);

/* offload-thread.c */
unsigned int offload_choose_thread(struct offload *, uint32_t port);
void offload_threads_set(struct offload *, unsigned int n);
void offload_threads_stop(struct offload *);
void offload_urgent_barrier(struct offload *);
void offload_retry_leaks(struct offload *);
void offload_flush_ports(struct offload *, const uint32_t ports[], size_t n);
void offload_send(struct offload *, unsigned int thread,
                  enum offload_item_type, uint32_t port,
                  struct offload_waiter *);

/* offload-port.c */
void offload_ports_init(struct offload *);
void offload_ports_destroy(struct offload *);
enum offload_reason offload_port_admit(struct offload *,
                                       const struct offload_desc *,
                                       uint64_t *seq);
void offload_port_failed(struct offload *, const struct offload_desc *,
                         int error);
void offload_port_succeeded(struct offload *, uint32_t port);
void offload_port_ready(struct offload *, uint32_t port);
size_t offload_port_list(struct offload *, uint32_t **ports);
uint32_t offload_ports_backing_off(struct offload *);
void offload_chains_add(struct offload *, const struct offload_desc *);
void offload_chains_remove(struct offload *, const struct offload_desc *);
void offload_chains_wake(struct offload *, const struct offload_desc *);
bool offload_flow_park(struct offload *, struct offload_flow *);
void offload_flow_unpark(struct offload *, struct offload_flow *);

/* offload-adopt.c */
void offload_adopt_port(struct offload_thread *, uint32_t port);

/* offload-leak.c */
void offload_leaks_init(struct offload *);
void offload_leaks_destroy(struct offload *);
void offload_leaked(struct offload *, unsigned int thread,
                    const ovs_u128 *ufid, uint32_t port,
                    const struct offload_desc *, int error);
bool offload_is_leaked(struct offload *, const ovs_u128 *ufid);
int offload_delete_rule(struct offload *, const ovs_u128 *ufid,
                        const struct offload_desc *);
void offload_leaks_retry(struct offload_thread *);
void offload_flush_port(struct offload *, uint32_t port);

/* offload-dump.c */
bool offload_flow_read(struct offload *, struct offload_flow *,
                       struct offload_stats *, bool *in_tc, bool *in_hw);

#endif /* lib/offload/offload-private.h */
