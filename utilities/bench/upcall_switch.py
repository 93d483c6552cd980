# SPDX-License-Identifier: Apache-2.0

"""Open vSwitch in the guest: the devices, the database, and one daemon after
the other.

Ports are veths p0, p1, ... of bridge br0, whose far ends f0, f1, ... are in
one namespace.  They are made once, and are in the database before a daemon
starts, so every daemon finds the same ports.

With remote machines there is a Geneve port, too.  Its packets come in on the
device "underlay", whose far end in the namespace is "tunnel".  Their outer
hash chooses the CPU that takes them in (RPS), as a network card with several
queues does.
"""

import contextlib
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

BRIDGE = "br0"
NAMESPACE = "gen"

# The tunnel: its port, and settings in upcall-traffic.h.
TUNNEL_PORT, TUNNEL_DEVICE = "geneve0", "tunnel"
TUNNEL_ADDRESS, TUNNEL_MAC = "198.19.0.1/16", "02:00:00:00:00:01"

# Conntrack follows all IP packets once module openvswitch is loaded, and the
# frames of one run are hundreds of thousands of connections.  A guest of 3 GiB
# has room for 65,536.  After that the kernel evicts some, and drops a packet if
# it finds none to evict.  With more than 4 GiB the kernel itself chooses this
# number of buckets.
TRACKED = {"buckets": 1 << 18, "max": 1 << 20}

RUN_DIR = "/run/openvswitch"
DB = "/etc/openvswitch/bench.db"

# Stock Open vSwitch 3.1 finds no processors, and starts no handlers, while the
# machine is up for less than 10 s.
MIN_UPTIME = 11

# Ports that are added to the database in one transaction; the command line for
# all of them would be too long.
PORTS_PER_TRANSACTION = 500

# A daemon is idle if it takes at most this share of a CPU for so many seconds.
# It asks the kernel about all ports every five seconds.
IDLE_SHARE, IDLE_SECONDS = 0.05, 3

# Real-time priority of the kernel's thread that receives packets, above that
# of the program that sends them.
KSOFTIRQD_PRIORITY = 2

# From <linux/socket.h>; Python does not have it.
SO_TIMESTAMPNS = 35


# Time limit of a command.  In virtual time the clock can jump by minutes while
# a busy host reads a file; a real hang ends with the guest's time limit.
COMMAND_SECONDS = 100000


class BenchError(Exception):
    """Why a measurement was not possible."""


# Prefix of messages.
program = "bench-upcall"


def say(text):
    print(f"{program}: {text}", file=sys.stderr, flush=True)


def run(*argv, stdin=None, check=True, timeout=COMMAND_SECONDS):
    """Runs a command and returns what it wrote."""
    try:
        result = subprocess.run(
            argv, input=stdin, text=True, timeout=timeout,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=None if stdin is not None else subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise BenchError(f"{' '.join(argv[:6])}: no end within {timeout} s")
    except OSError as e:
        raise BenchError(f"{argv[0]}: {e.strerror}")
    if result.returncode:
        if check:
            raise BenchError(f"{' '.join(argv[:6])}: status "
                             f"{result.returncode}: {result.stderr.strip()}")
        return None
    return result.stdout


def appctl(*argv, check=True):
    return run("ovs-appctl", *argv, check=check)


def read(path):
    with open(path) as f:
        return f.read()


def local_copy(path, name):
    """Returns a copy of the program 'path' for daemon 'name' in the guest's
    memory: reading a file of the host can take long in virtual time.  Its path
    ends like the original's, so that errors name it."""
    copy = f"{RUN_DIR}/{name}{path}"
    if not os.path.exists(copy):
        os.makedirs(os.path.dirname(copy))
        shutil.copy(path, copy)
    return copy


def take_packets_first(cpu):
    """Gives the kernel's thread ksoftirqd of 'cpu' precedence.

    While it is about to run, the kernel leaves all packets that arrive on that
    CPU to it.  With the priority of the daemon's threads, it gets less time
    the more of them are busy.  The sender's packets are not received then, so
    it waits for room in the buffer of its socket and leaves out a part of the
    flood."""
    for path in glob.glob("/proc/[0-9]*/comm"):
        # Others may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if read(path).strip() == f"ksoftirqd/{cpu}":
                os.sched_setscheduler(int(path.split("/")[2]), os.SCHED_FIFO,
                                      os.sched_param(KSOFTIRQD_PRIORITY))
                return
    raise BenchError(f"there is no thread ksoftirqd/{cpu}")


class Network:
    """The devices, without anything that would send by itself."""

    def __init__(self, p):
        self.n = p["ports"]
        self.cpu = p["send_cpu"]
        self.cpus = p["cpus"]
        self.remotes = p.get("remotes", 0)
        self.stamps = None

    def make(self):
        started = time.monotonic()
        take_packets_first(self.cpu)
        for module in "openvswitch", "veth":
            run("modprobe", module)
        run("ip", "netns", "add", NAMESPACE)
        for prefix in [], ["ip", "netns", "exec", NAMESPACE]:
            run(*prefix, "sysctl", "-q", "-w",
                "net.ipv6.conf.all.disable_ipv6=1",
                "net.ipv6.conf.default.disable_ipv6=1")
        ports = range(self.n)
        run("ip", "-batch", "-", stdin="".join(
            f"link add p{i} type veth peer name f{i} netns {NAMESPACE}\n"
            for i in ports))
        say(f"{self.n} pairs of devices in {time.monotonic() - started:.0f} s")
        run("ip", "-batch", "-",
            stdin="".join(f"link set p{i} up\n" for i in ports))
        run("ip", "-n", NAMESPACE, "-batch", "-",
            stdin="".join(f"link set f{i} up\n" for i in ports))
        if self.remotes:
            self.make_tunnel()
        say(f"they are up after {time.monotonic() - started:.0f} s")
        # The kernel begins to stamp packets some time after the first socket
        # has requested it; this one requests it all the time.
        self.stamps = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.stamps.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)

    def make_tunnel(self):
        run("modprobe", "geneve")
        for name, value in TRACKED.items():
            run("sysctl", "-q", "-w",
                f"net.netfilter.nf_conntrack_{name}={value}")
        run("ip", "link", "add", "underlay", "address", TUNNEL_MAC, "type",
            "veth", "peer", "name", TUNNEL_DEVICE, "netns", NAMESPACE)
        run("ip", "addr", "add", TUNNEL_ADDRESS, "dev", "underlay")
        run("ip", "link", "set", "underlay", "up")
        run("ip", "-n", NAMESPACE, "link", "set", TUNNEL_DEVICE, "up")
        if self.cpus > 1:
            with open("/sys/class/net/underlay/queues/rx-0/rps_cpus",
                      "w") as f:
                f.write(f"{(1 << self.cpus) - 1:x}")
            for cpu in range(self.cpus):
                take_packets_first(cpu)

    def close(self):
        self.stamps.close()


class Switch:
    # Keys of other_config in which configurations differ.
    KEYS = ("upcall-dispatch", "upcall-engine", "upcall-group-size",
            "upcall-target-delay", "n-handler-threads")

    def __init__(self, p):
        self.p = p
        self.remotes = p.get("remotes", 0)
        self.pid = None
        self.log = None

    # Starting and stopping.

    def start_database(self):
        while float(read("/proc/uptime").split()[0]) < MIN_UPTIME:
            time.sleep(0.5)
        started = time.monotonic()
        run("ovsdb-tool", "create", DB,
            "/usr/share/openvswitch/vswitch.ovsschema")
        run("ovsdb-server", DB, "--detach", "--no-chdir", "--pidfile",
            "-vconsole:off", "--log-file",
            f"--remote=punix:{RUN_DIR}/db.sock")
        self.vsctl("init", "--", "set", "Open_vSwitch", ".",
                   *(f"other_config:{key}={value}"
                     for key, value in self.common_config().items()))
        self.vsctl("add-br", BRIDGE, "--", "set", "Bridge", BRIDGE,
                   "fail-mode=secure", "other_config:disable-in-band=true")
        for first in range(0, self.p["ports"], PORTS_PER_TRANSACTION):
            argv = []
            for i in range(first, min(self.p["ports"],
                                      first + PORTS_PER_TRANSACTION)):
                argv += ["--", "add-port", BRIDGE, f"p{i}"]
            self.vsctl(*argv[1:])
        if self.remotes:
            self.vsctl("add-port", BRIDGE, TUNNEL_PORT, "--", "set",
                       "Interface", TUNNEL_PORT, "type=geneve",
                       "options:remote_ip=flow", "options:key=flow")
        say(f"ports in the database in {time.monotonic() - started:.0f} s")

    def common_config(self):
        # One flow in the datapath, which stays: see every_frame_an_upcall().
        return {"flow-limit": 1, "max-idle": 100000000,
                "n-handler-threads": self.p["handlers"]}

    @staticmethod
    def vsctl(*argv):
        return run("ovs-vsctl", "--no-wait", *argv)

    def start(self, configuration):
        """Starts the daemon of 'configuration' and waits until all ports are
        there."""
        other_config = {**self.common_config(),
                        **configuration["other_config"]}
        for key in self.KEYS:
            value = other_config.get(key)
            if value is not None:
                self.vsctl("set", "Open_vSwitch", ".",
                           f"other_config:{key}={value}")
            else:
                self.vsctl("remove", "Open_vSwitch", ".", "other_config", key)
        self.log = os.path.join(os.environ["GUEST_LOGS"],
                                f"daemon-{configuration['name']}.log")
        environment = configuration["environment"]
        limit = self.p["open_files"]
        run(*(["prlimit", f"--nofile={limit}:{limit}"] if limit else []),
            "env", *(f"{k}={v}" for k, v in environment.items()),
            local_copy(configuration["program"], configuration["daemon"]),
            "--detach", "--no-chdir", "--pidfile", "-vconsole:off",
            # Otherwise it would wait for pages of the host's files in the
            # middle of a test, while virtual time passes.
            "--mlockall", f"--log-file={self.log}")
        self.pid = int(read(f"{RUN_DIR}/ovs-vswitchd.pid"))
        self.wait_until(self.all_ports, "the ports of the datapath")
        run("ip", "link", "set", BRIDGE, "up")
        self.wait_until_idle()

    def wait_until_idle(self):
        """Waits until the daemon has finished its work on new ports."""
        end = time.monotonic() + 300
        used = self.cpu_seconds()
        while True:
            time.sleep(IDLE_SECONDS)
            before, used = used, self.cpu_seconds()
            if used - before <= IDLE_SHARE * IDLE_SECONDS:
                return
            if time.monotonic() > end:
                raise BenchError("in vain waited 300 s for an idle daemon")

    def all_ports(self):
        # Besides the ports, the datapath's own device and the bridge.
        return (self.datapath()["ports"]
                == self.p["ports"] + 2 + bool(self.remotes))

    def stop(self):
        """Ends the daemon and removes its datapath."""
        if not self.pid:
            return
        if self.alive():
            appctl("exit", "--cleanup")
            self.wait_until(lambda: not self.alive(), "the daemon's end")
        self.pid = None

    def alive(self):
        return os.path.exists(f"/proc/{self.pid}")

    @staticmethod
    def wait_until(condition, what, patience=300, interval=0.1):
        end = time.monotonic() + patience
        while not condition():
            if time.monotonic() > end:
                raise BenchError(f"in vain waited {patience} s for {what}")
            time.sleep(interval)

    # State of the daemon.

    def identify(self, configuration):
        """Returns which dispatch mode and engine are in use, and whether these
        are those of 'configuration'."""
        mode = appctl("dpif-netlink/dispatch-mode", check=False) or ""
        mode = mode.strip()
        show = self.upcall_show() or [{}]
        found = {"mode": mode, "dispatch": show[0].get("dispatch"),
                 "engine": show[0].get("engine")}
        expected = configuration["expected"]
        reason = None
        if expected["mode"] not in mode:
            reason = f"dispatch mode is \"{mode}\""
        for key in "dispatch", "engine":
            # A daemon that does not report it has the only engine that there
            # was at first.
            value = found[key] or configuration["unsaid"][key]
            if expected[key] != value and reason is None:
                reason = f"{key} is \"{value}\""
        return {"found": found, "available": reason is None,
                **({"reason": reason} if reason else {})}

    def every_frame_an_upcall(self):
        """Makes a frame from a new source address an upcall that adds no
        flow, once the datapath has one flow."""
        last = self.p["tables"] - 1
        run("ovs-ofctl", "add-flows", BRIDGE, "-", stdin="".join(
            f"table={i},actions=resubmit(,{i + 1})\n" for i in range(last))
            + f"table={last},actions=LOCAL\n")
        appctl("upcall/disable-megaflows")
        appctl("upcall/set-flow-limit", "1")

    @staticmethod
    def do_not_log_slowness():
        """Keeps the daemon from logging that a thread was slow, and its
        counters when one was."""
        appctl("vlog/set", "timeval:off", "coverage:off")

    # Counters.

    def datapath(self):
        """Returns counters of the datapath.  ovs-dpctl would change its
        dispatch mode."""
        text = appctl("dpctl/show", "system@ovs-system", check=False) or ""
        lookups = re.search(r"lookups: hit:(\d+) missed:(\d+) lost:(\d+)",
                            text)
        flows = re.search(r"flows: (\d+)", text)
        if not lookups or not flows:
            if not self.alive():
                raise BenchError(f"the daemon died, see {self.log}")
            return {"ports": 0, "flows": 0}
        return {"hit": int(lookups[1]), "missed": int(lookups[2]),
                "lost": int(lookups[3]), "flows": int(flows[1]),
                "ports": len(re.findall(r"^\s*port \d+:", text, re.M))}

    def passed(self):
        """Returns how many packets of the tunnel each part of the kernel has
        seen, and dropped, on their way to the datapath."""
        counts = {"backlog dropped": sum(
            int(line.split()[1], 16)
            for line in read("/proc/net/softnet_stat").splitlines())}
        for device in "underlay", "genev_sys_6081":
            for name in "rx_packets", "rx_dropped", "rx_errors":
                path = f"/sys/class/net/{device}/statistics/{name}"
                with contextlib.suppress(FileNotFoundError):
                    counts[f"{device} {name}"] = int(read(path))
        with contextlib.suppress(FileNotFoundError):
            names, *rows = read("/proc/net/stat/nf_conntrack").splitlines()
            for i, name in enumerate(names.split()):
                if name.endswith(("drop", "failed", "toolong")):
                    counts[f"conntrack {name}"] = sum(
                        int(row.split()[i], 16) for row in rows)
        lines = read("/proc/net/snmp").splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            protocol, *names = names.split()
            if protocol in ("Ip:", "Udp:"):
                counts.update({f"{protocol[:-1]} {name}": int(value) for
                               name, value in zip(names, values.split()[1:])
                               if name.startswith(("In", "No"))})
        return counts

    def upcall_show(self):
        """Returns our daemon's report about its channels, or None for
        stock."""
        text = appctl("upcall/show", "--format", "json", check=False)
        try:
            return json.loads(text) if text else None
        except ValueError:
            return None

    def cpu_seconds(self):
        # The name, in parentheses, may contain spaces.
        fields = read(f"/proc/{self.pid}/stat").rpartition(")")[2].split()
        return ((int(fields[11]) + int(fields[12]))
                / os.sysconf("SC_CLK_TCK"))

    def main_thread_seconds(self):
        """Returns how long the main thread has run."""
        return int(read(f"/proc/{self.pid}/task/{self.pid}/schedstat")
                   .split()[0]) / 1e9

    def handlers(self):
        """Returns the thread ids of the handlers."""
        return [int(path.split("/")[4])
                for path in glob.glob(f"/proc/{self.pid}/task/*/comm")
                if read(path).startswith("handler")]

    def handler_sleeps(self):
        return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)",
                                 read(f"/proc/{self.pid}/task/{tid}/status"),
                                 re.M)[1]) for tid in self.handlers())

    def sockets(self):
        inodes = set()
        fds = os.listdir(f"/proc/{self.pid}/fd")
        for fd in fds:
            try:
                link = os.readlink(f"/proc/{self.pid}/fd/{fd}")
            except FileNotFoundError:
                continue
            match = re.fullmatch(r"socket:\[(\d+)\]", link)
            if match:
                inodes.add(match[1])
        with open("/proc/net/netlink") as f:
            netlink = sum(line.split()[9] in inodes for line in f)
        # The datapath has ports besides ours: its own device and the bridge.
        return {"netlink": netlink, "descriptors": len(fds),
                "ports": self.datapath()["ports"],
                "handlers": len(self.handlers())}

    def sockets_per_handler(self):
        """Counts the sockets of a program that opens one for each port and
        handler, and sets them in the datapath."""
        handlers = self.p["handlers"]
        count = json.loads(run(self.p["per_handler"], "ovs-system",
                               str(handlers)))
        return {"netlink": count["sockets"],
                "descriptors": count["descriptors"],
                "ports": count["ports"], "handlers": handlers}

    def traffic_command(self, *args):
        p = self.p
        return [local_copy(p["traffic"], "traffic"), f"--local={BRIDGE}",
                f"--netns={NAMESPACE}", f"--ports={p['ports']}",
                *([f"--remotes={self.remotes}", "--udp"] if self.remotes
                  else []),
                f"--cpu={p['send_cpu']}", f"--settle={p['settle_ms']}", *args]

    def traffic(self, *args):
        return json.loads(run(*self.traffic_command(*args)))
