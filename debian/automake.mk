# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	debian/changelog \
	debian/control \
	debian/copyright \
	debian/openvswitch-switch-kdp.docs \
	debian/openvswitch-switch-kdp.postinst \
	debian/openvswitch-switch-kdp.prerm \
	debian/rules \
	debian/source/format \
	debian/tests/control \
	debian/tests/daemon

# Debian packages, in deb/, of the release archive.  DEBFLAGS are options of
# dpkg-buildpackage.
DEBFLAGS = --build=binary --no-sign
deb: dist
	$(AM_V_at)rm -rf deb && mkdir deb
	$(AM_V_at)tar -xf $(distdir).tar.xz -C deb
	cd deb/$(distdir) && dpkg-buildpackage $(DEBFLAGS)
	$(AM_V_at)rm -rf deb/$(distdir) && ls -l deb
.PHONY: deb
