/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nl/nl-conn.h"
#include "nl/nl-mcast.h"
#include "openvswitch/poll-loop.h"
#include "packets.h"
#include "timeval.h"
#include "util.h"

/* Requests. */

/* A request has a header, two addresses and a mark. */
#define LINK_ROUTE_REQUEST_SIZE 128

static const struct nl_attr_policy route_policy[] = {
    [RTA_OIF] = { .type = MNL_TYPE_U32, .required = true },
    [RTA_GATEWAY] = { .type = MNL_TYPE_UNSPEC },
    [RTA_PREFSRC] = { .type = MNL_TYPE_UNSPEC },
    [RTA_VIA] = { .type = MNL_TYPE_UNSPEC,
                  .min_len = sizeof(struct rtvia) },
};

static size_t
link_route_address_len(uint8_t family)
{
    return family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0;
}

/* Stores in '*ip6' the 'len' bytes at 'data', an address of 'family'.  Returns
 * false if they are not one. */
static bool
link_route_address(uint8_t family, const void *data, size_t len,
                   struct in6_addr *ip6)
{
    if (!len || len != link_route_address_len(family)) {
        return false;
    }
    if (family == AF_INET) {
        ovs_be32 ip;

        memcpy(&ip, data, sizeof ip);
        in6_addr_set_mapped_ipv4(ip6, ip);
    } else {
        memcpy(ip6, data, sizeof *ip6);
    }
    return true;
}

/* The same for 'attr', which may be NULL. */
static bool
link_route_attr_address(uint8_t family, const struct nlattr *attr,
                        struct in6_addr *ip6)
{
    return (!attr
            || link_route_address(family, mnl_attr_get_payload(attr),
                                  mnl_attr_get_payload_len(attr), ip6));
}

/* The same for a gateway of any address family. */
static bool
link_route_attr_via(const struct nlattr *attr, struct in6_addr *ip6)
{
    const struct rtvia *via = attr ? mnl_attr_get_payload(attr) : NULL;

    return (!via
            || link_route_address(via->rtvia_family, via->rtvia_addr,
                                  mnl_attr_get_payload_len(attr)
                                  - sizeof *via, ip6));
}

int
link_route_parse(const struct nlmsghdr *nlh, struct link_route *route)
{
    const struct nlattr *attrs[ARRAY_SIZE(route_policy)];
    const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
    size_t len = mnl_nlmsg_get_payload_len(nlh);
    size_t header = MNL_ALIGN(sizeof *rtm);
    uint32_t ifindex;

    memset(route, 0, sizeof *route);
    if (nlh->nlmsg_type != RTM_NEWROUTE || len < header
        || !link_route_address_len(rtm->rtm_family)
        || rtm->rtm_type < RTN_UNICAST || rtm->rtm_type > RTN_MULTICAST
        || nl_attrs_parse((const char *) rtm + header, len - header,
                          route_policy, attrs, ARRAY_SIZE(attrs))) {
        return EINVAL;
    }
    ifindex = mnl_attr_get_u32(attrs[RTA_OIF]);
    if (!ifindex || ifindex > INT32_MAX
        || !link_route_attr_address(rtm->rtm_family, attrs[RTA_GATEWAY],
                                    &route->gateway)
        || !link_route_attr_via(attrs[RTA_VIA], &route->gateway)
        || !link_route_attr_address(rtm->rtm_family, attrs[RTA_PREFSRC],
                                    &route->source)) {
        return EINVAL;
    }
    route->ifindex = ifindex;
    route->local = rtm->rtm_type == RTN_LOCAL;
    return 0;
}

static int
link_route_reply(const struct nlmsghdr *nlh, void *route)
{
    return link_route_parse(nlh, route);
}

/* Adds attribute 'type' with 'ip6' as an address of 'family'.  Returns its
 * length in bits. */
static uint8_t
link_route_put_address(struct nlmsghdr *nlh, uint16_t type, uint8_t family,
                       const struct in6_addr *ip6)
{
    size_t len = link_route_address_len(family);

    mnl_attr_put(nlh, type, len, &ip6->s6_addr[sizeof *ip6 - len]);
    return len * 8;
}

/* Asks as link_route_ask() does, with 'flags' of the route (RTM_F_*). */
static int
link_route_ask__(struct nl_conn *conn, uint32_t mark,
                 const struct in6_addr *dst, const struct in6_addr *src,
                 uint32_t flags, struct link_route *route)
{
    char buf[LINK_ROUTE_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof *rtm);
    int error;

    nlh->nlmsg_type = RTM_GETROUTE;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    rtm->rtm_family = IN6_IS_ADDR_V4MAPPED(dst) ? AF_INET : AF_INET6;
    rtm->rtm_flags = flags;
    rtm->rtm_dst_len = link_route_put_address(nlh, RTA_DST, rtm->rtm_family,
                                              dst);
    if (src) {
        rtm->rtm_src_len = link_route_put_address(nlh, RTA_SRC,
                                                  rtm->rtm_family, src);
    }
    if (mark) {
        mnl_attr_put_u32(nlh, RTA_MARK, mark);
    }
    memset(route, 0, sizeof *route);
    error = nl_conn_transact(conn, nlh, link_route_reply, route);
    return error ? error : route->ifindex ? 0 : EBADMSG;
}

int
link_route_ask(struct nl_conn *conn, uint32_t mark,
               const struct in6_addr *dst, const struct in6_addr *src,
               struct link_route *route)
{
    int error = link_route_ask__(conn, mark, dst, src, 0, route);

    if (!error && route->local) {
        /* Packets to it take the loopback device.  The entry of the routing
         * table names the device that has the address. */
        struct link_route entry;

        if (!link_route_ask__(conn, mark, dst, src, RTM_F_FIB_MATCH,
                              &entry)) {
            route->ifindex = entry.ifindex;
        }
    }
    return error;
}

/* Watches. */

/* Bytes of receive buffer: a few messages.  The kernel queues a message of any
 * size while there is room left. */
#define LINK_ROUTE_WATCH_RCVBUF 4096

/* Most datagrams received in a turn, which is more than the buffer holds. */
#define LINK_ROUTE_WATCH_DATAGRAMS 64

struct link_route_watch {
    struct nl_mcast *sock;
    bool noted;                 /* A change that the socket did not report. */
    long long int next;         /* Earliest next time, in milliseconds. */
};

/* Makes the kernel drop messages about routes in tables other than default,
 * main and local.  The header of a route in a table whose number does not fit
 * in there has another number. */
static int
link_route_watch_filter(int fd)
{
    BUILD_ASSERT_DECL(RT_TABLE_DEFAULT + 1 == RT_TABLE_MAIN
                      && RT_TABLE_MAIN + 1 == RT_TABLE_LOCAL
                      && RT_TABLE_LOCAL == UINT8_MAX);
    static const uint32_t table = (NLMSG_HDRLEN
                                   + offsetof(struct rtmsg, rtm_table));
    /* A load is in network byte order, the type in host byte order. */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS,
                 offsetof(struct nlmsghdr, nlmsg_type)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 2),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, table),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, RT_TABLE_DEFAULT, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

    return (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                       sizeof program) ? errno : 0);
}

int
link_route_watch_open(struct link_route_watch **watchp)
{
    static const unsigned int groups[] = {
        RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
        RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE,
    };
    struct link_route_watch *watch = xzalloc(sizeof *watch);
    int error;

    *watchp = NULL;
    error = nl_mcast_open(NETLINK_ROUTE, &(struct nl_mcast_options) {
        .rcvbuf = LINK_ROUTE_WATCH_RCVBUF }, &watch->sock);
    if (error) {
        goto error;
    }
    error = link_route_watch_filter(nl_mcast_fd(watch->sock));
    for (size_t i = 0; i < ARRAY_SIZE(groups) && !error; i++) {
        error = nl_mcast_set_member(watch->sock, groups[i], true);
    }
    if (error) {
        goto error;
    }
    /* Kernels before 5.3 have neither the objects nor the group. */
    error = nl_mcast_set_member(watch->sock, RTNLGRP_NEXTHOP, true);
    if (error && error != EINVAL) {
        goto error;
    }
    *watchp = watch;
    return 0;

error:
    link_route_watch_close(watch);
    return error;
}

void
link_route_watch_close(struct link_route_watch *watch)
{
    if (watch) {
        nl_mcast_close(watch->sock);
        free(watch);
    }
}

static void
link_route_watch_take(const struct nlmsghdr *nlh OVS_UNUSED,
                      int32_t nsid OVS_UNUSED, void *watch_)
{
    struct link_route_watch *watch = watch_;

    watch->noted = true;
}

/* Empties the socket, up to the limit of a turn. */
static void
link_route_watch_receive(struct link_route_watch *watch)
{
    unsigned int budget = LINK_ROUTE_WATCH_DATAGRAMS;
    int error = nl_mcast_recv_all(watch->sock, &budget,
                                  link_route_watch_take, watch);

    if (error && error != EAGAIN) {
        watch->noted = true;
        nl_mcast_drain(watch->sock, &budget);
    }
}

bool
link_route_watch_run(struct link_route_watch *watch)
{
    long long int now = time_msec();

    if (now < watch->next) {
        return false;
    }
    link_route_watch_receive(watch);
    if (!watch->noted) {
        return false;
    }
    watch->noted = false;
    watch->next = now + LINK_ROUTE_WATCH_MS;
    return true;
}

void
link_route_watch_note(struct link_route_watch *watch)
{
    watch->noted = true;
}

void
link_route_watch_wait(const struct link_route_watch *watch)
{
    if (watch->noted || time_msec() < watch->next) {
        poll_timer_wait_until(watch->next);
    } else {
        poll_fd_wait(nl_mcast_fd(watch->sock), POLLIN);
    }
}
