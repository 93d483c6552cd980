/* SPDX-License-Identifier: Apache-2.0 */

/* U3, U7: quiet ports among many noisy ones, where turns are small because
 * delay is bounded.  One thread plays the handler, and time is made up. */

#include <config.h>
#include "upcall/upcall-table.h"

#include "harness/made-up-clock.h"
#include "harness/unit.h"
#include "unit/upcall/fair-fixture.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-turn.h"
#include "util.h"

#define TARGET 50000
#define UPCALL_USEC 100         /* Work for one upcall. */
#define N_NOISY 50              /* A round takes 105 ms with full turns, and 20
                                 * with the smallest ones. */
#define N_PORTS 60
#define BACKLOG (2 * UPCALL_QUANTUM)

/* Does a batch, which takes its time, when 'backlog' wait at each noisy port.
 * Returns the number of upcalls. */
static size_t
batch_of(struct fixture *f, size_t backlog, uint32_t order[UPCALL_BATCH])
{
    size_t n;

    for (uint32_t i = 0; i < N_NOISY; i++) {
        top_up(f, i, backlog);
    }
    n = recv_batch(f, 0, order);
    unit_made_up_advance(n * UPCALL_USEC);
    return n;
}

static size_t
batch(struct fixture *f, uint32_t order[UPCALL_BATCH])
{
    return batch_of(f, BACKLOG, order);
}

/* Has the noisy ports flood, until turns are as small as they become.  No
 * queue stands for as long as it takes to be limited. */
static void
prepare_flood(struct fixture *f)
{
    prepare(f, 1, N_PORTS);
    upcall_table_set_target_delay(f->table, TARGET);
    for (int i = 0; i < 40; i++) {
        batch(f, NULL);
    }
}

static void
quiet_upcall_waits_for_one_small_turn(void **state)
{
    struct fixture *f = *state;
    uint32_t order[UPCALL_BATCH];

    prepare_flood(f);
    assert_int_equal(batch(f, order), UPCALL_BATCH);
    for (int i = 0; i < 20; i++) {
        top_up(f, N_NOISY, 1);
        assert_in_range(batch(f, order), 1 + UPCALL_QUANTUM_MIN,
                        1 + 2 * UPCALL_QUANTUM_MIN);
        assert_int_equal(order[0], N_NOISY);

        /* It sends some two in a round, less than its share. */
        assert_int_equal(batch(f, order), UPCALL_BATCH);
        assert_int_equal(batch(f, order), UPCALL_BATCH);
    }
}

/* That it uses up what it may be sent in a round makes no difference. */
static void
last_upcall_of_the_credit_waits_no_longer(void **state)
{
    struct fixture *f = *state;
    uint32_t order[UPCALL_BATCH];
    int n_first = 0;

    prepare_flood(f);
    for (;;) {
        size_t n;

        top_up(f, N_NOISY, 1);
        n = batch(f, order);
        if (order[0] != N_NOISY) {
            break;
        }
        assert_in_range(n, 1 + UPCALL_QUANTUM_MIN,
                        1 + 2 * UPCALL_QUANTUM_MIN);
        n_first++;
    }
    assert_in_range(n_first, UPCALL_QUANTUM_MIN, 2 * UPCALL_QUANTUM_MIN);
}

/* A burst of more than a turn waits for its turns.  What the port sends later
 * is less than its share, and does not wait for the run queue, though an
 * upcall comes in each round, which takes 'round_usec'.  'backlog' wait at
 * each noisy port. */
static void
check_after_burst(struct fixture *f, uint32_t target, size_t backlog,
                  uint64_t round_usec)
{
    uint64_t begin, next_at;
    unsigned int n_late = 0;

    prepare(f, 1, N_PORTS);
    upcall_table_set_target_delay(f->table, target);
    for (int i = 0; i < 40; i++) {
        batch_of(f, backlog, NULL);
    }
    top_up(f, N_NOISY, 2 * UPCALL_QUANTUM);
    do {
        batch_of(f, backlog, NULL);
    } while (n_waiting(&f->ports[N_NOISY]));

    begin = next_at = unit_made_up_usec();
    while (unit_made_up_usec() < begin + 20 * round_usec) {
        uint32_t order[UPCALL_BATCH];
        bool sent = unit_made_up_usec() >= next_at;

        if (sent) {
            top_up(f, N_NOISY, 1);
            next_at += round_usec * 2 / 3;
        }
        batch_of(f, backlog, order);

        /* The round after the burst may have it in the run queue. */
        if (unit_made_up_usec() > begin + 3 * round_usec) {
            n_late += sent && order[0] != N_NOISY;
        }
    }
    assert_int_equal(n_late, 0);
}

static void
port_that_sent_a_burst_is_quiet_again(void **state)
{
    check_after_burst(*state, 0, BACKLOG,
                      N_NOISY * UPCALL_QUANTUM * UPCALL_USEC);
}

static void
port_that_sent_a_burst_is_quiet_again_with_small_turns(void **state)
{
    /* As many as may wait, so that nothing is shed. */
    check_after_burst(*state, TARGET, 2 * UPCALL_QUANTUM_MIN,
                      N_NOISY * UPCALL_QUANTUM_MIN * UPCALL_USEC);
}

/* Has a quiet upcall come when 'n' of a batch were received.  Returns how many
 * were when it is, and stores how many there were in all. */
static size_t
receive_within_batch(struct fixture *f, size_t n, size_t *total)
{
    size_t found = 0;
    uint32_t port_no;

    *total = 0;
    while ((port_no = recv_one(f, 0)) != UINT32_MAX) {
        if (++*total == n) {
            top_up(f, N_NOISY, 1);
        } else if (port_no == N_NOISY) {
            assert_int_equal(found, 0);
            found = *total;
        }
    }
    unit_made_up_advance(*total * UPCALL_USEC);
    return found;
}

/* A batch takes several turns, and looks for quiet ports between them.  What
 * comes then ends it. */
static void
quiet_upcall_within_a_batch_waits_for_one_turn(void **state)
{
    static const size_t when[] = { 1, UPCALL_QUANTUM, UPCALL_QUANTUM + 1,
                                   2 * UPCALL_QUANTUM };
    struct fixture *f = *state;
    size_t found, total;

    prepare(f, 1, N_PORTS);
    for (int i = 0; i < 40; i++) {
        batch(f, NULL);
    }
    for (size_t i = 0; i < ARRAY_SIZE(when); i++) {
        size_t turns = DIV_ROUND_UP(when[i], UPCALL_QUANTUM);

        found = receive_within_batch(f, when[i], &total);
        assert_int_equal(found, turns * UPCALL_QUANTUM + 1);
        assert_int_equal(total, found);
        assert_int_equal(batch(f, NULL), UPCALL_BATCH);
    }

    /* The last turn of a batch has nothing after it. */
    found = receive_within_batch(f, 2 * UPCALL_QUANTUM + 1, &total);
    assert_int_equal(found, 0);
    assert_int_equal(total, UPCALL_BATCH);
}

static void
quiet_upcall_within_a_batch_of_small_turns_waits_for_some(void **state)
{
    struct fixture *f = *state;
    size_t found, total;

    prepare_flood(f);
    found = receive_within_batch(f, 2, &total);
    assert_in_range(found, UPCALL_QUANTUM + 1, 2 * UPCALL_QUANTUM);
    assert_int_equal(total, found);
}

/* Of 'n_quiet' ports, each is sent 'n' upcalls before each batch. */
static void
check_shares(struct fixture *f, uint32_t n_quiet, size_t n)
{
    uint64_t before[N_PORTS], least = UINT64_MAX, most = 0;
    uint64_t end;

    prepare_flood(f);
    for (uint32_t i = 0; i < N_PORTS; i++) {
        before[i] = f->ports[i].n_received;
    }
    for (end = unit_made_up_usec() + 200000; unit_made_up_usec() < end; ) {
        size_t n_served;

        for (uint32_t i = 0; i < n_quiet; i++) {
            top_up(f, N_NOISY + i, n);
        }
        n_served = batch(f, NULL);
        assert_true(n_served > UPCALL_QUANTUM_MIN);
    }
    for (uint32_t i = 0; i < N_PORTS; i++) {
        uint64_t served = f->ports[i].n_received - before[i];

        if (i < N_NOISY) {
            least = MIN(least, served);
            most = MAX(most, served);
        } else if (i < N_NOISY + n_quiet) {
            /* No more than a turn in each round. */
            assert_true(served <= most + 2 * (uint64_t) UPCALL_QUANTUM_MIN);
        }
    }
    print_message("%u quiet ports with %zu each: a noisy port was served %"
                  PRIu64" to %"PRIu64", a quiet one %"PRIu64"\n", n_quiet, n,
                  least, most,
                  f->ports[N_NOISY].n_received - before[N_NOISY]);
    assert_true(least >= UPCALL_QUANTUM_MIN);
    assert_true(most - least <= 2 * UPCALL_QUANTUM_MIN);
}

/* A port that goes empty again and again gets no more than its turns by
 * it. */
static void
ports_that_go_empty_starve_nobody(void **state)
{
    struct fixture *f = *state;

    check_shares(f, 1, 1);
}

static void
many_ports_that_go_empty_starve_nobody(void **state)
{
    struct fixture *f = *state;

    check_shares(f, N_PORTS - N_NOISY, 3);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, fair_setup, fair_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(quiet_upcall_waits_for_one_small_turn),
        TEST(last_upcall_of_the_credit_waits_no_longer),
        TEST(port_that_sent_a_burst_is_quiet_again),
        TEST(port_that_sent_a_burst_is_quiet_again_with_small_turns),
        TEST(quiet_upcall_within_a_batch_waits_for_one_turn),
        TEST(quiet_upcall_within_a_batch_of_small_turns_waits_for_some),
        TEST(ports_that_go_empty_starve_nobody),
        TEST(many_ports_that_go_empty_starve_nobody),
    };

    unit_init("test-upcall-sparse");
    return cmocka_run_group_tests_name("upcall-sparse", tests, NULL, NULL);
}
