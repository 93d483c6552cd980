# SPDX-License-Identifier: Apache-2.0
#
# Chains of recirculation as OVN has them, and what becomes of the rules of
# chains when the daemon crashes.  Where the kernel cannot tell the datapath of
# chains, all that is about tc has to be true of the datapath.

# True if the kernel can tell the datapath of chains, as its configuration says,
# or if nobody has that, the daemon.
kernel_tells_of_chains() {
    local release config
    release=$(uname -r)
    for config in "/boot/config-$release" \
        "/lib/modules/$release/build/.config"; do
        if test -e "$config"; then
            grep -qx CONFIG_NET_TC_SKB_EXT=y "$config"
            return
        fi
    done
    shares_recirculation
}

# Prints where flows of chains have to be here, "tc" or "ovs".
place_of_chains() {
    if kernel_tells_of_chains; then
        echo tc
    else
        echo ovs
    fi
}

# Prints interface index, preference and handle of each rule of chains at ingress
# of devices $@: of those in chains, and those that lead to one.
chain_rules() {
    local dev
    for dev; do
        tc -j filter show dev "$dev" ingress |
            jq -r --arg ifindex "$(<"/sys/class/net/$dev/ifindex")" \
                '.[] | select(.options.actions)
                 | select(.chain != 0 or any(.options.actions[];
                                             tostring | test("\"goto\"")))
                 | "\($ifindex) \(.pref) \(.options.handle)"'
    done | sort
}

# The address that left speaks to, and the one that right sees.
SERVICE=10.1.1.100
SOURCE=10.1.1.200

# What left sends goes through three zones, which translate the destination,
# translate the source, and are a firewall; what right answers goes through them
# in turn.  New connections recirculate twice more.
add_pipeline() {
    ovs-ofctl del-flows br0
    ovs-ofctl add-flows br0 - <<END
in_port=1,ip,actions=ct(table=1,zone=1,nat)
table=1,ip,ct_state=+trk+new,actions=ct(commit,table=2,zone=1,nat(dst=10.1.1.2))
table=1,ip,ct_state=+trk+est,actions=resubmit(,2)
table=2,ip,actions=ct(table=3,zone=2,nat)
table=3,ip,ct_state=+trk+new,actions=ct(commit,table=4,zone=2,nat(src=$SOURCE))
table=3,ip,ct_state=+trk+est,actions=resubmit(,4)
table=4,ip,actions=ct(table=5,zone=3)
table=5,ip,ct_state=+trk+new,actions=ct(commit,zone=3),output:2
table=5,ip,ct_state=+trk+est,actions=output:2
in_port=2,ip,actions=ct(table=10,zone=3)
table=10,ip,ct_state=+trk+est,actions=ct(table=11,zone=2,nat)
table=11,ip,ct_state=+trk+est,actions=ct(table=12,zone=1,nat)
table=12,ip,ct_state=+trk+est,actions=output:1
END
}

start_pipeline() {
    local ns
    modprobe -a nf_conntrack nf_nat
    # A connection that expired is a new one to the next ping.
    sysctl -q -w net.netfilter.nf_conntrack_icmp_timeout=600
    start_pings
    # That speaks now and then.
    for ns in left right; do
        in_ns $ns sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=1
    done
    add_pipeline
    ip -n left neigh replace $SERVICE dev eth0 lladdr "$(mac_of right eth0)"
    ip -n right neigh replace $SOURCE dev eth0 lladdr "$(mac_of left eth0)"
}

# True if all flows of packets are in $1, and nothing is under way.
pipeline_is_settled() {
    local elsewhere=ovs
    test "$1" = tc || elsewhere=tc
    flows_shown_at_least 8 "$1" 'eth_type(0x0800)' &&
        flows_shown 0 $elsewhere 'eth_type(0x0800)' && offload_is_settled
}

# Prints ufid and packets of the flows of packets from port $1, which are in $2.
packets_of() {
    dump_flows "$2" | grep "in_port($1),.*eth_type(0x0800)" |
        sed -n 's/^ufid:\([0-9a-f-]*\),.* packets:\([0-9]*\),.*/\1 \2/p' | sort
}

# Prints how many packets each flow has got from port $1, which are in $2, since
# file $3 was written; those that got none are left out.
packets_since() {
    packets_of "$1" "$2" | join -a 1 "$3" - |
        awk '$3 > $2 { print $3 - $2 }' | tr '\n' ' '
}

# Prints how many packets looked for a flow in the kernel datapath, once for each
# time that they recirculated.
lookups() {
    echo $(($(datapath_count hit) + $(datapath_count missed)))
}

# Sends $2 pings of a connection that is there, and checks that each of them, and
# each answer, met four flows, which are in $1.
pings_pass_four_flows() {
    local ns looked
    pings_are_answered left $SERVICE 2 77
    for ns in left right; do
        packets_of v-$ns "$1" >"before.$ns"
    done
    looked=$(lookups)
    pings_are_answered left $SERVICE "$2" 77
    looked=$(($(lookups) - looked))
    for ns in left right; do
        equal "$(packets_since v-$ns "$1" "before.$ns")" "$2 $2 $2 $2 " \
            "packets of the flows of $ns"
    done
    test "$1" = ovs || equal $looked 0 'lookups in the datapath'
}

# Prints all packets of flows of ports left and right that are in $1.
packets_in() {
    { packets_of v-left "$1"; packets_of v-right "$1"; } |
        awk '{ n += $2 } END { print n + 0 }'
}

# Sends a stream through the pipeline, and checks that at most one in ten of its
# steps from flow to flow was elsewhere than in $1.
stream_passes() {
    local before looked
    before=$(packets_in "$1") looked=$(lookups)
    tcp_works left $SERVICE@right 2000000
    before=$(($(packets_in "$1") - before)) looked=$(($(lookups) - looked))
    note "stream: $before packets of flows in $1, $looked lookups"
    # At most 64 KiB are in a packet, which the datapath counts as one, and which
    # meets four flows.
    test "$before" -ge $((2000000 / 65536 * 4)) ||
        fail "$before packets of flows in $1"
    test "$1" = ovs || test $looked -le $((2000000 / 65536 * 4 / 10)) ||
        fail "$looked lookups in the datapath, $before packets in tc"
}

add_test offload_pipeline \
    'three zones with translation of addresses are in tc if chains can be (O3)' \
    kdp 250
offload_pipeline() {
    local place dev
    start_pipeline
    ping_works left $SERVICE
    place=$(place_of_chains)
    note "chains are in $place"
    wait_until $PATIENCE pipeline_is_settled "$place"
    for dev in v-left v-right; do
        chains_of $dev >chains
        if test "$place" = tc; then
            test "$(wc -l <chains)" -ge 4 || fail "chains of $dev: $(cat chains)"
        else
            equal "$(chain_rules $dev)" '' "rules of chains of $dev"
        fi
    done
    pings_pass_four_flows "$place" 10
    matches "$(ovs-appctl dpctl/dump-conntrack)" \
        "icmp,orig=.src=10\.1\.1\.1,dst=$SERVICE.*reply=.src=10\.1\.1\.2,"
    stream_passes "$place"

    # All of it goes back to the kernel under packets, and to tc again.
    start_ping ping@left $SERVICE -i 0.05
    set_offload false
    wait_until $PATIENCE pipeline_is_settled ovs
    check_no_rules v-left v-right
    wait_until $PATIENCE has_answers ping $(($(n_answers ping) + 10))
    set_offload true
    wait_until $PATIENCE pipeline_is_settled "$place"
    ping_lost_nothing ping
    pings_pass_four_flows "$place" 10
}

# True if all flows of packets are in the kernel datapath, and no rule is in tc.
pipeline_is_without_offload() {
    flows_shown_at_least 8 ovs 'eth_type(0x0800)' &&
        test -z "$(chain_rules v-left v-right)"
}

# Prints how many flows of chains the kernel datapath has.
n_chain_flows() {
    ovs-dpctl dump-flows -m system@ovs-system |
        grep -cE 'recirc_id\(0x[1-9a-f]|recirc\(' || :
}

# Has the kernel trace what is deleted, and what is done for packets.
trace_takeover() {
    local header='ifindex=+20(%si):u32 handle=+24(%si):u32 info=+32(%si):u32'
    prepare_tracing
    {
        # Of "struct tcmsg", which follows the header of the message.
        echo "p:kdp/rule tc_del_tfilter $header"
        echo "p:kdp/discipline tc_get_qdisc type=+4(%si):u16 $header"
        echo 'p:kdp/flow ovs_flow_cmd_del'
        echo 'p:kdp/packet ovs_packet_cmd_execute'
        echo 'p:kdp/new ovs_flow_cmd_new'
    } >>$TRACING/kprobe_events
    echo 1 >$TRACING/events/kdp/enable
}

# Prints of the trace what came before a handler first did something for a
# packet.  Fails if none did.
traced_until_served() {
    awk '/^ *handler[0-9]*-/ && / (packet|new): / { served = 1; exit }
         { print }
         END { exit !served }' $TRACING/trace
}

# Checks that the rules in file $1 were deleted before the first packet was
# served.
old_rules_went_first() {
    local n='([0-9]+)'
    traced_until_served >until-served || fail 'no packet was served'
    sed -nE "s/.* rule: .* ifindex=$n handle=$n info=$n.*/\1 \2 \3/p" \
        until-served | awk '{ print $1, int($3 / 65536), $2 }' >deletions
    # Rules go with the discipline, too, which is deleted without offload
    # (RTM_DELQDISC).
    sed -nE "s/.* discipline: .* type=37 ifindex=$n.*/\1/p" until-served |
        awk 'NR == FNR { gone[$1] = 1; next } $1 in gone' - "$1" >>deletions
    sort -u deletions >deleted
    equal "$(comm -23 "$1" deleted)" '' 'rules of chains that stayed'
}

# Checks that flows of the previous run, which are in the kernel, do not get to tc
# by being looked at while the daemon waits for its rules.
stale_flows_stay_out_of_tc() {
    local i
    for i in 1 2; do
        flows_shown_at_least 1 all 'eth_type(0x0800)' ||
            fail 'the daemon has no flows while it waits'
        wait_until $PATIENCE offload_is_settled
        equal "$(chain_rules v-left v-right)" '' 'rules while it waits'
    done
}

add_test offload_chains_crash \
    'rules that a crash leaves of chains go before a packet is served (O8 R5)' \
    kdp 250
offload_chains_crash() {
    local place how n wait hw_offload

    # A packet that is on its way from one old flow to the next when these are
    # deleted is an upcall of a chain that nobody knows.  Open vSwitch drops what
    # follows it by a flow, and warns when revalidators find that.
    allow_log 'Failed to acquire udpif_key .* unexpected flow'
    start_pipeline
    ping_works left $SERVICE
    place=$(place_of_chains)
    note "chains are in $place"
    # All daemons but the second and the fourth wait until they are told their
    # rules; the last two do without offload; and that before the third had
    # nothing in tc.
    for how in waiting at-once from-kernel at-once-without waiting-without; do
        set_offload true
        wait_until $PATIENCE pipeline_is_settled "$place"
        if test $how = from-kernel; then
            set_offload false
            wait_until $PATIENCE pipeline_is_settled ovs
        fi
        kill_daemon
        chain_rules v-left v-right >rules
        if test "$place" = tc && test $how != from-kernel; then
            test "$(wc -l <rules)" -ge 8 || fail "rules: $(cat rules)"
        else
            equal "$(cat rules)" '' 'rules of chains'
        fi
        n=$(n_chain_flows)
        test "$n" -ge 6 || fail "$n flows of chains"
        pings_are_answered left $SERVICE 5 77
        wait=true hw_offload=true
        [[ $how != at-once* ]] || wait=false
        [[ $how != *-without ]] || hw_offload=false
        ovs-vsctl --no-wait set Open_vSwitch . \
            other_config:hw-offload=$hw_offload \
            other_config:flow-restore-wait=$wait
        trace_takeover
        start_ping ping@left $SERVICE -e 77 -i 0.05
        start_daemon
        add_pipeline
        test $how != from-kernel || stale_flows_stay_out_of_tc
        # Without offload the rules have gone with their discipline.
        test $wait$hw_offload != truetrue ||
            wait_until $PATIENCE has_answers ping $(($(n_answers ping) + 10))
        ovs-vsctl remove Open_vSwitch . other_config flow-restore-wait
        if test $hw_offload = true; then
            wait_until $PATIENCE pipeline_is_settled "$place"
        else
            place=ovs
            wait_until $PATIENCE pipeline_is_without_offload
        fi
        old_rules_went_first rules
        trace_end
        stop_ping ping
        note "$how: $(pings_lost ping) pings lost, $(n_answers ping) answered"
        pings_pass_four_flows "$place" 10
        place=$(place_of_chains)
    done
    set_offload true
    wait_until $PATIENCE pipeline_is_settled "$place"
    stream_passes "$place"
    set_offload false
    check_no_rules br0 v-left v-right
}
