# SPDX-License-Identifier: Apache-2.0
#
# Functions for tests that run a whole Open vSwitch: ovsdb-server, the daemon,
# and network namespaces behind its ports.  For bash.
#
# A test is a function that runs with "set -eE" in a process of its own: any
# command that fails ends it, and the trap set by run_test says where.  Nothing
# here waits for a fixed time: what takes time is waited for with a bound.
#
# Environment:
#   KDP_DAEMON       the daemon
#   KDP_DAEMON_ARGS  further arguments of it, for each start
#   KDP_TRAFFIC      the program of traffic.c
#   KDP_WORK         folder of the test, for everything that it leaves
#   KDP_PATIENCE     factor of time limits (default 1)
#   KDP_SANITIZER_OPTIONS  options of the daemon's sanitizers, if it has any
#   KDP_EMPTY_DB     a database that is initialized and otherwise empty, if one
#                    is there already
#   KDP_PIPE         a pipe that nobody writes to, too

# Makes time limits $1 times as long.  PATIENCE is the seconds that something
# quick may take in an emulated guest on a busy machine.
set_patience() {
    KDP_PATIENCE=$1
    PATIENCE=$((30 * $1))
    export OVS_CTL_TIMEOUT=$((2 * PATIENCE))
}
set_patience "${KDP_PATIENCE:-1}"

# Where the kernel has its processors.
CPUS=/sys/devices/system/cpu

# Has the guest run on $1 processors, "1" or "all" that it has.  The first one
# always runs.
use_cpus() {
    local online=1 cpu
    test "$1" = all || online=0
    for cpu in "$CPUS"/cpu[1-9]*/online; do
        if test -e "$cpu" && test "$(<"$cpu")" != $online; then
            echo $online >"$cpu"
        fi
    done
}

# Patterns of warnings that a slow machine causes, not the daemon.
LOG_ALLOWED=('timeval(\([a-z0-9_-]*\))?\|WARN\|'
             'ovs_rcu.*\|WARN\|blocked [0-9]* ms waiting'
             'WARN\|Spent an unreasonably long [0-9]*ms dumping flows')

# Reporting.

note() {
    printf '# %s\n' "$*"
}

# Ends the test.
fail() {
    trap - ERR
    printf 'FAILED: %s\n' "$*"
    exit 1
}

# Checks that $1 equals $2; $3 says what it is.
equal() {
    test "$1" = "$2" || fail "$3: got \"$1\", expected \"$2\""
}

# Checks that extended regular expression $2 is found in string $1.
matches() {
    [[ $1 =~ $2 ]] || fail "\"$2\" not found in: $1"
}

# Checks that command $2... ends with exit status $1.
exits_with() {
    local expected=$1 status=0
    shift
    "$@" || status=$?
    equal "$status" "$expected" "exit status of \"$*\""
}

# Is version $1, numbers between dots and whatever follows, at least $2?
at_least() {
    test "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2"
}

# Waits for $1 seconds.  An emulated guest needs a good part of that to start a
# program that would do so.  Nobody ever writes to the pipe.
nap() {
    if test -p "${KDP_PIPE:-}"; then
        read -rt "$1" _ <>"$KDP_PIPE" || :
    else
        sleep "$1"
    fi
}

# Waits until command $2... succeeds, at most $1 seconds.  Most commands start
# programs, which in an emulated guest takes a processor away from what is waited
# for: what takes long is asked for less often.
wait_until() {
    local end=$((SECONDS + $1)) tenths=1
    shift
    until "$@"; do
        test $SECONDS -lt $end || fail "in vain waited for: $*"
        nap 0.$tenths
        test $tenths -ge 4 || tenths=$((tenths + 1))
    done
}

# Warnings and errors in the daemon's log that match extended regular expression
# $1 are part of the test.
allow_log() {
    LOG_ALLOWED+=("$@")
}

# Says that the test takes ports away while packets come in at them.  Open
# vSwitch translates an upcall that it has read when the port has just left its
# bridge, and warns.
ports_go_under_traffic() {
    allow_log 'received packet on unknown port [0-9]+ on bridge'
}

# Says that the test makes a thousand flows or more.  The limit of flows falls down
# to 1,000 when revalidators are slow; packets over it are forwarded all the same.
makes_many_flows() {
    allow_log 'datapath reached the dynamic limit of [0-9]+ flows' \
        'twice as high as current dynamic flow limit'
}

# Says that the test takes the datapath away.  The daemon finds out when it asks
# for something there, of which a device or port may be named.
datapath_goes() {
    allow_log 'system@ovs-system: .*No such device' \
        'dpif(\([a-z0-9_-]*\))?\|WARN\|Dropped [0-9]+ log messages' \
        'could not add network device [a-z0-9-]+ to ofproto \(No such device' \
        'cannot get R?STP (status|stats) on nonexistent port'
}

# Open vSwitch.

# Starts ovsdb-server with an empty database.
start_ovsdb() {
    if test -e "${KDP_EMPTY_DB:-}"; then
        cp "$KDP_EMPTY_DB" "$KDP_WORK/conf.db"
    else
        create_db "$KDP_WORK/conf.db"
    fi
    ovsdb-server "$KDP_WORK/conf.db" --detach --no-chdir --pidfile \
        --log-file --remote="punix:$OVS_RUNDIR/db.sock" 2>/dev/null
}

# Makes database $1, with what "ovs-vsctl init" puts there.  As other limits of time,
# the target delay of upcalls is longer: a slow guest does not serve in 100 ms what
# tests send at once, and which they do not want shed.
create_db() {
    ovsdb-tool create "$1" "$KDP_SCHEMA"
    ovsdb-tool transact "$1" '["Open_vSwitch", {"op": "insert",
        "table": "Open_vSwitch", "row": {"other_config":
            ["map", [["upcall-target-delay", "10000"]]]}}]' >/dev/null
}

# Starts the daemon, with arguments $@.
start_daemon() {
    # shellcheck disable=SC2086
    "$KDP_DAEMON" $KDP_DAEMON_ARGS --detach --no-chdir --pidfile --log-file \
        "$@" 2>>"$KDP_WORK/daemon.stderr"
    DAEMON_PID=$(<"$OVS_RUNDIR/ovs-vswitchd.pid")
}

start_ovs() {
    start_ovsdb
    start_daemon "$@"
}

daemon_is_alive() {
    kill -0 "$DAEMON_PID" 2>/dev/null
}

daemon_is_gone() {
    ! daemon_is_alive
}

# Tells the daemon to end; $1 may be --cleanup.  It deletes its bridges first.
# Open vSwitch frees the recirculation ids of a bridge's flows in a thread that
# the deletion does not wait for, and warns of those that are left.  Handlers find
# no tunnel any more while packets still come out of it.
exit_daemon() {
    ports_go_under_traffic
    allow_log 'recirc_id [0-9]+ left allocated when ofproto' \
        'receive tunnel port not found'
    ovs-appctl exit "$@"
}

# Does that, and waits until it has ended.
stop_daemon() {
    exit_daemon "$@"
    wait_until $PATIENCE daemon_is_gone
}

# Ends the daemon as a crash would.
kill_daemon() {
    kill -KILL "$DAEMON_PID"
    wait_until $PATIENCE daemon_is_gone
}

# What has to be true at the end of each test.
finish_test() {
    if test -n "${DAEMON_PID:-}"; then
        daemon_is_alive || fail "the daemon has died"
        # More is allowed when it ends.
        check_daemon_logs
        stop_daemon --cleanup
    fi
    check_daemon_logs
    check_sanitizer_logs
}

check_daemon_logs() {
    local IFS='|' found
    test -f "$OVS_LOGDIR/ovs-vswitchd.log" || return 0
    found=$(grep -E '\|(WARN|ERR|EMER)\|' "$OVS_LOGDIR/ovs-vswitchd.log" || :)
    test -n "$found" || return 0
    found=$(join_dropped <<<"$found" | grep -vE "${LOG_ALLOWED[*]}" || :)
    test -z "$found" || fail "unexpected in the daemon's log: $found"
}

# Puts what a line of the log says of dropped messages at the end of the next
# one of the same thread and module, which it is about: it is allowed with that.
join_dropped() {
    awk -F'|' '
        { from = $3 "|" $4 }
        $5 ~ /^Dropped [0-9]+ log messages in last / {
            dropped[from] = $0
            next
        }
        from in dropped { $0 = $0 "; " dropped[from]; delete dropped[from] }
        { print }
        END { for (from in dropped) print dropped[from] }'
}

check_sanitizer_logs() {
    local log
    for log in "$KDP_WORK"/sanitizer.*; do
        test ! -e "$log" || fail "a sanitizer reports: $(cat "$log")"
    done
}

# Waits until text $1 has been logged, $2 (default 1) times.
logged() {
    test "$(grep -cE -e "$1" "$OVS_LOGDIR/ovs-vswitchd.log")" -ge "${2:-1}"
}

# True if interface $1 has an OpenFlow port number.
port_is_up() {
    local ofport
    ofport=$(ovs-vsctl --if-exists get Interface "$1" ofport)
    [[ $ofport =~ ^[0-9]+$ ]]
}

# Prints column $2 of interface $1, without quotation marks.
interface_get() {
    local value
    value=$(ovs-vsctl get Interface "$1" "$2") || return
    printf '%s\n' "${value//\"/}"
}

# Prints the kernel's count $1 (hit, missed, lost) of datapath ovs-system.
datapath_count() {
    local shown
    shown=$(ovs-appctl dpctl/show system@ovs-system) || return
    if [[ $shown =~ lookups:[^$'\n']*" $1:"([0-9]+) ]]; then
        echo "${BASH_REMATCH[1]}"
    fi
}

# Prints the values of paths $2... in the JSON text on standard input, each on a
# line, or what jq says to $2 if that is another expression.  All start from $1,
# which is '.' or '.[0]'.
json_values() {
    local root=${1%.} path='(\.[A-Za-z_][A-Za-z0-9_]*|\["[^"]*"\]|\[[0-9]*\])'
    shift
    if test $# -gt 1 || [[ $1 =~ ^$path+$ ]]; then
        local IFS=$'\n'
        awk -v paths="${*/#/$root}" "$JSON_AWK"
    else
        jq -r "${root:-.} | $1"
    fi
}
JSON_AWK=$(<"${BASH_SOURCE[0]%/*}/json.awk")

# Prints the sum of $@, and fails if there are none.
sum() {
    local IFS=+
    test $# -gt 0 && echo $(($*))
}

# Prints paths or an expression of the table of upcall channels.
upcall_json() {
    ovs-appctl upcall/show --format json | json_values '.[0]' "$@"
}

# Prints the number of packets that were lost on the way to the daemon: in the
# kernel, and on its sockets.
upcalls_lost() {
    local lost
    lost=$(datapath_count lost)
    test -n "$lost" || return
    if test "$KDP_PROVIDERS" = kdp; then
        # shellcheck disable=SC2046
        lost=$(sum "$lost" $(upcall_json '.ports[].lost' .abandoned .foreign \
                                 .outdated))
    fi
    echo "$lost"
}

daemon_fds() {
    set -- "/proc/$DAEMON_PID/fd/"*
    test -e "$1" && echo $#
}

# Prints the memory that what the daemon has to read takes, in all its generic
# netlink sockets, as the kernel counts it.
daemon_backlog() {
    find "/proc/$DAEMON_PID/fd" -mindepth 1 -printf '%l\n' |
        awk 'NR == FNR { if (sub(/^socket:\[/, "")) mine[$1 + 0]; next }
             $2 == 16 && $10 in mine { n += $5 }
             END { print n + 0 }' - /proc/net/netlink
}

# The kernel shows its sockets in pieces, and each piece goes on by the number
# of lines before it: a socket that somebody opens or closes meanwhile hides
# another one, or shows it twice.
daemon_netlink_sockets() {
    local before= now
    now=$(count_netlink_sockets)
    until test "$now" = "$before"; do
        before=$now
        now=$(count_netlink_sockets)
    done
    echo "$now"
}

# A descriptor may be closed while "find" looks at it.
count_netlink_sockets() {
    {
        find "/proc/$DAEMON_PID/fd" -mindepth 1 -printf '%l\n' 2>/dev/null ||
            test -d "/proc/$DAEMON_PID/fd"
    } |
        awk 'NR == FNR { if (sub(/^socket:\[/, "")) mine[$1 + 0]; next }
             $10 in mine { n++ }
             END { print n + 0 }' - /proc/net/netlink
}

TRACING=/sys/kernel/tracing

# Makes the kernel's trace available: empty, on, and as after the boot.
prepare_tracing() {
    test -e $TRACING/kprobe_events || mount -t tracefs tracefs $TRACING
    test ! -e $TRACING/events/kdp || trace_end
    echo local >$TRACING/trace_clock
    echo >$TRACING/trace
    echo 1 >$TRACING/tracing_on
}

# Ends probes of group "kdp".
trace_end() {
    echo 0 >$TRACING/events/kdp/enable
    echo '-:kdp/' >>$TRACING/kprobe_events
}

rtnl_mutex() {
    awk '$3 == "rtnl_mutex" { print "0x" $1 }' /proc/kallsyms
}

# Has a thread of the kernel hold the RTNL lock, or not, as $1 is 1 or 0.
hold_rtnl() {
    test -n "$KDP_RTNL_WATCH" || fail "there is no module that holds RTNL:" \
        "install the headers of the guest's kernel"
    test -e /sys/module/rtnl_watch ||
        insmod "$KDP_RTNL_WATCH" mutex="$(rtnl_mutex)"
    echo "$1" >/sys/module/rtnl_watch/parameters/hold
}

# Has the kernel trace who takes the RTNL lock.  Requests of rtnetlink and dumps
# take the mutex without a call of rtnl_lock(), so that it is calls with the
# mutex that are traced.
trace_rtnl() {
    local mutex function
    mutex=$(rtnl_mutex)
    test -n "$mutex" || fail 'the kernel does not tell where rtnl_mutex is'
    prepare_tracing
    # The other processor takes a mutex at almost any time.  QEMU may let it run
    # code that has just been changed: a breakpoint that is no longer there is
    # known to the kernel, a call by ftrace or a jump kills it.
    echo 0 >/proc/sys/debug/kprobes-optimization
    for function in mutex_lock mutex_lock_interruptible mutex_lock_killable \
        mutex_trylock; do
        probe_breakpoint "$function" 'lock=%di:x64'
        echo "lock == $mutex" >"$TRACING/events/kdp/$function/filter"
    done
    echo 1 >$TRACING/events/kdp/enable
}

# Probes function $1 of the kernel with arguments $2 behind its call of ftrace,
# which takes five bytes, and four more come before it in some kernels.
probe_breakpoint() {
    local offset
    for offset in 5 9; do
        if echo "p:kdp/$1 $1+$offset $2" 2>/dev/null \
            >>$TRACING/kprobe_events; then
            return
        fi
    done
    fail "$1 cannot be probed"
}

# Prints how often the daemon took the lock since then.
traced_rtnl() {
    find "/proc/$DAEMON_PID/task" -mindepth 1 -maxdepth 1 -printf '%f\n' |
        awk 'NR == FNR { mine[$1]; next }
             / lock=0x/ { sub(/.*-/, "", $1); n += $1 in mine }
             END { print n + 0 }' - $TRACING/trace
}

# The same of the main thread alone.
traced_rtnl_main() {
    awk -v main="$DAEMON_PID" \
        '/ lock=0x/ { sub(/.*-/, "", $1); n += $1 == main }
         END { print n + 0 }' $TRACING/trace
}

# Namespaces.

add_ns() {
    local ns
    for ns; do
        ip netns add "$ns"
        ip -n "$ns" link set lo up
    done
}

# Makes device v-$1, whose peer is eth0 of namespace $1, with address $2.  With
# no address, nothing comes from the namespace but what the test sends.
add_veth() {
    ip -batch - <<<"$(veth_outside "$1")"
    veth_inside "$1" "${2:-}"
    wait_until $PATIENCE carries "v-$1"
}

# Prints the address of device $2 of namespace $1.
mac_of() {
    local shown
    shown=$(ip -n "$1" -br link show "$2")
    # shellcheck disable=SC2086
    set -- $shown
    echo "$3"
}

# True if device $1 sends.  It got its carrier from its peer: the kernel drops
# what it is to send until a worker has seen to that.
carries() {
    test "$(<"/sys/class/net/$1/operstate")" = up
}

# Prints what makes the device, for ip.  To start a program costs an emulated
# guest more than what the program does.
veth_outside() {
    printf '%s\n' "link add v-$1 type veth peer name eth0 netns $1" \
        "link set v-$1 up"
}

# Gives eth0 of namespace $1 address $2 or '', after command $3 of ip.
veth_inside() {
    local address=$2
    # Multicast listener reports come without an address, too.
    test -n "$address" ||
        in_ns "$1" sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=1
    ip -n "$1" -batch - <<<"${3:-}
link set eth0 up
${address:+address add $address dev eth0}"
}

# Puts namespace $2, made new, with address $3 or '', behind a port of bridge
# $1.  What follows is for ovs-vsctl.
connect() {
    local bridge=$1 ns=$2 address=$3
    shift 3
    ip -batch - <<<"netns add $ns
$(veth_outside "$ns")"
    veth_inside "$ns" "$address" 'link set lo up'
    wait_until $PATIENCE carries "v-$ns"
    ovs-vsctl add-port "$bridge" "v-$ns" "$@"
}

# Makes eth0 and eth1, network cards of the guest, which are down and whose speed
# can be set.
add_nics() {
    modprobe virtio_net
    wait_until $PATIENCE test -e /sys/class/net/eth1
    ip -batch - <<<"link set eth0 down
link set eth1 down"
    set_speed eth0 100
    set_speed eth1 100
}

# Sets the speed of network card $1 to $2 Mbit/s.
set_speed() {
    ethtool -s "$1" speed "$2" duplex full autoneg off
}

# Runs command $2... in namespace $1.  A command that reads /sys has to be run by
# "ip netns exec", which mounts the namespace's /sys and takes half as long again.
in_ns() {
    local ns=$1
    shift
    nsenter --net="/run/netns/$ns" "$@"
}

# Runs command $2... in namespace $1 in the background, with its output in file
# $KDP_WORK/NAME, where $1 is NAME@NAMESPACE; its process is ${BACKGROUND[NAME]}.
declare -A BACKGROUND
in_ns_background() {
    local name=${1%@*} ns=${1#*@}
    shift
    # What an earlier one of that name wrote must not be taken for its output.
    : >"$KDP_WORK/$name"
    nsenter --net="/run/netns/$ns" "$@" >"$KDP_WORK/$name" 2>&1 &
    BACKGROUND[$name]=$!
}

# Waits for background command $1 to end; its status is the caller's.
wait_background() {
    local pid=${BACKGROUND[$1]}
    unset "BACKGROUND[$1]"
    wait "$pid"
}

# True if a ping from namespace $1 to address $2 is answered.
reaches() {
    in_ns "$1" ping -q -c 1 -W 1 "$2" >/dev/null
}

# True if a ping from namespace $1 to address $2 is answered, and the datapath has
# a flow that matches extended regular expression $3.  Flows that are not used go.
makes_flow() {
    reaches "$1" "$2" && [[ $(ovs-appctl dpctl/dump-flows) =~ $3 ]]
}

# Checks that namespace $1 reaches address $2: soon, and then always.
ping_works() {
    wait_until $PATIENCE reaches "$1" "$2"
    pings_are_answered "$1" "$2" 5
}

# Checks that $3 pings from namespace $1 to address $2 are answered.  Each has a
# process, with the same identifier, $4 or any: one that sends several waits for
# the last answer no longer than twice as long as for those before.
pings_are_answered() {
    # shellcheck disable=SC2016
    in_ns "$1" sh -c 'i=0
        while [ $((i += 1)) -le "$1" ]; do
            ping -n -q -c 1 -e "${4:-$(($$ % 65536))}" -W "$2" "$3" || exit
        done' sh "$3" $PATIENCE "$2" "${4:-}" >/dev/null ||
        fail "a ping from namespace $1 to $2 is not answered"
}

# Starts a ping that goes on, as start_ping NAME@NAMESPACE ADDRESS OPTION....
start_ping() {
    local address=$2
    in_ns_background "$1" ping -n -O "${@:3}" "$address"
}

# Prints how many answers ping $1 has got.
n_answers() {
    grep -c ' bytes from ' "$KDP_WORK/$1" || :
}

has_answers() {
    test "$(n_answers "$1")" -ge "$2"
}

# Ends ping $1 after two more answers.
stop_ping() {
    wait_until $PATIENCE has_answers "$1" $(($(n_answers "$1") + 2))
    kill -INT "${BACKGROUND[$1]}"
    wait_background "$1" || :
}

# Prints the sequence number of the last ping of $1 that was answered.
last_answer() {
    sed -n '/ bytes from /s/.*icmp_seq=\([0-9]*\).*/\1/p' "$KDP_WORK/$1" |
        sort -n | tail -n 1
}

# Prints how many of the first $2 pings of $1 are without an answer.  Without $2,
# these are all up to the last one that was answered: what ping itself says
# counts as lost what is under way when it ends.
pings_lost() {
    awk -v until="${2:-$(last_answer "$1")}" '/ bytes from / && !/DUP!/ {
             sub(/.*icmp_seq=/, "")
             n += $1 + 0 <= until
         }
         END { print until - n }' "$KDP_WORK/$1"
}

has_lost_nothing() {
    test "$(pings_lost "$1" "$2")" = 0
}

# Ends ping $1, and checks that it has got all answers.  Some overtake others,
# whose packets wait for a handler.
ping_lost_nothing() {
    wait_until $PATIENCE has_answers "$1" $(($(n_answers "$1") + 2))
    wait_until $PATIENCE has_lost_nothing "$1" "$(last_answer "$1")"
    stop_ping "$1"
}

# Checks that namespace $1 does not reach address $2.
ping_fails() {
    is_unreachable "$1" "$2" || fail "namespace $1 reaches address $2"
}

# Checks that namespace $1 does not reach address $2 soon.  What the datapath has
# for a while after a change is deleted by revalidators, for which nobody waits.
ping_stops() {
    wait_until $PATIENCE is_unreachable "$1" "$2"
}

is_unreachable() {
    local result
    result=$(in_ns "$1" ping -q -c 3 -i 0.2 -W 1 "$2" || :)
    [[ $result =~ ' 100% packet loss' ]]
}

is_listening() {
    test -n "$(in_ns "$1" ss -Hltn "sport = :$2")"
}

# Sends $3 (default 200000) bytes by TCP from namespace $1 to the one of address
# $2@NAMESPACE and checks that they arrive.
tcp_works() {
    local from=$1 address=${2%@*} to=${2#*@} bytes=${3:-200000}
    head -c "$bytes" /dev/urandom >"$KDP_WORK/sent"
    in_ns_background "received@$to" timeout $PATIENCE nc -l 5000
    wait_until $PATIENCE is_listening "$to" 5000
    in_ns "$from" timeout $PATIENCE nc -N "$address" 5000 <"$KDP_WORK/sent" ||
        fail "no TCP connection from namespace $from to $address"
    wait_background received
    cmp "$KDP_WORK/sent" "$KDP_WORK/received"
}

# Frames that can be counted.

# True if text $2 is in file $1.
says() {
    [[ $(<"$1") == *"$2"* ]]
}

# Starts receiver $1 in namespace $2, with options $3... of "traffic recv".
start_receiver() {
    local name=$1 ns=$2
    shift 2
    # Threads of the daemon move between processors, too.  One processor takes
    # all frames of the device, in the order in which they were sent to it.
    ip netns exec "$ns" sh -c 'for queue in /sys/class/net/eth0/queues/rx-*; do
        echo 1 >"$queue/rps_cpus"
    done'
    in_ns_background "$name@$ns" "$KDP_TRAFFIC" recv --timeout $PATIENCE "$@" \
        eth0
    wait_until $PATIENCE says "$KDP_WORK/$name" ready
}

# Sends from namespace $1, with options $2... of "traffic send", on one processor:
# each processor has a queue for the frames that are sent on it, so frames of a
# sender that moves may reach the datapath in another order.
send_frames() {
    local ns=$1
    shift
    in_ns "$ns" taskset 1 "$KDP_TRAFFIC" send "$@" eth0 >/dev/null
}

# Starts sender $1 in namespace $2, in the same way.
start_sender() {
    local name=$1 ns=$2
    shift 2
    in_ns_background "$name@$ns" taskset 1 "$KDP_TRAFFIC" send "$@" eth0
    wait_until $PATIENCE takes_sigterm "${BACKGROUND[$name]}"
}

# True if process $1 handles SIGTERM by now, or has ended.
takes_sigterm() {
    local status=
    # Not by "$(<", at which bash ends where the file is gone.
    { read -rd '' status <"/proc/$1/status"; } 2>/dev/null || :
    test -n "$status" || return 0
    [[ $status =~ State:[[:space:]]*[ZX] ]] ||
        { [[ $status =~ SigCgt:[[:space:]]*([0-9a-f]+) ]] &&
            ((16#${BASH_REMATCH[1]} & 1 << 14)); }
}

# Ends background command $1 and waits for it.
stop_background() {
    kill -TERM "${BACKGROUND[$1]}"
    wait_background "$1"
}

# Waits for receiver $1; nothing may have been lost or come twice.
received_all() {
    wait_background "$1" || fail "frames are missing: $(cat "$KDP_WORK/$1")"
}

# Options of a sender of which each frame is an upcall: not more are under way
# than fit with ease into the socket of a port, which takes some two thousand.
# The receiver has to say what has arrived in file "progress".
WINDOW='--window=500 --progress=progress'

# Prints how many frames a second, at most $1, the daemon keeps up with when each
# of them is an upcall: half of what a guest was seen to serve.  What is more fills
# the port's socket in the end, and the kernel drops it.  A daemon with sanitizers,
# emulated on a busy machine, does not keep up with 50; a test that sends for a short
# time only may ask for at least $2, which wait in the socket.
upcall_rate() {
    local slow=$((1200 / KDP_PATIENCE + 1))
    test -z "${KDP_SANITIZER_OPTIONS:-}" || slow=$((80 / KDP_PATIENCE + 1))
    test $slow -ge "${2:-0}" || slow=$2
    echo $(($1 < slow ? $1 : slow))
}

# Makes every source address of frames from port $2 to port $3 of bridge $1 a
# flow of its own in the datapath, so that every frame of "traffic send" is an
# upcall: a rule that looks at the address, whatever it is, keeps the datapath's
# flow from covering other addresses.  All come back, however long they wait in a
# slow guest.
every_frame_an_upcall() {
    ovs-vsctl set Open_vSwitch . other_config:upcall-target-delay=0
    every_frame_is_new "$@"
}

# Does that, and leaves the target delay as it is: frames that wait too long may be
# shed.
every_frame_is_new() {
    local bridge=$1 from=$2 to=$3
    makes_many_flows
    ovs-ofctl add-flow "$bridge" \
        "priority=20,dl_src=02:ff:ff:ff:ff:ff,actions=drop"
    ovs-ofctl add-flow "$bridge" \
        "priority=10,in_port=$from,actions=output:$to"
}
