# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/vport/test-vport-diagnose \
	tests/unit/vport/test-vport-device \
	tests/unit/vport/test-vport-poll \
	tests/unit/vport/test-vport-random \
	tests/unit/vport/test-vport-show \
	tests/unit/vport/test-vport-sync \
	tests/unit/vport/test-vport-table \
	tests/unit/vport/test-vport-threads

vport_fixture = \
	tests/unit/vport/vport-fixture.c \
	tests/unit/vport/vport-fixture.h

tests_unit_vport_test_vport_device_SOURCES = \
	tests/unit/vport/test-vport-device.c \
	$(vport_fixture) $(unit_vport) $(unit_common)
tests_unit_vport_test_vport_device_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_vport_wrap) $(unit_clock_wrap)
tests_unit_vport_test_vport_poll_SOURCES = \
	tests/unit/vport/test-vport-poll.c $(unit_vport) $(unit_common)
tests_unit_vport_test_vport_poll_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_vport_wrap) $(unit_clock_wrap)
tests_unit_vport_test_vport_random_SOURCES = \
	tests/unit/vport/test-vport-random.c $(unit_vport) $(unit_common)
tests_unit_vport_test_vport_random_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_vport_wrap) $(unit_clock_wrap)
tests_unit_vport_test_vport_show_SOURCES = \
	tests/unit/vport/test-vport-show.c $(unit_shown) $(unit_common)
tests_unit_vport_test_vport_sync_SOURCES = \
	tests/unit/vport/test-vport-sync.c $(unit_vport) $(unit_fault) $(unit_common)
tests_unit_vport_test_vport_sync_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_vport_wrap) $(unit_fault_wrap) $(unit_clock_wrap)
tests_unit_vport_test_vport_table_SOURCES = \
	tests/unit/vport/test-vport-table.c \
	$(vport_fixture) $(unit_vport) $(unit_common)
tests_unit_vport_test_vport_table_LDFLAGS = \
	$(AM_LDFLAGS) $(unit_vport_wrap) $(unit_clock_wrap)
tests_unit_vport_test_vport_threads_SOURCES = \
	tests/unit/vport/test-vport-threads.c $(unit_vport) $(unit_common)
tests_unit_vport_test_vport_threads_LDFLAGS = $(AM_LDFLAGS) $(unit_vport_wrap)
tests_unit_vport_test_vport_diagnose_SOURCES = \
	tests/unit/vport/test-vport-diagnose.c $(unit_found) \
	$(unit_common)
