# SPDX-License-Identifier: Apache-2.0
#
# Sockets for upcalls outlive the daemon (R4): what comes while none runs waits
# on them.

# Frames, each of them an upcall, that have room in the socket of a port.
WAITING=500

# A stand-in for systemd's store of descriptors, and a daemon that uses it from
# now on.  At most $1 descriptors have room in it.
with_fd_store() {
    start_fd_store "$@"
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$SERVICE_MANAGER" "$KDP_DAEMON" \
        >"$KDP_WORK/service"
    chmod +x "$KDP_WORK/service"
    KDP_DAEMON=$KDP_WORK/service
}

# Starts the stand-in, and makes SERVICE_MANAGER what runs commands as a service.
start_fd_store() {
    local fdstore
    fdstore=$(dirname "${BASH_SOURCE[0]}")/fdstore.py
    : >"$KDP_WORK/store"
    python3 "$fdstore" serve "$KDP_WORK/notify" "$@" \
        >"$KDP_WORK/store" 2>&1 &
    wait_until $PATIENCE says "$KDP_WORK/store" ready
    SERVICE_MANAGER="python3 $fdstore run $KDP_WORK/notify"
}

# Prints the names of what the store has.
fd_store() {
    python3 "$(dirname "${BASH_SOURCE[0]}")/fdstore.py" names \
        "$KDP_WORK/notify"
}

# True if it has $1 descriptors.
fd_store_has() {
    test "$(fd_store | grep -c '^kdp-')" -eq "$1"
}

# Namespaces n1 and n2 on bridge br0, with a daemon that is started with "$@".
two_waiting_namespaces() {
    start_ovs "$@"
    ovs-vsctl add-br br0
    connect br0 n1 ''
    connect br0 n2 ''
}

# Stops the daemon while namespace n1 sends frames to n2, of a stream that was not
# there before, and ends it by $1, which is a signal or "exit", before it has seen
# any of them.
stream=0
end_with_frames() {
    stream=$((stream + 1))
    start_receiver receiver n2 -f $stream
    kill -STOP "$DAEMON_PID"
    # When it goes on, its main thread gets the signal before another one runs:
    # a handler would take frames and die with them.
    taskset -a -p 1 "$DAEMON_PID" >/dev/null
    chrt --fifo -p 1 "$DAEMON_PID"
    send_frames n1 -s $stream -n $WAITING
    if test "$1" = exit; then
        exit_daemon &
    else
        kill -"$1" "$DAEMON_PID"
    fi
    # KILL ends a process that is stopped, too.
    test "$1" = KILL || kill -CONT "$DAEMON_PID"
    wait_until $PATIENCE has_ended "$DAEMON_PID"
}

# True if process $1 has ended.
has_ended() {
    ! kill -0 "$1" 2>/dev/null
}

# Checks that n2 gets the frames, in order.  A daemon that was killed had seen none
# of them; one that ends by itself may have.
frames_have_waited() {
    received_all receiver
    matches "$(<"$KDP_WORK/receiver")" \
        "stream $stream received $WAITING lost 0 duplicated 0 reordered 0"
    note "$(upcall_json .adopted) waited"
    case $1 in
        ABRT | KILL) test "$(upcall_json .adopted)" -ge $WAITING ;;
    esac
}

add_test sockets_after_crash \
    'upcalls wait while a monitored daemon is started again (R4 U1)' kdp 180
sockets_after_crash() {
    local old i
    allow_log '(daemon_unix|backtrace)\(monitor\)\|(WARN|ERR|EMER)\|'
    two_waiting_namespaces --monitor
    for i in 1 2; do
        old=$DAEMON_PID
        end_with_frames ABRT
        wait_until $PATIENCE pid_file_changed "$old"
        DAEMON_PID=$(<"$OVS_RUNDIR/ovs-vswitchd.pid")
        frames_have_waited ABRT
    done
}

add_test sockets_after_restart \
    'upcalls wait in the store of the service manager (R4 U1)' kdp 240
sockets_after_restart() {
    local how
    with_fd_store
    two_waiting_namespaces
    allow_log 'fatal_signal.*\|WARN\|terminating with signal 15'
    for how in KILL exit TERM; do
        end_with_frames $how
        start_daemon
        frames_have_waited $how
    done
}

add_test sockets_under_traffic \
    'no packet of a stream of new flows is lost in a restart (R4)' kdp 240
sockets_under_traffic() {
    local how
    with_fd_store
    two_waiting_namespaces
    allow_log 'fatal_signal.*\|WARN\|terminating with signal 15'
    makes_many_flows
    for how in exit TERM; do
        stream=$((stream + 1))
        # However long the daemon needs, what comes meanwhile has room in a socket.
        start_receiver receiver n2 -f $stream --progress=progress
        start_sender sender n1 -s $stream -n 0 -r "$(upcall_rate 200)" $WINDOW
        wait_until $PATIENCE frames_are $(($(frames_from_n1) + 50))
        end_daemon $how
        start_daemon
        wait_until $PATIENCE frames_are $(($(frames_from_n1) + 50))
        flow_lost_nothing
        note "$how: $(tail -n 1 "$KDP_WORK/receiver"), $(upcall_json .adopted) waited"
    done
}

add_test sockets_of_ports_that_go \
    'the store has the sockets that are in use, and no others (R4 U6)' kdp 180
sockets_of_ports_that_go() {
    with_fd_store
    two_waiting_namespaces
    # That of no port, the shared one, and of br0, ovs-system and two ports.
    wait_until $PATIENCE fd_store_has 6
    ovs-vsctl del-port br0 v-n2
    wait_until $PATIENCE fd_store_has 5
    kill_daemon
    ovs-vsctl --no-wait del-port br0 v-n1
    start_daemon
    wait_until $PATIENCE fd_store_has 4
    stop_daemon --cleanup
    equal "$(fd_store)" '' 'sockets in the store'
    start_daemon
}

add_test sockets_by_ovs_ctl \
    "sockets come through the distribution's scripts (R4)" kdp 180
sockets_by_ovs_ctl() {
    printf '#!/bin/sh\nexec %s "$@" %s\n' "$KDP_DAEMON" "$KDP_DAEMON_ARGS" \
        >"$KDP_WORK/wrapper"
    chmod +x "$KDP_WORK/wrapper"
    start_fd_store
    unset OVS_RUNDIR OVS_LOGDIR
    ctl --no-monitor --system-id=random start
    DAEMON_PID=$(</var/run/openvswitch/ovs-vswitchd.pid)
    ovs-vsctl add-br br0
    connect br0 n1 ''
    connect br0 n2 ''
    end_with_frames KILL
    ctl --no-ovsdb-server --no-monitor --system-id=random start
    frames_have_waited KILL
    stop_by_ctl
    unset DAEMON_PID
    OVS_LOGDIR=/var/log/openvswitch
}

add_test sockets_that_have_no_room \
    'kdp/doctor names sockets that cannot be kept (R4)' kdp
sockets_that_have_no_room() {
    allow_log 'keeping a socket for upcalls failed .No space left on device'
    export FDSTORE=4
    with_fd_store $FDSTORE
    two_waiting_namespaces
    wait_until $PATIENCE doctor_finds sockets-not-kept
    fd_store_has 4
}

doctor_finds() {
    [[ $(ovs-appctl kdp/doctor) =~ $1 ]]
}

add_test sockets_without_store \
    'without a store all that comes while no daemon runs is lost (R4)' kdp
sockets_without_store() {
    two_waiting_namespaces
    end_with_frames KILL
    start_daemon
    start_receiver later n2 -f 63
    send_frames n1 -s 63
    received_all later
    stop_background receiver || :
    matches "$(<"$KDP_WORK/receiver")" "stream $stream received 0 "
    equal "$(upcall_json .adopted_sockets)" 0 'sockets taken over'
}

add_test sockets_outdated \
    'what waited and was recirculated takes no way of the new run (R3 R4)' \
    kdp 180
sockets_outdated() {
    outdated_have_waited per-port
}

add_test sockets_outdated_by_cpu \
    'nor does it where upcalls are dispatched by CPU (R3 R4)' kdp 180
sockets_outdated_by_cpu() {
    outdated_have_waited per-cpu
}

outdated_are() {
    test "$(upcall_json .outdated)" -eq "$1"
}

# Checks what becomes of upcalls that waited where they are dispatched as $1 says.
outdated_have_waited() {
    with_fd_store
    start_ovs
    set_other_config upcall-dispatch "$1"
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    connect br0 n3 '' -- set Interface v-n3 ofport_request=3

    # What n3 sends is tracked, and each frame is an upcall that was recirculated.
    # What n1 sends is unknown yet.
    rules_by_source 3 '' 1
    send_frames n3 -s 3 --udp --sport=8000
    wait_until $PATIENCE has_recirculated 1 v-n3
    kill -STOP "$DAEMON_PID"
    send_frames n3 -s 4 -n 100 --udp
    send_frames n1 -s 1 -n 50 --udp
    kill -KILL "$DAEMON_PID"
    wait_until $PATIENCE daemon_is_gone

    # Now what n1 sends is, and goes to n2.
    start_waiting_daemon
    rules_by_source 1 ,output:2 3
    start_receiver receiver n2 -f 1 --udp
    end_wait
    received_all receiver
    matches "$(<"$KDP_WORK/receiver")" 'others 0'
    wait_until $PATIENCE outdated_are 100
    upcalls_say dispatch "$1"
}
