# SPDX-License-Identifier: Apache-2.0

"""The conditions under which bench-rtnl measures a daemon."""

import mmap
import os
import signal
import socket
import struct
import sys
import time

from rtnl_controller import ControllerError, Links
from upcall_switch import BRIDGE, NAMESPACE, BenchError, run

# linux/rtnetlink.h.
NLM_F_REQUEST, NLM_F_CREATE = 1, 0x400
RTM_NEWROUTE, RTM_DELROUTE = 24, 25
RTA_DST, RTA_OIF = 1, 4
RT_TABLE_MAIN, RTPROT_BGP, RT_SCOPE_LINK, RTN_UNICAST = 254, 186, 253, 1

# Next hop of the routes, and their first destination: 10.0.0.0/32.
ROUTE_DEVICE = "routes0"
ROUTE_BASE = 0x0a000000

# First destination of the permanent routes, and the messages that are sent at
# once.
TABLE_BASE = 0x20000000
TABLE_BATCH = 256

# Routes that are added and deleted, one at a time.
N_ROUTES = 1000


class Routes:
    """A routing daemon: a process that changes routes, at a given rate, as
    long as the lock permits.  It needs the lock for each change itself."""

    def __init__(self, rate, n_table):
        self.rate = rate
        self.n_table = n_table
        self.counter = mmap.mmap(-1, 8)
        self.pid = None

    def start(self):
        run("modprobe", "dummy")
        run("ip", "link", "add", ROUTE_DEVICE, "type", "dummy")
        run("ip", "link", "set", ROUTE_DEVICE, "up")
        self.fill_table(socket.if_nametoindex(ROUTE_DEVICE))
        self.pid = os.fork()
        if not self.pid:
            try:
                self.change_routes(socket.if_nametoindex(ROUTE_DEVICE))
            except (OSError, ControllerError) as e:
                print(f"routes: {e}", file=sys.stderr)
            os._exit(1)

    def stop(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = None
            run("ip", "link", "del", ROUTE_DEVICE)

    def changes(self):
        """Returns how many changes there were so far."""
        if self.pid and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.pid = None
            raise BenchError("the routing daemon ended")
        return struct.unpack("=Q", self.counter[:8])[0]

    @staticmethod
    def route(address, ifindex):
        route = struct.pack("=BBBBBBBBI", socket.AF_INET, 32, 0, 0,
                            RT_TABLE_MAIN, RTPROT_BGP, RT_SCOPE_LINK,
                            RTN_UNICAST, 0)
        route += Links.attribute(RTA_DST, struct.pack(">I", address))
        return route + Links.attribute(RTA_OIF, struct.pack("=i", ifindex))

    def fill_table(self, ifindex):
        """The kernel answers a message only if it refuses it."""
        with Links.open() as own:
            for first in range(0, self.n_table, TABLE_BATCH):
                messages = [self.route(TABLE_BASE + i, ifindex) for i in
                            range(first, min(first + TABLE_BATCH,
                                             self.n_table))]
                own.send(b"".join(
                    struct.pack("=IHHII", 16 + len(message), RTM_NEWROUTE,
                                NLM_F_REQUEST | NLM_F_CREATE, 0, 0) + message
                    for message in messages))
            own.setblocking(False)
            try:
                own.recv(65536)
            except BlockingIOError:
                return
        raise BenchError("the kernel refused a route")

    def change_routes(self, ifindex):
        links = Links(NAMESPACE)
        begin = time.monotonic()
        done = 0
        while True:
            kind, flags = ((RTM_NEWROUTE, NLM_F_CREATE)
                           if done // N_ROUTES % 2 == 0
                           else (RTM_DELROUTE, 0))
            route = self.route(ROUTE_BASE + done % N_ROUTES, ifindex)
            links.transact(links.own, kind, flags, route)
            done += 1
            self.counter[:8] = struct.pack("=Q", done)
            # Changes that the lock prevented are not made up for.
            due = begin + done / self.rate
            now = time.monotonic()
            if due > now:
                time.sleep(due - now)
            else:
                begin = now - done / self.rate


class Condition:
    """A condition named as in bench-rtnl."""

    def __init__(self, name, p):
        self.name = name
        self.qos = None
        self.routes = (Routes(p["route_rate"], p["table_routes"])
                       if name == "routes" else None)

    def begin(self):
        """Called before there are devices."""
        self.set_ipv6(self.name == "ipv6")
        if self.name == "qos":
            run("modprobe", "sch_htb")
            self.qos = run(
                "ovs-vsctl", "--no-wait", "--", "--id=@qos", "create", "QoS",
                "type=linux-htb", "other-config:max-rate=1000000000",
                "queues:0=@queue", "--", "--id=@queue", "create", "Queue",
                "other-config:min-rate=1000000").split()[0]
        if self.routes:
            self.routes.start()

    def end(self):
        """Called when there are no devices any more."""
        if self.routes:
            self.routes.stop()
        if self.qos:
            run("ovs-vsctl", "--no-wait", "--all", "destroy", "QoS", "--",
                "--all", "destroy", "Queue")
            self.qos = None

    @staticmethod
    def set_ipv6(on):
        for prefix in [], ["ip", "netns", "exec", NAMESPACE]:
            run(*prefix, "sysctl", "-q", "-w",
                f"net.ipv6.conf.all.disable_ipv6={int(not on)}",
                f"net.ipv6.conf.default.disable_ipv6={int(not on)}")

    def ports(self, n):
        """Returns the ports for 'n' devices: (name, numbers of its
        devices)."""
        if self.name == "bonds":
            return [(f"b{i}", [i, i + 1]) for i in range(0, n - 1, 2)]
        return [(f"p{i}", [i]) for i in range(n)]

    def vsctl_arguments(self, n):
        """Returns the operations that add those ports in one transaction."""
        argv = []
        for name, devices in self.ports(n):
            names = [f"p{i}" for i in devices]
            argv += (["--", "add-bond", BRIDGE, name, *names]
                     if len(names) > 1 else ["--", "add-port", BRIDGE, name])
            if self.qos:
                argv += ["--", "set", "Port", name, f"qos={self.qos}"]
        return argv

    def columns(self):
        """Returns the columns of a row of table Port besides names."""
        return {"qos": ["uuid", self.qos]} if self.qos else {}

    def check(self):
        """Raises an exception unless the condition holds."""
        if self.qos and " htb " not in run("tc", "qdisc", "show", "dev",
                                           "p0"):
            raise BenchError("p0 has no queueing discipline htb")
        if self.name == "ipv6" and "inet6" not in run(
                "ip", "-n", NAMESPACE, "-6", "address", "show"):
            raise BenchError("no device has an IPv6 address")

    def count(self):
        """Returns the changes by the condition itself so far, by name."""
        return {"route_changes": self.routes.changes()} if self.routes else {}
