# SPDX-License-Identifier: Apache-2.0

"""The content of a page about results of bench-upcall."""

import re

import upcall_report as report
from bench_plot import STYLES, rst_table, save
from bench_results import POINTS

PANELS = [("alone", "alone"), ("flooded", "while all are flooded"),
          ("idle", "idle, others flooded"),
          ("remote", "one remote machine floods"),
          ("tunnel", "all remote machines flood"),
          ("mixed", "ports and remote machines flood")]

BARS = [("flooded_served_per_s", "upcalls served a second, flooded", 1),
        ("remote_served_per_s", "served a second, one remote floods", 1),
        ("tunnel_served_per_s", "served a second, all remotes flood", 1),
        ("mixed_served_per_s", "served a second, ports and remotes flood", 1),
        ("trace_flood_calls_per_upcall", "receiving calls for an upcall", 1),
        ("sockets", "netlink sockets", 1)]


def shown(results):
    """Returns (name, its summary, its style) of what was measured."""
    return [(name, entry, STYLES[i % len(STYLES)])
            for i, (name, entry) in enumerate(results["summary"].items())
            if entry["available"] and entry["curves"]]


def plot_latency(plt, results, path):
    panels = [(test, title) for test, title in PANELS
              if any(test in entry["curves"]
                     for _, entry, _ in shown(results))]
    figure, axes = plt.subplots(1, len(panels), figsize=(9, 3.2), sharey=True,
                                squeeze=False)
    axes = axes[0]
    for axis, (test, title) in zip(axes, panels):
        for name, entry, (colour, line) in shown(results):
            if test in entry["curves"]:
                axis.plot([us / 1000 for us in entry["curves"][test]],
                          POINTS, color=colour, linestyle=line, label=name)
        axis.set_xscale("log")
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("latency, ms", fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(True, linewidth=.3)
    axes[0].set_ylabel("% of received probes", fontsize=8)
    axes[0].legend(fontsize=7)
    save(plt, figure, path)


def plot_load(plt, results, path):
    drawn = [bar for bar in BARS
             if any(entry["median"].get(bar[0]) is not None
                    for _, entry, _ in shown(results))]
    figure, axes = plt.subplots(1, len(drawn), figsize=(9, 2.6),
                                squeeze=False)
    for axis, (key, title, divisor) in zip(axes[0], drawn):
        bars = [(name, entry["median"][key] / divisor, style[0])
                for name, entry, style in shown(results)
                if entry["median"].get(key) is not None]
        names, values, colours = zip(*bars)
        rectangles = axis.barh(names, values, color=colours)
        axis.bar_label(rectangles, fontsize=6, padding=2,
                       fmt="%.2f" if max(values) < 20 else "%.0f")
        axis.invert_yaxis()
        axis.margins(x=.25)
        axis.set_title(title, fontsize=8)
        axis.tick_params(labelsize=6)
    save(plt, figure, path)


# Figures that say under which conditions others hold, or repeat them.
LEFT_OUT = {"rounds", "handler threads", "alone: min us", "alone: p50 us",
            "each: mean of means us", "sent, not received or lost"}


def tables(results):
    """Returns blocks of text.  Where instructions were counted, the rest is of
    no interest."""
    head, *rows = report.table(results)
    counted = [row for row in rows if re.search("instructions|locked", row[0])]
    rows = counted or [
        row for row in rows if row[0] not in LEFT_OUT and not re.search(
            "offered|of sender|all lost|CPU us|sleeps|shown|empty", row[0])]
    return [rst_table(rows, ["figure", *head[1:]]), *report.remarks(results)]


def plots(plt, results, prefix):
    if shown(results):
        plot_latency(plt, results, prefix + "-latency.svg")
        plot_load(plt, results, prefix + "-load.svg")
