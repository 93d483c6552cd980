# SPDX-License-Identifier: Apache-2.0

"""The content of a page about results that are already a table."""

from bench_plot import rst_table


def tables(results):
    """Returns blocks of text."""
    table = results["table"]
    return [rst_table(table["rows"], table["head"])]


def plots(plt, results, prefix):
    """Returns no targets: there are none."""
