# SPDX-License-Identifier: Apache-2.0

"""One daemon after the other that offloads flows, and the kernel's counts of
their rules."""

import os
import re
import time

from upcall_switch import BRIDGE, BenchError, Switch, appctl, run

# Ways to offload: the configuration, and the setting of the driver of module
# tc-watch, which gets no rules in modes "off" and "software".
MODES = {
    "off": {"other_config": {"hw-offload": "false"}},
    "software": {"other_config": {"hw-offload": "true",
                                  "tc-policy": "skip_hw"}},
    "card": {"other_config": {"hw-offload": "true", "tc-policy": "none"}},
    "slow-card": {"other_config": {"hw-offload": "true",
                                   "tc-policy": "none"},
                  "unlocked": True, "slow": True},
}

# The action copies the addresses to registers that nothing reads, which makes
# the flow in the datapath match on all of them: each address makes its own
# flow, which tc can accept.
RULE = ("udp,actions=move:NXM_OF_IP_SRC[]->NXM_NX_REG0[],"
        "move:NXM_OF_IP_DST[]->NXM_NX_REG1[],LOCAL")


def address(number):
    """Returns the IPv4 address with the least significant bits 'number'."""
    return f"0.0.{number >> 8}.{number & 0xff}"


def rules_of(test, p):
    """Returns the OpenFlow rules of a test, and how many flows a frame
    makes."""
    moves = RULE.removesuffix("LOCAL")
    if test == "masks":
        # Rule i leaves out the i most significant bits of the source, which
        # are the same in all frames.  Bits choose the rule that frames of one
        # port differ in, which come to the ports in turn.  So flows of one
        # port have as many masks as there are rules.
        shift = (p["ports"] - 1).bit_length()
        return [f"udp,nw_src={address(i << shift)}"
                f"/{address((p['masks'] - 1) << shift)}," + RULE[4:]
                .replace("NXM_OF_IP_SRC[]", f"NXM_OF_IP_SRC[0..{31 - i}]")
                .replace("NXM_NX_REG0[]", f"NXM_NX_REG0[0..{31 - i}]")
                for i in range(p["masks"])], 1
    if test == "chains":
        return [f"{moves}ct(table=1)", "table=1,actions=LOCAL"], 2
    if test == "pipeline":
        # Like OVN: the address is translated where connections of the router
        # begin, and each datapath has its own zone.
        return [f"{moves}ct(table=1,zone=1,nat)",
                "table=1,udp,ct_state=+new+trk,"
                "actions=ct(commit,table=2,zone=1,"
                "nat(src=10.128.0.1-10.128.255.254))",
                "table=1,udp,actions=ct(table=2,zone=1,nat)",
                "table=2,udp,actions=ct(commit,table=3,zone=2)",
                "table=3,udp,actions=LOCAL"], 4
    return [RULE], 1


def chains_missing():
    """Returns why this kernel lacks recirculation in tc, or None if it has
    it."""
    release = os.uname().release
    try:
        with open(f"/boot/config-{release}") as f:
            found = re.search(r"^CONFIG_NET_TC_SKB_EXT=y", f.read(), re.M)
    except OSError:
        return None
    return None if found else ("the kernel was built without "
                               "CONFIG_NET_TC_SKB_EXT, which chains in tc "
                               "need")


# Flows that exist before the tests.  They make the daemon do its one-time
# work.
WARM_UP = 64
RUN_WARM_UP = 254

# Time after the last rule when no more is expected, and time for which rules
# may come and go without all of them being there.
PATIENCE_SECONDS = 15
LIMIT_SECONDS = 300

# A flow stays until no frame comes for this time, in milliseconds, or there
# are more than so many.  Open vSwitch begins with a limit of 10,000 and raises
# it gradually.
MAX_IDLE = 100000000
FLOW_LIMIT = 1000000

# Time between two readings of a counter.
POLL_SECONDS = 0.02


class OffloadSwitch(Switch):
    KEYS = ("hw-offload", "tc-policy", "n-offload-threads", "max-idle")

    def __init__(self, p, rtnl, tc):
        super().__init__(p)
        self.rtnl, self.tc = rtnl, tc
        self.per_frame = 1      # Flows that a frame makes.

    def common_config(self):
        return {"flow-limit": FLOW_LIMIT}

    def start_mode(self, daemon, test, mode, threads):
        """Starts 'daemon' for 'test' with 'mode', and sends WARM_UP frames.
        Returns whether it supports 'mode'."""
        rules, self.per_frame = rules_of(test, self.p)
        what = MODES[mode]
        config = {**what["other_config"], "max-idle": MAX_IDLE}
        if threads:
            config["n-offload-threads"] = threads
        self.tc.set("locked", "N" if what.get("unlocked") else "Y")
        self.start({"name": daemon["name"], "daemon": daemon["name"],
                    "program": daemon["program"], "environment": {},
                    "other_config": config})
        # A daemon that probes tc adds rules for that, which go with their
        # queueing discipline: they are not deleted one by one.
        self.tc.set("reset", 1)
        appctl("upcall/set-flow-limit", str(FLOW_LIMIT))
        run("ovs-ofctl", "add-flows", BRIDGE, "-", stdin="\n".join(rules))
        self.send(WARM_UP, RUN_WARM_UP, "--interval=2000")
        n = WARM_UP * self.per_frame
        if mode == "off":
            self.wait_until(lambda: self.datapath()["flows"] >= n,
                            "the first flows")
            return True
        return self.wait_for_rules(n) >= n

    def stop(self):
        for module, name in ((self.rtnl, "delay_us"), (self.rtnl, "tgid"),
                             (self.tc, "rule_us"), (self.tc, "hits")):
            module.set(name, 0)
        super().stop()
        # The next daemon must not find devices bound in the way of this one.
        run("tc", "-force", "-batch", "-", check=False, stdin="".join(
            f"qdisc del dev p{i} ingress\n" for i in range(self.p["ports"])))

    def configure(self, mode, delay_us):
        """Starts the delays of 'mode'."""
        self.rtnl.set("delay_us", delay_us)
        self.rtnl.set("tgid", self.pid)
        self.tc.set("rule_us",
                    self.p["rule_us"] if MODES[mode].get("slow") else 0)
        self.tc.set("reset", 1)

    def send(self, count, number, *args):
        """Sends 'count' frames to the ports in turn."""
        return self.traffic("--udp", "--probe=turn", f"--count={count}",
                            f"--run={number}", *args)

    def rules(self):
        return self.tc.get("added") - self.tc.get("deleted")

    def wait_for_rules(self, wanted):
        """Waits until there are so many more rules in tc than at the reset, or
        their number no longer changes; returns how many there are."""
        before, changed = None, time.monotonic()
        end = changed + LIMIT_SECONDS
        while self.rules() < wanted and time.monotonic() < end:
            now = self.tc.get("added"), self.tc.get("deleted")
            if now != before:
                before, changed = now, time.monotonic()
            elif time.monotonic() - changed > PATIENCE_SECONDS:
                break
            time.sleep(POLL_SECONDS)
        return self.rules()

    def listed_rules(self):
        """Returns the number of rules in tc's list, which takes the lock."""
        return sum(len(re.findall(r"^filter .* handle ",
                                  run("tc", "filter", "show", "dev", f"p{i}",
                                      "ingress"), re.M))
                   for i in range(self.p["ports"]))

    def masks_in_tc(self):
        """Returns the number of priorities of the first port's rules in tc:
        each mask has its own."""
        return len(set(re.findall(r"^filter .* pref (\d+) .* handle ",
                                  run("tc", "filter", "show", "dev", "p0",
                                      "ingress"), re.M)))

    def save_show(self, name):
        """Writes the daemon's report about its offload threads to a log."""
        text = appctl("offload/show", check=False)
        if text:
            with open(os.path.join(os.environ["GUEST_LOGS"],
                                   f"offload-show-{name}.log"), "w") as f:
                f.write(text)

    def offload_stats(self):
        """Returns the daemon's totals over all offload threads, or None if it
        does not report them."""
        text = appctl("dpctl/offload-stats-show", "system@ovs-system",
                      check=False)
        found = re.findall(r"Total\s+(\S.*?):\s+(\d+)", text or "")
        if text and not found:
            raise BenchError("dpctl/offload-stats-show has no totals: "
                             + text.strip())
        return {name: int(value) for name, value in found} or None
