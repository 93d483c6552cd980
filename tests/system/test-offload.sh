# SPDX-License-Identifier: Apache-2.0
#
# Flows in tc: what the tests of these need (test-offload-*.sh), and the first of
# them.

# Set-up.

# Has left, whose device is $1 (default eth0), and right know their addresses, so
# that nothing but what the test sends passes between them.
know_each_other() {
    ip -n left neigh replace 10.1.1.2 dev "${1:-eth0}" \
        lladdr "$(mac_of right eth0)"
    ip -n right neigh replace 10.1.1.1 dev eth0 \
        lladdr "$(mac_of left "${1:-eth0}")"
}

# Starts Open vSwitch with offload, and further settings $@.  Flows stay until
# they are deleted, however long nothing meets them.
start_with_offload() {
    start_ovsdb
    # Revalidators whose rounds take half of max-revalidator delete flows of few
    # packets after a change instead of doing that again.  With sanitizers, and
    # on a slow machine, they do take that long.  They also begin a round no more
    # often, for which many tests wait.
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=true \
        other_config:tc-policy=skip_hw other_config:max-idle=1000000 \
        other_config:max-revalidator=$((500 * KDP_PATIENCE)) "$@"
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

# The same, but nothing comes from the namespaces but what the test sends, and
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

# The same, but each frame has a flow of its own.
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

# Sends frames of $1 flows until tc has them all with match $2.  After a change
# of ports or rules frames may meet flows that are about to go: revalidators
# that need 250 ms for a round delete those of few packets.
install_flows() {
    wait_until $PATIENCE all_sent_and_shown "$1" "$2"
}

all_sent_and_shown() {
    flows_shown "$1" tc "$2" || { send_frames left -n "$1"; false; }
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

# Prints paths or an expression of what is shown of offload.
offload_json() {
    ovs-appctl offload/show --format json ovs-system |
        json_values '.[0]' "$@"
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
    local n
    n=$(offload_json .total.{queued,enqueued} .flows.{queued,deleting} \
            '.flows["moving back"]' .flows.parked .total.inserted \
            .total.{modified,deleted,returned,rejected,superseded}) || return
    # shellcheck disable=SC2086
    set -- $n
    test $# = 12 && test "$1 $3 $4 $5" = '0 0 0 0' &&
        test "$2" = "$(sum "${@:6}")"
}

# What tc shows.

# Prints the cookies of the rules of ours on devices $@, as ufids.  A cookie is
# the ufid as it is in memory, four numbers of 32 bits.
tc_ufids() {
    local dev qdiscs
    qdiscs=$(tc qdisc show)
    for dev; do
        echo "filter show dev $dev ingress"
        # Without clsact there is one hook, which is shown under both names.
        [[ $qdiscs != *"qdisc clsact ffff: dev $dev "* ]] ||
            echo "filter show dev $dev egress"
    done | { tc -force -batch - 2>/dev/null || :; } | awk '
    /^filter / { last = "" }
    # All actions of a rule have the same.
    $1 == "cookie" && length($2) == 32 && $2 != last {
        last = $2
        u = ""
        for (i = 1; i < 32; i += 8) {
            for (j = 6; j >= 0; j -= 2) {
                u = u substr(last, i + j, 2)
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

# Prints protocol and priority of the rules of flows on v-left, each pair once.
rule_priorities() {
    tc -j filter show dev v-left ingress |
        jq -r '.[] | select(.options.actions[0].cookie)
               | "\(.protocol) \(.pref)"' | sort -u
}

# True if a rule on v-left sends packets to device $1.
rules_lead_to() {
    local rules
    rules=$(tc filter show dev v-left ingress) && [[ $rules == *"device $1)"* ]]
}

no_tc_rules() {
    test -z "$(tc_ufids "$@")"
}

# Checks that none of our rules stays on devices $@: offload threads delete
# them, for which nobody waits.
check_no_rules() {
    wait_until $PATIENCE no_tc_rules "$@"
}

# True if on devices $@ there are just the rules of the flows shown as being in
# tc, none of which is in the kernel or shown as being there.
tc_agrees() {
    offload_is_settled || return 1
    tc_ufids "$@" >rules
    shown_ufids tc >flows.tc
    shown_ufids ovs >flows.ovs
    kernel_ufids >flows.kernel
    test "$(tc_ufids "$@")" = "$(<rules)" &&
        test "$(<rules)" = "$(<flows.tc)" &&
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
            note "offload: $(offload_json '{total, flows} | tojson')"
            note "rules in tc, not shown: $(comm -23 rules flows.tc)"
            note "shown, no rule in tc: $(comm -13 rules flows.tc)"
            note "in the kernel, too: $(comm -12 flows.tc flows.kernel)"
            note "shown twice: $(comm -12 flows.tc flows.ovs)"
            keep_state "$@"
            fail 'tc and what is shown differ'
        fi
        nap 0.2
    done
    equal "$(shared_actions)" '' 'actions of more than one rule'
}

# Prints the numbers of outputs that more than one rule has.
shared_actions() {
    tc actions list action mirred |
        sed -n 's/.*index \([0-9]*\) ref [0-9]* bind \([0-9]*\).*/\1 \2/p' |
        awk '$2 > 1 { print $1 }'
}

# Prints the numbers that the rules of devices $@ have for what makes packets
# ones for this host, a line a rule.
to_host_numbers() {
    local dev
    for dev; do
        tc -j filter show dev "$dev" ingress |
            jq '.[] | .options.actions[]? | select(.kind == "skbedit") | .index'
    done
}

no_to_host_actions() {
    ! tc actions list action skbedit | grep -q index
}

# Prints the numbers of the actions that send packets out, sorted as text.
output_actions() {
    tc actions list action mirred | sed -n 's/.*index \([0-9]*\) .*/\1/p' | sort
}

# Prints which ranges the numbers in stdin are of, see tc-action.h.
action_ranges() {
    awk '{ print int(($1 - 536870912) / 67108864) }' | sort -u
}

# Tests.

add_test offload_ping 'pings go through tc' kdp one-cpu
offload_ping() {
    start_pings
    ping_works left 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    start_ping ping@left 10.1.1.2 -i 0.1
    wait_until $PATIENCE has_answers ping 20
    ping_lost_nothing ping
    dump_flows tc >flows
    matches "$(cat flows)" 'ufid:.*dp:tc, actions:v-right'
    check_tc_agrees br0 v-left v-right
    # The first packet of all was sent by the daemon itself.
    test "$(flow_count packets 'in_port(v-left).*eth_type(0x0800)' tc)" \
        -ge 20 || fail 'packets are not counted'
}

# A flow that tc takes, and one that it does not.
add_test offload_types \
    'each flow is shown once, and under the types of stock (O2)' one-cpu
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

add_test offload_local_port \
    'rules to a local port share an action, and count each its own packets (O2)' \
    kdp one-cpu
offload_local_port() {
    local numbers
    start_frames
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 actions=LOCAL
    ip link set br0 up
    send_frames left --same
    send_frames right --same
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES"
    wait_until $PATIENCE flows_shown 1 tc "$FRAMES_BACK"
    numbers=$(to_host_numbers v-left v-right)
    test "$(wc -l <<<"$numbers")" -ge 2 || fail "rules have: $numbers"
    equal "$(sort -u <<<"$numbers" | wc -l)" 1 'different numbers'
    send_frames left --same -n 20
    send_frames right --same -n 3
    wait_until $PATIENCE flow_count_is "$FRAMES" 20
    wait_until $PATIENCE flow_count_is "$FRAMES_BACK" 3
    equal "$(flow_count packets "$FRAMES" all)" 20 'of left'
    check_tc_agrees br0 v-left v-right
    ovs-appctl revalidator/purge
    wait_until $PATIENCE no_to_host_actions
}

modules_are_loaded() {
    local module
    for module; do
        test -e "/sys/module/$module" || return 1
    done
}

add_test offload_actions_loaded \
    'no rule waits for the kernel to load what its actions need' kdp one-cpu
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
    # Each request takes the lock once.  The last module may be there before the
    # request is counted.
    wait_until $PATIENCE actions_were_asked_for 10
    equal "$(actions_asked_for)" 10 'acquisitions'
}

# Prints how many requests for kinds of actions took the lock.
actions_asked_for() {
    link_json '.rtnl_calls["load kind of action of tc"]'
}

actions_were_asked_for() {
    test "$(actions_asked_for)" -ge "$1"
}

# True if the OpenFlow flow that $1 tells has $2 packets.
openflow_count_is() {
    test "$(ovs-ofctl dump-flows br0 "$1" |
        sed -n 's/.* n_packets=\([0-9]*\).*/\1/p')" = "$2"
}

flow_has_packets() {
    local n
    n=$(flow_count packets "$1" all)
    test "${n:-0}" -ge "$2"
}

# The part of a flow of "dpctl/dump-flows -m" that names it.
flow_name() {
    dump_flows all | grep "$1" | sed 's/, packets:.*//'
}

add_test offload_flow_commands \
    'dpctl gets, changes and deletes flows anywhere' kdp one-cpu 120
offload_flow_commands() {
    local where ufid name
    # Open vSwitch sees that counts are cleared, if it looks in time.
    allow_log 'failed to (flow_del|flow_get|put)' \
        'Unexpected jump in packet stats from [79] to [0-3] '
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

add_test offload_toggle \
    'offload is turned off and on under traffic (O1)' kdp 150
offload_toggle() {
    local i before after missed
    start_pings
    ping_works left 10.1.1.2
    # Nothing but the pings from here on.
    know_each_other
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    start_ping ping@left 10.1.1.2 -i 0.01
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
    ping_lost_nothing ping
    # IPv6 speaks now and then; each ping would be hundreds.
    missed=$(($(datapath_count missed) - missed))
    test $missed -le 10 || fail "$missed packets missed"
}

add_test offload_first_on 'offload is turned on for flows that exist (O1)' kdp
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
