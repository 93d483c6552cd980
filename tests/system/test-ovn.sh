# SPDX-License-Identifier: Apache-2.0
#
# OVN on two chassis, with the distribution's programs.  A chassis is a network
# namespace with a database, a daemon and an ovn-controller of its own; a device
# joins the two, through which their tunnels go.  The central databases and
# ovn-northd run outside.  The chassis find them, and each its own, through
# sockets in the file system.
#
# Logical network: switch "left" with vm1 (chassis c1) and vm2 (c2), switch
# "right" with vm3 (c2), switch "outer" with host "ext" (c1), and a router
# between them, whose way to "outer" is on chassis c1.

CHASSIS='c1 c2'

# Runs command $2... as on chassis $1.
at() {
    local chassis=$1
    shift
    OVS_RUNDIR=$KDP_WORK/$chassis OVS_LOGDIR=$KDP_WORK/$chassis \
        OVN_RUNDIR=$KDP_WORK/$chassis OVN_LOGDIR=$KDP_WORK/$chassis \
        ip netns exec "$chassis" "$@"
}

start_central() {
    local db
    for db in nb sb; do
        ovsdb-tool create "$KDP_WORK/$db.db" "/usr/share/ovn/ovn-$db.ovsschema"
    done
    ovsdb-server "$KDP_WORK/nb.db" "$KDP_WORK/sb.db" --detach --no-chdir \
        --pidfile --log-file --remote="punix:$KDP_WORK/central.sock" \
        2>/dev/null
    export OVN_NB_DB=unix:$KDP_WORK/central.sock
    OVN_RUNDIR=$KDP_WORK OVN_LOGDIR=$KDP_WORK ovn-northd --detach --no-chdir \
        --pidfile --log-file --ovnnb-db="$OVN_NB_DB" --ovnsb-db="$OVN_NB_DB" \
        2>/dev/null
}

start_chassis_daemon() {
    # shellcheck disable=SC2086
    at "$1" "$KDP_DAEMON" $KDP_DAEMON_ARGS --detach --no-chdir --pidfile \
        --log-file 2>>"$KDP_WORK/daemon.stderr"
}

# Starts chassis $1, whose tunnels end at address $2.
start_chassis() {
    local dir=$KDP_WORK/$1
    mkdir "$dir"
    cp "$KDP_EMPTY_DB" "$dir/conf.db"
    at "$1" ovsdb-server "$dir/conf.db" --detach --no-chdir --pidfile \
        --log-file --remote="punix:$dir/db.sock" 2>/dev/null
    # ovn-controller may be slow to make rules after a restart.
    at "$1" ovs-vsctl --no-wait set Open_vSwitch . \
        other_config:restart-hold=$((2 * PATIENCE)) \
        external_ids:system-id="$1" external_ids:ovn-remote="$OVN_NB_DB" \
        external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip="$2"
    start_chassis_daemon "$1"
    at "$1" ovn-controller --detach --no-chdir --pidfile --log-file \
        2>/dev/null
}

chassis_daemon_is_gone() {
    ! kill -0 "$1" 2>/dev/null
}

# Ends the daemon of chassis $1 by command $2....
end_chassis_daemon() {
    local pid
    pid=$(<"$KDP_WORK/$1/ovs-vswitchd.pid")
    shift
    "$@"
    wait_until $PATIENCE chassis_daemon_is_gone "$pid"
}

# Makes the namespace $1 with MAC address $3 and, unless it is '', IP address $4
# behind a port of chassis $2; its router is $5.
add_workload() {
    ip -batch - <<<"netns add $1
link add v-$1 netns $2 type veth peer name eth0 netns $1 address $3"
    ip -n "$2" link set "v-$1" up
    veth_inside "$1" "$4" "link set lo up"
    test -z "${5:-}" || ip -n "$1" route add default via "$5"
    at "$2" ovs-vsctl -- --may-exist add-port br-int "v-$1" \
        -- set Interface "v-$1" external_ids:iface-id="$1"
}

nbctl() {
    ovn-nbctl --timeout=$((2 * PATIENCE)) "$@"
}

# Makes logical switch $1, whose ports with the router are $1-router and
# router-$1, of MAC address 02:00:00:00:0$2:fe and IP address 10.0.$2.254.
add_switch() {
    nbctl ls-add "$1" \
        -- lrp-add router "router-$1" "02:00:00:00:0$2:fe" "10.0.$2.254/24" \
        -- lsp-add "$1" "$1-router" -- lsp-set-type "$1-router" router \
        -- lsp-set-addresses "$1-router" router \
        -- lsp-set-options "$1-router" router-port="router-$1"
}

logical_network() {
    nbctl lr-add router
    add_switch left 1
    add_switch right 2
    add_switch outer 3
    nbctl lrp-set-gateway-chassis router-outer c1 \
        -- lsp-add left vm1 \
        -- lsp-set-addresses vm1 '02:00:00:00:01:01 10.0.1.1' \
        -- lsp-add left vm2 \
        -- lsp-set-addresses vm2 '02:00:00:00:01:02 10.0.1.2' \
        -- lsp-add right vm3 \
        -- lsp-set-addresses vm3 '02:00:00:00:02:03 10.0.2.3' \
        -- lsp-add outer ext \
        -- lsp-set-addresses ext '02:00:00:00:03:04 10.0.3.4' \
        -- --id=@dhcp create DHCP_Options cidr=10.0.1.0/24 \
        options:server_id=10.0.1.254 options:server_mac=02:00:00:00:01:fe \
        options:lease_time=3600 options:router=10.0.1.254 \
        -- set Logical_Switch_Port vm2 dhcpv4_options=@dhcp >/dev/null
}

# Waits until the chassis have what the logical network says now.
chassis_are_current() {
    nbctl --wait=hv sync
}

two_chassis() {
    local i
    # ovn-controller connects again once it knows what the daemon can do.
    allow_log 'rconn\|WARN\|br-int<->unix'
    command -v ovn-controller >/dev/null || fail 'ovn-host is not installed'
    start_central
    logical_network
    add_ns $CHASSIS
    # Frames of the workloads' size fit into tunnels.
    ip link add under netns c1 mtu 1600 type veth peer name under netns c2 \
        mtu 1600
    for i in 1 2; do
        ip -n c$i -batch - <<<"address add 172.31.1.$i/24 dev under
link set under up"
        start_chassis c$i 172.31.1.$i
    done
    for i in $CHASSIS; do
        wait_until $PATIENCE at "$i" ovs-vsctl br-exists br-int
    done
    add_workload vm1 c1 02:00:00:00:01:01 10.0.1.1/24 10.0.1.254
    add_workload vm2 c2 02:00:00:00:01:02 ''
    add_workload vm3 c2 02:00:00:00:02:03 10.0.2.3/24 10.0.2.254
    # It knows no way to the other logical switches.
    add_workload ext c1 02:00:00:00:03:04 10.0.3.4/24
    nbctl wait-until Logical_Switch_Port vm1 up=true \
        -- wait-until Logical_Switch_Port vm2 up=true \
        -- wait-until Logical_Switch_Port vm3 up=true \
        -- wait-until Logical_Switch_Port ext up=true
    chassis_are_current
}

# Has vm2 ask for its address: the daemon hands the request to ovn-controller,
# which answers.
dhcp_works() {
    cat >"$KDP_WORK/dhcp" <<'END'
#!/bin/sh
test "$1" = bound || exit 0
ip address replace "$ip/$mask" dev "$interface"
ip route replace default via "$router"
END
    chmod +x "$KDP_WORK/dhcp"
    in_ns vm2 busybox udhcpc -f -q -n -t $PATIENCE -T 1 -i eth0 \
        -s "$KDP_WORK/dhcp"
    matches "$(ip -n vm2 -4 address show dev eth0)" 'inet 10\.0\.1\.2/24'
}

# Has namespace $1 answer each TCP connection to port 80 with its name.
serve() {
    in_ns_background "served-$1@$1" bash -c \
        "while :; do echo $1 | nc -N -l 80; done"
}

# True if who answers a connection to the load balancer's address is $1.
answered_by() {
    [[ $(in_ns vm1 nc -N -w 5 10.0.9.9 80 </dev/null) == "$1" ]]
}

load_balancer_works() {
    wait_until $PATIENCE answered_by vm2
    wait_until $PATIENCE answered_by vm3
}

# vm1 is seen as 10.0.3.100, and vm2 as 10.0.3.102.
nat_works() {
    ping_works vm1 10.0.3.4
    ping_works ext 10.0.3.102
}

# Ends the daemon of chassis $1 and starts it, without rules.
restart_chassis() {
    end_chassis_daemon "$1" \
        kill -TERM "$(<"$KDP_WORK/$1/ovs-vswitchd.pid")"
    start_chassis_daemon "$1"
}

# Does that as "ovs-ctl restart" does, which restores the rules.
reload_chassis() {
    at "$1" /usr/share/openvswitch/scripts/ovs-save save-flows br-int \
        >"$KDP_WORK/restore"
    at "$1" ovs-vsctl --no-wait set Open_vSwitch . \
        other_config:flow-restore-wait=true
    restart_chassis "$1"
    at "$1" sh "$KDP_WORK/restore"
    at "$1" ovs-vsctl remove Open_vSwitch . other_config flow-restore-wait
}

# True if ten pings from namespace $1 to address $2 are answered in a row.  While
# ovn-controller replaces rules, some are not.
all_answered() {
    in_ns "$1" ping -q -c 10 -i 0.2 -W 5 "$2" | grep -q ' 0% packet loss'
}

end_chassis() {
    local dir chassis
    for chassis in $CHASSIS; do
        dir=$KDP_WORK/$chassis
        kill -0 "$(<"$dir/ovs-vswitchd.pid")" || fail "a daemon has died"
        OVS_LOGDIR=$dir check_daemon_logs
        kill -TERM "$(<"$dir/ovn-controller.pid")"
    done
    ports_go_under_traffic
    allow_log 'recirc_id [0-9]+ left allocated when ofproto'
    for chassis in $CHASSIS; do
        end_chassis_daemon "$chassis" at "$chassis" ovs-appctl exit --cleanup
        OVS_LOGDIR=$KDP_WORK/$chassis check_daemon_logs
    done
}

add_test ovn \
    'OVN: two chassis, router, ACL, load balancer, NAT, DHCP, restart (R1)' \
    one-cpu 240
ovn() {
    local vm
    two_chassis
    dhcp_works
    # The same logical switch, and through the router; both through the tunnel.
    ping_works vm1 10.0.1.2
    ping_works vm1 10.0.2.3
    tcp_works vm1 10.0.2.3@vm3

    # Network address translation on the chassis of the gateway.
    ping_fails vm3 10.0.3.4
    nbctl lr-nat-add router snat 10.0.3.100 10.0.1.0/24 \
        -- lr-nat-add router dnat_and_snat 10.0.3.102 10.0.1.2
    chassis_are_current
    nat_works
    ping_fails vm3 10.0.3.4

    # vm3 may answer vm2, and not begin.
    nbctl acl-add left from-lport 1000 'inport == "vm2" && ip4' allow-related \
        -- acl-add left to-lport 1000 \
        'outport == "vm2" && ip4.src == 10.0.2.3' drop
    chassis_are_current
    ping_works vm2 10.0.2.3
    ping_fails vm3 10.0.1.2
    ping_works vm1 10.0.1.2

    serve vm2
    serve vm3
    nbctl lb-add balancer 10.0.9.9:80 10.0.1.2:80,10.0.2.3:80 tcp \
        -- ls-lb-add left balancer
    chassis_are_current
    load_balancer_works

    # Nobody answers ARP while no daemon runs, or rules are restored.
    for vm in vm1 vm2; do
        in_ns $vm sysctl -q -w net.ipv4.neigh.eth0.ucast_solicit=$PATIENCE
    done
    start_ping ping@vm1 10.0.1.2 -i 0.05
    # The daemon knows no options of tunnels until ovn-controller is back.
    allow_log 'fatal_signal.*\|WARN\|terminating with signal 15' \
        'Invalid Geneve tunnel metadata' 'Failed to acquire udpif_key'
    wait_until $PATIENCE all_answered vm1 10.0.1.2
    restart_chassis c2
    # What the kernel still had may have worked before.
    chassis_are_current
    wait_until $PATIENCE all_answered vm1 10.0.1.2
    kill -0 "${BACKGROUND[ping]}" || fail 'ping has ended'
    ping_lost_nothing ping
    start_ping ping2@vm1 10.0.1.2 -i 0.05
    wait_until $PATIENCE all_answered vm1 10.0.1.2
    reload_chassis c1
    chassis_are_current
    wait_until $PATIENCE all_answered vm1 10.0.1.2
    ping_lost_nothing ping2
    dhcp_works
    load_balancer_works
    nat_works
    ping_fails vm3 10.0.1.2
    nbctl acl-del left
    chassis_are_current
    ping_works vm3 10.0.1.2
    end_chassis
}
