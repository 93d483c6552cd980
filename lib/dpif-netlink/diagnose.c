/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/diagnose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static const struct finding_kind dispatch_changed = {
    "dispatch-changed",
    "Until it is set back, upcalls go where nobody reads, and are lost.",
    "Find the process: a second ovs-vswitchd, or ovs-dpctl, on this "
    "datapath.",
};

static const struct finding_kind engine_not_used = {
    "engine-not-used",
    "The kernel lacks what the engine needs; upcalls are served all the same.",
    "io_uring needs Linux 6.0 and must not be switched off "
    "(kernel.io_uring_disabled).",
};

static const struct finding_kind chains_not_offloaded = {
    "offload-chains-missing",
    "Flows that recirculate, such as those with connection tracking, stay in "
    "the kernel datapath.",
    "Needs a kernel with CONFIG_NET_TC_SKB_EXT.",
};

/* The settings that datapaths were given last. */
static struct smap config = SMAP_INITIALIZER(&config);

void
kdp_diagnose_set_config(const struct smap *other_config)
{
    smap_destroy(&config);
    smap_clone(&config, other_config);
}

static void
diagnose_upcalls(struct kdp_datapath *dp, struct findings *findings)
{
    const struct upcall_limits limits = {
        .max_channels = upcall_fd_limit_max_channels(),
        .n_clamped = upcall_rcvbuf_n_clamped(),
    };
    const char *engine = smap_get(&config, "upcall-engine");
    struct upcall_table_info info;
    uint64_t n_restored;

    upcall_table_get_info(dp->upcalls, &info);
    upcall_diagnose(&info, &limits, findings);
    if (engine && !strcmp(engine, "io_uring") && strcmp(info.engine, engine)) {
        findings_add(findings, &engine_not_used, "%s: upcall-engine is "
                     "\"%s\", and \"%s\" is in use", dp->name, engine,
                     info.engine);
    }
    upcall_table_info_uninit(&info);

    ovs_mutex_lock(&dp->mutex);
    n_restored = dispatch_n_restored(dp);
    ovs_mutex_unlock(&dp->mutex);
    if (n_restored) {
        findings_add(findings, &dispatch_changed, "%s: another process "
                     "changed how upcalls are dispatched %"PRIu64" times",
                     dp->name, n_restored);
    }
}

static void
diagnose_offload(const struct kdp_datapath *dp, struct findings *findings)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct offload_engine_info *info;
    bool enabled;

    if (!engine) {
        return;
    }
    atomic_read_relaxed(&engine->enabled, &enabled);
    if (enabled && !engine->tc.recirc_sharing) {
        findings_add(findings, &chains_not_offloaded, "%s: the kernel "
                     "datapath cannot share ids of recirculation with tc",
                     dp->name);
    }
    info = xmalloc(sizeof *info);
    offload_get_info(engine->offload, info);
    offload_diagnose(dp->name, info, findings);
    free(info);
}

static void
diagnose_datapath(struct kdp_datapath *dp, void *findings_)
{
    struct findings *findings = findings_;
    struct vport_table_info info;

    diagnose_upcalls(dp, findings);
    vport_table_get_info(dp->vports, &info);
    vport_diagnose(&info, findings);
    vport_table_info_uninit(&info);
    diagnose_offload(dp, findings);
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
