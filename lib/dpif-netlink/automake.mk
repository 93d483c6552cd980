# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/dpif-netlink/datapath.c \
	lib/dpif-netlink/datapath.h \
	lib/dpif-netlink/datapaths.c \
	lib/dpif-netlink/datapaths.h \
	lib/dpif-netlink/diagnose.c \
	lib/dpif-netlink/diagnose.h \
	lib/dpif-netlink/dispatch.c \
	lib/dpif-netlink/dispatch.h \
	lib/dpif-netlink/dpif-netlink-kdp.c \
	lib/dpif-netlink/dpif-netlink-kdp.h \
	lib/dpif-netlink/flow-api.c \
	lib/dpif-netlink/flow-api.h \
	lib/dpif-netlink/flow-chains.c \
	lib/dpif-netlink/flow-chains.h \
	lib/dpif-netlink/flow-dump.c \
	lib/dpif-netlink/flow-dump.h \
	lib/dpif-netlink/flow-engine.h \
	lib/dpif-netlink/flow-offload.c \
	lib/dpif-netlink/flow-offload.h \
	lib/dpif-netlink/flow-operate.c \
	lib/dpif-netlink/flow-operate.h \
	lib/dpif-netlink/flow-ports.c \
	lib/dpif-netlink/flow-ports.h \
	lib/dpif-netlink/flow-stale.c \
	lib/dpif-netlink/flow-stale.h \
	lib/dpif-netlink/forward.c \
	lib/dpif-netlink/forward.h \
	lib/dpif-netlink/ports.c \
	lib/dpif-netlink/ports.h \
	lib/dpif-netlink/revalidation.c \
	lib/dpif-netlink/revalidation.h \
	lib/dpif-netlink/settings.c \
	lib/dpif-netlink/settings.h \
	lib/dpif-netlink/show.c \
	lib/dpif-netlink/show.h \
	lib/dpif-netlink/socket-budget.c \
	lib/dpif-netlink/socket-budget.h \
	lib/dpif-netlink/takeover-ports.c \
	lib/dpif-netlink/takeover-ports.h \
	lib/dpif-netlink/takeover.c \
	lib/dpif-netlink/takeover.h \
	lib/dpif-netlink/upcall-dest.c \
	lib/dpif-netlink/upcall-dest.h \
	lib/dpif-netlink/upcall-queues.c \
	lib/dpif-netlink/upcall-queues.h \
	lib/dpif-netlink/upcall-sync.c \
	lib/dpif-netlink/upcall-sync.h
EXTRA_DIST += lib/dpif-netlink/README.md
