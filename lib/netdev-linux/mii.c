/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/mii.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/mii.h>
#include <linux/sockios.h>
#include <string.h>

#include "netdev-linux/device.h"
#include "netdev-linux/rtnl-count.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "socket-util.h"
#include "timer.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_kdp_mii);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

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
        } else if (!interval) {
            atomic_count_dec(&n_monitored);
        }
        up->miimon_interval = interval;
        timer_set_expired(&up->miimon_timer);
    }
    ovs_mutex_unlock(&up->mutex);
    return 0;
}

static int
mii_ioctl(const char *name, unsigned int command, const char *command_name,
          struct mii_ioctl_data *data)
{
    struct ifreq ifr;
    long long int start;
    int error;

    memset(&ifr, 0, sizeof ifr);
    memcpy(&ifr.ifr_data, data, sizeof *data);
    start = kdp_rtnl_begin();
    error = af_inet_ifreq_ioctl(name, &ifr, command, command_name);
    kdp_rtnl_end(KDP_RTNL_MII, start);
    memcpy(data, &ifr.ifr_data, sizeof *data);
    return error;
}

/* Asks the driver for what it takes the link to be. */
static bool
mii_read_ethtool(const char *name)
{
    struct ethtool_value value = { .cmd = ETHTOOL_GLINK };
    struct ifreq ifr;
    long long int start;
    int error;

    memset(&ifr, 0, sizeof ifr);
    ovs_strzcpy(ifr.ifr_name, name, sizeof ifr.ifr_name);
    ifr.ifr_data = (caddr_t) &value;
    start = kdp_rtnl_begin();
    error = af_inet_ioctl(SIOCETHTOOL, &ifr);
    kdp_rtnl_end(KDP_RTNL_MII, start);
    if (error) {
        VLOG_WARN_RL(&rl, "%s: asking for the state of the link failed (%s); "
                     "it is taken to be down", name, ovs_strerror(error));
        return false;
    }
    return value.data != 0;
}

/* Returns whether the link of device 'name' is up. */
static bool
mii_read(const char *name)
{
    struct mii_ioctl_data data;

    memset(&data, 0, sizeof data);
    if (!mii_ioctl(name, SIOCGMIIPHY, "SIOCGMIIPHY", &data)) {
        /* That has filled in the PHY's number. */
        data.reg_num = MII_BMSR;
        if (!mii_ioctl(name, SIOCGMIIREG, "SIOCGMIIREG", &data)) {
            return (data.val_out & BMSR_LSTATUS) != 0;
        }
    }
    return mii_read_ethtool(name);
}

static void
mii_run_device(struct netdev *netdev)
{
    struct netdev_linux *up = netdev_linux_cast(netdev);

    ovs_mutex_lock(&up->mutex);
    if (up->miimon_interval > 0 && timer_expired(&up->miimon_timer)) {
        bool link_up = mii_read(netdev_get_name(netdev));

        if (link_up != up->miimon) {
            up->miimon = link_up;
            netdev_change_seq_changed(netdev);
        }
        timer_set_duration(&up->miimon_timer, up->miimon_interval);
    }
    ovs_mutex_unlock(&up->mutex);
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
