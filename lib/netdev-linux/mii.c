/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/mii.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/mii.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>

#include "netdev-linux/device.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux/rtnl-worker.h"
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

/* A question whether the link of a device is up. */
struct mii_question {
    struct rtnl_job job;
    char *name;
    enum netdev_mii_way way;    /* As in struct netdev_kdp; the thread may */
    uint16_t phy;               /* change both. */
    bool up;                    /* The answer. */
};

/* Which of the ways a driver has is found out once, after which each question
 * is one request. */
static void
mii_work(struct rtnl_job *job)
{
    struct mii_question *q = CONTAINER_OF(job, struct mii_question, job);
    struct mii_ioctl_data data;

    if (q->way == NETDEV_MII_REGISTERS) {
        if (!mii_read_register(q->name, q->phy, &q->up)) {
            return;
        }
        q->way = NETDEV_MII_UNKNOWN;
    }
    if (q->way == NETDEV_MII_UNKNOWN) {
        memset(&data, 0, sizeof data);
        if (!mii_ioctl(q->name, SIOCGMIIPHY, &data)
            && !mii_read_register(q->name, data.phy_id, &q->up)) {
            q->phy = data.phy_id;
            q->way = NETDEV_MII_REGISTERS;
            return;
        }
    }
    q->way = (mii_read_ethtool(q->name, &q->up) ? NETDEV_MII_UNKNOWN
              : NETDEV_MII_ETHTOOL);
}

static void
mii_done(struct rtnl_job *job)
{
    struct mii_question *q = CONTAINER_OF(job, struct mii_question, job);
    struct netdev *netdev = netdev_from_name(q->name);

    if (netdev && netdev_is_kdp(netdev)) {
        struct netdev_kdp *dev = netdev_kdp_cast(netdev);

        ovs_mutex_lock(&dev->up.mutex);
        if (dev->mii_job == job) {
            dev->mii_job = NULL;
            dev->mii_way = q->way;
            dev->mii_phy = q->phy;
            if (q->up != dev->up.miimon) {
                dev->up.miimon = q->up;
                netdev_change_seq_changed(netdev);
            }
        }
        ovs_mutex_unlock(&dev->up.mutex);
    }
    netdev_close(netdev);
    free(q->name);
    free(q);
}

static struct rtnl_job *
mii_question_create(const struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    struct mii_question *q = xzalloc(sizeof *q);

    q->job.work = mii_work;
    q->job.done = mii_done;
    q->name = xstrdup(netdev_get_name(&dev->up.up));
    q->way = dev->mii_way;
    q->phy = dev->mii_phy;
    return &q->job;
}

static void
mii_run_device(struct netdev *netdev)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct netdev_linux *up = &dev->up;
    struct rtnl_job *job = NULL;

    ovs_mutex_lock(&dev->up.mutex);
    if (up->miimon_interval > 0 && timer_expired(&up->miimon_timer)) {
        if (!dev->mii_job) {
            job = mii_question_create(dev);
            dev->mii_job = job;
        }
        timer_set_duration(&up->miimon_timer, up->miimon_interval);
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (job) {
        rtnl_worker_add(job);
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
