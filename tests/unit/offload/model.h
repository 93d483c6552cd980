/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_MODEL_H
#define OFFLOAD_MODEL_H 1

/* What a flow of test-offload-model.c is expected to be: whether it is
 * installed, and how many packets met it (O2).
 *
 * Thread safety: who creates or deletes the flow has the lock for writing,
 * others for reading; see the members. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/offload-backend.h"
#include "ovs-atomic.h"

struct model {
    uint32_t flow;              /* Constant. */
    pthread_rwlock_t rwlock;    /* Written to create and delete. */
    bool installed;
    uint32_t epoch;             /* Counts creations and deletions. */
    atomic_uint64_t begun;      /* Packets on their way or sent. */
    atomic_uint64_t sent;
    atomic_uint64_t reported;   /* Most that was reported. */
    struct offload_desc *desc;  /* Latest content. */
    pthread_mutex_t change;     /* For 'desc'. */

    /* Guarded by the lock of the fake. */
    unsigned int n_failed[2];   /* Deletions that failed in a row. */
};

/* What is known before a thread requests a report. */
struct bounds {
    uint64_t sent, reported;
};

void model_init(struct model *, uint32_t flow);
void model_uninit(struct model *);
void model_created(struct model *, struct offload_desc *);
void model_deleted(struct model *);
struct bounds bounds_begin(struct model *);
void bounds_end(struct model *, const struct bounds *, uint64_t n);
void model_check_final(struct model *, const struct offload_stats *);

#endif /* tests/unit/offload/model.h */
