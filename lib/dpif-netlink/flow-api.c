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
#include "netdev-linux/upcall-counters.h"
#include "odp-netlink.h"
#include "tc/tc-prepare.h"
#include "upcall/upcall-table.h"
#include "util.h"
#include "vport/vport-table.h"

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

/* A search for the upcalls of a port. */
struct question {
    const char *name;
    bool found;
    struct netdev_kdp_upcalls *answer;
};

/* Finds a device by its port's name in the table of ports, without a request
 * to the kernel in steady state. */
static void
ask_datapath(struct kdp_datapath *dp, void *question_)
{
    struct question *question = question_;
    struct upcall_channel_stats stats;
    struct ovs_vport vport;

    if (!question->found
        && !vport_table_get_by_name(dp->vports, question->name, &vport)
        && upcall_table_get_stats(dp->upcalls, vport.port_no, &stats)) {
        question->found = true;
        *question->answer = (struct netdev_kdp_upcalls) {
            .packets = stats.received + stats.shed,
            .errors = stats.lost,
            .shed = stats.shed,
        };
    }
}

static bool
get_upcalls(const char *name, struct netdev_kdp_upcalls *upcalls)
{
    struct question question = { .name = name, .answer = upcalls };

    kdp_datapaths_for_each(ask_datapath, &question);
    return question.found;
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
    netdev_kdp_upcalls_set_source(get_upcalls);
}
