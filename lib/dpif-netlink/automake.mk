# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/dpif-netlink/datapath.c \
	lib/dpif-netlink/datapath.h \
	lib/dpif-netlink/dispatch.c \
	lib/dpif-netlink/dpif-netlink-kdp.c \
	lib/dpif-netlink/dpif-netlink-kdp.h \
	lib/dpif-netlink/flow-api.c \
	lib/dpif-netlink/flow-api.h \
	lib/dpif-netlink/flow-dump.c \
	lib/dpif-netlink/flow-offload.c \
	lib/dpif-netlink/flow-offload.h \
	lib/dpif-netlink/flow-operate.c \
	lib/dpif-netlink/flow-show.c \
	lib/dpif-netlink/forward.c \
	lib/dpif-netlink/ports.c \
	lib/dpif-netlink/settings.c \
	lib/dpif-netlink/show.c \
	lib/dpif-netlink/socket-budget.c
