/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/links-show.h"

#include <inttypes.h>
#include <stdlib.h>

#include "link/link-addr.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-show.h"
#include "netdev-linux/device-show.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "netdev-linux/links.h"
#include "netdev-linux/route-table-kdp.h"
#include "netdev-linux/rtnl-count.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "unixctl/args.h"
#include "unixctl.h"
#include "util.h"

/* link-table/show. */

static void
show_routes_text(struct ds *s)
{
    struct route_table_kdp_stats stats;

    route_table_kdp_get_stats(&stats);
    ds_put_format(s, "  routes: asked %"PRIu64" (%"PRIu64" us), changes %"PRIu64
                  ", router filled %"PRIu64" (%"PRIu64" us)\n", stats.asked,
                  stats.asked_us, stats.changes, stats.filled,
                  stats.filled_us);
}

static void
show_text(int32_t nsid, struct ds *s)
{
    unsigned long long int notices, foreign;
    uint64_t calls[KDP_N_RTNL_CALLS], usecs[KDP_N_RTNL_CALLS];
    bool any = false;

    link_show_text(kdp_links_listener(), nsid, s);
    if (nsid != LINK_NSID_ALL) {
        return;
    }
    ds_put_format(s, "  local: addresses %"PRIuSIZE
                  ", queueing disciplines %"PRIuSIZE"\n",
                  link_addrs_count(kdp_links_addrs()),
                  link_qdiscs_count(kdp_links_qdiscs()));
    if_notifier_kdp_get_counts(&notices, &foreign);
    ds_put_format(s, "  bridge: told of changes %llu, not told of %llu\n",
                  notices, foreign);
    device_show_text(s);
    show_routes_text(s);
    ds_put_cstr(s, "  calls under RTNL:");
    kdp_rtnl_get_counts(calls);
    kdp_rtnl_get_usecs(usecs);
    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        if (calls[i]) {
            ds_put_format(s, "%s %s %"PRIu64, any ? "," : "",
                          kdp_rtnl_call_name(i), calls[i]);
            any = true;
        }
    }
    ds_put_format(s, "%s  time of calls under RTNL (us):",
                  any ? "\n" : " none\n");
    any = false;
    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        if (usecs[i]) {
            ds_put_format(s, "%s %s %"PRIu64, any ? "," : "",
                          kdp_rtnl_call_name(i), usecs[i]);
            any = true;
        }
    }
    ds_put_cstr(s, any ? "\n" : " none\n");
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
        json_object_put(json, "devices", device_show_json());
        show_routes_json(json);
    }
    return json;
}

/* Replies with an error, and returns false, without links of our own. */
static bool
check_enabled(struct unixctl_conn *conn)
{
    if (!kdp_links_enabled()) {
        unixctl_command_reply_error(conn, "links are not kept: the daemon "
                                    "runs on stock providers, or listening "
                                    "to their events failed");
        return false;
    }
    return true;
}

static void
link_table_show(struct unixctl_conn *conn, int argc, const char *argv[],
                void *aux OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    int32_t nsid = LINK_NSID_ALL;
    const char *netns;
    bool json;
    char *error;

    if (!check_enabled(conn)) {
        return;
    }
    error = show_args_parse(argc, argv, "NETNS", &json, &netns);
    if (!error && netns
        && !link_show_parse_nsid(kdp_links_listener(), netns, &nsid)) {
        error = xasprintf("%s: no network namespace of that id is known; "
                          "expected \"local\" or one of the numbers that "
                          "\"link-table/show\" lists", netns);
    }
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
        return;
    }
    if (json) {
        show_args_put_json(&s, show_json(nsid));
    } else {
        show_text(nsid, &s);
    }
    unixctl_command_reply(conn, ds_cstr(&s));
    ds_destroy(&s);
}

/* link-table/resync. */

static void
link_table_resync(struct unixctl_conn *conn, int argc OVS_UNUSED,
                  const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    if (check_enabled(conn)) {
        link_listener_resync(kdp_links_listener());
        unixctl_command_reply(conn, NULL);
    }
}

void
kdp_links_show_register(void)
{
    unixctl_command_register("link-table/show", "[--format text|json] [NETNS]",
                             0, 3, link_table_show, NULL);
    unixctl_command_register("link-table/resync", "", 0, 0, link_table_resync,
                             NULL);
}
