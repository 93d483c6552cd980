# SPDX-License-Identifier: Apache-2.0

lib_libkdp_a_SOURCES += \
	lib/unixctl/args.c \
	lib/unixctl/args.h \
	lib/unixctl/fields.c \
	lib/unixctl/fields.h \
	lib/unixctl/findings.c \
	lib/unixctl/findings.h \
	lib/unixctl/override.c \
	lib/unixctl/override.h

EXTRA_DIST += lib/unixctl/README.md
