/* SPDX-License-Identifier: Apache-2.0 */

/* Receiving from a table.
 *
 * U1: upcalls of a port come in order, and the port stays with its handler
 * until the batch was processed.  U5: what is lost or no upcall is counted for
 * its port, and nothing else is dropped. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <unistd.h>

#include "odp-netlink.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/upcall/table-fixture.h"
#include "upcall/upcall-engine.h"
#include "util.h"


#define GROUP 16

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
    assert_int_equal(upcall_table_add_queues(f->table, 4, "p", &channel, 1),
                     0);
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

/* From its first upcall to the next call that receives. */
static void
time_of_a_batch_is_counted(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    uint64_t begin, elapsed;
    struct upcall_view view;

    set_handlers(f, 1);
    add_port(f, 1);
    send_to(f, 1, 1);
    begin = upcall_now_usec();
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    usleep(1000);
    while (upcall_table_recv(f->table, 0, &view) != EAGAIN) {
        continue;
    }
    upcall_table_recv(f->table, 0, &view);
    elapsed = upcall_now_usec() - begin;
    upcall_table_get_info(f->table, &info);
    assert_in_range(info.handlers[0].busy_usec, 1000, elapsed);
    upcall_table_info_uninit(&info);
}

/* The kernel is told it again with packets that are executed for the upcall
 * (U8). */
static void
upcall_names_the_socket_that_it_came_to(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    for (uint32_t port_no = 1; port_no <= 3; port_no++) {
        struct upcall_view view;

        add_port(f, port_no);
        send_to(f, port_no, port_no);
        assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
        assert_int_equal(unit_view_seq(&view), port_no);
        assert_int_not_equal(view.pid, 0);
        assert_int_equal(view.pid, upcall_table_get_pid(f->table, port_no));
        assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    }
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

/* Not when it is read for the first time. */
static void
port_that_another_handler_read_last_is_counted(void **state)
{
    static const uint64_t steals[] = { 0, 0, 1 };
    struct fixture *f = *state;
    struct upcall_table_info info;

    set_handlers(f, 2);
    add_port(f, 1);
    for (size_t i = 0; i < ARRAY_SIZE(steals); i++) {
        uint32_t handler = i < 2;

        send_to(f, 1, i);
        expect_batch(f, handler, i, 1);
        expect_nothing(f, handler);
        upcall_table_get_info(f->table, &info);
        assert_int_equal(info.handlers[0].steals + info.handlers[1].steals,
                         steals[i]);
        upcall_table_info_uninit(&info);
    }
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

    /* Only its length is wrong: attributes that a newer kernel might send. */
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
    struct upcall_table_info info;
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

    /* The sum of all losses outlives the port and a reset. */
    upcall_table_reset_stats(f->table);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.dropped, stats.lost);
    upcall_table_info_uninit(&info);
    upcall_table_del(f->table, 1);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.dropped, stats.lost);
    upcall_table_info_uninit(&info);
}

static void
message_of_another_process_is_refused_and_counted(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    int stranger = unit_stranger_open();

    set_handlers(f, 1);
    add_port(f, 1);
    for (int i = 0; i < 3; i++) {
        unit_send_upcall(stranger, upcall_table_get_pid(f->table, 1), 100 + i);
        send_to(f, 1, i);
    }
    expect_batch(f, 0, 0, 3);
    expect_nothing(f, 0);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.refused, 3);
    assert_int_equal(info.handlers[0].upcalls, 3);
    upcall_table_info_uninit(&info);
    close(stranger);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, table_setup, table_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(upcalls_of_a_port_come_in_order_and_in_bounded_batches),
        TEST(upcalls_from_before_the_port_was_added_are_received),
        TEST(upcalls_from_before_there_were_handlers_are_received),
        TEST(channel_without_a_port_is_received_like_any_other),
        TEST(time_of_a_batch_is_counted),
        TEST(upcall_names_the_socket_that_it_came_to),
        TEST(handler_that_does_not_exist_receives_nothing),
        TEST(port_stays_with_its_handler_until_the_batch_was_processed),
        TEST(upcall_that_came_during_processing_is_found_without_another_edge),
        TEST(port_that_another_handler_read_last_is_counted),
        TEST(different_ports_are_served_by_different_handlers_at_a_time),
        TEST(malformed_messages_are_counted_and_skipped),
        TEST(batch_of_nothing_but_malformed_messages_is_empty),
        TEST(truncated_message_is_counted_and_skipped),
        TEST(largest_upcall_fits),
        TEST(upcalls_of_another_datapath_are_counted_and_skipped),
        TEST(purge_throws_away_what_waits),
        TEST(overrun_of_a_port_is_its_own),
        TEST(message_of_another_process_is_refused_and_counted),
    };

    unit_init("test-upcall-recv");
    return cmocka_run_group_tests_name("upcall-recv", tests, NULL, NULL);
}
