# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	Documentation/architecture.rst \
	Documentation/building.rst \
	Documentation/ci.rst \
	Documentation/conf.py \
	Documentation/index.rst \
	Documentation/invariants.rst \
	Documentation/link-show.rst \
	Documentation/link-tables.rst \
	Documentation/offload-rules.rst \
	Documentation/offload-show.rst \
	Documentation/offload.rst \
	Documentation/openvswitch-kdp-exporter.8.rst \
	Documentation/ovs-kdp-doctor.8.rst \
	Documentation/ovs-kdp-switch.8.rst \
	Documentation/ovs-kdp-top.8.rst \
	Documentation/ovs-vswitchd-kdp.8.rst \
	Documentation/performance/index.rst \
	Documentation/performance/links.rst \
	Documentation/performance/modules.rst \
	Documentation/performance/offload.rst \
	Documentation/performance/restart.rst \
	Documentation/performance/results.json \
	Documentation/performance/rtnl.rst \
	Documentation/performance/upcalls.rst \
	Documentation/tasks/comparison.rst \
	Documentation/tasks/containers.rst \
	Documentation/tasks/hardening.rst \
	Documentation/tasks/index.rst \
	Documentation/tasks/install.rst \
	Documentation/tasks/many-ports.rst \
	Documentation/tasks/monitoring.rst \
	Documentation/tasks/noisy-neighbour.rst \
	Documentation/tasks/noisy-neighbour.svg \
	Documentation/tasks/offload-card.rst \
	Documentation/tasks/ovn.rst \
	Documentation/tasks/rtnl-contention.rst \
	Documentation/tasks/troubleshooting.rst \
	Documentation/tasks/tuning.rst \
	Documentation/tasks/tutorial.rst \
	Documentation/suites.rst \
	Documentation/testing-versions.rst \
	Documentation/testing.rst \
	Documentation/upcall-channels.rst \
	Documentation/upcall-settings.rst \
	Documentation/upcall-show.rst \
	Documentation/versions.rst \
	Documentation/vport-table.rst

if HAVE_RST2MAN
nodist_man_MANS += \
	Documentation/openvswitch-kdp-exporter.8 \
	Documentation/ovs-kdp-doctor.8 \
	Documentation/ovs-kdp-switch.8 \
	Documentation/ovs-kdp-top.8 \
	Documentation/ovs-vswitchd-kdp.8
CLEANFILES += $(nodist_man_MANS)
endif

SUFFIXES += .8.rst .8
.8.rst.8:
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(RST2MAN) --strict $< >$@.tmp && mv $@.tmp $@

# All of the documentation as HTML, below Documentation/html.  What the pages on
# performance show is made of the published results first, in a copy that goes
# again.
docs:
	@test '$(SPHINXBUILD)' != no || { \
	    echo 'sphinx-build is needed (apt-get install python3-sphinx)' >&2; \
	    exit 1; }
	$(AM_V_at)rm -rf docs-source && mkdir docs-source && \
	(cd $(srcdir)/Documentation && \
	    find . -name html -prune -o -type f -print | tar -cf - -T -) | \
	    tar -xf - -C docs-source && chmod -R u+w docs-source
	$(AM_V_GEN)$(srcdir)/utilities/bench/make-pages docs-source/performance && \
	$(SPHINXBUILD) -q -W -b html -c $(srcdir)/Documentation docs-source \
	    Documentation/html && \
	rm -rf docs-source
.PHONY: docs
