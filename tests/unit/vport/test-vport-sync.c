/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant U6: how a vport table comes back in sync when something was lost,
 * what it does when it cannot. */

#include <config.h>
#include "vport/vport-table.h"
#include "vport/vport-sync.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "odp-netlink.h"
#include "harness/clock.h"
#include "harness/descriptors.h"
#include "harness/fault.h"
#include "harness/kernel-messages.h"
#include "fake/vport-fake.h"
#include "util.h"

static int
setup(void **state)
{
    unit_plan_none();
    unit_clock_stop(1);
    unit_datapath_init();
    *state = unit_vport_table();
    return 0;
}

static int
teardown(void **state)
{
    vport_table_destroy(*state);
    unit_datapath_uninit();
    return 0;
}

static struct vport_table_stats
get_stats(struct vport_table *table)
{
    struct vport_table_info info;

    vport_table_get_info(table, &info);
    vport_table_info_uninit(&info);
    return info.stats;
}

static bool
in_sync(struct vport_table *table)
{
    struct vport_table_info info;

    vport_table_get_info(table, &info);
    vport_table_info_uninit(&info);
    return info.in_sync;
}

static void
start(struct vport_table *table)
{
    assert_int_equal(unit_by_number(table, 0), 0);
    assert_true(in_sync(table));
    unit_clock_advance(VPORT_LATE_MS + 1);
    unit_dp.n_dumps = unit_dp.n_gets_by_name = unit_dp.n_gets_by_number = 0;
}

static void
ports_are_taken_anew_after_a_loss(void **state)
{
    struct vport_table *table = *state;
    struct vport_table_stats stats;

    start(table);
    unit_add(1, "a");
    unit_add(2, "b");
    assert_int_equal(unit_by_name(table, "b"), 0);
    unit_overrun(false);
    unit_del(1);
    unit_add(3, "c");
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 1), ENODEV);
    assert_int_equal(unit_by_number(table, 2), 0);
    assert_int_equal(unit_by_number(table, 3), 0);
    stats = get_stats(table);
    assert_int_equal(stats.vport_overruns, 1);
    assert_int_equal(stats.link_overruns, 0);
    assert_int_equal(stats.resyncs, 1);
    assert_int_equal(stats.asked[VPORT_ASK_LOSS], 1);
    assert_int_equal(unit_n_requests(), 1);

    /* Announcements are received again, and in doubt: they may be older than
     * the dump. */
    unit_add(4, "d");
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 4), 0);
    assert_int_equal(get_stats(table).asked[VPORT_ASK_ORDER], 1);
    assert_int_equal(unit_n_requests(), 2);
}

static void
names_are_taken_anew_after_a_loss(void **state)
{
    struct vport_table *table = *state;
    struct vport_table_stats stats;

    start(table);
    unit_add(1, "a");
    assert_int_equal(unit_by_name(table, "a"), 0);
    unit_overrun(true);
    unit_port_rename(1, "b");
    assert_int_equal(unit_announce_link(unit_dp.links, false, 101, "b"), 0);
    vport_table_expire(table);
    assert_int_equal(unit_by_name(table, "a"), ENODEV);
    stats = get_stats(table);
    assert_int_equal(stats.link_overruns, 1);
    assert_int_equal(stats.resyncs, 1);
    assert_int_equal(stats.renamed, 1);
}

static void
malformed_announcement_is_a_loss(void **state)
{
    char buf[64] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct vport_table *table = *state;
    struct nlmsghdr *nlh;
    struct unit_msg msg;

    start(table);
    unit_port_add(1, OVS_VPORT_TYPE_NETDEV, "a", 101);
    unit_msg_init(&msg, UNIT_VPORT_FAMILY, OVS_VPORT_CMD_NEW,
                  UNIT_DP_IFINDEX);
    assert_int_equal(unit_send_group(unit_dp.sender, UNIT_VPORT_GROUP,
                                     msg.buf, msg.len), 0);
    unit_msg_uninit(&msg);
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_int_equal(get_stats(table).malformed, 1);
    assert_int_equal(get_stats(table).resyncs, 1);

    /* Of a device: without a name. */
    unit_announce_link(unit_dp.links, false, 101, NULL);
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_int_equal(get_stats(table).malformed, 2);
    assert_int_equal(get_stats(table).resyncs, 2);

    /* Of a device that is no port's no more is read than the header. */
    unit_announce_link(unit_dp.links, false, 102, NULL);
    unit_announce_link(unit_dp.links, true, 102, NULL);
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_int_equal(get_stats(table).links, 3);
    assert_int_equal(get_stats(table).malformed, 2);
    assert_int_equal(get_stats(table).resyncs, 2);

    /* Of a namespace: without an id. */
    unit_announce_nsid_gone(unit_dp.links, NL_NSID_NONE);
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_int_equal(get_stats(table).malformed, 3);
    assert_int_equal(get_stats(table).resyncs, 3);

    /* Of a device: too short for the header. */
    nlh = mnl_nlmsg_put_header(buf);
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
    nlh->nlmsg_type = RTM_NEWLINK;
    assert_int_equal(unit_send_group(unit_dp.links, RTNLGRP_LINK, buf,
                                     nlh->nlmsg_len), 0);
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_int_equal(get_stats(table).links, 4);
    assert_int_equal(get_stats(table).malformed, 4);
    assert_int_equal(get_stats(table).resyncs, 4);
}

static void
truncated_announcement_is_a_loss(void **state)
{
    struct vport_table *table = *state;
    struct unit_msg msg;
    char *large = xzalloc(40000);

    start(table);
    unit_msg_init(&msg, UNIT_VPORT_FAMILY, OVS_VPORT_CMD_NEW,
                  UNIT_DP_IFINDEX);
    unit_msg_put(&msg, OVS_VPORT_ATTR_OPTIONS, large, 40000);
    assert_int_equal(unit_send_group(unit_dp.sender, UNIT_VPORT_GROUP,
                                     msg.buf, msg.len), 0);
    unit_msg_uninit(&msg);
    free(large);
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 0), 0);
    assert_int_equal(get_stats(table).malformed, 1);
    assert_int_equal(get_stats(table).resyncs, 1);
}

static void
change_during(void *aux OVS_UNUSED)
{
    /* One before and one behind what has been dumped. */
    unit_add(1, "a");
    unit_add(UNIT_VPORT_MAX - 1, "z");
}

static void
change_and_delete_during(void *aux)
{
    change_during(aux);
    unit_del(2);
    unit_del(UNIT_VPORT_MAX - 2);
}

static void
check_change_and_delete(struct vport_table *table)
{
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_int_equal(unit_by_number(table, 2), ENODEV);
    assert_int_equal(unit_by_number(table, UNIT_VPORT_MAX - 1), 0);
    assert_int_equal(unit_by_number(table, UNIT_VPORT_MAX - 2), ENODEV);
}

static void
changes_during_a_dump_are_not_missed(void **state)
{
    struct vport_table *table = *state;

    unit_port_add(2, OVS_VPORT_TYPE_NETDEV, "b", 102);
    unit_port_add(UNIT_VPORT_MAX - 2, OVS_VPORT_TYPE_NETDEV, "y", 99);
    unit_dp.during_dump = change_and_delete_during;
    assert_int_equal(unit_by_number(table, 0), 0);
    check_change_and_delete(table);

    /* The dump was repeated, which answers all that was announced by then. */
    assert_int_equal(get_stats(table).asked[VPORT_ASK_ORDER], 0);
    assert_int_equal(unit_n_requests(), 2);
    assert_int_equal(unit_dp.n_dumps, 2);
}

static void
ports_that_come_during_a_dump_are_asked_about(void **state)
{
    struct vport_table *table = *state;

    unit_dp.during_dump = change_during;
    assert_int_equal(unit_by_number(table, 0), 0);
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_int_equal(unit_by_number(table, UNIT_VPORT_MAX - 1), 0);
    assert_int_equal(get_stats(table).asked[VPORT_ASK_ORDER], 2);
    assert_int_equal(unit_dp.n_dumps, 1);
    assert_int_equal(unit_n_requests(), 3);
}

static void
delete_during(void *aux OVS_UNUSED)
{
    unit_del(2);
    unit_dp.hidden = UNIT_VPORT_MAX - 2;
}

/* The kernel resumes a dump in a bucket by the number of ports that it has
 * shown of it.  When one of these goes, it skips another one. */
static void
port_that_a_deletion_hid_from_a_dump_is_not_forgotten(void **state)
{
    struct vport_table *table = *state;
    uint32_t port_no;

    unit_port_add(2, OVS_VPORT_TYPE_NETDEV, "b", 102);
    unit_port_add(UNIT_VPORT_MAX - 2, OVS_VPORT_TYPE_NETDEV, "y", 99);

    /* At first, when nothing is known of it, and later. */
    for (int i = 0; i < 2; i++) {
        unit_dp.during_dump = delete_during;
        unit_dp.n_dumps = 0;
        vport_table_expire(table);
        assert_int_equal(unit_by_number(table, UNIT_VPORT_MAX - 2), 0);
        assert_int_equal(unit_by_number(table, 2), ENODEV);
        assert_true(in_sync(table));
        assert_int_equal(unit_dp.n_dumps, 2);
        while (vport_table_next_gone(table, &port_no)) {
            assert_int_not_equal(port_no, UNIT_VPORT_MAX - 2);
        }
        unit_clock_advance(VPORT_LATE_MS + 1);
        unit_add(2, "b");
        assert_int_equal(unit_by_number(table, 2), 0);
        unit_overrun(false);
    }
}

static void
delete_and_add(void *aux)
{
    unit_del(2);
    unit_add(2, "b");
    unit_dp.during_dump = aux ? delete_and_add : NULL;
}

static void
ports_that_go_all_the_time_leave_the_table_unsynced(void **state)
{
    struct vport_table *table = *state;

    unit_port_add(2, OVS_VPORT_TYPE_NETDEV, "b", 102);
    unit_dp.during_dump = delete_and_add;
    unit_dp.aux = table;
    assert_int_equal(unit_by_number(table, 2), 0);
    assert_int_equal(unit_dp.n_dumps, 3);
    assert_false(in_sync(table));

    unit_dp.aux = NULL;
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 2), 0);
    assert_true(in_sync(table));
}

static void
interrupted_dump_is_repeated(void **state)
{
    struct vport_table *table = *state;

    unit_dp.n_interrupted = 2;
    assert_int_equal(unit_by_number(table, 0), 0);
    assert_int_equal(unit_dp.n_dumps, 3);
    assert_true(in_sync(table));

    /* But not for ever. */
    unit_overrun(false);
    unit_dp.n_interrupted = 1000;
    unit_dp.n_dumps = 0;
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 0), 0);
    assert_int_equal(unit_dp.n_dumps, 3);
    assert_int_equal(unit_dp.n_gets_by_number, 1);
    assert_false(in_sync(table));
    unit_dp.n_interrupted = 0;
}

static void
kernel_is_asked_while_dumps_fail(void **state)
{
    struct vport_table *table = *state;
    struct ovs_vport *vports;
    size_t n;

    unit_port_add(1, OVS_VPORT_TYPE_NETDEV, "a", 101);
    unit_dp.dump_error = ENOMEM;
    for (int i = 1; i <= 3; i++) {
        vport_table_expire(table);
        assert_int_equal(unit_by_name(table, "a"), 0);
        assert_int_equal(unit_by_number(table, 1), 0);
        assert_int_equal(unit_by_name(table, "b"), ENODEV);
        assert_int_equal(unit_by_number(table, 2), ENODEV);

        /* A dump is tried once in a while. */
        assert_int_equal(unit_dp.n_dumps, i);
        assert_int_equal(get_stats(table).asked[VPORT_ASK_UNSYNCED], 4 * i);
    }
    assert_int_equal(vport_table_list(table, &vports, &n), ENOMEM);
    assert_null(vports);

    unit_dp.dump_error = 0;
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_true(in_sync(table));

    /* Errors of the kernel are passed on. */
    unit_dp.dump_error = unit_dp.get_error = EIO;
    unit_overrun(false);
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 1), EIO);
    assert_int_equal(unit_by_name(table, "a"), EIO);
}

static void
error_of_a_request_in_doubt_is_a_loss(void **state)
{
    struct vport_table *table = *state;
    struct ovs_vport vport;

    start(table);
    unit_add(1, "a");
    vport = unit_dp.ports[1].vport;
    assert_int_equal(unit_announce(&vport), 0);
    unit_dp.get_error = ENOMEM;
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_int_equal(get_stats(table).resyncs, 1);
    assert_int_equal(get_stats(table).asked[VPORT_ASK_ORDER], 1);
}

static void
datapath_that_is_gone_has_no_ports(void **state)
{
    struct vport_table *table = *state;
    struct vport_poller *poller = vport_poller_create(table);
    struct ovs_vport *vports;
    char *name;
    size_t n;

    start(table);
    unit_add(1, "a");
    assert_int_equal(unit_by_name(table, "a"), 0);
    assert_int_equal(vport_poller_next(poller, &name), ENOBUFS);
    unit_dp.dp_ifindex++;
    unit_announce_link(unit_dp.links, true, UNIT_DP_IFINDEX, "dp");
    vport_table_expire(table);
    assert_int_equal(unit_by_name(table, "a"), ENODEV);
    assert_int_equal(unit_by_number(table, 1), ENODEV);
    assert_int_equal(unit_by_number(table, 0), ENODEV);
    assert_int_equal(vport_table_list(table, &vports, &n), ENODEV);
    assert_false(in_sync(table));

    /* As from the kernel, nobody hears of that. */
    assert_int_equal(vport_poller_next(poller, &name), EAGAIN);

    /* Another one has its index. */
    unit_dp.dp_ifindex--;
    unit_port_del(1);
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 0), 0);
    assert_int_equal(unit_by_number(table, 1), ENODEV);
    assert_true(in_sync(table));
    assert_int_equal(vport_poller_next(poller, &name), ENOBUFS);
    vport_poller_destroy(poller);
}

static void
sockets_that_cannot_be_opened_are_opened_later(void **state)
{
    struct vport_table *table = *state;
    size_t n_fds = unit_count_fds();

    for (enum unit_call which = UNIT_CALL_SOCKET;
         which <= UNIT_CALL_SETSOCKOPT; which++) {
        for (unsigned int nth = 1; ; nth++) {
            struct vport_table *other = unit_vport_table();
            struct vport_poller *poller = vport_poller_create(other);
            struct ovs_vport *vports;
            char *name;
            int error;
            size_t n;

            unit_plan_failures(which, nth, 1, ENOMEM);
            error = vport_poller_next(poller, &name);
            unit_plan_none();
            if (!unit_n_failed()) {
                /* It made no such call. */
                assert_int_equal(error, ENOBUFS);
                vport_poller_destroy(poller);
                vport_table_destroy(other);
                break;
            }
            if (error != ENOBUFS) {
                assert_int_equal(error, ENOMEM);
                assert_int_equal(unit_count_fds(), n_fds);
            }
            assert_int_equal(vport_table_list(other, &vports, &n), 0);
            assert_int_equal(n, 1);
            free(vports);
            assert_int_equal(unit_count_fds(), n_fds + 3);
            assert_int_equal(vport_poller_next(poller, &name),
                             error == ENOBUFS ? EAGAIN : ENOBUFS);
            vport_poller_destroy(poller);
            vport_table_destroy(other);
            assert_int_equal(unit_count_fds(), n_fds);
        }
    }
    unit_plan_failures(UNIT_CALL_SOCKET, 1, 1, ENOMEM);
    assert_int_equal(unit_by_number(table, 0), 0);
    assert_int_equal(unit_n_failed(), 1);
}

static void
without_other_namespaces_their_ports_are_asked_for(void **state)
{
    struct vport_table *table = *state;
    struct vport_table_info info;

    /* The second option of a socket, after a membership, and memberships. */
    for (unsigned int nth = 1; ; nth++) {
        vport_table_destroy(table);
        table = unit_vport_table();
        unit_plan_failures(UNIT_CALL_MNL_SETSOCKOPT, nth, 1, ENOMEM);
        unit_by_number(table, 0);
        unit_plan_none();
        vport_table_get_info(table, &info);
        vport_table_info_uninit(&info);
        if (info.open && !info.all_namespaces) {
            break;
        }
        assert_true(nth < 10);
    }
    unit_port_add(1, OVS_VPORT_TYPE_INTERNAL, "a", 3);
    unit_dp.ports[1].vport.nsid = UNIT_NSID;
    assert_int_equal(unit_announce(&unit_dp.ports[1].vport), 0);
    vport_table_expire(table);
    assert_int_equal(unit_by_name(table, "a"), 0);
    assert_int_equal(unit_by_number(table, 1), 0);
    assert_int_equal(get_stats(table).asked[VPORT_ASK_NAMESPACE], 2);
    *state = table;
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(ports_are_taken_anew_after_a_loss),
        TEST(names_are_taken_anew_after_a_loss),
        TEST(malformed_announcement_is_a_loss),
        TEST(truncated_announcement_is_a_loss),
        TEST(changes_during_a_dump_are_not_missed),
        TEST(ports_that_come_during_a_dump_are_asked_about),
        TEST(port_that_a_deletion_hid_from_a_dump_is_not_forgotten),
        TEST(ports_that_go_all_the_time_leave_the_table_unsynced),
        TEST(interrupted_dump_is_repeated),
        TEST(kernel_is_asked_while_dumps_fail),
        TEST(error_of_a_request_in_doubt_is_a_loss),
        TEST(datapath_that_is_gone_has_no_ports),
        TEST(sockets_that_cannot_be_opened_are_opened_later),
        TEST(without_other_namespaces_their_ports_are_asked_for),
    };

    unit_init("test-vport-sync");
    return cmocka_run_group_tests_name("vport-sync", tests, NULL, NULL);
}
