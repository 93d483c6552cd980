/* SPDX-License-Identifier: Apache-2.0 */

/* Requests to tc: how they are taken from Open vSwitch's flow API. */

#include <config.h>
#include "tc/tc-transact.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "ovs/compat-offload.h"
#include "tc/tc-adopt.h"
#include "util.h"

#define INFO (4 << 16 | 8)

/* Does the library send requests in a way of its own? */
static bool sent_elsewhere;

int __wrap_tc_transact(struct ofpbuf *request, struct ofpbuf **replyp);
int __real_tc_transact(struct ofpbuf *request, struct ofpbuf **replyp);

int
__wrap_tc_transact(struct ofpbuf *request, struct ofpbuf **replyp)
{
    if (!sent_elsewhere) {
        return __real_tc_transact(request, replyp);
    }
    ofpbuf_uninit(request);
    return ENODEV;
}

/* What translates, or NULL for Open vSwitch. */
static int (*flow_put)(const ovs_u128 *ufid);

int __wrap_ovs_compat_flow_put(struct netdev *, struct match *,
                               struct nlattr *actions, size_t actions_len,
                               const ovs_u128 *ufid, bool recirc_sharing);
int __real_ovs_compat_flow_put(struct netdev *, struct match *,
                               struct nlattr *actions, size_t actions_len,
                               const ovs_u128 *ufid, bool recirc_sharing);

int
__wrap_ovs_compat_flow_put(struct netdev *netdev, struct match *match,
                           struct nlattr *actions, size_t actions_len,
                           const ovs_u128 *ufid, bool recirc_sharing)
{
    return (flow_put ? flow_put(ufid)
            : __real_ovs_compat_flow_put(netdev, match, actions, actions_len,
                                         ufid, recirc_sharing));
}

static int
setup(void **state)
{
    struct netdev *netdev;

    flow_put = NULL;
    unit_tc_init();
    unit_tc_ports_add(1);
    unit_check(!netdev_open("lo", "system", &netdev));
    *state = netdev;
    return 0;
}

static int
teardown(void **state)
{
    struct netdev *netdev = *state;

    netdev_close(netdev);
    unit_tc_ports_del(1);
    unit_tc_uninit();
    return 0;
}

/* Requests of the thread are sent, and answered by the kernel. */
static void
check_that_requests_are_sent(void)
{
    struct ofpbuf request, *reply;
    struct ifinfomsg *ifi;

    ofpbuf_init(&request, 0);
    nl_msg_put_nlmsghdr(&request, sizeof *ifi, RTM_GETLINK, NLM_F_REQUEST);
    ifi = ofpbuf_put_zeros(&request, sizeof *ifi);
    ifi->ifi_index = 1;
    assert_int_equal(nl_transact(NETLINK_ROUTE, &request, &reply), 0);
    assert_non_null(reply);
    assert_int_equal(nl_msg_nlmsghdr(reply)->nlmsg_type, RTM_NEWLINK);
    ofpbuf_delete(reply);
    ofpbuf_uninit(&request);
}

static void
request_of_the_flow_api_is_taken_instead_of_sent(void **state)
{
    struct offload_desc *desc = unit_tc_desc(1, 1, 0);
    struct kdp_tc_request request;
    struct ofpbuf *rule;
    struct kdp_tc_id id;

    assert_int_equal(kdp_tc_translate(*state, desc, true, &rule, &id), 0);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(nl_msg_nlmsghdr(rule)->nlmsg_type, RTM_NEWTFILTER);
    assert_int_equal(id.ifindex, 1);
    assert_int_equal(id.parent, TC_INGRESS_PARENT);
    assert_int_equal(id.handle, 0);
    assert_int_equal(id.chain, 0);
    assert_int_not_equal(id.info, 0);
    check_that_requests_are_sent();

    /* With a handle it can be sent, and found by its name. */
    id.handle = 0x12345678;
    request = (struct kdp_tc_request) {
        .type = KDP_TC_ADD, .id = id, .rule = rule,
    };
    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    assert_int_equal(request.error, 0);
    request.type = KDP_TC_GET;
    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    assert_int_equal(request.error, 0);
    assert_true(ovs_u128_equals(request.reply.ufid, unit_tc_ufid(1)));
    assert_memory_equal(&request.reply.id, &id, sizeof id);
    assert_int_equal(request.reply.stats.n_packets, 0);
    assert_int_equal(request.reply.stats.n_bytes, 0);
    assert_int_equal(request.reply.n_sw_packets, 0);
    assert_false(request.reply.in_hw);
    ofpbuf_delete(rule);
    offload_desc_unref(desc);
}

static int
put_negative(const ovs_u128 *id OVS_UNUSED)
{
    return -EOPNOTSUPP;
}

/* The flow API has no rule that leads to the chain. */
static void
flow_of_a_chain_gets_a_rule_of_that_chain(void **state)
{
    struct offload_desc *desc = unit_tc_desc(1, 1, UNIT_TC_OF_CHAIN);
    struct kdp_tc_id id, plain;
    struct ofpbuf *rule;

    assert_int_equal(kdp_tc_translate(*state, desc, true, &rule, &id), 0);
    assert_int_equal(id.chain, 1);
    ofpbuf_delete(rule);
    assert_int_equal(kdp_tc_translate(*state, desc, false, &rule, &id),
                     EOPNOTSUPP);
    assert_null(rule);
    offload_desc_unref(desc);

    desc = unit_tc_desc(1, 1, UNIT_TC_TO_CHAIN);
    assert_int_equal(kdp_tc_translate(*state, desc, true, &rule, &plain), 0);
    assert_int_equal(plain.chain, 0);
    assert_int_equal(plain.info, id.info);
    ofpbuf_delete(rule);
    offload_desc_unref(desc);
    check_that_requests_are_sent();
}

static void
pair_of_chains_is_tried(void **state)
{
    assert_true(kdp_tc_check_chains(*state));
    assert_int_equal(unit_tc_count(), 0);
    flow_put = put_negative;
    assert_false(kdp_tc_check_chains(*state));
    check_that_requests_are_sent();
}

static void
library_is_seen_to_send_by_our_function(void **state OVS_UNUSED)
{
    assert_true(kdp_tc_check());
    check_that_requests_are_sent();
    sent_elsewhere = true;
    assert_false(kdp_tc_check());
    sent_elsewhere = false;
    check_that_requests_are_sent();
}

/* Nothing comes of 'desc', and later requests are sent. */
static void
check_untranslated(struct netdev *netdev, struct offload_desc *desc,
                   int expected)
{
    struct ofpbuf *rule = (struct ofpbuf *) &rule;
    struct kdp_tc_id id;

    assert_int_equal(kdp_tc_translate(netdev, desc, true, &rule, &id),
                     expected);
    assert_null(rule);
    check_that_requests_are_sent();
    offload_desc_unref(desc);
}

static void
flow_that_is_not_translated_leaves_no_trap(void **state)
{
    const struct offload_desc odd = { .key = "odd", .key_len = 3 };
    struct netdev *netdev = *state;

    check_untranslated(netdev, unit_tc_desc(1, 1, UNIT_TC_ODD), EOPNOTSUPP);
    check_untranslated(netdev, offload_desc_create(&odd), EOPNOTSUPP);

    /* A device without a flow API. */
    ovs_compat_offload_set_prepared(netdev, false);
    check_untranslated(netdev, unit_tc_desc(1, 1, 0), EOPNOTSUPP);
}

/* A translation that returns without a request, or makes two, or one that no
 * rule could be told by, or asks the kernel before. */

static int
put_nothing(const ovs_u128 *id OVS_UNUSED)
{
    return 0;
}

static int
send_request(const ovs_u128 *ufid)
{
    struct ofpbuf request;
    int error;

    ofpbuf_init(&request, 0);
    unit_tc_make_rule(ufid, INFO, 0, &request);
    error = nl_transact(NETLINK_ROUTE, &request, NULL);
    ofpbuf_uninit(&request);
    return error;
}

static int
put_two(const ovs_u128 *id)
{
    unit_check(send_request(id) == EINPROGRESS);
    check_that_requests_are_sent();
    return ENOSPC;
}

static int
put_without_cookie(const ovs_u128 *id OVS_UNUSED)
{
    return send_request(NULL);
}

static int
put_with_another(const ovs_u128 *id OVS_UNUSED)
{
    const ovs_u128 another = unit_tc_ufid(77);

    return send_request(&another);
}

static int
put_after_question(const ovs_u128 *id)
{
    check_that_requests_are_sent();
    return send_request(id);
}

static void
flow_api_that_sends_nothing_or_more_is_no_success(void **state)
{
    flow_put = put_nothing;
    check_untranslated(*state, unit_tc_desc(1, 1, 0), EOPNOTSUPP);
    flow_put = put_two;
    check_untranslated(*state, unit_tc_desc(1, 1, 0), ENOSPC);
}

static void
only_a_rule_is_taken(void **state)
{
    struct offload_desc *desc = unit_tc_desc(1, 1, 0);
    struct ofpbuf *rule;
    struct kdp_tc_id id;

    flow_put = put_after_question;
    assert_int_equal(kdp_tc_translate(*state, desc, true, &rule, &id), 0);
    assert_int_equal(nl_msg_nlmsghdr(rule)->nlmsg_type, RTM_NEWTFILTER);
    check_that_requests_are_sent();
    ofpbuf_delete(rule);
    offload_desc_unref(desc);
}

static void
errors_of_the_flow_api_are_positive(void **state)
{
    flow_put = put_negative;
    check_untranslated(*state, unit_tc_desc(1, 1, 0), EOPNOTSUPP);
}

static void
rule_that_could_not_be_told_again_is_refused(void **state)
{
    flow_put = put_without_cookie;
    check_untranslated(*state, unit_tc_desc(1, 1, 0), EOPNOTSUPP);
    flow_put = put_with_another;
    check_untranslated(*state, unit_tc_desc(1, 1, 0), EOPNOTSUPP);
}

static void
device_without_a_discipline_has_no_rules(void **state)
{
    struct netdev *netdev = *state;
    struct kdp_tc_rule rule;
    struct ofpbuf buffer;
    struct nl_dump dump;
    struct tcf_id place = kdp_tc_place(netdev, netdev_get_ifindex(netdev));

    kdp_tc_dump_start(&place, &dump);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    assert_false(kdp_tc_dump_next(&dump, &buffer, &rule));
    ofpbuf_uninit(&buffer);
    assert_int_equal(kdp_tc_dump_done(&dump), 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(request_of_the_flow_api_is_taken_instead_of_sent),
        TEST(flow_of_a_chain_gets_a_rule_of_that_chain),
        TEST(pair_of_chains_is_tried),
        TEST(library_is_seen_to_send_by_our_function),
        TEST(flow_that_is_not_translated_leaves_no_trap),
        TEST(flow_api_that_sends_nothing_or_more_is_no_success),
        TEST(only_a_rule_is_taken),
        TEST(errors_of_the_flow_api_are_positive),
        TEST(rule_that_could_not_be_told_again_is_refused),
        TEST(device_without_a_discipline_has_no_rules),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-translate", tests, NULL, NULL);
}
