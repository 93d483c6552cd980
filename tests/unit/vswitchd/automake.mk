# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/vswitchd/test-build-info \
	tests/unit/vswitchd/test-entropy \
	tests/unit/vswitchd/test-port-stats \
	tests/unit/vswitchd/test-port-types

tests_unit_vswitchd_test_build_info_SOURCES = \
	tests/unit/vswitchd/test-build-info.c $(unit_common)

tests_unit_vswitchd_test_entropy_SOURCES = \
	tests/unit/vswitchd/test-entropy.c vswitchd/entropy.c $(unit_common)
tests_unit_vswitchd_test_entropy_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=getrandom

tests_unit_vswitchd_test_port_stats_SOURCES = \
	tests/unit/vswitchd/test-port-stats.c vswitchd/port-stats.c \
	$(unit_common)
tests_unit_vswitchd_test_port_stats_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=ofputil_append_port_stat

tests_unit_vswitchd_test_port_types_SOURCES = \
	tests/unit/vswitchd/test-port-types.c vswitchd/port-types.c \
	$(unit_common)
tests_unit_vswitchd_test_port_types_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=dpif_port_open_type

# How the daemon was built, and what it takes.
TESTS += \
	tests/unit/vswitchd/test-hardening.sh \
	tests/unit/vswitchd/test-options.sh
EXTRA_DIST += \
	tests/unit/vswitchd/test-hardening.sh \
	tests/unit/vswitchd/test-options.sh
