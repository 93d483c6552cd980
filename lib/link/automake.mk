# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/link/link-addr.c \
	lib/link/link-addr.h \
	lib/link/link-info.h \
	lib/link/link-listener.c \
	lib/link/link-listener.h \
	lib/link/link-msg.c \
	lib/link/link-msg.h \
	lib/link/link-qdisc.c \
	lib/link/link-qdisc.h \
	lib/link/link-replica.c \
	lib/link/link-replica.h \
	lib/link/link-resync.c \
	lib/link/link-resync.h \
	lib/link/link-route.c \
	lib/link/link-route.h \
	lib/link/link-show.c \
	lib/link/link-show.h \
	lib/link/link-store.c \
	lib/link/link-store.h \
	lib/link/link-table.c \
	lib/link/link-table.h
