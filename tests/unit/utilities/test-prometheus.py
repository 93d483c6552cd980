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
import promql  # noqa: E402
from ovs_kdp import metrics  # noqa: E402

FILES = os.path.join(tap.SRCDIR, "utilities/prometheus")


def read(name):
    """What file 'name' has."""
    with open(os.path.join(FILES, name), encoding="utf-8") as file:
        return file.read()


def samples():
    """All samples that there can be: everything is known about the
    daemon."""
    families = metrics.Families()
    shown = fake_daemon.answers()
    shown["upcall/show"][0]["ports"][0]["shed"] = 1
    for command, add in metrics.ADDERS.items():
        add(families, shown[command])
    for name in "up", "scrape_duration_seconds":
        families.gauge(name, "Of the exporter itself.", {}, 1)
    return promql.samples(families.families.values())


def alerts():
    """The rules of alerts.yml: name, expression, and labels shown."""
    for text in re.split(r"\n      - alert: ", read("alerts.yml"))[1:]:
        expr = re.search(r"\n        expr: (?:>-\n)?(.*?)"
                         r"\n        (?:for|labels):", text, re.DOTALL)
        yield (text.split()[0], " ".join(expr.group(1).split()),
               re.findall(r"\$labels\.(\w+)", text))


def panels():
    """What the dashboard asks for: title, expression, and labels shown."""
    for panel in json.loads(read("dashboard.json"))["panels"]:
        for target in panel["targets"]:
            yield (panel["title"], target["expr"].replace("$instance", ".*"),
                   re.findall(r"{{\s*(\w+)\s*}}",
                              target.get("legendFormat", "")))


def promtool(*args):
    """Runs it.  Returns its status and what it said."""
    result = subprocess.run(["promtool", *args], text=True, cwd=FILES,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False)
    return result.returncode, result.stdout


class PrometheusTest(unittest.TestCase):
    """All there is to it."""

    def check_exprs(self, exprs):
        """All expressions ask for metrics and labels that there are, with
        functions for what they are."""
        known = samples()
        n = 0
        for name, expr, shown in exprs:
            n += 1
            self.assertIn("ovs_kdp_", expr, name)
            self.assertEqual(promql.faults(expr, known, shown), [], name)
        self.assertGreater(n, 5)

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
        self.check_exprs(alerts())

    def test_all_alerts_are_looked_at(self):
        self.assertEqual([name for name, _, _ in alerts()],
                         re.findall(r"alert: (\w+)", read("alerts.yml")))

    def test_the_dashboard_asks_for_what_there_is(self):
        self.check_exprs(panels())

    def test_the_dashboard_has_the_units_of_what_it_shows(self):
        for panel in json.loads(read("dashboard.json"))["panels"]:
            unit = panel["fieldConfig"]["defaults"]["unit"]
            for expr in [target["expr"] for target in panel["targets"]]:
                if "rate(" in expr and "histogram_quantile(" not in expr:
                    expected = "percentunit" if " / " in expr else "ops"
                elif "_seconds" in expr:
                    expected = "s"
                else:
                    expected = "bytes" if "_bytes" in expr else "none"
                self.assertEqual(unit, expected, panel["title"])

    def test_wrong_expressions_are_found(self):
        known = samples()
        for expr, shown, wrong in (
                ("ovs_kdp_nonsense", "", "no such metric"),
                ("rate(ovs_kdp_ports[5m])", "", "rate() of a gauge"),
                ("ovs_kdp_ports[5m]", "", "has a range"),
                ("ovs_kdp_upcalls_lost_total", "", "counter without a rate"),
                ("rate(ovs_kdp_upcalls_lost_total)", "", "without a range"),
                ("sum(ovs_kdp_upcalls_lost_total)", "", "without a rate"),
                ("rate(ovs_kdp_upcall_latency_seconds_bucket[5m])", "",
                 "without histogram_quantile"),
                ("histogram_quantile(0.5, sum by (instance) (rate("
                 "ovs_kdp_upcall_latency_seconds_bucket[5m])))", "",
                 "without the label le"),
                ("histogram_quantile(0.5, sum by (le) (rate("
                 "ovs_kdp_upcalls_lost_total[5m])))", "", "without buckets"),
                ('ovs_kdp_ports{port="1"}', "", "no label port"),
                ("sum by (port) (ovs_kdp_ports)", "", "no label port"),
                ("ovs_kdp_ports", ["port"], "shows no label port"),
                ("sum by (instance) (ovs_kdp_ports)", ["datapath"],
                 "shows no label datapath")):
            self.assertIn(wrong, "\n".join(promql.faults(expr, known, shown)),
                          expr)
        self.assertEqual(promql.faults("sum by (datapath) (ovs_kdp_ports)",
                                       known, ["datapath"]), [])

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
            for i, (_, expr, _) in enumerate(panels())]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(rules, file)
            file.flush()
            status, said = promtool("check", "rules", file.name)
        self.assertEqual(status, 0, said)


if __name__ == "__main__":
    tap.main()
