# SPDX-License-Identifier: Apache-2.0

"""The summary of results of bench-offload: medians over the rounds, and which
targets hold."""

import statistics

from bench_report import (columns, holds, median, ratio, spread,
                          target_lines, with_spread)

STOCK = "stock"
OURS = "kdp"

# Members that identify runs to be compared, or whose medians are taken.
KEYS = ("test", "mode", "delay_us", "threads", "daemon")


def figures(run):
    """Returns the figures of one run, by name."""
    if run["test"] == "moves":
        return {k: run[k] for k in ("moves", "missed", "lost", "sent",
                                    "received", "duplicates", "seconds")}
    if run["test"] == "expire":
        return {"deleted_per_s": ratio(run["deleted"], run["delete_s"]),
                "expire_s": run["expire_s"],
                "kept": ratio(run.get("kept"), run["rules"]),
                "stayed": max(run["rules"] - run["deleted"], 0),
                "acquisitions": run["acquisitions"],
                "cpu_us_per_flow": ratio(run["cpu_s"] * 1e6, run["deleted"])}
    received = run["received"]
    # Frames of a burst wait for each other.
    us = run["us"] if run["test"] in ("paced", "single") else {}
    return {**{f"{k}_us": us.get(k) for k in ("p50", "p99", "mean", "max")},
            "loss": 1 - received / run["sent"],
            "all_missed": run["missed"] == run["sent"] * run["per_frame"],
            "flows_per_s": ratio(received, run["setup_s"]),
            "in_tc": run.get("rules"), "in_tc_s": run.get("in_tc_s"),
            "inserts_per_s": ratio(run.get("rules"), run.get("insert_s")),
            "acquisitions": run["acquisitions"],
            "acquisitions_per_flow": ratio(run["acquisitions"], received),
            "cpu_us_per_flow": ratio(run["cpu_s"] * 1e6, received),
            "offload_us": run["offload_us"]}


def combined(rows):
    """Returns the medians of the figures of some rounds, and their ranges."""
    found = {key: (all(row[key] for row in rows) if key == "all_missed"
                   else median(row[key] for row in rows)) for key in rows[0]}
    between = {key: spread([row[key] for row in rows]) for key in rows[0]
               if key != "all_missed"}
    between = {key: value for key, value in between.items() if value}
    return {**found, **({"spread": between} if between else {})}


def summarize(results):
    """Returns a list of the medians for each condition, and the conditions
    that were not available."""
    groups = {}
    for run in results["runs"]:
        groups.setdefault(tuple(run[k] for k in KEYS), []).append(run)
    summary = []
    for key, runs in groups.items():
        row = dict(zip(KEYS, key))
        usable = [run for run in runs if run["available"]]
        row["rounds"] = len(usable)
        if usable:
            row.update(combined([figures(run) for run in usable]))
            curves = [r["percentiles"] for r in usable if r.get("percentiles")]
            row["curve"] = [round(statistics.median(c), 1)
                            for c in zip(*curves)]
        else:
            row["reason"] = runs[0]["reason"]
        summary.append(row)
    return summary


def find(results, **wanted):
    """Returns the row of the summary for our daemon, or one that matches
    'wanted'."""
    wanted = {"daemon": OURS, "delay_us": 0, "threads": None, **wanted}
    for row in results["summary"]:
        if row["rounds"] and all(row[k] == v for k, v in wanted.items()):
            return row
    return {}


def target(key, what, value, sense, limit):
    if value is None:
        return []
    return [{"target": key, "what": what, "value": value, "sense": sense,
             "limit": limit, "holds": holds(value, sense, limit)}]


# Comparisons with stock in each mode and with each delay: test, figure,
# description, sense.
TO_STOCK = [
    ("paced", "p99_us", "p99 latency", "<="),
    ("burst", "flows_per_s", "flows a second", ">="),
    ("burst", "inserts_per_s", "insertions a second", ">="),
    ("burst", "cpu_us_per_flow", "CPU time for a flow", "<="),
    ("masks", "inserts_per_s", "insertions a second, several masks", ">="),
    ("chains", "inserts_per_s", "insertions a second, chains", ">="),
    ("pipeline", "flows_per_s", "frames a second, pipeline", ">="),
    ("pipeline", "inserts_per_s", "insertions a second, pipeline", ">="),
    ("expire", "deleted_per_s", "deletions a second", ">="),
    ("expire", "cpu_us_per_flow", "CPU time to delete a flow", "<="),
]


def stock_targets(results):
    """Yields, for each mode and delay, figures that must not be worse than
    those of the stock daemon."""
    conditions = dict.fromkeys((row["mode"], row["delay_us"])
                               for row in results["summary"])
    for test, figure, what, sense in TO_STOCK:
        for mode, delay_us in conditions:
            wanted = {"test": test, "mode": mode, "delay_us": delay_us}
            yield from target(
                f"{test} {mode} {delay_us} {figure}",
                f"{what}, to stock, {mode}, RTNL + {delay_us} us",
                ratio(find(results, **wanted).get(figure),
                      find(results, daemon=STOCK, **wanted).get(figure)),
                sense, 1)


def latency_targets(results):
    """Yields targets of upcall latency."""
    delays = results["parameters"]["delays_us"]
    for delay_us in sorted({0, max(delays)}):
        on, off = (find(results, test="paced", mode=mode, delay_us=delay_us)
                   for mode in ("software", "off"))
        yield from target(
            f"p99 on to off {delay_us}",
            f"p99 latency with hw-offload, to without, RTNL + {delay_us} us",
            ratio(on.get("p99_us"), off.get("p99_us")), "<=", 1.2)
    for mode in "software", "card":
        wanted = {"test": "paced", "mode": mode, "delay_us": max(delays)}
        yield from target(
            f"p99 of stock {mode}",
            f"p99 latency of stock, to ours, {mode}, RTNL + {max(delays)} us",
            ratio(find(results, daemon=STOCK, **wanted).get("p99_us"),
                  find(results, **wanted).get("p99_us")), ">=", 5)


def thread_targets(results):
    numbers = results["parameters"]["threads"]
    if len(numbers) > 1:
        few, many = (find(results, test="burst", mode="slow-card",
                          threads=f(numbers)) for f in (min, max))
        yield from target(
            "threads",
            f"insertions a second, slow card, {max(numbers)} threads to "
            f"{min(numbers)}",
            ratio(many.get("inserts_per_s"), few.get("inserts_per_s")),
            ">=", 1.5)


def targets(results):
    single = find(results, test="single", mode="software")
    moves = find(results, test="moves", mode="software")
    kept = [row["kept"] for row in results["summary"]
            if row["daemon"] == OURS and row.get("kept") is not None]
    stayed = [row["stayed"] for row in results["summary"]
              if row["daemon"] == OURS and row.get("stayed") is not None]
    return [*latency_targets(results),
            *target("single", "mean latency to insertion, idle queue, us",
                    single.get("offload_us"), "<=", 1000),
            *target("moves", "moves between kernel and tc",
                    moves.get("moves"), ">=", results["parameters"]["moves"]),
            *target("missed", "frames that miss meanwhile",
                    moves.get("missed"), "<=", 0),
            *target("kept", "flows that stay as long as a card forwards their "
                    "frames, share", min(kept, default=None), ">=", 1),
            *target("stayed", "rules that stay when flows have expired",
                    max(stayed, default=None), "<=", 0),
            *thread_targets(results), *stock_targets(results)]


# Columns of the table: member, title, divisor, decimals.
COLUMNS = [("p50_us", "p50 ms", 1000, 2), ("p99_us", "p99 ms", 1000, 2),
           ("loss", "lost %", .01, 1), ("flows_per_s", "flows/s", 1, 0),
           ("in_tc", "in tc", 1, 0), ("in_tc_s", "after s", 1, 2),
           ("inserts_per_s", "rules/s", 1, 0),
           ("deleted_per_s", "deleted/s", 1, 0),
           ("acquisitions", "RTNL", 1, 0),
           ("cpu_us_per_flow", "CPU us/flow", 1, 0),
           ("offload_us", "to tc us", 1, 0)]


def cell(row, key, divisor, decimals):
    return with_spread(row.get(key), row.get("spread", {}).get(key),
                       lambda v: f"{v / divisor:,.{decimals}f}")


def table(results):
    """Returns the rows of the table; the first one is the head."""
    rows = [["test", "mode", "RTNL + us", "threads", "daemon",
             *(title for _, title, _, _ in COLUMNS)]]
    for row in sorted(results["summary"], key=lambda row: tuple(
            row[k] or 0 if k in ("delay_us", "threads") else row[k]
            for k in KEYS)):
        if row["rounds"] and row["test"] != "moves":
            rows.append([row["test"], row["mode"], str(row["delay_us"]),
                         str(row["threads"] or "-"), row["daemon"],
                         *(cell(row, key, divisor, decimals)
                           for key, _, divisor, decimals in COLUMNS)])
    return rows


def remarks(results):
    """Returns sentences about results that are not in the table."""
    said = []
    for row in results["summary"]:
        if not row["rounds"]:
            said.append(f"{row['test']}, {row['daemon']}, {row['mode']}: left "
                        f"out, {row['reason']}.")
        elif row["test"] == "moves":
            said.append(
                f"moves, {row['daemon']}: {row['moves']:.0f} moves in "
                f"{row['seconds']:.1f} s; of {row['sent']:.0f} frames "
                f"{row['missed']:.0f} missed, {row['received']:.0f} were "
                f"received.")
        elif row.get("stayed"):
            said.append(f"{row['test']}, {row['daemon']}, {row['mode']}: "
                        f"{row['stayed']:.0f} rules did not go.")
        elif not row.get("all_missed", True):
            said.append(f"{row['test']}, {row['mode']}, {row['daemon']}: not "
                        "every frame was an upcall.")
    return said


def text(results):
    """Returns the table and the targets for a terminal."""
    return "\n".join([*columns(table(results), 2), *remarks(results),
                      *target_lines(results["targets"])])
