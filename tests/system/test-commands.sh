# SPDX-License-Identifier: Apache-2.0
#
# Options, exit codes and files, as the scripts of an operator rely on them.

add_test version 'the version names Open vSwitch and ovs-kdp' kdp one-cpu
version() {
    local said version
    said=$("$KDP_DAEMON" --version)
    matches "$said" \
        '^ovs-vswitchd \(Open vSwitch\) [0-9]+\.[0-9]+\.[0-9]+[[:cntrl:]]ovs-kdp [0-9.]+[[:cntrl:]]built from [a-z][a-z0-9.-]* [^ ]+$'
    equal "$("$KDP_DAEMON" -V)" "$said" 'what -V says'
    start_ovs
    equal "$(ovs-appctl version)" "$said" 'what the command says'
    # As ovs-ctl and ovs-save read it.
    version=${said#*Open vSwitch) }
    version=${version%%[[:cntrl:]]*}
    equal "$(awk '/Open vSwitch/{print $NF}' <<<"$said")" "$version" version
    equal "$(awk 'NR==1{print $NF}' <<<"$said")" "$version" version
}

add_test options 'options and exit codes are those of the stock daemon' one-cpu
options() {
    local daemon status stock args
    matches "$("$KDP_DAEMON" --help)" 'usage: ovs-vswitchd '
    matches "$("$KDP_DAEMON" -h)" '--detach'
    for args in --help --version --nonsense --unixctl '--pidfile=/nowhere/x' \
        '--unixctl=/nowhere/x' 'one two' '--verbose=nonsense'; do
        # shellcheck disable=SC2086
        status=0
        timeout $PATIENCE "$KDP_DAEMON" $args >/dev/null 2>&1 || status=$?
        stock=0
        timeout $PATIENCE "$KDP_STOCK" $args >/dev/null 2>&1 || stock=$?
        equal "$status" "$stock" "exit status for \"$args\""
    done
}

add_test files 'pid file, log file, control socket and exit status' one-cpu
files() {
    start_ovsdb
    # In the foreground, for its exit status.
    # shellcheck disable=SC2086
    "$KDP_DAEMON" $KDP_DAEMON_ARGS --pidfile="$KDP_WORK/my.pid" \
        --log-file="$KDP_WORK/my.log" --unixctl="$KDP_WORK/my.ctl" \
        "unix:$OVS_RUNDIR/db.sock" 2>"$KDP_WORK/stderr" &
    wait_until $PATIENCE test -s "$KDP_WORK/my.pid"
    equal "$(cat "$KDP_WORK/my.pid")" $! 'pid file'
    wait_until $PATIENCE test -S "$KDP_WORK/my.ctl"
    ovs-vsctl add-br br0
    matches "$(ovs-appctl -t "$KDP_WORK/my.ctl" version)" 'ovs-vswitchd'
    matches "$(ovs-appctl -t "$KDP_WORK/my.ctl" list-commands)" 'upcall/show'
    exits_with 2 ovs-appctl -t "$KDP_WORK/my.ctl" nonsense 2>/dev/null
    # A second one must not start.
    # shellcheck disable=SC2086
    exits_with 1 "$KDP_DAEMON" $KDP_DAEMON_ARGS --pidfile="$KDP_WORK/my.pid" \
        --unixctl="$KDP_WORK/other.ctl" --detach 2>/dev/null
    mv "$KDP_WORK/my.log" "$KDP_WORK/old.log"
    ovs-appctl -t "$KDP_WORK/my.ctl" vlog/reopen
    # The log is written in the background.
    wait_until $PATIENCE test -s "$KDP_WORK/my.log"
    ovs-appctl -t "$KDP_WORK/my.ctl" exit
    wait $!
    test ! -e "$KDP_WORK/my.pid" || fail 'the pid file is still there'
    test ! -e "$KDP_WORK/my.ctl" || fail 'the control socket is still there'
}

add_test exit_answers '"exit" is answered when all is cleaned up' kdp one-cpu
exit_answers() {
    local i bridges=()
    start_ovs
    # It takes the kernel some time to delete each device.
    for i in $(seq 10); do
        bridges+=(-- add-br "br$i" -- add-port "br$i" "int$i"
            -- set Interface "int$i" type=internal)
    done
    ovs-vsctl "${bridges[@]}"
    exit_daemon --cleanup
    set -- /sys/class/net/*
    unset DAEMON_PID
    [[ "$*" != *br[0-9]* && "$*" != *ovs-system* && "$*" != *int[0-9]* ]] ||
        fail "left when it was answered: $*"
}

add_test signals 'the daemon ends on SIGTERM and removes its files' one-cpu
signals() {
    start_ovs
    ovs-vsctl add-br br0
    allow_log 'fatal_signal.*\|WARN\|terminating with signal 15'
    kill -TERM "$DAEMON_PID"
    wait_until $PATIENCE daemon_is_gone
    test ! -e "$OVS_RUNDIR/ovs-vswitchd.pid" || fail 'the pid file is still there'
    start_daemon
}

add_test monitor 'a monitored daemon is started again after a crash' one-cpu
monitor() {
    local old signal=SEGV
    # A sanitizer catches that, and exits.
    test -z "${KDP_SANITIZER_OPTIONS:-}" || signal=ABRT
    start_ovsdb
    start_daemon --monitor
    old=$DAEMON_PID
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    allow_log '(daemon_unix|backtrace)\(monitor\)\|(WARN|ERR|EMER)\|' \
        'terminating with signal 11'
    kill -"$signal" "$DAEMON_PID"
    wait_until $PATIENCE pid_file_changed "$old"
    DAEMON_PID=$(cat "$OVS_RUNDIR/ovs-vswitchd.pid")
    ping_works n1 10.0.0.2
}

pid_file_changed() {
    local pid
    pid=$(cat "$OVS_RUNDIR/ovs-vswitchd.pid" 2>/dev/null) &&
        test -n "$pid" && test "$pid" != "$1"
}

add_test ovs_ctl \
    "the distribution's scripts start, report and stop the daemon" one-cpu
ovs_ctl() {
    printf '#!/bin/sh\nexec %s "$@" %s\n' "$KDP_DAEMON" "$KDP_DAEMON_ARGS" \
        >"$KDP_WORK/wrapper"
    chmod +x "$KDP_WORK/wrapper"
    ports_go_under_traffic
    unset OVS_RUNDIR OVS_LOGDIR
    ctl --system-id=random start
    matches "$(ctl status)" 'ovs-vswitchd is running with pid'
    DAEMON_PID=$(cat /var/run/openvswitch/ovs-vswitchd.pid)
    equal "$(readlink "/proc/$DAEMON_PID/exe")" "$(readlink -f "$KDP_DAEMON")" \
        'the running daemon'
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    ctl --no-ovsdb-server --system-id=random restart
    ping_works n1 10.0.0.2
    stop_by_ctl
    exits_with 1 ctl status
    unset DAEMON_PID
    OVS_LOGDIR=/var/log/openvswitch
}

# Leaves no database for the next test in this guest.
stop_by_ctl() {
    ctl stop
    rm -f /etc/openvswitch/conf.db
}

# The script looks for the daemon where the distribution has it.  A service manager
# may run it.  It waits for the answer to "exit" for a second, for the end for two,
# and then sends a signal.
ctl() {
    allow_log 'fatal_signal.*\|WARN\|terminating with signal 15' \
        'jsonrpc\|WARN\|unix#[0-9]+: send error: Broken pipe'
    # shellcheck disable=SC2016,SC2086
    ${SERVICE_MANAGER:-} unshare --mount sh -ec '
        if test "$KDP_DAEMON" != /usr/sbin/ovs-vswitchd; then
            mount --bind "$KDP_WORK/wrapper" /usr/sbin/ovs-vswitchd
        fi
        exec /usr/share/openvswitch/scripts/ovs-ctl "$@"' sh "$@"
}
