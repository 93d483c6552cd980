# SPDX-License-Identifier: Apache-2.0
"""Facts about a machine for a support case: parts, each with a name.

Nothing here fails: a part that is not available says why.
"""

import os
import subprocess

from ovs_kdp import daemon, program

# Commands of the daemon, as text; those in daemon.SHOWS also as JSON.
COMMANDS = ("version", "kdp/doctor", *daemon.SHOWS,
            "dpctl/offload-stats-show", "dpif-netlink/dispatch-mode",
            "dpctl/show", "coverage/show", "memory/show", "vlog/list")

# Files of the system; %d is the daemon's process id.
FILES = ("/etc/os-release", "/proc/version", "/proc/cmdline",
         "/proc/modules", "/proc/meminfo", "/proc/loadavg",
         "/proc/net/softnet_stat", "/proc/net/netlink",
         "/proc/sys/net/core/rmem_max", "/proc/sys/net/core/rmem_default",
         "/proc/sys/fs/nr_open", "/proc/sys/fs/file-nr",
         "/proc/%d/limits", "/proc/%d/status", "/proc/%d/cgroup")

# Programs, and the time limit of each.
PROGRAMS = (
    ("uname", "-a"),
    ("ip", "-details", "link"),
    ("ip", "netns", "list-id"),
    ("tc", "qdisc", "show"),
    ("ovs-vsctl", "--timeout=10", "show"),
    ("ovs-vsctl", "--timeout=10", "get", "Open_vSwitch", ".", "other_config"),
    ("update-alternatives", "--query", "ovs-vswitchd"),
    ("dpkg-query", "--show", "openvswitch*"),
)
PROGRAM_TIMEOUT = 20

# The end of this log.
LOG = "/var/log/openvswitch/ovs-vswitchd.log"
LOG_BYTES = 1 << 20

# The kernel options that matter here.
CONFIG_WORDS = ("OPENVSWITCH", "NET_CLS", "NET_ACT", "NET_TC", "NETLINK",
                "IO_URING")


def read(path, last=None):
    """The text of a file, or of its last bytes."""
    try:
        with open(path, "rb") as file:
            if last and os.path.getsize(path) > last:
                file.seek(-last, os.SEEK_END)
            return file.read().decode(errors="replace")
    except OSError as error:
        return "not there: %s\n" % error


def run(argv):
    """The output of a program."""
    try:
        status, output = program.run(argv, PROGRAM_TIMEOUT, subprocess.STDOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "not there: %s\n" % error
    return output + ("" if status == 0 else "exit status %d\n" % status)


def ask(target, command, *args):
    """The daemon's answer to a command."""
    try:
        return target.text(command, *args)
    except daemon.DaemonError as error:
        return "not there: %s\n" % error


def kernel_config():
    """Options of the running kernel that matter."""
    text = read("/boot/config-" + os.uname().release)
    if text.startswith("not there"):
        return text
    return "".join(line + "\n" for line in text.splitlines()
                   if any(word in line for word in CONFIG_WORDS))


def collect(target):
    """Pairs of name and text."""
    try:
        pid = daemon.pid_of(target.target)
    except daemon.DaemonError:
        pid = None
    for command in COMMANDS:
        name = "daemon/" + command.replace("/", "-")
        yield name + ".txt", ask(target, command)
        if command in daemon.SHOWS or command == "kdp/doctor":
            yield name + ".json", ask(target, command, "--format", "json")
    for path in FILES:
        if "%d" not in path:
            yield "system" + path.replace("/", "-"), read(path)
        elif pid:
            yield ("system" + path.replace("/", "-").replace("%d", "daemon"),
                   read(path % pid))
    yield "system-kernel-config", kernel_config()
    for argv in PROGRAMS:
        yield ("programs/%s.txt" % "-".join(
            word.strip("-.*") for word in argv if word.strip("-.*")),
            run(argv))
    yield "daemon/log.txt", read(LOG, LOG_BYTES)
