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

add_test tunnel_senders \
    'of two remotes behind a tunnel port, the one that floods is named (U10)' kdp
tunnel_senders() {
    local i before
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br-u -- add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=9
    for i in 1 2; do
        connect br-u "remote$i" "172.31.1.$i/24"
        ovs-vsctl add-port br0 "t$i" -- set Interface "t$i" type=geneve \
            "options:remote_ip=172.31.1.$i" options:key=5 "ofport_request=$i"
        every_frame_is_new br0 "$i" 9
    done
    ip address add 172.31.1.100/24 dev br-u
    ip link set br-u up
    for i in 1 2; do
        ping_works "remote$i" 172.31.1.100
        ip -n "remote$i" link add tun0 type geneve id 5 remote 172.31.1.100
        ip -n "remote$i" link set tun0 up
    done

    # The first upcall shows that the port is a tunnel.
    tunnel_frames remote2 -n 1 -s 3
    tunnel_frames remote2 -n 20 -s 0
    wait_until $PATIENCE has_sent 172.31.1.2 20
    note "$(ovs-appctl upcall/show --senders)"

    set_other_config upcall-target-delay 1
    wait_until $PATIENCE upcalls_say target_delay_us 1000
    allow_log 'lost packet on port channel [0-9]+ \(genev_sys_6081\): '
    in_ns_background flood@remote1 "$KDP_TRAFFIC" send -n 0 -s 1 tun0
    wait_until $PATIENCE first_sender_is_shed 172.31.1.1
    note "$(ovs-appctl upcall/show --senders)"
    matches "$(ovs-appctl kdp/doctor)" \
        'sender-shed: .*port genev_sys_6081: remote 172\.31\.1\.1, VNI 5: '
    # No more than a turn, which is never shed.  The network may lose some.
    before=$(sender_json 172.31.1.2 .received)
    tunnel_frames remote2 -n 4 -s 2
    wait_until $PATIENCE has_sent 172.31.1.2 $((before + 1))
    matches "$(ovs-appctl upcall/show --senders --top 1 genev_sys_6081)" \
        '172\.31\.1\.1 +5 +[1-9]'
    stop_background flood
    equal "$(sender_json 172.31.1.2 .shed)" 0 'upcalls shed of the quiet one'
}

# Has namespace $1 send frames through the tunnel, with options $2... of "traffic
# send".
tunnel_frames() {
    local ns=$1
    shift
    in_ns "$ns" "$KDP_TRAFFIC" send "$@" tun0 >/dev/null
}

# Prints member $2 of the sender with address $1.
sender_json() {
    ovs-appctl upcall/show genev_sys_6081 --format json |
        jq -r ".[0].senders[] | select(.remote == \"$1\") | $2"
}

# True if at least $2 upcalls of the sender with address $1 were handed out: its
# system sends packets of its own, too.
has_sent() {
    local received
    received=$(sender_json "$1" .received)
    test "${received:-0}" -ge "$2"
}

# True if the sender with address $1 sends most, and some of it is shed.
first_sender_is_shed() {
    ovs-appctl upcall/show genev_sys_6081 --format json |
        jq -e ".[0].senders[0] | .remote == \"$1\" and .vni == 5
               and .shed > 0 and .shed_rate > 0" >/dev/null
}
