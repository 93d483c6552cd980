/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L2: parser of messages about routes and queueing disciplines. */

#include <config.h>
#include "link/link-msg.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/nexthop.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "nl/nl-conn.h"
#include "harness/unit.h"
#include "util.h"

/* A message under construction. */
static char buf[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
static struct nlmsghdr *nlh;

static const uint8_t ip4[4] = { 10, 1, 2, 0 };
static const uint8_t gw4[4] = { 10, 0, 0, 1 };
static const uint8_t ip6[16] = { 0xfd, 1 };
static const uint8_t gw6[16] = { 0xfe, 0x80, [15] = 1 };

static struct rtmsg *
begin_route(uint16_t type, uint8_t family)
{
    memset(buf, 0, sizeof buf);
    nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = type;

    struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof *rtm);
    rtm->rtm_family = family;
    rtm->rtm_table = RT_TABLE_MAIN;
    rtm->rtm_type = RTN_UNICAST;
    return rtm;
}

static struct tcmsg *
begin_qdisc(uint16_t type, int ifindex, const char *kind)
{
    memset(buf, 0, sizeof buf);
    nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = type;

    struct tcmsg *tcm = mnl_nlmsg_put_extra_header(nlh, sizeof *tcm);
    tcm->tcm_ifindex = ifindex;
    if (kind) {
        mnl_attr_put_strz(nlh, TCA_KIND, kind);
    }
    return tcm;
}

static int
parse(struct link_msg *msg)
{
    /* What a parser leaves out is not to look right by chance. */
    memset(msg, 0xcc, sizeof *msg);
    return link_msg_parse(nlh, nlh->nlmsg_len, msg);
}

static struct link_route_view
parse_route(void)
{
    struct link_msg msg;

    assert_int_equal(parse(&msg), 0);
    return msg.route;
}

static void
assert_malformed(void)
{
    struct link_msg msg;

    assert_int_equal(parse(&msg), EINVAL);
}

static void
an_ipv4_route_is_told_in_full(void **state OVS_UNUSED)
{
    struct rtmsg *rtm = begin_route(RTM_NEWROUTE, AF_INET);
    struct link_msg msg;

    rtm->rtm_dst_len = 24;
    rtm->rtm_tos = 0x10;
    rtm->rtm_protocol = RTPROT_BOOT;
    rtm->rtm_scope = RT_SCOPE_LINK;
    mnl_attr_put(nlh, RTA_DST, sizeof ip4, ip4);
    mnl_attr_put_u32(nlh, RTA_OIF, 7);
    mnl_attr_put(nlh, RTA_GATEWAY, sizeof gw4, gw4);
    mnl_attr_put(nlh, RTA_PREFSRC, sizeof ip4, ip4);
    mnl_attr_put_u32(nlh, RTA_PRIORITY, 100);
    mnl_attr_put_u32(nlh, RTA_MARK, 0xabc);
    assert_int_equal(parse(&msg), 0);
    assert_int_equal(msg.type, LINK_MSG_NEWROUTE);
    assert_int_equal(msg.route.family, AF_INET);
    assert_int_equal(msg.route.type, RTN_UNICAST);
    assert_int_equal(msg.route.scope, RT_SCOPE_LINK);
    assert_int_equal(msg.route.protocol, RTPROT_BOOT);
    assert_int_equal(msg.route.tos, 0x10);
    assert_int_equal(msg.route.dst_len, 24);
    assert_int_equal(msg.route.table, RT_TABLE_MAIN);
    assert_int_equal(msg.route.priority, 100);
    assert_int_equal(msg.route.mark, 0xabc);
    assert_int_equal(msg.route.oif, 7);
    assert_memory_equal(msg.route.dst, ip4, sizeof ip4);
    assert_memory_equal(msg.route.gateway, gw4, sizeof gw4);
    assert_memory_equal(msg.route.source, ip4, sizeof ip4);
    assert_false(msg.route.several);
    assert_false(msg.route.cloned);
    assert_false(msg.route.replace);
}

static void
an_ipv6_route_is_told_in_full(void **state OVS_UNUSED)
{
    struct rtmsg *rtm = begin_route(RTM_DELROUTE, AF_INET6);
    struct link_msg msg;

    rtm->rtm_dst_len = 128;
    mnl_attr_put(nlh, RTA_DST, sizeof ip6, ip6);
    mnl_attr_put_u32(nlh, RTA_OIF, INT32_MAX);
    mnl_attr_put(nlh, RTA_GATEWAY, sizeof gw6, gw6);
    assert_int_equal(parse(&msg), 0);
    assert_int_equal(msg.type, LINK_MSG_DELROUTE);
    assert_int_equal(msg.route.family, AF_INET6);
    assert_int_equal(msg.route.dst_len, 128);
    assert_int_equal(msg.route.oif, INT32_MAX);
    assert_memory_equal(msg.route.dst, ip6, sizeof ip6);
    assert_memory_equal(msg.route.gateway, gw6, sizeof gw6);
    assert_int_equal(msg.route.priority, 0);
    assert_int_equal(msg.route.mark, 0);
}

static void
a_default_route_has_no_destination(void **state OVS_UNUSED)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };

    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        begin_route(RTM_NEWROUTE, families[i]);
        mnl_attr_put_u32(nlh, RTA_OIF, 7);

        struct link_route_view view = parse_route();
        assert_null(view.dst);
        assert_null(view.gateway);
        assert_null(view.source);
        assert_int_equal(view.dst_len, 0);
        assert_int_equal(view.oif, 7);
    }

    /* A length needs something to be the length of. */
    begin_route(RTM_NEWROUTE, AF_INET)->rtm_dst_len = 1;
    assert_malformed();
}

static void
the_number_of_a_table_may_be_large(void **state OVS_UNUSED)
{
    struct rtmsg *rtm = begin_route(RTM_NEWROUTE, AF_INET);

    rtm->rtm_table = RT_TABLE_COMPAT;
    mnl_attr_put_u32(nlh, RTA_TABLE, 0x12345678);
    assert_int_equal(parse_route().table, 0x12345678);
}

static void
several_next_hops_are_told_apart_from_one(void **state OVS_UNUSED)
{
    static const struct rtnexthop hops[2] = {
        { .rtnh_len = sizeof(struct rtnexthop), .rtnh_ifindex = 1 },
        { .rtnh_len = sizeof(struct rtnexthop), .rtnh_ifindex = 2 },
    };
    struct link_route_view view;

    begin_route(RTM_NEWROUTE, AF_INET);
    mnl_attr_put(nlh, RTA_MULTIPATH, sizeof hops, hops);
    view = parse_route();
    assert_true(view.several);
    assert_int_equal(view.oif, 0);

    /* A next hop that is an object, whose device the kernel tells, too. */
    begin_route(RTM_NEWROUTE, AF_INET6);
    mnl_attr_put_u32(nlh, RTA_NH_ID, 3);
    mnl_attr_put_u32(nlh, RTA_OIF, 7);
    view = parse_route();
    assert_false(view.several);
    assert_int_equal(view.oif, 7);
    assert_int_equal(view.nh_id, 3);
}

static void
next_hop_objects_have_an_id(void **state OVS_UNUSED)
{
    struct link_msg msg;

    for (int i = 0; i < 2; i++) {
        nlh = mnl_nlmsg_put_header(buf);
        nlh->nlmsg_type = i ? RTM_DELNEXTHOP : RTM_NEWNEXTHOP;
        mnl_nlmsg_put_extra_header(nlh, sizeof(struct nhmsg));
        assert_int_equal(parse(&msg), EINVAL);
        mnl_attr_put_u32(nlh, NHA_ID, 7);
        mnl_attr_put_u32(nlh, NHA_OIF, 3);
        assert_int_equal(parse(&msg), 0);
        assert_int_equal(msg.type,
                         i ? LINK_MSG_DELNEXTHOP : LINK_MSG_NEWNEXTHOP);
        assert_int_equal(msg.nexthop, 7);
    }
}

static void
entries_of_a_cache_and_replacements_are_marked(void **state OVS_UNUSED)
{
    begin_route(RTM_NEWROUTE, AF_INET6)->rtm_flags = RTM_F_CLONED;
    assert_true(parse_route().cloned);
    assert_false(parse_route().replace);

    begin_route(RTM_NEWROUTE, AF_INET)->rtm_flags = RTM_F_NOTIFY;
    nlh->nlmsg_flags = NLM_F_REPLACE;
    assert_false(parse_route().cloned);
    assert_true(parse_route().replace);
}

static void
lengths_of_prefixes_have_a_limit(void **state OVS_UNUSED)
{
    static const struct {
        uint8_t family;
        uint8_t dst_len;
        int error;
    } tests[] = {
        { AF_INET, 32, 0 }, { AF_INET, 33, EINVAL }, { AF_INET, 255, EINVAL },
        { AF_INET6, 128, 0 }, { AF_INET6, 129, EINVAL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        struct rtmsg *rtm = begin_route(RTM_NEWROUTE, tests[i].family);
        struct link_msg msg;

        rtm->rtm_dst_len = tests[i].dst_len;
        mnl_attr_put(nlh, RTA_DST, tests[i].family == AF_INET ? 4 : 16, ip6);
        assert_int_equal(parse(&msg), tests[i].error);
    }
}

static void
addresses_have_the_length_of_their_family(void **state OVS_UNUSED)
{
    static const uint16_t types[] = { RTA_DST, RTA_GATEWAY, RTA_PREFSRC };
    static const size_t lengths[] = { 0, 3, 4, 5, 8, 15, 16, 17 };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(lengths); j++) {
            char address[32] = "";
            struct link_msg msg;

            begin_route(RTM_NEWROUTE, AF_INET);
            mnl_attr_put(nlh, types[i], lengths[j], address);
            assert_int_equal(parse(&msg), lengths[j] == 4 ? 0 : EINVAL);
            begin_route(RTM_NEWROUTE, AF_INET6);
            mnl_attr_put(nlh, types[i], lengths[j], address);
            assert_int_equal(parse(&msg), lengths[j] == 16 ? 0 : EINVAL);
        }
    }
}

static void
wrong_lengths_in_routes_are_refused(void **state OVS_UNUSED)
{
    static const uint16_t numbers[] = {
        RTA_OIF, RTA_PRIORITY, RTA_TABLE, RTA_MARK, RTA_NH_ID,
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        begin_route(RTM_NEWROUTE, AF_INET);
        mnl_attr_put_u16(nlh, numbers[i], 1);
        assert_malformed();
    }
    begin_route(RTM_NEWROUTE, AF_INET);
    mnl_attr_put_u32(nlh, RTA_OIF, -1);
    assert_malformed();

    begin_route(RTM_NEWROUTE, AF_INET);
    for (uint32_t n = MNL_NLMSG_HDRLEN;
         n < MNL_NLMSG_HDRLEN + sizeof(struct rtmsg); n++) {
        nlh->nlmsg_len = n;
        assert_malformed();
    }
}

/* The kernel has routes of its own of other families, multicast ones among
 * them, whose attributes are not these. */
static void
routes_of_other_families_are_not_looked_into(void **state OVS_UNUSED)
{
    static const uint8_t families[] = {
        AF_UNSPEC, AF_MPLS, RTNL_FAMILY_IPMR, RTNL_FAMILY_IP6MR, AF_PHONET,
    };

    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        begin_route(RTM_NEWROUTE, families[i])->rtm_dst_len = 20;
        mnl_attr_put_u32(nlh, RTA_DST, 1);
        mnl_attr_put(nlh, RTA_GATEWAY, 7, "gateway");

        struct link_route_view view = parse_route();
        assert_int_equal(view.family, families[i]);
        assert_null(view.dst);
        assert_null(view.gateway);
        assert_int_equal(view.oif, 0);
    }
}

static void
a_queueing_discipline_is_told(void **state OVS_UNUSED)
{
    struct tcmsg *tcm = begin_qdisc(RTM_NEWQDISC, 7, "ingress");
    struct link_msg msg;

    tcm->tcm_handle = TC_H_MAKE(TC_H_INGRESS, 0);
    tcm->tcm_parent = TC_H_INGRESS;
    mnl_attr_put(nlh, TCA_OPTIONS, 0, NULL);
    assert_int_equal(parse(&msg), 0);
    assert_int_equal(msg.type, LINK_MSG_NEWQDISC);
    assert_int_equal(msg.qdisc.ifindex, 7);
    assert_int_equal(msg.qdisc.handle, 0xffff0000);
    assert_int_equal(msg.qdisc.parent, TC_H_INGRESS);
    assert_string_equal(msg.qdisc.kind, "ingress");

    tcm = begin_qdisc(RTM_DELQDISC, INT32_MAX, "htb");
    tcm->tcm_handle = 0x10000;
    tcm->tcm_parent = TC_H_ROOT;
    assert_int_equal(parse(&msg), 0);
    assert_int_equal(msg.type, LINK_MSG_DELQDISC);
    assert_int_equal(msg.qdisc.parent, TC_H_ROOT);
    assert_int_equal(msg.qdisc.handle, 0x10000);
}

static void
malformed_queueing_disciplines_are_refused(void **state OVS_UNUSED)
{
    begin_qdisc(RTM_NEWQDISC, 7, NULL);
    assert_malformed();
    begin_qdisc(RTM_NEWQDISC, 0, "htb");
    assert_malformed();
    begin_qdisc(RTM_NEWQDISC, -1, "htb");
    assert_malformed();
    begin_qdisc(RTM_NEWQDISC, 7, NULL);
    mnl_attr_put(nlh, TCA_KIND, 3, "htb");      /* Without a null byte. */
    assert_malformed();

    begin_qdisc(RTM_NEWQDISC, 7, "htb");
    for (uint32_t n = MNL_NLMSG_HDRLEN;
         n < MNL_NLMSG_HDRLEN + sizeof(struct tcmsg); n++) {
        nlh->nlmsg_len = n;
        assert_malformed();
    }
}

struct seen {
    unsigned int n[LINK_N_MSGS];
    unsigned int n_local;       /* Routes to the host itself. */
};

static int
check_kernel_message(const struct nlmsghdr *reply, void *seen_)
{
    struct seen *seen = seen_;
    struct link_msg msg;

    assert_int_equal(link_msg_parse(reply, reply->nlmsg_len, &msg), 0);
    seen->n[msg.type]++;
    if (msg.type == LINK_MSG_NEWROUTE) {
        assert_false(msg.route.several);
        seen->n_local += msg.route.type == RTN_LOCAL;
    } else {
        assert_int_equal(msg.type, LINK_MSG_NEWQDISC);
        assert_int_equal(msg.qdisc.ifindex, 1);
        assert_int_equal(msg.qdisc.handle, 0);
        assert_string_equal(msg.qdisc.kind, "noqueue");
    }
    return 0;
}

static void
what_the_kernel_sends_is_accepted(void **state OVS_UNUSED)
{
    struct seen seen;
    struct nl_conn *conn;

    memset(&seen, 0, sizeof seen);
    assert_int_equal(nl_conn_open(NETLINK_ROUTE, &conn), 0);

    /* With the loopback device come routes to 127.0.0.1 and ::1. */
    memset(buf, 0, sizeof buf);
    nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = RTM_NEWLINK;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    ifi->ifi_index = 1;
    ifi->ifi_flags = ifi->ifi_change = 1;       /* IFF_UP */
    assert_int_equal(nl_conn_transact(conn, nlh, NULL, NULL), 0);

    begin_route(RTM_GETROUTE, AF_UNSPEC)->rtm_table = 0;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    assert_int_equal(nl_conn_transact(conn, nlh, check_kernel_message, &seen),
                     0);
    assert_true(seen.n_local >= 1);
    begin_qdisc(RTM_GETQDISC, 0, NULL);
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    assert_int_equal(nl_conn_transact(conn, nlh, check_kernel_message, &seen),
                     0);
    assert_int_equal(seen.n[LINK_MSG_NEWQDISC], 1);
    nl_conn_close(conn);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ipv4_route_is_told_in_full),
        cmocka_unit_test(an_ipv6_route_is_told_in_full),
        cmocka_unit_test(a_default_route_has_no_destination),
        cmocka_unit_test(the_number_of_a_table_may_be_large),
        cmocka_unit_test(several_next_hops_are_told_apart_from_one),
        cmocka_unit_test(next_hop_objects_have_an_id),
        cmocka_unit_test(entries_of_a_cache_and_replacements_are_marked),
        cmocka_unit_test(lengths_of_prefixes_have_a_limit),
        cmocka_unit_test(addresses_have_the_length_of_their_family),
        cmocka_unit_test(wrong_lengths_in_routes_are_refused),
        cmocka_unit_test(routes_of_other_families_are_not_looked_into),
        cmocka_unit_test(a_queueing_discipline_is_told),
        cmocka_unit_test(malformed_queueing_disciplines_are_refused),
        cmocka_unit_test(what_the_kernel_sends_is_accepted),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
