# SPDX-License-Identifier: Apache-2.0
#
# Ports that send more upcalls than the daemon serves.

add_test loss_is_counted \
    'loss is counted at the port that sends too much (U5)' kdp
loss_is_counted() {
    local warning='lost packet on port channel [0-9]+ \(v-n1\): '
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    connect br0 n3 '' -- set Interface v-n3 ofport_request=3
    every_frame_an_upcall br0 1 2
    every_frame_an_upcall br0 3 2
    allow_log "$warning"
    # The handler stands still, so the socket fills.
    start_receiver receiver n2 --streams 1
    kill -STOP "$DAEMON_PID"
    send_frames n1 -n 5000 -s 1
    send_frames n3 -n 20 -s 0
    kill -CONT "$DAEMON_PID"
    received_all receiver
    wait_until $PATIENCE everything_is_accounted_for 5000
    equal "$(port_json v-n3 .lost)" 0 'upcalls lost at the quiet port'
    equal "$(port_json v-n3 .received)" 20 'upcalls of the quiet port'
    test "$(port_json v-n1 .overruns)" -gt 0 || fail 'no overrun was counted'
    # The operator is told what to do.
    wait_until $PATIENCE logged \
        "$warning.*ingress_policing_kpkts_rate.*n-handler-threads"
}

# True if port v-n1 received or lost $1 upcalls.
everything_is_accounted_for() {
    local received lost
    received=$(port_json v-n1 .received)
    lost=$(port_json v-n1 .lost)
    if test "$received $lost" != "${last_account:-}"; then
        last_account="$received $lost"
        note "received $received lost $lost"
    fi
    test "$lost" -gt 0 && test $((received + lost)) -eq "$1"
}

add_test flood_by_default \
    'a flood with the target delay of a new switch costs others nothing (U5)' kdp
flood_by_default() {
    start_flood ''
    wait_until $PATIENCE upcalls_say target_delay_us 100000
    wait_for_misses 5000
    finish_flood
}

# Two frames that wait are too many for 1 ms where a handler takes 2,000 a second,
# and a full buffer is on any machine.
add_test flood_is_shed \
    'of a flood, what would wait too long is shed, and counted (U5, U7)' kdp
flood_is_shed() {
    start_flood 1
    wait_until $PATIENCE logged "$FLOOD_WARNING they would wait longer than 1 ms"
    wait_until $PATIENCE port_has_shed v-n1
    finish_flood
}

FLOOD_WARNING='port v-n1 sends more upcalls than its share, and'

# Starts a flood from namespace n1, with a target delay of $1 ms or the default.
start_flood() {
    start_ovs
    ovs-vsctl remove Open_vSwitch . other_config upcall-target-delay
    test -z "$1" || set_other_config upcall-target-delay "$1"
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    connect br0 n3 '' -- set Interface v-n3 ofport_request=3
    every_frame_is_new br0 1 2
    every_frame_is_new br0 3 2
    allow_log "$FLOOD_WARNING" 'lost packet on port channel [0-9]+ \(v-n1\): '
    start_receiver receiver n2 --streams 1
    start_sender sender n1 -n 0 -s 1
}

# Has namespace n3 send a few frames, and ends the flood.
finish_flood() {
    send_frames n3 -n 20 -s 0
    wait_until $PATIENCE has_received v-n3 20
    stop_background sender
    received_all receiver
    wait_until $PATIENCE misses_are_accounted_for
    equal "$(port_json v-n3 '"\(.received) \(.shed) \(.lost)"')" '20 0 0' \
        'what the quiet port received, shed and lost'
}

has_received() {
    test "$(port_json "$1" .received)" -ge "$2"
}

port_has_shed() {
    test "$(port_json "$1" .shed)" -gt 0
}

# True if each packet that missed the datapath's flows was received, shed or lost
# at some port.
misses_are_accounted_for() {
    equal "$(upcall_json .abandoned)" 0 'upcalls lost with a handler'
    test "$(upcall_json '[.ports[] | .received, .shed, .lost] | add')" -eq \
        "$(datapath_count missed)"
}

# No socket can have the port id: the kernel takes that of a process, or one above
# 2^31.  Revalidators delete the flow, which they do not know, as soon as they see
# it: the frame's own flow would be in the kernel from then on, so they stand still.
add_test upcalls_to_nobody \
    'upcalls to a socket that is gone are told apart (U5, U8)' kdp one-cpu
upcalls_to_nobody() {
    local before
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 ''
    before=$(upcall_json .lost_nowhere)
    ovs-appctl revalidator/pause
    ovs-dpctl add-flow ovs-system \
        "in_port($(port_json v-n1 .port_no)),eth(),eth_type(0x88b5)" \
        'userspace(pid=1999999999)'
    # That tool has made the kernel dispatch by CPU, whatever the flow says.
    wait_until $PATIENCE dispatches per-vport
    send_frames n1
    equal $(($(upcall_json .lost_nowhere) - before)) 1 'upcalls to nobody'
    ovs-appctl revalidator/resume
    equal "$(port_json v-n1 .lost)" 0 'upcalls lost at the port'
    matches "$(ovs-appctl upcall/show)" 'lost on no socket: [1-9]'
}
