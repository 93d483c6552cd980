# SPDX-License-Identifier: Apache-2.0

noinst_LIBRARIES += lib/libkdp.a

lib_libkdp_a_SOURCES = \
	lib/kdp-version.c \
	lib/kdp-version.h

# From the ground floor up: each folder uses those above it in this list.
include lib/ovs/automake.mk
include lib/nl/automake.mk
include lib/stats/automake.mk
include lib/unixctl/automake.mk
include lib/link/automake.mk
include lib/vport/automake.mk
include lib/upcall/automake.mk
include lib/offload/automake.mk
include lib/netdev-linux/automake.mk
include lib/tc/automake.mk
include lib/dpif-netlink/automake.mk

# The headers of Open vSwitch, some of which are generated.
$(lib_libkdp_a_OBJECTS): $(EXTRA_OVS_DEPS)
