# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/offload/kdp-id-fpool.c \
	lib/offload/kdp-id-fpool.h \
	lib/offload/kdp-mpsc-queue.c \
	lib/offload/kdp-mpsc-queue.h \
	lib/offload/offload-adopt.c \
	lib/offload/offload-adopt.h \
	lib/offload/offload-audit.c \
	lib/offload/offload-audit.h \
	lib/offload/offload-backend.c \
	lib/offload/offload-backend.h \
	lib/offload/offload-chain.c \
	lib/offload/offload-chain.h \
	lib/offload/offload-control.c \
	lib/offload/offload-dump.c \
	lib/offload/offload-engine.h \
	lib/offload/offload-flow.c \
	lib/offload/offload-flow.h \
	lib/offload/offload-info.h \
	lib/offload/offload-operate.c \
	lib/offload/offload-placement.c \
	lib/offload/offload-placement.h \
	lib/offload/offload-port.c \
	lib/offload/offload-port.h \
	lib/offload/offload-queue.c \
	lib/offload/offload-queue.h \
	lib/offload/offload-reader.c \
	lib/offload/offload-reader.h \
	lib/offload/offload-reasons.c \
	lib/offload/offload-reasons.h \
	lib/offload/offload-rebalance.c \
	lib/offload/offload-rebalance.h \
	lib/offload/offload-report.c \
	lib/offload/offload-show.c \
	lib/offload/offload-step.c \
	lib/offload/offload-thread.c \
	lib/offload/offload-waiter.c \
	lib/offload/offload-waiter.h \
	lib/offload/offload.h
EXTRA_DIST += lib/offload/README.md
