/* SPDX-License-Identifier: Apache-2.0 */

/* The port of tunnels that a previous run left stays until a tunnel claims it
 * (R1), with its number and its flows, or goes with them (R3).  The kernel and
 * the takeover of flows are made up. */

#include <config.h>
#include "dpif-netlink/takeover-ports.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "dpif-netlink-rtnl.h"
#include "dpif-netlink/datapath.h"
#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/ports.h"
#include "dpif-netlink/takeover.h"
#include "harness/unit.h"
#include "netdev-provider.h"
#include "netdev-vport.h"
#include "odp-util.h"

/* Number and device of the port. */
#define PORT_NO 7
#define IFINDEX 42
#define NAME "genev_sys_6081"

/* What the functions around this module say and are told.  All of them are
 * called by the thread of the test. */
static struct {
    const char *name;           /* Of the port. */
    uint32_t type;
    int query_error;
    int ifindex;                /* Of the device as the kernel has it now. */
    int create_error, del_error;
    int new_ifindex;            /* Of the device after it was compared. */
    bool taking_over;
    bool number_is_new;
    unsigned int n_compared, n_deleted;
    int former_ifindex;         /* Of the device of a port that was deleted. */
} world;

bool __wrap_takeover_refuses_flush(const struct kdp_datapath *);
bool
__wrap_takeover_refuses_flush(const struct kdp_datapath *dp OVS_UNUSED)
{
    return world.taking_over;
}

void __wrap_takeover_port_added(struct kdp_datapath *, uint32_t);
void
__wrap_takeover_port_added(struct kdp_datapath *dp OVS_UNUSED,
                           uint32_t port_no)
{
    assert_int_equal(port_no, PORT_NO);
    world.number_is_new = true;
}

void __wrap_takeover_port_stays(struct kdp_datapath *, uint32_t);
void
__wrap_takeover_port_stays(struct kdp_datapath *dp OVS_UNUSED,
                           uint32_t port_no)
{
    assert_int_equal(port_no, PORT_NO);
    world.number_is_new = false;
}

int __wrap_vport_table_get_by_number(struct vport_table *, uint32_t,
                                     struct ovs_vport *);
int
__wrap_vport_table_get_by_number(struct vport_table *table OVS_UNUSED,
                                 uint32_t port_no, struct ovs_vport *vport)
{
    *vport = (struct ovs_vport) {
        .port_no = port_no, .type = world.type, .ifindex = world.ifindex,
    };
    ovs_strlcpy(vport->name, world.name, sizeof vport->name);
    return world.query_error;
}

int __wrap_ports_del(struct kdp_datapath *, odp_port_t);
int
__wrap_ports_del(struct kdp_datapath *dp OVS_UNUSED, odp_port_t port_no)
{
    assert_int_equal(odp_to_u32(port_no), PORT_NO);
    world.n_deleted++;
    return world.del_error;
}

/* The names of the function until 3.6 and since. */
int __wrap_dpif_netlink_rtnl_port_create(struct netdev *);
int
__wrap_dpif_netlink_rtnl_port_create(struct netdev *netdev OVS_UNUSED)
{
    world.n_compared++;
    world.ifindex = world.new_ifindex;
    return world.create_error;
}

int __wrap_dpif_netlink_rtnl_tunnel_create(struct netdev *);
int
__wrap_dpif_netlink_rtnl_tunnel_create(struct netdev *netdev)
{
    return __wrap_dpif_netlink_rtnl_port_create(netdev);
}

unsigned int __real_if_nametoindex(const char *);
unsigned int __wrap_if_nametoindex(const char *);
unsigned int
__wrap_if_nametoindex(const char *name)
{
    return strcmp(name, NAME) ? __real_if_nametoindex(name) : world.ifindex;
}

void __wrap_kdp_flow_offload_ports_changed(struct kdp_datapath *);
void
__wrap_kdp_flow_offload_ports_changed(struct kdp_datapath *dp OVS_UNUSED)
{
}

void __wrap_kdp_flow_offload_was_port(struct kdp_datapath *, int ifindex);
void
__wrap_kdp_flow_offload_was_port(struct kdp_datapath *dp OVS_UNUSED,
                                 int ifindex)
{
    world.former_ifindex = ifindex;
}

struct fixture {
    struct kdp_datapath dp;
};

/* A tunnel, which nobody looks into. */
static struct netdev tunnel;

const char *__wrap_netdev_vport_get_dpif_port(const struct netdev *, char *,
                                              size_t);
const char *
__wrap_netdev_vport_get_dpif_port(const struct netdev *netdev,
                                  char namebuf[] OVS_UNUSED,
                                  size_t bufsize OVS_UNUSED)
{
    assert_ptr_equal(netdev, &tunnel);
    return NAME;
}

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    world = (typeof(world)) {
        .name = NAME, .type = OVS_VPORT_TYPE_NETDEV, .ifindex = IFINDEX,
        .new_ifindex = IFINDEX, .taking_over = true,
    };
    f->dp.name = "system@dp";
    takeover_ports_create(&f->dp);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    takeover_ports_destroy(&f->dp);
    free(f);
    return 0;
}

static bool
keep(struct fixture *f)
{
    return takeover_ports_keep(&f->dp, u32_to_odp(PORT_NO));
}

static bool
claim(struct fixture *f)
{
    odp_port_t port_no = ODPP_NONE;
    bool claimed = takeover_ports_claim(&f->dp, &tunnel, &port_no);

    assert_int_equal(odp_to_u32(port_no),
                     claimed ? PORT_NO : odp_to_u32(ODPP_NONE));
    return claimed;
}

static void
tunnel_gets_its_port_back(void **state)
{
    struct fixture *f = *state;

    assert_false(takeover_ports_hides(&f->dp, NAME));
    assert_true(keep(f));
    assert_true(takeover_ports_hides(&f->dp, NAME));
    assert_false(takeover_ports_hides(&f->dp, "genev_sys_6082"));
    assert_true(world.number_is_new);
    takeover_ports_run(&f->dp);

    assert_true(claim(f));
    assert_int_equal(world.n_compared, 1);
    assert_false(takeover_ports_hides(&f->dp, NAME));
    assert_false(world.number_is_new);

    /* It is a port like any other. */
    world.taking_over = false;
    takeover_ports_run(&f->dp);
    assert_int_equal(world.n_deleted, 0);
    assert_false(claim(f));
    assert_int_equal(world.n_compared, 1);
}

static void
port_that_nobody_claims_goes_when_the_takeover_is_over(void **state)
{
    struct fixture *f = *state;

    assert_true(keep(f));
    takeover_ports_run(&f->dp);
    assert_int_equal(world.n_deleted, 0);
    world.taking_over = false;
    takeover_ports_run(&f->dp);
    assert_int_equal(world.n_deleted, 1);
    assert_true(world.number_is_new);
    assert_false(takeover_ports_hides(&f->dp, NAME));

    /* One that the kernel does not delete is not tried again and again. */
    world.taking_over = true;
    world.del_error = EBUSY;
    assert_true(keep(f));
    world.taking_over = false;
    takeover_ports_run(&f->dp);
    takeover_ports_run(&f->dp);
    assert_int_equal(world.n_deleted, 2);
}

static void
only_tunnels_stay_and_only_at_a_start(void **state)
{
    struct fixture *f = *state;

    world.taking_over = false;
    assert_false(keep(f));
    world.taking_over = true;

    world.name = "vif1";
    assert_false(keep(f));
    world.name = NAME;
    world.type = OVS_VPORT_TYPE_GENEVE;
    assert_false(keep(f));
    world.type = OVS_VPORT_TYPE_NETDEV;
    world.ifindex = 0;
    assert_false(keep(f));
    world.ifindex = IFINDEX;
    world.query_error = ENODEV;
    assert_false(keep(f));
    world.query_error = 0;
    assert_false(world.number_is_new);
    assert_int_equal(world.former_ifindex, 0);
    assert_true(keep(f));
    assert_int_equal(world.former_ifindex, IFINDEX);
}

/* Where the device is another one, the port is deleted, and made again by the
 * caller. */
static void
tunnel_of_another_kind_gets_another_port(void **state)
{
    struct fixture *f = *state;
    odp_port_t port_no;

    assert_true(keep(f));
    world.new_ifindex = IFINDEX + 1;
    assert_false(claim(f));
    assert_int_equal(world.n_deleted, 1);
    assert_true(world.number_is_new);

    world.ifindex = world.new_ifindex = IFINDEX;
    assert_true(keep(f));
    world.create_error = EPERM;
    assert_false(claim(f));
    assert_int_equal(world.n_deleted, 2);
    assert_false(claim(f));
    assert_int_equal(world.n_deleted, 2);

    /* So it is if the bridge wants another number. */
    world.create_error = 0;
    assert_true(keep(f));
    port_no = u32_to_odp(PORT_NO + 1);
    assert_false(takeover_ports_claim(&f->dp, &tunnel, &port_no));
    assert_int_equal(odp_to_u32(port_no), PORT_NO + 1);
    assert_int_equal(world.n_deleted, 3);
}

static void
bridge_that_opens_the_datapath_anew_finds_the_port(void **state)
{
    struct fixture *f = *state;

    assert_true(keep(f));
    takeover_ports_forget(&f->dp);
    assert_false(takeover_ports_hides(&f->dp, NAME));
    assert_int_equal(world.n_deleted, 0);

    /* With the datapath it goes. */
    assert_true(keep(f));
    takeover_ports_delete(&f->dp);
    assert_int_equal(world.n_deleted, 1);
    assert_true(keep(f));
}

/* In a handover the other process may delete the port, and give its number to
 * another one. */
static void
number_of_another_port_is_left_alone(void **state)
{
    struct fixture *f = *state;

    kdp_datapath_set_shadow(true);
    assert_true(keep(f));
    world.name = "vif1";
    world.ifindex = IFINDEX + 1;
    assert_false(claim(f));
    assert_false(takeover_ports_hides(&f->dp, NAME));

    world.name = NAME;
    assert_true(keep(f));
    world.name = "vif1";
    kdp_datapath_set_shadow(false);
    world.taking_over = false;
    takeover_ports_run(&f->dp);
    assert_int_equal(world.n_deleted, 0);
    assert_false(takeover_ports_hides(&f->dp, NAME));

    /* The old process has created the device again. */
    world.name = NAME;
    world.taking_over = true;
    assert_true(keep(f));
    world.ifindex++;
    assert_false(claim(f));

    /* The number is free. */
    assert_true(keep(f));
    world.query_error = ENODEV;
    assert_false(claim(f));
    assert_int_equal(world.n_compared, 0);
    assert_int_equal(world.n_deleted, 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(tunnel_gets_its_port_back),
        TEST(port_that_nobody_claims_goes_when_the_takeover_is_over),
        TEST(only_tunnels_stay_and_only_at_a_start),
        TEST(tunnel_of_another_kind_gets_another_port),
        TEST(bridge_that_opens_the_datapath_anew_finds_the_port),
        TEST(number_of_another_port_is_left_alone),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
