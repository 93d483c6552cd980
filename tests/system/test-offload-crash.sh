# SPDX-License-Identifier: Apache-2.0
#
# What is in tc when the daemon crashes or ends, and starts.

# Checks that what a previous run left was taken over and that nothing is left
# that matches no flow.
check_adopted() {
    adopted_at_least "$1" ||
        fail "not adopted: $(offload_json '.total | tojson')"
    check_tc_agrees br0 v-left v-right
}

add_test offload_crash \
    'rules of a daemon that crashed forward and are taken over (O5)' \
    kdp 150
offload_crash() {
    local i
    start_pings
    ping_works left 10.1.1.2
    # Nobody asks for an address while there is no daemon.
    know_each_other
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    start_ping ping@left 10.1.1.2 -i 0.05
    for i in 1 2; do
        dump_flows tc | grep 'eth_type(0x0800)' |
            sed -n 's/^ufid:\([0-9a-f-]*\),.*/\1/p' | sort >before
        kill_daemon
        test "$(tc_rules v-left)" -ge 1 || fail 'no rule is left'
        pings_are_answered left 10.1.1.2 10
        start_daemon
        wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
        check_adopted 2
        # The revalidators agree with what was taken over.
        ovs-appctl revalidator/wait
        ovs-appctl revalidator/wait
        comm -23 before <(shown_ufids tc) >gone
        equal "$(cat gone)" '' 'flows that have gone'
    done
    ping_lost_nothing ping
    stop_daemon --cleanup
    unset DAEMON_PID
    check_no_rules v-left v-right
}

add_test offload_crash_restore \
    'flows and rules wait until OpenFlow is restored (O5)' \
    kdp 150
offload_crash_restore() {
    local before
    start_frames
    separate_frames
    send_frames left -n 20
    wait_until $PATIENCE flows_shown 20 tc "$FRAMES"
    send_frames left -n 20
    wait_until $PATIENCE frames_counted 20
    output_actions >actions.before
    equal "$(action_ranges <actions.before | wc -l)" 1 'ranges of actions'

    kill_daemon
    ovs-vsctl --no-wait set Open_vSwitch . \
        other_config:flow-restore-wait=true
    start_receiver received right
    # All of the source of the first one of those before.
    start_sender sent left --same -n 0 -r 50
    start_daemon
    separate_frames
    wait_until $PATIENCE adopted_at_least 20
    ovs-vsctl remove Open_vSwitch . other_config flow-restore-wait
    ovs-appctl revalidator/wait
    ovs-appctl revalidator/wait
    stop_background sent
    received_all received
    # All of them are translated again when the wait ends, and stay.
    wait_until $PATIENCE flows_shown 20 tc "$FRAMES"
    check_tc_agrees br0 v-left v-right
    # New rules have numbers of actions of another range.
    send_frames left -n 30
    wait_until $PATIENCE flows_shown 30 tc "$FRAMES"
    output_actions | comm -13 actions.before - | action_ranges >ranges
    equal "$(wc -l <ranges)" 1 'ranges of actions of the new run'
    test "$(cat ranges)" != "$(action_ranges <actions.before)" ||
        fail 'numbers of actions of the run before'
    check_tc_agrees br0 v-left v-right
}

adopted_at_least() {
    test "$(offload_json .total.adopted)" -ge "$1"
}

# True if all flows of frames together have at least $1 packets.
frames_counted() {
    test "$(flow_count packets "$FRAMES" all |
        awk '{ n += $1 } END { print n + 0 }')" -ge "$1"
}

# Sends from namespace left with VLAN tag $1 of kind $2.
send_tagged() {
    ip -n left link show "eth0.$1" >/dev/null 2>&1 ||
        ip -n left link add link eth0 name "eth0.$1" type vlan \
            protocol "$2" id "$1"
    ip -n left link set "eth0.$1" up
    in_ns left "$KDP_TRAFFIC" send --same "eth0.$1" >/dev/null
}

# Lets frames pass from left to right, with a flow of its own for each VLAN.
restrict_tagged() {
    restrict_frames
    ovs-ofctl add-flow br0 priority=40000,in_port=1,dl_vlan=4000,actions=drop
}

add_test offload_crash_priorities \
    'old rules of one protocol do not keep others out of tc' \
    kdp 150
offload_crash_priorities() {
    start_frames
    restrict_tagged
    # A neighbour that does not answer: requests are the first frames.
    ip -n left address add 10.1.1.1/24 dev eth0
    in_ns left ping -q -c 1 -W 1 10.1.1.99 >/dev/null || :
    wait_until $PATIENCE flows_shown_at_least 1 tc 'eth_type(0x0806)'
    send_tagged 10 802.1Q
    wait_until $PATIENCE flows_shown_at_least 1 tc 'eth_type(0x8100)'
    rule_priorities >before

    kill_daemon
    ovs-vsctl --no-wait set Open_vSwitch . \
        other_config:flow-restore-wait=true
    start_daemon
    restrict_tagged
    ovs-vsctl remove Open_vSwitch . other_config flow-restore-wait
    ovs-appctl revalidator/wait
    ovs-appctl revalidator/wait
    # The first new rule is of a protocol that comes late in the order of the
    # run before.
    send_tagged 20 802.1ad
    wait_until $PATIENCE flows_shown_at_least 1 tc 'eth_type(0x88a8)'
    send_tagged 30 802.1Q
    wait_until $PATIENCE flows_shown_at_least 1 tc 'vlan(vid=30'
    in_ns left ping -q -c 1 -W 1 10.1.1.99 >/dev/null || :
    wait_until $PATIENCE flows_shown_at_least 1 tc 'eth_type(0x0806)'
    # A protocol has the priority that it had.
    rule_priorities >after
    equal "$(comm -23 before after)" '' 'priorities that have gone'
    equal "$(cut -d ' ' -f 2 after | sort | uniq -d)" '' \
        'priorities of two protocols'
}

add_test offload_crash_changed \
    'rules that OpenFlow does not want any more go (O5)' \
    kdp 150
offload_crash_changed() {
    start_frames
    separate_frames
    every_frame_an_upcall br0 2 1
    send_frames left -n 20
    send_frames right -n 20
    wait_until $PATIENCE flows_shown 20 tc "$FRAMES"
    wait_until $PATIENCE flows_shown 20 tc "$FRAMES_BACK"
    kill_daemon
    # Its device is not a port any more, and has rules of its own.
    ovs-vsctl --no-wait del-port br0 v-right
    equal "$(tc_rules v-right)" 20 'rules that are left'
    start_daemon
    wait_until $PATIENCE flows_shown 0 all 'actions:v-right'
    check_no_rules v-right
    send_frames left -n 20
    check_tc_agrees br0 v-left
    flows_shown 0 tc v-right || fail 'flows to a port that has gone'
}

no_rules_lead_to() {
    ! rules_lead_to "$1"
}

# Without NORMAL, OpenFlow wants nothing that would replace the rule.
add_test offload_crash_output \
    'rules to a device that is not a port any more go (O5)' \
    kdp 200
offload_crash_output() {
    local outputs
    start_frames
    connect br0 third ''
    ovs-vsctl set-fail-mode br0 secure
    # To that device alone, and to another one before it.
    for outputs in 2 3,2; do
        ovs-ofctl del-flows br0
        ovs-ofctl add-flow br0 "in_port=1,actions=$outputs"
        install_frames_flow tc
        rules_lead_to v-right || fail 'the rule sends nothing there'
        kill_daemon
        ovs-vsctl --no-wait del-port br0 v-right -- \
            set Open_vSwitch . other_config:flow-restore-wait=true
        start_daemon
        ovs-ofctl add-flow br0 "in_port=1,actions=$outputs"
        ovs-vsctl remove Open_vSwitch . other_config flow-restore-wait
        wait_until $PATIENCE no_rules_lead_to v-right
        install_frames_flow all
        check_tc_agrees br0 v-left v-third
        ovs-vsctl add-port br0 v-right -- \
            set Interface v-right ofport_request=2
        wait_until $PATIENCE port_is_up v-right
    done
}

# The policer of the meter belongs to the run before, so the rule cannot become a
# flow.
add_test offload_crash_meter \
    'rules with meters forward until OpenFlow is restored (O5)' \
    kdp 150
offload_crash_meter() {
    start_limited_frames
    kill_daemon
    ovs-vsctl --no-wait set Open_vSwitch . \
        other_config:flow-restore-wait=true
    start_daemon
    # No handler receives upcalls.
    start_receiver received right
    send_frames left --same -n 50 -r 100
    received_all received
    equal "$(offload_json .total.stale)" 0 'rules that were deleted'
    limit_frames
    ovs-vsctl remove Open_vSwitch . other_config flow-restore-wait
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    check_tc_agrees br0 v-left v-right
    start_receiver received right
    send_frames left --same -n 50 -r 100
    received_all received
}

add_test offload_crash_meter_output \
    'rules with meters to a device that is not a port any more go (O5)' \
    kdp 150
offload_crash_meter_output() {
    start_limited_frames
    rules_lead_to v-right || fail 'the rule sends nothing there'
    kill_daemon
    ovs-vsctl --no-wait del-port br0 v-right -- \
        set Open_vSwitch . other_config:flow-restore-wait=true
    start_daemon
    # OpenFlow is not restored yet.
    wait_until $PATIENCE no_rules_lead_to v-right
}

# Starts a secure bridge with a rule in tc that has a meter.  The policer, which
# the rule has, cannot be deleted before it.
start_limited_frames() {
    allow_log 'Failed to del(ete)? police' \
        'Full policer index pool allocation failed'
    start_frames
    ovs-vsctl set-fail-mode br0 secure
    limit_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    wait_until $PATIENCE offload_is_settled
}

# Lets frames pass from left to right, by a meter that drops none.
limit_frames() {
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        'meter=1,pktps,stats,bands=type=drop,rate=100000'
    ovs-ofctl -O OpenFlow13 del-flows br0
    ovs-ofctl -O OpenFlow13 add-flow br0 'in_port=1,actions=meter:1,output:2'
}

# No flow of the bridge is in the kernel.
add_test offload_crash_secure \
    'a secure bridge keeps rules until its controller has sent rules (R1 O5)' \
    kdp 150
offload_crash_secure() {
    start_frames other_config:restart-hold=$((2 * PATIENCE))
    ovs-vsctl set-fail-mode br0 secure
    restrict_frames
    install_frames_flow tc
    wait_until $PATIENCE offload_is_settled
    kill_daemon
    start_daemon
    wait_until $PATIENCE has_waited 1
    start_receiver received right
    send_frames left --same -n 50 -r 100
    received_all received
    equal "$(ovs-ofctl --no-stats dump-flows br0)" '' rules
    rules_lead_to v-right || fail 'the rule has gone'
    restrict_frames
    install_frames_flow tc
    check_tc_agrees br0 v-left v-right
}

add_test offload_crash_off \
    'rules of a crashed daemon go if offload is off now (O5)' \
    kdp 150
offload_crash_off() {
    start_frames
    separate_frames
    # So many that they are still being deleted while ports are configured,
    # which takes the queueing discipline away.
    send_frames left -n 300 -r 400
    wait_until $PATIENCE flows_shown 300 tc "$FRAMES"
    kill_daemon
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=false -- \
        set interface v-left ingress_policing_rate=1000000
    start_daemon
    wait_until $PATIENCE no_tc_rules br0 v-left v-right
    wait_until $PATIENCE policing_rules_are 1
    start_receiver received right
    restrict_frames
    # What flows of the previous run do is translated again first.
    ovs-appctl revalidator/wait
    ovs-appctl revalidator/wait
    send_frames left -n 20
    received_all received
}

add_test offload_module_reload \
    'the module is reloaded, or the datapath deleted, with rules in tc (O5)' \
    kdp 200
offload_module_reload() {
    start_pings
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    # As for an upgrade of the module.
    stop_daemon
    ovs-dpctl del-dp ovs-system
    # The kernel frees parts of a datapath some time after it.
    wait_until $PATIENCE modprobe -r openvswitch
    modprobe openvswitch
    start_daemon
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    check_tc_agrees br0 v-left v-right
    # What goes under the daemon's feet comes back when it starts again.
    datapath_goes
    ovs-dpctl del-dp ovs-system
    daemon_is_alive || fail 'the daemon has died'
    kill_daemon
    start_daemon
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    check_tc_agrees br0 v-left v-right
    set_offload false
    check_no_rules br0 v-left v-right
    ping_works left 10.1.1.2
}

add_test offload_exit \
    'exit leaves rules that the next run takes over (O5)' kdp 150
offload_exit() {
    start_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    stop_daemon
    start_receiver received right
    send_frames left --same -n 10
    received_all received
    start_daemon
    restrict_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    check_adopted 1
    stop_daemon --cleanup
    unset DAEMON_PID
    check_no_rules v-left v-right
}
