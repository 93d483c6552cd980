# SPDX-License-Identifier: Apache-2.0

"""The file of published results from which the pages on performance are made:
Documentation/performance/results.json.

It has, by name, a benchmark's own results without the single runs: percentiles
and medians, as numbers of four digits.  Its member "sentences" says, by
benchmark and target, why a target is missed."""

import copy
import json
import os
import re

from bench_provenance import SOURCE_DIR, version
from bench_report import narrow

FORMAT = 1

RESULTS = os.path.join(SOURCE_DIR, "Documentation/performance/results.json")

# Percentiles that are kept of a curve that has all from 0 to 100.
POINTS = [0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100]

# Least number of rounds of published results.
MIN_ROUNDS = 3

# Members of a benchmark's results that are not published.
RUNS = ("runs", "lookups", "dumps", "starts", "takeovers", "failures",
        "format")


class ResultsError(Exception):
    pass


def points(curve):
    """Returns the percentiles that are kept of 'curve'."""
    return [curve[i] for i in POINTS] if len(curve) == 101 else curve


def compact(value, key=None):
    """Returns 'value', the member 'key' of something, with less detail."""
    if isinstance(value, dict):
        if key == "median":
            value = {k: v for k, v in value.items() if v is not None}
        if key == "curves":
            return {k: compact(points(v)) for k, v in value.items()}
        if key == "spread" and not isinstance(value, bool):
            value = {k: v for k, v in value.items() if not narrow(*v)}
        return {k: compact(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [compact(v) for v in (points(value) if key == "curve"
                                     else value)]
    if isinstance(value, float):
        value = float(f"{value:.4g}")
        return int(value) if value == int(value) else value
    return value


def entry(benchmark, results, figures=None, row_of=None):
    """Returns the published part of 'results': for configurations the
    'figures' with these names, of a list the rows that 'row_of' returns for
    them, if there are any."""
    kept = {k: v for k, v in results.items() if k not in RUNS}
    # The command names the configurations.
    if "parameters" in kept:
        kept["parameters"] = {k: v for k, v in kept["parameters"].items()
                              if k != "configurations"}
    # Pages list only targets that do not hold.
    targets = kept.get("targets", [])
    if any("holds" in t for t in targets):
        kept["targets_set"] = len(targets)
        kept["targets"] = [t for t in targets if not t["holds"]]
    summary = kept.pop("summary", None)
    if isinstance(summary, dict) and figures:
        summary = {name: {k: ({f: x for f, x in v.items() if f in figures}
                              if k in ("median", "spread", "curves") else v)
                          for k, v in of.items()
                          if k not in ("to_stock", "found")}
                   for name, of in summary.items()}
    if row_of:
        summary = [row for row in (row_of(row, results["parameters"])
                                   for row in summary) if row]
    if summary is not None:
        kept["summary"] = summary
    return {"benchmark": benchmark, **compact(kept)}


# Members of rows in which None has a meaning; others are then omitted.
NONE_TELLS = ("threads", "holds")


def packed(rows):
    """Returns dictionaries 'rows' as names and rows of values."""
    fields = list(dict.fromkeys(
        k for row in rows for k, v in row.items()
        if v is not None or k in NONE_TELLS))
    return {"fields": fields,
            "rows": [[row.get(k) for k in fields] for row in rows]}


def unpacked(table):
    return [{k: v for k, v in zip(table["fields"], row)
             if v is not None or k in NONE_TELLS} for row in table["rows"]]


def each_table(published, change):
    """Applies 'change' to the lists of rows in 'published'."""
    for of in published["results"].values():
        for where, key in ((of, "targets"), (of, "summary"),
                           (of.get("summary"), "lookups"),
                           (of.get("summary"), "lost"),
                           (of.get("summary"), "starts"),
                           (of.get("summary"), "dumps")):
            if isinstance(where, dict) and isinstance(
                    where.get(key), list if change is packed else dict) \
                    and (change is packed or "fields" in where[key]):
                where[key] = change(where[key])


def load(path):
    try:
        with open(path) as f:
            published = json.load(f)
    except FileNotFoundError:
        return {"format": FORMAT, "results": {}, "sentences": {}}
    except (OSError, ValueError) as e:
        raise ResultsError(f"{path}: {e}")
    if published.get("format") != FORMAT:
        raise ResultsError(f"{path}: expected format {FORMAT}")
    each_table(published, unpacked)
    return published


def lines(value, depth):
    """Returns 'value' as JSON, with the members of the outermost 'depth'
    levels on separate lines."""
    if depth and isinstance(value, dict) and value:
        inner = [f"{json.dumps(k)}: {lines(v, depth - 1)}"
                 for k, v in value.items()]
        return "{\n" + ",\n".join(inner) + "}"
    if depth and isinstance(value, list) and value:
        return "[\n" + ",\n".join(lines(v, depth - 1) for v in value) + "]"
    return json.dumps(value, separators=(",", ":"))


def save(path, published):
    published = copy.deepcopy(published)
    each_table(published, packed)
    with open(path + ".new", "w") as f:
        f.write(lines(published, 5) + "\n")
    os.rename(path + ".new", path)


def releases():
    """Returns the versions in NEWS, the latest one first."""
    with open(os.path.join(SOURCE_DIR, "NEWS")) as f:
        return re.findall(r"^v([0-9][0-9.]*)", f.read(), re.M)


def releases_since(measured, known=None, current=None):
    """Returns by how many releases the code is ahead of version 'measured', or
    None if that version is unknown."""
    known = releases() if known is None else known
    current = current or version()
    if measured == current:
        return 0
    if measured not in known:
        return None
    newest = known.index(current) if current in known else 0
    return known.index(measured) - newest
