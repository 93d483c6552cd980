# SPDX-License-Identifier: Apache-2.0

"""The summary of results of bench-restart: packets lost, by case, and time and
memory of a start."""

from bench_report import (columns, holds, median, spread, target_lines,
                          with_spread)

STOCK, OURS = "stock", "kdp"

# Deleting the datapath inevitably loses packets.
DELETING = ("exit --cleanup", "ovs-ctl force-reload-kmod")

# Our memory, as a ratio to stock, with the fewest ports.
MEMORY_LIMIT = 1.1

# Figures of a restart besides lost packets, and how a table shows them.
MORE_FIGURES = {"p99_ms": "{:,.0f}", "restart_ms": "{:,.0f}",
                "upcalls_pct": "{:.1f}", "memory": "{:.2f}"}

# Rules with which packets need the daemon, so that more is of interest than
# what is lost.
LIVE_RULES = ("new", "zones", "ovn")

# Figures of a start that finds flows; the last two where there are misses.
TAKEOVER_FIGURES = ("hold_ms", "overruns", "sent_per_s")

# How long upcalls may wait in such a start, in ms.
HOLD_LIMIT = 100

# Limits of figures: of memory in a handover, of more upcalls, and of the time
# that the first packet of a flow takes, in a handover and beyond the time of a
# restart.
BOTH_LIMIT, UPCALLS_LIMIT, P99_LIMIT, P99_MORE_LIMIT = 2.2, 10, 20, 50


def case_of(run):
    return (run["how"], run["rules"], run["offload"], run["flows"])


def pair_of(run):
    return (run["from"] if run["from"] == run["to"]
            else f"{run['from']} to {run['to']}")


def figures(runs):
    """Returns the medians of figures, and their ranges."""
    values = {f: [r[f] for r in runs if r.get(f) is not None]
              for f in MORE_FIGURES}
    found = {f: median(v) for f, v in values.items() if v}
    return {**found, "spread": {f: spread(values[f]) for f in found
                                if len(values[f]) > 1}}


def summarize(results):
    """Returns the median, the least and the largest number of lost packets of
    each case, and the medians of starts."""
    lost, starts, takeovers = {}, {}, {}
    for run in results["runs"]:
        lost.setdefault((*case_of(run), pair_of(run)), []).append(run)
    for row in results.get("starts", []):
        starts.setdefault((row["ports"], row["handlers"], row["daemon"]),
                          []).append(row)
    for row in results.get("takeovers", []):
        takeovers.setdefault((row["left"], row.get("misses", 0), row["wait"]),
                             []).append(row)
    return {
        "takeovers": [{"left": left, "misses": misses, "wait": wait,
                       **{k: median([r[k] for r in rows if k in r])
                          for k in TAKEOVER_FIGURES if k in rows[0]}}
                      for (left, misses, wait), rows in takeovers.items()],
        "lost": [{"how": how, "rules": rules, "offload": offload,
                  "flows": flows, "daemon": daemon,
                  "lost": median([r["lost"] for r in runs]),
                  "least": min(r["lost"] for r in runs),
                  "most": max(r["lost"] for r in runs),
                  "rounds": len(runs), **figures(runs)}
                 for (how, rules, offload, flows, daemon), runs
                 in lost.items()],
        "starts": [{"ports": ports, "handlers": handlers, "daemon": daemon,
                    **{k: median([r[k] for r in rows])
                       for k in ("start_ms", "first_upcall_ms", "rss_kb",
                                 "threads")}}
                   for (ports, handlers, daemon), rows in starts.items()]}


def lost_cell(rows):
    if not rows:
        return "-"
    row = rows[0]
    text = f"{row['lost']:g}"
    if row["least"] != row["most"]:
        text += f" ({row['least']}-{row['most']})"
    return text


def lost_table(results):
    found = results["summary"]["lost"]
    daemons = list(dict.fromkeys(r["daemon"] for r in found))
    keys = list(dict.fromkeys((r["how"], r["rules"], r["offload"], r["flows"])
                              for r in found))
    return [["end", "rules", "offload", "flows", *daemons]] + [
        [how, rules, "on" if offload else "off", f"{flows:,}",
         *(lost_cell([r for r in found if r["daemon"] == daemon and
                      (r["how"], r["rules"], r["offload"], r["flows"])
                      == (how, rules, offload, flows)])
           for daemon in daemons)]
        for how, rules, offload, flows in keys]


def live_rows(results):
    return [r for r in results["summary"]["lost"]
            if r["rules"] in LIVE_RULES]


def live_table(results):
    """Returns what is known of restarts where packets need the daemon."""
    return [["end", "rules", "daemon", "lost", "restart, ms", "p99, ms",
             "more upcalls, %", "memory"]] + [
        [r["how"], r["rules"], r["daemon"], lost_cell([r]),
         *(with_spread(r.get(f), r["spread"].get(f), MORE_FIGURES[f].format)
           if f != "p99_ms" or r["rules"] == "new" else "-"
           for f in ("restart_ms", "p99_ms", "upcalls_pct", "memory"))]
        for r in live_rows(results)]


def live_targets(results):
    found = []

    def add(row, what, figure, limit, less=0):
        if row.get(figure) is not None:
            value = row[figure] - less
            name = f"{row['rules']}, {row['how']}: {what}"
            found.append({"target": name, "what": name, "value": value,
                          "sense": "<=", "limit": limit,
                          "holds": holds(value, "<=", limit)})

    for row in live_rows(results):
        if not row["daemon"].endswith(OURS):
            continue
        add(row, "packets lost at most", "most", 0)
        add(row, "more upcalls, % of packets", "upcalls_pct", UPCALLS_LIMIT)
        add(row, "memory of both, to one", "memory", BOTH_LIMIT)
        if row["rules"] == "new":
            if row["how"] == "handover":
                add(row, "p99 of the first packet, ms", "p99_ms", P99_LIMIT)
            else:
                add(row, "p99 of the first packet beyond the restart, ms",
                    "p99_ms", P99_MORE_LIMIT, row["restart_ms"])
    return found


def start_table(results):
    return [["ports", "handlers", "daemon", "all ports, ms",
             "first upcall, ms", "memory, MiB", "threads"]] + [
        [str(r["ports"]), str(r["handlers"]), r["daemon"],
         f"{r['start_ms']:,.0f}", f"{r['first_upcall_ms']:,.0f}",
         f"{r['rss_kb'] / 1024:.1f}", f"{r['threads']:g}"]
        for r in results["summary"]["starts"]]


def takeover_table(results):
    return [["flows", "misses a second", "flow-restore-wait",
             "upcalls wait, ms", "overruns"]] + [
        [f"{r['left']:,}", f"{r.get('sent_per_s', 0):,.0f}",
         "yes" if r["wait"] else "no", f"{r['hold_ms']:,.0f}",
         f"{r['overruns']:,.0f}" if "overruns" in r else "-"]
        for r in results["summary"]["takeovers"]]


def takeover_targets(results):
    found = []
    for r in results["summary"]["takeovers"]:
        name = (f"{r['left']:,} flows"
                + (", flow-restore-wait" if r["wait"] else ""))
        for key, what, limit in (("hold_ms", "upcalls wait, ms", HOLD_LIMIT),
                                 ("overruns", "overruns", 0)):
            if "overruns" in r:
                found.append({"target": f"{name}: {what}",
                              "what": f"{name}: {what}", "value": r[key],
                              "sense": "<=", "limit": limit,
                              "holds": holds(r[key], "<=", limit)})
    return found


def memory_by_ports(starts):
    """Returns the memory of each daemon, by its name and the number of ports,
    with the fewest handlers."""
    handlers = min(r["handlers"] for r in starts)
    memory = {}
    for r in starts:
        if r["handlers"] == handlers:
            memory.setdefault(r["daemon"], {})[r["ports"]] = r["rss_kb"]
    return memory


def memory_targets(starts):
    memory = memory_by_ports(starts)
    stock, ours = memory.get(STOCK, {}), memory.get(OURS, {})
    both = sorted(set(stock) & set(ours))
    if not both:
        return []
    fewest, most = both[0], both[-1]
    value = ours[fewest] / stock[fewest]
    found = [{"target": "memory", "what": f"memory with {fewest} ports, to "
              "stock", "value": value, "sense": "<=", "limit": MEMORY_LIMIT,
              "holds": value <= MEMORY_LIMIT}]
    if most > fewest and stock[most] > stock[fewest]:
        value = ((ours[most] - ours[fewest])
                 / (stock[most] - stock[fewest]))
        found.append({"target": "memory of a port", "what": "memory of a port,"
                      f" from {fewest} to {most}, to stock", "value": value,
                      "sense": "<", "limit": 1, "holds": value < 1})
    return found


def targets(results):
    summary = results["summary"]
    ours = [r["most"] for r in summary["lost"]
            if r["how"] not in DELETING and r["daemon"].endswith(OURS)
            and r["rules"] not in LIVE_RULES]
    found = []
    if ours:
        found.append({"target": "lost", "what": "packets lost at most, where "
                      "ours starts", "value": max(ours), "sense": "<=",
                      "limit": 0, "holds": max(ours) == 0})
    found += live_targets(results) + takeover_targets(results)
    if summary["starts"]:
        found += memory_targets(summary["starts"])
    return found


def problems(results):
    return [" ".join(f"{k} {v}" for k, v in failure.items())
            for failure in results.get("failures", [])]


def text(results):
    lines = []
    if results["summary"]["lost"]:
        rate = results["parameters"]["rate"]
        lines += [f"Packets lost, of {rate:,} a second:",
                  *columns(lost_table(results), left=3)]
    if live_rows(results):
        lines += ["", "Where packets need the daemon:",
                  *columns(live_table(results), left=3)]
    if results["summary"]["takeovers"]:
        lines += ["", "Flows of a previous run:",
                  *columns(takeover_table(results), left=0)]
    if results["summary"]["starts"]:
        lines += ["", "Starts:", *columns(start_table(results), left=3)]
    return "\n".join(lines + target_lines(results["targets"]))
