# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration of the ovs-kdp documentation."""

import pathlib
import re

project = "ovs-kdp"
author = "The ovs-kdp authors"
copyright = author

# The version stands in one place, the AC_INIT line of configure.ac.
_configure = pathlib.Path(__file__).resolve().parent.parent / "configure.ac"
version = release = re.search(
    r"AC_INIT\(\[?ovs-kdp\]?, *\[?([^],)]+)", _configure.read_text()
).group(1)

master_doc = "index"
html_theme = "alabaster"
exclude_patterns = ["_build"]
man_pages = [
    ("ovs-vswitchd-kdp.8", "ovs-vswitchd-kdp",
     "Open vSwitch daemon for the kernel datapath", author, "8"),
]
