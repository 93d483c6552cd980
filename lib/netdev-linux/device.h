/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_DEVICE_H
#define KDP_NETDEV_LINUX_DEVICE_H 1

/* Linux network devices and their classes
 * =======================================
 *
 * What the files of the providers share: the structure of a device, and the
 * classes.  The library recognises the kind of a device by the address of its
 * class (see netdev-linux-kdp.h).  This file does not know what the callbacks
 * do.
 *
 * Life cycle: the classes start out empty.  netdev-linux-kdp.c fills them in
 * before the library uses them.
 *
 * Thread safety: the classes are constant after that.  The mutex of a device
 * guards its members. */

#include <net/if.h>             /* Before those of <linux/>. */
#include <stdbool.h>
#include <stdint.h>

#include "link/link-info.h"
#include "netdev-linux-private.h"
#include "netdev-provider.h"
#include "ovs-atomic.h"
#include "smap.h"

struct qos_memory;
struct rtnl_job;

/* Properties that only the driver of a device knows: see driver.h. */
enum netdev_ask {
    NETDEV_ASK_FEATURES,
    NETDEV_ASK_STATUS,
    NETDEV_ASK_MII,
    N_NETDEV_ASKS
};

/* Special values of a speed. */
#define NETDEV_SPEED_UNUSED (-1)
#define NETDEV_SPEED_SEVERAL (-2)

/* How to find out whether a link is up. */
enum netdev_mii_way {
    NETDEV_MII_UNKNOWN,         /* Try both. */
    NETDEV_MII_REGISTERS,       /* Read the registers of PHY 'mii_phy'. */
    NETDEV_MII_ETHTOOL          /* Use ethtool: it has no registers. */
};

/* A device of one of our classes.  'up.mutex' guards the members.
 *
 * The stock callbacks answer from the stock structure if its 'cache_valid'
 * permits.  Otherwise they ask the kernel, under the RTNL lock.  So the
 * content of the link table is copied there when it changes, and most
 * callbacks can be the stock ones. */
struct netdev_kdp {
    struct netdev_linux up;     /* Must be first: the stock callbacks cast a
                                 * struct netdev to it. */
    bool present;               /* 'link' is in the link table... */
    struct link_info link;      /* ...and this is its state, or the last. */
    struct hmap_node present_node;      /* In the map of present devices. */
    bool unresolved;            /* The device was not in the table when it was
                                 * opened, and was not looked up since: its
                                 * event may be on its way. */
    atomic_bool known;          /* The callbacks may answer: the device is
                                 * resolved, and its state in the table is in
                                 * 'up'.  Written under the mutex.  A thread
                                 * that takes the mutex to read the rest may
                                 * read this before. */
    atomic_int mtu;             /* The MTU if 'known', or -1 to ask the stock
                                 * class.  Written under the mutex. */
    int32_t nsid;               /* Namespace to look it up in, before ours. */
    uint64_t carrier_base;      /* Kernel's count of carrier changes when the
                                 * device was first seen. */
    bool qdisc_checked;         /* It is known whether there is a root queueing
                                 * discipline to remove. */
    struct qos_memory *qos;     /* The last settings, or NULL: see qos.h. */
    uint64_t policing_seqno;    /* Of the ingress discipline, after policing
                                 * was last set. */
    bool features_stale;        /* The known features may have changed. */
    struct rtnl_job *asked[N_NETDEV_ASKS];      /* Requests in progress. */
    bool status_known;
    int status_error;           /* If 'status_known': error, or 0. */
    struct smap status;
    int64_t speed_used;         /* In Mbit/s, or NETDEV_SPEED_*: see
                                 * netdev-linux/speed.h. */
    bool in4_set;               /* The bridge has set an address, and the
                                 * device has not gone down since. */
    enum netdev_mii_way mii_way;        /* How to find out whether the link is
                                         * up. */
    uint16_t mii_phy;
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

/* Allocate and free a device: callbacks of each of our classes. */
struct netdev *netdev_kdp_alloc(void);
void netdev_kdp_dealloc(struct netdev *);

/* True if 'netdev' is of one of our classes. */
bool netdev_is_kdp(const struct netdev *);

/* Makes the library call 'run' once in each turn of the main loop, instead of
 * the run functions of the stock classes.  To be called at most once. */
void netdev_kdp_set_run(void (*run)(void));

#endif /* lib/netdev-linux/device.h */
