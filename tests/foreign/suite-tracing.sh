# SPDX-License-Identifier: Apache-2.0
#
# The tracing scripts of Open vSwitch, utilities/usdt-scripts, which look at
# static probes and structures of the daemon through BPF.  Each has to show
# what it is about, with a daemon whose packets all are upcalls.

suite_is_ours=yes
tracing_scripts=$FOREIGN_OVS/utilities/usdt-scripts

# A script runs until its output matches $2, or its time is over.
tracing_limit=600

# tracing_script PATTERN SCRIPT [ARG]...
tracing_script() {
    local pattern=$1 script=$2 run log=$FOREIGN_OUT/$2.log end pid status=0
    shift 2
    test -e "$tracing_scripts/$script" || return 0
    case $script in
    *.bt) run=(bpftrace -p "$FOREIGN_PID") ;;
    *) run=(/usr/bin/python3 -u) ;;
    esac
    # Otherwise it would ignore the signal by which a user ends it.
    set -m
    PYTHONPATH=$PWD/python:$FOREIGN_CODE/python "${run[@]}" \
        "$tracing_scripts/$script" "$@" >"$log" 2>&1 &
    pid=$!
    set +m
    end=$((SECONDS + tracing_limit))
    until grep -qE "$pattern" "$log" || ! kill -0 $pid ||
        test $SECONDS -ge $end; do
        sleep 1
    done 2>/dev/null
    # Python goes on after a signal that comes in a function which BCC calls.
    while kill -INT $pid 2>/dev/null; do
        sleep 1
    done
    wait $pid || status=$?
    if test $status -ne 0 && test $status -ne 130; then
        echo "fail $script ended with status $status: $(tail -n 1 "$log")"
    elif grep -qE "$pattern" "$log"; then
        echo "ok $script"
    else
        echo "fail $script does not say /$pattern/: $(tail -n 1 "$log")"
    fi
}

# Makes each packet of a ping an upcall, and flows expire after a second.
tracing_traffic() {
    while :; do
        ovs-appctl dpctl/del-flows
        ip netns exec n1 ping -q -c 5 -i 0.5 10.0.0.2
        sleep 3
    done >/dev/null 2>&1
}

# Python's part of BCC in Debian 12 does not know how its compiler writes the
# type of an array of two words, "unsigned char[64]".  The copy does.
tracing_bcc() {
    mkdir python
    cp -r /usr/lib/python3/dist-packages/bcc python/
    sed -i 's/(\[^ \]+) ?\\\[(/(.+?) ?\\[(/' python/bcc/table.py
}

suite_run() {
    local i traffic
    tracing_bcc
    start_switch
    ovs-vsctl set Open_vSwitch . other_config:max-idle=1000 -- add-br br0
    for i in 1 2; do
        ip netns add n$i
        ip link add v$i type veth peer name eth0 netns n$i
        ip link set v$i up
        ip -n n$i link set eth0 up
        ip -n n$i address add 10.0.0.$i/24 dev eth0
        ovs-vsctl add-port br0 v$i
    done
    tracing_traffic &
    traffic=$!
    tracing_script ' handler[0-9]+ .* system@ovs-system ' upcall_monitor.py \
        --packet-decode decode --flow-key-decode nlraw
    tracing_script 'Analyzing [1-9][0-9]* event sets' \
        upcall_cost.py --quiet --stop 40
    tracing_script ' handler[0-9]+ ' dpif_nl_exec_monitor.py \
        --nlmsg-decode nlraw
    tracing_script ' handler[0-9]+ ' dpif_op_nl_monitor.py \
        --trace-exec-op --trace-put-op --nlmsg-decode nlraw
    tracing_script 'bridge run loop time' bridge_loop.bt
    tracing_script 'Insert' flow_reval_monitor.py
    tracing_script '^[0-9.]+, [0-9.]+, [0-9]' reval_monitor.py --no-gui \
        --no-realtime-plots
    kill $traffic
    wait $traffic 2>/dev/null
    ip netns del n1
    ip netns del n2
    stop_switch
}

suite_results() {
    awk -v OFS='\t' '$1 == "ok" || $1 == "fail" {
        result = $1
        name = $2
        $1 = $2 = ""
        sub(/^\t+/, "")
        gsub(/\t/, " ")
        print result, name, $0
    }'
}
