# SPDX-License-Identifier: Apache-2.0
#
# Rules of others, and rules of ours that others remove.

# Gives device $1 rules of somebody else: flower with a cookie or without,
# matchall, another chain.
add_foreign_rules() {
    local dev=$1
    tc filter add dev "$dev" ingress prio 200 protocol ip flower \
        dst_ip 192.0.2.1 action drop
    tc filter add dev "$dev" ingress prio 201 protocol ip flower \
        dst_ip 192.0.2.2 action drop cookie 0123456789abcdef
    tc filter add dev "$dev" ingress prio 202 protocol ipv6 flower \
        action pass cookie 01
    tc filter add dev "$dev" ingress prio 203 chain 7 protocol ip flower \
        dst_ip 192.0.2.3 action drop
    tc filter add dev "$dev" ingress prio 204 protocol 0x88b6 matchall \
        action drop
}

# Prints the rules of others on device $1, at hook $2 (default ingress).
foreign_rules() {
    tc -j filter show dev "$1" "${2:-ingress}" |
        jq -c '.[] | select(.pref >= 200 and .pref < 300 and .options.actions)
               | [.pref, .kind, .chain, .protocol, .options.actions[0].cookie,
                  .options.keys]'
}

add_test offload_foreign 'rules of others stay' kdp one-cpu 150
offload_foreign() {
    local dev
    # Of the flow that is deleted with dpctl.
    allow_log 'failed to (flow_del|put)'
    start_with_offload
    ovs-vsctl add-br br0
    add_ns left right
    add_veth left ''
    add_veth right ''
    tc qdisc add dev v-left ingress
    tc qdisc add dev v-right clsact
    for dev in v-left v-right; do
        add_foreign_rules $dev
        foreign_rules $dev >$dev.before
        equal "$(wc -l <$dev.before)" 5 "rules on $dev"
    done
    tc filter add dev v-right egress prio 205 protocol 0x88b6 matchall \
        action drop
    check_foreign() {
        for dev in v-left v-right; do
            equal "$(foreign_rules $dev)" "$(cat $dev.before)" \
                "rules of others on $dev $1"
        done
        equal "$(foreign_rules v-right egress | wc -l)" 1 \
            "rules of others at the egress $1"
    }

    ovs-vsctl add-port br0 v-left -- add-port br0 v-right
    wait_until $PATIENCE port_is_up v-right
    restrict_frames
    check_foreign 'after ports were added'
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    start_receiver received right
    send_frames left --same -n 10
    received_all received
    check_foreign 'with a rule of ours'
    set_offload false
    check_no_rules v-left
    check_foreign 'after offload was turned off'
    set_offload true
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    check_foreign 'after offload was turned on'
    ovs-appctl dpctl/del-flows
    check_no_rules v-left
    check_foreign 'after the datapath was flushed'
    # Open vSwitch believes that the flow is there.
    ovs-appctl revalidator/purge
    install_frames_flow tc
    ovs-vsctl del-port v-left
    check_no_rules v-left
    check_foreign 'after a port was deleted'
    ovs-vsctl add-port br0 v-left -- set Interface v-left ofport_request=1
    wait_until $PATIENCE port_is_up v-left
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    kill_daemon
    start_daemon
    wait_until $PATIENCE port_is_up v-left
    check_tc_agrees br0 v-left v-right
    check_foreign 'after a crash'
    stop_daemon --cleanup
    unset DAEMON_PID
    check_no_rules v-left v-right
    check_foreign 'after exit --cleanup'
}

add_test offload_foreign_prio \
    'rules of others in the way do not stop traffic, and are avoided' \
    kdp one-cpu
offload_foreign_prio() {
    local prio
    start_with_offload
    ovs-vsctl add-br br0
    add_ns left right
    add_veth left ''
    add_veth right ''
    tc qdisc add dev v-left ingress
    # The one of the protocol, 0x88b5, and all that are taken instead.
    for prio in 34997 11 12 13 14 15 16; do
        tc filter add dev v-left ingress prio $prio protocol 0x88b6 matchall \
            action pass
    done
    ovs-vsctl add-port br0 v-left -- add-port br0 v-right
    wait_until $PATIENCE port_is_up v-right
    restrict_frames
    start_receiver received right
    send_frames left --same -n 10
    received_all received
    wait_until $PATIENCE flows_shown 1 all "$FRAMES"
    check_tc_agrees br0 v-left v-right
    flows_shown 0 tc "$FRAMES" || fail 'nothing was in the way'
    equal "$(tc -j filter show dev v-left ingress |
             jq '[.[] | select(.kind == "matchall" and .options)] | length')" \
        7 'rules of others'

    tc filter del dev v-left ingress prio 12
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    equal "$(rule_priorities)" '[34997] 12' 'priority of the rule'
    start_receiver received right
    send_frames left --same -n 10
    received_all received
    check_tc_agrees br0 v-left v-right
    equal "$(tc -j filter show dev v-left ingress |
             jq '[.[] | select(.kind == "matchall" and .options)] | length')" \
        6 'rules of others'
}

add_test offload_foreign_internal \
    'filters of others on an internal port stay' kdp one-cpu 150
offload_foreign_internal() {
    start_pings
    ip address add 10.1.1.100/24 dev br0
    ip link set br0 up
    wait_until $PATIENCE reaches left 10.1.1.100
    kill_daemon
    tc qdisc del dev br0 clsact
    tc qdisc add dev br0 ingress
    add_foreign_rules br0
    foreign_rules br0 >before
    equal "$(wc -l <before)" 5 'rules on br0'
    start_daemon
    ping_works left 10.1.1.100
    ping_works left 10.1.1.2
    equal "$(foreign_rules br0)" "$(cat before)" 'rules of others on br0'
    wait_until $PATIENCE logged 'br0: not prepared for offload, .*busy'
    # It offloads nothing, others do.
    wait_until $PATIENCE flows_shown_at_least 1 tc 'in_port(v-left)'
    flows_shown 0 tc 'in_port(br0)' || fail 'flows of br0 in tc'
    check_tc_agrees br0 v-left v-right
    # Without any filter, in whatever chain, the discipline is replaced.
    kill_daemon
    tc filter del dev br0 ingress
    tc filter del dev br0 ingress chain 7
    start_daemon
    ping_works left 10.1.1.100
    matches "$(tc qdisc show dev br0)" clsact
    wait_until $PATIENCE flows_shown_at_least 1 tc 'in_port(br0)'
    check_tc_agrees br0 v-left v-right
}

vanished_at_least() {
    test "$(offload_json .total.vanished)" -ge "$1"
}

# Checks that traffic goes on when command $1... removes rules of ours and that
# the flow is put back into tc.
survives() {
    local before missed
    before=$(flow_count packets "$FRAMES" tc)
    "$@"
    wait_until $PATIENCE vanished_at_least 1
    wait_until $PATIENCE flows_shown 1 all "$FRAMES"
    test "$(flow_count packets "$FRAMES" all)" -ge "$before" ||
        fail "the count fell from $before"
    wait_until $((2 * PATIENCE)) flows_shown 1 tc "$FRAMES"
    # Nothing goes to the daemon any more.
    missed=$(datapath_count missed)
    wait_until $PATIENCE flow_has_packets "$FRAMES" $((before + 500))
    equal "$(datapath_count missed)" "$missed" 'missed'
    stop_background sent
    received_all received
    matches "$(ovs-appctl offload/show)" 'rule vanished from tc'
    check_tc_agrees br0 v-left v-right
}

start_survivor() {
    start_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    start_receiver received right
    start_sender sent left --same -n 0 -r 100
    wait_until $PATIENCE flow_has_packets "$FRAMES" 50
}

# Removes the rule of the flow of frames.
remove_rule() {
    local rule
    rule=$(tc -j filter show dev v-left ingress |
        jq -r '[.[] | select(.options.actions)][0] | "prio \(.pref)",
                 "handle \(.options.handle) flower"' | tr '\n' ' ')
    # shellcheck disable=SC2086
    tc filter del dev v-left ingress $rule
}

add_test offload_rule_removed \
    'a rule that others remove comes back (O6)' kdp 200
offload_rule_removed() {
    start_survivor
    survives remove_rule
}

add_test offload_rules_flushed 'rules that others flush come back' kdp 200
offload_rules_flushed() {
    start_survivor
    survives tc filter del dev v-left ingress
}

add_test offload_qdisc_removed \
    'traffic outlives the loss of the queueing discipline' \
    kdp 200
offload_qdisc_removed() {
    start_survivor
    survives tc qdisc del dev v-left ingress
}
