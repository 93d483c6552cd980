/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-msg.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "nl/nl-conn.h"
#include "util.h"

char *
link_nsid_to_string(int32_t nsid)
{
    return (nsid == LINK_NSID_LOCAL ? xstrdup("local")
            : xasprintf("%"PRId32, nsid));
}

static const struct nl_attr_policy link_policy[] = {
    [IFLA_ADDRESS] = { .type = MNL_TYPE_UNSPEC },
    [IFLA_IFNAME] = { .type = MNL_TYPE_NUL_STRING, .min_len = 2,
                      .required = true },
    [IFLA_MTU] = { .type = MNL_TYPE_U32 },
    [IFLA_LINK] = { .type = MNL_TYPE_U32 },
    [IFLA_MASTER] = { .type = MNL_TYPE_U32 },
    [IFLA_WIRELESS] = { .type = MNL_TYPE_UNSPEC },
    [IFLA_OPERSTATE] = { .type = MNL_TYPE_U8 },
    [IFLA_LINKINFO] = { .type = MNL_TYPE_NESTED },
    [IFLA_CARRIER] = { .type = MNL_TYPE_U8 },
    [IFLA_PHYS_SWITCH_ID] = { .type = MNL_TYPE_UNSPEC },
    [IFLA_LINK_NETNSID] = { .type = MNL_TYPE_U32 },
    [IFLA_PHYS_PORT_NAME] = { .type = MNL_TYPE_NUL_STRING },
    [IFLA_NEW_NETNSID] = { .type = MNL_TYPE_U32 },
    [IFLA_TARGET_NETNSID] = { .type = MNL_TYPE_U32 },
    [IFLA_CARRIER_UP_COUNT] = { .type = MNL_TYPE_U32 },
    [IFLA_CARRIER_DOWN_COUNT] = { .type = MNL_TYPE_U32 },
    [IFLA_PROP_LIST] = { .type = MNL_TYPE_NESTED },
};

static const struct nl_attr_policy link_info_policy[] = {
    [IFLA_INFO_KIND] = { .type = MNL_TYPE_NUL_STRING },
    [IFLA_INFO_SLAVE_KIND] = { .type = MNL_TYPE_NUL_STRING },
    [IFLA_INFO_SLAVE_DATA] = { .type = MNL_TYPE_NESTED },
};

static const struct nl_attr_policy bond_member_policy[] = {
    [IFLA_BOND_SLAVE_STATE] = { .type = MNL_TYPE_U8, .required = true },
    [IFLA_BOND_SLAVE_MII_STATUS] = { .type = MNL_TYPE_U8, .required = true },
};

static const struct nl_attr_policy addr_policy[] = {
    [IFA_ADDRESS] = { .type = MNL_TYPE_UNSPEC },
    [IFA_LOCAL] = { .type = MNL_TYPE_UNSPEC },
};

static const struct nl_attr_policy nsid_policy[] = {
    [NETNSA_NSID] = { .type = MNL_TYPE_U32, .required = true },
};

static const struct nl_attr_policy qdisc_policy[] = {
    [TCA_KIND] = { .type = MNL_TYPE_NUL_STRING, .required = true },
};

/* Parses the attributes of 'nlh' that follow a header of 'hdrlen' bytes. */
static int
link_msg_attrs(const struct nlmsghdr *nlh, size_t hdrlen,
               const struct nl_attr_policy policy[],
               const struct nlattr *attrs[], size_t n)
{
    size_t len = mnl_nlmsg_get_payload_len(nlh);

    if (len < hdrlen) {
        return EINVAL;
    }

    /* The attributes start at an aligned offset, unless there are none. */
    size_t ofs = MIN(MNL_ALIGN(hdrlen), len);
    return nl_attrs_parse(mnl_nlmsg_get_payload_offset(nlh, ofs), len - ofs,
                          policy, attrs, n);
}

/* Stores in '*valuep' the interface index or namespace id in 'attr', or
 * 'otherwise' if 'attr' is NULL. */
static void
link_attr_s32(const struct nlattr *attr, int32_t otherwise, int32_t *valuep)
{
    *valuep = attr ? (int32_t) mnl_attr_get_u32(attr) : otherwise;
}

/* The same for a namespace id.  Negative values mean that there is none. */
static int32_t
link_attr_nsid(const struct nlattr *attr)
{
    int32_t nsid;

    link_attr_s32(attr, LINK_NSID_NONE, &nsid);
    return MAX(nsid, LINK_NSID_NONE);
}

/* Parses the bond's data about a member. */
static int
link_parse_bond_member(const struct nlattr *data, struct link_view *view)
{
    const struct nlattr *attrs[ARRAY_SIZE(bond_member_policy)];

    if (nl_attrs_parse(mnl_attr_get_payload(data),
                       mnl_attr_get_payload_len(data), bond_member_policy,
                       attrs, ARRAY_SIZE(attrs))) {
        return EINVAL;
    }
    view->bond_state
        = (0x8000 | (mnl_attr_get_u8(attrs[IFLA_BOND_SLAVE_STATE]) & 0x7f) << 8
           | mnl_attr_get_u8(attrs[IFLA_BOND_SLAVE_MII_STATUS]));
    return 0;
}

static int
link_parse_kind(const struct nlattr *info, struct link_view *view)
{
    const struct nlattr *attrs[ARRAY_SIZE(link_info_policy)];

    view->kind = NULL;
    if (info) {
        if (nl_attrs_parse(mnl_attr_get_payload(info),
                           mnl_attr_get_payload_len(info),
                           link_info_policy, attrs, ARRAY_SIZE(attrs))) {
            return EINVAL;
        }
        if (attrs[IFLA_INFO_KIND]) {
            view->kind = mnl_attr_get_str(attrs[IFLA_INFO_KIND]);
            if (strlen(view->kind) >= LINK_KIND_SIZE) {
                return EINVAL;
            }
        }

        /* Masters of other kinds have other data there. */
        if (attrs[IFLA_INFO_SLAVE_KIND] && attrs[IFLA_INFO_SLAVE_DATA]
            && !strcmp(mnl_attr_get_str(attrs[IFLA_INFO_SLAVE_KIND]),
                       "bond")) {
            return link_parse_bond_member(attrs[IFLA_INFO_SLAVE_DATA], view);
        }
    }
    return 0;
}

/* Checks the list of properties, in which attributes repeat. */
static int
link_parse_alt_names(const struct nlattr *list, struct link_view *view)
{
    view->alt_names = list;
    if (!list) {
        return 0;
    }

    const char *p = mnl_attr_get_payload(list);
    size_t left = mnl_attr_get_payload_len(list);
    while (left) {
        const struct nlattr *attr = (const struct nlattr *) p;

        if (left < sizeof *attr || attr->nla_len < sizeof *attr
            || attr->nla_len > left) {
            return EINVAL;
        }
        if (mnl_attr_get_type(attr) == IFLA_ALT_IFNAME
            && (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0
                || strlen(mnl_attr_get_str(attr)) >= LINK_ALT_NAME_SIZE)) {
            return EINVAL;
        }

        size_t step = MIN(left, MNL_ALIGN(attr->nla_len));
        p += step;
        left -= step;
    }
    return 0;
}

const char *
link_view_next_alt_name(const struct link_view *view, const char *name)
{
    const struct nlattr *attr;

    if (!view->alt_names) {
        return NULL;
    }

    /* 'name' is the payload of its attribute. */
    attr = (name
            ? mnl_attr_next((const void *) (name - MNL_ATTR_HDRLEN))
            : mnl_attr_get_payload(view->alt_names));
    const char *end = ((const char *) mnl_attr_get_payload(view->alt_names)
                       + mnl_attr_get_payload_len(view->alt_names));
    for (; mnl_attr_ok(attr, end - (const char *) attr);
         attr = mnl_attr_next(attr)) {
        if (mnl_attr_get_type(attr) == IFLA_ALT_IFNAME) {
            return mnl_attr_get_str(attr);
        }
    }
    return NULL;
}

/* Parses attributes whose absence says nothing, and the hardware address,
 * whose absence means that there is none. */
static int
link_parse_optional(const struct nlattr *attrs[], struct link_view *view)
{
    view->has = 0;
    if (attrs[IFLA_OPERSTATE]) {
        view->has |= LINK_HAS_OPERSTATE;
        view->operstate = mnl_attr_get_u8(attrs[IFLA_OPERSTATE]);
    }
    if (attrs[IFLA_CARRIER]) {
        view->has |= LINK_HAS_CARRIER;
        view->carrier = mnl_attr_get_u8(attrs[IFLA_CARRIER]);
    }
    if (attrs[IFLA_CARRIER_UP_COUNT] && attrs[IFLA_CARRIER_DOWN_COUNT]) {
        view->has |= LINK_HAS_CARRIER_COUNT;
        view->carrier_up = mnl_attr_get_u32(attrs[IFLA_CARRIER_UP_COUNT]);
        view->carrier_down = mnl_attr_get_u32(attrs[IFLA_CARRIER_DOWN_COUNT]);
    }
    if (attrs[IFLA_MTU]) {
        view->has |= LINK_HAS_MTU;
        view->mtu = mnl_attr_get_u32(attrs[IFLA_MTU]);
    }
    if (attrs[IFLA_ADDRESS]) {
        view->hwaddr = mnl_attr_get_payload(attrs[IFLA_ADDRESS]);
        view->hwaddr_len = mnl_attr_get_payload_len(attrs[IFLA_ADDRESS]);
        if (view->hwaddr_len > LINK_HWADDR_MAX) {
            return EINVAL;
        }
    }
    return 0;
}

/* Parses the attributes of a port of a hardware switch, or representor. */
static int
link_parse_switch_port(const struct nlattr *attrs[], struct link_view *view)
{
    const struct nlattr *name = attrs[IFLA_PHYS_PORT_NAME];
    const struct nlattr *id = attrs[IFLA_PHYS_SWITCH_ID];

    if (name) {
        view->port_name = mnl_attr_get_str(name);
        if (strlen(view->port_name) >= LINK_NAME_SIZE) {
            return EINVAL;
        }
    }
    if (id) {
        view->switch_id = mnl_attr_get_payload(id);
        view->switch_id_len = mnl_attr_get_payload_len(id);
        if (view->switch_id_len > LINK_SWITCH_ID_MAX) {
            return EINVAL;
        }
    }
    return 0;
}

static int
link_parse_link(const struct nlmsghdr *nlh, struct link_view *view)
{
    const struct nlattr *attrs[ARRAY_SIZE(link_policy)];
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

    memset(view, 0, sizeof *view);
    if (link_msg_attrs(nlh, sizeof *ifi, link_policy, attrs,
                       ARRAY_SIZE(attrs))) {
        return EINVAL;
    }

    view->family = ifi->ifi_family;
    view->arp_type = ifi->ifi_type;
    view->flags = ifi->ifi_flags;
    view->ifindex = ifi->ifi_index;
    view->partial = attrs[IFLA_WIRELESS] != NULL;
    view->name = mnl_attr_get_str(attrs[IFLA_IFNAME]);
    link_attr_s32(attrs[IFLA_MASTER], 0, &view->master);
    link_attr_s32(attrs[IFLA_LINK], 0, &view->lower);
    view->target_nsid = link_attr_nsid(attrs[IFLA_TARGET_NETNSID]);
    view->new_nsid = link_attr_nsid(attrs[IFLA_NEW_NETNSID]);
    view->lower_nsid = (!attrs[IFLA_LINK_NETNSID] ? LINK_NSID_SAME
                        : link_attr_nsid(attrs[IFLA_LINK_NETNSID]));
    if (view->lower_nsid == LINK_NSID_NONE) {
        view->lower_nsid = LINK_NSID_OTHER;
    }

    if (view->ifindex <= 0 || view->master < 0 || view->lower < 0
        || !view->name[0] || strlen(view->name) >= LINK_NAME_SIZE
        || link_parse_kind(attrs[IFLA_LINKINFO], view)
        || link_parse_alt_names(attrs[IFLA_PROP_LIST], view)
        || link_parse_optional(attrs, view)
        || link_parse_switch_port(attrs, view)) {
        return EINVAL;
    }
    return 0;
}

static int
link_parse_addr(const struct nlmsghdr *nlh, struct link_addr_view *view)
{
    const struct nlattr *attrs[ARRAY_SIZE(addr_policy)];
    const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);

    if (link_msg_attrs(nlh, sizeof *ifa, addr_policy, attrs,
                       ARRAY_SIZE(attrs))
        || ifa->ifa_index - 1 >= INT32_MAX) {
        return EINVAL;
    }

    /* With a peer, IFA_ADDRESS is the peer's. */
    const struct nlattr *address = (attrs[IFA_LOCAL] ? attrs[IFA_LOCAL]
                                    : attrs[IFA_ADDRESS]);
    size_t expected = (ifa->ifa_family == AF_INET ? 4
                       : ifa->ifa_family == AF_INET6 ? 16 : 0);
    view->family = ifa->ifa_family;
    view->prefix_len = ifa->ifa_prefixlen;
    view->ifindex = ifa->ifa_index;
    view->address = address ? mnl_attr_get_payload(address) : NULL;
    view->address_len = address ? mnl_attr_get_payload_len(address) : 0;
    return address && expected && view->address_len != expected ? EINVAL : 0;
}

static int
link_parse_nsid(const struct nlmsghdr *nlh, int32_t *nsid)
{
    const struct nlattr *attrs[ARRAY_SIZE(nsid_policy)];

    if (link_msg_attrs(nlh, sizeof(struct rtgenmsg), nsid_policy, attrs,
                       ARRAY_SIZE(attrs))) {
        return EINVAL;
    }
    *nsid = link_attr_nsid(attrs[NETNSA_NSID]);
    return 0;
}

/* Parses a class of a discipline.  Its header has all that matters. */
static int
link_parse_class(const struct nlmsghdr *nlh, struct link_qdisc_view *view)
{
    const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);

    if (mnl_nlmsg_get_payload_len(nlh) < sizeof *tcm) {
        return EINVAL;
    }
    view->ifindex = tcm->tcm_ifindex;
    view->handle = tcm->tcm_handle;
    view->parent = tcm->tcm_parent;
    view->kind = NULL;
    return view->ifindex <= 0 ? EINVAL : 0;
}

static int
link_parse_qdisc(const struct nlmsghdr *nlh, struct link_qdisc_view *view)
{
    const struct nlattr *attrs[ARRAY_SIZE(qdisc_policy)];
    const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);

    if (link_msg_attrs(nlh, sizeof *tcm, qdisc_policy, attrs,
                       ARRAY_SIZE(attrs))) {
        return EINVAL;
    }
    view->ifindex = tcm->tcm_ifindex;
    view->handle = tcm->tcm_handle;
    view->parent = tcm->tcm_parent;
    view->kind = mnl_attr_get_str(attrs[TCA_KIND]);
    return view->ifindex <= 0 ? EINVAL : 0;
}

int
link_msg_parse(const void *msg, size_t len, struct link_msg *out)
{
    const struct nlmsghdr *nlh = msg;

    if (len < MNL_NLMSG_HDRLEN || nlh->nlmsg_len < MNL_NLMSG_HDRLEN
        || nlh->nlmsg_len > len) {
        return EINVAL;
    }

    switch (nlh->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
        out->type = (nlh->nlmsg_type == RTM_NEWLINK ? LINK_MSG_NEWLINK
                     : LINK_MSG_DELLINK);
        return link_parse_link(nlh, &out->link);

    case RTM_NEWADDR:
    case RTM_DELADDR:
        out->type = (nlh->nlmsg_type == RTM_NEWADDR ? LINK_MSG_NEWADDR
                     : LINK_MSG_DELADDR);
        return link_parse_addr(nlh, &out->addr);

    case RTM_NEWNSID:
    case RTM_DELNSID:
        out->type = (nlh->nlmsg_type == RTM_NEWNSID ? LINK_MSG_NEWNSID
                     : LINK_MSG_DELNSID);
        return link_parse_nsid(nlh, &out->nsid);

    case RTM_NEWQDISC:
    case RTM_DELQDISC:
        out->type = (nlh->nlmsg_type == RTM_NEWQDISC ? LINK_MSG_NEWQDISC
                     : LINK_MSG_DELQDISC);
        return link_parse_qdisc(nlh, &out->qdisc);

    case RTM_NEWTCLASS:
    case RTM_DELTCLASS:
        out->type = (nlh->nlmsg_type == RTM_NEWTCLASS ? LINK_MSG_NEWTCLASS
                     : LINK_MSG_DELTCLASS);
        return link_parse_class(nlh, &out->qdisc);

    default:
        return ENOMSG;
    }
}
