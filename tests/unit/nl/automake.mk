# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/nl/test-nl-answer \
	tests/unit/nl/test-nl-attrs \
	tests/unit/nl/test-nl-conn \
	tests/unit/nl/test-nl-filter \
	tests/unit/nl/test-nl-mcast \
	tests/unit/nl/test-ovs-genl \
	tests/unit/nl/test-ovs-stats

tests_unit_nl_test_nl_answer_SOURCES = tests/unit/nl/test-nl-answer.c $(unit_common)
tests_unit_nl_test_nl_answer_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=nl_kernel_recv \
	-Wl,--wrap=mnl_socket_sendto
tests_unit_nl_test_nl_attrs_SOURCES = tests/unit/nl/test-nl-attrs.c $(unit_common)
tests_unit_nl_test_nl_conn_SOURCES = \
	tests/unit/nl/test-nl-conn.c $(unit_see_links) $(unit_link) $(unit_common)
tests_unit_nl_test_nl_filter_SOURCES = \
	tests/unit/nl/test-nl-filter.c $(unit_common)
tests_unit_nl_test_nl_mcast_SOURCES = \
	tests/unit/nl/test-nl-mcast.c $(unit_see_links) $(unit_link) $(unit_common)
tests_unit_nl_test_nl_mcast_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=mnl_socket_bind \
	-Wl,--wrap=recvmsg
tests_unit_nl_test_ovs_genl_SOURCES = tests/unit/nl/test-ovs-genl.c $(unit_common)
tests_unit_nl_test_ovs_genl_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=free \
	-Wl,--wrap=genl_family_lookup \
	-Wl,--wrap=nl_conn_close \
	-Wl,--wrap=nl_conn_ext_error \
	-Wl,--wrap=nl_conn_open \
	-Wl,--wrap=nl_conn_transact
tests_unit_nl_test_ovs_stats_SOURCES = tests/unit/nl/test-ovs-stats.c $(unit_common)
