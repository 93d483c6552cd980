# SPDX-License-Identifier: Apache-2.0

"""The summary of results of bench-rtnl: medians over the rounds, and which
targets hold."""

from bench_report import (columns, holds, median, ratio, spread,
                          target_lines, with_spread)

STOCK = "stock"
OURS = "kdp"

# The condition of tests that do not name one.
PLAIN = "plain"

FIGURES = ("seconds", "ms_per_port", "cpu_ms_per_port",
           "acquisitions_per_port", "requests_per_port",
           "main_requests_per_port", "longest_turn_ms", "acquisitions_per_s",
           "route_changes_per_s", "own_share", "kernel_share", "cpu_share",
           "events_lost")

# Functions that are listed of a profile: those with the most samples.
TOP_FUNCTIONS = 25


def largest(samples, total):
    """Returns the shares of the functions with the most samples."""
    top = sorted(samples, key=lambda name: -samples[name])[:TOP_FUNCTIONS]
    return {name: round(samples[name] / total, 5) for name in top}


def find_shares(results, own):
    """Replaces the samples of each run by the shares of the functions with the
    most of them, and of all functions in 'own', our library's."""
    for run in results["runs"]:
        samples = run.pop("samples", None)
        kernel = run.pop("kernel_samples", {})
        if not samples:
            continue
        total = sum(samples.values())
        ours = {name: n for name, n in samples.items()
                if run["daemon"] == OURS and name in own}
        run["n_samples"] = total
        run["own_share"] = sum(ours.values()) / total
        run["shares"] = largest(samples, total)
        run["own_shares"] = largest(ours, total)

        # A sample outside the kernel has no function of it.
        kernel.pop("?", None)
        run["kernel_share"] = sum(kernel.values()) / total
        run["kernel_shares"] = largest(kernel, total)


def cpu_ms_per_port(run):
    """Returns the CPU time of the main thread, from samples."""
    if not run.get("n_samples") or not run.get("sample_hz"):
        return None
    return run["n_samples"] / run["sample_hz"] * 1000 / run["changed"]


def figures(run):
    """'changed' is the number of ports that were changed."""
    requests = sum(run["requests"].values())
    return {"seconds": run["seconds"],
            "ms_per_port": (run["seconds"] * 1000 / run["changed"]
                            if run["test"].startswith("add") else None),
            "cpu_ms_per_port": cpu_ms_per_port(run),
            "kernel_share": run.get("kernel_share"),
            "acquisitions_per_port": run["acquisitions"] / run["changed"],
            "requests_per_port": requests / run["changed"],
            "main_requests_per_port": ratio(run.get("main_requests"),
                                            run["changed"]),
            "own_share": run.get("own_share"),
            "longest_turn_ms": run["longest_turn_ms"],
            "acquisitions_per_s": run["acquisitions"] / run["seconds"],
            "cpu_share": ratio(run.get("cpu_seconds"), run["seconds"]),
            "events_lost": run.get("events_lost"),
            "route_changes_per_s": ratio(run.get("route_changes"),
                                         run["seconds"])}


def summarize(results):
    """Returns a list of the medians for each test, condition, number of ports,
    delay and daemon, over the rounds that finished."""
    groups = {}
    for run in results["runs"]:
        key = (run["test"], run["condition"], run["ports"], run["delay_us"],
               run["daemon"])
        group = groups.setdefault(key, {"rows": [], "not_finished": 0})
        if run["finished"]:
            group["rows"].append(figures(run))
        else:
            group["not_finished"] += 1
    summary = []
    for (test, condition, ports, delay_us, daemon), group in groups.items():
        values = {f: [row[f] for row in group["rows"]] for f in FIGURES}
        between = {f: spread(v) for f, v in values.items() if spread(v)}
        summary.append({
            "test": test, "condition": condition, "ports": ports,
            "delay_us": delay_us, "daemon": daemon,
            "rounds": len(group["rows"]),
            "not_finished": group["not_finished"],
            **{f: median(v) for f, v in values.items()},
            **({"spread": between} if between else {})})
    return summary


def find(results, **wanted):
    for row in results["summary"]:
        if all(row[k] == v for k, v in wanted.items()):
            return row
    return None


# Targets: description; test; figure; whether it is a ratio to stock; limit.
# For the most ports and the longest delay.
TARGETS = [
    ("steady: acquisitions a second", "steady", "acquisitions_per_s", False,
     0),
    ("each: acquisitions for a port", "each", "acquisitions_per_port", False,
     10),
    ("each: requests for a port", "each", "requests_per_port", False, 30),
    ("each: requests of the main thread for a port", "each",
     "main_requests_per_port", False, 30),
    ("each: time, to stock", "each", "seconds", True, 1 / 15),
    ("all: time, to stock", "all", "seconds", True, 0.5),
    ("each: longest turn of the main loop, to stock", "each",
     "longest_turn_ms", True, 0.05),
]


# Adding one of many ports takes at most so many times as long as one of few.
GROW_LIMIT = 1.5


def grow_target(results):
    numbers = results["parameters"]["grow"][OURS]
    if len(numbers) < 2:
        return []
    few, many = (find(results, test="add", daemon=OURS, ports=f(numbers))
                 for f in (min, max))
    if not few or not many:
        return []
    value = ratio(many["seconds"], few["seconds"])
    return [{"target": "add", "what": f"add: time of port {max(numbers)}, to "
             f"port {min(numbers)}", "value": value, "sense": "<=",
             "limit": GROW_LIMIT, "holds": holds(value, "<=", GROW_LIMIT)}]


# The main loop goes on while another process holds the lock.
HELD_LIMIT_MS = 20


def held_target(results):
    row = find(results, test="held", daemon=OURS)
    if not row:
        return []
    value = row["longest_turn_ms"]
    return [{"target": "held", "what": "held: longest turn of the main loop, "
             "ms", "value": value, "sense": "<=", "limit": HELD_LIMIT_MS,
             "holds": holds(value, "<=", HELD_LIMIT_MS)}]


def condition_targets(results, condition, ports, delays_us):
    """Yields the targets in a condition."""
    for what, test, figure, to_stock, limit in TARGETS:
        wanted = {"test": test, "condition": condition, "ports": ports,
                  "delay_us": 0 if test == "steady" else max(delays_us)}
        ours = find(results, daemon=OURS, **wanted)
        stock = find(results, daemon=STOCK, **wanted)
        if not ours or not ours["rounds"] or (
                to_stock and not (stock and stock["rounds"])):
            continue
        value = (ratio(ours[figure], stock[figure]) if to_stock
                 else ours[figure])
        if value is not None:
            where = "" if condition == PLAIN else f"{condition}, "
            yield {"target": f"{condition} {test} {figure}",
                   "what": where + what, "value": value, "sense": "<=",
                   "limit": limit, "holds": holds(value, "<=", limit)}


def targets(results):
    p = results["parameters"]
    found = []
    for condition in p["conditions"]:
        if condition == PLAIN:
            found += condition_targets(results, PLAIN, max(p["ports"]),
                                       p["delays_us"])
        else:
            found += condition_targets(results, condition,
                                       p["condition_ports"],
                                       p["condition_delays_us"])
    return found + held_target(results) + grow_target(results)


COLUMNS = [("seconds", "seconds", "{:,.2f}"),
           ("acquisitions_per_port", "RTNL/port", "{:,.1f}"),
           ("acquisitions_per_s", "RTNL/s", "{:,.1f}"),
           ("requests_per_port", "requests/port", "{:,.1f}"),
           ("main_requests_per_port", "of the main thread", "{:,.1f}"),
           ("longest_turn_ms", "longest turn ms", "{:,.1f}"),
           ("ms_per_port", "ms/port", "{:,.1f}"),
           ("cpu_ms_per_port", "CPU ms/port", "{:,.1f}"),
           ("cpu_share", "of a CPU", "{:.1%}"),
           ("events_lost", "events lost", "{:.0f}"),
           ("own_share", "samples in ours", "{:.2%}"),
           ("kernel_share", "in the kernel", "{:.0%}"),
           ("route_changes_per_s", "routes/s", "{:.0f}")]
KEYS = [("test", "test"), ("condition", "condition"), ("ports", "ports"),
        ("delay_us", "delay us"), ("daemon", "daemon")]


def order(results):
    """Returns the sort key of the summary."""
    conditions = results["parameters"]["conditions"]
    return lambda row: (row["test"], conditions.index(row["condition"])
                        if row["condition"] in conditions else -1,
                        row["ports"], row["delay_us"], row["daemon"])


def table(results, figures=FIGURES):
    """Returns the rows of the table, with 'figures'; the first one is the
    head."""
    rows = sorted(results["summary"], key=order(results))
    shown = [c for c in COLUMNS if c[0] in figures
             and any(row.get(c[0]) is not None for row in rows)]
    return [[title for _, title, *_ in KEYS + shown]] + [
        [*(str(row[key]) for key, _ in KEYS),
         *(with_spread(row.get(key), row.get("spread", {}).get(key),
                       form.format) for key, _, form in shown)]
        for row in rows]


def remarks(results):
    """Returns a sentence about each row with rounds that did not finish."""
    return [f"{row['daemon']}, {row['test']}, {row['condition']}, "
            f"{row['ports']} ports, {row['delay_us']} us: "
            f"{row['not_finished']} of {row['rounds'] + row['not_finished']} "
            "rounds not finished, which are not in the medians."
            for row in results["summary"] if row["not_finished"]]


def text(results):
    return "\n".join([*columns(table(results), 2), *remarks(results),
                      *target_lines(results["targets"])])
