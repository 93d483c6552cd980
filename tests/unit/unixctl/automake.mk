# SPDX-License-Identifier: Apache-2.0

unit_tests += \
	tests/unit/unixctl/test-findings \
	tests/unit/unixctl/test-args \
	tests/unit/unixctl/test-fields \
	tests/unit/unixctl/test-override

tests_unit_unixctl_test_args_SOURCES = \
	tests/unit/unixctl/test-args.c $(unit_common)
tests_unit_unixctl_test_fields_SOURCES = \
	tests/unit/unixctl/test-fields.c $(unit_common)
tests_unit_unixctl_test_override_SOURCES = \
	tests/unit/unixctl/test-override.c $(unit_control) $(unit_common)
tests_unit_unixctl_test_findings_SOURCES = \
	tests/unit/unixctl/test-findings.c $(unit_control) $(unit_found) \
	$(unit_shown) $(unit_common)
