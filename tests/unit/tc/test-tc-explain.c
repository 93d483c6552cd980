/* SPDX-License-Identifier: Apache-2.0 */

/* Asking why tc refuses a rule: what is sent, and which texts are kept. */

#include <config.h>
#include "tc/tc-explain.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "harness/unit.h"
#include "netlink.h"
#include "nl/nl-conn.h"
#include "openvswitch/ofpbuf.h"
#include "ovs/compat-util.h"
#include "tc.h"
#include "tc/tc-transact.h"
#include "util.h"

/* The kernel. */
static char said[64];
static int answer;
static int open_error;
static unsigned int n_open;
static struct tcmsg sent;
static uint16_t sent_flags;
static uint32_t rule_flags;

/* The flags of the rule, 0 if there are none. */
static uint32_t
get_rule_flags(const struct nlmsghdr *request)
{
    const size_t header = NLMSG_HDRLEN + sizeof sent;
    const struct nlattr *options = nl_attr_find__(
        (const void *) ((const char *) request + header),
        request->nlmsg_len - header,
        TCA_OPTIONS);
    const struct nlattr *flags
        = options ? nl_attr_find_nested(options, TCA_FLOWER_FLAGS) : NULL;

    return flags ? nl_attr_get_u32(flags) : 0;
}

int __wrap_nl_conn_open(int protocol, struct nl_conn **);
void __wrap_nl_conn_close(struct nl_conn *);
int __wrap_nl_conn_transact(struct nl_conn *, struct nlmsghdr *,
                            nl_reply_func *, void *aux);
const char *__wrap_nl_conn_ext_error(const struct nl_conn *);

int
__wrap_nl_conn_open(int protocol, struct nl_conn **conn)
{
    assert_int_equal(protocol, NETLINK_ROUTE);
    *conn = NULL;
    n_open += !open_error;
    return open_error;
}

void
__wrap_nl_conn_close(struct nl_conn *conn OVS_UNUSED)
{
    n_open--;
}

int
__wrap_nl_conn_transact(struct nl_conn *conn OVS_UNUSED,
                        struct nlmsghdr *request, nl_reply_func *reply,
                        void *aux OVS_UNUSED)
{
    assert_null(reply);
    assert_int_equal(request->nlmsg_type, RTM_NEWTFILTER);
    assert_true(request->nlmsg_len > NLMSG_HDRLEN + sizeof sent);
    sent_flags = request->nlmsg_flags;
    memcpy(&sent, NLMSG_DATA(request), sizeof sent);
    rule_flags = get_rule_flags(request);
    return answer;
}

const char *
__wrap_nl_conn_ext_error(const struct nl_conn *conn OVS_UNUSED)
{
    return said;
}

/* Asks about a rule whose handle is 77.  The kernel says 'text' about it this
 * time. */
static int
explain(int error, const char *text, const char **why)
{
    struct ofpbuf rule;
    struct kdp_tc_request request = {
        .type = KDP_TC_ADD, .id.handle = 77, .rule = &rule,
        .error = EOPNOTSUPP,
    };
    int retval;

    answer = error;
    ovs_strlcpy(said, text, sizeof said);
    tc_make_request(3, RTM_NEWTFILTER, 0, &rule);
    nl_msg_put_string(&rule, TCA_KIND, "flower");
    retval = kdp_tc_explain(&request, why);
    ofpbuf_uninit(&rule);
    assert_int_equal(n_open, 0);
    return retval;
}

static void
rule_is_sent_once_more(void **state OVS_UNUSED)
{
    const char *why = "x", *again;

    assert_int_equal(explain(ENOSPC, "card: full", &why), ENOSPC);
    assert_string_equal(why, "card: full");
    assert_int_equal(sent.tcm_handle, 77);
    assert_int_equal(sent.tcm_ifindex, 3);
    assert_int_equal(sent_flags, (NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL
                                  | NLM_F_ACK));

    /* The same string, which stays. */
    assert_int_equal(explain(EINVAL, "card: full", &again), EINVAL);
    assert_ptr_equal(why, again);

    assert_int_equal(explain(EINVAL, "", &why), EINVAL);
    assert_null(why);

    /* It is taken this time. */
    assert_int_equal(explain(0, "left over", &why), 0);
    assert_null(why);
}

static void
without_a_socket_the_error_stays(void **state OVS_UNUSED)
{
    const char *why;

    open_error = EMFILE;
    assert_int_equal(explain(0, "", &why), EOPNOTSUPP);
    assert_null(why);
    open_error = 0;
}

/* Makes a request for a rule with 'flags' in 'rule'. */
static struct kdp_tc_request
make_request(uint32_t flags, struct ofpbuf *rule)
{
    size_t options;

    tc_make_request(3, RTM_NEWTFILTER, 0, rule);
    nl_msg_put_string(rule, TCA_KIND, "flower");
    options = nl_msg_start_nested(rule, TCA_OPTIONS);
    nl_msg_put_u32(rule, TCA_FLOWER_FLAGS, flags);
    nl_msg_end_nested(rule, options);
    return (struct kdp_tc_request) {
        .type = KDP_TC_ADD, .id.handle = 77, .rule = rule,
    };
}

/* What the driver says of a rule that tc takes is told, too. */
static void
driver_is_asked_why_it_skips_a_rule(void **state OVS_UNUSED)
{
    struct ofpbuf rule;
    struct kdp_tc_request request = make_request(0, &rule);
    const char *why;
    bool is_sent;

    for (int error = 0; error <= ENOSPC; error += ENOSPC) {
        answer = error;
        ovs_strlcpy(said, "card: full", sizeof said);
        assert_int_equal(kdp_tc_add_verbosely(&request, &is_sent, &why),
                         error);
        assert_true(is_sent);
        assert_string_equal(why, "card: full");
        assert_int_equal(rule_flags, OVS_COMPAT_TCA_CLS_FLAGS_VERBOSE);
        assert_int_equal(sent.tcm_handle, 77);
    }
    open_error = EMFILE;
    assert_int_equal(kdp_tc_add_verbosely(&request, &is_sent, &why), 0);
    assert_false(is_sent);
    assert_null(why);
    open_error = 0;
    ofpbuf_uninit(&rule);
    assert_int_equal(n_open, 0);
}

/* With the other policies none does so without a word. */
static void
rules_may_be_skipped_without_a_policy_only(void **state OVS_UNUSED)
{
    static const struct {
        uint32_t flags;
        bool skipped;
    } cases[] = {
        { 0, true },
        { TCA_CLS_FLAGS_SKIP_HW, false },
        { TCA_CLS_FLAGS_SKIP_SW, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ofpbuf rule;
        struct kdp_tc_request request = make_request(cases[i].flags, &rule);

        assert_int_equal(kdp_tc_may_be_skipped(&request), cases[i].skipped);
        ofpbuf_uninit(&rule);
    }
}

static void
texts_are_limited_in_number(void **state OVS_UNUSED)
{
    const char *why;
    size_t n = 0;

    for (int i = 0; i < 2 * KDP_TC_MAX_TEXTS; i++) {
        char text[32];

        snprintf(text, sizeof text, "label %d", i);
        explain(EINVAL, text, &why);
        n += why != NULL;
    }
    assert_in_range(n, KDP_TC_MAX_TEXTS - 1, KDP_TC_MAX_TEXTS);
    explain(EINVAL, "label 0", &why);
    assert_string_equal(why, "label 0");
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_is_sent_once_more),
        cmocka_unit_test(without_a_socket_the_error_stays),
        cmocka_unit_test(driver_is_asked_why_it_skips_a_rule),
        cmocka_unit_test(rules_may_be_skipped_without_a_policy_only),
        cmocka_unit_test(texts_are_limited_in_number),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-explain", tests, NULL, NULL);
}
