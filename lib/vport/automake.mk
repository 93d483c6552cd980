# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/vport/vport-show.c \
	lib/vport/vport-show.h \
	lib/vport/vport-stats.h \
	lib/vport/vport-store.c \
	lib/vport/vport-store.h \
	lib/vport/vport-sync.c \
	lib/vport/vport-sync.h \
	lib/vport/vport-table.c \
	lib/vport/vport-table.h
