# SPDX-License-Identifier: Apache-2.0

# Programs that are installed beside the daemon, and tests/mutants.  Those in
# Python are skipped without the modules that they need
# (utilities/packages-check).  These tests look at the source tree only, so one
# build is enough: "make check source_tests=" leaves them out of another.
source_tests = \
	tests/layers/test-check-layers.sh \
	tests/unit/utilities/test-doctor.py \
	tests/unit/utilities/test-exporter.py \
	tests/unit/utilities/test-lists.py \
	tests/unit/utilities/test-mutants.py \
	tests/unit/utilities/test-prometheus.py \
	tests/unit/utilities/test-switch.sh \
	tests/unit/utilities/test-top.py \
	tests/unit/utilities/test-words.py
TESTS += $(source_tests) tests/unit/utilities/test-schemas.py
EXTRA_DIST += \
	$(source_tests) \
	tests/unit/utilities/test-schemas.py \
	tests/fake/fake_daemon.py \
	tests/unit/utilities/promql.py \
	tests/unit/utilities/schemas.py \
	tests/unit/utilities/tap.py
