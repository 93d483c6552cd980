/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/datapath.h"

#include <stdlib.h>
#include <string.h>

#include "dpif-netlink.h"
#include "odp-netlink.h"
#include "upcall/upcall-store.h"
#include "util.h"

const char kdp_dpif_type[] = "system";

static atomic_bool shadow = ATOMIC_VAR_INIT(false);

void
kdp_datapath_set_shadow(bool on)
{
    atomic_store(&shadow, on);
}

bool
kdp_datapath_is_shadow(void)
{
    bool on;

    atomic_read(&shadow, &on);
    return on;
}

/* If sockets of another run wait for upcalls, makes the kernel dispatch
 * upcalls as the 'features' of that run say: on another socket their order
 * would be lost.  A failure does no other harm. */
static void
keep_dispatch(struct kdp_datapath *dp, uint32_t features)
    OVS_REQUIRES(dp->mutex)
{
    if ((features & KDP_DISPATCH_FEATURES) == OVS_DP_F_VPORT_PIDS
        && (upcall_store_has_found() || kdp_datapath_is_shadow())) {
        ovs_datapath_set_features(&dp->genl, dp->ifindex,
                                  dp->user_features | OVS_DP_F_VPORT_PIDS,
                                  NULL, 0, NULL);
    }
}

int
kdp_datapath_create(const char *name, bool create, struct kdp_datapath **dpp)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct kdp_datapath *dp = xzalloc(sizeof *dp);
    struct ovs_datapath kernel, before;
    int error;

    *dpp = NULL;
    error = ovs_genl_open(&dp->genl);
    if (error) {
        goto error_free;
    }
    if (ovs_datapath_get(&dp->genl, name, &before)) {
        before.user_features = 0;       /* The datapath may not exist yet. */
    }
    error = dpif_netlink_class.open(&dpif_netlink_class, name, create,
                                    &dp->inner);
    if (error) {
        goto error_genl;
    }
    error = ovs_datapath_get(&dp->genl, name, &kernel);
    if (error) {
        goto error_inner;
    }

    dp->name = xasprintf("system@%s", name);
    dp->ifindex = kernel.ifindex;
    dp->upcalls = upcall_table_create(dp->name, dp->ifindex,
                                      dp->genl.packet.id);
    dp->vports = vport_table_create(dp->name, dp->ifindex, &dp->genl.vport);
    dp->lost_before = kdp_datapath_n_lost(dp);
    ovs_mutex_init(&dp->mutex);

    /* The stock class requests dispatch by CPU and gets it if the kernel has
     * it. */
    dp->per_cpu_known = (kernel.user_features
                         & OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
    dp->user_features = kernel.user_features & ~KDP_DISPATCH_FEATURES;
    keep_dispatch(dp, before.user_features);
    atomic_init(&dp->engine, NULL);
    *dpp = dp;
    return 0;

error_inner:
    dpif_uninit(dp->inner, true);
error_genl:
    ovs_genl_close(&dp->genl);
error_free:
    free(dp);
    return error;
}

void
kdp_datapath_destroy(struct kdp_datapath *dp)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_genl_close(&dp->genl);
    upcall_table_destroy(dp->upcalls);
    vport_table_destroy(dp->vports);
    ovs_mutex_destroy(&dp->mutex);
    dpif_uninit(dp->inner, true);
    free(dp->name);
    free(dp);
}

uint64_t
kdp_datapath_n_lost(const struct kdp_datapath *dp)
{
    struct dpif_dp_stats stats;

    if (dp->inner->dpif_class->get_stats(dp->inner, &stats)
        || stats.n_lost == UINT64_MAX || stats.n_lost < dp->lost_before) {
        return 0;
    }
    return stats.n_lost - dp->lost_before;
}

bool
kdp_datapath_is_current(struct kdp_datapath *dp, const char *name)
{
    struct ovs_datapath kernel;
    bool current;

    if (strcmp(dp->inner->base_name, name)) {
        return false;
    }
    ovs_mutex_lock(&dp->mutex);
    current = (!ovs_datapath_get(&dp->genl, name, &kernel)
               && kernel.ifindex == dp->ifindex);
    ovs_mutex_unlock(&dp->mutex);
    return current;
}
