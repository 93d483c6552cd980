# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/link/test-link-addr \
	tests/unit/link/test-link-fault \
	tests/unit/link/test-link-filter \
	tests/unit/link/test-link-listener \
	tests/unit/link/test-link-local \
	tests/unit/link/test-link-local-random \
	tests/unit/link/test-link-msg \
	tests/unit/link/test-link-msg-route \
	tests/unit/link/test-link-qdisc \
	tests/unit/link/test-link-random \
	tests/unit/link/test-link-route \
	tests/unit/link/test-link-show \
	tests/unit/link/test-link-store \
	tests/unit/link/test-link-table

tests_unit_link_test_link_addr_SOURCES = tests/unit/link/test-link-addr.c $(unit_common)
tests_unit_link_test_link_fault_SOURCES = \
	tests/unit/link/test-link-fault.c $(unit_fault) $(unit_link) $(unit_common)
tests_unit_link_test_link_fault_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_fault_wrap) \
	-Wl,--wrap=getsockopt \
	-Wl,--wrap=mnl_socket_recvfrom \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=recvmsg
tests_unit_link_test_link_filter_SOURCES = \
	tests/unit/link/test-link-filter.c $(unit_common)
tests_unit_link_test_link_listener_SOURCES = \
	tests/unit/link/test-link-listener.c $(unit_link) $(unit_common)
tests_unit_link_test_link_local_SOURCES = \
	tests/unit/link/test-link-local.c $(unit_route) $(unit_link) $(unit_common)
tests_unit_link_test_link_local_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=mnl_socket_sendto $(unit_clock_wrap)
tests_unit_link_test_link_local_random_SOURCES = \
	tests/unit/link/test-link-local-random.c \
	$(unit_rest) $(unit_route) $(unit_link) $(unit_common)
tests_unit_link_test_link_msg_SOURCES = tests/unit/link/test-link-msg.c $(unit_common)
tests_unit_link_test_link_msg_route_SOURCES = \
	tests/unit/link/test-link-msg-route.c $(unit_common)
tests_unit_link_test_link_qdisc_SOURCES = \
	tests/unit/link/test-link-qdisc.c $(unit_common)
tests_unit_link_test_link_random_SOURCES = \
	tests/unit/link/test-link-random.c \
	$(unit_rest) $(unit_link) $(unit_common)
tests_unit_link_test_link_random_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=recvmsg
tests_unit_link_test_link_route_SOURCES = \
	tests/unit/link/test-link-route.c $(unit_common)
tests_unit_link_test_link_show_SOURCES = \
	tests/unit/link/test-link-show.c $(unit_link) $(unit_common)
tests_unit_link_test_link_store_SOURCES = \
	tests/unit/link/test-link-store.c $(unit_common)
tests_unit_link_test_link_table_SOURCES = \
	tests/unit/link/test-link-table.c $(unit_common)
tests_unit_link_test_link_table_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
