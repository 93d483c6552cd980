# SPDX-License-Identifier: Apache-2.0

# Native unit tests on cmocka: neither root nor a guest is needed.  To add one,
# name tests/unit/test-X here and list its sources in tests_unit_test_X_SOURCES.
# A test that makes functions fail adds, for example,
#
#   tests_unit_test_X_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=epoll_ctl
#
# (see unit-fault.h).
unit_tests = \
	tests/unit/test-build-info \
	tests/unit/test-fault \
	tests/unit/test-kdp-fallback \
	tests/unit/test-kdp-ports \
	tests/unit/test-link-addr \
	tests/unit/test-link-fault \
	tests/unit/test-link-filter \
	tests/unit/test-link-listener \
	tests/unit/test-link-local \
	tests/unit/test-link-local-random \
	tests/unit/test-link-msg \
	tests/unit/test-link-msg-route \
	tests/unit/test-link-qdisc \
	tests/unit/test-link-random \
	tests/unit/test-link-route \
	tests/unit/test-link-show \
	tests/unit/test-link-table \
	tests/unit/test-netdev-classes \
	tests/unit/test-netdev-fault \
	tests/unit/test-netdev-links \
	tests/unit/test-nl-answer \
	tests/unit/test-nl-conn \
	tests/unit/test-ovs-stats \
	tests/unit/test-proc-net-dev \
	tests/unit/test-unixctl-override \
	tests/unit/test-id-fpool \
	tests/unit/test-latency-hist \
	tests/unit/test-moving-average \
	tests/unit/test-mpsc-queue \
	tests/unit/test-offload \
	tests/unit/test-offload-config \
	tests/unit/test-offload-desc \
	tests/unit/test-offload-dpif \
	tests/unit/test-offload-dpif-random \
	tests/unit/test-offload-dump \
	tests/unit/test-offload-failure \
	tests/unit/test-offload-model \
	tests/unit/test-offload-queue \
	tests/unit/test-offload-race \
	tests/unit/test-offload-show \
	tests/unit/test-offload-tc \
	tests/unit/test-show-args \
	tests/unit/test-tc-request \
	tests/unit/test-thread-counters \
	tests/unit/test-upcall-channel \
	tests/unit/test-upcall-engine \
	tests/unit/test-upcall-errors \
	tests/unit/test-upcall-fair \
	tests/unit/test-upcall-msg \
	tests/unit/test-upcall-poll \
	tests/unit/test-upcall-sched \
	tests/unit/test-upcall-show \
	tests/unit/test-upcall-stress \
	tests/unit/test-upcall-table \
	tests/unit/test-upcall-threads \
	tests/unit/test-upcall-turn \
	tests/unit/test-vport-poll \
	tests/unit/test-vport-random \
	tests/unit/test-vport-show \
	tests/unit/test-vport-sync \
	tests/unit/test-vport-table \
	tests/unit/test-vport-threads

# What the tests share.
unit_common = \
	tests/unit/unit-upcall.c \
	tests/unit/unit-upcall.h
unit_fault = \
	tests/unit/unit-fault.c \
	tests/unit/unit-fault.h
unit_fault_wrap = \
	-Wl,--wrap=mnl_socket_bind \
	-Wl,--wrap=mnl_socket_open2 \
	-Wl,--wrap=mnl_socket_setsockopt \
	-Wl,--wrap=setsockopt
unit_link = \
	tests/unit/unit-link.c \
	tests/unit/unit-link.h
unit_route = \
	tests/unit/unit-route.c \
	tests/unit/unit-route.h
unit_handlers = \
	tests/unit/unit-handlers.c \
	tests/unit/unit-handlers.h
unit_offload = \
	tests/fake/offload-fake.c \
	tests/fake/offload-fake.h \
	tests/unit/unit-offload.c \
	tests/unit/unit-offload.h
unit_tc = \
	tests/unit/unit-tc.c \
	tests/unit/unit-tc.h \
	$(unit_link)
unit_tc_wrap = \
	-Wl,--wrap=kdp_stock_nl_dump_next \
	-Wl,--wrap=nl_dump_done \
	-Wl,--wrap=nl_transact_multiple \
	-Wl,--wrap=tc_dump_flower_start
unit_dpif = \
	tests/unit/unit-dpif.c \
	tests/unit/unit-dpif.h \
	$(unit_tc)
unit_dpif_wrap = $(unit_tc_wrap) -Wl,--wrap=ovs_flow_flush
unit_uring = \
	tests/unit/unit-uring.c \
	tests/unit/unit-uring.h
unit_uring_wrap = \
	-Wl,--wrap=io_uring_queue_init_params \
	-Wl,--wrap=io_uring_register_buf_ring \
	-Wl,--wrap=io_uring_submit_and_wait
unit_vport = \
	tests/unit/unit-vport.c \
	tests/unit/unit-vport.h
unit_vport_wrap = \
	-Wl,--wrap=if_indextoname \
	-Wl,--wrap=mnl_socket_recvfrom \
	-Wl,--wrap=mnl_socket_sendto

tests_unit_test_build_info_SOURCES = tests/unit/test-build-info.c
tests_unit_test_fault_SOURCES = \
	tests/unit/test-fault.c $(unit_fault) $(unit_common)
tests_unit_test_fault_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_fault_wrap) \
	-Wl,--wrap=epoll_create1 \
	-Wl,--wrap=epoll_ctl \
	-Wl,--wrap=eventfd \
	-Wl,--wrap=getrlimit \
	-Wl,--wrap=mmap \
	-Wl,--wrap=recvmmsg \
	-Wl,--wrap=setrlimit
tests_unit_test_kdp_fallback_SOURCES = \
	tests/unit/test-kdp-fallback.c $(unit_uring) $(unit_common)
tests_unit_test_kdp_fallback_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_uring_wrap) \
	-Wl,--wrap=nl_mcast_recv \
	-Wl,--wrap=ovs_datapath_set_features \
	-Wl,--wrap=ovs_vport_set_pid \
	-Wl,--wrap=socketpair \
	-Wl,--wrap=time_msec \
	-Wl,--wrap=vport_table_list
tests_unit_test_kdp_ports_SOURCES = \
	tests/unit/test-kdp-ports.c $(unit_fault) $(unit_common)
tests_unit_test_kdp_ports_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_fault_wrap) \
	-Wl,--wrap=dpif_netlink_rtnl_port_create \
	-Wl,--wrap=dpif_netlink_rtnl_port_destroy \
	-Wl,--wrap=dpif_netlink_rtnl_probe_oot_tunnels \
	-Wl,--wrap=epoll_ctl \
	-Wl,--wrap=ovs_vport_del \
	-Wl,--wrap=ovs_vport_new \
	-Wl,--wrap=vport_table_doubt \
	-Wl,--wrap=vport_table_get_by_number
tests_unit_test_link_addr_SOURCES = tests/unit/test-link-addr.c $(unit_common)
tests_unit_test_link_fault_SOURCES = \
	tests/unit/test-link-fault.c $(unit_fault) $(unit_link) $(unit_common)
tests_unit_test_link_fault_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_fault_wrap) \
	-Wl,--wrap=getsockopt \
	-Wl,--wrap=mnl_socket_recvfrom \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=recvmsg
tests_unit_test_link_filter_SOURCES = \
	tests/unit/test-link-filter.c $(unit_common)
tests_unit_test_link_listener_SOURCES = \
	tests/unit/test-link-listener.c $(unit_link) $(unit_common)
tests_unit_test_link_local_SOURCES = \
	tests/unit/test-link-local.c $(unit_route) $(unit_link) $(unit_common)
tests_unit_test_link_local_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=mnl_socket_sendto -Wl,--wrap=time_msec
tests_unit_test_link_local_random_SOURCES = \
	tests/unit/test-link-local-random.c \
	$(unit_route) $(unit_link) $(unit_common)
tests_unit_test_link_msg_SOURCES = tests/unit/test-link-msg.c $(unit_common)
tests_unit_test_link_msg_route_SOURCES = \
	tests/unit/test-link-msg-route.c $(unit_common)
tests_unit_test_link_qdisc_SOURCES = \
	tests/unit/test-link-qdisc.c $(unit_common)
tests_unit_test_link_random_SOURCES = \
	tests/unit/test-link-random.c $(unit_link) $(unit_common)
tests_unit_test_link_random_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=recvmsg
tests_unit_test_link_route_SOURCES = \
	tests/unit/test-link-route.c $(unit_common)
tests_unit_test_link_show_SOURCES = \
	tests/unit/test-link-show.c $(unit_link) $(unit_common)
tests_unit_test_link_table_SOURCES = \
	tests/unit/test-link-table.c $(unit_common)
tests_unit_test_link_table_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
tests_unit_test_netdev_classes_SOURCES = tests/unit/test-netdev-classes.c
tests_unit_test_netdev_fault_SOURCES = \
	tests/unit/test-netdev-fault.c \
	$(unit_fault) $(unit_link) $(unit_common)
tests_unit_test_netdev_fault_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_fault_wrap) \
	-Wl,--wrap=af_inet_ioctl \
	-Wl,--wrap=get_stats_via_netlink \
	-Wl,--wrap=mnl_socket_sendto \
	-Wl,--wrap=open \
	-Wl,--wrap=proc_net_dev_read \
	-Wl,--wrap=tc_add_del_qdisc
tests_unit_test_netdev_links_SOURCES = \
	tests/unit/test-netdev-links.c $(unit_route) $(unit_link) $(unit_common)
tests_unit_test_netdev_links_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=ovs_router_flush -Wl,--wrap=time_msec
tests_unit_test_nl_answer_SOURCES = tests/unit/test-nl-answer.c $(unit_common)
tests_unit_test_nl_answer_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=mnl_socket_recvfrom \
	-Wl,--wrap=mnl_socket_sendto
tests_unit_test_nl_conn_SOURCES = tests/unit/test-nl-conn.c $(unit_common)
tests_unit_test_ovs_stats_SOURCES = tests/unit/test-ovs-stats.c $(unit_common)
tests_unit_test_proc_net_dev_SOURCES = \
	tests/unit/test-proc-net-dev.c $(unit_common)
tests_unit_test_unixctl_override_SOURCES = \
	tests/unit/test-unixctl-override.c $(unit_common)
tests_unit_test_id_fpool_SOURCES = \
	tests/unit/test-id-fpool.c $(unit_common)
tests_unit_test_latency_hist_SOURCES = \
	tests/unit/test-latency-hist.c $(unit_common)
tests_unit_test_moving_average_SOURCES = \
	tests/unit/test-moving-average.c $(unit_common)
tests_unit_test_mpsc_queue_SOURCES = \
	tests/unit/test-mpsc-queue.c $(unit_common)
tests_unit_test_offload_config_SOURCES = \
	tests/unit/test-offload-config.c $(unit_dpif) $(unit_common)
tests_unit_test_offload_config_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_dpif_wrap) \
	-Wl,--wrap=vport_table_get_by_number
tests_unit_test_offload_desc_SOURCES = \
	tests/unit/test-offload-desc.c $(unit_common)
tests_unit_test_offload_dpif_SOURCES = \
	tests/unit/test-offload-dpif.c $(unit_dpif) $(unit_common)
tests_unit_test_offload_dpif_LDFLAGS = $(AM_LDFLAGS) $(unit_dpif_wrap)
tests_unit_test_offload_dpif_random_SOURCES = \
	tests/unit/test-offload-dpif-random.c $(unit_dpif) $(unit_common)
tests_unit_test_offload_dpif_random_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_dpif_wrap)
tests_unit_test_offload_dump_SOURCES = \
	tests/unit/test-offload-dump.c $(unit_dpif) $(unit_common)
tests_unit_test_offload_dump_LDFLAGS = $(AM_LDFLAGS) $(unit_dpif_wrap)
tests_unit_test_offload_failure_SOURCES = \
	tests/unit/test-offload-failure.c $(unit_offload) $(unit_common)
tests_unit_test_offload_queue_SOURCES = \
	tests/unit/test-offload-queue.c $(unit_offload) $(unit_common)
tests_unit_test_offload_model_SOURCES = \
	tests/unit/test-offload-model.c $(unit_offload) $(unit_common)
tests_unit_test_offload_race_SOURCES = \
	tests/unit/test-offload-race.c $(unit_offload) $(unit_common)
tests_unit_test_offload_show_SOURCES = \
	tests/unit/test-offload-show.c $(unit_common)
tests_unit_test_offload_tc_SOURCES = \
	tests/unit/test-offload-tc.c $(unit_tc) $(unit_common)
tests_unit_test_offload_tc_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_tc_wrap) -Wl,--wrap=kdp_tc_translate
tests_unit_test_offload_SOURCES = \
	tests/unit/test-offload.c $(unit_offload) $(unit_common)
tests_unit_test_show_args_SOURCES = \
	tests/unit/test-show-args.c $(unit_common)
tests_unit_test_tc_request_SOURCES = \
	tests/unit/test-tc-request.c $(unit_tc) $(unit_common)
tests_unit_test_tc_request_LDFLAGS = $(AM_LDFLAGS) $(unit_tc_wrap)
tests_unit_test_thread_counters_SOURCES = \
	tests/unit/test-thread-counters.c $(unit_common)
tests_unit_test_upcall_channel_SOURCES = \
	tests/unit/test-upcall-channel.c $(unit_common)
tests_unit_test_upcall_engine_SOURCES = \
	tests/unit/test-upcall-engine.c $(unit_common)
tests_unit_test_upcall_errors_SOURCES = \
	tests/unit/test-upcall-errors.c $(unit_uring) $(unit_common)
tests_unit_test_upcall_errors_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_uring_wrap) \
	-Wl,--wrap=recvmmsg \
	-Wl,--wrap=time_msec
tests_unit_test_upcall_fair_SOURCES = \
	tests/unit/test-upcall-fair.c $(unit_common)
tests_unit_test_upcall_sched_SOURCES = \
	tests/unit/test-upcall-sched.c $(unit_common)
tests_unit_test_upcall_turn_SOURCES = \
	tests/unit/test-upcall-turn.c $(unit_common)
tests_unit_test_upcall_msg_SOURCES = \
	tests/unit/test-upcall-msg.c $(unit_common)
tests_unit_test_upcall_poll_SOURCES = \
	tests/unit/test-upcall-poll.c $(unit_common)
tests_unit_test_upcall_show_SOURCES = \
	tests/unit/test-upcall-show.c $(unit_common)
tests_unit_test_upcall_stress_SOURCES = \
	tests/unit/test-upcall-stress.c $(unit_handlers) $(unit_common)
tests_unit_test_upcall_table_SOURCES = \
	tests/unit/test-upcall-table.c $(unit_common)
tests_unit_test_upcall_threads_SOURCES = \
	tests/unit/test-upcall-threads.c $(unit_handlers) $(unit_common)
tests_unit_test_vport_poll_SOURCES = \
	tests/unit/test-vport-poll.c $(unit_vport) $(unit_common)
tests_unit_test_vport_poll_LDFLAGS = $(AM_LDFLAGS) $(unit_vport_wrap)
tests_unit_test_vport_random_SOURCES = \
	tests/unit/test-vport-random.c $(unit_vport) $(unit_common)
tests_unit_test_vport_random_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_vport_wrap) -Wl,--wrap=time_msec
tests_unit_test_vport_show_SOURCES = \
	tests/unit/test-vport-show.c $(unit_common)
tests_unit_test_vport_sync_SOURCES = \
	tests/unit/test-vport-sync.c $(unit_vport) $(unit_fault) $(unit_common)
tests_unit_test_vport_sync_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_vport_wrap) $(unit_fault_wrap)
tests_unit_test_vport_table_SOURCES = \
	tests/unit/test-vport-table.c $(unit_vport) $(unit_common)
tests_unit_test_vport_table_LDFLAGS = $(AM_LDFLAGS) $(unit_vport_wrap)
tests_unit_test_vport_threads_SOURCES = \
	tests/unit/test-vport-threads.c $(unit_vport) $(unit_common)
tests_unit_test_vport_threads_LDFLAGS = $(AM_LDFLAGS) $(unit_vport_wrap)

# Programs that have no LDADD of their own.  The archives depend on each other
# in a circle: Open vSwitch calls our poll().
LDADD = \
	$(GROUP_BEGIN) lib/libkdp.a $(OVS_ARCHIVES) $(OVS_LIBS) $(GROUP_END) \
	$(LIBMNL_LIBS) $(LIBURING_LIBS) $(CMOCKA_LIBS)

unit_test_objects = \
	$(unit_tests:=.$(OBJEXT)) \
	tests/fake/offload-fake.$(OBJEXT) \
	tests/unit/unit-fault.$(OBJEXT) \
	tests/unit/unit-dpif.$(OBJEXT) \
	tests/unit/unit-handlers.$(OBJEXT) \
	tests/unit/unit-link.$(OBJEXT) \
	tests/unit/unit-offload.$(OBJEXT) \
	tests/unit/unit-route.$(OBJEXT) \
	tests/unit/unit-tc.$(OBJEXT) \
	tests/unit/unit-upcall.$(OBJEXT) \
	tests/unit/unit-uring.$(OBJEXT) \
	tests/unit/unit-vport.$(OBJEXT)
$(unit_test_objects): $(EXTRA_OVS_DEPS)

# Without this, what the undefined behaviour sanitizer reports does not make a
# test fail, and the thread sanitizer reports what is not ours.
tsan_suppressions = tests/unit/tsan-suppressions.txt
EXTRA_DIST += $(tsan_suppressions)
AM_TESTS_ENVIRONMENT = \
	UBSAN_OPTIONS=$${UBSAN_OPTIONS-halt_on_error=1:print_stacktrace=1}; \
	TSAN_OPTIONS=$${TSAN_OPTIONS-suppressions=$(abs_srcdir)/$(tsan_suppressions)}; \
	export UBSAN_OPTIONS TSAN_OPTIONS;

# What the built daemon has for tracers.
TESTS += tests/unit/test-upcall-probes.sh
EXTRA_DIST += tests/unit/test-upcall-probes.sh

if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
else
EXTRA_PROGRAMS += $(unit_tests)
check-local:
	@echo 'make check: the unit tests need cmocka, which configure did' \
	    'not find (apt-get install libcmocka-dev)' >&2; exit 1
endif
