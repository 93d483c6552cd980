/* SPDX-License-Identifier: Apache-2.0 */

/* Adding up counters of many threads, block by block as thread_counters_fold()
 * does and item by item, which is the obvious way. */

#include <config.h>
#include "modules.h"

#include <pthread.h>
#include <stdlib.h>

#include "ovs-atomic.h"
#include "stats/thread-counters.h"
#include "util.h"

/* As in the public measurement. */
#define N_BLOCKS 160
#define N_ITEMS 36

struct fold {
    struct thread_counters *counters;
    pthread_t threads[N_BLOCKS];
    pthread_barrier_t barrier;
    atomic_uint n_started;
    struct thread_counters_block *blocks[N_BLOCKS];
    pthread_t writer;
    atomic_uint turn;           /* Odd: the writer's; UINT_MAX: the end. */
};

/* A thread that counts: it has the block where its memory comes from, as in a
 * program. */
static void *
have_block(void *fold_)
{
    struct fold *fold = fold_;
    unsigned int i;

    atomic_add(&fold->n_started, 1, &i);
    fold->blocks[i] = thread_counters_self(fold->counters);
    pthread_barrier_wait(&fold->barrier);
    pthread_barrier_wait(&fold->barrier);
    return NULL;
}

static void
fold_item_by_item(struct fold *fold, uint64_t totals[])
{
    for (size_t i = 0; i < N_ITEMS; i++) {
        uint64_t total = 0;

        for (size_t j = 0; j < N_BLOCKS; j++) {
            uint64_t value;

            atomic_read_relaxed(&fold->blocks[j]->items[i], &value);
            total += value;
        }
        totals[i] = total;
    }
}

/* Stands in for the threads that count: on another CPU, if there is one. */
static void *
write_all(void *fold_)
{
    struct fold *fold = fold_;
    unsigned int attempt = 0;

    bind_to_cpu(1);
    for (;;) {
        unsigned int turn;

        atomic_read_explicit(&fold->turn, &turn, memory_order_acquire);
        if (turn == UINT_MAX) {
            return NULL;
        }
        if (!(turn % 2)) {
            idle(attempt++);
            continue;
        }
        attempt = 0;
        for (size_t i = 0; i < N_BLOCKS; i++) {
            for (size_t j = 0; j < N_ITEMS; j++) {
                thread_counters_add(fold->blocks[i], j, 1);
            }
        }
        atomic_store_explicit(&fold->turn, turn + 1, memory_order_release);
    }
}

/* One run: the mean time of a fold. */
static void
measure(const struct settings *settings, struct fold *fold, bool by_block,
        bool written)
{
    static uint64_t expected;   /* Of each item. */
    uint64_t elapsed = 0;

    for (unsigned int i = 0; i < settings->n_folds; i++) {
        uint64_t totals[N_ITEMS], start;

        if (written) {
            unsigned int turn, mine, attempt = 0;

            atomic_read_relaxed(&fold->turn, &turn);
            mine = turn + 2;
            atomic_store_explicit(&fold->turn, turn + 1,
                                  memory_order_release);
            do {
                idle(attempt++);
                atomic_read_explicit(&fold->turn, &turn,
                                     memory_order_acquire);
            } while (turn != mine);
            expected += N_BLOCKS;
        }
        start = now();
        if (by_block) {
            thread_counters_fold(fold->counters, totals);
        } else {
            fold_item_by_item(fold, totals);
        }
        elapsed += now() - start;
        for (size_t j = 0; j < N_ITEMS; j++) {
            if (totals[j] != expected) {
                ovs_fatal(0, "wrong sum of counters");
            }
        }
    }
    report("fold", written ? "written" : "unchanged",
           by_block ? "ovs-kdp" : "item by item", N_BLOCKS, "us",
           elapsed / 1e3 / settings->n_folds);
}

void
bench_fold(const struct settings *settings)
{
    struct fold fold = {
        .counters = thread_counters_create(N_ITEMS),
        .n_started = ATOMIC_VAR_INIT(0),
        .turn = ATOMIC_VAR_INIT(0),
    };

    bind_to_cpu(0);
    pthread_barrier_init(&fold.barrier, NULL, N_BLOCKS + 1);
    for (size_t i = 0; i < N_BLOCKS; i++) {
        if (pthread_create(&fold.threads[i], NULL, have_block, &fold)) {
            ovs_fatal(0, "creating a thread failed");
        }
    }
    pthread_barrier_wait(&fold.barrier);
    if (pthread_create(&fold.writer, NULL, write_all, &fold)) {
        ovs_fatal(0, "creating a thread failed");
    }
    for (unsigned int round = 0; round < settings->rounds; round++) {
        for (int i = 0; i < 4; i++) {
            measure(settings, &fold, (i + round) % 2, i / 2);
        }
    }
    atomic_store_relaxed(&fold.turn, UINT_MAX);
    pthread_join(fold.writer, NULL);
    pthread_barrier_wait(&fold.barrier);
    for (size_t i = 0; i < N_BLOCKS; i++) {
        pthread_join(fold.threads[i], NULL);
    }
    pthread_barrier_destroy(&fold.barrier);
    thread_counters_destroy(fold.counters);
}
