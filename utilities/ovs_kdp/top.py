# SPDX-License-Identifier: Apache-2.0
"""ovs-kdp-top: a live view of a daemon in a terminal."""

import argparse
import curses
import json
import sys
import time

from ovs_kdp import daemon, page, view

# Seconds to wait for an answer to a live view.  Meanwhile no key is read.
TIMEOUT = 3.0

KEYS = "q: quit   s: sort by the next column   /: filter ports   " \
       "n: senders   p: pause"


class Screen:
    """The view in a terminal.  It is redrawn from plain lines each time; lines
    that do not fit are cut off."""

    def __init__(self, window, target, options):
        self.window = window
        self.target = target
        self.interval = options.interval
        self.sort = options.sort
        self.pattern = options.filter
        self.typed = None           # What is typed as a filter, or None.
        self.senders = options.senders
        self.paused = False
        self.first = 0              # The first port that is shown.
        self.shown = None
        self.complaint = ""
        self.next = 0.0

    def refresh(self):
        """Gets the state of the daemon."""
        try:
            look = view.Look(self.target)
            self.shown = view.View(look,
                                   self.shown.look if self.shown else None)
            self.complaint = ""
        except daemon.DaemonError as error:
            self.complaint = str(error)
        # The daemon may take longer than the interval.
        self.next = time.monotonic() + self.interval

    def key(self, key):
        """Handles 'key'.  Returns False at the end."""
        if self.typed is not None:
            self._type(key)
        elif key in ("q", "Q"):
            return False
        elif key == "s":
            sorts = view.SORTS
            self.sort = sorts[(sorts.index(self.sort) + 1) % len(sorts)]
        elif key == "/":
            self.typed = ""
        elif key == "n":
            self.senders = not self.senders
            self.first = 0
        elif key == "p":
            self.paused = not self.paused
        elif key in (curses.KEY_DOWN, "j"):
            self.first += 1
        elif key in (curses.KEY_UP, "k"):
            self.first -= 1
        elif key == curses.KEY_NPAGE:
            self.first += 10
        elif key == curses.KEY_PPAGE:
            self.first -= 10
        return True

    def _type(self, key):
        if key in ("\n", "\r", curses.KEY_ENTER):
            self.pattern, self.typed, self.first = self.typed, None, 0
        elif key == "\x1b":
            self.typed = None
        elif key in (curses.KEY_BACKSPACE, "\b", "\x7f"):
            self.typed = self.typed[:-1]
        elif isinstance(key, str) and key.isprintable():
            self.typed += key

    def title(self):
        """The first line."""
        title = "ovs-kdp-top  %s" % time.strftime("%H:%M:%S")
        if self.typed is not None:
            return title + "  filter: " + self.typed
        if self.paused:
            title += "  paused"
        if self.pattern:
            title += "  ports with \"%s\"" % self.pattern
        return title + "  " + KEYS

    def rows(self):
        """The heading, and the lines below it with their attributes."""
        if self.senders:
            return page.sender_heading(), [
                (page.sender_line(sender), curses.A_BOLD
                 if sender["shed_rate"] else 0)
                for sender in self.shown.senders(self.pattern)]
        return page.heading(self.sort), [
            (page.port_line(port), curses.A_BOLD if port["lost_rate"] else 0)
            for port in view.select(self.shown.ports(), self.sort,
                                    self.pattern)]

    def draw(self):
        """Draws all."""
        height, width = self.window.getmaxyx()
        lines = [(self.title(), curses.A_REVERSE)]
        if self.complaint:
            lines.append((self.complaint, curses.A_BOLD))
        if self.shown:
            lines += [(line, 0) for line in page.summary(self.shown)]
            heading, rows = self.rows()
            lines += [("", 0), (heading, curses.A_UNDERLINE)]
            self.first = max(0, min(self.first, len(rows) - 1))
            lines += rows[self.first:]
        self.window.erase()
        for y, (line, attributes) in enumerate(lines[:height]):
            # The last column of the last line cannot be written to.
            self.window.addstr(y, 0, line[:width - 1], attributes)
        self.window.refresh()

    def run(self):
        """Runs until the user ends it."""
        while True:
            if time.monotonic() >= self.next and not self.paused:
                self.refresh()
            self.draw()
            left = max(0, self.next - time.monotonic())
            self.window.timeout(-1 if self.paused else int(left * 1000) + 1)
            try:
                key = self.window.get_wch()
            except curses.error:
                continue            # No key was pressed in time.
            if not self.key(key):
                return


def in_terminal(window, target, options):
    """Runs in a terminal that curses has set up."""
    try:
        curses.curs_set(0)
    except curses.error:
        pass                        # The terminal cannot hide the cursor.
    Screen(window, target, options).run()


def once(target, options):
    """Prints the view of one interval."""
    look = view.Look(target)
    time.sleep(options.interval)
    shown = view.View(view.Look(target), look)
    if options.json:
        json.dump(shown.json(options.sort, options.filter), sys.stdout,
                  indent=2)
        print()
    else:
        print("\n".join(page.lines(shown, options.sort, options.filter,
                                   options.senders)))


def parse(argv):
    """The options."""
    parser = argparse.ArgumentParser(
        prog="ovs-kdp-top", description="Shows what ovs-vswitchd of ovs-kdp "
        "is doing: ports by upcalls, losses and latency; handlers; link "
        "events and the RTNL lock; offload.", epilog="keys: " + KEYS)
    parser.add_argument(
        "-t", "--target", default="ovs-vswitchd",
        help="name of the daemon's pid file, or path of its control socket "
        "(default: %(default)s)")
    parser.add_argument(
        "-i", "--interval", metavar="SECONDS", type=float, default=2,
        help="time between two updates (default: %(default)g)")
    parser.add_argument(
        "-s", "--sort", choices=view.SORTS, default="rate",
        help="column to sort ports by (default: %(default)s)")
    parser.add_argument(
        "-f", "--filter", metavar="TEXT", default="",
        help="show only ports with TEXT in their name")
    parser.add_argument(
        "-n", "--senders", action="store_true",
        help="show the senders behind tunnel ports and on shared sockets "
        "instead of ports")
    parser.add_argument(
        "--once", action="store_true",
        help="print the view of one interval, and exit")
    parser.add_argument(
        "--json", action="store_true", help="print JSON; implies --once")
    options = parser.parse_args(argv)
    if options.interval < 0.1:
        parser.error("--interval %g: expected at least 0.1 seconds"
                     % options.interval)
    return options


def main(argv=None):
    """The program."""
    options = parse(argv)
    try:
        if options.once or options.json:
            once(daemon.Daemon(options.target), options)
        elif not sys.stdout.isatty():
            print("ovs-kdp-top: standard output is not a terminal; use --once "
                  "or --json", file=sys.stderr)
            return 2
        else:
            curses.wrapper(in_terminal,
                           daemon.Daemon(options.target, TIMEOUT), options)
    except daemon.DaemonError as error:
        print("ovs-kdp-top: %s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
