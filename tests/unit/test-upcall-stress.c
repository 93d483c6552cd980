/* SPDX-License-Identifier: Apache-2.0 */

/* Everything at once: threads that send, handlers that receive, their number
 * changing, ports that go and come back.  The upcalls of a port are processed
 * in order, none is lost or seen twice.
 *
 * A handler "processes" its batch after the batch has ended, and writes to
 * memory of the port without a lock or an atomic.  What makes that safe is the
 * ownership of the channel alone, so the thread sanitizer sees a handover that
 * does not order the two owners. */

#include <config.h>

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "latch.h"
#include "odp-netlink.h"
#include "openvswitch/poll-loop.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "random.h"
#include "timeval.h"
#include "upcall/upcall-table.h"
#include "util.h"

enum {
    FAMILY = 0x123,             /* Any that the kernel does not look at. */
    DP_IFINDEX = 7,
    N_PORTS = 32,
    N_VOLATILE = 4,             /* The first ones go and come back. */
    N_SENDERS = 4,
    MAX_HANDLERS = 8,
    N_ROUNDS = 12,              /* Changes of the number of handlers. */
    ROUND_MS = 150,
    DRAIN_MS = 60 * 1000,       /* Until all must have been processed. */
};

struct payload {
    uint8_t eth[16];
    uint32_t port;
    uint32_t seq;
};

struct message {
    struct nlmsghdr nlh;
    struct genlmsghdr genl;
    struct ovs_header ovs;
    struct nlattr key;
    struct nlattr in_port;
    uint32_t port_no;
    struct nlattr packet;
    struct payload payload;
};

struct port {
    atomic_uint32_t pid;
    atomic_count n_accepted;    /* Queued by the kernel. */
    atomic_count n_processed;
    uint32_t last_seq;          /* Written while processing; see above. */
};

static struct port ports[N_PORTS];
static struct upcall_table *table;
static struct latch exit_senders, exit_handlers;
static atomic_count n_out_of_order;

static void
send_to_port(int fd, uint32_t port_no, uint32_t *seq)
{
    struct port *port = &ports[port_no];
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    struct message msg = {
        .nlh = { .nlmsg_len = sizeof msg, .nlmsg_type = FAMILY },
        .genl = { .cmd = OVS_PACKET_CMD_MISS },
        .ovs = { .dp_ifindex = DP_IFINDEX },
        .key = { .nla_len = sizeof msg.key + 8,
                 .nla_type = OVS_PACKET_ATTR_KEY },
        .in_port = { .nla_len = 8, .nla_type = OVS_KEY_ATTR_IN_PORT },
        .port_no = port_no,
        .packet = { .nla_len = sizeof msg.packet + sizeof msg.payload,
                    .nla_type = OVS_PACKET_ATTR_PACKET },
        .payload = { .port = port_no },
    };

    atomic_read_relaxed(&port->pid, &addr.nl_pid);
    msg.payload.seq = *seq + 1;
    if (sendto(fd, &msg, sizeof msg, MSG_DONTWAIT, (struct sockaddr *) &addr,
               sizeof addr) > 0) {
        ++*seq;
        atomic_count_inc(&port->n_accepted);
    }
}

static void *
sender_main(void *index_)
{
    uint32_t seqs[N_PORTS] = { 0 };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    uintptr_t index = (uintptr_t) index_;

    ovs_assert(fd >= 0);
    while (!latch_is_set(&exit_senders)) {
        for (uint32_t i = index; i < N_PORTS; i += N_SENDERS) {
            /* Bursts, between which handlers fall asleep. */
            for (int j = random_range(6); j > 0; j--) {
                send_to_port(fd, i, &seqs[i]);
            }
        }
        poll_timer_wait(random_range(2));
        poll_block();
    }
    close(fd);
    return NULL;
}

static void
process(const struct payload *payload)
{
    struct port *port = &ports[payload->port];

    atomic_count_inc(&port->n_processed);
    if (payload->port < N_VOLATILE) {
        /* The channel of a port that came back has nothing to do with the
         * earlier one, whose owner may still be at work. */
        return;
    }
    if (payload->seq != port->last_seq + 1) {
        atomic_count_inc(&n_out_of_order);
    }
    port->last_seq = payload->seq;
}

/* Like Open vSwitch's handlers. */
static void *
handler_main(void *id_)
{
    uintptr_t id = (uintptr_t) id_;

    while (!latch_is_set(&exit_handlers)) {
        struct payload *batch[64];
        struct upcall_view view;
        size_t n = 0;

        while (n < ARRAY_SIZE(batch)
               && !upcall_table_recv(table, id, &view)) {
            ovs_assert(view.packet_len == sizeof(struct payload));
            batch[n++] = view.packet;
        }
        ovs_assert(n < ARRAY_SIZE(batch));
        for (size_t i = 0; i < n; i++) {
            process(batch[i]);
        }

        if (n) {
            poll_immediate_wake();
        } else {
            upcall_table_recv_wait(table, id);
            latch_wait(&exit_handlers);
        }
        poll_block();
    }
    return NULL;
}

static void
sleep_ms(int ms)
{
    long long int end = time_msec() + ms;

    while (time_msec() < end) {
        poll_timer_wait_until(end);
        poll_block();
    }
}

static void
add_port(uint32_t port_no)
{
    struct port *port = &ports[port_no];
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    atomic_store_relaxed(&port->pid, channel->pid);
    assert_int_equal(upcall_table_add(table, port_no, "port", channel), 0);
}

static pthread_t handlers[MAX_HANDLERS];
static uint32_t n_handlers;

static void
stop_handlers(void)
{
    latch_set(&exit_handlers);
    ovsrcu_quiesce_start();
    for (uint32_t i = 0; i < n_handlers; i++) {
        xpthread_join(handlers[i], NULL);
    }
    ovsrcu_quiesce_end();
    latch_poll(&exit_handlers);
}

static void
start_handlers(uint32_t n)
{
    assert_int_equal(upcall_table_set_handlers(table, n), 0);
    n_handlers = n;
    for (uintptr_t i = 0; i < n; i++) {
        handlers[i] = ovs_thread_create("handler", handler_main, (void *) i);
    }
}

/* True if all that was sent to the ports that stay was processed. */
static bool
all_processed(void)
{
    for (uint32_t i = N_VOLATILE; i < N_PORTS; i++) {
        if (atomic_count_get(&ports[i].n_processed)
            != atomic_count_get(&ports[i].n_accepted)) {
            return false;
        }
    }
    return true;
}

static void
upcalls_keep_their_order_and_none_is_lost(void **state OVS_UNUSED)
{
    pthread_t senders[N_SENDERS];
    long long int deadline;

    table = upcall_table_create("stress", DP_IFINDEX, FAMILY);
    latch_init(&exit_senders);
    latch_init(&exit_handlers);
    for (uint32_t i = 0; i < N_PORTS; i++) {
        add_port(i);
    }
    start_handlers(4);
    for (uintptr_t i = 0; i < N_SENDERS; i++) {
        senders[i] = ovs_thread_create("sender", sender_main, (void *) i);
    }

    for (int round = 0; round < N_ROUNDS; round++) {
        sleep_ms(ROUND_MS / 2);
        for (int i = 0; i < N_VOLATILE; i++) {
            if (random_range(2)) {
                upcall_table_del(table, i);
            }
            add_port(i);
        }
        sleep_ms(ROUND_MS / 2);
        stop_handlers();
        start_handlers(1 + random_range(MAX_HANDLERS));
    }

    latch_set(&exit_senders);
    ovsrcu_quiesce_start();
    for (int i = 0; i < N_SENDERS; i++) {
        xpthread_join(senders[i], NULL);
    }
    ovsrcu_quiesce_end();
    deadline = time_msec() + DRAIN_MS;
    while (!all_processed() && time_msec() < deadline) {
        sleep_ms(1);
    }
    stop_handlers();

    for (uint32_t i = N_VOLATILE; i < N_PORTS; i++) {
        assert_true(atomic_count_get(&ports[i].n_accepted) > 0);
        assert_int_equal(atomic_count_get(&ports[i].n_processed),
                         atomic_count_get(&ports[i].n_accepted));
    }
    assert_int_equal(atomic_count_get(&n_out_of_order), 0);

    struct upcall_table_info info;
    upcall_table_get_info(table, &info);
    assert_int_equal(info.abandoned, 0);
    assert_int_equal(info.foreign, 0);
    for (size_t i = 0; i < info.n_ports; i++) {
        assert_int_equal(info.ports[i].stats.malformed, 0);
    }
    upcall_table_info_uninit(&info);
    upcall_table_destroy(table);
    latch_destroy(&exit_senders);
    latch_destroy(&exit_handlers);
    ovsrcu_exit();
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upcalls_keep_their_order_and_none_is_lost),
    };

    /* Netlink sockets of our own; sending between them takes privilege. */
    if (unshare(CLONE_NEWNET)
        && unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
        ovs_fatal(errno, "unshare failed");
    }
    set_program_name(argv[0]);
    ovsthread_id_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
