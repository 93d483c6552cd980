# SPDX-License-Identifier: Apache-2.0

"""Command line options that the benchmarks share."""

import argparse
import os
import re

EXIT_STATUS_HELP = """\
exit status:
  0  everything was measured, whatever came out
  1  something could not be measured
  2  wrong usage
"""


class ArgumentParser(argparse.ArgumentParser):
    def __init__(self, program, description):
        super().__init__(prog=program, description=description,
                         epilog=EXIT_STATUS_HELP,
                         formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


def numbers(low, high):
    """Returns a parser of lists of whole numbers from 'low' to 'high'."""
    def parse(text):
        values = text.split(",")
        if not all(re.fullmatch(r"[0-9]{1,9}", v) and low <= int(v) <= high
                   for v in values):
            raise argparse.ArgumentTypeError(
                f"\"{text}\": expected numbers from {low} to {high}, "
                "separated by commas")
        return [int(v) for v in values]
    return parse


def names(known):
    """Returns a parser of lists of 'known' names."""
    def parse(text):
        values = text.split(",")
        if not all(v in known for v in values):
            raise argparse.ArgumentTypeError(
                f"\"{text}\": expected some of {', '.join(known)}, separated "
                "by commas")
        return values
    return parse


def number(low, high, even=False):
    """Returns a parser of whole numbers from 'low' to 'high'."""
    def parse(text):
        kind = "an even number" if even else "a number"
        if not re.fullmatch(r"[0-9]{1,9}", text) \
                or not low <= int(text) <= high or even and int(text) % 2:
            raise argparse.ArgumentTypeError(
                f"\"{text}\": expected {kind} from {low} to {high}")
        return int(text)
    return parse


def memory(text):
    if not re.fullmatch(r"[1-9][0-9]{0,5}[MG]", text):
        raise argparse.ArgumentTypeError(
            f"\"{text}\": expected a number and M or G, such as 3G")
    return text


def program(text):
    path = os.path.abspath(text)
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise argparse.ArgumentTypeError(
            f"\"{text}\": expected an executable file")
    return path


def file(text):
    path = os.path.realpath(text)
    if not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"\"{text}\": expected a file")
    return path


# The daemons that are compared; the first one is the reference.  Two of them
# are at these places in the build tree.
DAEMONS = ["stock", "distribution", "kdp"]
IN_BUILDDIR = {"stock": "ovs/src/vswitchd/ovs-vswitchd",
               "kdp": "vswitchd/ovs-vswitchd"}
DISTRIBUTION = "/usr/sbin/ovs-vswitchd"


def add_daemons(add):
    """Adds the options that say where the daemons are."""
    add("--builddir", default=".", metavar="DIR",
        help="build tree (default: the current directory)")
    add("--kdp", type=program, metavar="FILE",
        help="our daemon (default: the build tree's)")
    add("--stock", type=program, metavar="FILE",
        help="the stock daemon (default: the build tree's, of the same source "
        "and with the same flags as ours)")
    add("--distribution", type=program, metavar="FILE",
        help="the distribution's daemon (default: "
        f"{DISTRIBUTION}; without it this column is missing)")


def add_choice(add):
    """Adds the option that says which daemons are measured."""
    add("--daemon", choices=DAEMONS, action="append",
        help="measure this one, and others named so (default: all)")


def programs(args):
    """Returns the paths of the available and selected daemons, by name."""
    chosen = getattr(args, "daemon", None) or DAEMONS
    return {name: getattr(args, name) for name in DAEMONS
            if name in chosen and getattr(args, name)}


def add_results(add, name, logs):
    """Adds the options that say where results go.  complete() sets missing
    ones to 'name' and 'logs' in the build tree."""
    add("--output", metavar="FILE",
        help=f"results (default: bench/{name} in the build tree)")
    add("--logs", metavar="DIR",
        help=f"logs (default: bench/{logs} in the build tree)")


def complete(parser, args, name, logs):
    """Checks and completes the options of add_daemons() and add_results()."""
    if not os.path.isdir(args.builddir):
        parser.error(f"--builddir {args.builddir}: expected a folder")
    args.builddir = os.path.abspath(args.builddir)
    for daemon, path in IN_BUILDDIR.items():
        if getattr(args, daemon):
            continue
        path = os.path.join(args.builddir, path)
        if not os.access(path, os.X_OK):
            parser.error(f"--{daemon} {path}: expected an executable file "
                         f"(\"make {parser.prog}\" makes it)")
        setattr(args, daemon, path)
    if not args.distribution and os.access(DISTRIBUTION, os.X_OK):
        args.distribution = DISTRIBUTION
    args.output = args.output or os.path.join(args.builddir, "bench", name)
    args.logs = os.path.abspath(
        args.logs or os.path.join(args.builddir, "bench", logs))
