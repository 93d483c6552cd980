#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests utilities/ovs-kdp-switch, with the real update-alternatives on folders
# of its own, and with daemons and a service that are made up.  Runs in the
# build directory.  Prints TAP.
set -u
export LC_ALL=C
srcdir=$(cd "$(dirname "$0")/../../.." && pwd)
dir=$(mktemp -d /tmp/test-switch.XXXXXX)
daemon_pid=
trap 'stop_daemon; rm -rf "$dir"' EXIT
export OVS_RUNDIR=$dir/run
switch=$dir/bin/ovs-kdp-switch
status=0
n=0

# Ends the daemon that runs, if any does.
stop_daemon () {
    [ -z "$daemon_pid" ] || { kill "$daemon_pid"; wait "$daemon_pid"; }
    daemon_pid=
    rm -f "$OVS_RUNDIR/ovs-vswitchd.pid"
} 2> /dev/null

# Runs the daemon that is file $1.  It waits for input that never comes.
start_daemon () {
    stop_daemon
    "$1" < "$dir/never" &
    daemon_pid=$!
    # Until the process has become the program it is a copy of this shell.
    until [ "$(readlink /proc/$daemon_pid/exe)" = "$1" ]; do
        kill -0 $daemon_pid || return 1
    done
    echo $daemon_pid > "$OVS_RUNDIR/ovs-vswitchd.pid"
}

# Replaces the file of daemon $1, as an upgrade does.
replace () {
    cp "$dir/lib/$1/ovs-vswitchd" "$dir/new" \
        && mv "$dir/new" "$dir/lib/$1/ovs-vswitchd"
}

# Installs the daemons of packages $@ with their priorities, in folders that are
# empty otherwise.
install () {
    local name
    stop_daemon
    rm -rf "$dir"/{bin,lib,alternatives,admin,sbin,run,log,systemd,etc}
    mkdir -p "$dir"/{bin,alternatives,admin,sbin,run,etc/default,etc/sysconfig}
    sed -e "s|@kdplibdir@|$dir/lib/kdp|; s|@ovs_alternative@|ovs-vswitchd|
            s|@ovs_daemon@|$dir/lib/stock/ovs-vswitchd|
            s|@ovs_service@|openvswitch-switch|
            s|/run/systemd/system|$dir/systemd|; s|/etc/|$dir/etc/|g" \
        "$srcdir/utilities/ovs-kdp-switch.in" > "$switch"
    cat > "$dir/bin/update-alternatives" << END
#!/bin/sh
PATH=$PATH
exec update-alternatives --altdir $dir/alternatives --admindir $dir/admin \
    --log $dir/log "\$@"
END
    cat > "$dir/bin/service" << END
#!/bin/sh
echo "\$@" >> $dir/restarts
END
    cat > "$dir/bin/systemctl" << END
#!/bin/sh
case "\$*" in
*is-active*) ;;
# There is nothing to reset.
*reset-failed*) exit 1 ;;
*FragmentPath*) echo $dir/unit ;;
*) echo "\$@" >> $dir/restarts ;;
esac
END
    printf '#!/bin/sh\necho "$@" >> %s\n' "$dir/questions" \
        > "$dir/bin/ovs-vsctl"
    : > "$dir/restarts"
    : > "$dir/questions"
    chmod +x "$dir"/bin/*
    for name; do
        mkdir -p "$dir/lib/${name%:*}"
        cp "$(command -v cat)" "$dir/lib/${name%:*}/ovs-vswitchd"
        "$dir/bin/update-alternatives" --quiet --install \
            "$dir/sbin/ovs-vswitchd" ovs-vswitchd \
            "$dir/lib/${name%:*}/ovs-vswitchd" "${name#*:}" || return 1
    done
}

# Runs the program with arguments $2....  Checks that it ends with status $1.
switches () {
    local expected=$1 got=0
    shift
    PATH=$dir/bin:$PATH sh "$switch" "$@" > "$dir/out" 2> "$dir/err" || got=$?
    [ $got -eq "$expected" ] && return
    echo "# ovs-kdp-switch $*: status $got, expected $expected"
    sed 's/^/# /' "$dir/out" "$dir/err"
    return 1
}

# Checks that the program printed line $1.
said () {
    grep -qxF -e "$1" "$dir/out" || {
        echo "# no line \"$1\" in:"
        sed 's/^/# /' "$dir/out"
        return 1
    }
}

complained () {
    grep -qF -e "$1" "$dir/err" || {
        echo "# \"$1\" not in:"
        sed 's/^/# /' "$dir/err"
        return 1
    }
}

# Checks that daemon $1 is what the services start.
link_is () {
    [ "$(readlink -f "$dir/sbin/ovs-vswitchd")" \
        = "$dir/lib/$1/ovs-vswitchd" ]
}

test_package_is_preferred () {
    install stock:100 && link_is stock && switches 0 status \
        && said "chosen: stock (auto)" && said "running: none" \
        && install stock:100 kdp:200 && link_is kdp && switches 0 status \
        && said "chosen: kdp (auto)"
}

test_there_and_back () {
    install stock:100 kdp:200 && switches 0 stock && link_is stock \
        && switches 0 status && said "chosen: stock (manual)" \
        && switches 0 kdp && link_is kdp && switches 0 status \
        && said "chosen: kdp (manual)" && [ ! -s "$dir/restarts" ]
}

test_what_runs () {
    install stock:100 kdp:200 \
        && start_daemon "$dir/lib/stock/ovs-vswitchd" \
        && switches 3 status && said "chosen: kdp (auto)" \
        && said "running: stock" \
        && said "The chosen one starts at the next restart." \
        && switches 0 stock && switches 0 status && said "running: stock"
}

# A daemon runs on when its file is gone.
test_upgraded () {
    install stock:100 kdp:200 && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && replace kdp && switches 3 status \
        && said "running: kdp, whose file was replaced or removed since"
}

# Checks that the service was told $@, once.
restarted_by () {
    [ "$(cat "$dir/restarts")" = "$*" ] || {
        echo "# expected \"$*\" in:"
        sed 's/^/# /' "$dir/restarts"
        return 1
    }
}

# Only a daemon that is not the chosen one is restarted.
test_restart () {
    install stock:100 kdp:200 && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && switches 0 --restart kdp && [ ! -s "$dir/restarts" ] \
        && switches 0 --restart stock \
        && restarted_by openvswitch-switch restart --save-flows=yes \
        && start_daemon "$dir/lib/stock/ovs-vswitchd" && switches 0 kdp \
        && grep -q -e '--restart kdp' "$dir/out" \
        && [ "$(wc -l < "$dir/restarts")" = 1 ]
}

test_restart_by_systemd () {
    install stock:100 kdp:200 && mkdir "$dir/systemd" \
        && start_daemon "$dir/lib/stock/ovs-vswitchd" \
        && switches 0 --restart kdp && restarted_by reload openvswitch-switch
}

# Where a daemon does not start, the other one is started.  Its file has the
# process id that it had, which may be another program's by now.  Whoever only
# chooses starts none.
test_restart_of_none () {
    local init pid
    for init in '':1073741824 systemd:1073741824 systemd:$$; do
        pid=${init#*:}
        init=${init%:*}
        install stock:100 kdp:200 && mkdir -p "$dir/$init" \
            && echo "$pid" > "$OVS_RUNDIR/ovs-vswitchd.pid" \
            && switches 0 status && said "running: none" \
            && switches 0 stock && ! grep -q restart "$dir/out" \
            && [ ! -s "$dir/restarts" ] && switches 0 --restart stock || return
        if [ "$init" ]; then
            restarted_by restart ovs-vswitchd
        else
            restarted_by openvswitch-switch restart --save-flows=yes
        fi || return
    done
}

# What alternatives(8) of Fedora prints differs in these lines.
test_words_of_fedora () {
    install stock:100 kdp:200 || return
    mv "$dir/bin/update-alternatives" "$dir/bin/program-of-debian"
    cat > "$dir/bin/update-alternatives" << END
#!/bin/sh
$dir/bin/program-of-debian "\$@" > $dir/said || exit
sed '1s/ - \(.*\) mode$/ - status is \1./; /link best/d; s/^  link/ link/' \
    $dir/said
END
    chmod +x "$dir/bin/update-alternatives"
    switches 0 status && said "chosen: kdp (auto)" \
        && switches 0 stock && link_is stock && switches 0 status \
        && said "chosen: stock (manual)" \
        && "$dir/bin/update-alternatives" --display ovs-vswitchd \
            | grep -q "status is manual"
}

# The stock daemon may be a link to another folder.
test_merged_folders () {
    install stock:100 kdp:200 && mv "$dir/lib/stock" "$dir/lib/merged" \
        && ln -s merged "$dir/lib/stock" \
        && start_daemon "$dir/lib/merged/ovs-vswitchd" && switches 3 status \
        && said "running: stock" && switches 0 --restart stock \
        && [ ! -s "$dir/restarts" ] && switches 0 status \
        && said "chosen: stock (manual)"
}

# Makes ovs-appctl answer "handover/NAME", as $1 is "NAME", with $2 and status 2,
# and all other commands with nothing.
appctl_fails () {
    cat > "$dir/bin/ovs-appctl" << END
#!/bin/sh
echo "\$*" >> $dir/commands
case "\$*" in
*handover/$1*) printf '$2\novs-appctl: d: server returned an error\n' >&2; exit 2 ;;
esac
END
    chmod +x "$dir/bin/ovs-appctl"
    : > "$dir/commands"
}

# A daemon that cannot hand over is restarted, after a reason.
test_handover_that_fails () {
    install stock:100 kdp:200 && switches 1 handover && complained "no daemon" \
        && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && appctl_fails start '"handover/start" is not a valid command' \
        && switches 0 handover \
        && said "no handover: the daemon that runs has none" \
        && restarted_by openvswitch-switch restart --save-flows=yes \
        && : > "$dir/restarts" && appctl_fails commit 'it took too long' \
        && switches 0 handover && said "no handover: it took too long" \
        && grep -q handover/abort "$dir/commands" \
        && restarted_by openvswitch-switch restart --save-flows=yes
}

# Binds sockets at paths $@ and ends, as a daemon that is killed.
bind_sockets () {
    python3 -c 'import socket, sys
for path in sys.argv[1:]:
    socket.socket(socket.AF_UNIX).bind(path)' "$@"
}

# Nor is one with meters handed over.
test_handover_with_meters () {
    install stock:100 kdp:200 && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && appctl_fails none '' || return
    printf '#!/bin/sh\necho meter=1\n' > "$dir/bin/ovs-ofctl"
    chmod +x "$dir/bin/ovs-ofctl"
    bind_sockets "$OVS_RUNDIR/br0.mgmt.next" && switches 0 handover && grep -q "^no handover: bridge br0 has meters" "$dir/out" \
        && grep -q handover/abort "$dir/commands" \
        && restarted_by openvswitch-switch restart --save-flows=yes
}

test_handover () {
    install stock:100 kdp:200 && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && appctl_fails none '' && switches 0 handover && [ ! -s "$dir/out" ] \
        && handed_over
}

# Checks that there was a handover and nothing else.
handed_over () {
    [ ! -s "$dir/restarts" ] \
        && [ "$(sed 's/.*-T [0-9]* //' "$dir/commands" | tr '\n' ' ')" = \
            "handover/start $dir/lib/kdp/ovs-vswitchd handover/prepare $(
            )handover/commit " ] || {
        echo "# another thing than a handover:"
        sed 's/^/# /' "$dir/restarts" "$dir/commands"
        return 1
    }
}

# Where the chosen daemon runs from a file that was replaced, a restart is a
# handover.
test_restart_of_replaced () {
    install stock:100 kdp:200 && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && replace kdp && appctl_fails none '' && switches 0 --restart kdp \
        && handed_over && appctl_fails start 'flows are offloaded' \
        && switches 0 --restart kdp && said "no handover: flows are offloaded" \
        && restarted_by openvswitch-switch restart --save-flows=yes \
        && replace stock && start_daemon "$dir/lib/stock/ovs-vswitchd" \
        && replace stock && appctl_fails none '' && switches 0 --restart stock \
        && [ ! -s "$dir/commands" ]
}

# Makes the unit of ovs-vswitchd, and the program by which it reloads.
make_unit () {
    cat > "$dir/unit" << 'END'
[Service]
ExecStart=ovs-ctl \
          start $OVS_CTL_OPTS
ExecReload=ovs-ctl --no-ovsdb-server \
          --no-monitor ${OVS_USER_OPT} \
          restart $OVS_CTL_OPTS
TimeoutSec=300
END
    for program in ovs-ctl systemd-notify; do
        printf '#!/bin/sh\necho %s "$@" >> %s\n' $program "$dir/restarts" \
            > "$dir/bin/$program"
        chmod +x "$dir/bin/$program"
    done
    export OVS_CTL_OPTS='--a=* --b'
}

# Checks that the daemon that ends was told that nobody gets its sockets.
cleared_sockets () {
    [ "$(tail -n 1 "$dir/commands")" \
        = "-vconsole:off -T 10 handover/clear-sockets" ]
}

# A reload of the service hands over, or does what its unit says.
test_reload () {
    local stock_does
    install stock:100 kdp:200 && make_unit \
        && start_daemon "$dir/lib/kdp/ovs-vswitchd" && appctl_fails none '' \
        && switches 0 reload && [ ! -s "$dir/out" ] && handed_over || return
    stock_does="ovs-ctl --no-ovsdb-server --no-monitor restart --a=* --b"
    appctl_fails start 'flows are offloaded' && switches 0 reload \
        && said "no handover: flows are offloaded" \
        && cleared_sockets && restarted_by "$stock_does
systemd-notify --pid=$daemon_pid" || return

    # With the stock daemon, running or chosen, there is no handover.
    : > "$dir/restarts"
    appctl_fails none '' && start_daemon "$dir/lib/stock/ovs-vswitchd" \
        && switches 0 reload && [ ! -s "$dir/out" ] \
        && restarted_by "$stock_does
systemd-notify --pid=$daemon_pid" || return
    : > "$dir/restarts"
    start_daemon "$dir/lib/kdp/ovs-vswitchd" && switches 0 stock \
        && switches 0 reload && restarted_by "$stock_does
systemd-notify --pid=$daemon_pid" && cleared_sockets \
        && ! grep -q handover/start "$dir/commands" || return

    # Its failure is the unit's.
    printf '#!/bin/sh\nexit 7\n' > "$dir/bin/ovs-ctl"
    switches 7 reload && rm "$dir/bin/ovs-ctl" && : > "$dir/unit" \
        && switches 1 reload && complained "does not say how to reload"
}

# After an upgrade the daemon hands over to the file that replaced its own, or goes
# on.
test_upgrade_hands_over () {
    local refusal
    install stock:100 kdp:200 && mkdir "$dir/systemd" && appctl_fails none '' \
        && switches 0 upgraded && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && switches 0 upgraded && [ ! -s "$dir/commands" ] && replace kdp \
        && switches 0 upgraded && [ ! -s "$dir/out" ] && handed_over || return
    refusal="ovs-kdp-switch: the previous version of ovs-vswitchd goes on:$(
        ) \"systemctl reload openvswitch-switch\" restarts it (no handover: "
    appctl_fails start 'flows are offloaded' && switches 0 upgraded \
        && said "${refusal}flows are offloaded)" \
        && [ "$(wc -l < "$dir/out")" = 1 ] && [ ! -s "$dir/restarts" ] || return

    # Somebody does not want it.
    appctl_fails none '' || return
    for file in default/openvswitch-switch sysconfig/openvswitch-switch; do
        echo 'OVS_KDP_HANDOVER_ON_UPGRADE="no"' > "$dir/etc/$file"
        switches 0 upgraded && said "${refusal}OVS_KDP_HANDOVER_ON_UPGRADE=no)" \
            && rm "$dir/etc/$file" || return
    done
    rmdir "$dir/systemd" && switches 0 upgraded && [ ! -s "$dir/out" ] \
        && mkdir "$dir/systemd" && switches 0 stock && switches 0 upgraded \
        && [ ! -s "$dir/out" ] \
        && [ ! -s "$dir/commands" ] && [ ! -s "$dir/restarts" ]
}

# Only the handover that somebody else is in the middle of goes on: a restart would
# save rules of bridges that have no management sockets.
test_another_handover () {
    local refusal='there is another handover'
    install stock:100 kdp:200 && make_unit \
        && start_daemon "$dir/lib/kdp/ovs-vswitchd" && replace kdp \
        && appctl_fails start "$refusal" \
        && switches 1 handover && complained "no handover: $refusal" \
        && switches 1 reload && complained "no handover: $refusal" \
        && switches 1 --restart kdp && complained "no handover: $refusal" \
        && [ ! -s "$dir/restarts" ] && mkdir "$dir/systemd" \
        && switches 0 upgraded && grep -q "goes on.*$refusal" "$dir/out"
}

# Makes ovs-appctl move the management socket of br0 away in "prepare", fail in
# "commit", and leave the way back to "sleep", when that was called $1 times.
management_is_away () {
    local br0="$OVS_RUNDIR/br0.mgmt"
    install stock:100 kdp:200 && make_unit \
        && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && appctl_fails commit 'it took too long' \
        && bind_sockets "$br0" "$br0.next" || return
    sed -i "s|^case|case \"\$*\" in *prepare*) mv $br0 $br0.old ;; esac\\n&|" \
        "$dir/bin/ovs-appctl"
    cat > "$dir/bin/sleep" << END
#!/bin/sh
echo >> $dir/sleeps
[ \$(wc -l < $dir/sleeps) -ne $1 ] || mv $br0.old $br0
END
    # Without rules; "probe" finds who listens.
    printf '#!/bin/sh\nexit 0\n' > "$dir/bin/ovs-ofctl"
    # What restarts the daemon needs the socket.
    cat > "$dir/bin/service" << END
#!/bin/sh
[ -S $br0 ] && echo "\$@" >> $dir/restarts
END
    cp "$dir/bin/service" "$dir/bin/ovs-ctl"
    chmod +x "$dir"/bin/*
    : > "$dir/sleeps"
}

# Before a restart, management sockets that a handover has moved come back.
test_management_returns () {
    local await="Waiting for $OVS_RUNDIR/br0.mgmt, where OpenFlow rules are saved."
    management_is_away 3 && switches 0 handover && said "$await" \
        && said "no handover: it took too long" \
        && restarted_by openvswitch-switch restart --save-flows=yes \
        && [ "$(wc -l < "$dir/sleeps")" = 3 ] || return
    management_is_away 60 && switches 0 reload && said "$await" \
        && grep -q restart "$dir/restarts" || return

    # Nobody moves a socket before "prepare".
    management_is_away 1 && appctl_fails start 'flows are offloaded' \
        && switches 0 handover && [ ! -s "$dir/sleeps" ] \
        && ! grep -q Waiting "$dir/out" && [ -s "$dir/restarts" ]
}

# If one does not come back, there is no restart.
test_management_is_lost () {
    local command loss="restarting now would lose OpenFlow rules"
    for command in handover reload; do
        management_is_away 61 && switches 1 $command && complained "$loss" \
            && [ ! -s "$dir/restarts" ] || return
    done

    # Somebody else's handover has moved it.
    management_is_away 999 && "$dir/bin/ovs-appctl" prepare \
        && switches 1 --restart stock && complained "$loss" \
        && switches 1 reload && complained "$loss" \
        && [ ! -s "$dir/restarts" ] || return

    # A daemon that has died has no rules.
    management_is_away 61 || return
    printf '#!/bin/sh\nrm -f %s\n' "$OVS_RUNDIR/ovs-vswitchd.pid" \
        > "$dir/bin/sleep"
    printf '#!/bin/sh\necho "$@" >> %s\n' "$dir/restarts" > "$dir/bin/service"
    switches 0 handover \
        && restarted_by openvswitch-switch restart --save-flows=yes
}

# Without the database there is no restart either: what saves the rules gets the
# list of bridges from there, and does not fail if it gets none.
test_database_is_away () {
    local command loss="ovsdb-server does not answer"
    for command in handover reload "--restart stock"; do
        install stock:100 kdp:200 && make_unit \
            && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
            && appctl_fails start 'the database is away' || return
        printf '#!/bin/sh\nexit 1\n' > "$dir/bin/ovs-vsctl"
        # The words are separate.
        switches 1 $command && complained "$loss" \
            && [ ! -s "$dir/restarts" ] || return
    done

    # It may come back within a minute.
    install stock:100 kdp:200 && make_unit \
        && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && appctl_fails start 'the database is away' \
        && switches 0 reload && [ -s "$dir/restarts" ] \
        && grep -q -e '--timeout=60 --retry' "$dir/questions" || return

    # A daemon that does not run has no rules.
    stop_daemon
    : > "$dir/restarts"
    printf '#!/bin/sh\nexit 1\n' > "$dir/bin/ovs-vsctl"
    switches 0 reload && [ -s "$dir/restarts" ]
}

# A tool that is stopped half-way tells the daemon.
test_interrupted () {
    install stock:100 kdp:200 && start_daemon "$dir/lib/kdp/ovs-vswitchd" \
        && appctl_fails none '' || return
    sed -i 's/^case/case "$*" in *prepare*) kill -TERM 0 ;; esac\n&/' \
        "$dir/bin/ovs-appctl"
    PATH=$dir/bin:$PATH setsid -w sh "$switch" handover > "$dir/out" 2>&1
    [ $? -eq 1 ] && [ "$(tail -n 1 "$dir/commands")" \
        = "-vconsole:off -T 10 handover/abort" ] && [ ! -s "$dir/restarts" ]
}

test_other_daemon () {
    install stock:100 dpdk:50 && "$dir/bin/update-alternatives" --quiet \
            --set ovs-vswitchd "$dir/lib/dpdk/ovs-vswitchd" \
        && switches 0 status \
        && said "chosen: $dir/lib/dpdk/ovs-vswitchd (manual)"
}

# Removal of the package, as its script does it, leaves the stock daemon, even
# where somebody chose the other one by hand.
test_removed () {
    install stock:100 kdp:200 && switches 0 kdp \
        && "$dir/bin/update-alternatives" --quiet --remove ovs-vswitchd \
            "$dir/lib/kdp/ovs-vswitchd" \
        && link_is stock && switches 1 kdp && complained "is not installed" \
        && link_is stock
}

test_nothing_installed () {
    install && switches 1 status && complained "openvswitch-switch" \
        && switches 1 kdp
}

test_wrong_usage () {
    install stock:100 kdp:200 && switches 2 \
        && complained "expected kdp, stock, handover, reload, status or upgraded" \
        && switches 2 dpdk && complained '"dpdk"' \
        && switches 2 kdp stock && complained "kdp and stock" \
        && switches 0 --help && grep -q '^usage: ' "$dir/out" && link_is kdp
}

mkfifo "$dir/never" && exec 8<> "$dir/never" || exit 1
tests='package_is_preferred there_and_back what_runs upgraded restart
       restart_by_systemd restart_of_none words_of_fedora merged_folders
       handover_that_fails handover_with_meters handover restart_of_replaced
       reload upgrade_hands_over another_handover management_returns
       management_is_lost database_is_away interrupted other_daemon removed nothing_installed
       wrong_usage'
if ! command -v update-alternatives > /dev/null; then
    echo "1..0 # SKIP no update-alternatives"
    exit 0
fi
# shellcheck disable=SC2086 # Several words.
set -- $tests
echo "1..$#"
for name; do
    ok=ok
    "test_$name" || { ok='not ok'; status=1; }
    echo "$ok $((++n)) - switch: ${name//_/ }"
done
exit $status
