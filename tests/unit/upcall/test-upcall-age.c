/* SPDX-License-Identifier: Apache-2.0 */

/* U11: when upcalls were queued: the estimate alone, and with a model of a
 * socket that knows when each of its upcalls came. */

#include <config.h>
#include "upcall/upcall-age.h"

#include <stdlib.h>
#include <string.h>

#include "harness/prng.h"
#include "harness/unit.h"
#include "util.h"

#define NOW UINT64_C(1000000)

static void
upcalls_of_one_read_came_since_the_socket_was_empty(void **state OVS_UNUSED)
{
    struct upcall_age age;
    uint64_t at[4];

    upcall_age_init(&age, NOW);
    upcall_age_read(&age, 4, true, NOW + 400, at);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(at[i], NOW + 100 * (i + 1));
    }
    upcall_age_read(&age, 1, true, NOW + 500, at);
    assert_int_equal(at[0], NOW + 500);
    assert_int_equal(age.n_read, 5);
    assert_int_equal(age.n_marks, 1);
}

static void
the_first_one_came_with_the_event(void **state OVS_UNUSED)
{
    struct upcall_age age;
    uint64_t at[3];

    upcall_age_init(&age, NOW);
    upcall_age_mark(&age, 1, NOW + 1000);
    upcall_age_read(&age, 3, true, NOW + 1200, at);
    assert_int_equal(at[0], NOW + 1000);
    assert_int_equal(at[1], NOW + 1100);
    assert_int_equal(at[2], NOW + 1200);
}

static void
upcalls_between_two_looks_are_spread_evenly(void **state OVS_UNUSED)
{
    struct upcall_age age;
    uint64_t at[10];

    /* 4 by NOW + 400, 6 in the 60 that follow, and 2 until the read. */
    upcall_age_init(&age, NOW);
    upcall_age_mark(&age, 4, NOW + 400);
    upcall_age_mark(&age, 10, NOW + 460);
    upcall_age_read(&age, 2, false, NOW + 5000, at);
    assert_int_equal(at[0], NOW + 100);
    assert_int_equal(at[1], NOW + 200);
    upcall_age_read(&age, 10, true, NOW + 6000, at);
    assert_int_equal(at[1], NOW + 400);
    for (int i = 2; i < 8; i++) {
        assert_int_equal(at[i], NOW + 400 + 10 * (i - 1));
    }
    assert_int_equal(at[8], NOW + 460 + 5540 / 2);
    assert_int_equal(at[9], NOW + 6000);
}

static void
what_is_thrown_away_counts(void **state OVS_UNUSED)
{
    struct upcall_age age;
    uint64_t at[1];

    upcall_age_init(&age, NOW);
    upcall_age_mark(&age, 100, NOW + 1000);
    upcall_age_mark(&age, 200, NOW + 3000);
    upcall_age_read(&age, 149, false, NOW + 3000, NULL);
    upcall_age_read(&age, 1, false, NOW + 3000, at);
    assert_int_equal(at[0], NOW + 2000);
}

static void
looks_that_contradict_each_other_are_reconciled(void **state OVS_UNUSED)
{
    struct upcall_age age;
    uint64_t at[10];

    /* Fewer than before, and earlier than before. */
    upcall_age_init(&age, NOW);
    upcall_age_mark(&age, 8, NOW + 800);
    upcall_age_mark(&age, 2, NOW + 1000);
    upcall_age_mark(&age, 9, NOW + 900);
    upcall_age_read(&age, 10, true, NOW + 1100, at);
    assert_int_equal(at[7], NOW + 800);
    assert_int_equal(at[8], NOW + 1000);
    assert_int_equal(at[9], NOW + 1100);

    /* The clock went backwards. */
    upcall_age_mark(&age, 2, NOW + 2000);
    upcall_age_read(&age, 2, true, NOW + 1500, at);
    assert_int_equal(at[1], NOW + 1500);
}

static void
marks_are_thinned_out(void **state OVS_UNUSED)
{
    struct upcall_age age;
    uint64_t now = NOW;
    unsigned int n = 0;
    uint64_t at[1];

    /* One upcall in a millisecond, and a look whenever it is due. */
    upcall_age_init(&age, now);
    assert_false(upcall_age_look_is_due(&age, now + UPCALL_AGE_LOOK - 1));
    assert_true(upcall_age_look_is_due(&age, now + UPCALL_AGE_LOOK));
    for (int i = 1; i <= 10000; i++) {
        now += 1000;
        if (upcall_age_look_is_due(&age, now)) {
            upcall_age_mark(&age, i, now);
            n++;
        }
        assert_true(age.n_marks <= UPCALL_AGE_MARKS);
    }
    /* The looks become rare, so that most marks stay. */
    assert_true(n < 64);

    /* The wait of each is exact, as they came evenly, except those after the
     * last look. */
    for (int i = 1; i <= 8000; i++) {
        upcall_age_read(&age, 1, false, now, at);
        assert_int_equal(at[0], NOW + 1000 * i);
    }
}

static void
moments_are_spread_evenly(void **state OVS_UNUSED)
{
    unsigned int n_in[10] = { 0 };
    uint32_t n = 0;

    for (int i = 0; i < 1000; i++) {
        uint64_t at = upcall_age_between(NOW, NOW + 10000, &n);

        assert_in_range(at, NOW + 1, NOW + 10000);
        n_in[(at - NOW - 1) / 1000]++;
    }
    for (int i = 0; i < 10; i++) {
        assert_in_range(n_in[i], 98, 102);
    }
    assert_int_equal(upcall_age_between(NOW, NOW, &n), NOW);
    assert_int_equal(upcall_age_between(NOW + 1, NOW, &n), NOW);
    assert_in_range(upcall_age_between(0, UINT64_C(1) << 62, &n),
                    (UINT64_C(1) << 62) - UINT32_MAX, UINT64_C(1) << 62);
}

/* A port with a standing queue. */
struct model {
    uint64_t came[20000];
    unsigned int n_came, n_read;
    struct upcall_age age;
    uint64_t wait, error;       /* Sums. */
    unsigned int n_far;         /* Estimates that are further from the truth
                                 * than the header says. */
};

/* Has upcalls come until 'now' at distances of up to 2 * 'mean'. */
static void
come(struct model *m, uint64_t now, unsigned int mean)
{
    uint64_t at = m->n_came ? m->came[m->n_came - 1] : NOW;

    while (m->n_came < ARRAY_SIZE(m->came)) {
        at += unit_random(2 * mean) + 1;
        if (at > now) {
            break;
        }
        m->came[m->n_came++] = at;
    }
}

static void
serve(struct model *m, unsigned int max, uint64_t now)
{
    unsigned int n = MIN(max, m->n_came - m->n_read);
    bool empty = n < max;
    uint64_t at[64], bound;

    if (upcall_age_look_is_due(&m->age, now)) {
        upcall_age_mark(&m->age, m->n_came - m->n_read, now);
    }
    upcall_age_read(&m->age, n, empty, now, at);
    for (unsigned int i = 0; i < n; i++) {
        uint64_t came = m->came[m->n_read++];
        uint64_t error = at[i] > came ? at[i] - came : came - at[i];

        bound = MAX(UPCALL_AGE_LOOK, (now - came) / 4) + 10000;
        m->n_far += error > bound;
        m->wait += now - came;
        m->error += error;
    }
}

static void
model_is_told_the_truth(void **state OVS_UNUSED)
{
    struct model *m = xmalloc(sizeof *m);

    /* Upcalls come in phases of different rates, and are served 16 at a time
     * every 10 ms. */
    for (int k = 0; k < 20; k++) {
        uint64_t now = NOW;

        memset(m, 0, sizeof *m);
        upcall_age_init(&m->age, now);
        for (int i = 0; i < 500; i++) {
            unsigned int mean = i / 100 % 2 ? 1000 : 400;

            now += 10000;
            come(m, now, mean);
            serve(m, 16, now);
        }
        assert_int_equal(m->n_far, 0);
        assert_true(m->wait / m->n_read > 50000);
        /* Of many, the mean. */
        assert_true(m->error * 10 < m->wait);
    }
    free(m);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upcalls_of_one_read_came_since_the_socket_was_empty),
        cmocka_unit_test(the_first_one_came_with_the_event),
        cmocka_unit_test(upcalls_between_two_looks_are_spread_evenly),
        cmocka_unit_test(what_is_thrown_away_counts),
        cmocka_unit_test(looks_that_contradict_each_other_are_reconciled),
        cmocka_unit_test(marks_are_thinned_out),
        cmocka_unit_test(moments_are_spread_evenly),
        cmocka_unit_test(model_is_told_the_truth),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("upcall-age", tests, NULL, NULL);
}
