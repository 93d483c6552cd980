# SPDX-License-Identifier: Apache-2.0
"""Metrics of a daemon, made from the output of its commands.

A metric is a row of a table below: the member of the JSON, the name, and the
help, which most tables take from the JSON schema; the table determines the
type.  A member that the daemon lacks, because it is older or because the
engine was never used, gives no sample.  Times are in seconds, as Prometheus
expects; the daemon reports microseconds.
"""

import json
import os

from prometheus_client.core import (CounterMetricFamily, GaugeMetricFamily,
                                    HistogramMetricFamily, Metric)

PREFIX = "ovs_kdp_"
USEC = 1e-6
SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                       "schemas")


def described(schema, definition, *rows):
    """Adds the help to 'rows' of a member and a name: the description of the
    member in the JSON schema of the command."""
    with open(os.path.join(SCHEMAS, schema + ".json")) as f:
        shown = json.load(f)
    members = (shown["$defs"][definition] if definition
               else shown)["properties"]
    texts = [members[member]["description"] for member, _ in rows]
    return tuple(row + (text[0].upper() + text[1:] + ".",)
                 for row, text in zip(rows, texts))


# For each port, and for other owners of a socket.
PORT_COUNTERS = described(
    "upcall-show", "port",
    ("received", "upcalls_received"),
    ("lost", "upcalls_lost"),
    ("lost_limited", "upcalls_lost_limited"),
    ("shed", "upcalls_shed"),
    ("overruns", "upcall_overruns"),
    ("malformed", "upcalls_malformed"),
    ("errors", "upcall_receive_errors"))
PORT_GAUGES = described(
    "upcall-show", "port",
    ("backlog", "upcall_backlog_bytes"),
    ("backlog_max", "upcall_backlog_max_bytes"),
    ("shared", "upcall_socket_shared"),
    ("n_queues", "upcall_queues"))
QUEUE_COUNTERS = described(
    "upcall-show", "queue",
    ("received", "upcall_queue_received"),
    ("lost", "upcall_queue_lost"))
QUEUE_GAUGES = described(
    "upcall-show", "queue",
    ("backlog", "upcall_queue_backlog_bytes"))
HANDLER_COUNTERS = described(
    "upcall-show", "handler",
    ("wakeups", "handler_wakeups"),
    ("empty_wakeups", "handler_empty_wakeups"),
    ("batches", "handler_batches"),
    ("upcalls", "handler_upcalls"),
    ("receives", "handler_receives"),
    ("loans", "handler_loans"),
    ("steals", "handler_steals"))
HANDLER_SECONDS = (
    ("busy_us", "handler_busy_seconds",
     "Time from the first upcall of a batch until the next batch."),
)
UPCALL_COUNTERS = described(
    "upcall-show", "table",
    ("foreign", "upcalls_foreign"),
    ("refused", "upcalls_refused"),
    ("outdated", "upcalls_outdated"),
    ("adopted", "upcalls_adopted"),
    ("adopted_sockets", "upcall_sockets_adopted"),
    ("lost_nowhere", "upcalls_lost_nowhere"),
    ("abandoned", "upcalls_abandoned"),
    ("dispatch_restored", "upcall_dispatch_restored"))
UPCALL_GAUGES = described(
    "upcall-show", "table",
    ("n_ports", "ports"),
    ("n_sockets", "upcall_sockets"),
    ("n_handlers", "handlers"),
    ("buffer_size", "upcall_buffer_bytes"),
    ("buffer_max", "upcall_buffer_max_bytes"))
UPCALL_SECONDS = (
    ("target_delay_us", "upcall_target_delay_seconds",
     "Bound of the standing queue of a port."),
)
VPORT_GAUGES = described(
    "vport-table-show", "table",
    ("in_sync", "vport_table_in_sync"))
LINK_COUNTERS = described(
    "link-table-show", None,
    ("overruns", "link_overruns"),
    ("lost", "link_events_lost"),
    ("truncated", "link_events_truncated"),
    ("malformed", "link_events_malformed"),
    ("resyncs", "link_resyncs"),
    ("interrupted", "link_dumps_interrupted"),
    ("failed", "link_dumps_failed"),
    ("bridge_told", "link_changes_told"))
LINK_SECONDS = (
    ("resync_last", "link_resync_last_seconds", "Length of the last resync."),
    ("resync_max", "link_resync_max_seconds", "Length of the longest."),
)
LINK_GAUGES = described(
    "link-table-show", None,
    ("current", "link_table_current"),
    ("backlog", "link_event_backlog_bytes"),
    ("addresses", "link_addresses"))
OFFLOAD_GAUGES = described(
    "offload-show", "datapath",
    ("enabled", "offload_enabled"),
    ("ports_backing_off", "offload_ports_backing_off"),
    ("deletions_stuck", "offload_deletions_stuck"))
THREAD_COUNTERS = described(
    "offload-show", "thread",
    ("enqueued", "offload_requests"),
    ("inserted", "offload_inserted"),
    ("modified", "offload_modified"),
    ("deleted", "offload_deleted"),
    ("returned", "offload_returned"),
    ("rejected", "offload_rejected"),
    ("superseded", "offload_superseded"),
    ("vanished", "offload_vanished"),
    ("leaked", "offload_leaked"),
    ("overlapped", "offload_overlapped"),
    ("lost", "offload_lost"),
    ("orphans", "offload_orphans"),
    ("remade", "offload_remade"))
THREAD_GAUGES = described(
    "offload-show", "thread",
    ("queued", "offload_queue_length"),
    ("most_queued", "offload_queue_length_max"),
    ("in_tc", "offload_rules"))


class Families:
    """Metric families by name, in order of appearance."""

    def __init__(self):
        self.families = {}

    def _family(self, kind, name, text, labels):
        name = PREFIX + name
        if name not in self.families:
            self.families[name] = kind(name, text, labels=labels)
        return self.families[name]

    def counter(self, name, text, labels, value):
        """Adds a sample.  'labels' are names and values."""
        family = self._family(CounterMetricFamily, name, text, list(labels))
        family.add_metric(list(labels.values()), value)

    def gauge(self, name, text, labels, value):
        """The same for a gauge."""
        family = self._family(GaugeMetricFamily, name, text, list(labels))
        family.add_metric(list(labels.values()), value)

    def histogram(self, name, text, labels, buckets, total):
        """The same for a histogram with bounds and cumulative 'buckets'."""
        family = self._family(HistogramMetricFamily, name, text, list(labels))
        family.add_metric(list(labels.values()), buckets, total)

    def summary(self, name, text, labels, n, total, quantiles):
        """The same for a summary with quantiles and values 'quantiles'."""
        name = PREFIX + name
        family = self.families.setdefault(name,
                                          Metric(name, text, "summary"))
        for quantile, value in quantiles:
            family.add_sample(name, dict(labels, quantile=quantile), value)
        family.add_sample(name + "_count", labels, n)
        family.add_sample(name + "_sum", labels, total)

    def rows(self, table, labels, values, add, factor=1):
        """Adds a sample with method 'add' for each row of 'table'."""
        for member, name, text in table:
            if member in values:
                add(name, text, labels, values[member] * factor)

    def kinds(self, name, text, labels, label, values):
        """Adds a counter for each member of 'values'."""
        for kind, value in values.items():
            self.counter(name, text, dict(labels, **{label: kind}), value)


def add_latency(families, labels, latency, bounds):
    """Adds the histogram of a port."""
    if "below" not in latency or "sum" not in latency:
        return
    buckets = [(repr(bound * USEC), n)
               for bound, n in zip(bounds, latency["below"])]
    families.histogram(
        "upcall_latency_seconds", "Time from when an upcall could be read to "
        "when a handler got it.", labels, buckets + [("+Inf", latency["n"])],
        latency["sum"] * USEC)


def add_batches(families, labels, handler):
    """Adds the histogram of a handler's batches by size."""
    buckets, n = [], 0
    for i, count in enumerate(handler.get("batch_sizes", [])):
        n += count
        buckets.append((repr(float(2 ** (i + 1) - 1)), n))
    if buckets:
        families.histogram("handler_batch_size", "Upcalls of a batch.",
                           labels, buckets + [("+Inf", n)],
                           handler["upcalls"])


def add_upcalls(families, datapaths, with_ports=True):
    """Adds the metrics of upcall/show."""
    for table in datapaths:
        dp = {"datapath": table["name"]}
        families.rows(UPCALL_COUNTERS, dp, table, families.counter)
        families.rows(UPCALL_GAUGES, dp, table, families.gauge)
        families.rows(UPCALL_SECONDS, dp, table, families.gauge, USEC)
        if "dispatch" in table:
            families.gauge("upcall_mode_info", "How upcalls are received.",
                           dict(dp, dispatch=table["dispatch"],
                                engine=table["engine"]), 1)
        for number, handler in enumerate(table["handlers"]):
            families.rows(HANDLER_COUNTERS, dict(dp, handler=str(number)),
                          handler, families.counter)
            families.rows(HANDLER_SECONDS, dict(dp, handler=str(number)),
                          handler, families.counter, USEC)
            add_batches(families, dict(dp, handler=str(number)), handler)
        ports = table["ports"] if with_ports else [sum_ports(table["ports"])]
        for port in ports:
            labels = dict(dp, port=port["name"]) if with_ports else dp
            families.rows(PORT_COUNTERS, labels, port, families.counter)
            families.rows(PORT_GAUGES if with_ports else (), labels, port,
                          families.gauge)
            add_latency(families, labels, port.get("latency_us", {}),
                        table.get("latency_bounds_us", []))
            if with_ports:
                add_queues(families, labels, port)
                add_senders(families, labels, port)


def add_senders(families, labels, port):
    """Adds the rate of the busiest sender behind 'port'.  Its address is not a
    label: anyone who reaches the tunnel can make addresses up, and each would
    be a series."""
    senders = port.get("senders", [])
    if senders:
        families.gauge("upcall_top_sender_rate", "Upcalls per second of the "
                       "busiest sender behind the port.", labels,
                       max(sender["rate"] for sender in senders))
        families.gauge("upcall_top_sender_shed_rate", "Most upcalls per "
                       "second that were shed of a sender behind the port.",
                       labels, max(sender["shed_rate"] for sender in senders))


def add_queues(families, labels, port):
    """Adds the queues of 'port'.  Replaced queues are left out: they have the
    numbers of others, and go within a second or two."""
    for queue in port.get("queues", []):
        if not queue["retired"]:
            of_queue = dict(labels, queue=str(queue["number"]))
            families.rows(QUEUE_COUNTERS, of_queue, queue, families.counter)
            families.rows(QUEUE_GAUGES, of_queue, queue, families.gauge)


def sum_ports(ports):
    """One port with the sums of all."""
    total = {}
    for port in ports:
        for member, _, _ in PORT_COUNTERS:
            if member in port:
                total[member] = total.get(member, 0) + port[member]
    latencies = [port["latency_us"] for port in ports
                 if "below" in port.get("latency_us", {})]
    if latencies:
        total["latency_us"] = {
            "n": sum(latency["n"] for latency in latencies),
            "sum": sum(latency["sum"] for latency in latencies),
            "below": [sum(counts) for counts
                      in zip(*(latency["below"] for latency in latencies))],
        }
    return total


def add_vports(families, datapaths):
    """Adds the metrics of vport-table/show."""
    for table in datapaths:
        dp = {"datapath": table["name"]}
        families.rows(VPORT_GAUGES, dp, table, families.gauge)
        families.kinds("vport_events", "Announcements of ports by the kernel.",
                       dp, "event", table.get("events", {}))
        families.kinds("vport_requests", "Requests for ports, by reason.", dp,
                       "reason", table.get("asked", {}))
        losses = dict(table.get("losses", {}))
        if "resyncs" in losses:
            families.counter("vport_resyncs",
                             "Times that ports were listed again.", dp,
                             losses.pop("resyncs"))
        families.kinds("vport_losses", "Losses of announcements.", dp, "kind",
                       losses)


def seconds(values):
    """Converts the members of 'values' from microseconds to seconds."""
    return {name: usec * USEC for name, usec in values.items()}


def add_links(families, links):
    """Adds the metrics of link-table/show."""
    families.kinds("link_events", "Link events.", {}, "event",
                   links.get("events", {}))
    families.kinds("rtnl_requests", "Requests of link tables that take the "
                   "RTNL lock, by reason.", {}, "reason",
                   links.get("rtnl", {}))
    families.kinds("rtnl_calls", "Calls of the daemon that take the RTNL "
                   "lock, by what for.", {}, "call",
                   links.get("rtnl_calls", {}))
    families.kinds("rtnl_request_seconds", "Time that these requests took.",
                   {}, "reason", seconds(links.get("rtnl_us", {})))
    families.kinds("rtnl_call_seconds", "Time that these calls took.", {},
                   "call", seconds(links.get("rtnl_calls_us", {})))
    families.rows(LINK_COUNTERS, {}, links, families.counter)
    families.rows(LINK_GAUGES, {}, links, families.gauge)
    families.rows(LINK_SECONDS, {}, links, families.gauge, USEC)
    if "resync_total" in links:
        families.counter("link_resync_seconds", "Length of all resyncs.", {},
                         links["resync_total"] * USEC)
    namespaces = links.get("namespaces", [])
    families.gauge("link_devices", "Network devices known, of all namespaces.",
                   {}, sum(ns["n_links"] for ns in namespaces))
    for state in ("current", "pending", "stale", "not followed"):
        families.gauge("link_namespaces", "Network namespaces, by the state "
                       "of their tables.", {"state": state},
                       sum(ns["state"] == state for ns in namespaces))


def add_offload(families, datapaths):
    """Adds the metrics of offload/show."""
    for engine in datapaths:
        dp = {"datapath": engine["datapath"]}
        families.rows(OFFLOAD_GAUGES, dp, engine, families.gauge)
        for state, n in engine.get("flows", {}).items():
            families.gauge("offload_flows", "Flows, by where they are.",
                           dict(dp, state=state), n)
        for where, n in engine.get("in_tc", {}).items():
            families.gauge("offload_flows_in_tc", "Flows in tc, by whether a "
                           "network card has them.", dict(dp, where=where), n)
        for thread in engine.get("threads", []):
            labels = dict(dp, thread=str(thread["thread"]))
            families.rows(THREAD_COUNTERS, labels, thread, families.counter)
            families.rows(THREAD_GAUGES, labels, thread, families.gauge)
            add_insertion(families, labels, thread["latency_us"])
        for reason in engine.get("reasons", []):
            families.counter("offload_not_in_tc", "Times that a flow was not "
                             "in tc, by reason.",
                             dict(dp, reason=reason["reason"]), reason["n"])


def add_insertion(families, labels, latency):
    """Adds a thread's times from request to insertion."""
    mean = latency["cumulative"]
    families.summary(
        "offload_insertion_seconds", "Time from request to insertion.", labels,
        mean["n"], mean["n"] * mean["mean"] * USEC,
        [(quantile, latency[member] * USEC) for quantile, member
         in (("0.5", "p50"), ("0.99", "p99")) if member in latency])


def add_findings(families, found):
    """Adds the findings of kdp/doctor."""
    for name in sorted({finding["name"] for finding in found}):
        families.gauge("findings", "What kdp/doctor finds to be wrong.",
                       {"finding": name},
                       sum(finding["name"] == name for finding in found))


ADDERS = {
    "upcall/show": add_upcalls,
    "vport-table/show": add_vports,
    "link-table/show": add_links,
    "offload/show": add_offload,
    "kdp/doctor": add_findings,
}
