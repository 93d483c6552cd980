# SPDX-License-Identifier: Apache-2.0

include tests/unit/automake.mk
include tests/foreign/automake.mk
include tests/fuzz/automake.mk
include tests/layers/automake.mk
include tests/models/automake.mk
include tests/mutants/automake.mk
include tests/ovs/automake.mk
include tests/system/automake.mk
include tests/soak/automake.mk
include tests/kselftest/automake.mk
include tests/versions/automake.mk

# All that tests and benchmarks run, for several of them to run at a time: each
# finds that there is nothing left to make.
# In this order: "all" makes them in a make of its own, and two that run at the
# same time would both make the archives.
check-programs: all
	$(MAKE) $(check_PROGRAMS) tests/system/no-io-uring.so \
	    tests/system/no-tc-deletion.so utilities/bench/per-vport.so
.PHONY: check-programs
