/* SPDX-License-Identifier: Apache-2.0 */

/* Rules on a port: those that a previous run left become flows again, and
 * those without a flow go when the port does. */

#include <config.h>
#include "tc/tc-adopt.h"

#include <errno.h>
#include <stdlib.h>

#include "dpif.h"               /* The flow API uses its structures. */
#include "hash.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs/compat-offload.h"
#include "tc/tc-desc.h"
#include "tc/tc-handle.h"
#include "tc/tc-places.h"
#include "tc/tc-rules.h"
#include "tc/tc-transact.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_adopt);

/* A rule that was found on a port. */
struct port_rule {
    struct hmap_node node;      /* By ufid. */
    struct kdp_tc_rule rule;
    bool adopted;
};

/* Stores the rules in 'place' that this run or a previous one may have added
 * in 'rules'.  Returns 0 or a positive errno value. */
static int
find_rules(const struct tcf_id *place, struct hmap *rules)
{
    struct kdp_tc_rule rule;
    struct ofpbuf buffer;
    struct nl_dump dump;

    kdp_tc_dump_start(place, &dump);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_tc_dump_next(&dump, &buffer, &rule)) {
        struct port_rule *r = xzalloc(sizeof *r);

        r->rule = rule;
        hmap_insert(rules, &r->node,
                    hash_bytes(&rule.ufid, sizeof rule.ufid, 0));
    }
    ofpbuf_uninit(&buffer);
    return kdp_tc_dump_done(&dump);
}

static struct port_rule *
port_rule_find(const struct hmap *rules, const ovs_u128 *ufid)
{
    struct port_rule *r;

    HMAP_FOR_EACH_WITH_HASH (r, node, hash_bytes(ufid, sizeof *ufid, 0),
                             rules) {
        if (!r->adopted && ovs_u128_equals(r->rule.ufid, *ufid)) {
            return r;
        }
    }
    return NULL;
}

/* Returns a description of the flow with 'match' and 'actions'. */
static struct offload_desc *
desc_from_match(const ovs_u128 *ufid, const struct match *match,
                const struct nlattr *actions)
{
    struct flow_wildcards wc = match->wc;
    struct odp_flow_key_parms parms = {
        .flow = &match->flow,
        .mask = &wc.masks,
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

    /* Flows match on it, whether or not tc reports that. */
    wc.masks.packet_type = OVS_BE32_MAX;
    ofpbuf_use_stack(&key, &key_stub, sizeof key_stub);
    odp_flow_key_from_flow(&parms, &key);
    ofpbuf_use_stack(&mask, &mask_stub, sizeof mask_stub);
    parms.key_buf = &key;
    odp_flow_key_from_mask(&parms, &mask);
    return kdp_tc_desc_create(ufid, key.data, key.size, mask.data, mask.size,
                              nl_attr_get(actions),
                              nl_attr_get_size(actions));
}

/* May the flow of 'desc', to which the flow API has translated 'rule', be
 * adopted?
 *
 * Open vSwitch 3.1 ends the actions, without an error, where it meets one that
 * it cannot translate: an output to a device that is not a port, a meter of
 * another run, or any action after the 16th.  If OpenFlow wants just the
 * actions before, the rule would never be replaced.  A cut always loses what
 * comes last, an output or a jump.
 *
 * A rule of a chain becomes no flow anyway, and has to stay as long as a rule
 * leads to it. */
static bool
may_adopt(const struct offload_desc *desc, const struct kdp_tc_rule *rule)
{
    return (desc->recirc_id
            || (desc->n_outputs == rule->n_outputs
                && (desc->n_children > 0) == rule->jumps));
}

/* Are all devices to which 'rule' sends packets ports? */
static bool
leads_to_ports(const struct kdp_tc_rule *rule)
{
    for (unsigned int i = 0; i < rule->n_outputs; i++) {
        if (!ovs_compat_ports_has_device(rule->outputs[i])) {
            return false;
        }
    }
    return true;
}

/* Returns a description of 'rule' of port 'port_no', which is not adopted, or
 * NULL if the rule should go.
 *
 * The policer of a meter belongs to the run that created it, and the flow API
 * is not shown rules that check the size of packets (tc-transact.h).  Such
 * rules do what OpenFlow wanted, unless they lead to a device that is no port
 * any more or have a handle that we need. */
static struct offload_desc *
partial_desc(const struct kdp_tc_rule *rule, uint32_t port_no)
{
    const struct offload_desc proto = {
        .ufid = rule->ufid,
        .in_port = port_no,
        .is_partial = true,
    };

    return ((rule->has_meter || rule->checks_size) && leads_to_ports(rule)
            && !kdp_tc_is_own_handle(rule->id.handle)
            ? offload_desc_create(&proto) : NULL);
}

/* Makes the flow API translate the rules of 'netdev' back to flows, and adopts
 * those that are in 'rules'. */
static void
adopt_rules(struct kdp_tc *tc, uint32_t port_no, struct netdev *netdev,
            struct hmap *rules, offload_dump_cb *cb, void *cb_aux)
{
    struct ovs_compat_rule_dump *dump;
    struct dpif_flow_stats stats;
    struct dpif_flow_attrs attrs;
    struct ofpbuf buffer, act;
    struct nlattr *actions;
    struct match match;
    ovs_u128 ufid;

    dump = ovs_compat_rule_dump_create(netdev, u32_to_odp(port_no));
    if (!dump) {
        return;
    }
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    /* The actions of a rule may be longer than any key of a flow. */
    ofpbuf_init(&act, 1024);
    kdp_tc_only_adoptable(true);
    while (ovs_compat_rule_dump_next(dump, &match, &actions, &stats, &attrs,
                                     &ufid, &buffer, &act)) {
        struct port_rule *r = port_rule_find(rules, &ufid);

        if (r && !kdp_tc_is_own_handle(r->rule.id.handle)) {
            struct offload_desc *desc = desc_from_match(&ufid, &match,
                                                        actions);
            struct offload_rule *rule;
            struct offload_stats seen;
            uint16_t overhead;

            if (!may_adopt(desc, &r->rule)) {
                offload_desc_unref(desc);
                continue;
            }
            rule = kdp_tc_rule_create(tc);
            overhead = kdp_tc_rule_set(rule, port_no, &r->rule.id, desc,
                                       false);
            seen = kdp_tc_stats(&r->rule, overhead);
            r->adopted = true;
            cb(cb_aux, &ufid, desc, &seen, rule);
        }
    }
    kdp_tc_only_adoptable(false);
    ofpbuf_uninit(&act);
    ofpbuf_uninit(&buffer);
    ovs_compat_rule_dump_destroy(dump);
}

/* Leaves flows of chains to the kernel datapath if the flow API does not
 * translate them. */
static void
check_chains(struct kdp_tc *tc, uint32_t port_no)
{
    struct netdev *netdev = ovs_compat_ports_get(u32_to_odp(port_no),
                                                 tc->dpif_type);

    if (netdev && tc->recirc_sharing && !kdp_tc_check_chains(netdev)) {
        VLOG_ERR("Open vSwitch does not translate flows of recirculation "
                 "chains for tc in this program; they stay in the kernel "
                 "datapath");
        tc->recirc_sharing = false;
    }
    netdev_close(netdev);
}

/* Makes the kernel load the modules of actions, and calls the owner's 'begin',
 * once.  Waits if another thread is doing that. */
static void
begin_once(struct kdp_tc *tc, uint32_t port_no)
{
    /* It may take long.  Only other offload threads wait for it, whose first
     * rules would have to wait anyway. */
    ovsrcu_quiesce_start();
    ovs_mutex_lock(&tc->begin_mutex);
    if (!tc->begun) {
        kdp_tc_load_actions();
        ovsrcu_quiesce_end();
        check_chains(tc, port_no);
        if (tc->begin) {
            tc->begin(tc->begin_aux);
        }
        ovsrcu_quiesce_start();
        tc->begun = true;
    }
    ovs_mutex_unlock(&tc->begin_mutex);
    ovsrcu_quiesce_end();
}

bool
kdp_tc_locate(void *tc_, uint32_t port_no, struct offload_place *place)
{
    struct kdp_tc *tc = tc_;
    struct netdev *netdev = ovs_compat_ports_get(u32_to_odp(port_no),
                                                 tc->dpif_type);
    int ifindex = netdev ? netdev_get_ifindex(netdev) : -ENODEV;

    if (ifindex >= 0) {
        struct tcf_id id = kdp_tc_place(netdev, ifindex);

        *place = kdp_tc_place_for_engine(&id);
    }
    netdev_close(netdev);
    return ifindex >= 0;
}

int
kdp_tc_adopt(void *tc_, uint32_t port_no, const struct offload_place *place,
             bool describe, offload_dump_cb *cb, void *cb_aux)
{
    const struct tcf_id id = tc_make_tcf_id(place->data[0], place->data[1], 0,
                                            place->data[2]);
    struct kdp_tc *tc = tc_;
    struct hmap rules = HMAP_INITIALIZER(&rules);
    struct netdev *netdev = NULL;
    struct port_rule *r;
    int error;

    begin_once(tc, port_no);
    if (describe) {
        netdev = ovs_compat_ports_get(u32_to_odp(port_no), tc->dpif_type);
    }
    error = find_rules(&id, &rules);
    HMAP_FOR_EACH (r, node, &rules) {
        kdp_tc_handle_found(r->rule.id.handle);
    }
    if (error == ENODEV) {
        /* The rules went with the device. */
        error = 0;
    }
    bool is_port = netdev && netdev_get_ifindex(netdev) == id.ifindex;
    if (is_port && !hmap_is_empty(&rules)) {
        adopt_rules(tc, port_no, netdev, &rules, cb, cb_aux);
    }
    HMAP_FOR_EACH_POP (r, node, &rules) {
        if (!r->adopted) {
            struct offload_rule *rule = kdp_tc_rule_create(tc);

            kdp_tc_rule_set(rule, port_no, &r->rule.id, NULL, false);
            cb(cb_aux, &r->rule.ufid,
               is_port ? partial_desc(&r->rule, port_no) : NULL,
               &r->rule.stats, rule);
        }
        free(r);
    }
    hmap_destroy(&rules);
    netdev_close(netdev);
    return error;
}
