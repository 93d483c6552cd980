# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	quickstart \
	tests/utilities/test-bench.sh \
	tests/utilities/test-build-kernel.sh \
	tests/utilities/test-check-foreign.sh \
	tests/utilities/test-check-kernels.sh \
	tests/utilities/test-check-ovs.sh \
	tests/utilities/test-check-soak.sh \
	tests/utilities/test-check-system.sh \
	tests/utilities/test-check-versions.sh \
	tests/utilities/test-guest.sh \
	tests/utilities/test-quickstart.sh \
	utilities/10-ovs-kdp-reload.conf \
	utilities/bench-link \
	utilities/bench-offload \
	utilities/bench-restart \
	utilities/bench-rtnl \
	utilities/bench-upcall \
	utilities/bench/bench_host.py \
	utilities/bench/bench_in_guest.py \
	utilities/bench/bench_options.py \
	utilities/bench/bench_plot.py \
	utilities/bench/bench_provenance.py \
	utilities/bench/bench_report.py \
	utilities/bench/bench_results.py \
	utilities/bench/epoll-wait.c \
	utilities/bench/figures.py \
	utilities/bench/link_page.py \
	utilities/bench/link_report.py \
	utilities/bench/make-pages \
	utilities/bench/modules_page.py \
	utilities/bench/offload-in-guest \
	utilities/bench/offload_page.py \
	utilities/bench/offload_report.py \
	utilities/bench/offload_switch.py \
	utilities/bench/pages.py \
	utilities/bench/per-vport.c \
	utilities/bench/publish \
	utilities/bench/restart-in-guest \
	utilities/bench/restart_page.py \
	utilities/bench/restart_report.py \
	utilities/bench/rtnl-in-guest \
	utilities/bench/rtnl-watch/Kbuild \
	utilities/bench/rtnl-watch/rtnl_watch.c \
	utilities/bench/rtnl_conditions.py \
	utilities/bench/rtnl_controller.py \
	utilities/bench/rtnl_page.py \
	utilities/bench/rtnl_report.py \
	utilities/bench/table_page.py \
	utilities/bench/tc-watch/Kbuild \
	utilities/bench/tc-watch/tc_watch.c \
	utilities/bench/upcall-in-guest \
	utilities/bench/upcall_instructions.py \
	utilities/bench/upcall_page.py \
	utilities/bench/upcall_report.py \
	utilities/bench/upcall_switch.py \
	utilities/bench/upcall_trace.py \
	utilities/failed-cases.awk \
	utilities/guest \
	utilities/guest.d/boot \
	utilities/guest.d/init \
	utilities/guest.d/measure \
	utilities/guest.d/modprobe \
	utilities/guest.d/programs \
	utilities/ovs-kdp-switch.in \
	utilities/ovs-vswitchd-sandbox.conf \
	utilities/ovs-vswitchd-sockets.conf \
	utilities/packages \
	utilities/packages-all \
	utilities/packages-all-12 \
	utilities/packages-all-13 \
	utilities/packages-check \
	utilities/packages-check-12 \
	utilities/packages-check-13 \
	utilities/quickstart-guest \
	utilities/quickstart-host \
	utilities/quickstart-results \
	utilities/quickstart-stages \
	utilities/quickstart-steps

# What the tests themselves rely on.
check-guest:
	@status=0; for test in quickstart check-system check-ovs check-foreign \
	    check-soak check-versions check-kernels build-kernel guest; do \
	    $(srcdir)/tests/utilities/test-$$test.sh || status=1; \
	done; exit $$status
.PHONY: check-guest

# Sends and measures in the benchmark below.  As for the tools of the tests, it
# has none of the flags of the daemon.
check_PROGRAMS += utilities/bench/upcall-traffic
utilities_bench_upcall_traffic_SOURCES = \
	utilities/bench/upcall-receive.c \
	utilities/bench/upcall-send.c \
	utilities/bench/upcall-traffic.c \
	utilities/bench/upcall-traffic.h
utilities_bench_upcall_traffic_CPPFLAGS =
utilities_bench_upcall_traffic_CFLAGS = -std=gnu11 $(KDP_CFLAGS)
utilities_bench_upcall_traffic_LDFLAGS =
utilities_bench_upcall_traffic_LDADD = -lm

# Opens a socket for each port and handler.
check_PROGRAMS += utilities/bench/per-handler
utilities_bench_per_handler_SOURCES = utilities/bench/per-handler.c
utilities_bench_per_handler_CPPFLAGS =
utilities_bench_per_handler_CFLAGS = -std=gnu11 $(KDP_CFLAGS) $(LIBMNL_CFLAGS)
utilities_bench_per_handler_LDFLAGS =
utilities_bench_per_handler_LDADD = $(LIBMNL_LIBS)

# Uses nothing but the C library.
check_PROGRAMS += utilities/bench/count-instructions
utilities_bench_count_instructions_SOURCES = \
	utilities/bench/count-instructions.c
utilities_bench_count_instructions_CPPFLAGS =
utilities_bench_count_instructions_CFLAGS = -std=gnu11 $(KDP_CFLAGS)
utilities_bench_count_instructions_LDFLAGS =
utilities_bench_count_instructions_LDADD =

# These are of the daemon's own code.
link_bench = \
	utilities/bench/churn-links \
	utilities/bench/dump-links \
	utilities/bench/link-lookup
check_PROGRAMS += $(link_bench)
utilities_bench_churn_links_SOURCES = utilities/bench/churn-links.c
utilities_bench_dump_links_SOURCES = utilities/bench/dump-links.c
utilities_bench_link_lookup_SOURCES = utilities/bench/link-lookup.c
link_bench_objects = $(link_bench:=.$(OBJEXT))
$(link_bench_objects): $(EXTRA_OVS_DEPS)

# Libraries, which the stock daemon is started with, of one file each.
bench_libraries = utilities/bench/epoll-wait.so utilities/bench/per-vport.so
utilities/bench/epoll-wait.so: utilities/bench/epoll-wait.c
utilities/bench/per-vport.so: utilities/bench/per-vport.c
$(bench_libraries):
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) -std=gnu11 $(KDP_CFLAGS) $(CFLAGS) \
	    -shared -fPIC -o $@ $(srcdir)/$(@:.so=.c)
CLEANFILES += $(bench_libraries)

# How upcalls are served, next to the stock daemon, in a guest.  BENCHFLAGS are
# options of utilities/bench-upcall.
bench-upcall: all ovs-build-stock utilities/bench/upcall-traffic \
    utilities/bench/per-handler utilities/bench/count-instructions \
    $(bench_libraries)
	$(srcdir)/utilities/bench-upcall --builddir '$(abs_builddir)' \
	    $(BENCHFLAGS)

# Measures acquisitions of the RTNL lock, next to the stock daemon, in a guest.
bench-rtnl: all ovs-build-stock
	$(srcdir)/utilities/bench-rtnl --builddir '$(abs_builddir)' $(BENCHFLAGS)

# Measures flows that go to tc, next to the stock daemon, in a guest.
bench-offload: all ovs-build-stock utilities/bench/upcall-traffic
	$(srcdir)/utilities/bench-offload --builddir '$(abs_builddir)' \
	    $(BENCHFLAGS)

# Measures restarts, next to the stock daemon, in a guest.
bench-restart: all ovs-build-stock tests/system/traffic
	$(srcdir)/utilities/bench-restart --builddir '$(abs_builddir)' \
	    $(BENCHFLAGS)

# Measures lookups in the link table natively, and dumps of links in a guest.
bench-link: all $(link_bench)
	$(srcdir)/utilities/bench-link --builddir '$(abs_builddir)' $(BENCHFLAGS)

bench: bench-upcall bench-rtnl bench-offload bench-restart bench-link
.PHONY: bench bench-link bench-offload bench-restart bench-rtnl bench-upcall

# That the benchmarks measure what they say: with upcalls few ports, a minute or
# two in a guest, or all, an hour.
BENCHTESTS = help wrong_arguments result_files traffic_arguments old_results \
	published quick_run every_frame_missed every_frame_accounted_for all_members \
	idle_port_is_spared floods_are_too_much chassis where_handlers_sleep \
	provenance unavailable restart_arguments restart_report \
	rtnl_arguments offload_arguments \
	link_arguments link_lookups
check-bench: all ovs-build-stock utilities/bench/upcall-traffic \
    utilities/bench/per-handler utilities/bench/count-instructions \
    $(bench_libraries) $(link_bench)
	$(srcdir)/tests/utilities/test-bench.sh '$(abs_builddir)' $(BENCHTESTS)
check-bench-all:
	$(MAKE) check-bench BENCHTESTS=
.PHONY: check-bench check-bench-all

# Building blocks beside others of their kind; no guest.
EXTRA_DIST += utilities/bench-modules
EXTRA_PROGRAMS += utilities/bench/bench-modules
utilities_bench_bench_modules_SOURCES = \
	tests/fake/offload-fake.c \
	tests/fake/offload-fake.h \
	utilities/bench/modules/modules-engine.c \
	utilities/bench/modules/modules-fold.c \
	utilities/bench/modules/modules-ids.c \
	utilities/bench/modules/modules-queue-kdp.c \
	utilities/bench/modules/modules-queue-ovs.c \
	utilities/bench/modules/modules-queue.c \
	utilities/bench/modules/modules-queue.h \
	utilities/bench/modules/modules.c \
	utilities/bench/modules/modules.h
utilities_bench_bench_modules_CPPFLAGS = $(AM_CPPFLAGS)
utilities_bench_bench_modules_LDADD = $(LDADD)
if HAVE_URCU
utilities_bench_bench_modules_SOURCES += \
	utilities/bench/modules/modules-queue-urcu-splice.c \
	utilities/bench/modules/modules-queue-urcu.c
utilities_bench_bench_modules_CPPFLAGS += -DHAVE_URCU $(URCU_CFLAGS)
utilities_bench_bench_modules_LDADD += $(URCU_LIBS)
endif
$(utilities_bench_bench_modules_OBJECTS): $(EXTRA_OVS_DEPS)
CLEANFILES += utilities/bench/bench-modules$(EXEEXT)

bench-modules: utilities/bench/bench-modules
	$(srcdir)/utilities/bench-modules --builddir '$(abs_builddir)' \
	    $(BENCHFLAGS)
bench: bench-modules
.PHONY: bench-modules

# What is installed.
# The distribution's daemon, the group of alternatives that it is in, and the
# service that stands for both services of Open vSwitch, as in Debian.
ovs_daemon = /usr/lib/openvswitch-switch/ovs-vswitchd
ovs_alternative = ovs-vswitchd
ovs_service = openvswitch-switch
sbin_SCRIPTS = utilities/ovs-kdp-switch
CLEANFILES += utilities/ovs-kdp-switch
utilities/ovs-kdp-switch: utilities/ovs-kdp-switch.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(SED) -e 's|@kdplibdir[@]|$(kdplibdir)|; s|@ovs_daemon[@]|$(ovs_daemon)|' \
	    -e 's|@ovs_alternative[@]|$(ovs_alternative)|' \
	    -e 's|@ovs_service[@]|$(ovs_service)|' \
	    $(srcdir)/utilities/ovs-kdp-switch.in >$@.tmp && \
	chmod +x $@.tmp && mv $@.tmp $@
