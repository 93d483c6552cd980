# SPDX-License-Identifier: Apache-2.0

"""What a page shows of results that are a table already."""

from bench_plot import rst_table


def tables(results):
    """Returns blocks of text."""
    table = results["table"]
    return [rst_table(table["rows"], table["head"])]


def plots(plt, results, prefix):
    """There are none."""
