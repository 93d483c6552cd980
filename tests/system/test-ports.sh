# SPDX-License-Identifier: Apache-2.0
#
# Ports come, go, and change under the daemon.

# Leaks are looked for by doing things LEAK_ROUNDS times.  Open vSwitch keeps the
# sockets of its own requests to the kernel and makes one more when threads
# happen to ask at the same time, so descriptors may grow a little, once.
LEAK_ROUNDS=8
LEAK_SLACK=2

# Remembers how many descriptors the daemon has, when nothing is under way.
descriptors_start() {
    local fds=
    wait_until $PATIENCE channels_are_those_of_ports
    until test "$fds" = "$(daemon_fds)"; do
        fds=$(daemon_fds)
        nap 0.5
    done
    start_fds=$fds
    start_sockets=$(daemon_netlink_sockets)
    start_channels=$(n_channels)
}

# True if no port that has gone has a channel: two belong to none.
channels_are_those_of_ports() {
    test "$KDP_PROVIDERS" != kdp || upcalls_say 'n_sockets - .n_ports' 2
}

# Waits until the daemon has as many descriptors as then.  Handlers release a
# channel a moment after the port is gone.
descriptors_return() {
    wait_until $PATIENCE descriptors_are_as_before
}

descriptors_are_as_before() {
    local fds sockets
    fds=$(daemon_fds)
    sockets=$(daemon_netlink_sockets)
    note "$fds descriptors, $sockets of them netlink sockets;" \
        "before, $start_fds and $start_sockets"
    test "$fds" -le $((start_fds + LEAK_SLACK)) &&
        test "$sockets" -le $((start_sockets + LEAK_SLACK)) &&
        test "$(n_channels)" = "$start_channels"
}

n_channels() {
    if test "$KDP_PROVIDERS" = kdp; then
        upcall_json .n_sockets
    fi
}

add_test port_churn \
    'ports added and deleted again and again leak no socket (U6)'
port_churn() {
    local i
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    add_ns n3
    add_veth n3 10.0.0.3/24
    ovs-vsctl add-port br0 v-n3
    ping_works n1 10.0.0.3
    ovs-vsctl del-port br0 v-n3
    descriptors_start
    start_ping ping@n1 10.0.0.3 -i 0.05
    for i in $(seq $LEAK_ROUNDS); do
        ovs-vsctl add-port br0 v-n3
        ovs-vsctl del-port br0 v-n3
    done
    # Added again in the transaction that deletes it, and in another bridge.
    ovs-vsctl add-port br0 v-n3
    ovs-vsctl del-port br0 v-n3 -- add-port br0 v-n3
    ping_works n1 10.0.0.3
    ovs-vsctl add-br br1 -- del-port br0 v-n3 -- add-port br1 v-n3
    ovs-vsctl del-br br1
    descriptors_return
    ovs-vsctl add-port br0 v-n3
    ping_works n1 10.0.0.3
    ovs-vsctl del-port br0 v-n3
    descriptors_return
}

add_test port_moved 'a device moved to another namespace and back works (U6)'
port_moved() {
    local i
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    add_ns elsewhere
    ping_works n1 10.0.0.2
    descriptors_start
    # What it finds out when the device goes while it reads its state.
    allow_log 'v-n2' 'cannot get R?STP stat(us|s) on nonexistent port'
    for i in $(seq $LEAK_ROUNDS); do
        ip link set v-n2 netns elsewhere
        reaches n1 10.0.0.2 && fail 'packets still pass'
        ip -n elsewhere link set v-n2 netns 1
        ip link set v-n2 up
        wait_until $PATIENCE reaches n1 10.0.0.2
    done
    descriptors_return
}

add_test device_deleted \
    'a device deleted behind the daemon and made again works (U6)'
device_deleted() {
    local i
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    connect br0 n3 10.0.0.3/24
    ping_works n1 10.0.0.2
    descriptors_start
    allow_log 'v-n2' 'cannot get R?STP stat(us|s) on nonexistent port'
    for i in $(seq $LEAK_ROUNDS); do
        ip link delete v-n2
        # Packets of another port pass.
        wait_until $PATIENCE reaches n1 10.0.0.3
        wait_until $PATIENCE interface_has_error v-n2
        add_veth n2 10.0.0.2/24
        # It has another Ethernet address now.
        ip -n n1 neighbour flush dev eth0
        wait_until $PATIENCE reaches n1 10.0.0.2
    done
    descriptors_return
}

interface_has_error() {
    test "$(ovs-vsctl get Interface "$1" error)" != '[]'
}

add_test port_missing 'a port whose device does not exist has an error' one-cpu
port_missing() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    allow_log 'nowhere'
    # Says so, and succeeds.
    matches "$(ovs-vsctl add-port br0 nowhere 2>&1)" 'could not open network device'
    matches "$(interface_get nowhere error)" 'No such device'
    equal "$(interface_get nowhere ofport)" -1 'OpenFlow port number'
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
}

add_test port_numbers 'a port number used again is served (U6)'
port_numbers() {
    local i
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    for i in 2 3 4 5 6; do
        # The datapath gives each of them the number of the one before.
        connect br0 "n$i" "10.0.0.$i/24"
        ping_works "n$i" 10.0.0.1
        matches "$(ovs-appctl dpctl/show)" "port 3: v-n$i"
        ovs-vsctl del-port br0 "v-n$i"
    done
}

add_test many_ports '64 ports work, and so does their removal at once (U2, U6)'
many_ports() {
    local i args=()
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    descriptors_start
    for i in $(seq 60); do
        args+=(-- add-port br0 "i$i" -- set Interface "i$i" type=internal)
    done
    ovs-vsctl "${args[@]}"
    equal "$(ovs-appctl dpctl/show | grep -c '^  port ')" 64 'ports'
    if test "$KDP_PROVIDERS" = kdp; then
        equal "$(upcall_json .n_sockets)" 66 'sockets for upcalls'
    fi
    ping_works n1 10.0.0.2
    args=()
    for i in $(seq 60); do
        args+=(-- del-port "i$i")
    done
    ovs-vsctl "${args[@]}"
    descriptors_return
}

add_test datapath_deleted 'the daemon survives the loss of its datapath'
datapath_deleted() {
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    datapath_goes
    ovs-dpctl del-dp ovs-system
    ping_fails n1 10.0.0.2
    ovs-vsctl --timeout=10 set Bridge br0 other_config:x=y || :
    daemon_is_alive || fail 'the daemon has died'
    # The way out is a new start.
    kill_daemon
    start_daemon
    ping_works n1 10.0.0.2
}
