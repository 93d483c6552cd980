/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/driver.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/mii.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>

#include "netdev-linux-valid.h"
#include "netdev-linux/links.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux/rtnl-worker.h"
#include "netdev-linux/speed.h"
#include "netdev-linux/state.h"
#include "netnsid.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs/compat-netdev.h"
#include "smap.h"
#include "socket-util.h"
#include "timer.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_kdp_driver);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

struct answer {
    int error;                  /* The driver's. */

    /* Features. */
    enum netdev_features current, advertised, supported;
    struct ovs_compat_link_settings settings;

    struct smap status;

    /* MII.  'way' is the way in which the answer was obtained. */
    bool link_up;
    enum netdev_mii_way way;
    uint16_t phy;
};

struct question {
    struct rtnl_job job;
    enum netdev_ask what;
    char *name;
    int ifindex;
    bool same_of_all;           /* All veth devices have the same answer. */
    bool late;                  /* The main thread did not wait for it. */
    enum netdev_mii_way way;    /* As in struct netdev_kdp. */
    uint16_t phy;
    struct answer *answer;      /* NULL if the device has gone. */
};

/* The answers of veth devices, or NULL if unknown. */
static struct ovs_mutex veth_mutex = OVS_MUTEX_INITIALIZER;
static struct answer *veth_answers[N_NETDEV_ASKS] OVS_GUARDED_BY(veth_mutex);

static struct answer *
veth_answer(enum netdev_ask what)
{
    struct answer *answer;

    ovs_mutex_lock(&veth_mutex);
    answer = veth_answers[what];
    ovs_mutex_unlock(&veth_mutex);
    return answer;
}

static bool
is_same_of_all_veths(const struct netdev_kdp *dev, enum netdev_ask what)
    OVS_REQUIRES(dev->up.mutex)
{
    return ((what == NETDEV_ASK_FEATURES
             || (what == NETDEV_ASK_STATUS && !OVS_HAVE_PEER_IFINDEX))
            && dev->link.nsid == LINK_NSID_LOCAL
            && !strcmp(dev->link.kind, "veth"));
}

static void
answer_destroy(struct answer *answer)
{
    if (answer) {
        smap_destroy(&answer->status);
        free(answer);
    }
}

void
netdev_kdp_driver_forget_veths(void)
{
    ovs_mutex_lock(&veth_mutex);
    for (size_t i = 0; i < N_NETDEV_ASKS; i++) {
        answer_destroy(veth_answers[i]);
        veth_answers[i] = NULL;
    }
    ovs_mutex_unlock(&veth_mutex);
}

/* Requests, in the worker thread. */

static int
mii_ioctl(const char *name, unsigned int command, struct mii_ioctl_data *data)
{
    struct ifreq ifr;
    int error;

    memset(&ifr, 0, sizeof ifr);
    ovs_strzcpy(ifr.ifr_name, name, sizeof ifr.ifr_name);
    memcpy(&ifr.ifr_data, data, sizeof *data);
    error = af_inet_ioctl(command, &ifr);
    memcpy(data, &ifr.ifr_data, sizeof *data);
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

/* Asks the driver whether it considers the link up. */
static int
mii_read_ethtool(const char *name, bool *up)
{
    struct ethtool_value value = { .cmd = ETHTOOL_GLINK };
    struct ifreq ifr;
    int error;

    memset(&ifr, 0, sizeof ifr);
    ovs_strzcpy(ifr.ifr_name, name, sizeof ifr.ifr_name);
    ifr.ifr_data = (caddr_t) &value;
    error = af_inet_ioctl(SIOCETHTOOL, &ifr);
    *up = !error && value.data != 0;
    if (error) {
        VLOG_WARN_RL(&rl, "%s: asking for the state of the link failed (%s); "
                     "assuming that it is down", name, ovs_strerror(error));
    }
    return error;
}

/* The first time, tries both ways; after that, each check of the link is one
 * request. */
static void
ask_mii(const struct question *q, struct answer *answer)
{
    struct mii_ioctl_data data;
    bool *up = &answer->link_up;

    answer->way = NETDEV_MII_REGISTERS;
    answer->phy = q->phy;
    if (q->way == NETDEV_MII_REGISTERS
        && !mii_read_register(q->name, q->phy, up)) {
        return;
    }
    if (q->way != NETDEV_MII_ETHTOOL) {
        memset(&data, 0, sizeof data);
        if (!mii_ioctl(q->name, SIOCGMIIPHY, &data)
            && !mii_read_register(q->name, data.phy_id, up)) {
            answer->phy = data.phy_id;
            return;
        }
    }
    answer->way = (mii_read_ethtool(q->name, up) ? NETDEV_MII_UNKNOWN
                   : NETDEV_MII_ETHTOOL);
}

/* The stock class stores a driver's answer in the structure of a device, with
 * the device's mutex held.  The main thread must not wait for that mutex, so
 * this uses a structure of its own. */
static void
ask_stock(const struct question *q, struct answer *answer)
{
    const struct netdev_class *class = &kdp_stock_netdev_linux_class;
    struct netdev_linux up = {
        .up = { .name = q->name, .netdev_class = class },
    };
    enum netdev_features peer;

    netnsid_set_local(&up.netnsid);
    ovs_mutex_init(&up.mutex);
    if (q->what == NETDEV_ASK_STATUS) {
        answer->error = class->get_status(&up.up, &answer->status);
    } else {
        answer->error = class->get_features(
            &up.up, &answer->current, &answer->advertised, &answer->supported,
            &peer);
        ovs_compat_netdev_get_link_settings(&up, &answer->settings);
    }
    ovs_mutex_destroy(&up.mutex);
}

static void
question_work(struct rtnl_job *job)
{
    static const enum kdp_rtnl_call calls[N_NETDEV_ASKS] = {
        [NETDEV_ASK_FEATURES] = KDP_RTNL_FEATURES,
        [NETDEV_ASK_STATUS] = KDP_RTNL_DRIVER,
        [NETDEV_ASK_MII] = KDP_RTNL_MII,
    };
    struct question *q = CONTAINER_OF(job, struct question, job);
    struct answer *answer = q->same_of_all ? veth_answer(q->what) : NULL;
    long long int start;

    if (!answer && netdev_kdp_state_is_called(q->ifindex, q->name)) {
        answer = xzalloc(sizeof *answer);
        smap_init(&answer->status);
        start = kdp_rtnl_begin();
        (q->what == NETDEV_ASK_MII ? ask_mii : ask_stock)(q, answer);
        kdp_rtnl_end(calls[q->what], start);

        if (q->same_of_all && !answer->error
            && netdev_kdp_state_is_called(q->ifindex, q->name)) {
            ovs_mutex_lock(&veth_mutex);
            veth_answers[q->what] = answer;
            ovs_mutex_unlock(&veth_mutex);
        }
    }
    q->answer = answer;
}

/* Answers, in the main thread. */

static bool
is_known(const struct netdev_kdp *dev, enum netdev_ask what)
    OVS_REQUIRES(dev->up.mutex)
{
    return (what == NETDEV_ASK_FEATURES
            ? (dev->up.cache_valid & VALID_FEATURES) != 0
            : dev->status_known);
}

static void
take_answer(struct netdev_kdp *dev, enum netdev_ask what,
            const struct answer *answer)
    OVS_REQUIRES(dev->up.mutex)
{
    struct netdev_linux *up = &dev->up;

    if (what == NETDEV_ASK_STATUS) {
        smap_destroy(&dev->status);
        smap_clone(&dev->status, &answer->status);
        dev->status_error = answer->error;
        dev->status_known = true;
    } else {
        up->current = answer->current;
        up->advertised = answer->advertised;
        up->supported = answer->supported;
        up->get_features_error = answer->error;
        ovs_compat_netdev_set_link_settings(up, &answer->settings);
        up->cache_valid |= VALID_FEATURES;
        netdev_kdp_speed_read(dev);
    }
}

static void
take_mii(struct netdev_kdp *dev, const struct answer *answer)
    OVS_REQUIRES(dev->up.mutex)
{
    bool link_up = answer && answer->link_up;

    if (answer) {
        dev->mii_way = answer->way;
        dev->mii_phy = answer->phy;
    }
    if (link_up != dev->up.miimon) {
        dev->up.miimon = link_up;
        netdev_change_seq_changed(&dev->up.up);
    }
}

static void driver_refresh(struct netdev_kdp *);

static void
question_done(struct rtnl_job *job)
{
    struct question *q = CONTAINER_OF(job, struct question, job);
    struct netdev *netdev = netdev_from_name(q->name);

    if (netdev && netdev_is_kdp(netdev)) {
        struct netdev_kdp *dev = netdev_kdp_cast(netdev);

        ovs_mutex_lock(&dev->up.mutex);
        if (dev->asked[q->what] == job) {
            dev->asked[q->what] = NULL;
            if (q->what == NETDEV_ASK_MII) {
                take_mii(dev, q->answer);
            } else if (q->answer && dev->present) {
                bool again = is_known(dev, q->what);

                take_answer(dev, q->what, q->answer);
                if (q->late || again) {
                    netdev_change_seq_changed(netdev);
                }
            }
        }
        ovs_mutex_unlock(&dev->up.mutex);
        driver_refresh(dev);
    }
    netdev_close(netdev);
    if (!q->same_of_all || q->answer != veth_answer(q->what)) {
        answer_destroy(q->answer);
    }
    free(q->name);
    free(q);
}

/* Makes the worker thread ask the driver of 'dev', unless it already does. */
static void
driver_ask(struct netdev_kdp *dev, enum netdev_ask what)
    OVS_EXCLUDED(dev->up.mutex)
{
    struct question *q = NULL;

    ovs_mutex_lock(&dev->up.mutex);
    if (!dev->asked[what]) {
        q = xzalloc(sizeof *q);
        q->job.work = question_work;
        q->job.done = question_done;
        q->what = what;
        q->name = xstrdup(netdev_get_name(&dev->up.up));
        q->ifindex = dev->link.ifindex;
        q->same_of_all = is_same_of_all_veths(dev, what);
        q->way = dev->mii_way;
        q->phy = dev->mii_phy;
        dev->asked[what] = &q->job;
        if (what == NETDEV_ASK_FEATURES) {
            dev->features_stale = false;
        }
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (q) {
        rtnl_worker_add(&q->job);
    }
}

/* Requests the features of 'dev' again if they may have changed. */
static void
driver_refresh(struct netdev_kdp *dev)
    OVS_EXCLUDED(dev->up.mutex)
{
    bool stale;

    ovs_mutex_lock(&dev->up.mutex);
    stale = (dev->features_stale && dev->present
             && dev->up.cache_valid & VALID_FEATURES);
    ovs_mutex_unlock(&dev->up.mutex);
    if (stale) {
        driver_ask(dev, NETDEV_ASK_FEATURES);
    }
}

/* Returns what netdev_kdp_driver_need() returns for the present state of
 * 'dev'; EAGAIN means that the driver has to be asked. */
static int
driver_check(struct netdev_kdp *dev, enum netdev_ask what)
    OVS_REQUIRES(dev->up.mutex)
{
    struct answer *answer;

    if (netnsid_is_remote(dev->up.netnsid)) {
        return EOPNOTSUPP;
    } else if (is_known(dev, what)
               || !(dev->up.cache_valid & VALID_IFINDEX)) {
        return 0;
    } else if (!dev->present) {
        return ENODEV;
    } else if (is_same_of_all_veths(dev, what)
               && (answer = veth_answer(what)) != NULL) {
        take_answer(dev, what, answer);
        return 0;
    }
    return EAGAIN;
}

/* The same after the driver was asked. */
static int
driver_check_again(struct netdev_kdp *dev, enum netdev_ask what)
    OVS_EXCLUDED(dev->up.mutex)
{
    int error;

    ovs_mutex_lock(&dev->up.mutex);
    error = driver_check(dev, what);
    if (error == EAGAIN && dev->asked[what]) {
        CONTAINER_OF(dev->asked[what], struct question, job)->late = true;
        if (what == NETDEV_ASK_FEATURES) {
            netdev_kdp_speed_read(dev);
        }
    } else if (error == EAGAIN) {
        error = ENODEV;
    }
    ovs_mutex_unlock(&dev->up.mutex);
    return error;
}

int
netdev_kdp_driver_need(const struct netdev *netdev, enum netdev_ask what)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    bool stale;
    int error;

    netdev_kdp_state_resolve(netdev);
    ovs_mutex_lock(&dev->up.mutex);
    error = driver_check(dev, what);
    stale = dev->features_stale;
    ovs_mutex_unlock(&dev->up.mutex);
    if (error == EAGAIN) {
        driver_ask(dev, what);
        if (kdp_links_is_main()) {
            rtnl_worker_await();
        }
        error = driver_check_again(dev, what);
    } else if (stale) {
        driver_refresh(dev);
    }
    return error;
}

/* MII monitoring. */

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
        driver_ask(dev, NETDEV_ASK_MII);
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
