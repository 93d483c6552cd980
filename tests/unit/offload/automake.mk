# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/offload/test-offload-diagnose \
	tests/unit/offload/test-id-fpool \
	tests/unit/offload/test-mpsc-queue \
	tests/unit/offload/test-mpsc-queue-threads \
	tests/unit/offload/test-offload \
	tests/unit/offload/test-offload-audit \
	tests/unit/offload/test-offload-batch \
	tests/unit/offload/test-offload-failure \
	tests/unit/offload/test-offload-model \
	tests/unit/offload/test-offload-queue \
	tests/unit/offload/test-offload-race \
	tests/unit/offload/test-offload-rebalance \
	tests/unit/offload/test-offload-report \
	tests/unit/offload/test-offload-retry \
	tests/unit/offload/test-offload-show \
	tests/unit/offload/test-offload-state \
	tests/unit/offload/test-offload-reader \
	tests/unit/offload/test-offload-stats \
	tests/unit/offload/test-offload-thread \
	tests/unit/offload/test-offload-withdraw

tests_unit_offload_test_id_fpool_SOURCES = \
	tests/unit/offload/test-id-fpool.c $(unit_common)
tests_unit_offload_test_mpsc_queue_SOURCES = \
	tests/unit/offload/mpsc-queue-item.h \
	tests/unit/offload/test-mpsc-queue.c $(unit_common)
tests_unit_offload_test_mpsc_queue_threads_SOURCES = \
	tests/unit/offload/mpsc-queue-item.h \
	tests/unit/offload/test-mpsc-queue-threads.c $(unit_common)
tests_unit_offload_test_offload_SOURCES = \
	tests/unit/offload/test-offload.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_LDFLAGS = $(AM_LDFLAGS) $(unit_clock_wrap)
tests_unit_offload_test_offload_audit_SOURCES = \
	tests/unit/offload/test-offload-audit.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_audit_LDFLAGS = $(AM_LDFLAGS) $(unit_clock_wrap)
tests_unit_offload_test_offload_batch_SOURCES = \
	tests/unit/offload/test-offload-batch.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_batch_LDFLAGS = $(AM_LDFLAGS) $(unit_clock_wrap)
tests_unit_offload_test_offload_reader_SOURCES = \
	tests/unit/offload/test-offload-reader.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_reader_LDFLAGS = $(AM_LDFLAGS) $(unit_clock_wrap)
tests_unit_offload_test_offload_failure_SOURCES = \
	tests/unit/offload/test-offload-failure.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_failure_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap)
tests_unit_offload_test_offload_report_SOURCES = \
	tests/unit/offload/test-offload-report.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_report_LDFLAGS = $(AM_LDFLAGS) $(unit_clock_wrap)
tests_unit_offload_test_offload_retry_SOURCES = \
	tests/unit/offload/test-offload-retry.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_retry_LDFLAGS = $(AM_LDFLAGS) $(unit_clock_wrap)
tests_unit_offload_test_offload_model_SOURCES = \
	tests/unit/offload/test-offload-model.c \
	tests/unit/offload/model.c tests/unit/offload/model.h \
	$(unit_offload) $(unit_common)
tests_unit_offload_test_offload_queue_SOURCES = \
	tests/unit/offload/test-offload-queue.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_race_SOURCES = \
	tests/unit/offload/test-offload-race.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_rebalance_SOURCES = \
	tests/unit/offload/test-offload-rebalance.c $(unit_offload) \
	$(unit_common)
tests_unit_offload_test_offload_rebalance_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap)
tests_unit_offload_test_offload_show_SOURCES = \
	tests/unit/offload/test-offload-show.c $(unit_shown) $(unit_common)
tests_unit_offload_test_offload_state_SOURCES = \
	tests/unit/offload/test-offload-state.c \
	$(unit_offload) $(unit_common)
tests_unit_offload_test_offload_stats_SOURCES = \
	tests/unit/offload/test-offload-stats.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_stats_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_clock_wrap) -Wl,--wrap=poll_timer_wait_until_at
tests_unit_offload_test_offload_thread_SOURCES = \
	tests/unit/offload/test-offload-thread.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_thread_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=pthread_join
tests_unit_offload_test_offload_withdraw_SOURCES = \
	tests/unit/offload/test-offload-withdraw.c $(unit_offload) $(unit_common)
tests_unit_offload_test_offload_withdraw_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=offload_withdraw_ports
tests_unit_offload_test_offload_diagnose_SOURCES = \
	tests/unit/offload/test-offload-diagnose.c $(unit_found) \
	$(unit_common)
