/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/links.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "netdev-linux/if-notifier-kdp.h"
#include "link/link-addr.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-route.h"
#include "link/link-show.h"
#include "link/link-table.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "smap.h"
#include "unixctl/args.h"
#include "unixctl.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_links);

#define KEY_NETNS_ENTRIES "link-table-netns-entries"

static struct link_table *table;
static struct link_addrs *addrs;
static struct link_routes *routes;
static struct link_qdiscs *qdiscs;
static struct link_listener *listener;
static unsigned int main_thread;        /* ovsthread_id_self() of it. */

/* The main thread's: value of KEY_NETNS_ENTRIES that was looked at last, and
 * the number in use. */
static char *config_entries;
static unsigned int n_entries;

static atomic_uint64_t rtnl_calls[KDP_N_RTNL_CALLS];

int
kdp_links_init(void)
{
    struct link_listener_options options = { .rcvbuf = 0 };
    int error;

    ovs_assert(!listener);
    table = link_table_create();
    addrs = options.addrs = link_addrs_create();
    routes = options.routes = link_routes_create();
    qdiscs = options.qdiscs = link_qdiscs_create();
    error = link_listener_open(table, &options, &listener);
    if (error) {
        link_table_destroy(table);
        link_addrs_destroy(addrs);
        link_routes_destroy(routes);
        link_qdiscs_destroy(qdiscs);
        table = NULL;
        addrs = NULL;
        routes = NULL;
        qdiscs = NULL;
        return error;
    }
    main_thread = ovsthread_id_self();
    link_listener_catch_up(listener);
    return 0;
}

bool
kdp_links_enabled(void)
{
    return listener != NULL;
}

bool
kdp_links_is_main(void)
{
    return listener && ovsthread_id_self() == main_thread;
}

void
kdp_links_run(void)
{
    if (listener) {
        link_listener_run(listener);
    }
}

void
kdp_links_wait(void)
{
    if (listener) {
        link_listener_wait(listener);
    }
}

bool
kdp_links_are_idle(void)
{
    return !listener || link_listener_is_idle(listener);
}

bool
kdp_links_catch_up(void)
{
    /* What a subscriber calls may ask for it, in the middle of a message, or
     * of a list of links. */
    return (kdp_links_is_main() && !link_table_is_notifying(table)
            && link_listener_catch_up(listener));
}

struct link_table *
kdp_links_table(void)
{
    return table;
}

struct link_addrs *
kdp_links_addrs(void)
{
    return addrs;
}

struct link_routes *
kdp_links_routes(void)
{
    return routes;
}

struct link_qdiscs *
kdp_links_qdiscs(void)
{
    return qdiscs;
}

void
kdp_links_set_config(const struct smap *other_config)
{
    const char *value = smap_get_def(other_config, KEY_NETNS_ENTRIES, "0");
    unsigned int n;

    /* A value is looked at once, so that a wrong one is reported once. */
    if (!listener || (config_entries && !strcmp(config_entries, value))) {
        return;
    }
    free(config_entries);
    config_entries = xstrdup(value);
    if (!str_to_uint(value, 10, &n) || n > LINK_BUCKETS_MAX) {
        VLOG_WARN("other_config:"KEY_NETNS_ENTRIES" is \"%s\", expected 0 "
                  "(namespaces share a table) to %u; going on with %u",
                  value, LINK_BUCKETS_MAX, n_entries);
    } else if (n != n_entries) {
        n_entries = n;
        link_table_set_buckets(table, n);
    }
}

/* Calls that take the RTNL lock. */

static const char *
rtnl_call_name(enum kdp_rtnl_call call)
{
    static const char *const names[] = {
#define KDP_RTNL_CALL(ENUM, NAME) [KDP_RTNL_##ENUM] = NAME,
        KDP_RTNL_CALLS
#undef KDP_RTNL_CALL
    };

    return names[call];
}

void
kdp_rtnl_count(enum kdp_rtnl_call call)
{
    uint64_t orig;

    atomic_add_relaxed(&rtnl_calls[call], 1, &orig);
}

static uint64_t
rtnl_get_count(enum kdp_rtnl_call call)
{
    uint64_t n;

    atomic_read_relaxed(&rtnl_calls[call], &n);
    return n;
}

/* link-table/show. */

static void
show_text(int32_t nsid, struct ds *s)
{
    unsigned long long int notices, foreign;
    bool any = false;

    link_show_text(listener, nsid, s);
    if (nsid != LINK_NSID_ALL) {
        return;
    }
    ds_put_format(s, "  local: addresses %"PRIuSIZE", routes %"PRIuSIZE
                  ", queueing disciplines %"PRIuSIZE"\n",
                  link_addrs_count(addrs), link_routes_count(routes),
                  link_qdiscs_count(qdiscs));
    if_notifier_kdp_get_counts(&notices, &foreign);
    ds_put_format(s, "  bridge: told of changes %llu, not told of %llu\n",
                  notices, foreign);
    ds_put_cstr(s, "  calls under RTNL:");
    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        if (rtnl_get_count(i)) {
            ds_put_format(s, "%s %s %"PRIu64, any ? "," : "",
                          rtnl_call_name(i), rtnl_get_count(i));
            any = true;
        }
    }
    ds_put_cstr(s, any ? "\n" : " none\n");
}

static struct json *
show_json(int32_t nsid)
{
    struct json *json = link_show_json(listener, nsid);
    unsigned long long int notices, foreign;
    struct json *calls;

    if (nsid == LINK_NSID_ALL) {
        if_notifier_kdp_get_counts(&notices, &foreign);
        json_object_put(json, "bridge_told", json_integer_create(notices));
        json_object_put(json, "bridge_not_told",
                        json_integer_create(foreign));
        json_object_put(json, "addresses",
                        json_integer_create(link_addrs_count(addrs)));
        json_object_put(json, "routes",
                        json_integer_create(link_routes_count(routes)));
        json_object_put(json, "qdiscs",
                        json_integer_create(link_qdiscs_count(qdiscs)));
        calls = json_object_create();
        for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
            json_object_put(calls, rtnl_call_name(i),
                            json_integer_create(rtnl_get_count(i)));
        }
        json_object_put(json, "rtnl_calls", calls);
    }
    return json;
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

    if (!listener) {
        unixctl_command_reply_error(conn, "links are not kept: the daemon "
                                    "runs on stock providers, or listening "
                                    "to their events failed");
        return;
    }
    error = show_args_parse(argc, argv, "NETNS", &json, &netns);
    if (!error && netns && !link_show_parse_nsid(listener, netns, &nsid)) {
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

void
kdp_links_show_register(void)
{
    unixctl_command_register("link-table/show", "[--format text|json] [NETNS]",
                             0, 3, link_table_show, NULL);
}
