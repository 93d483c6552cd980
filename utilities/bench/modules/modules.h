/* SPDX-License-Identifier: Apache-2.0 */

#ifndef BENCH_MODULES_H
#define BENCH_MODULES_H 1

/* Benchmark of the building blocks, each beside others of its kind.
 *
 * Every measurement becomes a line of JSON on standard output.  What is made
 * of them is up to utilities/bench-modules. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct settings {
    unsigned int rounds;
    unsigned int n_ids;         /* Held at the same time by all threads. */
    unsigned int n_nodes;       /* Pushed in a run of the queue. */
    unsigned int n_pings;       /* Latencies measured in a run. */
    unsigned int n_folds;       /* Folds in a run. */
    unsigned int n_flows;       /* Put in a run of the engine. */
};

/* Nanoseconds of the monotonic clock. */
uint64_t now(void);

/* Binds the calling thread to the 'n'th CPU that the process may use, counting
 * round. */
void bind_to_cpu(unsigned int n);

/* What a thread does that waits for another one: looks again a few times, then
 * lets others run. */
void idle(unsigned int attempt);

/* Prints one measurement. */
void report(const char *test, const char *pattern, const char *module,
            unsigned int n_threads, const char *unit, double value);

void bench_ids(const struct settings *);
void bench_queues(const struct settings *);
void bench_fold(const struct settings *);
void bench_engine(const struct settings *);

/* A queue that is measured.  Each function runs once and reports. */
struct queue_bench {
    const char *name;
    void (*alone)(const struct settings *);
    void (*throughput)(const struct settings *, unsigned int n_producers);
    void (*latency)(const struct settings *, unsigned int n_producers);
    void (*wakeup)(const struct settings *);    /* NULL if it cannot sleep. */
};

extern const struct queue_bench queue_bench_kdp;
extern const struct queue_bench queue_bench_ovs;
extern const struct queue_bench queue_bench_urcu;
extern const struct queue_bench queue_bench_urcu_splice;

#endif /* utilities/bench/modules/modules.h */
