# SPDX-License-Identifier: Apache-2.0
"""A daemon that answers on a control socket with what it is given.

What it shows by default is of the form that the schemas demand, with numbers
that are told apart.  Tests change it in place.  As a program, it serves until
its input ends:

    fake_daemon.py SOCKET [PORTS]
"""

import json
import os
import socket
import sys
import threading

BOUNDS = [64 << (2 * i) for i in range(8)]


def latency(n, typical):
    """'n' upcalls that waited for 'typical' microseconds, one of 100 ten times
    as long."""
    slow = n // 100
    return {
        "n": n, "p50": typical, "p99": typical * 10, "max": typical * 10 + 7,
        "sum": (n - slow) * typical + slow * typical * 10,
        "below": [(n - slow) * (typical < bound) + slow * (typical * 10
                                                           < bound)
                  for bound in BOUNDS],
    }


def port(number, name):
    """A port that has received something."""
    return {
        "port_no": number, "name": name, "pid": 4200000000 + (number or 0),
        "shared": False, "received": 1000 + (number or 0), "lost": 0,
        "overruns": 0, "malformed": 0, "errors": 0, "backlog": 512,
        "backlog_max": 65536, "latency_us": latency(1000, 100),
        "n_queues": 1, "queues": [], "senders": [],
    }


def sender(remote, rate):
    """A remote behind a tunnel port."""
    return {"remote": remote, "vni": 5, "rate": rate, "shed_rate": rate // 2,
            "received": 20 * rate, "shed": 10 * rate, "waiting": rate // 10,
            "age_ms": 61000}


def upcall_show(n_ports, n_handlers=2):
    """upcall/show of a datapath."""
    handlers = [{"wakeups": 401 + i, "empty_wakeups": 4 + i, "batches": 403,
                 "batch_sizes": [200, 100, 50, 30, 20, 3],
                 "upcalls": 5000 + i, "receives": 405, "steals": 406}
                for i in range(n_handlers)]
    ports = [port(0, "ovs-system")]
    ports += [port(i, "vif%d" % i) for i in range(1, n_ports)]
    ports[-1]["senders"] = [sender("192.0.2.1", 10)]
    ports[-1]["other_senders"] = {
        key: value for key, value in sender("", 2).items()
        if key not in ("remote", "vni")}
    return [{
        "name": "system@ovs-system", "engine": "epoll", "n_ports": n_ports,
        "n_sockets": n_ports + 2, "buffer_size": 1 << 20,
        "buffer_max": 1 << 30, "n_handlers": n_handlers, "foreign": 601,
        "refused": 603, "outdated": 606, "adopted": 607,
        "adopted_sockets": 4, "abandoned": 602,
        "dispatch": "per-port", "dispatch_restored": 3, "latency_bounds_us": BOUNDS,
        "ports": ports + [port(None, "no port")], "handlers": handlers,
    }]


def vport_show(n_ports):
    """vport-table/show of a datapath."""
    asked = ("start", "loss", "order", "device", "name", "namespace",
             "unsynced", "unusual")
    return [{
        "name": "system@ovs-system", "open": True, "in_sync": True,
        "all_namespaces": True,
        "questions": {"by_name": 11, "by_number": 12, "lists": 13},
        "events": {"new": n_ports, "deleted": 1, "changed": 2, "foreign": 0,
                   "links": 9, "renamed": 0},
        "losses": {"vport_overruns": 0, "link_overruns": 0, "malformed": 0,
                   "resyncs": 1},
        "asked": {name: i for i, name in enumerate(asked)},
        "requests": sum(range(len(asked))),
        "ports": [{"port_no": i, "name": "vif%d" % i, "type": 1,
                   "ifindex": 10 + i, "nsid": None} for i in range(n_ports)],
    }]


def link_show():
    """link-table/show."""
    counters = ("events_other", "malformed", "ignored_foreign",
                "ignored_port", "ignored_sender", "overruns", "lost",
                "truncated", "drained", "resyncs", "interrupted", "failed",
                "refused", "resync_last", "resync_max", "resync_total",
                "nsid_requests", "bridge_told", "bridge_not_told",
                "addresses", "qdiscs")
    show = {name: 700 + i for i, name in enumerate(counters)}
    show.update({
        "events": {"newlink": 31, "dellink": 32},
        "rtnl": {"dump at start": 2, "look-up": 3},
        "rtnl_calls": {"set MTU": 4, "policing": 0},
        "namespaces": [
            {"namespace": "local", "state": "current", "n_links": 12,
             "buckets": 64, "events": 31, "overruns": 0, "resyncs": 1},
            {"namespace": "7", "state": "stale", "error": "No such device",
             "n_links": 3, "buckets": -64, "events": 5, "overruns": 0,
             "resyncs": 1},
        ],
    })
    return show


def thread(number):
    """An offload thread, or their sum if 'number' is None."""
    counters = ("enqueued", "inserted", "modified", "deleted", "returned",
                "rejected", "superseded", "parked", "adopted", "stale",
                "vanished", "leaked", "overlapped", "lost",
                "orphans", "remade")
    show = {name: 800 + i for i, name in enumerate(counters)}
    average = {"n": 801, "mean": 250.5, "deviation": 3.5}
    show.update({"queued": 5, "most_queued": 50, "in_tc": 123,
                 "latency_us": {"max": 9000, "cumulative": average,
                                "exponential": average}})
    if number is not None:
        show.update({"thread": number, "running": True})
        show["latency_us"].update({"p50": 240, "p99": 400})
    return show


def offload_show():
    """offload/show of a datapath."""
    flows = ("kernel", "queued", "parked", "in tc", "moving back", "rejected",
             "being deleted")
    return [{
        "datapath": "system@ovs-system", "enabled": True,
        "orphans": {"deleted": 5, "failed": 0, "passes": 2,
                    "under_way": False},
        "flows": {name: 40 + i for i, name in enumerate(flows)},
        "threads": [thread(0)], "total": thread(None),
        "reasons": [{"reason": "tc does not support it", "n": 17, "port": 3,
                     "ufid": "01234567-89ab-cdef-0123-456789abcdef",
                     "errno": 95}],
        "ports_backing_off": 1, "deletions_retried": 2, "deletions_stuck": 1,
        "audits": 7,
    }]


def answers(n_ports=3):
    """What a daemon with so many ports says: an object for what has JSON, and
    text for the others."""
    return {
        "version": "ovs-vswitchd (ovs-kdp) 0.1.0\nOpen vSwitch 3.1.0\n",
        "upcall/show": upcall_show(n_ports),
        "vport-table/show": vport_show(n_ports),
        "link-table/show": link_show(),
        "offload/show": offload_show(),
        "kdp/doctor": [{"name": "setting-wrong", "what": "a setting",
                        "why": "It matters.", "advice": "Change it."}],
    }


class FakeDaemon:
    """Serves until it is closed.  The value of an answer may also be an
    Exception, whose text is the error, or None: it never answers."""

    def __init__(self, path, shown=None):
        self.path = path
        self.shown = answers() if shown is None else shown
        self.asked = []
        self.encoded = {}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Ends it.  What it was asked stays."""
        os.unlink(self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,),
                             daemon=True).start()

    def _serve(self, connection):
        with connection:
            text = ""
            while True:
                try:
                    data = connection.recv(65536).decode()
                except OSError:
                    return
                if not data:
                    return
                text += data
                try:
                    request = json.loads(text)
                except ValueError:
                    continue
                text = ""
                reply = self._reply(request["method"], request["params"])
                if reply is None:
                    continue
                reply["id"] = request["id"]
                try:
                    connection.sendall(json.dumps(reply).encode())
                except OSError:
                    return

    def _reply(self, command, args):
        self.asked.append((command, args))
        if command not in self.shown:
            return {"error": '"%s" is not a valid command' % command,
                    "result": None}
        shown = self.shown[command]
        if shown is None:
            return None
        if isinstance(shown, Exception):
            return {"error": str(shown), "result": None}
        if isinstance(shown, str):
            return {"error": None, "result": shown}
        if "json" not in args:
            return {"error": None, "result": command + " as text\n"}
        # As the daemon does it, indented and sorted.
        return {"error": None,
                "result": json.dumps(shown, indent=2, sort_keys=True)}


if __name__ == "__main__":
    FakeDaemon(sys.argv[1],
               answers(int(sys.argv[2]) if len(sys.argv) > 2 else 3))
    sys.stdin.read()
