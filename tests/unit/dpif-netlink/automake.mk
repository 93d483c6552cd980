# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/dpif-netlink/test-datapath-diagnose \
	tests/unit/dpif-netlink/test-datapaths \
	tests/unit/dpif-netlink/test-settings-diagnose \
	tests/unit/dpif-netlink/test-dpif-class \
	tests/unit/dpif-netlink/test-fallback \
	tests/unit/dpif-netlink/test-fallback-handlers \
	tests/unit/dpif-netlink/test-fallback-modes \
	tests/unit/dpif-netlink/test-fallback-settings \
	tests/unit/dpif-netlink/test-fallback-sockets \
	tests/unit/dpif-netlink/test-fallback-uring \
	tests/unit/dpif-netlink/test-flow-api \
	tests/unit/dpif-netlink/test-flow-chains \
	tests/unit/dpif-netlink/test-flow-dump \
	tests/unit/dpif-netlink/test-flow-dump-devices \
	tests/unit/dpif-netlink/test-flow-dump-race \
	tests/unit/dpif-netlink/test-flow-operate \
	tests/unit/dpif-netlink/test-flow-random \
	tests/unit/dpif-netlink/test-flow-settings \
	tests/unit/dpif-netlink/test-flow-stale \
	tests/unit/dpif-netlink/test-forward \
	tests/unit/dpif-netlink/test-ports \
	tests/unit/dpif-netlink/test-provider \
	tests/unit/dpif-netlink/test-queues \
	tests/unit/dpif-netlink/test-revalidation \
	tests/unit/dpif-netlink/test-show \
	tests/unit/dpif-netlink/test-sync \
	tests/unit/dpif-netlink/test-takeover \
	tests/unit/dpif-netlink/test-takeover-ports

tests_unit_dpif_netlink_test_datapaths_SOURCES = \
	tests/unit/dpif-netlink/test-datapaths.c $(unit_common)
tests_unit_dpif_netlink_test_datapaths_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=dpif_netlink_class \
	-Wl,--wrap=ovs_datapath_get \
	-Wl,--wrap=ovs_genl_close \
	-Wl,--wrap=ovs_genl_open
tests_unit_dpif_netlink_test_dpif_class_SOURCES = \
	tests/unit/dpif-netlink/test-dpif-class.c $(unit_dpif) $(unit_common)
tests_unit_dpif_netlink_test_dpif_class_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_dpif_wrap) \
	-Wl,--wrap=dp_register_provider \
	-Wl,--wrap=dp_unregister_provider \
	-Wl,--wrap=kdp_flow_offload_delete_old_chains \
	-Wl,--wrap=kdp_flow_offload_end_old \
	-Wl,--wrap=kdp_flow_offload_keep_old \
	-Wl,--wrap=upcall_table_recv
tests_unit_dpif_netlink_test_forward_SOURCES = \
	tests/unit/dpif-netlink/test-forward.c $(unit_common)
tests_unit_dpif_netlink_test_forward_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=dp_register_provider \
	-Wl,--wrap=dp_unregister_provider \
	-Wl,--wrap=dpif_netlink_class
tests_unit_dpif_netlink_test_flow_api_SOURCES = \
	tests/unit/dpif-netlink/test-flow-api.c $(unit_common)
tests_unit_dpif_netlink_test_flow_api_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=kdp_datapaths_for_each \
	-Wl,--wrap=kdp_flow_offload_keeps_old \
	-Wl,--wrap=kdp_tc_count \
	-Wl,--wrap=kdp_tc_prepare_register \
	-Wl,--wrap=netdev_kdp_upcalls_set_source \
	-Wl,--wrap=show_offload_stats \
	-Wl,--wrap=upcall_table_get_stats \
	-Wl,--wrap=vport_table_get_by_name
tests_unit_dpif_netlink_test_provider_SOURCES = \
	tests/unit/dpif-netlink/test-provider.c $(unit_common)
tests_unit_dpif_netlink_test_provider_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=dispatch_check \
	-Wl,--wrap=dispatch_handlers_set \
	-Wl,--wrap=dispatch_is_per_port \
	-Wl,--wrap=dispatch_recv_set \
	-Wl,--wrap=dispatch_revalidate \
	-Wl,--wrap=dispatch_run \
	-Wl,--wrap=dispatch_set_features \
	-Wl,--wrap=dispatch_wait \
	-Wl,--wrap=dp_register_provider \
	-Wl,--wrap=dp_unregister_provider \
	-Wl,--wrap=dpif_netlink_class \
	-Wl,--wrap=if_notifier_kdp_catch_up \
	-Wl,--wrap=if_notifier_kdp_tunnel_refused \
	-Wl,--wrap=kdp_datapaths_close \
	-Wl,--wrap=kdp_datapaths_for_each \
	-Wl,--wrap=kdp_datapaths_open \
	-Wl,--wrap=kdp_diagnose_register \
	-Wl,--wrap=kdp_diagnose_set_config \
	-Wl,--wrap=kdp_flow_api_register \
	-Wl,--wrap=kdp_flow_dump_create \
	-Wl,--wrap=kdp_flow_offload_clean_up \
	-Wl,--wrap=kdp_flow_offload_forbid \
	-Wl,--wrap=kdp_flow_offload_ports_changed \
	-Wl,--wrap=kdp_flow_offload_run \
	-Wl,--wrap=kdp_flow_offload_set \
	-Wl,--wrap=kdp_flow_offload_wait \
	-Wl,--wrap=kdp_flow_operate \
	-Wl,--wrap=kdp_tc_check \
	-Wl,--wrap=kdp_tc_orphans_look \
	-Wl,--wrap=kdp_tc_orphans_stop \
	-Wl,--wrap=offload_flush \
	-Wl,--wrap=ovs_compat_offload_is_synced \
	-Wl,--wrap=poll_immediate_wake_at \
	-Wl,--wrap=ports_add \
	-Wl,--wrap=ports_del \
	-Wl,--wrap=ports_dump_done \
	-Wl,--wrap=ports_dump_next \
	-Wl,--wrap=ports_dump_start \
	-Wl,--wrap=ports_query_by_name \
	-Wl,--wrap=ports_query_by_number \
	-Wl,--wrap=settings_limit_handlers \
	-Wl,--wrap=settings_set \
	-Wl,--wrap=settings_set_port \
	-Wl,--wrap=show_offload_stats \
	-Wl,--wrap=show_register \
	-Wl,--wrap=takeover_begin \
	-Wl,--wrap=takeover_cancel \
	-Wl,--wrap=takeover_dump_begins \
	-Wl,--wrap=takeover_hides_flows \
	-Wl,--wrap=takeover_list \
	-Wl,--wrap=takeover_operated \
	-Wl,--wrap=takeover_port_added \
	-Wl,--wrap=takeover_ports_claim \
	-Wl,--wrap=takeover_ports_delete \
	-Wl,--wrap=takeover_ports_forget \
	-Wl,--wrap=takeover_ports_hides \
	-Wl,--wrap=takeover_ports_keep \
	-Wl,--wrap=takeover_ports_run \
	-Wl,--wrap=takeover_refuses_flush \
	-Wl,--wrap=takeover_revalidate \
	-Wl,--wrap=takeover_run \
	-Wl,--wrap=takeover_upcalls_on \
	-Wl,--wrap=takeover_wait \
	-Wl,--wrap=upcall_dest_dump_begins \
	-Wl,--wrap=upcall_dest_pid \
	-Wl,--wrap=upcall_dest_set_takeover \
	-Wl,--wrap=upcall_fq_total_bytes \
	-Wl,--wrap=upcall_store_end \
	-Wl,--wrap=upcall_store_is_left \
	-Wl,--wrap=upcall_store_leave \
	-Wl,--wrap=upcall_store_return \
	-Wl,--wrap=upcall_store_send \
	-Wl,--wrap=upcall_table_go_on \
	-Wl,--wrap=upcall_table_halt \
	-Wl,--wrap=upcall_table_purge \
	-Wl,--wrap=upcall_table_recv \
	-Wl,--wrap=upcall_table_recv_wait \
	-Wl,--wrap=upcall_table_set_handlers \
	-Wl,--wrap=vport_poller_create \
	-Wl,--wrap=vport_poller_destroy \
	-Wl,--wrap=vport_poller_next \
	-Wl,--wrap=vport_poller_wait
unit_fallback = \
	tests/unit/dpif-netlink/fallback-fixture.c \
	tests/unit/dpif-netlink/fallback-fixture.h \
	$(unit_uring) $(unit_common)
unit_fallback_wrap = \
	$(unit_uring_wrap) \
	-Wl,--wrap=epoll_create1 \
	-Wl,--wrap=if_notifier_kdp_outdated \
	-Wl,--wrap=nl_mcast_recv \
	-Wl,--wrap=ovs_datapath_get \
	-Wl,--wrap=ovs_datapath_set_features \
	-Wl,--wrap=ovs_vport_get_pids \
	-Wl,--wrap=ovs_vport_set_pids \
	-Wl,--wrap=poll_timer_wait_until_at \
	$(unit_clock_wrap) \
	-Wl,--wrap=vport_table_expire \
	-Wl,--wrap=vport_table_get_by_number \
	-Wl,--wrap=vport_table_list \
	-Wl,--wrap=vport_table_next_gone
tests_unit_dpif_netlink_test_queues_SOURCES = \
	tests/unit/dpif-netlink/test-queues.c $(unit_fallback) $(unit_fault)
tests_unit_dpif_netlink_test_queues_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_fallback_wrap) $(unit_fault_wrap) \
	-Wl,--wrap=upcall_table_get_counts \
	-Wl,--wrap=upcall_table_get_work
tests_unit_dpif_netlink_test_sync_SOURCES = \
	tests/unit/dpif-netlink/test-sync.c $(unit_fallback)
tests_unit_dpif_netlink_test_sync_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_fallback_wrap) \
	-Wl,--wrap=poll_fd_wait_at \
	-Wl,--wrap=socket_budget_wait \
	-Wl,--wrap=upcall_table_update_rates
tests_unit_dpif_netlink_test_fallback_SOURCES = \
	tests/unit/dpif-netlink/test-fallback.c $(unit_fallback)
tests_unit_dpif_netlink_test_fallback_LDFLAGS = $(AM_LDFLAGS) $(unit_fallback_wrap)
tests_unit_dpif_netlink_test_fallback_handlers_SOURCES = \
	tests/unit/dpif-netlink/test-fallback-handlers.c $(unit_fallback)
tests_unit_dpif_netlink_test_fallback_handlers_LDFLAGS = $(AM_LDFLAGS) $(unit_fallback_wrap)
tests_unit_dpif_netlink_test_fallback_modes_SOURCES = \
	tests/unit/dpif-netlink/test-fallback-modes.c $(unit_fallback)
tests_unit_dpif_netlink_test_fallback_modes_LDFLAGS = $(AM_LDFLAGS) $(unit_fallback_wrap)
tests_unit_dpif_netlink_test_fallback_settings_SOURCES = \
	tests/unit/dpif-netlink/test-fallback-settings.c $(unit_fallback)
tests_unit_dpif_netlink_test_fallback_settings_LDFLAGS = $(AM_LDFLAGS) $(unit_fallback_wrap)
tests_unit_dpif_netlink_test_fallback_sockets_SOURCES = \
	tests/unit/dpif-netlink/test-fallback-sockets.c $(unit_fallback)
tests_unit_dpif_netlink_test_fallback_sockets_LDFLAGS = $(AM_LDFLAGS) $(unit_fallback_wrap)
tests_unit_dpif_netlink_test_fallback_uring_SOURCES = \
	tests/unit/dpif-netlink/test-fallback-uring.c $(unit_common)
unit_flow_dump = \
	tests/unit/dpif-netlink/flow-dump-fixture.c \
	tests/unit/dpif-netlink/flow-dump-fixture.h \
	$(unit_dpif) $(unit_common)
tests_unit_dpif_netlink_test_flow_dump_SOURCES = \
	tests/unit/dpif-netlink/test-flow-dump.c $(unit_flow_dump)
tests_unit_dpif_netlink_test_flow_dump_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_dpif_wrap) -Wl,--wrap=flow_chains_disguise
tests_unit_dpif_netlink_test_flow_dump_devices_SOURCES = \
	tests/unit/dpif-netlink/test-flow-dump-devices.c $(unit_flow_dump)
tests_unit_dpif_netlink_test_flow_dump_devices_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_dpif_wrap)
tests_unit_dpif_netlink_test_flow_dump_race_SOURCES = \
	tests/unit/dpif-netlink/test-flow-dump-race.c $(unit_flow_dump)
tests_unit_dpif_netlink_test_flow_dump_race_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_dpif_wrap)
tests_unit_dpif_netlink_test_flow_operate_SOURCES = \
	tests/unit/dpif-netlink/test-flow-operate.c $(unit_dpif) $(unit_common)
tests_unit_dpif_netlink_test_flow_operate_LDFLAGS = $(AM_LDFLAGS) $(unit_dpif_wrap)
tests_unit_dpif_netlink_test_flow_random_SOURCES = \
	tests/unit/dpif-netlink/test-flow-random.c $(unit_dpif) $(unit_common)
tests_unit_dpif_netlink_test_flow_random_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_dpif_wrap)
tests_unit_dpif_netlink_test_flow_settings_SOURCES = \
	tests/unit/dpif-netlink/test-flow-settings.c $(unit_dpif) $(unit_common)
tests_unit_dpif_netlink_test_flow_settings_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_dpif_wrap) \
	-Wl,--wrap=kdp_links_follow_qdiscs \
	-Wl,--wrap=kdp_tc_clean_chains \
	-Wl,--wrap=kdp_tc_orphans_last_ended \
	-Wl,--wrap=kdp_tc_orphans_look \
	-Wl,--wrap=kdp_tc_orphans_was_port \
	-Wl,--wrap=netdev_get_block_id \
	-Wl,--wrap=netdev_kdp_lag_add \
	-Wl,--wrap=netdev_kdp_lag_clean \
	-Wl,--wrap=netdev_kdp_lag_remove \
	-Wl,--wrap=offload_keep_chains \
	-Wl,--wrap=ovs_compat_meter_set \
	-Wl,--wrap=ovs_compat_offload_is_enabled \
	-Wl,--wrap=offload_configure \
	-Wl,--wrap=offload_create \
	-Wl,--wrap=offload_meters_changed \
	-Wl,--wrap=vport_table_get_by_number
tests_unit_dpif_netlink_test_flow_chains_SOURCES = \
	tests/unit/dpif-netlink/test-flow-chains.c $(unit_common)
tests_unit_dpif_netlink_test_flow_stale_SOURCES = \
	tests/unit/dpif-netlink/test-flow-stale.c $(unit_common)
tests_unit_dpif_netlink_test_ports_SOURCES = \
	tests/unit/dpif-netlink/test-ports.c $(unit_fault) $(unit_common)
tests_unit_dpif_netlink_test_ports_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_fault_wrap) \
	-Wl,--wrap=dpif_netlink_rtnl_port_create \
	-Wl,--wrap=dpif_netlink_rtnl_port_destroy \
	-Wl,--wrap=dpif_netlink_rtnl_probe_oot_tunnels \
	-Wl,--wrap=dpif_netlink_rtnl_tunnel_create \
	-Wl,--wrap=dpif_netlink_rtnl_tunnel_destroy \
	-Wl,--wrap=epoll_ctl \
	-Wl,--wrap=if_notifier_kdp_catch_up \
	-Wl,--wrap=kdp_flow_offload_port_del \
	-Wl,--wrap=kdp_flow_offload_ports_changed \
	-Wl,--wrap=kdp_flow_offload_was_port \
	-Wl,--wrap=kdp_links_catch_up \
	-Wl,--wrap=netdev_linux_ethtool_set_flag \
	-Wl,--wrap=ovs_datapath_set_features \
	-Wl,--wrap=ovs_router_lookup \
	-Wl,--wrap=ovs_vport_del \
	-Wl,--wrap=ovs_vport_new \
	-Wl,--wrap=ovs_vport_set_pids \
	-Wl,--wrap=vport_table_expire \
	-Wl,--wrap=vport_table_recheck \
	-Wl,--wrap=vport_table_get_by_name \
	-Wl,--wrap=vport_table_get_by_number \
	-Wl,--wrap=vport_table_list
tests_unit_dpif_netlink_test_revalidation_SOURCES = \
	tests/unit/dpif-netlink/test-revalidation.c $(unit_common)
tests_unit_dpif_netlink_test_show_SOURCES = \
	tests/unit/dpif-netlink/test-show.c $(unit_control) $(unit_dpif) \
	$(unit_common)
tests_unit_dpif_netlink_test_show_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_dpif_wrap) \
	-Wl,--wrap=kdp_datapaths_for_each \
	-Wl,--wrap=vport_table_list
tests_unit_dpif_netlink_test_takeover_SOURCES = \
	tests/unit/dpif-netlink/test-takeover.c $(unit_dpif) $(unit_common)
tests_unit_dpif_netlink_test_takeover_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_dpif_wrap) \
	-Wl,--wrap=kdp_flow_offload_delete_old_chains \
	-Wl,--wrap=kdp_flow_offload_end_old \
	-Wl,--wrap=kdp_flow_offload_keep_old \
	-Wl,--wrap=offload_port_had_rules \
	-Wl,--wrap=poll_immediate_wake_at \
	-Wl,--wrap=poll_timer_wait_until_at \
	-Wl,--wrap=seq_wait_at \
	-Wl,--wrap=socket \
	-Wl,--wrap=syscall \
	-Wl,--wrap=upcall_table_set_first_recirc_id \
	-Wl,--wrap=vport_table_get_by_name
tests_unit_dpif_netlink_test_takeover_ports_SOURCES = \
	tests/unit/dpif-netlink/test-takeover-ports.c $(unit_common)
tests_unit_dpif_netlink_test_takeover_ports_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=dpif_netlink_rtnl_port_create \
	-Wl,--wrap=dpif_netlink_rtnl_tunnel_create \
	-Wl,--wrap=if_nametoindex \
	-Wl,--wrap=kdp_flow_offload_ports_changed \
	-Wl,--wrap=kdp_flow_offload_was_port \
	-Wl,--wrap=netdev_vport_get_dpif_port \
	-Wl,--wrap=ports_del \
	-Wl,--wrap=takeover_port_added \
	-Wl,--wrap=takeover_port_stays \
	-Wl,--wrap=takeover_refuses_flush \
	-Wl,--wrap=vport_table_get_by_number
tests_unit_dpif_netlink_test_settings_diagnose_SOURCES = \
	tests/unit/dpif-netlink/test-settings-diagnose.c $(unit_found) \
	$(unit_common)
tests_unit_dpif_netlink_test_datapath_diagnose_SOURCES = \
	tests/unit/dpif-netlink/test-datapath-diagnose.c $(unit_found) \
	$(unit_common)
