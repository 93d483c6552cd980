# SPDX-License-Identifier: Apache-2.0
#
# The daemon as distributions start it: as another user, watched, with its memory
# locked.

# Prints field $1 of the daemon's status.
daemon_status() {
    sed -n "s/^$1:[[:space:]]*//p" "/proc/$DAEMON_PID/status"
}

# True if upcalls are received with engine $1.
engine_is() {
    test "$(upcall_json .engine)" = "$1"
}

# Checks that the daemon of another user is whole.
user_has_all() {
    matches "$(daemon_status Uid)" "^$(id -u nobody)[[:space:]]"
    # CAP_NET_BIND_SERVICE, _BROADCAST, _ADMIN, _RAW and CAP_IPC_LOCK: what
    # Open vSwitch keeps.
    equal "$(daemon_status CapEff)" 0000000000007c00 capabilities
    test "$(daemon_status VmLck | sed 's/ .*//')" -gt 0 ||
        fail 'no memory is locked'
    wait_until $PATIENCE engine_is io_uring
    ping_works n1 10.0.0.2
}

add_test other_user \
    'nothing is missing for a user with the capabilities that stock keeps' \
    kdp one-cpu
other_user() {
    start_ovsdb
    ovs-vsctl --no-wait set Open_vSwitch . \
        other_config:upcall-engine=io_uring \
        other_config:hw-offload=true other_config:tc-policy=skip_hw
    chown nobody:nogroup "$OVS_RUNDIR" "$OVS_RUNDIR/db.sock"
    start_daemon --user=nobody:nogroup --monitor --mlockall
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    user_has_all

    # Events of devices, those of other namespaces too.
    ip -n n1 link set eth0 mtu 1400
    ip link set v-n1 mtu 1300
    interface_becomes v-n1 mtu=1300
    ip link set v-n1 mtu 1500
    ip -n n1 link set eth0 mtu 1500
}

# What is wanted for drivers of DPDK is not kept, as by a stock daemon without them.
add_test user_with_rawio \
    'an option for drivers that we do not have is accepted where it is known' \
    kdp one-cpu
user_with_rawio() {
    start_ovsdb
    chown nobody:nogroup "$OVS_RUNDIR" "$OVS_RUNDIR/db.sock"
    if ! at_least "$KDP_OVS_VERSION" 3.2; then
        exits_with 1 "$KDP_DAEMON" --hw-rawio-access 2>error
        matches "$(<error)" "unrecognized option '--hw-rawio-access'"
        return
    fi
    matches "$("$KDP_DAEMON" --help)" '--hw-rawio-access +has no effect'
    allow_log 'No driver requires Linux capability CAP_SYS_RAWIO'
    start_daemon --user=nobody:nogroup --hw-rawio-access
    matches "$(daemon_status Uid)" "^$(id -u nobody)[[:space:]]"
    matches "$(<"$KDP_WORK/daemon.stderr")" 'CAP_SYS_RAWIO, disabling it'
    equal "$(daemon_status CapEff)" 0000000000007c00 capabilities
    ovs-vsctl add-br br0
}

# Sends a packet.  True if tc has a flow by then.
ping_is_in_tc() {
    ping_works n1 10.0.0.2
    [[ $(ovs-appctl dpctl/dump-flows type=tc) == *eth_type* ]]
}

# Network plugins give their pods these three.  Without CAP_NET_BROADCAST there
# are no events of other namespaces.
add_test container_capabilities \
    'all works in a container, or kdp/doctor names the capability' kdp one-cpu
container_capabilities() {
    start_ovsdb
    ovs-vsctl --no-wait set Open_vSwitch . \
        other_config:upcall-engine=io_uring \
        other_config:hw-offload=true other_config:tc-policy=skip_hw
    cat >contained <<END
#!/bin/sh
exec setpriv --bounding-set -all,+net_admin,+net_bind_service,+sys_admin \\
    $KDP_DAEMON "\$@"
END
    chmod +x contained
    allow_log 'listening to other network namespaces is not permitted'
    KDP_DAEMON=$PWD/contained start_daemon
    equal "$(daemon_status CapEff)" 0000000000201400 capabilities

    ovs-vsctl add-br br0 -- set-controller br0 ptcp:103 -- \
        set Bridge br0 other_config:disable-in-band=true
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ovs-vsctl add-port br0 tunnel -- set Interface tunnel type=geneve \
        options:remote_ip=192.0.2.1 -- add-port br0 internal -- \
        set Interface internal type=internal -- \
        set Interface v-n1 ingress_policing_rate=100000 -- \
        set Port v-n2 qos=@qos -- --id=@qos create QoS type=linux-htb \
        other-config:max-rate=1000000000
    ping_works n1 10.0.0.2
    wait_until $PATIENCE engine_is io_uring
    for interface in tunnel internal v-n1 v-n2; do
        equal "$(ovs-vsctl get Interface $interface error)" '[]' "$interface"
    done
    matches "$(tc qdisc show dev v-n2)" 'htb'
    ovs-ofctl dump-flows tcp:127.0.0.1:103 >rules
    wait_until $PATIENCE ping_is_in_tc
    ip link set v-n1 mtu 1300
    interface_becomes v-n1 mtu=1300

    # With the hint, which names the capability.  The kernel may lack what chains
    # need.
    ovs-appctl kdp/doctor >found
    matches "$(<found)" 'namespaces-not-followed.*CAP_NET_BROADCAST'
    equal "$(sed '/^offload-chains-missing/d; /^ /d; s/:.*//' found)" \
        namespaces-not-followed findings
}
