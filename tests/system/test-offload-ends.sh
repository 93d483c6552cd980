# SPDX-License-Identifier: Apache-2.0
#
# What ends offload: ports, devices and bridges that go.

add_test offload_cleanup \
    'nothing of ours remains where offload has ended (O5)' kdp 200
offload_cleanup() {
    start_frames
    separate_frames
    install_flows 50 "$FRAMES"
    tc_rules v-left >n
    equal "$(cat n)" 50 'rules'
    # A port with flows of its own, and to which flows go.
    ovs-vsctl del-port v-right
    wait_until $PATIENCE flows_shown 0 tc v-right
    check_tc_agrees br0 v-left v-right
    ovs-vsctl add-port br0 v-right -- set Interface v-right ofport_request=2
    wait_until $PATIENCE port_is_up v-right
    install_flows 50 "$FRAMES.*v-right"
    ovs-vsctl del-port v-left
    check_no_rules v-left
    check_tc_agrees br0 v-left v-right

    ovs-vsctl add-port br0 v-left -- set Interface v-left ofport_request=1
    wait_until $PATIENCE port_is_up v-left
    install_flows 50 "$FRAMES"
    ovs-vsctl del-br br0
    check_no_rules v-left v-right
    # Its flows went with the datapath.
    equal "$(ovs-appctl dpctl/dump-dps)" '' 'datapaths after the bridge went'
}

# Open vSwitch's translation of a flow into a rule complains when the device has
# gone between the offer and the request.
add_test offload_device_goes 'a device goes while its flows are in tc' kdp 200
offload_device_goes() {
    local i
    ports_go_under_traffic
    allow_log 'could not (open|add) network device v-' \
        'cannot get R?STP stat(us|s) on nonexistent port' \
        'ethtool command ETHTOOL_[A-Z]* on network device v-.* failed: No such' \
        'flow_put: failed to get ifindex for v-[a-z]*: No such device'
    start_frames
    separate_frames
    for i in 1 2 3; do
        install_flows 50 "$FRAMES"
        start_sender sent left -n 0 -r 100
        ip link del v-left
        stop_background sent || :
        wait_until $PATIENCE flows_shown 0 all "$FRAMES"
        wait_until $PATIENCE offload_is_settled
        add_veth left ''
        wait_until $PATIENCE test -e /sys/class/net/v-left/master
        ovs-vsctl set Interface v-left ofport_request=1
        interface_becomes v-left ofport=1
        check_tc_agrees br0 v-left v-right
    done
    # In the other direction: an output goes.
    install_flows 50 "$FRAMES"
    ip link del v-right
    wait_until $PATIENCE flows_shown 0 tc "v-right"
    check_tc_agrees br0 v-left
}

add_test offload_device_replaced \
    'a device is made again before its flows are looked at' kdp 200
offload_device_replaced() {
    local i name port
    allow_log 'could not (open|add) network device v-' \
        'cannot get R?STP stat(us|s) on nonexistent port' \
        'ethtool command ETHTOOL_[A-Z]* on network device v-.* failed: No such' \
        'flow_put: failed to get ifindex for v-[a-z]*: No such device'
    start_frames
    ovs-vsctl set Interface v-left ofport_request=1 -- \
        set Interface v-right ofport_request=2
    # The input and the output of the flow.
    for i in 1 2 3 4 5 6; do
        name=left port=1
        test $((i % 2)) = 1 || name=right port=2
        install_frames_flow tc
        kill -STOP "$DAEMON_PID"
        ip link del "v-$name"
        add_veth $name ''
        kill -CONT "$DAEMON_PID"
        # The new device is a port, not what the database says of the old one.
        wait_until $PATIENCE test -e "/sys/class/net/v-$name/master"
        interface_becomes "v-$name" ofport=$port
        install_frames_flow tc
        wait_until $PATIENCE rules_lead_to v-right
        check_tc_agrees br0 v-left v-right
        start_receiver received right
        send_frames left --same -n 20
        received_all received
        check_tc_agrees br0 v-left v-right
    done
}

# True if $1 ports have a channel.
channels_are() {
    test "$(upcall_json .n_ports)" = "$1"
}

add_test offload_database_away \
    'a device goes while the database is away' kdp 200
offload_database_away() {
    local channels
    allow_log 'could not (open|add) network device v-' \
        'cannot get R?STP stat(us|s) on nonexistent port'
    start_frames
    install_frames_flow tc
    channels=$(upcall_json .n_ports)
    lose_database
    ip link del v-left
    wait_until $PATIENCE channels_are $((channels - 1))
    wait_until $PATIENCE flows_shown 0 tc "$FRAMES"
    wait_until $PATIENCE offload_is_settled
    add_veth left ''
    restart_ovsdb
    wait_until $PATIENCE test -e /sys/class/net/v-left/master
    ovs-vsctl set Interface v-left ofport_request=1
    interface_becomes v-left ofport=1
    install_frames_flow tc
    check_tc_agrees br0 v-left v-right
}

# Starts as start_frames does, with a daemon whose deletions from tc fail while
# file no-deletion exists.
start_without_deletion() {
    local library=${KDP_TRAFFIC%/*}/no-tc-deletion.so
    test -e "$library" || fail "$library is missing"
    allow_log 'transaction error \(Cannot allocate memory\)' \
        'failed to flow_del'
    export KDP_NO_TC_DELETION=$KDP_WORK/no-deletion
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" \
        LD_PRELOAD=$library start_frames
}

# True if $1 rules on v-left send packets somewhere.
redirections_are() {
    test "$(tc filter show dev v-left ingress |
        grep -c 'action order [0-9]*: mirred ')" = "$1"
}

# Prints the packets of the flow in OpenFlow.
openflow_packets() {
    ovs-ofctl dump-flows br0 in_port=1 |
        sed -n 's/.*n_packets=\([0-9]*\).*/\1/p'
}

openflow_packets_are() {
    test "$(openflow_packets)" = "$1"
}

# True if tc has not deleted $1 rules for long.
stuck_are() {
    test "$(offload_json .deletions_stuck)" = "$1"
}

add_test offload_deletion_fails \
    'rules that tc does not delete go later, and all packets count (O2, O5)' \
    kdp 150
offload_deletion_fails() {
    local before
    start_without_deletion
    install_frames_flow tc
    wait_until $PATIENCE redirections_are 1

    # The revalidators delete it, and find it again.
    touch no-deletion
    ovs-appctl revalidator/purge
    before=$(openflow_packets)
    wait_until $PATIENCE stuck_are 1
    redirections_are 1 || fail 'the rule is gone'
    matches "$(ovs-appctl offload/show)" 'deletions tried again 1 [(]1 for long'
    matches "$(ovs-appctl kdp/doctor)" 'offload-rules-left'
    start_receiver received right
    send_frames left --same -n 50
    received_all received
    # As usual: tests have flows stay for long.
    set_other_config max-idle 10000
    rm no-deletion
    wait_until $PATIENCE redirections_are 0
    wait_until $PATIENCE flows_shown 0 all "$FRAMES"
    wait_until $PATIENCE openflow_packets_are $((before + 50))
    # Frames that come now make a new flow.
    set_other_config max-idle 1000000
    install_frames_flow tc
    check_tc_agrees br0 v-left v-right

    # The flow changes: frames stop when the old rule goes.
    touch no-deletion
    ovs-ofctl del-flows br0
    wait_until $PATIENCE stuck_are 1
    redirections_are 1 || fail 'the rule is gone'
    rm no-deletion
    wait_until $PATIENCE redirections_are 0
    wait_until $PATIENCE stuck_are 0
    check_tc_agrees br0 v-left v-right
}

add_test offload_deletion_exit \
    'the daemon ends though tc does not delete rules (O5, O7)' kdp 150
offload_deletion_exit() {
    start_without_deletion
    install_frames_flow tc
    touch no-deletion
    ovs-appctl revalidator/purge
    wait_until $PATIENCE stuck_are 1
    stop_daemon --cleanup
    unset DAEMON_PID
    redirections_are 1 || fail 'the rule is gone'
    logged 'could not be deleted from tc: .*; its rule stays' ||
        fail 'nothing is said of the rule'
    # The next run finds it.
    rm no-deletion
    unset KDP_NO_TC_DELETION
    start_daemon
    restrict_frames
    install_frames_flow tc
    check_tc_agrees br0 v-left v-right
    stop_daemon --cleanup
    unset DAEMON_PID
    check_no_rules v-left v-right
}

# True if the daemon has at most $1 files, $2 of them netlink sockets.
daemon_has_at_most() {
    local fds sockets
    fds=$(daemon_fds)
    sockets=$(daemon_netlink_sockets)
    note "$fds files, $sockets netlink sockets; expected at most $1 and $2"
    test "$fds" -le "$1" && test "$sockets" -le "$2"
}

add_test offload_leaks \
    'nothing leaks when ports and offload come and go (O5)' kdp 400
offload_leaks() {
    local i fds sockets
    start_frames
    separate_frames
    one_round() {
        install_flows 10 "$FRAMES"
        if test $(($1 % 2)) = 0; then
            set_offload false
            check_no_rules v-left
            set_offload true
        fi
        ovs-vsctl del-port v-left
        check_no_rules v-left
        ovs-vsctl add-port br0 v-left -- \
            set Interface v-left ofport_request=1
    }
    for i in 1 2 3 4; do
        one_round $i
    done
    fds=$(daemon_fds)
    sockets=$(daemon_netlink_sockets)
    for ((i = 0; i < 20; i++)); do
        one_round $i
    done
    # Threads keep sockets for their next use, and the socket of a port goes
    # some time after the port.
    wait_until $PATIENCE daemon_has_at_most $((fds + 2)) $((sockets + 2))
    check_tc_agrees br0 v-left v-right
    equal "$(offload_json .total.leaked)" 0 'rules leaked'
    equal "$(offload_json .total.lost)" 0 'flows lost'
}
