/* SPDX-License-Identifier: Apache-2.0 */

/* Parser of messages about links: whatever the bytes are, the view stays
 * within them and keeps its promises. */

#include <config.h>

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "link/link-msg.h"
#include "link/link-route.h"

static void
check_inside(const void *p, size_t n, const char *buf, size_t size)
{
    const char *start = p;

    fuzz_check(start >= buf && n <= size && start + n <= buf + size);
    fuzz_touch(start, n);
}

static void
check_string(const char *s, size_t max, const char *buf, size_t size)
{
    size_t n;

    check_inside(s, 1, buf, size);
    n = strnlen(s, buf + size - s);
    fuzz_check(n < max);
    check_inside(s, n + 1, buf, size);
}

static void
check_link(const struct link_view *view, const char *buf, size_t size)
{
    const char *name = NULL;

    check_string(view->name, LINK_NAME_SIZE, buf, size);
    fuzz_check(view->name[0] != '\0');
    fuzz_check(view->ifindex > 0 && view->master >= 0 && view->lower >= 0);
    fuzz_check(view->target_nsid >= LINK_NSID_NONE);
    fuzz_check(view->new_nsid >= LINK_NSID_NONE);
    fuzz_check(view->lower_nsid >= 0 || view->lower_nsid == LINK_NSID_SAME
               || view->lower_nsid == LINK_NSID_OTHER);
    if (view->kind) {
        check_string(view->kind, LINK_KIND_SIZE, buf, size);
    }
    if (view->hwaddr_len) {
        fuzz_check(view->hwaddr_len <= LINK_HWADDR_MAX);
        check_inside(view->hwaddr, view->hwaddr_len, buf, size);
    }
    if (view->port_name) {
        check_string(view->port_name, LINK_NAME_SIZE, buf, size);
    }
    if (view->switch_id_len) {
        fuzz_check(view->switch_id_len <= LINK_SWITCH_ID_MAX);
        check_inside(view->switch_id, view->switch_id_len, buf, size);
    }
    while ((name = link_view_next_alt_name(view, name)) != NULL) {
        check_string(name, LINK_ALT_NAME_SIZE, buf, size);
    }
}

/* Answers about routes have a parser of their own, which is told that all
 * bytes are there. */
static bool
parse_route(const char *buf, size_t size)
{
    const struct nlmsghdr *nlh = (const void *) buf;
    struct link_route route;

    /* Not mnl_nlmsg_ok(), for which lengths from 2^31 on are negative. */
    if (size < sizeof *nlh || nlh->nlmsg_len < sizeof *nlh
        || nlh->nlmsg_len > size || link_route_parse(nlh, &route)) {
        return false;
    }
    fuzz_check(route.ifindex > 0);
    fuzz_touch(&route, sizeof route);
    return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *buf = fuzz_copy(data, size);
    struct link_msg msg;
    int error = link_msg_parse(buf, size, &msg);

    parse_route(buf, size);
    if (error) {
        fuzz_check(error == EINVAL || error == ENOMSG);
    } else if (msg.type <= LINK_MSG_DELLINK) {
        check_link(&msg.link, buf, size);
    } else if (msg.type <= LINK_MSG_DELADDR) {
        fuzz_check(msg.addr.ifindex > 0);
        if (msg.addr.address) {
            check_inside(msg.addr.address, msg.addr.address_len, buf, size);
        }
    } else if (msg.type <= LINK_MSG_DELNSID) {
        fuzz_check(msg.nsid >= LINK_NSID_NONE);
    } else {
        fuzz_check(msg.type < LINK_N_MSGS);
        fuzz_check(msg.qdisc.ifindex > 0);
        if (msg.type <= LINK_MSG_DELQDISC) {
            check_string(msg.qdisc.kind, SIZE_MAX, buf, size);
        }
    }
    free(buf);
    return 0;
}

bool
fuzz_accepts(const uint8_t *data, size_t size)
{
    struct link_msg msg;
    void *buf = fuzz_copy(data, size);
    bool accepts = (!link_msg_parse(buf, size, &msg)
                    || parse_route(buf, size));

    free(buf);
    return accepts;
}

static struct nlmsghdr *
put_headers(void *buf, uint16_t type, size_t header)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    mnl_nlmsg_put_extra_header(nlh, header);
    return nlh;
}

static struct nlmsghdr *
put_link(void *buf, uint16_t type, const char *name)
{
    struct nlmsghdr *nlh = put_headers(buf, type, sizeof(struct ifinfomsg));
    struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

    ifi->ifi_index = 3;
    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    return nlh;
}

static void
emit_routes(fuzz_emit_func *emit, void *aux)
{
    char buf[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh;
    struct rtmsg *rtm;

    nlh = put_headers(buf, RTM_NEWROUTE, sizeof *rtm);
    rtm = mnl_nlmsg_get_payload(nlh);
    rtm->rtm_family = AF_INET;
    rtm->rtm_type = RTN_UNICAST;
    mnl_attr_put_u32(nlh, RTA_OIF, 3);
    mnl_attr_put_u32(nlh, RTA_GATEWAY, 0x0100000a);
    mnl_attr_put_u32(nlh, RTA_PREFSRC, 0x0200000a);
    emit("route", buf, nlh->nlmsg_len, aux);

    nlh = put_headers(buf, RTM_NEWROUTE, sizeof *rtm);
    rtm = mnl_nlmsg_get_payload(nlh);
    rtm->rtm_family = AF_INET;
    rtm->rtm_type = RTN_UNICAST;
    mnl_attr_put_u32(nlh, RTA_OIF, 3);
    mnl_attr_put(nlh, RTA_VIA, 18,
                 "\x0a\0\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1");
    emit("route-via", buf, nlh->nlmsg_len, aux);

    nlh = put_headers(buf, RTM_NEWROUTE, sizeof *rtm);
    rtm = mnl_nlmsg_get_payload(nlh);
    rtm->rtm_family = AF_INET6;
    rtm->rtm_type = RTN_LOCAL;
    mnl_attr_put_u32(nlh, RTA_OIF, 1);
    mnl_attr_put(nlh, RTA_PREFSRC, 16, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1");
    emit("route6", buf, nlh->nlmsg_len, aux);
}

static void
emit_qdisc(fuzz_emit_func *emit, void *aux)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = put_headers(buf, RTM_NEWQDISC,
                                       sizeof(struct tcmsg));
    struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);

    tcm->tcm_ifindex = 3;
    tcm->tcm_handle = 0xffff0000;
    tcm->tcm_parent = 0xfffffff1;
    mnl_attr_put_strz(nlh, TCA_KIND, "ingress");
    emit("qdisc", buf, nlh->nlmsg_len, aux);
    nlh->nlmsg_type = RTM_NEWTCLASS;
    emit("class", buf, nlh->nlmsg_len, aux);
}

void
fuzz_seeds(fuzz_emit_func *emit, void *aux)
{
    char buf[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh;
    struct nlattr *nest, *data;

    nlh = put_link(buf, RTM_NEWLINK, "eth0");
    mnl_attr_put(nlh, IFLA_ADDRESS, 6, "\2\0\0\0\0\1");
    mnl_attr_put_u32(nlh, IFLA_MTU, 1500);
    mnl_attr_put_u32(nlh, IFLA_LINK, 4);
    mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 1);
    mnl_attr_put_u32(nlh, IFLA_MASTER, 5);
    mnl_attr_put_u8(nlh, IFLA_OPERSTATE, 6);
    mnl_attr_put_u8(nlh, IFLA_CARRIER, 1);
    mnl_attr_put_u32(nlh, IFLA_CARRIER_UP_COUNT, 1);
    mnl_attr_put_u32(nlh, IFLA_CARRIER_DOWN_COUNT, 2);
    nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
    mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
    mnl_attr_nest_end(nlh, nest);
    nest = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);
    mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, "alternative");
    mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, "name");
    mnl_attr_nest_end(nlh, nest);
    emit("newlink", buf, nlh->nlmsg_len, aux);

    nlh = put_link(buf, RTM_NEWLINK, "representor");
    mnl_attr_put_strz(nlh, IFLA_PHYS_PORT_NAME, "pf0vf1");
    mnl_attr_put(nlh, IFLA_PHYS_SWITCH_ID, 8, "\1\2\3\4\5\6\7\x08");
    emit("switch-port", buf, nlh->nlmsg_len, aux);

    nlh = put_link(buf, RTM_NEWLINK, "member");
    nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
    mnl_attr_put_strz(nlh, IFLA_INFO_SLAVE_KIND, "bond");
    data = mnl_attr_nest_start(nlh, IFLA_INFO_SLAVE_DATA);
    mnl_attr_put_u8(nlh, IFLA_BOND_SLAVE_STATE, 1);
    mnl_attr_put_u8(nlh, IFLA_BOND_SLAVE_MII_STATUS, 0);
    mnl_attr_nest_end(nlh, data);
    mnl_attr_nest_end(nlh, nest);
    emit("bond-member", buf, nlh->nlmsg_len, aux);

    nlh = put_link(buf, RTM_DELLINK, "mover");
    mnl_attr_put_u32(nlh, IFLA_NEW_NETNSID, 1);
    mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, 2);
    emit("dellink", buf, nlh->nlmsg_len, aux);

    nlh = put_link(buf, RTM_NEWLINK, "wlan0");
    mnl_attr_put(nlh, IFLA_WIRELESS, 8, "12345678");
    emit("wireless", buf, nlh->nlmsg_len, aux);

    nlh = put_headers(buf, RTM_NEWADDR, sizeof(struct ifaddrmsg));
    struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
    ifa->ifa_family = AF_INET;
    ifa->ifa_index = 3;
    mnl_attr_put_u32(nlh, IFA_ADDRESS, 0x0100007f);
    mnl_attr_put_u32(nlh, IFA_LOCAL, 0x0100007f);
    emit("newaddr", buf, nlh->nlmsg_len, aux);

    nlh = put_headers(buf, RTM_NEWNSID, sizeof(struct rtgenmsg));
    mnl_attr_put_u32(nlh, NETNSA_NSID, 1);
    emit("newnsid", buf, nlh->nlmsg_len, aux);

    nlh = put_headers(buf, RTM_NEWNEIGH, sizeof(struct ndmsg));
    emit("another-type", buf, nlh->nlmsg_len, aux);
    emit_routes(emit, aux);
    emit_qdisc(emit, aux);
}
