# SPDX-License-Identifier: Apache-2.0

"""Code shared by the reports of the benchmarks."""

import statistics

# A range of less than this share of its larger end is not worth the space.
NARROW = 0.02


def present(values):
    return [v for v in values if v is not None]


def median(values):
    values = present(values)
    return statistics.median(values) if values else None


def spread(values):
    """Returns the least and the largest of some values, None if there are not
    two."""
    values = present(values)
    return [min(values), max(values)] if len(values) > 1 else None


def ratio(a, b):
    return a / b if a is not None and b else None


def narrow(low, high):
    """Returns whether values in this range are practically equal."""
    return high - low <= NARROW * max(abs(low), abs(high))


def with_spread(value, between, form):
    """Returns a cell of a table: the median 'value', and the range of values,
    unless that is unknown or narrow."""
    if value is None:
        return "-"
    text = form(value)
    if (between and not narrow(*between)
            and form(between[0]) != form(between[1])):
        text += f" ({form(between[0])}-{form(between[1])})"
    return text


def holds(value, sense, limit):
    return value <= limit if sense == "<=" else value >= limit


def verdict(target):
    """Returns the result of a target in one word."""
    if target["holds"] is None:
        return "not measured"
    return "holds" if target["holds"] else "missed"


def target_lines(found):
    """Returns the lines about targets for a terminal."""
    lines = ["", "Targets:"] if found else []
    for t in found:
        value = "-" if t["value"] is None else f"{t['value']:.3f}"
        lines.append(f"  {verdict(t).upper() if not t['holds'] else 'holds':<13}"
                     f"{t.get('configuration', ''):<24} {t['what']:<58} "
                     f"{value:>11} {t['sense']} {t['limit']:g}".rstrip())
    return lines


def columns(rows, left=1):
    """Returns the lines of a table whose first columns are text."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(c.ljust(w) if i < left else c.rjust(w)
                      for i, (c, w) in enumerate(zip(row, widths))).rstrip()
            for row in rows]
