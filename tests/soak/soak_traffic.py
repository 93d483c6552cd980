# SPDX-License-Identifier: Apache-2.0

"""Traffic: numbered frames between namespaces, and pings.  The test knows each
frame that does not arrive where it should."""

import collections
import re
import signal
import subprocess
import threading
import time

import soak_kernel as kernel
from soak_switch import ENDS, SoakError, end_mac

Stream = collections.namedtuple("Stream", "number source target options")

# Of "misses" each frame is an upcall; "same" has one flow.
MISSES = ("-r", "40")
SAME = ("-r", "100", "--same")

# The streams of a receiver have consecutive numbers.  Those of s7, which
# floods, come one after the other.
STREAMS = [Stream(0, 1, 2, MISSES), Stream(1, 2, 1, SAME),
           Stream(2, 3, 4, MISSES), Stream(3, 4, 3, SAME),
           Stream(4, 5, 6, MISSES), Stream(5, 6, 5, SAME)]
FLOODS = [Stream(number, 7, 8, ()) for number in range(6, 10)]

# Numbers of streams are not used again.
NUMBERS = 16

PINGS = [("p1", "10.7.0.2"), ("p2", "fd00:7::1"), ("p1", "10.7.0.9"),
         ("p1", "10.7.0.5"), ("p1", "10.8.0.6")]


class Result:
    """What became of the streams of an interval."""

    def __init__(self):
        self.sent = {}
        self.received = {}
        self.duplicated = {}
        self.others = {}            # By receiver.
        self.errors = []

    def missing(self, stream):
        return (self.sent.get(stream.number, 0)
                - self.received.get(stream.number, 0))


class Traffic:
    def __init__(self, switch, program):
        self.switch = switch
        self.program = program
        self.interval = 0
        self.base = 0
        self.senders = {}
        self.receivers = {}
        self.pings = []
        self.floods = 0
        self.lock = threading.Lock()

    def popen(self, namespace, *argv):
        return subprocess.Popen(
            ["ip", "netns", "exec", namespace, *argv],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, universal_newlines=True)

    def receive(self, end):
        numbers = [stream.number for stream in STREAMS + FLOODS
                   if stream.target == end]
        # Nothing is for s7.
        first, n = (numbers[0], len(numbers)) if numbers else (NUMBERS - 1, 1)
        return self.popen(f"s{end}", self.program, "recv", "-f",
                          str(self.base + first), "-s", str(n), "-t", "100000",
                          "eth0")

    def send(self, stream, *options):
        return self.popen(
            f"s{stream.source}", self.program, "send", "-s",
            str(self.base + stream.number), "-d", end_mac(stream.target),
            *options, "eth0")

    def start_receivers(self):
        self.interval += 1
        self.base = self.interval * NUMBERS
        self.senders, self.floods = {}, 0
        self.receivers = {end: self.receive(end) for end in ENDS}
        for end, receiver in self.receivers.items():
            if receiver.stdout.readline().strip() != "ready":
                raise SoakError(f"the receiver of s{end} does not start")

    def start(self):
        """Starts all streams but the floods, and the pings."""
        self.start_receivers()
        for stream in STREAMS:
            self.senders[stream] = self.send(stream, "-n", "0",
                                             *stream.options)
        self.pings = [subprocess.Popen(
            ["ip", "netns", "exec", namespace, "ping", "-q", "-n", "-i", "0.2",
             address], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) for namespace, address in PINGS]

    def flood(self, count):
        """Sends many frames at once, from s7 to s8, each one an upcall."""
        with self.lock:
            if self.floods == len(FLOODS):
                return
            stream = FLOODS[self.floods]
            self.floods += 1
            sender = self.senders[stream] = self.send(stream, "-n", str(count))
        sender.wait(timeout=4 * self.switch.seconds)

    def end(self, process, what, seconds):
        """Ends a process and returns what it wrote."""
        end = time.monotonic() + seconds
        while process.poll() is None:
            if time.monotonic() > end:
                process.kill()
                return f"{what} does not end"
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                pass
        return process.stdout.read() if process.stdout else ""

    def stop_senders(self, result):
        for ping in self.pings:
            ping.send_signal(signal.SIGTERM)
        for ping in self.pings:
            ping.wait()
        self.pings = []
        for sender in self.senders.values():
            if sender.poll() is None:
                sender.send_signal(signal.SIGTERM)
        for stream, sender in self.senders.items():
            text = self.end(sender, f"sender {stream.number}",
                            self.switch.seconds)
            if text.strip().isdigit():
                result.sent[stream.number] = int(text)
            else:
                result.errors.append(f"sender {stream.number}: {text}")
        self.senders = {}

    def stop_receivers(self, result):
        """Ends the receivers, when all has arrived that will."""
        for end, receiver in self.receivers.items():
            text = self.end(receiver, f"receiver {end}", self.switch.seconds)
            others = re.search(r"^others (\d+)$", text, re.M)
            if not others:
                result.errors.append(f"receiver {end}: {text}")
                continue
            result.others[end] = int(others.group(1))
            for number, received, duplicated in re.findall(
                    r"^stream (\d+) received (\d+) lost \d+ duplicated (\d+)",
                    text, re.M):
                number = int(number) - self.base
                result.received[number] = int(received)
                result.duplicated[number] = int(duplicated)
        self.receivers = {}

    def probe(self, count):
        """Sends 'count' frames on each stream while nothing else happens.
        Returns what became of them."""
        result = Result()
        self.start_receivers()
        streams = STREAMS + FLOODS[:1]
        self.senders = {stream: self.send(stream, "-n", str(count), "-r", "20",
                                          *(stream.options[2:]))
                        for stream in streams}
        for sender in self.senders.values():
            sender.wait(timeout=4 * self.switch.seconds)
        self.stop_senders(result)
        self.drain()
        self.stop_receivers(result)
        return result

    def drain(self):
        """Waits until the daemon has handled what was sent up to it, and the
        kernel what came from there."""
        self.switch.wait_until("empty upcall sockets", sockets_are_empty(
            self.switch))
        time.sleep(1)

    def kill(self):
        for process in [*self.senders.values(), *self.receivers.values(),
                        *self.pings]:
            process.kill()
            process.wait()


def sockets_are_empty(switch):
    """Returns a condition: no socket of the daemon has had anything to read
    twice in a row, by the kernel's account."""
    empty = 0

    def condition():
        nonlocal empty
        mine = {kernel.socket_inode(link)
                for link in kernel.descriptors(switch.pid).values()}
        with open("/proc/net/netlink") as f:
            next(f)
            queued = sum(int(line.split()[4]) for line in f
                         if int(line.split()[1]) == kernel.NETLINK_GENERIC
                         and int(line.split()[9]) in mine)
        empty = 0 if queued else empty + 1
        return empty >= 3

    return condition


def reaches(namespace, address):
    return subprocess.run(
        ["ip", "netns", "exec", namespace, "ping", "-q", "-n", "-c", "1", "-W",
         "2", address], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL).returncode == 0
