# SPDX-License-Identifier: Apache-2.0
#
# Too few file descriptors.

add_test fd_limit_hard \
    'ports share a socket when file descriptors run short (U8)' kdp one-cpu
fd_limit_hard() {
    local i open
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    allow_log 'open files'

    # Room for a few more, by the reserve that is kept for other things.
    open=$(ls "/proc/$DAEMON_PID/fd" | wc -l)
    prlimit --pid "$DAEMON_PID" --nofile=$((open + 64 + 10))
    for i in $(seq 40); do
        set -- "$@" -- add-port br0 "i$i" -- set Interface "i$i" type=internal
    done
    ovs-vsctl "$@"
    connect br0 n3 10.0.0.3/24
    equal "$(ovs-vsctl --columns=name find Interface 'error!=[]')" '' errors
    ping_works n3 10.0.0.1
    equal "$(port_json v-n3 .shared)" true 'a new port shares'
    test "$(port_json v-n3 .received)" -gt 0 || fail 'not counted for the port'
    matches "$(ovs-appctl upcall/show)" 'v-n3 +[0-9]+\*'
    wait_until $PATIENCE logged 'the quietest ports share one'

    # With enough of them, each port gets its own again.
    prlimit --pid "$DAEMON_PID" --nofile=4096
    wait_until $PATIENCE nothing_is_shared
    ping_works n3 10.0.0.2
    equal "$(upcalls_lost)" 0 'upcalls lost'
}

nothing_is_shared() {
    test "$(upcall_json '.ports[].shared' | sort -u)" = false
}

add_test socket_budget \
    'ports over the budget share, and noisy ones do not (U2, U8)' kdp
socket_budget() {
    local i
    start_ovs
    ovs-vsctl set Open_vSwitch . other_config:upcall-max-sockets=10
    ovs-vsctl add-br br0
    for i in $(seq 40); do
        set -- "$@" -- add-port br0 "i$i" -- set Interface "i$i" type=internal
    done
    ovs-vsctl "$@"
    connect br0 n1 '' -- set Interface v-n1 ofport_request=101
    connect br0 n2 '' -- set Interface v-n2 ofport_request=102
    every_frame_an_upcall br0 101 102
    test "$(upcall_json .n_sockets)" -le 10 || fail 'over the budget'
    equal "$(upcall_json .n_ports)" 44 ports
    equal "$(port_json v-n1 .shared)" true 'the last port shares'

    # It turns noisy: that is more than 50 a second.
    start_receiver receiver n2 --progress=progress
    start_sender sender n1 -n 0 -r "$(upcall_rate 300 120)" $WINDOW
    wait_until $PATIENCE port_has_its_own v-n1
    wait_until $PATIENCE logged \
        'port v-n1 has a socket for upcalls of its own now'
    wait_for_misses 50
    test "$(upcall_json .n_sockets)" -le 10 || fail 'over the budget'
    stop_background sender
    received_all receiver
    equal "$(upcalls_lost)" 0 'upcalls lost'

    # Smaller, larger, none, wrong.
    ovs-vsctl set Open_vSwitch . other_config:upcall-max-sockets=3
    wait_until $PATIENCE sockets_are_at_most 3
    wait_until $PATIENCE logged \
        'port .* shares the socket for upcalls of several ports now'
    ovs-vsctl set Open_vSwitch . other_config:upcall-max-sockets=20
    wait_until $PATIENCE sockets_are_at_least 15
    ovs-vsctl remove Open_vSwitch . other_config upcall-max-sockets
    wait_until $PATIENCE nothing_is_shared
    # That which some shared goes when it is empty.
    wait_until $PATIENCE upcalls_say n_sockets 46
    allow_log 'other_config:upcall-max-sockets is'
    ovs-vsctl set Open_vSwitch . other_config:upcall-max-sockets=2
    wait_until $PATIENCE logged \
        'upcall-max-sockets is "2", expected 0 .no limit. or 3 to 1000000'
}

port_has_its_own() {
    test "$(port_json "$1" .shared)" = false
}

sockets_are_at_most() {
    test "$(upcall_json .n_sockets)" -le "$1"
}

sockets_are_at_least() {
    test "$(upcall_json .n_sockets)" -ge "$1"
}

add_test fd_limit_soft \
    'the soft limit on file descriptors is raised' kdp one-cpu
fd_limit_soft() {
    start_ovsdb
    (
        ulimit -Sn 64
        start_daemon
    )
    DAEMON_PID=$(cat "$OVS_RUNDIR/ovs-vswitchd.pid")
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    wait_until $PATIENCE logged 'raised the limit on open files from 64'
    test "$(awk '/^Max open files/ { print $4 }' "/proc/$DAEMON_PID/limits")" \
        -gt 64 || fail 'not raised'
}

# Checks that new flows come through, at a port that is new itself, $1.
new_port_works() {
    connect br0 "n$1" "10.0.0.$1/24"
    ping_works "n$1" 10.0.0.1
    ping_works n2 "10.0.0.$1"
}

# Sets the number of handlers.
ask_for_handlers() {
    ovs-vsctl set Open_vSwitch . "other_config:n-handler-threads=$1"
}

# Prints the threads that Open vSwitch stops and starts when their number
# changes.  Any other thread may end meanwhile, which grep reports as an error.
upcall_threads() {
    grep -slE '^(handler|revalidator)' /proc/"$DAEMON_PID"/task/*/comm ||
        test $? -eq 2
}

add_test too_many_handlers \
    'a number of handlers that is too large changes nothing (U8)'
too_many_handlers() {
    local threads
    start_ovs
    ask_for_handlers 3
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    threads=$(upcall_threads)
    test "$threads"
    allow_log 'n-handler-threads is (5000|4096), expected'
    ask_for_handlers 5000
    new_port_works 3
    equal "$(upcall_threads)" "$threads" threads
    test "$KDP_PROVIDERS" = kdp || return 0

    equal "$(upcall_json .n_handlers)" 3 handlers
    logged 'n-handler-threads is 5000, expected 1 to 4095; going on with 3' ||
        fail 'not logged'
    matches "$(ovs-appctl kdp/doctor)" \
        'n-handler-threads is "5000", expected 0 to 4095'
    ask_for_handlers 2
    wait_until $PATIENCE upcalls_say n_handlers 2
    new_port_works 4

    # At the start there is no last good one.
    ask_for_handlers 4096
    exit_daemon
    start_daemon
    new_port_works 5
    logged 'n-handler-threads is 4096, .*; going on with a number that fits' ||
        fail 'not logged after the start'
}

add_test handlers_without_descriptors \
    'upcalls go on when more handlers lack file descriptors (U8)' kdp
handlers_without_descriptors() {
    local open mode i=2 n=0
    local failed='20 upcall handlers .* failed .Too many.*; going on with 2'
    start_ovs
    # Each handler needs several.
    ovs-vsctl set Open_vSwitch . other_config:upcall-group-size=1
    ask_for_handlers 2
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    allow_log 'open files' 'handlers? .*failed \(Too many' \
        'giving each handler a socket failed'
    for mode in per-port per-cpu; do
        ovs-vsctl set Open_vSwitch . "other_config:upcall-dispatch=$mode"
        wait_until $PATIENCE upcalls_say dispatch $mode
        open=$(ls "/proc/$DAEMON_PID/fd" | wc -l)
        prlimit --pid "$DAEMON_PID" --nofile=$((open + 30))
        ask_for_handlers 20
        wait_until $PATIENCE logged "$failed" $((n += 1))
        equal "$(upcall_json .n_handlers)" 2 handlers
        new_port_works $((i += 1))

        # They come when there is room.
        prlimit --pid "$DAEMON_PID" --nofile=4096
        wait_until $PATIENCE upcalls_say n_handlers 20
        new_port_works $((i += 1))
        ask_for_handlers 2
        wait_until $PATIENCE upcalls_say n_handlers 2
        new_port_works $((i += 1))
    done
}
