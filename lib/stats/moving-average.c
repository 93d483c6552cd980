/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "stats/moving-average.h"

#include <math.h>
#include <string.h>

#include "util.h"

/* The state that a copy holds. */
struct state {
    uint64_t n;
    double mean;
    double spread;
};

static void
store_double(atomic_uint64_t *where, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);

    /* Release: the 'seq' stored before [B]. */
    atomic_store_explicit(where, bits, memory_order_release);
}

static double
load_double(atomic_uint64_t *where)
{
    uint64_t bits;
    double value;

    /* Acquire: the 'seq' read after [B]. */
    atomic_read_explicit(where, &bits, memory_order_acquire);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void
load(struct moving_average_copy *copy, struct state *state)
{
    atomic_read_explicit(&copy->n, &state->n, memory_order_acquire);  /* [B] */
    state->mean = load_double(&copy->mean);
    state->spread = load_double(&copy->spread);
}

/* Makes 'state', the successor of that with 'seq', the current one. */
static void
publish(struct moving_average *average, uint64_t seq,
        const struct state *state)
{
    struct moving_average_copy *copy = &average->copies[(seq + 1) & 1];

    atomic_store_explicit(&copy->n, state->n, memory_order_release);  /* [B] */
    store_double(&copy->mean, state->mean);
    store_double(&copy->spread, state->spread);

    /* Release: the copy [A]. */
    atomic_store_explicit(&average->seq, seq + 1, memory_order_release);
}

static void
init(struct moving_average *average, double weight)
{
    /* The other copy is written before it is read. */
    atomic_init(&average->seq, 0);
    atomic_init(&average->copies[0].n, 0);
    atomic_init(&average->copies[0].mean, 0);
    atomic_init(&average->copies[0].spread, 0);
    average->weight = weight;
}

void
moving_average_init_cumulative(struct moving_average *average)
{
    init(average, 0);
}

/* A new sample has the weight 'weight', in (0, 1], and each later one
 * multiplies it by 1 - 'weight'.  The first sample initially has weight 1. */
void
moving_average_init_exponential(struct moving_average *average, double weight)
{
    ovs_assert(weight > 0 && weight <= 1);
    init(average, weight);
}

/* Adds 'sample', which must be finite. */
void
moving_average_record(struct moving_average *average, double sample)
{
    struct state state;
    double distance;
    uint64_t seq;

    /* The writer reads what it wrote itself. */
    atomic_read_relaxed(&average->seq, &seq);
    load(&average->copies[seq & 1], &state);

    distance = sample - state.mean;
    state.n++;
    if (!average->weight) {
        state.mean += distance / state.n;
        state.spread += distance * (sample - state.mean);
    } else if (state.n == 1) {
        state.mean = sample;
    } else {
        double step = average->weight * distance;

        state.mean += step;
        state.spread = (1 - average->weight) * (state.spread
                                                + distance * step);
    }
    publish(average, seq, &state);
}

/* Stores the present state of 'average' in '*summary'.  It may lack the latest
 * samples. */
void
moving_average_read(const struct moving_average *average_,
                    struct average_summary *summary)
{
    struct moving_average *average = CONST_CAST(struct moving_average *,
                                                average_);
    uint64_t seq, seq2;
    struct state state;

    do {
        /* Acquire: the copy [A]. */
        atomic_read_explicit(&average->seq, &seq, memory_order_acquire);
        load(&average->copies[seq & 1], &state);
        atomic_read_relaxed(&average->seq, &seq2);
    } while (seq != seq2);

    summary->n = state.n;
    summary->mean = state.mean;
    summary->variance = (average->weight ? state.spread
                         : state.n ? state.spread / state.n : 0);
}

/* Adds the samples of '*b' to '*a'. */
void
average_summary_merge(struct average_summary *a,
                      const struct average_summary *b)
{
    double n = (double) a->n + b->n;
    double distance = b->mean - a->mean;
    double part;

    if (!b->n) {
        return;
    }
    if (!a->n) {
        *a = *b;
        return;
    }

    /* The spread within both, and that between their means. */
    part = b->n / n;
    a->variance = ((1 - part) * a->variance + part * b->variance
                   + distance * distance * part * (1 - part));
    a->mean += distance * part;
    a->n += b->n;
}

/* Returns the standard deviation (of the population). */
double
average_summary_deviation(const struct average_summary *summary)
{
    return sqrt(summary->variance);
}
