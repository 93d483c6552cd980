# SPDX-License-Identifier: Apache-2.0

# How the source of Open vSwitch is chosen, and looked at.
TESTS += \
	tests/unit/ovs/test-ovs-features.sh \
	tests/unit/ovs/test-ovs-source.sh
EXTRA_DIST += \
	tests/unit/ovs/test-ovs-features.sh \
	tests/unit/ovs/test-ovs-source.sh
