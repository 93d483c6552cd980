# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/upcall/test-upcall-diagnose \
	tests/unit/upcall/test-upcall-age \
	tests/unit/upcall/test-upcall-buffers \
	tests/unit/upcall/test-upcall-calls \
	tests/unit/upcall/test-upcall-channel \
	tests/unit/upcall/test-upcall-delay \
	tests/unit/upcall/test-upcall-engine \
	tests/unit/upcall/test-upcall-errors \
	tests/unit/upcall/test-upcall-fair \
	tests/unit/upcall/test-upcall-fanout \
	tests/unit/upcall/test-upcall-fault \
	tests/unit/upcall/test-upcall-flood \
	tests/unit/upcall/test-upcall-fq \
	tests/unit/upcall/test-upcall-groups \
	tests/unit/upcall/test-upcall-halt \
	tests/unit/upcall/test-upcall-handlers \
	tests/unit/upcall/test-upcall-hold \
	tests/unit/upcall/test-upcall-latency \
	tests/unit/upcall/test-upcall-llc \
	tests/unit/upcall/test-upcall-msg \
	tests/unit/upcall/test-upcall-outdated \
	tests/unit/upcall/test-upcall-poll \
	tests/unit/upcall/test-upcall-queues \
	tests/unit/upcall/test-upcall-quiet \
	tests/unit/upcall/test-upcall-rcvbuf \
	tests/unit/upcall/test-upcall-recv \
	tests/unit/upcall/test-upcall-sched \
	tests/unit/upcall/test-upcall-sender-counts \
	tests/unit/upcall/test-upcall-senders \
	tests/unit/upcall/test-upcall-shed \
	tests/unit/upcall/test-upcall-show \
	tests/unit/upcall/test-upcall-source \
	tests/unit/upcall/test-upcall-sparse \
	tests/unit/upcall/test-upcall-state \
	tests/unit/upcall/test-upcall-stats \
	tests/unit/upcall/test-upcall-store \
	tests/unit/upcall/test-upcall-stress \
	tests/unit/upcall/test-upcall-table \
	tests/unit/upcall/test-upcall-threads \
	tests/unit/upcall/test-upcall-turn \
	tests/unit/upcall/test-upcall-wait \
	tests/unit/upcall/test-upcall-weight

unit_upcall_table = \
	tests/unit/upcall/table-fixture.c \
	tests/unit/upcall/table-fixture.h
unit_upcall_fair = \
	tests/unit/upcall/fair-fixture.c \
	tests/unit/upcall/fair-fixture.h

tests_unit_upcall_test_upcall_age_SOURCES = \
	tests/unit/upcall/test-upcall-age.c $(unit_common)
tests_unit_upcall_test_upcall_buffers_SOURCES = \
	tests/unit/upcall/test-upcall-buffers.c $(unit_common)
tests_unit_upcall_test_upcall_calls_SOURCES = \
	tests/unit/upcall/test-upcall-calls.c $(unit_handlers) $(unit_common)
tests_unit_upcall_test_upcall_calls_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=epoll_ctl \
	-Wl,--wrap=epoll_wait \
	-Wl,--wrap=recvmmsg
tests_unit_upcall_test_upcall_channel_SOURCES = \
	tests/unit/upcall/test-upcall-channel.c $(unit_common)
tests_unit_upcall_test_upcall_delay_SOURCES = \
	tests/unit/upcall/test-upcall-delay.c $(unit_common)
tests_unit_upcall_test_upcall_engine_SOURCES = \
	tests/unit/upcall/test-upcall-engine.c $(unit_common)
tests_unit_upcall_test_upcall_errors_SOURCES = \
	tests/unit/upcall/test-upcall-errors.c $(unit_uring) $(unit_common)
tests_unit_upcall_test_upcall_errors_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_uring_wrap) \
	-Wl,--wrap=recvmmsg \
	$(unit_clock_wrap)
tests_unit_upcall_test_upcall_fair_SOURCES = \
	tests/unit/upcall/test-upcall-fair.c $(unit_upcall_fair) $(unit_common)
tests_unit_upcall_test_upcall_fanout_SOURCES = \
	tests/unit/upcall/test-upcall-fanout.c $(unit_handlers) $(unit_common)
tests_unit_upcall_test_upcall_fanout_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=epoll_wait
tests_unit_upcall_test_upcall_fault_SOURCES = \
	tests/unit/upcall/test-upcall-fault.c $(unit_fault) $(unit_common)
tests_unit_upcall_test_upcall_fault_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) $(unit_fault_wrap) \
	-Wl,--wrap=epoll_create1 \
	-Wl,--wrap=epoll_ctl \
	-Wl,--wrap=eventfd \
	-Wl,--wrap=getrlimit \
	-Wl,--wrap=mmap \
	-Wl,--wrap=opendir \
	-Wl,--wrap=ppoll \
	-Wl,--wrap=recvmmsg \
	-Wl,--wrap=setrlimit
tests_unit_upcall_test_upcall_flood_SOURCES = \
	tests/unit/upcall/test-upcall-flood.c $(unit_upcall_table) $(unit_common)
tests_unit_upcall_test_upcall_fq_SOURCES = \
	tests/unit/upcall/test-upcall-fq.c $(unit_common)
tests_unit_upcall_test_upcall_groups_SOURCES = \
	tests/unit/upcall/test-upcall-groups.c $(unit_upcall_fair) \
	$(unit_handlers) $(unit_common)
tests_unit_upcall_test_upcall_halt_SOURCES = \
	tests/unit/upcall/test-upcall-halt.c $(unit_upcall_table) \
	$(unit_handlers) $(unit_made_up_clock) $(unit_common)
tests_unit_upcall_test_upcall_halt_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_made_up_clock_wrap) \
	-Wl,--wrap=pthread_cond_timedwait
tests_unit_upcall_test_upcall_handlers_SOURCES = \
	tests/unit/upcall/test-upcall-handlers.c $(unit_upcall_table) $(unit_common)
tests_unit_upcall_test_upcall_hold_SOURCES = \
	tests/unit/upcall/test-upcall-hold.c $(unit_upcall_table) $(unit_common)
tests_unit_upcall_test_upcall_latency_SOURCES = \
	tests/unit/upcall/test-upcall-latency.c $(unit_upcall_fair) \
	$(unit_made_up_clock) $(unit_common)
tests_unit_upcall_test_upcall_latency_LDFLAGS = \
	$(AM_LDFLAGS) \
	$(unit_made_up_clock_wrap)
tests_unit_upcall_test_upcall_llc_SOURCES = \
	tests/unit/upcall/test-upcall-llc.c $(unit_common)
tests_unit_upcall_test_upcall_msg_SOURCES = \
	tests/unit/upcall/test-upcall-msg.c $(unit_common)
tests_unit_upcall_test_upcall_outdated_SOURCES = \
	tests/unit/upcall/test-upcall-outdated.c $(unit_upcall_table) $(unit_common)
tests_unit_upcall_test_upcall_poll_SOURCES = \
	tests/unit/upcall/test-upcall-poll.c $(unit_common)
tests_unit_upcall_test_upcall_queues_SOURCES = \
	tests/unit/upcall/test-upcall-queues.c $(unit_upcall_table) \
	$(unit_handlers) $(unit_common)
tests_unit_upcall_test_upcall_queues_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=pthread_create \
	-Wl,--wrap=upcall_grace_wait
tests_unit_upcall_test_upcall_quiet_SOURCES = \
	tests/unit/upcall/test-upcall-quiet.c $(unit_upcall_fair) $(unit_common)
tests_unit_upcall_test_upcall_rcvbuf_SOURCES = \
	tests/unit/upcall/test-upcall-rcvbuf.c $(unit_upcall_table) $(unit_common)
tests_unit_upcall_test_upcall_rcvbuf_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=getsockopt \
	-Wl,--wrap=setsockopt
tests_unit_upcall_test_upcall_recv_SOURCES = \
	tests/unit/upcall/test-upcall-recv.c $(unit_upcall_table) $(unit_common)
tests_unit_upcall_test_upcall_sched_SOURCES = \
	tests/unit/upcall/test-upcall-sched.c $(unit_common)
tests_unit_upcall_test_upcall_sender_counts_SOURCES = \
	tests/unit/upcall/test-upcall-sender-counts.c $(unit_common)
tests_unit_upcall_test_upcall_senders_SOURCES = \
	tests/unit/upcall/test-upcall-senders.c $(unit_common)
tests_unit_upcall_test_upcall_senders_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=upcall_fq_total_bytes
tests_unit_upcall_test_upcall_shed_SOURCES = \
	tests/unit/upcall/test-upcall-shed.c $(unit_made_up_clock) \
	$(unit_common)
tests_unit_upcall_test_upcall_shed_LDFLAGS = \
	$(AM_LDFLAGS) \
	$(unit_made_up_clock_wrap) \
	-Wl,--wrap=getsockopt \
	-Wl,--wrap=recvmmsg
tests_unit_upcall_test_upcall_show_SOURCES = \
	tests/unit/upcall/test-upcall-show.c $(unit_shown) $(unit_common)
tests_unit_upcall_test_upcall_source_SOURCES = \
	tests/unit/upcall/test-upcall-source.c $(unit_base)
tests_unit_upcall_test_upcall_sparse_SOURCES = \
	tests/unit/upcall/test-upcall-sparse.c $(unit_upcall_fair) \
	$(unit_made_up_clock) $(unit_common)
tests_unit_upcall_test_upcall_sparse_LDFLAGS = \
	$(AM_LDFLAGS) \
	$(unit_made_up_clock_wrap)
tests_unit_upcall_test_upcall_state_SOURCES = \
	tests/unit/upcall/test-upcall-state.c $(unit_common)
tests_unit_upcall_test_upcall_stats_SOURCES = \
	tests/unit/upcall/test-upcall-stats.c $(unit_common)
tests_unit_upcall_test_upcall_store_SOURCES = \
	tests/unit/upcall/test-upcall-store.c $(unit_common)
tests_unit_upcall_test_upcall_store_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) \
	-Wl,--wrap=poll_timer_wait_until_at \
	-Wl,--wrap=recvmsg \
	-Wl,--wrap=sendmsg \
	-Wl,--wrap=setsockopt \
	-Wl,--wrap=socketpair
tests_unit_upcall_test_upcall_stress_SOURCES = \
	tests/unit/upcall/test-upcall-stress.c $(unit_handlers) $(unit_common)
tests_unit_upcall_test_upcall_table_SOURCES = \
	tests/unit/upcall/test-upcall-table.c $(unit_upcall_table) $(unit_common)
tests_unit_upcall_test_upcall_threads_SOURCES = \
	tests/unit/upcall/test-upcall-threads.c $(unit_handlers) $(unit_common)
tests_unit_upcall_test_upcall_turn_SOURCES = \
	tests/unit/upcall/test-upcall-turn.c $(unit_common)
tests_unit_upcall_test_upcall_diagnose_SOURCES = \
	tests/unit/upcall/test-upcall-diagnose.c $(unit_found) \
	$(unit_common)
tests_unit_upcall_test_upcall_wait_SOURCES = \
	tests/unit/upcall/test-upcall-wait.c $(unit_upcall_fair) \
	$(unit_made_up_clock) $(unit_common)
tests_unit_upcall_test_upcall_wait_LDFLAGS = \
	$(AM_LDFLAGS) \
	$(unit_made_up_clock_wrap)
tests_unit_upcall_test_upcall_weight_SOURCES = \
	tests/unit/upcall/test-upcall-weight.c $(unit_made_up_clock) \
	$(unit_common)
tests_unit_upcall_test_upcall_weight_LDFLAGS = \
	$(AM_LDFLAGS) \
	$(unit_made_up_clock_wrap)
