/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/links-show.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-addr.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-show.h"
#include "link/link-table.h"
#include "netdev-linux/device.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "netdev-linux/links.h"
#include "netdev-linux/route-table-kdp.h"
#include "netdev-linux/rtnl-count.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "svec.h"
#include "timeval.h"
#include "unixctl.h"
#include "unixctl/args.h"
#include "unixctl/findings.h"
#include "util.h"

/* Devices. */

enum { ELSEWHERE, ABSENT, BEHIND, N_LISTS };
static const char *const list_names[N_LISTS] = {
    "elsewhere", "absent", "behind",
};

struct devices {
    size_t n;
    struct svec lists[N_LISTS];
};

/* True if the link has another state in the table, or is not there. */
static bool
device_is_behind(const struct link_info *link)
{
    struct link_info now;

    return (!link_table_find(kdp_links_table(), link->nsid, link->ifindex,
                             &now)
            || now.change_seqno != link->change_seqno);
}

static void
device_classify(const struct netdev *netdev, struct devices *devices)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    const char *name = netdev_get_name(netdev);

    ovs_mutex_lock(&dev->up.mutex);
    bool unresolved = dev->unresolved;
    bool present = dev->present;
    struct link_info link = dev->link;
    ovs_mutex_unlock(&dev->up.mutex);

    devices->n++;
    if (present && link.nsid != LINK_NSID_LOCAL) {
        svec_add_nocopy(&devices->lists[ELSEWHERE],
                        xasprintf("%s (%"PRId32")", name, link.nsid));
    }
    if (unresolved || (present && device_is_behind(&link))) {
        svec_add(&devices->lists[BEHIND], name);
    } else if (!present) {
        svec_add(&devices->lists[ABSENT], name);
    }
}

static void
devices_init(struct devices *devices)
{
    const struct netdev_class *classes[] = {
        &kdp_linux_class, &kdp_internal_class, &kdp_tap_class,
    };

    memset(devices, 0, sizeof *devices);
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        struct shash netdevs = SHASH_INITIALIZER(&netdevs);
        struct shash_node *node;

        netdev_get_devices(classes[i], &netdevs);
        SHASH_FOR_EACH (node, &netdevs) {
            device_classify(node->data, devices);
            netdev_close(node->data);
        }
        shash_destroy(&netdevs);
    }
    for (size_t i = 0; i < N_LISTS; i++) {
        svec_sort(&devices->lists[i]);
    }
}

static void
devices_uninit(struct devices *devices)
{
    for (size_t i = 0; i < N_LISTS; i++) {
        svec_destroy(&devices->lists[i]);
    }
}

void
links_show_devices_text(struct ds *s)
{
    struct devices devices;

    devices_init(&devices);
    ds_put_format(s, "  devices: open %"PRIuSIZE, devices.n);
    for (size_t i = 0; i < N_LISTS; i++) {
        char *names = svec_join(&devices.lists[i], " ", "");

        ds_put_format(s, ", %s %s", list_names[i], *names ? names : "none");
        free(names);
    }
    ds_put_char(s, '\n');
    devices_uninit(&devices);
}

struct json *
links_show_devices_json(void)
{
    struct json *json = json_object_create();
    struct devices devices;

    devices_init(&devices);
    json_object_put(json, "open", json_integer_create(devices.n));
    for (size_t i = 0; i < N_LISTS; i++) {
        struct json *array = json_array_create_empty();
        const char *name;
        size_t j;

        SVEC_FOR_EACH (j, name, &devices.lists[i]) {
            json_array_add(array, json_string_create(name));
        }
        json_object_put(json, list_names[i], array);
    }
    devices_uninit(&devices);
    return json;
}

/* link-table/show. */

static void
show_routes_text(struct ds *s)
{
    struct route_table_kdp_stats stats;

    route_table_kdp_get_stats(&stats);
    ds_put_format(s, "  routes: asked %"PRIu64" (%"PRIu64" us), changes %"
                  PRIu64", router filled %"PRIu64" (%"PRIu64" us)\n",
                  stats.asked, stats.asked_us, stats.changes, stats.filled,
                  stats.filled_us);
}

static void
show_calls_text(const char *what, const uint64_t values[], struct ds *s)
{
    bool any = false;

    ds_put_format(s, "  %s:", what);
    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        if (values[i]) {
            ds_put_format(s, "%s %s %"PRIu64, any ? "," : "",
                          kdp_rtnl_call_name(i), values[i]);
            any = true;
        }
    }
    ds_put_cstr(s, any ? "\n" : " none\n");
}

static void
show_text(int32_t nsid, struct ds *s)
{
    unsigned long long int notices, foreign;
    uint64_t calls[KDP_N_RTNL_CALLS], usecs[KDP_N_RTNL_CALLS];

    link_show_text(kdp_links_listener(), nsid, s);
    if (nsid != LINK_NSID_ALL) {
        return;
    }
    ds_put_format(s, "  local: addresses %"PRIuSIZE
                  ", queueing disciplines %"PRIuSIZE"\n",
                  link_addrs_count(kdp_links_addrs()),
                  link_qdiscs_count(kdp_links_qdiscs()));
    if_notifier_kdp_get_counts(&notices, &foreign);
    ds_put_format(s, "  bridge: notified of changes %llu, not of %llu\n",
                  notices, foreign);
    links_show_devices_text(s);
    show_routes_text(s);
    kdp_rtnl_get_counts(calls);
    kdp_rtnl_get_usecs(usecs);
    show_calls_text("calls under RTNL", calls, s);
    show_calls_text("time of calls under RTNL (us)", usecs, s);
}

static void
put_count(struct json *json, const char *name, uint64_t count)
{
    json_object_put(json, name, json_integer_create(count));
}

static void
show_routes_json(struct json *json)
{
    struct json *routes = json_object_create();
    struct route_table_kdp_stats stats;

    route_table_kdp_get_stats(&stats);
    put_count(routes, "asked", stats.asked);
    put_count(routes, "asked_us", stats.asked_us);
    put_count(routes, "changes", stats.changes);
    put_count(routes, "filled", stats.filled);
    put_count(routes, "filled_us", stats.filled_us);
    json_object_put(json, "routes", routes);
}

static struct json *
show_json(int32_t nsid)
{
    struct json *json = link_show_json(kdp_links_listener(), nsid);
    unsigned long long int notices, foreign;
    uint64_t counts[KDP_N_RTNL_CALLS], usecs[KDP_N_RTNL_CALLS];
    struct json *calls, *times;

    if (nsid == LINK_NSID_ALL) {
        if_notifier_kdp_get_counts(&notices, &foreign);
        put_count(json, "bridge_told", notices);
        put_count(json, "bridge_not_told", foreign);
        put_count(json, "addresses", link_addrs_count(kdp_links_addrs()));
        put_count(json, "qdiscs", link_qdiscs_count(kdp_links_qdiscs()));
        kdp_rtnl_get_counts(counts);
        kdp_rtnl_get_usecs(usecs);
        calls = json_object_create();
        times = json_object_create();
        for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
            put_count(calls, kdp_rtnl_call_name(i), counts[i]);
            put_count(times, kdp_rtnl_call_name(i), usecs[i]);
        }
        json_object_put(json, "rtnl_calls", calls);
        json_object_put(json, "rtnl_calls_us", times);
        json_object_put(json, "devices", links_show_devices_json());
        show_routes_json(json);
    }
    return json;
}

/* Without links of our own, returns an error message that the caller must
 * free. */
static char *
check_enabled(void)
{
    return (kdp_links_enabled() ? NULL
            : xstrdup("links are not kept: the daemon runs on stock "
                      "providers, or listening to their events failed"));
}

static char *
link_table_show(const char *netns, struct ds *text, struct json **json,
                void *aux OVS_UNUSED)
{
    int32_t nsid = LINK_NSID_ALL;
    char *error = check_enabled();

    if (!error && netns
        && !link_show_parse_nsid(kdp_links_listener(), netns, &nsid)) {
        error = xasprintf("%s: no network namespace of that id is known; "
                          "expected \"local\" or one of the numbers that "
                          "\"link-table/show\" lists", netns);
    }
    if (!error && json) {
        *json = show_json(nsid);
    } else if (!error) {
        show_text(nsid, text);
    }
    return error;
}

/* link-table/resync. */

static void
link_table_resync(struct unixctl_conn *conn, int argc OVS_UNUSED,
                  const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    char *error = check_enabled();

    if (error) {
        unixctl_command_reply_error(conn, error);
    } else {
        link_listener_resync(kdp_links_listener());
        unixctl_command_reply(conn, NULL);
    }
    free(error);
}

void
kdp_links_show_register(void)
{
    show_args_register("link-table/show", "[--format text|json] [NETNS]",
                       "NETNS", link_table_show, NULL);
    unixctl_command_register("link-table/resync", "", 0, 0, link_table_resync,
                             NULL);
}

/* Findings. */

/* Losses that are worth reporting: bursts of new devices cause a few. */
#define MANY_LOSSES 10

/* Most namespaces that are named. */
#define MAX_NAMESPACES 5

static const struct finding_kind table_not_current = {
    "link-table-not-current",
    "State, addresses and statistics of devices there may be wrong.",
    "ovs-appctl link-table/resync asks again; the log says why it failed.",
};

static const struct finding_kind events_lost = {
    "link-events-lost",
    "All devices are listed again each time, under the RTNL lock.",
    "Look for what makes so many changes (\"ip monitor\"), and for what keeps "
    "the main loop (\"Unreasonably long\" in the log).",
};

void
kdp_links_diagnose_tables(const struct link_listener_stats *stats,
                          const struct link_ns_info *ns, size_t n,
                          struct findings *findings)
{
    size_t n_stale = 0;

    for (size_t i = 0; i < n; i++) {
        if (ns[i].state == LINK_NS_STALE && n_stale++ < MAX_NAMESPACES) {
            char *name = link_nsid_to_string(ns[i].nsid);

            findings_add(findings, &table_not_current, "network namespace %s: "
                         "its devices could not be listed (%s)", name,
                         ovs_strerror(ns[i].error));
            free(name);
        }
    }
    if (n_stale > MAX_NAMESPACES) {
        findings_add(findings, &table_not_current, "%"PRIuSIZE" more network "
                     "namespaces", n_stale - MAX_NAMESPACES);
    }
    if (stats->overruns >= MANY_LOSSES) {
        findings_add(findings, &events_lost, "link events were lost %"PRIu64
                     " times (%"PRIu64" events)", stats->overruns,
                     stats->lost);
    }
}

/* Calls per second, on average, that are worth reporting.  There are none in
 * steady state, and each may wait for as long as another process holds the
 * lock. */
#define MANY_CALLS 1

/* Seconds before the average means anything: ports are added at the start. */
#define MIN_SECONDS 60

/* Most kinds of calls that are named. */
#define MAX_KINDS 3

static const struct finding_kind rtnl_busy = {
    "rtnl-busy",
    "Each call may wait for another process that holds the kernel's RTNL "
    "lock.",
    "Look for what makes these calls: ports that come and go, MII monitoring "
    "of bonds, controllers that set QoS again.",
};

/* Returns the most frequent kind that is not in 'named' yet, or
 * KDP_N_RTNL_CALLS if there is none. */
static enum kdp_rtnl_call
most_frequent(const uint64_t counts[KDP_N_RTNL_CALLS],
              const bool named[KDP_N_RTNL_CALLS])
{
    enum kdp_rtnl_call best = KDP_N_RTNL_CALLS;

    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        if (!named[i] && counts[i]
            && (best == KDP_N_RTNL_CALLS || counts[i] > counts[best])) {
            best = i;
        }
    }
    return best;
}

void
kdp_links_diagnose_rtnl(const uint64_t counts[KDP_N_RTNL_CALLS],
                        unsigned int seconds, struct findings *findings)
{
    /* Audits are left out: one every few seconds for each device with offload
     * is unavoidable and holds the lock for microseconds only. */
    bool named[KDP_N_RTNL_CALLS] = { [KDP_RTNL_TC_AUDIT] = true };
    struct ds kinds = DS_EMPTY_INITIALIZER;
    uint64_t total = 0;

    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        total += named[i] ? 0 : counts[i];
    }
    if (seconds >= MIN_SECONDS && total / seconds >= MANY_CALLS) {
        for (int i = 0; i < MAX_KINDS; i++) {
            enum kdp_rtnl_call call = most_frequent(counts, named);

            if (call == KDP_N_RTNL_CALLS) {
                break;
            }
            named[call] = true;
            ds_put_format(&kinds, "%s%s %"PRIu64, i ? ", " : "",
                          kdp_rtnl_call_name(call), counts[call]);
        }
        findings_add(findings, &rtnl_busy, "%"PRIu64" calls took the RTNL "
                     "lock in %u s, most of them to: %s", total, seconds,
                     ds_cstr(&kinds));
    }
    ds_destroy(&kinds);
}

static void
diagnose(struct findings *findings, void *aux OVS_UNUSED)
{
    uint64_t calls[KDP_N_RTNL_CALLS];
    struct link_listener_stats stats;
    struct link_ns_info *ns;
    size_t n;

    if (!kdp_links_enabled()) {
        return;
    }
    link_listener_get_stats(kdp_links_listener(), &stats);
    ns = link_table_get_namespaces(kdp_links_table(), &n);
    kdp_links_diagnose_tables(&stats, ns, n, findings);
    free(ns);

    kdp_rtnl_get_counts(calls);
    kdp_links_diagnose_rtnl(calls, (time_msec() - time_boot_msec()) / 1000,
                            findings);
}

void
kdp_links_diagnose_register(void)
{
    findings_register_source(diagnose, NULL);
}
