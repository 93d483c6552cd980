# SPDX-License-Identifier: Apache-2.0

"""Code shared by the programs that make plots and tables of results."""

import sys

# Distinguishable without colours, too.
STYLES = [("#444444", "-"), ("#999999", "--"), ("#0072b2", "-"),
          ("#d55e00", "-."), ("#009e73", ":"), ("#cc79a7", "-"),
          ("#56b4e9", "--")]


def pyplot(program):
    """Returns matplotlib.pyplot, set up so that the same results make the same
    file."""
    try:
        import matplotlib
    except ImportError:
        sys.exit(f"{program}: matplotlib is missing: apt-get install "
                 "python3-matplotlib")
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    plt.rcParams["svg.hashsalt"] = "ovs-kdp"
    plt.rcParams["svg.fonttype"] = "none"
    return plt


def save(plt, figure, path):
    figure.tight_layout()
    # The same results make the same file.
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    # Matplotlib ends lines of paths with a space.
    with open(path) as f:
        lines = [line.rstrip() for line in f]
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


def rst_table(rows, head):
    """Returns 'rows' as a simple table, 'head' being its first row."""
    rows = [[c or "\\" for c in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    rule = "  ".join("=" * w for w in widths)
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip()
             for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])
