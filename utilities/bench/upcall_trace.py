# SPDX-License-Identifier: Apache-2.0

"""Counts the system calls and the wake-ups of the daemon's handler threads, by
tracepoints.

A wake-up is a return, with something to do, from a waiting system call in
which the thread slept.  It was empty if the thread sent nothing to the kernel
before it slept again: for each upcall of the benchmark the daemon sends the
packet back.  That definition does not depend on how upcalls are received.

If the kernel wakes a thread and the thread sleeps again within the same call,
it was woken in vain.

A socket on which no thread ever sends only receives: the daemon sends requests
on other sockets and receives their replies there.
"""

import contextlib
import glob
import json
import signal
import subprocess

from upcall_switch import COMMAND_SECONDS, BenchError, read

# System call numbers of x86-64.
WAITS = {7: "poll", 271: "ppoll", 232: "epoll_wait", 281: "epoll_pwait",
         441: "epoll_pwait2", 426: "io_uring_enter"}
RECEIVES = {45: "recvfrom", 47: "recvmsg", 299: "recvmmsg"}
# Other calls needed for receiving: arming a socket again.
ARMS = {233: "epoll_ctl"}
SENDS = {44: "sendto", 46: "sendmsg", 307: "sendmmsg"}

PROGRAM = """
BEGIN { printf("ready\\n"); }
tracepoint:raw_syscalls:sys_enter /pid == $1/ {
    $id = args->id;
    $a0 = args->args[0];
    $a2 = args->args[2];
    $a3 = args->args[3];
    if ($id == 7 || $id == 271 || $id == 232 || $id == 281 || $id == 441
        || $id == 426 || ($id >= 44 && $id <= 47) || $id == 299
        || $id == 307 || $id == 233) {
        @calls[tid, $id, $a0] = count();
    }
    if ($id == 44 || $id == 46 || $id == 307) {
        @worked[tid] = 1;
    }
    $wait = 0;
    if ($id == 7) {
        $wait = ($a2 & 0xffffffff) != 0 ? 1 : 0;
    }
    if ($id == 232 || $id == 281) {
        $wait = ($a3 & 0xffffffff) != 0 ? 1 : 0;
    }
    if ($id == 271 || $id == 441) {
        $wait = 1;
    }
    if ($id == 426) {
        $wait = $a2 > 0 ? 1 : 0;
    }
    if ($wait) {
        @slept[tid] = 0;
        @waits[tid] = 1;
    }
}
tracepoint:sched:sched_switch /@waits[args->prev_pid]/ {
    if (args->prev_state & 3) {
        if (@slept[args->prev_pid]) {
            @vain[args->prev_pid] = count();
        }
        if (@woken[args->prev_pid] && !@worked[args->prev_pid]) {
            @empty[args->prev_pid] = count();
        }
        @woken[args->prev_pid] = 0;
        @worked[args->prev_pid] = 0;
        @slept[args->prev_pid] = 1;
    }
}
tracepoint:raw_syscalls:sys_exit /pid == $1 && @waits[tid]/ {
    @waits[tid] = 0;
    if (@slept[tid] && (args->ret > 0 || args->id == 426 && args->ret == 0)) {
        @woken[tid] = 1;
        @wakeups[tid] = count();
    }
}
END {
    clear(@worked); clear(@woken); clear(@slept); clear(@waits);
}
"""


def set_online(path, value):
    try:
        with open(path, "w") as f:
            f.write(value)
    except OSError as e:
        raise BenchError(f"{path}: {e.strerror}")


@contextlib.contextmanager
def one_cpu():
    """Takes all CPUs except the first offline meanwhile.

    When a tracepoint is switched on or off, the kernel changes its own code
    while other CPUs may run it.  An emulator with several CPUs may hang
    then."""
    paths = [path for path
             in glob.glob("/sys/devices/system/cpu/cpu[1-9]*/online")
             if read(path).strip() == "1"]
    taken = []
    try:
        for path in paths:
            set_online(path, "0")
            taken.append(path)
        yield
    finally:
        for path in taken:
            set_online(path, "1")


class Tracer:
    def __init__(self, switch):
        self.pid = switch.pid
        self.handlers = set(switch.handlers())
        self.process = None

    def start(self):
        """Returns when the tracepoints count."""
        with one_cpu():
            self.start_process()

    def start_process(self):
        self.process = subprocess.Popen(
            ["bpftrace", "-f", "json", "-e", PROGRAM, str(self.pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "ready" in line:
                return
        raise BenchError("bpftrace: " + self.process.stderr.read().strip())

    def stop(self, upcalls):
        """Returns the counts for the time in which 'upcalls' upcalls were
        served."""
        with one_cpu():
            self.process.send_signal(signal.SIGINT)
            try:
                out, err = self.process.communicate(
                    timeout=COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise BenchError("bpftrace does not end")
        maps = {}
        for line in out.splitlines():
            entry = json.loads(line) if line.strip() else {}
            if entry.get("type") == "map":
                maps.update(entry["data"])
        if "@calls" not in maps:
            raise BenchError(f"bpftrace counted nothing: {err.strip()}")
        return self.result(maps, upcalls)

    def result(self, maps, upcalls):
        calls = [(*map(int, key.split(",")), n)
                 for key, n in maps["@calls"].items()]
        asking = {fd for _, number, fd, _ in calls if number in SENDS}
        by_name = {}
        replies = 0
        for tid, number, fd, n in calls:
            if tid not in self.handlers:
                continue
            if number in RECEIVES and fd in asking:
                replies += n
                continue
            name = (WAITS.get(number) or RECEIVES.get(number)
                    or ARMS.get(number))
            if name:
                by_name[name] = by_name.get(name, 0) + n
        wakeups, empty, vain = (
            sum(n for tid, n in maps.get(name, {}).items()
                if int(tid) in self.handlers)
            for name in ("@wakeups", "@empty", "@vain"))
        total = sum(by_name.values())
        return {"upcalls": upcalls, "receive_calls": total,
                "by_name": by_name, "reply_receives": replies,
                "calls_per_upcall": total / upcalls if upcalls else None,
                "wakeups": wakeups, "empty_wakeups": empty,
                "vain_wakeups": vain,
                "empty_share": empty / wakeups if wakeups else None}
