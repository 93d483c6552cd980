/* SPDX-License-Identifier: Apache-2.0 */

/* U5: losses are visible.  Each finding about upcalls, from a snapshot that
 * shows it. */

#include <config.h>
#include "upcall/upcall-diagnose.h"

#include <errno.h>

#include <endian.h>
#include <stdlib.h>

#include "harness/found.h"
#include "harness/unit.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-rcvbuf.h"
#include "util.h"

#define N_PORTS 10

struct fixture {
    struct upcall_port_info ports[N_PORTS];
    struct upcall_table_info info;
    struct upcall_limits limits;
    struct findings findings;
};

static struct fixture f;

static int
setup(void **state OVS_UNUSED)
{
    static const char *const names[] = { "a", "b", "c", "d", "e",
                                         "f", "g", "h", "i", "j" };

    f = (struct fixture) {
        .info = { .name = "dp", .engine = "epoll", .n_sockets = N_PORTS + 2,
                  .buffer_size = 2 * UPCALL_RCVBUF_MAX,
                  .buffer_max = UPCALL_BUFFER_MAX,
                  .n_ports = N_PORTS, .ports = f.ports },
        .limits = { .max_channels = 1000 },
    };
    for (size_t i = 0; i < N_PORTS; i++) {
        f.ports[i] = (struct upcall_port_info) {
            .port_no = i, .name = names[i], .has_channel = true,
        };
    }
    findings_init(&f.findings);
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    unit_found_nothing(&f.findings);
    findings_uninit(&f.findings);
    return 0;
}

static void
diagnose(void)
{
    upcall_diagnose(&f.info, &f.limits, &f.findings);
}

static void
nothing_is_found_where_all_is_well(void **state OVS_UNUSED)
{
    diagnose();
    unit_found_nothing(&f.findings);
    f.limits.max_channels = SIZE_MAX;
    f.info.buffer_size = 0;
    diagnose();
}

static void
ports_that_lost_upcalls_are_named_the_worst_first(void **state OVS_UNUSED)
{
    f.ports[3].stats.lost = 5;
    f.ports[7].stats.lost = 500;
    f.ports[7].stats.received = 77;
    diagnose();
    unit_found(&f.findings, 2, "upcalls-lost",
               "dp: port h: 500 upcalls lost, 77 received");
}

/* With fewer queues than handlers, more handlers do not help. */
static void
ports_that_not_all_handlers_can_serve_are_told_apart(void **state OVS_UNUSED)
{
    f.info.n_handlers = 3;
    for (size_t i = 0; i < 3; i++) {
        f.ports[i].n_queues = 2 + i;
        f.ports[i].stats.lost = 9 - i;
    }
    diagnose();
    assert_int_equal(f.findings.n, 3);
    assert_string_equal(f.findings.array[0].what,
                        "dp: port a: 9 upcalls lost, 0 received; not all "
                        "handlers can work for it at a time");
    assert_string_equal(f.findings.array[1].what,
                        "dp: port b: 8 upcalls lost, 0 received");
    assert_string_equal(f.findings.array[2].what,
                        "dp: port c: 7 upcalls lost, 0 received");
    findings_uninit(&f.findings);
    findings_init(&f.findings);
}

/* Five are named. */
static void
fifth_port_is_the_last_one_named(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < 6; i++) {
        f.ports[i].stats.shed = 10 + i;
        if (i == 4) {
            diagnose();
            assert_string_equal(f.findings.array[4].what,
                                "dp: port a: 10 upcalls shed, 0 received");
            unit_found(&f.findings, 5, "upcalls-shed", "port e: 14 ");
        }
    }
    diagnose();
    assert_string_equal(f.findings.array[4].what,
                        "dp: port b: 11 upcalls shed, 0 received");
    assert_string_equal(f.findings.array[5].what,
                        "dp: 1 more ports: 10 upcalls shed");
    unit_found(&f.findings, 6, "upcalls-shed", "port f: 15 ");
}

static void
many_ports_that_lost_upcalls_are_summed_up(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < N_PORTS; i++) {
        f.ports[i].stats.lost = 1 + i;
    }
    diagnose();
    assert_int_equal(f.findings.n, 6);
    assert_string_equal(f.findings.array[5].what,
                        "dp: 5 more ports: 15 upcalls lost");
    unit_found(&f.findings, 6, "upcalls-lost", "port j: 10 ");
}

static void
ports_that_shed_upcalls_are_named_the_worst_first(void **state OVS_UNUSED)
{
    f.ports[2].stats.shed = 8;
    f.ports[5].stats.shed = 40;
    f.ports[5].stats.received = 66;
    diagnose();
    unit_found(&f.findings, 2, "upcalls-shed",
               "dp: port f: 40 upcalls shed, 66 received");
}

static void
what_was_lost_and_what_was_shed_are_told_apart(void **state OVS_UNUSED)
{
    f.ports[2].stats.lost = 1;
    f.ports[2].stats.shed = 8;
    diagnose();
    assert_int_equal(f.findings.n, 2);
    assert_string_equal(f.findings.array[0].what,
                        "dp: port c: 1 upcalls lost, 0 received");
    assert_string_equal(f.findings.array[1].what,
                        "dp: port c: 8 upcalls shed, 0 received");
    findings_uninit(&f.findings);
    findings_init(&f.findings);
}

static void
remotes_that_are_shed_are_named_the_worst_first(void **state OVS_UNUSED)
{
    struct upcall_sender_info senders[7] = { { .rate = 5, .shed = 9 } };

    f.ports[4].senders = senders;
    f.ports[4].n_senders = 1;
    diagnose();
    unit_found_nothing(&f.findings);

    for (int i = 0; i < 2; i++) {
        senders[i] = (struct upcall_sender_info) {
            .key = { .source = { [10] = 0xff, 0xff, 10, 0, 0, i },
                     .id = htobe64(70 + i) },
            .rate = 100 + i, .shed_rate = 50 + i,
        };
    }
    f.ports[4].n_senders = 2;
    diagnose();
    unit_found(&f.findings, 2, "sender-shed", "dp: port e: remote 10.0.0.1, "
               "VNI 71: 101 upcalls a second, 51 of them shed");

    for (int i = 2; i < 7; i++) {
        senders[i] = senders[0];
    }
    f.ports[4].n_senders = 5;
    diagnose();
    unit_found(&f.findings, 5, "sender-shed", "10.0.0.1");
    f.ports[4].n_senders = 6;
    diagnose();
    assert_string_equal(f.findings.array[5].what, "dp: 1 more remotes");
    unit_found(&f.findings, 6, "sender-shed", "10.0.0.1");
    f.ports[4].n_senders = 7;
    diagnose();
    assert_int_equal(f.findings.n, 6);
    assert_string_equal(f.findings.array[5].what, "dp: 2 more remotes");
    unit_found(&f.findings, 6, "sender-shed", "10.0.0.1");

    f.ports[4].senders_are_ports = true;
    diagnose();
    unit_found_nothing(&f.findings);
    f.ports[4].senders_are_ports = false;
}

static void
ports_that_share_a_socket_are_counted(void **state OVS_UNUSED)
{
    f.ports[1].shared = f.ports[2].shared = true;
    f.ports[9].shared = true;
    f.ports[9].port_no = UPCALL_PORT_NONE;
    diagnose();

    /* That descriptors are scarce is the reason. */
    f.limits.max_channels = 12;
    diagnose();
    assert_int_equal(f.findings.n, 2);
    assert_string_equal(f.findings.array[0].what, f.findings.array[1].what);
    unit_found(&f.findings, 2, "sockets-shared",
               "dp: 2 of 10 ports share a socket");
}

static void
scarce_descriptors_are_told_before_ports_share(void **state OVS_UNUSED)
{
    f.limits.max_channels = 13;
    diagnose();
    unit_found(&f.findings, 1, "descriptors-scarce", "dp: 12 sockets for "
               "upcalls, and room for 13");

    /* Nine tenths. */
    f.limits.max_channels = 200;
    f.info.n_sockets = 180;
    diagnose();
    unit_found_nothing(&f.findings);
    f.info.n_sockets = 181;
    diagnose();
    unit_found(&f.findings, 1, "descriptors-scarce", "dp: 181 sockets");
}

static void
small_buffers_are_told(void **state OVS_UNUSED)
{
    f.info.buffer_size = 2 * UPCALL_RCVBUF_MIN;
    diagnose();
    unit_found(&f.findings, 1, "buffers-small", "dp: receive buffers of 128 "
               "kB for each port rather than 2048, to stay within 1024 MB");
    f.info.buffer_size = 2 * UPCALL_RCVBUF_MAX - 1;
    diagnose();
    unit_found(&f.findings, 1, "buffers-small", "of 2047 kB");
}

static void
clamped_buffers_are_told(void **state OVS_UNUSED)
{
    f.limits.n_clamped = 3;
    diagnose();
    unit_found(&f.findings, 1, "buffers-clamped", "dp: 3 sockets got a "
               "smaller receive buffer than was asked for");
}

static void
sockets_that_go_with_the_process_are_told(void **state OVS_UNUSED)
{
    f.limits.store = (struct upcall_store_info) {
        .exists = true, .n_kept = 5, .n_missing = 2, .error = ENOSPC
    };
    diagnose();
    unit_found(&f.findings, 1, "sockets-not-kept", "2 sockets for upcalls "
               "cannot be kept for the next start (No space left on device), "
               "5 are");
}

static void
messages_of_others_are_told(void **state OVS_UNUSED)
{
    f.info.refused = 9;
    diagnose();
    unit_found(&f.findings, 1, "messages-refused",
               "dp: 9 messages of other processes");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(nothing_is_found_where_all_is_well),
        TEST(ports_that_lost_upcalls_are_named_the_worst_first),
        TEST(ports_that_not_all_handlers_can_serve_are_told_apart),
        TEST(fifth_port_is_the_last_one_named),
        TEST(many_ports_that_lost_upcalls_are_summed_up),
        TEST(ports_that_shed_upcalls_are_named_the_worst_first),
        TEST(what_was_lost_and_what_was_shed_are_told_apart),
        TEST(remotes_that_are_shed_are_named_the_worst_first),
        TEST(ports_that_share_a_socket_are_counted),
        TEST(scarce_descriptors_are_told_before_ports_share),
        TEST(small_buffers_are_told),
        TEST(clamped_buffers_are_told),
        TEST(sockets_that_go_with_the_process_are_told),
        TEST(messages_of_others_are_told),
    };

    unit_init("test-upcall-diagnose");
    return cmocka_run_group_tests_name("upcall-diagnose", tests, NULL, NULL);
}
