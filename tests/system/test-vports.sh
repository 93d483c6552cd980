# SPDX-License-Identifier: Apache-2.0
#
# What the daemon knows of the datapath's ports, and what it asks for that.

# Counts the daemon's requests for ports in the kernel: those for one port, of a
# certain datapath (netdevs ask for statistics without naming one), and parts of
# dumps.  The main thread makes them all.
trace_requests() {
    local header=+0
    prepare_tracing
    # The second argument is struct genl_info, which points to the user header,
    # which begins with the index of the datapath.  Since Linux 6.6 it points to
    # the four bytes before that one.
    if at_least "$(uname -r)" 6.6; then
        header=+4
    fi
    {
        echo "p:kdp/vport_get ovs_vport_cmd_get dp=$header(+24(%si)):s32"
        echo 'p:kdp/vport_dump ovs_vport_cmd_dump'
    } >$TRACING/kprobe_events
    echo "common_pid == $DAEMON_PID && dp != 0" \
        >$TRACING/events/kdp/vport_get/filter
    echo "common_pid == $DAEMON_PID" >$TRACING/events/kdp/vport_dump/filter
    echo 1 >$TRACING/events/kdp/enable
}

traced_requests() {
    grep -c 'vport_\(get\|dump\):' $TRACING/trace || :
}

# Prints paths or an expression of the table of ports.
vport_json() {
    ovs-appctl vport-table/show --format json ovs-system |
        json_values '.[0]' "$@"
}

# Prints the counts of the table and of the kernel when neither has changed for
# two seconds, in which the main thread has answered five times.
settled_requests() {
    local last='' now same=0
    until test $same = 5; do
        nap 0.5
        now="$(vport_json .requests) $(traced_requests)"
        same=$((same + 1))
        test "$now" = "$last" || same=1
        last=$now
    done
    echo "$now"
}

# Deletes and adds port v-1 of br0 three times, and prints how many requests the
# table counted for that, and how many the kernel.
churn_cost() {
    local start end i
    start=$(settled_requests)
    for i in 1 2 3; do
        ovs-vsctl del-port br0 v-1
        ovs-vsctl add-port br0 v-1
    done
    end=$(settled_requests)
    echo "$((${end% *} - ${start% *})) $((${end#* } - ${start#* }))"
}

add_test vport_cost 'a port costs the same with 10 and with 60 others' kdp one-cpu 240
vport_cost() {
    local i few many args=()
    start_ovs
    # Otherwise the datapath is asked for statistics now and then.
    ovs-vsctl set Open_vSwitch . other_config:stats-update-interval=100000000
    ovs-vsctl add-br br0
    trace_requests
    # Both must be able to count.
    allow_log 'port_del failed'
    few=$(settled_requests)
    ovs-appctl dpctl/del-if ovs-system 65535 2>/dev/null || :
    equal "$(settled_requests)" "$((${few% *} + 1)) $((${few#* } + 1))" \
        'requests after one for a number that is too high'

    # Nothing passes: they are down.
    for i in {1..60}; do
        echo "link add v-$i type veth peer name w-$i"
    done | ip -batch -
    for i in $(seq 10); do
        args+=(-- add-port br0 "v-$i")
    done
    ovs-vsctl "${args[@]}"
    few=$(churn_cost)
    note "with 10 ports, three times one: $few requests"
    args=()
    for i in $(seq 11 60); do
        args+=(-- add-port br0 "v-$i")
    done
    ovs-vsctl "${args[@]}"
    many=$(churn_cost)
    note "with 60 ports, three times one: $many requests"
    equal "$many" "$few" 'requests'
    equal "${few#* }" 0 'requests for ports that are deleted and added'

    # What the kernel saw is what the table counted.
    equal "${few% *}" "${few#* }" 'requests that the table counted'

    # And nothing while nothing happens.
    few=$(settled_requests)
    sleep 11
    equal "$(vport_json .requests) $(traced_requests)" "$few" \
        'requests when nothing happens'
    trace_end
    equal "$(vport_json '.ports | length')" 62 'ports'
    equal "$(vport_json .in_sync)" true 'in sync'
}

# Waits until the daemon knows the ports that the kernel has.
table_is_true() {
    wait_until $PATIENCE table_is_that_of_kernel
}

table_is_that_of_kernel() {
    local kernel table
    kernel=$(ovs-dpctl show system@ovs-system |
        sed -n 's/^ *port \([0-9]*\): \([^ ]*\).*/\1 \2/p' | sort)
    table=$(vport_json '.ports[] | "\(.port_no) \(.name)"' | sort)
    test -n "$kernel" && test "$table" = "$kernel"
}

add_test vport_show '"vport-table/show" and its arguments' kdp one-cpu
vport_show() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    table_is_true
    matches "$(ovs-appctl vport-table/show)" \
        'system@ovs-system: vport table.*in sync.* 2 v-n1 '
    matches "$(ovs-appctl vport-table/show system@ovs-system)" 'v-n1'
    matches "$(ovs-appctl vport-table/show ovs-system)" 'v-n1'
    equal "$(vport_json '.ports[] | select(.port_no == 2).name')" v-n1 'name'
    exits_with 2 ovs-appctl vport-table/show nowhere 2>"$KDP_WORK/error"
    matches "$(cat "$KDP_WORK/error")" 'no such datapath'
    exits_with 2 ovs-appctl vport-table/show --format xml 2>/dev/null
}

add_test port_gone 'ports that others add and remove are noticed'
port_gone() {
    local i
    ports_go_under_traffic
    start_ovs
    # Ports that others remove may be missed by who asks for their statistics.
    allow_log 'cannot get STP stats on nonexistent port'
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    allow_log 'v-n2' 'cannot get R?STP stat(us|s) on nonexistent port'
    for i in 1 2 3; do
        # The daemon takes it off the bridge, and puts it there again.
        ovs-dpctl del-if ovs-system v-n2
        wait_until $PATIENCE logged 'deleted interface v-n2' "$i"
        wait_until $PATIENCE logged 'added interface v-n2' $((i + 1))
        ping_works n1 10.0.0.2
    done
    # One that nobody wants is removed.
    ip link add stray type veth peer name stray1
    ovs-dpctl add-if ovs-system stray
    wait_until $PATIENCE is_no_port stray
    if test "$KDP_PROVIDERS" = kdp; then
        table_is_true
    fi
}

has_no_ofport() {
    ! ovs-ofctl show br0 | grep -q "($1)"
}

is_no_port() {
    ! ovs-appctl dpctl/show | grep -q ": $1\( \|\$\)"
}

is_port() {
    ovs-appctl dpctl/show | grep -q "port $1\( \|\$\)"
}

add_test port_renamed \
    'a device that is renamed, and renamed back, works' one-cpu
port_renamed() {
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    allow_log 'v-n2' 'renamed' 'cannot get R?STP stat(us|s) on nonexistent port'
    ip link set v-n2 down
    ip link set v-n2 name renamed
    wait_until $PATIENCE has_no_ofport v-n2
    if test "$KDP_PROVIDERS" = kdp; then
        table_is_true
    fi
    # What becomes of the datapath's port is up to Open vSwitch.
    if at_least "$KDP_OVS_VERSION" 3.3; then
        ! is_port '3: renamed' || fail 'the datapath has the port still'
        ovs-vsctl add-port br0 renamed
        is_port '3: renamed'
    else
        is_port '3: renamed'
        # The kernel does not find it under this name.
        matches "$(ovs-vsctl add-port br0 renamed 2>&1)" 'File exists'
    fi
    ovs-vsctl del-port br0 renamed
    ip link set renamed name v-n2
    ip link set v-n2 up
    ping_works n1 10.0.0.2
    wait_until $PATIENCE is_port '3: v-n2'
}

add_test internal_moved \
    'an internal port in another namespace works (U6)' one-cpu
internal_moved() {
    local i
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    add_ns other
    ovs-vsctl add-port br0 int0 -- set Interface int0 type=internal
    for i in 1 2; do
        ip link set int0 netns other
        ip -n other address replace 10.0.0.2/24 dev int0
        ip -n other link set int0 up
        ping_works n1 10.0.0.2
        is_port '3: int0 (internal)'
        # Changes of other ports leave it alone.
        connect br0 "n-$i" "10.0.0.1$i/24"
        ping_works n1 10.0.0.2
        ip -n other link set int0 netns 1
        ip link set int0 up
        is_port '3: int0 (internal)'
    done
    # It works on under another name.
    ip link set int0 netns other
    ip -n other address replace 10.0.0.2/24 dev int0
    ip -n other link set int0 up
    ping_works n1 10.0.0.2
    ip -n other link set int0 down
    ip -n other link set int0 name int1
    ip -n other link set int1 up
    wait_until $PATIENCE reaches n1 10.0.0.2
    wait_until $PATIENCE is_port '3: int1 (internal)'
    if test "$KDP_PROVIDERS" = kdp; then
        table_is_true
    fi
}

kernel_lacks_port() {
    ! ovs-dpctl show system@ovs-system | grep -q ": $1\( \|\$\)"
}

has_device() {
    test -e "/sys/class/net/$1"
}

# True if port int0 went with the namespace that lose_int0 let die.  It may be
# in ours again: the bridge makes it whenever it is configured, which that
# its device left may have brought about only now.
int0_went() {
    kernel_lacks_port int0 || has_device int0
}

# True if the daemon knows that.
int0_is_known_to_be_gone() {
    is_no_port int0 || has_device int0
}

# Moves port int0 to a namespace, which dies.
lose_int0() {
    add_ns doomed
    ip link set int0 netns doomed
    ip -n doomed link set int0 up
    is_port '[0-9]*: int0 (internal)'
    ip netns delete doomed
}

# Checks that port int0 is in our namespace and works, with address $1, of which
# nobody knows another device.
int0_is_back() {
    local address=$1
    wait_until $PATIENCE has_device int0
    wait_until $PATIENCE is_port '[0-9]*: int0 (internal)'
    ip address add "$address/24" dev int0
    ip link set int0 up
    ping_works n1 "$address"
    if test "$KDP_PROVIDERS" = kdp; then
        table_is_true
    fi
}

add_test internal_lost 'an internal port that died with a namespace comes back'
internal_lost() {
    ports_go_under_traffic
    start_ovs
    allow_log 'int0' 'port_del failed' \
        'cannot get R?STP (status|stats) on nonexistent port'
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    ovs-vsctl add-port br0 int0 -- set Interface int0 type=internal
    int0_is_back 10.0.0.11
    # It is made again when the bridge is configured.
    lose_int0
    wait_until $PATIENCE int0_went
    connect br0 n2 10.0.0.2/24
    int0_is_back 10.0.0.12
    # It can be deleted and added.
    lose_int0
    wait_until $PATIENCE int0_went
    wait_until $PATIENCE int0_is_known_to_be_gone
    ovs-vsctl del-port br0 int0
    ovs-vsctl add-port br0 int0 -- set Interface int0 type=internal
    int0_is_back 10.0.0.13
    # The same while the namespace dies.
    lose_int0
    ovs-vsctl del-port br0 int0
    wait_until $PATIENCE kernel_lacks_port int0
    ovs-vsctl add-port br0 int0 -- set Interface int0 type=internal
    int0_is_back 10.0.0.14
}
