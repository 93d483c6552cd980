/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "stats/latency-hist.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

void
latency_hist_init(struct latency_hist *hist)
{
    memset(hist, 0, sizeof *hist);
}

/* Returns part 'i', for readers, or NULL. */
static struct latency_part *
get_part(struct latency_hist *hist, unsigned int i)
{
    struct latency_part *part;

    /* Pairs with add_part(). */
    atomic_read_explicit(&hist->parts[i], &part, memory_order_acquire);
    return part;
}

/* Creates part 'i', which does not exist. */
static struct latency_part *
add_part(struct latency_hist *hist, unsigned int i)
{
    struct latency_part *part = xmalloc(sizeof *part);

    for (size_t j = 0; j < LATENCY_PART_BUCKETS; j++) {
        atomic_init(&part->buckets[j], 0);
    }
    /* Pairs with get_part(). */
    atomic_store_explicit(&hist->parts[i], part, memory_order_release);
    return part;
}

/* Creates part 'i', and counts 'usec', which falls into it.  A separate
 * function, so that its caller needs no stack for it. */
static void __attribute__((__noinline__))
record_in_new_part(struct latency_hist *hist, unsigned int i, uint64_t usec)
{
    add_part(hist, i);
    latency_hist_record(hist, usec);
}

void
latency_hist_uninit(struct latency_hist *hist)
{
    for (size_t i = 0; i < LATENCY_N_PARTS; i++) {
        free(get_part(hist, i));
    }
}

unsigned int
latency_hist_bucket(uint32_t usec)
{
    unsigned int shift;

    /* The shortest durations have a bucket each. */
    if (usec < LATENCY_SUB_BUCKETS) {
        return usec;
    }
    shift = log_2_floor(usec) - LATENCY_SUB_BITS;
    return (shift + 1) * LATENCY_SUB_BUCKETS
           + ((usec >> shift) & (LATENCY_SUB_BUCKETS - 1));
}

uint32_t
latency_hist_bucket_end(unsigned int bucket)
{
    unsigned int shift;
    uint64_t first;

    if (bucket < LATENCY_SUB_BUCKETS) {
        return bucket;
    }
    shift = bucket / LATENCY_SUB_BUCKETS - 1;
    first = LATENCY_SUB_BUCKETS + bucket % LATENCY_SUB_BUCKETS;
    return ((first + 1) << shift) - 1;
}

void
latency_hist_record(struct latency_hist *hist, uint64_t usec_)
{
    uint32_t usec = MIN(usec_, UINT32_MAX);
    unsigned int i = latency_hist_bucket(usec);
    struct latency_part *part;
    atomic_uint32_t *bucket;
    uint32_t n, max;
    uint64_t sum;

    atomic_read_relaxed(&hist->parts[i / LATENCY_PART_BUCKETS], &part);
    if (OVS_UNLIKELY(!part)) {
        record_in_new_part(hist, i / LATENCY_PART_BUCKETS, usec_);
        return;
    }
    bucket = &part->buckets[i % LATENCY_PART_BUCKETS];
    atomic_read_relaxed(bucket, &n);
    if (n < UINT32_MAX) {
        atomic_store_relaxed(bucket, n + 1);
    }
    atomic_read_relaxed(&hist->sum, &sum);
    atomic_store_relaxed(&hist->sum, sum + usec);
    atomic_read_relaxed(&hist->max, &max);
    if (usec > max) {
        atomic_store_relaxed(&hist->max, usec);
    }
}

void
latency_hist_reset(struct latency_hist *hist)
{
    for (size_t i = 0; i < LATENCY_N_PARTS; i++) {
        struct latency_part *part = get_part(hist, i);

        for (size_t j = 0; part && j < LATENCY_PART_BUCKETS; j++) {
            atomic_store_relaxed(&part->buckets[j], 0);
        }
    }
    atomic_store_relaxed(&hist->max, 0);
    atomic_store_relaxed(&hist->sum, 0);
}

/* Stores how many durations in 'buckets' are below each bound. */
static void
count_below(const uint32_t buckets[], uint64_t below[LATENCY_N_BOUNDS])
{
    uint64_t seen = 0;
    unsigned int i = 0;

    for (unsigned int bound = 0; bound < LATENCY_N_BOUNDS; bound++) {
        unsigned int end = latency_hist_bucket(LATENCY_BOUND(bound));

        for (; i < end; i++) {
            seen += buckets[i];
        }
        below[bound] = seen;
    }
}

/* Returns the duration that at least 'percent' % of the 'n' durations in
 * 'buckets' do not exceed. */
static uint32_t
percentile(const uint32_t buckets[], uint64_t n, unsigned int percent)
{
    uint64_t rank = DIV_ROUND_UP(n * percent, 100);
    uint64_t seen = 0;

    for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
        seen += buckets[i];
        if (seen && seen >= rank) {
            return latency_hist_bucket_end(i);
        }
    }
    return 0;
}

void
latency_hist_summarize(const struct latency_hist *hist_,
                       struct latency_summary *summary)
{
    struct latency_hist *hist = CONST_CAST(struct latency_hist *, hist_);
    uint32_t buckets[LATENCY_BUCKETS];

    memset(summary, 0, sizeof *summary);
    for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
        struct latency_part *part = get_part(hist, i / LATENCY_PART_BUCKETS);

        buckets[i] = 0;
        if (part) {
            atomic_read_relaxed(&part->buckets[i % LATENCY_PART_BUCKETS],
                                &buckets[i]);
        }
        summary->n += buckets[i];
    }
    atomic_read_relaxed(&hist->max, &summary->max);
    atomic_read_relaxed(&hist->sum, &summary->sum);
    count_below(buckets, summary->below);
    summary->p50 = MIN(percentile(buckets, summary->n, 50), summary->max);
    summary->p99 = MIN(percentile(buckets, summary->n, 99), summary->max);
}

/* Adds 'n' to '*counter', which saturates. */
static void
bucket_add(atomic_uint32_t *counter, uint32_t n)
{
    uint32_t old;

    atomic_read_relaxed(counter, &old);
    atomic_store_relaxed(counter, n > UINT32_MAX - old ? UINT32_MAX : old + n);
}

void
latency_hist_add(struct latency_hist *dst, const struct latency_hist *src_)
{
    struct latency_hist *src = CONST_CAST(struct latency_hist *, src_);
    uint64_t dst_sum, src_sum;
    uint32_t dst_max, src_max;

    for (unsigned int i = 0; i < LATENCY_N_PARTS; i++) {
        struct latency_part *from = get_part(src, i);
        struct latency_part *to = get_part(dst, i);

        if (!from) {
            continue;
        }
        to = to ? to : add_part(dst, i);
        for (unsigned int j = 0; j < LATENCY_PART_BUCKETS; j++) {
            uint32_t n;

            atomic_read_relaxed(&from->buckets[j], &n);
            bucket_add(&to->buckets[j], n);
        }
    }
    atomic_read_relaxed(&src->sum, &src_sum);
    atomic_read_relaxed(&dst->sum, &dst_sum);
    atomic_store_relaxed(&dst->sum, dst_sum + src_sum);
    atomic_read_relaxed(&src->max, &src_max);
    atomic_read_relaxed(&dst->max, &dst_max);
    atomic_store_relaxed(&dst->max, MAX(dst_max, src_max));
}
