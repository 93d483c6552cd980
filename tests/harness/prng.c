/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/prng.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness/unit.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t seed;

static __thread bool chosen;
static __thread uint64_t state;

static void
choose_seed(void)
{
    const char *s = getenv("KDP_SEED");

    if (s) {
        seed = strtoul(s, NULL, 0);
    } else {
        struct timespec ts;

        clock_gettime(CLOCK_REALTIME, &ts);
        seed = ts.tv_sec ^ ts.tv_nsec ^ (uint32_t) getpid() << 16;
    }
    printf("# KDP_SEED=%"PRIu32"\n", seed);
    fflush(stdout);
}

uint32_t
unit_seed(void)
{
    pthread_once(&once, choose_seed);
    return seed;
}

void
unit_random_stream(uint32_t id)
{
    state = (uint64_t) id << 32 | unit_seed();
    chosen = true;
}

/* SplitMix64 (Steele, Lea and Flood, 2014): neighbouring states, such as those
 * of streams, give unrelated sequences. */
static uint64_t
next(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t
unit_random(uint32_t n)
{
    if (!chosen) {
        unit_check(syscall(SYS_gettid) == getpid());
        unit_random_stream(0);
    }
    return (next() >> 32) * n >> 32;
}
