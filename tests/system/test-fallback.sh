# SPDX-License-Identifier: Apache-2.0
#
# Settings ask for what the kernel lacks.  Libraries that are preloaded into the
# daemon take it away.

fallback_built=${KDP_TRAFFIC%/*}/../..

# Starts the daemon with library $1 of the build tree, and two ports.
start_without() {
    test -e "$fallback_built/$1" || fail "$1 is missing"
    start_ovsdb
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" \
        LD_PRELOAD=$fallback_built/$1 start_daemon
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
}

add_test fallback_engine \
    'without io_uring upcalls are received with epoll' kdp one-cpu
fallback_engine() {
    local lack='the kernel lacks what upcall engine "io_uring" needs'
    start_without tests/system/no-io-uring.so
    allow_log "$lack"
    ovs-vsctl set Open_vSwitch . other_config:upcall-engine=io_uring
    wait_until $PATIENCE logged \
        "system@ovs-system: $lack \(Function not implemented\); using \"epoll\""
    equal "$(upcall_json .engine)" epoll engine
    matches "$(ovs-appctl upcall/show)" 'engine epoll'
    ping_works n1 10.0.0.2
    # More handlers need more engines.
    ovs-vsctl set Open_vSwitch . other_config:n-handler-threads=3
    wait_until $PATIENCE upcalls_say n_handlers 3
    equal "$(upcall_json .engine)" epoll engine
    connect br0 n3 10.0.0.3/24
    ping_works n3 10.0.0.1
    equal "$(grep -c "$lack" "$OVS_LOGDIR/ovs-vswitchd.log")" 1 warnings
}

# Upcalls are dispatched by port in spite of the setting.
check_per_port() {
    wait_until $PATIENCE logged \
        'the kernel does not dispatch upcalls by CPU .*; going on by port' "$1"
    equal "$(upcall_json .dispatch)" per-port dispatch
    matches "$(ovs-appctl upcall/show)" 'dispatch per-port'
    matches "$(ovs-appctl dpif-netlink/dispatch-mode)" \
        'ovs-system: per-vport dispatch mode'
    # One for each of four ports, and two that belong to none.
    wait_until $PATIENCE upcalls_say n_sockets 6
    equal "$(upcall_json '[.ports[] | select(.shared)] | length')" 0 \
        'ports that share sockets'
    ping_works n1 10.0.0.2
}

add_test fallback_dispatch \
    'without dispatch by CPU upcalls come by port' kdp one-cpu
fallback_dispatch() {
    start_without utilities/bench/per-vport.so
    allow_log 'the kernel does not dispatch upcalls by CPU'
    ovs-vsctl set Open_vSwitch . other_config:upcall-dispatch=per-cpu
    check_per_port 1
    # So it does when the database has the setting from the beginning.
    stop_daemon
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" \
        LD_PRELOAD=$fallback_built/utilities/bench/per-vport.so start_daemon
    wait_until $PATIENCE port_is_up v-n2
    check_per_port 2
    # The preloaded library is what does it.
    stop_daemon
    start_daemon
    wait_until $PATIENCE upcalls_say dispatch per-cpu
    ping_works n1 10.0.0.2
}
