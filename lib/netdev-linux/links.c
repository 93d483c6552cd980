/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/links.h"

#include <stdlib.h>
#include <string.h>

#include "link/link-addr.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "simap.h"
#include "smap.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_links);

#define KEY_NETNS_ENTRIES "link-table-netns-entries"

static struct link_table *table;
static struct link_addrs *addrs;
static struct link_qdiscs *qdiscs;
static struct link_listener *listener;
static unsigned int main_thread;        /* ovsthread_id_self() of it. */

/* The last value of KEY_NETNS_ENTRIES that was examined, and the number in
 * use.  These belong to the main thread. */
static char *config_entries;
static unsigned int n_entries;

int
kdp_links_init(void)
{
    struct link_listener_options options = { .on_demand = true };
    int error;

    ovs_assert(!listener);
    table = link_table_create();
    addrs = options.addrs = link_addrs_create();
    qdiscs = options.qdiscs = link_qdiscs_create();
    error = link_listener_open(table, &options, &listener);
    if (error) {
        link_table_destroy(table);
        link_addrs_destroy(addrs);
        link_qdiscs_destroy(qdiscs);
        table = NULL;
        addrs = NULL;
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
    return !listener || link_listener_own_is_idle(listener);
}

bool
kdp_links_catch_up(void)
{
    /* A subscriber may call this in the middle of a message or of a dump. */
    return (kdp_links_is_main() && !link_table_is_notifying(table)
            && link_listener_catch_up(listener));
}

struct link_listener *
kdp_links_listener(void)
{
    return listener;
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

struct link_qdiscs *
kdp_links_qdiscs(void)
{
    return qdiscs;
}

void
kdp_links_follow_qdiscs(bool follow)
{
    if (listener) {
        link_listener_follow_qdiscs(listener, follow);
    }
}

void
kdp_links_get_memory_usage(struct simap *usage)
{
    struct link_ns_info *namespaces;
    size_t n;

    if (!listener) {
        return;
    }
    namespaces = link_table_get_namespaces(table, &n);
    simap_increase(usage, "link namespaces", n);
    for (size_t i = 0; i < n; i++) {
        simap_increase(usage, "links", namespaces[i].n_links);
    }
    free(namespaces);
    simap_increase(usage, "link addresses", link_addrs_count(addrs));
    simap_increase(usage, "link qdiscs", link_qdiscs_count(qdiscs));
}

void
kdp_links_set_config(const struct smap *other_config)
{
    const char *value = smap_get_def(other_config, KEY_NETNS_ENTRIES, "0");
    unsigned int n;

    /* A value is examined once, so that a wrong one is reported once. */
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
