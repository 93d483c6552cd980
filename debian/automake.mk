# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	debian/changelog \
	debian/clean \
	debian/control \
	debian/copyright \
	debian/openvswitch-kdp-tools.openvswitch-kdp-exporter.default \
	debian/openvswitch-kdp-tools.install \
	debian/openvswitch-switch-kdp.docs \
	debian/openvswitch-switch-kdp.examples \
	debian/openvswitch-switch-kdp.install \
	debian/openvswitch-switch-kdp.postinst \
	debian/openvswitch-switch-kdp.prerm \
	debian/rules \
	debian/source/format \
	debian/tests/control \
	debian/tests/daemon \
	tests/debian/check-deb \
	tests/debian/in-guest

# Debian packages, in deb/, of the release archive.  DEBFLAGS are options of
# dpkg-buildpackage.  The archive has nothing of what is built, and Open vSwitch is
# built there once more: the distribution's package, or the tree that OVS_SOURCE
# names, here or to configure.
DEBFLAGS = --build=binary --no-sign
ovs_tree = $(abspath $(filter-out /usr/src/openvswitch%,$(OVS_SOURCE)))
deb:
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) dist BUILT_SOURCES=
	$(AM_V_at)rm -rf deb && mkdir deb
	$(AM_V_at)tar -xf $(distdir).tar.xz -C deb
	cd deb/$(distdir) && unset MAKEFLAGS && OVS_SOURCE='$(ovs_tree)' \
	    dpkg-buildpackage $(DEBFLAGS) \
		$(if $(ovs_tree),--build-profiles=pkg.ovs-kdp.tree)
	$(AM_V_at)rm -rf deb/$(distdir) && ls -l deb
.PHONY: deb

# The package is clean by lintian, and does what it should on a machine that has
# the distribution's services.  The unit tests have targets of their own.
check-deb:
	$(MAKE) deb DEB_BUILD_OPTIONS=nocheck >&2
	@if command -v lintian >/dev/null; then \
	    lintian --fail-on error,warning --info --allow-root \
		deb/*.changes >&2; \
	else \
	    echo 'make check-deb: lintian not found' >&2; exit 1; \
	fi
	$(srcdir)/tests/debian/check-deb '$(abs_builddir)'
.PHONY: check-deb
