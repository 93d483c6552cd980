#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests utilities/guest, which the tests of the datapath rely on to fail when
# something is wrong: a runner that passes too easily would hide everything.
# Prints TAP.  Each guest takes 5 to 10 s.

cd "$(dirname "$0")/../.." || exit 1
guest=$PWD/utilities/guest

# All temporary folders and, through their paths, all processes of the guests
# can be told from others by this one.
TMPDIR=$(mktemp -d /tmp/test-guest.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# Temporary folders of the guests go to a folder of their own.
out=$TMPDIR/out
mkdir "$out"
logs=$out/logs

n=0
failures=0
start=0

# Reports test $1, passed if $2 (a status) is 0.
result () {
    local now=$SECONDS
    n=$((n + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $n - $1 # $((now - start)) s"
    else
        failures=$((failures + 1))
        echo "not ok $n - $1"
        # What the guest and the command said helps to see why.
        sed 's/^/# stdout: /' "$out/stdout"
        sed 's/^/# stderr: /' "$out/stderr"
    fi
    start=$now
}

# Runs the guest runner.  Leaves its status in $status.  What is tested does not
# depend on the number of processors, and one takes a quarter less to emulate.
run () {
    run_program "$guest" --cpus 1 "$@" < /dev/null
}

run_program () {
    "$@" > "$out/stdout" 2> "$out/stderr"
    status=$?
}

said () {
    grep -qF -e "$1" "$out/stderr"
}

# Succeeds when no process and no folder of a guest is left.
nothing_left () {
    ! pgrep -f "$TMPDIR/guest" > /dev/null && ! compgen -G "$TMPDIR/guest*"
}

wait_until () {
    local limit=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $limit ] || return 1
        sleep 0.2
    done
}

test_pass () {
    run -- uname -a
    [ "$status" -eq 0 ] && grep -q '^Linux guest 6\.' "$out/stdout" \
        && [ ! -s "$out/stderr" ] && nothing_left
}

test_arguments () {
    # shellcheck disable=SC2016 # Nobody is to expand these.
    local words=("a  b" "it's" '"$HOME" * `x`' '' $'new\nline' '--' NAME=v=)
    # shellcheck disable=SC2016 # The guest's shell expands these.
    run --env 'KDP_X=1 "2'\' -- sh -c '
        printf "%s|" "$PWD" "$@"; echo "$KDP_X" >&2; exit 7' sh "${words[@]}"
    [ "$status" -eq 7 ] && said '1 "2'\' \
        && printf '%s|' "$PWD" "${words[@]}" | cmp -s - "$out/stdout"
}

test_logs () {
    # The background process holds the output open: the guest must end anyway.
    # shellcheck disable=SC2016
    run --logs "$logs" -- sh -c '
        sleep 1000 &
        echo to-stdout; echo to-stderr >&2
        echo report > "$GUEST_LOGS/report"
        echo written > '"$PWD"'/guest-wrote-this
        cat '"$PWD"'/guest-wrote-this'
    [ "$status" -eq 0 ] && [ "$(cat "$logs/report")" = report ] \
        && grep -q to-stdout "$logs/output.log" \
        && grep -q to-stderr "$logs/output.log" \
        && [ "$(cat "$out/stdout")" = $'to-stdout\nwritten' ] \
        && [ "$(cat "$out/stderr")" = to-stderr ] \
        && grep -q 'Linux version' "$logs/kernel.log" \
        && [ -e "$logs/console.log" ] \
        && [ ! -e guest-wrote-this ] && nothing_left
}

test_environment () {
    # shellcheck disable=SC2016
    run_program "$guest" -- sh -ec '
        test -c /dev/net/tun
        test "$(cat /sys/class/net/lo/operstate)" = unknown
        ping -c 1 -W 5 127.0.0.1 > /dev/null
        for dir in /var/run/openvswitch /etc/openvswitch /var/log/openvswitch
        do
            test -z "$(ls -A $dir)"
            touch $dir/probe
        done
        touch /tmp/probe /usr/bin/probe
        test "$(nproc)" = 2
        modprobe openvswitch
        ip netns add a
        ip netns exec a ip link show lo > /dev/null
        test "$(ps -C systemd-udevd -o pid=)" = ""' < /dev/null
    [ "$status" -eq 0 ]
}

# The guest does not ask the host for programs that are started often.  The
# kernel finds modules, and asks once for those that do not exist.
test_files () {
    # shellcheck disable=SC2016
    run -- sh -ec '
        requests () {
            awk "/virtio.*-requests/ { n += \$2 + \$3 } END { print n }" \
                /proc/interrupts
        }
        ip link show lo > /dev/null
        before=$(requests)
        for i in 1 2 3 4 5 6 7 8 9 10; do
            ip link show lo
        done > /dev/null
        after=$(requests)
        echo "$((after - before)) requests"
        test $((after - before)) -lt 10
        ip link add name one type dummy
        ! ip link add name two type nonesuch
        ls /run/guest-modprobe/unknown > /run/unknown
        grep -qx rtnl-link-nonesuch /run/unknown
        ! grep dummy /run/unknown'
    [ "$status" -eq 0 ]
}

# What guests start from is made anew when a file of the host changes.
test_changed_files () {
    run_program python3 -B - "$guest" "$out/files" << 'END'
import importlib.machinery
import importlib.util
import os
import sys

loader = importlib.machinery.SourceFileLoader("guest", sys.argv[1])
guest = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("guest", loader))
loader.exec_module(guest)
top = sys.argv[2]
os.makedirs(f"{top}/lib")
for name in "a", "b":
    with open(f"{top}/lib/{name}", "w") as f:
        f.write(name)
os.symlink("lib", f"{top}/short")
os.symlink("a", f"{top}/lib/link")

files = guest.FileSet()
files.add(f"{top}/short/link")
files.add(f"{top}/nothing")
found = {path[len(top):] for path in files.paths if path.startswith(top)}
assert found == {"", "/short", "/lib", "/lib/link", "/lib/a"}, found

state = files.state()
with open(f"{top}/lib/b", "w") as f:
    f.write("other")
assert files.state() == state
with open(f"{top}/lib/a", "w") as f:
    f.write("other")
changed = files.state()
assert changed != state
os.unlink(f"{top}/short")
os.symlink("./lib", f"{top}/short")
assert files.state() != changed
END
    [ "$status" -eq 0 ]
}

test_time_limit () {
    local before=$SECONDS
    run --time-limit 15 --logs "$logs" -- sleep 1000
    [ "$status" -eq 124 ] && said 'time limit of 15 s' \
        && [ $((SECONDS - before)) -lt 30 ] && [ -s "$logs/console.log" ] \
        && nothing_left
}

test_silence () {
    # What is written at times goes on, however long.
    run --silence 15 -- sh -c '
        for i in 1 2 3 4; do sleep 4; echo $i; done; exit 3'
    [ "$status" -eq 3 ] || return 1
    run --silence 15 --logs "$logs" -- sh -c 'echo begun; sleep 1000'
    [ "$status" -eq 124 ] && said 'the command wrote nothing for' \
        && [ "$(cat "$out/stdout")" = begun ] && nothing_left
}

test_share () {
    mkdir -p "$out/shared/logs"
    # shellcheck disable=SC2016
    run --share "$out/shared" --logs "$out/shared/logs" -- sh -c '
        cd "$1" && echo one > file && mkdir folder && ! mkdir folder
        echo two > "$GUEST_LOGS/file"' sh "$out/shared"
    [ "$status" -eq 0 ] && [ "$(cat "$out/shared/file")" = one ] \
        && [ -d "$out/shared/folder" ] \
        && [ "$(cat "$out/shared/logs/file")" = two ] || return 1
    run --share "$out/nowhere" -- true
    [ "$status" -eq 125 ] && said 'no such folder'
}

# How slow the guest is can be read at any time, and what it waits for on a
# busy host shows: here, for a processor that it shares with five others.
test_slowness () {
    local pids=() i pid rc
    : > "$out/stdout"
    # shellcheck disable=SC2016
    taskset -c 0 "$guest" --time-limit 1800 -- sh -c '
        while read -r slowness < $GUEST_SLOWNESS; do
            echo $slowness
            [ $slowness -lt 3 ] || exit 9
        done' > "$out/stdout" 2> "$out/stderr" < /dev/null &
    pid=$!
    wait_until test -s "$out/stdout"
    for ((i = 0; i < 5; i++)); do
        taskset -c 0 sh -c 'while :; do :; done' &
        pids+=($!)
    done
    wait $pid
    rc=$?
    kill "${pids[@]}"
    wait "${pids[@]}" 2> /dev/null
    [ $rc -eq 9 ]
}

# One line for each kind of report, as Linux 6.1 writes them.
kernel_lines='BUG: kernel NULL pointer dereference, address: 0000000000000000
BUG: sleeping function called from invalid context at mm/slab.h:1
BUG: KASAN: use-after-free in f+0x1/0x2
WARNING: CPU: 0 PID: 1 at net/core/dev.c:1 f+0x1/0x2 [openvswitch]
WARNING: possible circular locking dependency detected
WARNING: possible recursive locking detected
WARNING: suspicious RCU usage
Oops: 0002 [#1] PREEMPT SMP PTI
general protection fault, probably for non-canonical address 0x1: 0000 [#1]
kernel BUG at net/core/skbuff.c:1!
UBSAN: shift-out-of-bounds in net/x.c:1:1
unregister_netdevice: waiting for veth0 to become free. Usage count = 2
kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
rcu: INFO: rcu_preempt self-detected stall on CPU
watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [a:1]
INFO: task ovs-vswitchd:1 blocked for more than 120 seconds.'

test_kernel_reports () {
    local line missed=0
    # shellcheck disable=SC2016
    run --logs "$logs" --env LINES_="$kernel_lines" \
        --allow-dmesg 'allowed [0-9]+' -- sh -c '
        echo "$LINES_" | while read -r line; do
            echo "$line" > /dev/kmsg
        done
        echo "WARNING: allowed 12" > /dev/kmsg
        exit 3'
    while read -r line; do
        if ! said "$line"; then
            echo "# missed: $line"
            missed=1
        fi
    done <<< "$kernel_lines"
    [ "$status" -eq 126 ] && [ $missed -eq 0 ] && ! said 'allowed 12' \
        && said "command's status was 3"
}

# Its trace is allowed, too, but no other one.
test_allowed_report () {
    run --allow-dmesg 'CPU: 0 PID: 1 at' -- sh -c '
        echo "WARNING: CPU: 0 PID: 1 at x" > /dev/kmsg
        echo "Call Trace:" > /dev/kmsg; exit 3'
    [ "$status" -eq 3 ] && ! said 'kernel reports' || return
    run --logs "$logs" --allow-dmesg 'CPU: 0 PID: 1 at' -- sh -c '
        echo "WARNING: CPU: 0 PID: 1 at x" > /dev/kmsg
        echo "WARNING: CPU: 0 PID: 2 at y" > /dev/kmsg
        echo "Call Trace: of the second" > /dev/kmsg; exit 3'
    [ "$status" -eq 126 ] && said 'PID: 2 at y' && said 'of the second' \
        && ! said 'PID: 1 at x'
}

test_crash () {
    run --logs "$logs" -- sh -c 'echo c > /proc/sysrq-trigger; sleep 100'
    [ "$status" -eq 125 ] && said 'guest died before the command ended' \
        && said "$logs/console.log" && said 'Kernel panic' && nothing_left
}

test_killed_command () {
    # shellcheck disable=SC2016
    run -- sh -c 'kill -9 $$'
    [ "$status" -eq 137 ]
}

# $1 is the signal, $2 the status expected of it.
interrupted () {
    # What an earlier test left there must not be taken for this one's.
    : > "$out/stdout"
    local pid rc
    # An interactive shell's background jobs get SIGINT, those of a script do
    # not; env undoes that.
    env --default-signal=INT "$guest" --logs "$logs" -- sh -c \
        'echo running; sleep 1000' > "$out/stdout" 2> "$out/stderr" &
    pid=$!
    wait_until grep -q running "$out/stdout" || return 1
    kill "-$1" $pid
    wait $pid 2> /dev/null
    rc=$?
    [ $rc -eq "$2" ]
}

test_interrupt () {
    interrupted INT 130 && said 'interrupted by SIGINT' && nothing_left
}

test_terminate () {
    interrupted TERM 143 && nothing_left
}

no_process_left () {
    ! pgrep -f "$TMPDIR/guest" > /dev/null
}

test_sudden_death () {
    # Nobody removes the folders then.
    interrupted KILL 137 && wait_until no_process_left
    local rc=$?
    rm -rf "$TMPDIR"/guest*
    return $rc
}

test_shell () {
    printf 'echo answer-$((6 * 7)); exit 5\n' \
        | "$guest" --shell > "$out/stdout" 2> "$out/stderr"
    [ $? -eq 5 ] && grep -q answer-42 "$out/stdout" && nothing_left
}

test_command_then_shell () {
    printf 'cat /run/words; exit 5\n' \
        | "$guest" --shell -- sh -c 'echo from-command > /run/words; exit 4' \
        > "$out/stdout" 2> "$out/stderr"
    [ $? -eq 4 ] && grep -q from-command "$out/stdout"
}

test_virtual_time () {
    local before=$SECONDS
    # shellcheck disable=SC2016
    run --icount --time-limit 190 -- sh -c '
        test "$(nproc)" = 1 || exit 1
        cut -d. -f1 /proc/uptime; date +%s; sleep 200
        cut -d. -f1 /proc/uptime; date +%s'
    [ "$status" -eq 0 ] && [ $((SECONDS - before)) -lt 195 ] \
        && awk '{ t[NR] = $1 }
                END { exit !(t[3] - t[1] >= 200 && t[4] - t[2] >= 200) }' \
               "$out/stdout"
}

test_nics () {
    # shellcheck disable=SC2016
    run --nics 2 -- sh -c 'modprobe virtio_net; ls /sys/class/net
        ip link set eth1 up; ethtool -s eth1 speed 2500 duplex full
        cat /sys/class/net/eth1/speed /sys/class/net/eth1/carrier'
    [ "$status" -eq 0 ] \
        && [ "$(echo $(cat "$out/stdout"))" = "eth0 eth1 lo 2500 1" ]
}

test_usage () {
    local args
    for args in "" "--cpus 0 -- true" "--bogus" "--env 1=2 -- true" \
                "--icount --cpus 2 -- true" "--kernel /etc/passwd -- true" \
                "--kernel /nonexistent -- true"; do
        # shellcheck disable=SC2086 # Several words.
        run $args
        if [ "$status" -ne 125 ] || [ ! -s "$out/stderr" ]; then
            echo "# arguments: $args"
            return 1
        fi
    done
    nothing_left
}

test_release () {
    local modules release
    run --print-modules && [ "$status" -eq 0 ] || return 1
    modules=$(cat "$out/stdout")
    release=${modules##*/}
    [ "$modules" = "/lib/modules/$release" ] \
        && [ -e "/boot/vmlinuz-$release" ] || return 1
    run --kernel "/boot/vmlinuz-$release" --print-modules
    [ "$(cat "$out/stdout")" = "$modules" ] || return 1
    run -- uname -r
    [ "$status" -eq 0 ] && [ "$(cat "$out/stdout")" = "$release" ] || return 1
    nothing_left
}

# A kernel whose package was unpacked somewhere has its modules there.
test_kernel_that_is_not_installed () {
    local release root=$out/unpacked
    release=$(basename "$("$guest" --print-modules)") || return 1
    mkdir -p "$root/boot" "$root/lib/modules"
    cp "/boot/vmlinuz-$release" "$root/boot/"
    cp -rl "/lib/modules/$release" "$root/lib/modules/" 2> /dev/null \
        || cp -r "/lib/modules/$release" "$root/lib/modules/"
    run --kernel "$root/boot/vmlinuz-$release" --print-modules
    [ "$(cat "$out/stdout")" = "$root/lib/modules/$release" ] || return 1
    run --cache-dir "$out/cache" --kernel "$root/boot/vmlinuz-$release" -- \
        sh -c 'readlink /lib/modules/$(uname -r) && modprobe openvswitch'
    [ "$status" -eq 0 ] \
        && [ "$(cat "$out/stdout")" = "$root/lib/modules/$release" ] \
        || return 1
    # What was kept of that one does not serve the other.
    run --cache-dir "$out/cache" -- sh -c '[ -d /lib/modules/$(uname -r)/kernel ] \
                  && [ ! -L /lib/modules/$(uname -r) ]'
    [ "$status" -eq 0 ] || return 1
    rm -r "$root"
    nothing_left
}

test_reader_that_stops () {
    local rc
    "$guest" -- sh -c 'seq 100000; exit 6' 2> "$out/stderr" | head -n 1 \
        > "$out/stdout"
    rc=${PIPESTATUS[0]}
    [ "$rc" -eq 6 ] && [ "$(cat "$out/stdout")" = 1 ] && [ ! -s "$out/stderr" ]
}

test_missing_packages () {
    mkdir "$out/bin"
    # The first python3 of $PATH may be a script that needs other programs.
    ln -s "$(python3 -c 'import sys; print(sys.executable)')" \
        "$out/bin/python3"
    PATH=$out/bin run -- true
    [ "$status" -eq 125 ] && said 'apt-get install qemu-system-x86' \
        && nothing_left
}

test_dead_qemu () {
    mkdir "$out/bin2"
    printf '#!/bin/sh\necho out of luck >&2\nexit 1\n' \
        > "$out/bin2/qemu-system-x86_64"
    chmod +x "$out/bin2/qemu-system-x86_64"
    PATH=$out/bin2:$PATH run --logs "$logs" -- true
    [ "$status" -eq 125 ] && said 'out of luck'
}

# A QEMU that does nothing, the first $1 times, in which another run clears the
# cache.
hanging_qemu () {
    mkdir -p "$out/bin3"
    : > "$out/starts"
    cat > "$out/bin3/qemu-system-x86_64" << END
#!/bin/sh
echo >> $out/starts
[ \$(wc -l < $out/starts) -gt $1 ] || { rm -rf $out/cache; exec sleep 1000; }
exec $(command -v qemu-system-x86_64) "\$@"
END
    chmod +x "$out/bin3/qemu-system-x86_64"
}

# A guest that does not boot is started once more, and that is said.
test_boot_once_more () {
    rm -rf "$logs"
    hanging_qemu 1
    # So long that the second one boots, on a busy machine, too.
    GUEST_BOOT_LIMIT=60 PATH=$out/bin3:$PATH run --accel tcg \
        --cache-dir "$out/cache" --logs "$logs" -- echo here
    [ "$status" -eq 0 ] && [ "$(cat "$out/stdout")" = here ] \
        && said 'did not boot in 60 s' && said 'trying once more' \
        && [ -s "$logs/kernel.log" ] \
        && [ "$(wc -l < "$out/starts")" -eq 2 ]
}

# But not for ever.
test_no_boot () {
    hanging_qemu 9
    GUEST_BOOT_LIMIT=1 PATH=$out/bin3:$PATH run --accel tcg \
        --cache-dir "$out/cache" --logs "$logs" -- true
    [ "$status" -eq 125 ] && said 'did not boot in 1 s' \
        && [ "$(wc -l < "$out/starts")" -eq 2 ]
}

tests='pass arguments logs environment files changed_files time_limit silence share slowness
       nics kernel_reports allowed_report
       crash killed_command interrupt terminate sudden_death shell
       command_then_shell reader_that_stops virtual_time usage release
       kernel_that_is_not_installed
       missing_packages dead_qemu boot_once_more no_boot'

# shellcheck disable=SC2086 # Several words.
set -- ${*:-$tests}
echo "1..$#"
for name; do
    "test_$name"
    result "guest: ${name//_/ }" $?
done
[ $failures -eq 0 ]
