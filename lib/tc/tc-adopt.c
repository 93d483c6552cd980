/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that are on a port: those that a previous run left become flows again,
 * and all go when the port does. */

#include <config.h>
#include "tc/tc-kdp.h"

#include <errno.h>
#include <stdlib.h>

#include "hash.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-rcu.h"
#include "util.h"

/* A rule that was found on a port. */
struct found {
    struct hmap_node node;      /* By ufid. */
    struct kdp_tc_rule rule;
    bool adopted;
};

/* Stores the rules of 'netdev' that may be ours in 'found'.  Returns 0 or a
 * positive errno value. */
static int
find_rules(struct netdev *netdev, struct hmap *found)
{
    struct kdp_tc_rule rule;
    struct ofpbuf buffer;
    struct nl_dump dump;
    int error;

    error = kdp_tc_dump_start(netdev, false, &dump);
    if (error) {
        return error;
    }
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_tc_dump_next(&dump, &buffer, &rule)) {
        struct found *f = xzalloc(sizeof *f);

        f->rule = rule;
        hmap_insert(found, &f->node,
                    hash_bytes(&rule.ufid, sizeof rule.ufid, 0));
    }
    ofpbuf_uninit(&buffer);
    return kdp_tc_dump_done(&dump);
}

/* Deletes the rule of 'f', of which nothing else knows. */
static int
delete_found(const struct found *f)
{
    struct kdp_tc_request request = {
        .type = KDP_TC_DEL, .id = f->rule.id,
    };

    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    return request.error == ENOENT ? 0 : request.error;
}

static struct found *
found_lookup(const struct hmap *found, const ovs_u128 *ufid)
{
    struct found *f;

    HMAP_FOR_EACH_WITH_HASH (f, node, hash_bytes(ufid, sizeof *ufid, 0),
                             found) {
        if (!f->adopted && ovs_u128_equals(f->rule.ufid, *ufid)) {
            return f;
        }
    }
    return NULL;
}

static bool
is_true(atomic_bool *flag)
{
    bool value;

    atomic_read_relaxed(flag, &value);
    return value;
}

size_t
kdp_tc_delete_left(struct netdev *netdev, struct kdp_gate *gate,
                   atomic_bool *stop)
{
    struct hmap found = HMAP_INITIALIZER(&found);
    struct found *f;
    size_t n = 0;

    if (!is_true(stop)) {
        find_rules(netdev, &found);
    }
    HMAP_FOR_EACH_POP (f, node, &found) {
        if (!is_true(stop)
            && f->rule.id.handle - KDP_TC_HANDLE_FIRST
            < KDP_TC_HANDLE_RANGES * KDP_TC_HANDLE_N) {
            kdp_gate_enter(gate);
            n += !delete_found(f);
            kdp_gate_leave(gate);
        }
        free(f);
    }
    hmap_destroy(&found);
    return n;
}

/* Describes the flow that 'match' and 'actions' tell. */
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

    /* Flows match on it, whether tc says so or not. */
    wc.masks.packet_type = OVS_BE32_MAX;
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
adopt_rules(struct kdp_tc *tc, uint32_t port_no, struct netdev *netdev,
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
    kdp_tc_only_ours(true);
    for (;;) {
        struct found *f;

        ofpbuf_use_stack(&act, &actions_stub, sizeof actions_stub);
        if (!netdev_flow_dump_next(dump, &match, &actions, &stats, &attrs,
                                   &ufid, &buffer, &act)) {
            break;
        }
        f = found_lookup(found, &ufid);
        if (f && !kdp_tc_is_own_handle(f->rule.id.handle)) {
            struct offload_desc *desc = desc_from_match(&ufid, &match,
                                                        actions);
            uint16_t overhead = kdp_tc_insert(tc, &ufid, port_no, &f->rule.id,
                                              desc, false);
            struct offload_stats seen = kdp_tc_stats(&f->rule, overhead);

            f->adopted = true;
            cb(cb_aux, &ufid, desc, &seen);
        }
    }
    kdp_tc_only_ours(false);
    ofpbuf_uninit(&buffer);
    netdev_flow_dump_destroy(dump);
}

/* Has the kernel load what actions need, and waits for whoever is at it. */
static void
load_actions_once(struct kdp_tc *tc)
{
    /* It may take long, and nobody else shall wait for that, but for other
     * offload threads, whose first rules would. */
    ovsrcu_quiesce_start();
    ovs_mutex_lock(&tc->actions_mutex);
    if (!tc->loaded_actions) {
        kdp_tc_load_actions();
        tc->loaded_actions = true;
    }
    ovs_mutex_unlock(&tc->actions_mutex);
    ovsrcu_quiesce_end();
}

int
kdp_tc_adopt(void *tc_, uint32_t port_no, offload_dump_cb *cb, void *cb_aux)
{
    struct kdp_tc *tc = tc_;
    struct netdev *netdev = netdev_ports_get(u32_to_odp(port_no),
                                             tc->dpif_type);
    struct hmap found;
    struct found *f;
    int error;

    load_actions_once(tc);
    if (!netdev) {
        return ENODEV;
    }
    hmap_init(&found);
    error = find_rules(netdev, &found);
    if (!hmap_is_empty(&found)) {
        adopt_rules(tc, port_no, netdev, &found, cb, cb_aux);
    }
    HMAP_FOR_EACH_POP (f, node, &found) {
        if (!f->adopted) {
            /* Nobody can tell what it does, or we need its handle. */
            kdp_tc_insert(tc, &f->rule.ufid, port_no, &f->rule.id, NULL,
                          false);
            cb(cb_aux, &f->rule.ufid, NULL, &f->rule.stats);
        }
        free(f);
    }
    hmap_destroy(&found);
    netdev_close(netdev);
    return error;
}

int
kdp_tc_flush(void *tc_, uint32_t port_no)
{
    struct kdp_tc *tc = tc_;
    struct netdev *netdev = netdev_ports_get(u32_to_odp(port_no),
                                             tc->dpif_type);
    struct hmap found;
    struct found *f;
    int error = 0;

    if (netdev) {
        hmap_init(&found);
        error = find_rules(netdev, &found);
        HMAP_FOR_EACH_POP (f, node, &found) {
            int retval = delete_found(f);

            error = retval ? retval : error;
            free(f);
        }
        hmap_destroy(&found);
        netdev_close(netdev);
    }
    kdp_tc_forget_port(tc, port_no);
    return error == ENODEV ? 0 : error; /* They went with the device. */
}
