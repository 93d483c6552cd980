# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/netdev-linux/device.c \
	lib/netdev-linux/device.h \
	lib/netdev-linux/driver.c \
	lib/netdev-linux/driver.h \
	lib/netdev-linux/if-notifier-kdp.c \
	lib/netdev-linux/if-notifier-kdp.h \
	lib/netdev-linux/ingress-qdisc.c \
	lib/netdev-linux/ingress-qdisc.h \
	lib/netdev-linux/lag.c \
	lib/netdev-linux/lag.h \
	lib/netdev-linux/links-show.c \
	lib/netdev-linux/links-show.h \
	lib/netdev-linux/links.c \
	lib/netdev-linux/links.h \
	lib/netdev-linux/netdev-check.c \
	lib/netdev-linux/netdev-check.h \
	lib/netdev-linux/netdev-linux-kdp.c \
	lib/netdev-linux/netdev-linux-kdp.h \
	lib/netdev-linux/qos.c \
	lib/netdev-linux/qos.h \
	lib/netdev-linux/route-table-kdp.c \
	lib/netdev-linux/route-table-kdp.h \
	lib/netdev-linux/rtnl-count.c \
	lib/netdev-linux/rtnl-count.h \
	lib/netdev-linux/rtnl-worker.c \
	lib/netdev-linux/rtnl-worker.h \
	lib/netdev-linux/speed.c \
	lib/netdev-linux/speed.h \
	lib/netdev-linux/state.c \
	lib/netdev-linux/state.h \
	lib/netdev-linux/stats-snapshot.c \
	lib/netdev-linux/stats-snapshot.h \
	lib/netdev-linux/stats.c \
	lib/netdev-linux/stats.h \
	lib/netdev-linux/upcall-counters.c \
	lib/netdev-linux/upcall-counters.h
