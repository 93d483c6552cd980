# SPDX-License-Identifier: Apache-2.0

"""A controller: changes the database and network devices over connections that
it keeps, so that a benchmark measures the daemon and not the start of
programs."""

import itertools
import json
import os
import socket
import struct

# linux/rtnetlink.h, linux/if_link.h, linux/veth.h.
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
NLMSG_ERROR = 2
RTM_NEWLINK, RTM_DELLINK = 16, 17
IFLA_IFNAME, IFLA_LINKINFO, IFLA_NET_NS_FD = 3, 18, 28
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
VETH_INFO_PEER = 1
IFF_UP = 1
NLA_F_NESTED = 0x8000


class ControllerError(Exception):
    pass


class JsonRpc:
    """Requests on a stream socket, and notifications between the answers."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.decoder = json.JSONDecoder()
        self.buffer = ""
        self.ids = itertools.count()

    def close(self):
        self.socket.close()

    def receive(self):
        while True:
            text = self.buffer.lstrip()
            if text:
                try:
                    message, end = self.decoder.raw_decode(text)
                    self.buffer = text[end:]
                    return message
                except ValueError:
                    pass
            data = self.socket.recv(1 << 20)
            if not data:
                raise ControllerError("the peer has closed the connection")
            self.buffer += data.decode()

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode())

    def request(self, method, *params, notified=None):
        identity = next(self.ids)
        self.send({"method": method, "params": list(params), "id": identity})
        while True:
            message = self.receive()
            if message.get("method") == "echo":
                self.send({"result": message["params"], "error": None,
                           "id": message["id"]})
            elif "method" in message:
                if notified:
                    notified(message)
            elif message["id"] == identity:
                if message["error"]:
                    raise ControllerError(f"{method}: {message['error']}")
                return message["result"]


class Database:
    def __init__(self, path, bridge):
        self.bridge = bridge
        self.rpc = JsonRpc(path)
        self.cur_cfg = 0
        self.take(self.rpc.request(
            "monitor", "Open_vSwitch", None,
            {"Open_vSwitch": {"columns": ["cur_cfg"]}}))

    def take(self, tables):
        for row in tables.get("Open_vSwitch", {}).values():
            self.cur_cfg = row["new"]["cur_cfg"]

    def notified(self, message):
        if message["method"] == "update":
            self.take(message["params"][1])

    def transact(self, operations, wait):
        """Carries out 'operations'; with 'wait' returns when the daemon has
        applied them."""
        results = self.rpc.request(
            "transact", "Open_vSwitch", *operations,
            {"op": "mutate", "table": "Open_vSwitch", "where": [],
             "mutations": [["next_cfg", "+=", 1]]},
            {"op": "select", "table": "Open_vSwitch", "where": [],
             "columns": ["next_cfg"]}, notified=self.notified)
        for result in results:
            if result and result.get("error"):
                raise ControllerError(f"transact: {result}")
        wanted = results[len(operations) + 1]["rows"][0]["next_cfg"]
        while wait and self.cur_cfg < wanted:
            message = self.rpc.receive()
            if message.get("method") == "echo":
                self.rpc.send({"result": message["params"], "error": None,
                               "id": message["id"]})
            elif "method" in message:
                self.notified(message)

    def mutate_ports(self, mutator, uuids):
        return {"op": "mutate", "table": "Bridge",
                "where": [["name", "==", self.bridge]],
                "mutations": [["ports", mutator, ["set", uuids]]]}

    def add_port(self, name, wait=True, interfaces=None, columns=None):
        """Adds a port of 'interfaces', or of one with the port's name, whose
        row also has 'columns'."""
        interfaces = interfaces or [name]
        uuids = [["named-uuid", f"interface{i}"]
                 for i in range(len(interfaces))]
        self.transact([
            *({"op": "insert", "table": "Interface", "uuid-name": uuid[1],
               "row": {"name": interface}}
              for uuid, interface in zip(uuids, interfaces)),
            {"op": "insert", "table": "Port", "uuid-name": "port",
             "row": {"name": name, "interfaces": ["set", uuids],
                     **(columns or {})}},
            self.mutate_ports("insert", [["named-uuid", "port"]])], wait)

    def del_port(self, name, wait=True):
        rows = self.rpc.request(
            "transact", "Open_vSwitch",
            {"op": "select", "table": "Port", "where": [["name", "==", name]],
             "columns": ["_uuid"]}, notified=self.notified)[0]["rows"]
        self.transact([self.mutate_ports("delete",
                                         [row["_uuid"] for row in rows])],
                      wait)

    def set_config(self, key, value, wait=True):
        """Sets a key of other_config of the whole switch."""
        self.transact([
            {"op": "mutate", "table": "Open_vSwitch", "where": [],
             "mutations": [["other_config", "delete", ["set", [key]]],
                           ["other_config", "insert",
                            ["map", [[key, value]]]]]}], wait)

    def barrier(self):
        """Returns when the daemon has applied the database."""
        self.transact([], True)


class Links:
    """Network devices of the process's namespace."""

    def __init__(self, peer_namespace):
        self.own = self.open()
        self.fd = os.open(f"/run/netns/{peer_namespace}", os.O_RDONLY)
        self.peer = self.open_in(self.fd)
        self.sequence = itertools.count(1)

    @staticmethod
    def open():
        s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        s.bind((0, 0))
        return s

    @classmethod
    def open_in(cls, fd):
        """Opens a socket in the namespace of 'fd'."""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        if libc.setns(fd, 0):
            raise ControllerError(f"setns: {os.strerror(ctypes.get_errno())}")
        s = cls.open()
        if libc.setns(own, 0):
            raise ControllerError(f"setns: {os.strerror(ctypes.get_errno())}")
        os.close(own)
        return s

    @staticmethod
    def attribute(kind, payload):
        attribute = struct.pack("=HH", len(payload) + 4, kind) + payload
        return attribute + bytes(-len(attribute) % 4)

    @classmethod
    def name(cls, name):
        return cls.attribute(IFLA_IFNAME, name.encode() + b"\0")

    @staticmethod
    def header(flags=0):
        return struct.pack("=BxHiII", 0, 0, 0, flags, flags)

    def transact(self, where, kind, flags, payload):
        sequence = next(self.sequence)
        where.send(struct.pack("=IHHII", 16 + len(payload), kind,
                               NLM_F_REQUEST | NLM_F_ACK | flags, sequence,
                               0) + payload)
        while True:
            data = where.recv(65536)
            kind_, _, answered = struct.unpack_from("=HHI", data, 4)
            if kind_ == NLMSG_ERROR and answered == sequence:
                error = -struct.unpack_from("=i", data, 16)[0]
                if error:
                    raise ControllerError(f"rtnetlink request {kind}: "
                                          f"{os.strerror(error)}")
                return

    def add_veth(self, name, peer_name):
        """Creates a pair of devices, one in each namespace, and takes both
        up."""
        a = self.attribute
        peer = a(VETH_INFO_PEER | NLA_F_NESTED,
                 self.header() + self.name(peer_name)
                 + a(IFLA_NET_NS_FD, struct.pack("=i", self.fd)))
        info = (a(IFLA_INFO_KIND, b"veth\0")
                + a(IFLA_INFO_DATA | NLA_F_NESTED, peer))
        self.transact(self.own, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
                      self.header() + self.name(name)
                      + a(IFLA_LINKINFO | NLA_F_NESTED, info))
        for where, which in (self.own, name), (self.peer, peer_name):
            self.transact(where, RTM_NEWLINK, 0,
                          self.header(IFF_UP) + self.name(which))

    def set_up(self, name, up):
        self.transact(self.own, RTM_NEWLINK, 0, struct.pack(
            "=BxHiII", 0, 0, 0, IFF_UP if up else 0, IFF_UP)
            + self.name(name))

    def add_dummy(self, name):
        """Creates a device without a peer, and brings it up."""
        self.transact(self.own, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
                      self.header(IFF_UP) + self.name(name)
                      + self.attribute(IFLA_LINKINFO | NLA_F_NESTED,
                                       self.attribute(IFLA_INFO_KIND,
                                                      b"dummy\0")))

    def remove(self, name):
        self.transact(self.own, RTM_DELLINK, 0,
                      self.header() + self.name(name))
