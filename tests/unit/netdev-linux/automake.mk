# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/netdev-linux/test-ingress-qdisc \
	tests/unit/netdev-linux/test-links-diagnose \
	tests/unit/netdev-linux/test-netdev-bridge \
	tests/unit/netdev-linux/test-netdev-check \
	tests/unit/netdev-linux/test-netdev-classes \
	tests/unit/netdev-linux/test-netdev-fault \
	tests/unit/netdev-linux/test-netdev-fault-lag \
	tests/unit/netdev-linux/test-netdev-fault-ns \
	tests/unit/netdev-linux/test-netdev-fault-stats \
	tests/unit/netdev-linux/test-netdev-links \
	tests/unit/netdev-linux/test-netdev-locks \
	tests/unit/netdev-linux/test-netdev-mii \
	tests/unit/netdev-linux/test-netdev-qos \
	tests/unit/netdev-linux/test-netdev-show \
	tests/unit/netdev-linux/test-netdev-speed \
	tests/unit/netdev-linux/test-netdev-stats \
	tests/unit/netdev-linux/test-netdev-veth \
	tests/unit/netdev-linux/test-qdisc-lock \
	tests/unit/netdev-linux/test-rtnl-count \
	tests/unit/netdev-linux/test-rtnl-worker \
	tests/unit/netdev-linux/test-stats-snapshot

netdev_fixture = \
	tests/unit/netdev-linux/netdev-fixture.c \
	tests/unit/netdev-linux/netdev-fixture.h

unit_rtnl_pairs = tests/unit/netdev-linux/rtnl-pairs.c
unit_rtnl_pairs_wrap = \
	-Wl,--wrap=kdp_rtnl_begin -Wl,--wrap=kdp_rtnl_end

unit_rtnl_at_once = tests/unit/netdev-linux/rtnl-at-once.c
unit_rtnl_at_once_wrap = -Wl,--wrap=rtnl_worker_add

unit_ifb_internal = tests/unit/netdev-linux/ifb-internal.c
unit_ifb_internal_wrap = -Wl,--wrap=link_table_update

tests_unit_netdev_linux_test_ingress_qdisc_SOURCES = \
	tests/unit/netdev-linux/test-ingress-qdisc.c $(unit_common)
tests_unit_netdev_linux_test_ingress_qdisc_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=kdp_stock_nl_dump_next \
	-Wl,--wrap=nl_dump_done \
	-Wl,--wrap=nl_dump_start
tests_unit_netdev_linux_test_netdev_bridge_SOURCES = \
	tests/unit/netdev-linux/test-netdev-bridge.c \
	$(unit_control) $(netdev_fixture) $(unit_route) $(unit_link) $(unit_common)
tests_unit_netdev_linux_test_netdev_speed_SOURCES = \
	tests/unit/netdev-linux/test-netdev-speed.c \
	$(unit_rtnl_at_once) $(netdev_fixture) $(unit_fault) $(unit_route) $(unit_link) \
	$(unit_common)
tests_unit_netdev_linux_test_netdev_speed_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_fault_wrap) \
	$(unit_rtnl_at_once_wrap) \
	-Wl,--wrap=af_inet_ioctl \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=nl_mcast_recv_all
tests_unit_netdev_linux_test_netdev_bridge_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) -Wl,--wrap=dp_enumerate_names
tests_unit_netdev_linux_test_netdev_check_SOURCES = \
	tests/unit/netdev-linux/test-netdev-check.c $(unit_common)
tests_unit_netdev_linux_test_netdev_check_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=netdev_linux_construct
tests_unit_netdev_linux_test_netdev_classes_SOURCES = \
	tests/unit/netdev-linux/test-netdev-classes.c $(unit_common)
tests_unit_netdev_linux_test_netdev_classes_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=kdp_stock_netdev_linux_run
unit_netdev_fault = \
	tests/unit/netdev-linux/netdev-fault-fixture.c \
	tests/unit/netdev-linux/netdev-fault-fixture.h \
	$(unit_rtnl_at_once) $(unit_ifb_internal) $(unit_fault) $(unit_link) \
	$(unit_common)
unit_netdev_fault_wrap = \
	$(unit_fault_wrap) $(unit_rtnl_at_once_wrap) \
	$(unit_ifb_internal_wrap) \
	-Wl,--wrap=af_inet_ioctl \
	-Wl,--wrap=dpif_netlink_vport_get \
	-Wl,--wrap=get_stats_via_netlink \
	-Wl,--wrap=ingress_qdisc_for_each \
	-Wl,--wrap=ingress_qdisc_get \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=netdev_get_addrs_list_flush \
	-Wl,--wrap=open \
	-Wl,--wrap=proc_net_dev_read \
	-Wl,--wrap=tc_add_del_qdisc
tests_unit_netdev_linux_test_netdev_fault_SOURCES = \
	tests/unit/netdev-linux/test-netdev-fault.c $(unit_netdev_fault)
tests_unit_netdev_linux_test_netdev_fault_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_netdev_fault_wrap)
tests_unit_netdev_linux_test_netdev_fault_lag_SOURCES = \
	tests/unit/netdev-linux/test-netdev-fault-lag.c $(unit_netdev_fault)
tests_unit_netdev_linux_test_netdev_fault_lag_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_netdev_fault_wrap)
tests_unit_netdev_linux_test_netdev_fault_ns_SOURCES = \
	tests/unit/netdev-linux/test-netdev-fault-ns.c $(unit_netdev_fault)
tests_unit_netdev_linux_test_netdev_fault_ns_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_netdev_fault_wrap)
tests_unit_netdev_linux_test_netdev_fault_stats_SOURCES = \
	tests/unit/netdev-linux/test-netdev-fault-stats.c $(unit_netdev_fault)
tests_unit_netdev_linux_test_netdev_fault_stats_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_netdev_fault_wrap)
tests_unit_netdev_linux_test_netdev_veth_SOURCES = \
	tests/unit/netdev-linux/test-netdev-veth.c $(unit_netdev_fault)
tests_unit_netdev_linux_test_netdev_veth_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_netdev_fault_wrap)
tests_unit_netdev_linux_test_netdev_links_SOURCES = \
	tests/unit/netdev-linux/test-netdev-links.c \
	$(unit_rtnl_at_once) $(unit_ifb_internal) $(netdev_fixture) \
	$(unit_route) $(unit_link) $(unit_common)
tests_unit_netdev_linux_test_netdev_links_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_rtnl_at_once_wrap) \
	$(unit_ifb_internal_wrap) \
	-Wl,--wrap=kdp_links_run \
	-Wl,--wrap=kdp_links_wait \
	-Wl,--wrap=netdev_kdp_mii_run \
	-Wl,--wrap=netdev_kdp_mii_wait \
	-Wl,--wrap=netdev_kdp_speed_run \
	-Wl,--wrap=netdev_kdp_speed_wait \
	-Wl,--wrap=netdev_kdp_state_run \
	-Wl,--wrap=netdev_kdp_stats_run \
	-Wl,--wrap=rtnl_worker_run \
	-Wl,--wrap=rtnl_worker_wait
tests_unit_netdev_linux_test_netdev_locks_SOURCES = \
	tests/unit/netdev-linux/test-netdev-locks.c \
	$(unit_rtnl_at_once) $(netdev_fixture) $(unit_route) $(unit_link) \
	$(unit_common)
tests_unit_netdev_linux_test_netdev_locks_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_rtnl_at_once_wrap) \
	-Wl,--wrap=ovs_mutex_lock_at -Wl,--wrap=recvmsg
tests_unit_netdev_linux_test_netdev_mii_SOURCES = \
	tests/unit/netdev-linux/test-netdev-mii.c \
	$(unit_rtnl_at_once) $(unit_rtnl_pairs) $(netdev_fixture) \
	$(unit_link) $(unit_common)
tests_unit_netdev_linux_test_netdev_mii_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_rtnl_at_once_wrap) \
	$(unit_rtnl_pairs_wrap) \
	-Wl,--wrap=af_inet_ioctl \
	-Wl,--wrap=netdev_get_devices
tests_unit_netdev_linux_test_netdev_show_SOURCES = \
	tests/unit/netdev-linux/test-netdev-show.c \
	$(unit_control) $(unit_ifb_internal) $(netdev_fixture) $(unit_route) \
	$(unit_link) $(unit_common)
tests_unit_netdev_linux_test_netdev_show_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_ifb_internal_wrap) \
	-Wl,--wrap=dpif_netlink_vport_get \
	-Wl,--wrap=link_table_set_buckets
tests_unit_netdev_linux_test_netdev_stats_SOURCES = \
	tests/unit/netdev-linux/test-netdev-stats.c \
	$(netdev_fixture) $(unit_link) $(unit_common)
tests_unit_netdev_linux_test_netdev_stats_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) \
	-Wl,--wrap=get_stats_via_netlink \
	-Wl,--wrap=ovs_genl_open \
	-Wl,--wrap=ovs_vport_counters_dump \
	-Wl,--wrap=ovs_vport_counters_get \
	-Wl,--wrap=proc_net_dev_read
tests_unit_netdev_linux_test_netdev_qos_SOURCES = \
	tests/unit/netdev-linux/test-netdev-qos.c \
	$(unit_rtnl_at_once) $(unit_rtnl_pairs) $(netdev_fixture) \
	$(unit_route) $(unit_link) \
	$(unit_common)
tests_unit_netdev_linux_test_netdev_qos_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_rtnl_at_once_wrap) \
	$(unit_rtnl_pairs_wrap) -Wl,--wrap=kdp_stock_nl_transact
tests_unit_netdev_linux_test_qdisc_lock_SOURCES = \
	tests/unit/netdev-linux/test-qdisc-lock.c $(unit_common)
tests_unit_netdev_linux_test_rtnl_count_SOURCES = \
	tests/unit/netdev-linux/test-rtnl-count.c $(unit_common)
tests_unit_netdev_linux_test_rtnl_worker_SOURCES = \
	tests/unit/netdev-linux/test-rtnl-worker.c \
	$(unit_rtnl_pairs) $(netdev_fixture) $(unit_link) $(unit_common)
tests_unit_netdev_linux_test_rtnl_worker_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_rtnl_pairs_wrap) \
	-Wl,--wrap=af_inet_ioctl -Wl,--wrap=latch_poll
tests_unit_netdev_linux_test_links_diagnose_SOURCES = \
	tests/unit/netdev-linux/test-links-diagnose.c $(unit_found) \
	$(unit_common)
tests_unit_netdev_linux_test_stats_snapshot_SOURCES = \
	tests/unit/netdev-linux/test-stats-snapshot.c $(unit_common)
