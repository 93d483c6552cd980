/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/device.h"

#include <stdlib.h>

#include "openvswitch/compiler.h"
#include "util.h"

BUILD_ASSERT_DECL(offsetof(struct netdev_kdp, up) == 0);
BUILD_ASSERT_DECL(offsetof(struct netdev_linux, up) == 0);

/* Written before the library reads them, and constant from then on, as the
 * library declares them. */
struct netdev_class kdp_linux_class;
struct netdev_class kdp_internal_class;
struct netdev_class kdp_tap_class;

/* What to do in each turn of the main loop, or NULL for the stock classes'
 * own. */
static void (*netdev_kdp_run)(void);

struct netdev *
netdev_kdp_alloc(void)
{
    struct netdev_kdp *dev = xzalloc(sizeof *dev);

    smap_init(&dev->status);
    atomic_init(&dev->known, false);
    atomic_init(&dev->mtu, -1);
    dev->speed_used = NETDEV_SPEED_UNUSED;
    return &dev->up.up;
}

void
netdev_kdp_dealloc(struct netdev *netdev)
{
    struct netdev_kdp *dev = CONTAINER_OF(netdev, struct netdev_kdp, up.up);

    smap_destroy(&dev->status);
    free(dev);
}

bool
netdev_is_kdp(const struct netdev *netdev)
{
    return netdev->netdev_class->alloc == netdev_kdp_alloc;
}

void
netdev_kdp_set_run(void (*run)(void))
{
    netdev_kdp_run = run;
}

/* The address of this function marks a class as one of Linux devices. */
void
netdev_linux_run(const struct netdev_class *class)
{
    if (!netdev_kdp_run) {
        kdp_stock_netdev_linux_run(class);
    } else if (class == &kdp_linux_class) {
        netdev_kdp_run();
    }
}
