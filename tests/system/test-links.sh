# SPDX-License-Identifier: Apache-2.0
#
# What happens to devices behind the daemon's back reaches OVSDB.

# True if column $2 of interface $1 has value $3.
interface_is() {
    test "$(interface_get "$1" "$2")" = "$3"
}

# Waits until columns of interface $1 have the values $2..., COLUMN=VALUE.
interface_becomes() {
    local iface=$1 arg
    shift
    for arg; do
        wait_until $PATIENCE interface_is "$iface" "${arg%%=*}" "${arg#*=}"
    done
}

ifindex_of() {
    cat "/sys/class/net/$1/ifindex"
}

# Prints paths or an expression of the table of links.
link_json() {
    ovs-appctl link-table/show --format json | json_values . "$@"
}

# Number of times that the bridge was configured again.
n_configured() {
    ovs-appctl coverage/read-counter bridge_reconfigure
}

add_test link_state \
    'flags and carrier changed by others reach OVSDB (L2)' one-cpu
link_state() {
    local resets
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    interface_becomes v-n1 admin_state=up link_state=up
    resets=$(interface_get v-n1 link_resets)
    ip link set v-n1 down
    interface_becomes v-n1 admin_state=down link_state=down
    ip link set v-n1 up
    interface_becomes v-n1 admin_state=up link_state=up
    ip -n n1 link set eth0 down
    interface_becomes v-n1 link_state=down admin_state=up
    ip -n n1 link set eth0 up
    interface_becomes v-n1 link_state=up
    # Each loss and each return of the carrier, and more if the kernel announces
    # some in several steps.
    wait_until $PATIENCE link_resets_are v-n1 $((resets + 4))
    equal "$(interface_get v-n1 error)" '[]' 'error'
}

# True if interface $1 has at least $2 link resets.
link_resets_are() {
    test "$(interface_get "$1" link_resets)" -ge "$2"
}

add_test link_changed \
    'MTU, hardware address and index reach OVSDB (L2)' one-cpu
link_changed() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    interface_becomes v-n1 mtu=1500 "ifindex=$(ifindex_of v-n1)"
    ip link set v-n1 mtu 1400
    interface_becomes v-n1 mtu=1400
    ip link set v-n1 mtu 9000
    interface_becomes v-n1 mtu=9000
    ip link set v-n1 address 02:00:00:00:12:34
    interface_becomes v-n1 mac_in_use=02:00:00:00:12:34
    ip link set v-n1 down
    ip link set v-n1 address 02:00:00:00:12:35 mtu 1300
    interface_becomes v-n1 mac_in_use=02:00:00:00:12:35 mtu=1300
    equal "$(interface_get v-n1 error)" '[]' 'error'
}

add_test link_recreated 'a device deleted and made again is another one (L2)'
link_recreated() {
    local old
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    interface_becomes v-n1 link_state=up
    old=$(ifindex_of v-n1)
    allow_log 'v-n1' 'cannot get R?STP stat(us|s) on nonexistent port'
    ip link delete v-n1
    wait_until $PATIENCE interface_has_error v-n1
    matches "$(interface_get v-n1 error)" 'could not open network device v-n1'
    equal "$(interface_get v-n1 ofport)" -1 'OpenFlow port number'
    add_veth n1 10.0.0.1/24
    test "$(ifindex_of v-n1)" != "$old" || fail 'the index is the same'
    interface_becomes v-n1 error='[]' link_state=up \
        "ifindex=$(ifindex_of v-n1)" \
        "mac_in_use=$(cat /sys/class/net/v-n1/address)"
    # At once, so that it may never be seen missing, with another MTU.
    ip link delete v-n1
    ip link add v-n1 mtu 1280 type veth peer name eth0 netns n1
    ip link set v-n1 up
    interface_becomes v-n1 error='[]' mtu=1280 "ifindex=$(ifindex_of v-n1)" \
        "mac_in_use=$(cat /sys/class/net/v-n1/address)"
}

add_test link_renamed \
    'a device renamed and renamed back is a port again (L2)' one-cpu
link_renamed() {
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    allow_log 'v-n2|away' 'cannot get R?STP stat(us|s) on nonexistent port'
    ip link set v-n2 down
    ip link set v-n2 name away
    wait_until $PATIENCE interface_has_error v-n2
    ip link set away name v-n2
    ip link set v-n2 up
    interface_becomes v-n2 error='[]' link_state=up \
        "ifindex=$(ifindex_of v-n2)"
    ping_works n1 10.0.0.2
}

add_test link_moved \
    'a device moved to a namespace and back is a port again (L2)' one-cpu
link_moved() {
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    add_ns elsewhere
    interface_becomes v-n1 link_state=up
    allow_log 'v-n1' 'cannot get R?STP stat(us|s) on nonexistent port'
    ip link set v-n1 netns elsewhere
    wait_until $PATIENCE interface_has_error v-n1
    ip -n elsewhere link set v-n1 address 02:00:00:00:12:34
    ip -n elsewhere link set v-n1 netns 1
    ip link set v-n1 up
    interface_becomes v-n1 error='[]' link_state=up \
        "ifindex=$(ifindex_of v-n1)" mac_in_use=02:00:00:00:12:34
}

# A device of class internal stays a port in another namespace.
add_test link_internal_moved \
    'an internal port that moves elsewhere is known (L3)' one-cpu
link_internal_moved() {
    start_ovs
    internal_elsewhere
    ip -n elsewhere link set int0 up
    interface_becomes int0 admin_state=up link_state=up
    ip -n elsewhere link set int0 mtu 1400
    interface_becomes int0 mtu=1400
}

# Makes namespace "elsewhere" and internal port int0, which moves there.
internal_elsewhere() {
    ovs-vsctl add-br br0 -- add-port br0 int0 \
        -- set Interface int0 type=internal
    add_ns elsewhere
    ip link set int0 up
    interface_becomes int0 admin_state=up link_state=up
    ip link set int0 netns elsewhere
    interface_becomes int0 admin_state=down link_state=down error='[]'
}

# Meanwhile another device has got its name.  The stock daemon takes it to be
# down.
add_test link_internal_found \
    'a daemon that starts finds it there (L2)' kdp one-cpu
link_internal_found() {
    start_ovs
    internal_elsewhere
    ip -n elsewhere link set int0 up mtu 1400
    interface_becomes int0 admin_state=up mtu=1400
    stop_daemon
    ip link add int0 type ifb
    start_daemon
    interface_becomes int0 admin_state=up link_state=up error='[]' mtu=1400
    ip link set int0 mtu 1300 up
    ip -n elsewhere link set int0 mtu 1450
    interface_becomes int0 mtu=1450
    ip link set int0 down
    ip -n elsewhere link set int0 down
    interface_becomes int0 admin_state=down link_state=down
    ip -n elsewhere link set int0 up
    interface_becomes int0 admin_state=up link_state=up
}

add_test link_own_writes \
    'what the daemon changes itself is read back (L4)' one-cpu
link_own_writes() {
    start_ovs
    # It tries before there is such a device, and then again.
    allow_log 'failed to set MTU for network device int0: No such device'
    ovs-vsctl add-br br0 -- add-port br0 int0 \
        -- set Interface int0 type=internal mtu_request=1400
    connect br0 n1 10.0.0.1/24 -- set Interface v-n1 mtu_request=1350
    interface_becomes int0 mtu=1400
    interface_becomes v-n1 mtu=1350
    equal "$(cat /sys/class/net/int0/mtu)" 1400 'MTU of the internal device'
    equal "$(cat /sys/class/net/v-n1/mtu)" 1350 'MTU of the device'
    ovs-vsctl set Interface int0 'mac="02:00:00:00:56:78"'
    interface_becomes int0 mac_in_use=02:00:00:00:56:78
    equal "$(cat /sys/class/net/int0/address)" 02:00:00:00:56:78 'address'
    # What others change is changed back.
    ip link set v-n1 mtu 1500
    wait_until $PATIENCE grep -qx 1350 /sys/class/net/v-n1/mtu
    interface_becomes v-n1 mtu=1350
}

# Makes $1 devices, changes and deletes them, with options $2... of ip(8).
device_burst() {
    local n=$1 i
    shift
    for i in $(seq "$n"); do
        echo "link add burst$i type ifb"
        echo "link set burst$i mtu 1400"
        echo "link set burst$i up"
        echo "link delete burst$i"
    done >"$KDP_WORK/burst"
    ip "$@" -batch "$KDP_WORK/burst"
}

# Waits until nothing that was announced before is left to be done: a change of
# device v-n1, announced later, has arrived, and the bridge was told of it.
events_are_done() {
    local mtu told
    told=$(link_json .bridge_told)
    mtu=$(($(cat /sys/class/net/v-n1/mtu) - 1))
    ip link set v-n1 mtu $mtu
    interface_becomes v-n1 mtu=$mtu
    wait_until $PATIENCE bridge_told_since "$told"
}

bridge_told_since() {
    test "$(link_json .bridge_told)" -gt "$1"
}

add_test link_burst_foreign \
    'a burst of foreign devices configures nothing (L3, L5)' kdp
link_burst_foreign() {
    local before told
    modprobe ifb numifbs=0
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    add_ns elsewhere
    ip netns set elsewhere 4711
    events_are_done
    before=$(n_configured)
    told=$(link_json .bridge_told)
    device_burst 100
    device_burst 30 -n elsewhere
    # Also if they have the name of a port.
    ip -n elsewhere link add v-n1 type ifb
    ip -n elsewhere link set v-n1 mtu 1300
    ip -n elsewhere link delete v-n1
    events_are_done
    # That of the last change, and what is late of those before.
    told=$(($(link_json .bridge_told) - told))
    test $told -le 3 || fail "$told notices to the bridge"
    before=$(($(n_configured) - before))
    test $before -le 3 || fail "configured again $before times"
    test "$(link_json .bridge_not_told)" -ge 300 ||
        fail "too few: $(link_json .bridge_not_told)"
    # What nobody wants to know is not kept.
    equal "$(link_json '.namespaces[] | select(.namespace == "4711") |
        .state, .n_links')" "not followed
0" 'namespace of foreign devices'
    test "$(link_json '.namespaces[] | select(.namespace == "4711").events')" \
        -ge 90 || fail 'its events did not arrive'
    matches "$(ovs-appctl link-table/show)" 'bridge: notified of changes [0-9]+, '
}

add_test link_burst_own \
    'a burst on ports configures a bounded number of times (L7)' kdp
link_burst_own() {
    local before i n
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    for i in $(seq 150); do
        echo "link set v-n1 mtu $((1300 + i))"
        echo "link set v-n2 mtu $((1300 + i))"
    done >"$KDP_WORK/burst"
    interface_becomes v-n1 link_state=up
    interface_becomes v-n2 link_state=up
    before=$(n_configured)
    # They come at once, whatever the machine does meanwhile.
    kill -STOP "$DAEMON_PID"
    ip -batch "$KDP_WORK/burst"
    kill -CONT "$DAEMON_PID"
    interface_becomes v-n1 mtu=1450
    interface_becomes v-n2 mtu=1450
    n=$(($(n_configured) - before))
    note "$n configurations"
    test $n -le 60 || fail "$n configurations on 300 changes"
    # Flags and carrier are no reason while the speed stays what it was: see
    # link_speed.  The daemon has processed what was announced before once it
    # has processed a change of flags that is announced later.
    ip link set v-n1 down
    interface_becomes v-n1 admin_state=down
    before=$(n_configured)
    for i in $(seq 1000); do
        echo 'link set v-n2 down'
        echo 'link set v-n2 up'
    done >"$KDP_WORK/burst"
    ip -batch "$KDP_WORK/burst"
    ip link set v-n1 up
    interface_becomes v-n1 admin_state=up
    interface_becomes v-n2 link_state=up
    equal "$(n_configured)" "$before" 'configurations on changes of flags'
}

# Makes bridge br0 with RSTP and port eth0, for whose quality of service no
# maximal rate is given.  Open vSwitch's state machine of RSTP logs an error if a
# port goes down just before it sends a BPDU.
add_fast_port() {
    allow_log 'rstp_sm\|ERR\|br0 transmitting bpdu in disabled role'
    modprobe sch_htb
    ovs-vsctl add-br br0 -- set Bridge br0 rstp_enable=true \
        -- add-port br0 eth0 -- set Port eth0 qos=@q \
        -- --id=@q create QoS type=linux-htb queues:0=@q0 \
        -- --id=@q0 create Queue other_config:min-rate=1000000 >/dev/null
}

# Waits until the bridge takes port $1 for one of $2 (as tc writes it), and of
# the path cost of that, $3.
port_follows() {
    wait_until $PATIENCE port_is_limited_to "$1" "$2"
    wait_until $PATIENCE path_cost_is "$1" "$3"
}

# The class above all queues, and that of a queue.
port_is_limited_to() {
    test "$(tc class show dev "$1" | grep -c "ceil $2 ")" = 2
}

path_cost_is() {
    test "$(ovs-appctl rstp/show br0 | awk -v port="$1" '
        $1 == port { print $4 }')" = "$2"
}

add_test link_flaps \
    'a thread asks the driver of a link that flaps, not the main loop (L8)' \
    kdp
link_flaps() {
    local i
    add_nics
    ip link set eth0 up
    start_ovs
    ovs-vsctl add-br br0 -- add-port br0 eth0
    interface_becomes eth0 link_state=up
    set_speed eth0 100
    interface_becomes eth0 link_speed=100000000
    trace_rtnl
    for i in 1000 100 1000; do
        ip link set eth0 down
        interface_becomes eth0 link_state=down
        set_speed eth0 $i
        ip link set eth0 up
        interface_becomes eth0 link_state=up
        interface_becomes eth0 "link_speed=${i}000000"
    done
    test "$(traced_rtnl)" -gt 0 || fail 'nobody asked the driver'
    equal "$(traced_rtnl_main)" 0 'acquisitions of RTNL by the main thread'
    trace_end
}

# Drivers of tap devices are asked as those of cards are.
add_test link_rtnl_held \
    'a lock that another process holds does not stop the main loop (L8)' kdp
link_rtnl_held() {
    local n=100 i speed
    modprobe tun
    for i in $(seq $n); do
        echo "tuntap add c$i mode tap"
        echo "link set c$i up"
    done | ip -batch -
    # 10 Mbit/s, or from Linux 7.2 on 10 Gbit/s.
    speed=$(</sys/class/net/c1/speed)000000
    start_ovs
    # shellcheck disable=SC2046
    ovs-vsctl add-br br0 -- set Bridge br0 rstp_enable=true \
        $(seq -f '-- add-port br0 c%g' $n)
    wait_until $PATIENCE interfaces_with $n admin_state=up link_speed="$speed"
    kill -STOP "$DAEMON_PID"
    for i in $(seq $n); do
        echo "link set c$i down"
    done | ip -batch -
    trace_rtnl
    hold_rtnl 1
    kill -CONT "$DAEMON_PID"
    wait_until $PATIENCE interfaces_with $n admin_state=down link_speed="$speed"
    ovs-appctl version >/dev/null
    equal "$(traced_rtnl_main)" 0 'acquisitions of RTNL by the main thread'
    test "$(traced_rtnl)" -gt 0 || fail 'nobody asked a driver'
    hold_rtnl 0
    wait_until $PATIENCE asked_drivers $n
    equal "$(traced_rtnl_main)" 0 'acquisitions of RTNL by the main thread'
    trace_end
}

# True if $1 interfaces are as $2... says.
interfaces_with() {
    local n=$1
    shift
    test "$(ovs-vsctl --bare --columns=name find Interface "$@" |
        grep -c .)" = "$n"
}

# True if the daemon took the lock at least $1 times.
asked_drivers() {
    test "$(traced_rtnl)" -ge "$1"
}

add_test link_speed \
    'rates and path costs follow the speed of a link (L7)' one-cpu
link_speed() {
    local i n
    add_nics
    ip link set eth0 up
    start_ovs
    add_fast_port
    port_follows eth0 100Mbit 200000
    ip link set eth0 down
    set_speed eth0 10000
    ip link set eth0 up
    port_follows eth0 10Gbit 2000

    # The speed is set before the daemon has seen the link down, or after that.
    kill -STOP "$DAEMON_PID"
    ip link set eth0 down
    set_speed eth0 1000
    ip link set eth0 up
    kill -CONT "$DAEMON_PID"
    port_follows eth0 1Gbit 20000
    ip link set eth0 down
    interface_becomes eth0 link_state=down
    ovs-vsctl set Bridge br0 other_config:x=y
    set_speed eth0 100
    ip link set eth0 up
    port_follows eth0 100Mbit 200000

    # The bridge is configured in between, for another reason.
    ip link set eth0 down
    interface_becomes eth0 link_state=down
    set_speed eth0 10000
    ovs-vsctl set Bridge br0 other_config:x=z
    ip link set eth0 up
    port_follows eth0 10Gbit 2000

    # The daemon starts while the link is down.
    ip link set eth0 down
    set_speed eth0 100
    stop_daemon
    start_daemon
    interface_becomes eth0 link_state=down
    set_speed eth0 10000
    ip link set eth0 up
    port_follows eth0 10Gbit 2000

    # A carrier that comes back with the same speed is no reason to configure.
    test "$KDP_PROVIDERS" = kdp || return 0
    interface_becomes eth0 link_state=up
    n=$(n_configured)
    for i in $(seq 20); do
        ip link set eth0 down
        ip link set eth0 up
        interface_becomes eth0 link_state=up
    done
    equal "$(n_configured)" "$n" 'configurations on changes of the carrier'
}

# The stock daemon does not follow that.
add_test link_speed_alone \
    'a speed that is set while the link is up is followed (L7)' kdp one-cpu
link_speed_alone() {
    add_nics
    ip link set eth0 up
    start_ovs
    add_fast_port
    port_follows eth0 100Mbit 200000
    set_speed eth0 10000
    port_follows eth0 10Gbit 2000
    interface_becomes eth0 link_speed=10000000000
    set_speed eth0 1000
    port_follows eth0 1Gbit 20000

    # A VLAN device has the speed of the device that it is on.
    modprobe 8021q
    ip link set eth1 up
    ip link add link eth1 name vlan5 up type vlan id 5
    ovs-vsctl add-port br0 vlan5
    wait_until $PATIENCE path_cost_is vlan5 200000
    set_speed eth1 10000
    wait_until $PATIENCE path_cost_is vlan5 2000
}

# The bond is a port, and its speed is that of its active member.
add_test link_speed_bond \
    'the speed of a bond follows its members (L7)' one-cpu
link_speed_bond() {
    modprobe bonding
    add_nics
    set_speed eth1 10000
    ip -batch - <<<"link add bond0 type bond mode active-backup miimon 50
link set eth0 master bond0
link set eth1 master bond0
link set bond0 type bond active_slave eth0
link set bond0 up"
    start_ovs
    modprobe sch_htb
    ovs-vsctl add-br br0 -- set Bridge br0 rstp_enable=true \
        -- add-port br0 bond0 -- set Port bond0 qos=@q \
        -- --id=@q create QoS type=linux-htb queues:0=@q0 \
        -- --id=@q0 create Queue other_config:min-rate=1000000 >/dev/null
    port_follows bond0 100Mbit 200000
    ip link set eth0 down
    port_follows bond0 10Gbit 2000
    ip link set eth0 up
    wait_until $PATIENCE bond_has_up eth0
    ip link set bond0 type bond active_slave eth0
    port_follows bond0 100Mbit 200000
}

bond_has_up() {
    test "$(<"/sys/class/net/$1/bonding_slave/mii_status")" = up
}

add_test link_local_ip \
    'the port with an address of a controller comes up again (L7)' one-cpu
link_local_ip() {
    local i
    start_ovs
    # Nobody listens there, which the bridge takes note of after 15 seconds.
    allow_log 'rconn' 'stream_tcp' 'in_band\|WARN\|br0: cannot find route' \
        'fail_open\|WARN\|' \
        'SIOCADDRT\): (File exists|Network is unreachable)'
    ovs-vsctl add-br br0 -- set-controller br0 tcp:10.9.0.9:6653 \
        -- set Controller br0 local_ip=10.1.0.1 local_netmask=255.255.255.0 \
        local_gateway=10.1.0.9
    wait_until $PATIENCE link_is_up br0
    for i in 1 2 3; do
        ip link set br0 down
        wait_until $PATIENCE link_is_up br0
        ip -4 -o address show br0 | grep -q ' 10\.1\.0\.1/24 ' ||
            fail 'it lacks the address'
        # Which the kernel deletes when the port goes down.
        wait_until $PATIENCE has_gateway 10.1.0.9
        ip -batch - <<<"link set br0 down
link set br0 up"
        wait_until $PATIENCE has_gateway 10.1.0.9
    done
}

has_gateway() {
    test -n "$(ip route show default via "$1")"
}

# True if somebody has brought device $1 up.
link_is_up() {
    test $(($(<"/sys/class/net/$1/flags") & 1)) = 1
}

# Prints the number of events that the kernel did not queue for the link
# listener, the one that is also in the group of IPv4 addresses, the fifth.
link_drops() {
    find "/proc/$DAEMON_PID/fd" -mindepth 1 -printf '%l\n' |
        sed -n 's/^socket:\[\([0-9]*\)\]$/\1/p' |
        awk 'NR == FNR { mine[$1]; next }
             $2 == 0 && substr($4, 7, 1) ~ /[13579bdf]/ && $10 in mine {
                 n += $9
             }
             END { print n + 0 }' - /proc/net/netlink
}

# Changes device $1 until the daemon, which does not read, loses events.
overrun_listener() {
    local before i
    before=$(link_drops)
    for i in $(seq 500); do
        echo "link set $1 mtu $((1000 + i))"
    done >"$KDP_WORK/burst"
    for i in $(seq 40); do
        ip -batch "$KDP_WORK/burst"
        test "$(link_drops)" -eq "$before" || return 0
    done
    fail 'the socket does not overrun'
}

# Prints what the kernel says of the links of the namespace of command $1...,
# in the form of table_links.
kernel_links() {
    "$@" -j link | jq -c 'sort_by(.ifindex) | .[] | [.ifindex, .ifname, .mtu,
        (.flags | contains(["UP"])), .address]'
}

# Prints what the daemon says of namespace $1.
table_links() {
    ovs-appctl link-table/show --format json "$1" |
        jq -c '.namespaces[0].links | sort_by(.ifindex) | .[] | [.ifindex,
            .name, .mtu, .flags % 2 == 1, .hwaddr]'
}

# True if the daemon knows all links of namespace $1, that of command $2....
table_is_right() {
    local nsid=$1
    shift
    test "$(table_links "$nsid")" = "$(kernel_links "$@")"
}

# Waits until the columns of interface $1 are what the kernel says.
interface_is_as_in_kernel() {
    local dir=/sys/class/net/$1 up=down
    test $(($(cat "$dir/flags") & 1)) = 0 || up=up
    interface_becomes "$1" error='[]' "ifindex=$(cat "$dir/ifindex")" \
        "mtu=$(cat "$dir/mtu")" "mac_in_use=$(cat "$dir/address")" \
        "admin_state=$up" "link_state=$up"
}

add_test link_overrun \
    'after an overrun all is known that was missed (L2)' kdp 150
link_overrun() {
    local i lost nsid resyncs
    modprobe ifb numifbs=0
    ports_go_under_traffic
    start_ovs
    ovs-vsctl add-br br0
    for i in 1 2 3; do
        connect br0 n$i 10.0.0.$i/24
    done
    allow_log 'v-n[234]' 'events of links were lost' \
        'changes of (devices|ports) were missed' \
        'cannot get R?STP (status|stats) on nonexistent port'
    ovs-vsctl add-port br0 v-n4 2>/dev/null || :
    ip link add foreign type ifb
    nsid=$(ip -j netns list | jq '.[] | select(.name == "n1").id')
    # A namespace is followed once it has a port.
    ovs-vsctl add-port br0 int0 -- set Interface int0 type=internal
    ip link set int0 netns n1
    wait_until $PATIENCE table_is_right "$nsid" ip -n n1
    interface_is_as_in_kernel v-n1
    interface_has_error v-n4
    resyncs=$(link_json .resyncs)
    equal "$(link_json .overruns)" 0 'overruns'

    # Before, and while nothing is queued any more.
    kill -STOP "$DAEMON_PID"
    ip link set v-n1 mtu 1300
    ip link delete v-n2
    overrun_listener foreign
    ip link set v-n1 mtu 1400 address 02:00:00:00:12:34
    ip link set v-n3 down
    add_veth n2 10.0.0.2/24
    add_ns n4
    add_veth n4 10.0.0.4/24
    ip link add late type ifb
    ip link delete foreign
    ip -n n1 link set eth0 mtu 1280
    ip -n n1 link add there type ifb
    lost=$(link_drops)
    kill -CONT "$DAEMON_PID"

    for i in 1 2 3 4; do
        interface_is_as_in_kernel v-n$i
    done
    equal "$(interface_get v-n1 mtu)" 1400 'MTU'
    equal "$(interface_get v-n3 admin_state)" down 'state of what went down'
    wait_until $PATIENCE table_is_right local ip
    wait_until $PATIENCE table_is_right "$nsid" ip -n n1
    test "$(link_json .overruns)" -ge 1 || fail 'no overrun was counted'
    test "$(link_json .lost)" -ge "$lost" || fail 'losses were not counted'
    test "$(link_json .namespaces[0].overruns)" -ge 1 ||
        fail 'no overrun was counted for our namespace'
    test "$(link_json .resyncs)" -gt "$resyncs" || fail 'no resync'
    equal "$(link_json "[.namespaces[] | select(.namespace == \"local\" or
        .namespace == \"$nsid\").state] | unique | join(\" \")")" current \
        'states'
    wait_until $PATIENCE logged \
        'WARN\|events of links were lost \(.*\); listing all links'
    ping_works n1 10.0.0.2
    ping_works n1 10.0.0.4
}

# Calls and requests under the RTNL lock.
rtnl_counts() {
    link_json '[.rtnl, .rtnl_calls] | tojson'
}

add_test link_route_flood \
    'floods of routes wake nobody in vain, and lose no event of a link (L5)' kdp
link_route_flood() {
    local n=20000 changes start
    start_ovs
    add_ns r1
    add_veth r1 172.31.1.1/24
    ip address add 172.31.1.100/24 dev v-r1
    ovs-vsctl add-br br0 -- add-port br0 t0 \
        -- set Interface t0 type=geneve options:remote_ip=172.31.9.9
    connect br0 n1 ''
    ip route add 172.31.9.0/24 via 172.31.1.1
    wait_until $PATIENCE tunnel_leaves_by t0 v-r1
    wait_until $PATIENCE routes_are_quiet
    changes=$(link_json .routes.changes)
    # Of a table that no rule leads to.
    routes "$n" 'table 100' | ip -batch -
    equal "$(link_json .routes.changes)" "$changes" 'changes that count'
    # Tunnels look again in intervals of a second, and links are followed.
    start=$SECONDS
    routes "$n" | ip -batch -
    ip link set v-n1 down
    interface_becomes v-n1 admin_state=down
    test "$(link_json .routes.changes)" -gt "$changes" || fail 'nobody looked'
    test "$(($(link_json .routes.changes) - changes))" -le \
        $((SECONDS - start + 3)) || fail "tunnels look at each of $n routes"
    equal "$(link_json .overruns .lost .routes.filled | tr '\n' ' ')" '0 0 0 ' \
        'overruns, lost events, and lists of routes'
}

# Prints commands for "ip -batch" that add $1 routes, further arguments are $2.
routes() {
    awk -v n="$1" -v more="${2:-}" 'BEGIN {
        for (i = 0; i < n; i++) {
            printf "route add 10.%d.%d.%d/32 via 172.31.1.1 %s\n",
                   i / 65536, i / 256 % 256, i % 256, more
        }
    }'
}

tunnel_leaves_by() {
    test "$(interface_get "$1" status:tunnel_egress_iface 2>/dev/null)" = "$2"
}

# True if no route has changed since this was asked two seconds ago.
routes_are_quiet() {
    local now
    now=$(link_json .routes.changes)
    if test "$now" != "${last_changes:-}"; then
        last_changes=$now
        quiet_since=$SECONDS
    fi
    test $((SECONDS - quiet_since)) -ge 3
}

add_test link_steady 'in steady state nothing takes the RTNL lock (L1)' kdp 150
link_steady() {
    local i before='' after end
    start_ovs
    ovs-vsctl add-br br0
    for i in $(seq 10); do
        connect br0 "n$i" "10.0.0.$i/24"
    done
    # Until all is settled.
    end=$((SECONDS + 60))
    after=$(rtnl_counts)
    until test "$before" = "$after"; do
        test $SECONDS -lt $end || fail "it does not settle: $after"
        before=$after
        sleep 6
        after=$(rtnl_counts)
    done
    trace_rtnl
    sleep 20
    equal "$(traced_rtnl)" 0 'acquisitions of RTNL'
    # Statistics were updated meanwhile, and of ports of all kinds.
    in_ns n1 ping -q -c 3 -i 0.2 10.0.0.2 >/dev/null
    wait_until $PATIENCE statistics_have_arrived v-n1
    equal "$(traced_rtnl)" 0 'acquisitions of RTNL with statistics'
    equal "$(rtnl_counts)" "$before" 'calls under RTNL, by the daemon'
    # What is traced is what the daemon does.
    ovs-vsctl set Interface v-n1 mtu_request=1400
    interface_becomes v-n1 mtu=1400
    test "$(traced_rtnl)" -gt 0 || fail 'the trace lacks a change by the daemon'
    trace_end
}

statistics_have_arrived() {
    test "$(ovs-vsctl get Interface "$1" statistics:rx_packets)" -ge 3
}

add_test link_table_show \
    'link-table/show, its options and its errors' kdp one-cpu
link_table_show() {
    local text
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    text=$(ovs-appctl link-table/show)
    matches "$text" 'local: addresses [0-9]+, queueing'
    matches "$text" 'requests under RTNL: start [1-9]'
    equal "$(ovs-appctl link-table/show --format text | head -1)" \
        "$(head -1 <<<"$text")" 'text'
    matches "$(ovs-appctl link-table/show local)" 'v-n1 +veth'
    matches "$(ovs-appctl link-table/show --format text local)" 'v-n1 +veth'
    equal "$(ovs-appctl link-table/show local --format json |
        jq -r '.namespaces[0].links[] | select(.name == "v-n1").ifindex')" \
        "$(ifindex_of v-n1)" 'index in JSON'
    equal "$(link_json '.namespaces[0].namespace')" local 'first namespace'
    equal "$(link_json '.rtnl_calls["create tap device"]')" 0 'taps'
    test "$(link_json .addresses)" -ge 1 || fail 'no addresses'
    equal "$(link_json .routes.filled)" 0 'lists of routes'

    show_fails '--format xml: expected' --format xml
    show_fails '--format : expected' --format
    show_fails '--nonsense: expected' --nonsense
    show_fails 'local: expected' local local
    show_fails '4711: no network namespace' 4711
    show_fails 'nonsense: no network namespace' nonsense
    show_fails 'takes at most 3 arguments' --format json local local
}

add_test link_resync \
    'link-table/resync brings in what no event tells (L2)' kdp one-cpu
link_resync() {
    start_ovs
    ip link add down0 type veth peer name down1
    wait_until $PATIENCE link_has_alt_names ''
    ip link property add dev down0 altname down0-alias
    ovs-appctl link-table/resync
    wait_until $PATIENCE link_has_alt_names down0-alias
    test "$(link_json .rtnl.asked)" -ge 1 || fail 'nothing was asked'
    equal "$(link_json '.namespaces[0].state')" current 'state'
    equal "$(link_json .rtnl.loss)" 0 'requests after a loss'
}

link_has_alt_names() {
    test "$(ovs-appctl link-table/show local --format json |
        jq -r '.namespaces[0].links[] | select(.name == "down0")
               | .alt_names | join(" ")')" = "$1" &&
        ovs-appctl link-table/show local | grep -qw down0
}

# Checks that link-table/show with arguments $2... fails with $1.
show_fails() {
    local message=$1 output
    shift
    output=$(ovs-appctl link-table/show "$@" 2>&1 && echo 'It succeeds.') || :
    matches "$output" "$message"
}

add_test link_buckets \
    'other_config:link-table-netns-entries is looked at' kdp one-cpu
link_buckets() {
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    test "$(link_json '.namespaces[0].buckets')" -lt 0 || fail 'not shared'
    set_buckets 1000
    wait_until $PATIENCE buckets_are 1024
    allow_log 'other_config:link-table-netns-entries is'
    set_buckets many
    wait_until $PATIENCE logged \
        'WARN\|other_config:link-table-netns-entries is "many", expected 0 \(namespaces share a table\) to 16777216; going on with 1000$'
    buckets_are 1024
    set_buckets 16777217
    wait_until $PATIENCE logged 'is "16777217", expected'
    set_buckets -1
    wait_until $PATIENCE logged 'is "-1", expected'
    # Once for each value.
    ovs-vsctl set Bridge br0 other_config:x=y
    equal "$(grep -c 'link-table-netns-entries' \
        "$OVS_LOGDIR/ovs-vswitchd.log")" 3 'warnings'
    buckets_are 1024
    ovs-vsctl remove Open_vSwitch . other_config link-table-netns-entries
    wait_until $PATIENCE buckets_are_shared
    ping_works n1 10.0.0.1
}

set_buckets() {
    ovs-vsctl set Open_vSwitch . "other_config:link-table-netns-entries=$1"
}

buckets_are() {
    test "$(link_json '.namespaces[0].buckets')" = "$1"
}

buckets_are_shared() {
    test "$(link_json '.namespaces[0].buckets')" -lt 0
}

add_test link_stock \
    'with stock providers link-table/show says why not' kdp one-cpu
link_stock() {
    start_ovs --stock-providers
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    show_fails 'links are not kept: the daemon runs on stock providers'
    set_buckets nonsense
    ip link set v-n1 mtu 1400
    interface_becomes v-n1 mtu=1400
}
