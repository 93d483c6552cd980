/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/datapaths.h"

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/settings.h"
#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/takeover-ports.h"
#include "dpif-netlink/takeover.h"
#include "dpif-netlink/upcall-dest.h"
#include "dpif-netlink/upcall-queues.h"
#include "dpif-netlink/upcall-sync.h"
#include "util.h"

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list datapaths OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&datapaths);

/* Adds the parts of 'dp', from the bottom up. */
static void
create_parts(struct kdp_datapath *dp)
{
    upcall_dests_create(dp);
    socket_budget_create(dp);
    upcall_queues_create(dp);
    upcall_sync_create(dp);
    dispatch_create(dp);
    settings_create(dp);
    kdp_flow_offload_create(dp);
    takeover_create(dp);
    takeover_ports_create(dp);
}

static void
destroy_parts(struct kdp_datapath *dp)
{
    takeover_ports_destroy(dp);
    takeover_destroy(dp);
    kdp_flow_offload_destroy(dp);
    settings_destroy(dp);
    dispatch_destroy(dp);
    upcall_sync_destroy(dp);
    upcall_queues_destroy(dp);
    socket_budget_destroy(dp);
    upcall_dests_destroy(dp);
}

static struct kdp_datapath *
find(const char *name)
    OVS_REQUIRES(mutex)
{
    struct kdp_datapath *dp;

    LIST_FOR_EACH (dp, list_node, &datapaths) {
        if (kdp_datapath_is_current(dp, name)) {
            return dp;
        }
    }
    return NULL;
}

int
kdp_datapaths_open(const char *name, bool create, struct kdp_datapath **dpp)
{
    struct kdp_datapath *dp;
    int error = 0;

    ovs_mutex_lock(&mutex);
    dp = create ? NULL : find(name);
    if (dp) {
        dp->refcount++;
    } else {
        error = kdp_datapath_create(name, create, &dp);
        if (!error) {
            create_parts(dp);
            dp->refcount = 1;
            ovs_list_push_back(&datapaths, &dp->list_node);
        }
    }
    ovs_mutex_unlock(&mutex);
    if (dp) {
        /* The caller may know of a change that this process has not seen
         * yet. */
        vport_table_expire(dp->vports);
    }
    *dpp = dp;
    return error;
}

void
kdp_datapaths_close(struct kdp_datapath *dp)
{
    bool last;

    ovs_mutex_lock(&mutex);
    last = !--dp->refcount;
    if (last) {
        ovs_list_remove(&dp->list_node);
    }
    ovs_mutex_unlock(&mutex);
    if (last) {
        destroy_parts(dp);
        kdp_datapath_destroy(dp);
    }
}

void
kdp_datapaths_for_each(void (*cb)(struct kdp_datapath *, void *aux), void *aux)
{
    struct kdp_datapath *dp;

    ovs_mutex_lock(&mutex);
    LIST_FOR_EACH (dp, list_node, &datapaths) {
        cb(dp, aux);
    }
    ovs_mutex_unlock(&mutex);
}
