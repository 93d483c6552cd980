# SPDX-License-Identifier: Apache-2.0
#
# Counters, time of use and age of flows in tc.

# Has the kernel trace what uncounted.awk needs, about rules that redirect.
start_uncounted() {
    prepare_tracing
    echo mono >$TRACING/trace_clock
    echo 16384 >$TRACING/buffer_size_kb
    local probe
    for probe in 'p:kdp/new fl_change' \
        'p:kdp/del tc_del_tfilter' 'r:kdp/del_end tc_del_tfilter' \
        'p:kdp/read tcf_action_copy_stats action=$arg2:x64' \
        'r:kdp/read_end tcf_action_copy_stats' \
        'p:kdp/take tcf_mirred_act action=$arg2:x64' \
        'r:kdp/take_end tcf_mirred_act'; do
        echo "$probe" >>$TRACING/kprobe_events
    done
    echo 1 >$TRACING/events/kdp/enable
}

# Ends that and prints what uncounted.awk tells.
stop_uncounted() {
    echo 0 >$TRACING/tracing_on
    cat $TRACING/trace >tc-trace
    equal "$(cat $TRACING/per_cpu/cpu*/stats |
        awk '/overrun|dropped/ { n += $NF } END { print n }')" 0 \
        'events that are not in the trace'
    equal "$(awk '$1 ~ /^kdp/ { n += $3 } END { print n + 0 }' \
        $TRACING/kprobe_profile)" 0 'events that were missed'
    echo 0 >$TRACING/events/kdp/enable
    echo '-:kdp/' >>$TRACING/kprobe_events
    # shellcheck disable=SC2154 # Set by run.
    awk -f "$here/uncounted.awk" tc-trace
}

add_test offload_counts \
    'each packet is counted once, however flows move (O1, O2)' kdp 200
offload_counts() {
    local i missed counted sent deletes uncounted unsure
    start_frames other_config:offload-bytes=datapath
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    wait_until $PATIENCE offload_is_settled
    equal "$(flow_count packets "$FRAMES" tc)" 0 'packets before'
    missed=$(datapath_count missed)
    start_uncounted
    start_receiver received right
    start_sender sent left --same -n 0 -r 2000
    for i in 1 2 3 4 5 6; do
        set_offload false
        check_no_rules v-left
        flows_shown 1 ovs "$FRAMES" || fail 'the flow is not in the kernel'
        set_offload true
        wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    done
    stop_background sent
    received_all received
    equal "$(datapath_count missed)" "$missed" 'missed'
    sent=$(cat sent)
    counted=$(flow_count packets "$FRAMES" tc)
    # What the kernel itself does not tell when it deletes a rule is known from
    # the trace, to the packet.
    stop_uncounted >told
    . ./told
    note "sent $sent, counted $counted; told by the kernel except" \
        "$uncounted to $((uncounted + unsure)) in $deletes deletions"
    equal "$deletes" 6 'deletions of the rule in the trace'
    test $((sent - counted)) -ge "$uncounted" &&
        test $((sent - counted)) -le $((uncounted + unsure)) ||
        fail "counted $counted of $sent packets, the kernel did not tell of" \
            "$uncounted to $((uncounted + unsure))"
    # A frame is 60 bytes.
    equal "$(flow_count bytes "$FRAMES" tc)" $((counted * 60)) 'bytes'
    # The daemon sent the first one itself.
    wait_until $PATIENCE openflow_count_is in_port=1 $((counted + 1))
    check_tc_agrees br0 v-left v-right
}

# Checks that the flow of frames has $2 bytes once it has $1 packets.
frames_have_bytes() {
    wait_until $PATIENCE flow_count_is "$FRAMES" "$1"
    equal "$(flow_count bytes "$FRAMES" all)" "$2" "bytes of $1 packets"
}

add_test offload_bytes \
    'bytes are those of tc, or of the datapath where that is asked for' \
    kdp one-cpu
offload_bytes() {
    # A frame is 60 bytes, and 46 without its header.
    start_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    send_frames left --same -n 10
    frames_have_bytes 10 460
    # The rule that is there goes on as it began.
    set_other_config offload-bytes datapath
    send_frames left --same -n 10
    frames_have_bytes 20 920
    set_offload false
    check_no_rules v-left
    send_frames left --same -n 10
    frames_have_bytes 30 1520
    set_offload true
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    send_frames left --same -n 10
    frames_have_bytes 40 2120
}

# Seconds since the flow with match $1 was used, or "never".
flow_used() {
    dump_flows all | grep "$1" | sed -n 's/.*used:\([a-z0-9]*\).*/\1/p'
}

# True if the flow with match $1 was used when $SECONDS was $2 or later, to the
# second.
used_since() {
    local used
    used=$(flow_used "$1")
    [[ $used =~ ^[0-9]+$ ]] && test "$used" -le $((SECONDS - $2 + 1))
}

used_long_ago() {
    local used
    used=$(flow_used "$1")
    [[ $used =~ ^[0-9]+$ ]] && test "$used" -ge "$2"
}

add_test offload_used 'time of use goes on when a flow moves (O2)' kdp one-cpu
offload_used() {
    local old=5 begin
    start_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    begin=$SECONDS
    send_frames left --same -n 10
    wait_until $PATIENCE flow_count_is "$FRAMES" 10
    used_since "$FRAMES" $begin || fail "used: $(flow_used "$FRAMES")"
    wait_until $PATIENCE used_long_ago "$FRAMES" $old
    set_offload false
    check_no_rules v-left
    used_long_ago "$FRAMES" $old || fail "in the kernel: $(flow_used "$FRAMES")"
    set_offload true
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    used_long_ago "$FRAMES" $old || fail "in tc again: $(flow_used "$FRAMES")"
    begin=$SECONDS
    send_frames left --same -n 10
    wait_until $PATIENCE flow_count_is "$FRAMES" 20
    used_since "$FRAMES" $begin || fail "used again: $(flow_used "$FRAMES")"
}

add_test offload_idle 'a flow that is used stays, one that is not goes' kdp 120
offload_idle() {
    start_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    start_sender sent left --same -n 0 -r 20
    wait_until $PATIENCE flow_has_packets "$FRAMES" 1
    # Longer than a sender may stand still, and shorter than it sends then.
    set_other_config max-idle 8000
    wait_until $PATIENCE flow_has_packets "$FRAMES" \
        $(($(flow_count packets "$FRAMES" all) + 200))
    flows_shown 1 tc "$FRAMES" || fail 'a flow that is used has gone'
    stop_background sent
    wait_until $PATIENCE flows_shown 0 all "$FRAMES"
    check_no_rules v-left
    wait_until $PATIENCE openflow_count_is in_port=1 $(($(cat sent) + 1))
}

count_lists() {
    link_json '.rtnl_calls["list rules in tc"]'
}

add_test offload_many_rules \
    'many rules are read without the lock, and their flows age and count' \
    kdp 200
offload_many_rules() {
    local missed lists
    start_frames
    separate_frames
    send_frames left -n 150 -r 300
    wait_until $PATIENCE flows_shown 150 tc "$FRAMES"
    lists=$(count_lists)
    missed=$(datapath_count missed)
    send_frames left -n 150 -r 300
    wait_until $PATIENCE openflow_count_is in_port=1 300
    equal "$(datapath_count missed)" "$missed" 'missed'
    # One is used, and stays.
    send_frames left -s 1 --same
    wait_until $PATIENCE flows_shown 151 tc "$FRAMES"
    start_sender sent left -s 1 --same -n 0 -r 20
    set_other_config max-idle 8000
    wait_until $((2 * PATIENCE)) flows_shown 1 all "$FRAMES"
    stop_background sent
    equal "$(datapath_count missed)" $((missed + 1)) 'missed'
    wait_until $PATIENCE openflow_count_is in_port=1 $((301 + $(cat sent)))
    # No card has taken any of them.
    equal "$(count_lists)" "$lists" 'lists, each of which takes the lock'
}

add_test offload_tcp_flags \
    'TCP flags are kept when flows move to tc (O2)' kdp one-cpu
offload_tcp_flags() {
    local flow='in_port(v-left).*eth_type(0x0800)'
    start_pings other_config:offload-delay=3600000
    ping_works left 10.1.1.2
    tcp_works left 10.1.1.2@right 20000
    matches "$(dump_flows ovs | grep "$flow")" 'flags:S?FP?\.'
    # Now that the connection is over.
    set_other_config offload-delay 0
    wait_until $PATIENCE flows_shown 1 tc "$flow"
    matches "$(dump_flows tc | grep "$flow")" 'flags:S?FP?\.'
    set_offload false
    check_no_rules v-left v-right
    matches "$(dump_flows ovs | grep "$flow")" 'flags:S?FP?\.'
}
