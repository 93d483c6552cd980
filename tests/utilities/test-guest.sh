#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests utilities/guest, which the tests of the datapath rely on to fail when
# something is wrong: a runner that passes too easily would hide everything.
# Prints TAP.
#
# A guest takes 5 to 10 s, and as much of a processor.  So tests share a guest
# where they can: run_NAME starts it, and of_run() shows each test what it
# left.  Where only the runner's own logic is tested, a script stands in for
# QEMU.

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

# Leaves $status and the output of run_$1, which the first test that asks for
# it starts.
of_run () {
    local dir=$out/run-$1
    if [ ! -e "$dir" ]; then
        "run_$1"
        mkdir "$dir"
        cp "$out/stdout" "$out/stderr" "$dir/"
        echo "$status" > "$dir/status"
    fi
    cp "$dir/stdout" "$dir/stderr" "$out/"
    status=$(cat "$dir/status")
}

# Runs the guest runner with commands $1 of bash in place of QEMU.
run_stand_in () {
    make_stand_in "$1"
    shift
    PATH=$out/stand-in:$PATH run --accel tcg "$@"
}

make_stand_in () {
    mkdir -p "$out/stand-in"
    {
        # shellcheck disable=SC2016 # The script expands these.
        echo '#!/bin/bash
              [ "$1" != --version ] || exit
              arguments="$*"
              control=${arguments#*guest.control=}
              control=${control%% *}
              output=${arguments#*id=stdout,path=}
              exec > "${output%% *}"
              # A process that shows to whom it belongs.
              hang () { exec -a "$control" sleep 1000; }
              booted () { : > "$control/started"; }
              ended () { echo "$1" > "$control/status"; exit 0; }'
        echo "$1"
    } > "$out/stand-in/qemu-system-x86_64"
    chmod +x "$out/stand-in/qemu-system-x86_64"
}

wait_until () {
    local limit=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $limit ] || return 1
        sleep 0.2
    done
}

# What a command finds in a guest, and what comes of it outside.  The name of a
# file in $out/shared/logs is that of a part, without an end if it passed.
words=("a  b" "it's" '"$HOME" * `x`' '' $'new\nline' '--' NAME=v=)

run_ordinary () {
    mkdir -p "$out/shared/logs"
    cat > "$out/in-guest" << 'END'
shared=$1
shift
part () {
    (set -e; "$1") > "$GUEST_LOGS/$1.failed" 2>&1
    [ $? -ne 0 ] || mv "$GUEST_LOGS/$1.failed" "$GUEST_LOGS/$1"
}

nics () {
    modprobe virtio_net
    ls /sys/class/net
    ip link set eth1 up
    ethtool -s eth1 speed 2500 duplex full
    cat /sys/class/net/eth1/speed /sys/class/net/eth1/carrier
}

requests () {
    awk '/virtio.*-requests/ { n += $2 + $3 } END { print n }' /proc/interrupts
}

files () {
    ip link show lo > /dev/null
    before=$(requests)
    for i in 1 2 3 4 5 6 7 8 9 10; do
        ip link show lo
    done > /dev/null
    after=$(requests)
    echo "$((after - before)) requests"
    test $((after - before)) -lt 10
    ip link add name one type dummy
    ! ip link add name two type nonesuch || return 1
    ls /run/guest-modprobe/unknown > /run/unknown
    grep -qx rtnl-link-nonesuch /run/unknown
    ! grep dummy /run/unknown
}

environment () {
    test -c /dev/net/tun
    test "$(cat /sys/class/net/lo/operstate)" = unknown
    ping -c 1 -W 5 127.0.0.1 > /dev/null
    for dir in /var/run/openvswitch /etc/openvswitch /var/log/openvswitch; do
        test -z "$(ls -A $dir)"
        touch $dir/probe
    done
    touch /tmp/probe /usr/bin/probe
    test "$(nproc)" = 2
    modprobe openvswitch
    ip netns add a
    ip netns exec a ip link show lo > /dev/null
    test "$(ps -C systemd-udevd -o pid=)" = ""
}

share () {
    (
        cd "$shared"
        echo one > file
        mkdir folder
        ! mkdir folder || exit 1
    )
    echo two > "$GUEST_LOGS/file"
}

modules () {
    test -d "/lib/modules/$(uname -r)/kernel"
    test ! -L "/lib/modules/$(uname -r)"
}

for name in nics files environment share modules; do
    part $name
done
echo "WARNING: CPU: 0 PID: 1 at x" > /dev/kmsg
echo "Call Trace:" > /dev/kmsg
uname -a
uname -r
sleep 1000 &
echo to-stdout
echo to-stderr >&2
echo report > "$GUEST_LOGS/report"
echo written > "$PWD/guest-wrote-this"
cat "$PWD/guest-wrote-this"
printf '%s|' "$PWD" "$@"
echo "$KDP_X" >&2
exit 7
END
    run_program "$guest" --nics 2 --env 'KDP_X=1 "2'\' \
        --share "$out/shared" --logs "$out/shared/logs" \
        --cache-dir "$out/cache" --allow-dmesg 'CPU: 0 PID: 1 at' -- \
        sh "$out/in-guest" "$out/shared" "${words[@]}" < /dev/null
}

# Succeeds if part $1 of what the guest did passed.
part_passed () {
    of_run ordinary
    [ -e "$out/shared/logs/$1" ] && return
    sed 's/^/# /' "$out/shared/logs/$1.failed"
    return 1
}

test_pass () {
    of_run ordinary
    head -n 1 "$out/stdout" | grep -q '^Linux guest 6\.' && nothing_left
}

test_arguments () {
    of_run ordinary
    [ "$status" -eq 7 ] && [ "$(tail -n 1 "$out/stderr")" = '1 "2'\' ] \
        && printf '%s|' "$PWD" "${words[@]}" \
            | cmp -s - <(tail -n +5 "$out/stdout")
}

# The background process holds the output open: the guest must end anyway.
test_logs () {
    of_run ordinary
    local logs=$out/shared/logs
    [ "$(cat "$logs/report")" = report ] \
        && grep -q to-stdout "$logs/output.log" \
        && grep -q to-stderr "$logs/output.log" \
        && [ "$(sed -n 3,4p "$out/stdout")" = $'to-stdout\nwritten' ] \
        && [ "$(cat "$out/stderr")" = $'to-stderr\n1 "2\'' ] \
        && grep -q 'Linux version' "$logs/kernel.log" \
        && [ -e "$logs/console.log" ] \
        && [ ! -e guest-wrote-this ] && nothing_left
}

test_environment () {
    part_passed environment
}

# The guest does not ask the host for programs that are started often.  The
# kernel finds modules, and asks once for those that do not exist.
test_files () {
    part_passed files
}

# Runs a program, from standard input, that has the runner as module "guest" and
# a folder for itself, "top".
run_python () {
    run_program python3 -B - "$guest" "$@" < <(cat << 'END'
import importlib.machinery
import importlib.util
import os
import sys

loader = importlib.machinery.SourceFileLoader("guest", sys.argv[1])
guest = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("guest", loader))
loader.exec_module(guest)
top = sys.argv[2]
END
    cat)
}

# What guests start from is made again when a file of the host changes.
test_changed_files () {
    run_python "$out/files" << 'END'
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

# Whether KVM works is tried once for each QEMU.
test_kvm () {
    make_stand_in ''
    PATH=$out/stand-in:$PATH run_python "$out/kvm-cache" << 'END'
os.makedirs(top)
probes = []
guest.os.access = lambda *_: True
guest.probe_kvm = lambda directory: probes.append(directory) or works
for works in True, False:
    qemu = guest.shutil.which("qemu-system-x86_64")
    os.utime(qemu, (1, 1 + works))
    probes.clear()
    for work in "a", "b":
        assert guest.kvm_works(top, work) == works
    assert probes == ["a"], probes
guest.os.access = lambda *_: False
works = True
assert not guest.kvm_works(top, "c")
END
    [ "$status" -eq 0 ]
}

# A QEMU before 8.1 emulates all CPUs of a new kernel in one thread.
test_emulation_threads () {
    mkdir "$out/bin3"
    # shellcheck disable=SC2016 # The program expands it.
    printf '#!/bin/sh\necho QEMU emulator version $VERSION\n' \
        > "$out/bin3/qemu-system-x86_64"
    chmod +x "$out/bin3/qemu-system-x86_64"
    PATH=$out/bin3:$PATH run_python "" << 'END'
for qemu, release, threads in (
        ("7.2.22 (Debian 1:7.2)", "6.1.0-18-amd64", "multi"),
        ("7.2.22", "6.12.95+deb12-amd64", "single"),
        ("7.2.22", "7.2.13+deb14-amd64", "single"),
        ("8.0.5", "6.12.0-amd64", "single"),
        ("8.1.0", "6.12.0-amd64", "multi"),
        ("10.0.2", "7.2.13+deb14-amd64", "multi")):
    os.environ["VERSION"] = qemu
    found = guest.emulation_threads(release)
    assert found == threads, (qemu, release, found)
END
    [ "$status" -eq 0 ]
}

test_time_limit () {
    local before=$SECONDS
    run_stand_in 'booted; hang' --time-limit 2 --logs "$logs" -- true
    [ "$status" -eq 124 ] && said 'time limit of 2 s' \
        && [ $((SECONDS - before)) -lt 30 ] && nothing_left
}

# Before its end, a guest is asked where it hangs.
test_where_it_hangs () {
    # shellcheck disable=SC2016 # The stand-in expands it.
    run_stand_in 'booted
                  echo "RIP=1" | nc -N -lU "$control/monitor.sock" \
                      > "'"$out/asked"'"
                  hang' --time-limit 2 --logs "$logs" -- true
    [ "$status" -eq 124 ] && grep -q '^info registers' "$out/asked" \
        && grep -q '^nmi$' "$out/asked" \
        && grep -q '^RIP=1$' "$logs/processors.log" && nothing_left
}

test_silence () {
    # What is written at times goes on, however long.
    run_stand_in 'booted
                  for i in 1 2 3 4 5 6; do sleep 1; echo $i; done
                  ended 3' --silence 4 -- true
    [ "$status" -eq 3 ] || return 1
    run_stand_in 'booted; echo begun; hang' --silence 2 --logs "$logs" -- true
    [ "$status" -eq 124 ] && said 'the command wrote nothing for' \
        && [ "$(cat "$out/stdout")" = begun ] && nothing_left
}

test_share () {
    part_passed share && [ "$(cat "$out/shared/file")" = one ] \
        && [ -d "$out/shared/folder" ] \
        && [ "$(cat "$out/shared/logs/file")" = two ] || return 1
    run --share "$out/nowhere" -- true
    [ "$status" -eq 125 ] && said 'no such folder'
}

is_slow () {
    grep -qE '^([3-9]|..)' "$out/stdout"
}

# The guest, which shares a processor with five loops, tells how slow it is
# until that shows.  Then it is interrupted.
run_slow () {
    local pids=() i pid
    : > "$out/stdout"
    # An interactive shell's background jobs get SIGINT, those of a script do
    # not; env undoes that.
    # shellcheck disable=SC2016
    env --default-signal=INT taskset -c 0 "$guest" --cpus 1 --time-limit 1800 \
        --logs "$out/slow-logs" -- sh -c '
        while read -r slowness < $GUEST_SLOWNESS && echo $slowness; do
            [ $slowness -lt 3 ] || sleep 1000
        done' > "$out/stdout" 2> "$out/stderr" < /dev/null &
    pid=$!
    wait_until test -s "$out/stdout"
    for ((i = 0; i < 5; i++)); do
        taskset -c 0 sh -c 'while :; do :; done' &
        pids+=($!)
    done
    wait_until is_slow
    kill "${pids[@]}"
    wait "${pids[@]}" 2> /dev/null
    kill -INT $pid
    wait $pid 2> /dev/null
    status=$?
}

# How slow the guest is can be read at any time, and what it waits for on a
# busy host shows.
test_slowness () {
    of_run slow
    is_slow
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

# The trace of a report that is allowed is allowed, too, but no other one.
run_reports () {
    # shellcheck disable=SC2016
    run --logs "$logs" --env LINES_="$kernel_lines" \
        --allow-dmesg 'allowed [0-9]+' --allow-dmesg 'CPU: 0 PID: 1 at x' -- \
        sh -c '
        echo "$LINES_" | while read -r line; do
            echo "$line" > /dev/kmsg
        done
        echo "WARNING: allowed 12" > /dev/kmsg
        echo "WARNING: CPU: 0 PID: 1 at x" > /dev/kmsg
        echo "WARNING: CPU: 0 PID: 2 at y" > /dev/kmsg
        echo "Call Trace: of the second" > /dev/kmsg
        exit 3'
}

test_kernel_reports () {
    local line missed=0
    of_run reports
    while read -r line; do
        if ! said "$line"; then
            echo "# missed: $line"
            missed=1
        fi
    done <<< "$kernel_lines"
    [ "$status" -eq 126 ] && [ $missed -eq 0 ] && ! said 'allowed 12' \
        && said "command's status was 3"
}

test_allowed_report () {
    of_run ordinary
    [ "$status" -eq 7 ] && ! said 'kernel reports' \
        && grep -q 'Call Trace:' "$out/shared/logs/kernel.log" || return 1
    of_run reports
    [ "$status" -eq 126 ] && said 'PID: 2 at y' && said 'of the second' \
        && ! said 'PID: 1 at x'
}

test_crash () {
    run --logs "$logs" -- sh -c 'echo c > /proc/sysrq-trigger; sleep 100'
    [ "$status" -eq 125 ] && said 'guest died before the command ended' \
        && said "$logs/console.log" && said 'Kernel panic' && nothing_left
}

# Waits until the stand-in runs, and sends the runner signal $1.  Succeeds if
# the runner ends with status $2.
interrupted () {
    local pid rc
    make_stand_in 'booted; echo running; hang'
    : > "$out/stdout"
    PATH=$out/stand-in:$PATH "$guest" --accel tcg -- true \
        > "$out/stdout" 2> "$out/stderr" &
    pid=$!
    wait_until grep -q running "$out/stdout" || return 1
    kill "-$1" $pid
    wait $pid 2> /dev/null
    rc=$?
    [ $rc -eq "$2" ]
}

test_interrupt () {
    of_run slow
    [ "$status" -eq 130 ] && said 'interrupted by SIGINT' \
        && [ -s "$out/slow-logs/console.log" ] && nothing_left
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

# A command that ends itself, and a shell after that.
run_killed () {
    # shellcheck disable=SC2016
    run_program "$guest" --cpus 1 --shell -- sh -c '
        echo from-command > /run/words; kill -9 $$' \
        < <(echo 'cat /run/words; exit 5')
}

test_killed_command () {
    of_run killed
    [ "$status" -eq 137 ]
}

test_command_then_shell () {
    of_run killed
    [ "$status" -eq 137 ] && grep -q from-command "$out/stdout"
}

test_virtual_time () {
    local before=$SECONDS
    # shellcheck disable=SC2016
    run --icount --time-limit 190 -- sh -c '
        test "$(nproc)" = 1 || exit 1
        cut -d. -f1 /proc/uptime; date +%s; sleep 200
        cut -d. -f1 /proc/uptime; date +%s'
    [ "$status" -eq 0 ] && [ ! -s "$out/stderr" ] \
        && [ $((SECONDS - before)) -lt 195 ] \
        && awk '{ t[NR] = $1 }
                END { exit !(t[3] - t[1] >= 200 && t[4] - t[2] >= 200) }' \
               "$out/stdout"
}

test_nics () {
    part_passed nics \
        && [ "$(echo $(cat "$out/shared/logs/nics"))" = "eth0 eth1 lo 2500 1" ]
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
    of_run ordinary
    [ "$(sed -n 2p "$out/stdout")" = "$release" ] && nothing_left
}

# A kernel whose package was unpacked somewhere, and a shell without a command.
run_unpacked () {
    local release root=$out/unpacked
    release=$(basename "$("$guest" --print-modules)")
    mkdir -p "$root/boot" "$root/lib/modules"
    cp -l "/boot/vmlinuz-$release" "$root/boot/" 2> /dev/null \
        || cp -p "/boot/vmlinuz-$release" "$root/boot/"
    cp -rl "/lib/modules/$release" "$root/lib/modules/" 2> /dev/null \
        || cp -r "/lib/modules/$release" "$root/lib/modules/"
    "$guest" --kernel "$root/boot/vmlinuz-$release" --print-modules \
        > "$out/modules"
    run_program "$guest" --cpus 1 --shell --cache-dir "$out/cache" \
        --kernel "$root/boot/vmlinuz-$release" << 'END'
readlink /lib/modules/$(uname -r)
modprobe openvswitch && echo loaded-$((1 + 1))
echo answer-$((6 * 7)); exit 5
END
    # What was kept of that one must not serve the other.
    rm -rf "$root" "$out/run-ordinary" "$out/shared"
}

test_shell () {
    of_run unpacked
    [ "$status" -eq 5 ] && grep -q answer-42 "$out/stdout" && nothing_left
}

# The guest finds the modules where the package was unpacked.
test_kernel_that_is_not_installed () {
    local modules
    of_run unpacked
    modules=$out/unpacked/lib/modules/$(basename "$("$guest" --print-modules)")
    [ "$(cat "$out/modules")" = "$modules" ] \
        && tr -d '\r' < "$out/stdout" | grep -q "$modules\$" \
        && grep -q loaded-2 "$out/stdout" && part_passed modules \
        && nothing_left
}

test_reader_that_stops () {
    local rc
    make_stand_in 'booted; seq 100000; ended 6'
    PATH=$out/stand-in:$PATH "$guest" --accel tcg -- true 2> "$out/stderr" \
        | head -n 1 > "$out/stdout"
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

# Runs a guest that does nothing the first $1 times, while another run clears
# the cache.
run_hanging () {
    local times=$1
    shift
    : > "$out/starts"
    run_stand_in "echo >> $out/starts
                  [ \$(wc -l < $out/starts) -gt $times ] || {
                      rm -rf $out/hanging-cache
                      hang
                  }
                  booted
                  echo here
                  echo log > $logs/kernel.log
                  ended 0" \
        --cache-dir "$out/hanging-cache" --logs "$logs" "$@"
}

# A guest that does not boot is started once more, and that is said.
test_boot_once_more () {
    rm -rf "$logs"
    # So long that the second one starts, on a busy machine, too.
    GUEST_BOOT_LIMIT=10 run_hanging 1 -- true
    [ "$status" -eq 0 ] && [ "$(cat "$out/stdout")" = here ] \
        && said 'did not boot in 10 s' && said 'trying once more' \
        && [ -s "$logs/kernel.log" ] \
        && [ "$(wc -l < "$out/starts")" -eq 2 ]
}

# But not for ever.
test_no_boot () {
    GUEST_BOOT_LIMIT=1 run_hanging 9 -- true
    [ "$status" -eq 125 ] && said 'did not boot in 1 s' \
        && [ "$(wc -l < "$out/starts")" -eq 2 ]
}

# The unpacked kernel comes first: a guest of many tests has to follow it.
tests='kernel_that_is_not_installed shell
       pass arguments logs environment files changed_files kvm
       emulation_threads time_limit where_it_hangs silence share nics release
       allowed_report kernel_reports slowness interrupt terminate sudden_death
       crash killed_command command_then_shell reader_that_stops virtual_time usage
       missing_packages dead_qemu boot_once_more no_boot'

# shellcheck disable=SC2086 # Several words.
set -- ${*:-$tests}
echo "1..$#"
for name; do
    "test_$name"
    result "guest: ${name//_/ }" $?
done
[ $failures -eq 0 ]
