# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	Documentation/architecture.rst \
	Documentation/building.rst \
	Documentation/conf.py \
	Documentation/index.rst \
	Documentation/ovs-vswitchd-kdp.8.rst \
	Documentation/performance/upcalls-latency.svg \
	Documentation/performance/upcalls-loss.svg \
	Documentation/performance/upcalls-syscalls.svg \
	Documentation/performance/upcalls-throughput.svg \
	Documentation/performance/upcalls.csv \
	Documentation/performance/upcalls.rst \
	Documentation/testing.rst \
	Documentation/upcall-channels.rst

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
