# SPDX-License-Identifier: Apache-2.0

"""The content of a page about results of bench-link."""

import link_report as report
from bench_plot import STYLES, rst_table, save

PANELS = [("index_ns", "by interface index"), ("name_ns", "by name"),
          ("missing_ns", "no such link")]

STYLE_OF = dict(zip(report.TABLES, (STYLES[0], STYLES[3], STYLES[2])))


def plot_lookups(plt, rows, path):
    figure, axes = plt.subplots(1, len(PANELS), figsize=(9, 3.2), sharey=True)
    for axis, (key, title) in zip(axes, PANELS):
        for table, (colour, line) in STYLE_OF.items():
            mine = [row for row in rows if row["table"] == table]
            axis.plot([row["chain"] for row in mine],
                      [row[key] for row in mine], color=colour,
                      linestyle=line, marker=".", label=table)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("links for each bucket", fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(True, linewidth=.3)
    axes[0].set_ylabel("ns for a lookup", fontsize=8)
    axes[0].legend(fontsize=7)
    save(plt, figure, path)


def plot_dumps(plt, rows, path):
    figure, axis = plt.subplots(figsize=(5, 2.8))
    width = 1 / (len(report.VARIANTS) + 1)
    for i, variant in enumerate(report.VARIANTS):
        bars = axis.bar([x + i * width for x in range(len(rows))],
                        [row[f"{variant}_ms"] for row in rows], width,
                        color=STYLES[2 * i][0], label=variant)
        axis.bar_label(bars, fontsize=6, fmt="%.1f")
    axis.set_xticks([x + width for x in range(len(rows))],
                    [str(row["possible_cpus"]) for row in rows])
    axis.set_xlabel("possible CPUs", fontsize=8)
    axis.set_ylabel("ms", fontsize=8)
    axis.tick_params(labelsize=7)
    axis.legend(fontsize=7)
    save(plt, figure, path)


def tables(results):
    """Returns blocks of text."""
    text = []
    for what, title, table in (
            ("lookups", "Nanoseconds for a lookup:", report.lookup_table),
            ("lookups", "Milliseconds to drop the other namespace:",
             report.drop_table),
            ("dumps", "Dumps:", report.dump_table)):
        if results["summary"][what]:
            head, *rows = table(results)
            text += [title, rst_table(rows, head)]
    if "churn" in results:
        head, *rows = report.churn_table(results)
        text.append(rst_table(rows, head))
    return text


def plots(plt, results, prefix):
    for what, plot, suffix in (("lookups", plot_lookups, "lookup"),
                               ("dumps", plot_dumps, "dump")):
        if results["summary"][what]:
            plot(plt, results["summary"][what], f"{prefix}-{suffix}.svg")
