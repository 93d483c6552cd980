/* SPDX-License-Identifier: Apache-2.0 */

/* Requests to tc.
 *
 * Open vSwitch's flow API translates a flow into a request to tc, sends it by
 * itself and waits for the answer.  Here the request is intercepted: the
 * function that sends all requests, nl_transact(), is ours, and a thread can
 * make it hand over the next rule.  So many rules go into one message, and
 * their names, which the answers would contain, are chosen beforehand.
 *
 * Adding, deleting and reading a rule do not take the RTNL lock, as the kind
 * of classifier and the priority are named, unless the driver of the device
 * wants it.  Dumps take it. */

#include <config.h>
#include "tc/tc-transact.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "netdev-linux/rtnl-count.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "nl/nl-intercept.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "ovs/compat-offload.h"
#include "packets.h"
#include "tc/tc-kind.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_offload_request);

/* Returned by nl_transact() for a request that it has handed over.  Neither
 * the kernel nor Open vSwitch returns this error for a request. */
#define HANDED_OVER EINPROGRESS

bool kdp_stock_nl_dump_next(struct nl_dump *, struct ofpbuf *reply,
                            struct ofpbuf *buffer);

static bool
is_adoptable(const struct ofpbuf *msg)
{
    struct kdp_tc_rule rule;

    return kdp_tc_rule_parse(msg, &rule) && !rule.checks_size;
}

void
kdp_tc_only_adoptable(bool only_adoptable)
{
    nl_intercept_replies(only_adoptable ? is_adoptable : NULL);
}

/* Copies the thread's next request to add a rule to 'rule', which is empty. */
static bool
take(const struct ofpbuf *request, int *error, void *rule_)
{
    struct ofpbuf *rule = rule_;

    if (rule->size
        || nl_msg_nlmsghdr(request)->nlmsg_type != RTM_NEWTFILTER) {
        return false;
    }
    ofpbuf_put(rule, request->data, request->size);
    *error = HANDED_OVER;
    return true;
}

/* Would a dump show the rule of 'request' as a rule of flow 'ufid'?  It would
 * not if a meter is its only action. */
static bool
has_ufid(const struct ofpbuf *request, const ovs_u128 *ufid)
{
    ovs_u128 cookie;

    return (kdp_tc_ufid_parse(request, &cookie)
            && ovs_u128_equals(cookie, *ufid));
}

/* Intercepts the request that the flow API of 'netdev' makes from 'desc',
 * which matches on 'match'.  Since 3.6, the flow API translates only flows in
 * chains that one of its own rules leads to, and it has none.  So it is given
 * a flow in chain 0, and the request gets the flow's chain here.  Returns 0 or
 * a positive errno value. */
static int
translate(struct netdev *netdev, const struct offload_desc *desc,
          struct match *match, bool recirc_sharing, struct ofpbuf *rule)
{
    uint32_t chain = match->flow.recirc_id;
    int error;

    if (chain && (!recirc_sharing || chain > TC_ACT_EXT_VAL_MASK)) {
        return EOPNOTSUPP;
    }
    match->flow.recirc_id = 0;
    nl_intercept_begin(take, rule);
    /* Some of Open vSwitch's errors are negative. */
    error = abs(ovs_compat_flow_put(netdev, match,
                                    CONST_CAST(struct nlattr *, desc->actions),
                                    desc->actions_len, &desc->ufid,
                                    recirc_sharing));
    nl_intercept_end();
    if (error == HANDED_OVER && has_ufid(rule, &desc->ufid)) {
        if (chain) {
            nl_msg_put_u32(rule, TCA_CHAIN, chain);
        }
        return 0;
    }
    /* A return value of 0 would mean that there was no rule. */
    return error && error != HANDED_OVER ? error : EOPNOTSUPP;
}

int
kdp_tc_translate(struct netdev *netdev, const struct offload_desc *desc,
                 bool recirc_sharing, struct ofpbuf **rule,
                 struct kdp_tc_id *id)
{
    struct match match;
    int error;

    *rule = NULL;
    if (parse_key_and_mask_to_match(desc->key, desc->key_len, desc->mask,
                                    desc->mask_len, &match)) {
        return EOPNOTSUPP;
    }
    *rule = ofpbuf_new(1024);
    error = translate(netdev, desc, &match, recirc_sharing, *rule);
    if (error) {
        ofpbuf_delete(*rule);
        *rule = NULL;
        return error;
    }
    kdp_tc_id_parse(*rule, id);
    return 0;
}

/* Puts the key or the mask of a flow of IPv4 packets in chain 'chain'. */
static void
put_chain_match(struct ofpbuf *buf, uint32_t chain, ovs_be16 dl_type,
                uint8_t frag)
{
    const struct ovs_key_ethernet eth = { .eth_src.ea[0] = 0 };
    const struct ovs_key_ipv4 ip = { .ipv4_frag = frag };

    nl_msg_put_u32(buf, OVS_KEY_ATTR_RECIRC_ID, chain);
    nl_msg_put_unspec(buf, OVS_KEY_ATTR_ETHERNET, &eth, sizeof eth);
    nl_msg_put_be16(buf, OVS_KEY_ATTR_ETHERTYPE, dl_type);
    nl_msg_put_unspec(buf, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
}

/* Is a flow in chain 'from' that leads to chain 'to' translated?  Sends
 * nothing. */
static bool
translates_chain(struct netdev *netdev, uint32_t from, uint32_t to)
{
    struct offload_desc desc = { .ufid.u32 = { from, to } };
    struct ofpbuf key, mask, actions, *rule;
    struct kdp_tc_id id;
    int error;

    ofpbuf_init(&key, 0);
    ofpbuf_init(&mask, 0);
    ofpbuf_init(&actions, 0);
    put_chain_match(&key, from, htons(ETH_TYPE_IP), 0);
    put_chain_match(&mask, UINT32_MAX, OVS_BE16_MAX, UINT8_MAX);
    nl_msg_put_u32(&actions, OVS_ACTION_ATTR_RECIRC, to);
    desc.key = key.data;
    desc.key_len = key.size;
    desc.mask = mask.data;
    desc.mask_len = mask.size;
    desc.actions = actions.data;
    desc.actions_len = actions.size;
    error = kdp_tc_translate(netdev, &desc, true, &rule, &id);
    if (!error) {
        ofpbuf_delete(rule);
    }
    ofpbuf_uninit(&key);
    ofpbuf_uninit(&mask);
    ofpbuf_uninit(&actions);
    return !error && id.chain == from;
}

bool
kdp_tc_check_chains(struct netdev *netdev)
{
    return translates_chain(netdev, 0, 1) && translates_chain(netdev, 1, 2);
}

/* If it is not intercepted, the kernel refuses the request: there is no device
 * with index 0. */
bool
kdp_tc_check(void)
{
    struct ofpbuf *rule = ofpbuf_new(64);
    struct ofpbuf request;
    bool is_taken;

    tc_make_request(0, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, &request);
    nl_intercept_begin(take, rule);
    is_taken = tc_transact(&request, NULL) == HANDED_OVER && rule->size;
    nl_intercept_end();
    ofpbuf_delete(rule);
    return is_taken && nl_dump_next != kdp_stock_nl_dump_next;
}

void
kdp_tc_request_put(const struct kdp_tc_request *request, struct ofpbuf *buf)
{
    const struct kdp_tc_id *id = &request->id;
    struct tcmsg *tcm;

    if (request->type == KDP_TC_ADD) {
        struct nlmsghdr *nlh;

        ofpbuf_put(buf, request->rule->data, request->rule->size);
        nlh = nl_msg_nlmsghdr(buf);
        /* Without NLM_F_ACK: an error is answered anyway, and a loss of
         * answers is reported.  An answer for each rule would take some
         * time. */
        nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL;
        tcm = ofpbuf_at_assert(buf, NLMSG_HDRLEN, sizeof *tcm);
        tcm->tcm_info = id->info;
        tcm->tcm_handle = id->handle;
        return;
    }
    nl_msg_put_nlmsghdr(buf, sizeof *tcm,
                        (request->type == KDP_TC_DEL
                         ? RTM_DELTFILTER : RTM_GETTFILTER),
                        NLM_F_REQUEST | NLM_F_ECHO);
    tcm = ofpbuf_put_zeros(buf, sizeof *tcm);
    tcm->tcm_family = AF_UNSPEC;
    tcm->tcm_ifindex = id->ifindex;
    tcm->tcm_parent = id->parent;
    tcm->tcm_info = id->info;
    tcm->tcm_handle = id->handle;
    nl_msg_put_string(buf, TCA_KIND, "flower");
    if (id->chain) {
        nl_msg_put_u32(buf, TCA_CHAIN, id->chain);
    }
}

/* A request in progress. */
struct transfer {
    struct nl_transaction txn;
    struct ofpbuf request;
    struct ofpbuf reply;
    uint64_t request_stub[768 / 8];
    uint64_t reply_stub[1280 / 8];
};

static void
finish(struct kdp_tc_request *request, const struct nl_transaction *txn)
{
    request->error = txn->error;
    if (request->type == KDP_TC_ADD || request->type == KDP_TC_PROBE) {
        return;
    }
    if (request->error == EINVAL) {
        /* Its chain, or the queueing discipline, is gone. */
        request->error = ENOENT;
    } else if (request->error == ENODEV && request->type == KDP_TC_GET) {
        /* It went with its device. */
        request->error = ENOENT;
    } else if (!request->error
               && !kdp_tc_rule_parse(txn->reply, &request->reply)
               && request->type == KDP_TC_GET) {
        request->error = EPROTO;
    }
}

static void
transact_batch(struct kdp_tc_request *requests[], size_t n,
               struct transfer *transfers)
{
    struct nl_transaction *txns[KDP_TC_BATCH];

    for (size_t i = 0; i < n; i++) {
        struct transfer *t = &transfers[i];

        ofpbuf_use_stub(&t->request, t->request_stub, sizeof t->request_stub);
        ofpbuf_use_stub(&t->reply, t->reply_stub, sizeof t->reply_stub);
        kdp_tc_request_put(requests[i], &t->request);
        memset(&requests[i]->reply, 0, sizeof requests[i]->reply);
        t->txn.request = &t->request;
        t->txn.reply = requests[i]->type == KDP_TC_ADD ? NULL : &t->reply;
        t->txn.error = 0;
        txns[i] = &t->txn;
    }
    nl_transact_multiple(NETLINK_ROUTE, txns, n);
    for (size_t i = 0; i < n; i++) {
        /* Replies may have changed places. */
        finish(requests[i], &transfers[i].txn);
    }
    for (size_t i = 0; i < n; i++) {
        ofpbuf_uninit(&transfers[i].request);
        ofpbuf_uninit(&transfers[i].reply);
    }
}

void
kdp_tc_transact(struct kdp_tc_request *requests[], size_t n)
{
    struct transfer *transfers = xmalloc(MIN(n, KDP_TC_BATCH)
                                         * sizeof *transfers);

    while (n) {
        size_t chunk = MIN(n, KDP_TC_BATCH);

        transact_batch(requests, chunk, transfers);
        requests += chunk;
        n -= chunk;
    }
    free(transfers);
}

/* Kinds of actions. */

/* Makes a request of 'type' for an action of 'kind', without further
 * attributes. */
static void
put_action_request(const char *kind, int type, unsigned int flags,
                   struct ofpbuf *buf)
{
    size_t tab, action;

    nl_msg_put_nlmsghdr(buf, sizeof(struct tcamsg), type,
                        NLM_F_REQUEST | flags);
    ofpbuf_put_zeros(buf, sizeof(struct tcamsg));
    tab = nl_msg_start_nested(buf, TCA_ACT_TAB);
    action = nl_msg_start_nested(buf, 1);
    nl_msg_put_string(buf, TCA_ACT_KIND, kind);
    nl_msg_end_nested(buf, action);
    nl_msg_end_nested(buf, tab);
}

void
kdp_tc_load_actions(void)
{
    struct transfer *transfers = xzalloc(KDP_TC_N_KINDS
                                         * sizeof *transfers);
    struct nl_transaction *txns[KDP_TC_N_KINDS];

    for (size_t i = 0; i < KDP_TC_N_KINDS; i++) {
        struct transfer *t = &transfers[i];

        ofpbuf_use_stub(&t->request, t->request_stub, sizeof t->request_stub);
        /* It lacks everything that an action needs. */
        put_action_request(kdp_tc_kinds[i].name, RTM_NEWACTION,
                           NLM_F_CREATE | NLM_F_ACK, &t->request);
        t->txn.request = &t->request;
        txns[i] = &t->txn;
        kdp_rtnl_count(KDP_RTNL_TC_ACTION);
    }
    nl_transact_multiple(NETLINK_ROUTE, txns, ARRAY_SIZE(txns));
    for (size_t i = 0; i < KDP_TC_N_KINDS; i++) {
        /* EINVAL means that the kernel has the kind, and lacks what the action
         * needs. */
        if (transfers[i].txn.error == ENOENT) {
            VLOG_INFO("the kernel has no actions of kind \"%s\" for tc: flows "
                      "that need them stay in the kernel datapath",
                      kdp_tc_kinds[i].name);
        }
        ofpbuf_uninit(&transfers[i].request);
    }
    free(transfers);
}

int
kdp_tc_dump_actions(const char *kind, kdp_tc_actions_cb *cb, void *aux)
{
    uint64_t stub[NL_DUMP_BUFSIZE / 8];
    struct ofpbuf request, msg, buffer;
    struct nl_dump dump;

    ofpbuf_init(&request, 64);
    put_action_request(kind, RTM_GETACTION, 0, &request);
    kdp_rtnl_count(KDP_RTNL_TC_DUMP);
    nl_dump_start(&dump, NETLINK_ROUTE, &request);
    ofpbuf_uninit(&request);
    ofpbuf_use_stub(&buffer, stub, sizeof stub);
    while (kdp_stock_nl_dump_next(&dump, &msg, &buffer)) {
        cb(aux, &msg);
    }
    ofpbuf_uninit(&buffer);
    return nl_dump_done(&dump);
}

/* Dumps. */

struct tcf_id
kdp_tc_place(struct netdev *netdev, int ifindex)
{
    enum tc_qdisc_hook hook = (strcmp(netdev_get_type(netdev), "internal")
                               ? TC_INGRESS : TC_EGRESS);

    return tc_make_tcf_id(ifindex, netdev_get_block_id(netdev), 0, hook);
}

/* Starts a dump of the rules in 'place'. */
void
kdp_tc_dump_start(const struct tcf_id *place, struct nl_dump *dump)
{
    struct tcf_id place_ = *place;

    kdp_rtnl_count(KDP_RTNL_TC_DUMP);
    tc_dump_flower_start(&place_, dump, false);
}

/* Stores the next rule that has a ufid in '*rule' and returns true, or returns
 * false if there are no more. */
bool
kdp_tc_dump_next(struct nl_dump *dump, struct ofpbuf *buffer,
                 struct kdp_tc_rule *rule)
{
    struct ofpbuf msg;

    while (nl_dump_next(dump, &msg, buffer)) {
        if (kdp_tc_rule_parse(&msg, rule)) {
            return true;
        }
    }
    return false;
}

/* Returns 0 or a positive errno value. */
int
kdp_tc_dump_done(struct nl_dump *dump)
{
    int error = nl_dump_done(dump);

    /* A device without a place for rules has none. */
    return error == EINVAL || error == ENOENT ? 0 : error;
}
