/* SPDX-License-Identifier: Apache-2.0 */

/* Datapaths are opened once and closed when nobody uses them any more; what is
 * opened halfway is closed again.  The kernel's part is made up. */

#include <config.h>
#include "dpif-netlink/datapaths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/dispatch.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "odp-netlink.h"
#include "util.h"

/* The kernel. */
static struct {
    int open_error, genl_error, get_error;      /* Positive or 0. */
    int ifindex;                /* Of each datapath. */
    uint32_t features;
    uint64_t n_lost;
    unsigned int n_open, n_genl;                /* Open at the moment. */
} kernel;

static int
inner_open(const struct dpif_class *class, const char *name,
           bool create OVS_UNUSED, struct dpif **dpifp)
{
    if (kernel.open_error) {
        return kernel.open_error;
    }
    *dpifp = xzalloc(sizeof **dpifp);
    dpif_init(*dpifp, class, name, 0, 0);
    kernel.n_open++;
    return 0;
}

static void
inner_close(struct dpif *dpif)
{
    kernel.n_open--;
    free(dpif);
}

static int
inner_get_stats(const struct dpif *dpif OVS_UNUSED,
                struct dpif_dp_stats *stats)
{
    *stats = (struct dpif_dp_stats) { .n_lost = kernel.n_lost };
    return 0;
}

/* The stock class. */
extern const struct dpif_class __wrap_dpif_netlink_class;
const struct dpif_class __wrap_dpif_netlink_class = {
    .type = "system",
    .open = inner_open,
    .close = inner_close,
    .get_stats = inner_get_stats,
};

int __wrap_ovs_genl_open(struct ovs_genl *);
int
__wrap_ovs_genl_open(struct ovs_genl *genl)
{
    static const struct genl_family family = {
        .id = UNIT_FAMILY, .mcgroup = 1,
    };

    if (kernel.genl_error) {
        return kernel.genl_error;
    }
    *genl = (struct ovs_genl) {
        .datapath = family, .vport = family, .packet = family, .flow = family,
    };
    kernel.n_genl++;
    return 0;
}

void __wrap_ovs_genl_close(struct ovs_genl *);
void
__wrap_ovs_genl_close(struct ovs_genl *genl OVS_UNUSED)
{
    kernel.n_genl--;
}

int __wrap_ovs_datapath_get(struct ovs_genl *, const char *name,
                            struct ovs_datapath *);
int
__wrap_ovs_datapath_get(struct ovs_genl *genl OVS_UNUSED, const char *name,
                        struct ovs_datapath *dp)
{
    if (kernel.get_error) {
        return kernel.get_error;
    }
    memset(dp, 0, sizeof *dp);
    ovs_strlcpy(dp->name, name, sizeof dp->name);
    dp->ifindex = kernel.ifindex;
    dp->user_features = kernel.features;
    return 0;
}

static int
setup(void **state OVS_UNUSED)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.ifindex = UNIT_DP_IFINDEX;
    return 0;
}

static struct kdp_datapath *
open_datapath(const char *name, bool create)
{
    struct kdp_datapath *dp;

    assert_int_equal(kdp_datapaths_open(name, create, &dp), 0);
    assert_non_null(dp);
    return dp;
}

static void
count(struct kdp_datapath *dp OVS_UNUSED, void *n_)
{
    ++*(size_t *) n_;
}

static size_t
n_datapaths(void)
{
    size_t n = 0;

    kdp_datapaths_for_each(count, &n);
    return n;
}

/* Asserts that 'n' datapaths are open. */
static void
assert_open(size_t n)
{
    assert_int_equal(n_datapaths(), n);
    assert_int_equal(kernel.n_open, n);
    assert_int_equal(kernel.n_genl, n);
}

static void
a_datapath_that_is_open_is_opened_again(void **state OVS_UNUSED)
{
    struct kdp_datapath *dp = open_datapath("a", true);

    assert_string_equal(dp->name, "system@a");
    assert_int_equal(dp->ifindex, UNIT_DP_IFINDEX);
    assert_ptr_equal(open_datapath("a", false), dp);
    assert_open(1);

    /* It stays until it was closed as often. */
    kdp_datapaths_close(dp);
    assert_open(1);
    assert_ptr_equal(open_datapath("a", false), dp);
    kdp_datapaths_close(dp);
    kdp_datapaths_close(dp);
    assert_open(0);
}

static void
another_datapath_is_opened_itself(void **state OVS_UNUSED)
{
    struct kdp_datapath *a = open_datapath("a", false);
    struct kdp_datapath *b = open_datapath("b", false);

    assert_ptr_not_equal(a, b);
    assert_open(2);

    /* The kernel has another one under the name, or does not say. */
    kernel.ifindex++;
    struct kdp_datapath *other = open_datapath("a", false);
    assert_ptr_not_equal(other, a);
    assert_int_equal(other->ifindex, UNIT_DP_IFINDEX + 1);
    assert_open(3);
    assert_ptr_equal(open_datapath("a", false), other);
    kernel.get_error = ENODEV;
    assert_false(kdp_datapath_is_current(other, "a"));
    kdp_datapaths_close(other);
    kdp_datapaths_close(other);
    kdp_datapaths_close(b);
    kdp_datapaths_close(a);
    assert_open(0);
}

static void
what_is_opened_halfway_is_closed(void **state OVS_UNUSED)
{
    int *const errors[] = {
        &kernel.open_error, &kernel.genl_error, &kernel.get_error,
    };
    size_t n_fds = unit_count_fds();

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        struct kdp_datapath *dp = (struct kdp_datapath *) errors;

        *errors[i] = ENOMEM;
        assert_int_equal(kdp_datapaths_open("a", true, &dp), ENOMEM);
        assert_null(dp);
        *errors[i] = 0;
        assert_open(0);
    }
    assert_int_equal(unit_count_fds(), n_fds);
}

/* Others may have had the datapath before. */
static void
upcalls_lost_before_do_not_count(void **state OVS_UNUSED)
{
    kernel.n_lost = 4;

    struct kdp_datapath *dp = open_datapath("a", true);

    assert_int_equal(kdp_datapath_n_lost(dp), 0);
    kernel.n_lost = 6;
    assert_int_equal(kdp_datapath_n_lost(dp), 2);
    kdp_datapaths_close(dp);
}

static void
features_of_the_kernel_are_kept(void **state OVS_UNUSED)
{
    for (int per_cpu = 0; per_cpu < 2; per_cpu++) {
        kernel.features = (OVS_DP_F_UNALIGNED | OVS_DP_F_VPORT_PIDS
                           | (per_cpu ? OVS_DP_F_DISPATCH_UPCALL_PER_CPU : 0));

        struct kdp_datapath *dp = open_datapath("a", true);

        ovs_mutex_lock(&dp->mutex);
        assert_int_equal(dp->per_cpu_known, per_cpu);
        assert_int_equal(dp->user_features, OVS_DP_F_UNALIGNED);
        ovs_mutex_unlock(&dp->mutex);
        kdp_datapaths_close(dp);
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup(NAME, setup)
        TEST(a_datapath_that_is_open_is_opened_again),
        TEST(another_datapath_is_opened_itself),
        TEST(what_is_opened_halfway_is_closed),
        TEST(upcalls_lost_before_do_not_count),
        TEST(features_of_the_kernel_are_kept),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
