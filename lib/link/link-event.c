/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-event.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "coverage.h"
#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-replica.h"
#include "link/link-table.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_event);

COVERAGE_DEFINE(link_event);
COVERAGE_DEFINE(link_event_malformed);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* Requests our own id, if it is unknown: one may have been assigned. */
static void
link_event_check_self(struct link_replica *replica)
{
    if (replica->self_nsid == LINK_NSID_NONE) {
        link_request_self_nsid(replica);
    }
}

/* True if events that are tagged with 'tag' are of our own namespace. */
static bool
link_event_is_own(struct link_replica *replica, int32_t tag)
{
    if (tag != LINK_NSID_NONE && tag != replica->self_nsid
        && !link_table_has_ns(replica->table, tag)) {
        link_event_check_self(replica);
        if (tag != replica->self_nsid) {
            link_table_add_ns(replica->table, tag);
        }
    }
    return tag == LINK_NSID_NONE || tag == replica->self_nsid;
}

static void
link_event_take_nsid(struct link_replica *replica,
                     enum link_msg_type type, int32_t nsid)
{
    if (nsid == LINK_NSID_NONE || !replica->all_nsid) {
        /* Our own events are not tagged unless we listen to others, too. */
        return;
    }
    if (type == LINK_MSG_NEWNSID) {
        link_event_check_self(replica);
        if (nsid != replica->self_nsid) {
            /* If it is there, an event with its tag came first, or the event
             * that ends the id's previous namespace is still to come. */
            link_table_add_ns(replica->table, nsid);
        }
    } else if (nsid != replica->self_nsid) {
        link_table_drop_ns(replica->table, nsid);

        /* The kernel frees an id before it announces that.  Another namespace
         * may already have it, and this may be the later of two messages.  If
         * the request fails, the next dump of its links finds out. */
        if (link_request_nsid_exists(replica, nsid) != ENOENT) {
            link_event_check_self(replica);
            if (nsid != replica->self_nsid) {
                link_table_add_ns(replica->table, nsid);
            }
        }
    }
}

static void
link_event_take_link(struct link_replica *replica, int32_t nsid,
                     const struct nlmsghdr *nlh, struct link_msg *msg)
{
    struct link_view *view = &msg->link;

    if (view->family != AF_UNSPEC) {
        replica->stats.ignored_port++;
        return;
    }
    link_table_count_event(replica->table, nsid);
    if (!view->partial) {
        link_newer_note(&replica->newer, nlh, nsid, view->ifindex);
    }
    if (msg->type == LINK_MSG_DELLINK) {
        link_table_remove(replica->table, nsid, view->ifindex);
        return;
    }
    link_replica_update_link(replica, nsid, view);
}

/* Handles an event of our own namespace that is not about a link itself. */
static void
link_event_take_other(struct link_replica *replica,
                      const struct link_msg *msg)
{
    switch (msg->type) {
    case LINK_MSG_NEWADDR:
    case LINK_MSG_DELADDR:
        if (replica->addrs) {
            link_addrs_update(replica->addrs, &msg->addr,
                              msg->type == LINK_MSG_DELADDR);
        }
        link_replica_tell_addrs(replica, msg->addr.ifindex);
        break;
    case LINK_MSG_NEWQDISC:
    case LINK_MSG_DELQDISC:
        if (replica->qdiscs) {
            link_qdiscs_update(replica->qdiscs, &msg->qdisc,
                               msg->type == LINK_MSG_DELQDISC);
        }
        break;
    case LINK_MSG_NEWTCLASS:
    case LINK_MSG_DELTCLASS:
        if (replica->qdiscs) {
            link_qdiscs_class_changed(replica->qdiscs, msg->qdisc.ifindex);
        }
        break;
    case LINK_MSG_NEWNSID:
    case LINK_MSG_DELNSID:
        link_event_take_nsid(replica, msg->type, msg->nsid);
        break;
    case LINK_MSG_NEWLINK:
    case LINK_MSG_DELLINK:
    case LINK_N_MSGS:
        OVS_NOT_REACHED();
    }
}

/* Parses and counts 'nlh'.  Returns false if it is to be ignored. */
static bool
link_event_parse(struct link_replica *replica, const struct nlmsghdr *nlh,
                 struct link_msg *msg)
{
    int error = link_msg_parse(nlh, nlh->nlmsg_len, msg);

    if (error == ENOMSG) {
        replica->stats.events_other++;
        return false;
    } else if (error) {
        COVERAGE_INC(link_event_malformed);
        replica->stats.malformed++;
        VLOG_WARN_RL(&rl, "malformed rtnetlink message of type %"PRIu16
                     " (%"PRIu32" bytes) is skipped",
                     nlh->nlmsg_type, nlh->nlmsg_len);
        return false;
    }
    COVERAGE_INC(link_event);
    replica->stats.events[msg->type]++;
    return true;
}

void
link_event_take_own(struct link_replica *replica, const struct nlmsghdr *nlh)
{
    struct link_msg msg;

    if (!link_event_parse(replica, nlh, &msg)) {
        return;
    }
    if (msg.type <= LINK_MSG_DELADDR) {
        replica->changed_at = time_msec();
    }
    if (msg.type == LINK_MSG_NEWLINK || msg.type == LINK_MSG_DELLINK) {
        link_event_take_link(replica, LINK_NSID_LOCAL, nlh, &msg);
    } else {
        link_newer_note(&replica->newer, nlh, LINK_NSID_LOCAL, 0);
        link_event_take_other(replica, &msg);
    }
}

void
link_event_take_others(struct link_replica *replica,
                       const struct nlmsghdr *nlh, int32_t tag)
{
    bool is_link = (nlh->nlmsg_type == RTM_NEWLINK
                    || nlh->nlmsg_type == RTM_DELLINK);
    bool is_nsid = (nlh->nlmsg_type == RTM_NEWNSID
                    || nlh->nlmsg_type == RTM_DELNSID);
    struct link_msg msg;

    if (link_event_is_own(replica, tag)) {
        if (!is_nsid) {
            replica->stats.ignored_own++;
        } else if (link_event_parse(replica, nlh, &msg)) {
            link_newer_note(&replica->newer, nlh, LINK_NSID_LOCAL, msg.nsid);
            link_event_take_nsid(replica, msg.type, msg.nsid);
        }
    } else if (!is_link || link_table_skips(replica->table, tag)) {
        /* Skipped without parsing. */
        replica->stats.ignored_foreign++;
    } else if (link_event_parse(replica, nlh, &msg)) {
        link_event_take_link(replica, tag, nlh, &msg);
    }
}
