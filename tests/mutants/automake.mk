# SPDX-License-Identifier: Apache-2.0

# Code of lib/ that no unit test looks at.  For example:
#
#   make check-mutants MUTANTSFLAGS='--seed 1 --count 100'
#   make check-mutants MUTANTSFLAGS='lib/tc lib/offload'
MUTANTSFLAGS =
check-mutants: check-programs
	@$(AM_TESTS_ENVIRONMENT) $(PYTHON3) \
	    $(srcdir)/tests/mutants/check-mutants \
	    --builddir '$(abs_builddir)' $(MUTANTSFLAGS)
.PHONY: check-mutants
EXTRA_DIST += \
	tests/mutants/check-mutants \
	tests/mutants/equivalent
mostlyclean-local: clean-mutants
clean-mutants:
	rm -rf mutants
.PHONY: clean-mutants
