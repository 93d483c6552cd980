/* SPDX-License-Identifier: Apache-2.0 */

/* R3: upcalls of packets that a previous run had recirculated are dropped and
 * counted, and no others are.  R4: nor are those that waited on a socket of
 * that run, in their order. */

#include <config.h>
#include "upcall/upcall-channel.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "odp-netlink.h"
#include "openvswitch/util.h"
#include "unit/upcall/table-fixture.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-table.h"

/* What a key begins with in a message of the kernel. */
struct key {
    struct nlattr attr;
    uint32_t recirc_id;
    struct nlattr priority_attr;
    uint32_t priority;
};

/* Makes an upcall as the kernel does: the key first, whose type has 'flags',
 * and in it an id. */
static void
make_upcall(struct unit_msg *msg, uint64_t seq, uint32_t recirc_id,
            uint16_t flags)
{
    const struct key key = {
        .attr = { .nla_len = 8, .nla_type = OVS_KEY_ATTR_RECIRC_ID },
        .recirc_id = recirc_id,
        .priority_attr = { .nla_len = 8, .nla_type = OVS_KEY_ATTR_PRIORITY },
    };
    char packet[UNIT_PACKET_MIN] = { 0 };

    unit_msg_init(msg, UNIT_FAMILY, OVS_PACKET_CMD_MISS, UNIT_DP_IFINDEX);
    unit_msg_put(msg, OVS_PACKET_ATTR_KEY | flags, &key, sizeof key);
    msg->packet_ofs = msg->len + NLA_HDRLEN;
    unit_msg_put(msg, OVS_PACKET_ATTR_PACKET, packet, sizeof packet);
    unit_msg_set_seq(msg, seq);
}

static void
send_upcall(struct fixture *f, uint64_t seq, uint32_t recirc_id,
            uint16_t flags)
{
    struct unit_msg msg;

    make_upcall(&msg, seq, recirc_id, flags);
    assert_int_equal(unit_send(f->sender, upcall_table_get_pid(f->table, 1),
                               msg.buf, msg.len), 0);
    unit_msg_uninit(&msg);
}

static uint64_t
n_outdated(struct fixture *f)
{
    struct upcall_table_info info;
    uint64_t n;

    upcall_table_get_info(f->table, &info);
    n = info.outdated;
    upcall_table_info_uninit(&info);
    return n;
}

/* Ids from here on are this run's. */
#define FIRST 5000

static void
upcall_with_an_id_of_a_previous_run_is_dropped_and_counted(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    add_port(f, 1);
    upcall_table_set_first_recirc_id(f->table, FIRST);
    send_upcall(f, 0, 0, 0);
    send_upcall(f, 0, FIRST - 1, 0);
    send_upcall(f, 1, 0, NLA_F_NESTED);
    send_upcall(f, 0, UPCALL_RECIRC_STATIC + 1, NLA_F_NESTED);
    send_upcall(f, 0, FIRST + UPCALL_RECIRC_RANGE, 0);
    send_upcall(f, 0, UINT32_MAX, 0);
    expect_batch(f, 0, 0, 2);
    expect_nothing(f, 0);
    assert_int_equal(n_outdated(f), 4);
    assert_int_equal(stats_of(f, 1).malformed, 0);
}

static void
upcall_with_an_id_of_this_run_is_handed_out(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    add_port(f, 1);
    upcall_table_set_first_recirc_id(f->table, FIRST);
    send_upcall(f, 0, FIRST, 0);
    send_upcall(f, 1, FIRST + UPCALL_RECIRC_RANGE - 1, NLA_F_NESTED);
    /* Of bonds. */
    send_upcall(f, 2, 1, 0);
    send_upcall(f, 3, UPCALL_RECIRC_STATIC, 0);
    expect_batch(f, 0, 0, 4);
    assert_int_equal(n_outdated(f), 0);
}

static void
without_a_previous_run_all_ids_are_of_this_one(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    add_port(f, 1);
    send_upcall(f, 0, 7, 0);
    send_upcall(f, 1, FIRST, 0);
    send_upcall(f, 2, UINT32_MAX, 0);
    expect_batch(f, 0, 0, 3);
    assert_int_equal(n_outdated(f), 0);
}

static void
action_is_told_from_what_is_short(void **state OVS_UNUSED)
{
    struct unit_msg msg;

    make_upcall(&msg, 0, 0, 0);
    assert_false(upcall_msg_is_action(msg.buf, msg.len));
    msg.buf[NLMSG_HDRLEN] = OVS_PACKET_CMD_ACTION;
    assert_true(upcall_msg_is_action(msg.buf, msg.len));
    assert_true(upcall_msg_is_action(msg.buf, 20));
    assert_false(upcall_msg_is_action(msg.buf, 19));
    unit_msg_uninit(&msg);
}

/* Adopted sockets. */

/* Opens the socket of a previous run, and stores its port id in '*pid'. */
static int
open_old_socket(uint32_t *pid)
{
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    socklen_t len = sizeof addr;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_GENERIC);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &addr, sizeof addr), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *) &addr, &len), 0);
    *pid = addr.nl_pid;
    return fd;
}

/* Sends an upcall of an action, which names what a previous run knew. */
static int
send_action(struct fixture *f, uint32_t pid, uint64_t seq)
{
    struct unit_msg msg;
    int error;

    make_upcall(&msg, seq, 0, 0);
    msg.buf[NLMSG_HDRLEN] = OVS_PACKET_CMD_ACTION;
    error = unit_send(f->sender, pid, msg.buf, msg.len);
    unit_msg_uninit(&msg);
    return error;
}

static void
send_waiting(struct fixture *f, uint32_t pid, uint64_t seq, uint32_t recirc_id)
{
    struct unit_msg msg;

    make_upcall(&msg, seq, recirc_id, 0);
    assert_int_equal(unit_send(f->sender, pid, msg.buf, msg.len), 0);
    unit_msg_uninit(&msg);
}

static uint64_t
n_adopted(struct fixture *f)
{
    struct upcall_table_info info;
    uint64_t n;

    upcall_table_get_info(f->table, &info);
    n = info.adopted;
    assert_int_equal(info.n_adopted, 1);
    upcall_table_info_uninit(&info);
    return n;
}

/* Makes 'fd' the channel of 'port_no', as a takeover does. */
static struct upcall_channel *
adopt(struct fixture *f, int fd, uint32_t port_no)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create_adopted(fd, &channel), 0);
    upcall_table_set_first_recirc_id(f->table, FIRST);
    assert_int_equal(upcall_table_add_queues(f->table, port_no, "port",
                                             &channel, 1), 0);
    return channel;
}

/* What waits is served in order, but what only the previous run knew. */
static void
check_adopted(struct fixture *f, uint32_t port_no)
{
    uint32_t pid;
    int fd = open_old_socket(&pid);

    set_handlers(f, 1);
    send_waiting(f, pid, 0, 0);
    send_waiting(f, pid, 0, FIRST - 1);
    assert_int_equal(send_action(f, pid, 0), 0);
    send_waiting(f, pid, 1, 0);
    adopt(f, fd, port_no);
    assert_int_equal(upcall_table_get_pid(f->table, port_no), pid);

    /* While flows of the previous run forward. */
    send_waiting(f, pid, 2, 0);
    assert_int_equal(send_action(f, pid, 0), 0);
    upcall_table_end_adopted(f->table);

    send_waiting(f, pid, 3, FIRST);
    assert_int_equal(send_action(f, pid, 4), 0);
    expect_batch(f, 0, 0, 5);
    expect_nothing(f, 0);
    assert_int_equal(n_outdated(f), 3);
    assert_int_equal(n_adopted(f), 6);
    assert_int_equal(stats_of(f, port_no).malformed, 0);
}

static void
what_waited_on_an_adopted_socket_is_served(void **state)
{
    check_adopted(*state, 1);
}

/* Read ahead, and sorted. */
static void
what_waited_on_a_shared_socket_is_served(void **state)
{
    check_adopted(*state, UPCALL_PORT_SHARED);
}

/* However many reads it takes. */
static void
what_comes_after_the_mark_is_of_this_run(void **state)
{
    static const uint32_t port_nos[] = { 1, UPCALL_PORT_SHARED };
    struct fixture *f = *state;

    set_handlers(f, 1);
    for (size_t i = 0; i < ARRAY_SIZE(port_nos); i++) {
        enum { N = 2 * UPCALL_BATCH };
        struct upcall_channel_stats stats;
        uint64_t seq = 0;
        uint32_t pid;
        int fd = open_old_socket(&pid);

        adopt(f, fd, port_nos[i]);
        assert_int_equal(send_action(f, pid, 0), 0);
        upcall_table_end_adopted(f->table);
        for (uint64_t j = 0; j < N; j++) {
            assert_int_equal(send_action(f, pid, j), 0);
        }
        while (seq < N) {
            struct upcall_view views[UPCALL_BATCH];
            size_t n = recv_batch(f, 0, views);

            assert_true(n > 0);
            for (size_t j = 0; j < n; j++) {
                assert_int_equal(unit_view_seq(&views[j]), seq++);
            }
        }
        expect_nothing(f, 0);
        assert_int_equal(n_outdated(f), i + 1);
        stats = stats_of(f, port_nos[i]);
        assert_int_equal(stats.received, N + 2);
        assert_int_equal(stats.backlog, 0);
        assert_int_equal(stats.malformed, 0);
        upcall_table_del(f->table, port_nos[i]);
    }
}

/* Nothing more is queued on a socket that overran before it was emptied. */
static void
socket_that_overran_ends_when_it_is_empty(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;
    int fd = open_old_socket(&pid);
    const int size = 4096;

    set_handlers(f, 1);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size,
                                sizeof size), 0);
    while (!send_action(f, pid, 0)) {
        continue;
    }
    adopt(f, fd, 1);
    upcall_table_end_adopted(f->table);
    expect_nothing(f, 0);
    assert_int_equal(send_action(f, pid, 0), 0);
    expect_batch(f, 0, 0, 1);
    assert_int_equal(stats_of(f, 1).lost, 0);
}

static void
purge_ends_what_waited(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;
    int fd = open_old_socket(&pid);

    set_handlers(f, 1);
    send_waiting(f, pid, 0, 0);
    adopt(f, fd, 1);
    upcall_table_end_adopted(f->table);
    upcall_table_purge(f->table);
    assert_int_equal(send_action(f, pid, 0), 0);
    expect_batch(f, 0, 0, 1);
    assert_int_equal(n_adopted(f), 0);
}

static void
descriptor_that_is_no_socket_is_refused(void **state OVS_UNUSED)
{
    struct upcall_channel *channel;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(upcall_channel_create_adopted(fds[0], &channel),
                     ENOTSOCK);
    assert_null(channel);
    assert_int_equal(close(fds[0]), -1);
    close(fds[1]);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, table_setup, table_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(upcall_with_an_id_of_a_previous_run_is_dropped_and_counted),
        TEST(upcall_with_an_id_of_this_run_is_handed_out),
        TEST(without_a_previous_run_all_ids_are_of_this_one),
        cmocka_unit_test(action_is_told_from_what_is_short),
        TEST(what_waited_on_an_adopted_socket_is_served),
        TEST(what_waited_on_a_shared_socket_is_served),
        TEST(what_comes_after_the_mark_is_of_this_run),
        TEST(socket_that_overran_ends_when_it_is_empty),
        TEST(purge_ends_what_waited),
        cmocka_unit_test(descriptor_that_is_no_socket_is_refused),
    };

    unit_init("test-upcall-outdated");
    return cmocka_run_group_tests_name("upcall-outdated", tests, NULL, NULL);
}
