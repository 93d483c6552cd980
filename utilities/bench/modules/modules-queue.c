/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "modules.h"

#include "util.h"

static const struct queue_bench *const queues[] = {
    &queue_bench_kdp,
    &queue_bench_ovs,
#ifdef HAVE_URCU
    &queue_bench_urcu,
    &queue_bench_urcu_splice,
#endif
};

/* Runs for each round.  They are short, so that most of them are over before
 * another process takes the CPU from one of the threads, and many, so that the
 * median is one of those. */
#define RUNS 7

void
bench_queues(const struct settings *settings)
{
    for (unsigned int round = 0; round < settings->rounds * RUNS; round++) {
        for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
            /* Each round begins with another one. */
            const struct queue_bench *queue
                = queues[(round + i) % ARRAY_SIZE(queues)];

            queue->alone(settings);
        }
        for (unsigned int n = 1; n <= 4; n *= 2) {
            for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
                queues[(round + i) % ARRAY_SIZE(queues)]->throughput(settings,
                                                                     n);
            }
            for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
                queues[(round + i) % ARRAY_SIZE(queues)]->latency(settings, n);
            }
        }
        for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
            if (queues[i]->wakeup) {
                queues[i]->wakeup(settings);
            }
        }
    }
}
