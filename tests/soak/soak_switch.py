# SPDX-License-Identifier: Apache-2.0

"""The Open vSwitch under test: ovsdb-server, the daemon, bridges and ports.

br0     s1 to s8, whose numbered frames are counted; p1 and p2, which ping each
        other by IPv4 and IPv6; b1, behind a bond; two tunnels to "remote"
br-u    the network under the tunnels

Numbered frames go by their destination, to port N for the Nth namespace; all
else is switched as usual.  A rule that looks at the source address, whatever
it is, keeps the datapath's flows from covering other ones.
"""

import contextlib
import glob
import json
import os
import signal
import socket
import subprocess
import threading
import time

import soak_kernel as kernel
from soak_kernel import run

TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SUPPRESSIONS = ["unit/tsan-suppressions.txt", "system/sanitizers/thread.txt"]

ENDS = range(1, 9)
SETTINGS = {
    "n-handler-threads": "4",
    "n-revalidator-threads": "2",
    "hw-offload": "true",
    "tc-policy": "skip_hw",
    "n-offload-threads": "1",
    # What the daemon sheds is in no counter of the kernel, by which the soak
    # accounts for what is missing.
    "upcall-target-delay": "0",
}

# Of the host, which are there all the time: as many as emulation adds within
# half a minute.
N_ROUTES = 20000

# The switch takes them one by one, so what keeps numbered frames from flooding
# comes before what would flood them.
FLOWS = ["priority=20,dl_type=0x88b5,actions=drop",
         "priority=40,dl_type=0x88b5,dl_src=02:ff:ff:ff:ff:ff,actions=drop",
         "priority=0,actions=NORMAL"]


def add_port(bridge, name, *settings):
    """Returns arguments of ovs-vsctl that may be used twice, as those of
    del_port()."""
    args = ["--", "--may-exist", "add-port", bridge, name]
    return args + (["--", "set", "Interface", name, *settings] if settings
                   else [])


def del_port(bridge, name):
    return ["--", "--if-exists", "del-port", bridge, name]


def end_mac(end):
    return f"02:ee:00:00:00:{end:02x}"


def shown_pids(port):
    """The port ids of a port, in the order in which the kernel has them."""
    return tuple(queue["pid"] for queue in port["queues"]
                 if not queue["retired"]) or (port["pid"],)


class SoakError(Exception):
    """What makes it impossible to go on."""


class Switch:
    def __init__(self, daemon, work, patience):
        self.daemon = daemon
        self.work = work
        self.seconds = 30 * patience    # For what is quick on an idle machine.
        self.pid = None
        # Held by who ends and starts the daemon, and by who needs it to stay.
        self.process = threading.RLock()
        os.environ.update(OVS_RUNDIR=work, OVS_LOGDIR=work,
                          OVS_CTL_TIMEOUT=str(4 * self.seconds))
        with open(daemon, "rb") as f:
            text = f.read()
        self.sanitized = any(name in text for name in
                             (b"__asan_init", b"__tsan_init"))
        sanitizer = f"log_path={work}/sanitizer"
        os.environ.update(
            ASAN_OPTIONS=sanitizer,
            TSAN_OPTIONS=f"{sanitizer}:suppressions={work}/thread.txt",
            UBSAN_OPTIONS=sanitizer + ":print_stacktrace=1")

    # Waiting.

    def wait_until(self, what, condition, seconds=None):
        """Waits until condition() is true."""
        end = time.monotonic() + (seconds or self.seconds)
        while not condition():
            if time.monotonic() > end:
                raise SoakError(f"in vain waited for: {what}")
            time.sleep(0.1)

    # Processes.

    def start_ovsdb(self):
        database = f"{self.work}/conf.db"
        if not os.path.exists(database):
            run("ovsdb-tool", "create", database,
                "/usr/share/openvswitch/vswitch.ovsschema")
        run("ovsdb-server", database, "--detach", "--no-chdir", "--pidfile",
            "--log-file", f"--remote=punix:{self.work}/db.sock")

    def stop_ovsdb(self):
        run("ovs-appctl", "-t", "ovsdb-server", "exit")
        self.wait_until("the end of ovsdb-server", lambda: not os.path.exists(
            f"{self.work}/ovsdb-server.pid"))

    def start_daemon(self):
        with open(f"{self.work}/daemon.stderr", "a") as f:
            subprocess.run([self.daemon, "--detach", "--no-chdir",
                            "--pidfile", "--log-file"],
                           check=True, timeout=4 * self.seconds,
                           stdin=subprocess.DEVNULL, stdout=f, stderr=f)
        with open(f"{self.work}/ovs-vswitchd.pid") as f:
            self.pid = int(f.read())

    def daemon_is_alive(self):
        try:
            with open(f"/proc/{self.pid}/stat") as f:
                return f.read().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def wait_for_end(self):
        self.wait_until("the end of the daemon",
                        lambda: not self.daemon_is_alive(), 4 * self.seconds)

    def kill_daemon(self):
        os.kill(self.pid, signal.SIGKILL)
        self.wait_for_end()

    def exit_daemon(self, *options):
        self.appctl("exit", *options)
        self.wait_for_end()

    def restore(self):
        """Gives a daemon that was started what the database does not keep."""
        self.wait_until("OpenFlow", self.set_flows)
        with contextlib.suppress(subprocess.CalledProcessError):
            kernel.ip_batch("link set br-u up",
                            "address replace 172.31.1.100/24 dev br-u")

    def set_flows(self):
        flows = FLOWS + [
            f"priority=30,dl_type=0x88b5,dl_dst={end_mac(end)},"
            f"actions=output:{end}" for end in ENDS]
        try:
            run("ovs-ofctl", "add-flows", "br0", "-",
                text="\n".join(flows) + "\n")
            # A bridge that was just made may be configured once more.
            return (run("ovs-ofctl", "dump-flows", "br0").count("dl_type")
                    + 1 >= len(flows))
        except subprocess.CalledProcessError:
            return False

    # Commands.

    def appctl(self, method, *args):
        """Returns what a command of the daemon prints."""
        request = {"id": 0, "method": method, "params": list(args)}
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(4 * self.seconds)
            s.connect(f"{self.work}/ovs-vswitchd.{self.pid}.ctl")
            s.sendall(json.dumps(request).encode())
            data = b""
            while True:
                part = s.recv(1 << 16)
                data += part
                with contextlib.suppress(ValueError):
                    reply = json.loads(data)
                    break
                if not part:
                    raise SoakError(f"no answer to {method}")
        if reply["error"] is not None:
            raise SoakError(f"{method}: {reply['error']}")
        return reply["result"]

    def show(self, method, *args):
        """Returns what a "show" command tells as JSON."""
        return json.loads(self.appctl(method, "--format", "json", *args))

    def vsctl(self, *args):
        """Has ovs-vsctl do what 'args' say, which may be done twice: it tries
        again if ovsdb-server goes meanwhile."""
        return run("ovs-vsctl", "--retry", *args, timeout=5 * self.seconds)

    def add_port(self, bridge, name, *settings):
        self.vsctl(*add_port(bridge, name, *settings))

    def del_port(self, bridge, name):
        self.vsctl(*del_port(bridge, name))

    def set_config(self, **values):
        """Sets members of other_config, removes those that are None; a name
        has _ for -."""
        args = []
        for name, value in values.items():
            name = name.replace("_", "-")
            if value is None:
                args += ["--", "remove", "Open_vSwitch", ".", "other_config",
                         name]
            else:
                args += ["--", "set", "Open_vSwitch", ".",
                         f'other_config:{name}="{value}"']
        self.vsctl(*args[1:])

    def reset_config(self):
        settings = ",".join(f'{name}="{value}"'
                            for name, value in SETTINGS.items())
        self.vsctl("clear", "Open_vSwitch", ".", "other_config", "--", "set",
                   "Open_vSwitch", ".", f"other_config={{{settings}}}")

    def interfaces(self, *columns):
        """Returns columns of all interfaces, as dictionaries."""
        table = json.loads(self.vsctl(
            "--format=json", "--columns=" + ",".join(columns), "list",
            "Interface"))
        return [dict(zip(table["headings"], row)) for row in table["data"]]

    def port_is_up(self, name):
        text = self.vsctl("--if-exists", "get", "Interface", name, "ofport")
        return text.strip().isdigit() and text.strip() != "0"

    # Ports.

    def add_end_port(self, end):
        self.add_port("br0", f"v-s{end}", f"ofport_request={end}")

    @staticmethod
    def add_veth(namespace, *addresses, peer="eth0", device=None):
        device = device or f"v-{namespace}"
        kernel.ip_batch(f"link add {device} type veth peer name {peer} "
                        f"netns {namespace}", f"link set {device} up")
        if not addresses:
            # Nothing comes from there but what the test sends.
            run("ip", "netns", "exec", namespace, "sysctl", "-q", "-w",
                f"net.ipv6.conf.{peer}.disable_ipv6=1")
        kernel.ip_batch(f"link set {peer} up",
                        *(f"address add {address} dev {peer}"
                          + (" nodad" if ":" in address else "")
                          for address in addresses), namespace=namespace)

    def write_suppressions(self):
        """Puts together what the thread sanitizer says of Open vSwitch
        alone, as for the system tests."""
        with open(f"{self.work}/thread.txt", "w") as target:
            for name in SUPPRESSIONS:
                with open(os.path.join(TESTS, name)) as f:
                    target.write(f.read())

    def build(self):
        """Starts all, with all ports."""
        self.write_suppressions()
        for module in ("openvswitch", "bonding max_bonds=0", "ifb numifbs=0",
                       "sch_htb", "sch_ingress", "act_police", "cls_matchall",
                       "cls_basic", "cls_flower", "vxlan", "geneve", "tun"):
            run("modprobe", *module.split())
        # Frames are dropped where that is counted for their upcall only.
        run("sysctl", "-q", "-w", "net.core.netdev_max_backlog=100000")
        self.start_ovsdb()
        self.vsctl("--no-wait", "init")
        settings = [f'other_config:{name}="{value}"'
                    for name, value in SETTINGS.items()]
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", *settings)
        self.start_daemon()
        self.vsctl("add-br", "br0", "--", "set", "Bridge", "br0",
                   "fail_mode=secure", "--", "add-br", "br-u")
        spaces = [f"s{end}" for end in ENDS]
        spaces += ["p1", "p2", "b1", "remote", "away", "foreign"]
        for space in spaces:
            run("ip", "netns", "add", space)
            kernel.ip_batch("link set lo up", namespace=space)
        for end in ENDS:
            self.add_veth(f"s{end}")
            self.add_end_port(end)
        self.add_veth("p1", "10.7.0.1/24", "10.8.0.1/24", "fd00:7::1/64")
        self.add_veth("p2", "10.7.0.2/24", "fd00:7::2/64")
        for name in "v-p1", "v-p2":
            self.add_port("br0", name)
        self.build_bond()
        self.build_tunnels()
        self.build_routes()
        self.restore()

    def build_bond(self):
        # Both ends prefer the same member.
        kernel.ip_batch("link add both type bond mode active-backup miimon "
                        "100 all_slaves_active 1", namespace="b1")
        for i in 0, 1:
            self.add_veth("b1", peer=f"eth{i}", device=f"v-b{i}")
            kernel.ip_batch(f"link set eth{i} down",
                            f"link set eth{i} master both", namespace="b1")
        kernel.ip_batch("link set both type bond primary eth0",
                        "link set both up", "address add 10.7.0.9/24 dev both",
                        namespace="b1")
        self.vsctl("add-bond", "br0", "bond0", "v-b0", "v-b1", "--", "set",
                   "Port", "bond0", "bond_mode=active-backup",
                   "other_config:bond-primary=v-b0")

    def build_tunnels(self):
        self.add_veth("remote", "172.31.1.1/24")
        self.add_port("br-u", "v-remote")
        for kind in "vxlan", "geneve":
            self.add_tunnel(kind)
        # Each address answers on its own device.
        run("ip", "netns", "exec", "remote", "sysctl", "-q", "-w",
            "net.ipv4.conf.all.arp_ignore=1")
        kernel.ip_batch(
            "link add tun0 type vxlan id 42 remote 172.31.1.100 dstport 4789",
            "link add tun1 type geneve id 43 remote 172.31.1.100",
            "address add 10.7.0.5/24 dev tun0",
            "address add 10.8.0.6/24 dev tun1",
            "link set tun0 up", "link set tun1 up", namespace="remote")

    def build_routes(self):
        """Gives the host a routing table as those of routers are."""
        kernel.ip_batch("link add fib0 type ifb", "link set fib0 up",
                        *(f"route add 203.{i >> 8}.{i & 255}.0/24 dev fib0"
                          for i in range(N_ROUTES)))

    def add_tunnel(self, kind):
        name, key = {"vxlan": ("t0", 42), "geneve": ("t1", 43)}[kind]
        self.add_port("br0", name, f"type={kind}",
                      "options:remote_ip=172.31.1.1", f"options:key={key}")

    # The end.

    def keep_logs(self, folder):
        for pattern in "*.log", "sanitizer.*", "daemon.stderr", "conf.db":
            for path in glob.glob(f"{self.work}/{pattern}"):
                with contextlib.suppress(OSError):
                    run("cp", path, folder)

    def destroy(self):
        """Removes what is left, whatever became of it."""
        def quietly(*argv):
            subprocess.run(argv, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)

        for name in "ovs-vswitchd", "ovsdb-server":
            with contextlib.suppress(OSError, ValueError):
                with open(f"{self.work}/{name}.pid") as f:
                    os.kill(int(f.read()), signal.SIGKILL)
        for space in subprocess.run(
                ["ip", "netns", "list"], stdout=subprocess.PIPE,
                universal_newlines=True).stdout.splitlines():
            space = space.split()[0]
            for pid in subprocess.run(
                    ["ip", "netns", "pids", space], stdout=subprocess.PIPE,
                    universal_newlines=True).stdout.split():
                with contextlib.suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)
        quietly("ip", "-all", "netns", "delete")
        quietly("ovs-dpctl", "del-dp", "system@ovs-system")
