# SPDX-License-Identifier: Apache-2.0
#
# The daemon ends and starts while traffic flows.

# A bridge with two namespaces and a ping between them that never ends.
running_traffic() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    start_ping ping@n1 10.0.0.2 -i 0.05
}

# Checks that packets pass from now on, and that the daemon has flows and
# upcalls.  Each use sends to an address that was not there before.
address=0
traffic_recovers() {
    local missed
    address=$((address + 1))
    missed=$(datapath_count missed)
    ping_works n1 10.0.0.2
    wait_until $PATIENCE has_flow 'eth_type\(0x0800\)'
    # A packet of a kind that was not there before reaches a handler.
    start_receiver receiver n2
    send_frames n1 -n 1 -d "02:00:00:00:00:$address"
    received_all receiver
    test "$(datapath_count missed)" -gt "$missed" || fail 'no upcalls'
    kill -0 "${BACKGROUND[ping]}" || fail 'ping has ended'
}

add_test restart_after_crash \
    'traffic recovers when the daemon crashed and starts'
restart_after_crash() {
    running_traffic
    kill_daemon
    test -n "$(ovs-dpctl dump-dps)" || fail 'the datapath is gone'
    start_daemon
    traffic_recovers
    kill_daemon
    start_daemon
    traffic_recovers
}

add_test restart_after_exit \
    'the datapath outlives a daemon that is told to exit'
restart_after_exit() {
    running_traffic
    stop_daemon
    matches "$(ovs-dpctl dump-dps)" ovs-system
    start_daemon
    traffic_recovers
}

add_test restart_after_cleanup '"exit --cleanup" leaves nothing in the kernel'
restart_after_cleanup() {
    running_traffic
    # The answer comes when that is done.
    exit_daemon --cleanup
    equal "$(ovs-dpctl dump-dps)" '' datapaths
    wait_until $PATIENCE daemon_is_gone
    exits_with 1 ip link show dev br0 2>/dev/null
    reaches n1 10.0.0.2 && fail 'packets still flow'
    start_daemon
    traffic_recovers
}

# Ends ovsdb-server, whose database remains.
stop_ovsdb() {
    allow_log 'reconnect\|WARN\|unix:' 'jsonrpc\|WARN\|unix:'
    ovs-appctl -t ovsdb-server exit
    wait_until $PATIENCE test ! -e "$OVS_RUNDIR/ovsdb-server.pid"
}

# The same, and the daemon has noticed.
lose_database() {
    stop_ovsdb
    wait_until $PATIENCE logged 'without the database bridges do not run'
}

restart_ovsdb() {
    ovsdb-server "$KDP_WORK/conf.db" --detach --no-chdir --pidfile \
        --log-file --remote="punix:$OVS_RUNDIR/db.sock" 2>/dev/null
}

add_test restart_of_ovsdb 'traffic flows while ovsdb-server restarts'
restart_of_ovsdb() {
    running_traffic
    stop_ovsdb
    traffic_recovers
    restart_ovsdb
    connect br0 n3 10.0.0.3/24
    ping_works n1 10.0.0.3
    traffic_recovers
}

# Prints how often the main thread of the daemon waited in a time of two seconds.
count_turns() {
    prepare_tracing
    (
        cd $TRACING/events/raw_syscalls/sys_enter
        # poll().
        echo "id == 7 && common_pid == $DAEMON_PID" >filter
        echo 1 >enable
    )
    nap 2
    echo 0 >$TRACING/events/raw_syscalls/sys_enter/enable
    echo 0 >$TRACING/events/raw_syscalls/sys_enter/filter
    grep -c 'NR 7 ' $TRACING/trace || :
}

dispatch_was_restored() {
    test "$(upcall_json .dispatch_restored)" -gt "$1"
}

# Open vSwitch does not run its bridges then.
add_test database_away \
    'the daemon is at work, and at rest, while the database is away (U8)' \
    kdp one-cpu
database_away() {
    local restored turns
    running_traffic
    restored=$(upcall_json .dispatch_restored)
    ! logged 'bridges do not run' || fail 'bridges did not run'
    lose_database
    # Upcalls would go on sharing one socket.
    ovs-dpctl show >/dev/null
    wait_until $PATIENCE dispatch_was_restored "$restored"

    # A message is there that only a bridge's turn would read.
    ip link add spare type dummy
    turns=$(count_turns)
    note "$turns turns of the main loop in 2 s"
    test "$turns" -le 600 || fail 'the main loop spins'
    traffic_recovers

    restart_ovsdb
    connect br0 n3 10.0.0.3/24
    ping_works n1 10.0.0.3
    # The log is written in the background.
    wait_until $PATIENCE logged 'the database is back, and bridges run'
}

add_test providers_take_over \
    'stock providers and ours take over from each other (U8)' \
    kdp
providers_take_over() {
    local args
    running_traffic
    for args in --stock-providers '' --stock-providers ''; do
        kill_daemon
        # shellcheck disable=SC2086
        KDP_PROVIDERS=$(test -n "$args" && echo stock || echo kdp)
        start_daemon $args
        traffic_recovers
        if test "$KDP_PROVIDERS" = stock; then
            matches "$(ovs-appctl dpif-netlink/dispatch-mode)" 'per-cpu'
            exits_with 2 ovs-appctl upcall/show --format json 2>/dev/null
        else
            matches "$(ovs-appctl dpif-netlink/dispatch-mode)" 'per-vport'
            equal "$(upcall_json .n_ports)" 4 'ports with channels'
        fi
    done
}

# Ends the daemon by $1: exit, or a signal.
end_daemon() {
    if test "$1" = exit; then
        stop_daemon
    else
        allow_log 'fatal_signal.*\|WARN\|terminating with signal 15'
        kill -"$1" "$DAEMON_PID"
        wait_until $PATIENCE daemon_is_gone
    fi
}

# True if the daemon counts packets of the flow that the test sends, which is to
# say that it has translated it.
flow_is_counted() {
    [[ $(ovs-ofctl dump-flows br0) =~ n_packets=[1-9] ]]
}

# Prints how many frames have come from namespace n1.
frames_from_n1() {
    cat /sys/class/net/v-n1/statistics/rx_packets
}

frames_are() {
    test "$(frames_from_n1)" -ge "$1"
}

# True if what namespace n1 sends has flows in the datapath or in tc: frames come,
# and none of them misses.  The daemon counts the first one before it has made the
# flow.
flow_is_established() {
    local missed
    missed=$(datapath_count missed)
    wait_until $PATIENCE frames_are $(($(frames_from_n1) + 20))
    test "$(datapath_count missed)" -eq "$missed"
}

# Starts a receiver, and a sender of a flow that the datapath has from then on,
# with options "$@".
established_flow() {
    start_receiver receiver n2 "$@"
    start_sender sender n1 "$@" -n 0 -r 500 --same
    wait_until $PATIENCE flow_is_established
}

# Ends the sender; the receiver is to have all that it sent.
flow_lost_nothing() {
    stop_background sender
    received_all receiver
}

two_namespaces() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 ''
    connect br0 n2 ''
}

add_test restart_loses_nothing \
    'a flow loses no packet while the daemon ends and starts (R1)' \
    kdp 180
restart_loses_nothing() {
    local how
    two_namespaces
    for how in TERM KILL exit; do
        established_flow
        end_daemon $how
        start_daemon
        wait_until $PATIENCE flow_is_counted
        flow_lost_nothing
    done
}

# Rules that send what comes from namespace n1 to n2, by way of a group, which
# takes recirculation.
rules_with_group() {
    local to
    to=$(interface_get v-n2 ofport)
    ovs-ofctl -O OpenFlow15 add-group br0 \
        "group_id=1,type=select,bucket=output:$to,bucket=output:$to"
    ovs-ofctl add-flow br0 \
        "priority=10,in_port=$(interface_get v-n1 ofport),actions=group:1"
}

# Starts the daemon as ovs-ctl does, which restores rules: it waits for that.
start_waiting_daemon() {
    ovs-vsctl --no-wait set Open_vSwitch . \
        other_config:flow-restore-wait=true
    start_daemon
}

end_wait() {
    ovs-vsctl remove Open_vSwitch . other_config flow-restore-wait
}

add_test restart_restores_rules \
    'a flow loses no packet while its rules are restored (R1 R3)' \
    kdp 180
restart_restores_rules() {
    two_namespaces
    rules_with_group
    established_flow
    matches "$(ovs-appctl dpctl/dump-flows)" 'recirc\(0x'
    end_daemon TERM
    start_waiting_daemon
    rules_with_group
    end_wait
    wait_until $PATIENCE flow_is_counted
    flow_lost_nothing
}

# A bridge with namespace n1 and a tunnel to namespace "remote", where the
# kernel's own device tun0 ends it.
namespace_and_tunnel() {
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    ip -batch - <<<"netns add remote
link add under type veth peer name eth0 netns remote
address add 172.31.1.100/24 dev under
link set under up"
    veth_inside remote 172.31.1.1/24 "link add tun0 type geneve id 42 \
remote 172.31.1.100
link set tun0 up"
    ovs-vsctl add-port br0 t0 -- set Interface t0 type=geneve \
        options:remote_ip=172.31.1.1 options:key=42 ofport_request=2
}

add_test restart_keeps_tunnels \
    'a flow loses no packet in a tunnel while the daemon ends and starts (R1)' \
    kdp 180
restart_keeps_tunnels() {
    local device=/sys/class/net/genev_sys_6081 index how
    start_ovs
    namespace_and_tunnel
    index=$(<$device/ifindex)
    for how in TERM exit KILL; do
        # With rules in tc on that device, too.
        test $how != KILL || ovs-vsctl set Open_vSwitch . \
            other_config:hw-offload=true other_config:tc-policy=skip_hw
        in_ns_background receiver@remote "$KDP_TRAFFIC" recv \
            -t $((PATIENCE / 4)) tun0
        wait_until $PATIENCE grep -q ready "$KDP_WORK/receiver"
        start_sender sender n1 -n 0 -r 500 --same
        wait_until $PATIENCE flow_is_established
        end_daemon $how
        start_daemon
        wait_until $PATIENCE flow_is_counted
        flow_lost_nothing
        equal "$(<$device/ifindex)" "$index" 'device of tunnels'
    done

    # That of tunnels which are in the database no more goes.
    kill_daemon
    ovs-vsctl --no-wait del-port br0 t0
    start_daemon
    wait_until $PATIENCE test ! -e $device
    matches "$(ovs-appctl dpctl/show)" 'port 0: ovs-system'
    exits_with 1 grep -q genev_sys <<<"$(ovs-appctl dpctl/show)"
}

# Rules that send what comes from namespace n1 into the tunnel, and back.
tunnel_rules() {
    ovs-ofctl add-flows br0 - <<END
priority=10,in_port=1,actions=output:2
priority=10,in_port=2,actions=output:1
END
}

# What the kernel and tc do with packets that go into the tunnel of key $1, and
# that come out of it.
into_tunnel() {
    echo "in_port(v-n1).*eth_type(0x88b5).*set(tunnel(tun_id=$1.*genev_sys_6081"
}

out_of_tunnel() {
    echo "tunnel(tun_id=$1.*in_port(genev_sys_6081).*eth_type(0x88b5).*v-n1"
}

# True if tc has these, in both directions.
tunnel_is_in_tc() {
    flows_shown 1 tc "$(into_tunnel 0x2a)" &&
        flows_shown 1 tc "$(out_of_tunnel 0x2a)"
}

# Starts a flow in each direction, both of which tc has from then on.
flows_through_tunnel() {
    start_with_offload
    namespace_and_tunnel
    tunnel_rules
    start_sender to n1 -n 0 -r 50 --same
    in_ns_background from@remote "$KDP_TRAFFIC" send -n 0 -r 50 --same tun0
    wait_until $PATIENCE takes_sigterm "${BACKGROUND[from]}"
    wait_until $PATIENCE tunnel_is_in_tc
    test "$(tc_rules genev_sys_6081)" -ge 1 || fail 'no rule on the device'
}

add_test restart_tunnel_changes \
    'no rule in tc stays of a tunnel that changed or went (R2 O5)' kdp 180
restart_tunnel_changes() {
    # Nobody takes what still comes.
    allow_log 'receive tunnel port not found'
    ports_go_under_traffic
    flows_through_tunnel

    # Another key: the device of tunnels is the same.
    kill_daemon
    ovs-vsctl --no-wait set Interface t0 options:key=43
    start_waiting_daemon
    tunnel_rules
    end_wait
    wait_until $PATIENCE flows_shown 1 tc "$(into_tunnel 0x2b)"
    wait_until $PATIENCE flows_shown 0 all "$(into_tunnel 0x2a)"
    wait_until $PATIENCE flows_shown 0 all "$(out_of_tunnel 0x2a)"

    # It is in the database no more.
    kill_daemon
    ovs-vsctl --no-wait del-port br0 t0
    start_waiting_daemon
    tunnel_rules
    end_wait
    wait_until $PATIENCE test ! -e /sys/class/net/genev_sys_6081
    exits_with 1 grep -q genev_sys <<<"$(ovs-appctl dpctl/show)"
    wait_until $PATIENCE flows_shown 0 all 'tunnel(\|genev_sys'
    check_tc_agrees br0 v-n1
    stop_background to
    stop_background from
}

# True if the datapath drops the flow that the test sends.
flow_is_dropped() {
    [[ $(ovs-appctl dpctl/dump-flows) =~ eth_type\(0x88b5\).*actions:drop ]]
}

add_test restart_obeys_new_rules \
    'a rule that changed while the daemon was away is obeyed (R2)' kdp
restart_obeys_new_rules() {
    two_namespaces
    established_flow
    end_daemon KILL
    start_waiting_daemon
    # Nothing is compared before all rules are there.
    matches "$(ovs-appctl dpctl/dump-flows)" 'eth_type\(0x88b5\).*actions:[0-9]'
    ovs-ofctl add-flow br0 'priority=10,actions=drop'
    end_wait
    wait_until $PATIENCE flow_is_dropped
    stop_background sender
    stop_background receiver || :
}

# A rule that sends what comes from namespace n1 to n2.
rule_of_controller() {
    ovs-ofctl add-flow br0 "priority=10,in_port=$(interface_get v-n1 \
ofport),actions=output:$(interface_get v-n2 ofport)"
}

# True if bridge br0 has waited for rules at $1 starts at least.
has_waited() {
    logged 'bridge br0: flows of a previous run stay' "$1"
}

add_test restart_without_rules \
    'a secure bridge keeps flows until its controller has sent rules (R1 R2)' \
    kdp 240
restart_without_rules() {
    local how n=0
    two_namespaces
    ovs-vsctl set-fail-mode br0 secure
    rule_of_controller
    established_flow
    for how in KILL TERM exit; do
        end_daemon $how
        start_daemon
        n=$((n + 1))
        wait_until $PATIENCE has_waited $n
        # Frames go on, and there is no rule yet.
        wait_until $PATIENCE frames_are $(($(frames_from_n1) + 50))
        equal "$(ovs-ofctl --no-stats dump-flows br0)" '' rules
        matches "$(ovs-appctl dpctl/dump-flows)" \
            'eth_type\(0x88b5\).*actions:[0-9]'
        rule_of_controller
        wait_until $PATIENCE flow_is_counted
    done
    flow_lost_nothing

    # Rules that say otherwise are obeyed.
    established_flow
    end_daemon KILL
    start_daemon
    wait_until $PATIENCE has_waited 4
    ovs-ofctl add-flow br0 'priority=10,actions=drop'
    wait_until $PATIENCE flow_is_dropped
    stop_background sender
    stop_background receiver || :
    ovs-ofctl del-flows br0

    # A controller that does not come is waited for so long, or not at all.
    allow_log 'waited for rules of secure bridges for 1 s'
    for how in 1 0; do
        ovs-vsctl set Open_vSwitch . other_config:restart-hold=$how
        rule_of_controller
        established_flow
        end_daemon KILL
        start_daemon
        wait_until $PATIENCE flow_is_dropped
        stop_background sender
        stop_background receiver || :
        ovs-ofctl del-flows br0
    done
    has_waited 5
    ! has_waited 6 || fail 'the daemon waited with restart-hold=0'
    logged 'waited for rules'

    # A bond with LACP anywhere needs upcalls.
    ovs-vsctl remove Open_vSwitch . other_config restart-hold \
        -- add-br br1 -- add-bond br1 bond d1 d2 lacp=active bond_mode=balance-slb \
        -- set Interface d1 type=internal -- set Interface d2 type=internal
    rule_of_controller
    established_flow
    end_daemon KILL
    start_daemon
    wait_until $PATIENCE flow_is_dropped
    stop_background sender
    stop_background receiver || :
    ! has_waited 6 || fail 'the daemon waited in spite of LACP'
}

# Rules that track what comes from namespace n1, and then do $1 with it.
rules_with_conntrack() {
    local in
    in=$(interface_get v-n1 ofport)
    ovs-ofctl add-flows br0 - <<END
priority=10,in_port=$in,udp,actions=ct(commit,table=1)
table=1,priority=10,in_port=$in,ct_state=+trk,udp,actions=$1
END
}

# True if the datapath drops what the test sends and what it has tracked.
tracked_flow_is_dropped() {
    [[ $(ovs-appctl dpctl/dump-flows) =~ ct_state[^$'\n']*actions:drop ]]
}

add_test restart_tracked \
    'tracked packets are not lost, and obey rules that changed (R1 R2 R3)' \
    kdp 180
restart_tracked() {
    local to
    two_namespaces
    to=$(interface_get v-n2 ofport)
    rules_with_conntrack "output:$to"
    established_flow --udp
    matches "$(ovs-appctl dpctl/dump-flows)" 'recirc\(0x'
    end_daemon TERM
    start_waiting_daemon
    rules_with_conntrack "output:$to"
    end_wait
    wait_until $PATIENCE flow_is_counted
    flow_lost_nothing

    established_flow --udp
    end_daemon KILL
    start_waiting_daemon
    rules_with_conntrack drop
    end_wait
    wait_until $PATIENCE tracked_flow_is_dropped
    stop_background sender
    stop_background receiver || :
}

# Rules by which UDP from port $1 is tracked, and each source port is a flow of
# its own after that, with actions $2.  What comes from port $3 is dropped.
rules_by_source() {
    ovs-ofctl add-flows br0 - <<END
priority=10,in_port=$1,udp,actions=ct(table=1)
priority=10,in_port=$3,actions=drop
table=1,udp,actions=move:NXM_OF_UDP_SRC[]->NXM_NX_REG0[0..15]$2
END
}

add_test restart_database_goes \
    'upcalls are served if the database goes while flows are taken over (R3)' 180
restart_database_goes() {
    local from to
    two_namespaces
    from=$(interface_get v-n1 ofport)
    to=$(interface_get v-n2 ofport)
    rules_by_source "$from" ",output:$to" "$to"
    established_flow --udp
    end_daemon KILL
    start_waiting_daemon
    rules_by_source "$from" ",output:$to" "$to"

    # The daemon turns upcalls on in the turn of the main loop in which it reads
    # that, and that the connection is closed.
    kill -STOP "$DAEMON_PID"
    ovs-vsctl --no-wait remove Open_vSwitch . other_config flow-restore-wait
    stop_ovsdb
    kill -CONT "$DAEMON_PID"
    wait_until $PATIENCE logged 'db.sock: connection (closed|dropped)'
    stop_background sender
    stop_background receiver || :

    # The kernel recirculates each of these, and then finds no flow.  Frames of the
    # first stream that waited for upcalls may still arrive.
    start_receiver later n2 --udp --first 1
    send_frames n1 -s 1 -n 50 -r 50 --udp
    received_all later
    restart_ovsdb
}

# True if the datapath has at least $1 flows of recirculated packets from port $2.
has_recirculated() {
    test "$(ovs-appctl dpctl/dump-flows --names |
        grep -cE "recirc_id\(0x[1-9a-f][0-9a-f]*\),in_port\($2\)")" -ge "$1"
}

# Prints the recirculation ids in flows of the datapath.
recirculation_ids() {
    ovs-appctl dpctl/dump-flows |
        grep -oE 'recirc(_id)?\(0x[1-9a-f][0-9a-f]*\)' |
        grep -oE '0x[0-9a-f]+' | sort -u
}

# True if flows of the datapath have recirculation ids, and none of ids $@.
chains_are_new() {
    local id ids
    ids=$(recirculation_ids)
    test -n "$ids" || return 1
    for id; do
        ! grep -qx "$id" <<<"$ids" || return 1
    done
}

add_test restart_chains \
    'recirculation chains forward until those of the new run do (R5 O8)' kdp 180
restart_chains() {
    local to signal old
    two_namespaces
    to=$(interface_get v-n2 ofport)
    rules_with_conntrack "output:$to"
    for signal in KILL TERM; do
        established_flow --udp
        old=$(recirculation_ids)
        test -n "$old" || fail 'no flow recirculates'
        end_daemon "$signal"
        start_waiting_daemon
        rules_with_conntrack "output:$to"
        end_wait
        # shellcheck disable=SC2086
        wait_until $PATIENCE chains_are_new $old
        wait_until $PATIENCE flow_is_counted
        flow_lost_nothing
        equal "$(upcall_json .outdated)" 0 'upcalls of the previous run'
    done
}

add_test restart_outdated \
    'what a previous run recirculated takes no way of the new one (R3)' \
    kdp 180
restart_outdated() {
    outdated_are_dropped per-port
}

add_test restart_outdated_by_cpu \
    'nor does it where upcalls are dispatched by CPU (R3)' kdp 180
restart_outdated_by_cpu() {
    outdated_are_dropped per-cpu
}

upcalls_were_outdated() {
    test "$(upcall_json .outdated)" -gt 0
}

# Checks what becomes of packets that recirculate across a restart, where upcalls
# are dispatched as $1 says.
outdated_are_dropped() {
    allow_log 'lost packet on port channel ([0-9]+ )?\((v-n3|.handler [0-9]+.)\)' \
        'port v-n3 sends more upcalls than its share'
    start_ovs
    set_other_config upcall-dispatch "$1"
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    connect br0 n3 '' -- set Interface v-n3 ofport_request=3

    # Before, what n3 sends is tracked, and dropped.  Each frame is an upcall
    # that was recirculated.
    rules_by_source 3 '' 1
    start_sender noisy n3 -s 3 -n 0 -r 2000 --udp
    wait_until $PATIENCE has_recirculated 500 v-n3
    end_daemon KILL

    # Now what n1 sends is, and goes to n2.
    start_waiting_daemon
    rules_by_source 1 ,output:2 3
    start_receiver receiver n2 -s 1 -f 1 --udp
    start_sender sender n1 -s 1 -n 0 -r "$(upcall_rate 100)" --udp
    end_wait
    wait_until $PATIENCE upcalls_were_outdated
    wait_until $PATIENCE has_recirculated 20 v-n1
    stop_background noisy
    stop_background sender
    # Some were lost while nobody listened.
    stop_background receiver || :
    note "$(cat "$KDP_WORK/receiver")"
    matches "$(cat "$KDP_WORK/receiver")" 'others 0'
    upcalls_say dispatch "$1"
    matches "$(ovs-appctl upcall/show)" 'outdated: [0-9]+ upcalls'

    # From now on the recirculated are served.
    start_receiver later n2 -s 1 -f 2 --udp
    send_frames n1 -s 2 -n 50 --udp
    received_all later
}
