#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Alerts and the dashboard: they ask for metrics that there are."""

import json
import os
import re
import subprocess
import tempfile
import unittest

import tap

tap.need("ovs", "prometheus_client")
tap.need_programs("promtool")

import fake_daemon  # noqa: E402
from ovs_kdp import metrics  # noqa: E402

FILES = os.path.join(tap.SRCDIR, "utilities/prometheus")


def read(name):
    """What file 'name' has."""
    with open(os.path.join(FILES, name), encoding="utf-8") as file:
        return file.read()


def samples():
    """Names of all samples that there can be."""
    families = metrics.Families()
    shown = fake_daemon.answers()
    shown["upcall/show"][0]["ports"][0]["shed"] = 1
    for command, add in metrics.ADDERS.items():
        add(families, shown[command])
    names = {"ovs_kdp_up", "ovs_kdp_scrape_duration_seconds"}
    for family in families.families.values():
        names |= {sample.name for sample in family.samples}
    return names


def promtool(*args):
    """Runs it.  Returns its status and what it said."""
    result = subprocess.run(["promtool", *args], text=True, cwd=FILES,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False)
    return result.returncode, result.stdout


class PrometheusTest(unittest.TestCase):
    """All there is to it."""

    def check_names(self, text):
        """All metrics in 'text' are there."""
        names = set(re.findall(r"\bovs_kdp_\w+", text))
        self.assertGreater(len(names), 5)
        self.assertEqual(names - samples(), set())

    def exprs(self):
        """What the dashboard asks for."""
        return [target["expr"].replace("$instance", ".*")
                for panel in json.loads(read("dashboard.json"))["panels"]
                for target in panel["targets"]]

    def test_alerts_are_rules(self):
        status, said = promtool("check", "rules", "alerts.yml")
        self.assertEqual(status, 0, said)

    def test_alerts_come_when_they_should(self):
        status, said = promtool("test", "rules", "alerts-test.yml")
        self.assertEqual(status, 0, said)

    def test_each_alert_is_tested(self):
        alerts = re.findall(r"alert: (\w+)", read("alerts.yml"))
        tested = read("alerts-test.yml")
        for alert in alerts:
            self.assertEqual(len(re.findall(r"alertname: %s\b" % alert,
                                            tested)), 2, alert)

    def test_alerts_ask_for_what_there_is(self):
        self.check_names(read("alerts.yml"))

    def test_the_dashboard_asks_for_what_there_is(self):
        self.check_names("\n".join(self.exprs()))

    def test_the_documentation_names_what_there_is(self):
        path = os.path.join(tap.SRCDIR, "Documentation/tasks/monitoring.rst")
        with open(path, encoding="utf-8") as file:
            names = set(re.findall(r"\bovs_kdp_\w+", file.read()))
        families = {name.rsplit("_bucket", 1)[0] for name in samples()}
        self.assertGreater(len(names), 5)
        self.assertEqual(names - families, set())

    def test_the_dashboard_asks_in_the_right_language(self):
        rules = {"groups": [{"name": "panels", "rules": [
            {"record": "panel%d" % i, "expr": expr}
            for i, expr in enumerate(self.exprs())]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(rules, file)
            file.flush()
            status, said = promtool("check", "rules", file.name)
        self.assertEqual(status, 0, said)


if __name__ == "__main__":
    tap.main()
