# SPDX-License-Identifier: Apache-2.0
#
# Members of bonds: packets come in there, so their ingress has to be bound to
# the block that holds the rules of the bond.

# Prints the block that the ingress of device $1 is bound to, or nothing.
block_of() {
    tc qdisc show dev "$1" | sed -n 's/.* ingress_block \([0-9]*\) .*/\1/p'
}

# True if each of devices $2... is bound to the block of bond $1.
bound() {
    local bond=$1 block dev shown
    shift
    block=$(<"/sys/class/net/$bond/ifindex")
    shown=$(tc qdisc show) || return
    for dev; do
        [[ $shown =~ \ dev\ $dev\ [^$'\n']*\ ingress_block\ $block\  ]] ||
            return 1
    done
}

# True if none of devices $@ is bound to a block.
unbound() {
    local dev shown
    shown=$(tc qdisc show) || return
    for dev; do
        [[ ! $shown =~ \ dev\ $dev\ [^$'\n']*\ ingress_block\  ]] || return 1
    done
}

# Has device $1 join bond $2, which takes no device that is up.
join_bond() {
    ip -batch - <<<"link set $1 down
link set $1 master $2"
}

# Makes bond $1.
make_bond() {
    ip link add "$1" type bond mode active-backup miimon 100
}

# Makes devices $@, which have a carrier.
make_members() {
    local dev
    for dev; do
        printf '%s\n' "link add $dev type veth peer name x-$dev" \
            "link set x-$dev up"
    done | ip -batch -
}

# Waits until the daemon has done all that came before.
daemon_keeps_up() {
    ovs-vsctl set Open_vSwitch . "external_ids:step=$((++N_STEPS))"
}
N_STEPS=0

# Prints how many rules of ours the members of bond0 share.
n_shared_rules() {
    { tc filter show block "$(<bond)" 2>/dev/null || :; } |
        grep -c 'action order 1:' || :
}

shared_rules_are() {
    test "$(n_shared_rules)" = "$1"
}

# Sends 10 pings over the bond and checks that they went through tc.
pings_use_shared_rules() {
    local flow='in_port(bond0),.*eth_type(0x0800)' before
    before=$(flow_count packets "$flow" tc)
    pings_are_answered left 10.1.1.2 10
    equal "$(flow_count packets "$flow" tc)" $((before + 10)) 'packets'
}

# Has a namespace left reach right over a bond of two cables, with the other end
# of which it is a port of br0.  One member is there before the port.
start_bond_pings() {
    local i
    modprobe bonding max_bonds=0
    start_with_offload
    ovs-vsctl add-br br0
    connect br0 right 10.1.1.2/24
    make_bond bond0
    cat /sys/class/net/bond0/ifindex >bond
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
}

add_test offload_bond 'members of a bond share the rules of its flows' kdp 200
offload_bond() {
    ports_go_under_traffic
    start_bond_pings
    test "$(n_shared_rules)" -gt 0 || fail 'the bond has no rules'
    pings_use_shared_rules
    # The other member serves.
    ip link set m0 down
    wait_until $PATIENCE reaches left 10.1.1.2
    pings_use_shared_rules

    # The next run finds the rules.
    kill_daemon
    test "$(n_shared_rules)" -gt 0 || fail 'the rules went with the daemon'
    start_daemon
    wait_until $PATIENCE adopted_at_least 1
    wait_until $PATIENCE flows_shown_at_least 2 tc 'eth_type(0x0800)'
    ping_works left 10.1.1.2

    set_offload false
    wait_until $PATIENCE shared_rules_are 0
    flows_shown 2 ovs 'eth_type(0x0800)' || fail 'flows are not back'
    set_offload true
    wait_until $PATIENCE flows_shown 2 tc 'eth_type(0x0800)'
    pings_use_shared_rules
    ovs-vsctl del-port bond0
    wait_until $PATIENCE shared_rules_are 0
    wait_until $PATIENCE flows_shown 0 all 'in_port(bond0)'
}

# A bond becomes a port, in any order of the steps that lead there.

order_daemon() {
    start_daemon
    ORDER_RUNS=yes
}

order_offload() {
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=true
}

order_bond() {
    make_bond bond0
    ip link set bond0 up
}

order_port() {
    ovs-vsctl --no-wait add-port br0 bond0
}

order_m0() {
    join_bond m0 bond0
}

order_m1() {
    join_bond m1 bond0
}

# The daemon ends, or crashes, and is to be started again.
order_exit() {
    stop_daemon
    ORDER_RUNS=
}

order_kill() {
    kill_daemon
    ORDER_RUNS=
}

# Waits until the daemon has seen the steps before.
order_wait() {
    test -z "$ORDER_RUNS" || daemon_keeps_up
}

# Does steps $@, and checks that all members are bound then, and that none is
# when the bond has gone from the bridge.  The daemon does not run before or
# after that.
run_order() {
    local step
    ORDER_RUNS=
    make_members m0 m1
    for step; do
        "order_$step"
    done
    wait_until $PATIENCE bound bond0 bond0 m0 m1
    ovs-vsctl del-port bond0
    wait_until $PATIENCE unbound m0 m1
}

# Removes what an order has left.
end_order() {
    stop_daemon --cleanup
    ovs-vsctl --no-wait --if-exists del-port bond0 -- \
        remove Open_vSwitch . other_config hw-offload
    ip -batch - <<<"link del bond0
link del m0
link del m1"
}

# Does each order of array ORDERS, and fails if one has failed.
run_orders() {
    local order failed=0
    modprobe bonding max_bonds=0
    # A port is configured whose device is not there yet.
    allow_log 'could not open network device bond0 \(No such device'
    start_ovsdb
    ovs-vsctl --no-wait add-br br0 -- set Open_vSwitch . \
        other_config:tc-policy=skip_hw
    for order in "${ORDERS[@]}"; do
        # shellcheck disable=SC2086
        if ! (run_order $order); then
            note "order: $order"
            note "blocks: bond0 $(block_of bond0) m0 $(block_of m0) m1" \
                "$(block_of m1)"
            failed=$((failed + 1))
        fi
        DAEMON_PID=$(<"$OVS_RUNDIR/ovs-vswitchd.pid")
        end_order
    done
    DAEMON_PID=
    test $failed = 0 || fail "$failed of ${#ORDERS[@]} orders"
}

add_test offload_bond_orders \
    'members are bound whatever comes first: bond, port, member, offload (L7)' \
    kdp 300
offload_bond_orders() {
    ORDERS=(
        # Members before the port, after it, and one each.
        'daemon offload wait bond m0 m1 wait port'
        'daemon offload wait bond port wait m0 m1'
        'daemon offload wait bond m0 wait port wait m1'
        # The port before the bond.
        'daemon offload port wait bond wait m0 wait m1'
        'daemon offload port wait bond m0 m1'
        # Offload last.
        'daemon bond m0 m1 port wait offload'
        'daemon bond port wait m0 m1 wait offload'
        # All is there when the daemon starts.
        'bond m0 m1 port offload daemon'
        'bond port m0 offload daemon m1'
        # A member joins while no daemon runs.
        'offload bond port m0 daemon wait kill m1 daemon'
        'offload bond port daemon wait exit m0 m1 daemon'
    )
    run_orders
}

add_test offload_bond_boots \
    'members are bound in random orders of start (L7)' kdp 500
offload_bond_boots() {
    local i j n seed=${KDP_SEED:-$((SRANDOM % 32768))} step order
    note "seed $seed: KDP_SEED=$seed repeats it"
    RANDOM=$seed
    ORDERS=()
    for ((i = 0; i < 20; i++)); do
        local steps=(daemon offload port bond m0 m1)
        order=
        for ((n = ${#steps[@]}; n > 0; n--)); do
            j=$((RANDOM % n))
            step=${steps[j]}
            steps[j]=${steps[n - 1]}
            # No device joins a bond that is not there.
            case "$step $order" in
            bond*bond*) continue ;;
            m?\ *bond*) ;;
            m?\ *) order+=' bond' ;;
            esac
            order+=" $step"
            test $((RANDOM % 2)) = 0 || order+=' wait'
        done
        ORDERS+=("$order")
    done
    run_orders
}

# True if device $1 has a place for rules of its own.
has_own_ingress() {
    local shown
    shown=$(tc qdisc show dev "$1") &&
        [[ $shown =~ (^|$'\n')"qdisc ingress "[^$'\n']* ]] &&
        [[ ! ${BASH_REMATCH[0]} =~ \ ingress_block\  ]]
}

# Prints the interface index of device $1.
index_of() {
    cat "/sys/class/net/$1/ifindex"
}

add_test offload_bond_changes \
    'members are bound as bonds, ports and settings change (L7)' kdp one-cpu 300
offload_bond_changes() {
    local index
    modprobe -a team
    modprobe bonding max_bonds=0
    ports_go_under_traffic
    # The device of the port goes for a while.
    allow_log 'could not open network device bond0 \(No such device' \
        'cannot get R?STP stat(us|s) on nonexistent port'
    start_with_offload
    make_members m0 m1 m2 t0 t1
    make_bond bond0
    ip link set bond0 up
    join_bond m0 bond0
    join_bond m1 bond0
    ovs-vsctl add-br br0 -- add-port br0 bond0
    wait_until $PATIENCE bound bond0 bond0 m0 m1

    # A member leaves, comes again, and is another device with its index.
    ip link set m1 nomaster
    wait_until $PATIENCE unbound m1
    join_bond m1 bond0
    wait_until $PATIENCE bound bond0 m0 m1
    index=$(index_of m1)
    ip -batch - <<<"link del m1
link add m1 index $index type veth peer name x-m1
link set x-m1 up
link set m1 master bond0"
    wait_until $PATIENCE bound bond0 m0 m1

    # A port becomes a member, and a member a port.
    ovs-vsctl add-port br0 m2
    wait_until $PATIENCE has_own_ingress m2
    ovs-vsctl del-port m2
    join_bond m2 bond0
    wait_until $PATIENCE bound bond0 m2
    ip link set m2 nomaster
    ovs-vsctl add-port br0 m2
    wait_until $PATIENCE has_own_ingress m2
    daemon_keeps_up
    has_own_ingress m2 || fail 'the port has lost its discipline'

    # The bond goes from the bridge, and returns.
    ovs-vsctl del-port bond0
    wait_until $PATIENCE unbound m0 m1
    ovs-vsctl add-port br0 bond0
    wait_until $PATIENCE bound bond0 m0 m1

    # Nobody is bound while there is no offload.
    set_offload false
    wait_until $PATIENCE unbound m0 m1
    ip link set m1 nomaster
    join_bond m1 bond0
    daemon_keeps_up
    unbound m0 m1 || fail 'a member is bound without offload'
    set_offload true
    wait_until $PATIENCE bound bond0 m0 m1

    # Another bond with the same name and index.
    index=$(index_of bond0)
    ip link del bond0
    wait_until $PATIENCE unbound m0 m1
    ip link add bond0 index "$index" type bond mode active-backup miimon 100
    ip link set bond0 up
    join_bond m0 bond0
    join_bond m1 bond0
    wait_until $PATIENCE bound bond0 bond0 m0 m1

    # In another namespace the numbers mean other devices.
    add_ns other
    ip link add d0 index 5001 type dummy
    ip -n other -batch - <<<"link add bond0 index $index type bond
link add d0 index 5001 type dummy
link set d0 master bond0"
    daemon_keeps_up
    unbound d0 || fail 'a device of no bond is bound'
    equal "$(in_ns other tc -j qdisc show dev d0 |
        jq -r '.[].ingress_block // empty')" '' 'block of a foreign device'

    # A team is a bond.
    ip link add team0 type team
    join_bond t0 team0
    ovs-vsctl add-port br0 team0
    wait_until $PATIENCE bound team0 team0 t0
    join_bond t1 team0
    wait_until $PATIENCE bound team0 t0 t1
    bound bond0 m0 m1 || fail 'members of another bond are not bound'
    ip link set t0 nomaster
    wait_until $PATIENCE unbound t0
    stop_daemon --cleanup
    unbound m0 m1 t1 || fail 'members are bound without a datapath'
    start_daemon
}

# True if file "events" says that device $1 has lost its discipline.
event_seen() {
    grep -q "^deleted qdisc .* dev $1 " events
}

# True if neither the bond nor a member has lost its discipline.  The kernel also
# tells of each discipline that somebody asks for.
no_qdisc_deleted() {
    ! grep -E 'deleted qdisc .* dev (bond0|m0|m1) ' events
}

add_test offload_bond_restart \
    'members stay bound, or not, when the daemon starts again (L7, R1)' kdp 400
offload_bond_restart() {
    local how monitor
    ports_go_under_traffic
    start_bond_pings
    wait_until $PATIENCE bound bond0 bond0 m0 m1
    tc monitor >events &
    monitor=$!
    ip link add mark0 type dummy
    ip link add mark1 type dummy
    tc qdisc add dev mark0 ingress
    tc qdisc del dev mark0 ingress
    wait_until $PATIENCE event_seen mark0
    start_ping ping@left 10.1.1.2 -i 0.01
    for how in exit kill; do
        "order_$how"
        start_daemon
        wait_until $PATIENCE adopted_at_least 1
        wait_until $PATIENCE flows_shown_at_least 2 tc 'eth_type(0x0800)'
        daemon_keeps_up
        bound bond0 bond0 m0 m1 || fail 'members are not bound'
    done
    ping_lost_nothing ping
    # All that came before has been told by then.
    tc qdisc add dev mark1 ingress
    tc qdisc del dev mark1 ingress
    wait_until $PATIENCE event_seen mark1
    no_qdisc_deleted || fail 'disciplines were made again'
    kill $monitor

    # While no daemon runs, a member leaves, and becomes a port the next time.
    kill_daemon
    ip link set m1 nomaster
    start_daemon
    wait_until $PATIENCE unbound m1
    bound bond0 bond0 m0 || fail 'the other member is not bound'
    join_bond m1 bond0
    wait_until $PATIENCE bound bond0 m0 m1
    kill_daemon
    ip link set m1 nomaster
    ovs-vsctl --no-wait add-port br0 m1
    start_daemon
    wait_until $PATIENCE has_own_ingress m1
    daemon_keeps_up
    has_own_ingress m1 || fail 'the port has lost its discipline'

    # The bond goes from the bridge, and then offload ends.
    kill_daemon
    ovs-vsctl --no-wait del-port bond0
    start_daemon
    wait_until $PATIENCE unbound m0
    ovs-vsctl add-port br0 bond0
    wait_until $PATIENCE bound bond0 m0
    kill_daemon
    ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=false
    start_daemon
    wait_until $PATIENCE unbound m0
    equal "$(n_shared_rules)" 0 'rules without offload'

    # The bond is deleted, and a member becomes a port.
    set_offload true
    wait_until $PATIENCE bound bond0 m0
    kill_daemon
    ip link del bond0
    ovs-vsctl --no-wait del-port bond0 -- add-port br0 m0
    start_daemon
    wait_until $PATIENCE has_own_ingress m0
}
