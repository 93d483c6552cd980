# SPDX-License-Identifier: Apache-2.0

"""Counts the user space instructions that a handler thread takes to receive an
upcall: dpif_recv(), waiting, and the rest, which is the processing of upcalls.
All daemons have these functions; they differ in what these call.

The thread is single-stepped, so it is slow meanwhile, and the numbers are
exact. """

import json
import subprocess

from upcall_switch import COMMAND_SECONDS, BenchError, read, run

# In the order that count-instructions expects.
FUNCTIONS = "dpif_recv", "poll_block", "dpif_recv_wait"


def addresses(pid):
    """Returns where FUNCTIONS are in process 'pid'."""
    path = f"/proc/{pid}/exe"
    base = int(read(f"/proc/{pid}/maps").split("-")[0], 16)
    found = {}
    for line in run("nm", path).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[2] in FUNCTIONS:
            value = int(fields[0], 16)
            # The address in a position-independent program is relative.
            found[fields[2]] = value if value >= base else base + value
    missing = set(FUNCTIONS) - set(found)
    if missing:
        raise BenchError(f"the daemon has no symbol {missing.pop()}")
    return found


class InstructionCounter:
    def __init__(self, program, switch):
        self.program = program
        handlers = switch.handlers()
        if len(handlers) != 1:
            raise BenchError(f"expected one handler thread, there are "
                             f"{len(handlers)}")
        self.thread = handlers[0]
        self.addresses = addresses(switch.pid)
        self.process = None

    def start(self, upcalls):
        """Counts for 'upcalls' upcalls, and until the end of a batch."""
        self.process = subprocess.Popen(
            [self.program, str(self.thread), str(upcalls),
             *(f"{name}={self.addresses[name]:#x}" for name in FUNCTIONS)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        if "ready" not in self.process.stdout.readline():
            raise BenchError(self.process.stderr.read().strip())

    def stop(self):
        """Returns the counts, when all upcalls were counted."""
        try:
            out, err = self.process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise BenchError("count-instructions does not end")
        if self.process.returncode:
            raise BenchError(err.strip())
        return json.loads(out)
