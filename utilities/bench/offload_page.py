# SPDX-License-Identifier: Apache-2.0

"""The content of a page about results of bench-offload."""

import offload_report as report
from bench_plot import STYLES, rst_table, save
from bench_results import POINTS, points

STYLE_OF = {report.STOCK: STYLES[0], "distribution": STYLES[1],
            report.OURS: STYLES[2]}


def rows_of(results, **wanted):
    """Returns the rows of the summary that match 'wanted'."""
    return [row for row in results["summary"] if row["rounds"]
            and all(row[k] == v for k, v in wanted.items())]


def plot_latency(plt, results, path):
    """A panel for each mode, and a line for each daemon and delay."""
    modes = results["parameters"]["modes"]
    delays = results["parameters"]["delays_us"]
    figure, axes = plt.subplots(1, len(modes), figsize=(9, 3), sharex=True,
                                sharey=True, squeeze=False)
    for axis, mode in zip(axes[0], modes):
        for row in rows_of(results, test="paced", mode=mode):
            colour, _ = STYLE_OF[row["daemon"]]
            axis.plot([us / 1000 for us in points(row["curve"])],
                      POINTS, color=colour,
                      linestyle="-" if row["delay_us"] == min(delays)
                      else "--",
                      label=f"{row['daemon']}, RTNL + {row['delay_us']} us")
        axis.set_xscale("log")
        axis.set_title(mode, fontsize=9)
        axis.set_xlabel("latency, ms", fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(True, linewidth=.3)
    axes[0][0].set_ylabel("% of frames received", fontsize=8)
    axes[0][0].legend(fontsize=6)
    save(plt, figure, path)


def plot_rules(plt, results, path):
    """Bars of the results of a burst, for each mode, daemon and delay."""
    panels = [("flows_per_s", "flows set up a second"),
              ("inserts_per_s", "rules a second"),
              ("cpu_us_per_flow", "CPU time for a flow, us")]
    figure, axes = plt.subplots(1, len(panels), figsize=(9, 3.4))
    rows = rows_of(results, test="burst", threads=None)
    for axis, (key, title) in zip(axes, panels):
        bars = [(f"{row['mode']} + {row['delay_us']} us, {row['daemon']}",
                 row[key], STYLE_OF[row["daemon"]][0])
                for row in sorted(rows, key=lambda row: (
                    results["parameters"]["modes"].index(row["mode"]),
                    row["delay_us"], row["daemon"]))
                if row.get(key) is not None]
        names, values, colours = zip(*bars) if bars else ((), (), ())
        rectangles = axis.barh(names, values, color=colours)
        axis.bar_label(rectangles, fontsize=5, padding=2, fmt="%.0f")
        axis.invert_yaxis()
        axis.margins(x=.25)
        axis.set_title(title, fontsize=8)
        axis.tick_params(labelsize=5)
    save(plt, figure, path)


def tables(results):
    """Returns blocks of text."""
    head, *rows = report.table(results)
    return [rst_table(rows, head), *report.remarks(results)]


def plots(plt, results, prefix):
    if rows_of(results, test="paced"):
        plot_latency(plt, results, prefix + "-latency.svg")
    if rows_of(results, test="burst", threads=None):
        plot_rules(plt, results, prefix + "-rules.svg")
