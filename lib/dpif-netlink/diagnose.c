/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/diagnose.h"

#include <stdlib.h>

#include "dpif-netlink/datapath-diagnose.h"
#include "dpif-netlink/datapath.h"
#include "dpif-netlink/datapaths.h"
#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/settings-diagnose.h"
#include "offload/offload-diagnose.h"
#include "offload/offload-info.h"
#include "smap.h"
#include "unixctl/findings.h"
#include "upcall/upcall-diagnose.h"
#include "upcall/upcall-fd-limit.h"
#include "upcall/upcall-rcvbuf.h"
#include "util.h"
#include "vport/vport-diagnose.h"

/* The settings last passed to the datapaths. */
static struct smap config = SMAP_INITIALIZER(&config);

void
kdp_diagnose_set_config(const struct smap *other_config)
{
    smap_destroy(&config);
    smap_clone(&config, other_config);
}

static void
diagnose_upcalls(struct kdp_datapath *dp, struct datapath_facts *facts,
                 struct findings *findings)
{
    struct upcall_limits limits = {
        .max_channels = upcall_fd_limit_max_channels(),
        .n_clamped = upcall_rcvbuf_n_clamped(),
    };
    struct upcall_table_info info;

    upcall_store_get_info(&limits.store);
    upcall_table_get_info(dp->upcalls, &info);
    upcall_diagnose(&info, &limits, findings);
    facts->engine = info.engine;
    datapath_diagnose(facts, findings);
    upcall_table_info_uninit(&info);
}

static void
diagnose_offload(const char *name, struct kdp_flow_engine *engine,
                 struct findings *findings)
{
    struct offload_engine_info *info = xmalloc(sizeof *info);

    offload_get_info(engine->offload, info);
    offload_diagnose(name, info, findings);
    free(info);
}

static void
diagnose_datapath(struct kdp_datapath *dp, void *findings_)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct datapath_facts facts = {
        .name = dp->name,
        .wanted_engine = smap_get(&config, "upcall-engine"),
    };
    struct findings *findings = findings_;
    struct vport_table_info info;

    ovs_mutex_lock(&dp->mutex);
    facts.n_restored = dispatch_n_restored(dp);
    ovs_mutex_unlock(&dp->mutex);
    if (engine) {
        atomic_read_relaxed(&engine->enabled, &facts.offload);
        facts.chains = engine->tc.recirc_sharing;
    }
    diagnose_upcalls(dp, &facts, findings);

    vport_table_get_info(dp->vports, &info);
    vport_diagnose(&info, findings);
    vport_table_info_uninit(&info);
    if (engine) {
        diagnose_offload(dp->name, engine, findings);
    }
}

static void
diagnose(struct findings *findings, void *aux OVS_UNUSED)
{
    settings_diagnose(&config, findings);
    kdp_datapaths_for_each(diagnose_datapath, findings);
}

void
kdp_diagnose_register(void)
{
    findings_register_source(diagnose, NULL);
}
