# SPDX-License-Identifier: Apache-2.0
"""What is wrong with expressions of Prometheus, as far as types of metrics and
labels say so, which no tool checks: the server does not know types, and a rate
of a gauge, or a label that no sample has, is just an empty or a wrong panel.

Knows the part of the language that alerts and the dashboard use.
"""

import re

# What a scrape adds.
SCRAPE_LABELS = {"instance", "job"}

# Functions of what only grows; the others take what comes and goes.
OF_COUNTERS = ("rate", "increase")

SELECTOR = re.compile(r"(?:\b(\w+)\()?\b(ovs_kdp_\w+)(?:\{([^}]*)\})?"
                      r"(\[\w+\])?")


class Sample:
    """The samples of one name: whether they are counters, buckets, and what
    labels they have."""

    def __init__(self, counts, bucket, labels):
        self.counts = counts
        self.bucket = bucket
        self.labels = set(labels) | SCRAPE_LABELS


def samples(families):
    """All samples of 'families', which are of the Prometheus client, by
    name."""
    found = {}
    for family in families:
        for sample in family.samples:
            suffix = sample.name[len(family.name):]
            bucket = family.type == "histogram" and suffix == "_bucket"
            counts = (family.type == "counter" or bucket
                      or suffix in ("_sum", "_count"))
            found[sample.name] = Sample(counts, bucket, sample.labels)
    return found


def faults(expr, known, shown=()):
    """Says what is wrong with 'expr', one text each.  'known' is of samples(),
    and 'shown' are labels that what uses the result shows."""
    wrong = []
    labels = set()
    for match in SELECTOR.finditer(expr):
        function, name, matchers, span = match.groups()
        sample = known.get(name)
        if not sample:
            wrong.append("%s: no such metric" % name)
            continue
        labels |= sample.labels
        if sample.counts != (function in OF_COUNTERS):
            wrong.append("%s: %s" % (name, "a counter without a rate"
                                     if sample.counts
                                     else "%s() of a gauge" % function))
        if sample.counts != bool(span):
            wrong.append("%s: %s a range" % (name, "without" if sample.counts
                                             else "has"))
        if sample.bucket and "histogram_quantile(" not in expr:
            wrong.append("%s: a bucket without histogram_quantile" % name)
        for label in re.findall(r"(\w+)\s*[=!]", matchers or ""):
            if label not in sample.labels:
                wrong.append("%s: no label %s" % (name, label))
    if "histogram_quantile(" in expr and "_bucket" not in expr:
        wrong.append("histogram_quantile without buckets")
    for kept in re.findall(r"\bby \(([^)]*)\)", expr):
        kept = set(re.findall(r"\w+", kept))
        wrong += ["no label %s" % label for label in sorted(kept - labels)]
        if "histogram_quantile(" in expr and "le" not in kept:
            wrong.append("histogram_quantile without the label le")
        labels = kept
    if "histogram_quantile(" in expr:
        labels = labels - {"le"}
    wrong += ["shows no label %s" % label
              for label in sorted(set(shown) - labels)]
    return wrong
