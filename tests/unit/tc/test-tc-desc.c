/* SPDX-License-Identifier: Apache-2.0 */

/* Descriptions of flows: what the offload engine is told about them (O3:
 * chains). */

#include <config.h>
#include "tc/tc-desc.h"

#include <stdlib.h>
#include <string.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "offload/offload-backend.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "harness/unit.h"
#include "util.h"

/* What a description is made of. */
struct unit_flow {
    struct ofpbuf key, mask, actions;
};

static void
flow_init(struct unit_flow *flow)
{
    ofpbuf_init(&flow->key, 0);
    ofpbuf_init(&flow->mask, 0);
    ofpbuf_init(&flow->actions, 0);
}

static void
flow_uninit(struct unit_flow *flow)
{
    ofpbuf_uninit(&flow->key);
    ofpbuf_uninit(&flow->mask);
    ofpbuf_uninit(&flow->actions);
}

static struct offload_desc *
flow_desc(const struct unit_flow *flow)
{
    static const ovs_u128 ufid = { .u32 = { 1, 2, 3, 4 } };

    return kdp_tc_desc_create(&ufid, flow->key.data, flow->key.size,
                              flow->mask.data, flow->mask.size,
                              flow->actions.data, flow->actions.size);
}

static uint32_t
flow_kind(const struct unit_flow *flow)
{
    struct offload_desc *desc = flow_desc(flow);
    uint32_t kind = desc->kind;

    assert_int_not_equal(kind, 0);
    offload_desc_unref(desc);
    return kind;
}

/* A TCP flow with a value in each field that differs for each 'n', to port
 * 'output'.  'n' is not 0. */
static void
flow_tcp(struct unit_flow *flow, uint8_t n, uint32_t output)
{
    struct ovs_key_ethernet eth = { .eth_src.ea[5] = n, .eth_dst.ea[5] = n };
    struct ovs_key_ipv4 ip = {
        .ipv4_src = htonl(n), .ipv4_dst = htonl(n), .ipv4_proto = IPPROTO_TCP,
        .ipv4_tos = n, .ipv4_ttl = n,
    };
    struct ovs_key_tcp tcp = { .tcp_src = htons(n), .tcp_dst = htons(n) };

    flow_init(flow);
    nl_msg_put_u32(&flow->key, OVS_KEY_ATTR_RECIRC_ID, 0);
    nl_msg_put_u32(&flow->key, OVS_KEY_ATTR_IN_PORT, n);
    nl_msg_put_unspec(&flow->key, OVS_KEY_ATTR_ETHERNET, &eth, sizeof eth);
    nl_msg_put_be16(&flow->key, OVS_KEY_ATTR_ETHERTYPE, htons(ETH_TYPE_IP));
    nl_msg_put_unspec(&flow->key, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
    nl_msg_put_unspec(&flow->key, OVS_KEY_ATTR_TCP, &tcp, sizeof tcp);
    memset(&tcp, 0xff, sizeof tcp);
    nl_msg_put_unspec(&flow->mask, OVS_KEY_ATTR_TCP, &tcp, sizeof tcp);
    nl_msg_put_u32(&flow->actions, OVS_ACTION_ATTR_OUTPUT, output);
}

static void
port_and_chain_are_told(void **state OVS_UNUSED)
{
    struct offload_desc *desc;
    struct unit_flow flow;

    flow_init(&flow);
    nl_msg_put_u32(&flow.key, OVS_KEY_ATTR_PRIORITY, 5);
    nl_msg_put_u32(&flow.key, OVS_KEY_ATTR_RECIRC_ID, 77);
    nl_msg_put_u32(&flow.key, OVS_KEY_ATTR_IN_PORT, 65534);
    desc = flow_desc(&flow);
    assert_int_equal(desc->in_port, 65534);
    assert_int_equal(desc->recirc_id, 77);
    assert_int_equal(desc->n_children, 0);
    assert_int_equal(desc->ufid.u32[3], 4);
    assert_int_equal(desc->key_len, flow.key.size);
    assert_memory_equal(desc->key, flow.key.data, flow.key.size);
    assert_ptr_not_equal(desc->key, flow.key.data);
    offload_desc_unref(desc);
    flow_uninit(&flow);
}

static void
flow_without_port_and_chain_has_none(void **state OVS_UNUSED)
{
    struct offload_desc *desc;
    struct unit_flow flow;

    flow_init(&flow);
    desc = flow_desc(&flow);
    assert_int_equal(desc->in_port, UINT32_MAX);
    assert_int_equal(desc->recirc_id, 0);
    offload_desc_unref(desc);

    /* Nor does one in which they are too short. */
    nl_msg_put_u16(&flow.key, OVS_KEY_ATTR_RECIRC_ID, 77);
    nl_msg_put_u8(&flow.key, OVS_KEY_ATTR_IN_PORT, 1);
    desc = flow_desc(&flow);
    assert_int_equal(desc->in_port, UINT32_MAX);
    assert_int_equal(desc->recirc_id, 0);
    offload_desc_unref(desc);
    flow_uninit(&flow);
}

static void
put_recirc(struct ofpbuf *actions, uint32_t id)
{
    nl_msg_put_u32(actions, OVS_ACTION_ATTR_RECIRC, id);
}

static void
children_are_found_in_nested_actions(void **state OVS_UNUSED)
{
    struct offload_desc *desc;
    struct unit_flow flow;
    size_t outer, branch, inner;

    flow_init(&flow);
    put_recirc(&flow.actions, 1);
    outer = nl_msg_start_nested(&flow.actions, OVS_ACTION_ATTR_SAMPLE);
    nl_msg_put_u32(&flow.actions, OVS_SAMPLE_ATTR_PROBABILITY, 99);
    branch = nl_msg_start_nested(&flow.actions, OVS_SAMPLE_ATTR_ACTIONS);
    put_recirc(&flow.actions, 2);
    nl_msg_end_nested(&flow.actions, branch);
    nl_msg_end_nested(&flow.actions, outer);

    outer = nl_msg_start_nested(&flow.actions, OVS_ACTION_ATTR_CLONE);
    put_recirc(&flow.actions, 3);
    inner = nl_msg_start_nested(&flow.actions, OVS_ACTION_ATTR_CHECK_PKT_LEN);
    nl_msg_put_u16(&flow.actions, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN, 200);
    branch = nl_msg_start_nested(&flow.actions,
                                 OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER);
    put_recirc(&flow.actions, 4);
    nl_msg_end_nested(&flow.actions, branch);
    branch = nl_msg_start_nested(
        &flow.actions, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL);
    put_recirc(&flow.actions, 5);
    nl_msg_end_nested(&flow.actions, branch);
    nl_msg_end_nested(&flow.actions, inner);
    nl_msg_end_nested(&flow.actions, outer);
    put_recirc(&flow.actions, 6);

    desc = flow_desc(&flow);
    assert_int_equal(desc->n_children, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(desc->children[i], i + 1);
    }
    offload_desc_unref(desc);
    flow_uninit(&flow);
}

/* Number of children of a flow that recirculates in 'depth' clones. */
static size_t
n_children_at_depth(size_t depth)
{
    struct offload_desc *desc;
    size_t nests[64], n;
    struct unit_flow flow;

    flow_init(&flow);
    for (size_t i = 0; i < depth; i++) {
        nests[i] = nl_msg_start_nested(&flow.actions, OVS_ACTION_ATTR_CLONE);
    }
    put_recirc(&flow.actions, 1);
    for (size_t i = depth; i > 0; i--) {
        nl_msg_end_nested(&flow.actions, nests[i - 1]);
    }
    desc = flow_desc(&flow);
    n = desc->n_children;
    offload_desc_unref(desc);
    flow_uninit(&flow);
    return n;
}

static void
actions_are_looked_into_as_deep_as_the_kernel_takes(void **state OVS_UNUSED)
{
    assert_int_equal(n_children_at_depth(1), 1);
    assert_int_equal(n_children_at_depth(15), 1);
    assert_int_equal(n_children_at_depth(16), 0);
    assert_int_equal(n_children_at_depth(63), 0);
}

static void
children_are_limited_in_number(void **state OVS_UNUSED)
{
    struct offload_desc *desc;
    struct unit_flow flow;

    flow_init(&flow);
    for (uint32_t i = 0; i < 100; i++) {
        put_recirc(&flow.actions, i + 1);
    }
    desc = flow_desc(&flow);
    assert_int_equal(desc->n_children, 64);
    assert_int_equal(desc->children[63], 64);
    offload_desc_unref(desc);
    flow_uninit(&flow);
}

/* What a rejection may be up to. */
static void
outputs_and_meters_are_told(void **state OVS_UNUSED)
{
    struct offload_desc *desc;
    struct unit_flow flow;
    size_t clone;

    flow_tcp(&flow, 1, 7);
    desc = flow_desc(&flow);
    assert_int_equal(desc->n_outputs, 1);
    assert_int_equal(desc->outputs[0], 7);
    assert_false(desc->has_meter);
    offload_desc_unref(desc);

    clone = nl_msg_start_nested(&flow.actions, OVS_ACTION_ATTR_CLONE);
    nl_msg_put_u32(&flow.actions, OVS_ACTION_ATTR_METER, 5);
    nl_msg_put_u32(&flow.actions, OVS_ACTION_ATTR_OUTPUT, 8);
    nl_msg_end_nested(&flow.actions, clone);
    desc = flow_desc(&flow);
    assert_int_equal(desc->n_outputs, 2);
    assert_int_equal(desc->outputs[1], 8);
    assert_true(desc->has_meter);
    offload_desc_unref(desc);

    /* As many as tc has actions. */
    for (uint32_t i = 0; i < 100; i++) {
        nl_msg_put_u32(&flow.actions, OVS_ACTION_ATTR_OUTPUT, i);
    }
    desc = flow_desc(&flow);
    assert_int_equal(desc->n_outputs, 32);
    offload_desc_unref(desc);
    flow_uninit(&flow);
}

static void
flows_that_differ_in_values_are_of_a_kind(void **state OVS_UNUSED)
{
    struct unit_flow a, b;

    flow_tcp(&a, 1, 3);
    flow_tcp(&b, 2, 3);
    assert_int_equal(flow_kind(&a), flow_kind(&b));

    /* Chains too: there are always new ones. */
    put_recirc(&a.actions, 1);
    put_recirc(&b.actions, 2);
    assert_int_equal(flow_kind(&a), flow_kind(&b));

    /* Values that fields are set to, too. */
    for (uint8_t i = 1; i <= 2; i++) {
        struct unit_flow *flow = i == 1 ? &a : &b;
        size_t nest = nl_msg_start_nested(&flow->actions, OVS_ACTION_ATTR_SET);
        nl_msg_put_u32(&flow->actions, OVS_KEY_ATTR_SKB_MARK, i);
        nl_msg_end_nested(&flow->actions, nest);
        nest = nl_msg_start_nested(&flow->actions, OVS_ACTION_ATTR_CT);
        nl_msg_put_u16(&flow->actions, OVS_CT_ATTR_ZONE, i);
        nl_msg_end_nested(&flow->actions, nest);
    }
    assert_int_equal(flow_kind(&a), flow_kind(&b));
    flow_uninit(&a);
    flow_uninit(&b);
}

static uint32_t
flow_spread(const struct unit_flow *flow)
{
    struct offload_desc *desc = flow_desc(flow);
    uint32_t spread = desc->spread;

    offload_desc_unref(desc);
    return spread;
}

/* Flows whose rules would be in each other's way go to the same thread (O3),
 * and so do those of chains. */
static void
flows_are_spread_by_what_they_match(void **state OVS_UNUSED)
{
    struct ovs_key_ipv4 ip = { .ipv4_src = htonl(1) };
    struct ovs_key_tcp *tcp;
    struct unit_flow a, b;

    /* Only TCP's ports count, in whatever order fields come. */
    flow_tcp(&a, 1, 3);
    flow_init(&b);
    tcp = nl_msg_put_unspec_uninit(&b.key, OVS_KEY_ATTR_TCP, sizeof *tcp);
    *tcp = (struct ovs_key_tcp) { htons(1), htons(1) };
    nl_msg_put_unspec(&b.key, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
    memset(nl_msg_put_unspec_uninit(&b.mask, OVS_KEY_ATTR_TCP, sizeof *tcp),
           0xff, sizeof *tcp);
    assert_int_not_equal(flow_spread(&a), 0);
    assert_int_equal(flow_spread(&a), flow_spread(&b));

    /* Also if the mask has them in another order than the key, and some more
     * that say nothing. */
    nl_msg_put_u32(&b.mask, OVS_KEY_ATTR_SKB_MARK, 0);
    memset(nl_msg_put_unspec_uninit(&b.mask, OVS_KEY_ATTR_IPV4, sizeof ip), 0,
           sizeof ip);
    assert_int_equal(flow_spread(&a), flow_spread(&b));
    nl_msg_put_u32(&b.key, OVS_KEY_ATTR_SKB_MARK, 7);
    assert_int_equal(flow_spread(&a), flow_spread(&b));

    /* What they do does not matter, unless that leads to a chain. */
    nl_msg_put_u32(&b.actions, OVS_ACTION_ATTR_OUTPUT, 77);
    assert_int_equal(flow_spread(&a), flow_spread(&b));
    put_recirc(&b.actions, 1);
    assert_int_equal(flow_spread(&b), 0);
    ofpbuf_clear(&b.actions);
    nl_msg_put_u32(&b.key, OVS_KEY_ATTR_RECIRC_ID, 5);
    assert_int_equal(flow_spread(&b), 0);
    flow_uninit(&b);

    /* Another value, or the same one by another mask. */
    flow_tcp(&b, 2, 3);
    assert_int_not_equal(flow_spread(&a), flow_spread(&b));
    flow_uninit(&b);
    flow_tcp(&b, 1, 3);
    nl_msg_put_unspec(&b.mask, OVS_KEY_ATTR_IPV4, &ip, sizeof ip);
    assert_int_not_equal(flow_spread(&a), flow_spread(&b));
    flow_uninit(&b);
    flow_uninit(&a);
}

/* Ends the test if 'flow', which is given up, is of the same kind as the
 * reference, from which it differs by 'what'. */
static void
check_other_kind(struct unit_flow *flow, const char *what)
{
    struct unit_flow reference;

    flow_tcp(&reference, 1, 3);
    if (flow_kind(flow) == flow_kind(&reference)) {
        unit_die("%s makes no difference", what);
    }
    flow_uninit(&reference);
    flow_uninit(flow);
}

static struct ovs_key_ipv4 *
find_ipv4(struct unit_flow *flow)
{
    const struct nlattr *a = nl_attr_find(&flow->key, 0, OVS_KEY_ATTR_IPV4);

    return CONST_CAST(struct ovs_key_ipv4 *, nl_attr_get(a));
}

static void
what_a_device_may_object_to_makes_another_kind(void **state OVS_UNUSED)
{
    struct unit_flow flow;
    size_t nest;

    flow_tcp(&flow, 1, 4);
    check_other_kind(&flow, "the output port");

    flow_tcp(&flow, 1, 3);
    nl_msg_put_u32(&flow.actions, OVS_ACTION_ATTR_OUTPUT, 3);
    check_other_kind(&flow, "another action");

    flow_tcp(&flow, 1, 3);
    nl_msg_put_u32(&flow.key, OVS_KEY_ATTR_SKB_MARK, 1);
    check_other_kind(&flow, "a field");

    flow_tcp(&flow, 1, 3);
    ((uint8_t *) flow.mask.data)[NLA_HDRLEN] = 0;
    check_other_kind(&flow, "a bit of the mask");

    flow_tcp(&flow, 1, 3);
    find_ipv4(&flow)->ipv4_proto = IPPROTO_SCTP;
    check_other_kind(&flow, "the protocol");

    flow_tcp(&flow, 1, 3);
    find_ipv4(&flow)->ipv4_frag = OVS_FRAG_TYPE_LATER;
    check_other_kind(&flow, "being a fragment");

    flow_tcp(&flow, 1, 3);
    nest = nl_msg_start_nested(&flow.actions, OVS_ACTION_ATTR_CLONE);
    nl_msg_put_flag(&flow.actions, OVS_ACTION_ATTR_POP_VLAN);
    nl_msg_end_nested(&flow.actions, nest);
    check_other_kind(&flow, "a nested action");
}

static uint32_t
kind_with_meter(uint32_t meter)
{
    struct unit_flow flow;
    uint32_t kind;

    flow_init(&flow);
    nl_msg_put_u32(&flow.actions, OVS_ACTION_ATTR_METER, meter);
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

static uint32_t
kind_with_mark(uint32_t mark)
{
    struct unit_flow flow;
    uint32_t kind;

    flow_tcp(&flow, 1, 3);
    nl_msg_put_u32(&flow.key, OVS_KEY_ATTR_SKB_MARK, mark);
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

static uint32_t
kind_with_type(uint16_t eth_type)
{
    struct unit_flow flow;
    uint32_t kind;

    flow_init(&flow);
    nl_msg_put_be16(&flow.key, OVS_KEY_ATTR_ETHERTYPE, htons(eth_type));
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

static uint32_t
kind_with_set(uint16_t field)
{
    struct unit_flow flow;
    uint32_t kind;
    size_t nest;

    flow_init(&flow);
    nest = nl_msg_start_nested(&flow.actions, OVS_ACTION_ATTR_SET);
    nl_msg_put_u32(&flow.actions, field, 1);
    nl_msg_end_nested(&flow.actions, nest);
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

/* A flow in a tunnel, whose key has the id 'id' and the attribute 'field'. */
static uint32_t
kind_in_tunnel(uint64_t id, uint16_t field)
{
    struct unit_flow flow;
    uint32_t kind;
    size_t nest;

    flow_init(&flow);
    nest = nl_msg_start_nested(&flow.key, OVS_KEY_ATTR_TUNNEL);
    nl_msg_put_be64(&flow.key, OVS_TUNNEL_KEY_ATTR_ID, htonll(id));
    nl_msg_put_flag(&flow.key, field);
    nl_msg_end_nested(&flow.key, nest);
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

/* A flow that sends into a tunnel to 'dst', with id 'id' and TOS 'tos', or is
 * one of packets that have come from there if not 'sent'. */
static uint32_t
kind_of_tunnel(bool sent, uint32_t dst, uint64_t id, uint8_t tos)
{
    struct unit_flow flow;
    struct ofpbuf *buf = sent ? &flow.actions : &flow.key;
    size_t set = 0, nest;
    uint32_t kind;

    flow_init(&flow);
    if (sent) {
        set = nl_msg_start_nested(buf, OVS_ACTION_ATTR_SET);
    }
    nest = nl_msg_start_nested(buf, OVS_KEY_ATTR_TUNNEL);
    nl_msg_put_be64(buf, OVS_TUNNEL_KEY_ATTR_ID, htonll(id));
    nl_msg_put_be32(buf, (sent ? OVS_TUNNEL_KEY_ATTR_IPV4_DST
                          : OVS_TUNNEL_KEY_ATTR_IPV4_SRC), htonl(dst));
    nl_msg_put_u8(buf, OVS_TUNNEL_KEY_ATTR_TOS, tos);
    nl_msg_end_nested(buf, nest);
    if (sent) {
        nl_msg_end_nested(buf, set);
    }
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

/* A flow that sets the bits 'mask' of the mark to 'value'. */
static uint32_t
kind_with_masked_set(uint32_t value, uint32_t mask)
{
    uint32_t masked[] = { value, mask };
    struct unit_flow flow;
    uint32_t kind;
    size_t nest;

    flow_init(&flow);
    nest = nl_msg_start_nested(&flow.actions, OVS_ACTION_ATTR_SET_MASKED);
    nl_msg_put_unspec(&flow.actions, OVS_KEY_ATTR_SKB_MARK, masked,
                      sizeof masked);
    nl_msg_end_nested(&flow.actions, nest);
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

/* A flow that sends packets to connection tracking, with translation of
 * addresses of type 'nat'. */
static uint32_t
kind_with_nat(uint16_t nat)
{
    struct unit_flow flow;
    size_t ct, nest;
    uint32_t kind;

    flow_init(&flow);
    ct = nl_msg_start_nested(&flow.actions, OVS_ACTION_ATTR_CT);
    nest = nl_msg_start_nested(&flow.actions, OVS_CT_ATTR_NAT);
    nl_msg_put_flag(&flow.actions, nat);
    nl_msg_end_nested(&flow.actions, nest);
    nl_msg_end_nested(&flow.actions, ct);
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

static uint32_t
kind_with_state(uint32_t state)
{
    struct unit_flow flow;
    uint32_t kind;

    flow_tcp(&flow, 1, 3);
    nl_msg_put_u32(&flow.key, OVS_KEY_ATTR_CT_STATE, state);
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

static uint32_t
kind_with_vlan(uint16_t tpid, uint16_t tci)
{
    struct ovs_action_push_vlan vlan = {
        .vlan_tpid = htons(tpid), .vlan_tci = htons(tci),
    };
    struct unit_flow flow;
    uint32_t kind;

    flow_init(&flow);
    nl_msg_put_unspec(&flow.actions, OVS_ACTION_ATTR_PUSH_VLAN, &vlan,
                      sizeof vlan);
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

static uint32_t
kind_with_ipv6(uint8_t proto, uint8_t frag)
{
    struct ovs_key_ipv6 ip = { .ipv6_proto = proto, .ipv6_frag = frag };
    struct unit_flow flow;
    uint32_t kind;

    flow_init(&flow);
    nl_msg_put_unspec(&flow.key, OVS_KEY_ATTR_IPV6, &ip, sizeof ip);
    kind = flow_kind(&flow);
    flow_uninit(&flow);
    return kind;
}

static void
metadata_counts_as_zero_or_not(void **state OVS_UNUSED)
{
    assert_int_equal(kind_with_mark(1), kind_with_mark(2));
    assert_int_not_equal(kind_with_mark(0), kind_with_mark(1));
}

static void
meters_count(void **state OVS_UNUSED)
{
    assert_int_equal(kind_with_meter(1), kind_with_meter(1));
    assert_int_not_equal(kind_with_meter(1), kind_with_meter(2));
}

static void
protocols_fields_set_and_tunnels_count(void **state OVS_UNUSED)
{
    assert_int_not_equal(kind_with_type(ETH_TYPE_IP),
                         kind_with_type(ETH_TYPE_ARP));
    assert_int_not_equal(kind_with_set(OVS_KEY_ATTR_SKB_MARK),
                         kind_with_set(OVS_KEY_ATTR_PRIORITY));
    assert_int_equal(kind_in_tunnel(1, OVS_TUNNEL_KEY_ATTR_CSUM),
                     kind_in_tunnel(2, OVS_TUNNEL_KEY_ATTR_CSUM));
    assert_int_not_equal(kind_in_tunnel(1, OVS_TUNNEL_KEY_ATTR_CSUM),
                         kind_in_tunnel(1, OVS_TUNNEL_KEY_ATTR_OAM));
    assert_int_not_equal(kind_with_ipv6(IPPROTO_TCP, 0),
                         kind_with_ipv6(IPPROTO_UDP, 0));
    assert_int_not_equal(kind_with_ipv6(IPPROTO_TCP, 0),
                         kind_with_ipv6(IPPROTO_TCP, 1));
}

static void
ends_of_tunnels_count(void **state OVS_UNUSED)
{
    /* The driver looks for the way to the remote end. */
    assert_int_not_equal(kind_of_tunnel(true, 1, 5, 0),
                         kind_of_tunnel(true, 2, 5, 0));
    assert_int_equal(kind_of_tunnel(true, 1, 5, 0),
                     kind_of_tunnel(true, 1, 6, 0));
    assert_int_equal(kind_of_tunnel(true, 1, 5, 0),
                     kind_of_tunnel(true, 1, 5, 1));

    /* Where packets come from is only compared. */
    assert_int_equal(kind_of_tunnel(false, 1, 5, 0),
                     kind_of_tunnel(false, 2, 5, 0));
}

static void
what_actions_are_about_counts(void **state OVS_UNUSED)
{
    assert_int_equal(kind_with_masked_set(1, 3), kind_with_masked_set(2, 3));
    assert_int_not_equal(kind_with_masked_set(1, 3),
                         kind_with_masked_set(1, 1));
    assert_int_equal(kind_with_nat(OVS_NAT_ATTR_SRC),
                     kind_with_nat(OVS_NAT_ATTR_SRC));
    assert_int_not_equal(kind_with_nat(OVS_NAT_ATTR_SRC),
                         kind_with_nat(OVS_NAT_ATTR_DST));
    assert_int_equal(kind_with_vlan(ETH_TYPE_VLAN_8021Q, 1),
                     kind_with_vlan(ETH_TYPE_VLAN_8021Q, 2));
    assert_int_not_equal(kind_with_vlan(ETH_TYPE_VLAN_8021Q, 1),
                         kind_with_vlan(ETH_TYPE_VLAN_8021AD, 1));
}

static void
tracked_states_count(void **state OVS_UNUSED)
{
    assert_int_equal(kind_with_state(1), kind_with_state(1));
    assert_int_not_equal(kind_with_state(1), kind_with_state(2));
}

static void
attributes_that_end_early_are_left_out(void **state OVS_UNUSED)
{
    struct offload_desc *desc;
    struct unit_flow flow;

    flow_tcp(&flow, 1, 3);
    for (size_t n = flow.key.size; n > 0; n--) {
        flow.key.size = n - 1;
        desc = flow_desc(&flow);
        assert_int_equal(desc->key_len, n - 1);
        offload_desc_unref(desc);
    }
    flow_uninit(&flow);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_and_chain_are_told),
        cmocka_unit_test(flow_without_port_and_chain_has_none),
        cmocka_unit_test(children_are_found_in_nested_actions),
        cmocka_unit_test(actions_are_looked_into_as_deep_as_the_kernel_takes),
        cmocka_unit_test(children_are_limited_in_number),
        cmocka_unit_test(outputs_and_meters_are_told),
        cmocka_unit_test(flows_that_differ_in_values_are_of_a_kind),
        cmocka_unit_test(flows_are_spread_by_what_they_match),
        cmocka_unit_test(what_a_device_may_object_to_makes_another_kind),
        cmocka_unit_test(metadata_counts_as_zero_or_not),
        cmocka_unit_test(meters_count),
        cmocka_unit_test(protocols_fields_set_and_tunnels_count),
        cmocka_unit_test(ends_of_tunnels_count),
        cmocka_unit_test(what_actions_are_about_counts),
        cmocka_unit_test(tracked_states_count),
        cmocka_unit_test(attributes_that_end_early_are_left_out),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-desc", tests, NULL, NULL);
}
