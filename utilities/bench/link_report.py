# SPDX-License-Identifier: Apache-2.0

"""The summary of results of bench-link: medians over the rounds."""

import statistics

TABLES = ("fixed", "growing", "split")
LOOKUPS = ("index_ns", "name_ns", "missing_ns")
VARIANTS = ("stats", "skip", "resync")


def summarize_lookups(runs):
    """Returns a list of the medians for each chain and table."""
    rows = []
    for chain in sorted({run["chain"] for run in runs}):
        for table in TABLES:
            mine = [run for run in runs
                    if run["chain"] == chain and run["table"] == table]
            row = {"chain": chain, "table": table}
            for figure in LOOKUPS:
                row[figure] = statistics.median(
                    run[figure] for run in mine if figure in run)
            # Printed after the rounds of each pass.
            ends = [run for run in mine if "drop_ms" in run]
            row["buckets"] = ends[0]["buckets"]
            row["drop_ms"] = statistics.median(
                run["drop_ms"] for run in ends)
            rows.append(row)
    return rows


def summarize_dumps(runs):
    """Returns a list of the medians for each number of CPUs, and of the ratio
    in each round."""
    rows = []
    for cpus in dict.fromkeys(run["possible_cpus"] for run in runs):
        mine = [run for run in runs if run["possible_cpus"] == cpus]
        ms = {variant: {run["round"]: run["ms"] for run in mine
                        if run["variant"] == variant} for variant in VARIANTS}
        row = {"possible_cpus": cpus, "links": mine[0]["links"]}
        for variant in VARIANTS:
            row[f"{variant}_ms"] = statistics.median(ms[variant].values())
        row["skip_to_stats"] = statistics.median(
            ms["skip"][r] / ms["stats"][r] for r in ms["skip"])
        for variant in "stats", "skip":
            row[f"{variant}_bytes"] = next(
                run["bytes"] for run in mine if run["variant"] == variant)
        rows.append(row)
    return rows


def summarize(results):
    return {"lookups": summarize_lookups(results["lookups"]),
            "dumps": summarize_dumps(results["dumps"])}


def lookup_table(results):
    """Returns rows of text; the first one is the head."""
    rows = [["chain", *(f"{figure[:-3]}, {table}" for figure in LOOKUPS
                        for table in TABLES)]]
    summary = results["summary"]["lookups"]
    for chain in dict.fromkeys(row["chain"] for row in summary):
        mine = {row["table"]: row for row in summary if row["chain"] == chain}
        rows.append([str(chain), *(f"{mine[table][figure]:.0f}"
                                   for figure in LOOKUPS for table in TABLES)])
    return rows


def drop_table(results):
    rows = [["chain", "links", *TABLES, "buckets of growing"]]
    summary = results["summary"]["lookups"]
    for chain in dict.fromkeys(row["chain"] for row in summary):
        mine = {row["table"]: row for row in summary if row["chain"] == chain}
        rows.append([str(chain),
                     str(chain * results["parameters"]["buckets"]),
                     *(f"{mine[table]['drop_ms']:.2f}" for table in TABLES),
                     str(abs(mine["growing"]["buckets"]))])
    return rows


def dump_table(results):
    rows = [["CPUs", "links", "stats, ms", "skip, ms", "skip / stats",
             "resync, ms", "stats, MB", "skip, MB"]]
    for row in results["summary"]["dumps"]:
        rows.append([str(row["possible_cpus"]), str(row["links"]),
                     f"{row['stats_ms']:.1f}", f"{row['skip_ms']:.1f}",
                     f"{row['skip_to_stats']:.2f}",
                     f"{row['resync_ms']:.1f}",
                     f"{row['stats_bytes'] / 1e6:.2f}",
                     f"{row['skip_bytes'] / 1e6:.2f}"])
    return rows


def churn_table(results):
    churn = results["churn"]
    rows = [["resync", "ms", "turns", "longest turn, ms", "of CPU, ms",
             "requests", "pairs/s"]]
    rows += [[str(r["round"] + 1), f"{r['ms']:.1f}", str(r["turns"]),
              f"{r['longest_turn_ms']:.1f}",
              f"{r['longest_turn_cpu_ms']:.1f}", str(r["requests"]),
              f"{r['pairs_per_s']:.0f}"] for r in churn["rounds"]]
    return rows


def churn_text(results):
    churn = results["churn"]
    rows = churn_table(results)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        [f"churn, {churn['links']} links"]
        + ["  ".join(c.rjust(w) for c, w in zip(row, widths))
           for row in rows]
        + [f"quiet: certain after {churn['quiet_ms']:.0f} ms, longest turn "
           f"{churn['quiet_longest_turn_ms']:.1f} ms; the table is "
           + ("equal" if churn["equal"] else "NOT EQUAL")])


def text(results):
    blocks = []
    for what, title, table in (
            ("lookups", "ns for a lookup", lookup_table),
            ("lookups", "ms to drop the other links", drop_table),
            ("dumps", "dumps", dump_table)):
        if not results["summary"][what]:
            continue
        rows = table(results)
        widths = [max(len(row[i]) for row in rows)
                  for i in range(len(rows[0]))]
        blocks.append("\n".join([title] + [
            "  ".join(c.rjust(w) for c, w in zip(row, widths))
            for row in rows]))
    if "churn" in results:
        blocks.append(churn_text(results))
    return "\n\n".join(blocks)
