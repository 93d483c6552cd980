/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_MOVING_AVERAGE_H
#define KDP_MOVING_AVERAGE_H 1

/* Moving averages
 * ===============
 *
 * Mean and standard deviation of a sequence of samples, such as latencies,
 * without storing them.  There are two kinds:
 *
 *   - cumulative: all samples since the start have the same weight;
 *
 *   - exponential: the weight of a sample is a fixed factor less than that of
 *     the next one, so that the average reflects recent samples.
 *
 * The textbook way, sums of the samples and of their squares, subtracts two
 * large and nearly equal numbers when the deviation is small compared to the
 * mean, and then returns noise, or the root of a negative number.  This module
 * maintains the mean and the squares of the distances from it: B. P. Welford,
 * "Note on a method for calculating corrected sums of squares and products"
 * (1962), and for the exponential kind T. Finch, "Incremental calculation of
 * weighted mean and variance" (2009).
 *
 * Averages of several threads are merged from their summaries, weighted by the
 * number of samples; the deviation includes the distance between the means (T.
 * F. Chan, G. H. Golub and R. J. LeVeque, 1979).  For the cumulative kind the
 * result is exactly that of one average of all samples.
 *
 * How readers see whole samples
 * -----------------------------
 *
 * There are two copies of the state.  The writer changes the one that is not
 * current and then makes it current by increasing 'seq'.  A reader starts
 * again if 'seq' has changed meanwhile, that is, only if the writer has made
 * progress.  A preempted writer delays no reader.
 *
 *     [A] release of 'seq'      - acquire of 'seq' by a reader: the copy that
 *         'seq' makes current is complete.
 *     [B] release in the copies - acquire in the copies by a reader: a reader
 *         that sees any part of a later sample sees that 'seq' has changed.
 *
 * Thread safety
 * -------------
 *
 *     moving_average_record              one writer at a time
 *     moving_average_read                any thread, any time; lock-free:
 *                                        starts again when samples come
 *     average_summary_*                  the caller's own data */

#include <stdbool.h>
#include <stdint.h>

#include "ovs-atomic.h"

struct moving_average_copy {
    atomic_uint64_t n;          /* Number of samples. */
    atomic_uint64_t mean;       /* Bits of a double. */
    atomic_uint64_t spread;     /* Bits of a double.  Cumulative: sum of the
                                 * squares of distances from the mean;
                                 * exponential: variance. */
};

struct moving_average {
    atomic_uint64_t seq;        /* Lowest bit: which copy is current. */
    struct moving_average_copy copies[2];
    double weight;              /* Of a new sample; 0 if cumulative. */
};

/* A moving average at one time, or several merged. */
struct average_summary {
    uint64_t n;                 /* Number of samples. */
    double mean;                /* 0 if there are none. */
    double variance;            /* Of the population.  Not negative. */
};

void moving_average_init_cumulative(struct moving_average *);
void moving_average_init_exponential(struct moving_average *, double weight);
void moving_average_record(struct moving_average *, double sample);
void moving_average_read(const struct moving_average *,
                         struct average_summary *);

void average_summary_merge(struct average_summary *,
                           const struct average_summary *);
double average_summary_deviation(const struct average_summary *);

#endif /* lib/stats/moving-average.h */
