/* SPDX-License-Identifier: Apache-2.0 */

/* Ports, and descriptions of flows. */

#include <config.h>
#include "fake/tc-fake.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>

#include "dpif-netlink/datapath.h"
#include "harness/netns.h"
#include "harness/unit.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "openvswitch/ofpbuf.h"
#include "ovs/compat-offload.h"
#include "packets.h"
#include "tc/tc-desc.h"
#include "util.h"

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
    struct netdev *netdev;

    make_device(device, name);
    unit_check(!netdev_open(name, "system", &netdev));
    netdev_set_dpif_type(netdev, kdp_dpif_type);
    unit_check(!ovs_compat_ports_insert(netdev, u32_to_odp(port_no)));
    ovs_compat_offload_set_prepared(netdev, true);
    netdev_close(netdev);
}

static void
remove_port(uint32_t port_no)
{
    struct netdev *netdev = ovs_compat_ports_get(u32_to_odp(port_no),
                                                 kdp_dpif_type);

    unit_check(netdev);
    ovs_compat_offload_set_prepared(netdev, false);
    unit_check(!ovs_compat_ports_remove(u32_to_odp(port_no), kdp_dpif_type));
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

#ifndef OVS_HAVE_DPIF_OFFLOAD
    /* Code that looked a port up has closed its device.  With a dpif-offload
     * provider the port itself does so only after a grace period. */
    for (uint32_t i = 1; i <= n; i++) {
        char name[IFNAMSIZ];

        make_device(i, name);
        unit_check(!netdev_from_name(name));
    }
#endif
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
    /* Whether a packet is a fragment is always matched on. */
    struct ovs_key_ipv4 ip_mask = {
        .ipv4_dst = OVS_BE32_MAX, .ipv4_frag = UINT8_MAX,
    };

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

uint32_t unit_tc_chain = 1;

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
                   flags & UNIT_TC_OF_CHAIN ? unit_tc_chain : 0);
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
    if (flags & UNIT_TC_TO_CHAIN) {
        nl_msg_put_u32(&actions, OVS_ACTION_ATTR_RECIRC, unit_tc_chain);
    } else {
        nl_msg_put_u32(&actions, OVS_ACTION_ATTR_OUTPUT, 1);
    }
    desc = kdp_tc_desc_create(&ufid, key.data, key.size, mask.data, mask.size,
                              actions.data, actions.size);
    ofpbuf_uninit(&key);
    ofpbuf_uninit(&mask);
    ofpbuf_uninit(&actions);
    return desc;
}
