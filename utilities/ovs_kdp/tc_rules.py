# SPDX-License-Identifier: Apache-2.0
"""Rules of other programs on the disciplines that the daemon uses.

The daemon and other programs may have rules on the same device.  The daemon
does not touch the others' rules, but tc checks rules in the order of their
preferences, and an earlier rule takes the packets.
"""

import json
import re
import subprocess

from ovs_kdp import program

# Most devices that are checked: each takes a request under the RTNL lock.
MAX_DEVICES = 200
TIMEOUT = 20
COOKIE = re.compile(r"[0-9a-f]{32}")

WHY = ("tc checks rules in the order of their preferences; an earlier rule "
       "takes packets from the daemon's.")
ADVICE = ("\"tc -s filter show dev DEVICE ingress\" shows the rules; find the "
          "program that made them, or stop it from using the port.")


def is_ours(rule):
    """Open vSwitch marks the actions of its rules with the id of the flow."""
    return any(COOKIE.fullmatch(str(action.get("cookie", "")))
               for action in rule["options"].get("actions", []))


def rules_of_others(device):
    """Preferences of rules on 'device' that are not the daemon's."""
    try:
        _, output = program.run(
            ["tc", "-json", "filter", "show", "dev", device, "ingress"],
            TIMEOUT, subprocess.DEVNULL)
        rules = json.loads(output or "[]")
    except (OSError, ValueError):
        return []
    return sorted({rule.get("pref", 0) for rule in rules
                   if "handle" in rule.get("options", {})
                   and not is_ours(rule)})


def findings(shown):
    """A finding for each device with rules of other programs.  'shown' is the
    output of the daemon's commands."""
    if not any(engine["enabled"] for engine in shown.get("offload/show", [])):
        return []
    devices = [port["name"] for table in shown.get("vport-table/show", [])
               for port in table["ports"]
               if port["ifindex"] and port["nsid"] is None]
    found = []
    for device in devices[:MAX_DEVICES]:
        try:
            preferences = rules_of_others(device)
        except subprocess.TimeoutExpired:
            break               # The others would wait, too.
        if preferences:
            found.append({
                "name": "rules-of-others",
                "what": "%s: rules in tc that are not the daemon's, with "
                "preferences %s" % (device,
                                    ", ".join(map(str, preferences))),
                "why": WHY, "advice": ADVICE,
            })
    return found
