# SPDX-License-Identifier: Apache-2.0
#
# Too few file descriptors.

interface_error() {
    interface_get "$1" error
}

add_test fd_limit_hard 'a port that gets no file descriptor is refused, alone' \
    kdp
fd_limit_hard() {
    local i refused fds
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    allow_log 'open files' 'Too many open files' 'could not open network device' \
        'failed to add' 'Dropped [0-9]+ log messages'

    # Some descriptors more than there are, so that control connections work.
    fds=$(daemon_fds)
    prlimit --pid "$DAEMON_PID" --nofile=$((fds + 16))
    for i in $(seq 40); do
        ovs-vsctl --no-wait add-port br0 "i$i" \
            -- set Interface "i$i" type=internal
    done
    wait_until $PATIENCE logged 'Too many open files'
    daemon_is_alive || fail 'the daemon has died'
    wait_until $PATIENCE ports_with_errors
    ping_works n1 10.0.0.2

    # With enough of them, all is well at the next change.
    prlimit --pid "$DAEMON_PID" --nofile=4096
    ovs-vsctl set Bridge br0 other_config:again=1
    wait_until $PATIENCE no_ports_with_errors
    equal "$(ovs-appctl dpctl/show | grep -c '^  port ')" 44 ports
    connect br0 n3 10.0.0.3/24
    ping_works n3 10.0.0.1
}

ports_with_errors() {
    ovs-vsctl --format=csv --columns=name,error find Interface 'error!=[]' |
        grep -q 'Too many open files'
}

no_ports_with_errors() {
    test -z "$(ovs-vsctl --columns=name find Interface 'error!=[]')"
}

add_test fd_limit_soft 'the soft limit on file descriptors is raised' kdp
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
    logged 'raised the limit on open files from 64' || fail 'not logged'
    test "$(awk '/^Max open files/ { print $4 }' "/proc/$DAEMON_PID/limits")" \
        -gt 64 || fail 'not raised'
}
