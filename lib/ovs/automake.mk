# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/ovs/compat-daemon.h \
	lib/ovs/compat-dpif.h \
	lib/ovs/compat-netdev.h \
	lib/ovs/compat-offload-api.c \
	lib/ovs/compat-offload-provider.c \
	lib/ovs/compat-offload.h \
	lib/ovs/compat-util.h

EXTRA_DIST += \
	build-aux/ovs-features \
	build-aux/ovs-revision \
	lib/ovs/README.md
