/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L2 and L3: parser of messages about links: made-up messages, and
 * those of the kernel that runs the test. */

#include <config.h>
#include "link/link-msg.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include "nl/nl-conn.h"
#include "harness/unit.h"
#include "util.h"

/* A message under construction. */
static char buf[8192] __attribute__((aligned(NLMSG_ALIGNTO)));
static struct nlmsghdr *nlh;

static struct ifinfomsg *
begin_link(uint16_t type, int ifindex, const char *name)
{
    memset(buf, 0, sizeof buf);
    nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = type;

    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    ifi->ifi_index = ifindex;
    if (name) {
        mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    }
    return ifi;
}

static int
parse(struct link_msg *msg)
{
    /* What a parser leaves out is not to look right by chance. */
    memset(msg, 0xcc, sizeof *msg);
    return link_msg_parse(nlh, nlh->nlmsg_len, msg);
}

/* Parses a link that has to be right. */
static struct link_view
parse_link(void)
{
    struct link_msg msg;

    assert_int_equal(parse(&msg), 0);
    return msg.link;
}

static void
assert_malformed(void)
{
    struct link_msg msg;

    assert_int_equal(parse(&msg), EINVAL);
}

static void
put_kind(const char *kind)
{
    struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO);

    mnl_attr_put_strz(nlh, IFLA_INFO_KIND, kind);
    mnl_attr_put(nlh, IFLA_INFO_DATA, 4, "data");
    mnl_attr_nest_end(nlh, nest);
}

static void
a_link_is_told_in_full(void **state OVS_UNUSED)
{
    struct ifinfomsg *ifi = begin_link(RTM_NEWLINK, 42, "eth0");
    static const uint8_t mac[] = { 2, 0, 0, 0, 0, 1 };

    ifi->ifi_type = 1;
    ifi->ifi_flags = IFF_UP | IFF_RUNNING | 0x10000;
    mnl_attr_put(nlh, IFLA_ADDRESS, sizeof mac, mac);
    mnl_attr_put_u32(nlh, IFLA_MTU, 9000);
    mnl_attr_put_u32(nlh, IFLA_LINK, 7);
    mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 3);
    mnl_attr_put_u32(nlh, IFLA_MASTER, 8);
    mnl_attr_put_u8(nlh, IFLA_OPERSTATE, 6);
    mnl_attr_put_u8(nlh, IFLA_CARRIER, 1);
    mnl_attr_put_u32(nlh, IFLA_CARRIER_CHANGES, 11);
    mnl_attr_put_u32(nlh, IFLA_CARRIER_UP_COUNT, 6);
    mnl_attr_put_u32(nlh, IFLA_CARRIER_DOWN_COUNT, 5);
    put_kind("vlan");

    struct link_view view = parse_link();
    assert_int_equal(view.family, AF_UNSPEC);
    assert_false(view.partial);
    assert_int_equal(view.ifindex, 42);
    assert_string_equal(view.name, "eth0");
    assert_string_equal(view.kind, "vlan");
    assert_int_equal(view.arp_type, 1);
    assert_int_equal(view.flags, IFF_UP | IFF_RUNNING | 0x10000);
    assert_int_equal(view.mtu, 9000);
    assert_int_equal(view.operstate, 6);
    assert_true(view.carrier);
    assert_int_equal(view.carrier_up, 6);
    assert_int_equal(view.carrier_down, 5);
    assert_int_equal(view.hwaddr_len, sizeof mac);
    assert_memory_equal(view.hwaddr, mac, sizeof mac);
    assert_int_equal(view.master, 8);
    assert_int_equal(view.lower, 7);
    assert_int_equal(view.lower_nsid, 3);
    assert_int_equal(view.target_nsid, LINK_NSID_NONE);
    assert_int_equal(view.new_nsid, LINK_NSID_NONE);
    assert_null(link_view_next_alt_name(&view, NULL));
    assert_int_equal(view.has, LINK_HAS_OPERSTATE | LINK_HAS_CARRIER
                     | LINK_HAS_CARRIER_COUNT | LINK_HAS_MTU);
}

static void
what_is_absent_is_not_made_up(void **state OVS_UNUSED)
{
    begin_link(RTM_NEWLINK, 1, "lo");

    struct link_view view = parse_link();
    assert_int_equal(view.has, 0);
    assert_int_equal(view.hwaddr_len, 0);
    assert_null(view.kind);
    assert_null(view.port_name);
    assert_int_equal(view.switch_id_len, 0);
    assert_int_equal(view.master, 0);
    assert_int_equal(view.lower, 0);
    assert_int_equal(view.lower_nsid, LINK_NSID_SAME);

    /* One of the two counts alone is of no use. */
    mnl_attr_put_u32(nlh, IFLA_CARRIER_UP_COUNT, 6);
    view = parse_link();
    assert_int_equal(view.has, 0);
}

static void
a_bridge_port_is_not_a_device(void **state OVS_UNUSED)
{
    struct link_msg msg;
    struct ifinfomsg *ifi = begin_link(RTM_DELLINK, 5, "port");

    ifi->ifi_family = AF_BRIDGE;
    assert_int_equal(parse(&msg), 0);
    assert_int_equal(msg.type, LINK_MSG_DELLINK);
    assert_int_equal(msg.link.family, AF_BRIDGE);
}

static void
a_wireless_event_is_partial(void **state OVS_UNUSED)
{
    begin_link(RTM_NEWLINK, 5, "wlan0");
    mnl_attr_put(nlh, IFLA_WIRELESS, 16, "0123456789abcdef");
    assert_true(parse_link().partial);
}

static void
namespaces_are_told(void **state OVS_UNUSED)
{
    begin_link(RTM_DELLINK, 5, "mover");
    mnl_attr_put_u32(nlh, IFLA_NEW_NETNSID, 17);
    mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, 18);
    mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, -1);

    struct link_view view = parse_link();
    assert_int_equal(view.new_nsid, 17);
    assert_int_equal(view.target_nsid, 18);
    assert_int_equal(view.lower_nsid, LINK_NSID_OTHER);

    /* No attribute can mean one of our own constants. */
    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, LINK_NSID_LOCAL);
    mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, LINK_NSID_LOCAL);
    view = parse_link();
    assert_int_equal(view.lower_nsid, LINK_NSID_OTHER);
    assert_int_equal(view.target_nsid, LINK_NSID_NONE);
}

static void
alternative_names_come_in_order(void **state OVS_UNUSED)
{
    begin_link(RTM_NEWLINK, 5, "x");

    struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);
    mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, "first");
    mnl_attr_put_u32(nlh, IFLA_MTU, 1);         /* Some other property. */
    mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, "second-name-longer-than-usual");
    mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, "first");
    mnl_attr_nest_end(nlh, nest);

    struct link_view view = parse_link();
    const char *name = link_view_next_alt_name(&view, NULL);
    assert_string_equal(name, "first");
    name = link_view_next_alt_name(&view, name);
    assert_string_equal(name, "second-name-longer-than-usual");
    name = link_view_next_alt_name(&view, name);
    assert_string_equal(name, "first");
    assert_null(link_view_next_alt_name(&view, name));
}

static void
malformed_alternative_names_are_refused(void **state OVS_UNUSED)
{
    char long_name[LINK_ALT_NAME_SIZE + 1] = "";
    struct nlattr *nest, *attr;

    memset(long_name, 'x', sizeof long_name - 1);
    begin_link(RTM_NEWLINK, 5, "x");
    nest = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);
    mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, long_name);
    mnl_attr_nest_end(nlh, nest);
    assert_malformed();

    /* Longer than the list, shorter than a header, without a null byte. */
    for (int i = 0; i < 3; i++) {
        begin_link(RTM_NEWLINK, 5, "x");
        nest = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);
        attr = mnl_nlmsg_get_payload_tail(nlh);
        mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, "abc");
        mnl_attr_nest_end(nlh, nest);
        attr->nla_len += i == 0 ? 1 : i == 1 ? -5 : -1;
        assert_malformed();
    }
}

static void
names_that_do_not_fit_are_refused(void **state OVS_UNUSED)
{
    char kind[LINK_KIND_SIZE + 1] = "";
    char hwaddr[LINK_HWADDR_MAX + 1] = "";

    begin_link(RTM_NEWLINK, 5, "fifteen-letters");
    assert_string_equal(parse_link().name, "fifteen-letters");
    begin_link(RTM_NEWLINK, 5, "sixteen--letters");
    assert_malformed();
    begin_link(RTM_NEWLINK, 5, "");
    assert_malformed();
    begin_link(RTM_NEWLINK, 5, NULL);
    assert_malformed();
    begin_link(RTM_NEWLINK, 5, NULL);
    mnl_attr_put(nlh, IFLA_IFNAME, 3, "\0no");
    assert_malformed();
    begin_link(RTM_NEWLINK, 5, NULL);
    mnl_attr_put(nlh, IFLA_IFNAME, 4, "eth0");
    assert_malformed();

    memset(kind, 'k', sizeof kind - 2);
    begin_link(RTM_NEWLINK, 5, "x");
    put_kind(kind);
    assert_string_equal(parse_link().kind, kind);
    kind[sizeof kind - 2] = 'k';
    begin_link(RTM_NEWLINK, 5, "x");
    put_kind(kind);
    assert_malformed();

    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put(nlh, IFLA_ADDRESS, sizeof hwaddr - 1, hwaddr);
    assert_int_equal(parse_link().hwaddr_len, LINK_HWADDR_MAX);
    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put(nlh, IFLA_ADDRESS, sizeof hwaddr, hwaddr);
    assert_malformed();
}

/* Parses a link whose master is of 'kind' and says 'state' and 'mii_status',
 * of 'len' bytes each. */
static int
parse_member(const char *kind, uint16_t state, uint16_t mii_status, size_t len,
             uint16_t *bond_state)
{
    struct link_msg msg;
    struct nlattr *info, *data;
    int error;

    begin_link(RTM_NEWLINK, 5, "x");
    info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
    mnl_attr_put_strz(nlh, IFLA_INFO_SLAVE_KIND, kind);
    data = mnl_attr_nest_start(nlh, IFLA_INFO_SLAVE_DATA);
    mnl_attr_put(nlh, IFLA_BOND_SLAVE_STATE, len, &state);
    mnl_attr_put(nlh, IFLA_BOND_SLAVE_MII_STATUS, len, &mii_status);
    mnl_attr_nest_end(nlh, data);
    mnl_attr_nest_end(nlh, info);
    error = parse(&msg);
    *bond_state = error ? 0 : msg.link.bond_state;
    return error;
}

static void
what_a_bond_says_of_a_member_is_told(void **state OVS_UNUSED)
{
    uint16_t states[4], other;

    assert_int_equal(parse_member("bond", 0, 0, 1, &states[0]), 0);
    assert_int_equal(parse_member("bond", 0, 2, 1, &states[1]), 0);
    assert_int_equal(parse_member("bond", 1, 0, 1, &states[2]), 0);
    assert_int_equal(parse_member("bond", 1, 2, 1, &states[3]), 0);
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        assert_true(states[i]);
        for (size_t j = 0; j < i; j++) {
            assert_true(states[i] != states[j]);
        }
    }

    /* Those of a bridge have other attributes of these numbers. */
    assert_int_equal(parse_member("bridge", 1, 2, 2, &other), 0);
    assert_int_equal(other, 0);
    assert_int_equal(parse_member("bond", 1, 2, 2, &other), EINVAL);
    assert_int_equal(parse_member("bond", 1, 2, 0, &other), EINVAL);
}

static void
ports_of_switches_are_told(void **state OVS_UNUSED)
{
    static const uint8_t id[LINK_SWITCH_ID_MAX + 1] = { 0xab, 0, 0xcd };

    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put_strz(nlh, IFLA_PHYS_PORT_NAME, "pf0vf1");
    mnl_attr_put(nlh, IFLA_PHYS_SWITCH_ID, 8, id);
    mnl_attr_put(nlh, IFLA_PHYS_PORT_ID, 8, id);        /* Not of interest. */
    struct link_view view = parse_link();
    assert_string_equal(view.port_name, "pf0vf1");
    assert_int_equal(view.switch_id_len, 8);
    assert_memory_equal(view.switch_id, id, 8);

    /* Either may come alone. */
    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put_strz(nlh, IFLA_PHYS_PORT_NAME, "p0");
    view = parse_link();
    assert_string_equal(view.port_name, "p0");
    assert_int_equal(view.switch_id_len, 0);
    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put(nlh, IFLA_PHYS_SWITCH_ID, sizeof id - 1, id);
    view = parse_link();
    assert_null(view.port_name);
    assert_int_equal(view.switch_id_len, LINK_SWITCH_ID_MAX);
    assert_memory_equal(view.switch_id, id, LINK_SWITCH_ID_MAX);

    /* Too long, or without a null byte. */
    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put(nlh, IFLA_PHYS_SWITCH_ID, sizeof id, id);
    assert_malformed();
    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put_strz(nlh, IFLA_PHYS_PORT_NAME, "sixteen--letters");
    assert_malformed();
    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put(nlh, IFLA_PHYS_PORT_NAME, 2, "p0");
    assert_malformed();
    begin_link(RTM_NEWLINK, 5, "x");
    mnl_attr_put(nlh, IFLA_PHYS_PORT_NAME, 0, "");
    assert_malformed();
}

static void
indexes_out_of_range_are_refused(void **state OVS_UNUSED)
{
    begin_link(RTM_NEWLINK, 0, "x");
    assert_malformed();
    begin_link(RTM_NEWLINK, -1, "x");
    assert_malformed();
    begin_link(RTM_NEWLINK, 1, "x");
    mnl_attr_put_u32(nlh, IFLA_MASTER, -1);
    assert_malformed();
    begin_link(RTM_NEWLINK, 1, "x");
    mnl_attr_put_u32(nlh, IFLA_LINK, -1);
    assert_malformed();
}

static void
wrong_lengths_are_refused(void **state OVS_UNUSED)
{
    struct link_msg msg;

    begin_link(RTM_NEWLINK, 1, "x");
    mnl_attr_put_u16(nlh, IFLA_MTU, 1500);
    assert_malformed();
    begin_link(RTM_NEWLINK, 1, "x");
    mnl_attr_put_u32(nlh, IFLA_OPERSTATE, 6);
    assert_malformed();

    begin_link(RTM_NEWLINK, 1, "x");
    assert_int_equal(link_msg_parse(nlh, nlh->nlmsg_len - 1, &msg), EINVAL);
    assert_int_equal(link_msg_parse(nlh, MNL_NLMSG_HDRLEN - 1, &msg), EINVAL);
    nlh->nlmsg_len = MNL_NLMSG_HDRLEN - 1;
    assert_malformed();
    for (uint32_t n = MNL_NLMSG_HDRLEN;
         n < MNL_NLMSG_HDRLEN + sizeof(struct ifinfomsg); n++) {
        nlh->nlmsg_len = n;
        assert_malformed();
    }
}

static struct link_msg
parse_addr(uint16_t type, uint8_t family, int ifindex, size_t local_len,
           size_t address_len, int expected)
{
    struct link_msg msg;
    struct ifaddrmsg *ifa;

    memset(buf, 0, sizeof buf);
    nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = type;
    ifa = mnl_nlmsg_put_extra_header(nlh, sizeof *ifa);
    ifa->ifa_family = family;
    ifa->ifa_prefixlen = 24;
    ifa->ifa_index = ifindex;
    if (address_len) {
        mnl_attr_put(nlh, IFA_ADDRESS, address_len, "PEERPEERPEERPEER");
    }
    if (local_len) {
        mnl_attr_put(nlh, IFA_LOCAL, local_len, "OURSOURSOURSOURS");
    }
    assert_int_equal(parse(&msg), expected);
    return msg;
}

static void
addresses_are_told(void **state OVS_UNUSED)
{
    struct link_msg msg = parse_addr(RTM_NEWADDR, AF_INET, 3, 4, 4, 0);

    assert_int_equal(msg.type, LINK_MSG_NEWADDR);
    assert_int_equal(msg.addr.family, AF_INET);
    assert_int_equal(msg.addr.prefix_len, 24);
    assert_int_equal(msg.addr.ifindex, 3);
    assert_int_equal(msg.addr.address_len, 4);
    assert_memory_equal(msg.addr.address, "OURS", 4);

    msg = parse_addr(RTM_DELADDR, AF_INET6, 3, 0, 16, 0);
    assert_int_equal(msg.type, LINK_MSG_DELADDR);
    assert_int_equal(msg.addr.address_len, 16);
    assert_memory_equal(msg.addr.address, "PEER", 4);

    msg = parse_addr(RTM_NEWADDR, AF_INET, 3, 0, 0, 0);
    assert_null(msg.addr.address);
    assert_int_equal(msg.addr.address_len, 0);
    parse_addr(RTM_NEWADDR, 250, 3, 0, 7, 0);
    parse_addr(RTM_NEWADDR, AF_INET, 3, 16, 4, EINVAL);
    parse_addr(RTM_NEWADDR, AF_INET6, 3, 0, 4, EINVAL);
    parse_addr(RTM_NEWADDR, AF_INET, 0, 4, 4, EINVAL);
    parse_addr(RTM_NEWADDR, AF_INET, INT32_MIN, 4, 4, EINVAL);
}

static void
namespace_ids_are_told(void **state OVS_UNUSED)
{
    static const struct {
        uint16_t nlmsg_type;
        int32_t nsid;
        enum link_msg_type type;
        int32_t expected;
    } tests[] = {
        { RTM_NEWNSID, 0, LINK_MSG_NEWNSID, 0 },
        { RTM_DELNSID, INT32_MAX, LINK_MSG_DELNSID, INT32_MAX },
        { RTM_NEWNSID, -1, LINK_MSG_NEWNSID, LINK_NSID_NONE },
        { RTM_NEWNSID, LINK_NSID_LOCAL, LINK_MSG_NEWNSID, LINK_NSID_NONE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        struct link_msg msg;

        nlh = mnl_nlmsg_put_header(buf);
        nlh->nlmsg_type = tests[i].nlmsg_type;
        mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
        assert_malformed();             /* No id at all. */
        mnl_attr_put_u32(nlh, NETNSA_NSID, tests[i].nsid);
        assert_int_equal(parse(&msg), 0);
        assert_int_equal(msg.type, tests[i].type);
        assert_int_equal(msg.nsid, tests[i].expected);
    }
}

/* Begins a message about a queueing discipline or one of its classes. */
static struct tcmsg *
begin_tc(uint16_t type, int ifindex)
{
    memset(buf, 0, sizeof buf);
    nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = type;

    struct tcmsg *tcm = mnl_nlmsg_put_extra_header(nlh, sizeof *tcm);
    tcm->tcm_ifindex = ifindex;
    tcm->tcm_handle = 0x10000;
    tcm->tcm_parent = TC_H_ROOT;
    return tcm;
}

/* Asserts that the message is about link 7, and is of 'type'. */
static struct link_qdisc_view
parse_tc(enum link_msg_type type)
{
    struct link_msg msg;

    assert_int_equal(parse(&msg), 0);
    assert_int_equal(msg.type, type);
    assert_int_equal(msg.qdisc.ifindex, 7);
    assert_int_equal(msg.qdisc.handle, 0x10000);
    assert_int_equal(msg.qdisc.parent, TC_H_ROOT);
    return msg.qdisc;
}

static void
queueing_disciplines_are_told(void **state OVS_UNUSED)
{
    for (int gone = 0; gone < 2; gone++) {
        uint16_t type = gone ? RTM_DELQDISC : RTM_NEWQDISC;

        begin_tc(type, 7);
        assert_malformed();             /* No kind. */
        mnl_attr_put_u32(nlh, TCA_KIND, 0x41414141);
        assert_malformed();             /* No string. */
        begin_tc(type, 7);
        mnl_attr_put_strz(nlh, TCA_KIND, "htb");
        assert_string_equal(parse_tc(gone ? LINK_MSG_DELQDISC
                                     : LINK_MSG_NEWQDISC).kind, "htb");

        /* Of no link. */
        begin_tc(type, 0);
        mnl_attr_put_strz(nlh, TCA_KIND, "htb");
        assert_malformed();
        begin_tc(type, -7);
        mnl_attr_put_strz(nlh, TCA_KIND, "htb");
        assert_malformed();

        nlh->nlmsg_len = MNL_NLMSG_HDRLEN + sizeof(struct tcmsg) - 1;
        assert_malformed();
    }
}

/* Only the header of a class matters, and may be all that there is. */
static void
classes_are_told(void **state OVS_UNUSED)
{
    for (int gone = 0; gone < 2; gone++) {
        uint16_t type = gone ? RTM_DELTCLASS : RTM_NEWTCLASS;
        enum link_msg_type expected = (gone ? LINK_MSG_DELTCLASS
                                       : LINK_MSG_NEWTCLASS);

        begin_tc(type, 7);
        assert_null(parse_tc(expected).kind);
        mnl_attr_put_strz(nlh, TCA_KIND, "htb");
        assert_null(parse_tc(expected).kind);
        nlh->nlmsg_len = MNL_NLMSG_HDRLEN + sizeof(struct tcmsg) - 1;
        assert_malformed();
        begin_tc(type, 0);
        assert_malformed();
        begin_tc(type, -7);
        assert_malformed();
    }
}

static void
other_messages_are_told_apart(void **state OVS_UNUSED)
{
    static const uint16_t types[] = {
        NLMSG_DONE, RTM_GETLINK, RTM_NEWNEIGH, RTM_NEWTFILTER, RTM_SETLINK,
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct link_msg msg;

        begin_link(types[i], 1, "x");
        assert_int_equal(parse(&msg), ENOMSG);
    }
}

static int
check_kernel_link(const struct nlmsghdr *reply, void *n_)
{
    struct link_msg msg;
    unsigned int *n = n_;

    assert_int_equal(link_msg_parse(reply, reply->nlmsg_len, &msg), 0);
    assert_int_equal(msg.type, LINK_MSG_NEWLINK);
    assert_int_equal(msg.link.ifindex, 1);
    assert_string_equal(msg.link.name, "lo");
    assert_int_equal(msg.link.arp_type, 772);
    assert_int_equal(msg.link.mtu, 65536);
    assert_int_equal(msg.link.hwaddr_len, 6);
    assert_int_equal(msg.link.has, LINK_HAS_OPERSTATE | LINK_HAS_CARRIER
                     | LINK_HAS_CARRIER_COUNT | LINK_HAS_MTU);
    ++*n;
    return 0;
}

static void
what_the_kernel_sends_is_accepted(void **state OVS_UNUSED)
{
    struct nl_conn *conn;
    unsigned int n = 0;

    begin_link(RTM_GETLINK, 0, NULL);
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    assert_int_equal(nl_conn_open(NETLINK_ROUTE, &conn), 0);
    assert_int_equal(nl_conn_transact(conn, nlh, check_kernel_link, &n), 0);
    assert_int_equal(n, 1);
    nl_conn_close(conn);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_is_told_in_full),
        cmocka_unit_test(what_is_absent_is_not_made_up),
        cmocka_unit_test(a_bridge_port_is_not_a_device),
        cmocka_unit_test(a_wireless_event_is_partial),
        cmocka_unit_test(namespaces_are_told),
        cmocka_unit_test(alternative_names_come_in_order),
        cmocka_unit_test(malformed_alternative_names_are_refused),
        cmocka_unit_test(names_that_do_not_fit_are_refused),
        cmocka_unit_test(what_a_bond_says_of_a_member_is_told),
        cmocka_unit_test(ports_of_switches_are_told),
        cmocka_unit_test(indexes_out_of_range_are_refused),
        cmocka_unit_test(wrong_lengths_are_refused),
        cmocka_unit_test(addresses_are_told),
        cmocka_unit_test(namespace_ids_are_told),
        cmocka_unit_test(queueing_disciplines_are_told),
        cmocka_unit_test(classes_are_told),
        cmocka_unit_test(other_messages_are_told_apart),
        cmocka_unit_test(what_the_kernel_sends_is_accepted),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
