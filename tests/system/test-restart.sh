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
    in_ns_background ping@n1 ping -n -O -i 0.05 10.0.0.2
}

# Checks that packets pass from now on, and that the daemon has flows and
# upcalls.  Each use sends to an address that was not there before.
address=0
traffic_recovers() {
    local missed
    address=$((address + 1))
    missed=$(datapath_count missed)
    ping_works n1 10.0.0.2
    matches "$(ovs-appctl dpctl/dump-flows)" 'eth_type\(0x0800\)'
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

add_test restart_of_ovsdb 'traffic flows while ovsdb-server restarts'
restart_of_ovsdb() {
    running_traffic
    allow_log 'reconnect\|WARN\|unix:' 'jsonrpc\|WARN\|unix:'
    ovs-appctl -t ovsdb-server exit
    wait_until $PATIENCE test ! -e "$OVS_RUNDIR/ovsdb-server.pid"
    traffic_recovers
    ovsdb-server "$KDP_WORK/conf.db" --detach --no-chdir --pidfile \
        --log-file --remote="punix:$OVS_RUNDIR/db.sock" 2>/dev/null
    connect br0 n3 10.0.0.3/24
    ping_works n1 10.0.0.3
    traffic_recovers
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
