/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-age.h"

#include <string.h>
#include <time.h>

#include "util.h"

uint64_t
upcall_now_usec(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000000) + ts.tv_nsec / 1000;
}

void
upcall_age_init(struct upcall_age *age, uint64_t now)
{
    memset(age, 0, sizeof *age);
    age->n_marks = 1;
    age->marks[0].at = now;
}

static const struct upcall_mark *
last_mark(const struct upcall_age *age)
{
    return &age->marks[age->n_marks - 1];
}

/* Drops every other mark, except the first and the last one. */
static void
thin_out(struct upcall_age *age)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < age->n_marks; i++) {
        if (i % 2 == 0 || i == age->n_marks - 1) {
            age->marks[n++] = age->marks[i];
        }
    }
    age->n_marks = n;
}

void
upcall_age_mark(struct upcall_age *age, unsigned int n, uint64_t now)
{
    const struct upcall_mark *last = last_mark(age);
    struct upcall_mark mark = {
        .n = MAX(age->n_read + n, last->n),
        .at = MAX(now, last->at),
    };

    if (age->n_marks == UPCALL_AGE_MARKS) {
        thin_out(age);
    }
    age->marks[age->n_marks++] = mark;
}

bool
upcall_age_look_is_due(const struct upcall_age *age, uint64_t now)
{
    uint64_t last = last_mark(age)->at;
    uint64_t span = last - age->marks[0].at;

    /* Marks that would be thinned out at once are useless. */
    return now >= last + MAX(UPCALL_AGE_LOOK, span / UPCALL_AGE_MARKS);
}

/* Removes the first 'n' marks. */
static void
drop_marks(struct upcall_age *age, unsigned int n)
{
    age->n_marks -= n;
    memmove(age->marks, &age->marks[n], age->n_marks * sizeof *age->marks);
}

/* Number of marks after which upcall 'i', counted from 1, was queued; at least
 * 1. */
static unsigned int
n_marks_before(const struct upcall_age *age, uint64_t i)
{
    unsigned int n = 1;

    while (n < age->n_marks && age->marks[n].n < i) {
        n++;
    }
    return n;
}

void
upcall_age_read(struct upcall_age *age, unsigned int n, bool empty,
                uint64_t now, uint64_t queued_at[])
{
    const struct upcall_mark end = { .n = age->n_read + n, .at = now };

    for (uint64_t i = age->n_read + 1; i <= end.n; i++) {
        unsigned int n_before = n_marks_before(age, i);
        const struct upcall_mark *before = &age->marks[n_before - 1];
        const struct upcall_mark *after
            = n_before < age->n_marks ? &age->marks[n_before] : &end;
        uint64_t usec = after->at - MIN(before->at, after->at);

        if (queued_at) {
            *queued_at++ = MIN(now, before->at + (usec * (i - before->n)
                                                  / (after->n - before->n)));
        }
        drop_marks(age, n_before - 1);
    }
    age->n_read = end.n;
    if (empty) {
        age->marks[0] = end;
        age->n_marks = 1;
    }
}

uint64_t
upcall_age_between(uint64_t from, uint64_t to, uint32_t *n)
{
    /* The fractions of multiples of the golden ratio are spread evenly,
     * however many there are. */
    uint32_t fraction = *n += UINT32_C(0x9e3779b9);

    return (from < to
            ? to - (MIN(to - from, UINT32_MAX) * fraction >> 32)
            : to);
}
