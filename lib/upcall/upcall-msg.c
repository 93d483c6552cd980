/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-msg.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

#include "nl/nl-conn.h"
#include "odp-netlink.h"
#include "util.h"

/* Bytes of the packet attribute's own header, in front of the packet. */
#define UPCALL_HEADROOM sizeof(struct nlattr)

static const struct nl_attr_policy upcall_policy[] = {
    [OVS_PACKET_ATTR_PACKET] = { .type = MNL_TYPE_UNSPEC,
                                 .min_len = UPCALL_PACKET_MIN,
                                 .required = true },
    [OVS_PACKET_ATTR_KEY] = { .type = MNL_TYPE_NESTED, .required = true },
    [OVS_PACKET_ATTR_USERDATA] = { .type = MNL_TYPE_UNSPEC },
    [OVS_PACKET_ATTR_EGRESS_TUN_KEY] = { .type = MNL_TYPE_NESTED },
    [OVS_PACKET_ATTR_ACTIONS] = { .type = MNL_TYPE_NESTED },
    [OVS_PACKET_ATTR_MRU] = { .type = MNL_TYPE_U16 },
    [OVS_PACKET_ATTR_HASH] = { .type = MNL_TYPE_U64 },
};

static struct nlattr *
upcall_attr(const struct nlattr *const attrs[], int type)
{
    return CONST_CAST(struct nlattr *, attrs[type]);
}

int
upcall_msg_parse(void *msg, size_t len, uint16_t packet_family,
                 struct upcall_view *view)
{
    const size_t headers = (MNL_ALIGN(sizeof(struct genlmsghdr))
                            + MNL_ALIGN(sizeof(struct ovs_header)));
    const struct nlattr *attrs[ARRAY_SIZE(upcall_policy)];
    struct nlmsghdr *nlh = msg;

    if (len < MNL_NLMSG_HDRLEN + headers
        || nlh->nlmsg_len < MNL_NLMSG_HDRLEN + headers
        || nlh->nlmsg_len > len
        || nlh->nlmsg_type != packet_family) {
        return EINVAL;
    }

    const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
    if (genl->cmd == OVS_PACKET_CMD_MISS) {
        view->type = UPCALL_MISS;
    } else if (genl->cmd == OVS_PACKET_CMD_ACTION) {
        view->type = UPCALL_ACTION;
    } else {
        return EINVAL;
    }

    const struct ovs_header *ovs
        = mnl_nlmsg_get_payload_offset(nlh, sizeof *genl);
    view->dp_ifindex = ovs->dp_ifindex;

    if (nl_attrs_parse(mnl_nlmsg_get_payload_offset(nlh, headers),
                       nlh->nlmsg_len - MNL_NLMSG_HDRLEN - headers,
                       upcall_policy, attrs, ARRAY_SIZE(upcall_policy))) {
        return EINVAL;
    }

    const struct nlattr *packet = attrs[OVS_PACKET_ATTR_PACKET];
    view->packet = mnl_attr_get_payload(packet);
    view->packet_len = mnl_attr_get_payload_len(packet);
    view->headroom = UPCALL_HEADROOM;

    const struct nlattr *key = attrs[OVS_PACKET_ATTR_KEY];
    view->key = mnl_attr_get_payload(key);
    view->key_len = mnl_attr_get_payload_len(key);

    view->userdata = upcall_attr(attrs, OVS_PACKET_ATTR_USERDATA);
    view->egress_tun_key = upcall_attr(attrs, OVS_PACKET_ATTR_EGRESS_TUN_KEY);
    view->actions = upcall_attr(attrs, OVS_PACKET_ATTR_ACTIONS);
    view->mru = upcall_attr(attrs, OVS_PACKET_ATTR_MRU);
    view->hash = upcall_attr(attrs, OVS_PACKET_ATTR_HASH);
    return 0;
}

bool
upcall_msg_is_action(const void *msg, size_t len)
{
    const struct genlmsghdr *genl = mnl_nlmsg_get_payload(msg);

    return (len >= MNL_NLMSG_HDRLEN + sizeof *genl
            && genl->cmd == OVS_PACKET_CMD_ACTION);
}

__attribute__((weak)) bool
upcall_msg_is_from_kernel(uint32_t pid)
{
    return !pid;
}

/* Stores the 32 bits of attribute 'type' of the flow key in '*value'.  Returns
 * false if the key does not have the attribute. */
static bool
key_get_u32(const struct upcall_view *view, uint16_t type, uint32_t *value)
{
    const struct nlattr *attr;

    mnl_attr_for_each_payload (view->key, view->key_len) {
        if (mnl_attr_get_type(attr) == type
            && !mnl_attr_validate(attr, MNL_TYPE_U32)) {
            *value = mnl_attr_get_u32(attr);
            return true;
        }
    }
    return false;
}

bool
upcall_view_in_port(const struct upcall_view *view, uint32_t *port_no)
{
    return key_get_u32(view, OVS_KEY_ATTR_IN_PORT, port_no);
}

uint32_t
upcall_view_recirc_id(const struct upcall_view *view)
{
    uint32_t id;

    return key_get_u32(view, OVS_KEY_ATTR_RECIRC_ID, &id) ? id : 0;
}

bool
upcall_view_has_tunnel(const struct upcall_view *view)
{
    const struct nlattr *attr;

    mnl_attr_for_each_payload (view->key, view->key_len) {
        if (mnl_attr_get_type(attr) == OVS_KEY_ATTR_TUNNEL) {
            return true;
        }
    }
    return false;
}
