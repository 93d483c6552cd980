/* SPDX-License-Identifier: Apache-2.0 */

/* What devices ask about datapaths is answered for all datapaths together. */

#include <config.h>
#include "dpif-netlink/flow-api.h"

#include <errno.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/datapaths.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/show.h"
#include "harness/unit.h"
#include "netdev-linux/upcall-counters.h"
#include "netdev-provider.h"
#include "odp-netlink.h"
#include "tc/tc-prepare.h"
#include "util.h"

#define N_DATAPATHS 3

/* A datapath, which has at most one port. */
struct datapath {
    struct kdp_datapath dp;
    struct dpif inner;
    struct kdp_flow_engine engine;
    const char *port;
    bool has_upcalls;           /* The port's upcalls are received. */
    bool keeps_old;
    uint64_t n_rules;
};

static struct datapath datapaths[N_DATAPATHS];

/* What was registered. */
static const struct kdp_tc_datapaths *api;
static netdev_kdp_upcalls_cb *get_upcalls;

void __wrap_kdp_tc_prepare_register(const char *type,
                                    const struct kdp_tc_datapaths *);
void
__wrap_kdp_tc_prepare_register(const char *type,
                               const struct kdp_tc_datapaths *api_)
{
    assert_ptr_equal(type, kdp_dpif_type);
    api = api_;
}

void __wrap_netdev_kdp_upcalls_set_source(netdev_kdp_upcalls_cb *);
void
__wrap_netdev_kdp_upcalls_set_source(netdev_kdp_upcalls_cb *cb)
{
    get_upcalls = cb;
}

void __wrap_kdp_datapaths_for_each(void (*)(struct kdp_datapath *, void *),
                                   void *);
void
__wrap_kdp_datapaths_for_each(void (*cb)(struct kdp_datapath *, void *),
                              void *aux)
{
    for (size_t i = 0; i < N_DATAPATHS; i++) {
        cb(&datapaths[i].dp, aux);
    }
}

bool __wrap_kdp_flow_offload_keeps_old(const struct kdp_datapath *);
bool
__wrap_kdp_flow_offload_keeps_old(const struct kdp_datapath *dp)
{
    return CONTAINER_OF(dp, struct datapath, dp)->keeps_old;
}

/* All rules are on device 7. */
uint64_t __wrap_kdp_tc_count(struct kdp_tc *, int ifindex);
uint64_t
__wrap_kdp_tc_count(struct kdp_tc *tc, int ifindex)
{
    return (ifindex == 7
            ? CONTAINER_OF(tc, struct datapath, engine.tc)->n_rules : 0);
}

/* The statistics of an engine are the number of its datapath. */
static int stats_error;

int __wrap_show_offload_stats(struct kdp_flow_engine *,
                              struct netdev_custom_stats *);
int
__wrap_show_offload_stats(struct kdp_flow_engine *engine,
                          struct netdev_custom_stats *stats)
{
    if (!stats_error) {
        stats->size = CONTAINER_OF(engine, struct datapath, engine)
                      - datapaths;
    }
    return stats_error;
}

/* A datapath is its own table of ports. */
int __wrap_vport_table_get_by_name(struct vport_table *, const char *name,
                                   struct ovs_vport *);
int
__wrap_vport_table_get_by_name(struct vport_table *vports, const char *name,
                               struct ovs_vport *vport)
{
    struct datapath *datapath = (struct datapath *) vports;

    if (!datapath->port || strcmp(datapath->port, name)) {
        return ENODEV;
    }
    memset(vport, 0, sizeof *vport);
    vport->port_no = 10 + (datapath - datapaths);
    return 0;
}

bool __wrap_upcall_table_get_stats(const struct upcall_table *,
                                   uint32_t port_no,
                                   struct upcall_channel_stats *);
bool
__wrap_upcall_table_get_stats(const struct upcall_table *upcalls,
                              uint32_t port_no,
                              struct upcall_channel_stats *stats)
{
    const struct datapath *datapath = (const struct datapath *) upcalls;

    assert_int_equal(port_no, 10 + (datapath - datapaths));
    *stats = (struct upcall_channel_stats) {
        .received = 1000 * port_no, .malformed = 1, .overruns = 2,
        .errors = 3, .lost = port_no, .lost_limited = 4, .shed = 5,
    };
    return datapath->has_upcalls;
}

static int
setup(void **state OVS_UNUSED)
{
    static const char *const names[N_DATAPATHS][2] = {
        { "system@a", "a" }, { "system@b", "b" }, { "system@c", "c" },
    };

    memset(datapaths, 0, sizeof datapaths);
    stats_error = 0;
    for (size_t i = 0; i < N_DATAPATHS; i++) {
        struct datapath *datapath = &datapaths[i];

        datapath->inner.base_name = CONST_CAST(char *, names[i][1]);
        datapath->dp.name = CONST_CAST(char *, names[i][0]);
        datapath->dp.inner = &datapath->inner;
        datapath->dp.vports = (struct vport_table *) datapath;
        datapath->dp.upcalls = (struct upcall_table *) datapath;
        ovs_mutex_init(&datapath->dp.mutex);
        atomic_init(&datapath->dp.engine, NULL);
    }
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < N_DATAPATHS; i++) {
        ovs_mutex_destroy(&datapaths[i].dp.mutex);
    }
    return 0;
}

static void
start_offload(size_t i)
{
    kdp_flow_engine_set(&datapaths[i].dp, &datapaths[i].engine);
}

/* The local ports that were looked at, and the one that is looked for. */
static char seen[N_DATAPATHS + 1];
static const char *wanted;

static bool
look_at(const char *name)
{
    strcat(seen, name);
    return wanted && !strcmp(name, wanted);
}

static void
local_ports_are_searched_until_one_is_found(void **state OVS_UNUSED)
{
    static const struct {
        const char *wanted, *seen;
    } tests[] = {
        { "a", "a" }, { "b", "ab" }, { "c", "abc" }, { NULL, "abc" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        seen[0] = '\0';
        wanted = tests[i].wanted;
        assert_int_equal(api->for_each_local_port(look_at), wanted != NULL);
        assert_string_equal(seen, tests[i].seen);
    }
}

static void
one_datapath_that_shares_chains_is_enough(void **state OVS_UNUSED)
{
    assert_false(api->shares_chains());
    for (size_t i = 0; i < N_DATAPATHS; i++) {
        struct kdp_datapath *dp = &datapaths[i].dp;

        ovs_mutex_lock(&dp->mutex);
        dp->user_features = OVS_DP_F_TC_RECIRC_SHARING | OVS_DP_F_UNALIGNED;
        ovs_mutex_unlock(&dp->mutex);
        assert_true(api->shares_chains());
        ovs_mutex_lock(&dp->mutex);
        dp->user_features = ~OVS_DP_F_TC_RECIRC_SHARING;
        ovs_mutex_unlock(&dp->mutex);
        assert_false(api->shares_chains());
    }
}

static void
one_datapath_that_keeps_chains_is_enough(void **state OVS_UNUSED)
{
    assert_false(api->keeps_chains());
    for (size_t i = 0; i < N_DATAPATHS; i++) {
        datapaths[i].keeps_old = true;
        assert_true(api->keeps_chains());
        datapaths[i].keeps_old = false;
        assert_false(api->keeps_chains());
    }
}

static void
rules_of_all_datapaths_are_counted(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < N_DATAPATHS; i++) {
        datapaths[i].n_rules = i + 1;
    }
    assert_int_equal(api->count_rules(7), 0);   /* None has an engine. */
    start_offload(0);
    assert_int_equal(api->count_rules(7), 1);
    start_offload(2);
    assert_int_equal(api->count_rules(7), 4);
    start_offload(1);
    assert_int_equal(api->count_rules(7), 6);
    assert_int_equal(api->count_rules(8), 0);
}

static void
statistics_are_those_of_the_datapath_of_that_name(void **state OVS_UNUSED)
{
    struct netdev_custom_stats stats = { .size = 77 };

    assert_int_equal(api->get_stats("system@b", &stats), EOPNOTSUPP);
    start_offload(0);
    start_offload(2);
    assert_int_equal(api->get_stats("system@b", &stats), EOPNOTSUPP);
    assert_int_equal(api->get_stats("system@d", &stats), EOPNOTSUPP);
    assert_int_equal(api->get_stats("c", &stats), EOPNOTSUPP);
    assert_int_equal(stats.size, 77);
    assert_int_equal(api->get_stats("system@c", &stats), 0);
    assert_int_equal(stats.size, 2);
    assert_int_equal(api->get_stats("system@a", &stats), 0);
    assert_int_equal(stats.size, 0);
    stats_error = ENOMEM;
    assert_int_equal(api->get_stats("system@c", &stats), ENOMEM);

    /* The name may be that of an earlier datapath, too. */
    stats_error = 0;
    datapaths[1].dp.name = CONST_CAST(char *, "system@a");
    start_offload(1);
    assert_int_equal(api->get_stats("system@a", &stats), 0);
    assert_int_equal(stats.size, 0);
}

static void
upcalls_of_a_port_are_found_by_its_name(void **state OVS_UNUSED)
{
    struct netdev_kdp_upcalls upcalls = { 1, 2, 3 };

    assert_false(get_upcalls("eth0", &upcalls));
    datapaths[1].port = "eth1";
    assert_false(get_upcalls("eth1", &upcalls));        /* Without channel. */
    assert_int_equal(upcalls.packets, 1);
    assert_int_equal(upcalls.errors, 2);
    assert_int_equal(upcalls.shed, 3);

    /* What was thrown away came up, too. */
    datapaths[1].has_upcalls = true;
    assert_false(get_upcalls("eth0", &upcalls));
    assert_true(get_upcalls("eth1", &upcalls));
    assert_int_equal(upcalls.packets, 11005);
    assert_int_equal(upcalls.errors, 11);
    assert_int_equal(upcalls.shed, 5);

    /* The first one that has it. */
    datapaths[2].port = "eth1";
    datapaths[2].has_upcalls = true;
    assert_true(get_upcalls("eth1", &upcalls));
    assert_int_equal(upcalls.errors, 11);
    datapaths[1].has_upcalls = false;
    assert_true(get_upcalls("eth1", &upcalls));
    assert_int_equal(upcalls.packets, 12005);
    assert_int_equal(upcalls.errors, 12);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(local_ports_are_searched_until_one_is_found),
        TEST(one_datapath_that_shares_chains_is_enough),
        TEST(one_datapath_that_keeps_chains_is_enough),
        TEST(rules_of_all_datapaths_are_counted),
        TEST(statistics_are_those_of_the_datapath_of_that_name),
        TEST(upcalls_of_a_port_are_found_by_its_name),
    };

    unit_init(argv[0]);
    kdp_flow_api_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
