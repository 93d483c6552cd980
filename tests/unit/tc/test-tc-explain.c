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
#include "nl/nl-conn.h"
#include "openvswitch/ofpbuf.h"
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
    return answer;
}

const char *
__wrap_nl_conn_ext_error(const struct nl_conn *conn OVS_UNUSED)
{
    return said;
}

/* Asks about a rule whose handle is 77, of which the kernel says 'text' this
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
        cmocka_unit_test(texts_are_limited_in_number),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-explain", tests, NULL, NULL);
}
