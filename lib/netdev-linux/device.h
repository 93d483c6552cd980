/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_DEVICE_H
#define KDP_NETDEV_LINUX_DEVICE_H 1

/* What the files of the providers of Linux network devices share. */

#include <net/if.h>             /* Before those of <linux/>. */
#include <stdbool.h>
#include <stdint.h>

#include "link/link-table.h"
#include "netdev-linux-private.h"
#include "netdev-provider.h"

/* A device of one of our classes.  'up.mutex' guards the members.
 *
 * The stock callbacks answer from the stock structure as long as its
 * 'cache_valid' says that they may, and ask the kernel, under RTNL, when it
 * does not.  So what the link table says is copied there when it changes, and
 * most callbacks can be the stock ones. */
struct netdev_kdp {
    struct netdev_linux up;     /* Must be first: the stock callbacks cast a
                                 * struct netdev to the structure that they
                                 * know it to be in. */
    bool present;               /* 'link' was found in the table... */
    struct link_info link;      /* ...and this is it, or what it was last. */
    struct hmap_node present_node;      /* Among those that are present. */
    bool behind;                /* The device is there and not in the table:
                                 * its event is on its way. */
    int32_t nsid;               /* Namespace to look for it in, before ours. */
    uint64_t carrier_base;      /* Changes of the carrier, by the kernel's
                                 * count, when it was seen first. */
    bool qdisc_settled;         /* Whether there is a root queueing discipline
                                 * to remove was found out. */
    int status_error;           /* Why there is no driver information, if that
                                 * was asked for and is not, or 0. */
};

/* The originals. */
extern const struct netdev_class kdp_stock_netdev_linux_class;
extern const struct netdev_class kdp_stock_netdev_internal_class;
extern const struct netdev_class kdp_stock_netdev_tap_class;
void kdp_stock_netdev_linux_run(const struct netdev_class *);

/* Ours, under the names by which the library knows them. */
extern struct netdev_class kdp_linux_class __asm__("netdev_linux_class");
extern struct netdev_class kdp_internal_class
    __asm__("netdev_internal_class");
extern struct netdev_class kdp_tap_class __asm__("netdev_tap_class");

static inline struct netdev_kdp *
netdev_kdp_cast(const struct netdev *netdev)
{
    return CONTAINER_OF(netdev_linux_cast(netdev), struct netdev_kdp, up);
}

/* True if 'netdev' is of one of our classes. */
bool netdev_is_kdp(const struct netdev *);

/* State of devices: netdev-linux/state.c. */

/* Main thread, once: follows the link table from then on. */
void netdev_kdp_state_init(void);

/* Finds the link that is to be opened as 'name' in our namespace.  Returns
 * false if it is not in the table, or not any more. */
bool netdev_kdp_find_to_open(const char *name, struct link_info *link);

/* To be called when 'dev' was constructed, with what was found then, or NULL,
 * and when it is destructed. */
void netdev_kdp_appear(struct netdev_kdp *dev, const struct link_info *link);
void netdev_kdp_disappear(struct netdev_kdp *dev);

/* Brings 'netdev' up to date if what is known of it is not.  The caller holds
 * no lock. */
void netdev_kdp_settle(const struct netdev *);

/* Statistics: netdev-linux/stats.c. */
int netdev_kdp_get_stats(const struct netdev *, struct netdev_stats *);
int netdev_kdp_tap_get_stats(const struct netdev *, struct netdev_stats *);
int netdev_kdp_internal_get_stats(const struct netdev *,
                                  struct netdev_stats *);

/* Main thread, in each turn of the main loop. */
void netdev_kdp_stats_run(void);

/* Monitoring of links by their MII registers: netdev-linux/mii.c. */
int netdev_kdp_set_miimon_interval(struct netdev *, long long int interval);
void netdev_kdp_mii_run(void);
void netdev_kdp_mii_wait(void);

/* Members of bonds, main thread: netdev-linux/lag.c. */
void netdev_kdp_lag_update(const struct link_change *);

#endif /* lib/netdev-linux/device.h */
