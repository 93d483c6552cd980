# SPDX-License-Identifier: Apache-2.0

"""The content of a page about results of bench-rtnl."""

import rtnl_report as report
from bench_plot import STYLES, rst_table, save

STYLE_OF = {report.STOCK: STYLES[0], "distribution": STYLES[1],
            report.OURS: STYLES[2]}


def draw(axis, results, x, y, title, **wanted):
    """Plots figure 'y' against 'x' of the rows with the members 'wanted', with
    a line for each daemon."""
    wanted = {"condition": report.PLAIN, **wanted}
    for daemon, (colour, line) in STYLE_OF.items():
        rows = [row for row in results["summary"] if row["daemon"] == daemon
                and row["rounds"]
                and all(row[k] == v for k, v in wanted.items())]
        if not rows:
            continue
        rows.sort(key=lambda row: row[x])
        axis.plot([row[x] for row in rows], [row[y] for row in rows],
                  color=colour, linestyle=line, marker=".", label=daemon)
    axis.set_title(title, fontsize=9)
    axis.tick_params(labelsize=7)
    axis.grid(True, linewidth=.3)


def plot_counts(plt, results, path):
    delay = max(results["parameters"]["delays_us"])
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.9))
    panels = [("acquisitions_per_port", "RTNL acquisitions for a port",
               {"test": "each", "delay_us": delay}),
              ("requests_per_port", "requests to the kernel for a port",
               {"test": "each", "delay_us": delay}),
              ("acquisitions_per_s", "acquisitions a second, steady",
               {"test": "steady", "delay_us": 0})]
    for axis, (y, title, wanted) in zip(axes, panels):
        draw(axis, results, "ports", y, title, **wanted)
        axis.set_xlabel("ports", fontsize=8)
        axis.set_ylim(bottom=0)
    axes[0].legend(fontsize=7)
    save(plt, figure, path)


def plot_time(plt, results, path):
    ports = max(results["parameters"]["ports"])
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.9))
    panels = [("seconds", "one by one: seconds", {"test": "each"}),
              ("seconds", "without waiting: seconds", {"test": "all"}),
              ("longest_turn_ms", "longest turn of the main loop: ms",
               {"test": "each"})]
    for axis, (y, title, wanted) in zip(axes, panels):
        draw(axis, results, "delay_us", y, title, ports=ports, **wanted)
        axis.set_xlabel(f"delay of the lock in us, {ports} ports", fontsize=8)
        axis.set_yscale("log")
    axes[0].legend(fontsize=7)
    save(plt, figure, path)


def is_shown(row, parameters):
    """Returns true if the table has 'row': tests with many ports, and others
    with the most ports, without a delay and with the longest one.  A run with
    one number of ports measured them on the way."""
    if row["test"].startswith("add"):
        return report.PLAIN in parameters["conditions"]
    if row["test"] == "held":
        return True
    if row["condition"] == report.PLAIN:
        ports, delays = parameters["ports"], parameters["delays_us"]
        return (len(ports) > 1 and row["ports"] == max(ports)
                and row["delay_us"] in (0, max(delays)))
    return True


# Figures in the tables, by test; CHANGES in those that change ports.
SHOWN = {"steady": ("acquisitions_per_s", "cpu_share", "events_lost",
                    "route_changes_per_s"),
         "held": ("longest_turn_ms",),
         **{test: ("ms_per_port", "cpu_ms_per_port", "acquisitions_per_port",
                   "longest_turn_ms", "own_share", "kernel_share")
            for test in ("add", "add at once")}}
CHANGES = ("seconds", "acquisitions_per_port", "requests_per_port",
           "main_requests_per_port", "longest_turn_ms", "route_changes_per_s")
PLOTTED = ("seconds", "acquisitions_per_port", "requests_per_port",
           "acquisitions_per_s", "longest_turn_ms")


def has_plots(parameters):
    return (report.PLAIN in parameters["conditions"]
            and len(parameters["ports"]) > 1)


def published_row(row, parameters):
    """Returns 'row' without the figures that the page does not show, or None
    if it does not show the row."""
    shown = (SHOWN.get(row["test"], CHANGES)
             if is_shown(row, parameters) else ())
    if has_plots(parameters):
        shown += PLOTTED
    if not shown:
        return None

    def is_kept(name):
        return name in shown or name not in report.FIGURES

    kept = {k: v for k, v in row.items() if is_kept(k)}
    if "spread" in row:
        kept["spread"] = {k: v for k, v in row["spread"].items()
                          if is_kept(k)}
    return kept


def tables(results):
    """Returns blocks of text: a table for each test."""
    rows = [row for row in results["summary"]
            if is_shown(row, results["parameters"])]
    blocks = []
    for test in dict.fromkeys(row["test"] for row in rows):
        head, *cells = report.table(
            {**results, "summary": [r for r in rows if r["test"] == test]},
            SHOWN.get(test, CHANGES))
        # Columns of what is the same in all rows tell nothing.
        keys = range(1, len(report.KEYS) - 1)
        kept = [i for i in range(1, len(head))
                if i not in keys or len({row[i] for row in cells}) > 1]
        blocks += [f"Test ``{test}``:",
                   rst_table([[row[i] for i in kept] for row in cells],
                             [head[i] for i in kept])]
    return [*blocks, *report.remarks(results)]


def plots(plt, results, prefix):
    if not has_plots(results["parameters"]):
        return
    plot_counts(plt, results, prefix + "-counts.svg")
    plot_time(plt, results, prefix + "-time.svg")
