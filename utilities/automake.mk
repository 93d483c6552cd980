# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	quickstart \
	tests/utilities/test-guest.sh \
	utilities/guest \
	utilities/guest.d/init \
	utilities/packages \
	utilities/quickstart-guest \
	utilities/quickstart-steps

# The runner of all tests that need a kernel of their own.
check-guest:
	$(srcdir)/tests/utilities/test-guest.sh
.PHONY: check-guest
