/* SPDX-License-Identifier: Apache-2.0 */

/* The tc side of offload: rules by Open vSwitch's flow API of devices. */

#include <config.h>
#include "kdp-offload-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink-kdp-private.h"
#include "hash.h"
#include "kdp-links.h"
#include "netdev-offload-provider.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "unaligned.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_offload_tc);

/* A rule of ours. */
struct rule {
    struct hmap_node node;      /* In kdp_tc->rules, by ufid. */
    ovs_u128 ufid;
    uint32_t port_no;           /* Input port. */
    struct netdev *netdev;      /* Whose flow API has it. */
    bool adopted;               /* Left by a previous run: the flow API does
                                 * not know it, but */
    struct tcf_id id;           /* tc calls it so. */
};

void
kdp_tc_init(struct kdp_tc *tc, bool recirc_sharing)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    tc->dpif_type = dpif_normalize_type(dpif_netlink_kdp_class.type);
    tc->recirc_sharing = recirc_sharing;
    ovs_mutex_init(&tc->mutex);
    hmap_init(&tc->rules);
}

static void
rule_free(struct rule *rule)
{
    if (rule) {
        netdev_close(rule->netdev);
        free(rule);
    }
}

/* Forgets all rules, which stay where they are. */
void
kdp_tc_destroy(struct kdp_tc *tc)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct rule *rule;

    HMAP_FOR_EACH_POP (rule, node, &tc->rules) {
        rule_free(rule);
    }
    hmap_destroy(&tc->rules);
    ovs_mutex_destroy(&tc->mutex);
}

static struct netdev *
port_netdev(const struct kdp_tc *tc, uint32_t port_no)
{
    return netdev_ports_get(u32_to_odp(port_no), tc->dpif_type);
}

/* Rules. */

static struct rule *
rule_find(struct kdp_tc *tc, const ovs_u128 *ufid)
    OVS_REQUIRES(tc->mutex)
{
    struct rule *rule;

    HMAP_FOR_EACH_WITH_HASH (rule, node, hash_bytes(ufid, sizeof *ufid, 0),
                             &tc->rules) {
        if (ovs_u128_equals(rule->ufid, *ufid)) {
            return rule;
        }
    }
    return NULL;
}

/* Stores the rule of 'ufid' in '*copy', with a reference to its netdev for the
 * caller.  Returns false if there is none. */
static bool
rule_get(struct kdp_tc *tc, const ovs_u128 *ufid, struct rule *copy)
{
    struct rule *rule;

    ovs_mutex_lock(&tc->mutex);
    rule = rule_find(tc, ufid);
    if (rule) {
        *copy = *rule;
        netdev_ref(copy->netdev);
    }
    ovs_mutex_unlock(&tc->mutex);
    return rule != NULL;
}

static void
rule_remove(struct kdp_tc *tc, const ovs_u128 *ufid)
{
    struct rule *rule;

    ovs_mutex_lock(&tc->mutex);
    rule = rule_find(tc, ufid);
    if (rule) {
        hmap_remove(&tc->rules, &rule->node);
    }
    ovs_mutex_unlock(&tc->mutex);
    rule_free(rule);
}

/* Takes over the caller's reference to 'netdev'.  'id' is that of an adopted
 * rule, or NULL. */
static void
rule_insert(struct kdp_tc *tc, const ovs_u128 *ufid, uint32_t port_no,
            struct netdev *netdev, const struct tcf_id *id)
{
    struct rule *rule = xzalloc(sizeof *rule);

    rule->ufid = *ufid;
    rule->port_no = port_no;
    rule->netdev = netdev;
    if (id) {
        rule->adopted = true;
        rule->id = *id;
    }
    rule_remove(tc, ufid);
    ovs_mutex_lock(&tc->mutex);
    hmap_insert(&tc->rules, &rule->node, hash_bytes(ufid, sizeof *ufid, 0));
    ovs_mutex_unlock(&tc->mutex);
}

/* Operations. */

/* Do all ports that 'actions' send to exist for tc? */
static bool
outputs_are_known(const struct kdp_tc *tc, const struct nlattr *actions,
                  size_t len)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, len) {
        if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT) {
            struct netdev *netdev = port_netdev(tc, nl_attr_get_u32(a));

            if (!netdev) {
                return false;
            }
            netdev_close(netdev);
        }
    }
    return true;
}

static int
tc_put(struct kdp_tc *tc, const struct offload_desc *desc)
{
    struct offload_info info = {
        .recirc_id_shared_with_tc = tc->recirc_sharing,
    };
    struct netdev *netdev;
    struct match match;
    int error;

    if (!tc->recirc_sharing && (desc->recirc_id || desc->n_children)) {
        return EOPNOTSUPP;
    }
    if (parse_key_and_mask_to_match(desc->key, desc->key_len, desc->mask,
                                    desc->mask_len, &match)) {
        return EOPNOTSUPP;
    }
    netdev = port_netdev(tc, desc->in_port);
    if (!netdev) {
        return ENODEV;
    }
    error = (outputs_are_known(tc, desc->actions, desc->actions_len)
             ? netdev_flow_put(netdev, &match,
                               CONST_CAST(struct nlattr *, desc->actions),
                               desc->actions_len, &desc->ufid, &info, NULL)
             : EOPNOTSUPP);
    if (error) {
        netdev_close(netdev);
    } else {
        rule_insert(tc, &desc->ufid, desc->in_port, netdev, NULL);
    }
    return error;
}

static void
stats_from_flower(const struct tc_flower *flower, struct offload_stats *stats)
{
    *stats = (struct offload_stats) {
        .n_packets = (get_32aligned_u64(&flower->stats_sw.n_packets)
                      + get_32aligned_u64(&flower->stats_hw.n_packets)),
        .n_bytes = (get_32aligned_u64(&flower->stats_sw.n_bytes)
                    + get_32aligned_u64(&flower->stats_hw.n_bytes)),
        .used = flower->lastused,
    };
}

static bool
is_in_hw(const struct tc_flower *flower)
{
    return (flower->offloaded_state == TC_OFFLOADED_STATE_IN_HW
            || flower->offloaded_state == TC_OFFLOADED_STATE_UNDEFINED);
}

static int
tc_get(struct kdp_tc *tc, const ovs_u128 *ufid, struct offload_stats *stats,
       bool *in_hw)
{
    struct rule rule;
    int error;

    if (!rule_get(tc, ufid, &rule)) {
        return ENOENT;
    }
    if (rule.adopted) {
        struct tc_flower *flower = xmalloc(sizeof *flower);

        error = tc_get_flower(&rule.id, flower);
        if (!error) {
            stats_from_flower(flower, stats);
            *in_hw = is_in_hw(flower);
        }
        free(flower);
    } else {
        uint64_t stub[1024 / 8];
        struct dpif_flow_stats dpif_stats;
        struct dpif_flow_attrs attrs;
        struct nlattr *actions;
        struct ofpbuf buf;
        struct match match;

        ofpbuf_use_stub(&buf, stub, sizeof stub);
        error = netdev_flow_get(rule.netdev, &match, &actions, ufid,
                                &dpif_stats, &attrs, &buf);
        ofpbuf_uninit(&buf);
        if (!error) {
            kdp_stats_from_dpif(&dpif_stats, stats);
            *in_hw = attrs.offloaded;
        }
    }
    netdev_close(rule.netdev);
    return error;
}

static int
tc_del(struct kdp_tc *tc, const ovs_u128 *ufid, struct offload_stats *stats)
{
    struct rule rule;
    int error;

    if (!rule_get(tc, ufid, &rule)) {
        return ENOENT;
    }
    if (rule.adopted) {
        struct tc_flower *flower = xmalloc(sizeof *flower);

        if (!tc_get_flower(&rule.id, flower)) {
            stats_from_flower(flower, stats);
        }
        free(flower);
        error = tc_del_flower_filter(&rule.id);
    } else {
        struct dpif_flow_stats dpif_stats;

        error = netdev_flow_del(rule.netdev, ufid, &dpif_stats);
        if (!error) {
            kdp_stats_from_dpif(&dpif_stats, stats);
        }
    }
    netdev_close(rule.netdev);
    if (!error || error == ENOENT || error == ENODEV) {
        rule_remove(tc, ufid);
    }
    return error;
}

static void
tc_operate(void *tc_, struct offload_copy_op *ops[], size_t n)
{
    struct kdp_tc *tc = tc_;

    for (size_t i = 0; i < n; i++) {
        struct offload_copy_op *op = ops[i];

        op->stats = (struct offload_stats) { .n_packets = 0 };
        op->in_hw = false;
        switch (op->type) {
        case OFFLOAD_COPY_PUT:
            op->error = tc_put(tc, op->desc);
            break;
        case OFFLOAD_COPY_DEL:
            op->error = tc_del(tc, &op->ufid, &op->stats);
            break;
        case OFFLOAD_COPY_GET:
        default:
            op->error = tc_get(tc, &op->ufid, &op->stats, &op->in_hw);
            break;
        }
    }
}

/* Dumps. */

struct tcf_id
kdp_tc_id(struct netdev *netdev, int ifindex)
{
    enum tc_qdisc_hook hook = (strcmp(netdev_get_type(netdev), "internal")
                               ? TC_INGRESS : TC_EGRESS);

    return tc_make_tcf_id(ifindex, netdev_get_block_id(netdev), 0, hook);
}

int
kdp_tc_dump_start(struct kdp_tc *tc, uint32_t port_no, bool terse,
                  struct kdp_tc_dump *dump)
{
    struct netdev *netdev = port_netdev(tc, port_no);
    int error = 0;
    int ifindex;

    if (!netdev) {
        return ENODEV;
    }
    ifindex = netdev_get_ifindex(netdev);
    if (ifindex < 0) {
        error = -ifindex;
    } else {
        dump->id = kdp_tc_id(netdev, ifindex);
        dump->terse = terse;
        kdp_rtnl_count(KDP_RTNL_TC_DUMP);
        tc_dump_flower_start(&dump->id, &dump->nl_dump, terse);
    }
    netdev_close(netdev);
    return error;
}

bool
kdp_tc_dump_next(struct kdp_tc_dump *dump, struct ofpbuf *buffer,
                 struct kdp_tc_rule *rule)
{
    struct ofpbuf msg;

    while (nl_dump_next(&dump->nl_dump, &msg, buffer)) {
        struct tc_flower flower;

        rule->id = dump->id;
        if (parse_netlink_to_tc_flower(&msg, &rule->id, &flower, dump->terse)
            || rule->id.prio == TC_RESERVED_PRIORITY_POLICE
            || flower.act_cookie.len != sizeof rule->ufid) {
            /* Not ours: all of ours have the ufid as cookie. */
            continue;
        }
        memcpy(&rule->ufid, flower.act_cookie.data, sizeof rule->ufid);
        stats_from_flower(&flower, &rule->stats);
        rule->in_hw = is_in_hw(&flower);
        return true;
    }
    return false;
}

int
kdp_tc_dump_done(struct kdp_tc_dump *dump)
{
    int error = nl_dump_done(&dump->nl_dump);

    /* A device without a place for rules has none. */
    return error == EINVAL || error == ENOENT ? 0 : error;
}

/* Rules that a previous run left on a port. */

struct found {
    struct hmap_node node;      /* By ufid. */
    struct kdp_tc_rule rule;
    bool seen;                  /* By the flow API, too. */
};

static void
find_rules(struct kdp_tc_dump *dump, struct hmap *found)
{
    struct ofpbuf buffer;
    struct kdp_tc_rule rule;

    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_tc_dump_next(dump, &buffer, &rule)) {
        struct found *f = xzalloc(sizeof *f);

        f->rule = rule;
        hmap_insert(found, &f->node,
                    hash_bytes(&rule.ufid, sizeof rule.ufid, 0));
    }
    ofpbuf_uninit(&buffer);
}

static struct found *
found_lookup(const struct hmap *found, const ovs_u128 *ufid)
{
    struct found *f;

    HMAP_FOR_EACH_WITH_HASH (f, node, hash_bytes(ufid, sizeof *ufid, 0),
                             found) {
        if (!f->seen && ovs_u128_equals(f->rule.ufid, *ufid)) {
            return f;
        }
    }
    return NULL;
}

/* Describes the flow that 'match' and 'actions' tell. */
static struct offload_desc *
desc_from_match(const ovs_u128 *ufid, const struct match *match,
                const struct nlattr *actions)
{
    struct odp_flow_key_parms parms = {
        .flow = &match->flow,
        .mask = &match->wc.masks,
        .support = {
            .max_vlan_headers = 2,
            .recirc = true,
            .ct_state = true,
            .ct_zone = true,
            .ct_mark = true,
            .ct_label = true,
        },
    };
    struct odputil_keybuf key_stub, mask_stub;
    struct ofpbuf key, mask;

    ofpbuf_use_stack(&key, &key_stub, sizeof key_stub);
    odp_flow_key_from_flow(&parms, &key);
    ofpbuf_use_stack(&mask, &mask_stub, sizeof mask_stub);
    parms.key_buf = &key;
    odp_flow_key_from_mask(&parms, &mask);
    return kdp_offload_desc(ufid, key.data, key.size, mask.data, mask.size,
                            nl_attr_get(actions), nl_attr_get_size(actions));
}

/* Has the flow API translate the rules of 'netdev' back to flows, and adopts
 * those that are among 'found'. */
static void
translate_rules(struct kdp_tc *tc, uint32_t port_no, struct netdev *netdev,
                struct hmap *found, offload_dump_cb *cb, void *cb_aux)
{
    struct netdev_flow_dump *dump;
    struct odputil_keybuf actions_stub;
    struct dpif_flow_stats stats;
    struct dpif_flow_attrs attrs;
    struct ofpbuf buffer, act;
    struct nlattr *actions;
    struct match match;
    ovs_u128 ufid;

    if (netdev_flow_dump_create(netdev, &dump, false)) {
        return;
    }
    dump->port = u32_to_odp(port_no);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    for (;;) {
        struct found *f;

        ofpbuf_use_stack(&act, &actions_stub, sizeof actions_stub);
        if (!netdev_flow_dump_next(dump, &match, &actions, &stats, &attrs,
                                   &ufid, &buffer, &act)) {
            break;
        }
        f = found_lookup(found, &ufid);
        if (f) {
            f->seen = true;
            rule_insert(tc, &ufid, port_no, netdev_ref(netdev), &f->rule.id);
            cb(cb_aux, &ufid, desc_from_match(&ufid, &match, actions),
               &f->rule.stats);
        }
    }
    ofpbuf_uninit(&buffer);
    netdev_flow_dump_destroy(dump);
}

static int
tc_dump(void *tc_, uint32_t port_no, offload_dump_cb *cb, void *cb_aux)
{
    struct kdp_tc *tc = tc_;
    struct netdev *netdev;
    struct kdp_tc_dump dump;
    struct hmap found;
    struct found *f;
    int error;

    error = kdp_tc_dump_start(tc, port_no, false, &dump);
    if (error) {
        return error;
    }
    hmap_init(&found);
    find_rules(&dump, &found);
    error = kdp_tc_dump_done(&dump);
    netdev = port_netdev(tc, port_no);
    if (netdev && !hmap_is_empty(&found)) {
        translate_rules(tc, port_no, netdev, &found, cb, cb_aux);
    }
    HMAP_FOR_EACH_POP (f, node, &found) {
        if (!f->seen && netdev) {
            /* Nobody can tell what it does: it is to be deleted. */
            rule_insert(tc, &f->rule.ufid, port_no, netdev_ref(netdev),
                        &f->rule.id);
            cb(cb_aux, &f->rule.ufid, NULL, &f->rule.stats);
        }
        free(f);
    }
    hmap_destroy(&found);
    netdev_close(netdev);
    return error;
}

/* Forgets the rules of port 'port_no'. */
static void
forget_rules(struct kdp_tc *tc, uint32_t port_no)
{
    struct rule *rule;

    ovs_mutex_lock(&tc->mutex);
    HMAP_FOR_EACH_SAFE (rule, node, &tc->rules) {
        if (rule->port_no == port_no) {
            hmap_remove(&tc->rules, &rule->node);
            rule_free(rule);
        }
    }
    ovs_mutex_unlock(&tc->mutex);
}

static int
tc_flush(void *tc_, uint32_t port_no)
{
    struct kdp_tc *tc = tc_;
    struct netdev *netdev = port_netdev(tc, port_no);
    struct kdp_tc_dump dump;
    struct hmap found;
    struct found *f;
    int error = 0;

    if (netdev) {
        netdev_flow_flush(netdev);
        netdev_close(netdev);
    }
    forget_rules(tc, port_no);
    if (!netdev || kdp_tc_dump_start(tc, port_no, true, &dump)) {
        return 0;               /* Its rules went with it. */
    }
    hmap_init(&found);
    find_rules(&dump, &found);
    error = kdp_tc_dump_done(&dump);
    HMAP_FOR_EACH_POP (f, node, &found) {
        int retval = tc_del_flower_filter(&f->rule.id);

        error = retval ? retval : error;
        free(f);
    }
    hmap_destroy(&found);
    return error;
}

struct offload_backend
kdp_tc_backend(struct kdp_tc *tc)
{
    return (struct offload_backend) {
        .operate = tc_operate,
        .dump = tc_dump,
        .flush = tc_flush,
        .aux = tc,
    };
}
