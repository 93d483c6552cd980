# SPDX-License-Identifier: Apache-2.0
#
# Flows in tc.

# Set-up.

# Has left, whose device is $1 (default eth0), and right know their addresses, so
# that nothing but what the test sends passes between them.
know_each_other() {
    in_ns left ip neigh replace 10.1.1.2 dev "${1:-eth0}" \
        lladdr "$(in_ns right cat /sys/class/net/eth0/address)"
    in_ns right ip neigh replace 10.1.1.1 dev eth0 \
        lladdr "$(in_ns left cat "/sys/class/net/${1:-eth0}/address")"
}

# Starts Open vSwitch with offload, and further settings $@.  Flows stay until
# they are deleted, however long nothing meets them.
start_with_offload() {
    start_ovsdb
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=true \
        other_config:tc-policy=skip_hw other_config:max-idle=1000000 "$@"
    start_daemon
}

# A bridge br0 with offload of two ports, behind which are namespaces left and
# right that reach each other.  $@: further settings.
start_pings() {
    start_with_offload "$@"
    ovs-vsctl add-br br0
    connect br0 left 10.1.1.1/24
    connect br0 right 10.1.1.2/24
}

# Likewise, but nothing comes from the namespaces but what the test sends, and
# frames pass from left to right only.
start_frames() {
    start_with_offload "$@"
    ovs-vsctl add-br br0
    connect br0 left ''
    connect br0 right ''
    restrict_frames
}

restrict_frames() {
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 in_port=1,actions=output:2
}

# Likewise, but each frame has a flow of its own.
separate_frames() {
    ovs-ofctl del-flows br0
    every_frame_an_upcall br0 1 2
}

# Sends a frame at a time until there is a flow of type $1 for it.
install_frames_flow() {
    wait_until $PATIENCE sent_and_shown "$1"
}

sent_and_shown() {
    flows_shown 1 "$1" "$FRAMES" || { send_frames left --same; false; }
}

# The flow of those frames, in the datapath.
FRAMES='in_port(\(2\|v-left\)),.*eth_type(0x88b5)'
# Those in the other direction.
FRAMES_BACK='in_port(\(3\|v-right\)),.*eth_type(0x88b5)'

set_offload() {
    ovs-vsctl set Open_vSwitch . other_config:hw-offload="$1"
}

set_other_config() {
    ovs-vsctl set Open_vSwitch . "other_config:$1=$2"
}

# What the daemon shows.

# Prints what jq says to expression $1 about offload.
offload_json() {
    ovs-appctl offload/show --format json ovs-system | jq -r ".[0] | $1"
}

# Prints the flows of type $1.
dump_flows() {
    ovs-appctl dpctl/dump-flows -m system@ovs-system type="$1"
}

# Prints how many flows of type $1 with a match of $2 are shown.  Fails if they
# cannot be.
count_flows() {
    local flows
    flows=$(dump_flows "$1") || return 1
    grep -c "$2" <<<"$flows" || :
}

# True if exactly $1 flows of type $2 with a match of $3 are shown.
flows_shown() {
    local n
    n=$(count_flows "$2" "$3") && test "$n" = "$1"
}

# True if at least $1 flows of type $2 with a match of $3 are shown.
flows_shown_at_least() {
    local n
    n=$(count_flows "$2" "$3") && test "$n" -ge "$1"
}

# Prints field $1 (packets, bytes) of the flow with match $2 of type $3.
flow_count() {
    dump_flows "$3" | grep "$2" | sed -n "s/.*[ ,]$1:\([0-9]*\).*/\1/p"
}

flow_count_is() {
    test "$(flow_count packets "$1" all)" = "$2"
}

# Prints the ufid of the flow with match $1.
flow_ufid() {
    dump_flows all | grep "$1" | sed -n 's/^ufid:\([0-9a-f-]*\),.*/\1/p'
}

# Prints the sorted ufids of all flows of type $1.
shown_ufids() {
    dump_flows "$1" | sed -n 's/^ufid:\([0-9a-f-]*\),.*/\1/p' | sort
}

# Prints the sorted ufids of all flows that the kernel datapath has, as it says
# itself.
kernel_ufids() {
    ovs-dpctl dump-flows -m system@ovs-system |
        sed -n 's/^ufid:\([0-9a-f-]*\),.*/\1/p' | sort
}

# True if each request is accounted for.  Those of flows that wait for a parent
# have not ended.
offload_is_settled() {
    test "$(offload_json '.flows.parked as $parked | (.total
        | .queued == 0 and .enqueued == .inserted + .modified + .deleted
                           + .returned + .rejected + .superseded + $parked)
        and .flows.queued == 0 and .flows.deleting == 0
        and .flows["moving back"] == 0')" = true
}

# What tc shows.

# Prints the cookies of the rules of ours on devices $@, as ufids.  A cookie is
# the ufid as it is in memory, four numbers of 32 bits.
tc_ufids() {
    local dev hook hooks
    for dev; do
        # Without clsact there is one hook, which is shown under both names.
        hooks=ingress
        if tc qdisc show dev "$dev" 2>/dev/null | grep -q clsact; then
            hooks='ingress egress'
        fi
        for hook in $hooks; do
            { tc -j filter show dev "$dev" "$hook" 2>/dev/null || :; } |
                jq -r '.[] | [.options.actions[]?.cookie | strings]
                       | unique[] | select(length == 32)'
        done
    done | awk '{
        u = ""
        for (i = 1; i < 32; i += 8) {
            for (j = 6; j >= 0; j -= 2) {
                u = u substr($0, i + j, 2)
            }
        }
        printf "%s-%s-%s-%s-%s\n", substr(u, 1, 8), substr(u, 9, 4),
               substr(u, 13, 4), substr(u, 17, 4), substr(u, 21)
    }' | sort
}

# Prints the number of rules of ours on devices $@.
tc_rules() {
    tc_ufids "$@" | wc -l
}

no_tc_rules() {
    test "$(tc_rules "$@")" = 0
}

# Checks that devices $@ have none of our rules.
check_no_rules() {
    equal "$(tc_ufids "$@")" '' "rules on $*"
}

# True if on devices $@ there are just the rules of the flows shown as being in
# tc, none of which is in the kernel or shown as being there.
tc_agrees() {
    offload_is_settled || return 1
    tc_ufids "$@" >rules
    shown_ufids tc >flows.tc
    shown_ufids ovs >flows.ovs
    kernel_ufids >flows.kernel
    tc_ufids "$@" | cmp -s rules && cmp -s rules flows.tc &&
        test -z "$(comm -12 flows.tc flows.ovs)" &&
        test -z "$(comm -12 flows.tc flows.kernel)"
}

# Leaves what there is on devices $@ in files.
keep_state() {
    local dev
    ovs-appctl offload/show >offload
    dump_flows all >flows.all
    ovs-dpctl dump-flows -m system@ovs-system >flows.dpctl
    for dev; do
        tc -s filter show dev "$dev" ingress >"tc.$dev" || :
        tc -s filter show dev "$dev" egress >>"tc.$dev" || :
    done
}

# Waits for that.
check_tc_agrees() {
    local end=$((SECONDS + PATIENCE))
    until tc_agrees "$@"; do
        if test $SECONDS -ge $end; then
            note "offload: $(offload_json '{total, flows}' | jq -c .)"
            note "rules in tc, not shown: $(comm -23 rules flows.tc)"
            note "shown, no rule in tc: $(comm -13 rules flows.tc)"
            note "in the kernel, too: $(comm -12 flows.tc flows.kernel)"
            note "shown twice: $(comm -12 flows.tc flows.ovs)"
            keep_state "$@"
            fail 'tc and what is shown differ'
        fi
        sleep 0.2
    done
}

# Tests.

add_test offload_ping 'pings go through tc' kdp
offload_ping() {
    start_pings
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    in_ns left ping -q -c 20 -i 0.1 10.1.1.2 >ping
    matches "$(cat ping)" ' 0% packet loss'
    dump_flows tc >flows
    matches "$(cat flows)" 'ufid:.*dp:tc, actions:v-right'
    check_tc_agrees br0 v-left v-right
    # The first packet of all was sent by the daemon itself.
    test "$(flow_count packets 'in_port(v-left).*eth_type(0x0800)' tc)" \
        -ge 20 || fail 'packets are not counted'
}

# A flow that tc takes, and one that it does not.
add_test offload_types 'each flow is shown once, and under the types of stock'
offload_types() {
    local type taken='eth_type(0x88b5)' other='eth_type(0x0806)'
    start_frames
    connect br0 third 10.1.1.3/24
    ovs-ofctl add-flow br0 'in_port=3,arp,actions=output(port=2,max_len=100)'
    send_frames left --same
    in_ns third ping -q -c 1 -W 1 10.1.1.9 >/dev/null || :
    wait_until $PATIENCE flows_shown 1 tc "$taken"
    wait_until $PATIENCE flows_shown 1 ovs "$other"
    for type in tc all tc,ovs non-offloaded; do
        flows_shown 1 $type "$taken" || fail "taken, type $type"
    done
    for type in ovs offloaded partially-offloaded dpdk; do
        flows_shown 0 $type "$taken" || fail "taken, type $type"
    done
    for type in ovs all tc,ovs non-offloaded; do
        flows_shown 1 $type "$other" || fail "other, type $type"
    done
    for type in tc offloaded partially-offloaded dpdk; do
        flows_shown 0 $type "$other" || fail "other, type $type"
    done
    ovs-appctl dpctl/dump-flows >flows
    equal "$(grep -c "$taken" flows)" 1 'flows taken, no type'
    equal "$(grep -c "$other" flows)" 1 'flows not taken, no type'
    matches "$(dump_flows all | grep "$taken")" \
        'used:[0-9.a-z]*, dp:tc, actions:v-right$'
    matches "$(dump_flows all | grep "$other")" \
        'used:[0-9.a-z]*, dp:ovs, actions:trunc\(100\),v-right$'
}

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
    'each packet is counted once, however flows move' kdp 200
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
    note "sent $sent, counted $counted; told by the kernel but for" \
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
    'bytes are those of tc, or of the datapath where that is asked for' kdp
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
    send_frames left --same -n 10
    frames_have_bytes 30 1520
    set_offload true
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    send_frames left --same -n 10
    frames_have_bytes 40 2120
}

modules_are_loaded() {
    local module
    for module; do
        test -e "/sys/module/$module" || return 1
    done
}

add_test offload_actions_loaded \
    'no rule waits for the kernel to load what its actions need' kdp
offload_actions_loaded() {
    local kinds='act_csum act_gact act_mirred act_mpls act_pedit act_police
                 act_skbedit act_tunnel_key act_vlan'
    # The kernel frees actions some time after their rules.
    # shellcheck disable=SC2086
    wait_until $PATIENCE modprobe -a -r $kinds act_ct
    ! modules_are_loaded act_mirred || fail 'act_mirred is still there'
    start_with_offload
    ovs-vsctl add-br br0
    # shellcheck disable=SC2086
    wait_until $PATIENCE modules_are_loaded $kinds act_ct
    # Each request takes the lock once.
    equal "$(link_json '.rtnl_calls["load kind of action of tc"]')" 10 'acquisitions'
}

# True if the OpenFlow flow that $1 tells has $2 packets.
openflow_count_is() {
    test "$(ovs-ofctl dump-flows br0 "$1" |
        sed -n 's/.* n_packets=\([0-9]*\).*/\1/p')" = "$2"
}

# Seconds since the flow with match $1 was used, or "never".
flow_used() {
    dump_flows all | grep "$1" | sed -n 's/.*used:\([a-z0-9]*\).*/\1/p'
}

used_recently() {
    local used
    used=$(flow_used "$1")
    [[ $used =~ ^[0-9]+$ ]] && test "$used" -le "$2"
}

used_long_ago() {
    local used
    used=$(flow_used "$1")
    [[ $used =~ ^[0-9]+$ ]] && test "$used" -ge "$2"
}

add_test offload_used 'time of use goes on when a flow moves' kdp
offload_used() {
    local recent=$((3 * ${KDP_PATIENCE:-1}))
    local old=$((recent + 2))
    start_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    send_frames left --same -n 10
    wait_until $PATIENCE flow_count_is "$FRAMES" 10
    used_recently "$FRAMES" $recent || fail "used: $(flow_used "$FRAMES")"
    wait_until $PATIENCE used_long_ago "$FRAMES" $old
    set_offload false
    used_long_ago "$FRAMES" $old || fail "in the kernel: $(flow_used "$FRAMES")"
    set_offload true
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    used_long_ago "$FRAMES" $old || fail "in tc again: $(flow_used "$FRAMES")"
    send_frames left --same -n 10
    wait_until $PATIENCE flow_count_is "$FRAMES" 20
    used_recently "$FRAMES" $recent || fail "used again: $(flow_used "$FRAMES")"
}

add_test offload_idle 'a flow that is used stays, one that is not goes' kdp 120
offload_idle() {
    start_frames other_config:max-idle=3000
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    start_sender sent left --same -n 0 -r 20
    wait_until $PATIENCE flow_has_packets "$FRAMES" 200
    flows_shown 1 tc "$FRAMES" || fail 'a flow that is used has gone'
    stop_background sent
    wait_until $PATIENCE flows_shown 0 all "$FRAMES"
    check_no_rules v-left
    wait_until $PATIENCE openflow_count_is in_port=1 $(($(cat sent) + 1))
}

flow_has_packets() {
    local n
    n=$(flow_count packets "$1" all)
    test "${n:-0}" -ge "$2"
}

count_lists() {
    link_json '.rtnl_calls["list rules in tc"]'
}

lists_at_least() {
    test "$(count_lists)" -ge "$1"
}

add_test offload_many_rules \
    'many rules are listed, and their flows age and count as few do' kdp 200
offload_many_rules() {
    local missed lists
    start_frames
    separate_frames
    send_frames left -n 150 -r 300
    wait_until $PATIENCE flows_shown 150 tc "$FRAMES"
    # There are no lists while the kernel's lock is to be waited for.
    lists=$(count_lists)
    wait_until $((3 * PATIENCE)) lists_at_least $((lists + 2))
    missed=$(datapath_count missed)
    send_frames left -n 150 -r 300
    wait_until $PATIENCE openflow_count_is in_port=1 300
    equal "$(datapath_count missed)" "$missed" 'missed'
    # One is used, and stays.
    send_frames left -s 1 --same
    wait_until $PATIENCE flows_shown 151 tc "$FRAMES"
    start_sender sent left -s 1 --same -n 0 -r 20
    set_other_config max-idle 5000
    wait_until $((2 * PATIENCE)) flows_shown 1 all "$FRAMES"
    stop_background sent
    equal "$(datapath_count missed)" $((missed + 1)) 'missed'
    wait_until $PATIENCE openflow_count_is in_port=1 $((301 + $(cat sent)))
}

add_test offload_tcp_flags 'TCP flags are kept when flows move to tc' kdp
offload_tcp_flags() {
    local flow='in_port(v-left).*eth_type(0x0800)'
    # Late enough that the connection is over.
    start_pings other_config:offload-delay=10000
    ping_works left 10.1.1.2
    tcp_works left 10.1.1.2@right 20000
    matches "$(dump_flows ovs | grep "$flow")" 'flags:S?FP?\.'
    wait_until $PATIENCE flows_shown 1 tc "$flow"
    matches "$(dump_flows tc | grep "$flow")" 'flags:S?FP?\.'
    set_offload false
    matches "$(dump_flows ovs | grep "$flow")" 'flags:S?FP?\.'
}

# The part of a flow of "dpctl/dump-flows -m" that names it.
flow_name() {
    dump_flows all | grep "$1" | sed 's/, packets:.*//'
}

add_test offload_flow_commands \
    'dpctl gets, changes and deletes flows anywhere' kdp 120
offload_flow_commands() {
    local where ufid name
    allow_log 'failed to (flow_del|flow_get|put)'
    start_frames
    for where in tc ovs; do
        if test $where = ovs; then
            set_offload false
        fi
        install_frames_flow $where
        ovs-appctl dpctl/mod-flow --clear "$(flow_name "$FRAMES")" 3
        send_frames left --same -n 7
        wait_until $PATIENCE flow_count_is "$FRAMES" 7
        ufid=$(flow_ufid "$FRAMES")
        ovs-appctl dpctl/get-flow "ufid:$ufid" >flow
        matches "$(cat flow)" "eth_type\(0x88b5\).* packets:7, .*actions:3$"
        ovs-appctl dpctl/get-flow -m "ufid:$ufid" >flow
        matches "$(cat flow)" "dp:$where, actions:v-right$"

        name=$(flow_name "$FRAMES")
        ovs-appctl dpctl/mod-flow "$name" 3,1
        ovs-appctl dpctl/get-flow "ufid:$ufid" >flow
        matches "$(cat flow)" ' packets:7, .*actions:3,1$'
        wait_until $PATIENCE flows_shown 1 $where "$FRAMES.*:v-right,br0$"
        check_tc_agrees br0 v-left v-right
        send_frames left --same -n 2
        wait_until $PATIENCE flow_count_is "$FRAMES" 9

        ovs-appctl dpctl/mod-flow --clear "$name" 3
        flow_count_is "$FRAMES" 0 || fail 'the count is not cleared'
        wait_until $PATIENCE flows_shown 1 $where "$FRAMES.*:v-right$"
        send_frames left --same -n 3
        wait_until $PATIENCE flow_count_is "$FRAMES" 3

        ovs-appctl dpctl/del-flow "$name"
        flows_shown 0 all "$FRAMES" || fail 'the flow is still there'
        check_no_rules v-left v-right
        exits_with 2 ovs-appctl dpctl/get-flow "ufid:$ufid" 2>/dev/null
        exits_with 2 ovs-appctl dpctl/del-flow "$name" 2>/dev/null
        # Open vSwitch believes that the flow is there.
        ovs-appctl revalidator/purge
    done
    ovs-appctl dpctl/del-flows
    flows_shown 0 all . || fail "flows are left: $(dump_flows all)"
}

add_test offload_toggle 'offload is turned off and on under traffic' kdp 150
offload_toggle() {
    local i before after missed
    start_pings
    ping_works left 10.1.1.2
    # Nothing but the pings from here on.
    know_each_other
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    in_ns_background ping@left ping -q -i 0.01 10.1.1.2
    missed=$(datapath_count missed)
    for i in 1 2 3; do
        set_offload false
        check_no_rules br0 v-left v-right
        flows_shown 2 ovs 'eth_type(0x0800)' || fail "flows are not back"
        flows_shown 0 tc . || fail "flows are shown in tc"
        before=$(flow_count packets 'in_port(v-left),.*eth_type(0x0800)' ovs)
        set_offload true
        wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
        after=$(flow_count packets 'in_port(v-left),.*eth_type(0x0800)' tc)
        test "$after" -ge "$before" || fail "count fell from $before to $after"
        check_tc_agrees br0 v-left v-right
    done
    kill -INT "${BACKGROUND[ping]}"
    wait_background ping
    matches "$(cat ping)" ' 0% packet loss'
    # IPv6 speaks now and then; each ping would be hundreds.
    missed=$(($(datapath_count missed) - missed))
    test $missed -le 10 || fail "$missed packets missed"
}

add_test offload_first_on 'offload is turned on for flows that exist' kdp
offload_first_on() {
    start_with_offload other_config:hw-offload=false
    ovs-vsctl add-br br0
    connect br0 left ''
    connect br0 right ''
    restrict_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 ovs "$FRAMES"
    start_sender sent left --same -n 0 -r 50
    set_offload true
    # Within the time that a flow lives without being used.
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    stop_background sent
    wait_until $PATIENCE openflow_count_is in_port=1 $(($(cat sent) + 1))
    check_tc_agrees br0 v-left v-right
}

# A crash, and what comes after it.

# Checks that what a previous run left was taken over and that nothing is left
# that matches no flow.
check_adopted() {
    adopted_at_least "$1" ||
        fail "not adopted: $(offload_json .total | jq -c .)"
    check_tc_agrees br0 v-left v-right
}

add_test offload_crash \
    'rules of a daemon that crashed forward and are taken over' \
    kdp 150
offload_crash() {
    local i
    start_pings
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    in_ns_background ping@left ping -q -i 0.05 10.1.1.2
    for i in 1 2; do
        dump_flows tc | grep 'eth_type(0x0800)' |
            sed -n 's/^ufid:\([0-9a-f-]*\),.*/\1/p' | sort >before
        kill_daemon
        test "$(tc_rules v-left)" -ge 1 || fail 'no rule is left'
        in_ns left ping -q -c 20 -i 0.05 -W 5 10.1.1.2 >result || :
        matches "$(cat result)" ' 0% packet loss'
        start_daemon
        wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
        check_adopted 2
        # The revalidators agree with what was taken over.
        ovs-appctl revalidator/wait
        ovs-appctl revalidator/wait
        comm -23 before <(shown_ufids tc) >gone
        equal "$(cat gone)" '' 'flows that have gone'
    done
    kill -INT "${BACKGROUND[ping]}"
    wait_background ping
    matches "$(cat ping)" ' 0% packet loss'
    stop_daemon --cleanup
    unset DAEMON_PID
    check_no_rules v-left v-right
}

add_test offload_crash_restore \
    'flows and rules wait until OpenFlow is restored' \
    kdp 150
offload_crash_restore() {
    local before
    start_frames
    separate_frames
    send_frames left -n 20
    wait_until $PATIENCE flows_shown 20 tc "$FRAMES"
    send_frames left -n 20
    wait_until $PATIENCE frames_counted 20

    kill_daemon
    ovs-vsctl --no-wait set Open_vSwitch . \
        other_config:flow-restore-wait=true
    start_receiver received right
    # All of the source of the first one of those before.
    start_sender sent left --same -n 0 -r 50
    start_daemon
    separate_frames
    wait_until $PATIENCE adopted_at_least 20
    ovs-vsctl remove Open_vSwitch . other_config flow-restore-wait
    ovs-appctl revalidator/wait
    ovs-appctl revalidator/wait
    stop_background sent
    received_all received
    # Open vSwitch deletes all flows when the wait ends.
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    check_tc_agrees br0 v-left v-right
}

adopted_at_least() {
    test "$(offload_json .total.adopted)" -ge "$1"
}

# True if all flows of frames together have at least $1 packets.
frames_counted() {
    test "$(flow_count packets "$FRAMES" all |
        awk '{ n += $1 } END { print n + 0 }')" -ge "$1"
}

add_test offload_crash_changed \
    'rules that OpenFlow does not want any more go' \
    kdp 150
offload_crash_changed() {
    start_frames
    separate_frames
    send_frames left -n 20
    wait_until $PATIENCE flows_shown 20 tc "$FRAMES"
    kill_daemon
    # Its device is not a port any more.
    ovs-vsctl --no-wait del-port br0 v-right
    start_daemon
    wait_until $PATIENCE flows_shown 0 all 'actions:v-right'
    send_frames left -n 20
    check_tc_agrees br0 v-left
    flows_shown 0 tc v-right || fail 'flows to a port that has gone'
    check_no_rules v-right
}

add_test offload_crash_off \
    'rules of a crashed daemon go if offload is off now' \
    kdp 150
offload_crash_off() {
    start_frames
    separate_frames
    # So many that they are still being deleted while ports are configured,
    # which takes the queueing discipline away.
    send_frames left -n 300 -r 400
    wait_until $PATIENCE flows_shown 300 tc "$FRAMES"
    kill_daemon
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=false -- \
        set interface v-left ingress_policing_rate=1000000
    start_daemon
    wait_until $PATIENCE no_tc_rules br0 v-left v-right
    wait_until $PATIENCE policing_rules_are 1
    start_receiver received right
    restrict_frames
    send_frames left -n 20
    received_all received
}

add_test offload_module_reload \
    'the module is reloaded, or the datapath deleted, with rules in tc' kdp 200
offload_module_reload() {
    start_pings
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    # As for an upgrade of the module.
    stop_daemon
    ovs-dpctl del-dp ovs-system
    modprobe -r openvswitch
    modprobe openvswitch
    start_daemon
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    check_tc_agrees br0 v-left v-right
    # What goes under the daemon's feet comes back when it starts anew.
    allow_log '.'
    ovs-dpctl del-dp ovs-system
    daemon_is_alive || fail 'the daemon has died'
    kill_daemon
    start_daemon
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    check_tc_agrees br0 v-left v-right
    set_offload false
    check_no_rules br0 v-left v-right
    ping_works left 10.1.1.2
}

add_test offload_exit 'exit leaves rules that the next run takes over' kdp 150
offload_exit() {
    start_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    stop_daemon
    start_receiver received right
    send_frames left --same -n 10
    received_all received
    start_daemon
    restrict_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    check_adopted 1
    stop_daemon --cleanup
    unset DAEMON_PID
    check_no_rules v-left v-right
}

# Rules of others.

# Gives device $1 rules of somebody else: flower with a cookie or without,
# matchall, another chain.
add_foreign_rules() {
    local dev=$1
    tc filter add dev "$dev" ingress prio 200 protocol ip flower \
        dst_ip 192.0.2.1 action drop
    tc filter add dev "$dev" ingress prio 201 protocol ip flower \
        dst_ip 192.0.2.2 action drop cookie 0123456789abcdef
    tc filter add dev "$dev" ingress prio 202 protocol ipv6 flower \
        action pass cookie 01
    tc filter add dev "$dev" ingress prio 203 chain 7 protocol ip flower \
        dst_ip 192.0.2.3 action drop
    tc filter add dev "$dev" ingress prio 204 protocol 0x88b6 matchall \
        action drop
}

# Prints the rules of others on device $1, at hook $2 (default ingress).
foreign_rules() {
    tc -j filter show dev "$1" "${2:-ingress}" |
        jq -c '.[] | select(.pref >= 200 and .pref < 300 and .options.actions)
               | [.pref, .kind, .chain, .protocol, .options.actions[0].cookie,
                  .options.keys]'
}

add_test offload_foreign 'rules of others stay' kdp 150
offload_foreign() {
    local dev
    # Of the flow that is deleted with dpctl.
    allow_log 'failed to (flow_del|put)'
    start_with_offload
    ovs-vsctl add-br br0
    add_ns left right
    add_veth left ''
    add_veth right ''
    tc qdisc add dev v-left ingress
    tc qdisc add dev v-right clsact
    for dev in v-left v-right; do
        add_foreign_rules $dev
        foreign_rules $dev >$dev.before
        equal "$(wc -l <$dev.before)" 5 "rules on $dev"
    done
    tc filter add dev v-right egress prio 205 protocol 0x88b6 matchall \
        action drop
    check_foreign() {
        for dev in v-left v-right; do
            equal "$(foreign_rules $dev)" "$(cat $dev.before)" \
                "rules of others on $dev $1"
        done
        equal "$(foreign_rules v-right egress | wc -l)" 1 \
            "rules of others at the egress $1"
    }

    ovs-vsctl add-port br0 v-left -- add-port br0 v-right
    wait_until $PATIENCE port_is_up v-right
    restrict_frames
    check_foreign 'after ports were added'
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    start_receiver received right
    send_frames left --same -n 10
    received_all received
    check_foreign 'with a rule of ours'
    set_offload false
    check_no_rules v-left
    check_foreign 'after offload was turned off'
    set_offload true
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    check_foreign 'after offload was turned on'
    ovs-appctl dpctl/del-flows
    check_no_rules v-left
    check_foreign 'after the datapath was flushed'
    # Open vSwitch believes that the flow is there.
    ovs-appctl revalidator/purge
    install_frames_flow tc
    ovs-vsctl del-port v-left
    check_no_rules v-left
    check_foreign 'after a port was deleted'
    ovs-vsctl add-port br0 v-left -- set Interface v-left ofport_request=1
    wait_until $PATIENCE port_is_up v-left
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    kill_daemon
    start_daemon
    wait_until $PATIENCE port_is_up v-left
    check_tc_agrees br0 v-left v-right
    check_foreign 'after a crash'
    stop_daemon --cleanup
    unset DAEMON_PID
    check_no_rules v-left v-right
    check_foreign 'after exit --cleanup'
}

add_test offload_foreign_prio \
    'rules of others in the way do not stop traffic' kdp
offload_foreign_prio() {
    local prio
    start_with_offload
    ovs-vsctl add-br br0
    add_ns left right
    add_veth left ''
    add_veth right ''
    tc qdisc add dev v-left ingress
    # Priorities that Open vSwitch takes first; 1 is that of policing.  It
    # counts up with each Ethertype, and does not try another one.
    for prio in 2 3 4 5 6 7 8 9; do
        tc filter add dev v-left ingress prio $prio protocol 0x88b6 matchall \
            action pass
    done
    ovs-vsctl add-port br0 v-left -- add-port br0 v-right
    wait_until $PATIENCE port_is_up v-right
    restrict_frames
    start_receiver received right
    send_frames left --same -n 10
    received_all received
    wait_until $PATIENCE flows_shown 1 all "$FRAMES"
    check_tc_agrees br0 v-left v-right
    flows_shown 0 tc "$FRAMES" || fail 'nothing was in the way'
    equal "$(tc -j filter show dev v-left ingress |
             jq '[.[] | select(.kind == "matchall" and .options)] | length')" \
        8 'rules of others'
}

add_test offload_foreign_internal \
    'filters of others on an internal port stay' kdp 150
offload_foreign_internal() {
    start_pings
    ip address add 10.1.1.100/24 dev br0
    ip link set br0 up
    wait_until $PATIENCE reaches left 10.1.1.100
    kill_daemon
    tc qdisc del dev br0 clsact
    tc qdisc add dev br0 ingress
    add_foreign_rules br0
    foreign_rules br0 >before
    equal "$(wc -l <before)" 5 'rules on br0'
    start_daemon
    ping_works left 10.1.1.100
    ping_works left 10.1.1.2
    equal "$(foreign_rules br0)" "$(cat before)" 'rules of others on br0'
    matches "$(cat "$OVS_LOGDIR/ovs-vswitchd.log")" \
        'br0: not prepared for offload, .*busy'
    # It offloads nothing, others do.
    wait_until $PATIENCE flows_shown_at_least 1 tc 'in_port(v-left)'
    flows_shown 0 tc 'in_port(br0)' || fail 'flows of br0 in tc'
    check_tc_agrees br0 v-left v-right
    # Without any filter, in whatever chain, the discipline is replaced.
    kill_daemon
    tc filter del dev br0 ingress
    tc filter del dev br0 ingress chain 7
    start_daemon
    ping_works left 10.1.1.100
    matches "$(tc qdisc show dev br0)" clsact
    wait_until $PATIENCE flows_shown_at_least 1 tc 'in_port(br0)'
    check_tc_agrees br0 v-left v-right
}

# What ends offload.

add_test offload_cleanup \
    'nothing of ours remains where offload has ended' kdp 200
offload_cleanup() {
    start_frames
    separate_frames
    send_frames left -n 50
    wait_until $PATIENCE flows_shown 50 tc "$FRAMES"
    tc_rules v-left >n
    equal "$(cat n)" 50 'rules'
    # A port with flows of its own, and to which flows go.
    ovs-vsctl del-port v-right
    wait_until $PATIENCE flows_shown 0 tc v-right
    check_tc_agrees br0 v-left v-right
    ovs-vsctl add-port br0 v-right -- set Interface v-right ofport_request=2
    wait_until $PATIENCE port_is_up v-right
    send_frames left -n 50
    wait_until $PATIENCE flows_shown 50 tc "$FRAMES.*v-right"
    ovs-vsctl del-port v-left
    check_no_rules v-left
    check_tc_agrees br0 v-left v-right

    ovs-vsctl add-port br0 v-left -- set Interface v-left ofport_request=1
    wait_until $PATIENCE port_is_up v-left
    send_frames left -n 50
    wait_until $PATIENCE flows_shown 50 tc "$FRAMES"
    ovs-vsctl del-br br0
    check_no_rules v-left v-right
    # Its flows went with the datapath.
    equal "$(ovs-appctl dpctl/dump-dps)" '' 'datapaths after the bridge went'
}

add_test offload_device_goes 'a device goes while its flows are in tc' kdp 200
offload_device_goes() {
    local i
    allow_log 'could not (open|add) network device v-' \
        'cannot get R?STP status on nonexistent port' \
        'ethtool command ETHTOOL_[A-Z]* on network device v-.* failed: No such'
    start_frames
    separate_frames
    for i in 1 2 3; do
        send_frames left -n 50
        wait_until $PATIENCE flows_shown 50 tc "$FRAMES"
        start_sender sent left -n 0 -r 100
        ip link del v-left
        stop_background sent || :
        wait_until $PATIENCE flows_shown 0 all "$FRAMES"
        wait_until $PATIENCE offload_is_settled
        add_veth left ''
        wait_until $PATIENCE port_is_up v-left
        ovs-vsctl set Interface v-left ofport_request=1
        equal "$(interface_get v-left ofport)" 1 'port number'
        check_tc_agrees br0 v-left v-right
    done
    # In the other direction: an output goes.
    send_frames left -n 50
    wait_until $PATIENCE flows_shown 50 tc "$FRAMES"
    ip link del v-right
    wait_until $PATIENCE flows_shown 0 tc "v-right"
    check_tc_agrees br0 v-left
}

add_test offload_device_replaced \
    'a device is made again before its flows are looked at' kdp 200
offload_device_replaced() {
    local i
    allow_log 'could not (open|add) network device v-' \
        'cannot get R?STP status on nonexistent port' \
        'ethtool command ETHTOOL_[A-Z]* on network device v-.* failed: No such'
    start_frames
    ovs-vsctl set Interface v-left ofport_request=1
    for i in 1 2 3; do
        install_frames_flow tc
        kill -STOP "$DAEMON_PID"
        ip link del v-left
        add_veth left ''
        kill -CONT "$DAEMON_PID"
        wait_until $PATIENCE port_is_up v-left
        equal "$(interface_get v-left ofport)" 1 'port number'
        install_frames_flow tc
        check_tc_agrees br0 v-left v-right
        start_receiver received right
        send_frames left --same -n 20
        received_all received
        check_tc_agrees br0 v-left v-right
    done
}

add_test offload_leaks \
    'nothing leaks when ports and offload come and go' kdp 400
offload_leaks() {
    local i fds sockets
    start_frames
    separate_frames
    one_round() {
        send_frames left -n 10
        wait_until $PATIENCE flows_shown 10 tc "$FRAMES"
        if test $(($1 % 2)) = 0; then
            set_offload false
            check_no_rules v-left
            set_offload true
        fi
        ovs-vsctl del-port v-left
        check_no_rules v-left
        ovs-vsctl add-port br0 v-left -- \
            set Interface v-left ofport_request=1
    }
    for i in 1 2 3 4; do
        one_round $i
    done
    fds=$(daemon_fds)
    sockets=$(daemon_netlink_sockets)
    for ((i = 0; i < 50; i++)); do
        one_round $i
    done
    # Threads keep sockets for their next use.
    test "$(daemon_fds)" -le $((fds + 2)) ||
        fail "from $fds files to $(daemon_fds)"
    test "$(daemon_netlink_sockets)" -le $((sockets + 2)) ||
        fail "from $sockets sockets to $(daemon_netlink_sockets)"
    check_tc_agrees br0 v-left v-right
    equal "$(offload_json .total.leaked)" 0 'rules leaked'
    equal "$(offload_json .total.lost)" 0 'flows lost'
}

# Settings.

# True if $1 offload threads run.
threads_run() {
    test "$(offload_json '[.threads[] | select(.running)] | length')" = "$1" &&
        test "$(cat /proc/"$DAEMON_PID"/task/*/comm | grep -c offload)" = "$1"
}

add_test offload_threads 'threads are changed under load' kdp 200
offload_threads() {
    local n
    start_frames other_config:n-offload-threads=2
    separate_frames
    threads_run 2 || fail 'not two threads'
    start_receiver received right
    start_sender sent left -n 0 -r 100
    for n in 1 4 10 2 1 10; do
        set_other_config n-offload-threads $n
        wait_until $PATIENCE threads_run $n
        wait_until $PATIENCE flows_shown_at_least 1 tc "$FRAMES"
    done
    ovs-vsctl remove Open_vSwitch . other_config n-offload-threads
    wait_until $PATIENCE threads_run 1
    stop_background sent
    received_all received
    wait_until $PATIENCE flows_shown "$(cat sent)" tc "$FRAMES"
    check_tc_agrees br0 v-left v-right
    matches "$(ovs-appctl offload/show)" 'offload: 1 threads'
}

add_test offload_bad_settings 'bad settings are logged and change nothing' kdp
offload_bad_settings() {
    local value n=0
    allow_log 'other_config:(n-offload-threads|offload-delay|offload-bytes) is '
    start_frames other_config:n-offload-threads=3
    threads_run 3 || fail 'not three threads'
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

add_test offload_delay 'young flows stay out of tc' kdp
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

# Flows that tc does not take.

# Prints how often tc did not take a flow, when that has not changed for two
# seconds.
settled_tries() {
    local last='' now=none
    until test "$now" = "$last"; do
        last=$now
        sleep 2
        now=$(offload_json '[.reasons[] | .n] | add')
    done
    echo "$now"
}

add_test offload_rejected \
    'a flow that tc does not take works and is explained' kdp
offload_rejected() {
    local flow='in_port(v-left),.*actions:trunc' ufid name tries
    start_frames
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 'in_port=1,actions=output(port=2,max_len=100)'
    start_receiver received right
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 ovs "$flow"
    received_all received
    wait_until $PATIENCE offload_is_settled
    # The device is new, and may change once more, after which it is asked
    # again.
    tries=$(settled_tries)
    start_receiver received right
    send_frames left --same -n 20
    received_all received
    flow_count_is "$flow" 20 ||
        fail "packets: $(flow_count packets "$flow" all)"
    flows_shown 0 tc . || fail 'a flow is in tc'
    check_no_rules br0 v-left v-right

    ufid=$(flow_ufid "$flow")
    name=$(ovs-appctl dpctl/dump-flows type=all | grep trunc)
    matches "$(ovs-appctl offload/why "$ufid")" \
        "^ufid:$ufid: rejected: not supported .*, port 2"
    matches "$(ovs-appctl offload/why "ufid:$ufid")" ': rejected: not supp'
    matches "$(ovs-appctl offload/why "${name%%, packets:*}")" \
        "^ufid:$ufid: rejected: not supported"
    # In parts, too.
    matches "$(ovs-appctl offload/why 'in_port(v-left),eth_type(0x88b5)')" \
        "ufid:$ufid: rejected"
    matches "$(ovs-appctl offload/why 'in_port(2)')" "ufid:$ufid: rejected"
    exits_with 2 ovs-appctl offload/why 'in_port(v-right)' 2>/dev/null
    # As it is shown, as a whole and with -m.
    matches "$(ovs-appctl offload/why "$name")" \
        "^ufid:$ufid: rejected: not supported"
    matches "$(ovs-appctl offload/why "$(flow_name "$flow")")" \
        "^ufid:$ufid: rejected: not supported"
    matches "$(ovs-appctl offload/why "$(dump_flows all | grep trunc)")" \
        "^ufid:$ufid: rejected: not supported"
    equal "$(ovs-appctl offload/why --format json "$ufid" |
             jq -r '.[0] | "\(.ufid) \(.state) \(.reason) \(.port)"')" \
        "$ufid rejected not supported 2" 'why'
    # Packets do not make it try again.
    equal "$(settled_tries)" "$tries" 'tries'
    matches "$(ovs-appctl offload/show)" \
        "not supported +$tries +2 +ufid:$ufid \(Operation not supported\)"
    equal "$(offload_json '.reasons[] | select(.reason == "not supported")
                           | "\(.n) \(.port) \(.ufid)"')" \
        "$tries 2 $ufid" reason
    logged "flow $ufid on port 2 stays in the kernel .*: not supported" ||
        fail 'nothing is logged'
    equal "$(grep -c 'stays in the kernel' "$OVS_LOGDIR/ovs-vswitchd.log")" 1 \
        'lines in the log'
    exits_with 2 ovs-appctl offload/why nonsense 2>/dev/null
    exits_with 2 ovs-appctl offload/why \
        00000000-0000-0000-0000-000000000001 2>/dev/null

    # Once it is one that tc takes, it goes there.
    restrict_frames
    wait_until $PATIENCE sent_and_shown tc
    check_tc_agrees br0 v-left v-right
}

add_test offload_rejected_kind \
    'what a device rejects is not tried again and again' \
    kdp
offload_rejected_kind() {
    local tries
    start_frames
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 \
        'priority=20,dl_src=02:ff:ff:ff:ff:ff,actions=drop'
    ovs-ofctl add-flow br0 \
        'priority=10,in_port=1,actions=output(port=2,max_len=100)'
    # The device is new, and may change once more, after which all that it did
    # not take is offered to it again.
    send_frames left
    wait_until $PATIENCE flows_shown 1 ovs 'actions:trunc'
    settled_tries >/dev/null
    tries=$(offload_json .total.rejected)
    start_receiver received right
    send_frames left -n 30 -r 50
    received_all received
    wait_until $PATIENCE flows_shown 30 ovs 'actions:trunc'
    wait_until $PATIENCE offload_is_settled
    tries=$(($(offload_json .total.rejected) - tries))
    test $tries -le 10 || fail "tried $tries times more"
    test "$(offload_json '[.reasons[] | .n] | add')" -ge 30 ||
        fail 'not all flows are counted'
}

# Parameter $1 of the driver of the card.
card() {
    cat "/sys/module/tc_watch/parameters/$1"
}

card_takes() {
    echo "$1" >/sys/module/tc_watch/parameters/max_rules
}

card_has() {
    test "$(card in_card)" = "$1"
}

# True if a port pauses, as it now and then does while it is full.  Leaves what
# is shown then in file show.
port_backs_off() {
    ovs-appctl offload/show >show && grep -q 'ports backing off 1' show
}

add_test offload_no_space \
    'what a full card does not take is offered again, and gets there' kdp 200
offload_no_space() {
    test -n "$KDP_TC_WATCH" || fail "there is no driver of a card:" \
        "the headers of the kernel are missing"
    modprobe cls_flower
    test -e /sys/module/tc_watch || insmod "$KDP_TC_WATCH"
    card_takes 4
    echo Y >/sys/module/tc_watch/parameters/cards
    # The card is the only one that gets rules.
    start_frames other_config:tc-policy=skip_sw
    separate_frames
    start_receiver received right
    send_frames left -n 10 -r 50
    received_all received
    wait_until $PATIENCE flows_shown 10 all "$FRAMES"
    wait_until $PATIENCE card_has 4
    wait_until $PATIENCE port_backs_off
    matches "$(cat show)" 'no space .*\(No space left on device\)'
    matches "$(ovs-appctl offload/why "$(dump_flows ovs | grep "$FRAMES" |
        head -n 1 | sed -n 's/^ufid:\([0-9a-f-]*\),.*/\1/p')")" \
        ': (rejected: no space in the device|kernel: device backs off)'
    # What has no place there is in the kernel, and served.
    equal "$(($(count_flows tc .) + $(count_flows ovs .)))" \
        "$(count_flows all .)" 'flows'
    equal "$(count_flows tc .)" 4 'flows in tc'
    equal "$(count_flows offloaded .)" 4 'offloaded flows'

    card_takes 100
    wait_until $((2 * PATIENCE)) flows_shown 10 tc "$FRAMES"
    wait_until $PATIENCE offload_is_settled
    equal "$(count_flows ovs "$FRAMES")" 0 'flows in the kernel'
    equal "$(card in_card)" "$(count_flows offloaded .)" 'rules in the card'
    # Once it takes one, the pause is over.
    ! port_backs_off || fail 'a port is still taken for full'

    set_offload false
    card_has 0 || fail "$(card in_card) rules are left in the card"
    flows_shown 10 ovs "$FRAMES" || fail 'flows are not back'
}

# Prints how many rules of ours the members of bond0 share.
n_shared_rules() {
    { tc -j filter show block "$(cat bond)" 2>/dev/null || :; } |
        jq -s 'flatten | map(select(.options.actions)) | length'
}

shared_rules_are() {
    test "$(n_shared_rules)" = "$1"
}

# Sends 10 pings over the bond and checks that they went through tc.
pings_use_shared_rules() {
    local flow='in_port(bond0),.*eth_type(0x0800)' before
    before=$(flow_count packets "$flow" tc)
    matches "$(in_ns left ping -q -c 10 -i 0.05 10.1.1.2)" ' 0% packet loss'
    equal "$(flow_count packets "$flow" tc)" $((before + 10)) 'packets'
}

add_test offload_bond 'members of a bond share the rules of its flows' kdp 200
offload_bond() {
    local i
    modprobe bonding max_bonds=0
    start_with_offload
    ovs-vsctl add-br br0
    connect br0 right 10.1.1.2/24
    ip link add bond0 type bond mode active-backup miimon 100
    cat /sys/class/net/bond0/ifindex >bond
    # Two cables, with a bond at each end.  One is there before the port.
    add_ns left
    ip -n left link add both type bond mode active-backup miimon 100
    for i in 0 1; do
        ip link add "m$i" type veth peer name "eth$i" netns left
        ip link set "m$i" master bond0
        ip -n left link set "eth$i" master both
        ovs-vsctl --may-exist add-port br0 bond0
    done
    ip link set bond0 up
    ip -n left link set both up
    ip -n left address add 10.1.1.1/24 dev both
    ping_works left 10.1.1.2
    know_each_other both
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    test "$(n_shared_rules)" -gt 0 || fail 'the bond has no rules'
    pings_use_shared_rules
    # The other member serves.
    ip link set m0 down
    wait_until $PATIENCE reaches left 10.1.1.2
    pings_use_shared_rules

    set_offload false
    shared_rules_are 0 || fail "$(n_shared_rules) rules are left"
    flows_shown 2 ovs 'eth_type(0x0800)' || fail 'flows are not back'
    set_offload true
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    pings_use_shared_rules
    ovs-vsctl del-port bond0
    shared_rules_are 0 || fail "$(n_shared_rules) rules outlive the port"
    flows_shown 0 all 'in_port(bond0)' || fail 'flows outlive the port'
}

# Does the kernel share the ids of recirculation with tc?
shares_recirculation() {
    ! logged 'those of recirculation chains stay in the kernel'
}

# What each packet goes through connection tracking for: a flow and one of the
# chain that it recirculates to, for each direction.
start_chains() {
    modprobe -a nf_conntrack
    start_pings
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 'arp,actions=NORMAL'
    ovs-ofctl add-flow br0 'table=0,ip,actions=ct(commit,table=1)'
    ovs-ofctl add-flow br0 'table=1,ip,actions=NORMAL'
    ping_works left 10.1.1.2
}

add_test offload_recirculation \
    'recirculation chains are in tc if the kernel can tell it of them' kdp 200
offload_recirculation() {
    start_chains
    if shares_recirculation; then
        note 'the kernel shares ids of recirculation with tc'
        chains_are_in_tc
    else
        chains_stay_in_kernel
    fi
}

chains_stay_in_kernel() {
    tcp_works left 10.1.1.2@right
    wait_until $PATIENCE offload_is_settled
    flows_shown 0 tc 'eth_type(0x0800)' || fail 'a flow of a chain is in tc'
    flows_shown_at_least 4 ovs 'eth_type(0x0800)' || fail 'too few flows'
    matches "$(ovs-appctl offload/why "$(dump_flows ovs | grep 'recirc(' |
        head -n 1 | sed -n 's/^ufid:\([0-9a-f-]*\),.*/\1/p')")" \
        ': rejected: (not supported|device rejects)|kernel: device rejects'
    dump_flows ovs | grep -v 'recirc_id(0)' | head -n 1 >child
    matches "$(ovs-appctl offload/why "$(sed -n \
        's/^ufid:\([0-9a-f-]*\),.*/\1/p' child)")" \
        ': (rejected: not supported|parked|kernel: device rejects)'
    matches "$(ovs-appctl offload/show)" 'not supported'
}

# The flow of pings from left to right before connection tracking, and the one
# after it.
PARENT='recirc_id(0),.*in_port(v-left),.*eth_type(0x0800)'
CHILD='recirc_id(0x[0-9a-f]*),.*in_port(v-left),.*eth_type(0x0800)'

# Prints the packets that the kernel datapath's copy of the flow of ufid $1
# has met.
kernel_packets() {
    ovs-dpctl dump-flows -m system@ovs-system | grep "^ufid:$1" |
        sed -n 's/.* packets:\([0-9]*\).*/\1/p'
}

# Prints the chains of the rules of ours at the ingress of device $1.
chains_of() {
    tc -j filter show dev "$1" ingress |
        jq -r '.[] | select(.options.actions) | .chain' | sort -un
}

chains_are_settled() {
    flows_shown 4 tc 'eth_type(0x0800)' && offload_is_settled &&
        test "$(offload_json .flows.parked)" = 0
}

# Checks that each flow of the pings has a rule, in the chain of its id, and
# that only those of chains have a copy in the kernel.
check_chains() {
    local id
    wait_until $PATIENCE chains_are_settled
    id=$(dump_flows tc | sed -n "s/.*recirc_id(\(0x[0-9a-f]*\)),.*in_port(v-left).*/\1/p")
    equal "$(chains_of v-left)" "$(printf '0\n%d' "$id")" 'chains of left'
    tc_ufids v-left v-right >rules
    shown_ufids tc >flows.tc
    cmp rules flows.tc || fail 'tc and what is shown differ'
    test -z "$(shown_ufids ovs | comm -12 - flows.tc)" ||
        fail 'flows are shown twice'
    kernel_ufids | comm -12 - flows.tc >both
    { flow_ufid "$CHILD"; flow_ufid "${CHILD/v-left/v-right}"; } | sort |
        cmp - both || fail 'not just the flows of chains have two copies'
}

# Sends $1 pings and checks that all went through the rules in tc.
pings_use_chains() {
    local parent child copy
    parent=$(flow_count packets "$PARENT" tc)
    child=$(flow_count packets "$CHILD" tc)
    copy=$(kernel_packets "$(flow_ufid "$CHILD")")
    matches "$(in_ns left ping -q -c "$1" -i 0.05 10.1.1.2)" ' 0% packet loss'
    equal "$(flow_count packets "$PARENT" tc)" $((parent + $1)) 'parent'
    equal "$(flow_count packets "$CHILD" tc)" $((child + $1)) 'child'
    equal "$(kernel_packets "$(flow_ufid "$CHILD")")" "$copy" 'copy'
}

# Removes the rule of the flow with match $1 on v-left.
remove_rule_of() {
    local ufid
    ufid=$(flow_ufid "$1")
    tc -j filter show dev v-left ingress | jq -r --arg cookie "$(
        echo "$ufid" | tr -d - | sed 's/\(..\)\(..\)\(..\)\(..\)/\4\3\2\1/g'
        )" '.[] | select(any(.options.actions[]?; .cookie == $cookie))
            | "chain \(.chain) prio \(.pref) handle \(.options.handle) flower"' \
        >rule
    test -s rule || fail "there is no rule of flow $ufid"
    # shellcheck disable=SC2046
    tc filter del dev v-left ingress $(cat rule)
}

chains_are_in_tc() {
    local i missed vanished
    know_each_other
    check_chains
    pings_use_chains 10
    in_ns_background ping@left ping -q -i 0.01 10.1.1.2
    missed=$(datapath_count missed)
    for i in 1 2 3; do
        set_offload false
        check_no_rules v-left v-right
        flows_shown 4 ovs 'eth_type(0x0800)' || fail 'flows are not back'
        set_offload true
        check_chains
    done
    # IPv6 speaks now and then; each ping would be hundreds.
    missed=$(($(datapath_count missed) - missed))
    test $missed -le 10 || fail "$missed packets missed"
    # Others remove the rule of a parent, then that of its child.  Without a
    # copy of the former packets miss until that is noticed.
    for i in "$PARENT" "$CHILD"; do
        vanished=$(offload_json .total.vanished)
        remove_rule_of "$i"
        wait_until $PATIENCE vanished_at_least $((vanished + 1))
        check_chains
    done
    kill -INT "${BACKGROUND[ping]}"
    wait_background ping
    matches "$(cat ping)" ' 0% packet loss'
    pings_use_chains 10
    tcp_works left 10.1.1.2@right

    # The parent goes for good: nothing gets to the chain any more.
    ovs-ofctl del-flows br0 'table=0,ip'
    wait_until $PATIENCE flows_shown 0 tc 'recirc('
    ovs-ofctl add-flow br0 'table=0,ip,actions=ct(commit,table=1)'
    ping_works left 10.1.1.2
    check_chains
    set_offload false
    check_no_rules br0 v-left v-right
}

# Rules that others remove.

vanished_at_least() {
    test "$(offload_json .total.vanished)" -ge "$1"
}

# Checks that traffic goes on when command $1... removes rules of ours and that
# the flow is put back into tc.
survives() {
    local before missed
    before=$(flow_count packets "$FRAMES" tc)
    "$@"
    wait_until $PATIENCE vanished_at_least 1
    wait_until $PATIENCE flows_shown 1 all "$FRAMES"
    test "$(flow_count packets "$FRAMES" all)" -ge "$before" ||
        fail "the count fell from $before"
    wait_until $((2 * PATIENCE)) flows_shown 1 tc "$FRAMES"
    # Nothing goes to the daemon any more.
    missed=$(datapath_count missed)
    wait_until $PATIENCE flow_has_packets "$FRAMES" $((before + 500))
    equal "$(datapath_count missed)" "$missed" 'missed'
    stop_background sent
    received_all received
    matches "$(ovs-appctl offload/show)" 'rule vanished from tc'
    check_tc_agrees br0 v-left v-right
}

start_survivor() {
    start_frames
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    start_receiver received right
    start_sender sent left --same -n 0 -r 100
    wait_until $PATIENCE flow_has_packets "$FRAMES" 50
}

# Removes the rule of the flow of frames.
remove_rule() {
    local rule
    rule=$(tc -j filter show dev v-left ingress |
        jq -r '[.[] | select(.options.actions)][0] | "prio \(.pref)",
                 "handle \(.options.handle) flower"' | tr '\n' ' ')
    # shellcheck disable=SC2086
    tc filter del dev v-left ingress $rule
}

add_test offload_rule_removed 'a rule that others remove comes back' kdp 200
offload_rule_removed() {
    start_survivor
    survives remove_rule
}

add_test offload_rules_flushed 'rules that others flush come back' kdp 200
offload_rules_flushed() {
    start_survivor
    survives tc filter del dev v-left ingress
}

add_test offload_qdisc_removed \
    'traffic outlives the loss of the queueing discipline' \
    kdp 200
offload_qdisc_removed() {
    start_survivor
    survives tc qdisc del dev v-left ingress
}

# Figures.

add_test offload_stats_show \
    'statistics are named as those of the userspace datapath' \
    kdp
offload_stats_show() {
    local name
    modprobe tun
    start_frames other_config:n-offload-threads=3
    ovs-vsctl add-br br1 -- set Bridge br1 datapath_type=netdev
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
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

add_test offload_stats_total 'the total of latencies is weighted' kdp
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
    jq -e '.total.inserted == 45 and .total.in_tc == 45
           and (.threads | map(select(.inserted > 0)) | length) == 2' show
    jq -e '(.threads | map(.latency_us.cumulative | .n * .mean) | add)
               / .total.latency_us.cumulative.n
               - .total.latency_us.cumulative.mean
           | fabs < 1' show
    ovs-appctl dpctl/offload-stats-show >stats
    matches "$(cat stats)" "Total +Cumulative Average latency \(us\): +$(
        jq '.total.latency_us.cumulative.mean | floor' show)"
}

# Other kinds of ports and flows.

add_test offload_vxlan 'a VXLAN tunnel is offloaded' kdp 150
offload_vxlan() {
    local devs='br0 br-u v-n1 v-remote vxlan_sys_4789'
    start_with_offload
    ovs-vsctl add-br br-u -- add-br br0
    connect br-u remote 172.31.1.1/24
    ip address add 172.31.1.100/24 dev br-u
    ip link set br-u up
    ping_works remote 172.31.1.100
    connect br0 n1 10.1.1.1/24
    ovs-vsctl add-port br0 t0 -- set Interface t0 type=vxlan \
        options:remote_ip=172.31.1.1 options:key=42
    ip -n remote link add tun0 type vxlan id 42 remote 172.31.1.100 \
        dstport 4789
    ip -n remote address add 10.1.1.2/24 dev tun0
    ip -n remote link set tun0 up
    ping_works n1 10.1.1.2
    tcp_works n1 10.1.1.2@remote
    wait_until $PATIENCE flows_shown_at_least 1 tc \
        'tunnel(tun_id=0x2a.*eth_type(0x0800)'
    wait_until $PATIENCE flows_shown_at_least 1 tc \
        'in_port(v-n1).*eth_type(0x0800).*set(tunnel('
    # shellcheck disable=SC2086
    check_tc_agrees $devs
    set_offload false
    # shellcheck disable=SC2086
    check_no_rules $devs
    ping_works n1 10.1.1.2
    set_offload true
    wait_until $PATIENCE flows_shown_at_least 1 tc 'tunnel(tun_id=0x2a'
    ping_works n1 10.1.1.2
    # shellcheck disable=SC2086
    check_tc_agrees $devs
    ovs-vsctl del-port br0 t0
    wait_until $PATIENCE flows_shown 0 tc 'tunnel('
    # shellcheck disable=SC2086
    check_tc_agrees $devs
    allow_log 'receive tunnel port not found'
}

add_test offload_vlan 'VLAN tags are pushed and popped in tc' kdp 120
offload_vlan() {
    start_with_offload
    ovs-vsctl add-br br0
    connect br0 left 10.1.1.1/24 tag=10
    connect br0 right ''
    ip -n right link add link eth0 name eth0.10 type vlan id 10
    ip -n right address add 10.1.1.2/24 dev eth0.10
    ip -n right link set eth0.10 up
    ping_works left 10.1.1.2
    tcp_works left 10.1.1.2@right
    wait_until $PATIENCE flows_shown_at_least 1 tc \
        'in_port(v-left).*eth_type(0x0800).*push_vlan(vid=10'
    wait_until $PATIENCE flows_shown_at_least 1 tc \
        'in_port(v-right).*vlan(vid=10.*eth_type(0x0800).*pop_vlan'
    ping_works left 10.1.1.2
    check_tc_agrees br0 v-left v-right
    set_offload false
    check_no_rules br0 v-left v-right
    ping_works left 10.1.1.2
}

add_test offload_internal 'flows from an internal port are offloaded' kdp 200
offload_internal() {
    local flow='in_port(br0),.*eth_type(0x0800)'
    start_pings
    ip address add 10.1.1.100/24 dev br0
    ip link set br0 up
    wait_until $PATIENCE reaches left 10.1.1.100
    wait_until $PATIENCE flows_shown_at_least 1 tc "$flow"
    matches "$(tc qdisc show dev br0)" clsact
    test "$(tc filter show dev br0 egress | grep -c cookie)" -ge 1 ||
        fail 'no rule at the egress of br0'
    ping_works left 10.1.1.100
    tcp_works left 10.1.1.2@right
    check_tc_agrees br0 v-left v-right
    set_offload false
    check_no_rules br0 v-left v-right
    ping_works left 10.1.1.100
    set_offload true
    wait_until $PATIENCE flows_shown_at_least 1 tc "$flow"
    kill_daemon
    reaches left 10.1.1.100 || fail 'no way without the daemon'
    start_daemon
    ping_works left 10.1.1.100
    wait_until $PATIENCE flows_shown_at_least 1 tc "$flow"
    check_tc_agrees br0 v-left v-right
    # Nobody may know them any more.
    kill_daemon
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=false
    start_daemon
    ping_works left 10.1.1.100
    wait_until $PATIENCE no_tc_rules br0 v-left v-right
}

# Prints the number of policing rules on v-left.
policing_rules() {
    tc -j filter show dev v-left ingress |
        jq '[.[] | select(.kind == "matchall" and .options.actions)] | length'
}

policing_rules_are() {
    test "$(policing_rules)" = "$1"
}

add_test offload_policing \
    'policing and offload do not disturb each other' kdp 150
offload_policing() {
    local i
    start_pings
    ovs-vsctl set Interface v-left ingress_policing_rate=1000000 \
        ingress_policing_burst=100000
    wait_until $PATIENCE policing_rules_are 1
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    tcp_works left 10.1.1.2@right
    check_tc_agrees br0 v-left v-right
    for i in false true; do
        set_offload $i
        equal "$(policing_rules)" 1 "policing with hw-offload=$i"
        ping_works left 10.1.1.2
    done
    wait_until $PATIENCE flows_shown_at_least 2 tc 'eth_type(0x0800)'
    ovs-vsctl set Interface v-left ingress_policing_rate=2000000
    check_tc_agrees br0 v-left v-right
    ovs-vsctl set Interface v-left ingress_policing_rate=0 \
        ingress_policing_burst=0
    wait_until $PATIENCE policing_rules_are 0
    check_tc_agrees br0 v-left v-right
    ping_works left 10.1.1.2
}

add_test offload_meter 'meters work with offload' kdp 120
offload_meter() {
    start_frames
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        'meter=1,pktps,stats,bands=type=drop,rate=100000'
    ovs-ofctl -O OpenFlow13 del-flows br0
    ovs-ofctl -O OpenFlow13 add-flow br0 'in_port=1,actions=meter:1,output:2'
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 all "$FRAMES"
    wait_until $PATIENCE offload_is_settled
    start_receiver received right
    send_frames left --same -n 50 -r 100
    received_all received
    flow_count_is "$FRAMES" 50 || fail "$(dump_flows all)"
    check_tc_agrees br0 v-left v-right
    set_offload false
    check_no_rules v-left
    start_receiver received right
    send_frames left --same -n 50 -r 100
    received_all received
    flow_count_is "$FRAMES" 100 || fail "$(dump_flows all)"
    matches "$(ovs-ofctl -O OpenFlow13 meter-stats br0)" 'meter:1'
    # What the meter has counted before, and for others, is not the flow's.
    set_offload true
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    flow_count_is "$FRAMES" 100 || fail "$(dump_flows all)"
    ovs-ofctl -O OpenFlow13 add-flow br0 'in_port=2,actions=meter:1,output:1'
    send_frames right --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES_BACK"
    start_receiver received left
    send_frames right --same -n 20 -r 100
    received_all received
    flow_count_is "$FRAMES_BACK" 20 || fail "$(dump_flows all)"
    start_receiver received right
    send_frames left --same -n 50 -r 100
    received_all received
    flow_count_is "$FRAMES" 150 || fail "$(dump_flows all)"
    flow_count_is "$FRAMES_BACK" 20 || fail "$(dump_flows all)"
    check_tc_agrees br0 v-left v-right
    # Of what does nothing else, no rule could be told as ours.
    ovs-ofctl -O OpenFlow13 del-flows br0
    ovs-ofctl -O OpenFlow13 add-flow br0 in_port=1,actions=meter:1
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 all "$FRAMES.*meter("
    wait_until $PATIENCE offload_is_settled
    check_tc_agrees br0 v-left v-right
    equal "$(tc filter show dev v-left ingress)" '' 'rules of any kind'
    # One that drops.
    ovs-ofctl -O OpenFlow13 mod-meter br0 \
        'meter=1,pktps,stats,bands=type=drop,rate=1'
    ovs-ofctl -O OpenFlow13 del-flows br0
    ovs-ofctl -O OpenFlow13 del-meters br0
    wait_until $PATIENCE flows_shown 0 all 'meter('
}

# Random operations.

RANDOM_NS=(left right third)

# Does one random operation.
random_operation() {
    local i=$((RANDOM % 3)) n=$((RANDOM % 30 + 1)) ns choices rule
    ns=${RANDOM_NS[i]}
    case $((RANDOM % 12)) in
    0 | 1 | 2 | 3)
        send_frames "$ns" -n $n -s $((RANDOM % 4 + 1))
        ;;
    4 | 5)
        choices=(output:1 output:2 output:3 "output:1,2,3" drop
                 "mod_vlan_vid:7,output:2"
                 "mod_dl_src:02:00:00:00:00:99,output:3"
                 "output(port=3,max_len=100)" "controller,output:1")
        n=$((RANDOM % ${#choices[@]}))
        ovs-ofctl add-flow br0 \
            "priority=10,in_port=$((i + 1)),actions=${choices[n]}"
        ;;
    6)
        ovs-vsctl del-port "v-$ns"
        check_no_rules "v-$ns"
        send_frames left -n 3
        ovs-vsctl add-port br0 "v-$ns" -- \
            set Interface "v-$ns" ofport_request=$((i + 1))
        ;;
    7)
        set_offload false
        check_no_rules v-left v-right v-third
        send_frames "$ns" -n $n
        set_offload true
        ;;
    8)
        set_other_config n-offload-threads $((RANDOM % 10 + 1))
        ;;
    9)
        rule=$(tc -j filter show dev "v-$ns" ingress |
            jq -r --argjson n $n '[.[] | select(.options.actions)]
                   | .[$n % ([length, 1] | max)] // empty
                   | "prio \(.pref)",
                     "handle \(.options.handle) flower"' | tr '\n' ' ')
        # It may be gone by now.
        # shellcheck disable=SC2086
        test -z "$rule" || tc filter del dev "v-$ns" ingress $rule || :
        ;;
    10)
        tc filter del dev "v-$ns" ingress || :
        ;;
    11)
        start_sender "flood$n" "$ns" -n $((n * 10)) -s 5
        set_other_config offload-delay $((RANDOM % 2 * 500))
        wait_background "flood$n"
        ;;
    esac
}

add_test offload_random \
    'random operations leave tc and the daemon agreed' kdp 600
offload_random() {
    local i seed=${KDP_SEED:-$((SRANDOM % 32768))}
    local end=$((SECONDS + ${KDP_RANDOM_SECONDS:-90}))
    note "seed $seed: KDP_SEED=$seed repeats it"
    RANDOM=$seed
    start_with_offload
    ovs-vsctl add-br br0
    for i in 0 1 2; do
        connect br0 "${RANDOM_NS[i]}" '' -- \
            set Interface "v-${RANDOM_NS[i]}" ofport_request=$((i + 1))
    done
    ovs-ofctl del-flows br0
    every_frame_an_upcall br0 1 2
    while test $SECONDS -lt $end; do
        for ((i = 0; i < 6; i++)); do
            random_operation
        done
        set_other_config offload-delay 0
        # What rules were removed of is noticed when it is read.
        check_tc_agrees br0 v-left v-right v-third
        # Traffic goes where it should.
        ovs-ofctl add-flow br0 \
            'priority=30,in_port=1,dl_src=02:00:00:00:00:00,actions=output:2'
        ovs-appctl revalidator/wait
        ovs-appctl revalidator/wait
        wait_until $PATIENCE offload_is_settled
        start_receiver received right
        send_frames left --same -n 20
        wait_background received || {
            keep_state v-left v-right v-third
            fail "frames are missing: $(cat received)"
        }
        ovs-ofctl --strict del-flows br0 \
            'priority=30,in_port=1,dl_src=02:00:00:00:00:00'
    done
    equal "$(offload_json .total.leaked)" 0 'rules leaked'
    equal "$(offload_json .total.lost)" 0 'flows lost'
}
