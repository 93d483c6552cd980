/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_ENGINE_H
#define OFFLOAD_ENGINE_H 1

/* An offload engine: what its parts are, for the files above them. */

#include "offload/offload-backend.h"
#include "offload/offload-chain.h"
#include "offload/offload-counters.h"
#include "offload/offload-flow.h"
#include "offload/offload-port.h"
#include "offload/offload-queue.h"
#include "offload/offload.h"

/* Tries to delete a copy from the kernel datapath, which may be short of
 * memory for a moment.  That the copy stays does no harm. */
#define OFFLOAD_MAX_FAILURES 3

struct offload_audit;
struct offload_reader;
struct offload_thread;

struct offload {
    struct offload_kernel kernel;
    struct offload_backend backend;

    struct offload_table table;
    struct offload_queues queues;
    struct offload_counters counters;
    struct offload_reasons reasons;
    struct offload_ports ports;
    struct offload_chains chains;
    struct offload_thread *threads;     /* OFFLOAD_MAX_THREADS. */
    struct offload_reader *reader;      /* Or NULL. */
    atomic_uint32_t last_round;         /* See offload-reader.h. */
    long long int next_second;          /* The reader thread's own: where it
                                         * goes on. */
    struct offload_audit *audit;

    /* Held for reading by who changes flows, or sends to a thread; for writing
     * by who needs that nobody does: a flush, and a change of the number of
     * threads. */
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

/* Counts one more of 'counter' for 'thread'. */
static inline void
offload_count(struct offload *offload, unsigned int thread,
              enum offload_counter counter)
{
    offload_counters_add(&offload->counters, thread, counter);
}

/* Sends 'message' to the thread of its port.  The caller is not one that
 * changes the number of threads. */
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

/* Does one operation on the kernel copy, or on the one in tc. */
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

#endif /* lib/offload/offload-engine.h */
