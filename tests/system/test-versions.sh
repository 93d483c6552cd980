# SPDX-License-Identifier: Apache-2.0
#
# What later versions of Open vSwitch have, on these.  Each test holds for the
# stock daemon of the version as well.

# Has a flow whose actions begin with what extended regular expression $1 says
# met packets?
flow_meets() {
    [[ $(ovs-appctl dpctl/dump-flows) =~ packets:[1-9][0-9]*[^$'\n']*$1 ]]
}

# Is there a flow whose actions begin so?
has_flow() {
    [[ $(ovs-appctl dpctl/dump-flows) =~ $1 ]]
}

# Does the datapath of bridge $1 have feature $2, "yes" or "no"?
feature() {
    ovs-appctl dpif/show-dp-features "$1" | sed -n "s/^$2: //p" |
        tr 'YN' 'yn'
}

if at_least "$KDP_OVS_VERSION" 3.4; then
    add_test drops_and_samples \
        'packets are dropped and sampled by actions of the kernel' one-cpu
fi
drops_and_samples() {
    local kernel expected
    kernel=$(uname -r)
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 ''
    connect br0 n2 ''

    # The kernel says why it drops a frame.
    at_least "$kernel" 6.7 && expected=yes || expected=no
    equal "$(feature br0 'Explicit Drop action')" $expected 'explicit drop'
    if test $expected = yes; then
        ovs-ofctl add-flow br0 'priority=100,in_port=v-n1,actions=drop'
        # What comes before there is a flow is not dropped by its action.
        send_frames n1
        wait_until $PATIENCE has_flow 'actions:drop'
        prepare_tracing
        # Those of Open vSwitch; the third is OVS_DROP_EXPLICIT.
        echo 'reason == 0x30003' >$TRACING/events/skb/kfree_skb/filter
        echo 1 >$TRACING/events/skb/kfree_skb/enable
        send_frames n1 --count 200
        echo 0 >$TRACING/events/skb/kfree_skb/enable
        echo 0 >$TRACING/events/skb/kfree_skb/filter
        test "$(grep -c ' kfree_skb: ' $TRACING/trace)" -ge 100 ||
            fail 'frames were not dropped by the action'
    fi

    # Samples go to a group of psample.
    ovs-vsctl -- --id=@br get Bridge br0 -- create Flow_Sample_Collector_Set \
        id=1 bridge=@br local_group_id=10 >/dev/null
    ovs-ofctl add-flow br0 "priority=200,in_port=v-n1,actions=sample(\
probability=65535,collector_set_id=1,obs_domain_id=1,obs_point_id=1),\
output:v-n2"
    at_least "$kernel" 6.11 && expected=yes || expected=no
    equal "$(feature br0 'psample action')" $expected psample
    if test $expected = yes; then
        send_frames n1
        wait_until $PATIENCE has_flow 'actions:psample\(group=10'
        start_receiver got n2
        send_frames n1 --count 200
        received_all got
        flow_meets 'actions:psample\(group=10' || fail 'no flow samples'
    else
        # The daemon says that it cannot.
        allow_log 'ignoring local sampling configuration'
    fi
}

# The route to address $1 that packets of tunnels take, further arguments are
# for the command.
route_to() {
    ovs-appctl ovs/route/lookup "$@" 2>&1 | tr '\n' ' '
}

route_is() {
    [[ $(route_to "${@:2}") =~ $1 ]]
}

if at_least "$KDP_OVS_VERSION" 3.2; then
    add_test route_sources 'routes have a source, and rules choose a table' \
        one-cpu
fi
route_sources() {
    start_ovs
    add_ns r1 r2
    add_veth r1 172.31.1.1/24
    add_veth r2 172.31.2.1/24
    ip address add 172.31.1.100/24 dev v-r1
    ip address add 172.31.1.101/24 dev v-r1
    ip address add 172.31.2.100/24 dev v-r2
    ovs-vsctl add-br br0 -- add-port br0 t0 \
        -- set Interface t0 type=geneve options:remote_ip=172.31.9.9
    ip route add 172.31.9.0/24 via 172.31.1.1 src 172.31.1.101
    wait_until $PATIENCE route_is 'src 172.31.1.101.*dev v-r1' 172.31.9.9
    ip route replace 172.31.9.0/24 via 172.31.1.1 src 172.31.1.100
    wait_until $PATIENCE route_is 'src 172.31.1.100.*dev v-r1' 172.31.9.9
    at_least "$KDP_OVS_VERSION" 3.7 || return 0

    # One table for packets from another address.
    ip route add 172.31.9.0/24 via 172.31.2.1 table 100
    ip rule add from 172.31.2.100 lookup 100 pref 100
    wait_until $PATIENCE route_is 'dev v-r2' 172.31.9.9 src=172.31.2.100
    route_is 'dev v-r1' 172.31.9.9 || fail 'packets of others go elsewhere'
    matches "$(ovs-appctl ovs/route/rule/show)" 'from 172.31.2.100 lookup 100'
    ip rule delete pref 100
    wait_until $PATIENCE route_is 'dev v-r1' 172.31.9.9 src=172.31.2.100
}

# Number of rules of tc for packets of device $1.
rules_of() {
    tc filter show dev "$1" ingress | grep -c '^filter .* handle' || :
}

if at_least "$KDP_OVS_VERSION" 3.7; then
    add_test offload_providers \
        'what offloads a port can be shown and chosen' one-cpu
fi
offload_providers() {
    start_with_offload
    ovs-vsctl add-br br0
    connect br0 left 10.1.1.1/24 -- set Interface v-left \
        other_config:hw-offload-priority=none
    connect br0 right 10.1.1.2/24
    ping_works left 10.1.1.2
    matches "$(ovs-appctl dpif/offload/show)" \
        'system@ovs-system:[[:space:]]+tc[[:space:]]+- '
    matches "$(ovs-appctl dpif/offload/show)" 'v-right: port_no: [0-9]+, ifind'
    ! [[ $(ovs-appctl dpif/offload/show) =~ v-left: ]] ||
        fail 'the port that has none has a provider'
    matches "$(ovs-appctl --format json dpif/offload/show)" '"priority":\["tc"'
    matches "$(ovs-appctl dpif/offload/classes)" 'tc +system'
    ping_works left 10.1.1.2
    equal "$(rules_of v-left)" 0 'rules of the port that has no provider'
    # Nor is there a rule that leads to it.
    equal "$(tc filter show dev v-right ingress | grep -c v-left || :)" 0 \
        'rules to it'
}

if at_least "$KDP_OVS_VERSION" 3.7; then
    add_test offload_order \
        'the order of offload providers is that of the setting' one-cpu
fi
offload_order() {
    allow_log 'hw-offload-priority configuration has an unknown type; nosuch'
    start_with_offload other_config:hw-offload-priority=nosuch,tc
    ovs-vsctl add-br br0
    connect br0 left 10.1.1.1/24
    connect br0 right 10.1.1.2/24 -- set Interface v-right \
        other_config:hw-offload-priority=dummy,tc
    matches "$(grep WARN "$OVS_LOGDIR/ovs-vswitchd.log")" 'unknown type; nosuch'
    matches "$(ovs-appctl --format json dpif/offload/show)" \
        '"priority":\["tc"\]'
    matches "$(ovs-appctl dpif/offload/show)" 'v-right: port_no: [0-9]+, ifind'
    ping_works left 10.1.1.2
    wait_until $PATIENCE has_rules v-left
    wait_until $PATIENCE has_rules v-right

    # The setting counts when the daemon starts.
    ovs-vsctl set Interface v-left other_config:hw-offload-priority=none
    ovs-vsctl set Open_vSwitch . other_config:hw-offload-priority=tc
    wait_until $PATIENCE grep -q 'priority configuration changed; restart' \
        "$OVS_LOGDIR/ovs-vswitchd.log"
    has_rules v-left || fail 'the change took effect without a restart'
    stop_daemon
    start_daemon
    # Open vSwitch lets the port have the rules that it had.
    tc filter delete dev v-left ingress
    ping_works left 10.1.1.2
    equal "$(rules_of v-left)" 0 'rules of the port that has no provider now'
}

has_rules() {
    test "$(rules_of "$1")" -gt 0
}
