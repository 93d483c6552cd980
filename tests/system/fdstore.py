#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for systemd's store of file descriptors.

fdstore.py serve SOCKET [MAX]   keeps what is sent to SOCKET, MAX at most
fdstore.py run SOCKET COMMAND...    runs COMMAND as a service of that
fdstore.py names SOCKET         prints the names of what is kept

The messages are those of sd_notify(3) and sd_pid_notify_with_fds(3).  The one
that is not, GET, is for the other two uses.
"""

import array
import fcntl
import os
import socket
import sys


def receive(sock):
    """Returns the lines, the descriptors and the sender of the next message."""
    data, control, _flags, sender = sock.recvmsg(
        65536, socket.CMSG_SPACE(253 * 4))
    fds = array.array("i")
    for level, kind, payload in control:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(payload)
    return data.decode().split("\n"), list(fds), sender


def serve(path, maximum):
    """Keeps descriptors for ever.  Says so when it begins."""
    store = []
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(path)
    os.chmod(path, 0o777)
    print("ready", flush=True)
    while True:
        lines, fds, sender = receive(sock)
        fields = dict(line.split("=", 1) for line in lines if "=" in line)
        name = fields.get("FDNAME")
        if lines == ["GET"]:
            for kept, fd in store:
                sock.sendmsg([kept.encode()],
                             [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                               array.array("i", [fd]))], 0, sender)
            sock.sendto(b"", sender)
        elif fields.get("FDSTORE") == "1":
            for fd in fds:
                known = any(os.path.sameopenfile(fd, kept)
                            for _, kept in store)
                if known or len(store) >= maximum:
                    os.close(fd)
                else:
                    store.append((name, fd))
        elif fields.get("FDSTOREREMOVE") == "1":
            for kept in [kept for kept in store if kept[0] == name]:
                os.close(kept[1])
                store.remove(kept)


def get(path):
    """Returns the names and the descriptors that are kept."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind("")
    sock.connect(path)
    sock.send(b"GET")
    store = []
    while True:
        lines, fds, _ = receive(sock)
        if not fds:
            sock.close()
            return store
        store.append((lines[0], fds[0]))


def run(path, command):
    """Runs 'command' with what is kept from descriptor 3 on."""
    store = get(path)
    # First above all numbers that they are to have.
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3 + len(store))
            for _, fd in store]
    for i, fd in enumerate(high):
        os.dup2(fd, 3 + i, inheritable=True)
    os.environ["NOTIFY_SOCKET"] = path
    if store:
        os.environ["LISTEN_FDS"] = str(len(store))
        os.environ["LISTEN_FDNAMES"] = ":".join(name for name, _ in store)
        os.environ["LISTEN_PID"] = str(os.getpid())
    os.execvp(command[0], command)


def main(arguments):
    use, path = arguments[:2]
    if use == "serve":
        serve(path, int(arguments[2]) if len(arguments) > 2 else 1 << 20)
    elif use == "run":
        run(path, arguments[2:])
    else:
        print("\n".join(sorted(name for name, _ in get(path))))


if __name__ == "__main__":
    main(sys.argv[1:])
