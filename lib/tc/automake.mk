# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/tc/tc-adopt.c \
	lib/tc/tc-backend.c \
	lib/tc/tc-clean.c \
	lib/tc/tc-kdp.h \
	lib/tc/tc-parse.c \
	lib/tc/tc-prepare.c \
	lib/tc/tc-transact.c
