# SPDX-License-Identifier: Apache-2.0

"""What the results of bench-rtnl come to: medians over the rounds, and which
targets hold."""

import statistics

STOCK = "stock"
OURS = "kdp"

FIGURES = ("seconds", "acquisitions_per_port", "requests_per_port",
           "longest_turn_ms", "acquisitions_per_s")


def figures(run):
    """'changed' is the number of ports that were changed."""
    requests = sum(run["requests"].values())
    return {"seconds": run["seconds"],
            "acquisitions_per_port": run["acquisitions"] / run["changed"],
            "requests_per_port": requests / run["changed"],
            "longest_turn_ms": run["longest_turn_ms"],
            "acquisitions_per_s": run["acquisitions"] / run["seconds"]}


def summarize(results):
    """Returns a list of the medians for each test, number of ports, delay and
    daemon, of those rounds that came to an end."""
    groups = {}
    for run in results["runs"]:
        key = (run["test"], run["ports"], run["delay_us"], run["daemon"])
        group = groups.setdefault(key, {"rows": [], "not_finished": 0})
        if run["finished"]:
            group["rows"].append(figures(run))
        else:
            group["not_finished"] += 1
    return [{"test": test, "ports": ports, "delay_us": delay_us,
             "daemon": daemon, "rounds": len(group["rows"]),
             "not_finished": group["not_finished"],
             **{f: statistics.median(row[f] for row in group["rows"])
                if group["rows"] else None for f in FIGURES}}
            for (test, ports, delay_us, daemon), group in groups.items()]


def find(results, **wanted):
    for row in results["summary"]:
        if all(row[k] == v for k, v in wanted.items()):
            return row
    return None


def ratio(a, b):
    return a / b if b else None


# Targets: what it is about; the test; the figure; whether it is a ratio to
# stock; the limit.  Of the most ports and the longest delay.
TARGETS = [
    ("steady: acquisitions a second", "steady", "acquisitions_per_s", False,
     0),
    ("each: acquisitions for a port", "each", "acquisitions_per_port", False,
     10),
    ("each: requests for a port", "each", "requests_per_port", False, 30),
    ("each: time, to stock", "each", "seconds", True, 1 / 15),
    ("all: time, to stock", "all", "seconds", True, 0.5),
    ("each: longest turn of the main loop, to stock", "each",
     "longest_turn_ms", True, 0.05),
]


# Adding one of many ports takes no longer than this, to one of few.
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
    return [{"what": f"add: time of port {max(numbers)}, to port "
             f"{min(numbers)}", "value": value, "limit": GROW_LIMIT,
             "holds": value <= GROW_LIMIT}]


def targets(results):
    found = []
    ports = max(results["parameters"]["ports"])
    for what, test, figure, to_stock, limit in TARGETS:
        delay_us = (0 if test == "steady"
                    else max(results["parameters"]["delays_us"]))
        wanted = {"test": test, "ports": ports, "delay_us": delay_us}
        ours = find(results, daemon=OURS, **wanted)
        stock = find(results, daemon=STOCK, **wanted)
        if not ours or not ours["rounds"] or (
                to_stock and not (stock and stock["rounds"])):
            continue
        value = ratio(ours[figure], stock[figure]) if to_stock \
            else ours[figure]
        if value is not None:
            found.append({"what": what, "value": value, "limit": limit,
                          "holds": value <= limit})
    return found + grow_target(results)


COLUMNS = [("test", "test", "{}"), ("ports", "ports", "{}"),
           ("delay_us", "delay us", "{}"), ("daemon", "daemon", "{}"),
           ("seconds", "seconds", "{:.2f}"),
           ("acquisitions_per_port", "RTNL/port", "{:.1f}"),
           ("acquisitions_per_s", "RTNL/s", "{:.1f}"),
           ("requests_per_port", "requests/port", "{:.1f}"),
           ("longest_turn_ms", "longest turn ms", "{:.1f}")]


def table(results):
    """Returns the rows of the table, the first one being the head."""
    return [[title for _, title, _ in COLUMNS]] + [
        ["-" if row[key] is None else form.format(row[key])
         for key, _, form in COLUMNS]
        for row in sorted(results["summary"], key=lambda row: (
            row["test"], row["ports"], row["delay_us"], row["daemon"]))]


def not_finished(results):
    """Returns a line about each row of which rounds did not come to an end."""
    return [f"{row['daemon']}, {row['test']}, {row['ports']} ports, "
            f"{row['delay_us']} us: {row['not_finished']} of "
            f"{row['rounds'] + row['not_finished']} rounds not finished, "
            f"which are not in the medians"
            for row in results["summary"] if row["not_finished"]]


def text(results):
    rows = table(results)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths))
             for row in rows]
    lines += not_finished(results)
    if results["targets"]:
        lines += ["", "Targets:"]
    for t in results["targets"]:
        lines.append(f"  {'holds ' if t['holds'] else 'MISSED'}  "
                     f"{t['what']:<48} {t['value']:9.3f} <= {t['limit']:.3f}")
    return "\n".join(lines)
