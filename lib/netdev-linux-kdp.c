/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux-kdp.h"

#include <stdlib.h>

#include "netdev-linux-private.h"
#include "netdev-provider.h"
#include "openvswitch/compiler.h"
#include "util.h"

/* A device of one of our classes. */
struct netdev_kdp {
    struct netdev_linux up;     /* Must be first: the stock callbacks cast a
                                 * struct netdev to the structure that they
                                 * know it to be in. */
};

BUILD_ASSERT_DECL(offsetof(struct netdev_kdp, up) == 0);
BUILD_ASSERT_DECL(offsetof(struct netdev_linux, up) == 0);

/* The originals. */
extern const struct netdev_class kdp_stock_netdev_linux_class;
extern const struct netdev_class kdp_stock_netdev_internal_class;
extern const struct netdev_class kdp_stock_netdev_tap_class;
void kdp_stock_netdev_linux_run(const struct netdev_class *);

/* Ours, under the names by which the library knows them.  They are written
 * before the library reads them, and constant from then on, which is what it
 * declares them to be. */
struct netdev_class kdp_linux_class __asm__("netdev_linux_class");
struct netdev_class kdp_internal_class __asm__("netdev_internal_class");
struct netdev_class kdp_tap_class __asm__("netdev_tap_class");

static struct netdev *
netdev_kdp_alloc(void)
{
    struct netdev_kdp *netdev = xzalloc(sizeof *netdev);

    return &netdev->up.up;
}

static void
netdev_kdp_dealloc(struct netdev *netdev)
{
    free(CONTAINER_OF(netdev, struct netdev_kdp, up.up));
}

/* The function whose address makes a class one of Linux devices. */
void
netdev_linux_run(const struct netdev_class *class)
{
    kdp_stock_netdev_linux_run(class);
}

static void
netdev_kdp_class_init(struct netdev_class *class,
                      const struct netdev_class *stock, bool use_stock)
{
    *class = *stock;
    if (!use_stock) {
        class->alloc = netdev_kdp_alloc;
        class->dealloc = netdev_kdp_dealloc;
    }
}

void
netdev_linux_kdp_init(bool stock)
{
    netdev_kdp_class_init(&kdp_linux_class, &kdp_stock_netdev_linux_class,
                          stock);
    netdev_kdp_class_init(&kdp_internal_class,
                          &kdp_stock_netdev_internal_class, stock);
    netdev_kdp_class_init(&kdp_tap_class, &kdp_stock_netdev_tap_class, stock);
}
