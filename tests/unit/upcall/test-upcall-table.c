/* SPDX-License-Identifier: Apache-2.0 */

/* A table seen by one thread that plays all handlers, so that every
 * interleaving is the one that the test asks for. */

#include <config.h>
#include "upcall/upcall-engine.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-table.h"
#include "upcall/upcall-turn.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "odp-netlink.h"
#include "openvswitch/poll-loop.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "util.h"

#define GROUP 16

struct fixture {
    size_t n_fds;               /* Before everything else. */
    struct upcall_table *table;
    int sender;
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    /* Whatever the library opens once for good is open after this. */
    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    f->sender = unit_sender_open();
    *state = f;
    return 0;
}

/* Every test ends with the question of whether all is closed. */
static int
teardown(void **state)
{
    struct fixture *f = *state;

    upcall_table_destroy(f->table);
    close(f->sender);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

static struct upcall_channel *
create_channel(void)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    return channel;
}

/* Adds a port and returns its channel, which the table owns. */
static struct upcall_channel *
add_port(struct fixture *f, uint32_t port_no)
{
    struct upcall_channel *channel = create_channel();
    char name[32];

    snprintf(name, sizeof name, "port%u", port_no);
    assert_int_equal(upcall_table_add(f->table, port_no, name, channel), 0);
    return channel;
}

static void
set_handlers(struct fixture *f, uint32_t n)
{
    assert_int_equal(upcall_table_set_handlers(f->table, n), 0);
    assert_int_equal(upcall_table_n_handlers(f->table), n);
}

static void
send_to(struct fixture *f, uint32_t port_no, uint64_t seq)
{
    unit_send_upcall(f->sender, upcall_table_get_pid(f->table, port_no), seq);
}

/* Receives one batch.  Returns the number of upcalls and stores their views in
 * 'views', which has room for UPCALL_BATCH. */
static size_t
recv_batch(struct fixture *f, uint32_t handler, struct upcall_view views[])
{
    size_t n = 0;

    for (;;) {
        struct upcall_view view;
        int error = upcall_table_recv(f->table, handler, &view);

        if (error) {
            assert_int_equal(error, EAGAIN);
            return n;
        }
        assert_true(n < UPCALL_BATCH);
        views[n++] = view;
    }
}

/* Receives the next batch of 'handler', which must be the 'n' upcalls with
 * the sequence numbers 'first' and up. */
static void
expect_batch(struct fixture *f, uint32_t handler, uint64_t first, size_t n)
{
    struct upcall_view views[UPCALL_BATCH];

    assert_int_equal(recv_batch(f, handler, views), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(unit_view_seq(&views[i]), first + i);
    }
}

static void
expect_nothing(struct fixture *f, uint32_t handler)
{
    expect_batch(f, handler, 0, 0);
}

static struct upcall_channel_stats
stats_of(struct fixture *f, uint32_t port_no)
{
    struct upcall_channel_stats stats;
    struct upcall_table_info info;
    bool found = false;

    upcall_table_get_info(f->table, &info);
    for (size_t i = 0; i < info.n_ports; i++) {
        if (info.ports[i].port_no == port_no) {
            stats = info.ports[i].stats;
            found = true;
        }
    }
    assert_true(found);
    upcall_table_info_uninit(&info);
    return stats;
}

/* Ports. */

static void
empty_table_has_nothing(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    assert_int_equal(upcall_table_n_channels(f->table), 0);
    assert_int_equal(upcall_table_n_handlers(f->table), 0);
    assert_int_equal(upcall_table_get_pid(f->table, 0), 0);
    assert_int_equal(upcall_table_get_pid(f->table, UPCALL_PORT_NONE), 0);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    upcall_table_del(f->table, 3);
    upcall_table_del_all(f->table);
    upcall_table_purge(f->table);
    upcall_table_destroy(NULL);
}

static void
port_has_the_pid_of_its_channel(void **state)
{
    struct fixture *f = *state;
    static const uint32_t ports[] = { 0, 1, 17, UPCALL_MAX_PORTS - 1,
                                      UPCALL_PORT_NONE };
    uint32_t pids[ARRAY_SIZE(ports)];

    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        pids[i] = add_port(f, ports[i])->pid;
        assert_int_equal(upcall_table_n_channels(f->table), i + 1);
    }
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        assert_int_equal(upcall_table_get_pid(f->table, ports[i]), pids[i]);
    }
    assert_int_equal(upcall_table_get_pid(f->table, 2), 0);
}

static void
port_number_beyond_the_kernels_is_refused(void **state)
{
    struct fixture *f = *state;
    static const uint32_t ports[] = { UPCALL_MAX_PORTS, UPCALL_MAX_PORTS + 1,
                                      UPCALL_PORT_CPU(0) - 1 };
    uint32_t none = add_port(f, UPCALL_PORT_NONE)->pid;

    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        struct upcall_channel *channel = create_channel();

        assert_int_equal(upcall_table_add(f->table, ports[i], "x", channel),
                         EINVAL);

        /* The reference is still ours, and nothing changed. */
        upcall_channel_unref(channel);
        assert_int_equal(upcall_table_n_channels(f->table), 1);
        assert_int_equal(upcall_table_get_pid(f->table, ports[i]), 0);
        upcall_table_del(f->table, ports[i]);
        assert_int_equal(upcall_table_get_pid(f->table, UPCALL_PORT_NONE),
                         none);
    }
}

static void
deleted_port_is_gone_and_its_socket_closed(void **state)
{
    struct fixture *f = *state;
    size_t n_fds;

    set_handlers(f, 2);
    add_port(f, 1);
    n_fds = unit_count_fds();
    add_port(f, 2);
    upcall_table_del(f->table, 2);
    assert_int_equal(upcall_table_get_pid(f->table, 2), 0);
    assert_int_not_equal(upcall_table_get_pid(f->table, 1), 0);
    assert_int_equal(upcall_table_n_channels(f->table), 1);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);
    upcall_table_del(f->table, 2);
    assert_int_equal(upcall_table_n_channels(f->table), 1);
}

static void
port_that_comes_and_goes_leaks_no_socket(void **state)
{
    struct fixture *f = *state;
    size_t n_fds;

    set_handlers(f, 3);
    add_port(f, 5);
    n_fds = unit_count_fds();
    for (int i = 0; i < 50; i++) {
        /* Alternately with upcalls that were seen, that were not, and none. */
        if (i % 3) {
            send_to(f, 5, i);
        }
        if (i % 3 == 1) {
            expect_batch(f, i % 3, i, 1);
        }
        upcall_table_del(f->table, 5);
        add_port(f, 5);
    }
    unit_rcu_barrier();

    /* Handlers hold what they read last until their next receive. */
    for (int i = 0; i < 3; i++) {
        expect_nothing(f, i);
    }
    assert_int_equal(unit_count_fds(), n_fds);

    send_to(f, 5, 1000);
    expect_batch(f, 0, 1000, 1);
}

static void
replaced_channel_is_closed_and_the_new_one_works(void **state)
{
    struct fixture *f = *state;
    uint32_t old_pid, new_pid;
    size_t n_fds;

    set_handlers(f, 1);
    old_pid = add_port(f, 9)->pid;
    n_fds = unit_count_fds();
    new_pid = add_port(f, 9)->pid;
    assert_int_not_equal(old_pid, new_pid);
    assert_int_equal(upcall_table_get_pid(f->table, 9), new_pid);
    assert_int_equal(upcall_table_n_channels(f->table), 1);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);

    /* The old port id is nobody's. */
    struct unit_msg msg;
    unit_msg_upcall(&msg, 1, UNIT_PACKET_MIN);
    assert_int_equal(unit_send(f->sender, old_pid, msg.buf, msg.len),
                     ECONNREFUSED);
    unit_msg_uninit(&msg);
    send_to(f, 9, 2);
    expect_batch(f, 0, 2, 1);
}

static void
removal_of_all_ports_keeps_the_handlers(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 2);
    add_port(f, 0);
    add_port(f, UPCALL_MAX_PORTS - 1);
    add_port(f, UPCALL_PORT_NONE);
    upcall_table_del_all(f->table);
    assert_int_equal(upcall_table_n_channels(f->table), 0);
    assert_int_equal(upcall_table_get_pid(f->table, UPCALL_PORT_NONE), 0);
    assert_int_equal(upcall_table_n_handlers(f->table), 2);
    add_port(f, 0);
    send_to(f, 0, 1);
    expect_batch(f, 1, 1, 1);
}

static void
descriptors_are_ports_plus_a_constant(void **state)
{
    struct fixture *f = *state;
    size_t n_fds = unit_count_fds();

    for (uint32_t i = 0; i < 100; i++) {
        add_port(f, i);
    }
    assert_int_equal(unit_count_fds(), n_fds + 100);
    set_handlers(f, 10);

    /* An epoll instance and two eventfds for all handlers. */
    assert_int_equal(unit_count_fds(), n_fds + 100 + 3);
    set_handlers(f, 20);
    for (uint32_t i = 0; i < 20; i++) {
        struct upcall_view view;

        /* Each handler lets the one that it replaced go. */
        assert_int_equal(upcall_table_recv(f->table, i, &view), EAGAIN);
    }
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds + 100 + 3);
    set_handlers(f, 0);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds + 100);
}

/* Receiving. */

static void
upcalls_of_a_port_come_in_order_and_in_bounded_batches(void **state)
{
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    uint64_t expected = 0;
    size_t n;

    set_handlers(f, 1);
    add_port(f, 1);
    for (uint64_t seq = 0; seq < 200; seq++) {
        send_to(f, 1, seq);
    }

    /* All views of a batch are good until the next one. */
    while ((n = recv_batch(f, 0, views)) != 0) {
        assert_true(n == UPCALL_BATCH || expected + n == 200);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(unit_view_seq(&views[i]), expected);
            expected++;
        }
    }
    assert_int_equal(expected, 200);
    assert_int_equal(stats_of(f, 1).received, 200);
}

static void
upcalls_from_before_the_port_was_added_are_received(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *channel = create_channel();

    set_handlers(f, 2);
    unit_send_upcall(f->sender, channel->pid, 1);
    unit_send_upcall(f->sender, channel->pid, 2);
    assert_int_equal(upcall_table_add(f->table, 4, "p", channel), 0);
    expect_batch(f, 1, 1, 2);
}

static void
upcalls_from_before_there_were_handlers_are_received(void **state)
{
    struct fixture *f = *state;

    add_port(f, 4);
    send_to(f, 4, 1);
    send_to(f, 4, 2);
    expect_nothing(f, 0);
    set_handlers(f, 2);
    expect_batch(f, 0, 1, 2);
    expect_nothing(f, 1);
}

static void
channel_without_a_port_is_received_like_any_other(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    add_port(f, UPCALL_PORT_NONE);
    send_to(f, UPCALL_PORT_NONE, 77);
    expect_batch(f, 0, 77, 1);
}

static void
handler_that_does_not_exist_receives_nothing(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 1);
    expect_nothing(f, 2);
    expect_nothing(f, UINT32_MAX);
    expect_batch(f, 0, 1, 1);
}

static void
port_stays_with_its_handler_until_the_batch_was_processed(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 1);

    /* Within the batch, */
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    send_to(f, 1, 2);
    expect_nothing(f, 1);
    while (upcall_table_recv(f->table, 0, &view) == 0) {
        /* May or may not find number 2. */
    }

    /* and after it while its upcalls are processed. */
    send_to(f, 1, 3);
    expect_nothing(f, 1);
    expect_nothing(f, 1);

    /* What came meanwhile is for the same handler, */
    struct upcall_view views[UPCALL_BATCH];
    size_t n = recv_batch(f, 0, views);
    assert_in_range(n, 1, 2);
    assert_int_equal(unit_view_seq(&views[n - 1]), 3);

    /* which releases the channel when nothing came. */
    expect_nothing(f, 0);
    expect_nothing(f, 0);
    send_to(f, 1, 4);
    expect_batch(f, 1, 4, 1);
}

static void
upcall_that_came_during_processing_is_found_without_another_edge(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 1);
    expect_batch(f, 0, 1, 1);

    /* Handler 1 takes the edge and leaves the mark; nothing else will tell
     * handler 0. */
    send_to(f, 1, 2);
    expect_nothing(f, 1);
    expect_batch(f, 0, 2, 1);
}

static void
different_ports_are_served_by_different_handlers_at_a_time(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 2);
    add_port(f, 1);
    add_port(f, 2);
    send_to(f, 1, 1);
    expect_batch(f, 0, 1, 1);
    send_to(f, 2, 2);
    expect_batch(f, 1, 2, 1);
}

static void
quiet_port_does_not_wait_behind_a_noisy_one(void **state)
{
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    bool found = false;
    size_t n;

    set_handlers(f, 1);
    add_port(f, 1);
    add_port(f, 2);
    for (uint64_t seq = 0; seq < 200; seq++) {
        send_to(f, 1, seq);
    }
    expect_batch(f, 0, 0, UPCALL_BATCH);

    /* In the next batch, though the noisy port has enough for two more. */
    send_to(f, 2, 1000);
    n = recv_batch(f, 0, views);
    assert_int_equal(n, UPCALL_BATCH);
    for (size_t i = 0; i < n; i++) {
        found |= unit_view_seq(&views[i]) == 1000;
    }
    assert_true(found);
}

static void
noisy_ports_share_a_batch(void **state)
{
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    unsigned int share[3] = { 0, 0, 0 };

    set_handlers(f, 1);
    for (uint32_t port = 0; port < 3; port++) {
        add_port(f, port);
        for (uint64_t i = 0; i < 100; i++) {
            send_to(f, port, port * 1000 + i);
        }
    }
    for (int batch = 0; batch < 3; batch++) {
        assert_int_equal(recv_batch(f, 0, views), UPCALL_BATCH);
        for (size_t i = 0; i < UPCALL_BATCH; i++) {
            uint64_t seq = unit_view_seq(&views[i]);

            assert_int_equal(seq % 1000, share[seq / 1000]);
            share[seq / 1000]++;
        }

        /* No port is ahead of another by more than two turns of 16. */
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                assert_true(share[i] <= share[j] + 32);
            }
        }
    }
}

/* What is no upcall of the datapath. */

static void
malformed_messages_are_counted_and_skipped(void **state)
{
    struct fixture *f = *state;
    uint32_t pid = add_port(f, 1)->pid;
    struct unit_msg msg;

    set_handlers(f, 1);
    send_to(f, 1, 1);

    unit_msg_init(&msg, UNIT_FAMILY, OVS_PACKET_CMD_MISS, UNIT_DP_IFINDEX);
    assert_int_equal(unit_send(f->sender, pid, msg.buf, msg.len), 0);
    unit_msg_uninit(&msg);
    unit_msg_upcall(&msg, 2, UNIT_PACKET_MIN);
    ((struct nlmsghdr *) msg.buf)->nlmsg_type = UNIT_FAMILY + 1;
    assert_int_equal(unit_send(f->sender, pid, msg.buf, msg.len), 0);
    assert_int_equal(unit_send(f->sender, pid, msg.buf, 1), 0);
    unit_msg_uninit(&msg);

    send_to(f, 1, 2);
    expect_batch(f, 0, 1, 2);
    assert_int_equal(stats_of(f, 1).malformed, 3);
    assert_int_equal(stats_of(f, 1).received, 5);
}

static void
batch_of_nothing_but_malformed_messages_is_empty(void **state)
{
    struct fixture *f = *state;
    uint32_t pid = add_port(f, 1)->pid;
    char zeros[NLMSG_HDRLEN] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };

    set_handlers(f, 1);
    for (int i = 0; i < 2 * UPCALL_BATCH; i++) {
        assert_int_equal(unit_send(f->sender, pid, zeros, sizeof zeros), 0);
    }
    send_to(f, 1, 1);
    expect_nothing(f, 0);
    expect_nothing(f, 0);
    expect_batch(f, 0, 1, 1);
    assert_int_equal(stats_of(f, 1).malformed, 2 * UPCALL_BATCH);
}

static void
truncated_message_is_counted_and_skipped(void **state)
{
    struct fixture *f = *state;
    uint32_t pid = add_port(f, 1)->pid;
    size_t padding = 40000;
    char *zeros = xzalloc(padding);
    struct unit_msg msg;

    /* Sound but for its length: attributes that a newer kernel might send. */
    set_handlers(f, 1);
    unit_msg_upcall(&msg, 5, UNIT_PACKET_MIN);
    for (int i = 0; i < 3; i++) {
        unit_msg_put(&msg, __OVS_PACKET_ATTR_MAX + 1, zeros, padding);
    }
    assert_int_equal(unit_send(f->sender, pid, msg.buf, msg.len), 0);
    unit_msg_uninit(&msg);
    free(zeros);

    send_to(f, 1, 6);
    expect_batch(f, 0, 6, 1);
    assert_int_equal(stats_of(f, 1).malformed, 1);
    assert_int_equal(stats_of(f, 1).received, 2);
}

static void
largest_upcall_fits(void **state)
{
    struct fixture *f = *state;
    uint32_t pid = add_port(f, 1)->pid;
    struct upcall_view view;
    struct unit_msg msg;
    size_t n = UINT16_MAX - NLA_HDRLEN;

    set_handlers(f, 1);
    unit_msg_upcall(&msg, 5, n);
    assert_int_equal(unit_send(f->sender, pid, msg.buf, msg.len), 0);
    unit_msg_uninit(&msg);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    assert_int_equal(view.packet_len, n);
    assert_int_equal(unit_view_seq(&view), 5);
}

static void
upcalls_of_another_datapath_are_counted_and_skipped(void **state)
{
    struct fixture *f = *state;
    uint32_t pid = add_port(f, 1)->pid;
    struct upcall_table_info info;
    struct unit_msg msg;

    set_handlers(f, 1);
    unit_msg_upcall(&msg, 1, UNIT_PACKET_MIN);
    struct ovs_header *ovs = (struct ovs_header *)
        (msg.buf + NLMSG_HDRLEN + sizeof(uint32_t));
    assert_int_equal(ovs->dp_ifindex, UNIT_DP_IFINDEX);
    ovs->dp_ifindex++;
    assert_int_equal(unit_send(f->sender, pid, msg.buf, msg.len), 0);
    unit_msg_uninit(&msg);
    send_to(f, 1, 2);
    expect_batch(f, 0, 2, 1);

    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.foreign, 1);
    assert_int_equal(info.ports[0].stats.malformed, 0);
    upcall_table_info_uninit(&info);

    /* The count outlives the handler that made it. */
    set_handlers(f, 0);
    unit_rcu_barrier();
    set_handlers(f, 2);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.foreign, 1);
    upcall_table_info_uninit(&info);
    upcall_table_reset_stats(f->table);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.foreign, 0);
    upcall_table_info_uninit(&info);
}

static void
purge_throws_away_what_waits(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 2);
    for (uint32_t port = 0; port < 4; port++) {
        add_port(f, port);
        send_to(f, port, port);
    }
    upcall_table_purge(f->table);
    expect_nothing(f, 0);
    expect_nothing(f, 1);
    send_to(f, 2, 10);
    expect_batch(f, 1, 10, 1);
}

static void
overrun_of_a_port_is_its_own(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *noisy = add_port(f, 1);
    struct upcall_view views[UPCALL_BATCH];
    uint64_t n_sent = 0, next = 0, n_received = 0;
    struct upcall_channel_stats stats;
    struct unit_msg msg;
    bool found = false;
    size_t n;

    set_handlers(f, 1);
    add_port(f, 2);
    unit_channel_join(noisy, GROUP);
    do {
        unit_msg_upcall(&msg, n_sent++, 2000);
        assert_int_equal(unit_send_group(f->sender, GROUP, msg.buf, msg.len),
                         0);
        unit_msg_uninit(&msg);
        upcall_channel_get_stats(noisy, &stats);
    } while (stats.lost < 10);
    send_to(f, 2, UINT32_MAX);

    while ((n = recv_batch(f, 0, views)) != 0) {
        for (size_t i = 0; i < n; i++) {
            uint64_t seq = unit_view_seq(&views[i]);

            if (seq == UINT32_MAX) {
                found = true;
            } else {
                assert_true(seq >= next);
                next = seq + 1;
                n_received++;
            }
        }
    }
    assert_true(found);
    stats = stats_of(f, 1);
    assert_int_equal(stats.overruns, 1);
    assert_int_equal(stats.received, n_received);
    assert_int_equal(stats.received + stats.lost, n_sent);
    assert_int_equal(stats.backlog, 0);
    assert_int_equal(stats_of(f, 2).overruns, 0);
    assert_int_equal(stats_of(f, 2).lost, 0);

    /* And the port goes on. */
    send_to(f, 1, 1000000);
    expect_batch(f, 0, 1000000, 1);
}

/* Ports that go while they are served. */

static void
upcalls_of_a_batch_outlive_their_port(void **state)
{
    struct fixture *f = *state;
    struct upcall_view views[5];
    size_t n_fds;

    set_handlers(f, 2);
    n_fds = unit_count_fds();
    add_port(f, 1);
    for (uint64_t seq = 0; seq < 5; seq++) {
        send_to(f, 1, seq);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(upcall_table_recv(f->table, 0, &views[i]), 0);
    }
    upcall_table_del(f->table, 1);
    unit_rcu_barrier();
    for (int i = 2; i < 5; i++) {
        assert_int_equal(upcall_table_recv(f->table, 0, &views[i]), 0);
    }
    assert_int_equal(upcall_table_recv(f->table, 0, &views[0]), EAGAIN);
    for (int i = 1; i < 5; i++) {
        assert_int_equal(unit_view_seq(&views[i]), i);
    }
    expect_nothing(f, 0);
    assert_int_equal(unit_count_fds(), n_fds);
}

static void
socket_of_a_deleted_port_is_read_no_further(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;
    size_t n_fds;
    size_t n = 1;

    set_handlers(f, 1);
    n_fds = unit_count_fds();
    add_port(f, 1);
    add_port(f, 2);
    for (uint64_t seq = 0; seq < 200; seq++) {
        send_to(f, 1, seq);
    }
    send_to(f, 2, 1000);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    upcall_table_del(f->table, 1);
    while (upcall_table_recv(f->table, 0, &view) == 0) {
        n++;
    }
    assert_true(n < UPCALL_BATCH);
    expect_nothing(f, 0);
    upcall_table_del(f->table, 2);
    unit_rcu_barrier();
    expect_nothing(f, 0);
    assert_int_equal(unit_count_fds(), n_fds);
}

static void
event_of_a_deleted_port_does_nothing(void **state)
{
    struct fixture *f = *state;

    /* The wait takes the events; the port goes before the receive. */
    set_handlers(f, 1);
    add_port(f, 1);
    send_to(f, 1, 1);
    upcall_table_recv_wait(f->table, 0);
    poll_block();
    upcall_table_del(f->table, 1);
    unit_rcu_barrier();
    expect_nothing(f, 0);
}

static void
event_of_an_earlier_port_of_that_number_does_nothing(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 1);
    upcall_table_recv_wait(f->table, 0);
    poll_block();
    upcall_table_del(f->table, 1);
    add_port(f, 1);
    unit_rcu_barrier();
    expect_nothing(f, 0);
    send_to(f, 1, 2);
    expect_batch(f, 1, 2, 1);
}

/* Handlers that change. */

static void
number_of_handlers_is_bounded(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    assert_int_equal(upcall_table_set_handlers(f->table,
                                               UPCALL_MAX_HANDLERS + 1),
                     EINVAL);
    assert_int_equal(upcall_table_n_handlers(f->table), 1);
}

static void
same_number_of_handlers_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 1);
    send_to(f, 1, 2);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    set_handlers(f, 2);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    assert_int_equal(unit_view_seq(&view), 2);
}

static void
no_upcall_is_lost_when_handlers_change(void **state)
{
    static const uint32_t n_handlers[] = { 0, 1, 4, 2, 0, 3, 1, 0, 2 };
    enum { N_PORTS = 5 };
    struct fixture *f = *state;
    uint64_t n_sent[N_PORTS] = { 0 }, n_received[N_PORTS] = { 0 };
    uint32_t pids[N_PORTS];
    int again = 2;

    for (uint32_t port = 0; port < N_PORTS; port++) {
        pids[port] = add_port(f, port)->pid;
    }
    for (size_t i = 0; i < ARRAY_SIZE(n_handlers); i++) {
        /* Some from before the change, of which some ports are in the hands
         * of an old handler, some after. */
        for (int when = 0; when < 2; when++) {
            for (uint32_t port = 0; port < N_PORTS; port++) {
                for (int j = 0; j < 30; j++) {
                    send_to(f, port, port * 10000 + n_sent[port]++);
                }
            }
            for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
                struct upcall_view views[UPCALL_BATCH];
                size_t n = recv_batch(f, h, views);

                for (size_t j = 0; j < n; j++) {
                    uint64_t seq = unit_view_seq(&views[j]);
                    uint64_t port = seq / 10000;

                    assert_true(port < N_PORTS);
                    assert_int_equal(seq % 10000, n_received[port]);
                    n_received[port]++;
                }
            }
            if (!when) {
                set_handlers(f, n_handlers[i]);
            }
        }
    }

    for (;;) {
        struct upcall_view views[UPCALL_BATCH];
        size_t n = 0;

        for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
            size_t n_batch = recv_batch(f, h, views);

            for (size_t j = 0; j < n_batch; j++) {
                uint64_t seq = unit_view_seq(&views[j]);

                assert_int_equal(seq % 10000, n_received[seq / 10000]);
                n_received[seq / 10000]++;
            }
            n += n_batch;
        }
        if (!n && !again--) {
            break;
        }

        /* Handlers that went for good release their channels when nobody can
         * be using them any more. */
        unit_rcu_barrier();
    }
    for (uint32_t port = 0; port < N_PORTS; port++) {
        assert_int_equal(n_received[port], n_sent[port]);
        assert_int_equal(upcall_table_get_pid(f->table, port), pids[port]);
        assert_int_equal(stats_of(f, port).received, n_sent[port]);
    }
}

static void
upcalls_lost_with_an_unfinished_batch_are_counted(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    for (uint64_t seq = 0; seq < 5; seq++) {
        send_to(f, 1, seq);
    }
    assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
    set_handlers(f, 1);
    unit_rcu_barrier();
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.abandoned, 4);
    upcall_table_info_uninit(&info);

    /* The port is not. */
    send_to(f, 1, 5);
    expect_batch(f, 0, 5, 1);
}

static void
batch_goes_on_when_its_handler_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    for (uint64_t seq = 0; seq < 5; seq++) {
        send_to(f, 1, seq);
    }
    assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
    assert_int_equal(unit_view_seq(&view), 0);

    /* Twice, and with the other engine. */
    set_handlers(f, 3);
    assert_int_equal(upcall_table_set_engine(f->table, &upcall_engine_uring),
                     0);
    send_to(f, 1, 5);

    /* Nobody else gets what follows before the batch is over and processed. */
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    for (uint64_t seq = 1; seq < 5; seq++) {
        assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
        assert_int_equal(unit_view_seq(&view), seq);
    }
    assert_int_equal(upcall_table_recv(f->table, 1, &view), EAGAIN);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    assert_int_equal(upcall_table_recv(f->table, 2, &view), EAGAIN);
    assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
    assert_int_equal(unit_view_seq(&view), 5);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.abandoned, 0);
    assert_string_equal(info.engine, "io_uring");
    upcall_table_info_uninit(&info);
}

static void
batch_stays_bounded_when_its_handler_goes_and_comes_back(void **state)
{
    enum { N_BEFORE = 10 };
    struct fixture *f = *state;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    add_port(f, 2);
    for (uint64_t seq = 0; seq < N_BEFORE; seq++) {
        send_to(f, 1, seq);
    }
    for (uint64_t seq = 0; seq < N_BEFORE; seq++) {
        assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
        assert_int_equal(unit_view_seq(&view), seq);
    }

    /* The new handler does not go on with the batch of the old one, nor does
     * it begin one of its own before what the thread has is processed. */
    set_handlers(f, 1);
    set_handlers(f, 2);
    for (uint64_t seq = 0; seq < UPCALL_BATCH; seq++) {
        send_to(f, 2, seq);
    }
    assert_int_equal(upcall_table_recv(f->table, 1, &view), EAGAIN);
    expect_batch(f, 1, 0, UPCALL_BATCH);

    /* Likewise if the thread finds that it has none. */
    send_to(f, 2, UPCALL_BATCH);
    assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
    set_handlers(f, 1);
    assert_int_equal(upcall_table_recv(f->table, 1, &view), EAGAIN);
    set_handlers(f, 2);
    unit_rcu_barrier();
    send_to(f, 2, UPCALL_BATCH + 1);
    expect_batch(f, 1, UPCALL_BATCH + 1, 1);
}

static double
jain(const uint64_t n[], size_t n_ports)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n_ports; i++) {
        sum += n[i];
        squares += (double) n[i] * n[i];
    }
    return sum * sum / (n_ports * squares);
}

static void
flooded_ports_get_equal_shares(void **state)
{
    enum { N_PORTS = 10, N_MSGS = 400 };
    struct fixture *f = *state;
    uint64_t n[N_PORTS] = { 0 };

    /* Two handlers, of which one works twice as often. */
    set_handlers(f, 2);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        add_port(f, port);
        for (uint64_t i = 0; i < N_MSGS; i++) {
            send_to(f, port, port * 10000 + i);
        }
    }
    for (int i = 0; i < 300; i++) {
        struct upcall_view views[UPCALL_BATCH];
        size_t n_batch = recv_batch(f, i % 3 == 0, views);

        assert_int_equal(n_batch, UPCALL_BATCH);
        for (size_t j = 0; j < n_batch; j++) {
            uint64_t seq = unit_view_seq(&views[j]);
            uint64_t port = seq / 10000;

            assert_int_equal(seq % 10000, n[port]);
            n[port]++;
            send_to(f, port, seq + N_MSGS);
        }
    }
    assert_true(jain(n, N_PORTS) > 0.98);
}

static void
quiet_port_is_in_the_next_batch_of_flooded_ones(void **state)
{
    enum { N_PORTS = 20, N_MSGS = 200, QUIET = 99 };
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];

    set_handlers(f, 1);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        add_port(f, port);
        for (uint64_t i = 0; i < N_MSGS; i++) {
            send_to(f, port, i);
        }
    }
    add_port(f, QUIET);
    for (int i = 0; i < 10; i++) {
        recv_batch(f, 0, views);
    }
    for (uint64_t i = 0; i < 5; i++) {
        bool found = false;
        size_t n;

        send_to(f, QUIET, 1000000 + i);
        n = recv_batch(f, 0, views);
        for (size_t j = 0; j < n; j++) {
            found |= unit_view_seq(&views[j]) == 1000000 + i;
        }
        assert_true(found);
    }
}

static void
port_that_goes_empty_in_between_gets_no_more_than_its_share(void **state)
{
    enum { N_PORTS = 10, N_MSGS = 300, SLY = 99 };
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    unsigned int n_sly = 0, n_others = 0;
    uint64_t sly = 0;

    set_handlers(f, 1);
    add_port(f, SLY);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        add_port(f, port);
        for (uint64_t i = 0; i < N_MSGS; i++) {
            send_to(f, port, i);
        }
    }

    /* Each time just what it may have without a backlog. */
    for (int i = 0; i < 30; i++) {
        size_t n;

        while (sly < n_sly + UPCALL_QUANTUM) {
            send_to(f, SLY, 1000000 + sly++);
        }
        n = recv_batch(f, 0, views);
        for (size_t j = 0; j < n; j++) {
            if (unit_view_seq(&views[j]) >= 1000000) {
                n_sly++;
            } else {
                n_others++;
            }
        }
    }

    /* A fair share is a tenth of what the others get; it begins with
     * credit. */
    assert_true(n_sly <= n_others / N_PORTS + 3 * UPCALL_QUANTUM);
}

static void
crowd_of_quiet_ports_does_not_starve_a_flooded_one(void **state)
{
    enum { N_QUIET = 200, FLOODED = 999 };
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    unsigned int n_flooded = 0;

    set_handlers(f, 1);
    add_port(f, FLOODED);
    for (uint32_t port = 0; port < N_QUIET; port++) {
        add_port(f, port);
    }
    for (uint64_t i = 0; i < 500; i++) {
        send_to(f, FLOODED, i);
    }
    recv_batch(f, 0, views);
    for (int i = 0; i < 5; i++) {
        size_t n;

        for (uint32_t port = 0; port < N_QUIET; port++) {
            send_to(f, port, 1000000);
        }
        n = recv_batch(f, 0, views);
        for (size_t j = 0; j < n; j++) {
            n_flooded += unit_view_seq(&views[j]) < 1000000;
        }
    }
    assert_true(n_flooded >= 5 * (UPCALL_QUANTUM - UPCALL_EVENTS));
}

static void
quiet_ports_that_use_their_quantum_do_not_starve_a_flooded_one(void **state)
{
    enum { FLOODED = 999 };
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    uint32_t port = 0;

    set_handlers(f, 1);
    add_port(f, FLOODED);
    for (uint64_t i = 0; i < 500; i++) {
        send_to(f, FLOODED, i);
    }
    recv_batch(f, 0, views);
    for (int i = 0; i < 5; i++) {
        unsigned int n_flooded = 0;
        size_t n;

        /* Enough for a whole batch. */
        for (int j = 0; j < 3; j++, port++) {
            add_port(f, port);
            for (int k = 0; k < UPCALL_QUANTUM; k++) {
                send_to(f, port, 1000000);
            }
        }
        n = recv_batch(f, 0, views);
        for (size_t j = 0; j < n; j++) {
            n_flooded += unit_view_seq(&views[j]) < 1000000;
        }
        assert_int_equal(n_flooded, UPCALL_QUANTUM);
    }
}

static void
large_packets_get_an_equal_share_of_bytes(void **state)
{
    enum { N_MSGS = 150, LARGE = 8000, SMALL = 1000 };
    struct fixture *f = *state;
    struct unit_msg large, small;
    uint64_t bytes[2] = { 0 };

    set_handlers(f, 1);
    add_port(f, 0);
    add_port(f, 1);
    unit_msg_upcall(&large, 0, LARGE);
    unit_msg_upcall(&small, 1, SMALL);
    for (int i = 0; i < N_MSGS; i++) {
        assert_int_equal(unit_send(f->sender,
                                   upcall_table_get_pid(f->table, 0),
                                   large.buf, large.len), 0);
    }
    for (int i = 0; i < 4 * N_MSGS; i++) {
        assert_int_equal(unit_send(f->sender,
                                   upcall_table_get_pid(f->table, 1),
                                   small.buf, small.len), 0);
    }
    for (int i = 0; i < 6; i++) {
        struct upcall_view views[UPCALL_BATCH];
        size_t n = recv_batch(f, 0, views);

        for (size_t j = 0; j < n; j++) {
            bytes[unit_view_seq(&views[j])] += views[j].packet_len;
        }
    }
    unit_msg_uninit(&large);
    unit_msg_uninit(&small);

    /* Both have a quantum of 43 kB; the small ones use half of theirs, being
     * limited by number. */
    assert_true(bytes[0] <= 3 * bytes[1]);
    assert_true(bytes[1] > 0);
}

static void
port_deleted_in_the_run_queue_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    size_t n_fds;

    set_handlers(f, 1);
    add_port(f, 1);
    n_fds = unit_count_fds();
    add_port(f, 2);
    for (uint64_t i = 0; i < 300; i++) {
        send_to(f, 1, i);
        send_to(f, 2, 1000 + i);
    }
    recv_batch(f, 0, views);
    recv_batch(f, 0, views);
    upcall_table_del(f->table, 2);
    for (size_t n; (n = recv_batch(f, 0, views)); ) {
        for (size_t i = 0; i < n; i++) {
            assert_true(unit_view_seq(&views[i]) < 1000);
        }
    }
    recv_batch(f, 0, views);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);
}

static void
sharing_port_is_counted(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;

    set_handlers(f, 1);
    add_port(f, UPCALL_PORT_NONE);
    add_port(f, 5);
    send_to(f, 5, 0);
    expect_batch(f, 0, 0, 1);

    /* It has the pid of the channel without a port as long as it shares. */
    upcall_table_share(f->table, 5, "p5");
    upcall_table_share(f->table, 5, "p5");
    upcall_table_share(f->table, 6, "p6");
    assert_true(upcall_table_is_shared(f->table, 5));
    assert_int_equal(upcall_table_n_shared(f->table), 2);
    assert_int_equal(upcall_table_get_pid(f->table, 5),
                     upcall_table_get_pid(f->table, UPCALL_PORT_NONE));
    assert_true(upcall_table_has_channel(f->table, 5));
    upcall_table_del(f->table, 5);
    assert_false(upcall_table_has_channel(f->table, 5));

    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.n_ports, 3);
    assert_int_equal(info.n_sockets, 1);
    assert_int_equal(info.ports[0].port_no, 5);
    assert_true(info.ports[0].shared);
    assert_int_equal(info.ports[0].stats.received, 1);
    assert_string_equal(info.ports[1].name, "p6");
    upcall_table_info_uninit(&info);

    /* What it had before is counted on by a channel of its own. */
    add_port(f, 5);
    upcall_table_unshare(f->table, 5);
    upcall_table_unshare(f->table, 5);
    assert_false(upcall_table_is_shared(f->table, 5));
    assert_int_equal(stats_of(f, 5).received, 1);
    upcall_table_reset_stats(f->table);
    assert_int_equal(stats_of(f, 5).received, 0);
}

static void
snapshot_tells_of_ports_and_handlers(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;

    set_handlers(f, 2);
    add_port(f, UPCALL_PORT_NONE);
    add_port(f, 40);
    add_port(f, 3);
    for (uint64_t seq = 0; seq < 10; seq++) {
        send_to(f, 40, seq);
    }
    expect_batch(f, 1, 0, 10);
    send_to(f, 3, 1);

    upcall_table_get_info(f->table, &info);
    assert_string_equal(info.name, "dp");
    assert_int_equal(info.foreign, 0);
    assert_int_equal(info.abandoned, 0);
    assert_int_equal(info.n_ports, 3);
    assert_int_equal(info.ports[0].port_no, 3);
    assert_string_equal(info.ports[0].name, "port3");
    assert_true(info.ports[0].stats.backlog > 0);
    assert_int_equal(info.ports[0].stats.received, 0);
    assert_int_equal(info.ports[1].port_no, 40);
    assert_int_equal(info.ports[1].pid, upcall_table_get_pid(f->table, 40));
    assert_int_equal(info.ports[1].stats.received, 10);
    assert_int_equal(info.ports[1].stats.backlog, 0);
    assert_int_equal(info.ports[2].port_no, UPCALL_PORT_NONE);

    assert_int_equal(info.n_handlers, 2);
    assert_int_equal(info.handlers[0].upcalls, 0);
    assert_int_equal(info.handlers[0].batches, 0);
    assert_int_equal(info.handlers[1].upcalls, 10);
    assert_int_equal(info.handlers[1].batches, 1);
    assert_int_equal(info.handlers[1].receives, 1);

    /* It outlives what it tells of. */
    upcall_table_del_all(f->table);
    set_handlers(f, 0);
    unit_rcu_barrier();
    assert_string_equal(info.ports[1].name, "port40");
    upcall_table_info_uninit(&info);
}

static void
table_goes_with_upcalls_waiting_and_a_batch_open(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    add_port(f, 2);
    for (uint64_t seq = 0; seq < 100; seq++) {
        send_to(f, 1, seq);
        send_to(f, 2, seq);
    }
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(empty_table_has_nothing),
        TEST(port_has_the_pid_of_its_channel),
        TEST(port_number_beyond_the_kernels_is_refused),
        TEST(deleted_port_is_gone_and_its_socket_closed),
        TEST(port_that_comes_and_goes_leaks_no_socket),
        TEST(replaced_channel_is_closed_and_the_new_one_works),
        TEST(removal_of_all_ports_keeps_the_handlers),
        TEST(descriptors_are_ports_plus_a_constant),
        TEST(upcalls_of_a_port_come_in_order_and_in_bounded_batches),
        TEST(upcalls_from_before_the_port_was_added_are_received),
        TEST(upcalls_from_before_there_were_handlers_are_received),
        TEST(channel_without_a_port_is_received_like_any_other),
        TEST(handler_that_does_not_exist_receives_nothing),
        TEST(port_stays_with_its_handler_until_the_batch_was_processed),
        TEST(upcall_that_came_during_processing_is_found_without_another_edge),
        TEST(different_ports_are_served_by_different_handlers_at_a_time),
        TEST(quiet_port_does_not_wait_behind_a_noisy_one),
        TEST(noisy_ports_share_a_batch),
        TEST(malformed_messages_are_counted_and_skipped),
        TEST(batch_of_nothing_but_malformed_messages_is_empty),
        TEST(truncated_message_is_counted_and_skipped),
        TEST(largest_upcall_fits),
        TEST(upcalls_of_another_datapath_are_counted_and_skipped),
        TEST(purge_throws_away_what_waits),
        TEST(overrun_of_a_port_is_its_own),
        TEST(upcalls_of_a_batch_outlive_their_port),
        TEST(socket_of_a_deleted_port_is_read_no_further),
        TEST(event_of_a_deleted_port_does_nothing),
        TEST(event_of_an_earlier_port_of_that_number_does_nothing),
        TEST(number_of_handlers_is_bounded),
        TEST(same_number_of_handlers_changes_nothing),
        TEST(no_upcall_is_lost_when_handlers_change),
        TEST(upcalls_lost_with_an_unfinished_batch_are_counted),
        TEST(batch_goes_on_when_its_handler_is_replaced),
        TEST(batch_stays_bounded_when_its_handler_goes_and_comes_back),
        TEST(flooded_ports_get_equal_shares),
        TEST(quiet_port_is_in_the_next_batch_of_flooded_ones),
        TEST(port_that_goes_empty_in_between_gets_no_more_than_its_share),
        TEST(crowd_of_quiet_ports_does_not_starve_a_flooded_one),
        TEST(quiet_ports_that_use_their_quantum_do_not_starve_a_flooded_one),
        TEST(large_packets_get_an_equal_share_of_bytes),
        TEST(port_deleted_in_the_run_queue_is_dropped),
        TEST(sharing_port_is_counted),
        TEST(snapshot_tells_of_ports_and_handlers),
        TEST(table_goes_with_upcalls_waiting_and_a_batch_open),
    };

    unit_init("test-upcall-table");
    return cmocka_run_group_tests_name("upcall-table", tests, NULL, NULL);
}
