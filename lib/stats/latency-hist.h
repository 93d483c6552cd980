/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LATENCY_HIST_H
#define KDP_LATENCY_HIST_H 1

/* Latency histograms
 * ==================
 *
 * Counts durations in buckets whose width grows with the duration: each power
 * of two is divided into LATENCY_SUB_BUCKETS equal parts, so that a percentile
 * is exact to 12.5 %, from a microsecond to more than an hour.
 *
 * All buckets take 1 kB.  There is a histogram for each port, and most ports
 * have few durations, which are close to each other.  So buckets come in parts
 * of two powers of two, and a part is allocated when a duration falls into it.
 *
 * A bucket saturates at 2^32 - 1 durations, half a day of 100,000 upcalls per
 * second.  Percentiles then drift towards the other buckets until the
 * histogram is reset; if the bucket wrapped they would be wrong at once.
 *
 * Why not a library: HdrHistogram's C version counts in plain integers, which
 * another thread cannot read while they are written; its ways around that cost
 * locked instructions for each record or several histograms for each port.
 *
 * Life cycle: latency_hist_init(), latency_hist_uninit().  A part stays until
 * the end, even through resets.
 *
 * Failure: none.  Open vSwitch aborts the process if it cannot allocate a
 * part.
 *
 * Thread safety
 * -------------
 *
 *                    init, uninit   record   reset     summarize
 *      init, uninit       -           -        -           -
 *      record             -           -       yes (*)     yes
 *      reset              -          yes (*)  yes         yes
 *      summarize          -          yes      yes         yes
 *
 *      (*) A concurrent record may be lost or stay.
 *
 * _add() records in one histogram and summarizes the other.
 *
 * When the right to record passes to another thread, the caller makes sure
 * that this thread sees everything that was written.  A reader may miss the
 * latest records.
 *
 * The linearisation point is the store of the pointer to a part, which the
 * writer makes when the part is all zeros.  It releases, and pairs with the
 * acquiring load in reset and summarize.  The writer itself needs no
 * barrier. */

#include <stdint.h>

#include "openvswitch/util.h"
#include "ovs-atomic.h"

#define LATENCY_SUB_BITS 3
#define LATENCY_SUB_BUCKETS (1u << LATENCY_SUB_BITS)

/* Durations of 2^LATENCY_MAX_BITS microseconds (72 minutes) or more are
 * counted in the last bucket. */
#define LATENCY_MAX_BITS 32
#define LATENCY_BUCKETS \
    ((LATENCY_MAX_BITS - LATENCY_SUB_BITS + 1) * LATENCY_SUB_BUCKETS)

/* Buckets in a part: with fewer, the pointers and the overhead of malloc()
 * would take more than the missing buckets. */
#define LATENCY_PART_BUCKETS (2 * LATENCY_SUB_BUCKETS)
#define LATENCY_N_PARTS (LATENCY_BUCKETS / LATENCY_PART_BUCKETS)

BUILD_ASSERT_DECL(LATENCY_BUCKETS % LATENCY_PART_BUCKETS == 0);

struct latency_part {
    atomic_uint32_t buckets[LATENCY_PART_BUCKETS];  /* At most UINT32_MAX. */
};

struct latency_hist {
    ATOMIC(struct latency_part *) parts[LATENCY_N_PARTS];   /* NULL if all
                                                             * buckets are
                                                             * 0. */
    atomic_uint32_t max;        /* Microseconds. */
    atomic_uint64_t sum;        /* Microseconds. */
};

/* Bounds for programs: powers of 4 from 64 microseconds to a second, which are
 * the ends of buckets.  More would be too many for a monitoring system that
 * stores them for thousands of ports. */
#define LATENCY_N_BOUNDS 8
#define LATENCY_BOUND(I) (UINT32_C(64) << (2 * (I)))

struct latency_summary {
    uint64_t n;                 /* Number of durations, as far as counted. */

    /* Percentiles in microseconds: the upper end of their buckets, but at most
     * 'max'. */
    uint32_t p50;
    uint32_t p99;
    uint32_t max;               /* Exact, in microseconds. */

    uint64_t sum;               /* Of all durations, in microseconds. */
    uint64_t below[LATENCY_N_BOUNDS];   /* Durations below LATENCY_BOUND(I). */
};

void latency_hist_init(struct latency_hist *);
void latency_hist_uninit(struct latency_hist *);

/* Counts a duration of 'usec' microseconds. */
void latency_hist_record(struct latency_hist *, uint64_t usec);

/* Forgets everything. */
void latency_hist_reset(struct latency_hist *);

void latency_hist_summarize(const struct latency_hist *,
                            struct latency_summary *);

/* Adds the records of 'src' to 'dst'. */
void latency_hist_add(struct latency_hist *dst,
                      const struct latency_hist *src);

/* For tests: bucket of 'usec', and largest duration that a bucket counts. */
unsigned int latency_hist_bucket(uint32_t usec);
uint32_t latency_hist_bucket_end(unsigned int bucket);

#endif /* lib/stats/latency-hist.h */
