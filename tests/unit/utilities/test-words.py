#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Words that the pages for users do without, because readers had to read such
sentences twice, and the spelling of all texts."""

import glob
import os
import re
import subprocess
import unittest

import tap

tap.need_programs("codespell")

# Names in the code that look misspelt.
NAMES = "nd,opps,parms"

# What not to write, and what to write instead.
PATTERNS = {
    r"\banew\b": "again",
    r"\bupon\b": "on, with",
    r"\bbut for\b": "except",
    r"\blikewise\b": "also, the same",
    r"\bfor lack of\b": "without, because there is no",
    r"\b(is|are|be) asked for\b": "name who reads, queries or requests it",
    r"\bof which\b": "two sentences",
    r"(^|[.:] +)Who [a-z]": "a subject: the thread that, a program that",
    r"(^|[.:] +)Of (the|a|an|each|all) [a-z]": "the subject first",
}


def pages():
    names = [os.path.join(tap.SRCDIR, name) for name in (
        "README.md", "CONTRIBUTING.md", "SECURITY.md", "NEWS")]
    return names + glob.glob(os.path.join(tap.SRCDIR, "Documentation/**/*.rst"),
                             recursive=True)


def found(text):
    """Returns what is found in 'text', as lines that say what to write."""
    return [f"{n}: {match.group(0).strip()!r}: {instead}"
            for n, line in enumerate(text.splitlines(), 1)
            for pattern, instead in PATTERNS.items()
            for match in [re.search(pattern, line, re.IGNORECASE
                                    if pattern[0] == "\\" else 0)]
            if match]


class WordsTest(unittest.TestCase):
    def test_pages_do_without_these_words(self):
        self.assertGreater(len(pages()), 30)
        for name in sorted(pages()):
            with open(name) as f:
                self.assertEqual(found(f.read()), [],
                                 os.path.relpath(name, tap.SRCDIR))

    def test_each_pattern_finds_its_words(self):
        text = ("It is made anew.\nUpon that, all\nnone but for one\n"
                "two likewise\nfor lack of memory\nit is asked for\n"
                "three, of which\nIt ends. Who deletes it waits.\n"
                "Of the flows, one\nA page about a house on a hill.\n")
        self.assertEqual([line.split(":")[0] for line in found(text)],
                         [str(n) for n in range(1, 10)])

    def test_spelling(self):
        texts = [
            "README.md", "CONTRIBUTING.md", "SECURITY.md", "NEWS", "quickstart",
            "Documentation", "debian", "lib", "tests", "utilities", "vswitchd"]
        ran = subprocess.run(
            ["codespell", "--quiet-level=3", f"--ignore-words-list={NAMES}",
             "--skip=*.json,*.pyc,*/corpus/*", *texts],
            cwd=tap.SRCDIR, capture_output=True, text=True, check=False)
        self.assertEqual(ran.stdout + ran.stderr, "")


if __name__ == "__main__":
    tap.main()
