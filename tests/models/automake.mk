# SPDX-License-Identifier: Apache-2.0

# Models of what is lock-free, for the model checker spin.
EXTRA_DIST += tests/models/check-models tests/models/kdp-mpsc-queue.pml

check-models:
	@CC='$(CC)' $(srcdir)/tests/models/check-models
.PHONY: check-models
