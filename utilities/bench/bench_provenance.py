# SPDX-License-Identifier: Apache-2.0

"""The origin of results: the code, the daemons, and the command that makes
them again."""

import datetime
import os
import re
import shlex
import subprocess

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))

# Options that say where files are, which does not matter for the results.
PLACES = ("--builddir", "--output", "--logs")


def output(*argv):
    """Returns what a command prints, None if it fails."""
    try:
        result = subprocess.run(argv, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
    except OSError:
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def version():
    """Returns the version of the source, which configure.ac has."""
    with open(os.path.join(SOURCE_DIR, "configure.ac")) as f:
        return re.search(r"AC_INIT\(\[?ovs-kdp\]?, *\[?([^],)]+)",
                         f.read())[1]


def commit():
    """Returns the commit of the source, with a "+" if there are uncommitted
    changes, or None without a repository."""
    git = "git", "-C", SOURCE_DIR
    found = output(*git, "rev-parse", "--short=12", "HEAD")
    if not found:
        return None
    changed = output(*git, "status", "--porcelain", "--untracked-files=no")
    return found + ("+" if changed else "")


def command(program, argv):
    """Returns the "make" command line that repeats what 'program' did with
    'argv'."""
    kept, skip = [], False
    for arg in argv:
        if skip:
            skip = False
        elif arg in PLACES:
            skip = True
        elif not arg.startswith(tuple(p + "=" for p in PLACES)):
            kept.append(arg)
    text = f"make {program}"
    if kept:
        flags = " ".join(shlex.quote(arg) for arg in kept)
        text += " BENCHFLAGS=" + shlex.quote(flags)
    return text


def build_flags(builddir, path):
    """Returns the flags that the daemon 'path' was compiled with, if it is one
    of the build tree."""
    stamp = os.path.join(builddir, "ovs/stamp-built")
    if not os.path.realpath(path).startswith(os.path.realpath(builddir) + "/"):
        return None
    try:
        with open(stamp) as f:
            flags = re.search(r"^cflags (.*)$", f.read(), re.M)
    except OSError:
        return None
    return " ".join(flags[1].split()) if flags else None


def daemon(builddir, path):
    """Describes the daemon 'path'."""
    said = (output(path, "--version") or "").splitlines()
    found = {"version": ", ".join(said) if said else None}
    package = output("dpkg-query", "-S", os.path.realpath(path))
    if package:
        name = package.split(":")[0]
        found["package"] = "{} {}".format(name, output(
            "dpkg-query", "-W", "-f", "${Version}", name))
    flags = build_flags(builddir, path)
    if flags:
        found["flags"] = flags
    return found


def describe(program, argv, args, daemons=None):
    """Returns the member "provenance" of results of 'program', which was called
    with 'argv'; 'args' are the parsed ones.  'daemons' are paths by name."""
    return {"version": version(), "commit": commit(),
            "date": datetime.date.today().isoformat(),
            "command": command(program, argv),
            "rounds": args.rounds,
            **({"daemons": {name: daemon(args.builddir, path)
                            for name, path in daemons.items()}}
               if daemons else {})}
