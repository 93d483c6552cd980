# SPDX-License-Identifier: Apache-2.0

noinst_LIBRARIES += lib/libkdp.a

lib_libkdp_a_SOURCES = \
	lib/dpif-netlink-kdp-forward.c \
	lib/dpif-netlink-kdp-private.h \
	lib/dpif-netlink-kdp.c \
	lib/dpif-netlink-kdp.h \
	lib/kdp-config.c \
	lib/kdp-datapath.c \
	lib/kdp-dispatch.c \
	lib/kdp-share.c \
	lib/kdp-show.c \
	lib/kdp-version.c \
	lib/kdp-version.h \
	lib/netdev-linux-kdp.c \
	lib/netdev-linux-kdp.h \
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
	lib/link/link-table.h \
	lib/nl/nl-conn.c \
	lib/nl/nl-conn.h \
	lib/nl/ovs-genl.c \
	lib/nl/ovs-genl.h \
	lib/nl/ovs-stats.c \
	lib/nl/ovs-stats.h \
	lib/stats/latency-hist.c \
	lib/stats/latency-hist.h \
	lib/stats/proc-net-dev.c \
	lib/stats/proc-net-dev.h \
	lib/unixctl-override.c \
	lib/unixctl-override.h \
	lib/upcall/upcall-channel.c \
	lib/upcall/upcall-channel.h \
	lib/upcall/upcall-engine-epoll.c \
	lib/upcall/upcall-engine-uring.c \
	lib/upcall/upcall-engine.c \
	lib/upcall/upcall-engine.h \
	lib/upcall/upcall-fd-limit.c \
	lib/upcall/upcall-fd-limit.h \
	lib/upcall/upcall-fifo.h \
	lib/upcall/upcall-handler.c \
	lib/upcall/upcall-handler.h \
	lib/upcall/upcall-msg.c \
	lib/upcall/upcall-msg.h \
	lib/upcall/upcall-poll.c \
	lib/upcall/upcall-poll.h \
	lib/upcall/upcall-probes.h \
	lib/upcall/upcall-refcount.h \
	lib/upcall/upcall-sched.c \
	lib/upcall/upcall-sched.h \
	lib/upcall/upcall-show.c \
	lib/upcall/upcall-show.h \
	lib/upcall/upcall-table.c \
	lib/upcall/upcall-table.h \
	lib/upcall/upcall-turn.h

# The headers of Open vSwitch, some of which are generated.
$(lib_libkdp_a_OBJECTS): $(EXTRA_OVS_DEPS)
