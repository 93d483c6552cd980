# SPDX-License-Identifier: Apache-2.0

# Programs that are installed beside the daemon, and tests/mutants.  Those in
# Python are skipped without the modules that they need
# (utilities/packages-check).
utilities_tests = \
	tests/unit/utilities/test-doctor.py \
	tests/unit/utilities/test-exporter.py \
	tests/unit/utilities/test-lists.py \
	tests/unit/utilities/test-mutants.py \
	tests/unit/utilities/test-prometheus.py \
	tests/unit/utilities/test-schemas.py \
	tests/unit/utilities/test-switch.sh \
	tests/unit/utilities/test-top.py
TESTS += $(utilities_tests)
EXTRA_DIST += \
	$(utilities_tests) \
	tests/fake/fake_daemon.py \
	tests/unit/utilities/promql.py \
	tests/unit/utilities/schemas.py \
	tests/unit/utilities/tap.py
