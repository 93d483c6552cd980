# SPDX-License-Identifier: Apache-2.0

"""The summary of results of bench-upcall: medians over the rounds, ratios to
the stock daemon in the same round, and which targets hold."""

import statistics

from bench_report import (columns, holds, median, ratio, spread,
                          target_lines, with_spread)

STOCK = "stock"

# A daemon that serves a larger share than this of the offered upcalls while
# they were offered could have served more.
SATURATED = 0.95

# Largest share of a flood that the sender may leave out because it did not run
# in time.
LEFT_OUT = 0.05

# The tests whose flood has to exceed the daemon's capacity.
FLOODS = ("flooded", "idle", "shown", "remote", "tunnel", "mixed")

# Our daemon with one handler, the reference in test "tunnel".
ONE_HANDLER = "kdp-handlers-1"


def jain(values):
    """Returns Jain's index of fairness: 1 where all values are the same, 1/n
    where all but one of them are zero."""
    square = sum(v * v for v in values)
    return sum(values) ** 2 / (len(values) * square) if square else None


def port_means(test):
    means = test["port_means_us"]
    return ((statistics.mean(means), statistics.pstdev(means)) if means
            else (None, None))


def probe_figures(name, test):
    probe = test["probe"]
    us = probe.get("us", {})
    return {f"{name}_loss": 1 - probe["received"] / probe["sent"],
            **{f"{name}_{k}_us": us.get(k)
               for k in ("min", "mean", "mdev", "p50", "p99", "max")}}


def flood_figures(name, test):
    """Returns what happened to all frames of a flood.  Frames that were served
    later were in a queue when it ended; frames that were served while it was
    sent may be from the lead.

    A port that gets probes, unless all flooded ones do, is offered more or
    less than the others, and so does not count in the index of fairness, nor
    in whether buffers were full.  After an overrun the kernel drops everything
    for a socket until it is empty.  So a port need not lose anything while it
    is measured, but must have lost something by then."""
    seconds = test["seconds"]
    sent, received, served = (sum(p[i] for p in test["ports"])
                              for i in range(3))
    first, last = test["flooded"]
    probed = test["probed"] if test["probed"] != test["flooded"] else [0, -1]
    others = [port for i, port in enumerate(test["ports"])
              if first <= i <= last and not probed[0] <= i <= probed[1]]
    return {
        f"{name}_offered_per_s": sent / seconds,
        f"{name}_served_per_s": served / seconds,
        f"{name}_load": sent / served if served else None,
        f"{name}_not_full": sum(p[1] + p[4] >= p[0] + p[3] for p in others),
        f"{name}_lost": 1 - received / sent,
        f"{name}_jain": jain([p[2] for p in others]),
        f"{name}_jain_all": jain([p[1] for p in others]),
        f"{name}_cpu_us_per_upcall":
            test["cpu_s"] * 1e6 / test["received"] if test["received"]
            else None,
        f"{name}_sender_cpu": test["send_cpu_s"] / seconds,
        f"{name}_not_sent": test["not_sent"] / seconds,
        f"{name}_sleeps_per_upcall":
            ratio(test["handler_sleeps"], test["received"]),
    }


def trace_figures(name, test):
    trace = test["trace"]
    figures = {f"{name}_calls_per_upcall": trace["calls_per_upcall"],
               f"{name}_wakeups": trace["wakeups"],
               f"{name}_empty_share": trace["empty_share"]}
    handlers = test.get("upcall_show", {}).get("handlers", [])
    wakeups = sum(h.get("wakeups", 0) for h in handlers)
    if wakeups:
        figures[f"{name}_own_empty_share"] = sum(
            h.get("empty_wakeups", 0) for h in handlers) / wakeups
    return figures


def instruction_figures(name, counted):
    """Returns the cost of receiving an upcall, and of everything that the
    handler thread does, without the kernel."""
    upcalls = counted["upcalls"]
    receiving = [counted[key] for key in ("dpif_recv", "poll_block",
                                          "dpif_recv_wait")]
    return {
        f"{name}_receive_instructions":
            sum(c["instructions"] for c in receiving) / upcalls,
        f"{name}_receive_locked": sum(c["locked"] for c in receiving) / upcalls,
        f"{name}_instructions": (sum(c["instructions"] for c in receiving)
                                 + counted["others"]["instructions"])
        / upcalls,
        f"{name}_locked": (sum(c["locked"] for c in receiving)
                           + counted["others"]["locked"]) / upcalls,
    }


def run_figures(run):
    """Returns the figures of one configuration in one round, by name."""
    figures = {"sockets": run["sockets"]["netlink"],
               "descriptors": run["sockets"]["descriptors"],
               "handlers": run["sockets"]["handlers"],
               "datapath_ports": run["sockets"]["ports"]}
    for name, test in run.get("tests", {}).items():
        if name.startswith("trace_"):
            figures.update(trace_figures(name, test))
            continue
        figures.update(probe_figures(name, test))
        if name == "each":
            figures["each_means_us"], figures["each_deviation_us"] = \
                port_means(test)
        if name in FLOODS:
            figures.update(flood_figures(name, test))
        for key in "p50", "p99":
            if "shown" in test:
                figures[f"{name}_shown_{key}"] = ratio(
                    test["shown"][key], test["probe"].get("us", {}).get(key))
    for name, moves in run.get("moves", {}).items():
        figures.update({f"{name}_{key}": v for key, v in moves.items()})
    for name, counted in run.get("instructions", {}).items():
        figures.update(instruction_figures(f"count_{name}", counted))
    tests = run.get("tests", {}).values()
    if tests:
        figures["all_missed"] = all(t["missed_equals_sent"] for t in tests)
        figures["unaccounted"] = sum(t.get("unaccounted", 0) for t in tests)
    return figures


def curves(runs):
    """Returns the percentiles 0 to 100 of the probes' latencies in each test,
    each one the median over 'runs'."""
    tests = {}
    for run in runs:
        for name, test in run.get("tests", {}).items():
            if "percentiles" in test["probe"]:
                tests.setdefault(name, []).append(test["probe"]["percentiles"])
    return {name: [round(statistics.median(column), 1)
                   for column in zip(*rows)]
            for name, rows in tests.items() if not name.startswith("trace_")}


def summarize(results):
    """Returns, for each configuration, whether it was available, the medians
    of its figures, the medians of their ratios to those of stock in the same
    round, and curves of latencies."""
    by_round = {}
    summary = {}
    for run in results["runs"]:
        entry = summary.setdefault(run["configuration"], {
            "available": run["available"], "found": run["found"]})
        if run["available"]:
            by_round[run["round"], run["configuration"]] = run_figures(run)
        else:
            entry["reason"] = run["reason"]
    for (r, _), figures in by_round.items():
        figures["tunnel_to_one_handler"] = ratio(
            figures.get("tunnel_served_per_s"),
            by_round.get((r, ONE_HANDLER), {}).get("tunnel_served_per_s"))
    for name, entry in summary.items():
        rounds = {r: f for (r, c), f in by_round.items() if c == name}
        keys = {k for f in rounds.values() for k in f}
        entry["rounds"] = len(rounds)
        entry["curves"] = curves(run for run in results["runs"]
                                 if run["configuration"] == name)
        entry["median"] = {}
        entry["spread"] = {}
        entry["to_stock"] = {}
        for key in sorted(keys):
            values = [f.get(key) for f in rounds.values()]
            if key == "all_missed":
                entry["median"][key] = all(v is not False for v in values)
                continue
            entry["median"][key] = median(values)
            if spread(values):
                entry["spread"][key] = spread(values)
            entry["to_stock"][key] = median(
                ratio(f.get(key), by_round.get((r, STOCK), {}).get(key))
                for r, f in rounds.items())
    return summary


# Targets: name, description, the value from medians and ratios, the limit, and
# whether the value has to stay below it.  A value of None was not measured.
def socket_limit(median):
    return median["datapath_ports"] + median["handlers"] + 8


TARGETS = [
    ("sockets", "netlink sockets", lambda m, r: m.get("sockets"),
     socket_limit, "<="),
    ("alone_mean", "alone: mean latency, to stock",
     lambda m, r: r.get("alone_mean_us"), 1.05, "<="),
    ("each_deviation", "each: deviation of the ports' means, to stock",
     lambda m, r: r.get("each_deviation_us"), 1.0, "<="),
    ("idle_loss", "idle: probes lost", lambda m, r: m.get("idle_loss"),
     0.0, "<="),
    ("idle_p50", "idle: median latency, to stock",
     lambda m, r: r.get("idle_p50_us"), 0.05, "<="),
    ("idle_p99", "idle: 99th percentile, to stock",
     lambda m, r: r.get("idle_p99_us"), 0.05, "<="),
    ("flooded_jain", "flooded: Jain index of received per port",
     lambda m, r: m.get("flooded_jain"), 0.95, ">="),
    ("flooded_served", "flooded: upcalls served, to stock",
     lambda m, r: r.get("flooded_served_per_s"), 1.0, ">="),
    ("saturation_served", "flooded: upcalls served a second, to stock",
     lambda m, r: r.get("flooded_served_per_s"), 1.2, ">="),
    ("remote_loss", "remote: probes lost", lambda m, r: m.get("remote_loss"),
     0.0, "<="),
    ("remote_p50", "remote: median latency, to stock",
     lambda m, r: r.get("remote_p50_us"), 0.02, "<="),
    ("remote_p99", "remote: 99th percentile, to stock",
     lambda m, r: r.get("remote_p99_us"), 0.04, "<="),
    ("mixed_jain", "mixed: Jain index of received per sender",
     lambda m, r: m.get("mixed_jain"), 0.95, ">="),
    ("tunnel_to_one_handler", "tunnel: upcalls served, to one handler's",
     lambda m, r: m.get("tunnel_to_one_handler"), 1.7, ">="),
    ("tunnel_served", "tunnel: upcalls served, to stock",
     lambda m, r: r.get("tunnel_served_per_s"), 1.1, ">="),
    *((f"{test}_shown_{key}{limit}",
       f"{test}: {key} of \"upcall/show\", to that of the probes",
       lambda m, r, name=f"{test}_shown_{key}": m.get(name), limit, sense)
      for test in ("idle", "shown") for key in ("p50", "p99")
      for limit, sense in ((.85, ">="), (1.15, "<="))),
    ("moves", "moving: CPU share of the main thread, more than still",
     lambda m, r: (m["moving_main_thread_share"] - m["still_main_thread_share"]
                   if "moving_main_thread_share" in m else None), .01, "<="),
    ("calls_per_upcall", "flooded: receiving system calls for an upcall",
     lambda m, r: m.get("trace_flood_calls_per_upcall"), 0.10, "<="),
    ("empty_flood", "flooded: share of empty wake-ups",
     lambda m, r: m.get("trace_flood_empty_share"), 0.05, "<="),
    ("empty_light", "light load: share of empty wake-ups",
     lambda m, r: m.get("trace_light_empty_share"), 0.05, "<="),
]


def flood_problems(entry):
    """Yields (test, why its result is invalid) for a configuration."""
    figures = entry["median"]
    for test in FLOODS:
        load = figures.get(f"{test}_load")
        if load is None:
            continue
        left_out = ratio(figures.get(f"{test}_not_sent"),
                         figures.get(f"{test}_offered_per_s"))
        if left_out and left_out > LEFT_OUT:
            yield test, (f"the sender left out {left_out:.0%} of the flood, as "
                         "it did not run in time")
        elif load < 1 / SATURATED:
            yield test, (f"{1 / load:.1%} of the flood was served: the daemon "
                         "was not overloaded (--flood or --tables is too low)")
        elif figures.get(f"{test}_not_full"):
            yield test, (f"{figures[f'{test}_not_full']:.0f} ports lost "
                         "nothing: their buffers were not full (--lead is too "
                         "short)")


def problems(results):
    """Returns the tests that should have been measured but were not."""
    return [f"{name}, {test}: {why}"
            for name, entry in results["summary"].items()
            for test, why in flood_problems(entry)]


def targets(results):
    """Returns for each of our configurations which targets hold, or None for a
    target without a valid measurement.  Dispatch by CPU has no targets: its
    ports share sockets.  Nor have the settings of "upcall-target-delay", which
    are compared with each other."""
    found = []
    for name, entry in results["summary"].items():
        if (not name.startswith("kdp-")
                or name.startswith(("kdp-per-cpu-", "kdp-delay-"))
                or not entry["available"]):
            continue
        void = {test for test, _ in flood_problems(entry)}
        if any(True for _ in flood_problems(
                results["summary"].get(STOCK, {"median": {}}))):
            void |= set(FLOODS)
        for key, what, value_of, limit, sense in TARGETS:
            value = value_of(entry["median"], entry["to_stock"])
            if callable(limit):
                limit = limit(entry["median"])
            if value is None:
                continue
            measured = not void.intersection([what.split(":")[0]])
            found.append({"configuration": name, "target": key, "what": what,
                          "value": value, "sense": sense, "limit": limit,
                          "holds": (holds(value, sense, limit) if measured
                                    else None)})
    return found


# Rows of the table: text, name of the figure, divisor, decimals.
ROWS = [
    ("rounds", None, 1, 0),
    ("netlink sockets", "sockets", 1, 0),
    ("handler threads", "handlers", 1, 0),
    ("alone: min us", "alone_min_us", 1, 0),
    ("alone: mean us", "alone_mean_us", 1, 0),
    ("alone: p50 us", "alone_p50_us", 1, 0),
    ("alone: p99 us", "alone_p99_us", 1, 0),
    ("each: mean of means us", "each_means_us", 1, 0),
    ("each: deviation of means us", "each_deviation_us", 1, 1),
    ("flooded: probes lost %", "flooded_loss", .01, 1),
    ("flooded: p50 ms", "flooded_p50_us", 1000, 2),
    ("flooded: p99 ms", "flooded_p99_us", 1000, 2),
    ("flooded: offered/s", "flooded_offered_per_s", 1, 0),
    ("flooded: CPU share of sender %", "flooded_sender_cpu", .01, 0),
    ("flooded: served/s", "flooded_served_per_s", 1, 0),
    ("flooded: all lost %", "flooded_lost", .01, 1),
    ("flooded: offered to served", "flooded_load", 1, 2),
    ("flooded: Jain index", "flooded_jain", 1, 3),
    ("flooded: CPU us/upcall", "flooded_cpu_us_per_upcall", 1, 0),
    ("flooded: sleeps/upcall", "flooded_sleeps_per_upcall", 1, 3),
    ("idle: probes lost %", "idle_loss", .01, 1),
    ("idle: p50 ms", "idle_p50_us", 1000, 2),
    ("idle: p99 ms", "idle_p99_us", 1000, 2),
    ("idle: served/s", "idle_served_per_s", 1, 0),
    ("idle: offered to served", "idle_load", 1, 2),
    *((f"{test}: {what}", f"{test}_{key}", divisor, decimals)
      for test in ("remote", "tunnel", "mixed")
      for what, key, divisor, decimals in (
          ("probes lost %", "loss", .01, 1),
          ("p50 ms", "p50_us", 1000, 2),
          ("p99 ms", "p99_us", 1000, 2),
          ("served/s", "served_per_s", 1, 0),
          ("offered to served", "load", 1, 2),
          ("Jain index", "jain", 1, 3))
      if (test, key) != ("remote", "jain")),
    ("tunnel: served, to one handler's", "tunnel_to_one_handler", 1, 2),
    *((f"{test}: {key} shown, to probes'", f"{test}_shown_{key}", 1, 2)
      for test in ("idle", "shown") for key in ("p50", "p99")),
    *((f"{test}: {what}", f"{test}_{key}", divisor, decimals)
      for test in ("still", "moving")
      for what, key, divisor, decimals in (
          ("ports moved/s", "moved_per_s", 1, 1),
          ("CPU share of main thread %", "main_thread_share", .01, 2))),
    ("flood: receive calls/upcall", "trace_flood_calls_per_upcall", 1, 3),
    ("flood: empty wake-ups %", "trace_flood_empty_share", .01, 1),
    ("light: receive calls/upcall", "trace_light_calls_per_upcall", 1, 3),
    ("light: empty wake-ups %", "trace_light_empty_share", .01, 1),
    *((f"{test}: {what}/upcall", f"count_{test}_{key}", 1, decimals)
      for test in ("alone", "flooded")
      for what, key, decimals in (
          ("instructions to receive", "receive_instructions", 0),
          ("locked ones", "receive_locked", 1),
          ("instructions in all", "instructions", 0),
          ("locked ones in all", "locked", 1))),
    ("sent, not received or lost", "unaccounted", 1, 0),
]


# Published figures: those in tables and plots.
# Tests whose latencies are plotted.
CURVES = ("alone", "flooded", "idle", "remote", "tunnel", "mixed")

FIGURES = {key for _, key, _, _ in ROWS} | set(CURVES) | {
    "datapath_ports", "all_missed"} | {
    f"{test}_{what}" for test in FLOODS
    for what in ("load", "not_full", "not_sent", "offered_per_s")}


def cell(entry, key, divisor, decimals):
    if key is None:
        return str(entry["rounds"])
    return with_spread(entry["median"].get(key),
                       entry.get("spread", {}).get(key),
                       lambda v: f"{v / divisor:,.{decimals}f}")


def table(results):
    """Returns the rows of the table; the first one is the head."""
    available = {name: entry for name, entry in results["summary"].items()
                 if entry["available"]}
    rows = [["", *available]]
    for text, key, divisor, decimals in ROWS:
        cells = [cell(e, key, divisor, decimals) for e in available.values()]
        if any(c != "-" for c in cells):
            rows.append([text, *cells])
    return rows


def remarks(results):
    """Returns sentences about results that are not in the table."""
    said = []
    for name, entry in results["summary"].items():
        if not entry["available"]:
            said.append(f"{name}: not available: {entry['reason']}.")
        elif not entry["median"].get("all_missed", True):
            said.append(f"{name}: not every frame was an upcall.")
    return said + [f"{problem}." for problem in problems(results)]


def text(results):
    """Returns the table and the targets for a terminal."""
    return "\n".join([*columns(table(results)), *remarks(results),
                      *target_lines(results["targets"])])
