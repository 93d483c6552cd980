# SPDX-License-Identifier: Apache-2.0
#
# Statistics, traffic control and tunnels' routes of devices.

# Statistics of interface $1, as OVSDB has them, in lines of NAME=VALUE.
# Those of upcalls are not the device's.
statistics_of() {
    ovs-vsctl get Interface "$1" statistics | tr -d '{} "' | tr ',' '\n' |
        grep -v '^upcall_' | sort
}

# The port sends frames to unknown addresses, of which each kind is an upcall.
# Later versions of Open vSwitch leave all but what is shed to the kernel, which
# counts them since Linux 6.2.
upcalls_are_counted() {
    if test "$KDP_PROVIDERS" = kdp; then
        test "$(interface_get "$1" statistics:upcall_shed)" = 0 || return
    fi
    if at_least "$KDP_OVS_VERSION" 3.2; then
        at_least "$(uname -r)" 6.2 || return 0
    else
        test "$KDP_PROVIDERS" = kdp || return 0
    fi
    test "$(interface_get "$1" statistics:upcall_packets)" -gt 0 &&
        test "$(interface_get "$1" statistics:upcall_errors)" = 0
}

# What the kernel counts for device $1, under the names of OVSDB.
statistics_of_device() {
    local dir=/sys/class/net/$1/statistics name
    for name in collisions rx_bytes rx_crc_err:rx_crc_errors rx_dropped \
        rx_errors rx_frame_err:rx_frame_errors rx_missed_errors \
        rx_multicast_packets:multicast rx_over_err:rx_over_errors rx_packets \
        tx_bytes tx_dropped tx_errors tx_packets; do
        echo "${name%:*}=$(<"$dir/${name#*:}")"
    done | sort
}

statistics_are_equal() {
    test "$(statistics_of "$1")" = "$(statistics_of_device "$1")"
}

add_test statistics \
    "statistics are those that the kernel has for the device" one-cpu
statistics() {
    local before
    start_ovs
    ovs-vsctl add-br br0
    # Nothing comes but what the test sends.
    connect br0 n1 ''
    connect br0 n2 ''
    sysctl -q -w net.ipv6.conf.v-n1.disable_ipv6=1
    sysctl -q -w net.ipv6.conf.v-n2.disable_ipv6=1
    wait_until $PATIENCE statistics_are_equal v-n1
    before=$(interface_get v-n1 statistics:rx_packets)
    send_frames n1 --count 500
    wait_until $PATIENCE statistics_are_equal v-n1
    wait_until $PATIENCE statistics_are_equal v-n2
    test "$(interface_get v-n1 statistics:rx_packets)" -ge \
        $((before + 500)) || fail 'packets are missing'
    wait_until $PATIENCE upcalls_are_counted v-n1
    # What is sent to a device that is down is dropped there.
    ip link set v-n2 down
    send_frames n1 --count 50
    wait_until $PATIENCE statistics_are_equal v-n2
    equal "$(awk -F'[: ]+' '$2 == "v-n1" { print $4 }' /proc/net/dev)" \
        "$(cat /sys/class/net/v-n1/statistics/rx_packets)" \
        'what two files of the kernel say'
    # An internal port has what its datapath counts.
    wait_until $PATIENCE internal_statistics_are_there br0
}

internal_statistics_are_there() {
    local stats
    stats=$(statistics_of "$1")
    test "$(grep -c = <<<"$stats")" = 14 &&
        [[ $stats =~ rx_crc_err=0 && $stats =~ tx_errors=0 &&
            $stats =~ rx_packets=[0-9] ]]
}

tc_has() {
    tc "$1" show dev "$2" "${@:4}" | grep -qE "$3"
}

tc_lacks() {
    ! tc_has "$@"
}

add_test policing 'policing is set and removed, and leaves nothing' one-cpu
policing() {
    modprobe -a sch_ingress act_police cls_basic cls_matchall
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    tc_lacks qdisc v-n1 ingress
    ovs-vsctl set Interface v-n1 ingress_policing_rate=10000 \
        ingress_policing_burst=1000
    wait_until $PATIENCE tc_has qdisc v-n1 ingress
    wait_until $PATIENCE tc_has filter v-n1 'rate 10Mbit' ingress
    ovs-vsctl set Interface v-n1 ingress_policing_rate=20000
    wait_until $PATIENCE tc_has filter v-n1 'rate 20Mbit' ingress
    # Also when the device changes meanwhile.
    ip link set v-n1 mtu 1400
    ovs-vsctl set Interface v-n1 ingress_policing_rate=30000
    wait_until $PATIENCE tc_has filter v-n1 'rate 30Mbit' ingress
    ovs-vsctl set Interface v-n1 ingress_policing_rate=0
    wait_until $PATIENCE tc_lacks qdisc v-n1 ingress
    ovs-vsctl set Interface v-n1 ingress_policing_rate=10000
    wait_until $PATIENCE tc_has qdisc v-n1 ingress
    ovs-vsctl set Interface v-n1 ingress_policing_rate=0
    wait_until $PATIENCE tc_lacks qdisc v-n1 ingress
}

# Others' changes come with the next configuration, as the stock daemon has it.
add_test policing_restored 'policing that others removed is set again' one-cpu
policing_restored() {
    modprobe -a sch_ingress act_police cls_basic cls_matchall
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    ovs-vsctl set Interface v-n1 ingress_policing_rate=10000
    wait_until $PATIENCE tc_has filter v-n1 'rate 10Mbit' ingress
    tc qdisc del dev v-n1 ingress
    ip link set v-n1 mtu 1400
    ovs-vsctl set Bridge br0 other_config:x=y
    wait_until $PATIENCE tc_has filter v-n1 'rate 10Mbit' ingress
}

add_test qos \
    'quality of service is set and removed, and leaves nothing' one-cpu
qos() {
    modprobe -a sch_htb
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    tc_lacks qdisc v-n1 htb
    ovs-vsctl set Port v-n1 qos=@q -- --id=@q create QoS type=linux-htb \
        other-config:max-rate=10000000 queues:0=@q0 \
        -- --id=@q0 create Queue other-config:max-rate=5000000 >/dev/null
    wait_until $PATIENCE tc_has qdisc v-n1 'qdisc htb 1: root'
    wait_until $PATIENCE tc_has class v-n1 'ceil 5Mbit'
    ovs-vsctl clear Port v-n1 qos
    wait_until $PATIENCE tc_lacks qdisc v-n1 htb
    ovs-vsctl --all destroy QoS -- --all destroy Queue
    ovs-vsctl set Port v-n1 qos=@q -- --id=@q create QoS type=linux-htb \
        other-config:max-rate=10000000 >/dev/null
    wait_until $PATIENCE tc_has qdisc v-n1 'qdisc htb 1: root'
    ovs-vsctl del-port v-n1
    wait_until $PATIENCE tc_lacks qdisc v-n1 ingress
}

add_test qdisc_foreign \
    'what others have left at a device goes when it is added' one-cpu
qdisc_foreign() {
    modprobe -a sch_ingress sch_htb
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    add_ns n1 n2
    add_veth n1 10.0.0.1/24
    add_veth n2 10.0.0.2/24
    tc qdisc add dev v-n1 ingress
    ovs-vsctl add-port br0 v-n1 -- add-port br0 v-n2
    wait_until $PATIENCE tc_lacks qdisc v-n1 ingress
    ping_works n1 10.0.0.2
    ovs-vsctl del-port br0 v-n1
    tc qdisc add dev v-n1 ingress
    ovs-vsctl add-port br0 v-n1
    wait_until $PATIENCE tc_lacks qdisc v-n1 ingress
}

# The device through which tunnel $1 goes out is $2.
egress_is() {
    test "$(ovs-vsctl --if-exists get Interface "$1" \
        status:tunnel_egress_iface 2>/dev/null | tr -d '"')" = "$2"
}

add_test tunnel_route \
    'a tunnel follows its route, also one that comes later' one-cpu
tunnel_route() {
    start_ovs
    add_ns r1 r2
    add_veth r1 172.31.1.1/24
    add_veth r2 172.31.2.1/24
    ip address add 172.31.1.100/24 dev v-r1
    ip address add 172.31.2.100/24 dev v-r2
    ovs-vsctl add-br br0 -- add-port br0 t0 \
        -- set Interface t0 type=geneve options:remote_ip=172.31.9.9
    wait_until $PATIENCE port_is_up t0
    egress_is t0 '' || fail 'there is a route already'
    ip route add 172.31.9.0/24 via 172.31.1.1
    wait_until $PATIENCE egress_is t0 v-r1
    matches "$(ovs-appctl ovs/route/show)" '172.31.9.0/24 dev v-r1 GW 172.31.1.1'
    # One of a table that nobody uses does not come in between.
    ip route add 172.31.9.9/32 via 172.31.2.1 table 100
    matches "$(ovs-appctl ovs/route/lookup 172.31.9.9)" 'dev v-r1'
    # A more specific one, which goes with its device.
    ip route add 172.31.9.9/32 via 172.31.2.1
    wait_until $PATIENCE egress_is t0 v-r2
    ip link set v-r2 down
    wait_until $PATIENCE egress_is t0 v-r1
    ip link set v-r2 up
    ip route replace 172.31.9.0/24 via 172.31.2.1
    wait_until $PATIENCE egress_is t0 v-r2
    # And a device that has another name now.
    ip link set v-r1 down
    ip route add 172.31.8.0/24 via 172.31.2.1
    ovs-vsctl set Interface t0 options:remote_ip=172.31.8.8
    wait_until $PATIENCE egress_is t0 v-r2
    ip route delete 172.31.8.0/24
    wait_until $PATIENCE egress_is t0 ''
}
