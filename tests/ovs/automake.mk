# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	tests/ovs/check-ovs \
	tests/ovs/in-guest \
	tests/ovs/known-kmod \
	tests/ovs/known-offloads \
	tests/ovs/stable-groups \
	tests/ovs/wait-for-monitor.awk

# Open vSwitch's own kernel suites, in a guest: DAEMON is kdp, kdp-stock or
# stock, SUITE is kmod or offloads, TESTSUITEFLAGS are groups as for Autotest.
DAEMON = kdp
SUITE = kmod
GUESTS = 1
check-ovs: all ovs-build-full
	$(srcdir)/tests/ovs/check-ovs --builddir '$(abs_builddir)' \
	    --daemon '$(DAEMON)' --suite '$(SUITE)' --guests '$(GUESTS)' \
	    $(TESTSUITEFLAGS)
.PHONY: check-ovs
