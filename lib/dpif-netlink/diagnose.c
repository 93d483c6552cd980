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
#include "offload/offload-info.h"
#include "smap.h"
#include "unixctl/findings.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-diagnose.h"
#include "upcall/upcall-fd-limit.h"
#include "upcall/upcall-rcvbuf.h"
#include "util.h"
#include "vport/vport-show.h"

/* Settings. */

static const struct finding_kind setting_wrong = {
    "setting-wrong",
    "The previous value stays in use, or the default.",
    "Set it to what is expected, or remove it.",
};

static const struct finding_kind setting_unknown = {
    "setting-unknown",
    "The daemon ignores it.",
    "Look for a spelling mistake; ovs-vswitchd-kdp(8) lists the names.",
};

static const struct finding_kind setting_without_effect = {
    "setting-without-effect",
    "The daemon does not do what the configuration seems to ask for.",
    "Remove it, or change the setting that it depends on.",
};

/* One of 'words', which end with NULL, or a number. */
static const struct setting {
    const char *name;
    const char *words[3];
    unsigned int min, max;      /* Range; also 0 if 'zero' is true. */
    bool zero;
    const char *word;           /* Word allowed besides the number, or NULL. */
} settings[] = {
    { .name = "upcall-dispatch", .words = { "per-port", "per-cpu" } },
    { .name = "upcall-engine", .words = { "epoll", "io_uring" } },
    { .name = "upcall-max-sockets", .min = 3, .max = 1000000, .zero = true },
    { .name = "upcall-buffer-max", .min = 16, .max = 1048576 },
    { .name = "upcall-target-delay", .min = 0, .max = 10000 },
    { .name = "upcall-group-size", .min = 1, .max = 64, .word = "auto" },
    { .name = "upcall-port-queues", .min = 1, .max = 64, .word = "auto" },
    { .name = "restart-hold", .min = 0, .max = 3600 },
    { .name = "link-table-netns-entries", .min = 0, .max = 16777216 },
    { .name = "hw-offload", .words = { "true", "false" } },
    { .name = "n-offload-threads", .min = 1, .max = 10 },
    { .name = "offload-delay", .min = 0, .max = 3600000 },
    { .name = "offload-bytes", .words = { "tc", "datapath" } },
    { .name = "offload-rebalance", .words = { "true", "false" } },
    { .name = "n-handler-threads", .min = 0,
      .max = UPCALL_MAX_HANDLERS },
};

/* Prefixes of our names. */
static const char *const prefixes[] = { "upcall-", "link-table-", "offload-" };

static const struct setting *
find_setting(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        if (!strcmp(settings[i].name, name)) {
            return &settings[i];
        }
    }
    return NULL;
}

static void
diagnose_value(const struct setting *setting, const char *value,
               struct findings *findings)
{
    unsigned int n;

    if (setting->words[0]) {
        for (const char *const *word = setting->words; *word; word++) {
            if (!strcmp(*word, value)) {
                return;
            }
        }
        findings_add(findings, &setting_wrong, "other_config:%s is \"%s\", "
                     "expected \"%s\" or \"%s\"", setting->name, value,
                     setting->words[0], setting->words[1]);
    } else if (setting->word && !strcmp(value, setting->word)) {
        return;
    } else if (!str_to_uint(value, 10, &n) || n > setting->max
               || (n < setting->min && !(setting->zero && !n))) {
        findings_add(findings, &setting_wrong, "other_config:%s is \"%s\", "
                     "expected %s%s%s%u to %u", setting->name, value,
                     setting->word ? setting->word : "",
                     setting->word ? " or " : "",
                     setting->zero ? "0 or " : "", setting->min,
                     setting->max);
    }
}

static void
diagnose_names(const struct smap *config, struct findings *findings)
{
    const struct smap_node *node;

    SMAP_FOR_EACH (node, config) {
        const struct setting *setting = find_setting(node->key);

        if (setting) {
            diagnose_value(setting, node->value, findings);
            continue;
        }
        for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
            if (!strncmp(node->key, prefixes[i], strlen(prefixes[i]))) {
                findings_add(findings, &setting_unknown, "other_config:%s is "
                             "not a setting", node->key);
            }
        }
    }
}

static void
diagnose_effects(const struct smap *config, struct findings *findings)
{
    static const char *const of_offload[] = {
        "n-offload-threads", "offload-delay", "offload-bytes",
    };
    static const char *const of_ports[] = {
        "upcall-max-sockets",
    };

    if (!smap_get_bool(config, "hw-offload", false)) {
        for (size_t i = 0; i < ARRAY_SIZE(of_offload); i++) {
            if (smap_get(config, of_offload[i])) {
                findings_add(findings, &setting_without_effect,
                             "other_config:%s is set, and hw-offload is not "
                             "\"true\"", of_offload[i]);
            }
        }
    }
    if (!strcmp(smap_get_def(config, "upcall-dispatch", ""), "per-cpu")) {
        for (size_t i = 0; i < ARRAY_SIZE(of_ports); i++) {
            if (smap_get(config, of_ports[i])) {
                findings_add(findings, &setting_without_effect,
                             "other_config:%s is set, and upcall-dispatch is "
                             "\"per-cpu\"", of_ports[i]);
            }
        }
    }
    if (smap_get_bool(config, "offload-rebalance", false)) {
        findings_add(findings, &setting_without_effect, "other_config:"
                     "offload-rebalance has no effect: flows that a full "
                     "device does not take are offered again after a pause");
    }
}

void
kdp_diagnose_settings(const struct smap *config, struct findings *findings)
{
    diagnose_names(config, findings);
    diagnose_effects(config, findings);
}

/* A datapath as a whole. */

static const struct finding_kind dispatch_changed = {
    "dispatch-changed",
    "Until it is set back, upcalls of all ports share a socket, or go to the "
    "other process and are lost.",
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

void
kdp_diagnose_facts(const struct kdp_diagnose_facts *facts,
                   struct findings *findings)
{
    if (facts->wanted_engine && !strcmp(facts->wanted_engine, "io_uring")
        && strcmp(facts->engine, facts->wanted_engine)) {
        findings_add(findings, &engine_not_used, "%s: upcall-engine is "
                     "\"%s\", and \"%s\" is in use", facts->name,
                     facts->wanted_engine, facts->engine);
    }
    if (facts->n_restored) {
        findings_add(findings, &dispatch_changed, "%s: another process "
                     "changed how upcalls are dispatched %"PRIu64" times",
                     facts->name, facts->n_restored);
    }
    if (facts->offload && !facts->chains) {
        findings_add(findings, &chains_not_offloaded, "%s: the kernel "
                     "datapath cannot share ids of recirculation with tc",
                     facts->name);
    }
}

/* Everything about datapaths. */

/* The settings last passed to the datapaths. */
static struct smap config = SMAP_INITIALIZER(&config);

void
kdp_diagnose_set_config(const struct smap *other_config)
{
    smap_destroy(&config);
    smap_clone(&config, other_config);
}

static void
diagnose_upcalls(struct kdp_datapath *dp, struct kdp_diagnose_facts *facts,
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
    kdp_diagnose_facts(facts, findings);
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
    struct kdp_diagnose_facts facts = {
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
    kdp_diagnose_settings(&config, findings);
    kdp_datapaths_for_each(diagnose_datapath, findings);
}

void
kdp_diagnose_register(void)
{
    findings_register_source(diagnose, NULL);
}
