#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Words that pages for users and comments in code do without, because readers
had to read such sentences twice, and the spelling of all texts."""

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

# The same for comments, in the folders below.
COMMENT_PATTERNS = {
    **{pattern: instead for pattern, instead in PATTERNS.items()
       if "Of (" not in pattern},
    # Not of a member: "/* Of the device, or 0. */"
    r"[.:] +Of [a-z' ]+, [a-z]": "the subject first",
    r"(^|[.:] +)Whoever [a-z]": "a subject: the thread that, a program that",
    r"(^|[.:] +)Has [a-z' ]+ (asked|called|told|revalidated)\b":
        "makes ... do, calls, asks",
}
FOLDERS = ("lib", "tests", "utilities", "vswitchd")


def pages():
    names = [os.path.join(tap.SRCDIR, name) for name in (
        "README.md", "CONTRIBUTING.md", "SECURITY.md", "NEWS")]
    return names + glob.glob(os.path.join(tap.SRCDIR, "Documentation/**/*.rst"),
                             recursive=True)


def sources():
    """All but this file, which quotes the words."""
    return [name for folder in FOLDERS for extension in ("[ch]", "py")
            for name in glob.glob(os.path.join(tap.SRCDIR, folder,
                                               f"**/*.{extension}"),
                                  recursive=True)
            if os.path.basename(name) != "test-words.py"]


def comments_in(text):
    """Returns 'text' with everything blanked but the words of C comments, or,
    of a text without any, Python comments and docstrings.  Lines stay."""
    def words(match):
        return re.sub(r"^[ \t]*\* ?|/\* ?|\*/|# ?|\"{3}", "", match.group(0),
                      flags=re.MULTILINE)

    comment = (r"/\*.*?\*/" if "/*" in text
               else r"\"{3}.*?\"{3}|(?:^|(?<=\s))#[^\n]*")
    at, result = 0, ""
    for match in re.finditer(comment, text, re.DOTALL):
        result += re.sub(r"[^\n]", "", text[at:match.start()]) + words(match)
        at = match.end()
    return result


def found(text, patterns=None):
    """Returns what is found in 'text', as lines that say what to write."""
    return [f"{n}: {match.group(0).strip()!r}: {instead}"
            for n, line in enumerate(text.splitlines(), 1)
            for pattern, instead in (patterns or PATTERNS).items()
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

    def test_comments_do_without_these_words(self):
        self.assertGreater(len(sources()), 600)
        for name in sorted(sources()):
            with open(name) as f:
                self.assertEqual(found(comments_in(f.read()),
                                       COMMENT_PATTERNS), [],
                                 os.path.relpath(name, tap.SRCDIR))

    def test_comments_are_all_that_is_looked_at(self):
        self.assertEqual(
            found(comments_in("int upon;    /* Upon it. */\n/* One.\n"
                              " * Two.  Of the two, one.  Whoever is last,\n"
                              " * who asks for it. */\n"),
                  COMMENT_PATTERNS),
            ["1: 'Upon': on, with",
             "3: '.  Of the two, o': the subject first",
             "3: '.  Whoever i': a subject: the thread that, a program that"])
        self.assertEqual(
            found(comments_in("upon = 'anew'   # Made anew.\n"
                              "def f():\n"
                              '    """Has the driver asked."""\n'),
                  COMMENT_PATTERNS),
            ["1: 'anew': again",
             "3: 'Has the driver asked': makes ... do, calls, asks"])

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
