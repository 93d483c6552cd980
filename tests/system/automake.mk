# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	tests/system/check-system \
	tests/system/fdstore.py \
	tests/system/harness.sh \
	tests/system/json.awk \
	tests/system/no-io-uring.c \
	tests/system/no-tc-deletion.c \
	tests/system/run \
	tests/system/sanitizers/leaks.txt \
	tests/system/sanitizers/thread.txt \
	tests/system/test-basics.sh \
	tests/system/test-commands.sh \
	tests/system/test-fallback.sh \
	tests/system/test-floods.sh \
	tests/system/test-handover.sh \
	tests/system/test-limits.sh \
	tests/system/test-links.sh \
	tests/system/test-netdevs.sh \
	tests/system/test-offload-bonds.sh \
	tests/system/test-offload-chains.sh \
	tests/system/test-offload-counts.sh \
	tests/system/test-offload-crash.sh \
	tests/system/test-offload-ends.sh \
	tests/system/test-offload-foreign.sh \
	tests/system/test-offload-kinds.sh \
	tests/system/test-offload-orphans.sh \
	tests/system/test-offload-pipeline.sh \
	tests/system/test-offload-random.sh \
	tests/system/test-offload-rejected.sh \
	tests/system/test-offload-settings.sh \
	tests/system/test-offload.sh \
	tests/system/test-openflow.sh \
	tests/system/test-ovn.sh \
	tests/system/test-ports.sh \
	tests/system/test-restart.sh \
	tests/system/test-sockets.sh \
	tests/system/test-tools.sh \
	tests/system/test-tunnels.sh \
	tests/system/test-upcalls.sh \
	tests/system/test-user.sh \
	tests/system/test-versions.sh \
	tests/system/test-vports.sh \
	tests/system/uncounted.awk

# A tool of the tests, of which nothing else knows, so it has none of the flags
# of the daemon.
check_PROGRAMS += tests/system/traffic
tests_system_traffic_SOURCES = tests/system/traffic.c
tests_system_traffic_CPPFLAGS =
tests_system_traffic_CFLAGS = -std=gnu11 $(KDP_CFLAGS)
tests_system_traffic_LDFLAGS =
tests_system_traffic_LDADD =
# All programs are linked with what that says of libraries.
EXTRA_tests_system_traffic_DEPENDENCIES = ovs/stamp

# A library, which the daemon is started with, of one file; as
# utilities/bench/per-vport.so is.
tests/system/no-io-uring.so: tests/system/no-io-uring.c
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) -std=gnu11 $(KDP_CFLAGS) $(CFLAGS) \
	    -shared -fPIC -o $@ $(srcdir)/tests/system/no-io-uring.c
tests/system/no-tc-deletion.so: tests/system/no-tc-deletion.c
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) -std=gnu11 $(KDP_CFLAGS) $(CFLAGS) \
	    -shared -fPIC -o $@ $(srcdir)/tests/system/no-tc-deletion.c -ldl
CLEANFILES += tests/system/no-io-uring.so tests/system/no-tc-deletion.so

# The whole daemon, in a guest: DAEMON is kdp, kdp-stock or stock, SYSTEMTESTS
# are shell patterns of test names, SYSTEMGUESTS is the number of guests, and
# SYSTEMFLAGS are further options of check-system.
SYSTEMGUESTS = 1
SYSTEMFLAGS =
check-system: all tests/system/traffic tests/system/no-io-uring.so \
    tests/system/no-tc-deletion.so utilities/bench/per-vport.so $(unit_tests)
	$(srcdir)/tests/system/check-system --builddir '$(abs_builddir)' \
	    --daemon '$(DAEMON)' --guests '$(SYSTEMGUESTS)' $(SYSTEMFLAGS) \
	    $(SYSTEMTESTS)
.PHONY: check-system

# Those that are worth the time that a daemon with sanitizers takes: they start
# and end the most of it at the same time, or end in an unusual way.  None that
# demands that no upcall is lost in a flood: such a daemon is too slow for that.
SYSTEMTESTS_SELECTION = bridge_ports \
	handlers_change socket_budget port_churn datapath_deleted \
	link_burst_own offload_toggle offload_threads offload_device_goes \
	offload_cleanup restart_after_exit restart_of_ovsdb
check-system-selection:
	$(MAKE) check-system SYSTEMTESTS='$(SYSTEMTESTS_SELECTION)'
.PHONY: check-system-selection
