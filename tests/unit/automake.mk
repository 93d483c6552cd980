# SPDX-License-Identifier: Apache-2.0

# Native unit tests on cmocka: neither root nor a guest is needed.  To add one,
# name tests/unit/MODULE/test-X in tests/unit/MODULE/automake.mk and list its
# sources in tests_unit_MODULE_test_X_SOURCES, with $(unit_common).
# A test that makes functions fail adds, for example,
#
#   tests_unit_test_X_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=epoll_ctl
#
# (see harness/fault.h).
unit_tests =

# What the tests share, and the part of it that does not stand in for the kernel.
unit_common = \
	tests/harness/kernel-messages.c \
	tests/harness/kernel-messages.h \
	$(unit_base)
unit_base = \
	tests/harness/clock.c \
	tests/harness/clock.h \
	tests/harness/descriptors.c \
	tests/harness/descriptors.h \
	tests/harness/prng.c \
	tests/harness/prng.h \
	tests/harness/unit.c \
	tests/harness/unit.h \
	tests/harness/wait.c \
	tests/harness/wait.h \
	tests/harness/watchdog.c \
	tests/harness/watchdog.h
unit_clock_wrap = -Wl,--wrap=time_msec
unit_made_up_clock = \
	tests/harness/made-up-clock.c \
	tests/harness/made-up-clock.h
unit_made_up_clock_wrap = -Wl,--wrap=clock_gettime
unit_fault = \
	tests/harness/fault.c \
	tests/harness/fault.h
unit_fault_wrap = \
	-Wl,--wrap=mnl_socket_bind \
	-Wl,--wrap=mnl_socket_open2 \
	-Wl,--wrap=mnl_socket_setsockopt \
	-Wl,--wrap=setsockopt
unit_link = \
	tests/harness/netns.c \
	tests/harness/netns.h
unit_rest = \
	tests/harness/observer.c \
	tests/harness/observer.h \
	tests/harness/processes.c \
	tests/harness/processes.h
unit_route = \
	tests/harness/routes.c \
	tests/harness/routes.h
unit_see_links = \
	tests/harness/see-links.c \
	tests/harness/see-links.h
unit_control = \
	tests/harness/control.c \
	tests/harness/control.h
unit_handlers = \
	tests/harness/handlers.c \
	tests/harness/handlers.h
unit_offload = \
	tests/fake/offload-fake.c \
	tests/fake/offload-fake.h \
	tests/harness/offload-engine.c \
	tests/harness/offload-engine.h
unit_found = \
	tests/harness/found.c \
	tests/harness/found.h
unit_shown = \
	tests/harness/shown.c \
	tests/harness/shown.h
unit_tc = \
	tests/fake/tc-fake-dump.c \
	tests/fake/tc-fake-explain.c \
	tests/fake/tc-fake-flows.c \
	tests/fake/tc-fake-messages.c \
	tests/fake/tc-fake-private.h \
	tests/fake/tc-fake.c \
	tests/fake/tc-fake.h \
	$(unit_link)
unit_tc_wrap = \
	-Wl,--wrap=kdp_stock_nl_dump_next \
	-Wl,--wrap=kdp_tc_add_verbosely \
	-Wl,--wrap=kdp_tc_dump_actions \
	-Wl,--wrap=kdp_tc_explain \
	-Wl,--wrap=kdp_tc_may_be_skipped \
	-Wl,--wrap=nl_dump_done \
	-Wl,--wrap=nl_transact_multiple \
	-Wl,--wrap=tc_dump_flower_start
unit_dpif = \
	tests/fake/dpif-fake.c \
	tests/fake/dpif-fake.h \
	$(unit_tc)
unit_dpif_wrap = $(unit_tc_wrap) -Wl,--wrap=ovs_flow_flush
unit_uring = \
	tests/fake/uring-fake.c \
	tests/fake/uring-fake.h
unit_uring_wrap = \
	-Wl,--wrap=io_uring_queue_init_params \
	-Wl,--wrap=io_uring_register_buf_ring \
	-Wl,--wrap=io_uring_submit_and_wait
unit_vport = \
	tests/fake/vport-fake.c \
	tests/fake/vport-fake.h
unit_vport_wrap = \
	-Wl,--wrap=if_indextoname \
	-Wl,--wrap=nl_kernel_recv \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=recvmsg

unit_tests += tests/harness/test-harness
tests_harness_test_harness_SOURCES = \
	tests/harness/test-harness.c $(unit_fault) $(unit_common)
tests_harness_test_harness_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_fault_wrap)

include tests/unit/dpif-netlink/automake.mk
include tests/unit/link/automake.mk
include tests/unit/netdev-linux/automake.mk
include tests/unit/nl/automake.mk
include tests/unit/offload/automake.mk
include tests/unit/ovs/automake.mk
include tests/unit/stats/automake.mk
include tests/unit/tc/automake.mk
include tests/unit/unixctl/automake.mk
include tests/unit/upcall/automake.mk
include tests/unit/utilities/automake.mk
include tests/unit/vport/automake.mk
include tests/unit/vswitchd/automake.mk

# Programs that have no LDADD of their own.  The archives depend on each other
# in a circle: Open vSwitch calls our poll().
LDADD = \
	$(GROUP_BEGIN) lib/libkdp.a $(OVS_ARCHIVES) $(OVS_LIBS) $(GROUP_END) \
	$(LIBMNL_LIBS) $(LIBURING_LIBS) $(CMOCKA_LIBS)

unit_test_objects = \
	$(unit_tests:=.$(OBJEXT)) \
	tests/fake/offload-fake.$(OBJEXT) \
	tests/harness/clock.$(OBJEXT) \
	tests/harness/control.$(OBJEXT) \
	tests/harness/descriptors.$(OBJEXT) \
	tests/harness/fault.$(OBJEXT) \
	tests/fake/dpif-fake.$(OBJEXT) \
	tests/harness/handlers.$(OBJEXT) \
	tests/harness/kernel-messages.$(OBJEXT) \
	tests/harness/made-up-clock.$(OBJEXT) \
	tests/harness/netns.$(OBJEXT) \
	tests/harness/offload-engine.$(OBJEXT) \
	tests/unit/dpif-netlink/flow-dump-fixture.$(OBJEXT) \
	tests/unit/tc/backend-fixture.$(OBJEXT) \
	tests/harness/prng.$(OBJEXT) \
	tests/harness/found.$(OBJEXT) \
	tests/harness/shown.$(OBJEXT) \
	tests/harness/routes.$(OBJEXT) \
	tests/fake/tc-fake-dump.$(OBJEXT) \
	tests/fake/tc-fake-explain.$(OBJEXT) \
	tests/fake/tc-fake-flows.$(OBJEXT) \
	tests/fake/tc-fake-messages.$(OBJEXT) \
	tests/harness/see-links.$(OBJEXT) \
	tests/fake/tc-fake.$(OBJEXT) \
	tests/harness/unit.$(OBJEXT) \
	tests/harness/wait.$(OBJEXT) \
	tests/harness/watchdog.$(OBJEXT) \
	tests/fake/uring-fake.$(OBJEXT) \
	tests/fake/vport-fake.$(OBJEXT)
$(unit_test_objects): $(EXTRA_OVS_DEPS)

# Without this, what the undefined behaviour sanitizer reports does not make a
# test fail, and the thread sanitizer reports what is not ours.
tsan_suppressions = tests/unit/tsan-suppressions.txt
EXTRA_DIST += $(tsan_suppressions)
AM_TESTS_ENVIRONMENT = \
	UBSAN_OPTIONS=$${UBSAN_OPTIONS-halt_on_error=1:print_stacktrace=1}; \
	TSAN_OPTIONS=$${TSAN_OPTIONS-suppressions=$(abs_srcdir)/$(tsan_suppressions)}; \
	CC='$(CC)' NM='$(NM)' PYTHON3='$(PYTHON3)'; \
	export UBSAN_OPTIONS TSAN_OPTIONS CC NM PYTHON3;

# What the built daemon has for tracers.
TESTS += tests/unit/vswitchd/test-upcall-probes.sh
EXTRA_DIST += tests/unit/vswitchd/test-upcall-probes.sh

# Each unit test many times, while all CPUs are busy.  For example:
#
#   make check-unit-repeat N=20 JOBS=2 UNIT='tests/unit/link/test-link-table'
N = 20
JOBS = 1
UNIT = $(unit_tests)
check-unit-repeat: $(UNIT)
	@$(AM_TESTS_ENVIRONMENT) $(PYTHON3) $(srcdir)/tests/unit/repeat-tests \
	    --times $(N) --jobs $(JOBS) $(UNIT)
.PHONY: check-unit-repeat
EXTRA_DIST += tests/unit/repeat-tests
mostlyclean-local: clean-repeat-logs
clean-repeat-logs:
	rm -rf repeat-logs
.PHONY: clean-repeat-logs

if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
else
EXTRA_PROGRAMS += $(unit_tests)
check-local:
	@echo 'make check: the unit tests need cmocka, which configure did' \
	    'not find (apt-get install libcmocka-dev)' >&2; exit 1
endif

