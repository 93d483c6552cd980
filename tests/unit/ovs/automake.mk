# SPDX-License-Identifier: Apache-2.0

unit_tests += tests/unit/ovs/test-compat-daemon
tests_unit_ovs_test_compat_daemon_SOURCES = \
	tests/unit/ovs/test-compat-daemon.c $(unit_common)
tests_unit_ovs_test_compat_daemon_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=mlockall

# How the source of Open vSwitch is chosen, and looked at.
TESTS += \
	tests/unit/ovs/test-ovs-features.sh \
	tests/unit/ovs/test-ovs-revision.sh \
	tests/unit/ovs/test-ovs-source.sh
EXTRA_DIST += \
	tests/harness/portion.sh \
	tests/harness/tap.sh \
	tests/unit/ovs/test-ovs-features.sh \
	tests/unit/ovs/test-ovs-revision.sh \
	tests/unit/ovs/test-ovs-source.sh
