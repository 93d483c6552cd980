# SPDX-License-Identifier: Apache-2.0

"""What happens to the switch between two quiet points.

An operation leaves ports and devices as it found them; settings, limits and
buffers stay as it sets them until the next quiet point.  Operations of
different lanes run at the same time.
"""

import collections
import contextlib
import os
import resource
import signal
import subprocess
import time

import soak_kernel as kernel
from soak_kernel import run
from soak_switch import add_port, del_port, shown_pids

# What an operation allows: no loss of any numbered frame; loss that the kernel
# counts as that of upcalls; loss of frames from and to the port that it
# changes; any loss.  The larger include the smaller, except LOSS_AT_PORT,
# which says nothing of other ports.
NO_LOSS, COUNTED_LOSS, LOSS_AT_PORT, ANY_LOSS = range(4)

Operation = collections.namedtuple("Operation",
                                   "name lane weight allows function what")


class Context:
    """What operations work on, and what they did since the last quiet point.
    """

    def __init__(self, switch, traffic):
        self.switch = switch
        self.traffic = traffic
        self.begin()

    def begin(self):
        self.allowed = set()
        self.ends = set()           # Whose ports were changed.
        self.buffers = {}           # (fd, size) by (pid, socket).

    def pick_end(self, rng):
        """Chooses one of s3 to s6, whose port is going to be changed."""
        end = rng.choice([3, 4, 5, 6])
        self.ends.add(end)
        return end

    def loss_is_explained(self, stream):
        """True if loss in 'stream' needs no counter to explain it."""
        return (ANY_LOSS in self.allowed
                or bool({stream.source, stream.target} & self.ends))


# Settings.

def set_one(name, *values):
    def function(c, rng):
        value = rng.choice(values)
        c.switch.set_config(**{name: value})
        return value
    return function


set_handlers = set_one("n-handler-threads", 1, 2, 3, 4, 5, 8)
set_revalidators = set_one("n-revalidator-threads", 1, 2, 3)
set_engine = set_one("upcall-engine", "epoll", "io_uring")
set_dispatch = set_one("upcall-dispatch", "per-port", "per-cpu")
set_budget = set_one("upcall-max-sockets", 3, 5, 10, 20, 0)
set_offload = set_one("hw-offload", "true", "false")
set_offload_threads = set_one("n-offload-threads", 1, 2, 3, 5, 10)
set_offload_delay = set_one("offload-delay", 0, 200, 1000)
set_max_idle = set_one("max-idle", 1000, 3000, 10000)
set_netns_entries = set_one("link-table-netns-entries", 0, 16, 1000)


def set_several(c, rng):
    values = {"n-handler-threads": rng.randint(1, 6),
              "upcall-engine": rng.choice(["epoll", "io_uring"]),
              "hw-offload": rng.choice(["true", "false"]),
              "n-offload-threads": rng.randint(1, 10)}
    c.switch.set_config(**values)
    return values


def purge_flows(c, rng):
    """The revalidators stand still meanwhile.  Open vSwitch 3.1 does not see
    to that itself, and what describes a flow may be freed twice: purged again
    and again under a flood, this daemon ended after 172 times and the stock
    one after 19."""
    with c.switch.process:
        c.switch.appctl("revalidator/pause")
        c.switch.appctl("revalidator/purge")
        c.switch.appctl("revalidator/resume")


def ask_with_stock_tools(c, rng):
    for _ in range(3):
        run("ovs-dpctl", "show")
        run("ovs-dpctl", "dump-flows")


# Ports.

def readd_port(c, rng):
    end = c.pick_end(rng)
    c.switch.del_port("br0", f"v-s{end}")
    time.sleep(rng.choice([0, 0, 1]))
    c.switch.add_end_port(end)
    return f"s{end}"


def readd_port_at_once(c, rng):
    end = c.pick_end(rng)
    port = f"v-s{end}"
    c.switch.vsctl(*del_port("br0", port),
                   *add_port("br0", port, f"ofport_request={end}"))
    return f"s{end}"


def rename_device(c, rng):
    end = c.pick_end(rng)
    device = f"v-s{end}"
    kernel.ip_batch(f"link set {device} down",
                    f"link set {device} name renamed")
    time.sleep(rng.choice([0, 0.5, 2]))
    kernel.ip_batch(f"link set renamed name {device}",
                    f"link set {device} up")
    return f"s{end}"


def move_device(c, rng):
    end = c.pick_end(rng)
    device = f"v-s{end}"
    kernel.ip_batch(f"link set {device} netns away")
    time.sleep(rng.choice([0, 0.5, 2]))
    kernel.ip_batch(f"link set {device} netns 1", namespace="away")
    kernel.ip_batch(f"link set {device} up")
    return f"s{end}"


def flap_device(c, rng):
    end = c.pick_end(rng)
    kernel.ip_batch(*(f"link set v-s{end} {state}"
                      for state in ["down", "up"] * 5))
    return f"s{end}"


def add_internal_ports(c, rng):
    n = rng.randint(1, 12)
    args = []
    for i in range(n):
        args += add_port("br0", f"i{i}", "type=internal")
    c.switch.vsctl(*args)
    args = []
    for i in range(n):
        args += del_port("br0", f"i{i}")
    time.sleep(rng.choice([0, 1]))
    c.switch.vsctl(*args)
    return n


def move_internal_port(c, rng):
    c.switch.add_port("br0", "int0", "type=internal")
    try:
        c.switch.wait_until("int0", lambda: os.path.exists(
            "/sys/class/net/int0"))
        for _ in range(rng.randint(1, 3)):
            kernel.ip_batch("link set int0 netns away")
            kernel.ip_batch("link set int0 up", "link set int0 mtu 1400",
                            "link set int0 netns 1", namespace="away")
    finally:
        c.switch.del_port("br0", "int0")


def recreate_device(c, rng):
    """A port whose device comes and goes behind the daemon's back."""
    kernel.ip_batch("link add stray type veth peer name stray1")
    c.switch.add_port("br0", "stray")
    try:
        for _ in range(rng.randint(1, 3)):
            kernel.ip_batch("link delete stray")
            time.sleep(rng.choice([0, 0, 1]))
            kernel.ip_batch("link add stray type veth peer name stray1",
                            "link set stray up")
    finally:
        c.switch.del_port("br0", "stray")
        kernel.ip_batch("link delete stray")


def add_stray_port(c, rng):
    """A port that nobody configured, which the daemon removes."""
    kernel.ip_batch("link add stray2 type veth peer name stray3")
    with contextlib.suppress(subprocess.CalledProcessError):
        run("ovs-dpctl", "add-if", "system@ovs-system", "stray2")
    time.sleep(rng.choice([0, 1]))
    kernel.ip_batch("link delete stray2")


def readd_bridge(c, rng):
    c.switch.vsctl("--may-exist", "add-br", "br-x",
                   *add_port("br-x", "x0", "type=internal"))
    c.switch.vsctl("--if-exists", "del-br", "br-x")


def readd_tunnel(c, rng):
    kind = rng.choice(["vxlan", "geneve"])
    c.switch.del_port("br0", {"vxlan": "t0", "geneve": "t1"}[kind])
    c.switch.add_tunnel(kind)
    return kind


def change_bond(c, rng):
    mode = rng.choice(["active-backup", "balance-slb"])
    c.switch.vsctl("set", "Port", "bond0", f"bond_mode={mode}")
    member = rng.choice(["v-b0", "v-b1"])
    kernel.ip_batch(f"link set {member} down")
    time.sleep(1)
    kernel.ip_batch(f"link set {member} up")
    return f"{mode}, {member}"


def change_qos(c, rng):
    """While the kernel changes the queueing discipline, for one or more grace
    periods of its RCU, it throws away what the device is to send."""
    end = c.pick_end(rng)
    port = f"v-s{end}"
    c.switch.vsctl("set", "Port", port, "qos=@q", "--", "--id=@q", "create",
                   "QoS", "type=linux-htb",
                   "other-config:max-rate=1000000000", "queues:0=@q0", "--",
                   "--id=@q0", "create", "Queue",
                   "other-config:max-rate=1000000000", "--", "set",
                   "Interface", port, "ingress_policing_rate=1000000",
                   "ingress_policing_burst=1000000")
    time.sleep(rng.choice([0, 1]))
    c.switch.vsctl("clear", "Port", port, "qos", "--", "--all", "destroy",
                   "QoS", "--", "--all", "destroy", "Queue", "--", "set",
                   "Interface", port, "ingress_policing_rate=0",
                   "ingress_policing_burst=0")
    return f"s{end}"


# Links.

def churn_links(c, rng, name="churn"):
    """Devices that are no ports, here and in another namespace."""
    namespace = rng.choice([None, "foreign", "p1"])
    lines = []
    for i in range(rng.randint(5, 40)):
        lines += [f"link add {name}{i} type ifb",
                  f"link set {name}{i} mtu {1000 + i}",
                  f"link set {name}{i} up", f"link delete {name}{i}"]
    kernel.ip_batch(*lines, namespace=namespace)
    return namespace


def churn_namespaces(c, rng):
    for i in range(rng.randint(1, 3)):
        run("ip", "netns", "add", f"n{i}")
        kernel.ip_batch(f"link add v-n{i} type veth peer name eth0 "
                        f"netns n{i}", f"link set v-n{i} up")
        # Takes its end with it.
        run("ip", "netns", "delete", f"n{i}")


def change_mtu(c, rng):
    kernel.ip_batch(*(f"link set v-p2 mtu {1400 + i}" for i in range(30)),
                    "link set v-p2 mtu 1500")


def change_addresses(c, rng):
    kernel.ip_batch("address add 192.0.2.1/24 dev v-p2",
                    "route add 198.51.100.0/24 dev v-p2",
                    "route delete 198.51.100.0/24 dev v-p2",
                    "address delete 192.0.2.1/24 dev v-p2")


def change_routes(c, rng):
    """A routing daemon changes routes of a table that is in use, or of one
    that nobody uses.  Those that are not deleted go with their device, which
    the kernel announces of none of them."""
    table = rng.choice(["main", "77"])
    routes = [f"198.18.{i // 256}.{i % 256} dev routes table {table}"
              for i in range(3000)]
    kernel.ip_batch("link add routes type ifb", "link set routes up",
                    *(f"route add {route}" for route in routes),
                    *(f"route delete {route}" for route in routes[::2]),
                    "link delete routes")
    return table


def flap_cards(c, rng):
    """Cards that are ports get and lose links of different speeds.  Drivers of
    tap devices are asked as those of cards are."""
    cards = [f"card{i}" for i in range(10)]
    kernel.ip_batch(*(f"tuntap add {card} mode tap" for card in cards))
    c.switch.vsctl(*(arg for card in cards for arg in add_port("br0", card)))
    try:
        for _ in range(rng.randint(1, 5)):
            kernel.ip_batch(*(f"link set {card} up" for card in cards))
            speed = rng.choice(["100", "1000", "10000"])
            run("ethtool", "-s", rng.choice(cards), "speed", speed)
            kernel.ip_batch(*(f"link set {card} down" for card in cards))
            time.sleep(rng.choice([0, 0, 0.5]))
    finally:
        c.switch.vsctl(*(arg for card in cards
                         for arg in del_port("br0", card)))
        kernel.ip_batch(*(f"link delete {card}" for card in cards))


def change_lag(c, rng):
    """A bond of the kernel is a port; its members come, flap and go."""
    members = ["lag0", "lag1"]
    kernel.ip_batch("link add lag type bond mode active-backup miimon 100",
                    *(f"link add {m} type ifb" for m in members))
    first, second = rng.sample(members, 2)
    try:
        kernel.ip_batch(f"link set {first} master lag", "link set lag up")
        c.switch.add_port("br0", "lag")
        kernel.ip_batch(f"link set {second} master lag")
        for _ in range(rng.randint(1, 10)):
            member = rng.choice(members)
            kernel.ip_batch(f"link set {member} down",
                            f"link set {member} up")
        kernel.ip_batch(f"link set {first} nomaster")
    finally:
        c.switch.del_port("br0", "lag")
        kernel.ip_batch("link delete lag",
                        *(f"link delete {m}" for m in members))


# Processes.

def restart_ovsdb(c, rng):
    c.switch.stop_ovsdb()
    time.sleep(rng.choice([0, 1, 3]))
    c.switch.start_ovsdb()


def kill_daemon(c, rng):
    with c.switch.process:
        c.switch.kill_daemon()
        time.sleep(rng.choice([0, 1, 3]))
        c.switch.start_daemon()
        c.switch.restore()


def kill_daemon_early(c, rng):
    """Once more while it starts."""
    with c.switch.process:
        c.switch.kill_daemon()
        c.switch.start_daemon()
        time.sleep(rng.random())
        kill_daemon(c, rng)


def restart_daemon(c, rng):
    with c.switch.process:
        options = rng.choice([[], [], ["--cleanup"]])
        c.switch.exit_daemon(*options)
        time.sleep(rng.choice([0, 1, 3]))
        c.switch.start_daemon()
        c.switch.restore()
    return options


def stop_for_a_while(c, rng):
    """The daemon does not run, while devices change more than its socket
    takes."""
    with c.switch.process:
        os.kill(c.switch.pid, signal.SIGSTOP)
        try:
            if rng.random() < 0.5:
                churn_links(c, rng, "late")
            c.traffic.flood(rng.choice([200, 5000]))
            time.sleep(1)
        finally:
            os.kill(c.switch.pid, signal.SIGCONT)


# Shortage.

def flood(c, rng):
    n = rng.choice([500, 1500])
    c.traffic.flood(n)
    return n


def shed(c, rng):
    """A short target, and more than its port's share."""
    target = rng.choice([1, 20, 100])
    c.switch.set_config(upcall_target_delay=target)
    c.traffic.flood(3000)
    return target


def shrink_buffers(c, rng):
    """Some of the daemon's netlink sockets, those of upcalls and those of
    events, take hardly anything."""
    with c.switch.process:
        netlink = kernel.netlink_sockets()
        channels = {pid for port
                    in c.switch.show("upcall/show")[0]["ports"]
                    for pid in shown_pids(port)}
        n = 0
        for fd, link in kernel.descriptors(c.switch.pid).items():
            _, pid, groups = netlink.get(kernel.socket_inode(link),
                                         (None, 0, 0))
            # Those for requests are left alone: Open vSwitch takes for
            # granted that an answer fits in.
            if (groups or pid in channels) and rng.random() < 0.3:
                with contextlib.suppress(OSError):
                    size = kernel.set_receive_buffer(c.switch.pid, fd, 5000)
                    c.buffers.setdefault((c.switch.pid, link), (fd, size))
                    n += 1
    c.traffic.flood(300)
    return f"{n} sockets"


def restore_buffers(c):
    """Gives sockets that are still there the size that they had."""
    now = kernel.descriptors(c.switch.pid)
    for (pid, link), (fd, size) in c.buffers.items():
        if pid == c.switch.pid and now.get(fd) == link:
            with contextlib.suppress(OSError):
                kernel.set_receive_buffer(pid, fd, size)


def withhold_descriptors(c, rng):
    """Only a few more than there are."""
    with c.switch.process:
        n = len(kernel.descriptors(c.switch.pid)) + rng.randint(0, 12)
        hard = resource.prlimit(c.switch.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(c.switch.pid, resource.RLIMIT_NOFILE, (n, hard))
    add_internal_ports(c, rng)
    return n


def give_descriptors(c):
    hard = resource.prlimit(c.switch.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(c.switch.pid, resource.RLIMIT_NOFILE, (hard, hard))


SETTING, PORT, LINK, PROCESS = range(4)

TABLE = [Operation(*row) for row in (
    # name, lane, weight, allows, function, what
    ("handlers", SETTING, 3, NO_LOSS, set_handlers,
     "another number of handlers"),
    ("revalidators", SETTING, 1, NO_LOSS, set_revalidators,
     "another number of revalidators"),
    ("engine", SETTING, 3, NO_LOSS, set_engine, "epoll or io_uring"),
    ("dispatch", SETTING, 3, COUNTED_LOSS, set_dispatch,
     "a socket for each port, or for each handler; these are shared, so that "
     "a flood may cost others"),
    ("budget", SETTING, 2, COUNTED_LOSS, set_budget,
     "number of sockets for upcalls; ports share those, too"),
    ("offload", SETTING, 3, NO_LOSS, set_offload, "offload on or off"),
    ("offload-threads", SETTING, 2, NO_LOSS, set_offload_threads,
     "another number of offload threads"),
    ("offload-delay", SETTING, 1, NO_LOSS, set_offload_delay,
     "flows go to tc at once, or later"),
    ("max-idle", SETTING, 1, NO_LOSS, set_max_idle, "how long flows stay"),
    ("netns-entries", SETTING, 1, NO_LOSS, set_netns_entries,
     "another size of the tables of links"),
    ("settings", SETTING, 2, NO_LOSS, set_several, "several of these at once"),
    ("purge", SETTING, 1, NO_LOSS, purge_flows, "all flows are deleted"),
    ("stock-tools", SETTING, 2, NO_LOSS, ask_with_stock_tools,
     "ovs-dpctl opens the datapath"),

    ("port-readd", PORT, 3, LOSS_AT_PORT, readd_port,
     "a port is deleted, and added"),
    ("port-readd-once", PORT, 2, LOSS_AT_PORT, readd_port_at_once,
     "the same in one transaction"),
    ("rename", PORT, 2, LOSS_AT_PORT, rename_device,
     "the device of a port gets another name, and its own again"),
    ("move", PORT, 2, LOSS_AT_PORT, move_device,
     "the device of a port goes to another namespace, and comes back"),
    ("flap", PORT, 1, LOSS_AT_PORT, flap_device,
     "the device of a port goes down and up"),
    ("internal", PORT, 3, NO_LOSS, add_internal_ports,
     "internal ports are added, and deleted"),
    ("move-internal", PORT, 2, NO_LOSS, move_internal_port,
     "an internal port goes to another namespace, and comes back"),
    ("recreate", PORT, 2, NO_LOSS, recreate_device,
     "a device that is a port is deleted and made again"),
    ("stray", PORT, 1, NO_LOSS, add_stray_port,
     "somebody else adds a port to the datapath"),
    ("bridge", PORT, 1, NO_LOSS, readd_bridge,
     "a bridge is added, and deleted"),
    ("tunnel", PORT, 1, NO_LOSS, readd_tunnel,
     "a tunnel is deleted, and added"),
    ("bond", PORT, 1, NO_LOSS, change_bond,
     "a bond changes its mode, and a member goes down and up"),
    ("cards", PORT, 2, NO_LOSS, flap_cards,
     "cards are added, flap, with other speeds, and are deleted"),
    ("lag", PORT, 2, NO_LOSS, change_lag,
     "a bond of the kernel is a port, and its members change"),
    ("qos", PORT, 2, LOSS_AT_PORT, change_qos,
     "queues and policing, which limit nothing, are set up and removed"),

    ("links", LINK, 3, NO_LOSS, churn_links,
     "devices come, change and go, here or in another namespace"),
    ("namespaces", LINK, 1, NO_LOSS, churn_namespaces,
     "namespaces come and go with their devices"),
    ("mtu", LINK, 1, NO_LOSS, change_mtu, "a port's MTU changes"),
    ("addresses", LINK, 1, NO_LOSS, change_addresses,
     "addresses and routes come and go"),
    ("routes", LINK, 2, NO_LOSS, change_routes,
     "thousands of routes come and go, in tables that are in use and others"),
    ("flood", LINK, 2, NO_LOSS, flood,
     "one port sends as many misses as it can, few enough for its buffer"),
    ("shed", LINK, 2, ANY_LOSS, shed,
     "a port sends more than its share while the delay of upcalls is bounded"),
    ("shrink", LINK, 1, COUNTED_LOSS, shrink_buffers,
     "receive buffers get tiny"),
    ("descriptors", LINK, 1, COUNTED_LOSS, withhold_descriptors,
     "file descriptors run short; ports share sockets"),

    ("ovsdb", PROCESS, 3, NO_LOSS, restart_ovsdb, "ovsdb-server is restarted"),
    ("stop", PROCESS, 3, COUNTED_LOSS, stop_for_a_while,
     "the daemon does not run for a while, and sockets overrun"),
    ("kill", PROCESS, 2, ANY_LOSS, kill_daemon,
     "the daemon is killed, and started"),
    ("kill-early", PROCESS, 1, ANY_LOSS, kill_daemon_early,
     "the same while it starts"),
    ("restart", PROCESS, 2, ANY_LOSS, restart_daemon,
     "the daemon ends, with or without its datapath, and is started"),
)]
