# SPDX-License-Identifier: Apache-2.0
#
# Flows that tc does not take.

# Starts as start_frames does, with rounds of revalidators that are short on a
# slow machine, too: a flow that tc refused is offered again after a minute.
start_short_rounds() {
    start_frames other_config:max-revalidator=500
}

# Prints how often tc did not take a flow, when that has not changed while the
# revalidators looked at all flows twice, which takes about a second.
settled_tries() {
    local last='' now=none end=$((SECONDS + PATIENCE))
    until test "$now" = "$last" && offload_is_settled; do
        test $SECONDS -lt $end || fail "tried on and on: $now times" >&2
        last=$now
        ovs-appctl revalidator/wait
        ovs-appctl revalidator/wait
        nap 1
        # shellcheck disable=SC2046
        now=$(sum $(offload_json '.reasons[].n'))
    done
    echo "$now"
}

# A flow is offered to a device when it is made, and again when the device
# changes, which one that was just added does twice.
MAX_TRIES=3

add_test offload_rejected \
    'a flow that tc does not take works and is explained (O6)' kdp one-cpu
offload_rejected() {
    local flow='in_port(v-left),.*actions:trunc' ufid name tries
    start_short_rounds
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 'in_port=1,actions=output(port=2,max_len=100)'
    start_receiver received right
    send_frames left --same
    wait_until $PATIENCE flows_shown 1 ovs "$flow"
    received_all received
    wait_until $PATIENCE offload_is_settled
    # Until the device does not change any more.
    tries=$(settled_tries)
    note "$tries tries"
    test "$tries" -le $MAX_TRIES || fail "tried $tries times"
    start_receiver received right
    send_frames left --same -n 20
    received_all received
    flow_count_is "$flow" 20 ||
        fail "packets: $(flow_count packets "$flow" all)"
    flows_shown 0 tc . || fail 'a flow is in tc'
    check_no_rules br0 v-left v-right

    ufid=$(flow_ufid "$flow")
    # Packets do not make it try again.
    equal "$(settled_tries)" "$tries" 'tries'
    matches "$(ovs-appctl offload/show)" \
        "not supported +$tries +2 +ufid:$ufid \(Operation not supported\)"
    equal "$(offload_json '.reasons[] | select(.reason == "not supported")
                           | "\(.n) \(.port) \(.ufid)"')" \
        "$tries 2 $ufid" reason

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
    wait_until $PATIENCE logged \
        "flow $ufid on port 2 stays in the kernel .*: not supported"
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
    'what a device rejects is not tried again and again' kdp one-cpu
offload_rejected_kind() {
    local tries
    start_short_rounds
    ovs-ofctl del-flows br0
    ovs-ofctl add-flow br0 \
        'priority=20,dl_src=02:ff:ff:ff:ff:ff,actions=drop'
    ovs-ofctl add-flow br0 \
        'priority=10,in_port=1,actions=output(port=2,max_len=100)'
    # Until the device does not change any more: after that, all that it did
    # not take is offered to it again.
    send_frames left
    wait_until $PATIENCE flows_shown 1 ovs 'actions:trunc'
    tries=$(settled_tries)
    note "$tries tries"
    test "$tries" -le $MAX_TRIES || fail "tried $tries times"
    tries=$(offload_json .total.rejected)
    start_receiver received right
    send_frames left -n 30 -r 50
    received_all received
    wait_until $PATIENCE flows_shown 30 ovs 'actions:trunc'
    wait_until $PATIENCE offload_is_settled
    # The first one has told what the device takes.
    equal "$(offload_json .total.rejected)" "$tries" 'tries'
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

# Has devices that are made from now on a card with room for $1 rules.
use_card() {
    test -n "$KDP_TC_WATCH" || fail "there is no driver of a card:" \
        "the headers of the kernel are missing"
    modprobe cls_flower
    test -e /sys/module/tc_watch || insmod "$KDP_TC_WATCH"
    card_takes "$1"
    echo Y >/sys/module/tc_watch/parameters/cards
}

card_has() {
    test "$(card in_card)" = "$1"
}

# True if that is what is said of a flow in the kernel.
has_no_space() {
    local why=': (rejected: no space in the device|kernel: device backs off)'
    [[ $(ovs-appctl offload/why "$(dump_flows ovs | grep "$FRAMES" |
        head -n 1 | sed -n 's/^ufid:\([0-9a-f-]*\),.*/\1/p')") =~ $why ]]
}

# True if a port pauses, as it now and then does while it is full.  Leaves what
# is shown then in file show.
port_backs_off() {
    ovs-appctl offload/show >show && grep -q 'ports backing off 1' show
}

add_test offload_no_space \
    'what a full card does not take is offered again, and gets there' \
    kdp one-cpu 200
offload_no_space() {
    use_card 4
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
    # One that is not being offered right now.
    wait_until $PATIENCE has_no_space
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
    wait_until $PATIENCE card_has 0
    flows_shown 10 ovs "$FRAMES" || fail 'flows are not back'
}

# True if the card has the rule of the flow of stream $1, and no other.
card_has_stream() {
    card_has 1 && flows_shown 1 offloaded "in_port(v-left).*src=$(stream_mac "$1")"
}

stream_mac() {
    printf '02:%02x:00:00:00:00' "$1"
}

add_test offload_rebalance \
    'a full card gives its place to the flow that has more packets' \
    kdp one-cpu 200
offload_rebalance() {
    use_card 1
    # Tc does in software what the card has no room for.
    start_frames other_config:tc-policy=none \
        other_config:offload-rebalance=true
    separate_frames
    start_receiver received right -s 2
    # Other frames of the guest may have taken the place.
    start_sender few left --same -n 0 -r 5
    wait_until $((2 * PATIENCE)) card_has_stream 0
    start_sender many left -s 1 --same -n 0 -r 50
    wait_until $((2 * PATIENCE)) card_has_stream 1
    stop_background many
    wait_until $((2 * PATIENCE)) card_has_stream 0
    stop_background few
    received_all received
    check_tc_agrees br0 v-left v-right
}
