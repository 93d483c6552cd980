/* SPDX-License-Identifier: Apache-2.0 */

/* Netlink requests and multicasts against the running kernel, in a network
 * namespace with nothing but a loopback device in it. */

#include <config.h>
#include "nl/nl-conn.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/unit.h"
#include "util.h"

static int
setup(void **state)
{
    struct nl_conn *conn;

    assert_int_equal(nl_conn_open(NETLINK_ROUTE, &conn), 0);
    *state = conn;
    return 0;
}

static int
teardown(void **state)
{
    nl_conn_close(*state);
    return 0;
}

/* Requests about links. */

struct request {
    char buf[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh;
};

static void
link_request(struct request *request, uint16_t type, uint16_t flags,
             int ifindex)
{
    struct ifinfomsg *ifi;

    request->nlh = mnl_nlmsg_put_header(request->buf);
    request->nlh->nlmsg_type = type;
    request->nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    ifi = mnl_nlmsg_put_extra_header(request->nlh, sizeof *ifi);
    ifi->ifi_index = ifindex;
}

/* Makes a pair of virtual Ethernet devices, 'NAME'a and 'NAME'b. */
static int
create_veth(struct nl_conn *conn, const char *name)
{
    struct request request;
    struct nlattr *info, *data, *peer;
    char ifname[IFNAMSIZ];

    link_request(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK,
                 0);
    snprintf(ifname, sizeof ifname, "%sa", name);
    mnl_attr_put_strz(request.nlh, IFLA_IFNAME, ifname);
    info = mnl_attr_nest_start(request.nlh, IFLA_LINKINFO);
    mnl_attr_put_strz(request.nlh, IFLA_INFO_KIND, "veth");
    data = mnl_attr_nest_start(request.nlh, IFLA_INFO_DATA);
    peer = mnl_attr_nest_start(request.nlh, VETH_INFO_PEER);
    mnl_nlmsg_put_extra_header(request.nlh, sizeof(struct ifinfomsg));
    snprintf(ifname, sizeof ifname, "%sb", name);
    mnl_attr_put_strz(request.nlh, IFLA_IFNAME, ifname);
    mnl_attr_nest_end(request.nlh, peer);
    mnl_attr_nest_end(request.nlh, data);
    mnl_attr_nest_end(request.nlh, info);
    return nl_conn_transact(conn, request.nlh, NULL, NULL);
}

static int
delete_link(struct nl_conn *conn, const char *ifname)
{
    struct request request;

    link_request(&request, RTM_DELLINK, NLM_F_ACK, if_nametoindex(ifname));
    return nl_conn_transact(conn, request.nlh, NULL, NULL);
}

/* Sets the MTU of the loopback device. */
static int
set_mtu(struct nl_conn *conn, uint32_t mtu)
{
    struct request request;

    link_request(&request, RTM_NEWLINK, NLM_F_ACK, if_nametoindex("lo"));
    mnl_attr_put_u32(request.nlh, IFLA_MTU, mtu);
    return nl_conn_transact(conn, request.nlh, NULL, NULL);
}

/* What a callback saw. */
struct seen {
    size_t n;                   /* Messages. */
    size_t n_lo;                /* Of these, about the loopback device. */
    uint16_t type;              /* Of the last one. */
    uint32_t mtu;               /* In the last one. */
    int error;                  /* What to return. */
};

static int
see_link(const struct nlmsghdr *nlh, void *seen_)
{
    static const struct nl_attr_policy policy[] = {
        [IFLA_IFNAME] = { .type = MNL_TYPE_NUL_STRING, .required = true },
        [IFLA_MTU] = { .type = MNL_TYPE_U32, .required = true },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    size_t header = sizeof(struct ifinfomsg);
    struct seen *seen = seen_;

    assert_true(mnl_nlmsg_get_payload_len(nlh) >= header);
    assert_int_equal(nl_attrs_parse(mnl_nlmsg_get_payload_offset(nlh, header),
                                    mnl_nlmsg_get_payload_len(nlh) - header,
                                    policy, attrs, ARRAY_SIZE(policy)), 0);
    seen->n++;
    seen->n_lo += !strcmp(mnl_attr_get_str(attrs[IFLA_IFNAME]), "lo");
    seen->mtu = mnl_attr_get_u32(attrs[IFLA_MTU]);
    seen->type = nlh->nlmsg_type;
    return seen->error;
}

static int
dump_links(struct nl_conn *conn, struct seen *seen)
{
    struct request request;

    link_request(&request, RTM_GETLINK, NLM_F_DUMP, 0);
    return nl_conn_transact(conn, request.nlh, see_link, seen);
}

/* Generic netlink families. */

static void
family_and_its_group_are_found(void **state OVS_UNUSED)
{
    struct genl_family family, again;
    struct nl_conn *conn;

    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    assert_int_equal(genl_family_lookup(conn, "nlctrl", "notify", &family),
                     0);
    assert_int_equal(family.id, GENL_ID_CTRL);
    assert_int_not_equal(family.mcgroup, 0);

    assert_int_equal(genl_family_lookup(conn, "nlctrl", NULL, &again), 0);
    assert_int_equal(again.id, GENL_ID_CTRL);
    assert_int_equal(again.mcgroup, 0);
    nl_conn_close(conn);
}

static void
unknown_family_does_not_exist(void **state OVS_UNUSED)
{
    struct genl_family family;
    struct nl_conn *conn;

    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    assert_int_equal(genl_family_lookup(conn, "no_such_family", NULL,
                                        &family), ENOENT);

    /* The connection is as good as before. */
    assert_int_equal(genl_family_lookup(conn, "nlctrl", NULL, &family), 0);
    nl_conn_close(conn);
}

static void
unknown_group_does_not_exist(void **state OVS_UNUSED)
{
    struct genl_family family;
    struct nl_conn *conn;

    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    assert_int_equal(genl_family_lookup(conn, "nlctrl", "no_such_group",
                                        &family), ENOENT);
    assert_int_equal(genl_family_lookup(conn, "nlctrl", "", &family), ENOENT);
    nl_conn_close(conn);
}

static void
name_that_is_too_long_is_an_error_and_no_overflow(void **state OVS_UNUSED)
{
    struct genl_family family;
    struct nl_conn *conn;
    char name[64];

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    assert_int_not_equal(genl_family_lookup(conn, name, NULL, &family), 0);
    nl_conn_close(conn);
}

/* Transactions. */

static void
dump_shows_everything_once(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .n = 0 };

    assert_int_equal(dump_links(conn, &seen), 0);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.n_lo, 1);
    assert_int_equal(seen.type, RTM_NEWLINK);
}

static void
dump_of_many_datagrams_is_complete(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .n = 0 };
    char name[IFNAMSIZ];

    /* A link's message takes more than 1 kB. */
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(create_veth(conn, name), 0);
    }
    assert_int_equal(dump_links(conn, &seen), 0);
    assert_int_equal(seen.n, 101);
    assert_int_equal(seen.n_lo, 1);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "v%da", i);
        assert_int_equal(delete_link(conn, name), 0);
    }
    seen.n = 0;
    assert_int_equal(dump_links(conn, &seen), 0);
    assert_int_equal(seen.n, 1);
}

static void
error_of_the_callback_is_returned_after_the_whole_answer(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .error = EXFULL };

    assert_int_equal(create_veth(conn, "v"), 0);
    assert_int_equal(dump_links(conn, &seen), EXFULL);
    assert_int_equal(seen.n, 1);

    /* Nothing of it is left for the next request. */
    seen = (struct seen) { .n = 0 };
    assert_int_equal(dump_links(conn, &seen), 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(delete_link(conn, "va"), 0);
}

static void
single_answer_is_passed_on(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .n = 0 };
    struct request request;

    assert_int_equal(set_mtu(conn, 4321), 0);
    link_request(&request, RTM_GETLINK, NLM_F_ACK, if_nametoindex("lo"));
    assert_int_equal(nl_conn_transact(conn, request.nlh, see_link, &seen), 0);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.mtu, 4321);
}

static void
refusal_of_the_kernel_is_returned(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .n = 0 };
    struct request request;

    link_request(&request, RTM_GETLINK, NLM_F_ACK, 12345);
    assert_int_equal(nl_conn_transact(conn, request.nlh, see_link, &seen),
                     ENODEV);
    assert_int_equal(seen.n, 0);
    assert_int_equal(create_veth(conn, "v"), 0);
    assert_int_equal(create_veth(conn, "v"), EEXIST);
    assert_int_equal(delete_link(conn, "va"), 0);
}

static void
explanation_of_an_error_lasts_until_the_next_request(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .n = 0 };
    struct request request;

    assert_string_equal(nl_conn_ext_error(conn), "");

    /* An attribute that is too short; the kernel explains that in the words
     * of its attribute parser. */
    link_request(&request, RTM_NEWLINK, NLM_F_ACK, if_nametoindex("lo"));
    mnl_attr_put_u8(request.nlh, IFLA_MTU, 1);
    assert_int_not_equal(nl_conn_transact(conn, request.nlh, NULL, NULL), 0);
    assert_non_null(strstr(nl_conn_ext_error(conn), "ttribute"));

    assert_int_equal(dump_links(conn, &seen), 0);
    assert_string_equal(nl_conn_ext_error(conn), "");
}

static void
explanation_is_found_behind_a_long_request(void **state)
{
    struct nl_conn *conn = *state;
    struct request request;
    char alias[200];

    /* The kernel sends the request back in front of it. */
    memset(alias, 'x', sizeof alias);
    link_request(&request, RTM_NEWLINK, NLM_F_ACK, if_nametoindex("lo"));
    mnl_attr_put(request.nlh, IFLA_IFALIAS, sizeof alias, alias);
    mnl_attr_put_u8(request.nlh, IFLA_MTU, 1);
    assert_int_not_equal(nl_conn_transact(conn, request.nlh, NULL, NULL), 0);
    assert_non_null(strstr(nl_conn_ext_error(conn), "ttribute"));
}

static void
request_nobody_understands_is_an_error(void **state)
{
    struct nl_conn *conn = *state;
    struct request request;

    link_request(&request, 0x7fff, NLM_F_ACK, 0);
    assert_int_equal(nl_conn_transact(conn, request.nlh, NULL, NULL),
                     EOPNOTSUPP);
}

static void
closing_nothing_is_harmless(void **state OVS_UNUSED)
{
    size_t n_fds = unit_count_fds();
    struct nl_mcast *mcast;
    struct nl_conn *conn;

    nl_conn_close(NULL);
    nl_mcast_close(NULL);
    assert_int_equal(nl_conn_open(NETLINK_ROUTE, &conn), 0);
    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, RTNLGRP_LINK, &mcast), 0);
    assert_int_equal(unit_count_fds(), n_fds + 2);
    nl_conn_close(conn);
    nl_mcast_close(mcast);
    assert_int_equal(unit_count_fds(), n_fds);
}

static void
unknown_protocol_cannot_be_opened(void **state OVS_UNUSED)
{
    struct nl_mcast *mcast;
    struct nl_conn *conn;

    assert_int_equal(nl_conn_open(NETLINK_GENERIC + 1000, &conn),
                     EPROTONOSUPPORT);
    assert_null(conn);
    assert_int_equal(nl_mcast_open(NETLINK_GENERIC + 1000, 1, &mcast),
                     EPROTONOSUPPORT);
    assert_null(mcast);
    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, 100000, &mcast), EINVAL);
    assert_null(mcast);
}

/* Attributes. */

enum { ATTR_UNSPEC, ATTR_U8, ATTR_U16, ATTR_U32, ATTR_U64, ATTR_STRING,
       ATTR_NESTED, ATTR_FLAG, ATTR_BLOB, N_ATTRS };

/* Parses one attribute with 'n' bytes of payload at 'data' under a policy for
 * its type alone. */
static int
parse_one(uint16_t type, struct nl_attr_policy policy, const void *data,
          size_t n)
{
    char buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nl_attr_policy policies[N_ATTRS] = { [0] = { .min_len = 0 } };
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    int error;

    policies[type] = policy;
    mnl_attr_put(nlh, type, n, data);
    error = nl_attrs_parse(mnl_nlmsg_get_payload(nlh),
                           mnl_nlmsg_get_payload_len(nlh), policies, attrs,
                           N_ATTRS);
    if (!error) {
        for (int i = 0; i < N_ATTRS; i++) {
            assert_true((attrs[i] != NULL) == (i == type));
        }
        assert_int_equal(mnl_attr_get_payload_len(attrs[type]), n);
    }
    return error;
}

static void
attribute_is_checked_against_its_policy(void **state OVS_UNUSED)
{
    static const struct {
        uint16_t type;
        struct nl_attr_policy policy;
        const char *data;
        size_t n;
        int error;
    } cases[] = {
        { ATTR_U8, { .type = MNL_TYPE_U8 }, "x", 1, 0 },
        { ATTR_U8, { .type = MNL_TYPE_U8 }, "", 0, EINVAL },
        { ATTR_U8, { .type = MNL_TYPE_U8 }, "xy", 2, EINVAL },
        { ATTR_U16, { .type = MNL_TYPE_U16 }, "ab", 2, 0 },
        { ATTR_U16, { .type = MNL_TYPE_U16 }, "a", 1, EINVAL },
        { ATTR_U16, { .type = MNL_TYPE_U16 }, "abc", 3, EINVAL },
        { ATTR_U32, { .type = MNL_TYPE_U32 }, "abcd", 4, 0 },
        { ATTR_U32, { .type = MNL_TYPE_U32 }, "abc", 3, EINVAL },
        { ATTR_U32, { .type = MNL_TYPE_U32 }, "abcde", 5, EINVAL },
        { ATTR_U64, { .type = MNL_TYPE_U64 }, "abcdefgh", 8, 0 },
        { ATTR_U64, { .type = MNL_TYPE_U64 }, "abcdefg", 7, EINVAL },
        { ATTR_STRING, { .type = MNL_TYPE_NUL_STRING }, "name", 5, 0 },
        { ATTR_STRING, { .type = MNL_TYPE_NUL_STRING }, "name", 4, EINVAL },
        { ATTR_STRING, { .type = MNL_TYPE_NUL_STRING }, "", 0, EINVAL },
        { ATTR_NESTED, { .type = MNL_TYPE_NESTED }, "", 0, 0 },
        { ATTR_NESTED, { .type = MNL_TYPE_NESTED }, "abcd", 4, 0 },
        { ATTR_NESTED, { .type = MNL_TYPE_NESTED }, "abc", 3, EINVAL },
        { ATTR_FLAG, { .type = MNL_TYPE_FLAG }, "", 0, 0 },
        { ATTR_FLAG, { .type = MNL_TYPE_FLAG }, "x", 1, EINVAL },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC }, "", 0, 0 },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC }, "abc", 3, 0 },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC, .min_len = 4 }, "abc", 3,
          EINVAL },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC, .min_len = 4 }, "abcd", 4, 0 },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC, .min_len = 4 }, "abcdefg", 7,
          0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int error = parse_one(cases[i].type, cases[i].policy, cases[i].data,
                              cases[i].n);

        if (error != cases[i].error) {
            fail_msg("case %zu: %d instead of %d", i, error, cases[i].error);
        }
    }
}

/* Parses 'len' bytes of the attributes at 'payload', of which ATTR_U32 is
 * required. */
static int
parse_required(const void *payload, size_t len, const struct nlattr *attrs[])
{
    static const struct nl_attr_policy policy[N_ATTRS] = {
        [ATTR_U32] = { .type = MNL_TYPE_U32, .required = true },
        [ATTR_BLOB] = { .type = MNL_TYPE_UNSPEC },
    };

    return nl_attrs_parse(payload, len, policy, attrs, N_ATTRS);
}

static void
required_attribute_may_not_be_missing(void **state OVS_UNUSED)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    const void *payload = mnl_nlmsg_get_payload(nlh);

    assert_int_equal(parse_required(payload, 0, attrs), EINVAL);
    mnl_attr_put_u32(nlh, ATTR_BLOB, 1);
    assert_int_equal(parse_required(payload, mnl_nlmsg_get_payload_len(nlh),
                                    attrs), EINVAL);
    mnl_attr_put_u32(nlh, ATTR_U32, 1);
    assert_int_equal(parse_required(payload, mnl_nlmsg_get_payload_len(nlh),
                                    attrs), 0);
}

static void
last_of_equal_attributes_wins(void **state OVS_UNUSED)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    mnl_attr_put_u32(nlh, ATTR_U32, 1);
    mnl_attr_put_u32(nlh, ATTR_U32, 2);
    assert_int_equal(parse_required(mnl_nlmsg_get_payload(nlh),
                                    mnl_nlmsg_get_payload_len(nlh), attrs),
                     0);
    assert_int_equal(mnl_attr_get_u32(attrs[ATTR_U32]), 2);
}

static void
types_without_a_policy_are_ignored(void **state OVS_UNUSED)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    mnl_attr_put_u8(nlh, ATTR_UNSPEC, 1);
    mnl_attr_put_u8(nlh, N_ATTRS, 1);
    mnl_attr_put_u8(nlh, UINT16_C(0x3fff), 1);
    mnl_attr_put_u32(nlh, ATTR_U32, 7);
    assert_int_equal(parse_required(mnl_nlmsg_get_payload(nlh),
                                    mnl_nlmsg_get_payload_len(nlh), attrs),
                     0);
    assert_null(attrs[ATTR_UNSPEC]);
    assert_int_equal(mnl_attr_get_u32(attrs[ATTR_U32]), 7);
}

static void
bytes_after_the_last_attribute_are_an_error(void **state OVS_UNUSED)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    const void *payload = mnl_nlmsg_get_payload(nlh);
    size_t len;

    mnl_attr_put_u32(nlh, ATTR_U32, 7);
    len = mnl_nlmsg_get_payload_len(nlh);
    for (size_t extra = 1; extra < 2 * sizeof(struct nlattr); extra++) {
        assert_int_equal(parse_required(payload, len + extra, attrs), EINVAL);
    }

    /* Padding is none, nor is its absence. */
    mnl_attr_put_u8(nlh, ATTR_BLOB, 7);
    len = mnl_nlmsg_get_payload_len(nlh);
    for (size_t missing = 0; missing <= 3; missing++) {
        assert_int_equal(parse_required(payload, len - missing, attrs), 0);
        assert_non_null(attrs[ATTR_BLOB]);
    }
    assert_int_equal(parse_required(payload, len - 4, attrs), EINVAL);
}

/* Multicasts. */

static void
wait_readable(const struct nl_mcast *mcast)
{
    struct pollfd pfd = { .fd = nl_mcast_fd(mcast), .events = POLLIN };

    assert_int_equal(poll(&pfd, 1, UNIT_PATIENCE), 1);
    assert_true(pfd.revents & POLLIN);
}

static void
events_of_the_group_are_received(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .n = 0 };
    struct nl_mcast *mcast;

    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, RTNLGRP_LINK, &mcast), 0);
    assert_int_equal(nl_mcast_recv(mcast, see_link, &seen), EAGAIN);
    assert_int_equal(seen.n, 0);

    assert_int_equal(set_mtu(conn, 5000), 0);
    wait_readable(mcast);
    assert_int_equal(nl_mcast_recv(mcast, see_link, &seen), 0);
    assert_int_equal(seen.n_lo, 1);
    assert_int_equal(seen.mtu, 5000);
    assert_int_equal(seen.type, RTM_NEWLINK);
    while (nl_mcast_recv(mcast, see_link, &seen) == 0) {
        continue;
    }

    assert_int_equal(create_veth(conn, "v"), 0);
    assert_int_equal(delete_link(conn, "va"), 0);
    wait_readable(mcast);
    while (nl_mcast_recv(mcast, see_link, &seen) == 0) {
        continue;
    }
    assert_int_equal(seen.type, RTM_DELLINK);
    nl_mcast_close(mcast);
}

static void
events_of_other_groups_are_not_received(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .n = 0 };
    struct nl_mcast *mcast;

    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, RTNLGRP_TC, &mcast), 0);
    assert_int_equal(set_mtu(conn, 5001), 0);
    assert_int_equal(nl_mcast_recv(mcast, see_link, &seen), EAGAIN);
    assert_int_equal(seen.n, 0);
    nl_mcast_close(mcast);
}

static void
error_of_the_event_callback_is_returned(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .error = EXFULL };
    struct nl_mcast *mcast;

    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, RTNLGRP_LINK, &mcast), 0);
    assert_int_equal(set_mtu(conn, 5002), 0);
    wait_readable(mcast);
    assert_int_equal(nl_mcast_recv(mcast, see_link, &seen), EXFULL);
    nl_mcast_close(mcast);
}

static void
overrun_is_reported_once_and_events_go_on(void **state)
{
    struct nl_conn *conn = *state;
    struct seen seen = { .n = 0 };
    struct nl_mcast *mcast;
    int n_overruns = 0;
    uint32_t mtu = 2000;
    int error;

    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, RTNLGRP_LINK, &mcast), 0);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(set_mtu(conn, ++mtu), 0);
    }
    while ((error = nl_mcast_recv(mcast, see_link, &seen)) != EAGAIN) {
        assert_true(!error || error == ENOBUFS);
        n_overruns += error == ENOBUFS;
    }
    assert_int_equal(n_overruns, 1);
    assert_in_range(seen.n, 1, 1999);

    assert_int_equal(set_mtu(conn, ++mtu), 0);
    wait_readable(mcast);
    assert_int_equal(nl_mcast_recv(mcast, see_link, &seen), 0);
    assert_int_equal(seen.mtu, mtu);
    nl_mcast_close(mcast);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(family_and_its_group_are_found),
        TEST(unknown_family_does_not_exist),
        TEST(unknown_group_does_not_exist),
        TEST(name_that_is_too_long_is_an_error_and_no_overflow),
        TEST(dump_shows_everything_once),
        TEST(dump_of_many_datagrams_is_complete),
        TEST(error_of_the_callback_is_returned_after_the_whole_answer),
        TEST(single_answer_is_passed_on),
        TEST(refusal_of_the_kernel_is_returned),
        TEST(explanation_of_an_error_lasts_until_the_next_request),
        TEST(explanation_is_found_behind_a_long_request),
        TEST(request_nobody_understands_is_an_error),
        TEST(closing_nothing_is_harmless),
        TEST(unknown_protocol_cannot_be_opened),
        TEST(attribute_is_checked_against_its_policy),
        TEST(required_attribute_may_not_be_missing),
        TEST(last_of_equal_attributes_wins),
        TEST(types_without_a_policy_are_ignored),
        TEST(bytes_after_the_last_attribute_are_an_error),
        TEST(events_of_the_group_are_received),
        TEST(events_of_other_groups_are_not_received),
        TEST(error_of_the_event_callback_is_returned),
        TEST(overrun_is_reported_once_and_events_go_on),
    };

    unit_init("test-nl-conn");
    return cmocka_run_group_tests_name("nl-conn", tests, NULL, NULL);
}
