# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	utilities/guest \
	utilities/guest.d/init
