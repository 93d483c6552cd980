/* SPDX-License-Identifier: Apache-2.0 */

/* U3, U10: senders that share a channel get their share.  Handlers are played
 * by one thread, the kernel by numbers, and time is made up. */

#include <config.h>
#include "upcall/upcall-sched.h"

#include <stdlib.h>
#include <string.h>

#include "harness/made-up-clock.h"
#include "harness/prng.h"
#include "harness/unit.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-turn.h"
#include "util.h"

#define TOKEN(HANDLER) upcall_token(1, HANDLER)
#define UPCALL_USEC 40          /* Work for one upcall. */
#define MAX_HANDLERS 4
#define MAX_PORTS 4000

/* A flood of 'n_own' ports that have channels, numbers 0 and up, and of
 * 'n_sharing' that share the channel after these. */
struct flood {
    struct upcall_sched *sched;
    struct upcall_channel *channels;
    uint32_t n_own, n_sharing;
    uint32_t next;              /* Sharing port that sends next. */
    uint64_t served[MAX_PORTS];

    uint32_t n_handlers;
    struct upcall_channel *held[MAX_HANDLERS][UPCALL_BATCH];
    size_t n_held[MAX_HANDLERS];
};

static void
flood_init(struct flood *f, uint32_t n_handlers, uint32_t n_own,
           uint32_t n_sharing, uint64_t goal)
{
    memset(f, 0, sizeof *f);
    assert_true(n_own + n_sharing <= MAX_PORTS);
    assert_int_equal(upcall_sched_create(1, &f->sched), 0);
    if (goal) {
        upcall_sched_set_round_goal(f->sched, goal);
    }
    f->n_handlers = n_handlers;
    f->n_own = n_own;
    f->n_sharing = n_sharing;
    f->channels = xcalloc(n_own + 1, sizeof *f->channels);
    for (uint32_t i = 0; i <= n_own; i++) {
        struct upcall_channel *channel = &f->channels[i];

        channel->port_no = i < n_own ? i : UPCALL_PORT_SHARED;
        ovs_refcount_init(&channel->refcount);
        atomic_init(&channel->weight, i < n_own ? 1 : MAX(n_sharing, 1));
        atomic_init(&channel->owner, TOKEN(0));
        channel->state = UPCALL_STATE_SPENT;
        if (i < n_own || n_sharing) {
            assert_true(upcall_sched_push(f->sched, channel, TOKEN(0)));
        }
    }
}

static void
flood_uninit(struct flood *f)
{
    while (upcall_sched_pop(f->sched, TOKEN(0), NULL)) {
        continue;
    }
    upcall_sched_destroy(f->sched);
    free(f->channels);
    unit_rcu_barrier();
}

/* Serves 'n' upcalls of 'channel'. */
static void
serve(struct flood *f, struct upcall_channel *channel, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        uint32_t port_no = channel->port_no;

        unit_made_up_advance(UPCALL_USEC);
        if (!upcall_port_is_real(port_no)) {
            port_no = f->n_own + f->next;
            f->next = (f->next + 1) % f->n_sharing;
        }
        f->served[port_no]++;
    }
}

/* Has 'handler' do a batch.  It keeps the channels until its next one. */
static void
batch(struct flood *f, uint32_t handler)
{
    struct upcall_channel **held = f->held[handler];
    unsigned int n = 0;

    for (size_t i = 0; i < f->n_held[handler]; i++) {
        upcall_channel_set_state(held[i], UPCALL_STATE_SPENT);
        assert_true(upcall_sched_push(f->sched, held[i], TOKEN(handler)));
    }
    f->n_held[handler] = 0;
    while (n < UPCALL_BATCH) {
        struct upcall_channel *channel;
        unsigned int quantum;

        channel = upcall_sched_pop(f->sched, TOKEN(handler), &quantum);
        if (!channel) {
            break;
        }
        assert_in_range(quantum, UPCALL_QUANTUM_MIN, UPCALL_BATCH);
        upcall_channel_set_state(channel, UPCALL_STATE_READING);
        held[f->n_held[handler]++] = channel;
        serve(f, channel, quantum);
        n += quantum;
    }
}

/* Serves for 'usec'. */
static void
run(struct flood *f, uint64_t usec)
{
    for (uint64_t end = unit_made_up_usec() + usec;
         unit_made_up_usec() < end; ) {
        for (uint32_t i = 0; i < f->n_handlers; i++) {
            batch(f, i);
        }
    }
}

static double
jain(const struct flood *f)
{
    uint32_t n = f->n_own + f->n_sharing;
    double sum = 0, squares = 0;

    for (uint32_t i = 0; i < n; i++) {
        sum += f->served[i];
        squares += (double) f->served[i] * f->served[i];
    }
    return sum * sum / (n * squares);
}

static void
check_jain(uint32_t n_handlers, uint32_t n_own, uint32_t n_sharing,
           uint64_t goal)
{
    static struct flood f;
    double index;

    flood_init(&f, n_handlers, n_own, n_sharing, goal);
    run(&f, 10000000);
    memset(f.served, 0, sizeof f.served);
    run(&f, 20000000);
    index = jain(&f);
    print_message("%u handlers, %u ports, %u share: Jain's index %.3f, "
                  "quantum %u\n", n_handlers, n_own, n_sharing, index,
                  upcall_sched_quantum(f.sched));
    assert_true(index >= 0.95);
    flood_uninit(&f);
}

static void
shares_are_equal_with_and_without_a_channel(void **state OVS_UNUSED)
{
    static const uint64_t goals[] = { 0, 25000 };

    for (size_t i = 0; i < ARRAY_SIZE(goals); i++) {
        for (uint32_t n_handlers = 1; n_handlers <= 4; n_handlers += 3) {
            check_jain(n_handlers, 200, 0, goals[i]);
            check_jain(n_handlers, 3540, 460, goals[i]);
            check_jain(n_handlers, 180, 20, goals[i]);
            check_jain(n_handlers, 60, 6, goals[i]);
        }
        check_jain(1, 100, 100, goals[i]);
        check_jain(1, 200, 3800, goals[i]);
    }
}

/* The time that a round takes is bounded by the quantum, as far as that goes.
 */
static void
round_takes_as_long_as_it_should(void **state OVS_UNUSED)
{
    static struct flood f;
    uint64_t n_before;

    flood_init(&f, 1, 150, 0, 25000);
    run(&f, 1000000);
    assert_in_range(upcall_sched_quantum(f.sched), UPCALL_QUANTUM_MIN,
                    UPCALL_QUANTUM_MIN + 1);
    n_before = f.served[0];
    run(&f, 1000000);
    assert_in_range(f.served[0] - n_before, 1000000 / 40 / 150 - 5,
                    1000000 / 40 / 150 + 5);

    /* Without a goal the quantum is the largest again. */
    upcall_sched_set_round_goal(f.sched, 0);
    run(&f, 1000000);
    assert_int_equal(upcall_sched_quantum(f.sched), UPCALL_QUANTUM);
    flood_uninit(&f);
}

/* However long a round takes. */
static void
rounds_have_no_goal_at_first(void **state OVS_UNUSED)
{
    struct flood f;

    flood_init(&f, 1, 150, 0, 0);
    run(&f, 1000000);
    assert_int_equal(upcall_sched_quantum(f.sched), UPCALL_QUANTUM);
    flood_uninit(&f);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_equal_with_and_without_a_channel),
        cmocka_unit_test(round_takes_as_long_as_it_should),
        cmocka_unit_test(rounds_have_no_goal_at_first),
    };

    unit_init("test-upcall-weight");
    return cmocka_run_group_tests_name("upcall-weight", tests, NULL, NULL);
}
