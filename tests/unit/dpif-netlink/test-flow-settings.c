/* SPDX-License-Identifier: Apache-2.0 */

/* Life cycle, settings and ports of a datapath's offload (O3: chains; O5:
 * ports that go, offload that is turned off; L7: members of bonds). */

#include <config.h>
#include "fake/dpif-fake.h"

#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/show.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "netdev-provider.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openflow/openflow-1.3.h"
#include "offload/offload-info.h"
#include "openvswitch/netdev.h"
#include "openvswitch/poll-loop.h"
#include "ovs/compat-offload.h"
#include "smap.h"
#include "tc/tc-orphans.h"
#include "timeval.h"
#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "util.h"

#define N_PORTS 3

/* Looking up port 2 fails with that, unless it is 0. */
static int lookup_error;

/* What the engine was told last. */
static struct offload_config told;

/* What it was given, and what Open vSwitch counts when there are more flows
 * than its limit. */
static struct offload_kernel kernel_given;
COVERAGE_DEFINE(upcall_flow_limit_hit);

struct offload *__wrap_offload_create(const struct offload_kernel *,
                                      const struct offload_backend *,
                                      const struct offload_config *);
struct offload *__real_offload_create(const struct offload_kernel *,
                                      const struct offload_backend *,
                                      const struct offload_config *);

struct offload *
__wrap_offload_create(const struct offload_kernel *kernel,
                      const struct offload_backend *backend,
                      const struct offload_config *config)
{
    told = *config;
    kernel_given = *kernel;
    return __real_offload_create(kernel, backend, config);
}

void __wrap_offload_configure(struct offload *, const struct offload_config *);
void __real_offload_configure(struct offload *, const struct offload_config *);

void
__wrap_offload_configure(struct offload *offload,
                         const struct offload_config *config)
{
    told = *config;
    __real_offload_configure(offload, config);
}

/* Meters that tc was asked to make, in order. */
static struct {
    uint32_t id;
    struct ofputil_meter_config config;
    struct ofputil_meter_band bands[2];
} meters_made[16];
static atomic_count n_meters_made;

/* Times that the engine was told of meters. */
static atomic_count n_meters_told;

static bool flow_api_enabled;

void __wrap_ovs_compat_meter_set(ofproto_meter_id,
                                 struct ofputil_meter_config *);
bool __wrap_ovs_compat_offload_is_enabled(void);
void __wrap_offload_meters_changed(struct offload *);
void __real_offload_meters_changed(struct offload *);

void
__wrap_ovs_compat_meter_set(ofproto_meter_id id,
                            struct ofputil_meter_config *config)
{
    unsigned int i = atomic_count_inc(&n_meters_made);

    /* Before any rule may name it. */
    unit_check(!unit_tc_count());
    unit_check(i < ARRAY_SIZE(meters_made));
    meters_made[i].id = id.uint32;
    meters_made[i].config = *config;
    unit_check(config->n_bands <= ARRAY_SIZE(meters_made[i].bands));
    memcpy(meters_made[i].bands, config->bands,
           config->n_bands * sizeof *config->bands);
}

bool
__wrap_ovs_compat_offload_is_enabled(void)
{
    return flow_api_enabled;
}

void
__wrap_offload_meters_changed(struct offload *offload)
{
    atomic_count_inc(&n_meters_told);
    __real_offload_meters_changed(offload);
}

/* Are queueing disciplines followed?  The main thread says so. */
static bool qdiscs_followed;

void __wrap_kdp_links_follow_qdiscs(bool follow);

void
__wrap_kdp_links_follow_qdiscs(bool follow)
{
    qdiscs_followed = follow;
}

/* What is done about rules of a previous run. */
static unsigned int n_chains_cleaned, n_passes, n_former;
static bool chains_kept, ports_spared, is_last_pass;

size_t __wrap_kdp_tc_clean_chains(const char *dpif_type);
void __wrap_kdp_tc_orphans_look(const char *dpif_type, unsigned int flags);
void __wrap_kdp_tc_orphans_was_port(int ifindex);
void __wrap_offload_keep_chains(struct offload *, bool keep);

size_t
__wrap_kdp_tc_clean_chains(const char *dpif_type OVS_UNUSED)
{
    n_chains_cleaned++;
    return 7;
}

void
__wrap_kdp_tc_orphans_look(const char *dpif_type, unsigned int flags)
{
    assert_string_equal(dpif_type, "system");
    n_passes++;
    ports_spared = (flags & KDP_TC_ORPHANS_SPARE_PORTS) != 0;
    is_last_pass = (flags & KDP_TC_ORPHANS_LAST) != 0;
}

void
__wrap_kdp_tc_orphans_was_port(int ifindex)
{
    assert_int_equal(ifindex, 5);
    n_former++;
}

void
__wrap_offload_keep_chains(struct offload *offload OVS_UNUSED, bool keep)
{
    chains_kept = keep;
}

/* The bond, by its interface index, or 0 if no device is one.  Are its members
 * bound? */
static int bond;
static bool bound;

/* Times that devices that a previous run had bound were looked for, and
 * whether the members were bound the last time. */
static unsigned int n_lag_cleaned;
static bool bound_before_cleaned;

uint32_t __wrap_netdev_get_block_id(struct netdev *);
void __wrap_netdev_kdp_lag_add(int ifindex, uint32_t block_id);
void __wrap_netdev_kdp_lag_remove(int ifindex, bool unbind);
void __wrap_netdev_kdp_lag_clean(bool all_added,
                                 bool (*is_ours)(uint32_t));
bool __wrap_kdp_tc_orphans_last_ended(void);

uint32_t
__wrap_netdev_get_block_id(struct netdev *netdev)
{
    return bond && netdev_get_ifindex(netdev) == bond ? bond : 0;
}

void
__wrap_netdev_kdp_lag_add(int ifindex, uint32_t block_id)
{
    assert_int_equal(ifindex, bond);
    assert_int_equal(block_id, bond);
    assert_false(bound);
    bound = true;
}

void
__wrap_netdev_kdp_lag_remove(int ifindex, bool unbind)
{
    assert_int_equal(ifindex, bond);
    assert_true(bound);
    bound = !unbind;
}

void
__wrap_netdev_kdp_lag_clean(bool all_added, bool (*is_ours)(uint32_t))
{
    assert_true(all_added);
    assert_ptr_equal(is_ours, kdp_tc_orphans_may_unbind);
    n_lag_cleaned++;
    bound_before_cleaned = bound;
}

static bool last_pass_ended;

bool
__wrap_kdp_tc_orphans_last_ended(void)
{
    return last_pass_ended;
}

/* The last port is another datapath's. */
int __wrap_vport_table_get_by_number(struct vport_table *, uint32_t,
                                     struct ovs_vport *);

int
__wrap_vport_table_get_by_number(struct vport_table *vports OVS_UNUSED,
                                 uint32_t port_no,
                                 struct ovs_vport *vport OVS_UNUSED)
{
    return (port_no == 2 && lookup_error ? lookup_error
            : port_no < N_PORTS ? 0 : ENODEV);
}

/* A datapath of its own on the inner dpif of 'u'. */
struct test {
    struct unit_dpif u;
    struct kdp_flow_engine *other;  /* That 'u' came with. */
    struct kdp_datapath dp;
};

/* Sets what the kernel has said of the datapath. */
static void
set_features(struct test *test, uint32_t features)
{
    ovs_mutex_lock(&test->dp.mutex);
    test->dp.user_features = features;
    ovs_mutex_unlock(&test->dp.mutex);
}

static int
setup(void **state)
{
    struct test *test = xzalloc(sizeof *test);

    lookup_error = 0;
    flow_api_enabled = false;
    atomic_count_set(&n_meters_made, 0);
    atomic_count_set(&n_meters_told, 0);
    n_chains_cleaned = n_passes = n_former = n_lag_cleaned = 0;
    bond = 0;
    bound = bound_before_cleaned = last_pass_ended = false;
    unit_dpif_init(&test->u, N_PORTS);
    test->other = test->u.engine;
    test->u.engine = NULL;
    test->u.inner.base_name = CONST_CAST(char *, "unit");
    test->dp.inner = &test->u.inner;
    test->dp.name = "system@unit";
    ovs_mutex_init(&test->dp.mutex);
    kdp_flow_offload_create(&test->dp);
    set_features(test, OVS_DP_F_TC_RECIRC_SHARING);
    *state = test;
    return 0;
}

/* Closes the datapath, as when the process ends, or after it was deleted. */
static void
close_datapath(struct test *test, bool deleted)
{
    if (deleted) {
        kdp_flow_offload_clean_up(&test->dp);
    }
    kdp_flow_offload_destroy(&test->dp);
    test->u.engine = NULL;
}

static int
teardown(void **state)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct test *test = *state;

    close_datapath(test, true);
    assert_false(bound);
    assert_true(qdiscs_followed);
    assert_null(kdp_flow_engine_get(&test->dp));
    ovs_mutex_destroy(&test->dp.mutex);
    test->u.engine = test->other;
    unit_dpif_uninit(&test->u);
    free(test);
    return 0;
}

/* Takes over 'hw-offload' and one more key, unless that is NULL. */
static void
set_config(struct test *test, const char *hw_offload, const char *key,
           const char *value)
{
    struct smap config = SMAP_INITIALIZER(&config);

    smap_add(&config, "hw-offload", hw_offload);
    if (key) {
        smap_add(&config, key, value);
    }
    kdp_flow_offload_set(&test->dp, &config);
    test->u.engine = kdp_flow_engine_get(&test->dp);
    smap_destroy(&config);
}

static void
run(struct test *test)
{
    kdp_flow_offload_run(&test->dp);
    if (test->u.engine) {
        unit_dpif_settle(&test->u);
    }
}

static void
put_flags(struct test *test, uint32_t flow, uint32_t port, unsigned int flags)
{
    assert_int_equal(unit_dpif_put(&test->u, unit_tc_desc(flow, port, flags),
                                   DPIF_FP_CREATE, NULL), 0);
}

static void
put(struct test *test, uint32_t flow, uint32_t port)
{
    put_flags(test, flow, port, 0);
}

static void
there_is_no_engine_before_it_is_wanted(void **state)
{
    struct test *test = *state;

    set_config(test, "false", NULL, NULL);
    assert_null(kdp_flow_engine_get(&test->dp));
    run(test);
    kdp_flow_offload_wait(&test->dp);
    kdp_flow_offload_ports_changed(&test->dp);
    kdp_flow_offload_port_del(&test->dp, 1);
    set_config(test, "true", NULL, NULL);
    assert_non_null(kdp_flow_engine_get(&test->dp));
    assert_true(test->u.engine->tc.recirc_sharing);
}

static void
chains_go_to_tc_if_the_kernel_shares_ids(void **state)
{
    struct test *test = *state;

    set_config(test, "true", NULL, NULL);
    run(test);
    put_flags(test, 1, 1, UNIT_TC_TO_CHAIN);
    put_flags(test, 2, 1, UNIT_TC_OF_CHAIN);
    unit_dpif_settle(&test->u);
    assert_int_equal(unit_tc_count(), 2);
}

static void
chains_stay_in_the_kernel_if_it_does_not_share_ids(void **state)
{
    struct test *test = *state;

    set_features(test, 0);
    set_config(test, "true", NULL, NULL);
    assert_non_null(kdp_flow_engine_get(&test->dp));
    assert_false(test->u.engine->tc.recirc_sharing);
    run(test);
    put_flags(test, 1, 1, UNIT_TC_TO_CHAIN);
    put_flags(test, 2, 1, UNIT_TC_OF_CHAIN);
    unit_dpif_settle(&test->u);
    assert_int_equal(unit_tc_count(), 0);
    assert_true(unit_dpif_has(&test->u, 1));
    assert_true(unit_dpif_has(&test->u, 2));

    /* Others go. */
    put(test, 3, 1);
    unit_dpif_settle(&test->u);
    assert_int_equal(unit_tc_count(), 1);
    assert_false(unit_dpif_has(&test->u, 3));
}

static void
flows_move_as_offload_goes_off_and_on(void **state)
{
    struct test *test = *state;

    set_config(test, "true", NULL, NULL);
    run(test);
    put(test, 1, 1);
    put(test, 2, 2);
    unit_dpif_settle(&test->u);
    assert_int_equal(unit_tc_count(), 2);
    for (int i = 0; i < 3; i++) {
        set_config(test, "false", NULL, NULL);
        unit_dpif_settle(&test->u);
        assert_int_equal(unit_tc_count(), 0);
        assert_int_equal(unit_dpif_count(&test->u), 2);
        set_config(test, "true", NULL, NULL);
        assert_int_equal(unit_dpif_put(&test->u, unit_tc_desc(1, 1, 0),
                                       DPIF_FP_MODIFY, NULL), 0);
        assert_int_equal(unit_dpif_put(&test->u, unit_tc_desc(2, 2, 0),
                                       DPIF_FP_MODIFY, NULL), 0);
        unit_dpif_settle(&test->u);
        assert_int_equal(unit_tc_count(), 2);
        assert_int_equal(unit_dpif_count(&test->u), 0);
    }
}

/* Else the kernel would announce each rule to us. */
static void
queueing_disciplines_are_followed_without_offload(void **state)
{
    struct test *test = *state;

    set_config(test, "false", NULL, NULL);
    assert_true(qdiscs_followed);
    for (int i = 0; i < 2; i++) {
        set_config(test, "true", NULL, NULL);
        assert_false(qdiscs_followed);
        set_config(test, "true", "offload-delay", "5");
        assert_false(qdiscs_followed);
        set_config(test, "false", NULL, NULL);
        assert_true(qdiscs_followed);
    }
    set_config(test, "true", NULL, NULL);
}

/* Those on ports: others are looked for as soon as the bridge has its ports,
 * which it adds after it has told its settings. */
static void
old_rules_stay_until_the_takeover_ends(void **state)
{
    struct test *test = *state;

    assert_true(kdp_flow_offload_keeps_old(&test->dp));
    run(test);
    assert_int_equal(n_passes, 0);
    set_config(test, "false", NULL, NULL);
    set_config(test, "false", NULL, NULL);
    assert_int_equal(n_chains_cleaned, 0);
    assert_int_equal(n_passes, 0);
    run(test);
    run(test);
    assert_int_equal(n_passes, 1);
    assert_true(ports_spared);
    assert_false(is_last_pass);

    assert_int_equal(kdp_flow_offload_delete_old_chains(&test->dp), 7);
    assert_int_equal(n_chains_cleaned, 1);
    assert_true(kdp_flow_offload_keeps_old(&test->dp));
    kdp_flow_offload_end_old(&test->dp);
    assert_false(kdp_flow_offload_keeps_old(&test->dp));

    /* The main thread waits for no list of rules. */
    assert_int_equal(n_chains_cleaned, 1);
    run(test);
    /* Not before the rules have gone. */
    assert_int_equal(n_lag_cleaned, 0);
    last_pass_ended = true;
    run(test);
    assert_int_equal(n_lag_cleaned, 1);
    set_config(test, "false", NULL, NULL);
    run(test);
    assert_int_equal(n_passes, 2);
    assert_int_equal(n_lag_cleaned, 1);
    assert_false(ports_spared);
    assert_true(is_last_pass);
}

static void
old_rules_of_ports_are_left_to_the_engine_but_for_chains(void **state)
{
    struct test *test = *state;

    set_config(test, "true", NULL, NULL);
    run(test);
    assert_true(chains_kept);
    kdp_flow_offload_end_old(&test->dp);
    assert_false(chains_kept);
    run(test);
    assert_int_equal(n_passes, 2);
    assert_true(ports_spared);
    assert_true(is_last_pass);

    /* A bridge that is made again finds some again.  The engine moves its own
     * back to the kernel datapath first. */
    kdp_flow_offload_keep_old(&test->dp);
    assert_true(kdp_flow_offload_keeps_old(&test->dp));
    set_config(test, "false", NULL, NULL);
    kdp_flow_offload_end_old(&test->dp);
    assert_int_equal(n_chains_cleaned, 0);
    run(test);
    assert_int_equal(n_passes, 3);
    assert_true(ports_spared);
}

static void
there_are_no_old_chains_if_the_kernel_does_not_share_ids(void **state)
{
    struct test *test = *state;

    set_features(test, 0);
    set_config(test, "false", NULL, NULL);
    assert_int_equal(kdp_flow_offload_delete_old_chains(&test->dp), 0);
    kdp_flow_offload_end_old(&test->dp);
    assert_int_equal(n_chains_cleaned, 0);
    run(test);
    assert_int_equal(n_passes, 1);
    assert_false(ports_spared);
}

static void
ports_of_a_previous_run_are_those_deleted_while_its_rules_stay(void **state)
{
    struct test *test = *state;

    kdp_flow_offload_was_port(&test->dp, 5);
    assert_int_equal(n_former, 1);
    kdp_flow_offload_end_old(&test->dp);
    kdp_flow_offload_was_port(&test->dp, 5);
    assert_int_equal(n_former, 1);
}

static void
ports_are_those_of_the_datapath(void **state)
{
    struct test *test = *state;

    set_config(test, "true", NULL, NULL);

    /* None is known before the main loop has looked. */
    put(test, 1, 1);
    unit_dpif_settle(&test->u);
    assert_int_equal(unit_tc_count(), 0);
    run(test);
    put(test, 2, 2);
    put(test, 3, N_PORTS);
    unit_dpif_settle(&test->u);
    assert_false(unit_dpif_has(&test->u, 2));
    assert_true(unit_dpif_has(&test->u, 3));

    /* Rules of a port that goes are deleted by the engine. */
    assert_int_equal(unit_tc_count(), 2);
    kdp_flow_offload_port_del(&test->dp, 2);
    unit_dpif_settle(&test->u);
    assert_int_equal(unit_tc_count(), 1);
    assert_false(unit_dpif_has(&test->u, 2));
    kdp_flow_offload_port_del(&test->dp, 2);
    kdp_flow_offload_port_del(&test->dp, 77);

    /* It is back as soon as something has changed. */
    run(test);
    put(test, 4, 2);
    unit_dpif_settle(&test->u);
    assert_true(unit_dpif_has(&test->u, 4));
    kdp_flow_offload_ports_changed(&test->dp);
    run(test);
    put(test, 5, 2);
    unit_dpif_settle(&test->u);
    assert_false(unit_dpif_has(&test->u, 5));
}

/* The device of port 'port_no'. */
static struct netdev *
get_netdev(uint32_t port_no)
{
    struct netdev *netdev = ovs_compat_ports_get(u32_to_odp(port_no),
                                                 kdp_dpif_type);

    assert_non_null(netdev);
    return netdev;
}

static int
get_ifindex(uint32_t port_no)
{
    struct netdev *netdev = get_netdev(port_no);
    int ifindex = netdev_get_ifindex(netdev);

    netdev_close(netdev);
    assert_true(ifindex > 0);
    return ifindex;
}

/* As the main loop does, until 'flow', which is put again in each turn, is not
 * in the kernel. */
static void
run_until_offloaded(struct test *test, uint32_t flow, uint32_t port)
{
    long long int end = time_msec() + UNIT_PATIENCE;
    const ovs_u128 ufid = unit_tc_ufid(flow);

    while (unit_dpif_has(&test->u, flow) || !unit_tc_packet(&ufid, 100)) {
        assert_true(time_msec() < end);
        kdp_flow_offload_wait(&test->dp);
        poll_timer_wait_until(end);
        poll_block();
        run(test);
        unit_dpif_put(&test->u, unit_tc_desc(flow, port, 0), DPIF_FP_MODIFY,
                      NULL);
        unit_dpif_settle(&test->u);
    }
}

static void
port_of_another_device_is_another_port(void **state)
{
    struct test *test = *state;
    int old;

    set_config(test, "true", NULL, NULL);
    run(test);
    put(test, 1, 2);
    unit_dpif_settle(&test->u);
    assert_false(unit_dpif_has(&test->u, 1));
    old = get_ifindex(2);
    assert_int_equal(kdp_tc_count(&test->u.engine->tc, old), 1);

    unit_tc_port_replace(2, 5);
    assert_int_not_equal(get_ifindex(2), old);
    kdp_flow_offload_ports_changed(&test->dp);
    run(test);
    assert_int_equal(kdp_tc_count(&test->u.engine->tc, old), 0);
    assert_int_equal(unit_dpif_put(&test->u, unit_tc_desc(1, 2, 0),
                                   DPIF_FP_MODIFY, NULL), 0);
    unit_dpif_settle(&test->u);
    assert_false(unit_dpif_has(&test->u, 1));
    assert_int_equal(kdp_tc_count(&test->u.engine->tc, get_ifindex(2)), 1);
}

static void
device_that_changes_is_tried_again(void **state)
{
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .type = RTM_NEWTFILTER, .error = EOPNOTSUPP,
        .n = 1,
    };
    struct test *test = *state;
    struct netdev *netdev;

    set_config(test, "true", NULL, NULL);
    run(test);
    unit_tc_plan(&plan);
    put(test, 1, 2);
    unit_dpif_settle(&test->u);
    assert_true(unit_dpif_has(&test->u, 1));
    put(test, 2, 2);
    unit_dpif_settle(&test->u);
    assert_true(unit_dpif_has(&test->u, 2));

    netdev = get_netdev(2);
    netdev_change_seq_changed(netdev);
    netdev_close(netdev);
    run_until_offloaded(test, 2, 2);
}

static void
port_that_cannot_be_looked_up_stays(void **state)
{
    struct test *test = *state;

    set_config(test, "true", NULL, NULL);
    run(test);
    put(test, 1, 2);
    unit_dpif_settle(&test->u);
    assert_false(unit_dpif_has(&test->u, 1));
    for (int i = 0; i < 3; i++) {
        lookup_error = ENOBUFS;
        kdp_flow_offload_ports_changed(&test->dp);
        run(test);
        assert_false(unit_dpif_has(&test->u, 1));
    }

    /* It is looked up again without anything else happening. */
    kdp_flow_offload_port_del(&test->dp, 2);
    unit_dpif_settle(&test->u);
    assert_int_equal(unit_tc_count(), 0);
    lookup_error = 0;
    run_until_offloaded(test, 1, 2);

    lookup_error = ENODEV;
    kdp_flow_offload_ports_changed(&test->dp);
    run(test);
    unit_dpif_settle(&test->u);
    assert_int_equal(unit_tc_count(), 0);
}

/* True if the main loop has seen to it that members are bound, or not. */
static bool
members_are(struct test *test, bool expected)
{
    kdp_flow_offload_run(&test->dp);
    return bound == expected;
}

/* Until then a card has rules that the kernel would have to take from it. */
static void
members_of_a_bond_are_bound_until_it_has_no_rule(void **state)
{
    struct test *test = *state;

    bond = get_ifindex(1);
    set_config(test, "false", NULL, NULL);
    run(test);
    assert_false(bound);
    for (int i = 0; i < 2; i++) {
        set_config(test, "true", NULL, NULL);
        unit_wait_until(members_are(test, true));
        put(test, 1, 1);
        put(test, 2, 2);
        unit_dpif_settle(&test->u);
        assert_int_equal(unit_tc_count(), 2);
        assert_true(members_are(test, true));

        /* Offload goes off, and on again at once. */
        set_config(test, "false", NULL, NULL);
        set_config(test, "true", NULL, NULL);
        unit_dpif_settle(&test->u);
        assert_true(members_are(test, true));

        set_config(test, "false", NULL, NULL);
        assert_true(bound || !kdp_tc_count(&test->u.engine->tc, bond));
        unit_wait_until(members_are(test, false));
        assert_int_equal(kdp_tc_count(&test->u.engine->tc, bond), 0);
        assert_int_equal(unit_dpif_del(&test->u, 1, NULL), 0);
        assert_int_equal(unit_dpif_del(&test->u, 2, NULL), 0);
    }

    /* The bond goes, and comes back. */
    set_config(test, "true", NULL, NULL);
    assert_true(members_are(test, true));
    put(test, 3, 1);
    unit_dpif_settle(&test->u);
    kdp_flow_offload_port_del(&test->dp, 1);
    assert_true(bound);
    unit_wait_until(members_are(test, false));
    assert_int_equal(kdp_tc_count(&test->u.engine->tc, bond), 0);
    kdp_flow_offload_ports_changed(&test->dp);
    assert_true(members_are(test, true));

    /* Another port is nothing to the bond. */
    kdp_flow_offload_port_del(&test->dp, 2);
    assert_true(members_are(test, true));
}

static void
members_of_a_bond_stay_bound_as_its_rules_stay(void **state)
{
    struct test *test = *state;

    bond = get_ifindex(1);
    set_config(test, "true", NULL, NULL);
    assert_true(members_are(test, true));
    close_datapath(test, false);
    assert_true(bound);

    /* The next run takes over, and knows the bond before it cleans up. */
    bound = false;
    kdp_flow_offload_create(&test->dp);
    set_config(test, "true", NULL, NULL);
    assert_int_equal(n_lag_cleaned, 0);
    kdp_flow_offload_end_old(&test->dp);
    last_pass_ended = true;
    run(test);
    assert_int_equal(n_lag_cleaned, 1);
    assert_true(bound_before_cleaned);
    set_config(test, "true", NULL, NULL);
    run(test);
    assert_int_equal(n_lag_cleaned, 1);
}

/* Sets meter 'id', of two bands if the id is odd.  The caller's configuration
 * is gone afterwards, as that of Open vSwitch is. */
static void
set_meter(struct test *test, uint32_t id, uint32_t rate)
{
    struct ofputil_meter_band bands[] = {
        { .type = OFPMBT13_DROP, .rate = rate, .burst_size = rate + 1 },
        { .type = OFPMBT13_DSCP_REMARK, .prec_level = 2, .rate = rate + 2,
          .burst_size = rate + 3 },
    };
    struct ofputil_meter_config config = {
        .meter_id = 1000 + id,
        .flags = OFPMF13_PKTPS | OFPMF13_BURST,
        .n_bands = 1 + id % 2,
        .bands = bands,
    };

    assert_int_equal(kdp_flow_meters_set(&test->dp, (ofproto_meter_id) { id },
                                         &config), 0);
    memset(bands, 0xee, sizeof bands);
    memset(&config, 0xee, sizeof config);
}

/* Checks that the meter that was made as number 'i' is as set_meter() made
 * it. */
static void
check_meter(int i, uint32_t rate)
{
    const struct ofputil_meter_config *config = &meters_made[i].config;
    const struct ofputil_meter_band *bands = meters_made[i].bands;

    assert_int_equal(config->meter_id, 1000 + meters_made[i].id);
    assert_int_equal(config->flags, OFPMF13_PKTPS | OFPMF13_BURST);
    assert_int_equal(config->n_bands, 1 + meters_made[i].id % 2);
    assert_int_equal(bands[0].type, OFPMBT13_DROP);
    assert_int_equal(bands[0].rate, rate);
    assert_int_equal(bands[0].burst_size, rate + 1);
    if (config->n_bands > 1) {
        assert_int_equal(bands[1].type, OFPMBT13_DSCP_REMARK);
        assert_int_equal(bands[1].prec_level, 2);
        assert_int_equal(bands[1].rate, rate + 2);
        assert_int_equal(bands[1].burst_size, rate + 3);
    }
}

static void
meters_made_before_offload_are_made_in_tc(void **state)
{
    struct test *test = *state;

    set_config(test, "false", NULL, NULL);
    for (uint32_t i = 1; i <= 4; i++) {
        set_meter(test, i, 100 * i);
    }
    set_meter(test, 1, 150);
    assert_int_equal(kdp_flow_meters_del(&test->dp, (ofproto_meter_id) { 2 },
                                         NULL, 0), 0);
    assert_int_equal(kdp_flow_meters_del(&test->dp, (ofproto_meter_id) { 9 },
                                         NULL, 0), 0);
    assert_int_equal(atomic_count_get(&n_meters_told), 0);

    flow_api_enabled = true;
    set_config(test, "true", NULL, NULL);
    run(test);
    assert_int_equal(atomic_count_get(&n_meters_made), 3);
    for (int i = 0; i < 3; i++) {
        check_meter(i, (meters_made[i].id == 1 ? 150
                        : 100 * meters_made[i].id));
    }
    assert_int_equal(meters_made[0].id + meters_made[1].id + meters_made[2].id,
                     1 + 3 + 4);

    /* From now on Open vSwitch makes them, and the engine is told. */
    atomic_count_set(&n_meters_told, 0);
    set_meter(test, 5, 400);
    set_meter(test, 1, 160);
    assert_int_equal(atomic_count_get(&n_meters_told), 2);
    set_config(test, "false", NULL, NULL);
    set_config(test, "true", NULL, NULL);
    run(test);
    assert_int_equal(atomic_count_get(&n_meters_made), 3);
}

static void
numbers_that_are_wrong_change_nothing(void **state)
{
    static const char *wrong[] = { "0", "11", "-1", "two", "", "4294967298" };
    struct test *test = *state;
    const struct offload_config *config = &told;

    set_config(test, "true", "n-offload-threads", "3");
    assert_int_equal(config->n_threads, 3);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        set_config(test, "true", "n-offload-threads", wrong[i]);
        set_config(test, "true", "n-offload-threads", wrong[i]);
        assert_int_equal(config->n_threads, 3);
    }
    set_config(test, "true", "n-offload-threads", "10");
    assert_int_equal(config->n_threads, 10);
    set_config(test, "true", "offload-delay", "3600000");
    assert_int_equal(config->delay, 3600000);
    assert_int_equal(config->n_threads, 1);
    set_config(test, "true", "offload-delay", "3600001");
    assert_int_equal(config->delay, 3600000);
    set_config(test, "true", NULL, NULL);
    assert_int_equal(config->delay, 0);
}

/* The engine has rules read by when flows expire. */
static void
engine_knows_when_flows_expire(void **state)
{
    struct test *test = *state;

    set_config(test, "true", NULL, NULL);
    assert_int_equal(told.max_idle, 10000);
    set_config(test, "true", "max-idle", "30000");
    assert_int_equal(told.max_idle, 30000);
}

static void
engine_knows_when_there_are_too_many_flows(void **state)
{
    struct test *test = *state;

    set_config(test, "true", NULL, NULL);
    kernel_given.is_crowded(kernel_given.aux);
    assert_false(kernel_given.is_crowded(kernel_given.aux));
    for (int i = 0; i < 2; i++) {
        counter_upcall_flow_limit_hit.total++;
        assert_true(kernel_given.is_crowded(kernel_given.aux));
        assert_false(kernel_given.is_crowded(kernel_given.aux));
    }
}

static bool
counts_headers(struct test *test)
{
    bool count_headers;

    atomic_read_relaxed(&test->u.engine->tc.count_headers, &count_headers);
    return count_headers;
}

static void
bytes_are_counted_as_was_said_last(void **state)
{
    static const char *wrong[] = { "", "true", "Datapath", "tc " };
    struct test *test = *state;

    set_config(test, "true", NULL, NULL);
    assert_false(counts_headers(test));
    set_config(test, "true", "offload-bytes", "datapath");
    assert_true(counts_headers(test));
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        set_config(test, "true", "offload-bytes", wrong[i]);
        assert_true(counts_headers(test));
    }
    set_config(test, "true", "offload-bytes", "tc");
    assert_false(counts_headers(test));
    set_config(test, "true", "offload-bytes", wrong[0]);
    assert_false(counts_headers(test));
    set_config(test, "true", "offload-bytes", "datapath");
    set_config(test, "true", NULL, NULL);
    assert_false(counts_headers(test));
}

static void
statistics_are_those_of_all_threads(void **state)
{
    struct netdev_custom_stats stats;
    struct test *test = *state;
    bool found = false;

    set_config(test, "true", "n-offload-threads", "2");
    run(test);
    put(test, 1, 1);
    unit_dpif_settle(&test->u);
    assert_int_equal(show_offload_stats(test->u.engine, &stats), 0);
    for (size_t i = 0; i < stats.size; i++) {
        assert_true(strlen(stats.counters[i].name)
                    < sizeof stats.counters[i].name - 1);
        found |= (strstr(stats.counters[i].name, "nserted")
                  && stats.counters[i].value == 1);
    }
    assert_true(found);
    free(stats.counters);
}

/* Must come last: that is never taken back. */
static void
offload_that_is_forbidden_is_never_on(void **state)
{
    struct test *test = *state;

    kdp_flow_offload_forbid();
    set_config(test, "true", NULL, NULL);
    assert_null(test->u.engine);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(there_is_no_engine_before_it_is_wanted),
        TEST(chains_go_to_tc_if_the_kernel_shares_ids),
        TEST(chains_stay_in_the_kernel_if_it_does_not_share_ids),
        TEST(flows_move_as_offload_goes_off_and_on),
        TEST(queueing_disciplines_are_followed_without_offload),
        TEST(old_rules_stay_until_the_takeover_ends),
        TEST(old_rules_of_ports_are_left_to_the_engine_but_for_chains),
        TEST(there_are_no_old_chains_if_the_kernel_does_not_share_ids),
        TEST(ports_of_a_previous_run_are_those_deleted_while_its_rules_stay),
        TEST(ports_are_those_of_the_datapath),
        TEST(port_of_another_device_is_another_port),
        TEST(device_that_changes_is_tried_again),
        TEST(port_that_cannot_be_looked_up_stays),
        TEST(members_of_a_bond_are_bound_until_it_has_no_rule),
        TEST(members_of_a_bond_stay_bound_as_its_rules_stay),
        TEST(meters_made_before_offload_are_made_in_tc),
        TEST(numbers_that_are_wrong_change_nothing),
        TEST(engine_knows_when_flows_expire),
        TEST(engine_knows_when_there_are_too_many_flows),
        TEST(bytes_are_counted_as_was_said_last),
        TEST(statistics_are_those_of_all_threads),
        TEST(offload_that_is_forbidden_is_never_on),
    };

    unit_init(argv[0]);
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("offload-config", tests, NULL, NULL);
}
