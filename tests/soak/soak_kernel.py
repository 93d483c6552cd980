# SPDX-License-Identifier: Apache-2.0

"""What the kernel says: ports, sockets, links, rules; asked of the kernel
itself, never of the daemon."""

import collections
import ctypes
import json
import os
import re
import socket
import struct
import subprocess

NETLINK_GENERIC = 16

# Linux, include/uapi/linux/netlink.h and openvswitch.h.
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 16, 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 1, 2
OVS_DP_CMD_GET, OVS_DP_ATTR_STATS = 3, 3
OVS_VPORT_CMD_GET = 3
OVS_VPORT_ATTR_PORT_NO, OVS_VPORT_ATTR_NAME = 1, 3
OVS_VPORT_ATTR_UPCALL_PID = 5

SO_RCVBUFFORCE = 33
SYS_PIDFD_GETFD = 438           # x86-64

Vport = collections.namedtuple("Vport", "port_no name pids")


def run(*argv, text=None, timeout=600):
    """Returns what the command writes; raises an error if it fails."""
    return subprocess.run(argv, input=text, check=True, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True).stdout


def ip_batch(*lines, namespace=None):
    """Has ip(8) execute the lines; stops at the first that fails."""
    options = ["-n", namespace] if namespace else []
    run("ip", *options, "-batch", "-", text="\n".join(lines) + "\n")


# Generic netlink.

def parse_attributes(data):
    attributes = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            break
        attributes[kind] = data[4:length]
        data = data[(length + 3) & ~3:]
    return attributes


def genl_request(family, command, body, flags):
    """Returns the bodies of the answers, without the generic header."""
    answers = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                       NETLINK_GENERIC) as s:
        s.settimeout(60)
        s.bind((0, 0))
        payload = struct.pack("=BBH", command, 1, 0) + body
        s.send(struct.pack("=IHHII", 16 + len(payload), family,
                           NLM_F_REQUEST | flags, 1, 0) + payload)
        while True:
            data = s.recv(1 << 20)
            while data:
                length, kind = struct.unpack_from("=IH", data)
                if kind == NLMSG_DONE:
                    return answers
                if kind == NLMSG_ERROR:
                    error = -struct.unpack_from("=i", data, 16)[0]
                    if error:
                        raise OSError(error, os.strerror(error))
                    return answers
                answers.append(data[20:length])
                data = data[(length + 3) & ~3:]
            if not flags & (NLM_F_ACK | NLM_F_DUMP):
                return answers


def family_id(name):
    text = name.encode() + b"\0"
    attribute = struct.pack("=HH", 4 + len(text), CTRL_ATTR_FAMILY_NAME) + text
    answer = genl_request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
                          attribute + b"\0" * (-len(attribute) % 4), 0)[0]
    return struct.unpack("=H",
                         parse_attributes(answer)[CTRL_ATTR_FAMILY_ID])[0]


def datapath_index():
    with open("/sys/class/net/ovs-system/ifindex") as f:
        return int(f.read())


def datapath_exists():
    return os.path.exists("/sys/class/net/ovs-system")


def upcalls_lost():
    """Returns how many packets the datapath could not send up."""
    answer = genl_request(family_id("ovs_datapath"), OVS_DP_CMD_GET,
                          struct.pack("=i", datapath_index()), 0)[0]
    stats = parse_attributes(answer[4:])[OVS_DP_ATTR_STATS]
    return struct.unpack_from("=QQQ", stats)[2]


def vports():
    """Returns the ports of the datapath, by number."""
    ports = {}
    for answer in genl_request(family_id("ovs_vport"), OVS_VPORT_CMD_GET,
                               struct.pack("=i", datapath_index()),
                               NLM_F_DUMP):
        attributes = parse_attributes(answer[4:])
        number = struct.unpack("=I", attributes[OVS_VPORT_ATTR_PORT_NO])[0]
        name = attributes[OVS_VPORT_ATTR_NAME].rstrip(b"\0").decode()
        pids = attributes.get(OVS_VPORT_ATTR_UPCALL_PID, b"")
        ports[number] = Vport(number, name,
                              struct.unpack(f"={len(pids) // 4}I", pids))
    return ports


# Processes.

def netlink_sockets():
    """Returns (protocol, port id, groups) of each netlink socket, by inode."""
    sockets = {}
    with open("/proc/net/netlink") as f:
        next(f)
        for line in f:
            fields = line.split()
            sockets[int(fields[9])] = (int(fields[1]), int(fields[2]),
                                       int(fields[3], 16))
    return sockets


def descriptors(pid):
    """Returns what each descriptor of a process is open on."""
    links = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            links[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
        except FileNotFoundError:
            pass
    return links


def socket_inode(link):
    match = re.fullmatch(r"socket:\[(\d+)\]", link)
    return int(match.group(1)) if match else None


def descriptor_kinds(pid):
    """Returns how many descriptors of each kind a process has."""
    netlink = netlink_sockets()
    kinds = collections.Counter()
    for link in descriptors(pid).values():
        inode = socket_inode(link)
        if inode in netlink:
            kinds["netlink generic" if netlink[inode][0] == NETLINK_GENERIC
                  else "netlink other"] += 1
        elif inode is not None:
            kinds["other socket"] += 1
        elif link.startswith("anon_inode:"):
            kinds[link[len("anon_inode:"):].strip("[]")] += 1
        elif link.startswith("pipe:"):
            kinds["pipe"] += 1
        else:
            kinds["file"] += 1
    return kinds


def thread_kinds(pid):
    """Returns how many threads of each name, without number, there are."""
    kinds = collections.Counter()
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/comm") as f:
                kinds[f.read().strip().rstrip("0123456789")] += 1
        except (FileNotFoundError, ProcessLookupError):
            pass
    return kinds


def resident_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"^VmRSS:\s*(\d+) kB", f.read(), re.M).group(1))


def set_receive_buffer(pid, fd, size):
    """Sets the receive buffer of a socket of another process.  Returns the
    size that it had, as the option takes it."""
    pidfd = os.pidfd_open(pid)
    try:
        copy = ctypes.CDLL(None, use_errno=True).syscall(
            ctypes.c_long(SYS_PIDFD_GETFD), pidfd, fd, 0)
        if copy < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
    finally:
        os.close(pidfd)
    with socket.socket(fileno=copy) as s:
        # The kernel doubles what it is given.
        old = s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, size)
    return old


# Links and rules.

def links(namespace=None):
    """Returns (name, MTU, up, address) of each link, by index."""
    options = ["-n", namespace] if namespace else []
    return {link["ifindex"]: (link["ifname"], link["mtu"],
                              "UP" in link["flags"], link.get("address", ""))
            for link in json.loads(run("ip", *options, "-j", "link"))}


def namespace_ids():
    """Returns the names of the namespaces that have an id, by id."""
    text = run("ip", "-j", "netns", "list") or "[]"
    return {ns["id"]: ns["name"] for ns in json.loads(text) if "id" in ns}


def cookie_ufid(cookie):
    """A cookie is a ufid as it is in memory, four numbers of 32 bits."""
    words = [bytes.fromhex(cookie[i:i + 8])[::-1].hex()
             for i in range(0, 32, 8)]
    text = "".join(words)
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20],
                     text[20:]))


def tc_ufids(devices):
    """Returns the sorted ufids of the rules of ours on devices."""
    ufids = []
    for device in devices:
        try:
            qdiscs = run("tc", "qdisc", "show", "dev", device)
        except subprocess.CalledProcessError:
            continue
        # Without clsact there is one hook, shown under both names.
        hooks = (["ingress", "egress"] if "clsact" in qdiscs
                 else ["ingress"] if "ingress" in qdiscs else [])
        for hook in hooks:
            try:
                text = run("tc", "-j", "filter", "show", "dev", device, hook)
            except subprocess.CalledProcessError:
                continue
            for rule in json.loads(text or "[]"):
                actions = rule.get("options", {}).get("actions", [])
                cookies = {action["cookie"] for action in actions
                           if len(action.get("cookie", "")) == 32}
                ufids += [cookie_ufid(cookie) for cookie in cookies]
    return sorted(ufids)
