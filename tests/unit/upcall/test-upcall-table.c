/* SPDX-License-Identifier: Apache-2.0 */

/* A table: ports that come and go, and what is told of them.
 *
 * U2: one socket for each port.  U6: a port that goes leaves no socket and no
 * event.  U8: a port id has a live socket behind it as long as the port is
 * there. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <linux/netlink.h>

#include "odp-netlink.h"
#include "openvswitch/poll-loop.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/upcall/table-fixture.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-ports.h"
#include "util.h"


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
                                      UPCALL_PORT_NONE, UPCALL_PORT_SHARED,
                                      UPCALL_PORT_CPU(0) };
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

        assert_int_equal(upcall_table_add_queues(f->table, ports[i], "x",
                                                 &channel, 1), EINVAL);

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
    set_handlers(f, 8);

    /* An epoll instance and two eventfds for all handlers of a group. */
    assert_int_equal(unit_count_fds(), n_fds + 100 + 3);
    set_handlers(f, 20);
    for (uint32_t i = 0; i < 20; i++) {
        struct upcall_view view;

        /* Each handler lets the one that it replaced go. */
        assert_int_equal(upcall_table_recv(f->table, i, &view), EAGAIN);
    }
    unit_rcu_barrier();

    /* Three groups, and an eventfd between them. */
    assert_int_equal(unit_count_fds(), n_fds + 100 + 3 * 3 + 1);
    set_handlers(f, 0);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds + 100);
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

/* An event names a channel, which is found from the first event on, and not
 * once it is deleted, even if it exists for some time. */
static void
deleted_channel_is_not_found(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *channel = add_port(f, 1);
    uint32_t serial = channel->serial;

    assert_ptr_equal(upcall_ports_lookup(f->table, 1, serial), channel);
    assert_null(upcall_ports_lookup(f->table, 1, serial + 1));
    assert_null(upcall_ports_lookup(f->table, 2, serial));
    upcall_table_del(f->table, 1);
    assert_null(upcall_ports_lookup(f->table, 1, serial));
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

/* What is told. */

/* Sends an upcall of port 'port_no' to the channel that ports share. */
static void
send_shared(struct fixture *f, uint32_t port_no)
{
    const struct { struct nlattr attr; uint32_t port_no; } key = {
        { .nla_len = sizeof key, .nla_type = OVS_KEY_ATTR_IN_PORT }, port_no
    };
    static const char packet[UNIT_PACKET_MIN];
    struct unit_msg msg;

    unit_msg_init(&msg, UNIT_FAMILY, OVS_PACKET_CMD_MISS, UNIT_DP_IFINDEX);
    unit_msg_put(&msg, OVS_PACKET_ATTR_KEY, &key, sizeof key);
    unit_msg_put(&msg, OVS_PACKET_ATTR_PACKET, packet, sizeof packet);
    assert_int_equal(unit_send(f->sender,
                               upcall_table_get_pid(f->table,
                                                    UPCALL_PORT_SHARED),
                               msg.buf, msg.len), 0);
    unit_msg_uninit(&msg);
}

static void
sharing_port_is_counted(void **state)
{
    struct upcall_view views[UPCALL_BATCH];
    struct fixture *f = *state;
    struct upcall_table_info info;

    set_handlers(f, 1);
    add_port(f, UPCALL_PORT_SHARED);
    add_port(f, 5);
    send_to(f, 5, 0);
    expect_batch(f, 0, 0, 1);

    /* It has the pid of the shared channel as long as it shares. */
    upcall_table_share(f->table, 5, "port5");
    upcall_table_share(f->table, 5, "port5");
    upcall_table_share(f->table, 6, "p6");
    assert_true(upcall_table_is_shared(f->table, 5));
    assert_int_equal(upcall_table_n_shared(f->table), 2);
    assert_int_equal(upcall_table_get_pid(f->table, 5),
                     upcall_table_get_pid(f->table, UPCALL_PORT_SHARED));
    assert_true(upcall_table_has_channel(f->table, 5));

    /* What comes there counts for the port that it is from. */
    send_shared(f, 5);
    send_shared(f, 6);
    send_shared(f, 5);
    assert_int_equal(recv_batch(f, 0, views), 3);
    assert_int_equal(stats_of(f, 5).received, 3);
    assert_int_equal(stats_of(f, 6).received, 1);
    upcall_table_del(f->table, 5);
    assert_false(upcall_table_has_channel(f->table, 5));

    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.n_ports, 3);
    assert_int_equal(info.n_sockets, 1);
    assert_int_equal(info.ports[0].port_no, 5);
    assert_true(info.ports[0].shared);
    assert_int_equal(info.ports[0].stats.received, 3);
    assert_string_equal(info.ports[1].name, "p6");
    upcall_table_info_uninit(&info);

    /* What it had before is counted on by a channel of its own. */
    add_port(f, 5);
    upcall_table_unshare(f->table, 5);
    upcall_table_unshare(f->table, 5);
    assert_false(upcall_table_is_shared(f->table, 5));
    assert_int_equal(stats_of(f, 5).received, 3);
    upcall_table_reset_stats(f->table);
    assert_int_equal(stats_of(f, 5).received, 0);
}

/* The kernel gave the number of a port that went to another one, and the table
 * is told of the new port first. */
static void
sharing_port_is_not_taken_for_an_earlier_one(void **state)
{
    struct upcall_view views[UPCALL_BATCH];
    struct fixture *f = *state;
    struct upcall_table_info info;

    set_handlers(f, 1);
    add_port(f, UPCALL_PORT_SHARED);
    upcall_table_share(f->table, 5, "earlier");
    send_shared(f, 5);
    assert_int_equal(recv_batch(f, 0, views), 1);
    assert_int_equal(stats_of(f, 5).received, 1);

    upcall_table_share(f->table, 5, "later");
    assert_int_equal(upcall_table_n_shared(f->table), 1);
    assert_int_equal(stats_of(f, 5).received, 0);
    upcall_table_get_info(f->table, &info);
    assert_string_equal(info.ports[0].name, "later");
    upcall_table_info_uninit(&info);

    /* A port with a channel of its own follows one that shared. */
    add_port(f, 5);
    assert_false(upcall_table_is_shared(f->table, 5));
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
    assert_int_equal(info.handlers[1].batch_sizes[3], 1);   /* 8 to 15. */
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

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, table_setup, table_teardown)

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
        TEST(upcalls_of_a_batch_outlive_their_port),
        TEST(socket_of_a_deleted_port_is_read_no_further),
        TEST(event_of_a_deleted_port_does_nothing),
        TEST(event_of_an_earlier_port_of_that_number_does_nothing),
        TEST(deleted_channel_is_not_found),
        TEST(port_deleted_in_the_run_queue_is_dropped),
        TEST(sharing_port_is_counted),
        TEST(sharing_port_is_not_taken_for_an_earlier_one),
        TEST(snapshot_tells_of_ports_and_handlers),
        TEST(table_goes_with_upcalls_waiting_and_a_batch_open),
    };

    unit_init("test-upcall-table");
    return cmocka_run_group_tests_name("upcall-table", tests, NULL, NULL);
}
