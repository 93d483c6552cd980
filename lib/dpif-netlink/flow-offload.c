/* SPDX-License-Identifier: Apache-2.0 */

/* Life cycle, settings and ports of offload. */

#include <config.h>
#include "dpif-netlink/flow-offload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "connectivity.h"
#include "dpif-netlink/datapath.h"
#include "hash.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "odp-netlink.h"
#include "offload/offload-info.h"
#include "openvswitch/netdev.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "seq.h"
#include "smap.h"
#include "tc/tc-backend.h"
#include "tc/tc-clean.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_offload);

#define KEY_HW_OFFLOAD "hw-offload"
#define KEY_THREADS "n-offload-threads"
#define KEY_DELAY "offload-delay"
#define KEY_BYTES "offload-bytes"
#define KEY_REBALANCE "offload-rebalance"

/* Longest KEY_DELAY, in ms: flows that live longer than an hour without being
 * offered are not short. */
#define MAX_DELAY 3600000

/* Ports are compared no more often than this, in ms, while devices only
 * change.  That is told for any device or protocol of the daemon, and the
 * comparison goes through all ports; what comes of it, that flows which a
 * device did not take are offered to it again, is not urgent. */
#define LOOK_INTERVAL 500

/* A port that the engine has. */
struct kdp_offload_port {
    struct hmap_node node;      /* In kdp_offload->ports. */
    uint32_t port_no;
    int ifindex;                /* Another one is another port. */
    uint64_t change_seq;        /* Of the netdev, when it was looked at. */
    bool seen;
};

/* Life cycle. */

static struct kdp_offload *
kdp_offload_create(struct kdp_datapath *dp)
{
    const struct offload_config *config = &dp->offload_config.engine;
    struct kdp_offload *offload = xzalloc(sizeof *offload);
    struct offload_kernel kernel_side;
    struct offload_backend backend;
    bool sharing;

    ovs_mutex_lock(&dp->mutex);
    sharing = dp->user_features & OVS_DP_F_TC_RECIRC_SHARING;
    ovs_mutex_unlock(&dp->mutex);

    offload->dp = dp;
    kdp_tc_init(&offload->tc, KDP_DPIF_TYPE, sharing);
    atomic_store_relaxed(&offload->tc.count_headers,
                         dp->offload_config.count_headers);
    hmap_init(&offload->ports);
    atomic_init(&offload->ports_dirty, true);
    atomic_init(&offload->enabled, true);
    kernel_side = kdp_offload_kernel(offload);
    backend = kdp_tc_backend(&offload->tc);
    offload->engine = offload_create(&kernel_side, &backend, config);
    offload_set_chains(offload->engine, sharing);
    VLOG_INFO("%s: flows are offloaded to tc by %u thread%s%s", dp->name,
              config->n_threads, config->n_threads == 1 ? "" : "s",
              sharing ? "" : "; those of recirculation chains stay in the "
              "kernel datapath, which cannot share their ids with tc");
    return offload;
}

/* The offload of 'dp', or NULL. */
struct kdp_offload *
kdp_offload_get(const struct kdp_datapath *dp)
{
    struct kdp_offload *offload;

    /* Consume: what was initialized before kdp_offload_set_config() stored
     * it. */
    atomic_read_explicit(&CONST_CAST(struct kdp_datapath *, dp)->offload,
                         &offload, memory_order_consume);
    return offload;
}

void
kdp_offload_destroy(struct kdp_datapath *dp)
{
    struct kdp_offload *offload = kdp_offload_get(dp);
    struct kdp_offload_port *port;

    if (!offload) {
        return;
    }
    atomic_store_relaxed(&dp->offload, NULL);
    offload_destroy(offload->engine);
    kdp_tc_destroy(&offload->tc);
    HMAP_FOR_EACH_POP (port, node, &offload->ports) {
        free(port);
    }
    hmap_destroy(&offload->ports);
    free(offload);
}

void
kdp_offload_clean_up(struct kdp_datapath *dp)
{
    struct kdp_offload *offload = kdp_offload_get(dp);

    kdp_tc_cleaner_join(dp->offload_config.cleaner, true);
    dp->offload_config.cleaner = NULL;
    if (offload) {
        offload_flush(offload->engine);
        offload_set_enabled(offload->engine, false);
    }
}

/* Settings. */

/* Stores the whole number 'key' of 'config', from 'min' to 'max', in
 * '*value'.  One that is not is logged, unless it was last time, and leaves
 * it. */
static void
config_number(const struct kdp_datapath *dp, const struct smap *config,
              const char *key, unsigned int min, unsigned int max,
              unsigned int deflt, char **last, unsigned int *value)
{
    const char *string = smap_get(config, key);
    unsigned int n;

    if (!string) {
        *value = deflt;
    } else if (str_to_uint(string, 10, &n) && n >= min && n <= max) {
        *value = n;
    } else if (!*last || strcmp(*last, string)) {
        VLOG_WARN("%s: other_config:%s is \"%s\", expected a number from %u "
                  "to %u; going on with %u", dp->name, key, string, min, max,
                  *value);
    }
    free(*last);
    *last = nullable_xstrdup(string);
}

/* Whether the bytes of packets that tc forwards are told with their headers,
 * as the kernel datapath does, or as tc counts them. */
static void
config_bytes(struct kdp_datapath *dp, const struct smap *config)
{
    struct kdp_offload_config *last = &dp->offload_config;
    const char *string = smap_get_def(config, KEY_BYTES, "tc");
    struct kdp_offload *offload = kdp_offload_get(dp);

    if (!strcmp(string, "tc") || !strcmp(string, "datapath")) {
        last->count_headers = !strcmp(string, "datapath");
    } else if (!last->bytes || strcmp(last->bytes, string)) {
        VLOG_WARN("%s: other_config:"KEY_BYTES" is \"%s\", expected \"tc\" or "
                  "\"datapath\"; going on with \"%s\"", dp->name, string,
                  last->count_headers ? "datapath" : "tc");
    }
    free(last->bytes);
    last->bytes = xstrdup(string);
    if (offload) {
        atomic_store_relaxed(&offload->tc.count_headers, last->count_headers);
    }
}

static void
config_engine(struct kdp_datapath *dp, const struct smap *config)
{
    struct kdp_offload_config *last = &dp->offload_config;
    struct offload_config engine_config = last->engine;

    config_number(dp, config, KEY_THREADS, 1, OFFLOAD_MAX_THREADS, 1,
                  &last->threads, &last->engine.n_threads);
    config_number(dp, config, KEY_DELAY, 0, MAX_DELAY, 0, &last->delay,
                  &last->engine.delay);
    if (kdp_offload_get(dp)
        && memcmp(&engine_config, &last->engine, sizeof engine_config)) {
        offload_configure(kdp_offload_get(dp)->engine, &last->engine);
    }
}

void
kdp_offload_set_config(struct kdp_datapath *dp, const struct smap *config)
{
    struct kdp_offload *offload = kdp_offload_get(dp);
    bool enable = smap_get_bool(config, KEY_HW_OFFLOAD, false);
    bool enabled = false;

    config_engine(dp, config);
    config_bytes(dp, config);
    if (offload) {
        atomic_read_relaxed(&offload->enabled, &enabled);
    }
    if (!enable && !dp->offload_config.looked) {
        dp->offload_config.cleaner = kdp_tc_cleaner_start(
            KDP_DPIF_TYPE);
    }
    dp->offload_config.looked = true;
    if (enable && !offload) {
        kdp_tc_cleaner_join(dp->offload_config.cleaner, false);
        dp->offload_config.cleaner = NULL;
        if (smap_get_bool(config, KEY_REBALANCE, false)) {
            VLOG_WARN("%s: other_config:"KEY_REBALANCE" has no effect: flows "
                      "that a full device does not take are offered again "
                      "after a pause", dp->name);
        }
        offload = kdp_offload_create(dp);
        /* Release: see kdp_offload_get(). */
        atomic_store_explicit(&dp->offload, offload, memory_order_release);
    } else if (offload && enable != enabled) {
        VLOG_INFO("%s: offload to tc is turned %s%s", dp->name,
                  enable ? "on" : "off",
                  enable ? "" : "; flows move back to the kernel datapath");
        atomic_store_relaxed(&offload->enabled, enable);
        offload_set_enabled(offload->engine, enable);
    }
}

void
kdp_offload_config_uninit(struct kdp_offload_config *config)
{
    kdp_tc_cleaner_join(config->cleaner, false);
    free(config->threads);
    free(config->delay);
    free(config->bytes);
}

/* Ports. */

static struct kdp_offload_port *
port_find(const struct kdp_offload *offload, uint32_t port_no)
{
    struct kdp_offload_port *port;

    HMAP_FOR_EACH_WITH_HASH (port, node, hash_int(port_no, 0),
                             &offload->ports) {
        if (port->port_no == port_no) {
            return port;
        }
    }
    return NULL;
}

/* A port that Open vSwitch has. */
struct listed {
    uint32_t port_no;
    int ifindex;
    uint64_t change_seq;
};

struct listing {
    struct listed *ports;
    size_t n, allocated;
};

static bool
list_port(struct netdev *netdev, odp_port_t port_no, void *listing_)
{
    struct listing *listing = listing_;
    int ifindex = netdev_get_ifindex(netdev);

    if (ifindex >= 0
        && ovsrcu_get(const struct netdev_flow_api *, &netdev->flow_api)) {
        if (listing->n == listing->allocated) {
            listing->ports = x2nrealloc(listing->ports, &listing->allocated,
                                        sizeof *listing->ports);
        }
        listing->ports[listing->n++] = (struct listed) {
            .port_no = odp_to_u32(port_no),
            .ifindex = ifindex,
            .change_seq = netdev_get_change_seq(netdev),
        };
    }
    return false;
}

static void
remove_port(struct kdp_offload *offload, struct kdp_offload_port *port)
{
    hmap_remove(&offload->ports, &port->node);
    offload_port_del(offload->engine, port->port_no);
    free(port);
}

static void
update_port(struct kdp_offload *offload, const struct listed *listed)
{
    struct kdp_offload_port *port = port_find(offload, listed->port_no);

    if (port && port->ifindex != listed->ifindex) {
        /* Its rules went with the device that it was. */
        remove_port(offload, port);
        port = NULL;
    }
    if (!port) {
        port = xzalloc(sizeof *port);
        port->port_no = listed->port_no;
        port->ifindex = listed->ifindex;
        hmap_insert(&offload->ports, &port->node,
                    hash_int(port->port_no, 0));
        offload_port_add(offload->engine, port->port_no);
    } else if (port->change_seq != listed->change_seq) {
        offload_port_changed(offload->engine, port->port_no);
    }
    port->change_seq = listed->change_seq;
    port->seen = true;
}

/* Compares one port that Open vSwitch has. */
static void
look_at(struct kdp_offload *offload, const struct listed *listed)
{
    struct kdp_offload_port *port;
    struct ovs_vport vport;
    int error;

    error = vport_table_get_by_number(offload->dp->vports, listed->port_no,
                                      &vport);
    if (!error) {
        update_port(offload, listed);
    } else if (error != ENODEV) {
        /* Other datapaths have their ports in the same table, so that it is
         * not known to be one of ours; but one that was may be still. */
        offload->incomplete = true;
        port = port_find(offload, listed->port_no);
        if (port) {
            port->seen = true;
        }
    }
}

/* Makes the ports of the engine those that Open vSwitch has. */
static void
update_ports(struct kdp_offload *offload)
{
    struct listing listing = { .n = 0 };
    struct kdp_offload_port *port;

    offload->seq = seq_read(connectivity_seq_get());
    offload->incomplete = false;
    offload->next_look = time_msec() + LOOK_INTERVAL;
    netdev_ports_traverse(offload->tc.dpif_type, list_port, &listing);
    for (size_t i = 0; i < listing.n; i++) {
        look_at(offload, &listing.ports[i]);
    }
    free(listing.ports);
    HMAP_FOR_EACH_SAFE (port, node, &offload->ports) {
        if (!port->seen) {
            remove_port(offload, port);
        } else {
            port->seen = false;
        }
    }
}

void
kdp_offload_ports_changed(struct kdp_datapath *dp)
{
    struct kdp_offload *offload = kdp_offload_get(dp);

    if (offload) {
        atomic_store_relaxed(&offload->ports_dirty, true);
    }
}

void
kdp_offload_port_del(struct kdp_datapath *dp, uint32_t port_no)
{
    struct kdp_offload *offload = kdp_offload_get(dp);
    struct kdp_offload_port *port = (offload ? port_find(offload, port_no)
                                     : NULL);

    if (port) {
        remove_port(offload, port);
    }
}

/* Is there a reason to compare the ports that can wait a little? */
static bool
may_have_changed(const struct kdp_offload *offload)
{
    return (offload->incomplete
            || offload->seq != seq_read(connectivity_seq_get()));
}

void
kdp_offload_run(struct kdp_datapath *dp)
{
    struct kdp_offload *offload = kdp_offload_get(dp);
    bool dirty;

    if (offload) {
        atomic_read_relaxed(&offload->ports_dirty, &dirty);
        if (dirty || (may_have_changed(offload)
                      && time_msec() >= offload->next_look)) {
            atomic_store_relaxed(&offload->ports_dirty, false);
            update_ports(offload);
        }
    }
}

void
kdp_offload_wait(struct kdp_datapath *dp)
{
    struct kdp_offload *offload = kdp_offload_get(dp);
    bool dirty;

    if (offload) {
        atomic_read_relaxed(&offload->ports_dirty, &dirty);
        if (dirty) {
            poll_immediate_wake();
        } else if (may_have_changed(offload)) {
            poll_timer_wait_until(offload->next_look);
        } else {
            seq_wait(connectivity_seq_get(), offload->seq);
        }
    }
}

/* Statistics. */

int
kdp_offload_stats_get(struct kdp_offload *offload,
                      struct netdev_custom_stats *stats)
{
    struct offload_engine_info *info = xmalloc(sizeof *info);
    struct offload_figure *figures;
    size_t n;

    offload_get_info(offload->engine, info);
    n = offload_figures(info, &figures);
    stats->size = n;
    stats->counters = xcalloc(n, sizeof *stats->counters);
    for (size_t i = 0; i < n; i++) {
        ovs_strlcpy(stats->counters[i].name, figures[i].name,
                    sizeof stats->counters[i].name);
        stats->counters[i].value = figures[i].value;
    }
    free(figures);
    free(info);
    return 0;
}
