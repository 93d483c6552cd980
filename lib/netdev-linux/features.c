/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/features.h"

#include <stdlib.h>

#include "netdev-linux/rtnl-count.h"
#include "netdev-linux/rtnl-worker.h"
#include "netdev-linux/speed.h"
#include "netdev-linux/state.h"
#include "netdev-linux-valid.h"
#include "netnsid.h"
#include "ovs/compat-netdev.h"
#include "util.h"

/* A question to the driver of a device. */
struct question {
    struct rtnl_job job;
    char *name;
    int ifindex;
    bool asked;                 /* The device was still there. */
    struct netdev_linux up;     /* Has the answer: what the stock class has of
                                 * a device that it was asked about. */
};

/* The stock class reads features into the structure of a device, with the
 * mutex of the device held.  The main thread must not have to wait for that
 * mutex, so the structure is one of our own. */
static void
features_work(struct rtnl_job *job)
{
    struct question *q = CONTAINER_OF(job, struct question, job);
    enum netdev_features features[4];
    long long int start;

    q->asked = netdev_kdp_state_is_called(q->ifindex, q->name);
    if (q->asked) {
        start = kdp_rtnl_begin();
        kdp_stock_netdev_linux_class.get_features(&q->up.up, &features[0],
                                                  &features[1], &features[2],
                                                  &features[3]);
        kdp_rtnl_end(KDP_RTNL_FEATURES, start);
    }
}

/* Stores the answer. */
static void
features_take(struct netdev_kdp *dev, const struct question *q)
    OVS_REQUIRES(dev->up.mutex)
{
    struct ovs_compat_link_settings settings;

    dev->up.current = q->up.current;
    dev->up.advertised = q->up.advertised;
    dev->up.supported = q->up.supported;
    dev->up.get_features_error = q->up.get_features_error;
    ovs_compat_netdev_get_link_settings(&q->up, &settings);
    ovs_compat_netdev_set_link_settings(&dev->up, &settings);
    netdev_kdp_speed_read(dev);
    netdev_change_seq_changed(&dev->up.up);
}

static void
features_done(struct rtnl_job *job)
{
    struct question *q = CONTAINER_OF(job, struct question, job);
    struct netdev *netdev = netdev_from_name(q->name);

    if (netdev && netdev_is_kdp(netdev)) {
        struct netdev_kdp *dev = netdev_kdp_cast(netdev);
        bool again = false;

        ovs_mutex_lock(&dev->up.mutex);
        if (dev->features_job == job) {
            dev->features_job = NULL;
            again = dev->features_stale;
            if (q->asked && dev->present && dev->link.ifindex == q->ifindex
                && dev->up.cache_valid & VALID_FEATURES) {
                features_take(dev, q);
            }
        }
        ovs_mutex_unlock(&dev->up.mutex);
        if (again) {
            netdev_kdp_features_refresh(dev);
        }
    }
    netdev_close(netdev);
    ovs_mutex_destroy(&q->up.mutex);
    free(q->name);
    free(q);
}

static struct rtnl_job *
question_create(const struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    struct question *q = xzalloc(sizeof *q);

    q->job.work = features_work;
    q->job.done = features_done;
    q->name = xstrdup(netdev_get_name(&dev->up.up));
    q->ifindex = dev->link.ifindex;
    q->up.up.name = q->name;
    q->up.up.netdev_class = &kdp_stock_netdev_linux_class;
    netnsid_set_local(&q->up.netnsid);
    ovs_mutex_init(&q->up.mutex);
    return &q->job;
}

void
netdev_kdp_features_refresh(struct netdev_kdp *dev)
{
    struct rtnl_job *job = NULL;

    ovs_mutex_lock(&dev->up.mutex);
    if (dev->features_stale && !dev->features_job && dev->present
        && dev->up.cache_valid & VALID_FEATURES) {
        job = question_create(dev);
        dev->features_stale = false;
        dev->features_job = job;
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (job) {
        rtnl_worker_add(job);
    }
}
