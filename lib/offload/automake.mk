# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/offload/kdp-id-fpool.c \
	lib/offload/kdp-id-fpool.h \
	lib/offload/kdp-mpsc-queue.c \
	lib/offload/kdp-mpsc-queue.h \
	lib/offload/offload-adopt.c \
	lib/offload/offload-backend.c \
	lib/offload/offload-backend.h \
	lib/offload/offload-dump.c \
	lib/offload/offload-flow.c \
	lib/offload/offload-info.c \
	lib/offload/offload-info.h \
	lib/offload/offload-leak.c \
	lib/offload/offload-operate.c \
	lib/offload/offload-port.c \
	lib/offload/offload-private.h \
	lib/offload/offload-show.c \
	lib/offload/offload-state.c \
	lib/offload/offload-state.h \
	lib/offload/offload-step.c \
	lib/offload/offload-thread.c \
	lib/offload/offload.c \
	lib/offload/offload.h
