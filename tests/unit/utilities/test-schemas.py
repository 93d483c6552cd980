#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON of commands is as utilities/schemas says.

Runs the unit tests that have such JSON in their hands, in the build directory,
and looks at what they leave.
"""

import json
import os
import subprocess
import tempfile
import unittest

import tap

tap.need("jsonschema")

import fake_daemon  # noqa: E402
import schemas  # noqa: E402

PROGRAMS = ("link/test-link-show", "offload/test-offload-show",
            "unixctl/test-findings", "upcall/test-upcall-show",
            "vport/test-vport-show")

# What the callers add to what these tests see.
ADDED = {
    "upcall-show#table": {"dispatch": "per-port", "dispatch_restored": 0,
                          "lost_nowhere": 0},
    "offload-show#datapath": {"datapath": "system@ovs-system",
                              "enabled": True,
                              "orphans": {"deleted": 5, "failed": 0,
                                          "passes": 2, "under_way": False}},
}

# What the schemas describe and these tests do not see: another module adds it.
UNSEEN = {
    "link-table-show": {"bridge_told", "bridge_not_told", "addresses",
                        "qdiscs", "devices", "routes", "rtnl_calls",
                        "rtnl_calls_us"},
}

FILE_OF = {command: command.replace("/", "-") for command in
           ("upcall/show", "vport-table/show", "link-table/show",
            "offload/show", "kdp/doctor")}


def mark(root, schema, instance, seen):
    """Stores in 'seen' whether each described member is in 'instance'."""
    place = id(schema)
    while "$ref" in schema:
        place = schema["$ref"]
        schema = root["$defs"][place.rpartition("/")[2]]
    for part in schema.get("allOf", ()):
        mark(root, part, instance, seen)
    if isinstance(instance, list):
        for item in instance:
            mark(root, schema.get("items", {}), item, seen)
    elif isinstance(instance, dict):
        for name, part in schema.get("properties", {}).items():
            seen[place, name] = (name in instance
                                 or seen.get((place, name), False))
            mark(root, part, instance.get(name), seen)


class SchemasTest(unittest.TestCase):
    """All there is to it."""

    def check(self, name, instance):
        """'instance' conforms, and has nothing that is not described."""
        self.assertEqual(schemas.complaints(name, instance), [])

    def test_schemas_are_schemas(self):
        names = [name[:-5] for name in os.listdir(schemas.SCHEMAS)]
        self.assertGreaterEqual(set(names), set(FILE_OF.values()))
        for name in names:
            schemas.jsonschema.Draft202012Validator.check_schema(
                schemas.load(name))

    def test_what_the_engines_show_is_described(self):
        seen = set()
        loaded, members = {}, {}
        with tempfile.NamedTemporaryFile() as file:
            for program in PROGRAMS:
                subprocess.run(
                    ["tests/unit/" + program], check=True,
                    env=dict(os.environ, UNIT_SHOWN=file.name),
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for line in file.read().decode().splitlines():
                name, text = line.split("\t", 1)
                shown = json.loads(text)
                if name in ADDED:
                    shown.update(ADDED[name])
                self.check(name, shown)
                seen.add(name)
                schema = loaded.setdefault(name, schemas.load(name))
                mark(schema, schema, shown, members.setdefault(name, {}))
        self.assertEqual(seen, {
            "kdp-doctor", "link-table-show", "offload-show#datapath",
            "offload-why#flow", "upcall-show#table",
            "vport-table-show#table"})
        for name, found in members.items():
            self.assertEqual({member for (_, member), shown in found.items()
                              if not shown},
                             UNSEEN.get(name.partition("#")[0], set()), name)

    def test_the_fake_daemon_shows_the_same(self):
        answers = fake_daemon.answers()
        for command, name in FILE_OF.items():
            self.check(name, answers[command])

    def test_an_engine_that_was_never_used_shows_little(self):
        self.check("offload-show", [{
            "datapath": "d", "enabled": False,
            "orphans": {"deleted": 0, "failed": 0, "passes": 2,
                        "under_way": False}}])

    def test_wrong_types_and_unknown_members_are_found(self):
        shown = fake_daemon.upcall_show(2)
        shown[0]["ports"][0]["lost"] = "many"
        shown[0]["ports"][1]["colour"] = 1
        del shown[0]["ports"][2]["received"]
        self.assertEqual(len(schemas.complaints("upcall-show", shown)), 3)
        self.assertEqual(
            len(schemas.complaints("upcall-show", shown, strict=False)), 2)


if __name__ == "__main__":
    tap.main()
