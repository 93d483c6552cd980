# SPDX-License-Identifier: Apache-2.0

# Native tests: no Open vSwitch kernel module, no daemon, no privilege beyond a
# user namespace.

if HAVE_CMOCKA

unit_tests = \
	tests/unit/test-upcall-msg

check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

check_LIBRARIES += tests/unit/libunit.a
tests_unit_libunit_a_SOURCES = \
	tests/unit/unit-upcall.c \
	tests/unit/unit-upcall.h
tests_unit_libunit_a_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
$(tests_unit_libunit_a_OBJECTS): $(EXTRA_OVS_DEPS)

unit_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
unit_ldadd = \
	tests/unit/libunit.a \
	lib/libkdp.a \
	$(OVS_ARCHIVES) \
	$(LIBMNL_LIBS) \
	$(CMOCKA_LIBS)
unit_ldflags = $(AM_LDFLAGS) $(WRAP_FLAGS)

tests_unit_test_upcall_msg_SOURCES = tests/unit/test-upcall-msg.c
tests_unit_test_upcall_msg_CFLAGS = $(unit_cflags)
tests_unit_test_upcall_msg_LDADD = $(unit_ldadd)
tests_unit_test_upcall_msg_LDFLAGS = $(unit_ldflags)
$(tests_unit_test_upcall_msg_OBJECTS): $(EXTRA_OVS_DEPS)

else

check-local: check-needs-cmocka
check-needs-cmocka:
	@echo "make check needs cmocka: apt-get install libcmocka-dev," \
	      "then run configure again" >&2; exit 1
.PHONY: check-needs-cmocka

endif
