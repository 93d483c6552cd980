/* SPDX-License-Identifier: Apache-2.0 */

/* How a queue is measured.  To be included once for each queue, after
 *
 *     BENCH_NAME       name of its struct queue_bench
 *     BENCH_MODULE     its name in the report
 *     struct queue     the queue
 *     struct node      its node
 *     queue_init, queue_push, queue_poll, queue_uninit
 *                      functions; queue_poll() returns NULL if there is
 *                      nothing to take now
 *     queue_sleep, queue_is_asleep, and BENCH_SLEEP
 *                      the same, if the queue has a consumer that can sleep
 *
 * are defined.  All are consumed in the same way: by taking one node after
 * another, and idle() when there is none. */

#include <pthread.h>
#include <stdlib.h>

#include "modules.h"
#include "ovs-atomic.h"
#include "util.h"

/* An object as it would be queued: it shares its cache lines with no other. */
struct element {
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct node node;
    uint64_t value;
    uint64_t taken;             /* When the consumer got it. */
    atomic_bool done;           /* The consumer has finished with it. */
};

struct bench_run {
    struct queue *queue;
    pthread_barrier_t barrier;
    atomic_bool go;             /* Set when the clock is started. */
};

struct bench_producer {
    pthread_t thread;
    struct bench_run *run;
    unsigned int i;
    struct element *elements;
    unsigned int n;
    uint64_t *latencies;        /* 'n' of them, if they are measured. */
    bool (*is_asleep)(struct queue *);  /* To be waited for, or NULL. */
};

static struct queue *
bench_queue_create(void)
{
    struct queue *queue = xmalloc_cacheline(ROUND_UP(sizeof *queue,
                                                     CACHE_LINE_SIZE));

    queue_init(queue);
    return queue;
}

static void
bench_queue_destroy(struct queue *queue)
{
    queue_uninit(queue);
    free_cacheline(queue);
}

static struct element *
bench_elements_create(unsigned int n)
{
    struct element *elements = xmalloc_cacheline(n * sizeof *elements);

    for (unsigned int i = 0; i < n; i++) {
        elements[i].value = i;
        atomic_init(&elements[i].done, false);
    }
    return elements;
}

/* One thread: what the operations cost when nobody is in the way.  Runs of 64
 * nodes, which stay in the cache. */
static void
bench_alone(const struct settings *settings)
{
    enum { BURST = 64 };
    struct element *elements = bench_elements_create(BURST);
    struct queue *queue = bench_queue_create();
    unsigned int n_bursts = settings->n_nodes / BURST + 1;
    uint64_t start, push = 0, pop = 0;

    bind_to_cpu(0);
    for (unsigned int i = 0; i < n_bursts; i++) {
        start = now();
        for (int j = 0; j < BURST; j++) {
            queue_push(queue, &elements[j].node);
        }
        push += now() - start;
        start = now();
        for (int j = 0; j < BURST; j++) {
            if (queue_poll(queue) != &elements[j].node) {
                ovs_fatal(0, "%s reordered or lost a node", BENCH_MODULE);
            }
        }
        pop += now() - start;
    }
    report("queue", "push", BENCH_MODULE, 0, "ns",
           (double) push / n_bursts / BURST);
    report("queue", "pop", BENCH_MODULE, 0, "ns",
           (double) pop / n_bursts / BURST);
    bench_queue_destroy(queue);
    free_cacheline(elements);
}

static void *
bench_flood(void *producer_)
{
    struct bench_producer *producer = producer_;
    struct bench_run *run = producer->run;
    unsigned int attempt = 0;
    bool go;

    bind_to_cpu(producer->i + 1);

    /* A thread that pushes an object has usually just filled it in. */
    for (unsigned int i = 0; i < producer->n; i++) {
        producer->elements[i].value = producer->i * producer->n + i;
    }
    pthread_barrier_wait(&run->barrier);
    do {
        idle(attempt++);
        atomic_read_explicit(&run->go, &go, memory_order_acquire);
    } while (!go);
    for (unsigned int i = 0; i < producer->n; i++) {
        queue_push(run->queue, &producer->elements[i].node);
    }
    return NULL;
}

/* All producers push as fast as they can. */
static void
bench_throughput(const struct settings *settings, unsigned int n_producers)
{
    unsigned int share = settings->n_nodes / n_producers;
    unsigned int n = share * n_producers, attempt = 0;
    struct element *elements = bench_elements_create(n);
    struct bench_run run = { .queue = bench_queue_create(), .go = false };
    struct bench_producer producers[n_producers];
    uint64_t start, elapsed, sum = 0;

    bind_to_cpu(0);
    pthread_barrier_init(&run.barrier, NULL, n_producers + 1);
    for (unsigned int i = 0; i < n_producers; i++) {
        producers[i] = (struct bench_producer) {
            .run = &run, .i = i, .elements = &elements[i * share], .n = share,
        };
        if (pthread_create(&producers[i].thread, NULL, bench_flood,
                           &producers[i])) {
            ovs_fatal(0, "creating a thread failed");
        }
    }
    pthread_barrier_wait(&run.barrier);
    start = now();
    atomic_store_explicit(&run.go, true, memory_order_release);
    for (unsigned int i = 0; i < n; ) {
        struct node *node = queue_poll(run.queue);

        if (OVS_LIKELY(node)) {
            sum += CONTAINER_OF(node, struct element, node)->value;
            attempt = 0;
            i++;
        } else {
            idle(attempt++);
        }
    }
    elapsed = now() - start;
    for (unsigned int i = 0; i < n_producers; i++) {
        pthread_join(producers[i].thread, NULL);
    }
    if (sum != (uint64_t) n * (n - 1) / 2) {
        ovs_fatal(0, "%s lost or duplicated a node", BENCH_MODULE);
    }
    report("queue", "throughput", BENCH_MODULE, n_producers, "Mops/s",
           n * 1e3 / elapsed);
    pthread_barrier_destroy(&run.barrier);
    bench_queue_destroy(run.queue);
    free_cacheline(elements);
}

static int
bench_compare(const void *a_, const void *b_)
{
    const uint64_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* Reports the median and the 99th percentile, in 'unit' nanoseconds. */
static void
bench_report_latencies(uint64_t *latencies, unsigned int n,
                       unsigned int n_producers, const char *p50,
                       const char *p99)
{
    qsort(latencies, n, sizeof *latencies, bench_compare);
    report("queue", p50, BENCH_MODULE, n_producers, "ns", latencies[n / 2]);
    report("queue", p99, BENCH_MODULE, n_producers, "ns",
           latencies[(uint64_t) n * 99 / 100]);
}

/* Time from the decision to sleep until the system call has put the thread to
 * sleep, generously. */
#define SETTLE_NSEC 10000

/* Pushes one element at a time. */
static void *
bench_ping(void *producer_)
{
    struct bench_producer *producer = producer_;
    struct bench_run *run = producer->run;
    struct element *element = producer->elements;

    bind_to_cpu(producer->i + 1);
    pthread_barrier_wait(&run->barrier);
    for (unsigned int i = 0; i < producer->n; i++) {
        unsigned int attempt = 0;
        uint64_t start;
        bool done;

        if (producer->is_asleep) {
            while (!producer->is_asleep(run->queue)) {
                idle(attempt++);
            }
            attempt = 0;

            /* Also in the kernel's eyes. */
            for (start = now(); now() - start < SETTLE_NSEC; ) {
                idle(0);
            }
        }
        start = now();
        queue_push(run->queue, &element->node);
        do {
            idle(attempt++);
            atomic_read_explicit(&element->done, &done,
                                 memory_order_acquire);
        } while (!done);
        producer->latencies[i] = element->taken - start;
        atomic_store_relaxed(&element->done, false);
    }
    return NULL;
}

/* Each producer has at most one node in the queue: time from before the push
 * until after the consumer got it.  If there is 'sleep_', the consumer sleeps
 * whenever there is nothing, and is pushed to only then. */
static void
bench_latencies(const struct settings *settings, unsigned int n_producers,
                bool (*sleep_)(struct queue *),
                bool (*is_asleep)(struct queue *), const char *p50,
                const char *p99)
{
    unsigned int share = settings->n_pings / n_producers;
    unsigned int n = share * n_producers, attempt = 0;
    struct element *elements = bench_elements_create(n_producers);
    struct bench_run run = { .queue = bench_queue_create(), .go = false };
    struct bench_producer producers[n_producers];
    uint64_t *latencies = xcalloc(n, sizeof *latencies);

    bind_to_cpu(0);
    pthread_barrier_init(&run.barrier, NULL, n_producers + 1);
    for (unsigned int i = 0; i < n_producers; i++) {
        producers[i] = (struct bench_producer) {
            .run = &run, .i = i, .elements = &elements[i], .n = share,
            .latencies = &latencies[i * share],
            .is_asleep = is_asleep,
        };
        if (pthread_create(&producers[i].thread, NULL, bench_ping,
                           &producers[i])) {
            ovs_fatal(0, "creating a thread failed");
        }
    }
    pthread_barrier_wait(&run.barrier);
    for (unsigned int i = 0; i < n; ) {
        struct node *node = queue_poll(run.queue);

        if (node) {
            struct element *element = CONTAINER_OF(node, struct element, node);

            element->taken = now();
            atomic_store_explicit(&element->done, true, memory_order_release);
            attempt = 0;
            i++;
        } else if (sleep_) {
            sleep_(run.queue);
        } else {
            idle(attempt++);
        }
    }
    for (unsigned int i = 0; i < n_producers; i++) {
        pthread_join(producers[i].thread, NULL);
    }
    bench_report_latencies(latencies, n, n_producers, p50, p99);
    pthread_barrier_destroy(&run.barrier);
    bench_queue_destroy(run.queue);
    free_cacheline(elements);
    free(latencies);
}

static void
bench_latency(const struct settings *settings, unsigned int n_producers)
{
    bench_latencies(settings, n_producers, NULL, NULL,
                    "latency_p50", "latency_p99");
}

#ifdef BENCH_SLEEP
static void
bench_wakeup(const struct settings *settings)
{
    bench_latencies(settings, 1, queue_sleep, queue_is_asleep, "wakeup_p50",
                    "wakeup_p99");
}
#endif

const struct queue_bench BENCH_NAME = {
    .name = BENCH_MODULE,
    .alone = bench_alone,
    .throughput = bench_throughput,
    .latency = bench_latency,
#ifdef BENCH_SLEEP
    .wakeup = bench_wakeup,
#endif
};
