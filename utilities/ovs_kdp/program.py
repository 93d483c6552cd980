# SPDX-License-Identifier: Apache-2.0
"""Programs of the system, with a time limit."""

import subprocess


def run(argv, timeout, stderr):
    """Runs 'argv'.  Returns its exit status and its output.  A program that
    waits in the kernel, for example for the RTNL lock, does not end when it is
    killed.  So after 'timeout' seconds this raises subprocess.TimeoutExpired
    without waiting for the end."""
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=stderr,
                               stdin=subprocess.DEVNULL, text=True,
                               errors="replace")
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, output
