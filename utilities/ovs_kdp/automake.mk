# SPDX-License-Identifier: Apache-2.0

# What is installed beside the daemon: programs in Python and what they share.
kdpdatadir = $(datadir)/ovs-kdp
kdppythondir = $(kdpdatadir)/ovs_kdp
dist_kdppython_DATA = \
	utilities/ovs_kdp/__init__.py \
	utilities/ovs_kdp/daemon.py \
	utilities/ovs_kdp/doctor.py \
	utilities/ovs_kdp/exporter.py \
	utilities/ovs_kdp/facts.py \
	utilities/ovs_kdp/mask.py \
	utilities/ovs_kdp/metrics.py \
	utilities/ovs_kdp/page.py \
	utilities/ovs_kdp/program.py \
	utilities/ovs_kdp/tc_rules.py \
	utilities/ovs_kdp/top.py \
	utilities/ovs_kdp/view.py

# What they show, and what monitoring systems take.
kdpschemadir = $(kdpdatadir)/schemas
dist_kdpschema_DATA = \
	utilities/schemas/kdp-doctor.json \
	utilities/schemas/link-table-show.json \
	utilities/schemas/offload-show.json \
	utilities/schemas/offload-why.json \
	utilities/schemas/upcall-show.json \
	utilities/schemas/vport-table-show.json
kdpprometheusdir = $(kdpdatadir)/prometheus
dist_kdpprometheus_DATA = \
	utilities/prometheus/alerts-test.yml \
	utilities/prometheus/alerts.yml \
	utilities/prometheus/dashboard.json

python_programs = \
	utilities/openvswitch-kdp-exporter \
	utilities/ovs-kdp-doctor \
	utilities/ovs-kdp-top
bin_SCRIPTS = $(python_programs)
CLEANFILES += $(python_programs)
EXTRA_DIST += \
	$(python_programs:=.in) \
	utilities/openvswitch-kdp-exporter.service
$(python_programs): Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(SED) 's|@kdpdatadir[@]|$(kdpdatadir)|g' $(srcdir)/$@.in >$@.tmp && \
	chmod +x $@.tmp && mv $@.tmp $@
utilities/openvswitch-kdp-exporter: utilities/openvswitch-kdp-exporter.in
utilities/ovs-kdp-doctor: utilities/ovs-kdp-doctor.in
utilities/ovs-kdp-top: utilities/ovs-kdp-top.in
