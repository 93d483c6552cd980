# SPDX-License-Identifier: Apache-2.0

# One harness for each parser of untrusted bytes.  "make check" replays their
# seeds; "make fuzz" lets libFuzzer, which needs clang, look for more.
fuzz_harnesses = \
	tests/fuzz/fuzz-link-msg \
	tests/fuzz/fuzz-nl-attrs \
	tests/fuzz/fuzz-ovs-stats \
	tests/fuzz/fuzz-proc-net-dev \
	tests/fuzz/fuzz-ovs-vport \
	tests/fuzz/fuzz-tc-rule \
	tests/fuzz/fuzz-upcall-msg

fuzz_common = \
	tests/fuzz/fuzz-replay.c \
	tests/fuzz/fuzz.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_link_msg_SOURCES = \
	tests/fuzz/fuzz-link-msg.c $(fuzz_common)
tests_fuzz_fuzz_nl_attrs_SOURCES = \
	tests/fuzz/fuzz-nl-attrs.c $(fuzz_common)
tests_fuzz_fuzz_ovs_stats_SOURCES = \
	tests/fuzz/fuzz-ovs-stats.c $(fuzz_common)
tests_fuzz_fuzz_proc_net_dev_SOURCES = \
	tests/fuzz/fuzz-proc-net-dev.c $(fuzz_common)
tests_fuzz_fuzz_ovs_vport_SOURCES = \
	tests/fuzz/fuzz-ovs-vport.c $(fuzz_common)
tests_fuzz_fuzz_tc_rule_SOURCES = \
	tests/fuzz/fuzz-tc-rule.c $(fuzz_common)
tests_fuzz_fuzz_upcall_msg_SOURCES = \
	tests/fuzz/fuzz-upcall-msg.c $(fuzz_common)

check_PROGRAMS += $(fuzz_harnesses)
TESTS += $(fuzz_harnesses) tests/fuzz/test-corpus.sh
EXTRA_DIST += \
	tests/fuzz/corpus \
	tests/fuzz/record-frames.py \
	tests/fuzz/record-in-guest \
	tests/fuzz/test-corpus.sh

fuzz_objects = \
	$(fuzz_harnesses:=.$(OBJEXT)) \
	tests/fuzz/fuzz-replay.$(OBJEXT) \
	tests/fuzz/fuzz.$(OBJEXT)
$(fuzz_objects): $(EXTRA_OVS_DEPS)

# The parsers are compiled again, as libFuzzer has to see where they branch.
# In a build with sanitizers of its own, Open vSwitch would bring those along.
FUZZ_SECONDS = 60
FUZZ_CFLAGS = -g -O1 -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined
fuzz_parsers = \
	$(srcdir)/lib/tc/tc-kind.c \
	$(srcdir)/lib/tc/tc-parse.c \
	$(srcdir)/lib/link/link-msg.c \
	$(srcdir)/lib/link/link-route.c \
	$(srcdir)/lib/nl/nl-conn.c \
	$(srcdir)/lib/nl/ovs-stats.c \
	$(srcdir)/lib/stats/proc-net-dev.c \
	$(srcdir)/lib/nl/ovs-genl.c \
	$(srcdir)/lib/upcall/upcall-msg.c
fuzz: $(fuzz_harnesses)
	@if test -n '$(SANITIZER_CFLAGS)'; then \
	    echo 'make fuzz: needs a build without --enable-sanitizers' >&2; \
	    exit 1; \
	fi
	@if ! command -v $(CLANG) >/dev/null; then \
	    echo 'make fuzz: $(CLANG) not found' \
		'(apt-get install clang libclang-rt-14-dev)' >&2; \
	    exit 1; \
	fi
	@set -e; for harness in $(fuzz_harnesses); do \
	    echo "  FUZZ     $$harness, $(FUZZ_SECONDS) seconds"; \
	    $(CLANG) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) -std=gnu11 \
		$(FUZZ_CFLAGS) $(LIBMNL_CFLAGS) $(srcdir)/$$harness.c \
		$(srcdir)/tests/fuzz/fuzz.c $(fuzz_parsers) lib/libkdp.a \
		$(OVS_ARCHIVES) $(OVS_LIBS) $(LIBMNL_LIBS) $(LIBS) \
		-o $$harness-libfuzzer; \
	    $$harness --seeds $$harness-corpus; \
	    $$harness-libfuzzer -max_total_time=$(FUZZ_SECONDS) \
		-artifact_prefix=$$harness-failed- -print_final_stats=1 \
		$$harness-corpus \
		`ls -d $(srcdir)/tests/fuzz/corpus/$${harness##*/} 2>/dev/null`; \
	done
.PHONY: fuzz

# Upcalls as a kernel sends them, recorded in a guest.  They replace those that
# are there.
EXTRA_PROGRAMS += tests/fuzz/record-upcalls
tests_fuzz_record_upcalls_SOURCES = tests/fuzz/record-upcalls.c
tests_fuzz_record_upcalls_CPPFLAGS = -D_GNU_SOURCE
tests_fuzz_record_upcalls_CFLAGS = -std=gnu11 $(KDP_CFLAGS) $(LIBMNL_CFLAGS)
tests_fuzz_record_upcalls_LDFLAGS =
tests_fuzz_record_upcalls_LDADD = $(LIBMNL_LIBS)
upcall_corpus = $(srcdir)/tests/fuzz/corpus/fuzz-upcall-msg
record-upcalls: all tests/fuzz/record-upcalls
	$(srcdir)/utilities/guest --logs record-upcalls-logs -- \
	    $(abs_srcdir)/tests/fuzz/record-in-guest \
	    $(abs_builddir)/vswitchd/ovs-vswitchd \
	    $(abs_builddir)/tests/fuzz/record-upcalls \
	    $(abs_srcdir)/tests/fuzz/record-frames.py
	rm -rf $(upcall_corpus)
	$(MKDIR_P) $(upcall_corpus)
	cp record-upcalls-logs/upcalls/* $(upcall_corpus)
.PHONY: record-upcalls

CLEANFILES += $(fuzz_harnesses:=-libfuzzer) tests/fuzz/record-upcalls
mostlyclean-local:
	rm -rf $(fuzz_harnesses:=-corpus) record-upcalls-logs
