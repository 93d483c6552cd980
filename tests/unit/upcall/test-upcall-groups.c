/* SPDX-License-Identifier: Apache-2.0 */

/* Groups of handlers: U1, U3 and U4 across them, and how they help each
 * other. */

#include <config.h>
#include "upcall/upcall-groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/handlers.h"
#include "harness/kernel-messages.h"
#include "harness/prng.h"
#include "harness/unit.h"
#include "ovs-thread.h"
#include "unit/upcall/fair-fixture.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-ports.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-turn.h"
#include "util.h"

/* Makes a channel whose home is group 'home' of 'n' groups. */
static struct upcall_channel *
create_channel_at(uint32_t home, uint32_t n)
{
    for (;;) {
        struct upcall_channel *channel;

        assert_int_equal(upcall_channel_create(&channel), 0);
        if (channel->serial % n == home) {
            return channel;
        }
        upcall_channel_unref(channel);
    }
}

/* Makes the table one of 'n_handlers' handlers in groups of 'size', with
 * 'n[i]' ports in group i of 'n_groups'. */
static void
prepare_groups(struct fixture *f, uint32_t n_handlers, uint32_t size,
               const uint32_t n[], uint32_t n_groups)
{
    assert_int_equal(n_groups, DIV_ROUND_UP(n_handlers, size));
    assert_int_equal(upcall_table_set_group_size(f->table, size), 0);
    assert_int_equal(upcall_table_set_handlers(f->table, n_handlers), 0);
    f->n_ports = 0;
    for (uint32_t group = 0; group < n_groups; group++) {
        for (uint32_t i = 0; i < n[group]; i++, f->n_ports++) {
            struct upcall_channel *channel = create_channel_at(group,
                                                               n_groups);

            f->ports[f->n_ports] = (struct port) {
                .pid = channel->pid, .packet_len = UNIT_PACKET_MIN,
            };
            assert_int_equal(upcall_table_add_queues(f->table, f->n_ports,
                                                     "port", &channel, 1), 0);
        }
    }
}

static uint64_t
n_loans(const struct fixture *f, uint32_t handler)
{
    struct upcall_table_info info;
    uint64_t n;

    upcall_table_get_info(f->table, &info);
    n = info.handlers[handler].loans;
    upcall_table_info_uninit(&info);
    return n;
}

/* How handlers are divided. */

static void
groups_differ_by_one_in_size_at_most(void **state OVS_UNUSED)
{
    for (uint32_t n_handlers = 1; n_handlers <= 40; n_handlers++) {
        for (uint32_t size = 1; size <= 10; size++) {
            struct upcall_groups *groups;
            uint32_t counts[40] = { 0 };
            uint32_t n;

            assert_int_equal(upcall_groups_create(1, n_handlers, size,
                                                  &groups), 0);
            n = upcall_groups_n(groups);
            assert_int_equal(n, DIV_ROUND_UP(n_handlers, size));
            for (uint32_t i = 0; i < n_handlers; i++) {
                uint32_t group = upcall_groups_of_handler(groups, i);

                assert_true(group < n);
                counts[group]++;
            }
            for (uint32_t i = 0; i < n; i++) {
                assert_in_range(counts[i], n_handlers / n, size);
                assert_int_equal(counts[i],
                                 upcall_groups_n_handlers(groups, i));
            }
            upcall_groups_unref(groups);
        }
    }
}

/* Calls. */

/* Groups of two for four handlers, without threads. */
static struct upcall_groups *
create_two(void)
{
    struct upcall_groups *groups;

    assert_int_equal(upcall_groups_create(1, 4, 2, &groups), 0);
    assert_int_equal(upcall_groups_n(groups), 2);
    return groups;
}

static bool
was_called(struct upcall_groups *groups, uint32_t group)
{
    struct upcall_events events;

    upcall_sched_poll(upcall_groups_sched(groups, group), &events);
    assert_int_equal(events.n_channels, 0);
    return events.called;
}

static void
call_is_for_groups_in_which_somebody_sleeps(void **state OVS_UNUSED)
{
    struct upcall_groups *groups = create_two();
    struct upcall_sched *other = upcall_groups_sched(groups, 1);

    upcall_groups_call(groups);
    assert_false(was_called(groups, 0));
    assert_false(was_called(groups, 1));

    assert_true(upcall_sched_sleep_begin(other));
    upcall_groups_call(groups);
    assert_true(was_called(groups, 1));
    assert_false(was_called(groups, 1));
    upcall_sched_sleep_end(other);
    upcall_groups_unref(groups);
}

/* Puts a channel of group 0 into its run queue. */
static void
push(struct upcall_groups *groups)
{
    struct upcall_channel *channel = create_channel_at(0, 2);

    assert_true(upcall_channel_take(channel, upcall_token(1, 0)));
    assert_true(upcall_sched_push(upcall_groups_sched(groups, 0), channel,
                                  upcall_token(1, 0)));
}

static void
nobody_sleeps_while_another_group_has_too_much(void **state OVS_UNUSED)
{
    struct upcall_groups *groups = create_two();
    struct upcall_sched *sched = upcall_groups_sched(groups, 0);
    struct upcall_events events;

    push(groups);
    assert_ptr_equal(upcall_groups_overloaded(groups, 1), sched);
    assert_null(upcall_groups_overloaded(groups, 0));
    assert_int_equal(upcall_groups_wait(groups, 1, -1, &events), 0);
    assert_true(events.called);
    assert_false(events.kicked);

    /* Somebody sleeps there, and is kicked for it. */
    upcall_sched_sleep_begin(sched);
    assert_null(upcall_groups_overloaded(groups, 1));
    assert_int_equal(upcall_groups_wait(groups, 1, 0, &events), 0);
    assert_false(events.called);
    upcall_sched_sleep_end(sched);
    upcall_groups_unref(groups);
}

static void
call_that_comes_too_late_is_told_from_others(void **state OVS_UNUSED)
{
    struct upcall_groups *groups = create_two();
    struct upcall_sched *other = upcall_groups_sched(groups, 1);
    struct upcall_events events;

    upcall_sched_sleep_begin(other);
    upcall_groups_call(groups);
    upcall_sched_sleep_end(other);
    assert_int_equal(upcall_groups_wait(groups, 1, -1, &events), 0);
    assert_false(events.called);
    assert_true(events.in_vain);
    upcall_groups_unref(groups);
}

static void
call_that_comes_too_late_is_an_empty_wakeup(void **state OVS_UNUSED)
{
    struct upcall_table *table = upcall_table_create("dp", UNIT_DP_IFINDEX,
                                                     UNIT_FAMILY);
    struct upcall_groups *groups = create_two();
    struct upcall_sched *other = upcall_groups_sched(groups, 1);
    struct upcall_handler_stats stats;
    struct upcall_handler *handler;
    bool ready, latched, again;

    assert_int_equal(upcall_handler_create(table, 2, 1, groups,
                                           &upcall_engine_epoll, &handler), 0);
    upcall_sched_sleep_begin(other);
    upcall_groups_call(groups);
    upcall_sched_sleep_end(other);
    assert_int_equal(upcall_handler_wait(handler, -1, &ready, &latched,
                                         &again), 0);
    assert_true(again);
    assert_false(ready || latched);
    upcall_handler_get_stats(handler, &stats);
    assert_int_equal(stats.wakeups, 1);
    assert_int_equal(stats.empty_wakeups, 1);

    /* Without a call, nothing wakes it. */
    assert_int_equal(upcall_handler_wait(handler, 0, &ready, &latched,
                                         &again), 0);
    assert_false(ready || latched || again);
    upcall_handler_get_stats(handler, &stats);
    assert_int_equal(stats.wakeups, 1);
    assert_int_equal(stats.empty_wakeups, 1);
    upcall_handler_unref(handler);
    upcall_groups_unref(groups);
    upcall_table_destroy(table);
    unit_rcu_barrier();
}

static void
group_gives_away_the_turns_that_it_has_too_many(void **state OVS_UNUSED)
{
    struct upcall_groups *groups = create_two();
    uint32_t credit = 0;
    size_t n = 0;

    /* With nothing of its own, all; */
    credit = 3;
    assert_null(upcall_groups_plan(groups, 1, &credit).lender);
    assert_int_equal(credit, 0);
    for (int i = 0; i < 8; i++) {
        push(groups);
    }
    assert_int_equal(upcall_groups_plan(groups, 1, &credit).n, UPCALL_TURNS);
    assert_null(upcall_groups_plan(groups, 0, &credit).lender);

    /* with a quarter of all, a half; */
    for (int i = 0; i < 4; i++) {
        struct upcall_channel *channel = create_channel_at(1, 2);

        assert_true(upcall_channel_take(channel, upcall_token(1, 2)));
        assert_true(upcall_sched_push(upcall_groups_sched(groups, 1), channel,
                                      upcall_token(1, 2)));
        if (i < 3) {
            push(groups);
        }
    }
    push(groups);
    credit = 0;
    for (int i = 0; i < 100; i++) {
        n += upcall_groups_plan(groups, 1, &credit).n;
    }
    assert_in_range(n, 49 * UPCALL_TURNS, 51 * UPCALL_TURNS);

    /* with nearly as many as the others have, none. */
    for (int i = 0; i < 7; i++) {
        struct upcall_channel *channel = create_channel_at(1, 2);

        assert_true(upcall_channel_take(channel, upcall_token(1, 2)));
        assert_true(upcall_sched_push(upcall_groups_sched(groups, 1), channel,
                                      upcall_token(1, 2)));
    }
    assert_null(upcall_groups_plan(groups, 1, &credit).lender);
    upcall_groups_unref(groups);
}

/* Fairness. */

static void
flooded_ports_are_served_equally_whatever_their_group(void **state)
{
    static const uint32_t counts[][2] = {
        { 16, 16 }, { 24, 8 }, { 30, 2 }, { 31, 1 }, { 32, 0 }, { 0, 32 },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        double index;

        prepare_groups(f, 4, 2, counts[i], 2);
        for (unsigned int k = 0; k < 600; k++) {
            top_up_all(f, UPCALL_BATCH + 1);
            recv_batch(f, (k + k / 7) % 4, NULL);
        }
        index = jain_upcalls(f);
        print_message("%u and %u ports: Jain's index %.3f\n", counts[i][0],
                      counts[i][1], index);
        assert_true(index >= 0.95);
        recv_all(f);
        upcall_table_del_all(f->table);
    }
}

static void
balanced_groups_lend_little(void **state)
{
    static const uint32_t counts[2] = { 16, 16 };
    struct fixture *f = *state;
    uint64_t n = 0;

    prepare_groups(f, 4, 2, counts, 2);
    for (unsigned int k = 0; k < 600; k++) {
        top_up_all(f, UPCALL_BATCH + 1);
        recv_batch(f, k % 4, NULL);
    }
    for (uint32_t i = 0; i < 4; i++) {
        n += n_loans(f, i);
    }
    print_message("%llu of %u turns on loan\n", (unsigned long long int) n,
                  600 * UPCALL_TURNS);
    assert_true(n * 10 < 600 * UPCALL_TURNS);
    recv_all(f);
}

static void
idle_group_takes_over_from_a_busy_one(void **state)
{
    static const uint32_t counts[2] = { 32, 0 };
    struct fixture *f = *state;
    struct upcall_table_info info;
    size_t n[4] = { 0 };

    prepare_groups(f, 4, 2, counts, 2);
    for (unsigned int k = 0; k < 400; k++) {
        top_up_all(f, UPCALL_BATCH + 1);
        n[k % 4] += recv_batch(f, k % 4, NULL);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(n[i] >= 90 * UPCALL_BATCH);
        assert_int_equal(n_loans(f, i) > 0, i >= 2);
    }

    /* A group has what its handlers have. */
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.group_size, 2);
    assert_int_equal(info.n_groups, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(info.groups[i].n_handlers, 2);
        assert_int_equal(info.groups[i].quantum, UPCALL_QUANTUM);
        assert_int_equal(info.groups[i].wakeups, 0);
        assert_int_equal(info.groups[i].loans,
                         n_loans(f, 2 * i) + n_loans(f, 2 * i + 1));
        assert_int_equal(info.groups[i].contended, 0);
    }
    assert_true(info.groups[0].n_queued > 0 && info.groups[0].locks > 0);
    assert_int_equal(info.groups[1].n_queued, 0);
    upcall_table_info_uninit(&info);
    recv_all(f);
}

/* A channel on loan goes back to its home, where the only handler has gone to
 * sleep meanwhile, though nothing else waits there. */
static void
channel_on_loan_wakes_the_sleeper_of_its_home(void **state)
{
    struct upcall_handler *handler, *successor;
    struct fixture *f = *state;
    struct upcall_channel *channel = create_channel_at(1, 2);
    struct upcall_handler_stats stats;
    struct upcall_groups *groups;
    struct upcall_events events;
    struct upcall_sched *home;
    struct upcall_view view;
    size_t n = 0;

    assert_int_equal(upcall_groups_create(1, 2, 1, &groups), 0);
    home = upcall_groups_sched(groups, 1);
    assert_int_equal(upcall_handler_create(f->table, 0, 1, groups,
                                           &upcall_engine_epoll, &handler), 0);
    assert_int_equal(upcall_ports_attach(f->table, groups, 1), 0);
    f->ports[0] = (struct port) {
        .pid = channel->pid, .packet_len = UNIT_PACKET_MIN,
    };
    f->n_ports = 1;
    assert_int_equal(upcall_table_add_queues(f->table, 0, "port", &channel, 1),
                     0);

    /* The handler of the other group has had its turn of the channel. */
    top_up(f, 0, 2 * UPCALL_BATCH);
    ovs_refcount_ref(&channel->refcount);
    assert_true(upcall_channel_take(channel, upcall_token(1, 1)));
    assert_false(upcall_handler_is_ready(handler, false));
    assert_true(upcall_sched_push(home, channel, upcall_token(1, 1)));
    assert_true(upcall_handler_is_ready(handler, false));
    while (!upcall_handler_recv(handler, &view)) {
        assert_true(upcall_handler_is_in_batch(handler));
        n++;
    }
    assert_int_equal(n, UPCALL_BATCH);
    assert_int_equal(upcall_sched_n_queued(home), 0);
    upcall_handler_get_stats(handler, &stats);
    assert_int_equal(stats.loans, 1);
    assert_int_equal(stats.upcalls, n);
    assert_int_equal(stats.batches, 1);

    assert_true(upcall_sched_sleep_begin(home));
    upcall_sched_poll(home, &events);
    assert_false(events.kicked);
    assert_true(upcall_handler_is_ready(handler, false));
    assert_int_equal(upcall_handler_recv(handler, &view), EAGAIN);
    assert_false(upcall_handler_is_in_batch(handler));
    assert_false(upcall_handler_is_ready(handler, false));
    assert_int_equal(upcall_sched_n_queued(home), 1);
    upcall_sched_poll(home, &events);
    assert_true(events.kicked);

    /* A handler that replaces it has to be called to release its channels. */
    assert_int_equal(upcall_handler_create(f->table, 0, 1, groups,
                                           &upcall_engine_epoll, &successor),
                     0);
    assert_false(upcall_handler_is_ready(successor, false));
    upcall_handler_set_predecessor(successor, handler);
    assert_true(upcall_handler_is_ready(successor, false));
    assert_int_equal(upcall_handler_recv(successor, &view), EAGAIN);
    assert_false(upcall_handler_is_ready(successor, false));
    upcall_sched_sleep_end(home);

    upcall_ports_detach(f->table);
    upcall_handler_unref(successor);
    upcall_groups_unref(groups);
}

/* Order. */

static void
no_port_is_with_two_handlers_of_different_groups(void **state)
{
    static const uint32_t counts[4] = { 6, 1, 1, 4 };
    struct fixture *f = *state;

    prepare_groups(f, 4, 1, counts, 4);
    for (unsigned int i = 0; i < 20000; i++) {
        if (unit_random(8) == 0) {
            top_up(f, unit_random(f->n_ports), 1 + unit_random(64));
        }
        recv_one(f, unit_random(MAX_HANDLERS));
    }
    for (uint32_t h = 0; h < MAX_HANDLERS; h++) {
        while (recv_one(f, h) != UINT32_MAX) {
            continue;
        }
    }
    assert_true(n_loans(f, 1) + n_loans(f, 2) > 0);
    recv_all(f);
}

static void
upcalls_survive_a_change_of_the_group_size(void **state)
{
    static const uint32_t sizes[] = { 4, 1, 2, 3, 8, 1, 4 };
    static const uint32_t counts[2] = { 15, 5 };
    struct fixture *f = *state;
    struct upcall_table_info info;

    prepare_groups(f, 4, 2, counts, 2);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        top_up_all(f, 64);
        for (unsigned int k = 0; k < 12; k++) {
            recv_batch(f, k % 4, NULL);
        }
        assert_int_equal(upcall_table_set_group_size(f->table, sizes[i]), 0);
        memset(f->held, 0, sizeof f->held);
    }
    recv_all(f);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.abandoned, 0);
    for (size_t i = 0; i < info.n_ports; i++) {
        assert_int_equal(info.ports[i].stats.received, f->ports[i].n_sent);
    }
    upcall_table_info_uninit(&info);
}

/* Threads. */

static atomic_count seen_by[UNIT_MAX_HANDLERS]; /* Batches. */
static atomic_count n_done;
static atomic_count n_inside;
static atomic_count go_on;

/* No batch but the first 'n_alone' of handler 0 is processed until 'n'
 * handlers have had one. */
struct demand {
    unsigned int n_alone;
    unsigned int n;
};

static unsigned int
count_workers(void)
{
    unsigned int n = 0;

    for (size_t i = 0; i < UNIT_MAX_HANDLERS; i++) {
        n += atomic_count_get(&seen_by[i]) > 0;
    }
    return n;
}

static void
process(uint32_t handler, const struct upcall_view views[] OVS_UNUSED,
        size_t n, void *demand_)
{
    const struct demand *demand = demand_;

    atomic_count_inc(&seen_by[handler]);
    atomic_count_inc(&n_inside);
    while (!atomic_count_get(&go_on)
           || ((handler || atomic_count_get(&seen_by[0]) > demand->n_alone)
               && count_workers() < demand->n)) {
        unit_sleep_us(1000);
    }
    while (n--) {
        atomic_count_inc(&n_done);
    }
}

/* Four handlers, each a group of its own, and ports whose home is that of
 * handler 0. */
struct crew {
    struct unit_handlers handlers;
    struct upcall_table *table;
    int sender;
    uint32_t pids[64];
};

static void
crew_start(struct crew *crew, unsigned int n_ports)
{
    for (uint32_t i = 0; i < UNIT_MAX_HANDLERS; i++) {
        atomic_count_set(&seen_by[i], 0);
    }
    atomic_count_set(&n_done, 0);
    atomic_count_set(&n_inside, 0);
    atomic_count_set(&go_on, 0);
    crew->sender = unit_sender_open();
    crew->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    assert_int_equal(upcall_table_set_group_size(crew->table, 1), 0);
    assert_int_equal(upcall_table_set_handlers(crew->table, 4), 0);
    for (uint32_t i = 0; i < n_ports; i++) {
        struct upcall_channel *channel = create_channel_at(0, 4);

        crew->pids[i] = channel->pid;
        assert_int_equal(upcall_table_add_queues(crew->table, i, "port",
                                                 &channel, 1), 0);
    }
}

static void
crew_end(struct crew *crew)
{
    unit_wait_until(unit_handlers_are_in_epoll_wait(&crew->handlers));
    print_message("batches of the handlers: %u %u %u %u\n",
                  atomic_count_get(&seen_by[0]), atomic_count_get(&seen_by[1]),
                  atomic_count_get(&seen_by[2]),
                  atomic_count_get(&seen_by[3]));
    unit_handlers_stop(&crew->handlers);
    upcall_table_destroy(crew->table);
    close(crew->sender);
    unit_rcu_barrier();
}

/* Sends 'n_upcalls' to each of 'n_ports' ports and checks that 'demand' is
 * met. */
static void
check_help(unsigned int n_ports, unsigned int n_upcalls, struct demand demand)
{
    struct crew crew;

    crew_start(&crew, n_ports);
    unit_handlers_start(&crew.handlers, crew.table, 4, process, &demand);
    unit_wait_until(unit_handlers_are_in_epoll_wait(&crew.handlers));

    /* The first port keeps the group's only handler until all have sent. */
    unit_send_upcall(crew.sender, crew.pids[0], 0);
    unit_wait_until(atomic_count_get(&n_inside) == 1);
    for (unsigned int j = 1; j <= n_upcalls; j++) {
        for (uint32_t i = 0; i < n_ports; i++) {
            unit_send_upcall(crew.sender, crew.pids[i], j);
        }
    }
    assert_int_equal(atomic_count_get(&seen_by[0]), 1);
    atomic_count_set(&go_on, 1);
    unit_wait_until(atomic_count_get(&n_done) == 1 + n_ports * n_upcalls);
    assert_true(count_workers() >= demand.n);
    crew_end(&crew);
}

static void
other_groups_are_called_for_events(void **state OVS_UNUSED)
{
    /* Each handler takes eight. */
    check_help(40, 1, (struct demand) { .n_alone = 1, .n = 4 });
}

static void
other_groups_are_called_for_the_run_queue(void **state OVS_UNUSED)
{
    /* All ports come to the run queue within some batches. */
    check_help(7, 200, (struct demand) { .n_alone = 5, .n = 2 });
}

static void
other_groups_are_called_for_a_short_run_queue(void **state OVS_UNUSED)
{
    /* One handler could serve all three ports in each of its batches. */
    check_help(3, 200, (struct demand) { .n_alone = 3, .n = 2 });
}

static void
one_call_wakes_one_handler(void **state OVS_UNUSED)
{
    static struct demand demand = { .n_alone = 0, .n = 2 };
    struct upcall_table_info info;
    uint64_t n_wakeups = 0, n_of_groups = 0;
    struct crew crew;

    /* Nine ports: eight are the handler's, for the ninth it calls one of three
     * others. */
    crew_start(&crew, 9);
    unit_handlers_start(&crew.handlers, crew.table, 4, process, &demand);
    unit_wait_until(unit_handlers_are_in_epoll_wait(&crew.handlers));
    unit_send_upcall(crew.sender, crew.pids[8], 0);
    unit_wait_until(atomic_count_get(&n_inside) == 1);
    upcall_table_reset_stats(crew.table);
    for (uint32_t i = 0; i < 9; i++) {
        unit_send_upcall(crew.sender, crew.pids[i], 1);
    }
    atomic_count_set(&n_inside, 0);
    atomic_count_set(&seen_by[0], 0);
    atomic_count_set(&go_on, 1);
    unit_wait_until(atomic_count_get(&n_done) == 10);
    unit_wait_until(unit_handlers_are_in_epoll_wait(&crew.handlers));
    upcall_table_get_info(crew.table, &info);
    for (size_t i = 1; i < info.n_handlers; i++) {
        n_wakeups += info.handlers[i].wakeups;
    }
    for (size_t i = 0; i < info.n_groups; i++) {
        n_of_groups += info.groups[i].wakeups;
    }
    assert_int_equal(n_wakeups, 1);
    assert_int_equal(n_of_groups, info.handlers[0].wakeups + n_wakeups);
    upcall_table_info_uninit(&info);
    crew_end(&crew);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, fair_setup, fair_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_differ_by_one_in_size_at_most),
        cmocka_unit_test(call_is_for_groups_in_which_somebody_sleeps),
        cmocka_unit_test(nobody_sleeps_while_another_group_has_too_much),
        cmocka_unit_test(call_that_comes_too_late_is_told_from_others),
        cmocka_unit_test(call_that_comes_too_late_is_an_empty_wakeup),
        cmocka_unit_test(group_gives_away_the_turns_that_it_has_too_many),
        TEST(flooded_ports_are_served_equally_whatever_their_group),
        TEST(balanced_groups_lend_little),
        TEST(idle_group_takes_over_from_a_busy_one),
        TEST(channel_on_loan_wakes_the_sleeper_of_its_home),
        TEST(no_port_is_with_two_handlers_of_different_groups),
        TEST(upcalls_survive_a_change_of_the_group_size),
        cmocka_unit_test(other_groups_are_called_for_events),
        cmocka_unit_test(other_groups_are_called_for_the_run_queue),
        cmocka_unit_test(other_groups_are_called_for_a_short_run_queue),
        cmocka_unit_test(one_call_wakes_one_handler),
    };

    unit_init("test-upcall-groups");
    unit_start_threads();
    return cmocka_run_group_tests_name("upcall-groups", tests, NULL, NULL);
}
