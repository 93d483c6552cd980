/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/routes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/nexthop.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "nl/nl-conn.h"
#include "openvswitch/dynamic-string.h"
#include "sset.h"
#include "harness/netns.h"
#include "util.h"

/* Requests. */

#define REQUEST_SIZE 1024

/* A buffer for a request, with its header. */
#define REQUEST(NLH, TYPE, FLAGS, HEADER)                               \
    char NLH##_buf[REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO))); \
    struct nlmsghdr *NLH = request_init(NLH##_buf, TYPE, FLAGS, HEADER)

static struct nlmsghdr *
request_init(void *buf, uint16_t type, uint16_t flags, size_t header)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    nlh->nlmsg_flags = (NLM_F_REQUEST | flags
                        | (flags & NLM_F_DUMP ? 0 : NLM_F_ACK));
    mnl_nlmsg_put_extra_header(nlh, header);
    return nlh;
}

static int
request(struct unit_ns *ns, struct nlmsghdr *nlh)
{
    return nl_conn_transact(ns->conn, nlh, NULL, NULL);
}

static uint8_t
family_of(const char *address)
{
    return strchr(address, ':') ? AF_INET6 : AF_INET;
}

/* Adds attribute 'type' with 'address', unless that is NULL.  Returns the
 * length in a suffix "/LENGTH", or else that of the address. */
static uint8_t
put_address(struct nlmsghdr *nlh, uint16_t type, const char *address)
{
    char copy[INET6_ADDRSTRLEN + 4], *slash;
    struct in6_addr ip;

    if (!address) {
        return 0;
    }

    size_t size = family_of(address) == AF_INET ? 4 : 16;
    ovs_strlcpy(copy, address, sizeof copy);
    slash = strchr(copy, '/');
    if (slash) {
        *slash++ = '\0';
    }
    unit_check(inet_pton(family_of(copy), copy, &ip) == 1);
    mnl_attr_put(nlh, type, size, &ip);
    return slash ? atoi(slash) : size * 8;
}

static int
change_ip(struct unit_ns *ns, uint16_t type, uint16_t flags, int ifindex,
          const char *address)
{
    REQUEST(nlh, type, flags, sizeof(struct ifaddrmsg));
    struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);

    ifa->ifa_family = family_of(address);
    ifa->ifa_index = ifindex;
    ifa->ifa_prefixlen = put_address(nlh, IFA_LOCAL, address);
    put_address(nlh, IFA_ADDRESS, address);

    /* An IPv6 address with this flag can be used at once. */
    ifa->ifa_flags = ifa->ifa_family == AF_INET6 ? IFA_F_NODAD : 0;
    return request(ns, nlh);
}

int
unit_ip_add(struct unit_ns *ns, int ifindex, const char *address)
{
    return change_ip(ns, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex,
                     address);
}

int
unit_ip_renew(struct unit_ns *ns, int ifindex, const char *address)
{
    return change_ip(ns, RTM_NEWADDR, NLM_F_REPLACE, ifindex, address);
}

int
unit_ip_del(struct unit_ns *ns, int ifindex, const char *address)
{
    return change_ip(ns, RTM_DELADDR, 0, ifindex, address);
}

static void
put_next_hop(struct nlmsghdr *nlh, int ifindex, const char *gateway)
{
    struct rtnexthop *hop = mnl_nlmsg_put_extra_header(nlh, sizeof *hop);
    char *start = (char *) hop;

    hop->rtnh_ifindex = ifindex;
    put_address(nlh, RTA_GATEWAY, gateway);
    hop->rtnh_len = (char *) mnl_nlmsg_get_payload_tail(nlh) - start;
}

static int
change_route(struct unit_ns *ns, const struct unit_route *route,
             uint16_t type, uint16_t flags)
{
    REQUEST(nlh, type, flags, sizeof(struct rtmsg));
    struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);

    rtm->rtm_family = family_of(route->dst);
    rtm->rtm_protocol = route->protocol ? route->protocol : RTPROT_STATIC;
    rtm->rtm_type = route->type ? route->type : RTN_UNICAST;
    rtm->rtm_scope = (type == RTM_DELROUTE ? RT_SCOPE_NOWHERE
                      : route->type == RTN_LOCAL ? RT_SCOPE_HOST
                      : route->gateway || route->nh_id || route->ifindex2
                        || route->type ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK);
    rtm->rtm_dst_len = put_address(nlh, RTA_DST, route->dst);
    mnl_attr_put_u32(nlh, RTA_TABLE,
                     route->table ? route->table : RT_TABLE_MAIN);
    put_address(nlh, RTA_PREFSRC, route->source);
    if (route->priority) {
        mnl_attr_put_u32(nlh, RTA_PRIORITY, route->priority);
    }
    if (route->nh_id) {
        mnl_attr_put_u32(nlh, RTA_NH_ID, route->nh_id);
    } else if (route->ifindex2) {
        struct nlattr *hops = mnl_attr_nest_start(nlh, RTA_MULTIPATH);

        put_next_hop(nlh, route->ifindex, route->gateway);
        put_next_hop(nlh, route->ifindex2, route->gateway2);
        mnl_attr_nest_end(nlh, hops);
    } else {
        put_address(nlh, RTA_GATEWAY, route->gateway);
        if (route->ifindex) {
            mnl_attr_put_u32(nlh, RTA_OIF, route->ifindex);
        }
    }
    return request(ns, nlh);
}

int
unit_route_add(struct unit_ns *ns, const struct unit_route *route,
               uint16_t flags)
{
    return change_route(ns, route, RTM_NEWROUTE, NLM_F_CREATE | flags);
}

int
unit_route_del(struct unit_ns *ns, const struct unit_route *route)
{
    return change_route(ns, route, RTM_DELROUTE, 0);
}

int
unit_nexthop_set(struct unit_ns *ns, uint32_t id, int ifindex)
{
    REQUEST(nlh, RTM_NEWNEXTHOP, NLM_F_CREATE | NLM_F_REPLACE,
            sizeof(struct nhmsg));
    struct nhmsg *nhm = mnl_nlmsg_get_payload(nlh);

    nhm->nh_family = AF_INET;
    mnl_attr_put_u32(nlh, NHA_ID, id);
    mnl_attr_put_u32(nlh, NHA_OIF, ifindex);
    return request(ns, nlh);
}

int
unit_nexthop_set_group(struct unit_ns *ns, uint32_t id,
                       const uint32_t members[], size_t n)
{
    REQUEST(nlh, RTM_NEWNEXTHOP, NLM_F_CREATE | NLM_F_REPLACE,
            sizeof(struct nhmsg));
    struct nexthop_grp group[8];

    unit_check(n <= ARRAY_SIZE(group));
    memset(group, 0, sizeof group);
    for (size_t i = 0; i < n; i++) {
        group[i].id = members[i];
    }
    mnl_attr_put_u32(nlh, NHA_ID, id);
    mnl_attr_put(nlh, NHA_GROUP, n * sizeof *group, group);
    return request(ns, nlh);
}

int
unit_nexthop_del(struct unit_ns *ns, uint32_t id)
{
    REQUEST(nlh, RTM_DELNEXTHOP, 0, sizeof(struct nhmsg));

    mnl_attr_put_u32(nlh, NHA_ID, id);
    return request(ns, nlh);
}

int
unit_rule_add(struct unit_ns *ns, const char *source, uint32_t mark,
              uint32_t table)
{
    REQUEST(nlh, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL,
            sizeof(struct fib_rule_hdr));
    struct fib_rule_hdr *rule = mnl_nlmsg_get_payload(nlh);

    rule->family = source ? family_of(source) : AF_INET;
    rule->action = FR_ACT_TO_TBL;
    rule->src_len = put_address(nlh, FRA_SRC, source);
    if (mark) {
        mnl_attr_put_u32(nlh, FRA_FWMARK, mark);
    }
    mnl_attr_put_u32(nlh, FRA_TABLE, table);
    return request(ns, nlh);
}

static int
change_qdisc(struct unit_ns *ns, uint16_t type, uint16_t flags, int ifindex,
             uint32_t parent, uint32_t handle, const char *kind)
{
    REQUEST(nlh, type, flags, sizeof(struct tcmsg));
    struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);

    tcm->tcm_ifindex = ifindex;
    tcm->tcm_parent = parent;
    tcm->tcm_handle = handle;
    if (kind) {
        mnl_attr_put_strz(nlh, TCA_KIND, kind);
    }
    if (kind && !strcmp(kind, "htb")) {
        struct tc_htb_glob glob = { .version = 3, .rate2quantum = 10 };
        struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

        mnl_attr_put(nlh, TCA_HTB_INIT, sizeof glob, &glob);
        mnl_attr_nest_end(nlh, nest);
    }
    return request(ns, nlh);
}

int
unit_qdisc_add(struct unit_ns *ns, int ifindex, uint32_t parent,
               uint32_t handle, const char *kind)
{
    return change_qdisc(ns, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE,
                        ifindex, parent, handle, kind);
}

int
unit_qdisc_del(struct unit_ns *ns, int ifindex, uint32_t parent,
               uint32_t handle)
{
    return change_qdisc(ns, RTM_DELQDISC, 0, ifindex, parent, handle, NULL);
}

int
unit_htb_class_add(struct unit_ns *ns, int ifindex, uint32_t handle)
{
    REQUEST(nlh, RTM_NEWTCLASS, NLM_F_CREATE, sizeof(struct tcmsg));
    struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
    struct tc_htb_opt opt = {
        .rate = { .rate = 1000000, .cell_log = 3, .mpu = 1 },
        .ceil = { .rate = 1000000, .cell_log = 3, .mpu = 1 },
        .buffer = 1000, .cbuffer = 1000,
    };

    tcm->tcm_ifindex = ifindex;
    tcm->tcm_parent = handle & 0xffff0000;
    tcm->tcm_handle = handle;
    mnl_attr_put_strz(nlh, TCA_KIND, "htb");
    opt.rate.linklayer = opt.ceil.linklayer = TC_LINKLAYER_ETHERNET;
    struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);
    mnl_attr_put(nlh, TCA_HTB_PARMS, sizeof opt, &opt);
    mnl_attr_nest_end(nlh, nest);
    return request(ns, nlh);
}

/* The kernel's state, one string for each entry. */

/* Sends the request and lets 'reply' add to '*lines', until no change has
 * interrupted it. */
static void
dump(struct unit_ns *ns, uint16_t type, size_t header, nl_reply_func *reply,
     struct sset *lines)
{
    int error;

    do {
        REQUEST(nlh, type, NLM_F_DUMP, header);

        sset_clear(lines);
        error = nl_conn_transact(ns->conn, nlh, reply, lines);
    } while (error == EINTR);
    unit_check(!error);
}

/* Returns an element that only one of the two has, or NULL. */
static char *
lines_diff(struct sset *table, struct sset *kernel)
{
    const char *line;
    char *diff = NULL;

    SSET_FOR_EACH (line, table) {
        if (!diff && !sset_contains(kernel, line)) {
            diff = xasprintf("\"%s\" is not in the kernel", line);
        }
    }
    SSET_FOR_EACH (line, kernel) {
        if (!diff && !sset_contains(table, line)) {
            diff = xasprintf("\"%s\" is missing", line);
        }
    }
    sset_destroy(table);
    sset_destroy(kernel);
    return diff;
}

/* Converts 'address', 4 or 16 bytes, to text. */
static const char *
address_text(uint8_t family, const void *address, char text[INET6_ADDRSTRLEN])
{
    static const uint8_t zeros[16];

    unit_check(inet_ntop(family, address ? address : zeros, text,
                         INET6_ADDRSTRLEN));
    return text;
}

/* The same for an address that may be a mapped one. */
static const char *
mapped_text(const struct in6_addr *ip, char text[INET6_ADDRSTRLEN])
{
    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        return address_text(AF_INET, &ip->s6_addr[12], text);
    }
    return address_text(AF_INET6, ip, text);
}

static int
take_addr(const struct nlmsghdr *nlh, void *lines)
{
    const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
    const void *local = NULL, *address = NULL;
    char text[INET6_ADDRSTRLEN];
    const struct nlattr *attr;

    mnl_attr_for_each (attr, nlh, sizeof *ifa) {
        if (mnl_attr_get_type(attr) == IFA_LOCAL) {
            local = mnl_attr_get_payload(attr);
        } else if (mnl_attr_get_type(attr) == IFA_ADDRESS) {
            address = mnl_attr_get_payload(attr);
        }
    }
    sset_add_and_free(lines, xasprintf(
        "%d %s/%d", ifa->ifa_index,
        address_text(ifa->ifa_family, local ? local : address, text),
        ifa->ifa_prefixlen));
    return 0;
}

static int
count_bits(const struct in6_addr *mask)
{
    int n = 0;

    for (int i = 0; i < 16; i++) {
        n += __builtin_popcount(mask->s6_addr[i]);
    }
    return n;
}

char *
unit_addrs_diff(const struct link_addrs *addrs, struct unit_ns *ns)
{
    struct sset table = SSET_INITIALIZER(&table);
    struct sset kernel = SSET_INITIALIZER(&kernel);
    size_t n_found = 0;

    dump(ns, RTM_GETADDR, sizeof(struct ifaddrmsg), take_addr, &kernel);

    /* The links that the tests create, and the loopback device. */
    for (int ifindex = 1; ifindex < 1100; ifindex++) {
        char text[INET6_ADDRSTRLEN];
        struct in6_addr *a, *m;
        size_t n = link_addrs_get(addrs, ifindex, &a, &m);

        for (size_t i = 0; i < n; i++) {
            bool ipv4 = IN6_IS_ADDR_V4MAPPED(&a[i]);

            sset_add_and_free(&table, xasprintf(
                "%d %s/%d", ifindex, mapped_text(&a[i], text),
                count_bits(&m[i]) - (ipv4 ? 16 : 0)));
        }
        n_found += n;
        free(a);
        free(m);
    }
    unit_check(n_found == link_addrs_count(addrs));
    return lines_diff(&table, &kernel);
}

static int
take_qdisc(const struct nlmsghdr *nlh, void *lines)
{
    const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);

    if (tcm->tcm_handle && tcm->tcm_parent == TC_H_ROOT) {
        sset_add_and_free(lines, xasprintf("%d root", tcm->tcm_ifindex));
    } else if (tcm->tcm_handle && tcm->tcm_parent == TC_H_INGRESS) {
        sset_add_and_free(lines, xasprintf("%d ingress", tcm->tcm_ifindex));
    }
    return 0;
}

char *
unit_qdiscs_diff(const struct link_qdiscs *qdiscs, struct unit_ns *ns)
{
    struct sset table = SSET_INITIALIZER(&table);
    struct sset kernel = SSET_INITIALIZER(&kernel);

    dump(ns, RTM_GETQDISC, sizeof(struct tcmsg), take_qdisc, &kernel);
    for (int ifindex = 1; ifindex < 1100; ifindex++) {
        if (link_qdiscs_has_root(qdiscs, ifindex)) {
            sset_add_and_free(&table, xasprintf("%d root", ifindex));
        }
        if (link_qdiscs_has_ingress(qdiscs, ifindex)) {
            sset_add_and_free(&table, xasprintf("%d ingress", ifindex));
        }
    }
    unit_check(sset_count(&table) == link_qdiscs_count(qdiscs));
    return lines_diff(&table, &kernel);
}
