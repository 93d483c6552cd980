# SPDX-License-Identifier: Apache-2.0
"""The data of ovs-kdp-top: rates between two snapshots of a daemon.

A snapshot is the output of the daemon's commands at one time.  Rates are per
second between the last two snapshots.  After the first one, and after a
counter was reset, a rate is None.
"""

import time

from ovs_kdp import daemon

# Columns of ports: title, key, width.
COLUMNS = (
    ("upcalls/s", "rate", 10),
    ("lost/s", "lost_rate", 9),
    ("lost", "lost", 10),
    ("shed", "shed", 9),
    ("backlog", "backlog", 9),
    ("p50 us", "p50", 9),
    ("p99 us", "p99", 9),
)

# Columns of senders.
SENDER_COLUMNS = (
    ("upcalls/s", "rate", 10),
    ("shed/s", "shed_rate", 9),
    ("received", "received", 10),
    ("shed", "shed", 10),
    ("waiting", "waiting", 9),
)
SORTS = ("rate", "lost", "shed", "backlog", "p50", "p99", "name")


class Look:
    """A snapshot of the daemon.  Commands that it lacks, for example on stock
    providers, have no output."""

    def __init__(self, target):
        self.time = time.monotonic()
        self.shown = {}
        for command in daemon.SHOWS:
            try:
                self.shown[command] = target.show(command)
            except daemon.CommandError:
                self.shown[command] = {} if "link" in command else []


def rate(new, old, seconds):
    """Difference per second, or None."""
    if old is None or new is None or new < old or seconds <= 0:
        return None
    return (new - old) / seconds


def total(values):
    """The sum of the members of 'values', which may be missing."""
    return sum(values.values()) if values else 0


class View:
    """The difference between two snapshots."""

    def __init__(self, look, last=None):
        self.look = look
        self.last = last
        self.seconds = look.time - last.time if last else 0

    def _shown(self, command, last=False):
        look = self.last if last else self.look
        return look.shown[command] if look else None

    def _rate(self, new, old, key):
        return rate(new.get(key), old.get(key) if old else None,
                    self.seconds)

    def ports(self):
        """A dictionary for each port of each datapath."""
        before = {(table["name"], port["name"]): port
                  for table in self._shown("upcall/show", True) or []
                  for port in table["ports"]}
        rows = []
        for table in self._shown("upcall/show"):
            for port in table["ports"]:
                old = before.get((table["name"], port["name"]))
                latency = port.get("latency_us", {})
                rows.append({
                    "datapath": table["name"],
                    "name": port["name"],
                    "port_no": port["port_no"],
                    "shared": port.get("shared", False),
                    "received": port["received"],
                    "lost": port["lost"],
                    "shed": port.get("shed"),
                    "backlog": port.get("backlog"),
                    "queues": port.get("n_queues"),
                    "rate": self._rate(port, old, "received"),
                    "lost_rate": self._rate(port, old, "lost"),
                    "p50": latency.get("p50"),
                    "p99": latency.get("p99"),
                })
        return rows

    def senders(self, pattern=""):
        """A dictionary for each sender behind a port whose name contains
        'pattern', the busiest first."""
        rows = []
        for table in self._shown("upcall/show"):
            for port in table["ports"]:
                if pattern not in port["name"]:
                    continue
                for sender in port.get("senders", []):
                    rows.append({
                        "datapath": table["name"],
                        "port": port["name"],
                        "sender": sender.get("remote", sender.get("name")),
                        "vni": sender.get("vni"),
                        **{key: sender[key] for _, key, _ in SENDER_COLUMNS},
                    })
        return sorted(rows, key=lambda row: (-row["rate"], -row["received"]))

    def handlers(self):
        """A dictionary for each handler of each datapath."""
        rows = []
        last = {table["name"]: table["handlers"]
                for table in self._shown("upcall/show", True) or []}
        for table in self._shown("upcall/show"):
            before = last.get(table["name"], [])
            for number, handler in enumerate(table["handlers"]):
                old = before[number] if number < len(before) else None
                rows.append({
                    "datapath": table["name"],
                    "handler": number,
                    "rate": self._rate(handler, old, "upcalls"),
                    "wakeups": self._rate(handler, old, "wakeups"),
                    "empty": self._rate(handler, old, "empty_wakeups"),
                })
        return rows

    def datapaths(self):
        """A dictionary for each datapath."""
        return [{key: table.get(key) for key in
                 ("name", "engine", "dispatch", "n_ports", "n_sockets",
                  "n_handlers")} for table in self._shown("upcall/show")]

    def links(self):
        """The state of devices, or {}."""
        new = self._shown("link-table/show")
        old = self._shown("link-table/show", True) or {}
        if not new:
            return {}
        spaces = new.get("namespaces", [])
        calls = {}
        for kind in ("rtnl", "rtnl_calls"):
            for name, n in new.get(kind, {}).items():
                calls[name] = rate(n, old.get(kind, {}).get(name),
                                   self.seconds)
        return {
            "devices": sum(space["n_links"] for space in spaces),
            "namespaces": len(spaces),
            "not_current": sum(space["state"] in ("pending", "stale")
                               for space in spaces),
            "events": rate(total(new.get("events")),
                           total(old["events"]) if "events" in old else None,
                           self.seconds),
            "overruns": new.get("overruns"),
            "resyncs": new.get("resyncs"),
            "rtnl": {name: value for name, value in calls.items() if value},
            "rtnl_total": total(new.get("rtnl")) + total(
                new.get("rtnl_calls")),
        }

    def offload(self):
        """A dictionary for each datapath that has an engine."""
        last = {engine["datapath"]: engine
                for engine in self._shown("offload/show", True) or []}
        rows = []
        for engine in self._shown("offload/show"):
            if "total" not in engine:
                continue
            new = engine["total"]
            old = last.get(engine["datapath"], {}).get("total")
            rows.append({
                "datapath": engine["datapath"],
                "enabled": engine["enabled"],
                "flows": engine["flows"],
                "queued": new["queued"],
                "inserted": self._rate(new, old, "inserted"),
                "deleted": self._rate(new, old, "deleted"),
                "rejected": self._rate(new, old, "rejected"),
                "reasons": {reason["reason"]: reason["n"]
                            for reason in engine["reasons"]},
            })
        return rows

    def json(self, sort="rate", pattern=""):
        """All of it."""
        return {
            "seconds": round(self.seconds, 3),
            "datapaths": self.datapaths(),
            "ports": select(self.ports(), sort, pattern),
            "senders": self.senders(pattern),
            "handlers": self.handlers(),
            "links": self.links(),
            "offload": self.offload(),
        }


def select(ports, sort, pattern=""):
    """The ports whose name has 'pattern' in it, sorted."""
    ports = [port for port in ports if pattern in port["name"]]
    if sort == "name":
        return sorted(ports, key=lambda port: (port["name"],
                                               port["datapath"]))
    return sorted(ports, key=lambda port: (
        -(port[sort] or 0), -(port["received"] or 0), port["name"]))
