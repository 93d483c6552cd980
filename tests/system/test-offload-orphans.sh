# SPDX-License-Identifier: Apache-2.0
#
# Rules that a previous run left on devices that are no ports any more: each
# start deletes them, wherever they are, and leaves the rules of others alone.

# Cases: how the daemon ends, which daemon that is, and what changes while it
# is away.  The daemon of the test starts each time.
#
# With the mark "kdp": the stock daemon leaves the rules, or deletes those of
# ports, too.
#
# name   ends  daemon changes  mark
ORPHANS='
kill     KILL  same   port
term     TERM  same   port
exit     exit  same   port
stock    KILL  stock  port
off      KILL  same   off      kdp
bridge   KILL  same   bridge
all      KILL  same   bridges  kdp
restore  KILL  same   restore  kdp
'

received_by_right() {
    ip netns exec right cat /sys/class/net/eth0/statistics/rx_packets
}

# Has frames pass in both directions, so that both ports have rules, with the
# daemon $1, "same" or "stock".
start_with_rules() {
    local KDP_DAEMON=$KDP_DAEMON KDP_DAEMON_ARGS=$KDP_DAEMON_ARGS
    if test "$1" = stock; then
        KDP_DAEMON=$KDP_STOCK KDP_DAEMON_ARGS=
    fi
    start_frames
    ovs-vsctl add-br br1
    ovs-ofctl add-flow br0 in_port=2,actions=output:1
    wait_until $PATIENCE have_rules v-left v-right
}

# True if each of devices $@ has a rule.  Sends frames for that.
have_rules() {
    local dev
    for dev; do
        if no_tc_rules "$dev"; then
            send_frames "${dev#v-}" --same
            return 1
        fi
    done
}

# Ends the daemon: by a signal, or a command.
end_daemon() {
    case $1 in
    exit) stop_daemon ;;
    *)
        ports_go_under_traffic
        kill "-$1" "$DAEMON_PID"
        wait_until $PATIENCE daemon_is_gone
        ;;
    esac
}

# Changes the database while no daemon runs.
change_database() {
    case $1 in
    port) ovs-vsctl --no-wait del-port br0 v-left ;;
    off)
        ovs-vsctl --no-wait del-port br0 v-left -- \
            set Open_vSwitch . other_config:hw-offload=false
        ;;
    bridge) ovs-vsctl --no-wait del-br br0 ;;
    bridges) ovs-vsctl --no-wait del-br br0 -- del-br br1 ;;
    restore)
        # Rules between ports stay as long as this says so; others do not.
        ovs-vsctl --no-wait del-port br0 v-left -- \
            set Open_vSwitch . other_config:flow-restore-wait=true
        ;;
    esac
}

# True if the daemon has deleted $1 rules of no port, at least.
orphans_deleted() {
    test "$(offload_json .orphans.deleted)" -ge "$1"
}

# With or without a datapath.
deletions_are_shown() {
    ovs-appctl offload/show | grep -q '^rules of no port: deleted [1-9]'
}

check_orphans() {
    local ends=$1 daemon=$2 changes=$3 before
    start_with_rules "$daemon"
    if test "$KDP_PROVIDERS" = kdp && test "$daemon" = same; then
        # The stock daemon takes them for flows, and warns.
        add_foreign_rules v-left
        equal "$(foreign_rules v-left | wc -l)" 5 'rules of others'
    fi
    foreign_rules v-left >others
    end_daemon "$ends"
    test "$(tc_rules v-left)" -ge 1 || fail 'no rule is left'
    change_database "$changes"
    start_daemon
    check_no_rules v-left
    # What comes from there is nobody's.  Something else may come in between.
    before=$(received_by_right)
    send_frames left -n 20
    test "$(received_by_right)" -lt $((before + 20)) ||
        fail 'frames are forwarded'
    case $changes in
    # The rule of v-right leads to v-left, which is no port any more.
    bridge | bridges | off | restore) check_no_rules v-right ;;
    esac
    if test "$KDP_PROVIDERS" = kdp; then
        equal "$(foreign_rules v-left)" "$(<others)" 'rules of others'
        wait_until $PATIENCE deletions_are_shown
        wait_until $PATIENCE logged \
            'v-left: deleted [0-9]+ rules? that a previous run left in tc'
    fi
}

while read -r name ends daemon changes mark; do
    test -n "$name" || continue
    eval "offload_orphans_$name() { check_orphans $ends $daemon $changes; }"
    # shellcheck disable=SC2086
    add_test "offload_orphans_$name" \
        "rules of no port go: $daemon daemon, $ends, $changes (O5)" \
        one-cpu 150 $mark
done <<<"$ORPHANS"

# Devices that have rules of ours, as a previous run would have left them, and
# were a port of some sort.

# The first part of a cookie that is a ufid: four numbers of 32 bits, as they
# are in memory, with the bits of version 4.
UFID_START=01234567894bcdef01234589

# Adds a rule as that of a flow, with handle $1, in place $2..., such as "dev
# NAME ingress".  Ours have large handles.
add_flow_rule() {
    local handle=$1
    shift
    tc filter add "$@" protocol ip prio 7 handle "$handle" flower \
        dst_ip 192.0.2.9 action drop \
        cookie "$UFID_START$(printf %08x "$handle")"
}

# Prints the handles of these rules in place $1....
flow_rules() {
    tc filter show "$@" |
        sed -n 's/^filter .* pref 7 .* handle \(0x[0-9a-f]*\).*/\1/p'
}

ORPHAN_PLACES=('dev plain ingress' 'dev both ingress' 'dev both egress'
    'dev vxlan_sys_9999 ingress' 'dev plain ingress chain 5' 'block 77')

# A device is shown with all of its chains.
orphan_places_have() {
    local place
    for place in "${ORPHAN_PLACES[@]}"; do
        # shellcheck disable=SC2086
        flow_rules $place
    done | sort -u >handles
    test "$(wc -l <handles)" = "$1"
}

add_test offload_orphans_devices \
    'rules of no port go from devices, hooks, chains and blocks (O5)' \
    kdp one-cpu 150
offload_orphans_devices() {
    local place n=0
    start_frames
    ip -batch - <<'END'
link add plain type dummy
link add both type dummy
link add one type dummy
link add two type dummy
link add vxlan_sys_9999 type vxlan id 5 dstport 9999 dev lo
END
    stop_daemon
    tc qdisc add dev plain ingress
    tc qdisc add dev both clsact
    tc qdisc add dev one ingress_block 77 ingress
    tc qdisc add dev two ingress_block 77 ingress
    tc qdisc add dev vxlan_sys_9999 ingress
    for place in "${ORPHAN_PLACES[@]}"; do
        n=$((n + 1))
        # shellcheck disable=SC2086
        add_flow_rule $((0x12345670 + n)) $place
    done
    orphan_places_have $n || fail 'rules are missing'
    # Others may have handles like these, or cookies like ours, but not both.
    add_foreign_rules plain
    tc filter add dev plain ingress prio 210 protocol ip handle 0x12345678 \
        flower dst_ip 192.0.2.10 action drop cookie 01
    tc filter add dev plain ingress prio 211 protocol ip handle 3 flower \
        dst_ip 192.0.2.11 action drop cookie ${UFID_START}01234567
    tc filter add dev plain ingress prio 212 protocol ip handle 0x12345679 \
        flower dst_ip 192.0.2.12 action drop
    foreign_rules plain >before
    equal "$(wc -l <before)" 8 'rules of others'
    start_daemon
    wait_until $PATIENCE orphan_places_have 0
    equal "$(foreign_rules plain)" "$(<before)" 'rules of others'
    wait_until $PATIENCE orphans_deleted $n
    equal "$(offload_json .orphans.deleted)" $n 'rules deleted'
    equal "$(offload_json .orphans.failed)" 0 'rules that stay'
    matches "$(ovs-appctl offload/show)" "rules of no port: deleted $n,"
    # One at each hook.
    wait_until $PATIENCE logged \
        'both: deleted 1 rule that a previous run left in tc' 2
    wait_until $PATIENCE logged \
        'block 77: deleted 1 rule that a previous run left in tc'
}

add_test offload_orphans_bond \
    'the rules that members of a bond share go with its port (O5)' \
    kdp one-cpu 200
offload_orphans_bond() {
    local i
    modprobe bonding max_bonds=0
    start_with_offload
    ovs-vsctl add-br br0
    connect br0 right 10.1.1.2/24
    ip link add bond0 type bond mode active-backup miimon 100
    cat /sys/class/net/bond0/ifindex >bond
    add_ns left
    ip -n left link add both type bond mode active-backup miimon 100
    for i in 0 1; do
        ip link add "m$i" type veth peer name "eth$i" netns left
        ip link set "m$i" master bond0
        ip -n left link set "eth$i" master both
    done
    ovs-vsctl add-port br0 bond0
    ip link set bond0 up
    ip -n left link set both up
    ip -n left address add 10.1.1.1/24 dev both
    ping_works left 10.1.1.2
    know_each_other both
    wait_until $PATIENCE bond_has_rules
    kill_daemon
    bond_has_rules || fail 'no rule is left'
    ovs-vsctl --no-wait del-port br0 bond0
    start_daemon
    wait_until $PATIENCE shared_rules_are 0
}

bond_has_rules() {
    test "$(n_shared_rules)" -gt 0 || { reaches left 10.1.1.2; false; }
}

add_test offload_orphans_tunnel \
    'rules of a stock daemon go from a tunnel if offload is off now (O5)' \
    one-cpu 150
offload_orphans_tunnel() {
    start_with_offload
    ovs-vsctl add-br br0 -- add-port br0 vx -- set Interface vx type=vxlan \
        options:remote_ip=192.0.2.1
    wait_until $PATIENCE port_is_up vx
    kill_daemon
    # The device stays while the daemon is away, and ours keeps it then.
    add_flow_rule 1 dev vxlan_sys_4789 ingress
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=false
    start_daemon
    wait_until $PATIENCE no_tc_rules vxlan_sys_4789
    wait_until $PATIENCE port_is_up vx
}

add_test offload_orphans_netns \
    'a device that is moved to another namespace takes no rule there (O5)' \
    one-cpu 150
offload_orphans_netns() {
    start_frames
    ovs-vsctl add-port br0 guest -- set Interface guest type=internal
    wait_until $PATIENCE port_is_up guest
    kill_daemon
    # As rules of an internal port are: at the egress.
    tc qdisc replace dev guest clsact
    add_flow_rule 0x12345678 dev guest egress
    add_ns elsewhere
    ip link set guest netns elsewhere
    equal "$(in_ns elsewhere tc filter show dev guest egress)" '' \
        'rules that were moved'
    equal "$(in_ns elsewhere tc qdisc show dev guest clsact)" '' \
        'disciplines that were moved'
    start_daemon
}

# While the daemon runs: rules that no flow has, and flows whose rules somebody
# deletes.

# Prints commands of tc that add $1 rules, like rules of flows, to device $2.
orphan_rules() {
    local i handle
    for ((i = 0; i < $1; i++)); do
        handle=$(printf %08x $((0x23450000 + i)))
        echo "filter add dev $2 ingress protocol ip prio 7 handle 0x$handle" \
            "flower dst_ip 198.18.$((i / 256)).$((i % 256)) action drop" \
            "cookie $UFID_START$handle"
    done
}

# True if devices $@ have no rule of orphan_rules.
no_orphans() {
    local dev
    for dev; do
        test -z "$(flow_rules dev "$dev" ingress)" || return 1
    done
}

# True if there were $1 orphans, and $2 rules that were put again.
audit_counts_are() {
    test "$(offload_json .total.orphans)" = "$1" &&
        test "$(offload_json .total.remade)" = "$2"
}

add_test offload_audit \
    'rules of no flow go, and rules that somebody deletes are put again (O9)' \
    kdp one-cpu 300
offload_audit() {
    local n=1000 prio begin
    start_frames
    set_other_config max-idle 3600000
    separate_frames
    send_frames left -n $n -r 300
    wait_until $((2 * PATIENCE)) flows_shown $n tc "$FRAMES"
    ip link add plain type dummy
    tc qdisc add dev plain ingress
    add_foreign_rules plain
    add_foreign_rules v-right
    foreign_rules plain >others
    foreign_rules v-right >>others
    equal "$(wc -l <others)" 10 'rules of others'

    # On a port, and where none is.
    orphan_rules $((n / 2)) v-left >batch
    orphan_rules $((n / 2)) plain >>batch
    # An audit may delete some while others are added; all are counted below.
    tc -batch batch
    begin=$SECONDS
    wait_until $PATIENCE no_orphans v-left plain
    note "$n rules of no flow were gone after $((SECONDS - begin)) s"
    wait_until $PATIENCE audit_counts_are $n 0
    tc_agrees v-left || fail 'tc and the flows differ'

    # All flows have one protocol.
    prio=$(rule_priorities | cut -d ' ' -f 2)
    tc filter del dev v-left ingress prio "$prio"
    begin=$SECONDS
    wait_until $PATIENCE audit_counts_are $n $n
    note "$n rules were there again after $((SECONDS - begin)) s"
    wait_until $PATIENCE flows_shown $n tc "$FRAMES"
    tc_agrees v-left || fail 'tc and the flows differ'
    {
        foreign_rules plain
        foreign_rules v-right
    } >others.after
    equal "$(<others.after)" "$(<others)" 'rules of others'
    matches "$(ovs-appctl offload/show)" "orphans $n, remade $n"
    ovs-appctl kdp/doctor >found
    matches "$(<found)" "offload-orphans"
    matches "$(<found)" "offload-rules-removed"
}
