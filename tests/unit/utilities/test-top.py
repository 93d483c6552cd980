#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ovs-kdp-top, beside a daemon that is made up, and in a real terminal."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

import tap

tap.need("ovs")
tap.need_programs("tmux")

from fake_daemon import FakeDaemon, answers, sender  # noqa: E402
from ovs_kdp import page, view  # noqa: E402
from ovs_kdp.daemon import Daemon  # noqa: E402

# Seconds that something on the screen may take on a busy machine.
PATIENCE = 60

ENVIRONMENT = dict(os.environ, PYTHONPATH=tap.SRCDIR + "/utilities",
                   PYTHONDONTWRITEBYTECODE="1", TERM="xterm", LC_ALL="C.UTF-8")
TOP = [sys.executable, "-m", "ovs_kdp.top"]


class TopTest(unittest.TestCase):
    """Each test has a daemon of its own."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="test-top")
        self.path = self.dir.name + "/daemon.ctl"
        self.daemon = FakeDaemon(self.path, answers(4))
        self.ports = self.daemon.shown["upcall/show"][0]["ports"]

    def tearDown(self):
        if self.daemon:
            self.daemon.close()
        self.dir.cleanup()

    def view(self):
        """A view of 2 seconds in which port vif2 had 40 upcalls and lost
        10."""
        first = view.Look(Daemon(self.path))
        self.ports[2]["received"] += 40
        self.ports[2]["lost"] += 10
        last = view.Look(Daemon(self.path))
        last.time = first.time + 2
        return view.View(last, first)

    def test_rates_are_those_of_the_interval(self):
        port = view.select(self.view().ports(), "rate")[0]
        self.assertEqual((port["name"], port["rate"], port["lost_rate"]),
                         ("vif2", 20, 5))

    def test_the_first_look_has_no_rates(self):
        shown = view.View(view.Look(Daemon(self.path)))
        self.assertEqual({port["rate"] for port in shown.ports()}, {None})
        self.assertTrue(page.lines(shown, "rate"))

    def test_a_counter_that_was_reset_has_no_rate(self):
        first = view.Look(Daemon(self.path))
        self.ports[2]["received"] = 0
        shown = view.View(view.Look(Daemon(self.path)), first)
        self.assertIsNone(view.select(shown.ports(), "name",
                                      "vif2")[0]["rate"])

    def test_ports_are_sorted_and_filtered(self):
        self.ports[3]["latency_us"]["p99"] = 10 ** 6
        ports = self.view().ports()
        self.assertEqual(view.select(ports, "p99")[0]["name"], "vif3")
        self.assertEqual(view.select(ports, "lost")[0]["name"], "vif2")
        self.assertEqual([port["name"] for port in
                          view.select(ports, "name", "vif")],
                         ["vif1", "vif2", "vif3"])
        for sort in view.SORTS:
            self.assertEqual(len(view.select(ports, sort)), 5)

    def test_the_page_has_all_parts(self):
        text = "\n".join(page.lines(self.view(), "rate"))
        for part in ("system@ovs-system: 4 ports", "handlers  0: ",
                     "links     15 devices", "1 not current", "RTNL      9 ",
                     "offload   on; ", "vif2", "20.0", "no port"):
            self.assertIn(part, text)

    def test_a_daemon_on_stock_providers_shows_nothing(self):
        self.daemon.shown = {"upcall/show": []}
        self.assertEqual(len(page.lines(view.View(view.Look(Daemon(
            self.path))), "rate")), 2)

    def test_control_characters_do_not_get_to_the_terminal(self):
        self.ports[1]["name"] = "a\x1b[2Jb"
        text = "\n".join(page.lines(self.view(), "rate"))
        self.assertNotIn("\x1b", text)
        self.assertIn("a?[2Jb", text)

    def top(self, *args):
        """Runs it without a terminal."""
        return subprocess.run([*TOP, "-t", self.path, "-i", "0.1", *args],
                              env=ENVIRONMENT, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def test_once_prints_text_or_json(self):
        result = self.top("--once")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("vif3", result.stdout)
        result = self.top("--json", "--filter", "vif", "--sort", "name")
        shown = json.loads(result.stdout)
        self.assertEqual([port["name"] for port in shown["ports"]],
                         ["vif1", "vif2", "vif3"])
        self.assertEqual(len(shown["handlers"]), 2)

    def test_senders_are_shown_instead_of_ports(self):
        self.ports[2]["senders"] = [sender("10.0.0.1", 3),
                                    sender("10.0.0.2", 4000),
                                    sender(None, 5)]
        self.ports[3]["senders"] = []
        self.ports[1]["senders"] = [
            {**{key: value for key, value in sender("", 70).items()
                if key not in ("remote", "vni")}, "name": "vif9"}]
        lines = self.top("--once", "--senders").stdout.splitlines()
        at = next(i for i, line in enumerate(lines)
                  if line.startswith("port "))
        self.assertEqual([line.split()[:4] for line in lines[at:]],
                         [["port", "sender", "vni", "upcalls/s"],
                          ["vif2", "10.0.0.2", "5", "4000"],
                          ["vif1", "vif9", "70", "35"],
                          ["vif2", "(unknown)", "5", "5"],
                          ["vif2", "10.0.0.1", "5", "3"]])
        shown = json.loads(self.top("--json", "--filter", "vif2").stdout)
        self.assertEqual([row["rate"] for row in shown["senders"]],
                         [4000, 5, 3])

    def test_what_is_wrong_is_said(self):
        result = self.top()
        self.assertEqual(result.returncode, 2)
        self.assertIn("not a terminal", result.stderr)
        self.assertEqual(self.top("--interval", "0").returncode, 2)
        self.assertEqual(self.top("--sort", "colour").returncode, 2)
        self.daemon.close()
        self.daemon = None
        result = self.top("--once")
        self.assertEqual(result.returncode, 1)
        self.assertIn("does the daemon run", result.stderr)
        self.assertNotIn("Traceback", result.stderr)


class TerminalTest(unittest.TestCase):
    """In tmux, with a server of its own."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="test-top")
        self.path = self.dir.name + "/daemon.ctl"
        self.daemon = FakeDaemon(self.path, answers(40))
        self.ports = self.daemon.shown["upcall/show"][0]["ports"]
        self.tmux("new-session", "-d", "-x", "100", "-y", "24",
                  " ".join([*TOP, "-t", self.path, "-i", "0.2"])
                  + "; echo ended with $?; read -r line")

    def tearDown(self):
        self.tmux("kill-server")
        if self.daemon:
            self.daemon.close()
        self.dir.cleanup()

    def tmux(self, *args):
        """Runs tmux.  Returns what it prints."""
        return subprocess.run(["tmux", "-S", self.dir.name + "/tmux", "-f",
                               "/dev/null", *args], env=ENVIRONMENT,
                              stdout=subprocess.PIPE, text=True,
                              check=True).stdout

    def wait_for(self, condition, what):
        """Waits until 'condition' is true of the screen.  Returns it."""
        end = time.monotonic() + PATIENCE
        while True:
            screen = self.tmux("capture-pane", "-p")
            if condition(screen):
                return screen
            if time.monotonic() > end:
                self.fail("%s: not on this screen:\n%s" % (what, screen))
            time.sleep(0.05)

    def has(self, text):
        """Waits for 'text'."""
        return self.wait_for(lambda screen: text in screen, text)

    def test_a_key_shows_senders(self):
        self.ports[2]["senders"] = [sender("10.0.0.7", 4000)]
        self.has("vif38 ")
        self.tmux("send-keys", "n")
        screen = self.has("10.0.0.7")
        self.assertNotIn("vif38 ", screen)
        self.tmux("send-keys", "n")
        self.has("vif38 ")

    def test_it_is_live(self):
        screen = self.has("vif39")
        for part in ("ovs-kdp-top", "40 ports", "handlers  0:", "links ",
                     "RTNL ", "offload ", "upcalls/s*"):
            self.assertIn(part, screen)
        self.ports[20]["received"] += 10 ** 9
        self.tmux("send-keys", "s", "s", "s", "s", "s", "s")
        self.has("port*")
        self.tmux("send-keys", "s")
        self.wait_for(lambda screen: "vif20" in screen.split("upcalls/s")[-1]
                      .splitlines()[1], "vif20 above all others")

    def test_keys_sort_filter_pause_and_quit(self):
        self.has("upcalls/s*")
        self.tmux("send-keys", "s", "s")
        self.has("shed*")
        self.tmux("send-keys", "/")
        self.has("filter:")
        self.tmux("send-keys", "vif3x", "BSpace", "Enter")
        screen = self.wait_for(lambda screen: "vif33" in screen
                               and "vif2" not in screen, "the filter")
        self.assertIn('ports with "vif3"', screen)
        self.tmux("send-keys", "p")
        self.has("paused")
        self.tmux("send-keys", "q")
        self.has("ended with 0")

    def test_a_daemon_that_hangs_is_named_and_keys_work(self):
        self.has("vif39")
        upcalls = self.daemon.shown["upcall/show"]
        self.daemon.shown["upcall/show"] = None
        self.has("upcall/show: no answer in 3 s")
        self.has("vif39")
        self.daemon.shown["upcall/show"] = upcalls
        self.wait_for(lambda screen: "no answer" not in screen,
                      "the daemon answers")
        self.daemon.shown["upcall/show"] = None
        self.has("no answer")
        self.tmux("send-keys", "q")
        self.has("ended with 0")

    def test_a_small_terminal_and_a_daemon_that_goes_and_comes(self):
        self.has("vif39")
        self.tmux("resize-window", "-x", "30", "-y", "5")
        self.wait_for(lambda screen: max(map(len, screen.splitlines())) <= 30,
                      "30 columns")
        self.tmux("resize-window", "-x", "100", "-y", "24")
        self.daemon.close()
        self.has("does the daemon run")
        self.daemon = FakeDaemon(self.path, answers(40))
        self.wait_for(lambda screen: "does the daemon" not in screen
                      and "vif39" in screen, "the daemon is back")
        self.tmux("send-keys", "q")
        self.has("ended with 0")


if __name__ == "__main__":
    tap.main()
