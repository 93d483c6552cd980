/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/if-notifier-kdp.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "if-notifier.h"
#include "netdev-linux/links.h"
#include "link/link-table.h"
#include "openvswitch/poll-loop.h"
#include "ovs-thread.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

/* The originals. */
struct if_notifier *kdp_stock_if_notifier_create(if_notify_func *, void *aux);
void kdp_stock_if_notifier_destroy(struct if_notifier *);
void kdp_stock_if_notifier_run(void);
void kdp_stock_if_notifier_wait(void);

/* Changes that the bridge's configuration depends on. */
#define CHANGES (LINK_CHANGE_NEW | LINK_CHANGE_GONE | LINK_CHANGE_NAME \
                 | LINK_CHANGE_ALT_NAMES | LINK_CHANGE_MTU             \
                 | LINK_CHANGE_HWADDR | LINK_CHANGE_MASTER             \
                 | LINK_CHANGE_KIND)

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct sset wanted OVS_GUARDED_BY(mutex) = SSET_INITIALIZER(&wanted);

/* These belong to the main thread. */
static if_notify_func *notify_cb;       /* The bridge's, or NULL. */
static void *notify_aux;
static bool changed;                    /* The bridge is to be notified... */
static long long int not_before;        /* ...no earlier than this, in ms. */
static bool refused;                    /* A tunnel was, since the last one. */
static unsigned long long int n_notices;
static unsigned long long int n_foreign;

void
if_notifier_kdp_wanted(const char *name)
{
    ovs_mutex_lock(&mutex);
    sset_add(&wanted, name);
    ovs_mutex_unlock(&mutex);
}

void
if_notifier_kdp_tunnel_refused(void)
{
    refused = true;
}

/* True if 'change' may have freed something that a tunnel of the bridge needs:
 * a UDP port is in use while its device is up.  Devices that Open vSwitch
 * creates and, on failure, removes itself do not count. */
static bool
frees_tunnel(const struct link_change *change)
{
    static const char *const kinds[] = {
        "vxlan", "geneve", "gre", "gretap", "ip6gre", "ip6gretap", "erspan",
        "ip6erspan", "bareudp", "gtp", "lisp", "stt",
    };
    const struct link_info *link = change->link;

    if (link->nsid != LINK_NSID_LOCAL || strstr(link->name, "_sys")
        || !(change->what & LINK_CHANGE_GONE
             || (change->what & LINK_CHANGE_FLAGS
                 && !(link->flags & IFF_UP)))) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (!strcmp(link->kind, kinds[i])) {
            return true;
        }
    }
    return false;
}

void
if_notifier_kdp_changed(const char *name, const struct link_change *change,
                        bool open)
{
    uint32_t what = change->what & CHANGES;

    if (refused && frees_tunnel(change)) {
        refused = false;
        changed = true;
    }
    if (change->link->master) {
        /* The master of a port of ours is the datapath.  A device without a
         * master may be one that the bridge could not get. */
        what &= ~LINK_CHANGE_MASTER;
    }
    if (!what) {
        return;
    }
    ovs_mutex_lock(&mutex);
    if (change->link->nsid == LINK_NSID_LOCAL
        && (open || sset_contains(&wanted, name))) {
        changed = true;
    } else {
        n_foreign++;
    }
    ovs_mutex_unlock(&mutex);
}

void
if_notifier_kdp_outdated(void)
{
    changed = true;
}

/* Forgets the names: the bridge will try again to open what it needs. */
static void
forget_wanted(void)
{
    ovs_mutex_lock(&mutex);
    sset_clear(&wanted);
    ovs_mutex_unlock(&mutex);
}

void
if_notifier_kdp_get_counts(unsigned long long int *notices,
                           unsigned long long int *foreign)
{
    *notices = n_notices;
    *foreign = n_foreign;
}

/* Open vSwitch's interface, which has one user. */

struct if_notifier *
if_notifier_create(if_notify_func *cb, void *aux)
{
    ovs_assert(!notify_cb);
    notify_cb = cb;
    notify_aux = aux;
    return kdp_links_enabled() ? NULL : kdp_stock_if_notifier_create(cb, aux);
}

void
if_notifier_destroy(struct if_notifier *notifier)
{
    if (!kdp_links_enabled()) {
        kdp_stock_if_notifier_destroy(notifier);
    }
    notify_cb = NULL;
}

/* Notifies the bridge, if there is a reason and the interval has passed. */
static void
tell(void)
{
    if (changed && notify_cb && kdp_links_are_idle()
        && time_msec() >= not_before) {
        changed = false;
        not_before = time_msec() + IF_NOTIFIER_INTERVAL;
        n_notices++;
        forget_wanted();
        notify_cb(notify_aux);
    }
}

void
if_notifier_run(void)
{
    if (kdp_links_enabled()) {
        /* Before the bridge looks at its ports, so that it does not find a
         * port gone without a notice about its device. */
        kdp_links_run();
    } else {
        kdp_stock_if_notifier_run();
    }
    tell();
}

void
if_notifier_kdp_catch_up(void)
{
    kdp_links_catch_up();
    tell();
}

void
if_notifier_wait(void)
{
    if (!kdp_links_enabled()) {
        kdp_stock_if_notifier_wait();
    }
    if (changed && notify_cb) {
        /* While events keep arriving, the listener wakes the loop. */
        poll_timer_wait_until(not_before);
    }
}
