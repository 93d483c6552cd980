/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-api.h"

#include <errno.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/datapaths.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/show.h"
#include "odp-netlink.h"
#include "tc/tc-prepare.h"
#include "util.h"

/* A search among local ports. */
struct search {
    bool (*cb)(const char *name);
    bool done;
};

static void
search_datapath(struct kdp_datapath *dp, void *search_)
{
    struct search *search = search_;

    search->done = search->done || search->cb(dp->inner->base_name);
}

static bool
for_each_local_port(bool (*cb)(const char *name))
{
    struct search search = { .cb = cb };

    kdp_datapaths_for_each(search_datapath, &search);
    return search.done;
}

static void
look_for_sharing(struct kdp_datapath *dp, void *shares)
{
    ovs_mutex_lock(&dp->mutex);
    *(bool *) shares |= (dp->user_features & OVS_DP_F_TC_RECIRC_SHARING) != 0;
    ovs_mutex_unlock(&dp->mutex);
}

static bool
shares_chains(void)
{
    bool shares = false;

    kdp_datapaths_for_each(look_for_sharing, &shares);
    return shares;
}

static void
look_for_keeping(struct kdp_datapath *dp, void *keeps)
{
    *(bool *) keeps |= kdp_flow_offload_keeps_old(dp);
}

static bool
keeps_chains(void)
{
    bool keeps = false;

    kdp_datapaths_for_each(look_for_keeping, &keeps);
    return keeps;
}

/* Number of rules on a device. */
struct count {
    int ifindex;
    uint64_t n;
};

static void
add_rules(struct kdp_datapath *dp, void *count_)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct count *count = count_;

    if (engine) {
        count->n += kdp_tc_count(&engine->tc, count->ifindex);
    }
}

static uint64_t
count_rules(int ifindex)
{
    struct count count = { .ifindex = ifindex };

    kdp_datapaths_for_each(add_rules, &count);
    return count.n;
}

/* A search for the engine of a datapath. */
struct figures {
    const char *name;
    struct netdev_custom_stats *stats;
    int error;
};

static void
add_figures(struct kdp_datapath *dp, void *figures_)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct figures *figures = figures_;

    if (engine && figures->error && !strcmp(dp->name, figures->name)) {
        figures->error = show_offload_stats(engine, figures->stats);
    }
}

static int
get_stats(const char *name, struct netdev_custom_stats *stats)
{
    struct figures figures = {
        .name = name, .stats = stats, .error = EOPNOTSUPP,
    };

    kdp_datapaths_for_each(add_figures, &figures);
    return figures.error;
}

void
kdp_flow_api_register(void)
{
    static const struct kdp_tc_datapaths datapaths = {
        .for_each_local_port = for_each_local_port,
        .shares_chains = shares_chains,
        .keeps_chains = keeps_chains,
        .count_rules = count_rules,
        .get_stats = get_stats,
    };

    kdp_tc_prepare_register(kdp_dpif_type, &datapaths);
}
