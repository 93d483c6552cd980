#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation has the keys, commands and findings that the code has.

The manual page lists all of them, the tuning table all keys.  Pages by task
name no others.

A finding is a constant of type struct finding_kind.  A key is a macro KEY_X
somewhere in lib/ or vswitchd/; a command is what is registered there.
"""

import os
import re
import unittest

import tap

PAGE = "Documentation/ovs-vswitchd-kdp.8.rst"

# Keys and commands of Open vSwitch about which the page has to say something.
STOCK_KEYS = {"n-handler-threads"}
# Keys of Open vSwitch that are read, and mean what they mean there.
SAME_KEYS = {"max-idle", "tc-policy"}
STOCK_COMMANDS = {"dpctl/offload-stats-show", "dpif-netlink/dispatch-mode",
                  "version"}
# Registered by ours as by the stock daemon, and no different.
SAME_COMMANDS = {"exit"}


def read(path):
    """What file 'path' of the source tree has."""
    with open(os.path.join(tap.SRCDIR, path), encoding="utf-8") as file:
        return file.read()


def code():
    """All of the daemon."""
    text = []
    for folder in ("lib", "vswitchd"):
        for where, _, files in os.walk(os.path.join(tap.SRCDIR, folder)):
            text += [read(os.path.join(where, name)) for name in sorted(files)
                     if name.endswith((".c", ".h"))]
    return "\n".join(text)


def section(page, title):
    """The section of that title."""
    parts = re.split(r"^(.+)\n=+\n", page, flags=re.MULTILINE)
    return parts[parts.index(title) + 1]


def listed(text):
    """What the items of a list define."""
    names = []
    for line in re.findall(r"^``.*(?=\n    )", text, flags=re.MULTILINE):
        names += re.findall(r"(?:^|, )``([^`]+)``", line)
    return names


class ListsTest(unittest.TestCase):
    """All there is to it."""

    def check(self, found, expected):
        """Names both ways what is missing."""
        self.assertEqual(sorted(set(expected) - set(found)), [],
                         "in the code, not in " + PAGE)
        self.assertEqual(sorted(set(found) - set(expected)), [],
                         "in %s, not in the code" % PAGE)
        self.assertEqual(len(found), len(set(found)), "listed twice")

    def keys(self):
        """Keys that the code reads."""
        keys = set(re.findall(r'#define\s+KEY_\w+\s+"([^"]+)"', code()))
        self.assertIn("upcall-engine", keys)
        return keys

    def test_keys_of_other_config(self):
        self.check(listed(section(read(PAGE), "Configuration")),
                   self.keys() | STOCK_KEYS)

    def test_keys_have_a_macro(self):
        literal = re.findall(r'smap_get\w*\(\w*config\w*,\s*"([^"]+)"', code())
        self.assertEqual(set(literal) - self.keys() - SAME_KEYS, set())

    def test_the_doctor_knows_all_keys(self):
        known = re.findall(r'{ \.name = "([^"]+)"',
                           read("lib/dpif-netlink/diagnose.c"))
        self.assertEqual(sorted(known), sorted(self.keys() | STOCK_KEYS),
                         "settings[] in diagnose.c and the keys")

    def test_commands(self):
        commands = set(re.findall(
            r'(?:unixctl_command_register|unixctl_override|show_args_register)'
            r'\(\s*"([^"]+)"', code()))
        self.assertIn("upcall/show", commands)
        self.check(listed(section(read(PAGE), "Runtime commands")),
                   commands - SAME_COMMANDS | STOCK_COMMANDS)

    def kinds(self):
        """Names of findings."""
        kinds = re.findall(r'struct finding_kind \w+ = \{\s*"([^"]+)"', code())
        self.assertIn("upcalls-lost", kinds)
        return kinds

    def kinds_of_tools(self):
        """Names of findings that ovs-kdp-doctor makes itself."""
        kinds = []
        for path in ("utilities/ovs_kdp/doctor.py",
                     "utilities/ovs_kdp/tc_rules.py"):
            kinds += re.findall(r'"name": "([^"]+)"', read(path))
        self.assertIn("daemon-silent", kinds)
        return kinds

    def test_findings(self):
        self.check(listed(section(read(PAGE), "Findings")), self.kinds())

    def test_each_finding_has_a_test(self):
        # What the daemon finds is provoked in test-X-diagnose of its engine,
        # the rest in test-doctor.py; each is named there by its full name.
        tests = [read("tests/unit/utilities/test-doctor.py")]
        for where, _, files in os.walk(os.path.join(tap.SRCDIR, "tests/unit")):
            tests += [read(os.path.join(where, name)) for name in files
                      if re.fullmatch(r"test-[a-z]+-diagnose\.c", name)]
        found = re.findall(r'"([a-z]+-[a-z-]+)[":]', "\n".join(tests))
        self.assertEqual({*self.kinds(), *self.kinds_of_tools()} - set(found),
                         set())

    def test_names_of_threads_leave_room_for_their_numbers(self):
        # Open vSwitch adds the number, counted since the start of the daemon.
        # A name that is longer than 15 characters then is not set at all, and
        # the thread looks like another main thread.
        names = re.findall(r'\bovs_thread_create\(\s*"([^"]+)"', code())
        self.assertGreaterEqual(len(names), 3)
        self.assertEqual([name for name in names if len(name) > 11], [])

    def test_the_tuning_table_has_all_keys(self):
        table = read("Documentation/tasks/tuning.rst")
        self.assertEqual(set(re.findall(r"^``([^`]+)``  ", table,
                                        flags=re.MULTILINE)),
                         self.keys() | STOCK_KEYS)

    def test_tasks_name_what_there_is(self):
        known = {*self.kinds(), *self.kinds_of_tools(), *self.keys(),
                 *STOCK_KEYS}
        folder = os.path.join(tap.SRCDIR, "Documentation/tasks")
        for name in sorted(os.listdir(folder)):
            text = read(os.path.join(folder, name))
            found = re.findall(r"``((?:upcall|upcalls|offload|setting|rtnl|"
                               r"sockets|buffers|link|port|rules|dispatch|"
                               r"descriptors|messages)-[a-z-]+)``", text)
            self.assertEqual(set(found) - known, set(), name)


if __name__ == "__main__":
    tap.main()
