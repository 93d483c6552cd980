# SPDX-License-Identifier: Apache-2.0

# Which folder of the product may use which, seen in what was built, and which
# tests protect which invariant.  "make check-layers" shows all there is to say.
TESTS += \
	tests/layers/check-invariants \
	tests/layers/check-layers
EXTRA_DIST += \
	tests/layers/check-invariants \
	tests/layers/check-layers \
	tests/layers/layers.txt
check-layers: all
	@NM='$(NM)' $(PYTHON3) $(srcdir)/tests/layers/check-layers
.PHONY: check-layers
