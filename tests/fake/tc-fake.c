/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fake/tc-fake-private.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "harness/unit.h"
#include "netlink-socket.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-rcu.h"
#include "tc.h"
#include "util.h"

struct ovs_mutex unit_tc_mutex = OVS_MUTEX_INITIALIZER;
struct hmap unit_tc_rules = HMAP_INITIALIZER(&unit_tc_rules);
bool unit_tc_is_terse;

static struct unit_tc_plan plan OVS_GUARDED_BY(unit_tc_mutex);
static size_t n_messages OVS_GUARDED_BY(unit_tc_mutex);
static bool was_quiescent OVS_GUARDED_BY(unit_tc_mutex);
static size_t n_requests OVS_GUARDED_BY(unit_tc_mutex);
static size_t n_kinds OVS_GUARDED_BY(unit_tc_mutex);

/* See unit_tc_take_prio(). */
static struct {
    int ifindex;
    uint16_t prio;
} taken[8192] OVS_GUARDED_BY(unit_tc_mutex);
static size_t n_taken OVS_GUARDED_BY(unit_tc_mutex);

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
    n_taken = 0;
    ovs_mutex_unlock(&unit_tc_mutex);
    unit_tc_messages_reset();
    unit_tc_explanations_reset();
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
unit_tc_take_prio(int ifindex, uint16_t prio)
{
    ovs_mutex_lock(&unit_tc_mutex);
    unit_check(n_taken < ARRAY_SIZE(taken));
    taken[n_taken].ifindex = ifindex;
    taken[n_taken++].prio = prio;
    ovs_mutex_unlock(&unit_tc_mutex);
}

uint16_t
unit_tc_prio(const ovs_u128 *ufid)
{
    uint16_t prio;

    ovs_mutex_lock(&unit_tc_mutex);
    prio = tc_get_major(find_ufid(ufid)->id.info);
    ovs_mutex_unlock(&unit_tc_mutex);
    return prio;
}

/* Does the priority in 'id' belong to another kind or protocol there? */
static bool
is_prio_taken(const struct kdp_tc_id *id)
    OVS_REQUIRES(unit_tc_mutex)
{
    const struct unit_tc_rule *rule;

    for (size_t i = 0; i < n_taken; i++) {
        if (taken[i].ifindex == id->ifindex
            && taken[i].prio == tc_get_major(id->info)) {
            return true;
        }
    }
    HMAP_FOR_EACH (rule, node, &unit_tc_rules) {
        if (rule->id.ifindex == id->ifindex && rule->id.parent == id->parent
            && rule->id.chain == id->chain
            && tc_get_major(rule->id.info) == tc_get_major(id->info)
            && rule->id.info != id->info) {
            return true;
        }
    }
    return false;
}

/* Is the chain of 'id' there?  Tc has one while it has rules. */
static bool
has_chain(const struct kdp_tc_id *id)
    OVS_REQUIRES(unit_tc_mutex)
{
    const struct unit_tc_rule *rule;

    for (size_t i = 0; i < n_taken; i++) {
        if (taken[i].ifindex == id->ifindex) {
            return true;
        }
    }
    HMAP_FOR_EACH (rule, node, &unit_tc_rules) {
        if (rule->id.ifindex == id->ifindex && rule->id.parent == id->parent
            && rule->id.chain == id->chain) {
            return true;
        }
    }
    return false;
}

void
unit_tc_set_outputs(const ovs_u128 *ufid, unsigned int n)
{
    ovs_mutex_lock(&unit_tc_mutex);
    find_ufid(ufid)->n_copies = n - 1;
    ovs_mutex_unlock(&unit_tc_mutex);
}

void
unit_tc_set_leaves(const ovs_u128 *ufid)
{
    ovs_mutex_lock(&unit_tc_mutex);
    find_ufid(ufid)->leaves = true;
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
    if (is_prio_taken(&id)) {
        return EINVAL;
    }
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
        rule->ufid = unit_tc_get_cookie(request);
        unit_tc_get_numbers(request, rule);
        hmap_insert(&unit_tc_rules, &rule->node, hash_ufid(&rule->ufid));
        return 0;
    }
    unit_check(nlh->nlmsg_flags & NLM_F_ECHO);
    if (!rule) {
        return (nlh->nlmsg_type == RTM_GETTFILTER && !has_chain(&id)
                ? EINVAL : ENOENT);
    }
    if (nlh->nlmsg_type == RTM_DELTFILTER) {
        unit_tc_put_rule(reply, RTM_DELTFILTER, rule);
        hmap_remove(&unit_tc_rules, &rule->node);
        free(rule);
    } else {
        unit_check(nlh->nlmsg_type == RTM_GETTFILTER);
        unit_tc_put_rule(reply, RTM_NEWTFILTER, rule);
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
