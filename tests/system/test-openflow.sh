# SPDX-License-Identifier: Apache-2.0
#
# OpenFlow rules.

# A bridge with two namespaces, whose ports have the numbers 1 and 2, and no
# rules.
two_ports() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24 -- set Interface v-n1 ofport_request=1
    connect br0 n2 10.0.0.2/24 -- set Interface v-n2 ofport_request=2
    ovs-ofctl del-flows br0
}

add_test openflow_rules 'rules output, drop and are changed' one-cpu
openflow_rules() {
    two_ports
    ping_fails n1 10.0.0.2
    ovs-ofctl add-flows br0 - <<END
in_port=1,actions=output:2
in_port=2,actions=output:1
END
    ping_works n1 10.0.0.2
    ovs-ofctl add-flow br0 'priority=40000,icmp,actions=drop'
    ping_stops n1 10.0.0.2
    tcp_works n1 10.0.0.2@n2
    ovs-ofctl mod-flows br0 'icmp,actions=normal'
    ping_works n1 10.0.0.2
    ovs-ofctl --strict del-flows br0 'priority=40000,icmp'
    ovs-ofctl mod-flows br0 'in_port=2,actions=drop'
    ping_stops n1 10.0.0.2
}

add_test openflow_statistics 'rules and ports count packets' one-cpu
openflow_statistics() {
    two_ports
    ovs-ofctl add-flow br0 'in_port=1,dl_type=0x88b5,actions=output:2'
    start_receiver receiver n2
    send_frames n1 -n 100 -r 500 --same
    received_all receiver
    wait_until $PATIENCE rule_has_packets 100
    wait_until $PATIENCE port_has_sent 2 100
}

rule_has_packets() {
    [[ $(ovs-ofctl dump-flows br0) =~ n_packets=$1,.*dl_type=0x88b5 ]]
}

# At least, because the kernel sends some of its own through the device.
port_has_sent() {
    test "$(ovs-ofctl dump-ports br0 "$1" |
        sed -n 's/.*tx pkts=\([0-9]*\).*/\1/p')" -ge "$2"
}

add_test openflow_packet_in 'each packet for the controller gets there' one-cpu
openflow_packet_in() {
    two_ports
    ovs-ofctl add-flow br0 'in_port=1,dl_type=0x88b5,actions=controller'
    ovs-ofctl monitor br0 65534 --detach --no-chdir --pidfile -P nxt_packet_in \
        >"$KDP_WORK/monitor" 2>&1
    send_frames n1 -n 50 -r 500 --same
    wait_until $PATIENCE packet_ins_are 50
    equal "$(upcalls_lost)" 0 'upcalls lost'
}

packet_ins_are() {
    test "$(grep -c 'PACKET_IN.*in_port=1 (via action)' \
        "$KDP_WORK/monitor")" -eq "$1"
}

add_test openflow_packet_out "the controller's packets get out" one-cpu
openflow_packet_out() {
    two_ports
    start_receiver receiver n2
    # Frame 0 of stream 0, the last one.
    ovs-ofctl packet-out br0 "in_port=1 packet=$(
        printf 'ffffffffffff02000000000088b56b64707400000000%08d01%066d' 0 0
    ) actions=output:2"
    received_all receiver
}

add_test openflow_fields 'rules change header fields' one-cpu
openflow_fields() {
    two_ports
    ovs-ofctl add-flows br0 - <<END
arp,actions=normal
in_port=1,ip,nw_dst=10.0.0.9,actions=mod_nw_dst:10.0.0.2,output:2
in_port=2,ip,nw_src=10.0.0.2,actions=mod_nw_src:10.0.0.9,dec_ttl,output:1
END
    ip -n n1 neighbour add 10.0.0.9 dev eth0 lladdr "$(mac_of n2 eth0)"
    ping_works n1 10.0.0.9
    matches "$(in_ns n1 ping -c 1 -W $PATIENCE 10.0.0.9)" 'ttl=63'
}

add_test conntrack \
    'connection tracking lets answers pass and nothing new' one-cpu
conntrack() {
    two_ports
    ovs-ofctl add-flows br0 - <<END
priority=10,arp,actions=normal
priority=10,ip,ct_state=-trk,actions=ct(table=1)
priority=1,ip6,actions=drop
table=1,in_port=1,ip,ct_state=+trk+new,actions=ct(commit),output:2
table=1,in_port=1,ip,ct_state=+trk+est,actions=output:2
table=1,in_port=2,ip,ct_state=+trk+est,actions=output:1
table=1,in_port=2,ip,ct_state=+trk+new,actions=drop
END
    ping_works n1 10.0.0.2
    ping_fails n2 10.0.0.1
    tcp_works n1 10.0.0.2@n2
    matches "$(ovs-appctl dpctl/dump-conntrack)" \
        'tcp,orig=.src=10\.0\.0\.1,dst=10\.0\.0\.2'
    in_ns_background 'server@n1' timeout $PATIENCE nc -l 5000
    wait_until $PATIENCE is_listening n1 5000
    exits_with 1 in_ns n2 nc -z -w 2 10.0.0.1 5000
    # It may have ended by itself.
    kill "${BACKGROUND[server]}" 2>/dev/null || :
}

add_test conntrack_nat 'connection tracking translates addresses' one-cpu
conntrack_nat() {
    two_ports
    ovs-ofctl add-flows br0 - <<END
priority=10,arp,actions=normal
priority=10,in_port=1,ip,actions=ct(commit,nat(src=10.0.0.50)),output:2
priority=10,in_port=2,ip,ct_state=-trk,actions=ct(table=1,nat)
table=1,in_port=2,ip,ct_state=+trk+est,actions=output:1
END
    ip -n n2 neighbour add 10.0.0.50 dev eth0 lladdr "$(mac_of n1 eth0)"
    tcp_works n1 10.0.0.2@n2
    matches "$(ovs-appctl dpctl/dump-conntrack)" \
        'reply=.src=10\.0\.0\.2,dst=10\.0\.0\.50'
}
