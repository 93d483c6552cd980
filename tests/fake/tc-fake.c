/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fake/tc-fake.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "hash.h"
#include "tc/tc-transact.h"
#include "tc/tc-desc.h"
#include "netdev-offload.h"
#include "netdev-offload-provider.h"
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

struct rule {
    struct hmap_node node;      /* By ufid. */
    ovs_u128 ufid;
    struct kdp_tc_id id;
    uint64_t n_packets;
    uint64_t n_bytes;
    bool bare;                  /* Has no cookie. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap rules OVS_GUARDED_BY(mutex) = HMAP_INITIALIZER(&rules);
static struct unit_tc_plan plan OVS_GUARDED_BY(mutex);
static size_t n_messages OVS_GUARDED_BY(mutex);
static size_t n_requests OVS_GUARDED_BY(mutex);
static size_t n_kinds OVS_GUARDED_BY(mutex);
static bool in_hw OVS_GUARDED_BY(mutex);
static uint64_t n_policed OVS_GUARDED_BY(mutex);
static bool police_cookie OVS_GUARDED_BY(mutex);
static int dump_error OVS_GUARDED_BY(mutex);
static unsigned int dump_limit OVS_GUARDED_BY(mutex);
static bool dump_is_terse OVS_GUARDED_BY(mutex);
static unsigned int dump_delay OVS_GUARDED_BY(mutex);
static unsigned int n_dumps OVS_GUARDED_BY(mutex);

void
unit_tc_init(void)
{
    unit_tc_uninit();
}

void
unit_tc_uninit(void)
{
    struct rule *rule;

    ovs_mutex_lock(&mutex);
    HMAP_FOR_EACH_POP (rule, node, &rules) {
        free(rule);
    }
    memset(&plan, 0, sizeof plan);
    n_messages = 0;
    n_requests = 0;
    n_kinds = 0;
    in_hw = false;
    n_policed = 0;
    dump_error = 0;
    dump_delay = 0;
    unit_check(!n_dumps);
    ovs_mutex_unlock(&mutex);
}

void
unit_tc_plan(const struct unit_tc_plan *new)
{
    ovs_mutex_lock(&mutex);
    plan = *new;
    ovs_mutex_unlock(&mutex);
}

size_t
unit_tc_count(void)
{
    size_t n;

    ovs_mutex_lock(&mutex);
    n = hmap_count(&rules);
    ovs_mutex_unlock(&mutex);
    return n;
}

void
unit_tc_get_load(size_t *messages, size_t *requests)
{
    ovs_mutex_lock(&mutex);
    *messages = n_messages;
    *requests = n_requests;
    ovs_mutex_unlock(&mutex);
}

size_t
unit_tc_n_kinds(void)
{
    size_t n;

    ovs_mutex_lock(&mutex);
    n = n_kinds;
    ovs_mutex_unlock(&mutex);
    return n;
}

/* Rules. */

static uint32_t
hash_ufid(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

static struct rule *
find_ufid(const ovs_u128 *ufid)
    OVS_REQUIRES(mutex)
{
    struct rule *rule;

    HMAP_FOR_EACH_WITH_HASH (rule, node, hash_ufid(ufid), &rules) {
        if (ovs_u128_equals(rule->ufid, *ufid)) {
            return rule;
        }
    }
    return NULL;
}

static struct rule *
find_id(const struct kdp_tc_id *id)
    OVS_REQUIRES(mutex)
{
    struct rule *rule;

    HMAP_FOR_EACH (rule, node, &rules) {
        if (!memcmp(&rule->id, id, sizeof *id)) {
            return rule;
        }
    }
    return NULL;
}

bool
unit_tc_packet(const ovs_u128 *ufid, unsigned int n_bytes)
{
    struct rule *rule;

    ovs_mutex_lock(&mutex);
    rule = find_ufid(ufid);
    if (rule) {
        rule->n_packets++;
        rule->n_bytes += n_bytes;
    }
    ovs_mutex_unlock(&mutex);
    return rule != NULL;
}

bool
unit_tc_remove(const ovs_u128 *ufid)
{
    struct rule *rule;

    ovs_mutex_lock(&mutex);
    rule = find_ufid(ufid);
    if (rule) {
        hmap_remove(&rules, &rule->node);
        free(rule);
    }
    ovs_mutex_unlock(&mutex);
    return rule != NULL;
}

/* Messages. */

/* Puts action 'order' of a rule: one of kind 'kind' that met packets as
 * 'basic' says, whose times are the option of type 'tm', but for a terse dump.
 * 'ufid' may be NULL, for an action without a cookie. */
static void
put_action(struct ofpbuf *msg, uint16_t order, const char *kind,
           const struct gnet_stats_basic *basic, const ovs_u128 *ufid,
           uint16_t tm, const struct tcf_t *times)
    OVS_REQUIRES(mutex)
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
    if (!dump_is_terse) {
        nest = nl_msg_start_nested(msg, TCA_ACT_OPTIONS);
        nl_msg_put_unspec(msg, tm, times, sizeof *times);
        nl_msg_end_nested(msg, nest);
    }
    nl_msg_end_nested(msg, action);
}

/* Puts the policer that packets meet first, if there is one. */
static void
put_policer(struct ofpbuf *msg, const struct rule *rule)
    OVS_REQUIRES(mutex)
{
    const struct gnet_stats_basic basic = {
        .bytes = n_policed * 1000, .packets = n_policed,
    };
    const struct tcf_t times = { .install = 1000 };

    if (n_policed) {
        put_action(msg, 1, "police", &basic,
                   police_cookie ? &rule->ufid : NULL, TCA_POLICE_TM, &times);
    }
}

static void
put_rule(struct ofpbuf *msg, uint16_t type, const struct rule *rule)
    OVS_REQUIRES(mutex)
{
    const struct gnet_stats_basic basic = {
        .bytes = rule->n_bytes, .packets = rule->n_packets,
    };
    const struct tcf_t times = {
        .install = 1000, .lastuse = n_policed ? 1000 : 0,
    };
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
    nl_msg_put_u32(msg, TCA_FLOWER_FLAGS, (in_hw ? TCA_CLS_FLAGS_IN_HW
                                           : TCA_CLS_FLAGS_NOT_IN_HW));
    actions = nl_msg_start_nested(msg, TCA_FLOWER_ACT);
    put_policer(msg, rule);
    put_action(msg, n_policed ? 2 : 1, "mirred", &basic,
               rule->bare ? NULL : &rule->ufid, TCA_MIRRED_TM, &times);
    nl_msg_end_nested(msg, actions);
    nl_msg_end_nested(msg, options);
    nl_msg_nlmsghdr(msg)->nlmsg_len = msg->size;
}

void
unit_tc_make_rule(const ovs_u128 *ufid, uint32_t info, uint32_t chain,
                  struct ofpbuf *msg)
{
    static const ovs_u128 no_ufid;
    const struct rule rule = {
        .ufid = ufid ? *ufid : no_ufid,
        .bare = !ufid,
        .id = {
            .ifindex = IFINDEX, .parent = PARENT, .info = info, .chain = chain,
        },
    };

    ovs_mutex_lock(&mutex);
    put_rule(msg, RTM_NEWTFILTER, &rule);
    ovs_mutex_unlock(&mutex);
}

/* The cookie of the first action in the request 'msg'. */
static ovs_u128
get_cookie(const struct ofpbuf *msg)
{
    const struct nlattr *a;
    ovs_u128 ufid;

    a = nl_attr_find(msg, NLMSG_HDRLEN + sizeof(struct tcmsg), TCA_OPTIONS);
    unit_check(a);
    a = nl_attr_find_nested(a, TCA_FLOWER_ACT);
    unit_check(a);
    a = nl_attr_find_nested(a, 1);
    unit_check(a);
    a = nl_attr_find_nested(a, TCA_ACT_COOKIE);
    unit_check(a && nl_attr_get_size(a) == sizeof ufid);
    memcpy(&ufid, nl_attr_get(a), sizeof ufid);
    return ufid;
}

/* Does what 'request' says and puts what it finds into 'reply'.  Returns 0 or
 * a positive errno value. */
static int
do_request(const struct ofpbuf *request, struct ofpbuf *reply)
    OVS_REQUIRES(mutex)
{
    const struct nlmsghdr *nlh = nl_msg_nlmsghdr(request);
    struct kdp_tc_id id;
    struct rule *rule;

    unit_check(request->size >= NLMSG_HDRLEN + sizeof(struct tcmsg));
    unit_check(request->size % NLMSG_ALIGNTO == 0);
    kdp_tc_id_parse(request, &id);
    rule = find_id(&id);
    unit_check(id.handle);
    unit_check(nlh->nlmsg_flags & NLM_F_REQUEST);
    ofpbuf_clear(reply);
    if (nlh->nlmsg_type == RTM_NEWTFILTER) {
        /* An answer without a message, and no change of a rule. */
        unit_check(nlh->nlmsg_flags & NLM_F_ACK);
        unit_check(nlh->nlmsg_flags & NLM_F_EXCL);
        unit_check(nlh->nlmsg_flags & NLM_F_CREATE);
        unit_check(!(nlh->nlmsg_flags & NLM_F_ECHO));
        if (rule) {
            return EEXIST;
        }
        rule = xzalloc(sizeof *rule);
        rule->id = id;
        rule->ufid = get_cookie(request);
        hmap_insert(&rules, &rule->node, hash_ufid(&rule->ufid));
        return 0;
    }
    unit_check(nlh->nlmsg_flags & NLM_F_ECHO);
    if (!rule) {
        return ENOENT;
    }
    if (nlh->nlmsg_type == RTM_DELTFILTER) {
        put_rule(reply, RTM_DELTFILTER, rule);
        hmap_remove(&rules, &rule->node);
        free(rule);
    } else {
        unit_check(nlh->nlmsg_type == RTM_GETTFILTER);
        put_rule(reply, RTM_NEWTFILTER, rule);
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
    OVS_REQUIRES(mutex)
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
    OVS_REQUIRES(mutex)
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
            struct rule other = { .ufid.u32[0] = 0x666, .n_packets = 666 };

            kdp_tc_id_parse(request, &other.id);
            ofpbuf_clear(reply);
            put_rule(reply, RTM_NEWTFILTER, &other);
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
    OVS_REQUIRES(mutex)
{
    bool lost = false;

    n_messages++;
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

            receive(m, i, reply, error);
        }
    }
    record_error(m, m->n, lost ? plan.error : 0);
}

/* Answers 'request' for an action that lacks its parameters, as a kernel does
 * that knows all kinds. */
static int
load_kind(const struct ofpbuf *request)
    OVS_REQUIRES(mutex)
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
    ovs_mutex_lock(&mutex);
    if (nl_msg_nlmsghdr(txns[0]->request)->nlmsg_type == RTM_NEWACTION) {
        for (size_t i = 0; i < n; i++) {
            txns[i]->error = load_kind(txns[i]->request);
        }
    } else {
        do_message(&message, &reply);
    }
    ovs_mutex_unlock(&mutex);
    ofpbuf_uninit(&reply);
}

/* Dumps. */

void
unit_tc_set_in_hw(bool new)
{
    ovs_mutex_lock(&mutex);
    in_hw = new;
    ovs_mutex_unlock(&mutex);
}

void
unit_tc_set_policer(uint64_t n_packets, bool cookie)
{
    ovs_mutex_lock(&mutex);
    n_policed = n_packets;
    police_cookie = cookie;
    ovs_mutex_unlock(&mutex);
}

void
unit_tc_fail_dumps(int error, unsigned int n)
{
    ovs_mutex_lock(&mutex);
    dump_error = error;
    dump_limit = n;
    ovs_mutex_unlock(&mutex);
}

void
unit_tc_delay_dumps(unsigned int ms)
{
    ovs_mutex_lock(&mutex);
    dump_delay = ms;
    ovs_mutex_unlock(&mutex);
}

unsigned int
unit_tc_n_dumps(void)
{
    unsigned int n;

    ovs_mutex_lock(&mutex);
    n = n_dumps;
    ovs_mutex_unlock(&mutex);
    return n;
}

/* What a dump has to show, of which a struct nl_dump has the address in place
 * of its socket. */
struct dumped {
    struct ofpbuf *msgs;
    size_t n;
    size_t next;
    int error;
};

static struct dumped *
dumped_cast(const struct nl_dump *dump)
{
    return (void *) dump->sock;
}

int __wrap_tc_dump_flower_start(struct tcf_id *, struct nl_dump *, bool terse);
bool __wrap_kdp_stock_nl_dump_next(struct nl_dump *, struct ofpbuf *msg,
                                   struct ofpbuf *buffer);
int __wrap_nl_dump_done(struct nl_dump *);

int
__wrap_tc_dump_flower_start(struct tcf_id *place, struct nl_dump *dump,
                            bool terse)
{
    struct dumped *dumped = xzalloc(sizeof *dumped);
    unsigned int delay;
    struct rule *rule;

    ovs_mutex_lock(&mutex);
    n_dumps++;
    delay = dump_delay;
    dump_is_terse = terse;
    dumped->error = dump_error;
    dumped->msgs = xcalloc(hmap_count(&rules) + 1, sizeof *dumped->msgs);
    HMAP_FOR_EACH (rule, node, &rules) {
        if (dump_error && dumped->n >= dump_limit) {
            break;
        }
        if (rule->id.ifindex == place->ifindex) {
            struct ofpbuf *msg = &dumped->msgs[dumped->n++];

            ofpbuf_init(msg, 0);
            put_rule(msg, RTM_NEWTFILTER, rule);
        }
    }
    dump_is_terse = false;
    ovs_mutex_unlock(&mutex);
    xnanosleep(delay * 1000000LL);
    memset(dump, 0, sizeof *dump);
    dump->sock = (void *) dumped;
    return 0;
}

bool
__wrap_kdp_stock_nl_dump_next(struct nl_dump *dump, struct ofpbuf *msg,
                              struct ofpbuf *buffer)
{
    struct dumped *dumped = dumped_cast(dump);
    const struct ofpbuf *next;

    /* Threads share it. */
    ovs_mutex_lock(&mutex);
    next = (dumped->next < dumped->n ? &dumped->msgs[dumped->next++] : NULL);
    ovs_mutex_unlock(&mutex);
    if (!next) {
        return false;
    }
    ofpbuf_clear(buffer);
    ofpbuf_put(buffer, next->data, next->size);
    ofpbuf_use_const(msg, buffer->data, buffer->size);
    return true;
}

int
__wrap_nl_dump_done(struct nl_dump *dump)
{
    struct dumped *dumped = dumped_cast(dump);
    int error = dumped->error;

    for (size_t i = 0; i < dumped->n; i++) {
        ofpbuf_uninit(&dumped->msgs[i]);
    }
    free(dumped->msgs);
    free(dumped);
    ovs_mutex_lock(&mutex);
    n_dumps--;
    ovs_mutex_unlock(&mutex);
    return error;
}

/* Ports. */

/* Stores the name of the device of port 'port_no' in 'name', and makes it if
 * there is none: the loopback device, or one end of a pair. */
static void
make_device(uint32_t port_no, char name[IFNAMSIZ])
{
    uint32_t first = port_no & ~1u;
    char a[IFNAMSIZ], b[IFNAMSIZ];
    struct unit_ns *ns;

    if (port_no == 1) {
        ovs_strlcpy(name, "lo", IFNAMSIZ);
        return;
    }
    ns = unit_ns_own();
    snprintf(a, sizeof a, "unit%"PRIu32, first);
    snprintf(b, sizeof b, "unit%"PRIu32, first + 1);
    if (!unit_link_index(ns, a)) {
        unit_check(!unit_link_add_veth(ns, 0, a, ns, 0, b));
    }
    ovs_strlcpy(name, port_no == first ? a : b, IFNAMSIZ);
    unit_ns_destroy(ns);
}

/* Makes port 'port_no' one of the device that port 'device' has by itself. */
static void
insert_port(uint32_t port_no, uint32_t device)
{
    char name[IFNAMSIZ];
    struct dpif_port port = {
        .name = name, .type = "system", .port_no = u32_to_odp(port_no),
    };
    struct netdev *netdev;

    make_device(device, name);
    unit_check(!netdev_open(name, "system", &netdev));
    netdev_set_dpif_type(netdev, kdp_dpif_type);
    unit_check(!netdev_ports_insert(netdev, &port));
    ovsrcu_set(&netdev->flow_api, &netdev_offload_tc);
    netdev_close(netdev);
}

static void
remove_port(uint32_t port_no)
{
    struct netdev *netdev = netdev_ports_get(u32_to_odp(port_no), kdp_dpif_type);

    unit_check(netdev);
    ovsrcu_set(&netdev->flow_api, NULL);
    unit_check(!netdev_ports_remove(u32_to_odp(port_no), kdp_dpif_type));
    netdev_close(netdev);
}

void
unit_tc_ports_add(uint32_t n)
{
    for (uint32_t i = 1; i <= n; i++) {
        insert_port(i, i);
    }
}

void
unit_tc_ports_del(uint32_t n)
{
    for (uint32_t i = 1; i <= n; i++) {
        remove_port(i);
    }
}

void
unit_tc_port_replace(uint32_t port_no, uint32_t device)
{
    remove_port(port_no);
    insert_port(port_no, device);
}

/* Flows. */

ovs_u128
unit_tc_ufid(uint32_t flow)
{
    return (ovs_u128) { .u32 = { flow, 0x1234 } };
}

/* Appends what comes after the Ethernet header to 'key' and 'mask'. */
static void
put_network(uint32_t flow, struct ofpbuf *key, struct ofpbuf *mask)
{
    struct ovs_key_ipv4 ip = { .ipv4_dst = htonl(flow) };
    struct ovs_key_ipv4 ip_mask = { .ipv4_dst = OVS_BE32_MAX };

    nl_msg_put_be16(key, OVS_KEY_ATTR_ETHERTYPE, htons(ETH_TYPE_IP));
    nl_msg_put_unspec(key, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
    nl_msg_put_be16(mask, OVS_KEY_ATTR_ETHERTYPE, OVS_BE16_MAX);
    nl_msg_put_unspec(mask, OVS_KEY_ATTR_IPV4, &ip_mask, sizeof ip_mask);
}

/* As put_network(), in a VLAN. */
static void
put_vlan(uint32_t flow, struct ofpbuf *key, struct ofpbuf *mask)
{
    size_t encap, mask_encap;

    nl_msg_put_be16(key, OVS_KEY_ATTR_ETHERTYPE, htons(ETH_TYPE_VLAN_8021Q));
    nl_msg_put_be16(key, OVS_KEY_ATTR_VLAN, htons(VLAN_CFI | 5));
    encap = nl_msg_start_nested(key, OVS_KEY_ATTR_ENCAP);
    nl_msg_put_be16(mask, OVS_KEY_ATTR_ETHERTYPE, OVS_BE16_MAX);
    nl_msg_put_be16(mask, OVS_KEY_ATTR_VLAN, OVS_BE16_MAX);
    mask_encap = nl_msg_start_nested(mask, OVS_KEY_ATTR_ENCAP);
    put_network(flow, key, mask);
    nl_msg_end_nested(key, encap);
    nl_msg_end_nested(mask, mask_encap);
}

struct offload_desc *
unit_tc_desc(uint32_t flow, uint32_t port, unsigned int flags)
{
    struct ovs_key_ethernet eth = { .eth_src.ea[5] = 2, .eth_dst.ea[5] = 2 };
    struct ovs_key_ethernet eth_mask = { .eth_src.ea[5] = 0 };
    const ovs_u128 ufid = unit_tc_ufid(flow);
    struct ofpbuf key, mask, actions;
    struct offload_desc *desc;

    ofpbuf_init(&key, 0);
    ofpbuf_init(&mask, 0);
    nl_msg_put_u32(&key, OVS_KEY_ATTR_RECIRC_ID,
                   flags & UNIT_TC_OF_CHAIN ? 1 : 0);
    nl_msg_put_u32(&key, OVS_KEY_ATTR_IN_PORT, port);
    nl_msg_put_u32(&mask, OVS_KEY_ATTR_RECIRC_ID, UINT32_MAX);
    nl_msg_put_u32(&mask, OVS_KEY_ATTR_IN_PORT, UINT32_MAX);
    if (flags & UNIT_TC_ODD) {
        nl_msg_put_u32(&key, OVS_KEY_ATTR_PRIORITY, 1);
        nl_msg_put_u32(&mask, OVS_KEY_ATTR_PRIORITY, UINT32_MAX);
    }
    if (!(flags & UNIT_TC_NO_ETHERNET)) {
        nl_msg_put_unspec(&key, OVS_KEY_ATTR_ETHERNET, &eth, sizeof eth);
        nl_msg_put_unspec(&mask, OVS_KEY_ATTR_ETHERNET, &eth_mask,
                          sizeof eth_mask);
    }
    if (flags & UNIT_TC_VLAN) {
        put_vlan(flow, &key, &mask);
    } else {
        if (flags & UNIT_TC_NO_VLAN) {
            nl_msg_put_be16(&key, OVS_KEY_ATTR_VLAN, htons(0));
        }
        put_network(flow, &key, &mask);
    }
    ofpbuf_init(&actions, 0);
    nl_msg_put_u32(&actions, (flags & UNIT_TC_TO_CHAIN
                              ? OVS_ACTION_ATTR_RECIRC
                              : OVS_ACTION_ATTR_OUTPUT), 1);
    desc = kdp_tc_desc_create(&ufid, key.data, key.size, mask.data, mask.size,
                              actions.data, actions.size);
    ofpbuf_uninit(&key);
    ofpbuf_uninit(&mask);
    ofpbuf_uninit(&actions);
    return desc;
}
