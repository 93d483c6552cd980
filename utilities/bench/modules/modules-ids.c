/* SPDX-License-Identifier: Apache-2.0 */

/* Pools of ids.
 *
 * The patterns are those of the public measurement: each thread gets its share
 * of the ids (new), gives them back in random order (del), gets, gives back
 * and gets each (mix), and does so giving back a random one of those it has
 * instead (rnd). */

#include <config.h>
#include "modules.h"

#include <pthread.h>
#include <stdlib.h>

#include "id-fpool.h"
#include "offload/kdp-id-fpool.h"
#include "util.h"

#define MAX_THREADS 4
enum phase { NEW, DEL, MIX, RND, N_PHASES };
static const char *const phases[N_PHASES] = { "new", "del", "mix", "rnd" };

struct run {
    pthread_barrier_t barrier;
    struct id_fpool *ovs;       /* One of the two. */
    struct kdp_id_fpool *kdp;
};

struct worker {
    pthread_t thread;
    struct run *run;
    unsigned int i;             /* Number of this thread. */
    uint32_t *ids;
    unsigned int n_ids;
    uint64_t elapsed[N_PHASES]; /* Nanoseconds. */
};

static uint32_t
random_below(uint64_t *state, uint32_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((*state >> 32) * n) >> 32;
}

static void
swap(uint32_t *a, uint32_t *b)
{
    uint32_t t = *a;

    *a = *b;
    *b = t;
}

static void
require(bool got)
{
    if (OVS_UNLIKELY(!got)) {
        ovs_fatal(0, "the pool of ids is exhausted");
    }
}

/* Defines the function of a thread.  A macro so that each pool is called as
 * its users call it, without pointers to functions. */
#define DEFINE_WORK(NAME, PREPARE, GET, PUT, FINISH)                    \
static void *                                                           \
NAME(void *worker_)                                                     \
{                                                                       \
    struct worker *worker = worker_;                                    \
    struct run *run = worker->run;                                      \
    unsigned int n = worker->n_ids;                                     \
    uint32_t *ids = worker->ids;                                        \
    uint64_t seed = worker->i + 1;                                      \
    uint64_t start;                                                     \
                                                                        \
    bind_to_cpu(worker->i);                                             \
    PREPARE;                                                            \
                                                                        \
    pthread_barrier_wait(&run->barrier);                                \
    start = now();                                                      \
    for (unsigned int i = 0; i < n; i++) {                              \
        require(GET(&ids[i]));                                          \
    }                                                                   \
    worker->elapsed[NEW] = now() - start;                               \
    for (unsigned int i = n - 1; i > 0; i--) {                          \
        swap(&ids[i], &ids[random_below(&seed, i + 1)]);                \
    }                                                                   \
                                                                        \
    pthread_barrier_wait(&run->barrier);                                \
    start = now();                                                      \
    for (unsigned int i = 0; i < n; i++) {                              \
        PUT(ids[i]);                                                    \
    }                                                                   \
    worker->elapsed[DEL] = now() - start;                               \
                                                                        \
    pthread_barrier_wait(&run->barrier);                                \
    start = now();                                                      \
    for (unsigned int i = 0; i < n; i++) {                              \
        require(GET(&ids[i]));                                          \
        PUT(ids[i]);                                                    \
        require(GET(&ids[i]));                                          \
    }                                                                   \
    worker->elapsed[MIX] = now() - start;                               \
                                                                        \
    pthread_barrier_wait(&run->barrier);                                \
    for (unsigned int i = 0; i < n; i++) {                              \
        PUT(ids[i]);                                                    \
    }                                                                   \
                                                                        \
    pthread_barrier_wait(&run->barrier);                                \
    start = now();                                                      \
    for (unsigned int i = 0; i < n; i++) {                              \
        require(GET(&ids[i]));                                          \
        swap(&ids[i], &ids[random_below(&seed, i + 1)]);                \
        PUT(ids[i]);                                                    \
        require(GET(&ids[i]));                                          \
    }                                                                   \
    worker->elapsed[RND] = now() - start;                               \
    FINISH;                                                             \
    return NULL;                                                        \
}

#define OVS_GET(ID) id_fpool_new_id(run->ovs, worker->i, ID)
#define OVS_PUT(ID) id_fpool_free_id(run->ovs, worker->i, ID)
DEFINE_WORK(work_ovs, , OVS_GET, OVS_PUT, )

#define KDP_GET(ID) kdp_id_fpool_new_id(user, ID)
#define KDP_PUT(ID) kdp_id_fpool_free_id(user, ID)
DEFINE_WORK(work_kdp,
            struct kdp_id_user *user = kdp_id_fpool_user_create(run->kdp),
            KDP_GET, KDP_PUT, kdp_id_fpool_user_destroy(user))

static void
measure(const struct settings *settings, uint32_t *ids,
        unsigned int n_threads, bool kdp)
{
    struct worker workers[MAX_THREADS];
    unsigned int n_ids, share = settings->n_ids / n_threads;
    struct run run = { .ovs = NULL };

    /* Room for what may stay in the caches of our users: theirs steal the last
     * ids from one another.  The same size for both. */
    n_ids = settings->n_ids + n_threads * (3 * KDP_ID_MAGAZINE_SIZE + 1);
    if (kdp) {
        run.kdp = kdp_id_fpool_create(0, n_ids, 0);
    } else {
        run.ovs = id_fpool_create(n_threads, 0, n_ids);
    }
    pthread_barrier_init(&run.barrier, NULL, n_threads);
    for (unsigned int i = 0; i < n_threads; i++) {
        workers[i] = (struct worker) {
            .run = &run, .i = i, .ids = ids + i * share, .n_ids = share,
        };
        if (pthread_create(&workers[i].thread, NULL,
                           kdp ? work_kdp : work_ovs, &workers[i])) {
            ovs_fatal(0, "creating a thread failed");
        }
    }
    for (unsigned int i = 0; i < n_threads; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    for (int phase = 0; phase < N_PHASES; phase++) {
        double sum = 0;

        for (unsigned int i = 0; i < n_threads; i++) {
            sum += workers[i].elapsed[phase];
        }
        report("ids", phases[phase], kdp ? "ovs-kdp" : "openvswitch",
               n_threads, "ms", sum / n_threads / 1e6);
    }
    pthread_barrier_destroy(&run.barrier);
    kdp_id_fpool_destroy(run.kdp);
    if (run.ovs) {
        id_fpool_destroy(run.ovs);
    }
}

void
bench_ids(const struct settings *settings)
{
    uint32_t *ids = xcalloc(settings->n_ids, sizeof *ids);

    for (unsigned int round = 0; round < settings->rounds; round++) {
        for (unsigned int n_threads = 1; n_threads <= MAX_THREADS;
             n_threads *= 2) {
            for (int i = 0; i < 2; i++) {
                measure(settings, ids, n_threads, (i + round) % 2);
            }
        }
    }
    free(ids);
}
