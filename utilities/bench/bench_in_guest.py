# SPDX-License-Identifier: Apache-2.0

"""Code shared by the parts of the benchmarks that run in the guest."""

import json
import os
import re
import sys
import traceback

from rtnl_controller import ControllerError
from upcall_switch import BenchError, read, run, say


class Module:
    """A module of the kernel that watches something."""

    def __init__(self, path, *parameters):
        self.folder = "/sys/module/{}/parameters".format(
            os.path.basename(path).removesuffix(".ko"))
        run("insmod", path, *parameters)

    def get(self, name):
        return int(read(f"{self.folder}/{name}"))

    def set(self, name, value):
        with open(f"{self.folder}/{name}", "w") as f:
            f.write(str(value))


def watch_rtnl(path):
    """Loads the module that counts and delays acquisitions of RTNL."""
    symbols = re.search(r"^([0-9a-f]+) \w rtnl_mutex$",
                        read("/proc/kallsyms"), re.M)
    if not symbols or not int(symbols[1], 16):
        raise BenchError("/proc/kallsyms has no address of rtnl_mutex")
    return Module(path, f"mutex={int(symbols[1], 16)}")


def save(results):
    """Writes the results so far, and replaces earlier ones."""
    path = os.path.join(os.environ["GUEST_LOGS"], "measured.json")
    with open(path + ".new", "w") as f:
        json.dump(results, f)
    os.rename(path + ".new", path)


def measure_and_save(measure):
    """Makes 'measure' append to the list "runs" of the results, and writes
    them.  Returns the exit status."""
    results = {"kernel": os.uname().release, "runs": []}
    status = 0
    try:
        measure(json.loads(os.environ["BENCH_PARAMETERS"]), results)
    except (BenchError, ControllerError) as e:
        say(e)
        results["error"] = str(e)
        status = 1
    except Exception:
        results["error"] = traceback.format_exc()
        sys.stderr.write(results["error"])
        status = 1
    save(results)
    return status
