# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	quickstart \
	tests/utilities/test-guest.sh \
	tests/utilities/test-quickstart.sh \
	utilities/bench-upcall \
	utilities/bench/upcall-in-guest \
	utilities/bench/upcall_report.py \
	utilities/bench/upcall_switch.py \
	utilities/bench/upcall_trace.py \
	utilities/guest \
	utilities/guest.d/init \
	utilities/packages \
	utilities/quickstart-guest \
	utilities/quickstart-steps

# What the tests themselves rely on.
check-guest:
	$(srcdir)/tests/utilities/test-quickstart.sh
	$(srcdir)/tests/utilities/test-guest.sh
.PHONY: check-guest

# Sends and measures in the benchmark below.  As for the tools of the tests, it
# has none of the flags of the daemon.
check_PROGRAMS += utilities/bench/upcall-traffic
utilities_bench_upcall_traffic_SOURCES = utilities/bench/upcall-traffic.c
utilities_bench_upcall_traffic_CPPFLAGS =
utilities_bench_upcall_traffic_CFLAGS = -std=gnu11 $(KDP_CFLAGS)
utilities_bench_upcall_traffic_LDFLAGS =
utilities_bench_upcall_traffic_LDADD = -lm

# How upcalls are served, next to the stock daemon, in a guest.  BENCHFLAGS are
# options of utilities/bench-upcall.
bench-upcall: all utilities/bench/upcall-traffic
	$(srcdir)/utilities/bench-upcall --builddir '$(abs_builddir)' \
	    $(BENCHFLAGS)
.PHONY: bench-upcall
