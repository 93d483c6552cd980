# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	Documentation/architecture.rst \
	Documentation/building.rst \
	Documentation/conf.py \
	Documentation/index.rst \
	Documentation/link-tables.rst \
	Documentation/offload.rst \
	Documentation/ovs-vswitchd-kdp.8.rst \
	Documentation/performance/index.rst \
	Documentation/performance/links-dump.svg \
	Documentation/performance/links-lookup.svg \
	Documentation/performance/links.inc \
	Documentation/performance/links.json \
	Documentation/performance/links.rst \
	Documentation/performance/modules-engine.csv \
	Documentation/performance/modules-fold.csv \
	Documentation/performance/modules-fold.svg \
	Documentation/performance/modules-ids.csv \
	Documentation/performance/modules-ids.svg \
	Documentation/performance/modules-insertions.svg \
	Documentation/performance/modules-latency.svg \
	Documentation/performance/modules-put.svg \
	Documentation/performance/modules-queue.csv \
	Documentation/performance/modules-targets.csv \
	Documentation/performance/modules-throughput.svg \
	Documentation/performance/modules.json \
	Documentation/performance/modules.rst \
	Documentation/performance/offload-latency.svg \
	Documentation/performance/offload-rules.svg \
	Documentation/performance/offload.inc \
	Documentation/performance/offload.json \
	Documentation/performance/offload.rst \
	Documentation/performance/rtnl-counts.svg \
	Documentation/performance/rtnl-time.svg \
	Documentation/performance/rtnl.inc \
	Documentation/performance/rtnl.json \
	Documentation/performance/rtnl.rst \
	Documentation/performance/upcalls-2cpu-latency.svg \
	Documentation/performance/upcalls-2cpu-load.svg \
	Documentation/performance/upcalls-2cpu.inc \
	Documentation/performance/upcalls-2cpu.json \
	Documentation/performance/upcalls-4000.inc \
	Documentation/performance/upcalls-4000.json \
	Documentation/performance/upcalls-icount-latency.svg \
	Documentation/performance/upcalls-icount-load.svg \
	Documentation/performance/upcalls-icount.inc \
	Documentation/performance/upcalls-icount.json \
	Documentation/performance/upcalls-public.inc \
	Documentation/performance/upcalls-public.json \
	Documentation/performance/upcalls.rst \
	Documentation/testing.rst \
	Documentation/upcall-channels.rst \
	Documentation/vport-table.rst

if HAVE_RST2MAN
nodist_man_MANS += Documentation/ovs-vswitchd-kdp.8
CLEANFILES += Documentation/ovs-vswitchd-kdp.8
endif

Documentation/ovs-vswitchd-kdp.8: Documentation/ovs-vswitchd-kdp.8.rst
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(RST2MAN) --strict $(srcdir)/Documentation/ovs-vswitchd-kdp.8.rst >$@.tmp && \
	mv $@.tmp $@

# All of the documentation as HTML, below Documentation/html.
docs:
	@test '$(SPHINXBUILD)' != no || { \
	    echo 'sphinx-build is needed (apt-get install python3-sphinx)' >&2; \
	    exit 1; }
	$(AM_V_GEN)$(SPHINXBUILD) -q -W -b html $(srcdir)/Documentation Documentation/html
.PHONY: docs
