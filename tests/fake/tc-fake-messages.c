/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fake/tc-fake-private.h"

#include <limits.h>
#include <linux/gen_stats.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_skbedit.h>
#include <string.h>

#include "harness/unit.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "util.h"

/* The interface index and the hook of made-up rules. */
#define IFINDEX 3
#define PARENT 0xfffffff2

static bool in_hw OVS_GUARDED_BY(unit_tc_mutex);
static uint64_t n_in_hw OVS_GUARDED_BY(unit_tc_mutex);

/* See unit_tc_send_to_host(). */
static bool to_host OVS_GUARDED_BY(unit_tc_mutex);

static uint64_t n_policed OVS_GUARDED_BY(unit_tc_mutex);
static bool police_cookie OVS_GUARDED_BY(unit_tc_mutex);

void
unit_tc_messages_reset(void)
{
    ovs_mutex_lock(&unit_tc_mutex);
    in_hw = false;
    n_in_hw = 0;
    to_host = false;
    n_policed = 0;
    ovs_mutex_unlock(&unit_tc_mutex);
}

/* What rules are like. */

void
unit_tc_send_to_host(bool to_host_)
{
    ovs_mutex_lock(&unit_tc_mutex);
    to_host = to_host_;
    ovs_mutex_unlock(&unit_tc_mutex);
}

void
unit_tc_set_in_hw(bool new)
{
    ovs_mutex_lock(&unit_tc_mutex);
    in_hw = new;
    ovs_mutex_unlock(&unit_tc_mutex);
}

void
unit_tc_set_packets_in_hw(uint64_t n)
{
    ovs_mutex_lock(&unit_tc_mutex);
    n_in_hw = n;
    ovs_mutex_unlock(&unit_tc_mutex);
}

void
unit_tc_set_policer(uint64_t n_packets, bool cookie)
{
    ovs_mutex_lock(&unit_tc_mutex);
    n_policed = n_packets;
    police_cookie = cookie;
    ovs_mutex_unlock(&unit_tc_mutex);
}

/* From a rule to a message. */

/* Puts what an action has counted.  As in the kernel, 'basic' includes what
 * the card has counted. */
static void
put_stats(struct ofpbuf *msg, const struct gnet_stats_basic *basic)
    OVS_REQUIRES(unit_tc_mutex)
{
    size_t nest = nl_msg_start_nested(msg, TCA_ACT_STATS);

    nl_msg_put_unspec(msg, TCA_STATS_BASIC, basic, sizeof *basic);
    if (n_in_hw && basic->packets) {
        struct gnet_stats_basic hw = { .packets = MIN(n_in_hw,
                                                      basic->packets) };

        hw.bytes = basic->bytes / basic->packets * hw.packets;
        nl_msg_put_unspec(msg, TCA_STATS_BASIC_HW, &hw, sizeof hw);
    }
    nl_msg_end_nested(msg, nest);
}

/* Puts action 'order' of a rule: one of kind 'kind' that met packets as
 * 'basic' says.  Its times are the option of type 'tm', which a terse dump
 * leaves out.  'mirred' may be NULL, for another kind, and 'ufid' for an action
 * without a cookie. */
static void
put_action(struct ofpbuf *msg, uint16_t order, const char *kind,
           const struct gnet_stats_basic *basic, const ovs_u128 *ufid,
           uint16_t tm, const struct tcf_t *times,
           const struct tc_mirred *mirred)
    OVS_REQUIRES(unit_tc_mutex)
{
    size_t action = nl_msg_start_nested(msg, order);
    size_t nest;

    nl_msg_put_string(msg, TCA_ACT_KIND, kind);
    put_stats(msg, basic);
    if (ufid) {
        nl_msg_put_unspec(msg, TCA_ACT_COOKIE, ufid, sizeof *ufid);
    }
    if (!unit_tc_is_terse) {
        nest = nl_msg_start_nested(msg, TCA_ACT_OPTIONS);
        if (mirred) {
            nl_msg_put_unspec(msg, TCA_MIRRED_PARMS, mirred, sizeof *mirred);
        }
        nl_msg_put_unspec(msg, tm, times, sizeof *times);
        nl_msg_end_nested(msg, nest);
    }
    nl_msg_end_nested(msg, action);
}

/* Puts the policer that packets meet first, if there is one. */
static void
put_policer(struct ofpbuf *msg, const struct unit_tc_rule *rule)
    OVS_REQUIRES(unit_tc_mutex)
{
    const struct gnet_stats_basic basic = {
        .bytes = n_policed * 1000, .packets = n_policed,
    };
    const struct tcf_t times = { .install = 1000 };

    if (n_policed) {
        put_action(msg, 1, "police", &basic,
                   police_cookie ? &rule->ufid : NULL, TCA_POLICE_TM, &times,
                   NULL);
    }
}

/* Puts action 'order', which leads to chain 7, of a rule that met packets as
 * 'basic' says, as Open vSwitch does. */
static void
put_jump(struct ofpbuf *msg, uint16_t order,
         const struct gnet_stats_basic *basic)
    OVS_REQUIRES(unit_tc_mutex)
{
    const struct tc_gact gact = { .action = TC_ACT_GOTO_CHAIN | 7 };
    size_t action = nl_msg_start_nested(msg, order);
    size_t nest;

    nl_msg_put_string(msg, TCA_ACT_KIND, "gact");
    put_stats(msg, basic);
    if (!unit_tc_is_terse) {
        nest = nl_msg_start_nested(msg, TCA_ACT_OPTIONS);
        nl_msg_put_unspec(msg, TCA_GACT_PARMS, &gact, sizeof gact);
        nl_msg_end_nested(msg, nest);
    }
    nl_msg_end_nested(msg, action);
}

/* Puts the options of the action that makes packets ones for this host, which
 * 'n_rules' rules with number 'number' have. */
static void
put_to_host_options(struct ofpbuf *msg, uint32_t number, int n_rules)
    OVS_REQUIRES(unit_tc_mutex)
{
    const struct tc_skbedit skbedit = {
        .index = number,
        .action = TC_ACT_PIPE,
        .refcnt = n_rules,
        .bindcnt = n_rules,
    };
    const struct tcf_t times = { .install = 1000 };
    size_t nest = nl_msg_start_nested(msg, TCA_ACT_OPTIONS);

    nl_msg_put_unspec(msg, TCA_SKBEDIT_PARMS, &skbedit, sizeof skbedit);
    nl_msg_put_u16(msg, TCA_SKBEDIT_PTYPE, PACKET_HOST);
    nl_msg_put_unspec(msg, TCA_SKBEDIT_TM, &times, sizeof times);
    nl_msg_end_nested(msg, nest);
}

/* Puts that action of 'rule', the one of that order, which has no cookie, and
 * counts what all rules that have it met. */
static void
put_to_host(struct ofpbuf *msg, uint16_t order,
            const struct unit_tc_rule *rule)
    OVS_REQUIRES(unit_tc_mutex)
{
    size_t action = nl_msg_start_nested(msg, order);
    struct gnet_stats_basic basic = { .packets = 0 };
    const struct unit_tc_rule *other;
    int n_rules = 0;

    HMAP_FOR_EACH (other, node, &unit_tc_rules) {
        if (other->to_host && other->common_number == rule->common_number) {
            basic.packets += other->n_packets;
            basic.bytes += other->n_bytes;
            n_rules++;
        }
    }
    nl_msg_put_string(msg, TCA_ACT_KIND, "skbedit");
    put_stats(msg, &basic);
    if (!unit_tc_is_terse) {
        put_to_host_options(msg, rule->common_number, n_rules);
    }
    nl_msg_end_nested(msg, action);
}

void
unit_tc_put_rule(struct ofpbuf *msg, uint16_t type,
                 const struct unit_tc_rule *rule)
{
    const struct gnet_stats_basic basic = {
        .bytes = rule->n_bytes, .packets = rule->n_packets,
    };
    const struct tcf_t times = {
        .install = 1000, .lastuse = n_policed ? 1000 : 0,
    };
    struct tc_mirred mirred = {
        .index = rule->number,
        .refcnt = 1,
        .bindcnt = 1,
        .ifindex = rule->id.ifindex,
    };
    uint16_t order = n_policed ? 2 : 1;
    size_t options, actions;
    struct tcmsg *tcm;

    nl_msg_put_nlmsghdr(msg, sizeof *tcm, type, 0);
    tcm = ofpbuf_put_zeros(msg, sizeof *tcm);
    tcm->tcm_ifindex = rule->id.ifindex;
    tcm->tcm_parent = rule->id.parent;
    tcm->tcm_info = rule->id.info;
    tcm->tcm_handle = rule->id.handle;
    nl_msg_put_string(msg, TCA_KIND, "flower");
    nl_msg_put_u32(msg, TCA_CHAIN, rule->id.chain);
    options = nl_msg_start_nested(msg, TCA_OPTIONS);
    nl_msg_put_u32(msg, TCA_FLOWER_FLAGS,
                   ((in_hw ? TCA_CLS_FLAGS_IN_HW : TCA_CLS_FLAGS_NOT_IN_HW)
                    | (rule->to_host ? TCA_CLS_FLAGS_SKIP_HW : 0)));
    actions = nl_msg_start_nested(msg, TCA_FLOWER_ACT);
    put_policer(msg, rule);
    if (rule->to_host) {
        put_to_host(msg, order++, rule);
    }
    for (unsigned int i = 0; i <= rule->n_copies; i++) {
        if (i == rule->n_copies && rule->leaves) {
            mirred.ifindex = INT_MAX;
        }
        put_action(msg, order++, "mirred", &basic,
                   rule->bare ? NULL : &rule->ufid, TCA_MIRRED_TM, &times,
                   &mirred);
    }
    if (rule->jumps) {
        put_jump(msg, order, &basic);
    }
    nl_msg_end_nested(msg, actions);
    nl_msg_end_nested(msg, options);
    nl_msg_nlmsghdr(msg)->nlmsg_len = msg->size;
}

void
unit_tc_make_rule(const ovs_u128 *ufid, uint32_t info, uint32_t chain,
                  struct ofpbuf *msg)
{
    static const ovs_u128 no_ufid;
    struct unit_tc_rule rule = {
        .ufid = ufid ? *ufid : no_ufid,
        .bare = !ufid,
        .id = {
            .ifindex = IFINDEX, .parent = PARENT, .info = info, .chain = chain,
        },
    };

    ovs_mutex_lock(&unit_tc_mutex);
    rule.to_host = to_host;
    unit_tc_put_rule(msg, RTM_NEWTFILTER, &rule);
    ovs_mutex_unlock(&unit_tc_mutex);
}

/* From a request to a rule. */

/* The first action of 'kind' in the request 'msg', or of any if that is NULL;
 * NULL if there is none. */
static const struct nlattr *
find_action(const struct ofpbuf *msg, const char *kind)
{
    const struct nlattr *actions, *a;
    size_t left;

    a = nl_attr_find(msg, NLMSG_HDRLEN + sizeof(struct tcmsg), TCA_OPTIONS);
    unit_check(a);
    actions = nl_attr_find_nested(a, TCA_FLOWER_ACT);
    unit_check(actions);
    NL_NESTED_FOR_EACH (a, left, actions) {
        if (!kind || !strcmp(nl_attr_get_string(
                nl_attr_find_nested(a, TCA_ACT_KIND)), kind)) {
            return a;
        }
    }
    return NULL;
}

/* The number of 'action', whose parameters, of 'size' bytes, are the option of
 * type 'parms'.  0 if that is not told. */
static uint32_t
get_number(const struct nlattr *action, uint16_t parms, size_t size)
{
    const struct nlattr *a = (action ? nl_attr_find_nested(
        action, TCA_ACT_OPTIONS) : NULL);
    uint32_t number;

    a = a ? nl_attr_find_nested(a, parms) : NULL;
    if (!a || nl_attr_get_size(a) != size) {
        return 0;
    }
    /* All begin with it. */
    memcpy(&number, nl_attr_get(a), sizeof number);
    return number;
}

void
unit_tc_get_numbers(const struct ofpbuf *request, struct unit_tc_rule *rule)
{
    const struct nlattr *skbedit = find_action(request, "skbedit");

    rule->number = get_number(find_action(request, "mirred"),
                              TCA_MIRRED_PARMS, sizeof(struct tc_mirred));
    rule->to_host = skbedit != NULL;
    rule->common_number = get_number(skbedit, TCA_SKBEDIT_PARMS,
                                     sizeof(struct tc_skbedit));
}

ovs_u128
unit_tc_get_cookie(const struct ofpbuf *msg)
{
    const struct nlattr *action = find_action(msg, NULL);
    const struct nlattr *a;
    ovs_u128 ufid;

    if (action && !nl_attr_find_nested(action, TCA_ACT_COOKIE)) {
        action = find_action(msg, "mirred");
    }
    a = action ? nl_attr_find_nested(action, TCA_ACT_COOKIE) : NULL;
    unit_check(a && nl_attr_get_size(a) == sizeof ufid);
    memcpy(&ufid, nl_attr_get(a), sizeof ufid);
    return ufid;
}
