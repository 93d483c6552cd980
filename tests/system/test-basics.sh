# SPDX-License-Identifier: Apache-2.0
#
# A switch that forwards.

add_test bridge_ports 'ports of a bridge reach each other' one-cpu
bridge_ports() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    connect br0 n3 10.0.0.3/24
    ping_works n1 10.0.0.2
    ping_works n1 10.0.0.3
    ping_works n3 10.0.0.2
    tcp_works n1 10.0.0.2@n2
    matches "$(ovs-vsctl show)" 'Port v-n3'
    matches "$(ovs-appctl dpctl/show)" 'port [0-9]+: v-n1'
    wait_until $PATIENCE makes_flow n1 10.0.0.2 'in_port\('
    equal "$(upcalls_lost)" 0 'upcalls lost'
}

add_test bridge_local_port "the bridge's own device is a port" one-cpu
bridge_local_port() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    ip address add 10.0.0.100/24 dev br0
    ip link set br0 up
    ping_works n1 10.0.0.100
    ovs-vsctl add-port br0 int0 -- set Interface int0 type=internal
    ip netns add n2
    ip link set int0 netns n2
    ip -n n2 address add 10.0.0.2/24 dev int0
    ip -n n2 link set int0 up
    ping_works n2 10.0.0.1
    ping_works n2 10.0.0.100
}

add_test vlan_access 'access ports of different VLANs are separate' one-cpu
vlan_access() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24 tag=10
    connect br0 n2 10.0.0.2/24 tag=10
    connect br0 n3 10.0.0.3/24 tag=20
    ping_works n1 10.0.0.2
    ping_fails n1 10.0.0.3
    ovs-vsctl set Port v-n3 tag=10
    ping_works n1 10.0.0.3
    ovs-vsctl set Port v-n2 tag=20
    ping_stops n1 10.0.0.2
}

add_test vlan_trunk 'a trunk port carries the VLANs that it is told to' one-cpu
vlan_trunk() {
    local vlan
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.1.0.1/24 tag=10
    connect br0 n2 10.2.0.1/24 tag=20
    connect br0 n3 10.3.0.1/24 tag=30
    connect br0 t '' trunks=10,20
    for vlan in 1 2 3; do
        ip -n t link add link eth0 name "eth0.${vlan}0" type vlan id "${vlan}0"
        ip -n t address add "10.$vlan.0.2/24" dev "eth0.${vlan}0"
        ip -n t link set "eth0.${vlan}0" up
    done
    # What comes in other VLANs, such as the address discovery of IPv6.
    allow_log 'dropping VLAN (0|30) packet received on port v-t '
    ping_works n1 10.1.0.2
    ping_works n2 10.2.0.2
    ping_fails n3 10.3.0.2
    tcp_works t 10.2.0.1@n2
}

add_test patch_ports \
    'two bridges joined by patch ports are one network' one-cpu
patch_ports() {
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0 -- add-br br1 \
        -- add-port br0 p0 -- set Interface p0 type=patch options:peer=p1 \
        -- add-port br1 p1 -- set Interface p1 type=patch options:peer=p0
    connect br0 n1 10.0.0.1/24
    connect br1 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    tcp_works n2 10.0.0.1@n1
    ovs-vsctl del-port br1 p1
    allow_log 'p0.*p1'
    ping_stops n1 10.0.0.2
}
