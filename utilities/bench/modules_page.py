# SPDX-License-Identifier: Apache-2.0

"""The content of a page about results of bench-modules.  The page includes
tables from separate files (NAME-*.csv)."""

import csv
import importlib.machinery
import importlib.util
import os

from bench_plot import save

# The ratios are defined where they are measured.
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                       "bench-modules")
LOADER = importlib.machinery.SourceFileLoader("bench_modules", PROGRAM)
SPEC = importlib.util.spec_from_loader("bench_modules", LOADER)
bench = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(bench)

NAMES = {"ovs-kdp": "ovs-kdp", "openvswitch": "Open vSwitch",
         "liburcu": "liburcu", "liburcu-splice": "liburcu, all at once",
         "item by item": "item by item", "in the handler": "in the handler"}
COLOURS = {"ovs-kdp": "#1f77b4", "openvswitch": "#888888",
           "liburcu": "#bb9955", "liburcu-splice": "#ddcc99",
           "item by item": "#888888", "in the handler": "#888888"}
UNITS = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds",
         "Mops/s": "million nodes a second",
         "per ms": "flows in a millisecond"}

# There are no conditions to publish with it.
report = None

PLOTS = (
    ("ids.svg", "One million ids", ("new", "del", "mix", "rnd"), True),
    ("throughput.svg", "Queue, producers that flood it", ("throughput",),
     False),
    ("latency.svg", "Queue, from push to pop, one producer",
     ("latency_p50", "latency_p99"), False),
    ("fold.svg", "Adding up 36 counters of 160 threads",
     ("unchanged", "written"), False),
    ("put.svg", "What a handler waits to add a flow", ("put", "put_slow"),
     True),
    ("insertions.svg", "Flows into a tc that takes 0.1 ms for each",
     ("insertions",), False),
)


def label(result, patterns):
    if result["test"] == "fold":
        return result["pattern"]
    if result["pattern"].startswith("put"):
        return {"put": "fast tc", "put_slow": "tc takes 10 ms"}[
            result["pattern"]]
    if result["pattern"].startswith("latency"):
        return {"latency_p50": "median",
                "latency_p99": "99th percentile"}[result["pattern"]]
    n = result["threads"]
    if len(patterns) == 1:
        what = "producer" if result["test"] == "queue" else "thread"
        return f"{n} {what}" + "s" * (n > 1)
    return f"{result['pattern']} {n}"


def plot(plt, results, prefix, name, title, patterns, log):
    chosen = [r for r in results if r["pattern"] in patterns]
    if patterns[0].startswith("latency"):
        # With more, producers wait for one another's turn on the CPU.
        chosen = [r for r in chosen if r["threads"] == 1]
    chosen.sort(key=lambda r: (patterns.index(r["pattern"]), r["threads"]))
    if not chosen:
        return
    modules = list(chosen[0]["modules"])
    modules.sort(key=list(NAMES).index)
    figure, axes = plt.subplots(figsize=(7, 3))
    width = 0.8 / len(modules)
    for i, module in enumerate(modules):
        values = [r["modules"][module]["median"] for r in chosen]
        bars = axes.bar([j + i * width for j in range(len(values))], values,
                        width, label=NAMES[module], color=COLOURS[module])
        axes.bar_label(bars, fmt="%.3g", fontsize=6)
    axes.set_xticks([j + width * (len(modules) - 1) / 2
                     for j in range(len(chosen))],
                    [label(r, patterns) for r in chosen], fontsize=8)
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(UNITS[chosen[0]["unit"]], fontsize=9)
    axes.margins(y=0.15)
    if log:
        axes.set_yscale("log")
    axes.legend(fontsize=8)
    save(plt, figure, f"{prefix}-{name}")


def number(value):
    return "" if value is None else f"{value:.3g}"


def table(results, prefix, test):
    """Writes all measurements of a test."""
    chosen = [r for r in results if r["test"] == test]
    if not chosen:
        return
    modules = sorted({name for r in chosen for name in r["modules"]},
                     key=list(NAMES).index)
    threads = {"queue": "producers"}
    with open(f"{prefix}-{test}.csv", "w", encoding="ascii",
              newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["", threads.get(test, "threads"), "unit"]
                        + [NAMES[m] for m in modules] + ["ratio"])
        for r in chosen:
            writer.writerow(
                [r["what"] if test != "ids" else r["pattern"],
                 r["threads"] or "", r["unit"]]
                + [number(r["modules"].get(m, {}).get("median"))
                   for m in modules]
                + [number(bench.ratio(r))])


def targets(checked, prefix):
    """Writes which targets hold."""
    with open(f"{prefix}-targets.csv", "w", encoding="ascii",
              newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["target", "pattern", "threads", "at most", "ratio",
                         "result"])
        for t in checked:
            writer.writerow([t["target"], t["pattern"], t["threads"],
                             t["limit"], number(t["ratio"]), t["result"]])


def tables(results):
    """Returns blocks of text."""
    return []


def plots(plt, results, prefix):
    for name, title, patterns, log in PLOTS:
        plot(plt, results["results"], prefix, name, title, patterns, log)
    for test in ("ids", "queue", "fold", "engine"):
        table(results["results"], prefix, test)
    targets(results["targets"], prefix)
