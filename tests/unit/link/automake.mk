# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/link/test-link-addr \
	tests/unit/link/test-link-bound \
	tests/unit/link/test-link-churn \
	tests/unit/link/test-link-fault \
	tests/unit/link/test-link-fault-ns \
	tests/unit/link/test-link-follow \
	tests/unit/link/test-link-listener \
	tests/unit/link/test-link-listener-ns \
	tests/unit/link/test-link-local \
	tests/unit/link/test-link-local-random \
	tests/unit/link/test-link-msg \
	tests/unit/link/test-link-newer \
	tests/unit/link/test-link-notify \
	tests/unit/link/test-link-qdisc \
	tests/unit/link/test-link-qdisc-dump \
	tests/unit/link/test-link-random \
	tests/unit/link/test-link-route \
	tests/unit/link/test-link-show \
	tests/unit/link/test-link-store \
	tests/unit/link/test-link-table \
	tests/unit/link/test-link-table-ns

link_fault_fixture = \
	tests/unit/link/link-fault-fixture.c \
	tests/unit/link/link-fault-fixture.h
link_listener_fixture = \
	tests/unit/link/link-listener-fixture.c \
	tests/unit/link/link-listener-fixture.h
link_table_fixture = \
	tests/unit/link/link-table-fixture.c \
	tests/unit/link/link-table-fixture.h

tests_unit_link_test_link_addr_SOURCES = tests/unit/link/test-link-addr.c $(unit_common)
tests_unit_link_test_link_bound_SOURCES = \
	tests/unit/link/test-link-bound.c $(unit_common)
tests_unit_link_test_link_bound_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) \
	-Wl,--wrap=nl_kernel_recv \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=recvmsg \
	-Wl,--wrap=time_usec
tests_unit_link_test_link_churn_SOURCES = \
	tests/unit/link/test-link-churn.c \
	$(link_fault_fixture) $(unit_fault) $(unit_link) $(unit_common)
tests_unit_link_test_link_churn_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_fault_wrap) \
	-Wl,--wrap=getsockopt \
	-Wl,--wrap=nl_kernel_recv \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=recvmsg
tests_unit_link_test_link_fault_SOURCES = \
	tests/unit/link/test-link-fault.c \
	$(link_fault_fixture) $(unit_fault) $(unit_link) $(unit_common)
tests_unit_link_test_link_fault_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_fault_wrap) \
	-Wl,--wrap=getsockopt \
	-Wl,--wrap=nl_kernel_recv \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=recvmsg
tests_unit_link_test_link_fault_ns_SOURCES = \
	tests/unit/link/test-link-fault-ns.c \
	$(link_fault_fixture) $(unit_fault) $(unit_link) $(unit_common)
tests_unit_link_test_link_fault_ns_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_fault_wrap) \
	-Wl,--wrap=getsockopt \
	-Wl,--wrap=nl_kernel_recv \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=recvmsg
tests_unit_link_test_link_follow_SOURCES = \
	tests/unit/link/test-link-follow.c \
	$(link_listener_fixture) $(unit_link) $(unit_common)
tests_unit_link_test_link_follow_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=link_msg_parse
tests_unit_link_test_link_listener_SOURCES = \
	tests/unit/link/test-link-listener.c \
	$(link_listener_fixture) $(unit_link) $(unit_common)
tests_unit_link_test_link_listener_ns_SOURCES = \
	tests/unit/link/test-link-listener-ns.c \
	$(link_listener_fixture) $(unit_link) $(unit_common)
tests_unit_link_test_link_local_SOURCES = \
	tests/unit/link/test-link-local.c \
	$(unit_route) $(unit_link) $(unit_common)
tests_unit_link_test_link_local_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=mnl_socket_sendto
tests_unit_link_test_link_local_random_SOURCES = \
	tests/unit/link/test-link-local-random.c \
	$(unit_rest) $(unit_route) $(unit_link) $(unit_common)
tests_unit_link_test_link_msg_SOURCES = tests/unit/link/test-link-msg.c $(unit_common)
tests_unit_link_test_link_newer_SOURCES = \
	tests/unit/link/test-link-newer.c $(unit_common)
tests_unit_link_test_link_notify_SOURCES = \
	tests/unit/link/test-link-notify.c $(link_table_fixture) $(unit_common)
tests_unit_link_test_link_notify_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
tests_unit_link_test_link_qdisc_SOURCES = \
	tests/unit/link/test-link-qdisc.c $(unit_common)
tests_unit_link_test_link_qdisc_dump_SOURCES = \
	tests/unit/link/test-link-qdisc-dump.c $(unit_common)
tests_unit_link_test_link_qdisc_dump_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) \
	-Wl,--wrap=nl_kernel_recv \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=recvmsg
tests_unit_link_test_link_random_SOURCES = \
	tests/unit/link/test-link-random.c \
	$(unit_rest) $(unit_link) $(unit_common)
tests_unit_link_test_link_random_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=recvmsg
tests_unit_link_test_link_route_SOURCES = \
	tests/unit/link/test-link-route.c \
	$(unit_route) $(unit_link) $(unit_common)
tests_unit_link_test_link_route_LDFLAGS = $(AM_LDFLAGS) $(unit_clock_wrap)
tests_unit_link_test_link_show_SOURCES = \
	tests/unit/link/test-link-show.c $(unit_shown) $(unit_link) \
	$(unit_common)
tests_unit_link_test_link_store_SOURCES = \
	tests/unit/link/test-link-store.c $(unit_common)
tests_unit_link_test_link_table_SOURCES = \
	tests/unit/link/test-link-table.c $(link_table_fixture) $(unit_common)
tests_unit_link_test_link_table_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
tests_unit_link_test_link_table_ns_SOURCES = \
	tests/unit/link/test-link-table-ns.c $(link_table_fixture) $(unit_common)
tests_unit_link_test_link_table_ns_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
