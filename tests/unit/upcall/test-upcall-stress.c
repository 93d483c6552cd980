/* SPDX-License-Identifier: Apache-2.0 */

/* U1: order and completeness under load: handlers that come and go, engines
 * that change, ports that come and go, and senders that overrun some of the
 * ports.
 *
 * What is checked is that upcalls are processed in the order in which they
 * were sent, not only received: an upcall is checked after its batch has ended
 * and before its handler receives again.  The state that the checks use is not
 * protected by anything but the ownership of channels, so that a thread
 * sanitizer checks that too. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness/prng.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "harness/descriptors.h"
#include "harness/handlers.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "upcall/upcall-engine.h"
#include "util.h"

/* It takes so long, and longer if the handlers have not changed so often by
 * then. */
#define DURATION_MS 4000
#define MIN_CHANGES 3

#define N_PORTS 32
#define N_SENDERS 4
#define MAX_HANDLERS 8

/* Ports from this one on are deleted and added again. */
#define FIRST_UNSTEADY 24

/* Ports below this one have a small receive buffer and get their upcalls by
 * multicast, which overruns them as the kernel does.  Their groups are none of
 * the few with a fixed use. */
#define N_OVERRUN 8
#define FIRST_GROUP 20

/* A channel of a port and the upcalls sent to it.  Kept until the end, because
 * the upcalls refer to it by number. */
struct target {
    uint32_t port_no;
    uint32_t pid;

    /* The port's sender. */
    uint64_t n_tried;
    uint64_t n_sent;            /* Accepted by the kernel. */

    /* The channel's owner. */
    uint64_t n_processed;
    uint64_t last;              /* Number of the last one processed, from 1. */
};

#define MAX_TARGETS 4096
#define SEQ_BITS 40

struct stress {
    struct upcall_table *table;
    struct target *targets[MAX_TARGETS];
    size_t n_targets;
    atomic_uint32_t current[N_PORTS];   /* Target of each port. */
    atomic_bool stop;
    atomic_count n_batches;

    /* Held for reading by senders, for writing to keep them from sending. */
    struct ovs_rwlock pause;
};

static void
process(uint32_t handler OVS_UNUSED, const struct upcall_view views[],
        size_t n, void *stress_)
{
    struct stress *stress = stress_;

    for (size_t i = 0; i < n; i++) {
        uint64_t seq = unit_view_seq(&views[i]);
        struct target *target = stress->targets[seq >> SEQ_BITS];

        seq &= (UINT64_C(1) << SEQ_BITS) - 1;
        if (seq <= target->last) {
            unit_die("port %u: upcall %llu processed after %llu",
                     target->port_no, (unsigned long long int) seq,
                     (unsigned long long int) target->last);
        }
        target->last = seq;
        target->n_processed++;
    }
    atomic_count_inc(&stress->n_batches);
}

struct sender {
    struct stress *stress;
    uint32_t index;             /* Serves every N_SENDERS-th port from here. */
    pthread_t thread;
};

static void
send_one(struct stress *stress, int fd, struct unit_msg *msg, uint32_t port_no)
{
    struct target *target;
    uint32_t number;
    int error;

    atomic_read_explicit(&stress->current[port_no], &number,
                         memory_order_acquire);
    target = stress->targets[number];
    unit_msg_set_seq(msg, (uint64_t) number << SEQ_BITS
                          | (target->n_tried + 1));
    if (port_no < N_OVERRUN) {
        error = unit_send_group(fd, FIRST_GROUP + port_no, msg->buf,
                                msg->len);
    } else {
        error = unit_send(fd, target->pid, msg->buf, msg->len);
    }

    /* A full buffer refuses unicasts; a port that went is nobody. */
    unit_check(!error || (port_no >= N_OVERRUN && error == EAGAIN)
               || (port_no >= FIRST_UNSTEADY && error == ECONNREFUSED));
    target->n_tried++;
    target->n_sent += !error;
}

/* Sends 'n' upcalls, unless it is kept from sending.  Quiescent meanwhile:
 * handlers that went release their channels only when all threads have
 * been. */
static void
send_burst(struct stress *stress, int fd, struct unit_msg *msg,
           uint32_t port_no, uint32_t n)
{
    ovsrcu_quiesce_start();
    ovs_rwlock_rdlock(&stress->pause);
    ovsrcu_quiesce_end();
    for (uint32_t i = 0; i < n; i++) {
        send_one(stress, fd, msg, port_no);
    }
    ovs_rwlock_unlock(&stress->pause);
}

static void *
sender_main(void *sender_)
{
    struct sender *sender = sender_;
    struct stress *stress = sender->stress;
    int fd = unit_sender_open();
    struct unit_msg msg;
    bool stop;

    /* Bursts of all sizes, with and without a pause after them, so that
     * handlers are found busy, about to sleep and asleep. */
    unit_msg_upcall(&msg, 0, 500);
    unit_random_stream(1 + sender->index);

    /* Each port has one, however late this thread is. */
    for (uint32_t i = sender->index; i < N_PORTS; i += N_SENDERS) {
        send_burst(stress, fd, &msg, i, 1);
    }
    do {
        uint32_t port_no = (sender->index
                            + unit_random(N_PORTS / N_SENDERS) * N_SENDERS);
        uint32_t n = 1 + unit_random(1 << unit_random(8));

        send_burst(stress, fd, &msg, port_no, n);
        if (unit_random(4) == 0) {
            unit_sleep_us(unit_random(1000));
        }
        ovsrcu_quiesce();
        atomic_read(&stress->stop, &stop);
    } while (!stop);
    unit_msg_uninit(&msg);
    close(fd);
    return NULL;
}

static void
add_port(struct stress *stress, uint32_t port_no)
{
    uint32_t number = stress->n_targets++;
    struct upcall_channel *channel;
    struct target *target = xzalloc(sizeof *target);

    unit_check(number < MAX_TARGETS);
    unit_check(!upcall_channel_create(&channel));
    if (port_no < N_OVERRUN) {
        static const int size = 16384;

        unit_channel_join(channel, FIRST_GROUP + port_no);
        unit_check(!setsockopt(upcall_channel_fd(channel), SOL_SOCKET,
                               SO_RCVBUF, &size, sizeof size));
    }
    target->port_no = port_no;
    target->pid = channel->pid;
    stress->targets[number] = target;
    unit_check(!upcall_table_add_queues(stress->table, port_no, "port",
                                        &channel, 1));
    atomic_store_explicit(&stress->current[port_no], number,
                          memory_order_release);
}

static bool
is_drained(struct stress *stress)
{
    struct upcall_table_info info;
    uint64_t backlog = 0;

    upcall_table_get_info(stress->table, &info);
    for (size_t i = 0; i < info.n_ports; i++) {
        backlog += info.ports[i].stats.backlog;
    }
    upcall_table_info_uninit(&info);
    return !backlog;
}

/* Waits until nothing waits, while nothing is sent that would tell a handler
 * again of what it missed. */
static void
drain(struct stress *stress)
{
    ovs_rwlock_wrlock(&stress->pause);
    unit_wait_until(is_drained(stress));
    ovs_rwlock_unlock(&stress->pause);
}

static void
check_completeness(struct stress *stress, const struct upcall_table_info *info)
{
    uint64_t n_lost = 0;

    for (size_t i = 0; i < info->n_ports; i++) {
        const struct upcall_port_info *port = &info->ports[i];
        uint32_t number;

        atomic_read(&stress->current[port->port_no], &number);
        const struct target *target = stress->targets[number];
        assert_int_equal(port->stats.malformed, 0);
        assert_int_equal(target->n_processed, port->stats.received);
        assert_int_equal(port->stats.received + port->stats.lost,
                         target->n_sent);
        if (port->port_no >= N_OVERRUN) {
            assert_int_equal(port->stats.lost, 0);
        }
        if (port->port_no < FIRST_UNSTEADY) {
            assert_true(target->n_processed > 0);
        }
        n_lost += port->stats.lost;
    }
    print_message("%zu channels, %u batches, %llu upcalls lost to overruns\n",
                  stress->n_targets, atomic_count_get(&stress->n_batches),
                  (unsigned long long int) n_lost);
}

/* Changes the engine, or the size of groups. */
static void
change_engine(struct upcall_table *table)
{
    if (unit_random(2)) {
        unit_check(!upcall_table_set_group_size(
                       table, 1 + unit_random(MAX_HANDLERS)));
        return;
    }

    unit_check(!upcall_table_set_engine(table, (unit_random(2)
                                                ? &upcall_engine_uring
                                                : &upcall_engine_epoll)));
}

static void
upcalls_stay_in_order_and_complete_whatever_changes(void **state OVS_UNUSED)
{
    struct stress *stress = xzalloc(sizeof *stress);
    struct unit_handlers handlers;
    struct sender senders[N_SENDERS];
    struct upcall_table_info info;
    uint32_t n_handlers = MAX_HANDLERS;
    unsigned int n_changes = 0;
    size_t n_fds;

    unit_rcu_barrier();
    n_fds = unit_count_fds();

    /* The first socket of the process has the process id as its port id; with
     * that taken, the port ids of channels do not come back. */
    int first = unit_sender_open();

    ovs_rwlock_init(&stress->pause);
    atomic_init(&stress->stop, false);
    atomic_count_init(&stress->n_batches, 0);
    stress->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    for (uint32_t port_no = 0; port_no < N_PORTS; port_no++) {
        add_port(stress, port_no);
    }
    assert_int_equal(upcall_table_set_handlers(stress->table, n_handlers), 0);
    unit_handlers_start(&handlers, stress->table, n_handlers, process, stress);
    for (uint32_t i = 0; i < N_SENDERS; i++) {
        senders[i] = (struct sender) { .stress = stress, .index = i };
        senders[i].thread = ovs_thread_create("sender", sender_main,
                                              &senders[i]);
    }

    long long int end = unit_now() + DURATION_MS;
    while (unit_now() < end || n_changes < MIN_CHANGES) {
        if (unit_random(4) == 0) {
            drain(stress);
        } else if (unit_random(3) == 0) {
            unit_handlers_stop(&handlers);
            n_handlers = 1 + unit_random(MAX_HANDLERS);
            assert_int_equal(upcall_table_set_handlers(stress->table,
                                                       n_handlers), 0);
            unit_handlers_start(&handlers, stress->table, n_handlers, process,
                                stress);
            n_changes++;
        } else if (unit_random(3) == 0) {
            /* Handlers are replaced at whatever they are. */
            change_engine(stress->table);
        } else if (stress->n_targets < MAX_TARGETS) {
            uint32_t port_no = (FIRST_UNSTEADY
                                + unit_random(N_PORTS - FIRST_UNSTEADY));

            /* By deletion, or by replacement. */
            if (unit_random(2)) {
                upcall_table_del(stress->table, port_no);
            }
            add_port(stress, port_no);
        }
        for (uint32_t i = unit_random(30); i > 0; i--) {
            unit_pause();
        }
    }

    atomic_store(&stress->stop, true);
    for (uint32_t i = 0; i < N_SENDERS; i++) {
        xpthread_join(senders[i].thread, NULL);
    }
    drain(stress);
    unit_handlers_stop(&handlers);
    upcall_table_get_info(stress->table, &info);
    assert_int_equal(info.n_ports, N_PORTS);
    assert_int_equal(info.foreign, 0);
    assert_int_equal(info.abandoned, 0);

    /* Steady ports are complete; so are the last channels of the others. */
    check_completeness(stress, &info);
    upcall_table_info_uninit(&info);

    upcall_table_destroy(stress->table);
    close(first);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);
    for (size_t i = 0; i < stress->n_targets; i++) {
        free(stress->targets[i]);
    }
    ovs_rwlock_destroy(&stress->pause);
    free(stress);
}

/* Handlers that are replaced while they work, and what is true even then. */

#define CHURN_MS 1500
#define CHURN_PORTS 12

struct churn {
    struct upcall_table *table;
    atomic_uint32_t pids[CHURN_PORTS];
    atomic_bool stop;
    atomic_count n_processed;
};

static void
churn_process(uint32_t handler OVS_UNUSED,
              const struct upcall_view views[] OVS_UNUSED, size_t n,
              void *churn_)
{
    struct churn *churn = churn_;

    for (size_t i = 0; i < n; i++) {
        atomic_count_inc(&churn->n_processed);
    }
}

static void *
churn_sender_main(void *churn_)
{
    struct churn *churn = churn_;
    int fd = unit_sender_open();
    struct unit_msg msg;
    bool stop;

    unit_msg_upcall(&msg, 0, 500);
    unit_random_stream(1);
    do {
        uint32_t pid;

        atomic_read(&churn->pids[unit_random(CHURN_PORTS)], &pid);
        for (uint32_t i = unit_random(100); i > 0; i--) {
            /* The port may just have gone. */
            if (unit_send(fd, pid, msg.buf, msg.len)) {
                break;
            }
        }
        ovsrcu_quiesce();
        atomic_read(&churn->stop, &stop);
    } while (!stop);
    unit_msg_uninit(&msg);
    close(fd);
    return NULL;
}

static void
churn_add_port(struct churn *churn, uint32_t port_no)
{
    struct upcall_channel *channel;
    uint32_t pid;

    unit_check(!upcall_channel_create(&channel));
    pid = channel->pid;
    unit_check(!upcall_table_add_queues(churn->table, port_no, "port",
                                        &channel, 1));
    atomic_store(&churn->pids[port_no], pid);
}

static uint64_t
churn_backlog(const struct churn *churn)
{
    struct upcall_table_info info;
    uint64_t backlog = 0;

    upcall_table_get_info(churn->table, &info);
    for (size_t i = 0; i < info.n_ports; i++) {
        backlog += info.ports[i].stats.backlog;
    }
    upcall_table_info_uninit(&info);
    return backlog;
}

static void
no_port_is_forgotten_when_busy_handlers_are_replaced(void **state OVS_UNUSED)
{
    struct churn churn;
    struct unit_handlers handlers;
    pthread_t sender;
    long long int end;
    size_t n_fds;

    unit_rcu_barrier();
    n_fds = unit_count_fds();
    churn.table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    atomic_init(&churn.stop, false);
    atomic_count_init(&churn.n_processed, 0);
    for (uint32_t port_no = 0; port_no < CHURN_PORTS; port_no++) {
        churn_add_port(&churn, port_no);
    }
    assert_int_equal(upcall_table_set_handlers(churn.table, MAX_HANDLERS), 0);
    unit_handlers_start(&handlers, churn.table, MAX_HANDLERS, churn_process,
                        &churn);
    sender = ovs_thread_create("sender", churn_sender_main, &churn);

    end = unit_now() + CHURN_MS;
    while (unit_now() < end) {
        if (unit_random(2)) {
            uint32_t n = unit_random(MAX_HANDLERS + 1);

            assert_int_equal(upcall_table_set_handlers(churn.table, n), 0);
        } else if (unit_random(2)) {
            change_engine(churn.table);
        } else {
            churn_add_port(&churn, unit_random(CHURN_PORTS));
        }
        for (uint32_t i = unit_random(4); i > 0; i--) {
            unit_pause();
        }
    }
    atomic_store(&churn.stop, true);
    xpthread_join(sender, NULL);

    /* A thread without a handler sleeps until its latch, so that it takes all
     * of them. */
    unit_handlers_stop(&handlers);
    assert_int_equal(upcall_table_set_handlers(churn.table, 0), 0);
    assert_int_equal(upcall_table_set_handlers(churn.table, MAX_HANDLERS), 0);
    unit_handlers_start(&handlers, churn.table, MAX_HANDLERS, churn_process,
                        &churn);
    unit_wait_until(!churn_backlog(&churn));

    /* All ports are still heard of. */
    unit_wait_until(unit_handlers_are_in_epoll_wait(&handlers));
    int fd = unit_sender_open();
    for (uint32_t port_no = 0; port_no < CHURN_PORTS; port_no++) {
        unsigned int n = atomic_count_get(&churn.n_processed);

        unit_send_upcall(fd, upcall_table_get_pid(churn.table, port_no), 1);
        unit_wait_until(atomic_count_get(&churn.n_processed) == n + 1);
    }
    close(fd);
    unit_handlers_stop(&handlers);
    upcall_table_destroy(churn.table);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(upcalls_stay_in_order_and_complete_whatever_changes),
        cmocka_unit_test(no_port_is_forgotten_when_busy_handlers_are_replaced),
    };

    unit_init("test-upcall-stress");
    if (upcall_engine_uring.probe()) {
        unit_die("io_uring cannot be tested on this kernel");
    }
    unit_start_threads();
    return cmocka_run_group_tests_name("upcall-stress", tests, NULL, NULL);
}
