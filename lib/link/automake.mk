# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/link/link-addr.c \
	lib/link/link-addr.h \
	lib/link/link-dump-local.c \
	lib/link/link-dump.c \
	lib/link/link-filter.c \
	lib/link/link-index.c \
	lib/link/link-listener-private.h \
	lib/link/link-listener.c \
	lib/link/link-listener.h \
	lib/link/link-msg.c \
	lib/link/link-msg.h \
	lib/link/link-notify.c \
	lib/link/link-qdisc.c \
	lib/link/link-qdisc.h \
	lib/link/link-read.c \
	lib/link/link-route.c \
	lib/link/link-route.h \
	lib/link/link-show.c \
	lib/link/link-show.h \
	lib/link/link-table-private.h \
	lib/link/link-table.c \
	lib/link/link-table.h
