# SPDX-License-Identifier: Apache-2.0
#
# Settings of offload, and the figures that it shows.

# True if $1 offload threads run.
threads_run() {
    test "$(offload_json '.threads[].running' | grep -c true)" = "$1" &&
        test "$(cat /proc/"$DAEMON_PID"/task/*/comm |
            grep -c '^offload[0-9]')" = "$1"
}

add_test offload_threads 'threads are changed under load (O3)' kdp 200
offload_threads() {
    local n i=0
    start_frames other_config:n-offload-threads=2
    separate_frames
    wait_until $PATIENCE threads_run 2
    start_receiver received right --streams 6
    for n in 1 4 10 2 1 10; do
        # So few in all that the flow limit, which falls to 1,000 on a slow
        # machine, deletes none of them.
        start_sender sent left -s $i -n 150 -r 100
        set_other_config n-offload-threads $n
        wait_until $PATIENCE threads_run $n
        wait_background sent
        i=$((i + 1))
        wait_until $PATIENCE flows_shown $((i * 150)) tc "$FRAMES"
    done
    ovs-vsctl remove Open_vSwitch . other_config n-offload-threads
    wait_until $PATIENCE threads_run 1
    received_all received
    flows_shown 900 tc "$FRAMES" || fail 'flows have gone with threads'
    check_tc_agrees br0 v-left v-right
    matches "$(ovs-appctl offload/show)" 'offload: 1 threads'
}

add_test offload_bad_settings \
    'bad settings are logged and change nothing' kdp one-cpu
offload_bad_settings() {
    local value n=0
    allow_log 'other_config:(n-offload-threads|offload-delay|offload-bytes) is '
    start_frames other_config:n-offload-threads=3
    wait_until $PATIENCE threads_run 3
    for value in 0 11 abc -1; do
        n=$((n + 1))
        set_other_config n-offload-threads "\"$value\""
        wait_until $PATIENCE logged \
            "n-offload-threads is \"$value\", expected a.* 1 to 10; .* with 3"
        threads_run 3 || fail "not three threads after \"$value\""
    done
    set_other_config n-offload-threads 4
    wait_until $PATIENCE threads_run 4
    equal "$(grep -c 'n-offload-threads is' "$OVS_LOGDIR/ovs-vswitchd.log")" \
        $n 'warnings'
    # Frames of tc are counted without their headers.
    for value in datapth ''; do
        set_other_config offload-bytes "\"$value\""
        wait_until $PATIENCE logged \
            "offload-bytes is \"$value\", expected .tc. or .datap.*with .tc."
    done
    for value in abc -1 3600001; do
        set_other_config offload-delay "\"$value\""
        wait_until $PATIENCE logged \
            "offload-delay is \"$value\", expected a.* 0 to 3600000; .* with 0"
    done
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
}

add_test offload_delay 'young flows stay out of tc' kdp one-cpu
offload_delay() {
    start_frames other_config:offload-delay=3600000
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 ovs "$FRAMES"
    ovs-appctl revalidator/wait
    ovs-appctl revalidator/wait
    flows_shown 1 ovs "$FRAMES" || fail 'the flow is not in the kernel'
    matches "$(ovs-appctl offload/why "$(flow_ufid "$FRAMES")")" \
        ': kernel: younger than the delay, port 2'
    equal "$(offload_json .total.enqueued)" 0 'enqueued'
    set_other_config offload-delay 1000
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    check_tc_agrees br0 v-left v-right
}

add_test offload_stats_show \
    'statistics are named as those of the userspace datapath' kdp one-cpu
offload_stats_show() {
    local name
    modprobe tun
    start_frames other_config:n-offload-threads=3
    ovs-vsctl add-br br1 -- set Bridge br1 datapath_type=netdev
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    wait_until $PATIENCE offload_is_settled
    ovs-appctl dpctl/offload-stats-show system@ovs-system >ours
    ovs-appctl dpctl/offload-stats-show netdev@ovs-netdev >stock
    matches "$(cat ours)" '^HW Offload stats:'
    for name in ours stock; do
        sed 's/: *[0-9]*$//' $name >$name.names
        # Titles and figures of the first thread and of the total.
        grep -v '\[  [1-9]\]' $name.names >$name.first || :
    done
    diff stock.first ours.first
    equal "$(grep -c 'Inserted offloads' ours)" 4 'lines of inserted'
    matches "$(cat ours)" 'Total +Inserted offloads: +1'
    matches "$(cat ours)" 'Total +Enqueued offloads: +0'
    matches "$(cat ours)" '\[  2\] '
}

add_test offload_stats_total 'the total of latencies is weighted' kdp one-cpu
offload_stats_total() {
    start_frames other_config:n-offload-threads=4
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 \
        'priority=20,dl_src=02:ff:ff:ff:ff:ff,actions=drop'
    ovs-ofctl add-flow br0 'priority=10,in_port=1,actions=output:2'
    ovs-ofctl add-flow br0 'priority=10,in_port=2,actions=output:1'
    send_frames left -n 40
    send_frames right -n 5
    wait_until $PATIENCE flows_shown 45 tc 'eth_type(0x88b5)'
    wait_until $PATIENCE offload_is_settled
    offload_json . >show
    # Flows of two ports are spread over all threads.
    jq -e '.total.inserted == 45 and .total.in_tc == 45
           and (.threads | map(.inserted) | add) == 45
           and (.threads | map(select(.inserted > 0)) | length) == 4' show
    jq -e '(.threads | map(.latency_us.cumulative | .n * .mean) | add)
               / .total.latency_us.cumulative.n
               - .total.latency_us.cumulative.mean
           | fabs < 1' show
    ovs-appctl dpctl/offload-stats-show >stats
    matches "$(cat stats)" "Total +Cumulative Average latency \(us\): +$(
        jq '.total.latency_us.cumulative.mean | floor' show)"
}
