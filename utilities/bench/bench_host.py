# SPDX-License-Identifier: Apache-2.0

"""Steps of the benchmarks before and after they run in a guest."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
GUEST = os.path.join(os.path.dirname(HERE), "guest")


def version_key(text):
    return [int(part) if part.isdigit() else part
            for part in re.findall(r"\d+|\D+", text)]


def find_kernel(program, image=None):
    """Returns a kernel with headers, and the folder with its modules: 'image',
    by default the newest of /boot."""
    if image:
        return image, modules_of(program, image)
    versions = [name[len("vmlinuz-"):] for name in os.listdir("/boot")
                if name.startswith("vmlinuz-")]
    versions.sort(key=version_key)
    for version in reversed(versions):
        modules = f"/lib/modules/{version}"
        if os.path.isdir(f"{modules}/build"):
            return f"/boot/vmlinuz-{version}", modules
    what = versions[-1] if versions else "amd64"
    sys.exit(f"{program}: no kernel of /boot has headers to build a module "
             f"with (apt-get install linux-headers-{what})")


def modules_of(program, image):
    """Returns the folder with the modules of kernel 'image', which has
    headers."""
    result = subprocess.run([GUEST, "--kernel", image, "--print-modules"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            text=True)
    modules = result.stdout.strip()
    if result.returncode:
        sys.exit(1)
    if not os.path.isdir(f"{modules}/build"):
        sys.exit(f"{program}: {modules}/build, the headers to build a module "
                 "with, is missing")
    return modules


def build_module(program, builddir, modules, name):
    """Builds module 'name' for the kernel whose modules are in folder
    'modules', and returns its path."""
    folder = os.path.join(builddir, "bench", "modules",
                          os.path.basename(modules), name)
    source = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    # Tests and benchmarks that run at the same time may want the same module.
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for file in os.listdir(source):
            shutil.copy2(os.path.join(source, file), folder)
        result = subprocess.run(
            ["make", "-C", f"{modules}/build", f"M={folder}",
             "modules"], text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        sys.exit(f"{program}: building module {name} failed:\n"
                 + result.stdout)
    return os.path.join(folder, name.replace("-", "_") + ".ko")


def run_guest(program, script, parameters, logs, options):
    """Runs 'script' in a guest with 'options' and passes it 'parameters'.
    Returns its results, or None if there are none."""
    measured = os.path.join(logs, "measured.json")
    os.makedirs(logs, exist_ok=True)
    if os.path.exists(measured):
        os.unlink(measured)
    guests, ended = [], []

    def end(number, _):
        ended.append(number)
        for guest in guests:
            guest.send_signal(number)

    # A benchmark that is ended ends its guest, from its start on.
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, end)
    guests.append(subprocess.Popen(
        [GUEST, *options, "--logs", logs,
         "--env", f"BENCH_PARAMETERS={json.dumps(parameters)}",
         "--", os.path.join(HERE, script)], stdin=subprocess.DEVNULL))
    for number in ended:
        guests[0].send_signal(number)
    status = guests[0].wait()
    if not os.path.exists(measured):
        print(f"{program}: nothing was measured (status {status}), see {logs}",
              file=sys.stderr)
        return None
    with open(measured) as f:
        results = json.load(f)
    if status and "error" not in results:
        results["error"] = f"the guest ended with status {status}"
    return results


def finish(program, results, report, path):
    """Writes 'results' with the summary that 'report' makes, and prints that.
    Returns the exit status."""
    results["summary"] = report.summarize(results)
    results["targets"] = report.targets(results)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w") as f:
        json.dump(results, f, indent=1)
        f.write("\n")
    print(report.text(results))
    print(f"\nresults: {path}")
    # Parts that could not be measured.
    problems = [results["error"]] if "error" in results else []
    if hasattr(report, "problems"):
        problems += report.problems(results)
    for problem in problems:
        print(f"{program}: {problem}", file=sys.stderr)
    return 1 if problems else 0
