/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "vport/vport-sync.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "odp-netlink.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(vport_sync);

/* Receive buffers, for a thousand announcements each while the main loop is
 * busy: one about a port takes about 1 kB of kernel memory, one about a device
 * up to 4 kB. */
#define VPORT_BUFFER (1024 * 1024)
#define LINK_BUFFER (4 * 1024 * 1024)

/* Most datagrams to read from a socket before that counts as a loss.  This is
 * more than its buffer holds, and is reached only if the kernel announces
 * faster than we read. */
#define VPORT_MAX_DATAGRAMS 16384

/* Times that a dump is repeated because ports have changed meanwhile. */
#define VPORT_DUMP_TRIES 3

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

/* Notes that the table is no longer in sync. */
static void
vport_sync_lost(struct vport_table *table, enum vport_ask reason)
    OVS_REQUIRES(table->mutex)
{
    if (table->in_sync) {
        table->in_sync = false;
        table->dump_reason = reason;
    }
}

/* Sockets. */

static int
vport_open_links(struct vport_table *table)
    OVS_REQUIRES(table->mutex)
{
    static const unsigned int groups[] = { RTNLGRP_LINK, RTNLGRP_NSID };
    static const uint16_t types[] = { RTM_NEWLINK, RTM_DELLINK, RTM_DELNSID };
    static const struct nl_mcast_options options = {
        .groups = groups, .n_groups = ARRAY_SIZE(groups),
        .types = types, .n_types = ARRAY_SIZE(types),
        .rcvbuf = LINK_BUFFER,
    };
    int error = nl_mcast_open(NETLINK_ROUTE, &options, &table->link_mcast);

    if (!error) {
        table->all_namespaces = !nl_mcast_listen_all_nsid(table->link_mcast);
    }
    return error;
}

int
vport_sync_open(struct vport_table *table)
{
    const struct nl_mcast_options options = {
        .groups = &table->mcgroup, .n_groups = 1, .rcvbuf = VPORT_BUFFER,
    };
    int error;

    if (table->genl.conn) {
        return 0;
    }

    error = nl_mcast_open(NETLINK_GENERIC, &options, &table->vport_mcast);
    if (!error) {
        error = vport_open_links(table);
    }
    if (!error) {
        error = nl_conn_open(NETLINK_GENERIC, &table->genl.conn);
    }
    if (error) {
        VLOG_WARN_RL(&rl, "%s: cannot listen to changes of ports (%s)",
                     table->name, ovs_strerror(error));
        vport_sync_close(table);
    }
    return error;
}

void
vport_sync_close(struct vport_table *table)
{
    nl_mcast_close(table->vport_mcast);
    nl_mcast_close(table->link_mcast);
    nl_conn_close(table->genl.conn);
    table->vport_mcast = table->link_mcast = NULL;
    table->genl.conn = NULL;
}

/* Passes all messages that wait on 'mcast' to 'cb'.  Returns false if the
 * socket was not seen empty. */
static bool
vport_receive(struct vport_table *table, struct nl_mcast *mcast,
              nl_mcast_func *cb, const char *what, uint64_t *overruns)
    OVS_REQUIRES(table->mutex)
{
    unsigned int budget = VPORT_MAX_DATAGRAMS;
    int error;

    while ((error = nl_mcast_recv_all(mcast, &budget, cb, table)) != EAGAIN) {
        vport_sync_lost(table, VPORT_ASK_LOSS);
        if (!error) {
            return false;
        }
        VLOG_WARN_RL(&rl, "%s: changes of %s were missed (%s); looking at all "
                     "ports", table->name, what, ovs_strerror(error));
        ++*(error == ENOBUFS ? overruns : &table->stats.malformed);
    }
    return true;
}

/* Announcements of ports. */

/* True if 'vport', which was removed, is probably the port 'entry'.  A device
 * that moved to another namespace may have another index and name there. */
static bool
vport_may_be(const struct vport_entry *entry, const struct ovs_vport *vport)
{
    return (entry->vport.type == vport->type
            && (entry->vport.ifindex == vport->ifindex
                || !strcmp(entry->vport.name, vport->name)));
}

/* True if 'a' and 'b' have the same device with the same name. */
static bool
vport_device_equals(const struct ovs_vport *a, const struct ovs_vport *b)
{
    return (a->type == b->type && a->ifindex == b->ifindex
            && a->nsid == b->nsid && !strcmp(a->name, b->name));
}

/* True if device 'ifindex' of our namespace is called 'name'. */
static bool
vport_has_name(int ifindex, const char *name)
{
    char buf[IFNAMSIZ];

    return if_indextoname(ifindex, buf) && !strcmp(buf, name);
}

/* Applies an announcement that agrees with the table. */
static void
vport_apply(struct vport_table *table, struct vport_entry *entry,
            const struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex)
{
    if (vport->cmd == OVS_VPORT_CMD_DEL) {
        struct vport_recheck *recheck = vport_recheck_find(table,
                                                           vport->port_no);

        vport_store_remove(table, entry);
        if (recheck) {
            /* The request was about its device, which no longer matters. */
            vport_recheck_remove(table, recheck);
        }
    } else if (vport->cmd == OVS_VPORT_CMD_NEW) {
        vport_store_put(table, vport, VPORT_FOUND_YES);

        /* Rtnetlink may already have announced a later name of the device,
         * when we did not know it as a port. */
        if (vport->nsid != OVS_VPORT_LOCAL
            || !vport_has_name(vport->ifindex, vport->name)) {
            vport_recheck_add(table, vport->port_no, VPORT_ASK_DEVICE);
        }
    } else if (vport_device_equals(&entry->vport, vport)) {
        vport_store_put(table, vport, VPORT_FOUND_UNKNOWN);
    } else {
        /* Rtnetlink announces, or has announced, the same or a later state. */
        vport_recheck_add(table, vport->port_no, VPORT_ASK_DEVICE);
    }
}

static void
vport_take(struct vport_table *table, const struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex)
{
    struct vport_entry *entry = vport_store_find(table, vport->port_no);
    struct vport_recheck *recheck = vport_recheck_find(table, vport->port_no);
    bool contradiction = (vport->cmd == OVS_VPORT_CMD_NEW ? entry != NULL
                          : vport->cmd == OVS_VPORT_CMD_SET ? entry == NULL
                          : !entry || !vport_may_be(entry, vport));
    bool must_ask = (contradiction
                     || (recheck && recheck->reason == VPORT_ASK_ORDER)
                     || time_msec() < table->late_until);

    vport_notify(table, vport->name);
    if (must_ask) {
        recheck = vport_recheck_add(table, vport->port_no, VPORT_ASK_ORDER);
    }
    if (recheck) {
        recheck->announced += (vport->cmd == OVS_VPORT_CMD_NEW ? 1
                             : vport->cmd == OVS_VPORT_CMD_DEL ? -1 : 0);
    }
    if (!must_ask) {
        vport_apply(table, entry, vport);
    }
}

static void
vport_take_cb(const struct nlmsghdr *nlh, int32_t nsid OVS_UNUSED,
              void *table_)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct vport_table *table = table_;
    struct vport_table_stats *stats = &table->stats;
    struct ovs_vport vport;

    if (ovs_vport_parse(nlh, &vport)) {
        VLOG_WARN_RL(&rl, "%s: malformed announcement of a port; looking at "
                     "all ports", table->name);
        stats->malformed++;
        vport_sync_lost(table, VPORT_ASK_LOSS);
        return;
    }
    if (vport.dp_ifindex != table->dp_ifindex) {
        stats->foreign++;
        return;
    }
    switch (vport.cmd) {
    case OVS_VPORT_CMD_NEW: stats->new++; break;
    case OVS_VPORT_CMD_DEL: stats->deleted++; break;
    case OVS_VPORT_CMD_SET: stats->changed++; break;
    default: return;
    }
    VLOG_DBG("port_changed: dpif:%s vport:%s cmd:%"PRIu8, table->name,
             vport.name, vport.cmd);
    vport_take(table, &vport);
}

/* Announcements of devices. */

/* True if a message about device 'ifindex' of the namespace with tag 'nsid' is
 * about the device of port 'vport'. */
static bool
vport_has_device(const struct ovs_vport *vport, int ifindex, int32_t nsid)
{
    if (ifindex != vport->ifindex) {
        return false;
    } else if (vport->nsid != OVS_VPORT_LOCAL) {
        return nsid == vport->nsid;
    } else if (nsid == NL_NSID_NONE) {
        return true;
    }

    /* Our own namespace may have an id for itself, with which some kernels tag
     * its messages.  If it is another namespace, our device with that index
     * has kept its name. */
    return !vport_has_name(ifindex, vport->name);
}

static void
vport_take_link(struct vport_table *table, int ifindex, int32_t nsid,
                bool deleted, const char *name)
    OVS_REQUIRES(table->mutex)
{
    const struct vport_entry *entry;

    HMAP_FOR_EACH_WITH_HASH (entry, ifindex_node, hash_int(ifindex, 0),
                             &table->by_ifindex) {
        const struct ovs_vport *vport = &entry->vport;

        /* If a port goes with its device, the kernel announces that, except
         * for an internal one that dies with its namespace, which is handled
         * elsewhere.  A device that moves keeps its port. */
        if ((deleted
             ? vport->type == OVS_VPORT_TYPE_INTERNAL
             : strcmp(name, vport->name))
            && vport_has_device(vport, ifindex, nsid)) {
            vport_recheck_add(table, vport->port_no, VPORT_ASK_DEVICE);
        }
    }
}

/* Handles the end of the namespace with id 'nsid'.  Its internal ports go with
 * it, and the kernel announces neither the end of the port nor the end of the
 * device.
 *
 * It does not matter which namespace uses that id: a namespace may have an id
 * for itself, and an unnecessary request does no harm. */
static void
vport_take_nsid_gone(struct vport_table *table, int32_t nsid)
    OVS_REQUIRES(table->mutex)
{
    const struct vport_entry *entry;

    HMAP_FOR_EACH (entry, number_node, &table->by_number) {
        if (entry->vport.nsid == nsid) {
            vport_recheck_add(table, entry->vport.port_no, VPORT_ASK_DEVICE);
        }
    }
}

/* Counts a malformed message of rtnetlink, which is treated as a loss. */
static void
vport_link_malformed(struct vport_table *table)
    OVS_REQUIRES(table->mutex)
{
    VLOG_WARN_RL(&rl, "%s: malformed message of rtnetlink; looking at all "
                 "ports", table->name);
    table->stats.malformed++;
    vport_sync_lost(table, VPORT_ASK_LOSS);
}

/* Sorts the attributes of rtnetlink message 'nlh', whose header has 'header'
 * bytes.  Returns false if it is malformed, which is treated as a loss. */
static bool
vport_parse_link(struct vport_table *table, const struct nlmsghdr *nlh,
                 size_t header, const struct nl_attr_policy policy[],
                 const struct nlattr *attrs[], size_t n)
    OVS_REQUIRES(table->mutex)
{
    header = MNL_ALIGN(header);
    if (mnl_nlmsg_get_payload_len(nlh) < header
        || nl_attrs_parse(mnl_nlmsg_get_payload_offset(nlh, header),
                          mnl_nlmsg_get_payload_len(nlh) - header,
                          policy, attrs, n)) {
        vport_link_malformed(table);
        return false;
    }
    return true;
}

static void
vport_nsid_cb(struct vport_table *table, const struct nlmsghdr *nlh)
    OVS_REQUIRES(table->mutex)
{
    static const struct nl_attr_policy policy[] = {
        [NETNSA_NSID] = { .type = MNL_TYPE_U32, .required = true },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];

    if (vport_parse_link(table, nlh, sizeof(struct rtgenmsg), policy, attrs,
                         ARRAY_SIZE(policy))) {
        vport_take_nsid_gone(table, mnl_attr_get_u32(attrs[NETNSA_NSID]));
    }
}

/* Stores in '*name' the device name in message 'nlh'.  Returns false if the
 * message is malformed. */
static bool
vport_parse_name(struct vport_table *table, const struct nlmsghdr *nlh,
                 const char **name)
    OVS_REQUIRES(table->mutex)
{
    static const struct nl_attr_policy policy[] = {
        [IFLA_IFNAME] = { .type = MNL_TYPE_NUL_STRING, .required = true },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];

    if (!vport_parse_link(table, nlh, sizeof(struct ifinfomsg), policy, attrs,
                          ARRAY_SIZE(policy))) {
        return false;
    }
    *name = mnl_attr_get_str(attrs[IFLA_IFNAME]);
    return true;
}

static void
vport_link_cb(const struct nlmsghdr *nlh, int32_t nsid, void *table_)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
    struct vport_table *table = table_;
    const char *name;

    if (nlh->nlmsg_type == RTM_DELNSID) {
        vport_nsid_cb(table, nlh);
        return;
    }
    table->stats.links++;
    if (mnl_nlmsg_get_payload_len(nlh) < sizeof *ifi) {
        vport_link_malformed(table);
        return;
    }

    /* Messages of other families are about ports of Linux bridges.  Most of
     * the rest are about devices that are not ports; only the header of these
     * is read. */
    if (ifi->ifi_family == AF_UNSPEC
        && vport_store_has_ifindex(table, ifi->ifi_index)
        && vport_parse_name(table, nlh, &name)) {
        vport_take_link(table, ifi->ifi_index, nsid,
                        nlh->nlmsg_type == RTM_DELLINK, name);
    }
}

/* Uncertain port numbers. */

/* Requests port 'port_no', stores the answer in '*vport' and updates the
 * table.  Returns 0 or the positive errno value of the request. */
static int
vport_ask(struct vport_table *table, uint32_t port_no, enum vport_ask reason,
          struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex)
{
    struct vport_entry *entry;
    int error;

    table->stats.asked[reason]++;
    error = ovs_vport_get_by_number(&table->genl, table->dp_ifindex, port_no,
                                    vport);
    entry = vport_store_find(table, port_no);
    if (!error) {
        vport_store_put(table, vport, VPORT_FOUND_UNKNOWN);
    } else if (error == ENODEV && port_no != OVSP_LOCAL) {
        if (entry) {
            vport_store_remove(table, entry);
        }
    } else {
        /* A datapath without its local port does not exist. */
        vport_sync_lost(table, VPORT_ASK_LOSS);
    }
    return error;
}

/* Ends 'recheck' after the kernel's answer, unless more announcements are to
 * come. */
static void
vport_recheck_end(struct vport_table *table, struct vport_recheck *recheck)
    OVS_REQUIRES(table->mutex)
{
    if (recheck->announced == !!vport_store_find(table, recheck->port_no)
        || time_msec() > recheck->since + VPORT_LATE_MS) {
        vport_recheck_remove(table, recheck);
    }
}

int
vport_sync_ask(struct vport_table *table, uint32_t port_no,
               enum vport_ask reason, struct ovs_vport *vport)
{
    struct vport_recheck *recheck = vport_recheck_add(table, port_no, reason);
    int error = vport_ask(table, port_no, reason, vport);

    recheck->ask = false;
    recheck->reason = VPORT_ASK_ORDER;
    vport_recheck_end(table, recheck);
    return error;
}

static void
vport_resolve_rechecks(struct vport_table *table)
    OVS_REQUIRES(table->mutex)
{
    struct vport_recheck *recheck, *next;
    struct ovs_vport vport;
    size_t n = 0;

    HMAP_FOR_EACH (recheck, node, &table->rechecks) {
        n += recheck->ask;
    }
    if (n > VPORT_MAX_ASKS) {
        vport_sync_lost(table, VPORT_ASK_ORDER);
    }
    HMAP_FOR_EACH_SAFE (recheck, next, node, &table->rechecks) {
        if (!table->in_sync) {
            return;
        }
        if (recheck->ask) {
            vport_ask(table, recheck->port_no, recheck->reason, &vport);
            recheck->ask = false;
            recheck->reason = VPORT_ASK_ORDER;
        }
        vport_recheck_end(table, recheck);
    }
}

/* Dumps. */

static int
vport_dump_cb(const struct ovs_vport *vport, void *table_)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct vport_table *table = table_;

    vport_store_put(table, vport, VPORT_FOUND_UNKNOWN)->marked = true;
    return 0;
}

/* Processes announcements that arrived during the dump, treating all as
 * uncertain.  Returns true if the dump may have missed a port because of one.
 * The kernel continues a dump by the number of ports that it has shown of a
 * bucket of its table, so if one of these is removed meanwhile, it skips
 * another. */
static bool
vport_dump_was_disturbed(struct vport_table *table)
    OVS_REQUIRES(table->mutex)
{
    const struct vport_table_stats before = table->stats;
    bool drained;

    vport_recheck_clear(table);
    table->late_until = time_msec() + VPORT_LATE_MS;
    drained = vport_receive(table, table->vport_mcast, vport_take_cb, "ports",
                            &table->stats.vport_overruns);
    return (!drained
            || table->stats.deleted != before.deleted
            || table->stats.vport_overruns != before.vport_overruns
            || table->stats.malformed != before.malformed);
}

/* Marks the ports that the kernel has.  Returns 0 if these are all, EINTR if
 * some may be missing, or the positive errno value of the request. */
static int
vport_mark(struct vport_table *table)
    OVS_REQUIRES(table->mutex)
{
    struct vport_entry *entry;
    int error;

    HMAP_FOR_EACH (entry, number_node, &table->by_number) {
        entry->marked = false;
    }
    table->stats.asked[table->dump_reason]++;
    error = ovs_vport_dump(&table->genl, table->dp_ifindex, vport_dump_cb,
                           table);
    return error ? error : vport_dump_was_disturbed(table) ? EINTR : 0;
}

static void
vport_dump(struct vport_table *table)
    OVS_REQUIRES(table->mutex)
{
    struct vport_entry *entry, *next;
    int error = EINTR;

    for (int i = 0; i < VPORT_DUMP_TRIES && error == EINTR; i++) {
        error = vport_mark(table);
    }
    if (error) {
        table->tried = true;

        /* The users of the datapath report that it is gone. */
        VLOG_RL(&rl, error == ENODEV ? VLL_DBG : VLL_WARN,
                "%s: listing the ports failed (%s); asking the kernel about "
                "each", table->name, ovs_strerror(error));
        return;
    }

    HMAP_FOR_EACH_SAFE (entry, next, number_node, &table->by_number) {
        if (!entry->marked) {
            vport_store_remove(table, entry);
        }
    }
    if (table->dump_reason != VPORT_ASK_START) {
        table->stats.resyncs++;
        vport_notify_all(table);
    }
    table->in_sync = true;
    vport_resolve_rechecks(table);
}

void
vport_sync_catch_up(struct vport_table *table)
{
    bool drained;

    if (vport_sync_open(table)) {
        return;
    }

    /* Messages about devices matter only for known ports.  The name of a new
     * port is checked when it is added, and later changes are announced
     * later. */
    drained = vport_receive(table, table->link_mcast, vport_link_cb,
                            "devices", &table->stats.link_overruns);
    drained &= vport_receive(table, table->vport_mcast, vport_take_cb,
                             "ports", &table->stats.vport_overruns);
    vport_resolve_rechecks(table);

    /* A socket that overran receives nothing until it was seen empty, so a
     * dump before that would miss later changes. */
    if (!table->in_sync && drained && !table->tried) {
        vport_dump(table);
    }
    table->caught_up = true;
}
