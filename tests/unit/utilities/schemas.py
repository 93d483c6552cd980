#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what commands show to the schemas in utilities/schemas.

As a program, checks files, each after the name of its schema:

    schemas.py [NAME FILE]...
"""

import copy
import json
import os
import sys

import jsonschema

SRCDIR = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
SCHEMAS = os.path.join(SRCDIR, "utilities/schemas")


def load(name):
    """Schema 'name', "FILE" or "FILE#DEFINITION"."""
    name, _, part = name.partition("#")
    with open(os.path.join(SCHEMAS, name + ".json"),
              encoding="utf-8") as file:
        schema = json.load(file)
    if part:
        schema = {"$ref": "#/$defs/" + part, "$defs": schema["$defs"]}
    return schema


def closed(schema):
    """A copy of 'schema' that allows no member that it does not describe.
    Programs must skip those that they do not know, so the schema itself allows
    them; but nothing may be shown and not be described."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def complaints(name, instance, strict=True):
    """What is wrong with 'instance', a line for each."""
    schema = load(name)
    validator = jsonschema.Draft202012Validator(
        closed(schema) if strict else copy.deepcopy(schema))
    return ["%s: %s (utilities/schemas/%s.json says what there is)"
            % ("/".join(map(str, error.absolute_path)) or "all",
               error.message[:300], name.partition("#")[0])
            for error in validator.iter_errors(instance)]


def main():
    """The program."""
    n = 0
    for name, path in zip(sys.argv[1::2], sys.argv[2::2]):
        with open(path, encoding="utf-8") as file:
            for complaint in complaints(name, json.load(file), strict=False):
                print("%s: %s" % (path, complaint))
                n += 1
    return 1 if n else 0


if __name__ == "__main__":
    sys.exit(main())
