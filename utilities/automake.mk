# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	quickstart \
	tests/utilities/test-guest.sh \
	tests/utilities/test-quickstart.sh \
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

# Benchmarks.  BENCHFLAGS are options of the program; see its --help.
EXTRA_DIST += utilities/bench-upcall utilities/bench/plot-upcall
EXTRA_PROGRAMS += utilities/bench/upcall-traffic
utilities_bench_upcall_traffic_SOURCES = utilities/bench/upcall-traffic.c
utilities_bench_upcall_traffic_CFLAGS = -std=gnu11 $(KDP_CFLAGS)
utilities_bench_upcall_traffic_CPPFLAGS =
utilities_bench_upcall_traffic_LDFLAGS =
utilities_bench_upcall_traffic_LDADD = -lm -lpthread
CLEANFILES += utilities/bench/upcall-traffic$(EXEEXT)

bench-upcall: all utilities/bench/upcall-traffic
	$(srcdir)/utilities/bench-upcall --builddir '$(abs_builddir)' \
	    $(BENCHFLAGS)
bench: bench-upcall
.PHONY: bench bench-upcall
