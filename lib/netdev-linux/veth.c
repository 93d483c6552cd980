/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/veth.h"

#include <string.h>

#include "netdev-linux-valid.h"

static struct ovs_mutex veth_mutex = OVS_MUTEX_INITIALIZER;
static struct veth_answers veth_known OVS_GUARDED_BY(veth_mutex);

static bool
veth_is(const struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    return (dev->present && dev->link.nsid == LINK_NSID_LOCAL
            && !strcmp(dev->link.kind, "veth"));
}

void
veth_recall(struct netdev_kdp *dev)
{
    struct netdev_linux *up = &dev->up;

    if (!veth_is(dev)) {
        return;
    }
    ovs_mutex_lock(&veth_mutex);
    if (veth_known.has_features && !(up->cache_valid & VALID_FEATURES)) {
        up->current = veth_known.current;
        up->advertised = veth_known.advertised;
        up->supported = veth_known.supported;
        ovs_compat_netdev_set_link_settings(up, &veth_known.settings);
        up->get_features_error = 0;
        up->cache_valid |= VALID_FEATURES;
    }
    if (veth_known.has_driver && !(up->cache_valid & VALID_DRVINFO)) {
        up->drvinfo = veth_known.drvinfo;
        up->cache_valid |= VALID_DRVINFO;
    }
    ovs_mutex_unlock(&veth_mutex);
}

bool
veth_get_answers(const struct netdev_kdp *dev, struct veth_answers *answers)
{
    const struct netdev_linux *up = &dev->up;

    memset(answers, 0, sizeof *answers);
    if (!veth_is(dev)) {
        return false;
    }
    answers->ifindex = dev->link.ifindex;
    if (up->cache_valid & VALID_FEATURES && !up->get_features_error) {
        answers->has_features = true;
        answers->current = up->current;
        answers->advertised = up->advertised;
        answers->supported = up->supported;
        ovs_compat_netdev_get_link_settings(up, &answers->settings);
    }
    if (!OVS_HAVE_PEER_IFINDEX && up->cache_valid & VALID_DRVINFO
        && !strcmp(up->drvinfo.driver, "veth")) {
        answers->has_driver = true;
        answers->drvinfo = up->drvinfo;
    }
    return answers->has_features || answers->has_driver;
}

void
veth_keep(const struct netdev_kdp *dev, const struct veth_answers *answers)
{
    if (!veth_is(dev) || dev->link.ifindex != answers->ifindex) {
        return;
    }
    ovs_mutex_lock(&veth_mutex);
    if (answers->has_features) {
        veth_known.has_features = true;
        veth_known.current = answers->current;
        veth_known.advertised = answers->advertised;
        veth_known.supported = answers->supported;
        veth_known.settings = answers->settings;
    }
    if (answers->has_driver) {
        veth_known.has_driver = true;
        veth_known.drvinfo = answers->drvinfo;
    }
    ovs_mutex_unlock(&veth_mutex);
}

void
veth_forget(void)
{
    ovs_mutex_lock(&veth_mutex);
    veth_known.has_features = veth_known.has_driver = false;
    ovs_mutex_unlock(&veth_mutex);
}
