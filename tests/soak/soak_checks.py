# SPDX-License-Identifier: Apache-2.0

"""The invariants that hold at each quiet point.

A check is a function that returns what is wrong, as a list of lines, empty if
nothing is.  What becomes true by itself, for the daemon learns from events, is
tried again until it is, or until that has taken too long.
"""

import collections
import glob
import re
import subprocess
import time

import soak_kernel as kernel
from soak_kernel import run
from soak_operations import COUNTED_LOSS
from soak_switch import SoakError, shown_pids
from soak_traffic import FLOODS, PINGS, STREAMS, reaches

# Descriptors more than at the start that are no leak.  Open vSwitch keeps the
# sockets of its own requests, up to 16 for each protocol, and makes one more
# when threads happen to ask at the same time; a control connection may be just
# ending.
MORE_DESCRIPTORS = {"netlink generic": 15, "netlink other": 15,
                    "other socket": 1}

# Memory more than at the start that is no leak, in kB.  What threads keep for
# themselves counts as in use.  A leak of one flow (1 kB) with each frame that
# misses would be several MB a minute.  What is free in the C library's heaps is
# no leak: threads that come and go leave it there, and only what is at the end
# of a heap is given back.  Elsewhere are above all stacks, which the library
# keeps for the next threads, 40 MB of address space in all.
MORE_IN_USE = 4 * 1024
MORE_ELSEWHERE = 20 * 1024

UFID = re.compile(r"^ufid:([0-9a-f-]+),", re.M)


Memory = collections.namedtuple("Memory", "resident in_use free")


def memory_kb(switch):
    """What the daemon has: resident, allocated, and free in its heaps.  With
    sanitizers it has heaps of another kind, which it does not report."""
    resident = kernel.resident_kb(switch.pid)
    if switch.sanitized:
        return Memory(resident, 0, 0)
    shown = switch.appctl("memory/show")
    return Memory(resident,
                  *(int(re.search(rf"heap kB {what}:(\d+)", shown).group(1))
                    for what in ("in use", "free")))


def differences(what, expected, got):
    """Compares two dictionaries."""
    return [f"{what} {key}: kernel {expected.get(key)}, daemon {got.get(key)}"
            for key in sorted(set(expected) | set(got), key=str)
            if expected.get(key) != got.get(key)]


# Tables.

def links_equal_kernel(switch):
    """The daemon knows the links of the namespaces that it follows as the
    kernel has them."""
    names = kernel.namespace_ids()
    wrong = []
    for shown in switch.show("link-table/show")["namespaces"]:
        name = shown["namespace"]
        if shown["state"] == "not followed":
            continue
        if shown["state"] != "current":
            wrong.append(f"namespace {name}: {shown['state']}")
        if name != "local" and int(name) not in names:
            continue
        table = switch.show("link-table/show", name)["namespaces"][0]["links"]
        known = {link["ifindex"]: (link["name"], link["mtu"],
                                   bool(link["flags"] & 1), link["hwaddr"])
                 for link in table}
        real = kernel.links(None if name == "local" else names[int(name)])
        wrong += differences(f"namespace {name}: link", real, known)
    return wrong


def ports_equal_kernel(switch):
    """The daemon knows the ports that the kernel has."""
    shown = switch.show("vport-table/show", "ovs-system")[0]
    wrong = [] if shown["in_sync"] else ["the table of ports is not in sync"]
    return wrong + differences(
        "port", {port.port_no: port.name for port in kernel.vports().values()},
        {port["port_no"]: port["name"] for port in shown["ports"]})


def channels_equal_kernel(switch):
    """Each port sends upcalls to sockets of its own, which are the daemon's.
    """
    shown = switch.show("upcall/show")[0]
    table = {port["port_no"]: (port["name"], shown_pids(port))
             for port in shown["ports"] if port["port_no"] is not None}
    real = {port.port_no: (port.name, port.pids)
            for port in kernel.vports().values()}
    wrong = differences("channel of port", real, table)
    mine = {kernel.socket_inode(link)
            for link in kernel.descriptors(switch.pid).values()}
    alive = {pid for inode, (protocol, pid, _)
             in kernel.netlink_sockets().items()
             if protocol == kernel.NETLINK_GENERIC and inode in mine}
    pids = [pid for _, pids in real.values() for pid in pids]
    wrong += [f"port {number}: no socket of the daemon has port id {pid}"
              for number, (_, pids_) in real.items() for pid in pids_
              if pid not in alive]
    if len(set(pids)) != len(pids):
        wrong.append("ports share sockets")
    # One for the mode in which others open the datapath, one for upcalls of no
    # port.
    if shown["n_sockets"] != len(pids) + 2:
        wrong.append(f"{shown['n_sockets']} sockets, and ports send to "
                     f"{len(pids)}")
    return wrong


def database_equals_kernel(switch):
    """OVSDB has the state of the devices, and no errors."""
    links = {name: (index, mtu, up)
             for index, (name, mtu, up, _) in kernel.links().items()}
    wrong = []
    for row in switch.interfaces("name", "error", "ifindex", "mtu",
                                 "admin_state"):
        name = row["name"]
        if row["error"] != ["set", []]:
            wrong.append(f"interface {name}: {row['error']}")
        elif name in links and links[name] != (row["ifindex"], row["mtu"],
                                               row["admin_state"] == "up"):
            wrong.append(f"interface {name}: kernel {links[name]}, OVSDB "
                         f"{row['ifindex'], row['mtu'], row['admin_state']}")
    return wrong


# Offload.

def devices():
    return [name for name, _, _, _ in kernel.links().values()]


def offload_is_settled(switch):
    shown = switch.show("offload/show", "ovs-system")[0]
    total, flows = shown["total"], shown["flows"]
    ended = sum(total[name] for name in (
        "inserted", "modified", "deleted", "returned", "rejected",
        "superseded"))
    wrong = []
    if total["queued"] or total["enqueued"] != ended + flows["parked"]:
        wrong.append(f"requests are not accounted for: {total}, {flows}")
    wrong += [f"{flows[state]} flows {state}"
              for state in ("queued", "deleting", "moving back")
              if flows[state]]
    if total["leaked"]:
        wrong.append(f"{total['leaked']} leaked")
    return wrong


def flows_lost(switch):
    """Returns how many flows neither tc nor the datapath would take, without
    those that others overlap with.  Those are no loss: when a daemon starts,
    rules that it found may be in the way of flows that are wider, which it has
    while OpenFlow is not restored yet."""
    return switch.show("offload/show", "ovs-system")[0]["total"]["lost"]


def rules_equal_flows(switch, lost):
    """No more than 'lost' flows are lost.  Each flow that is shown as being in
    tc has a rule, each rule of ours is of such a flow, and none is in two
    places."""
    wrong = offload_is_settled(switch)
    if flows_lost(switch) > lost:
        wrong.append(f"{flows_lost(switch)} flows lost, {lost} before")
    rules = kernel.tc_ufids(devices())
    in_tc = sorted(UFID.findall(switch.appctl(
        "dpctl/dump-flows", "-m", "system@ovs-system", "type=tc")))
    in_kernel = set(UFID.findall(run("ovs-dpctl", "dump-flows", "-m",
                                     "system@ovs-system")))
    if rules != in_tc:
        wrong.append(f"rules of no flow: {sorted(set(rules) - set(in_tc))}")
        wrong.append(f"flows without rule: {sorted(set(in_tc) - set(rules))}")
        wrong.append(f"{len(rules)} rules, {len(in_tc)} flows in tc")
    wrong += [f"flow {ufid} is in tc and in the datapath"
              for ufid in set(in_tc) & in_kernel]
    return wrong


def no_rules_without_offload(switch):
    """Some time after offload is turned off there is no rule of ours: threads
    delete them, for which nobody waits."""
    switch.set_config(**{"hw-offload": "false"})
    try:
        return eventually(
            lambda: [f"rule of flow {ufid}"
                     for ufid in kernel.tc_ufids(devices())],
            switch.seconds)
    finally:
        switch.set_config(**{"hw-offload": "true"})


# Traffic.

def delivery(context, result, lost, exact):
    """Each frame arrived where it should, once, or is known to be lost."""
    wrong = list(result.errors)
    wrong += [f"s{end}: {n} frames of others"
              for end, n in result.others.items() if n]
    counted = 0
    for stream in STREAMS + FLOODS:
        missing = result.missing(stream)
        if result.duplicated.get(stream.number):
            wrong.append(f"stream {stream.number}: "
                         f"{result.duplicated[stream.number]} came twice")
        if missing < 0:
            wrong.append(f"stream {stream.number}: {-missing} too many")
        elif missing and (exact or not context.loss_is_explained(stream)):
            if not exact and (COUNTED_LOSS in context.allowed
                              or stream in FLOODS):
                counted += missing
            else:
                wrong.append(
                    f"stream {stream.number} from s{stream.source} to "
                    f"s{stream.target}: {missing} of "
                    f"{result.sent[stream.number]} frames are missing; "
                    f"the kernel counts {lost} upcalls lost")
    if counted > lost:
        wrong.append(f"{counted} frames are missing; the kernel counts {lost} "
                     "upcalls lost")
    return wrong


def pings_pass(switch):
    """Namespaces reach each other by IPv4 and IPv6, over a bond, and through
    tunnels."""
    return [f"{namespace} does not reach {address}"
            for namespace, address in PINGS if not reaches(namespace, address)]


# Resources.

class Resources:
    """What the daemon uses, against what it used at the start."""

    def __init__(self, switch):
        self.switch = switch
        self.memory = None

    def measure(self):
        pid = self.switch.pid
        return (kernel.descriptor_kinds(pid), kernel.thread_kinds(pid))

    def begin(self):
        """Takes the state as it is, once nothing changes any more, for what
        there should be."""
        before = None
        self.descriptors, self.threads = self.measure()
        for _ in range(10):
            if before == (self.descriptors, self.threads):
                break
            before = self.descriptors, self.threads
            time.sleep(2)
            self.descriptors, self.threads = self.measure()
        self.memory = memory_kb(self.switch)

    def check_descriptors(self):
        descriptors, _ = self.measure()
        return [f"descriptors of kind {kind}: {n}, at the start "
                f"{self.descriptors[kind]}"
                for kind, n in sorted(descriptors.items())
                if n > self.descriptors[kind] + MORE_DESCRIPTORS.get(kind, 0)]

    def check_threads(self):
        _, threads = self.measure()
        return [f"threads {kind}: {n}, at the start {self.threads[kind]}"
                for kind, n in sorted(threads.items())
                if n > self.threads[kind]]

    def check_memory(self):
        if self.switch.sanitized:
            # Its own tools look for leaks, and keep what was freed.
            return []
        now, start = memory_kb(self.switch), self.memory
        wrong = []
        if now.in_use > start.in_use + MORE_IN_USE:
            wrong.append(f"{now.in_use} kB in use, at the start "
                         f"{start.in_use} kB")
        now, start = (m.resident - m.in_use - m.free for m in (now, start))
        if now > start + MORE_ELSEWHERE:
            wrong.append(f"{now} kB resident outside of the heaps, at the "
                         f"start {start} kB")
        return wrong


# What a report ends with that is about Open vSwitch alone.  Each revalidator
# notes the time of a round in the datapath's structure.  A suppression would
# hide what else happens below that function, too.
OTHERS_REPORT = re.compile(
    r"SUMMARY: ThreadSanitizer: data race "
    r"ofproto/ofproto-dpif-upcall\.c:\d+.* in revalidate$", re.MULTILINE)


def sanitizer_reports(switch):
    wrong = []
    for path in glob.glob(f"{switch.work}/sanitizer.*"):
        with open(path, errors="replace") as f:
            reports = re.split(r"^=+$", f.read(), flags=re.MULTILINE)
        for report in reports:
            if "Sanitizer: reported" in report:
                # How many there were, at the end of the daemon.
                continue
            if report.strip() and not OTHERS_REPORT.search(report):
                wrong += report.strip().splitlines()[:60]
    return wrong


# At the end.

def nothing_is_left(switch):
    """The daemon is told to clean up: no datapath, no port, no rule."""
    wrong = []
    if kernel.datapath_exists():
        wrong.append("the datapath is there")
    wrong += [f"rule of flow {ufid}" for ufid in kernel.tc_ufids(devices())]
    wrong += [f"device {name}" for name in devices()
              if name.startswith(("br", "vxlan_sys", "genev_sys", "i"))
              and name != "ifb"]
    return wrong


def eventually(check, seconds):
    """Returns what is wrong after at most that time, [] as soon as nothing is
    any more."""
    end = time.monotonic() + seconds
    while True:
        try:
            wrong = check()
        except (OSError, SoakError, subprocess.SubprocessError) as e:
            wrong = [f"{type(e).__name__}: {e}"]
        if not wrong or time.monotonic() > end:
            return wrong
        time.sleep(0.5)
