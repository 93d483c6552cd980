/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/mii.h"

#include "netdev-linux/driver.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "ovs-atomic.h"
#include "timer.h"
#include "util.h"

/* Shortest interval, in milliseconds: as in Open vSwitch. */
#define MII_INTERVAL_MIN 100

/* Number of devices that are monitored. */
static atomic_count n_monitored = ATOMIC_COUNT_INIT(0);

int
netdev_kdp_mii_set_interval(struct netdev *netdev, long long int interval)
{
    struct netdev_linux *up = netdev_linux_cast(netdev);

    interval = interval > 0 ? MAX(interval, MII_INTERVAL_MIN) : 0;
    ovs_mutex_lock(&up->mutex);
    if (up->miimon_interval != interval) {
        if (!up->miimon_interval) {
            atomic_count_inc(&n_monitored);
            /* Until the driver has answered for the first time. */
            up->miimon = (up->ifi_flags & IFF_RUNNING) != 0;
        } else if (!interval) {
            atomic_count_dec(&n_monitored);
        }
        up->miimon_interval = interval;
        timer_set_expired(&up->miimon_timer);
    }
    ovs_mutex_unlock(&up->mutex);
    return 0;
}

static void
mii_run_device(struct netdev *netdev)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct netdev_linux *up = &dev->up;
    bool expired;

    ovs_mutex_lock(&dev->up.mutex);
    expired = up->miimon_interval > 0 && timer_expired(&up->miimon_timer);
    if (expired) {
        timer_set_duration(&up->miimon_timer, up->miimon_interval);
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (expired) {
        netdev_kdp_driver_ask(dev, NETDEV_ASK_MII);
    }
}

static void
mii_wait_device(struct netdev *netdev)
{
    struct netdev_linux *up = netdev_linux_cast(netdev);

    ovs_mutex_lock(&up->mutex);
    if (up->miimon_interval > 0) {
        timer_wait(&up->miimon_timer);
    }
    ovs_mutex_unlock(&up->mutex);
}

static void
mii_for_each(void (*cb)(struct netdev *))
{
    struct shash devices = SHASH_INITIALIZER(&devices);
    struct shash_node *node;

    if (!atomic_count_get(&n_monitored)) {
        return;
    }
    netdev_get_devices(&kdp_linux_class, &devices);
    SHASH_FOR_EACH (node, &devices) {
        cb(node->data);
        netdev_close(node->data);
    }
    shash_destroy(&devices);
}

void
netdev_kdp_mii_run(void)
{
    mii_for_each(mii_run_device);
}

void
netdev_kdp_mii_wait(void)
{
    mii_for_each(mii_wait_device);
}
