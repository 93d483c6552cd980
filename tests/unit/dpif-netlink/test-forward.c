/* SPDX-License-Identifier: Apache-2.0 */

/* What the class does not change reaches the inner dpif as it came, and the
 * answer comes back. */

#include <config.h>
#include "dpif-netlink/forward.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/dpif-netlink-kdp.h"
#include "dpif-netlink/flow-offload.h"
#include "harness/unit.h"
#include "ovs-features.h"
#include "ovs/compat-dpif.h"
#include "util.h"

/* What every inner function returns. */
#define RESULT 4711

/* The class that was registered. */
static const struct dpif_class *class;

int __wrap_dp_unregister_provider(const char *type);
int
__wrap_dp_unregister_provider(const char *type OVS_UNUSED)
{
    return 0;
}

int __wrap_dp_register_provider(const struct dpif_class *);
int
__wrap_dp_register_provider(const struct dpif_class *class_)
{
    class = class_;
    return 0;
}

/* The last call of an inner function. */
static struct {
    const char *name;
    const struct dpif *dpif;
    uintptr_t args[6];
    size_t n_args;
} called;

static int
note(const char *name, const struct dpif *dpif, const uintptr_t args[],
     size_t n_args)
{
    assert_null(called.name);
    called.name = name;
    called.dpif = dpif;
    memcpy(called.args, args, n_args * sizeof *args);
    called.n_args = n_args;
    return RESULT;
}

#define NOTE(NAME, DPIF, ...)                               \
    note(NAME, DPIF, (const uintptr_t[]) { __VA_ARGS__ },   \
         sizeof (uintptr_t[]) { __VA_ARGS__ } / sizeof(uintptr_t))

static void
check_called(const char *name, const struct dpif *dpif,
             const uintptr_t args[], size_t n_args)
{
    assert_non_null(called.name);
    assert_string_equal(called.name, name);
    assert_ptr_equal(called.dpif, dpif);
    assert_int_equal(called.n_args, n_args);
    for (size_t i = 0; i < n_args; i++) {
        assert_int_equal(called.args[i], args[i]);
    }
    called.name = NULL;
}

/* Asserts that the last call was of NAME, with these arguments. */
#define CHECK_CALLED(NAME, ...)                                         \
    check_called(NAME, &inner, (const uintptr_t[]) { __VA_ARGS__ },     \
                 sizeof (uintptr_t[]) { __VA_ARGS__ } / sizeof(uintptr_t))

/* An argument that is a pointer, as it is noted. */
#define P(ARG) ((uintptr_t) (ARG))

/* The inner class. */

static int inner_stats_error;

static int
inner_get_stats(const struct dpif *dpif, struct dpif_dp_stats *stats)
{
    *stats = (struct dpif_dp_stats) { .n_hit = 1, .n_flows = 7 };
    NOTE("get_stats", dpif, P(stats));
    return inner_stats_error;
}

static int
inner_queue_to_priority(const struct dpif *dpif, uint32_t queue_id,
                        uint32_t *priority)
{
    return NOTE("queue_to_priority", dpif, queue_id, P(priority));
}

static int
inner_ct_dump_start(struct dpif *dpif, struct ct_dpif_dump_state **state,
                    const uint16_t *zone, int *tot_bkts)
{
    return NOTE("ct_dump_start", dpif, P(state), P(zone), P(tot_bkts));
}

static int
inner_ct_dump_next(struct dpif *dpif, struct ct_dpif_dump_state *state,
                   struct ct_dpif_entry *entry)
{
    return NOTE("ct_dump_next", dpif, P(state), P(entry));
}

static int
inner_ct_dump_done(struct dpif *dpif, struct ct_dpif_dump_state *state)
{
    return NOTE("ct_dump_done", dpif, P(state));
}

static int
inner_ct_flush(struct dpif *dpif, const uint16_t *zone,
               const struct ct_dpif_tuple *tuple)
{
    return NOTE("ct_flush", dpif, P(zone), P(tuple));
}

/* The default limit is an argument only before 3.3. */
#if OVS_HAVE_CT_DEFAULT_LIMIT
#define NOTED_LIMIT (uintptr_t) default_limit,
#define DEFAULT_LIMIT THING(7),
#define DEFAULT_LIMIT_P P(THING(7)),
#else
#define NOTED_LIMIT
#define DEFAULT_LIMIT
#define DEFAULT_LIMIT_P
#endif

static int
inner_ct_set_limits(struct dpif *dpif,
                    OVS_COMPAT_CT_DEFAULT_PARAM(const uint32_t *)
                    const struct ovs_list *zone_limits)
{
    return NOTE("ct_set_limits", dpif, NOTED_LIMIT P(zone_limits));
}

static int
inner_ct_get_limits(struct dpif *dpif,
                    OVS_COMPAT_CT_DEFAULT_PARAM(uint32_t *)
                    const struct ovs_list *request, struct ovs_list *reply)
{
    return NOTE("ct_get_limits", dpif, NOTED_LIMIT P(request), P(reply));
}

static int
inner_ct_del_limits(struct dpif *dpif, const struct ovs_list *zone_limits)
{
    return NOTE("ct_del_limits", dpif, P(zone_limits));
}

static int
inner_ct_set_timeout_policy(struct dpif *dpif,
                            const struct ct_dpif_timeout_policy *tp)
{
    return NOTE("ct_set_timeout_policy", dpif, P(tp));
}

static int
inner_ct_get_timeout_policy(struct dpif *dpif, uint32_t tp_id,
                            struct ct_dpif_timeout_policy *tp)
{
    return NOTE("ct_get_timeout_policy", dpif, tp_id, P(tp));
}

static int
inner_ct_del_timeout_policy(struct dpif *dpif, uint32_t tp_id)
{
    return NOTE("ct_del_timeout_policy", dpif, tp_id);
}

static int
inner_ct_timeout_policy_dump_start(struct dpif *dpif, void **statep)
{
    return NOTE("ct_timeout_policy_dump_start", dpif, P(statep));
}

static int
inner_ct_timeout_policy_dump_next(struct dpif *dpif, void *state,
                                  struct ct_dpif_timeout_policy *tp)
{
    return NOTE("ct_timeout_policy_dump_next", dpif, P(state), P(tp));
}

static int
inner_ct_timeout_policy_dump_done(struct dpif *dpif, void *state)
{
    return NOTE("ct_timeout_policy_dump_done", dpif, P(state));
}

static int
inner_ct_get_timeout_policy_name(struct dpif *dpif, uint32_t tp_id,
                                 uint16_t dl_type, uint8_t nw_proto,
                                 char **tp_name, bool *is_generic)
{
    return NOTE("ct_get_timeout_policy_name", dpif, tp_id, dl_type, nw_proto,
                P(tp_name), P(is_generic));
}

static int
inner_ct_get_features(struct dpif *dpif, enum ct_features *features)
{
    return NOTE("ct_get_features", dpif, P(features));
}

static void
inner_meter_get_features(const struct dpif *dpif,
                         struct ofputil_meter_features *features)
{
    NOTE("meter_get_features", dpif, P(features));
}

static int
inner_meter_set(struct dpif *dpif, ofproto_meter_id id,
                struct ofputil_meter_config *config)
{
    return NOTE("meter_set", dpif, id.uint32, P(config));
}

static int
inner_meter_get(const struct dpif *dpif, ofproto_meter_id id,
                struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    return NOTE("meter_get", dpif, id.uint32, P(stats), n_bands);
}

static int
inner_meter_del(struct dpif *dpif, ofproto_meter_id id,
                struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    return NOTE("meter_del", dpif, id.uint32, P(stats), n_bands);
}

static int
inner_cache_get_supported_levels(struct dpif *dpif, uint32_t *levels)
{
    return NOTE("cache_get_supported_levels", dpif, P(levels));
}

static int
inner_cache_get_name(struct dpif *dpif, uint32_t level, const char **name)
{
    return NOTE("cache_get_name", dpif, level, P(name));
}

static int
inner_cache_get_size(struct dpif *dpif, uint32_t level, uint32_t *size)
{
    return NOTE("cache_get_size", dpif, level, P(size));
}

static int
inner_cache_set_size(struct dpif *dpif, uint32_t level, uint32_t size)
{
    return NOTE("cache_set_size", dpif, level, size);
}

static const struct dpif_class inner_class = {
    .type = "unit",
    .get_stats = inner_get_stats,
    .queue_to_priority = inner_queue_to_priority,
    .ct_dump_start = inner_ct_dump_start,
    .ct_dump_next = inner_ct_dump_next,
    .ct_dump_done = inner_ct_dump_done,
    .ct_flush = inner_ct_flush,
    .ct_set_limits = inner_ct_set_limits,
    .ct_get_limits = inner_ct_get_limits,
    .ct_del_limits = inner_ct_del_limits,
    .ct_set_timeout_policy = inner_ct_set_timeout_policy,
    .ct_get_timeout_policy = inner_ct_get_timeout_policy,
    .ct_del_timeout_policy = inner_ct_del_timeout_policy,
    .ct_timeout_policy_dump_start = inner_ct_timeout_policy_dump_start,
    .ct_timeout_policy_dump_next = inner_ct_timeout_policy_dump_next,
    .ct_timeout_policy_dump_done = inner_ct_timeout_policy_dump_done,
    .ct_get_timeout_policy_name = inner_ct_get_timeout_policy_name,
    .ct_get_features = inner_ct_get_features,
    .meter_get_features = inner_meter_get_features,
    .meter_set = inner_meter_set,
    .meter_get = inner_meter_get,
    .meter_del = inner_meter_del,
    .cache_get_supported_levels = inner_cache_get_supported_levels,
    .cache_get_name = inner_cache_get_name,
    .cache_get_size = inner_cache_get_size,
    .cache_set_size = inner_cache_set_size,
};

/* The stock class, which says the version without a datapath. */
static char version[] = "1.2.3";

static char *
stock_get_datapath_version(void)
{
    return version;
}

extern const struct dpif_class __wrap_dpif_netlink_class;
const struct dpif_class __wrap_dpif_netlink_class = {
    .type = "system",
    .get_datapath_version = stock_get_datapath_version,
};

static struct dpif inner = { .dpif_class = &inner_class };
static struct kdp_datapath dp = { .inner = &inner };
static struct dpif_kdp outer = { .dp = &dp };

/* Addresses of arguments; nobody looks at what is there. */
static char things[8];
#define THING(I) ((void *) &things[I])

static void
statistics(void **state OVS_UNUSED)
{
    struct dpif_dp_stats stats;
    uint32_t priority;

    assert_int_equal(class->get_stats(&outer.dpif, &stats), 0);
    CHECK_CALLED("get_stats", P(&stats));
    assert_int_equal(stats.n_hit, 1);
    assert_int_equal(stats.n_flows, 7);         /* No engine has more. */
    inner_stats_error = ENODEV;
    assert_int_equal(class->get_stats(&outer.dpif, &stats), ENODEV);
    CHECK_CALLED("get_stats", P(&stats));
    inner_stats_error = 0;

    assert_int_equal(class->queue_to_priority(&outer.dpif, 3, &priority),
                     RESULT);
    CHECK_CALLED("queue_to_priority", 3, P(&priority));
    assert_ptr_equal(class->get_datapath_version(), version);
}

static void
connections(void **state OVS_UNUSED)
{
    struct dpif *dpif = &outer.dpif;
    int n;

    assert_int_equal(class->ct_dump_start(dpif, THING(0), THING(1), &n),
                     RESULT);
    CHECK_CALLED("ct_dump_start", P(THING(0)), P(THING(1)), P(&n));
    assert_int_equal(class->ct_dump_next(dpif, THING(0), THING(1)), RESULT);
    CHECK_CALLED("ct_dump_next", P(THING(0)), P(THING(1)));
    assert_int_equal(class->ct_dump_done(dpif, THING(0)), RESULT);
    CHECK_CALLED("ct_dump_done", P(THING(0)));
    assert_int_equal(class->ct_flush(dpif, THING(0), THING(1)), RESULT);
    CHECK_CALLED("ct_flush", P(THING(0)), P(THING(1)));
    assert_int_equal(class->ct_get_features(dpif, THING(0)), RESULT);
    CHECK_CALLED("ct_get_features", P(THING(0)));
}

static void
limits_of_connections(void **state OVS_UNUSED)
{
    struct dpif *dpif = &outer.dpif;

    assert_int_equal(class->ct_set_limits(dpif, DEFAULT_LIMIT THING(0)),
                     RESULT);
    CHECK_CALLED("ct_set_limits", DEFAULT_LIMIT_P P(THING(0)));
    assert_int_equal(class->ct_get_limits(dpif, DEFAULT_LIMIT THING(0),
                                          THING(1)), RESULT);
    CHECK_CALLED("ct_get_limits", DEFAULT_LIMIT_P P(THING(0)), P(THING(1)));
    assert_int_equal(class->ct_del_limits(dpif, THING(0)), RESULT);
    CHECK_CALLED("ct_del_limits", P(THING(0)));
}

static void
timeout_policies(void **state OVS_UNUSED)
{
    struct dpif *dpif = &outer.dpif;
    char *name;
    bool generic;

    assert_int_equal(class->ct_set_timeout_policy(dpif, THING(0)), RESULT);
    CHECK_CALLED("ct_set_timeout_policy", P(THING(0)));
    assert_int_equal(class->ct_get_timeout_policy(dpif, 9, THING(0)), RESULT);
    CHECK_CALLED("ct_get_timeout_policy", 9, P(THING(0)));
    assert_int_equal(class->ct_del_timeout_policy(dpif, 8), RESULT);
    CHECK_CALLED("ct_del_timeout_policy", 8);
    assert_int_equal(class->ct_timeout_policy_dump_start(dpif, THING(0)),
                     RESULT);
    CHECK_CALLED("ct_timeout_policy_dump_start", P(THING(0)));
    assert_int_equal(class->ct_timeout_policy_dump_next(dpif, THING(0),
                                                        THING(1)), RESULT);
    CHECK_CALLED("ct_timeout_policy_dump_next", P(THING(0)), P(THING(1)));
    assert_int_equal(class->ct_timeout_policy_dump_done(dpif, THING(0)),
                     RESULT);
    CHECK_CALLED("ct_timeout_policy_dump_done", P(THING(0)));
    assert_int_equal(class->ct_get_timeout_policy_name(dpif, 7, 0x86dd, 17,
                                                       &name, &generic),
                     RESULT);
    CHECK_CALLED("ct_get_timeout_policy_name", 7, 0x86dd, 17, P(&name),
                 P(&generic));
}

/* In the shadow of another process a meter's number may be another meter's
 * there (R6). */
static void
meters(void **state OVS_UNUSED)
{
    const ofproto_meter_id id = { 12 };
    struct dpif *dpif = &outer.dpif;

    kdp_flow_offload_create(&dp);
    class->meter_get_features(dpif, THING(0));
    CHECK_CALLED("meter_get_features", P(THING(0)));
    assert_int_equal(class->meter_set(dpif, id, THING(0)), RESULT);
    CHECK_CALLED("meter_set", 12, P(THING(0)));
    assert_int_equal(class->meter_get(dpif, id, THING(0), 2), RESULT);
    CHECK_CALLED("meter_get", 12, P(THING(0)), 2);
    assert_int_equal(class->meter_del(dpif, id, THING(0), 3), RESULT);
    CHECK_CALLED("meter_del", 12, P(THING(0)), 3);

    dpif_netlink_kdp_enter_shadow();
    assert_int_equal(class->meter_set(dpif, id, THING(0)), EBUSY);
    assert_null(called.name);
    assert_int_equal(class->meter_get(dpif, id, THING(0), 2), RESULT);
    CHECK_CALLED("meter_get", 12, P(THING(0)), 2);
    dpif_netlink_kdp_leave_shadow();
    assert_int_equal(class->meter_set(dpif, id, THING(0)), RESULT);
    CHECK_CALLED("meter_set", 12, P(THING(0)));
    kdp_flow_offload_destroy(&dp);
}

static void
caches(void **state OVS_UNUSED)
{
    struct dpif *dpif = &outer.dpif;
    const char *name;
    uint32_t n;

    assert_int_equal(class->cache_get_supported_levels(dpif, &n), RESULT);
    CHECK_CALLED("cache_get_supported_levels", P(&n));
    assert_int_equal(class->cache_get_name(dpif, 4, &name), RESULT);
    CHECK_CALLED("cache_get_name", 4, P(&name));
    assert_int_equal(class->cache_get_size(dpif, 5, &n), RESULT);
    CHECK_CALLED("cache_get_size", 5, P(&n));
    assert_int_equal(class->cache_set_size(dpif, 6, 512), RESULT);
    CHECK_CALLED("cache_set_size", 6, 512);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics),
        cmocka_unit_test(connections),
        cmocka_unit_test(limits_of_connections),
        cmocka_unit_test(timeout_policies),
        cmocka_unit_test(meters),
        cmocka_unit_test(caches),
    };

    unit_init(argv[0]);
    unit_check(!dpif_netlink_kdp_register());
    outer.dpif.dpif_class = class;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
