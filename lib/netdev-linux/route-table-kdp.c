/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/route-table-kdp.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "dpif.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "netdev-linux/links.h"
#include "netlink-notifier.h"
#include "nl/nl-conn.h"
#include "nl/nl-intercept.h"
#include "openvswitch/list.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-router.h"
#include "ovs-thread.h"
#include "ovs/compat-netdev.h"
#include "packets.h"
#include "route-table.h"
#include "sset.h"
#include "timeval.h"
#include "tnl-ports.h"
#include "unixctl/override.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_route_table);

/* The originals. */
uint64_t kdp_stock_route_table_get_change_seq(void);
void kdp_stock_route_table_init(void);
void kdp_stock_route_table_run(void);
void kdp_stock_route_table_wait(void);
bool kdp_stock_ovs_router_lookup(uint32_t mark, const struct in6_addr *dst,
                                 char output[], struct in6_addr *src,
                                 struct in6_addr *gateway);
struct nln_notifier *kdp_stock_nln_notifier_create(struct nln *, int group,
                                                   nln_notify_func *,
                                                   void *aux);
void kdp_stock_nln_run(struct nln *);
void kdp_stock_nln_wait(struct nln *);

/* Changes of a link that change routes or the carrier of a tunnel. */
#define LINK_CHANGES (LINK_CHANGE_NEW | LINK_CHANGE_GONE | LINK_CHANGE_NAME \
                      | LINK_CHANGE_ADDRS | LINK_CHANGE_FLAGS \
                      | LINK_CHANGE_OPERSTATE | LINK_CHANGE_CARRIER)

/* A function of Open vSwitch's module that is to be called after changes. */
struct notifier {
    struct ovs_list node;       /* In 'notifiers'. */
    nln_notify_func *cb;
    void *aux;
};

/* Belong to the main thread.  NULL if Open vSwitch's module does
 * everything. */
static struct link_route_watch *watch;
static struct ovs_list notifiers = OVS_LIST_INITIALIZER(&notifiers);
static bool initialized;                /* Datapaths can be looked up. */
static bool has_run;                    /* In this turn of the main loop. */
static bool stock_initialized;
static bool stale;                      /* The router needs to be filled... */
static long long int fill_at;           /* ...but not before this, in ms. */
static uint64_t n_filled, filled_us;

/* True while the router has the kernel's routes.  The main thread writes. */
static atomic_bool followed = false;

/* Increases when tunnels have to look at their routes again. */
static atomic_uint64_t change_seq;

static struct ovs_mutex ask_mutex = OVS_MUTEX_INITIALIZER;
static struct nl_conn *ask_conn OVS_GUARDED_BY(ask_mutex);
static uint64_t n_asked OVS_GUARDED_BY(ask_mutex);
static uint64_t asked_us OVS_GUARDED_BY(ask_mutex);

static bool
is_followed(void)
{
    bool is;

    atomic_read_relaxed(&followed, &is);
    return is;
}

/* Where Open vSwitch's module gets its events from. */

struct nln_notifier *
nln_notifier_create(struct nln *nln, int group, nln_notify_func *cb,
                    void *aux)
{
    struct notifier *notifier;

    if (!watch) {
        return kdp_stock_nln_notifier_create(nln, group, cb, aux);
    }
    notifier = xmalloc(sizeof *notifier);
    notifier->cb = cb;
    notifier->aux = aux;
    ovs_list_push_back(&notifiers, &notifier->node);

    /* Opaque to the caller, which does not pass it back. */
    return (struct nln_notifier *) notifier;
}

void
nln_run(struct nln *nln)
{
    const struct notifier *notifier;

    if (!watch) {
        kdp_stock_nln_run(nln);
        return;
    }
    LIST_FOR_EACH (notifier, node, &notifiers) {
        notifier->cb(NULL, notifier->aux);
    }
}

void
nln_wait(struct nln *nln)
{
    if (!watch) {
        kdp_stock_nln_wait(nln);
    }
}

/* The router. */

/* Is 'msg' of a dump a route that belongs in the router? */
static bool
is_for_router(const struct ofpbuf *msg)
{
    const struct nlmsghdr *nlh = msg->data;
    const struct rtmsg *rtm = ofpbuf_at(msg, NLMSG_HDRLEN, sizeof *rtm);

    return (nlh->nlmsg_type != RTM_NEWROUTE || !rtm
            || rtm->rtm_table >= RT_TABLE_DEFAULT);
}

static void
fill_router(void)
{
    long long int start = time_usec(), took;

    nl_intercept_replies(ovs_compat_router_has_tables() ? NULL
                         : is_for_router);
    if (stock_initialized) {
        kdp_stock_route_table_run();
    } else {
        stock_initialized = true;
        kdp_stock_route_table_init();
    }
    nl_intercept_replies(NULL);
    took = time_usec() - start;
    stale = false;
    fill_at = time_msec() + took * (ROUTE_TABLE_SHARE - 1) / 1000;
    n_filled++;
    filled_us += took;
}

static void
before_show(void)
{
    if (watch) {
        fill_router();
    }
}

static void
after_show(void)
{
    if (watch && !is_followed()) {
        ovs_compat_router_flush();
    }
}

/* Is there a datapath in user space, which needs routes? */
static bool
has_userspace_datapath(void)
{
    struct sset names = SSET_INITIALIZER(&names);
    bool has;

    dp_enumerate_names("netdev", &names);
    has = !sset_is_empty(&names);
    sset_destroy(&names);
    return has;
}

static void
follow_routes(void)
{
    bool wanted = has_userspace_datapath();

    if (wanted != is_followed()) {
        stale = wanted;
        if (!wanted) {
            ovs_compat_router_flush();
        }
        atomic_store_relaxed(&followed, wanted);
    }
    if (wanted && stale && time_msec() >= fill_at) {
        fill_router();
    }
}

/* Lookups. */

static bool
ask(uint32_t mark, const struct in6_addr *dst, const struct in6_addr *src,
    struct link_route *route)
{
    int error = ENOTCONN;

    ovs_mutex_lock(&ask_mutex);
    if (ask_conn) {
        long long int start = time_usec();

        error = link_route_ask(ask_conn, mark, dst, src, route);
        asked_us += time_usec() - start;
        n_asked++;
    }
    ovs_mutex_unlock(&ask_mutex);
    return !error;
}

bool
ovs_router_lookup(uint32_t mark, const struct in6_addr *dst, char output[],
                  struct in6_addr *src, struct in6_addr *gateway)
{
    bool any_src = !src || !ipv6_addr_is_set(src);
    struct link_route route;
    struct link_info link;

    if (kdp_stock_ovs_router_lookup(mark, dst, output, src, gateway)) {
        return true;
    } else if (!kdp_links_enabled() || is_followed()
               || !ask(mark, dst, any_src ? NULL : src, &route)
               || !link_table_find(kdp_links_table(), LINK_NSID_LOCAL,
                                   route.ifindex, &link)) {
        return false;
    }
    ovs_strlcpy(output, link.name, IFNAMSIZ);
    *gateway = route.gateway;
    if (src && any_src) {
        *src = route.source;
    }
    return true;
}

/* Replacements of the functions of Open vSwitch's module. */

uint64_t
route_table_get_change_seq(void)
{
    uint64_t seq;

    atomic_read_relaxed(&change_seq, &seq);
    return seq + kdp_stock_route_table_get_change_seq();
}

static void
link_changed(const struct link_change *change, void *aux OVS_UNUSED)
{
    link_route_watch_note(watch);
    if (change->what & LINK_CHANGE_GONE) {
        tnl_port_map_delete_ipdev(change->link->name);
    }
}

void
route_table_kdp_register(void)
{
    struct nl_conn *conn;
    int error;

    if (!kdp_links_enabled()) {
        return;
    }
    error = nl_conn_open(NETLINK_ROUTE, &conn);
    if (!error) {
        error = link_route_watch_open(&watch);
    }
    if (error) {
        VLOG_WARN("listening to changes of routes failed (%s); all routes are "
                  "read again after each change", ovs_strerror(error));
        nl_conn_close(conn);
        return;
    }
    ovs_mutex_lock(&ask_mutex);
    ask_conn = conn;
    ovs_mutex_unlock(&ask_mutex);
    link_table_subscribe(kdp_links_table(), LINK_NSID_LOCAL, LINK_CHANGES,
                         link_changed, NULL);
    unixctl_override_around("ovs/route/show", before_show, after_show);
    unixctl_override_around("ovs/route/rule/show", before_show, after_show);
}

void
route_table_init(void)
{
    if (watch) {
        ovs_router_init();
        initialized = true;
    } else {
        kdp_stock_route_table_init();
    }
}

void
route_table_run(void)
{
    if (!watch) {
        kdp_stock_route_table_run();
        return;
    }
    if (!initialized || has_run) {
        /* It is called for each type of tunnel. */
        return;
    }
    has_run = true;
    if (link_route_watch_run(watch)) {
        uint64_t orig;

        atomic_add_relaxed(&change_seq, 1, &orig);
        stale = true;
    }
    follow_routes();
}

void
route_table_wait(void)
{
    if (!watch) {
        kdp_stock_route_table_wait();
        return;
    }
    has_run = false;
    link_route_watch_wait(watch);
    if (is_followed() && stale) {
        poll_timer_wait_until(fill_at);
    }
}

void
route_table_kdp_get_stats(struct route_table_kdp_stats *stats)
{
    atomic_read_relaxed(&change_seq, &stats->changes);
    stats->filled = n_filled;
    stats->filled_us = filled_us;
    ovs_mutex_lock(&ask_mutex);
    stats->asked = n_asked;
    stats->asked_us = asked_us;
    ovs_mutex_unlock(&ask_mutex);
}
