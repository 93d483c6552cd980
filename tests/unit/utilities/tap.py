# SPDX-License-Identifier: Apache-2.0
"""Test programs in Python: unittest, with results as TAP.

Imports nothing but the standard library.  A program names the modules that it
needs besides; without them it is skipped, as a test without its tools is.
"""

import importlib
import os
import shutil
import sys
import unittest

SRCDIR = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SRCDIR, "utilities"),
                os.path.join(SRCDIR, "tests/fake")]


def need(*modules):
    """Ends the program, as one that is skipped, without these modules."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            print("1..0 # SKIP no Python module %s" % module)
            sys.exit(77)


def need_programs(*programs):
    """Skips all tests without these programs."""
    for program in programs:
        if not shutil.which(program):
            print("1..0 # SKIP no program %s" % program)
            sys.exit(77)


class _Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.n = 0

    def _say(self, test, result, details=""):
        self.n += 1
        print("%s %d - %s" % (result, self.n, test._testMethodName[5:]
                              .replace("_", " ")))
        for line in details.splitlines():
            print("# " + line)
        sys.stdout.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        self._say(test, "ok")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._say(test, "not ok", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._say(test, "not ok", self.errors[-1][1])


def main():
    """Runs the tests of the program, or those that its arguments name."""
    loader = unittest.TestLoader()
    module = sys.modules["__main__"]
    suite = (loader.loadTestsFromNames(sys.argv[1:], module)
             if len(sys.argv) > 1 else loader.loadTestsFromModule(module))
    print("1..%d" % suite.countTestCases())
    result = _Result()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() and result.n else 1)
