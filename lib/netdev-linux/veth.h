/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_VETH_H
#define KDP_NETDEV_LINUX_VETH_H 1

/* What ethtool says of veth devices
 * =================================
 *
 * The driver of veth devices answers each request of ethtool for link settings
 * or for the driver with the same constants, whatever the device and its
 * state, and has no way to set them.  So the answer for one device is the
 * answer for all.  Each such request takes the RTNL lock, and hosts of
 * containers have veth devices by the thousand, which come and go.
 *
 * Life cycle: the first device of the kind is asked about, and its answer is
 * kept as long as the process runs.  Later devices get it in the structure
 * that the stock callbacks answer from, so that these ask for nothing.
 *
 * An answer is kept only if the request succeeded and the name, by which
 * ethtool asks, meant the same veth before and after.  An error is never kept:
 * the next device is asked about.  From the version of Open vSwitch on that
 * shows the peer of a veth, which is no constant, the driver is asked for each
 * device.
 *
 * Thread safety: all functions may be called by any thread.  A mutex of the
 * module, which is taken after that of a device, guards what is kept. */

#include <stdbool.h>

#include "netdev-linux/device.h"
#include "ovs/compat-netdev.h"

/* What the kernel told of one device. */
struct veth_answers {
    int ifindex;                /* Of that device. */
    bool has_features, has_driver;
    enum netdev_features current, advertised, supported;
    struct ovs_compat_link_settings settings;
    struct ethtool_drvinfo drvinfo;
};

/* Gives 'dev' the features and the driver of veth devices, if it is one and
 * they are known. */
void veth_recall(struct netdev_kdp *dev) OVS_REQUIRES(dev->up.mutex);

/* Stores what the kernel told of 'dev' in '*answers', which is nothing if it is
 * no veth of our namespace.  Returns true if it is something. */
bool veth_get_answers(const struct netdev_kdp *dev, struct veth_answers *)
    OVS_REQUIRES(dev->up.mutex);

/* Keeps them for all veth devices, if 'dev' is still the device that they are
 * of. */
void veth_keep(const struct netdev_kdp *dev, const struct veth_answers *)
    OVS_REQUIRES(dev->up.mutex);

/* Forgets all, for tests. */
void veth_forget(void);

#endif /* lib/netdev-linux/veth.h */
