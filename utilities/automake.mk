# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	quickstart \
	tests/utilities/test-guest.sh \
	tests/utilities/test-quickstart.sh \
	utilities/guest \
	utilities/guest.d/init \
	utilities/packages \
	utilities/quickstart-guest \
	utilities/quickstart-steps

# What the tests themselves rely on.
check-guest:
	$(srcdir)/tests/utilities/test-quickstart.sh
	$(srcdir)/tests/utilities/test-guest.sh
.PHONY: check-guest
