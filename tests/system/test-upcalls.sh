# SPDX-License-Identifier: Apache-2.0
#
# Packets that the kernel sends up are not lost, whatever goes on around them.

add_test first_packet 'the first packet of a new port is not lost (U8)'
first_packet() {
    local i n=20
    start_ovs
    ovs-vsctl add-br br0
    connect br0 rx '' -- set Interface v-rx ofport_request=100
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 'dl_type=0x88b5,actions=output:100'
    start_receiver receiver rx --streams $n
    for i in $(seq 0 $((n - 1))); do
        add_ns "n$i"
        add_veth "n$i"
        ovs-vsctl add-port br0 "v-n$i"
        send_frames "n$i" -s "$i"
    done
    received_all receiver
    equal "$(upcalls_lost)" 0 'upcalls lost'
}

add_test first_packet_in_flood \
    'the first packet of a port that is added in a flood reaches a handler (U8)'
first_packet_in_flood() {
    local i hit missed refused arrived received
    start_ovs
    # Each packet that Open vSwitch refuses is logged.
    ovs-appctl vlog/disable-rate-limit ofproto_dpif_upcall
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    every_frame_an_upcall br0 1 2
    # Nothing goes out at v-n2 but frames that have arrived.
    sysctl -q -w net.ipv6.conf.v-n2.disable_ipv6=1
    for i in 0 1 2 3 4; do
        ovs-vsctl del-port br0 v-n1
        # Frames come in all the time.  From when on they reach the datapath
        # is what the kernel says: each of them misses.
        start_receiver receiver n2 --first $i
        start_sender sender n1 -s $i -n 0 -r "$(upcall_rate 200)"
        hit=$(datapath_count hit)
        missed=$(datapath_count missed)
        refused=$(packets_refused)
        arrived=$(packets_arrived)
        ovs-vsctl add-port br0 v-n1 -- set Interface v-n1 ofport_request=1
        wait_for_misses 20
        stop_background sender
        wait_until $PATIENCE upcalls_are_processed $((arrived + refused - missed))
        # Those before are missing.
        stop_background receiver || :
        missed=$(($(datapath_count missed) - missed))
        refused=$(($(packets_refused) - refused))
        received=$(sed -n "s/^stream $i received \([0-9]*\) .*/\1/p" \
            "$KDP_WORK/receiver")
        note "$missed came in, $received arrived, $refused were refused"
        equal "$(datapath_count lost)" 0 'upcalls lost'
        equal "$(datapath_count hit)" "$hit" 'packets that hit a flow'
        equal "$((received + refused))" "$missed" 'packets'
        # They wait until Open vSwitch knows the port.
        if test "$KDP_PROVIDERS" = kdp; then
            equal "$refused" 0 'packets refused'
        fi
    done
}

# Prints how many upcalls Open vSwitch has refused because it did not have an
# OpenFlow port for their port yet, as it does not for some milliseconds after
# it has added the port to the datapath.
packets_refused() {
    grep -c 'received packet on unassociated datapath port' \
        "$OVS_LOGDIR/ovs-vswitchd.log" || :
}

# Prints how many frames have left the datapath for namespace n2.
packets_arrived() {
    cat /sys/class/net/v-n2/statistics/tx_packets
}

# True if each packet that missed has arrived or was refused; $1 is what they
# differed by before.
upcalls_are_processed() {
    test $(($(packets_arrived) + $(packets_refused) - $(datapath_count missed))) \
        -ge "$1"
}

# True if none of the daemon's sockets had anything to read for some time.
upcalls_are_done() {
    local i
    for i in 1 2 3 4 5; do
        test "$(daemon_backlog)" = 0 || return 1
        nap 0.2
    done
}

n_handlers_are() {
    test "$(upcall_json '.handlers[].upcalls' | wc -l)" = "$1"
}

add_test handlers_change \
    'no packet is lost when the number of handlers changes (U8)'
handlers_change() {
    local n
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    every_frame_an_upcall br0 1 2
    start_receiver receiver n2 --progress=progress
    start_sender sender n1 -n 0 $WINDOW \
        -r $((KDP_PATIENCE > 2 ? 200 / KDP_PATIENCE : 100))
    for n in 1 4 2 1 3; do
        ovs-vsctl set Open_vSwitch . "other_config:n-handler-threads=$n"
        if test "$KDP_PROVIDERS" = kdp; then
            wait_until $PATIENCE n_handlers_are "$n"
        fi
        wait_for_misses 100
    done
    stop_background sender
    received_all receiver
    equal "$(upcalls_lost)" 0 'upcalls lost'
}

# True if port $1 has $2 queues, and those before are gone.
queues_are() {
    test "$(port_json "$1" ".n_queues == $2
        and (.queues | length) == ($2 | if . == 1 then 0 else . end)")" = true
}

add_test queues_change \
    'flows stay in order, and nothing is lost, when queues change (U1, U9)'
queues_change() {
    local i j k stream=0
    start_ovs
    ovs-vsctl set Open_vSwitch . other_config:n-handler-threads=4
    ovs-vsctl add-br br0
    connect br0 rx '' -- set Interface v-rx ofport_request=100
    # Two ports of three flows each; each frame of a flow misses.
    for i in 1 2; do
        connect br0 "n$i" '' -- set Interface "v-n$i" "ofport_request=$i"
        every_frame_an_upcall br0 "$i" 100
    done
    ovs-appctl upcall/set-flow-limit 1
    keep_order n1 n2 rx
    if test "$KDP_PROVIDERS" = kdp; then
        wait_until $PATIENCE n_handlers_are 4
    fi
    start_receiver receiver rx --udp --streams 6 --progress=progress
    for i in 1 2; do
        for j in 1 2 3; do
            start_sender "sender$stream" "n$i" -s $stream --udp \
                --sport $((2000 + stream)) -n 0 --window=100 \
                --progress=progress -r "$(upcall_rate 50)"
            stream=$((stream + 1))
        done
    done
    # Linux of the late 6.1 series takes as many as there are CPUs.
    for k in 2 1 64 1; do
        ovs-vsctl set Open_vSwitch . "other_config:upcall-port-queues=$k"
        if test "$KDP_PROVIDERS" = kdp; then
            test "$k" -le "$(nproc)" || k=$(nproc)
            wait_until $PATIENCE queues_are v-n1 "$k"
        fi
        wait_for_misses 150
    done
    for stream in $(seq 0 5); do
        stop_background "sender$stream"
    done
    received_all receiver
    if test "$KDP_PROVIDERS" = kdp; then
        equal "$(grep -c 'reordered 0$' "$KDP_WORK/receiver")" 6 \
            'flows in order'
    fi
    equal "$(upcalls_lost)" 0 'upcalls lost'
}

# Waits until $1 more packets have missed the datapath's flows.
wait_for_misses() {
    wait_until $PATIENCE missed_are $(($(datapath_count missed) + $1))
}

missed_are() {
    test "$(datapath_count missed)" -ge "$1"
}

# Lets frames keep their order outside of the daemon: those that reach a device
# while they run on different CPUs wait for each other's CPU otherwise, and one
# that sits on a CPU that does not run is overtaken.
keep_order() {
    local ns
    for ns; do
        echo 1 >"/sys/class/net/v-$ns/queues/rx-0/rps_cpus"
        ip netns exec "$ns" sh -c 'echo 1 >/sys/class/net/eth0/queues/rx-0/rps_cpus'
    done
}

add_test flow_limit 'packets over the flow limit are forwarded too (U1)'
flow_limit() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    every_frame_an_upcall br0 1 2
    ovs-appctl upcall/set-flow-limit 1
    keep_order n1 n2
    start_receiver receiver n2
    send_frames n1 -n 1000 -r "$(upcall_rate 500)"
    received_all receiver
    # Dispatch by CPU changes their order when the sender changes its CPU.
    if test "$KDP_PROVIDERS" = kdp; then
        matches "$(cat "$KDP_WORK/receiver")" 'reordered 0$'
    fi
    equal "$(upcalls_lost)" 0 'upcalls lost'
}

# True if the kernel dispatches upcalls as $1 says.
dispatches() {
    [[ $(ovs-appctl dpif-netlink/dispatch-mode) =~ $1 ]]
}

add_test stock_dpctl \
    'no packet is lost when stock tools open the datapath (U8)'
stock_dpctl() {
    local i restored
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    every_frame_an_upcall br0 1 2
    start_receiver receiver n2 --progress=progress
    start_sender sender n1 -n 0 -r "$(upcall_rate 200)" $WINDOW
    wait_for_misses 50
    for i in $(seq 10); do
        ovs-dpctl show >/dev/null
        ovs-dpctl dump-flows >/dev/null
    done
    wait_for_misses 50
    if test "$KDP_PROVIDERS" = kdp; then
        wait_until $PATIENCE dispatches per-vport
    fi
    stop_background sender
    received_all receiver
    equal "$(upcalls_lost)" 0 'upcalls lost'
}

# Prints paths or an expression, $2, of the upcall channel of port $1.
port_json() {
    ovs-appctl upcall/show "$1" --format json | json_values '.[0]' "$2"
}

add_test upcall_show \
    '"upcall/show" tells in text and JSON what happens (U2)' kdp one-cpu
upcall_show() {
    local text json
    start_ovs
    ovs-vsctl set Open_vSwitch . other_config:n-handler-threads=4
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2

    text=$(ovs-appctl upcall/show)
    matches "$text" 'system@ovs-system: upcall channels'
    matches "$text" 'ports 4, sockets 6, handlers 4'
    # What the stock command shows is there too.
    matches "$text" 'flows +: \(current '
    json=$(ovs-appctl upcall/show --format json)
    jq -e 'length == 1' <<<"$json"
    jq -e '.[0] | .name == "system@ovs-system" and .n_ports == 4
           and .n_sockets == 6 and .n_handlers == 4
           and (.handlers | length) == 4' <<<"$json"
    # Each port has a socket of its own.
    jq -e '[.[0].ports[].pid] | (all(. > 0)) and (unique | length) == 6' \
        <<<"$json"
    jq -e '.[0].ports[] | select(.name == "v-n1")
           | .received > 0 and .lost == 0 and .malformed == 0' <<<"$json"
    # What was taken from the sockets was handed out, except one that comes
    # just then.
    wait_until $PATIENCE upcalls_say \
        '| ([.ports[].received] | add) == ([.handlers[].upcalls] | add)' true
    matches "$(ovs-appctl upcall/show --format text)" 'upcall channels'
    exits_with 2 ovs-appctl upcall/show --format xml 2>/dev/null
    exits_with 2 ovs-appctl upcall/show nonsense 2>/dev/null
    matches "$(ovs-appctl dpif-netlink/dispatch-mode)" \
        'ovs-system: per-vport dispatch mode'
}

# Has the kernel trace the system calls in which handlers sleep and receive.
trace_handlers() {
    local filter event
    # Any other thread may end meanwhile, which grep reports as an error.
    filter=$({ grep -sl '^handler' /proc/"$DAEMON_PID"/task/*/comm ||
                   test $? -eq 2; } |
        sed 's,.*/task/\([0-9]*\)/.*,common_pid == \1,' | paste -sd'|' |
        sed 's/|/ || /g')
    prepare_tracing
    for event in enter_epoll_wait exit_epoll_wait exit_recvmmsg; do
        echo "$filter" >"$TRACING/events/syscalls/sys_$event/filter"
        echo 1 >"$TRACING/events/syscalls/sys_$event/enable"
    done
}

# Ends that and prints how often handlers were woken, and how often they then
# went to sleep again without having received anything.
traced_wakeups() {
    local event
    for event in enter_epoll_wait exit_epoll_wait exit_recvmmsg; do
        echo 0 >"$TRACING/events/syscalls/sys_$event/enable"
        echo 0 >"$TRACING/events/syscalls/sys_$event/filter"
    done
    awk '/sys_epoll_wait\(/ {
             # A look, or a sleep.
             sleeps[$1] = !/timeout: 0\)/
             if (sleeps[$1]) {
                 empty += woken[$1]
                 woken[$1] = 0
             }
         }
         /sys_epoll_wait -> / && sleeps[$1] {
             sleeps[$1] = 0
             if ($NF != "0x0") {
                 woken[$1] = 1
                 wakeups++
             }
         }
         # Errors have all their 64 bits.
         /sys_recvmmsg -> 0x/ && length($NF) <= 10 { woken[$1] = 0 }
         END { print wakeups + 0, empty + 0 }' $TRACING/trace
}

add_test idle_wakeups 'one handler is woken for a packet, not all (U4)' kdp
idle_wakeups() {
    local before counted woken
    start_ovs
    ovs-vsctl set Open_vSwitch . other_config:n-handler-threads=4
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    every_frame_an_upcall br0 1 2
    wait_until $PATIENCE n_handlers_are 4
    wait_until $PATIENCE upcalls_are_done
    before=$(upcall_json '[.handlers[].empty_wakeups] | add')
    start_receiver receiver n2
    trace_handlers
    send_frames n1 -n 200 -r 50
    received_all receiver
    woken=$(traced_wakeups)
    counted=$(($(upcall_json '[.handlers[].empty_wakeups] | add') - before))
    note "woken ${woken% *} times for 200 packets, ${woken#* } times for" \
        "nothing; counted $counted"
    # If all were woken for each packet it would be 800.
    test "${woken% *}" -gt 0 || fail 'no wake-ups in the trace'
    test "${woken% *}" -le 200 || fail 'more than one is woken for a packet'
    equal "${woken#* }" 0 'wake-ups for nothing, by the kernel'
    equal "$counted" 0 'wake-ups for nothing, by the daemon'
}

# Waits until "upcall/show" says that member $1 is $2.
upcalls_say() {
    test "$(upcall_json ".$1")" = "$2"
}

# Two ports whose frames are all upcalls, and a sender that goes on.  If $1 is
# "ordered", nothing but the daemon can change the order of its frames.  A busy
# port of a slow machine does not get another queue, so tests can count sockets.
start_upcalls() {
    start_ovs
    ovs-vsctl set Open_vSwitch . other_config:n-handler-threads=4 \
        other_config:upcall-port-queues=1
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    every_frame_an_upcall br0 1 2
    if test "${1:-}" = ordered; then
        keep_order n1 n2
    fi
    start_receiver receiver n2 --progress=progress
    start_sender sender n1 -n 0 -r "$(upcall_rate 500)" $WINDOW
    wait_for_misses 50
}

# Ends the sender and checks that nothing was lost or, if $1 is "ordered",
# overtaken on the way.
finish_upcalls() {
    wait_for_misses 50
    stop_background sender
    received_all receiver
    if test "${1:-}" = ordered; then
        matches "$(cat "$KDP_WORK/receiver")" 'reordered 0$'
    fi
    equal "$(upcalls_lost)" 0 'upcalls lost'
    equal "$(upcall_json .abandoned)" 0 'upcalls lost with a handler'
}

# What io_uring and epoll do differs from kernel to kernel.
add_test upcall_units \
    'the unit tests of receiving pass on this kernel (U1, U3, U4)' kdp
upcall_units() {
    local name unit=${KDP_TRAFFIC%/*}/../unit/upcall
    start_ovs
    for name in engine errors fair fanout flood handlers poll quiet recv \
        sched table
    do
        "$unit/test-upcall-$name" >"$KDP_WORK/unit" 2>&1 || {
            cat "$KDP_WORK/unit"
            fail "test-upcall-$name"
        }
    done
}

add_test upcall_engines \
    'no upcall is lost or overtaken when the engine or groups change (U1)' \
    kdp
upcall_engines() {
    local engine size
    start_upcalls ordered
    upcalls_say engine epoll
    for engine in io_uring epoll io_uring epoll io_uring; do
        ovs-vsctl set Open_vSwitch . other_config:upcall-engine=$engine
        wait_until $PATIENCE upcalls_say engine $engine
        wait_for_misses 50
    done
    # Four handlers in groups of their own, of two, in one.
    for size in 1 2 4 1; do
        ovs-vsctl set Open_vSwitch . other_config:upcall-group-size=$size
        wait_until $PATIENCE upcalls_say group_size $size
        equal "$(upcall_json '.groups | length')" $((4 / size)) groups
        equal "$(upcall_json '[.groups[].n_handlers] | add')" 4 handlers
        wait_for_misses 50
    done
    # One system call serves the handler's ports; all of them are counted.
    test "$(upcall_json '[.handlers[].receives] | add')" -gt 0
    ovs-vsctl remove Open_vSwitch . other_config upcall-engine
    wait_until $PATIENCE upcalls_say engine epoll
    finish_upcalls ordered
}

add_test upcall_dispatch \
    'no upcall is lost when the dispatch mode changes (U8)' kdp
upcall_dispatch() {
    local mode
    start_upcalls
    upcalls_say dispatch per-port
    for mode in per-cpu per-port per-cpu; do
        ovs-vsctl set Open_vSwitch . other_config:upcall-dispatch=$mode
        wait_until $PATIENCE upcalls_say dispatch $mode
        wait_for_misses 50
    done
    matches "$(ovs-appctl dpif-netlink/dispatch-mode)" \
        'ovs-system: per-cpu dispatch mode'
    # The ports' sockets go when they are empty, one for each handler stays,
    # one for the times in which another process changes the mode, and one for
    # upcalls of no port.
    wait_until $PATIENCE upcalls_say n_sockets 6
    equal "$(upcall_json '[.ports[] | select(.shared)] | length')" 4 \
        'ports that share the sockets'
    ovs-vsctl set Open_vSwitch . other_config:n-handler-threads=2
    wait_until $PATIENCE upcalls_say n_handlers 2
    wait_until $PATIENCE upcalls_say n_sockets 4
    wait_for_misses 50
    # A port that is added meanwhile works, and does after the way back.
    connect br0 n3 10.0.0.3/24
    ovs-vsctl set Open_vSwitch . other_config:upcall-dispatch=per-port
    wait_until $PATIENCE upcalls_say dispatch per-port
    wait_until $PATIENCE upcalls_say n_sockets 7
    matches "$(ovs-appctl dpif-netlink/dispatch-mode)" \
        'ovs-system: per-vport dispatch mode'
    finish_upcalls
}

# Waits until $1 more packets have hit the datapath's flows.
wait_for_hits() {
    wait_until $PATIENCE hits_are $(($(datapath_count hit) + $1))
}

hits_are() {
    test "$(datapath_count hit)" -ge "$1"
}

add_test flows_name_sockets \
    'packets to a controller and to sFlow survive changes of sockets (U8)' kdp
flows_name_sockets() {
    local mode n
    start_ovs
    ovs-vsctl set Open_vSwitch . other_config:n-handler-threads=2 \
        other_config:upcall-port-queues=1
    ovs-vsctl add-br br0
    connect br0 n1 '' -- set Interface v-n1 ofport_request=1
    connect br0 n2 '' -- set Interface v-n2 ofport_request=2
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 'in_port=1,actions=controller(max_len=64),output:2'
    ovs-vsctl -- --id=@s create sFlow agent=lo 'target="127.0.0.1:6343"' \
        header=128 sampling=1 polling=0 -- set Bridge br0 sflow=@s
    # Nobody listens there.
    allow_log 'sending to collector failed'
    start_receiver receiver n2
    start_sender sender n1 -n 0 -r "$(upcall_rate 100)"
    wait_for_hits 50
    matches "$(ovs-appctl dpctl/dump-flows)" 'userspace\(pid=[1-9].*sFlow'
    matches "$(ovs-appctl dpctl/dump-flows)" 'userspace\(pid=[1-9].*controller'

    # There and back, until the sockets of before are gone.
    for mode in per-cpu per-port; do
        ovs-vsctl set Open_vSwitch . other_config:upcall-dispatch=$mode
        wait_until $PATIENCE upcalls_say dispatch $mode
        n=6
        test $mode = per-port || n=4
        wait_until $PATIENCE upcalls_say n_sockets $n
        wait_for_hits 50
    done

    # All ports lose their sockets, and get others.
    ovs-vsctl set Open_vSwitch . other_config:upcall-max-sockets=3
    wait_until $PATIENCE upcalls_say n_sockets 2
    wait_for_hits 50
    ovs-vsctl remove Open_vSwitch . other_config upcall-max-sockets
    wait_until $PATIENCE upcalls_say n_sockets 6
    wait_for_hits 50
    stop_background sender
    received_all receiver
    equal "$(datapath_count lost)" 0 'packets whose socket was gone'
}

# Prints the CPU that process $1 ran on last.
cpu_of() {
    awk '{ sub(/.*\) /, ""); print $37 }' "/proc/$1/stat"
}

sender_is_on() {
    test "$(cpu_of "${BACKGROUND[sender]}")" -eq "$1"
}

add_test upcall_cpus 'upcalls by CPU survive CPUs that come and go (U8)' kdp
upcall_cpus() {
    local cpu1=/sys/devices/system/cpu/cpu1/online
    start_upcalls
    ovs-vsctl set Open_vSwitch . other_config:upcall-dispatch=per-cpu
    wait_until $PATIENCE upcalls_say dispatch per-cpu
    wait_for_misses 50

    # The machine loses a CPU, and the daemon starts handlers without it.
    echo 0 >$cpu1
    ovs-vsctl set Open_vSwitch . other_config:n-handler-threads=3
    wait_until $PATIENCE upcalls_say n_handlers 3
    wait_for_misses 50

    # It comes back, and packets come in on it.
    echo 1 >$cpu1
    taskset -p 2 "${BACKGROUND[sender]}" >/dev/null
    wait_until $PATIENCE sender_is_on 1
    wait_for_misses 50

    # The daemon may use one CPU, the other one, both.
    taskset -a -p 1 "$DAEMON_PID" >/dev/null
    wait_for_misses 50
    taskset -a -p 2 "$DAEMON_PID" >/dev/null
    taskset -p 1 "${BACKGROUND[sender]}" >/dev/null
    wait_until $PATIENCE sender_is_on 0
    wait_for_misses 50
    taskset -a -p 3 "$DAEMON_PID" >/dev/null
    wait_for_misses 50
    finish_upcalls
}

add_test upcall_bad_settings \
    'a wrong setting is named and changes nothing' kdp one-cpu
upcall_bad_settings() {
    start_ovs
    ovs-vsctl add-br br0
    allow_log 'other_config:upcall-(engine|dispatch|group-size) is'
    ovs-vsctl set Open_vSwitch . other_config:upcall-engine=fast \
        other_config:upcall-dispatch=per-moon \
        other_config:upcall-group-size=65
    wait_until $PATIENCE logged \
        'upcall-engine is "fast", expected "epoll" or "io_uring"'
    wait_until $PATIENCE logged \
        'upcall-dispatch is "per-moon", expected "per-port" or "per-cpu"'
    wait_until $PATIENCE logged \
        'upcall-group-size is "65", expected "auto" or 1 to 64'
    equal "$(upcall_json .engine)" epoll engine
    equal "$(upcall_json .dispatch)" per-port dispatch
}

add_test upcall_port '"upcall/show PORT" and "upcall/reset"' kdp one-cpu
upcall_port() {
    local text
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    text=$(ovs-appctl upcall/show v-n1)
    matches "$text" 'port [0-9]+ v-n1, netlink port id [0-9]+'
    matches "$text" 'upcalls received   [1-9]'
    matches "$text" 'p50 [0-9]+ us, p99 [0-9]+ us, max [1-9][0-9]* us'
    equal "$(ovs-appctl upcall/show 0 --format json | jq -r '.[0].name')" \
        ovs-system 'name of port 0'
    exits_with 2 ovs-appctl upcall/show v-n9 2>/dev/null
    exits_with 2 ovs-appctl upcall/show v-n1 v-n2 2>/dev/null
    ip link set v-n1 down
    wait_until $PATIENCE reset_shows_zero
}

# True if counters of port v-n1, which is down, are 0 after a reset.  A handler may
# be at work on what came before.
reset_shows_zero() {
    ovs-appctl upcall/reset
    test "$(port_json v-n1 '"\(.received) \(.lost) \(.latency_us.n)"')" = \
        '0 0 0'
}
