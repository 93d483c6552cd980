# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/tc/tc-action.c \
	lib/tc/tc-action.h \
	lib/tc/tc-adopt.c \
	lib/tc/tc-adopt.h \
	lib/tc/tc-backend.c \
	lib/tc/tc-backend.h \
	lib/tc/tc-chains.c \
	lib/tc/tc-chains.h \
	lib/tc/tc-desc.c \
	lib/tc/tc-desc.h \
	lib/tc/tc-explain.c \
	lib/tc/tc-explain.h \
	lib/tc/tc-handle.c \
	lib/tc/tc-handle.h \
	lib/tc/tc-kind.c \
	lib/tc/tc-kind.h \
	lib/tc/tc-orphans.c \
	lib/tc/tc-orphans.h \
	lib/tc/tc-parse.c \
	lib/tc/tc-parse.h \
	lib/tc/tc-places.c \
	lib/tc/tc-places.h \
	lib/tc/tc-prepare.c \
	lib/tc/tc-prepare.h \
	lib/tc/tc-prio.c \
	lib/tc/tc-prio.h \
	lib/tc/tc-rules.c \
	lib/tc/tc-rules.h \
	lib/tc/tc-skip.c \
	lib/tc/tc-skip.h \
	lib/tc/tc-transact.c \
	lib/tc/tc-transact.h \
	lib/tc/tc-zeros.c
EXTRA_DIST += lib/tc/README.md
