# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += lib/upcall/README.md
lib_libkdp_a_SOURCES += \
	lib/upcall/upcall-age.c \
	lib/upcall/upcall-age.h \
	lib/upcall/upcall-channel.c \
	lib/upcall/upcall-channel.h \
	lib/upcall/upcall-diagnose.c \
	lib/upcall/upcall-diagnose.h \
	lib/upcall/upcall-engine.c \
	lib/upcall/upcall-engine.h \
	lib/upcall/upcall-fd-limit.c \
	lib/upcall/upcall-fd-limit.h \
	lib/upcall/upcall-fq.c \
	lib/upcall/upcall-fq.h \
	lib/upcall/upcall-groups.c \
	lib/upcall/upcall-groups.h \
	lib/upcall/upcall-handler.c \
	lib/upcall/upcall-handler.h \
	lib/upcall/upcall-info.h \
	lib/upcall/upcall-msg.c \
	lib/upcall/upcall-msg.h \
	lib/upcall/upcall-poll.c \
	lib/upcall/upcall-poll.h \
	lib/upcall/upcall-ports.c \
	lib/upcall/upcall-ports.h \
	lib/upcall/upcall-probes.h \
	lib/upcall/upcall-rcvbuf.c \
	lib/upcall/upcall-rcvbuf.h \
	lib/upcall/upcall-reader.c \
	lib/upcall/upcall-reader.h \
	lib/upcall/upcall-sched.c \
	lib/upcall/upcall-sched.h \
	lib/upcall/upcall-senders.c \
	lib/upcall/upcall-senders.h \
	lib/upcall/upcall-set.c \
	lib/upcall/upcall-shed.c \
	lib/upcall/upcall-shed.h \
	lib/upcall/upcall-show.c \
	lib/upcall/upcall-show.h \
	lib/upcall/upcall-stats.c \
	lib/upcall/upcall-stats.h \
	lib/upcall/upcall-store.c \
	lib/upcall/upcall-store.h \
	lib/upcall/upcall-table.h \
	lib/upcall/upcall-turn.h
