# SPDX-License-Identifier: Apache-2.0
"""ovs-kdp-doctor: findings about ovs-kdp, and a bundle for a support case."""

import argparse
import io
import json
import os
import sys
import tarfile
import tempfile
import time

from ovs_kdp import daemon, facts, mask, tc_rules

# Exit statuses.
WELL, FOUND, USAGE, FAILED = range(4)


def silent(error):
    """The finding about a daemon that does not answer."""
    return {
        "name": "daemon-silent",
        "what": str(error),
        "why": "Packets of flows in the kernel are forwarded; other packets "
               "are lost, and the configuration does not change.",
        "advice": "Check \"systemctl status ovs-vswitchd\", the daemon's log, "
                  "and whether this user may write to the control socket.",
    }


def find(target):
    """All findings."""
    try:
        found = target.show("kdp/doctor")
    except daemon.CommandError as error:
        return [{
            "name": "not-ovs-kdp",
            "what": str(error),
            "why": "The daemon that runs is the stock one, or older than this "
                   "program.",
            "advice": "\"ovs-kdp-switch status\" says which one is chosen.",
        }]
    except daemon.DaemonError as error:
        return [silent(error)]
    shown = {}
    for command in ("vport-table/show", "offload/show"):
        try:
            shown[command] = target.show(command)
        except daemon.DaemonError:
            pass
    return found + tc_rules.findings(shown)


def text_of(found):
    """Two lines for each finding, like the output of kdp/doctor."""
    return "".join("%(name)s: %(what)s\n    %(why)s  %(advice)s\n" % finding
                   for finding in found) or "nothing was found to be wrong\n"


def make_archive(parts):
    """A tar archive, as bytes, of 'parts', pairs of name and text."""
    buffer = io.BytesIO()
    now = int(time.time())
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in parts:
            data = text.encode()
            member = tarfile.TarInfo("ovs-kdp-bundle/" + name)
            member.size = len(data)
            member.mtime = now
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def write(path, data):
    """Writes all of 'data' to file 'path', or nothing: an older bundle stays
    if the disk is full.  Replaces a link, which may be another user's."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:  # A pipe or a device.
            file.write(data)
        return
    folder = os.path.dirname(path) or "."
    fd, temporary = tempfile.mkstemp(prefix=".ovs-kdp-bundle", dir=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def bundle(target, found, path, masked):
    """Writes the bundle to 'path', or to standard output if that is "-"."""
    parts = [("findings.txt", text_of(found)), *facts.collect(target)]
    if masked:
        masker = mask.Masker()
        parts = [(name, masker.mask(text)) for name, text in parts]
    data = make_archive(parts)
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write(path, data)


def parse(argv):
    """The options."""
    parser = argparse.ArgumentParser(
        prog="ovs-kdp-doctor",
        description="Finds problems of ovs-kdp on this machine.  The exit "
        "status is 0 if there are none, 1 if there are some, 2 on wrong "
        "usage, 3 if the bundle could not be written.")
    parser.add_argument(
        "-t", "--target", default="ovs-vswitchd",
        help="name of the daemon's pid file, or path of its control socket "
        "(default: %(default)s)")
    parser.add_argument(
        "-b", "--bundle", metavar="FILE",
        help="also write everything that a support case needs to FILE, a "
        ".tar.gz, or to standard output if FILE is -")
    parser.add_argument(
        "-m", "--mask", action="store_true",
        help="leave addresses of networks and devices out of the bundle")
    parser.add_argument(
        "--json", action="store_true", help="show findings as JSON")
    options = parser.parse_args(argv)
    if options.mask and not options.bundle:
        parser.error("--mask is for --bundle")
    if options.bundle == "/dev/stdout":
        options.bundle = "-"    # The findings must not get into the archive.
    return options


def main(argv=None):
    """The program."""
    options = parse(argv)
    target = daemon.Daemon(options.target)
    found = find(target)
    out = sys.stderr if options.bundle == "-" else sys.stdout
    if options.json:
        json.dump(found, out, indent=2)
        print(file=out)
    else:
        print(text_of(found), end="", file=out)
    if options.bundle:
        try:
            bundle(target, found, options.bundle, options.mask)
        except OSError as error:
            print("ovs-kdp-doctor: writing %s failed: %s; nothing of it was "
                  "left there.  \"--bundle -\" writes to standard output."
                  % (options.bundle, error.strerror or error),
                  file=sys.stderr)
            return FAILED
    return FOUND if found else WELL


if __name__ == "__main__":
    sys.exit(main())
