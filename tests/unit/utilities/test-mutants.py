#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/mutants/check-mutants, on a project with one source file."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import tap

SOURCE = """\
int a_last;
int a_add(int, int);

/* The sum: 1 + 2 < 4. */
int
a_add(int a, int b)
{
    if (a < 0 && b < 0) {
        return 0;
    }
    a_last = a;
    while (b > 0) {
        a = a + 1;
        b = b - 1;
    }
    return a;
}

#define VLOG_RATE_LIMIT_INIT(A, B) { A, B }
int
a_limit(void)
{
    static int rl[] = VLOG_RATE_LIMIT_INIT(5, 5);

    return *rl;
}
"""
TEST = """\
int a_add(int, int);
int
main(void)
{
    return a_add(1, 2) != 3 || a_add(-1, -1) != 0 || a_add(-1, 3) != 2;
}
"""
MAKEFILE = """\
tests/unit/a/test-a-add: lib/libkdp.a
\tgcc -O0 -o tests/unit/a/test-a-add ../tests/unit/a/test-a-add.c lib/libkdp.a
lib/libkdp.a: lib/a/a-add.o
\tar crs lib/libkdp.a lib/a/a-add.o
lib/a/a-add.o: ../lib/a/a-add.c
\tgcc -O0 -MT lib/a/a-add.o -MD -MF lib/a/x.Tpo -c -o lib/a/a-add.o \\
\t    ../lib/a/a-add.c
"""


class MutantsTest(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="test-mutants.")
        self.addCleanup(shutil.rmtree, self.top)
        self.build = os.path.join(self.top, "build")
        for folder in ("lib/a", "tests/unit/a"):
            os.makedirs(os.path.join(self.top, folder))
            os.makedirs(os.path.join(self.build, folder))
        shutil.copytree(os.path.join(tap.SRCDIR, "tests/mutants"),
                        os.path.join(self.top, "tests/mutants"))
        self.write("tests/mutants/equivalent", "# None.\n")
        self.write("lib/a/a-add.c", SOURCE)
        self.write("tests/unit/a/test-a-add.c", TEST)
        self.write("build/Makefile", MAKEFILE)
        subprocess.run(["make"], cwd=self.build, check=True,
                       stdout=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.top, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_tool(self, *args):
        """Returns its status, and the lines that it printed."""
        done = subprocess.run(
            [sys.executable, self.path("tests/mutants/check-mutants"),
             "--builddir", self.build, "--limit", "10", *args],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        return done.returncode, done.stdout.splitlines()

    def all_files(self):
        files = {}
        for where, _, names in os.walk(self.top):
            for name in names:
                with open(os.path.join(where, name), "rb") as file:
                    files[os.path.join(where, name)] = file.read()
        return files

    def test_the_seed_determines_the_sample(self):
        status, first = self.run_tool("--list", "--seed", "1", "--count", "5")
        self.assertEqual(status, 0)
        self.assertEqual(len(first), 1 + 5 * 3)
        self.assertEqual(
            first, self.run_tool("--list", "--seed", "1", "--count", "5")[1])
        self.assertNotEqual(
            first[1:],
            self.run_tool("--list", "--seed", "2", "--count", "5")[1][1:])

    def test_what_a_test_sees_is_killed_and_the_rest_survives(self):
        before = self.all_files()
        status, lines = self.run_tool("--seed", "1", "--count", "1000")
        self.assertEqual(status, 1)
        text = "\n".join(lines)
        where, test = "lib/a/a-add.c:", "tests/unit/a/test-a-add"
        for expected in (f"killed {where}13: arithmetic {test}",
                         f"killed {where}14: statement {test} (no end)",
                         f"killed {where}9: result {test}",
                         f"survived {where}11: statement",
                         f"survived {where}8: boundary"):
            self.assertIn(expected, text)
        self.assertIn(f"{where}11: statement\n-a_last = a;\n+;", text)

        # Comments and declarations are left alone.
        self.assertNotIn(f"{where}4:", text)
        self.assertNotIn(f"{where}1:", text)
        self.assertNotIn("VLOG_RATE_LIMIT_INIT", text)

        # Nothing is written but the results.
        after = self.all_files()
        new = set(after) - set(before)
        self.assertEqual([os.path.dirname(path) for path in new],
                         [os.path.join(self.build, "mutants")])
        self.assertEqual({path: after[path] for path in before}, before)

    def test_it_goes_on_where_it_ended(self):
        args = "--seed", "3", "--count", "4"
        _, lines = self.run_tool("--seconds", "-1", *args)
        self.assertEqual(lines[-1], "4 are left: --seed 3")
        _, first = self.run_tool(*args)
        _, second = self.run_tool(*args)
        self.assertEqual(len(first) - len(second), 4)
        self.assertEqual(first[0], second[0])
        self.assertEqual(first[5:], second[1:])

        # Not with other sources.
        self.write("tests/unit/a/test-a-add.c", TEST + "\n")
        self.assertEqual(len(self.run_tool(*args)[1]), len(first))

    def test_known_mutants_do_not_count(self):
        self.write("tests/mutants/equivalent",
                   "lib/a/a-add.c\ta_last = a;\t;\n")
        _, lines = self.run_tool("--seed", "1", "--count", "1000")
        text = "\n".join(lines)
        self.assertIn("equivalent lib/a/a-add.c:11: statement the list", text)
        self.assertNotIn("-a_last = a;", text)

    def test_listed_mutants_are_of_code_that_is_there(self):
        with open(os.path.join(tap.SRCDIR, "tests/mutants/equivalent")) as file:
            entries = [line.split("\t") for line in file
                       if line.strip() and not line.startswith("#")]
        self.assertTrue(entries)
        for name, code, _ in entries:
            with open(os.path.join(tap.SRCDIR, name)) as file:
                self.assertIn(code, " ".join(file.read().split()), name)

    def test_a_test_that_fails_anyway_kills_nothing(self):
        self.write("tests/unit/a/test-a-add.c", "int a_add(int, int);\n"
                   "int main(void)\n{\n    return a_add(1, 2) != 0;\n}\n")
        os.unlink(os.path.join(self.build, "tests/unit/a/test-a-add"))
        subprocess.run(["make"], cwd=self.build, check=True,
                       stdout=subprocess.DEVNULL)
        status, lines = self.run_tool("--seed", "1", "--count", "3")
        self.assertEqual(status, 0)
        self.assertNotIn(" killed lib", "\n".join(lines))

    def test_a_folder_without_tests_is_refused(self):
        status, lines = self.run_tool("lib/b")
        self.assertEqual(status, 2)
        self.assertIn("nothing to change", lines[-1])


if __name__ == "__main__":
    tap.need_programs("make", "gcc", "ar")
    tap.main()
