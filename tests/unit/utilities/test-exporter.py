#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The exporter, beside a daemon that is made up."""

import json
import os
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import tap

tap.need("ovs", "prometheus_client")
tap.need_programs("promtool")

from fake_daemon import FakeDaemon, answers, sender  # noqa: E402
from ovs_kdp import exporter  # noqa: E402
from ovs_kdp.daemon import Daemon, DaemonError  # noqa: E402
from prometheus_client import generate_latest  # noqa: E402
from prometheus_client.parser import (  # noqa: E402
    text_string_to_metric_families)

DATAPATH = '{datapath="system@ovs-system"'


class CountedLock:
    """A lock that says how many threads wanted it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.wanted = threading.Semaphore(0)

    def __enter__(self):
        self.wanted.release()
        self.lock.acquire()

    def __exit__(self, *args):
        self.lock.release()


class ExporterTest(unittest.TestCase):
    """Each test has a daemon of its own."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="test-exporter")
        self.path = self.dir.name + "/daemon.ctl"
        self.daemon = FakeDaemon(self.path)
        self.shown = self.daemon.shown
        self.messages = self.dir.name + "/messages"

    def tearDown(self):
        if self.daemon:
            self.daemon.close()
        self.dir.cleanup()

    def stop_daemon(self):
        """Ends the daemon."""
        self.daemon.close()
        self.daemon = None

    def metrics(self, **kwargs):
        """The text of a scrape."""
        collector = exporter.Collector(Daemon(self.path, 60), **kwargs)
        self.collector = collector
        stderr, sys.stderr = sys.stderr, open(self.messages, "a+",
                                              encoding="utf-8")
        try:
            return generate_latest(collector).decode()
        finally:
            sys.stderr.close()
            sys.stderr = stderr

    def has(self, text, *lines):
        """Checks that 'text' has each of 'lines'."""
        for line in lines:
            self.assertIn("\n%s\n" % line, "\n" + text)

    def test_what_the_daemon_shows_is_there(self):
        table = self.shown["upcall/show"][0]
        table["ports"][1]["lost"] = 7
        text = self.metrics()
        self.has(
            text, "ovs_kdp_up 1.0",
            'ovs_kdp_build_info{openvswitch="3.1.0",version="0.1.0"} 1.0',
            'ovs_kdp_upcalls_received_total%s,port="vif1"} 1001.0' % DATAPATH,
            'ovs_kdp_upcalls_lost_total%s,port="vif1"} 7.0' % DATAPATH,
            'ovs_kdp_handler_wakeups_total%s,handler="1"} 402.0' % DATAPATH,
            'ovs_kdp_upcall_mode_info%s,dispatch="per-port",engine="epoll"} '
            '1.0' % DATAPATH,
            'ovs_kdp_link_events_total{event="newlink"} 31.0',
            'ovs_kdp_rtnl_calls_total{call="set MTU"} 4.0',
            'ovs_kdp_link_namespaces{state="stale"} 1.0',
            'ovs_kdp_vport_table_in_sync%s} 1.0' % DATAPATH,
            'ovs_kdp_vport_resyncs_total%s} 1.0' % DATAPATH,
            'ovs_kdp_findings{finding="setting-wrong"} 1.0',
            'ovs_kdp_offload_flows%s,state="in tc"} 43.0' % DATAPATH,
            'ovs_kdp_offload_queue_length%s,thread="0"} 5.0' % DATAPATH,
            'ovs_kdp_offload_not_in_tc_total%s,reason="tc does not support '
            'it"} 17.0' % DATAPATH)

    def test_latency_is_a_histogram_in_seconds(self):
        text = self.metrics()
        labels = DATAPATH + ',port="vif1"'
        name = "ovs_kdp_upcall_latency_seconds"
        sums = [line for line in text.splitlines()
                if line.startswith(name + "_sum" + labels)]
        self.has(text, name + '_count%s} 1000.0' % labels)
        self.assertAlmostEqual(float(sums[0].split()[-1]), 0.109)
        families = {family.name: family
                    for family in text_string_to_metric_families(text)}
        buckets = [(sample.labels["le"], sample.value)
                   for sample in families[name].samples
                   if sample.name == name + "_bucket"
                   and sample.labels["port"] == "vif1"]
        self.assertEqual(len(buckets), 9)
        self.assertEqual([value for _, value in buckets],
                         sorted(value for _, value in buckets))
        self.assertAlmostEqual(float(buckets[0][0]), 64e-6)
        self.assertEqual(buckets[-1], ("+Inf", 1000.0))

    def test_insertion_is_a_summary_in_seconds(self):
        text = self.metrics()
        name = "ovs_kdp_offload_insertion_seconds"
        self.has(text, "# TYPE %s summary" % name,
                 name + '_count%s,thread="0"} 801.0' % DATAPATH)
        families = {family.name: family
                    for family in text_string_to_metric_families(text)}
        values = {sample.labels.get("quantile", sample.name): sample.value
                  for sample in families[name].samples}
        self.assertAlmostEqual(values["0.99"], 400e-6)
        self.assertAlmostEqual(values[name + "_sum"], 801 * 250.5e-6)

    def test_what_the_daemon_does_not_know_is_left_out(self):
        table = self.shown["upcall/show"][0]
        for port in table["ports"]:
            del port["latency_us"]["below"], port["backlog_max"]
            del port["senders"]
        self.shown["offload/show"] = [{"datapath": "system@ovs-system",
                                       "enabled": False}]
        text = self.metrics()
        self.assertNotIn("latency_seconds", text)
        self.assertNotIn("backlog_max_bytes{", text)
        self.assertNotIn("shed", text)
        self.assertNotIn("offload_rules", text)
        self.has(text, "ovs_kdp_offload_enabled%s} 0.0" % DATAPATH,
                 "ovs_kdp_up 1.0")

    def test_shed_upcalls_are_there_if_the_daemon_sheds(self):
        self.shown["upcall/show"][0]["ports"][1]["shed"] = 9
        self.shown["upcall/show"][0]["target_delay_us"] = 20000
        self.has(self.metrics(), 'ovs_kdp_upcalls_shed_total%s,port="vif1"} '
                 '9.0' % DATAPATH,
                 "ovs_kdp_upcall_target_delay_seconds%s} 0.02" % DATAPATH)

    def test_senders_make_no_series_of_their_own(self):
        self.shown["upcall/show"][0]["ports"][1]["senders"] = [
            sender("10.0.0.%d" % i, 100 * i) for i in range(1, 9)]
        text = self.metrics()
        self.has(text, 'ovs_kdp_upcall_top_sender_rate%s,port="vif1"} 800.0'
                 % DATAPATH,
                 'ovs_kdp_upcall_top_sender_shed_rate%s,port="vif1"} 400.0'
                 % DATAPATH)
        self.assertNotIn("10.0.0.", text)
        self.assertNotIn("192.0.2.", text)
        self.assertNotIn('sender_rate%s,port="ovs-system"' % DATAPATH, text)

    def test_limited_ports_and_work_of_handlers_are_there(self):
        self.shown["upcall/show"][0]["ports"][1]["lost_limited"] = 8
        self.shown["upcall/show"][0]["handlers"][1]["busy_us"] = 1500000
        self.shown["upcall/show"][0]["lost_nowhere"] = 7
        self.has(self.metrics(),
                 'ovs_kdp_upcalls_lost_nowhere_total%s} 7.0' % DATAPATH,
                 'ovs_kdp_upcalls_lost_limited_total%s,port="vif1"} '
                 '8.0' % DATAPATH,
                 'ovs_kdp_handler_busy_seconds_total%s,handler="1"} '
                 '1.5' % DATAPATH)

    def test_batches_are_a_histogram(self):
        handler = DATAPATH + ',handler="1"'
        name = "ovs_kdp_handler_batch_size"
        self.has(self.metrics(), name + '_bucket%s,le="1.0"} 200.0' % handler,
                 name + '_bucket%s,le="7.0"} 350.0' % handler,
                 name + '_bucket%s,le="63.0"} 403.0' % handler,
                 name + "_count%s} 403.0" % handler,
                 name + "_sum%s} 5001.0" % handler)

    def test_time_under_the_lock_is_told_in_seconds(self):
        self.shown["link-table/show"]["rtnl_us"] = {"look-up": 1500000}
        self.shown["link-table/show"]["rtnl_calls_us"] = {"set MTU": 500000}
        self.has(self.metrics(),
                 'ovs_kdp_rtnl_request_seconds_total{reason="look-up"} 1.5',
                 'ovs_kdp_rtnl_call_seconds_total{call="set MTU"} 0.5')

    def test_flows_in_hardware_are_told(self):
        self.shown["offload/show"][0]["in_tc"] = {"in hardware": 40}
        self.has(self.metrics(), 'ovs_kdp_offload_flows_in_tc%s,'
                 'where="in hardware"} 40.0' % DATAPATH)

    def test_stock_providers_have_no_links(self):
        self.shown["link-table/show"] = Exception("links are not kept")
        del self.shown["offload/show"]
        text = self.metrics()
        self.assertNotIn("ovs_kdp_link", text)
        self.has(text, "ovs_kdp_up 1.0")

    def test_ports_can_be_summed_up(self):
        text = self.metrics(with_ports=False)
        self.assertNotIn("port=", text)
        self.has(text, "ovs_kdp_upcalls_received_total%s} 4003.0" % DATAPATH,
                 "ovs_kdp_upcall_latency_seconds_count%s} 4000.0" % DATAPATH)

    def test_a_daemon_that_is_gone_is_down(self):
        self.stop_daemon()
        self.assertIn("ovs_kdp_up 0.0", self.metrics())
        self.assertIn("does the daemon run", self.collector.complaint)

    def test_a_daemon_that_hangs_is_down(self):
        self.shown["upcall/show"] = None
        collector = exporter.Collector(Daemon(self.path, 0.2))
        stderr, sys.stderr = sys.stderr, open(os.devnull, "w",
                                              encoding="utf-8")
        text = generate_latest(collector).decode()
        sys.stderr.close()
        sys.stderr = stderr
        self.assertIn("ovs_kdp_up 0.0", text)
        self.assertIn("no answer", collector.complaint)

    def test_all_commands_of_a_scrape_have_one_deadline(self):
        self.shown["upcall/show"] = None
        target = Daemon(self.path, 10000).at_once()
        target.deadline = deadline = time.monotonic() + 60
        self.assertTrue(target.text("version"))
        self.assertEqual(target.deadline, deadline)
        target.deadline = time.monotonic() + 0.2
        with self.assertRaises(DaemonError):
            target.text("upcall/show")

    def test_a_scrape_does_not_wait_for_two_collections(self):
        collector = exporter.Collector(Daemon(self.path, 60))
        collector.lock = CountedLock()
        really_collect = collector._collect
        found = []
        second = threading.Thread(
            target=lambda: found.append(collector.collect()))

        def collect():
            """Collects when the second scrape waits for the first one."""
            if not second.ident:
                second.start()
                for _ in range(2):
                    collector.lock.wanted.acquire()
            return really_collect()

        collector._collect = collect
        first = collector.collect()
        second.join()
        self.assertTrue(found[0] is first)
        n = len(self.daemon.asked)
        self.assertFalse(collector.collect() is first)
        self.assertEqual(len(self.daemon.asked), 2 * n)

    def test_a_name_with_quotes_is_escaped(self):
        name = 'odd "name"\\ \n ä'
        self.shown["upcall/show"][0]["ports"][1]["name"] = name
        text = self.metrics()
        names = {sample.labels.get("port")
                 for family in text_string_to_metric_families(text)
                 for sample in family.samples}
        self.assertIn(name, names)

    def test_promtool_finds_nothing_wrong(self):
        text = self.metrics()
        self.shown["upcall/show"][0]["ports"][1]["shed"] = 9
        for scrape in text, self.metrics(with_ports=False):
            result = subprocess.run(["promtool", "check", "metrics"],
                                    input=scrape, text=True,
                                    stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, check=False)
            self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_no_sample_is_there_twice(self):
        lines = [line.rsplit(" ", 1)[0] for line
                 in self.metrics().splitlines() if not line.startswith("#")]
        self.assertEqual(len(lines), len(set(lines)))


class ServerTest(unittest.TestCase):
    """The program, as systemd starts it."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="test-exporter")
        self.path = self.dir.name + "/daemon.ctl"
        self.daemon = None
        self.process = None

    def tearDown(self):
        if self.process:
            self.process.terminate()
            self.assertEqual(self.process.wait(60), 0)
            self.process.stderr.close()
        if self.daemon:
            self.daemon.close()
        self.dir.cleanup()

    def start(self, *args):
        """Starts it at a port that is free.  Returns its address."""
        code = ("import sys; from ovs_kdp import exporter as e; "
                "server = e.Server; "
                "e.Server = lambda *a: (s := server(*a), print("
                "s.server_address[1], file=sys.stderr, flush=True))[0]; "
                "sys.exit(e.main())")
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "-t", self.path, *args],
            env=dict(os.environ, PYTHONPATH=tap.SRCDIR + "/utilities",
                     PYTHONDONTWRITEBYTECODE="1"),
            stderr=subprocess.PIPE, text=True)
        return "http://127.0.0.1:%d" % int(self.process.stderr.readline())

    def get(self, url):
        """The status and the text at 'url'."""
        try:
            with urllib.request.urlopen(url, timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, ""

    def test_it_serves_and_says_when_the_daemon_comes_and_goes(self):
        url = self.start("--listen", "127.0.0.1:0")
        self.assertIn("ovs_kdp_up 0.0", self.get(url + "/metrics")[1])
        self.assertIn("does the daemon run", self.process.stderr.readline())
        self.daemon = FakeDaemon(self.path)
        self.assertIn("ovs_kdp_up 1.0", self.get(url + "/metrics")[1])
        self.assertIn("answers again", self.process.stderr.readline())
        self.assertEqual(self.get(url + "/")[0], 200)
        self.assertEqual(self.get(url + "/other")[0], 404)

    def test_a_client_that_goes_is_no_error(self):
        url = self.start("--listen", "127.0.0.1:0", "--timeout", "0.5")
        self.daemon = FakeDaemon(self.path)
        self.daemon.shown["version"] = None
        host, port = url.split("/")[2].split(":")
        with socket.create_connection((host, int(port))) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            while not self.daemon.asked:
                time.sleep(0.01)
        self.assertIn("no answer", self.process.stderr.readline())
        self.assertEqual(self.get(url + "/metrics")[0], 200)
        self.process.terminate()
        self.assertEqual(self.process.stderr.read(), "")

    def test_wrong_options_are_named(self):
        for args in (["--listen", "nonsense"], ["--listen", "h:70000"],
                     ["--timeout", "0"], ["more"]):
            result = subprocess.run(
                [sys.executable, "-m", "ovs_kdp.exporter", *args],
                env=dict(os.environ, PYTHONPATH=tap.SRCDIR + "/utilities",
                         PYTHONDONTWRITEBYTECODE="1"),
                stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(result.returncode, 2, args)
            self.assertIn("usage:", result.stderr)

    def test_a_scrape_of_4000_ports_asks_six_questions(self):
        self.daemon = FakeDaemon(self.path, answers(4000))
        begin, usage = time.monotonic(), resource.getrusage(
            resource.RUSAGE_SELF)
        collector = exporter.Collector(Daemon(self.path, 120))
        text = generate_latest(collector).decode()
        spent = resource.getrusage(resource.RUSAGE_SELF)
        self.assertIn('port="vif3999"', text)
        self.assertEqual([command for command, _ in self.daemon.asked],
                         ["version", "upcall/show", "vport-table/show",
                          "link-table/show", "offload/show", "kdp/doctor"])
        print("# %d samples, %.1f MB, of %.1f MB of JSON; %.2f s, %.2f s of "
              "CPU, the daemon's part made up" % (
                  sum(not line.startswith("#") for line in text.splitlines()),
                  len(text) / 1e6,
                  len(json.dumps(self.daemon.shown["upcall/show"],
                                 indent=2)) / 1e6,
                  time.monotonic() - begin,
                  spent.ru_utime + spent.ru_stime - usage.ru_utime
                  - usage.ru_stime))


if __name__ == "__main__":
    tap.main()
