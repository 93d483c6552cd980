# SPDX-License-Identifier: Apache-2.0
"""openvswitch-kdp-exporter: the daemon's state and counters, for
Prometheus."""

import argparse
import re
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ovs_kdp import daemon, metrics

PORT = 9476

# Seconds that the daemon may take for a scrape.  Prometheus gives up after 10
# by default, and then knows nothing of the daemon.
TIMEOUT = 8.0


class Collector:
    """Collects metrics from the daemon, once at a time.  A scrape that comes
    during a collection waits for its result instead of collecting again, so
    that no scrape takes longer than one collection."""

    def __init__(self, target, with_ports=True):
        self.target = target
        self.with_ports = with_ports
        self.lock = threading.Lock()
        self.end = None
        self.families = []
        self.complaint = None

    def collect(self):
        """All metric families.  They include whether the daemon answers, so
        that a failure of its monitoring is visible."""
        arrival = time.monotonic()
        with self.lock:
            if self.end is None or self.end < arrival:
                self.families = self._collect()
                self.end = time.monotonic()
            return self.families

    def _collect(self):
        begin = time.monotonic()
        families = metrics.Families()
        up = self._ask(families)
        families.gauge("up", "1 if the daemon answered.", {}, up)
        families.gauge("scrape_duration_seconds",
                       "Duration of the daemon's answers.", {},
                       time.monotonic() - begin)
        return list(families.families.values())

    def _ask(self, families):
        complaint = None
        shown = {}
        target = self.target.at_once()
        try:
            version = target.text("version")
            for command in metrics.ADDERS:
                shown[command] = self._show(target, command)
        except daemon.DaemonError as error:
            complaint = str(error)
        if complaint != self.complaint:
            print(complaint or "the daemon answers again", file=sys.stderr,
                  flush=True)
            self.complaint = complaint
        if complaint:
            return 0
        add_version(families, version)
        for command, show in shown.items():
            if show is None:
                continue
            if command == "upcall/show":
                metrics.add_upcalls(families, show, self.with_ports)
            else:
                metrics.ADDERS[command](families, show)
        return 1

    @staticmethod
    def _show(target, command):
        """The JSON of 'command', or None if the daemon lacks the command or
        has nothing to show, as on stock providers."""
        try:
            return target.show(command)
        except daemon.CommandError:
            return None


def add_version(families, text):
    """Adds the versions in the output of command "version"."""
    ours = re.search(r"ovs-kdp\)? +([0-9][\w.~+-]*)", text)
    stock = re.search(r"Open vSwitch\)? +([0-9][\w.~+-]*)", text)
    families.gauge("build_info", "Versions of the daemon.", {
        "version": ours.group(1) if ours else "",
        "openvswitch": stock.group(1) if stock else "",
    }, 1)


class Handler(BaseHTTPRequestHandler):
    """Answers GET /metrics."""

    server_version = "openvswitch-kdp-exporter"
    sys_version = ""
    # Seconds that a client may be silent.
    timeout = 30

    def do_GET(self):
        """Called for GET."""
        path = self.path.split("?")[0]
        if path == "/metrics":
            self._answer(200, CONTENT_TYPE_LATEST,
                         generate_latest(self.server.collector))
        elif path == "/":
            self._answer(200, "text/plain; charset=utf-8",
                         b"Metrics of ovs-kdp are at /metrics.\n")
        else:
            self._answer(404, "text/plain; charset=utf-8", b"not found\n")

    def _answer(self, status, content_type, body):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Logs nothing: each scrape would be a line."""


class Server(ThreadingHTTPServer):
    """An HTTP server with a collector."""

    daemon_threads = True

    def __init__(self, address, collector):
        self.collector = collector
        self.address_family = (socket.AF_INET6 if ":" in address[0]
                               else socket.AF_INET)
        super().__init__(address, Handler)

    def handle_error(self, request, client_address):
        """Called for an exception.  A client may go before it has its
        answer."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def parse_address(text):
    """(host, port) of "HOST:PORT", "[HOST]:PORT" or ":PORT"."""
    match = re.fullmatch(r"(?:\[([^]]*)\]|([^:]*)):([0-9]{1,5})", text)
    if not match or int(match.group(3)) > 65535:
        raise argparse.ArgumentTypeError(
            "\"%s\": expected HOST:PORT or [HOST]:PORT" % text)
    return match.group(1) or match.group(2) or "", int(match.group(3))


def parse(argv):
    """The options."""
    parser = argparse.ArgumentParser(
        prog="openvswitch-kdp-exporter",
        description="Serves metrics of ovs-kdp to Prometheus.")
    parser.add_argument(
        "--listen", metavar="HOST:PORT", type=parse_address,
        default=("127.0.0.1", PORT),
        help="where to listen (default: 127.0.0.1:%d, which other machines "
        "cannot reach)" % PORT)
    parser.add_argument(
        "-t", "--target", default="ovs-vswitchd",
        help="name of the daemon's pid file, or path of its control socket "
        "(default: %(default)s)")
    parser.add_argument(
        "--no-ports", action="store_true",
        help="export sums over all ports instead of samples of each")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=TIMEOUT,
        help="how long the daemon may take for a scrape (default: "
        "%(default)g)")
    parser.add_argument(
        "--once", action="store_true",
        help="print the metrics to standard output instead")
    options = parser.parse_args(argv)
    if options.timeout <= 0:
        parser.error("--timeout %g: expected a positive number"
                     % options.timeout)
    return options


def main(argv=None):
    """The program."""
    options = parse(argv)
    collector = Collector(daemon.Daemon(options.target, options.timeout),
                          not options.no_ports)
    if options.once:
        sys.stdout.buffer.write(generate_latest(collector))
        return 0 if collector.complaint is None else 1
    try:
        server = Server(options.listen, collector)
    except OSError as error:
        print("openvswitch-kdp-exporter: listening at %s:%d failed: %s"
              % (*options.listen, error.strerror or error), file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
