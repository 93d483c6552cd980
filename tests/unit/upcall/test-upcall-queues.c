/* SPDX-License-Identifier: Apache-2.0 */

/* U1 and U9: a port with several queues keeps the upcalls of each flow in
 * order, and loses none, when the number of its queues changes.
 *
 * The linker sends upcall_grace_wait() here (--wrap), and pthread_create() if
 * a test says that no thread can be had.  In the first tests one thread plays
 * all handlers, and the grace period ends when the test says so. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/handlers.h"
#include "harness/kernel-messages.h"
#include "harness/prng.h"
#include "harness/unit.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "unit/upcall/table-fixture.h"
#include "upcall/upcall-channel.h"
#include "util.h"

#define PORT 1

/* The grace period. */

static struct ovs_rwlock grace = OVS_RWLOCK_INITIALIZER;
static atomic_count n_graces = ATOMIC_COUNT_INIT(0);
static atomic_count n_ended = ATOMIC_COUNT_INIT(0);     /* Threads. */
static bool no_thread;

static atomic_int grace_error = 0;

int __wrap_upcall_grace_wait(void);
int
__wrap_upcall_grace_wait(void)
{
    int error;

    /* A thread that reads holds the lock for reading. */
    ovs_rwlock_wrlock(&grace);
    ovs_rwlock_unlock(&grace);
    atomic_count_inc(&n_graces);
    atomic_read_relaxed(&grace_error, &error);
    return error;
}

int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);

struct start {
    void *(*main)(void *);
    void *aux;
};

static void *
thread_main(void *start_)
{
    struct start start = *(struct start *) start_;
    void *retval;

    free(start_);
    retval = start.main(start.aux);
    atomic_count_inc(&n_ended);
    return retval;
}

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                      void *(*main_)(void *), void *aux)
{
    struct start *start;

    if (no_thread) {
        return EAGAIN;
    }
    start = xmalloc(sizeof *start);
    *start = (struct start) { main_, aux };
    return __real_pthread_create(thread, attr, thread_main, start);
}

/* Creates 'n' channels. */
static void
create_channels(struct upcall_channel *channels[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        channels[i] = create_channel();
    }
}

static void
add_queues(struct upcall_table *table, uint32_t port_no, size_t n)
{
    struct upcall_channel *channels[UPCALL_MAX_QUEUES];

    create_channels(channels, n);
    unit_check(!upcall_table_add_queues(table, port_no, "port", channels, n));
}

static void
change_queues(struct upcall_table *table, uint32_t port_no, size_t n)
{
    struct upcall_channel *channels[UPCALL_MAX_QUEUES];

    create_channels(channels, n);
    unit_check(!upcall_table_change(table, port_no, channels, n));
}

static size_t
n_retired(struct upcall_table *table, uint32_t port_no)
{
    size_t n;

    upcall_table_n_queues(table, port_no, &n);
    return n;
}

/* Receives what there is, in any order.  Returns the number of upcalls. */
static size_t
receive_all(struct fixture *f)
{
    struct upcall_view views[UPCALL_BATCH];
    size_t n, total = 0;

    do {
        n = recv_batch(f, 0, views);
        total += n;
    } while (n);
    return total;
}

static void
every_queue_is_received(void **state)
{
    struct fixture *f = *state;
    uint32_t pids[UPCALL_MAX_QUEUES];

    set_handlers(f, 2);
    for (size_t n = 1; n <= UPCALL_MAX_QUEUES; n = n * 2 + 1) {
        n = MIN(n, UPCALL_MAX_QUEUES);
        add_queues(f->table, PORT, n);
        assert_int_equal(upcall_table_get_pids(f->table, PORT, pids), n);
        assert_int_equal(upcall_table_get_pid(f->table, PORT), pids[0]);
        assert_int_equal(upcall_table_n_channels(f->table), n);
        for (size_t i = 0; i < n; i++) {
            unit_send_upcall(f->sender, pids[i], i);
        }
        assert_int_equal(receive_all(f), n);
        assert_int_equal(stats_of(f, PORT).received, n);
    }
}

/* Changes the queues of PORT from one to 'n', with upcall 0 on the old one and
 * upcall 1 on a new one, while a grace period goes on.  Returns the pid of the
 * old one. */
static uint32_t
begin_change(struct fixture *f, size_t n)
{
    uint32_t old;

    set_handlers(f, 2);
    add_port(f, PORT);
    old = upcall_table_get_pid(f->table, PORT);
    send_to(f, PORT, 0);
    ovs_rwlock_rdlock(&grace);
    change_queues(f->table, PORT, n);
    upcall_table_changed(f->table, PORT);
    send_to(f, PORT, 1);
    return old;
}

/* Ends the grace period, and waits for the thread that waits for it. */
static void
end_grace(void)
{
    unsigned int before = atomic_count_get(&n_ended);

    ovs_rwlock_unlock(&grace);
    unit_wait_until(atomic_count_get(&n_ended) != before);
}

static void
new_queue_waits_until_the_old_one_is_processed(void **state)
{
    struct fixture *f = *state;
    uint32_t old = begin_change(f, 2);

    /* Two calls: the handler's next one says that the batch is processed. */
    expect_batch(f, 0, 0, 1);
    expect_nothing(f, 0);
    expect_nothing(f, 1);

    /* The kernel was still about to send to the old one. */
    unit_send_upcall(f->sender, old, 2);
    end_grace();
    expect_batch(f, 0, 2, 1);
    expect_batch(f, 0, 1, 1);
    expect_nothing(f, 0);
    assert_int_equal(n_retired(f->table, PORT), 1);
    assert_true(upcall_table_del_retired(f->table, PORT));
    assert_int_equal(n_retired(f->table, PORT), 0);
    assert_int_equal(stats_of(f, PORT).received, 3);
    assert_int_equal(stats_of(f, PORT).latency.n, 3);
    assert_int_equal(upcall_table_n_channels(f->table), 2);
}

static void
batch_that_is_processed_holds_the_new_queue(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    begin_change(f, 3);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    assert_int_equal(unit_view_seq(&view), 0);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    end_grace();
    upcall_table_settle(f->table, PORT);
    assert_false(upcall_table_del_retired(f->table, PORT));
    expect_nothing(f, 1);

    /* The handler comes for its next batch. */
    expect_batch(f, 0, 1, 1);
}

/* Upcalls must not wait for ever. */
static void
grace_period_that_cannot_be_waited_for_is_over(void **state)
{
    struct fixture *f = *state;

    atomic_store_relaxed(&grace_error, EPERM);
    begin_change(f, 2);
    expect_batch(f, 0, 0, 1);
    expect_nothing(f, 0);
    end_grace();
    atomic_store_relaxed(&grace_error, 0);
    expect_batch(f, 0, 1, 1);
    assert_true(upcall_table_del_retired(f->table, PORT));
}

static void
refused_change_leaves_the_old_queue(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;

    set_handlers(f, 2);
    add_port(f, PORT);
    pid = upcall_table_get_pid(f->table, PORT);
    send_to(f, PORT, 0);
    change_queues(f->table, PORT, 4);
    assert_int_equal(upcall_table_n_channels(f->table), 5);
    upcall_table_revert(f->table, PORT);
    assert_int_equal(upcall_table_n_channels(f->table), 1);
    assert_int_equal(n_retired(f->table, PORT), 0);
    assert_int_equal(upcall_table_get_pid(f->table, PORT), pid);
    expect_batch(f, 0, 0, 1);
    expect_nothing(f, 0);
    send_to(f, PORT, 1);
    expect_batch(f, 0, 1, 1);
}

static void
one_change_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *channel = create_channel();

    assert_int_equal(upcall_table_change(f->table, PORT, &channel, 1), ENODEV);
    begin_change(f, 2);
    assert_int_equal(upcall_table_change(f->table, PORT, &channel, 1), EBUSY);
    upcall_channel_unref(channel);
    end_grace();
    assert_int_equal(receive_all(f), 2);
}

/* A thread may ask for the pids while the old queues are not marked yet. */
static void
pids_in_a_change_are_those_of_the_new_queues(void **state)
{
    struct fixture *f = *state;
    uint32_t pids[UPCALL_MAX_QUEUES + 1];
    struct upcall_channel *old[UPCALL_MAX_QUEUES];

    create_channels(old, UPCALL_MAX_QUEUES);
    assert_int_equal(upcall_table_add_queues(f->table, PORT, "port", old,
                                             UPCALL_MAX_QUEUES), 0);
    change_queues(f->table, PORT, UPCALL_MAX_QUEUES);
    upcall_channel_set_retired(old[0], false);
    assert_int_equal(upcall_table_get_pids(f->table, PORT, pids),
                     UPCALL_MAX_QUEUES);
    for (size_t i = 0; i < UPCALL_MAX_QUEUES; i++) {
        assert_int_not_equal(pids[i], old[0]->pid);
    }
    upcall_channel_set_retired(old[0], true);
}

static void
port_that_goes_in_a_change_leaves_nothing(void **state)
{
    struct fixture *f = *state;

    begin_change(f, 4);
    upcall_table_del(f->table, PORT);
    assert_int_equal(upcall_table_n_channels(f->table), 0);
    assert_int_equal(upcall_table_n_retired(f->table), 0);
    end_grace();
    add_port(f, PORT);
    send_to(f, PORT, 5);
    expect_batch(f, 0, 5, 1);
}

/* Flows that name the old queue send to it all the time. */
static void
old_queue_that_is_never_empty_does_not_hold_the_new_one_for_ever(void **state)
{
    struct fixture *f = *state;
    uint32_t old;
    uint64_t seq = 10;
    bool seen = false;

    set_handlers(f, 1);
    add_port(f, PORT);
    old = upcall_table_get_pid(f->table, PORT);
    ovs_rwlock_rdlock(&grace);
    change_queues(f->table, PORT, 2);
    upcall_table_changed(f->table, PORT);
    send_to(f, PORT, 1);
    unit_send_upcall(f->sender, old, seq++);
    end_grace();
    while (!seen) {
        struct upcall_view views[UPCALL_BATCH];
        size_t n;

        assert_true(seq < 10000);
        for (int i = 0; i < 30; i++) {
            unit_send_upcall(f->sender, old, seq++);
        }
        upcall_table_settle(f->table, PORT);
        n = recv_batch(f, 0, views);
        for (size_t i = 0; i < n; i++) {
            seen = seen || unit_view_seq(&views[i]) == 1;
        }
    }
    assert_true(seq > 100);
}

static void
without_a_thread_the_caller_waits(void **state)
{
    struct fixture *f = *state;
    unsigned int before = atomic_count_get(&n_graces);

    set_handlers(f, 2);
    add_port(f, PORT);
    change_queues(f->table, PORT, 2);
    no_thread = true;
    upcall_table_changed(f->table, PORT);
    no_thread = false;
    assert_int_equal(atomic_count_get(&n_graces), before + 1);
    send_to(f, PORT, 1);
    expect_batch(f, 0, 1, 1);
}

/* Order, with threads: senders do as the kernel does.  They choose a queue by
 * a hash of the flow, while a thread changes the queues. */

#define N_PORTS 4
#define N_FLOWS 8               /* Of each port. */
#define N_HANDLERS 4
#define N_CHANGES 300           /* At least, in all. */
#define N_UPCALLS 20000         /* The same. */
#define FLOW_SHIFT 32

struct queues {
    uint32_t pids[UPCALL_MAX_QUEUES];
    size_t n;
};

struct order {
    struct upcall_table *table;
    struct queues told[N_PORTS];    /* What the kernel was told; under
                                     * 'told_lock'. */
    struct ovs_mutex told_lock[N_PORTS];
    atomic_bool stop;
    uint64_t last[N_PORTS * N_FLOWS];   /* Last one processed, from 1.  Only
                                         * order protects it. */
    uint64_t n_sent[N_PORTS * N_FLOWS];
    atomic_count n_processed;
};

static void
process(uint32_t handler OVS_UNUSED, const struct upcall_view views[],
        size_t n, void *order_)
{
    struct order *order = order_;

    for (size_t i = 0; i < n; i++) {
        uint64_t seq = unit_view_seq(&views[i]);
        uint64_t *last = &order->last[seq >> FLOW_SHIFT];

        seq &= UINT32_MAX;
        if (seq != *last + 1) {
            unit_die("flow %u: upcall %u processed after %u",
                     (unsigned int) (unit_view_seq(&views[i]) >> FLOW_SHIFT),
                     (unsigned int) seq, (unsigned int) *last);
        }
        *last = seq;
        atomic_count_inc(&order->n_processed);
    }
}

struct sender {
    struct order *order;
    uint32_t port;
    pthread_t thread;
};

static void *
sender_main(void *sender_)
{
    struct sender *sender = sender_;
    struct order *order = sender->order;
    int fd = unit_sender_open();
    struct unit_msg msg;
    bool stop;

    unit_msg_upcall(&msg, 0, 200);
    unit_random_stream(1 + sender->port);
    do {
        uint32_t flow = sender->port * N_FLOWS + unit_random(N_FLOWS);
        struct queues queues;

        unit_msg_set_seq(&msg, ((uint64_t) flow << FLOW_SHIFT
                                | (order->n_sent[flow] + 1)));
        ovs_rwlock_rdlock(&grace);
        ovs_mutex_lock(&order->told_lock[sender->port]);
        queues = order->told[sender->port];
        ovs_mutex_unlock(&order->told_lock[sender->port]);
        if (!unit_random(8)) {
            unit_pause();       /* Between the choice and the queue. */
        }
        if (!unit_send(fd, queues.pids[flow % queues.n], msg.buf, msg.len)) {
            order->n_sent[flow]++;
        }
        ovs_rwlock_unlock(&grace);
        if (!unit_random(16)) {
            unit_sleep_us(unit_random(500));
        }
        atomic_read(&order->stop, &stop);
    } while (!stop);
    unit_msg_uninit(&msg);
    close(fd);
    return NULL;
}

/* Tells the "kernel" of the queues of 'port'. */
static void
tell(struct order *order, uint32_t port)
{
    struct queues queues;

    queues.n = upcall_table_get_pids(order->table, port, queues.pids);
    ovs_mutex_lock(&order->told_lock[port]);
    order->told[port] = queues;
    ovs_mutex_unlock(&order->told_lock[port]);
}

static uint64_t
n_sent(const struct order *order)
{
    uint64_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(order->n_sent); i++) {
        n += order->n_sent[i];
    }
    return n;
}

static void
flows_keep_their_order_whatever_changes(void **state OVS_UNUSED)
{
    struct order *order = xzalloc(sizeof *order);
    struct sender senders[N_PORTS];
    struct unit_handlers handlers;
    unsigned int n_changes = 0;

    order->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    atomic_init(&order->stop, false);
    atomic_count_init(&order->n_processed, 0);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        ovs_mutex_init(&order->told_lock[port]);
        add_queues(order->table, port, 1);
        tell(order, port);
    }
    assert_int_equal(upcall_table_set_handlers(order->table, N_HANDLERS), 0);
    unit_handlers_start(&handlers, order->table, N_HANDLERS, process, order);
    for (uint32_t i = 0; i < N_PORTS; i++) {
        senders[i] = (struct sender) { .order = order, .port = i };
        senders[i].thread = ovs_thread_create("sender", sender_main,
                                              &senders[i]);
    }
    while (n_changes < N_CHANGES
           || atomic_count_get(&order->n_processed) < N_UPCALLS) {
        uint32_t port = unit_random(N_PORTS);

        if (n_retired(order->table, port)) {
            upcall_table_del_retired(order->table, port);
            unit_pause();
            continue;
        }
        change_queues(order->table, port, 1 + unit_random(6));
        if (unit_random(5)) {
            tell(order, port);
            upcall_table_changed(order->table, port);
        } else {
            upcall_table_revert(order->table, port);
        }
        n_changes++;
        ovsrcu_quiesce();
        if (!unit_random(10)) {
            assert_int_equal(upcall_table_set_group_size(
                                 order->table, 1 + unit_random(N_HANDLERS)),
                             0);
        }
    }
    atomic_store(&order->stop, true);
    for (uint32_t i = 0; i < N_PORTS; i++) {
        xpthread_join(senders[i].thread, NULL);
    }

    /* Nothing is lost. */
    unit_wait_until(atomic_count_get(&order->n_processed) == n_sent(order));
    for (uint32_t port = 0; port < N_PORTS; port++) {
        unit_wait_until(upcall_table_del_retired(order->table, port));
    }
    unit_handlers_stop(&handlers);
    print_message("%llu upcalls, %u changes, %u grace periods\n",
                  (unsigned long long int) n_sent(order), n_changes,
                  atomic_count_get(&n_graces));
    for (size_t i = 0; i < ARRAY_SIZE(order->n_sent); i++) {
        assert_true(order->n_sent[i] > 0);
        assert_int_equal(order->last[i], order->n_sent[i]);
    }
    upcall_table_destroy(order->table);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        ovs_mutex_destroy(&order->told_lock[port]);
    }
    free(order);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, table_setup, table_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(every_queue_is_received),
        TEST(new_queue_waits_until_the_old_one_is_processed),
        TEST(batch_that_is_processed_holds_the_new_queue),
        TEST(grace_period_that_cannot_be_waited_for_is_over),
        TEST(refused_change_leaves_the_old_queue),
        TEST(one_change_at_a_time),
        TEST(pids_in_a_change_are_those_of_the_new_queues),
        TEST(port_that_goes_in_a_change_leaves_nothing),
        TEST(old_queue_that_is_never_empty_does_not_hold_the_new_one_for_ever),
        TEST(without_a_thread_the_caller_waits),
        cmocka_unit_test(flows_keep_their_order_whatever_changes),
    };

    unit_init("test-upcall-queues");
    unit_start_threads();
    return cmocka_run_group_tests_name("upcall-queues", tests, NULL, NULL);
}
