# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	tests/foreign/check-foreign \
	tests/foreign/compare.awk \
	tests/foreign/in-guest \
	tests/foreign/os-ken.py \
	tests/foreign/suite-os-ken.sh \
	tests/foreign/suite-tracing.sh

# Suites of other projects with both daemons, in a guest.  FOREIGN is the
# suite, FOREIGNFLAGS are further options of check-foreign.
FOREIGN = os-ken
FOREIGNFLAGS =
check-foreign: all ovs-build-programs
	@$(srcdir)/tests/foreign/check-foreign --builddir '$(abs_builddir)' \
	    $(FOREIGNFLAGS) $(FOREIGN)
.PHONY: check-foreign
