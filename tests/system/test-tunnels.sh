# SPDX-License-Identifier: Apache-2.0
#
# Tunnels, to the kernel's own implementation in another namespace.

# Bridge br-u is the physical network, with this host at 172.31.1.100 and
# namespace "remote" at 172.31.1.1.  Bridge br0 has namespace n1 and a tunnel of
# type $1.  The options of the remote end are $2...
tunnel_works() {
    local type=$1
    shift
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br-u -- add-br br0
    connect br-u remote 172.31.1.1/24
    ip address add 172.31.1.100/24 dev br-u
    ip link set br-u up
    ping_works remote 172.31.1.100

    connect br0 n1 10.1.1.1/24
    ovs-vsctl add-port br0 t0 -- set Interface t0 "type=$type" \
        options:remote_ip=172.31.1.1 options:key=42
    ip -n remote link add tun0 type "$type" id 42 remote 172.31.1.100 "$@"
    ip -n remote address add 10.1.1.2/24 dev tun0
    ip -n remote link set tun0 up

    ping_works n1 10.1.1.2
    ping_works remote 10.1.1.1
    tcp_works n1 10.1.1.2@remote
    matches "$(ovs-appctl dpctl/show)" "\($type: packet_type=ptap\)"
    wait_until $PATIENCE makes_flow n1 10.1.1.2 'tun_id=0x2a'
    equal "$(upcalls_lost)" 0 'upcalls lost'

    ovs-vsctl del-port br0 t0
    allow_log 'receive tunnel port not found'
    ping_stops n1 10.1.1.2
    ovs-vsctl add-port br0 t0 -- set Interface t0 "type=$type" \
        options:remote_ip=172.31.1.1 options:key=42
    ping_works n1 10.1.1.2
}

add_test vxlan 'a VXLAN tunnel works, and does when added again' one-cpu
vxlan() {
    tunnel_works vxlan dstport 4789
}

add_test geneve 'a Geneve tunnel works, and does when added again' one-cpu
geneve() {
    tunnel_works geneve
}
