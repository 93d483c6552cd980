/* SPDX-License-Identifier: Apache-2.0 */

/* U4: k channels that are readable wake k sleeping handlers, one each, and
 * what a handler leaves is there for others from the begin of its batch. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/handlers.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "ovs-thread.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-groups.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-ports.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-stats.h"
#include "util.h"

/* A gate in front of epoll_wait(): who waits there sleeps as far as the
 * scheduler knows, and has not looked yet. */
static atomic_count gate_is_shut;
static atomic_count n_at_gate;

int __wrap_epoll_wait(int, struct epoll_event *, int, int);
int __real_epoll_wait(int, struct epoll_event *, int, int);
int
__wrap_epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
    if (timeout && atomic_count_get(&gate_is_shut)) {
        atomic_count_inc(&n_at_gate);
        while (atomic_count_get(&gate_is_shut)) {
            unit_sleep_us(1000);
        }
    }
    return __real_epoll_wait(fd, events, n, timeout);
}

/* All handlers process what they took at the same time: each waits until the
 * upcalls of all are with some handler. */
static atomic_count n_taken;
static atomic_count n_processing;
static atomic_count go_on;

static void
process(uint32_t handler OVS_UNUSED,
        const struct upcall_view views[] OVS_UNUSED, size_t n,
        void *aux OVS_UNUSED)
{
    atomic_count_inc(&n_processing);
    while (n--) {
        atomic_count_inc(&n_taken);
    }
    while (!atomic_count_get(&go_on)) {
        unit_sleep_us(1000);
    }
}

/* Has 'k' handlers sleep, then sends to 'n' ports at once, and waits until all
 * upcalls were taken.  Returns the number of handlers that have some. */
static unsigned int
count_takers(uint32_t k, uint32_t n)
{
    struct upcall_channel *channels[UNIT_MAX_HANDLERS];
    struct unit_handlers handlers;
    struct upcall_table *table;
    int sender = unit_sender_open();
    unsigned int n_takers;

    atomic_count_set(&gate_is_shut, 1);
    atomic_count_set(&n_at_gate, 0);
    atomic_count_set(&n_taken, 0);
    atomic_count_set(&n_processing, 0);
    atomic_count_set(&go_on, 0);
    table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    assert_int_equal(upcall_table_set_handlers(table, k), 0);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(upcall_channel_create(&channels[i]), 0);
        assert_int_equal(upcall_table_add_queues(table, i, "port",
                                                 &channels[i], 1), 0);
    }
    unit_handlers_start(&handlers, table, k, process, NULL);
    unit_wait_until(atomic_count_get(&n_at_gate) == k);
    for (uint32_t i = 0; i < n; i++) {
        unit_send_upcall(sender, channels[i]->pid, i);
    }
    atomic_count_set(&gate_is_shut, 0);
    unit_wait_until(atomic_count_get(&n_processing) == k
                    || atomic_count_get(&n_taken) == n);
    n_takers = atomic_count_get(&n_processing);
    atomic_count_set(&go_on, 1);
    unit_wait_until(atomic_count_get(&n_taken) == n);
    unit_handlers_stop(&handlers);
    upcall_table_destroy(table);
    close(sender);
    unit_rcu_barrier();
    return n_takers;
}

static void
handlers_that_sleep_take_one_port_each(void **state OVS_UNUSED)
{
    for (uint32_t k = 2; k <= 8; k++) {
        assert_int_equal(count_takers(k, k), k);
    }
}

static void
more_ports_than_handlers_leave_no_handler_asleep(void **state OVS_UNUSED)
{
    assert_int_equal(count_takers(4, 12), 4);
    assert_int_equal(count_takers(2, 16), 2);
}

/* One handler without a thread, which the test plays, beside others that sleep
 * as far as the scheduler knows. */

#define MAX_PORTS 8

struct fixture {
    size_t n_fds;
    struct upcall_table *table;
    struct upcall_groups *groups;
    struct upcall_sched *sched;
    struct upcall_handler *handler;
    struct upcall_channel *channels[MAX_PORTS];
    int sender;
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    f->sender = unit_sender_open();
    assert_int_equal(upcall_groups_create(1, 4, 4, &f->groups), 0);
    f->sched = upcall_groups_sched(f->groups, 0);
    assert_int_equal(upcall_ports_attach(f->table, f->groups, 1), 0);
    assert_int_equal(upcall_handler_create(f->table, 0, 1, f->groups,
                                           &upcall_engine_epoll, &f->handler),
                     0);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    upcall_handler_postpone_abandon(f->handler);
    upcall_handler_unref(f->handler);
    upcall_ports_detach(f->table);
    upcall_table_del_all(f->table);
    unit_rcu_barrier();
    upcall_groups_unref(f->groups);
    upcall_table_destroy(f->table);
    close(f->sender);
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

/* Adds 'n' ports.  On each of them, 'n_upcalls' wait. */
static void
add_ports(struct fixture *f, uint32_t n, unsigned int n_upcalls)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(upcall_channel_create(&f->channels[i]), 0);
        assert_int_equal(upcall_table_add_queues(f->table, i, "port",
                                                 &f->channels[i], 1), 0);
        for (unsigned int j = 0; j < n_upcalls; j++) {
            unit_send_upcall(f->sender, f->channels[i]->pid, j);
        }
    }
}

static size_t
recv_batch(struct fixture *f)
{
    struct upcall_view view;
    size_t n = 0;

    while (!upcall_handler_recv(f->handler, &view)) {
        n++;
    }
    return n;
}

/* Takes what epoll has, without waking anybody. */
static struct upcall_events
take_events(struct fixture *f)
{
    struct upcall_events events = { .n_channels = 0 };

    upcall_sched_poll(f->sched, &events);
    return events;
}

static void
batch_begins_with_a_kick_for_what_it_leaves(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    /* Three ports have their turn and come to the run queue when the second
     * batch begins.  By then another handler sleeps. */
    add_ports(f, 3, 2 * UPCALL_BATCH);
    assert_int_equal(recv_batch(f), UPCALL_BATCH);
    assert_true(upcall_sched_sleep_begin(f->sched));
    assert_int_equal(upcall_handler_recv(f->handler, &view), 0);
    assert_true(take_events(f).kicked);
    recv_batch(f);
    upcall_sched_sleep_end(f->sched);
}

static void
batch_that_takes_all_begins_without_a_kick(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    add_ports(f, 1, 2 * UPCALL_BATCH);
    assert_int_equal(recv_batch(f), UPCALL_BATCH);
    assert_true(upcall_sched_sleep_begin(f->sched));
    assert_int_equal(upcall_handler_recv(f->handler, &view), 0);
    assert_false(take_events(f).kicked);
    recv_batch(f);
    upcall_sched_sleep_end(f->sched);
}

static void
quiet_ports_that_a_batch_has_no_room_for_go_back(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;
    struct upcall_events events;

    /* The handler has all eight, as nobody sleeps; three fill its batch. */
    add_ports(f, 8, UPCALL_QUANTUM);
    assert_int_equal(recv_batch(f), UPCALL_BATCH);
    assert_int_equal(take_events(f).n_channels, 0);

    /* Now somebody does.  Five are left, three are the handler's. */
    assert_true(upcall_sched_sleep_begin(f->sched));
    assert_int_equal(upcall_handler_recv(f->handler, &view), 0);
    upcall_sched_sleep_end(f->sched);
    events = take_events(f);
    assert_int_equal(events.n_channels, 2);
    assert_int_equal(recv_batch(f) + 1, UPCALL_BATCH);
}

static void
handler_at_work_leaves_events_to_those_that_sleep(void **state)
{
    struct fixture *f = *state;

    add_ports(f, 8, 1);
    assert_true(upcall_sched_sleep_begin(f->sched));
    assert_true(upcall_sched_sleep_begin(f->sched));
    assert_int_equal(recv_batch(f), 1);
    upcall_sched_sleep_end(f->sched);
    upcall_sched_sleep_end(f->sched);
    assert_int_equal(recv_batch(f), 7);
}

static void
kick_that_a_handler_at_work_gets_is_not_lost(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    /* Another handler puts some into the run queue and kicks, */
    add_ports(f, 4, 2);
    assert_int_equal(take_events(f).n_channels, 4);
    for (uint32_t i = 0; i < 4; i++) {
        struct upcall_channel *channel = f->channels[i];

        assert_true(upcall_channel_take(channel, upcall_token(1, 1)));
        ovs_refcount_ref(&channel->refcount);
        assert_true(upcall_sched_push(f->sched, channel, upcall_token(1, 1)));
    }
    upcall_sched_sleep_begin(f->sched);
    upcall_sched_kick(f->sched, 0);

    /* and this one finds it before the one that sleeps does. */
    assert_int_equal(upcall_handler_recv(f->handler, &view), 0);
    assert_true(take_events(f).kicked);
    recv_batch(f);
    upcall_sched_sleep_end(f->sched);
}

/* A handler that is abandoned twice, as a predecessor and as one that is too
 * many, lost the rest of its batch once. */
static void
batch_is_abandoned_once(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    add_ports(f, 1, 5);
    assert_int_equal(upcall_handler_recv(f->handler, &view), 0);
    assert_true(upcall_handler_is_in_batch(f->handler));
    for (int i = 0; i < 2; i++) {
        struct upcall_table_info info;

        upcall_handler_postpone_abandon(f->handler);
        unit_rcu_barrier();
        upcall_table_get_info(f->table, &info);
        assert_int_equal(info.abandoned, 4);
        upcall_table_info_uninit(&info);
        assert_false(upcall_handler_is_in_batch(f->handler));
    }
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_that_sleep_take_one_port_each),
        cmocka_unit_test(more_ports_than_handlers_leave_no_handler_asleep),
        TEST(batch_begins_with_a_kick_for_what_it_leaves),
        TEST(batch_that_takes_all_begins_without_a_kick),
        TEST(quiet_ports_that_a_batch_has_no_room_for_go_back),
        TEST(handler_at_work_leaves_events_to_those_that_sleep),
        TEST(kick_that_a_handler_at_work_gets_is_not_lost),
        TEST(batch_is_abandoned_once),
    };

    unit_init("test-upcall-fanout");
    unit_start_threads();
    return cmocka_run_group_tests_name("upcall-fanout", tests, NULL, NULL);
}
