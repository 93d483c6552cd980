/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/vport/vport-fixture.h"

#include "vport/vport-sync.h"
#include "vport/vport-table.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "odp-netlink.h"
#include "openvswitch/poll-loop.h"
#include "fake/vport-fake.h"
#include "harness/clock.h"
#include "harness/descriptors.h"
#include "util.h"

/* Questions, after which nothing is left of the answer. */

/* The time stands still, so that none passes but where a test says so. */
int
setup(void **state)
{
    unit_clock_stop(1);
    unit_datapath_init();
    *state = unit_vport_table();
    return 0;
}

int
teardown(void **state)
{
    vport_table_destroy(*state);
    unit_datapath_uninit();
    return 0;
}

int
by_number(struct vport_table *table, uint32_t port_no, const char *name)
{
    struct ovs_vport vport;
    int error = vport_table_get_by_number(table, port_no, &vport);

    if (!error) {
        assert_int_equal(vport.port_no, port_no);
        assert_string_equal(vport.name, name);
    }
    return error;
}

int
by_name(struct vport_table *table, const char *name, uint32_t port_no)
{
    struct ovs_vport vport;
    int error = vport_table_get_by_name(table, name, &vport);

    if (!error) {
        assert_int_equal(vport.port_no, port_no);
        assert_string_equal(vport.name, name);
    }
    return error;
}

void
check_port(struct vport_table *table, const char *name, uint32_t port_no)
{
    vport_table_expire(table);
    assert_int_equal(by_name(table, name, port_no), 0);
    assert_int_equal(by_number(table, port_no, name), 0);
}

size_t
count_ports(struct vport_table *table)
{
    struct ovs_vport *vports;
    size_t n;

    assert_int_equal(vport_table_list(table, &vports, &n), 0);
    for (size_t i = 1; i < n; i++) {
        assert_true(vports[i - 1].port_no < vports[i].port_no);
    }
    free(vports);
    return n;
}

uint64_t
asked(struct vport_table *table, enum vport_ask reason)
{
    struct vport_table_info info;
    uint64_t n;

    vport_table_get_info(table, &info);
    n = info.stats.asked[reason];
    vport_table_info_uninit(&info);
    return n;
}

void
start(struct vport_table *table)
{
    assert_true(count_ports(table) > 0);
    unit_clock_advance(VPORT_LATE_MS + 1);
    unit_dp.n_dumps = unit_dp.n_gets_by_name = unit_dp.n_gets_by_number = 0;
}

void
check_gone(struct vport_table *table, unsigned int n)
{
    uint32_t port_no;

    for (int i = 0; i < 3; i++) {
        vport_table_expire(table);
        assert_int_equal(by_number(table, 1, ""), ENODEV);
        assert_int_equal(by_name(table, "a", 1), ENODEV);
        assert_int_equal(by_name(table, "b", 1), ENODEV);
        assert_int_equal(count_ports(table), 1);
    }
    assert_in_range(unit_n_requests(), 0, n);
    assert_true(vport_table_next_gone(table, &port_no));
    assert_int_equal(port_no, 1);
    unit_add(1, "a");
    check_port(table, "a", 1);
    assert_int_equal(count_ports(table), 2);
}
