/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant U6: random histories of a datapath, whose announcements are late,
 * change places with others, or are lost: when all of them have come, the
 * table has what the kernel has, and who polls has been told of all that has
 * changed.
 *
 * The seed is printed; KDP_SEED sets it. */

#include <config.h>
#include "vport/vport-table.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/prng.h"
#include "odp-netlink.h"
#include "sset.h"
#include "fake/vport-fake.h"
#include "util.h"

#define N_PORTS 12              /* Numbers, besides that of the local port. */
#define N_NAMES 16
#define N_HISTORIES 60
#define N_STEPS 300

static bool renames;            /* Devices are renamed. */

/* Announcements of ports that are yet to come.  Those of one process come in
 * order, so two that change places are of different ones. */
static struct ovs_vport late[8];
static size_t n_late;

static void
deliver(size_t i)
{
    assert_int_equal(unit_announce(&late[i]), 0);
    memmove(&late[i], &late[i + 1], (--n_late - i) * sizeof *late);
}

static void
announce(const struct ovs_vport *vport)
{
    late[n_late++] = *vport;
    if (n_late == ARRAY_SIZE(late) || unit_random(3)) {
        /* Most come at once; of those that wait, any may be next. */
        while (n_late > unit_random(3)) {
            deliver(unit_random(n_late));
        }
    }
}

static const char *
name_of(uint32_t i)
{
    static char name[IFNAMSIZ];

    snprintf(name, sizeof name, "p%"PRIu32, i);
    return name;
}

static bool
name_is_used(const char *name)
{
    for (uint32_t i = 0; i <= N_PORTS; i++) {
        const struct ovs_vport *vport = &unit_dp.ports[i].vport;

        if (vport->dp_ifindex && !strcmp(vport->name, name)) {
            return true;
        }
    }
    return false;
}

/* Each device has an index of its own, as in the kernel, which counts them up:
 * a late announcement of one that is gone is never about one that is there. */
static int last_ifindex;

static void
step(struct vport_table *table)
{
    uint32_t port_no = 1 + unit_random(N_PORTS);
    uint32_t i = unit_random(N_NAMES);
    struct ovs_vport *kernel = &unit_dp.ports[port_no].vport;
    struct ovs_vport vport;

    if (!kernel->dp_ifindex) {
        if (!name_is_used(name_of(i))) {
            vport = unit_port_add(port_no, (unit_random(2)
                                            ? OVS_VPORT_TYPE_NETDEV
                                            : OVS_VPORT_TYPE_INTERNAL),
                                  name_of(i), ++last_ifindex);
            announce(&vport);
        }
        return;
    }
    switch (unit_random(6)) {
    case 0:
    case 1:
        vport = unit_port_del(port_no);
        announce(&vport);
        break;
    case 2:
        vport = unit_port_set(port_no, unit_random(1000));
        announce(&vport);
        break;
    case 3:
        if (renames && !name_is_used(name_of(i))) {
            unit_port_rename(port_no, name_of(i));
            unit_announce_link(kernel->nsid == UNIT_NSID
                               ? unit_dp.other_links : unit_dp.links,
                               false, kernel->ifindex, kernel->name);
        }
        break;
    case 4:
        if (kernel->type == OVS_VPORT_TYPE_INTERNAL) {
            bool there = kernel->nsid == UNIT_NSID;

            kernel->nsid = there ? OVS_VPORT_LOCAL : UNIT_NSID;
            unit_announce_link(there ? unit_dp.other_links : unit_dp.links,
                               true, kernel->ifindex, kernel->name);
            unit_announce_link(there ? unit_dp.links : unit_dp.other_links,
                               false, kernel->ifindex, kernel->name);
        }
        break;
    case 5:
        vport_table_expire(table);
        vport_table_get_by_number(table, port_no, &vport);
        break;
    }
}

/* Checks that the table has what the kernel has. */
static void
check_equal(struct vport_table *table)
{
    struct ovs_vport vport;

    vport_table_expire(table);
    for (uint32_t i = 0; i <= N_PORTS; i++) {
        const struct unit_vport *port = &unit_dp.ports[i];
        const struct ovs_vport *kernel = &port->vport;
        int error = vport_table_get_by_number(table, i, &vport);

        if (!kernel->dp_ifindex) {
            assert_int_equal(error, ENODEV);
            continue;
        }
        assert_int_equal(error, 0);
        assert_string_equal(vport.name, kernel->name);
        assert_int_equal(vport.ifindex, kernel->ifindex);
        assert_int_equal(vport.nsid, kernel->nsid);
        assert_int_equal(vport.type, kernel->type);

        error = vport_table_get_by_name(table, kernel->name, &vport);
        if (strcmp(port->made_name, kernel->name)) {
            assert_int_equal(error, ENODEV);
        } else {
            assert_int_equal(error, 0);
            assert_int_equal(vport.port_no, i);
        }
    }
    for (uint32_t i = 0; i < N_NAMES; i++) {
        if (!name_is_used(name_of(i))) {
            assert_int_equal(vport_table_get_by_name(table, name_of(i),
                                                     &vport), ENODEV);
        }
    }
}

/* What Open vSwitch believes, which asks again about a name when it is told of
 * it, and about all when it is told that any may have changed. */
struct believer {
    struct vport_poller *poller;
    uint32_t port_nos[N_NAMES];     /* UINT32_MAX if there is none. */
};

static void
believe(struct believer *believer, struct vport_table *table)
{
    char *name = NULL;
    int error;

    vport_table_expire(table);
    while ((error = vport_poller_next(believer->poller, &name)) != EAGAIN) {
        assert_true(!error || error == ENOBUFS);
        for (uint32_t i = 0; i < N_NAMES; i++) {
            struct ovs_vport vport;

            if (error || !strcmp(name, name_of(i))) {
                bool found = !vport_table_get_by_name(table, name_of(i),
                                                      &vport);

                believer->port_nos[i] = found ? vport.port_no : UINT32_MAX;
            }
        }
        free(name);
        name = NULL;
    }
}

static void
check_belief(const struct believer *believer)
{
    for (uint32_t i = 0; i < N_NAMES; i++) {
        uint32_t port_no = UINT32_MAX;

        for (uint32_t j = 1; j <= N_PORTS; j++) {
            const struct ovs_vport *vport = &unit_dp.ports[j].vport;

            if (vport->dp_ifindex && !strcmp(vport->name, name_of(i))) {
                port_no = j;
            }
        }
        assert_int_equal(believer->port_nos[i], port_no);
    }
}

static void
run_history(bool loses)
{
    struct believer believer;
    struct vport_table *table;

    unit_datapath_init();
    table = unit_vport_table();
    believer.poller = vport_poller_create(table);
    n_late = 0;
    last_ifindex = 100;
    for (int i = 0; i < N_STEPS; i++) {
        step(table);
        if (loses && i == N_STEPS / 2) {
            unit_overrun(false);
        }
        if (!unit_random(20)) {
            believe(&believer, table);
        }
    }
    while (n_late) {
        deliver(unit_random(n_late));
    }
    believe(&believer, table);
    if (!renames) {
        /* Of a name that a device got, nobody is told. */
        check_belief(&believer);
    }
    check_equal(table);
    check_equal(table);
    vport_poller_destroy(believer.poller);
    vport_table_destroy(table);
    unit_datapath_uninit();
}

static void
table_is_right_in_the_end(void **state OVS_UNUSED)
{
    renames = true;
    for (int i = 0; i < N_HISTORIES; i++) {
        run_history(i % 4 == 3);
    }
}

static void
poller_has_been_told_of_all_in_the_end(void **state OVS_UNUSED)
{
    renames = false;
    for (int i = 0; i < N_HISTORIES; i++) {
        run_history(i % 4 == 3);
    }
}

#define TEST(NAME) cmocka_unit_test(NAME)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(table_is_right_in_the_end),
        TEST(poller_has_been_told_of_all_in_the_end),
    };

    unit_init("test-vport-random");

    /* No announcement is too late. */
    unit_clock_stop(1);
    return cmocka_run_group_tests_name("vport-random", tests, NULL, NULL);
}
