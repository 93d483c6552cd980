# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/stats/latency-hist.c \
	lib/stats/latency-hist.h \
	lib/stats/moving-average.c \
	lib/stats/moving-average.h \
	lib/stats/proc-net-dev.c \
	lib/stats/proc-net-dev.h \
	lib/stats/thread-counters.c \
	lib/stats/thread-counters.h

EXTRA_DIST += lib/stats/README.md
