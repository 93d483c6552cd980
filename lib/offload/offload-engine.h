/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_ENGINE_H
#define OFFLOAD_ENGINE_H 1

/* The parts of an offload engine, for the files that use them. */

#include "offload/offload-backend.h"
#include "offload/offload-chain.h"
#include "offload/offload-flow.h"
#include "offload/offload-port.h"
#include "offload/offload-queue.h"
#include "offload/offload-reasons.h"
#include "offload/offload.h"
#include "stats/thread-counters.h"

/* Attempts to delete a copy from the kernel datapath, which may be short of
 * memory for a moment.  A copy that stays does no harm. */
#define OFFLOAD_MAX_FAILURES 3

struct offload_audit;
struct offload_reader;
struct offload_thread;

struct offload {
    struct offload_kernel kernel;
    struct offload_backend backend;

    struct offload_table table;
    struct offload_queues queues;
    struct thread_counters *counters;   /* [OFFLOAD_MAX_THREADS]
                                         * [OFFLOAD_N_COUNTERS]. */
    struct offload_reasons reasons;
    struct offload_ports ports;
    struct offload_chains chains;
    struct offload_thread *threads;     /* OFFLOAD_MAX_THREADS. */
    struct offload_reader *reader;      /* Or NULL. */
    atomic_uint32_t last_round;         /* See offload-reader.h. */
    long long int next_second;          /* The reader thread's position.  Only
                                         * that thread uses it. */
    struct offload_audit *audit;

    /* Held for reading by threads that change flows or send to a thread; for
     * writing by a flush and by a change of the number of threads, which must
     * exclude both. */
    struct ovs_rwlock change_rwlock;
    struct ovs_mutex config_mutex;
    atomic_uint max_queued;
    atomic_uint delay;
    atomic_uint backoff;
    atomic_uint rebalance_interval;
    atomic_uint max_idle;
    atomic_bool enabled;
    atomic_uint64_t n_flushes;  /* Written with change_rwlock for writing. */

    struct ovs_mutex dumps_mutex;
    uint32_t dump_ids[OFFLOAD_MAX_DUMPS] OVS_GUARDED;   /* 0 if free. */
    uint32_t last_dump OVS_GUARDED;
};

static inline struct offload_stripe *
offload_stripe(struct offload *offload, const ovs_u128 *ufid)
{
    return offload_table_stripe(&offload->table, ufid);
}

/* Increments 'counter' of offload thread 'thread'.  The caller may be another
 * thread. */
static inline void
offload_count(struct offload *offload, unsigned int thread,
              enum offload_counter counter)
{
    thread_counters_add(thread_counters_self(offload->counters),
                        thread * OFFLOAD_N_COUNTERS + counter, 1);
}

/* Sends 'message' to the thread of its port.  Not to be called while the
 * number of threads is being changed by the caller. */
static inline void
offload_send_to_port(struct offload *offload,
                     const struct offload_control *message)
{
    ovs_rwlock_rdlock(&offload->change_rwlock);
    offload_queues_send(&offload->queues,
                        offload_queues_choose(&offload->queues, message->port),
                        message);
    ovs_rwlock_unlock(&offload->change_rwlock);
}

/* Carries out one operation on the kernel copy, or on the one in tc. */
static inline void
offload_kernel_operate(struct offload *offload, struct offload_copy_op *op)
{
    offload->kernel.operate(offload->kernel.aux, &op, 1);
}

static inline void
offload_tc_operate(struct offload *offload, struct offload_copy_op *op)
{
    offload->backend.operate(offload->backend.aux, &op, 1);
}

/* Takes steps with 'n' flows, in tc or in the kernel, until copies and target
 * agree (the table in offload.h).  Several threads at a time; for a flow only
 * its own thread.  In offload-step.c. */
void offload_step_flows(struct offload *, struct offload_flow *flows[],
                        size_t n);

/* The threads (offload-thread.c).  _create() prepares; _set() starts and ends
 * threads, with config_mutex; _destroy() ends them all.  _create() and
 * _destroy(): when no call on the engine is in progress. */
void offload_threads_create(struct offload *);
void offload_threads_set(struct offload *, unsigned int n);
void offload_threads_destroy(struct offload *);

#endif /* lib/offload/offload-engine.h */
