# SPDX-License-Identifier: Apache-2.0
"""Commands to a running daemon, over the socket of ovs-appctl(8).

Each command has its own connection and a time limit: a daemon that hangs must
not make its observers hang.  Names of targets are the same as for ovs-appctl:
the name of a pid file, or the path of a control socket.
"""

import errno
import json
import os
import time

import ovs.dirs
import ovs.jsonrpc
import ovs.poller
import ovs.stream

# Seconds to wait for an answer.  The daemon answers between two turns of its
# main loop, which take a second or more if something is wrong.
TIMEOUT = 10.0

# The commands that show the engines, with "--format json".
SHOWS = ("upcall/show", "vport-table/show", "link-table/show", "offload/show")


class DaemonError(Exception):
    """The daemon cannot be reached."""


class CommandError(DaemonError):
    """The daemon answered with an error."""


def socket_of(target):
    """The path of the control socket of 'target'."""
    if target.startswith("/"):
        return target
    rundir = os.environ.get("OVS_RUNDIR") or ovs.dirs.RUNDIR
    pidfile = os.path.join(rundir, target + ".pid")
    try:
        with open(pidfile, encoding="ascii") as file:
            pid = int(file.read())
    except OSError as error:
        raise DaemonError("%s: %s; does the daemon run?"
                          % (pidfile, error.strerror)) from error
    except ValueError as error:
        raise DaemonError("%s: no process id in it" % pidfile) from error
    return os.path.join(rundir, "%s.%d.ctl" % (target, pid))


def pid_of(target):
    """The process id of 'target', or None if its name does not contain it."""
    name = os.path.basename(socket_of(target)).split(".")
    return int(name[-2]) if len(name) > 2 and name[-2].isdigit() else None


class Daemon:
    """A daemon, which may stop and start."""

    def __init__(self, target="ovs-vswitchd", timeout=TIMEOUT):
        self.target = target
        self.timeout = timeout
        self.deadline = None

    def at_once(self):
        """The same daemon, with the time limit for all commands together."""
        daemon = Daemon(self.target, self.timeout)
        daemon.deadline = time.monotonic() + self.timeout
        return daemon

    def text(self, command, *args):
        """The answer to 'command'."""
        deadline = self.deadline or time.monotonic() + self.timeout
        path = socket_of(self.target)
        try:
            error, stream = ovs.stream.Stream.open_block(
                ovs.stream.Stream.open("unix:" + path),
                timeout=max(1, int((deadline - time.monotonic()) * 1000)))
        except OSError as exception:
            error = exception.errno
        if error:
            raise DaemonError("%s: %s; does the daemon run, and may this user "
                              "ask it?" % (path, os.strerror(error)))
        rpc = ovs.jsonrpc.Connection(stream)
        try:
            rpc.send(ovs.jsonrpc.Message.create_request(command, list(args)))
            return self._receive(rpc, command, deadline)
        finally:
            rpc.close()

    def _receive(self, rpc, command, deadline):
        while True:
            rpc.run()
            error, message = rpc.recv()
            if not error:
                break
            if error != errno.EAGAIN:
                raise DaemonError("%s: the connection ended: %s" % (
                    command, os.strerror(error) if error > 0 else "closed"))
            left = deadline - time.monotonic()
            if left <= 0:
                raise DaemonError("%s: no answer in %g s"
                                  % (command, self.timeout))
            poller = ovs.poller.Poller()
            rpc.wait(poller)
            rpc.recv_wait(poller)
            poller.timer_wait(int(left * 1000) + 1)
            poller.block()
        if message.error is not None:
            raise CommandError("%s: %s"
                               % (command, str(message.error).strip()))
        return message.result or ""

    def show(self, command, *args):
        """The JSON output of 'command'."""
        text = self.text(command, "--format", "json", *args)
        try:
            return json.loads(text)
        except ValueError as error:
            raise DaemonError("%s: no JSON: %s" % (command, error)) from error
