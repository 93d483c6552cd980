#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ovs-kdp-doctor, beside a daemon that is made up."""

import io
import json
import os
import resource
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

import tap

tap.need("ovs")

import fake_daemon  # noqa: E402
from ovs_kdp import facts, mask, program, tc_rules  # noqa: E402

FINDING = {"name": "upcalls-lost", "what": "port 192.0.2.7: 5 upcalls",
           "why": "They are gone.", "advice": "Limit them."}

# What tc says of a rule of Open vSwitch, and of another one.
TC = """#!/bin/sh
[ "$5" != vif1 ] && { echo '[]'; exit; }
cat << EOF
[{"protocol":"ip","pref":2,"kind":"flower","chain":0},
 {"protocol":"ip","pref":2,"kind":"flower","chain":0,"options":{"handle":1,
  "actions":[{"order":1,"kind":"mirred",
              "cookie":"0123456789abcdef0123456789abcdef"}]}},
 {"protocol":"all","pref":49152,"kind":"matchall","chain":0,
  "options":{"handle":1,"actions":[{"order":1,"kind":"police"}]}}]
EOF
"""


class DoctorTest(unittest.TestCase):
    """Each test has a daemon of its own."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="test-doctor")
        self.path = self.dir.name + "/daemon.ctl"
        self.daemon = fake_daemon.FakeDaemon(self.path)
        self.shown = self.daemon.shown
        self.shown["kdp/doctor"] = []
        self.shown["offload/show"][0]["enabled"] = False
        os.mkdir(self.dir.name + "/bin")
        self.file = self.dir.name + "/bundle.tar.gz"

    def tearDown(self):
        if self.daemon:
            self.daemon.close()
        self.dir.cleanup()

    def program(self, name, text):
        """Puts a program before those of the system."""
        path = "%s/bin/%s" % (self.dir.name, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def doctor(self, *args, limit=None):
        """Runs it.  No file may get larger than 'limit'."""
        def set_limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.run(
            [sys.executable, "-m", "ovs_kdp.doctor", "-t", self.path, *args],
            env=dict(os.environ, PYTHONPATH=tap.SRCDIR + "/utilities",
                     PYTHONDONTWRITEBYTECODE="1",
                     PATH=self.dir.name + "/bin:" + os.environ["PATH"]),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
            preexec_fn=set_limit if limit else None)

    def parts(self, data):
        """Names and texts in a bundle."""
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            return {member.name: archive.extractfile(member).read().decode()
                    for member in archive}

    def read(self, name=None):
        """What the file of that name has, or the one for bundles."""
        with open(name or self.file, "rb") as file:
            return file.read()

    def test_nothing_is_wrong(self):
        result = self.doctor()
        self.assertEqual((result.returncode, result.stdout),
                         (0, b"nothing was found to be wrong\n"))

    def test_findings_of_the_daemon_have_two_lines(self):
        self.shown["kdp/doctor"] = [FINDING]
        result = self.doctor()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.decode(),
                         "upcalls-lost: port 192.0.2.7: 5 upcalls\n"
                         "    They are gone.  Limit them.\n")
        self.assertEqual(json.loads(self.doctor("--json").stdout), [FINDING])

    def test_rules_of_others_are_found(self):
        self.program("tc", TC)
        self.assertEqual(self.doctor().returncode, 0)
        self.shown["offload/show"][0]["enabled"] = True
        found = json.loads(self.doctor("--json").stdout)
        self.assertEqual([finding["name"] for finding in found],
                         ["rules-of-others"])
        self.assertIn("vif1: ", found[0]["what"])
        self.assertIn("preferences 49152", found[0]["what"])

    def test_what_the_daemon_found_is_not_found_again(self):
        finding = {**FINDING, "name": "upcalls-shed"}
        self.shown["kdp/doctor"] = [finding]
        self.shown["upcall/show"][0]["ports"][1]["shed"] = 7
        self.assertEqual(json.loads(self.doctor("--json").stdout), [finding])

    def test_a_silent_daemon_is_found(self):
        self.daemon.close()
        self.daemon = None
        result = self.doctor()
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"daemon-silent: ", result.stdout)

    def test_a_stock_daemon_is_found(self):
        self.daemon.shown = {"version": "ovs-vswitchd (Open vSwitch) 3.1.0"}
        self.assertIn(b"not-ovs-kdp: ", self.doctor().stdout)

    def test_the_bundle_has_everything(self):
        self.shown["kdp/doctor"] = [FINDING]
        result = self.doctor("--bundle", self.file)
        self.assertEqual(result.returncode, 1, result.stderr)
        parts = self.parts(self.read())
        root = "ovs-kdp-bundle/"
        self.assertIn("upcalls-lost", parts[root + "findings.txt"])
        self.assertEqual(json.loads(parts[root + "daemon/upcall-show.json"]),
                         self.shown["upcall/show"])
        for part in ("daemon/version.txt", "daemon/kdp-doctor.json",
                     "daemon/link-table-show.txt", "daemon/log.txt",
                     "system-proc-version", "system-kernel-config",
                     "programs/uname-a.txt", "programs/tc-qdisc-show.txt"):
            self.assertIn(root + part, parts)
        # What is not there says so.
        self.assertIn("not there", parts[root + "daemon/vlog-list.txt"])

    def test_the_bundle_goes_to_standard_output_too(self):
        for name in ("-", "/dev/stdout"):
            result = self.doctor("--bundle", name)
            self.assertIn("ovs-kdp-bundle/findings.txt",
                          self.parts(result.stdout))
            self.assertIn(b"nothing was found", result.stderr)

    def test_a_bundle_goes_to_a_pipe_and_replaces_a_link(self):
        pipe, link = self.dir.name + "/pipe", self.dir.name + "/link"
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as cat:
            self.doctor("--bundle", pipe)
            self.assertIn("ovs-kdp-bundle/findings.txt",
                          self.parts(cat.stdout.read()))
        self.assertFalse(os.path.isfile(pipe))
        target = self.dir.name + "/target"
        with open(target, "wb") as file:
            file.write(b"precious")
        os.symlink(target, link)
        self.doctor("--bundle", link)
        self.assertFalse(os.path.islink(link))
        self.assertIn("ovs-kdp-bundle/findings.txt",
                      self.parts(self.read(link)))
        self.assertEqual(self.read(target), b"precious")
        missing = pipe + "-that-is-missing/file"
        self.assertEqual(self.doctor("--bundle", missing).returncode, 3)

    def test_a_bundle_is_made_without_a_daemon(self):
        self.daemon.close()
        self.daemon = None
        self.assertEqual(self.doctor("-b", self.file).returncode, 1)
        self.assertIn("daemon-silent", self.parts(self.read())[
            "ovs-kdp-bundle/findings.txt"])

    def test_addresses_are_masked_on_request(self):
        self.shown["kdp/doctor"] = [FINDING]
        self.program("ip", "#!/bin/sh\necho link/ether 52:54:00:12:34:56 "
                     "inet 192.0.2.7/24 inet6 2001:db8::5/64\n")
        self.doctor("--mask", "--bundle", self.file)
        parts = self.parts(self.read())
        for name, text in parts.items():
            for address in ("192.0.2.7", "52:54:00:12:34:56", "2001:db8::5"):
                self.assertNotIn(address, text, name)
        self.assertIn("port ipv4-1: 5", parts["ovs-kdp-bundle/findings.txt"])
        self.assertEqual(parts["ovs-kdp-bundle/programs/"
                               "ip-details-link.txt"],
                         "link/ether mac-1 inet ipv4-1/24 inet6 ipv6-1/64\n")
        self.doctor("--bundle", self.file)
        self.assertIn("192.0.2.7", self.parts(self.read())[
            "ovs-kdp-bundle/findings.txt"])

    def test_a_full_disk_leaves_the_old_bundle(self):
        with open(self.file, "wb") as file:
            file.write(b"an older one")
        before = sorted(os.listdir(self.dir.name))
        result = self.doctor("--bundle", self.file, limit=1000)
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"nothing of it was left", result.stderr)
        self.assertIn(b"nothing was found", result.stdout)
        self.assertEqual(self.read(), b"an older one")
        self.assertEqual(sorted(os.listdir(self.dir.name)), before)

    def test_wrong_usage(self):
        self.assertEqual(self.doctor("--mask").returncode, 2)
        self.assertEqual(self.doctor("more").returncode, 2)
        self.assertEqual(self.doctor("-b", "/nowhere/x").returncode, 3)


class ProgramTest(unittest.TestCase):
    """Programs that do not end."""

    # Its child keeps the output open, as a program does that cannot be killed
    # while it waits in the kernel.
    HANGS = ["sh", "-c", "sleep 1000 & echo $! > \"$0\"; wait"]

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="test-program")
        self.pidfile = self.dir.name + "/pid"
        self.timeouts = facts.PROGRAM_TIMEOUT, tc_rules.TIMEOUT
        facts.PROGRAM_TIMEOUT = tc_rules.TIMEOUT = 2

    def tearDown(self):
        facts.PROGRAM_TIMEOUT, tc_rules.TIMEOUT = self.timeouts
        self.dir.cleanup()

    def end(self):
        """Ends the child.  Fails if it has ended."""
        with open(self.pidfile, encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGKILL)

    def test_nobody_waits_for_the_end(self):
        self.assertIn("timed out", facts.run([*self.HANGS, self.pidfile]))
        self.end()

    def test_no_other_device_is_checked(self):
        asked = []

        def run(argv, timeout, stderr):
            asked.append(argv)
            return run_program([*self.HANGS, self.pidfile], timeout, stderr)

        run_program, program.run = program.run, run
        try:
            ports = [{"name": name, "ifindex": 1, "nsid": None}
                     for name in ("a", "b")]
            self.assertEqual(tc_rules.findings({
                "offload/show": [{"enabled": True}],
                "vport-table/show": [{"ports": ports}]}), [])
        finally:
            program.run = run_program
        self.assertEqual(len(asked), 1)
        self.end()


class MaskTest(unittest.TestCase):
    """What is an address, and what only looks like one."""

    def test_addresses_get_names(self):
        masker = mask.Masker()
        for text, expected in (
                ("192.0.2.1 192.0.2.2, 192.0.2.1:80", "ipv4-1 ipv4-2, "
                 "ipv4-1:80"),
                ("ip=192.0.2.1.", "ip=ipv4-1."),
                ("fe80::1%eth0 [2001:db8::1]:6640 ::ffff:192.0.2.1",
                 "ipv6-1%eth0 [ipv6-2]:6640 ipv6-3"),
                ("2001:DB8::1", "ipv6-2"),
                ("eth(src=52:54:00:aa:bb:cc,dst=52:54:00:AA:BB:CC)",
                 "eth(src=mac-1,dst=mac-1)"),
                ("src=2001:db8:0:0:0:0:0:1,", "src=ipv6-2,"),
                ("1:2:3:4:5:6:7:8", "ipv6-4"),
                ("nat(src=192.0.2.1-192.0.2.2)", "nat(src=ipv4-1-ipv4-2)"),
                ("nat(src=2001:db8::1-2001:db8::2)", "nat(src=ipv6-2-ipv6-5)"),
                ("bridge_id 8000.52:54:0:aa:bb:cc root 8000.52:54:00:aa:bb:c",
                 "bridge_id 8000.mac-1 root 8000.mac-2"),
                ("link/infiniband 80:00:00:48:fe:80:00:01 brd",
                 "link/infiniband mac-3 brd"),
                ("52-54-00-aa-bb-cc 01-52-54-00-AA-BB-CC",
                 "mac-1 mac-4"),
                ("portid 5254ab123457 switchid 5254AB123456 portid 525400",
                 "portid card-1 switchid card-2 portid 525400"),
                ("phys_switch_id=5254ab123456", "phys_switch_id=card-2"),
                ("br0: using datapath ID 00005254AB123456",
                 "br0: using datapath ID dpid-1"),
                ("(xid=0x2): dpid:00005254ab123456", "(xid=0x2): dpid:dpid-1"),
                ("datapath_id : \"00005254ab123457\"",
                 "datapath_id : \"dpid-2\"")):
            self.assertEqual(masker.mask(text), expected)
        self.assertEqual(mask.Masker().mask("198.51.100.9"), "ipv4-1")

    def test_what_looks_like_an_address_stays(self):
        for text in ("10:02:21", "2026-11-22T10:02:21.123Z|00001|x",
                     "127.0.0.1", "::1", "0.0.0.0", "255.255.255.0",
                     "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff",
                     "ufid:01234567-89ab-cdef-0123-456789abcdef",
                     "3.1.0-2+deb12u1", "qdisc ingress ffff: parent ffff:fff1",
                     "std::vector", "1:2:3", "vxlan-10.1.2.3",
                     "vxlan0-10.1.2.3", "tun-fa-2001:db8::1",
                     "00005254ab123456"):
            self.assertEqual(mask.Masker().mask(text), text)


if __name__ == "__main__":
    tap.main()
