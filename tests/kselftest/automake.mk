# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	tests/kselftest/check-kselftest \
	tests/kselftest/epoll-call.c \
	tests/kselftest/epoll-exclusive.c \
	tests/kselftest/epoll-oneshot.c \
	tests/kselftest/ks-harness.h \
	tests/kselftest/ks-rtnl.h \
	tests/kselftest/ks-util.h \
	tests/kselftest/ks-waiter.h \
	tests/kselftest/netlink-overrun.c \
	tests/kselftest/rtnl-dump.c \
	tests/kselftest/rtnl-events.c \
	tests/kselftest/rtnl-nsid.c \
	tests/kselftest/run-in-guest \
	tests/kselftest/upcall-order.c \
	tests/kselftest/vport-pids.c

# Programs on the kernel's own test harness, in a guest.
check-kselftest: all
	$(srcdir)/tests/kselftest/check-kselftest '$(srcdir)' '$(abs_builddir)' \
	    '$(CC)'
.PHONY: check-kselftest

clean-local:
	rm -rf kselftest-build kselftest-logs check-ovs-logs
