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

/* Makes a request under RTNL. */
static int
mii_request(unsigned int command, struct ifreq *ifr)
{
    long long int start = kdp_rtnl_begin();
    int error = af_inet_ioctl(command, ifr);

    kdp_rtnl_end(KDP_RTNL_MII, start);
    return error;
}

static int
mii_ioctl(const char *name, unsigned int command, struct mii_ioctl_data *data)
{
    struct ifreq ifr;
    int error;

    memset(&ifr, 0, sizeof ifr);
    ovs_strzcpy(ifr.ifr_name, name, sizeof ifr.ifr_name);
    memcpy(&ifr.ifr_data, data, sizeof *data);
    error = mii_request(command, &ifr);
    memcpy(data, &ifr.ifr_data, sizeof *data);
    return error;
}

/* Asks the driver for what it takes the link to be.  Returns 0 or a positive
 * errno value. */
static int
mii_read_ethtool(const char *name, bool *up)
{
    struct ethtool_value value = { .cmd = ETHTOOL_GLINK };
    struct ifreq ifr;
    int error;

    memset(&ifr, 0, sizeof ifr);
    ovs_strzcpy(ifr.ifr_name, name, sizeof ifr.ifr_name);
    ifr.ifr_data = (caddr_t) &value;
    error = mii_request(SIOCETHTOOL, &ifr);
    *up = !error && value.data != 0;
    if (error) {
        VLOG_WARN_RL(&rl, "%s: asking for the state of the link failed (%s); "
                     "it is taken to be down", name, ovs_strerror(error));
    }
    return error;
}

/* Reads the status register of PHY 'phy'. */
static int
mii_read_register(const char *name, uint16_t phy, bool *up)
{
    struct mii_ioctl_data data = { .phy_id = phy, .reg_num = MII_BMSR };
    int error = mii_ioctl(name, SIOCGMIIREG, &data);

    *up = !error && data.val_out & BMSR_LSTATUS;
    return error;
}

/* Returns whether the link of 'dev' is up.  Which of the ways a driver has is
 * found out once, after which each question is one request. */
static bool
mii_read(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    const char *name = netdev_get_name(&dev->up.up);
    struct mii_ioctl_data data;
    bool up;

    if (dev->mii_way == NETDEV_MII_REGISTERS) {
        if (!mii_read_register(name, dev->mii_phy, &up)) {
            return up;
        }
        dev->mii_way = NETDEV_MII_UNKNOWN;
    }
    if (dev->mii_way == NETDEV_MII_UNKNOWN) {
        memset(&data, 0, sizeof data);
        if (!mii_ioctl(name, SIOCGMIIPHY, &data)
            && !mii_read_register(name, data.phy_id, &up)) {
            dev->mii_phy = data.phy_id;
            dev->mii_way = NETDEV_MII_REGISTERS;
            return up;
        }
    }
    dev->mii_way = (mii_read_ethtool(name, &up) ? NETDEV_MII_UNKNOWN
                    : NETDEV_MII_ETHTOOL);
    return up;
}

static void
mii_run_device(struct netdev *netdev)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct netdev_linux *up = &dev->up;

    ovs_mutex_lock(&dev->up.mutex);
    if (up->miimon_interval > 0 && timer_expired(&up->miimon_timer)) {
        bool link_up = mii_read(dev);

        if (link_up != up->miimon) {
            up->miimon = link_up;
            netdev_change_seq_changed(netdev);
        }
        timer_set_duration(&up->miimon_timer, up->miimon_interval);
    }
    ovs_mutex_unlock(&dev->up.mutex);
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
