# SPDX-License-Identifier: Apache-2.0
#
# A daemon hands over to the next one while traffic flows (R6).

# Has the daemon hand over.  Where it cannot, ovs-kdp-switch would restart the
# guest's services.
switch_over() {
    mkdir -p "$KDP_WORK/bin"
    printf '#!/bin/sh\nexit 1\n' >"$KDP_WORK/bin/service"
    chmod +x "$KDP_WORK/bin/service"
    PATH=$KDP_WORK/bin:$PATH sh "$here/../../utilities/ovs-kdp-switch.in" handover
}

# A bridge of fail mode "secure", with rules and a group that send what comes from
# namespace n1 to n2, and a daemon that can hand over.
handover_bridge() {
    start_ovs
    ovs-vsctl add-br br0 -- set-fail-mode br0 secure
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    ovs-ofctl -O OpenFlow13 add-group br0 'group_id=7,type=all,bucket=output:2'
    ovs-ofctl -O OpenFlow13 add-flow br0 'in_port=1,cookie=5,actions=group:7'
    # Each frame of a new source is an upcall.
    ovs-ofctl add-flow br0 'priority=60000,dl_src=02:ff:ff:ff:ff:ff,actions=drop'
}

# What others see of the daemon: flows of the kernel without counters, which socket
# each port has, and the database.
seen() {
    ovs-appctl dpctl/dump-flows | sed 's/, packets:.*actions/ actions/' | sort
    ovs-appctl upcall/show --format json | json_values '.[0]' '.ports[].pid'
    ovs-vsctl --columns=ofport,mac_in_use,ifindex,error list Interface
    ovs-vsctl --columns=cur_cfg list Open_vSwitch
}

# A daemon that goes on deletes all flows, of which revalidators may have heard
# just before.
start_next() {
    allow_log 'Failed to acquire udpif_key .*\(No such file'
    allow_log 'handover\|WARN\|no handover: ' 'handover\|WARN\|the process that' \
        'fatal_signal.*\|WARN\|' 'dpif.*failed to .*No such file' \
        'Unexpected jump in packet stats' 'blocked'
    NEXT_PID=$(ovs-appctl handover/start "$KDP_DAEMON")
}

# True if the next daemon is the one that control commands reach.
next_serves() {
    test "$(<"$OVS_RUNDIR/ovs-vswitchd.pid")" = "$NEXT_PID" &&
        ovs-appctl version >/dev/null
}

# Starts traffic of at most $1 frames a second, each of which is a new flow.
start_new_flows() {
    makes_many_flows
    stream=$((stream + 1))
    start_receiver receiver n2 -f $stream --progress=progress
    start_sender sender n1 -s $stream -n 0 -r "$(upcall_rate "${1:-200}")" $WINDOW
    wait_until $PATIENCE frames_are $(($(frames_from_n1) + 50))
}

# Checks that none of them was lost, and that packets pass from now on.
new_flows_lost_nothing() {
    wait_until $PATIENCE frames_are $(($(frames_from_n1) + 50))
    flow_lost_nothing
    note "$(tail -n 1 "$KDP_WORK/receiver")"
}

add_test handover_shadow \
    'a daemon in the shadow of another one changes nothing (R6)' kdp 180
handover_shadow() {
    local before
    handover_bridge
    established_flow
    before=$(seen)
    start_next
    equal "$(seen)" "$before" 'what is seen in the shadow'
    test -S "$OVS_RUNDIR/br0.mgmt.next" || fail 'no socket for rules'
    ovs-vsctl set Interface v-n2 external_ids:x=y
    ovs-appctl handover/abort
    wait_until $PATIENCE has_ended "$NEXT_PID"
    flow_lost_nothing
    equal "$(seen | grep -v cur_cfg)" "$(grep -v cur_cfg <<<"$before")" \
        'what is seen afterwards'
}

add_test handover_loses_nothing \
    'a handover loses no packet, of old flows and of new ones (R6)' kdp 240
handover_loses_nothing() {
    local old i
    handover_bridge
    for i in 1 2; do
        old=$DAEMON_PID
        start_new_flows
        switch_over
        DAEMON_PID=$(<"$OVS_RUNDIR/ovs-vswitchd.pid")
        test "$DAEMON_PID" -ne "$old" || fail 'the old daemon serves'
        wait_until $PATIENCE has_ended "$old"
        new_flows_lost_nothing
        matches "$(ovs-ofctl -O OpenFlow13 dump-flows br0)" \
            'cookie=0x5,.*group:7'
        test ! -e "$OVS_RUNDIR/br0.mgmt.old"
        test ! -e "$OVS_RUNDIR/br0.mgmt.next"
    done
    # The daemon is one like others.
    connect br0 n3 ''
    wait_until $PATIENCE port_is_up v-n3
}

add_test handover_new_dies \
    'the old daemon serves when the new one dies or hangs (R6)' kdp 360
handover_new_dies() {
    local step
    handover_bridge
    for step in start prepare commit hang; do
        note "$step"
        # What comes while the new daemon hangs has room in a socket.
        start_new_flows 30
        start_next
        test $step = start || ovs-appctl handover/prepare
        case $step in
        commit | hang)
            kill -STOP "$NEXT_PID"
            ovs-appctl handover/commit >"$KDP_WORK/commit" 2>&1 &
            wait_until $PATIENCE upcalls_are_halted
            ;;
        esac
        test $step = hang || kill -KILL "$NEXT_PID"
        wait_until $PATIENCE has_ended "$NEXT_PID"
        wait_until $PATIENCE test ! -e "$OVS_RUNDIR/br0.mgmt.old"
        wait_until $PATIENCE test ! -e "$OVS_RUNDIR/br0.mgmt.next"
        wait_until $PATIENCE test -S "$OVS_RUNDIR/br0.mgmt"
        equal "$(<"$OVS_RUNDIR/ovs-vswitchd.pid")" "$DAEMON_PID" 'the daemon'
        new_flows_lost_nothing
    done
    wait
    connect br0 n3 ''
    wait_until $PATIENCE port_is_up v-n3
}

add_test handover_new_cannot_serve \
    'the old daemon serves when the new one cannot turn upcalls on (R6)' \
    kdp 180
handover_new_cannot_serve() {
    handover_bridge
    start_new_flows 30
    start_next
    copy_rules
    ovs-appctl handover/prepare
    # The new daemon has no descriptor left, and cannot even wait for those that
    # it has until "commit" reaches it.
    allow_log 'Too many open files' 'open files' 'turning upcalls on failed' \
        'poll_loop\|ERR\|poll: Invalid argument'
    prlimit --pid "$NEXT_PID" --nofile=4
    matches "$(ovs-appctl handover/commit 2>&1 || :)" \
        'the next daemon has ended'
    wait_until $PATIENCE has_ended "$NEXT_PID"
    logged 'handover.*turning upcalls on failed' || fail 'no reason is logged'
    equal "$(<"$OVS_RUNDIR/ovs-vswitchd.pid")" "$DAEMON_PID" 'the daemon'
    new_flows_lost_nothing
    wait_until $PATIENCE test -S "$OVS_RUNDIR/br0.mgmt"
    test ! -e "$OVS_RUNDIR/br0.mgmt.next" || fail 'a socket is left'
    connect br0 n3 ''
    wait_until $PATIENCE port_is_up v-n3
}

add_test handover_lock_comes_late \
    'recirculated flows stay while the new daemon waits for the lock (R6 R5)' \
    kdp 240
handover_lock_comes_late() {
    local old server
    handover_bridge
    ovs-ofctl del-flows br0 cookie=5/-1
    rules_with_conntrack output:2
    established_flow --udp
    old=$(recirculation_ids)
    test -n "$old" || fail 'no flow recirculates'
    start_next
    copy_rules
    ovs-appctl handover/prepare
    # Revalidators of the old daemon find chains of the new one, and leave them.
    allow_log 'Failed to acquire udpif_key .*\(Invalid argument'
    server=$(<"$OVS_RUNDIR/ovsdb-server.pid")
    kill -STOP "$server"
    ovs-appctl handover/commit >"$KDP_WORK/commit" 2>&1 &
    wait_until $PATIENCE logged 'flows of a previous run are translated again'
    # shellcheck disable=SC2086
    wait_until $PATIENCE chains_are_new $old
    next_serves && fail 'the new daemon has the lock'
    kill -CONT "$server"
    wait_until $PATIENCE next_serves
    wait_until $PATIENCE has_ended "$DAEMON_PID"
    DAEMON_PID=$NEXT_PID
    logged 'flows of a previous run .* 0 were deleted' ||
        fail 'flows were deleted'
    flow_lost_nothing
    wait
    wait_until $PATIENCE test -S "$OVS_RUNDIR/br0.mgmt"
    test ! -e "$OVS_RUNDIR/br0.mgmt.next" || fail 'a socket is left'
    connect br0 n3 ''
    wait_until $PATIENCE port_is_up v-n3
}

# The old daemon has given its sockets away.
upcalls_are_halted() {
    logged 'handover.*hands over' "${1:-1}"
}

add_test handover_old_dies \
    'the new daemon serves when the old one dies (R6)' kdp 360
handover_old_dies() {
    local step
    handover_bridge
    for step in start prepare commit; do
        note "$step"
        established_flow
        start_next
        copy_rules
        test $step = start || ovs-appctl handover/prepare
        if test $step = commit; then
            # The daemon logs that it hands over before it sends the sockets.
            allow_log 'handover\|WARN\|receiving sockets for upcalls failed'
            kill -STOP "$NEXT_PID"
            ovs-appctl handover/commit >"$KDP_WORK/commit" 2>&1 &
            wait_until $PATIENCE upcalls_are_halted
        fi
        kill_daemon
        kill -CONT "$NEXT_PID"
        wait_until $PATIENCE next_serves
        DAEMON_PID=$NEXT_PID
        wait_until $PATIENCE test -S "$OVS_RUNDIR/br0.mgmt"
        flow_lost_nothing
        start_receiver later n2 -f 63
        send_frames n1 -s 63
        received_all later
    done
    wait
}

copy_rules() {
    ovs-ofctl -O OpenFlow13 add-group "unix:$OVS_RUNDIR/br0.mgmt.next" \
        'group_id=7,type=all,bucket=output:2'
    ovs-ofctl -O OpenFlow13 dump-flows --no-names --no-stats br0 |
        sed '/^OFPST/d' |
        ovs-ofctl -O OpenFlow13 replace-flows "unix:$OVS_RUNDIR/br0.mgmt.next" -
}

add_test handover_refused 'a handover that is not possible changes nothing (R6)' \
    kdp
handover_refused() {
    handover_bridge
    allow_log 'handover\|WARN\|no handover: '
    exits_with 2 ovs-appctl handover/prepare
    exits_with 2 ovs-appctl handover/commit
    exits_with 2 ovs-appctl handover/start /nonexistent
    exits_with 2 ovs-appctl handover/start /bin/true
    ovs-vsctl -- --id=@dp create Datapath 'datapath_version=""' -- \
        set Open_vSwitch . datapaths:system=@dp
    ovs-vsctl add-zone-tp system zone=1 icmp_first=60
    matches "$(ovs-appctl handover/start "$KDP_DAEMON" 2>&1 || :)" \
        'timeout policies'
    ovs-vsctl del-zone-tp system zone=1
    set_other_config hw-offload true
    exits_with 2 ovs-appctl handover/start "$KDP_DAEMON"
}

# Makes the guest's service, which a handover that fails restarts, say which rules
# br0 has when it would save them.
service_dumps() {
    mkdir -p "$KDP_WORK/bin"
    printf '#!/bin/sh\necho "$@"\novs-ofctl --no-stats dump-flows br0\n' \
        >"$KDP_WORK/bin/service"
    chmod +x "$KDP_WORK/bin/service"
}

# Runs ovs-kdp-switch with that service.
hand_over_or_restart() {
    PATH=$KDP_WORK/bin:$PATH sh "$here/../../utilities/ovs-kdp-switch.in" handover
}

add_test handover_or_restart \
    'a restart instead of a handover finds OpenFlow rules (R6)' kdp 240
handover_or_restart() {
    local said
    handover_bridge
    service_dumps
    # Somebody else's handover, which has moved the management sockets, goes on.
    start_next
    ovs-appctl handover/prepare
    exits_with 1 hand_over_or_restart >"$KDP_WORK/said" 2>&1
    said=$(<"$KDP_WORK/said")
    matches "$said" 'there is another handover'
    [[ $said != *restart* ]] || fail "another handover ends in: $said"
    ovs-appctl handover/abort
    wait_until $PATIENCE has_ended "$NEXT_PID"
    wait_until $PATIENCE test -S "$OVS_RUNDIR/br0.mgmt"
    # The next daemon hangs when it has been given the sockets.
    cat >"$KDP_WORK/bin/ovs-appctl" <<'END'
#!/bin/bash
PATH=${PATH#*:}
case $* in
*handover/start*)
    answer=$(ovs-appctl "$@") || exit
    echo "$answer" | tee "$KDP_WORK/next"
    exit
    ;;
*handover/commit*) kill -STOP "$(<"$KDP_WORK/next")" ;;
esac
exec ovs-appctl "$@"
END
    chmod +x "$KDP_WORK/bin/ovs-appctl"
    said=$(hand_over_or_restart)
    matches "$said" 'no handover: a step took too long'
    matches "$said" 'restart --save-flows=yes'
    matches "$said" 'cookie=0x5,.*group:7'
    equal "$(<"$OVS_RUNDIR/ovs-vswitchd.pid")" "$DAEMON_PID" 'the daemon'
}

add_test handover_database_restarts \
    'the old daemon serves when ovsdb-server restarts in a handover (R6)' kdp 360
handover_database_restarts() {
    local step n=0
    handover_bridge
    # Both daemons say that.
    allow_log 'unix.*db.sock: '
    for step in start prepare start; do
        note "$step"
        n=$((n + 1))
        established_flow
        start_next
        ovs-appctl -t "$OVS_RUNDIR/ovs-vswitchd.$NEXT_PID.ctl" \
            vlog/set jsonrpc:file:dbg
        test $step = start || ovs-appctl handover/prepare
        # The new daemon is the first one that asks for the lock.
        kill -STOP "$DAEMON_PID"
        stop_ovsdb
        restart_ovsdb
        wait_until $PATIENCE logged 'received reply.*"locked":true' $n
        kill -CONT "$DAEMON_PID"
        wait_until $PATIENCE has_ended "$NEXT_PID"
        # The old daemon has the lock again.
        connect br0 "m$n" ''
        wait_until $PATIENCE port_is_up "v-m$n"
        wait_until $PATIENCE test -S "$OVS_RUNDIR/br0.mgmt"
        matches "$(ovs-ofctl -O OpenFlow13 dump-flows br0)" \
            'cookie=0x5,.*group:7'
        flow_lost_nothing
    done
    logged 'no handover: the database is away' $n || fail 'no reason is logged'
    ! logged 'disabling this process' || fail 'bridges were deleted'
}

add_test handover_fails_open \
    'no handover while a standalone bridge does without its controller (R6)' \
    kdp 240
handover_fails_open() {
    local refusal='a standalone bridge is without its controller'
    start_ovs
    # Nobody listens there.
    ovs-vsctl add-br br0 -- set-fail-mode br0 standalone -- \
        set-controller br0 tcp:127.0.0.1:9 -- \
        set Bridge br0 other_config:disable-in-band=true
    connect br0 n1 10.1.1.1/24
    connect br0 n2 10.1.1.2/24
    allow_log 'handover\|WARN\|no handover: ' 'fail_open\|WARN\|' \
        'rconn.*tcp:127.0.0.1:9'
    matches "$(ovs-appctl handover/start "$KDP_DAEMON" 2>&1 || :)" "$refusal"
    wait_until $((2 * PATIENCE)) logged 'failing open'
    matches "$(ovs-appctl handover/start "$KDP_DAEMON" 2>&1 || :)" "$refusal"
    ping_works n1 10.1.1.2
    # The controller goes when the next daemon is there.
    ovs-vsctl del-controller br0
    start_next
    ovs-vsctl set-controller br0 tcp:127.0.0.1:9
    matches "$(ovs-appctl handover/prepare 2>&1 || :)" "$refusal"
    wait_until $PATIENCE has_ended "$NEXT_PID"
    test -S "$OVS_RUNDIR/br0.mgmt" || fail 'the management socket was moved'
}

# Runs command $@ of the next daemon, which control commands do not reach yet.
next_appctl() {
    ovs-appctl -t "$OVS_RUNDIR/ovs-vswitchd.$NEXT_PID.ctl" "$@"
}

# Has the next daemon, which is ready, take over.
finish_handover() {
    ovs-appctl handover/prepare
    ovs-appctl handover/commit
    wait_until $PATIENCE has_ended "$DAEMON_PID"
    DAEMON_PID=$NEXT_PID
    wait_until $PATIENCE next_serves
}

# Prints how many PDUs of LACP the daemon that serves has sent at member m1.
n_lacp_sent() {
    ovs-appctl lacp/show-stats | awk '
        $1 == "member:" { member = $2 }
        member == "m1:" && /TX PDUs/ { print $3 }'
}

has_sent_lacp() {
    test "$(n_lacp_sent)" -ge "$1"
}

# True if command $@ of the daemon that serves says that a port forwards.
has_forwarding() {
    [[ $(ovs-appctl "$@") =~ [Ff]orwarding ]]
}

add_test handover_protocols \
    'LACP, STP and RSTP begin when the next daemon serves (R6)' kdp 240
handover_protocols() {
    local i sent
    start_ovs
    modprobe bonding max_bonds=0
    add_ns n1
    # The daemon sends every second, and the partner every 30 seconds.
    ip -n n1 link add bond0 type bond mode 802.3ad lacp_rate fast miimon 100
    for i in 1 2; do
        ip link add "m$i" type veth peer name "s$i" netns n1
        ip link set "m$i" up
        ip -n n1 link set "s$i" master bond0
    done
    ip -n n1 -batch - <<<'link set bond0 up
address add 10.1.1.1/24 dev bond0'
    ovs-vsctl add-br br0 -- \
        add-bond br0 bond m1 m2 lacp=active bond_mode=balance-tcp
    connect br0 n2 10.1.1.2/24
    ovs-vsctl add-br stp -- set Bridge stp stp_enable=true \
        other_config:stp-forward-delay=4 other_config:stp-max-age=6
    connect stp n3 10.1.2.3/24
    ovs-vsctl add-br rstp -- set Bridge rstp rstp_enable=true
    connect rstp n4 10.1.3.4/24
    ping_works n1 10.1.1.2
    wait_until $PATIENCE has_forwarding stp/show
    wait_until $PATIENCE has_forwarding rstp/show
    start_next
    # For longer than the protocols wait for a neighbour: a PDU goes out each second.
    # Meanwhile the daemon that goes on may make flows of a chain that is new.
    allow_log 'Failed to acquire udpif_key .*\(Invalid argument'
    sent=$(n_lacp_sent)
    wait_until $((2 * PATIENCE)) has_sent_lacp $((sent + 12))
    [[ $(next_appctl lacp/show) != *defaulted* ]] ||
        fail "a member is without partner: $(next_appctl lacp/show)"
    [[ ! $(next_appctl stp/show) =~ [Ff]orwarding ]] ||
        fail "a port forwards: $(next_appctl stp/show)"
    [[ ! $(next_appctl rstp/show) =~ [Ff]orwarding ]] ||
        fail "a port forwards: $(next_appctl rstp/show)"
    finish_handover
    wait_until $PATIENCE bond_is_negotiated
    ping_works n1 10.1.1.2      # Linux may enable its side a little later.
    pings_are_answered n1 10.1.1.2 5
    wait_until $PATIENCE has_forwarding stp/show
    wait_until $PATIENCE has_forwarding rstp/show
}

# True if both members of the bond are in use.
bond_is_negotiated() {
    local shown
    shown=$(ovs-appctl bond/show) || return
    [[ $shown =~ 'lacp_status: negotiated' &&
        $shown =~ 'member m1: enabled' && $shown =~ 'member m2: enabled' ]]
}

# Prints the OpenFlow number of port $2 at management socket $1, if it is there.
number_at() {
    ovs-ofctl show "$1" | sed -n "s/^ *\([0-9]*\)($2): .*/\1/p"
}

has_number_at() {
    test -n "$(number_at "$@")"
}

add_test handover_new_port \
    'a port that is added in a handover has one OpenFlow number (R6)' kdp 240
handover_new_port() {
    local name next="unix:$OVS_RUNDIR/br0.mgmt.next"
    local -A number
    handover_bridge
    # The next daemon would give this one's number away again.
    connect br0 n3 ''
    ovs-vsctl del-port v-n3
    # For the next daemon the port comes when the database has its number.
    allow_log 'could not add network device [a-z0-9-]+ to ofproto \(.* busy\)'
    start_next
    equal "$(number_at "$next" v-n1)" 1 'the number of an old port'
    ovs-vsctl add-port br0 patch0 -- \
        set Interface patch0 type=patch options:peer=patch1 -- \
        add-port br0 patch1 -- \
        set Interface patch1 type=patch options:peer=patch0
    ovs-vsctl add-port br0 tunnel0 -- \
        set Interface tunnel0 type=vxlan options:remote_ip=10.9.9.9
    ovs-vsctl add-port br0 internal0 -- set Interface internal0 type=internal
    connect br0 n4 ''
    for name in patch0 tunnel0 internal0 v-n4; do
        number[$name]=$(interface_get $name ofport)
        wait_until $PATIENCE has_number_at "$next" $name
        equal "$(number_at "$next" $name)" "${number[$name]}" \
            "the number of $name in the shadow"
    done
    finish_handover
    for name in patch0 tunnel0 internal0 v-n4; do
        equal "$(number_at br0 $name)" "${number[$name]}" "the number of $name"
        equal "$(interface_get $name ofport)" "${number[$name]}" \
            "the number of $name in the database"
        equal "$(interface_get $name error)" '[]' "the error of $name"
    done
}

add_test handover_requested_number \
    'a port with a requested number comes in a handover, too (R6)' kdp 240
handover_requested_number() {
    local next="unix:$OVS_RUNDIR/br0.mgmt.next" device
    handover_bridge
    add_ns n3
    add_veth n3
    allow_log 'could not add network device [a-z0-9-]+ to ofproto \(.* busy\)' \
        'failed to add [a-z0-9-]+ as port: .* busy'
    start_next
    # The next daemon is the first one that sees the new ports in the database.
    kill -STOP "$DAEMON_PID"
    ovs-vsctl --no-wait add-port br0 v-n3 -- \
        set Interface v-n3 ofport_request=9 -- \
        add-port br0 tunnel0 -- \
        set Interface tunnel0 type=geneve options:remote_ip=10.9.9.9 \
            ofport_request=10
    wait_until $PATIENCE logged 'could not add network device v-n3 '
    wait_until $PATIENCE logged 'could not add network device tunnel0 '
    kill -CONT "$DAEMON_PID"
    wait_until $PATIENCE has_number_at "$next" v-n3
    wait_until $PATIENCE has_number_at "$next" tunnel0
    device=$(</sys/class/net/genev_sys_6081/ifindex)
    finish_handover
    equal "$(number_at br0 v-n3)" 9 'the number of v-n3'
    equal "$(number_at br0 tunnel0)" 10 'the number of tunnel0'
    equal "$(</sys/class/net/genev_sys_6081/ifindex)" "$device" \
        'the device of tunnel0'
}
