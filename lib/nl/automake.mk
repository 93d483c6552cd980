# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/nl/nl-conn.c \
	lib/nl/nl-conn.h \
	lib/nl/nl-intercept.c \
	lib/nl/nl-intercept.h \
	lib/nl/nl-kernel.c \
	lib/nl/nl-kernel.h \
	lib/nl/nl-mcast.c \
	lib/nl/nl-mcast.h \
	lib/nl/ovs-genl.c \
	lib/nl/ovs-genl.h \
	lib/nl/ovs-stats.c \
	lib/nl/ovs-stats.h

EXTRA_DIST += lib/nl/README.md
