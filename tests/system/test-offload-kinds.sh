# SPDX-License-Identifier: Apache-2.0
#
# Kinds of ports and flows.

add_test offload_vxlan 'a VXLAN tunnel is offloaded' kdp one-cpu 150
offload_vxlan() {
    local devs='br0 br-u v-n1 v-remote vxlan_sys_4789'
    ports_go_under_traffic
    start_with_offload
    ovs-vsctl add-br br-u -- add-br br0
    connect br-u remote 172.31.1.1/24
    ip address add 172.31.1.100/24 dev br-u
    ip link set br-u up
    ping_works remote 172.31.1.100
    connect br0 n1 10.1.1.1/24
    ovs-vsctl add-port br0 t0 -- set Interface t0 type=vxlan \
        options:remote_ip=172.31.1.1 options:key=42
    ip -n remote link add tun0 type vxlan id 42 remote 172.31.1.100 \
        dstport 4789
    ip -n remote address add 10.1.1.2/24 dev tun0
    ip -n remote link set tun0 up
    ping_works n1 10.1.1.2
    tcp_works n1 10.1.1.2@remote
    wait_until $PATIENCE flows_shown_at_least 1 tc \
        'tunnel(tun_id=0x2a.*eth_type(0x0800)'
    wait_until $PATIENCE flows_shown_at_least 1 tc \
        'in_port(v-n1).*eth_type(0x0800).*set(tunnel('
    # shellcheck disable=SC2086
    check_tc_agrees $devs
    set_offload false
    # shellcheck disable=SC2086
    check_no_rules $devs
    ping_works n1 10.1.1.2
    set_offload true
    wait_until $PATIENCE flows_shown_at_least 1 tc 'tunnel(tun_id=0x2a'
    ping_works n1 10.1.1.2
    # shellcheck disable=SC2086
    check_tc_agrees $devs
    # Open vSwitch's translation of a flow into a rule complains when the port
    # has gone between the offer and the request.
    allow_log 'flow_put: failed to get ifindex for t0: No such device'
    ovs-vsctl del-port br0 t0
    wait_until $PATIENCE flows_shown 0 tc 'tunnel('
    # shellcheck disable=SC2086
    check_tc_agrees $devs
    allow_log 'receive tunnel port not found'
}

add_test offload_vlan 'VLAN tags are pushed and popped in tc' kdp one-cpu 120
offload_vlan() {
    start_with_offload
    ovs-vsctl add-br br0
    connect br0 left 10.1.1.1/24 tag=10
    connect br0 right ''
    ip -n right link add link eth0 name eth0.10 type vlan id 10
    ip -n right address add 10.1.1.2/24 dev eth0.10
    ip -n right link set eth0.10 up
    ping_works left 10.1.1.2
    tcp_works left 10.1.1.2@right
    wait_until $PATIENCE flows_shown_at_least 1 tc \
        'in_port(v-left).*eth_type(0x0800).*push_vlan(vid=10'
    wait_until $PATIENCE flows_shown_at_least 1 tc \
        'in_port(v-right).*vlan(vid=10.*eth_type(0x0800).*pop_vlan'
    ping_works left 10.1.1.2
    check_tc_agrees br0 v-left v-right
    set_offload false
    check_no_rules br0 v-left v-right
    ping_works left 10.1.1.2
}

add_test offload_internal \
    'flows from an internal port are offloaded' kdp one-cpu 200
offload_internal() {
    local flow='in_port(br0),.*eth_type(0x0800)'
    start_pings
    ip address add 10.1.1.100/24 dev br0
    ip link set br0 up
    wait_until $PATIENCE reaches left 10.1.1.100
    wait_until $PATIENCE flows_shown_at_least 1 tc "$flow"
    matches "$(tc qdisc show dev br0)" clsact
    test "$(tc filter show dev br0 egress | grep -c cookie)" -ge 1 ||
        fail 'no rule at the egress of br0'
    ping_works left 10.1.1.100
    tcp_works left 10.1.1.2@right
    check_tc_agrees br0 v-left v-right
    set_offload false
    check_no_rules br0 v-left v-right
    ping_works left 10.1.1.100
    set_offload true
    wait_until $PATIENCE flows_shown_at_least 1 tc "$flow"
    kill_daemon
    # There is a way without the daemon.
    wait_until $PATIENCE reaches left 10.1.1.100
    start_daemon
    ping_works left 10.1.1.100
    wait_until $PATIENCE flows_shown_at_least 1 tc "$flow"
    check_tc_agrees br0 v-left v-right
    # Nobody may know them any more.
    kill_daemon
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=false
    start_daemon
    ping_works left 10.1.1.100
    wait_until $PATIENCE no_tc_rules br0 v-left v-right
}

# Prints the number of policing rules on v-left.
policing_rules() {
    tc -j filter show dev v-left ingress |
        jq '[.[] | select(.kind == "matchall" and .options.actions)] | length'
}

policing_rules_are() {
    test "$(policing_rules)" = "$1"
}

add_test offload_policing \
    'policing and offload do not disturb each other' kdp one-cpu 150
offload_policing() {
    local i
    start_pings
    ovs-vsctl set Interface v-left ingress_policing_rate=1000000 \
        ingress_policing_burst=100000
    wait_until $PATIENCE policing_rules_are 1
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    tcp_works left 10.1.1.2@right
    check_tc_agrees br0 v-left v-right
    for i in false true; do
        set_offload $i
        equal "$(policing_rules)" 1 "policing with hw-offload=$i"
        ping_works left 10.1.1.2
    done
    wait_until $PATIENCE flows_shown_at_least 2 tc 'eth_type(0x0800)'
    ovs-vsctl set Interface v-left ingress_policing_rate=2000000
    check_tc_agrees br0 v-left v-right
    ovs-vsctl set Interface v-left ingress_policing_rate=0 \
        ingress_policing_burst=0
    wait_until $PATIENCE policing_rules_are 0
    check_tc_agrees br0 v-left v-right
    ping_works left 10.1.1.2
}

add_test offload_meter 'meters work with offload' kdp one-cpu 120
offload_meter() {
    start_frames
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        'meter=1,pktps,stats,bands=type=drop,rate=100000'
    ovs-ofctl -O OpenFlow13 del-flows br0
    ovs-ofctl -O OpenFlow13 add-flow br0 'in_port=1,actions=meter:1,output:2'
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 all "$FRAMES"
    wait_until $PATIENCE offload_is_settled
    start_receiver received right
    send_frames left --same -n 50 -r 100
    received_all received
    flow_count_is "$FRAMES" 50 || fail "$(dump_flows all)"
    check_tc_agrees br0 v-left v-right
    set_offload false
    check_no_rules v-left
    start_receiver received right
    send_frames left --same -n 50 -r 100
    received_all received
    flow_count_is "$FRAMES" 100 || fail "$(dump_flows all)"
    matches "$(ovs-ofctl -O OpenFlow13 meter-stats br0)" 'meter:1'
    # What the meter has counted before, and for others, is not the flow's.
    set_offload true
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    flow_count_is "$FRAMES" 100 || fail "$(dump_flows all)"
    ovs-ofctl -O OpenFlow13 add-flow br0 'in_port=2,actions=meter:1,output:1'
    send_frames right --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES_BACK"
    start_receiver received left
    send_frames right --same -n 20 -r 100
    received_all received
    flow_count_is "$FRAMES_BACK" 20 || fail "$(dump_flows all)"
    start_receiver received right
    send_frames left --same -n 50 -r 100
    received_all received
    flow_count_is "$FRAMES" 150 || fail "$(dump_flows all)"
    flow_count_is "$FRAMES_BACK" 20 || fail "$(dump_flows all)"
    check_tc_agrees br0 v-left v-right
    # Of what does nothing else, no rule could be told as ours.
    ovs-ofctl -O OpenFlow13 del-flows br0
    ovs-ofctl -O OpenFlow13 add-flow br0 in_port=1,actions=meter:1
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 all "$FRAMES.*meter("
    wait_until $PATIENCE offload_is_settled
    check_tc_agrees br0 v-left v-right
    equal "$(tc filter show dev v-left ingress)" '' 'rules of any kind'
    # One that drops.
    ovs-ofctl -O OpenFlow13 mod-meter br0 \
        'meter=1,pktps,stats,bands=type=drop,rate=1'
    ovs-ofctl -O OpenFlow13 del-flows br0
    ovs-ofctl -O OpenFlow13 del-meters br0
    wait_until $PATIENCE flows_shown 0 all 'meter('
}
