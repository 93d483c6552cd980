# SPDX-License-Identifier: Apache-2.0
#
# Flows in tc.

# Starts Open vSwitch with offload and a bridge br0 of two ports, behind which
# are namespaces left and right that reach each other.  $@: further settings.
start_offload() {
    start_ovsdb
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=true \
        other_config:tc-policy=skip_hw "$@"
    start_daemon
    ovs-vsctl add-br br0
    connect br0 left 10.1.1.1/24
    connect br0 right 10.1.1.2/24
}

# Prints what jq says to expression $1 about offload.
offload_json() {
    ovs-appctl offload/show --format json ovs-system | jq -r ".[0] | $1"
}

# Prints the number of rules that have a cookie on device $1, at hook $2
# (default ingress).
tc_rules() {
    tc -s filter show dev "$1" "${2:-ingress}" | grep -c 'cookie' || :
}

# True if exactly $1 flows of type $2 with a match of $3 are shown.
flows_shown() {
    test "$(ovs-appctl dpctl/dump-flows type="$2" | grep -c "$3")" = "$1"
}

add_test offload_ping 'pings are offloaded, and nothing is lost' kdp
offload_ping() {
    start_offload
    ping_works left 10.1.1.2
    in_ns_background ping@left ping -q -c 200 -i 0.1 10.1.1.2
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    flows_shown 0 ovs 'eth_type(0x0800)' || fail "flows are shown twice"
    ovs-appctl dpctl/dump-flows -m type=tc | tee flows
    ovs-appctl dpctl/offload-stats-show | tee stats
    ovs-appctl offload/show | tee show
    test "$(tc_rules v-left)" -ge 1 || fail "no rule on v-left"
    wait_background ping
    grep -q ' 0% packet loss' ping || fail "packets are lost: $(cat ping)"
    ovs-appctl dpctl/dump-flows
    fail end
}
