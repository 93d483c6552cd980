/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/speed.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <poll.h>

#include "netdev-linux/if-notifier-kdp.h"
#include "netdev-linux/state.h"
#include "netdev-linux-valid.h"
#include "nl/nl-conn.h"
#include "nl/nl-mcast.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs/compat-netdev.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_kdp_speed);

/* Most announcements received in one turn of the main loop.  The group
 * announces settings, which change rarely, and features that new devices
 * get. */
#define SPEED_RUN_DATAGRAMS 64

static struct nl_mcast *ethtool;        /* NULL without announcements. */
static bool configuring;                /* The bridge is, in this turn. */

void
netdev_kdp_speed_init(void)
{
    struct genl_family family;
    struct nl_conn *conn;
    int error;

    error = nl_conn_open(NETLINK_GENERIC, &conn);
    if (!error) {
        error = genl_family_lookup(conn, ETHTOOL_GENL_NAME,
                                   ETHTOOL_MCGRP_MONITOR_NAME, &family);
        nl_conn_close(conn);
    }
    if (!error) {
        error = nl_mcast_open(NETLINK_GENERIC, &(struct nl_mcast_options) {
            .groups = &family.mcgroup, .n_groups = 1,
        }, &ethtool);
    }
    if (error && error != ENOENT) {
        VLOG_WARN("listening to ethtool failed (%s); speeds that are set are "
                  "seen when a link goes up or down", ovs_strerror(error));
    }
}

/* Returns the interface index that is in 'header' of a message, or 0. */
static int
speed_parse_header(const struct nlattr *header)
{
    static const struct nl_attr_policy policy[] = {
        [ETHTOOL_A_HEADER_DEV_INDEX] = { MNL_TYPE_U32, 4, true },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];

    return (nl_attrs_parse(mnl_attr_get_payload(header),
                           mnl_attr_get_payload_len(header), policy, attrs,
                           ARRAY_SIZE(policy))
            ? 0 : mnl_attr_get_u32(attrs[ETHTOOL_A_HEADER_DEV_INDEX]));
}

static void
speed_announced(const struct nlmsghdr *nlh, int32_t nsid OVS_UNUSED,
                void *aux OVS_UNUSED)
{
    static const struct nl_attr_policy policy[] = {
        [ETHTOOL_A_LINKMODES_HEADER] = { MNL_TYPE_NESTED, 0, true },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
    int ifindex;

    if (mnl_nlmsg_get_payload_len(nlh) < sizeof *genl
        || genl->cmd != ETHTOOL_MSG_LINKMODES_NTF
        || nl_attrs_parse(mnl_nlmsg_get_payload_offset(nlh, sizeof *genl),
                          mnl_nlmsg_get_payload_len(nlh) - sizeof *genl,
                          policy, attrs, ARRAY_SIZE(policy))) {
        return;
    }
    ifindex = speed_parse_header(attrs[ETHTOOL_A_LINKMODES_HEADER]);
    if (ifindex) {
        netdev_kdp_state_settings_changed(ifindex);
    }
}

void
netdev_kdp_speed_run(void)
{
    configuring = false;
    if (ethtool) {
        unsigned int budget = SPEED_RUN_DATAGRAMS;
        int error;

        /* EMSGSIZE is a loss, too. */
        error = nl_mcast_recv_all(ethtool, &budget, speed_announced, NULL);
        if (error && error != EAGAIN) {
            netdev_kdp_state_settings_changed(0);
        }
    }
}

void
netdev_kdp_speed_wait(void)
{
    if (ethtool) {
        poll_fd_wait(nl_mcast_fd(ethtool), POLLIN);
    }
}

void
netdev_kdp_speed_configure(struct netdev_kdp *dev)
{
    configuring = true;
    if (dev->up.cache_valid & VALID_FEATURES) {
        netdev_kdp_speed_read(dev);
    }
}

void
netdev_kdp_speed_read(struct netdev_kdp *dev)
{
    int64_t speed = (dev->up.cache_valid & VALID_FEATURES
                     ? ovs_compat_netdev_get_speed_read(&dev->up) : 0);

    if (speed == dev->speed_used) {
        return;
    } else if (dev->speed_used == NETDEV_SPEED_UNUSED) {
        if (configuring) {
            dev->speed_used = speed;
        }
    } else if (dev->up.ifi_flags & IFF_RUNNING) {
        dev->speed_used = speed;
        if_notifier_kdp_outdated();
    } else if (configuring) {
        /* The bridge may use both, one for rates and one for path costs. */
        dev->speed_used = NETDEV_SPEED_SEVERAL;
    }
}
