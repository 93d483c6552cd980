# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/stats/test-latency-hist \
	tests/unit/stats/test-moving-average \
	tests/unit/stats/test-proc-net-dev \
	tests/unit/stats/test-thread-counters

tests_unit_stats_test_latency_hist_SOURCES = \
	tests/unit/stats/test-latency-hist.c $(unit_common)
tests_unit_stats_test_moving_average_SOURCES = \
	tests/unit/stats/test-moving-average.c $(unit_common)
tests_unit_stats_test_proc_net_dev_SOURCES = \
	tests/unit/stats/test-proc-net-dev.c $(unit_common)
tests_unit_stats_test_proc_net_dev_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=read
tests_unit_stats_test_thread_counters_SOURCES = \
	tests/unit/stats/test-thread-counters.c $(unit_common)
