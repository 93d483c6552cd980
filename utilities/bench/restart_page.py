# SPDX-License-Identifier: Apache-2.0

"""The content of a page about results of bench-restart."""

import restart_report as report
from bench_plot import STYLES, rst_table, save

RULES = ("normal", "openflow", "conntrack")


def lost_cell(rows):
    """Returns the least and the largest number of packets lost in 'rows'."""
    if not rows:
        return ""
    least = min(r["least"] for r in rows)
    most = max(r["most"] for r in rows)
    return f"{least:,}" if least == most else f"{least:,}-{most:,}"


def lost_table(results):
    """Returns a row for each end and offload, with all numbers of flows in
    one."""
    found = results["summary"]["lost"]
    rows = []
    for how, offload in dict.fromkeys((r["how"], r["offload"])
                                      for r in found):
        of = [r for r in found if (r["how"], r["offload"]) == (how, offload)]
        rows.append([how, "on" if offload else "off",
                     *(lost_cell([r for r in of if r["rules"] == rules
                                  and r["daemon"] == daemon])
                       for rules in RULES
                       for daemon in (report.STOCK, report.OURS))])
    return rst_table(rows, ["end", "offload",
                            *(f"{rules}: {daemon}" for rules in RULES
                              for daemon in (report.STOCK, report.OURS))])


def change_table(results):
    """Returns the same for a change from one daemon to the other."""
    found = results["summary"]["lost"]
    changes = [f"{report.STOCK} to {report.OURS}",
               f"{report.OURS} to {report.STOCK}"]
    rows = []
    for offload in (False, True):
        of = [r for r in found if r["offload"] == offload]
        rows.append(["on" if offload else "off",
                     *(lost_cell([r for r in of if r["daemon"] == change])
                       for change in changes)])
    return rst_table(rows, ["offload", *changes])


def tables(results):
    """Returns blocks of text."""
    if report.live_rows(results):
        head, *rows = report.live_table(results)
        return [rst_table(rows, head)]
    rate = results["parameters"]["rate"]
    text = []
    if results["summary"].get("takeovers"):
        head, *rows = report.takeover_table(results)
        text.append(rst_table(rows, head))
    if results["summary"]["lost"]:
        text += [f"Packets of established flows that were lost, of {rate:,} a "
                 "second, with one flow and with 2,000:", lost_table(results),
                 "The same, when one daemon takes the place of the other, "
                 "whatever ended the first one:", change_table(results)]
    if results["summary"]["starts"]:
        head, *rows = report.start_table(results)
        text += ["A start:", rst_table(rows, head)]
    return text


def plots(plt, results, prefix):
    starts = results["summary"]["starts"]
    if not starts:
        return
    handlers = min(r["handlers"] for r in starts)
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.9))
    for axis, (y, unit, title) in zip(axes, (
            ("start_ms", 1000, "all ports are there: seconds"),
            ("first_upcall_ms", 1000, "first upcall served: seconds"),
            ("rss_kb", 1024, "memory: MiB"))):
        for daemon, (colour, line) in ((report.STOCK, STYLES[0]),
                                       (report.OURS, STYLES[2])):
            rows = sorted((r for r in starts if r["daemon"] == daemon
                           and r["handlers"] == handlers),
                          key=lambda r: r["ports"])
            axis.plot([r["ports"] for r in rows], [r[y] / unit for r in rows],
                      color=colour, linestyle=line, marker=".", label=daemon)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("ports", fontsize=8)
        axis.set_ylim(bottom=0)
        axis.tick_params(labelsize=7)
        axis.grid(True, linewidth=.3)
    axes[0].legend(fontsize=7)
    save(plt, figure, prefix + "-starts.svg")
