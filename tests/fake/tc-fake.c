/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fake/tc-fake-private.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_skbedit.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "hash.h"
#include "tc/tc-desc.h"
#include "tc/tc-explain.h"
#include "tc/tc-transact.h"
#include "netdev-provider.h"
#include "netlink-socket.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "openvswitch/hmap.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "harness/netns.h"
#include "harness/unit.h"
#include "util.h"

/* The interface index and the hook of made-up rules. */
#define IFINDEX 3
#define PARENT 0xfffffff2

struct ovs_mutex unit_tc_mutex = OVS_MUTEX_INITIALIZER;
struct hmap unit_tc_rules = HMAP_INITIALIZER(&unit_tc_rules);
bool unit_tc_is_terse;

static struct unit_tc_plan plan OVS_GUARDED_BY(unit_tc_mutex);
static size_t n_messages OVS_GUARDED_BY(unit_tc_mutex);
static bool was_quiescent OVS_GUARDED_BY(unit_tc_mutex);
static size_t n_requests OVS_GUARDED_BY(unit_tc_mutex);
static size_t n_kinds OVS_GUARDED_BY(unit_tc_mutex);
static bool in_hw OVS_GUARDED_BY(unit_tc_mutex);

/* See unit_tc_explain(). */
static const char *why OVS_GUARDED_BY(unit_tc_mutex);
static bool takes OVS_GUARDED_BY(unit_tc_mutex);
static unsigned int n_explained OVS_GUARDED_BY(unit_tc_mutex);

/* See unit_tc_skip(). */
static const char *why_skipped OVS_GUARDED_BY(unit_tc_mutex);
static unsigned int n_verbose OVS_GUARDED_BY(unit_tc_mutex);

/* See unit_tc_take_numbers(), unit_tc_look_at_actions(). */
static unsigned int n_taken OVS_GUARDED_BY(unit_tc_mutex);
static unsigned int n_looks OVS_GUARDED_BY(unit_tc_mutex);

/* See unit_tc_send_to_host(), unit_tc_take_common_number(). */
static bool to_host OVS_GUARDED_BY(unit_tc_mutex);
static bool take_common OVS_GUARDED_BY(unit_tc_mutex);
static uint32_t taken_common OVS_GUARDED_BY(unit_tc_mutex);

static uint64_t n_policed OVS_GUARDED_BY(unit_tc_mutex);
static bool police_cookie OVS_GUARDED_BY(unit_tc_mutex);

void
unit_tc_init(void)
{
    unit_tc_uninit();
}

void
unit_tc_uninit(void)
{
    struct unit_tc_rule *rule;

    ovs_mutex_lock(&unit_tc_mutex);
    HMAP_FOR_EACH_POP (rule, node, &unit_tc_rules) {
        free(rule);
    }
    memset(&plan, 0, sizeof plan);
    n_messages = 0;
    n_requests = 0;
    n_kinds = 0;
    in_hw = false;
    why = NULL;
    takes = false;
    n_explained = 0;
    why_skipped = NULL;
    n_verbose = 0;
    n_taken = 0;
    n_looks = 0;
    to_host = false;
    take_common = false;
    taken_common = 0;
    n_policed = 0;
    ovs_mutex_unlock(&unit_tc_mutex);
    unit_tc_dumps_reset();
}

void
unit_tc_plan(const struct unit_tc_plan *new)
{
    ovs_mutex_lock(&unit_tc_mutex);
    plan = *new;
    ovs_mutex_unlock(&unit_tc_mutex);
}

size_t
unit_tc_count(void)
{
    size_t n;

    ovs_mutex_lock(&unit_tc_mutex);
    n = hmap_count(&unit_tc_rules);
    ovs_mutex_unlock(&unit_tc_mutex);
    return n;
}

void
unit_tc_get_load(size_t *messages, size_t *requests)
{
    ovs_mutex_lock(&unit_tc_mutex);
    *messages = n_messages;
    *requests = n_requests;
    ovs_mutex_unlock(&unit_tc_mutex);
}

size_t
unit_tc_n_kinds(void)
{
    size_t n;

    ovs_mutex_lock(&unit_tc_mutex);
    n = n_kinds;
    ovs_mutex_unlock(&unit_tc_mutex);
    return n;
}

/* Rules. */

static uint32_t
hash_ufid(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

static struct unit_tc_rule *
find_ufid(const ovs_u128 *ufid)
    OVS_REQUIRES(unit_tc_mutex)
{
    struct unit_tc_rule *rule;

    HMAP_FOR_EACH_WITH_HASH (rule, node, hash_ufid(ufid), &unit_tc_rules) {
        if (ovs_u128_equals(rule->ufid, *ufid)) {
            return rule;
        }
    }
    return NULL;
}

static struct unit_tc_rule *
find_id(const struct kdp_tc_id *id)
    OVS_REQUIRES(unit_tc_mutex)
{
    struct unit_tc_rule *rule;

    HMAP_FOR_EACH (rule, node, &unit_tc_rules) {
        if (!memcmp(&rule->id, id, sizeof *id)) {
            return rule;
        }
    }
    return NULL;
}

bool
unit_tc_packet(const ovs_u128 *ufid, unsigned int n_bytes)
{
    struct unit_tc_rule *rule;

    ovs_mutex_lock(&unit_tc_mutex);
    rule = find_ufid(ufid);
    if (rule) {
        rule->n_packets++;
        rule->n_bytes += n_bytes;
    }
    ovs_mutex_unlock(&unit_tc_mutex);
    return rule != NULL;
}

void
unit_tc_take_numbers(unsigned int n)
{
    ovs_mutex_lock(&unit_tc_mutex);
    n_taken = n;
    ovs_mutex_unlock(&unit_tc_mutex);
}

void
unit_tc_look_at_actions(unsigned int n)
{
    ovs_mutex_lock(&unit_tc_mutex);
    n_looks = n;
    ovs_mutex_unlock(&unit_tc_mutex);
}

uint32_t
unit_tc_number(const ovs_u128 *ufid)
{
    uint32_t number;

    ovs_mutex_lock(&unit_tc_mutex);
    number = find_ufid(ufid)->number;
    ovs_mutex_unlock(&unit_tc_mutex);
    return number;
}

uint32_t
unit_tc_common_number(const ovs_u128 *ufid)
{
    uint32_t number;

    ovs_mutex_lock(&unit_tc_mutex);
    number = find_ufid(ufid)->common_number;
    ovs_mutex_unlock(&unit_tc_mutex);
    return number;
}

void
unit_tc_send_to_host(bool to_host_)
{
    ovs_mutex_lock(&unit_tc_mutex);
    to_host = to_host_;
    ovs_mutex_unlock(&unit_tc_mutex);
}

void
unit_tc_take_common_number(void)
{
    ovs_mutex_lock(&unit_tc_mutex);
    take_common = true;
    ovs_mutex_unlock(&unit_tc_mutex);
}

void
unit_tc_set_jump(const ovs_u128 *ufid)
{
    ovs_mutex_lock(&unit_tc_mutex);
    find_ufid(ufid)->jumps = true;
    ovs_mutex_unlock(&unit_tc_mutex);
}

bool
unit_tc_remove(const ovs_u128 *ufid)
{
    struct unit_tc_rule *rule;

    ovs_mutex_lock(&unit_tc_mutex);
    rule = find_ufid(ufid);
    if (rule) {
        hmap_remove(&unit_tc_rules, &rule->node);
        free(rule);
    }
    ovs_mutex_unlock(&unit_tc_mutex);
    return rule != NULL;
}

/* Messages. */

/* Puts action 'order' of a rule: one of kind 'kind' that met packets as
 * 'basic' says, whose times are the option of type 'tm', but for a terse dump.
 * 'mirred' may be NULL, for another kind, and 'ufid' for an action without a
 * cookie. */
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
    nest = nl_msg_start_nested(msg, TCA_ACT_STATS);
    nl_msg_put_unspec(msg, TCA_STATS_BASIC, basic, sizeof *basic);
    nl_msg_end_nested(msg, nest);
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
    nest = nl_msg_start_nested(msg, TCA_ACT_STATS);
    nl_msg_put_unspec(msg, TCA_STATS_BASIC, basic, sizeof *basic);
    nl_msg_end_nested(msg, nest);
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
    bool is_taken = number && number == taken_common;
    const struct tc_skbedit skbedit = {
        .index = number,
        .action = TC_ACT_PIPE,
        .refcnt = n_rules + is_taken,
        .bindcnt = n_rules,
    };
    const struct tcf_t times = { .install = 1000 };
    size_t nest = nl_msg_start_nested(msg, TCA_ACT_OPTIONS);

    nl_msg_put_unspec(msg, TCA_SKBEDIT_PARMS, &skbedit, sizeof skbedit);
    nl_msg_put_u16(msg, TCA_SKBEDIT_PTYPE, PACKET_HOST);
    if (is_taken) {
        nl_msg_put_u32(msg, TCA_SKBEDIT_MARK, 1);
    }
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
    size_t nest;

    HMAP_FOR_EACH (other, node, &unit_tc_rules) {
        if (other->to_host && other->common_number == rule->common_number) {
            basic.packets += other->n_packets;
            basic.bytes += other->n_bytes;
            n_rules++;
        }
    }
    nl_msg_put_string(msg, TCA_ACT_KIND, "skbedit");
    nest = nl_msg_start_nested(msg, TCA_ACT_STATS);
    nl_msg_put_unspec(msg, TCA_STATS_BASIC, &basic, sizeof basic);
    nl_msg_end_nested(msg, nest);
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
    bool is_seen = n_looks && type == RTM_NEWTFILTER;
    const struct tc_mirred mirred = {
        .index = rule->number,
        .refcnt = 1 + rule->is_shared + is_seen,
        .bindcnt = 1,
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
    put_action(msg, order++, "mirred", &basic,
               rule->bare ? NULL : &rule->ufid, TCA_MIRRED_TM, &times,
               &mirred);
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

/* Stores the numbers of the actions in 'request' in '*rule'. */
static void
get_numbers(const struct ofpbuf *request, struct unit_tc_rule *rule)
    OVS_REQUIRES(unit_tc_mutex)
{
    const struct nlattr *skbedit = find_action(request, "skbedit");

    rule->number = get_number(find_action(request, "mirred"),
                              TCA_MIRRED_PARMS, sizeof(struct tc_mirred));
    rule->is_shared = n_taken > 0;
    n_taken -= rule->is_shared;
    rule->to_host = skbedit != NULL;
    rule->common_number = get_number(skbedit, TCA_SKBEDIT_PARMS,
                                     sizeof(struct tc_skbedit));
    if (rule->to_host && take_common) {
        taken_common = rule->common_number;
        take_common = false;
    }
}

/* The first cookie. */
static ovs_u128
get_cookie(const struct ofpbuf *msg)
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

/* Does what 'request' says and puts what it finds into 'reply'.  Returns 0 or
 * a positive errno value. */
static int
do_request(const struct ofpbuf *request, struct ofpbuf *reply)
    OVS_REQUIRES(unit_tc_mutex)
{
    const struct nlmsghdr *nlh = nl_msg_nlmsghdr(request);
    struct kdp_tc_id id;
    struct unit_tc_rule *rule;

    unit_check(request->size >= NLMSG_HDRLEN + sizeof(struct tcmsg));
    unit_check(request->size % NLMSG_ALIGNTO == 0);
    kdp_tc_id_parse(request, &id);
    rule = find_id(&id);
    unit_check(id.handle);
    unit_check(nlh->nlmsg_flags & NLM_F_REQUEST);
    ofpbuf_clear(reply);
    if (nlh->nlmsg_type == RTM_NEWTFILTER) {
        /* No answer unless it fails, and no change of a rule. */
        unit_check(!(nlh->nlmsg_flags & NLM_F_ACK));
        unit_check(nlh->nlmsg_flags & NLM_F_EXCL);
        unit_check(nlh->nlmsg_flags & NLM_F_CREATE);
        unit_check(!(nlh->nlmsg_flags & NLM_F_ECHO));
        if (rule) {
            return EEXIST;
        }
        rule = xzalloc(sizeof *rule);
        rule->id = id;
        rule->ufid = get_cookie(request);
        get_numbers(request, rule);
        hmap_insert(&unit_tc_rules, &rule->node, hash_ufid(&rule->ufid));
        return 0;
    }
    unit_check(nlh->nlmsg_flags & NLM_F_ECHO);
    if (!rule) {
        return ENOENT;
    }
    if (nlh->nlmsg_type == RTM_DELTFILTER) {
        unit_tc_put_rule(reply, RTM_DELTFILTER, rule);
        hmap_remove(&unit_tc_rules, &rule->node);
        free(rule);
    } else {
        unit_check(nlh->nlmsg_type == RTM_GETTFILTER);
        unit_tc_put_rule(reply, RTM_NEWTFILTER, rule);
        n_looks -= n_looks > 0;
    }
    return 0;
}

/* Transactions, as Open vSwitch does them. */

/* What is to come for 'n' transactions. */
struct message {
    struct nl_transaction **txns;
    size_t n;
    size_t first;               /* Without an answer yet. */
};

static void
record_error(struct message *m, size_t end, int error)
{
    for (; m->first < end; m->first++) {
        struct nl_transaction *txn = m->txns[m->first];

        txn->error = error;
        if (txn->reply) {
            ofpbuf_clear(txn->reply);
        }
    }
}

/* Receives 'reply' to transaction 'i', or 'error' if that is not 0. */
static void
receive(struct message *m, size_t i, const struct ofpbuf *reply, int error)
{
    struct nl_transaction *txn = m->txns[i];
    struct nl_transaction *to = NULL;

    for (size_t j = m->first; j < m->n && !to; j++) {
        to = m->txns[j]->reply ? m->txns[j] : NULL;
    }
    if (to) {
        ofpbuf_clear(to->reply);
        ofpbuf_put(to->reply, reply->data, reply->size);
    }
    txn->error = error;
    if (!error && reply->size && txn->reply && txn != to) {
        struct ofpbuf *buf = to->reply;

        to->reply = txn->reply;
        txn->reply = buf;
    } else if (txn->reply && (error || !reply->size)) {
        ofpbuf_clear(txn->reply);
    }
    record_error(m, i, 0);
    m->first = i + 1;
}

/* Is 'request' one that the plan is about? */
static bool
take_fault(const struct ofpbuf *request)
    OVS_REQUIRES(unit_tc_mutex)
{
    if (!plan.n
        || (plan.type && plan.type != nl_msg_nlmsghdr(request)->nlmsg_type)) {
        return false;
    }
    if (plan.skip) {
        plan.skip--;
        return false;
    }
    plan.n--;
    return true;
}

static void
answer_wrongly(struct message *m, size_t i, struct ofpbuf *reply)
    OVS_REQUIRES(unit_tc_mutex)
{
    const struct ofpbuf *request = m->txns[i]->request;
    int error = plan.error;

    if (plan.fault != UNIT_TC_REFUSED) {
        error = do_request(request, reply);
    }
    switch (plan.fault) {
    case UNIT_TC_UNANSWERED:
        return;
    case UNIT_TC_REPEATED:
        error = do_request(request, reply);
        break;
    case UNIT_TC_CUT:
        reply->size /= 2;
        break;
    case UNIT_TC_MISTAKEN:
        if (!error && reply->size) {
            struct unit_tc_rule other = {
                .ufid.u32[0] = 0x666, .n_packets = 666,
            };

            kdp_tc_id_parse(request, &other.id);
            ofpbuf_clear(reply);
            unit_tc_put_rule(reply, RTM_NEWTFILTER, &other);
        }
        break;
    case UNIT_TC_REFUSED:
    case UNIT_TC_NOT_SENT:
    case UNIT_TC_NOT_RECEIVED:
    default:
        break;
    }
    receive(m, i, reply, error);
}

static void
do_message(struct message *m, struct ofpbuf *reply)
    OVS_REQUIRES(unit_tc_mutex)
{
    bool lost = false;

    n_messages++;
    was_quiescent = ovsrcu_is_quiescent();
    for (size_t i = 0; i < m->n; i++) {
        const struct ofpbuf *request = m->txns[i]->request;

        n_requests++;
        lost |= plan.fault == UNIT_TC_NOT_RECEIVED && take_fault(request);
        if (lost) {
            do_request(request, reply);
        } else if (plan.fault == UNIT_TC_NOT_SENT && take_fault(request)) {
            record_error(m, m->n, plan.error);
            return;
        } else if (plan.fault != UNIT_TC_NOT_RECEIVED
                   && take_fault(request)) {
            answer_wrongly(m, i, reply);
        } else {
            int error = do_request(request, reply);

            if (error || reply->size) {
                receive(m, i, reply, error);
            }
        }
    }
    record_error(m, m->n, lost ? plan.error : 0);
}

/* Answers 'request' for an action that lacks its parameters, as a kernel does
 * that knows all kinds. */
static int
load_kind(const struct ofpbuf *request)
    OVS_REQUIRES(unit_tc_mutex)
{
    const struct nlmsghdr *nlh = nl_msg_nlmsghdr(request);
    const struct nlattr *tab, *action, *kind;

    unit_check(nlh->nlmsg_type == RTM_NEWACTION);
    unit_check(nlh->nlmsg_flags & NLM_F_REQUEST);
    unit_check(nlh->nlmsg_flags & NLM_F_ACK);
    tab = nl_attr_find(request, NLMSG_HDRLEN + sizeof(struct tcamsg),
                       TCA_ACT_TAB);
    unit_check(tab);
    action = nl_attr_find_nested(tab, 1);
    unit_check(action);
    kind = nl_attr_find_nested(action, TCA_ACT_KIND);
    unit_check(kind && strlen(nl_attr_get_string(kind)));
    unit_check(!nl_attr_find_nested(action, TCA_ACT_OPTIONS));
    n_kinds++;
    return (plan.type == RTM_NEWACTION && take_fault(request) ? plan.error
            : EINVAL);
}

void __wrap_nl_transact_multiple(int protocol, struct nl_transaction **txns,
                                 size_t n);

void
__wrap_nl_transact_multiple(int protocol, struct nl_transaction **txns,
                            size_t n)
{
    struct message message = { .txns = txns, .n = n };
    struct ofpbuf reply;

    unit_check(protocol == NETLINK_ROUTE);
    ofpbuf_init(&reply, 0);
    ovs_mutex_lock(&unit_tc_mutex);
    if (nl_msg_nlmsghdr(txns[0]->request)->nlmsg_type == RTM_NEWACTION) {
        for (size_t i = 0; i < n; i++) {
            txns[i]->error = load_kind(txns[i]->request);
        }
    } else {
        do_message(&message, &reply);
    }
    ovs_mutex_unlock(&unit_tc_mutex);
    ofpbuf_uninit(&reply);
}

bool
unit_tc_was_quiescent(void)
{
    bool value;

    ovs_mutex_lock(&unit_tc_mutex);
    value = was_quiescent;
    ovs_mutex_unlock(&unit_tc_mutex);
    return value;
}

/* What is shown of all rules. */

unsigned int
unit_tc_explain(const char *new_why, bool new_takes)
{
    unsigned int n;

    ovs_mutex_lock(&unit_tc_mutex);
    why = new_why;
    takes = new_takes;
    n = n_explained;
    ovs_mutex_unlock(&unit_tc_mutex);
    return n;
}

int __wrap_kdp_tc_explain(const struct kdp_tc_request *, const char **);

int
__wrap_kdp_tc_explain(const struct kdp_tc_request *request, const char **whyp)
{
    struct kdp_tc_request again = *request;
    bool take;

    ovs_mutex_lock(&unit_tc_mutex);
    n_explained++;
    take = takes;
    *whyp = take ? NULL : why;
    ovs_mutex_unlock(&unit_tc_mutex);
    if (take) {
        kdp_tc_transact((struct kdp_tc_request *[]) { &again }, 1);
    }
    return again.error;
}

unsigned int
unit_tc_skip(const char *why_)
{
    unsigned int n;

    ovs_mutex_lock(&unit_tc_mutex);
    why_skipped = why_;
    n = n_verbose;
    ovs_mutex_unlock(&unit_tc_mutex);
    return n;
}

bool __wrap_kdp_tc_may_be_skipped(const struct kdp_tc_request *);
int __wrap_kdp_tc_add_verbosely(const struct kdp_tc_request *, bool *,
                                const char **);

bool
__wrap_kdp_tc_may_be_skipped(const struct kdp_tc_request *request OVS_UNUSED)
{
    bool skipped;

    ovs_mutex_lock(&unit_tc_mutex);
    skipped = why_skipped != NULL;
    ovs_mutex_unlock(&unit_tc_mutex);
    return skipped;
}

int
__wrap_kdp_tc_add_verbosely(const struct kdp_tc_request *request, bool *sent,
                            const char **whyp)
{
    struct kdp_tc_request copy = *request;

    ovs_mutex_lock(&unit_tc_mutex);
    n_verbose++;
    *whyp = why_skipped;
    ovs_mutex_unlock(&unit_tc_mutex);
    *sent = true;
    kdp_tc_transact((struct kdp_tc_request *[]) { &copy }, 1);
    return copy.error;
}

void
unit_tc_set_in_hw(bool new)
{
    ovs_mutex_lock(&unit_tc_mutex);
    in_hw = new;
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
