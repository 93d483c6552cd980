# SPDX-License-Identifier: Apache-2.0
#
# Rules that depend on others: chains of recirculation have parents.

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
    'recirculation chains are in tc if the kernel can tell it of them (O3)' \
    kdp 200
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
    tc filter show dev "$1" ingress |
        sed -n 's/^filter .* chain \([0-9]*\) handle .*/\1/p' | sort -un
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
    pings_are_answered left 10.1.1.2 "$1"
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
    start_ping ping@left 10.1.1.2 -i 0.01
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
    ping_lost_nothing ping
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
