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
    unit_found(&f.findings, 1, "sockets-shared", "2 of 10 ports");
}

static void
scarce_descriptors_are_told_before_ports_share(void **state OVS_UNUSED)
{
    f.limits.max_channels = 13;
    diagnose();
    unit_found(&f.findings, 1, "descriptors-scarce", "room for 13");
}

static void
small_buffers_are_told(void **state OVS_UNUSED)
{
    f.info.buffer_size = 2 * UPCALL_RCVBUF_MIN;
    diagnose();
    unit_found(&f.findings, 1, "buffers-small", "buffers of 128 kB");
}

static void
clamped_buffers_are_told(void **state OVS_UNUSED)
{
    f.limits.n_clamped = 3;
    diagnose();
    unit_found(&f.findings, 1, "buffers-clamped", "3 sockets");
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
    unit_found(&f.findings, 1, "messages-refused", "9 messages");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(nothing_is_found_where_all_is_well),
        TEST(ports_that_lost_upcalls_are_named_the_worst_first),
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
