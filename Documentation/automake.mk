# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	Documentation/architecture.rst \
	Documentation/building.rst \
	Documentation/conf.py \
	Documentation/index.rst \
	Documentation/ovs-vswitchd-kdp.8.rst \
	Documentation/testing.rst \
	Documentation/upcall-channels.rst
