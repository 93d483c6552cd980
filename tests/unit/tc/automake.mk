# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/tc/test-tc-action \
	tests/unit/tc/test-tc-adopt \
	tests/unit/tc/test-tc-backend \
	tests/unit/tc/test-tc-chains \
	tests/unit/tc/test-tc-desc \
	tests/unit/tc/test-tc-explain \
	tests/unit/tc/test-tc-handle \
	tests/unit/tc/test-tc-list \
	tests/unit/tc/test-tc-orphans \
	tests/unit/tc/test-tc-parse \
	tests/unit/tc/test-tc-prio \
	tests/unit/tc/test-tc-rules \
	tests/unit/tc/test-tc-shared-action \
	tests/unit/tc/test-tc-transact \
	tests/unit/tc/test-tc-translate \
	tests/unit/tc/test-tc-zeros

unit_tc_places = \
	tests/unit/tc/places-fixture.c \
	tests/unit/tc/places-fixture.h \
	$(unit_tc) $(unit_common)
unit_tc_places_wrap = $(unit_tc_wrap) \
	-Wl,--wrap=ingress_qdisc_for_each \
	-Wl,--wrap=ovs_compat_ports_traverse
unit_backend = \
	tests/unit/tc/backend-fixture.c \
	tests/unit/tc/backend-fixture.h \
	$(unit_tc) $(unit_common)
tests_unit_tc_test_tc_action_SOURCES = \
	tests/unit/tc/test-tc-action.c $(unit_common)
tests_unit_tc_test_tc_action_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=kdp_stock_nl_dump_next \
	-Wl,--wrap=kdp_tc_dump_actions -Wl,--wrap=nl_dump_done \
	-Wl,--wrap=nl_dump_start
tests_unit_tc_test_tc_adopt_SOURCES = \
	tests/unit/tc/test-tc-adopt.c $(unit_backend)
tests_unit_tc_test_tc_adopt_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_tc_wrap) -Wl,--wrap=kdp_tc_translate \
	-Wl,--wrap=ovs_compat_rule_dump_create \
	-Wl,--wrap=ovs_compat_rule_dump_destroy \
	-Wl,--wrap=ovs_compat_rule_dump_next
tests_unit_tc_test_tc_explain_SOURCES = \
	tests/unit/tc/test-tc-explain.c $(unit_common)
tests_unit_tc_test_tc_explain_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=nl_conn_open -Wl,--wrap=nl_conn_close \
	-Wl,--wrap=nl_conn_transact -Wl,--wrap=nl_conn_ext_error
tests_unit_tc_test_tc_handle_SOURCES = \
	tests/unit/tc/test-tc-handle.c \
	tests/harness/processes.c tests/harness/processes.h $(unit_common)
tests_unit_tc_test_tc_prio_SOURCES = \
	tests/unit/tc/test-tc-prio.c $(unit_backend)
tests_unit_tc_test_tc_prio_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_tc_wrap) -Wl,--wrap=kdp_tc_translate \
	-Wl,--wrap=kdp_tc_prepare_restore
tests_unit_tc_test_tc_rules_SOURCES = \
	tests/unit/tc/test-tc-rules.c $(unit_backend)
tests_unit_tc_test_tc_rules_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_tc_wrap) -Wl,--wrap=kdp_tc_handle_free \
	-Wl,--wrap=kdp_tc_translate
tests_unit_tc_test_tc_backend_SOURCES = \
	tests/unit/tc/test-tc-backend.c $(unit_backend)
tests_unit_tc_test_tc_backend_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_tc_wrap) \
	-Wl,--wrap=ingress_qdisc_get \
	-Wl,--wrap=kdp_tc_place \
	-Wl,--wrap=kdp_tc_translate \
	-Wl,--wrap=kdp_links_qdiscs \
	-Wl,--wrap=link_qdiscs_are_known \
	-Wl,--wrap=link_qdiscs_has_ingress \
	-Wl,--wrap=tc_add_del_qdisc
tests_unit_tc_test_tc_chains_SOURCES = \
	tests/unit/tc/test-tc-chains.c $(unit_tc) $(unit_common)
tests_unit_tc_test_tc_chains_LDFLAGS = $(AM_LDFLAGS) $(unit_tc_wrap) \
	-Wl,--wrap=netdev_get_block_id \
	-Wl,--wrap=ovs_compat_ports_traverse \
	-Wl,--wrap=tc_add_del_qdisc \
	-Wl,--wrap=tc_dump_tc_action_start \
	-Wl,--wrap=tc_dump_tc_chain_start \
	-Wl,--wrap=tc_transact
tests_unit_tc_test_tc_list_SOURCES = \
	tests/unit/tc/test-tc-list.c $(unit_tc_places)
tests_unit_tc_test_tc_list_LDFLAGS = $(AM_LDFLAGS) $(unit_tc_places_wrap)
tests_unit_tc_test_tc_orphans_SOURCES = \
	tests/unit/tc/test-tc-orphans.c $(unit_tc_places)
tests_unit_tc_test_tc_orphans_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_tc_places_wrap) -Wl,--wrap=ovs_thread_create \
	-Wl,--wrap=xpthread_join
tests_unit_tc_test_tc_parse_SOURCES = \
	tests/unit/tc/test-tc-parse.c $(unit_common)
tests_unit_tc_test_tc_parse_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) -Wl,--wrap=kdp_stock_nl_dump_next
tests_unit_tc_test_tc_desc_SOURCES = \
	tests/unit/tc/test-tc-desc.c $(unit_common)
tests_unit_tc_test_tc_shared_action_SOURCES = \
	tests/unit/tc/test-tc-shared-action.c $(unit_backend)
tests_unit_tc_test_tc_shared_action_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_tc_wrap) -Wl,--wrap=kdp_tc_translate \
	-Wl,--wrap=kdp_tc_prepare_restore
tests_unit_tc_test_tc_transact_SOURCES = \
	tests/unit/tc/test-tc-transact.c $(unit_tc) $(unit_common)
tests_unit_tc_test_tc_transact_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_tc_wrap) -Wl,--wrap=netdev_get_block_id
tests_unit_tc_test_tc_translate_SOURCES = \
	tests/unit/tc/test-tc-translate.c $(unit_tc) $(unit_common)
tests_unit_tc_test_tc_translate_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_tc_wrap) -Wl,--wrap=ovs_compat_flow_put \
	-Wl,--wrap=tc_transact
tests_unit_tc_test_tc_zeros_SOURCES = \
	tests/unit/tc/test-tc-zeros.c $(unit_common)
