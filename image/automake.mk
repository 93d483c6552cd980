# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	image/daemonset.yaml \
	image/make-image \
	tests/image/check-image

# Images for containers, in images/, of the release archive and the source of
# Open vSwitch that OVS_SOURCE names, here or to configure.
image:
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) dist BUILT_SOURCES=
	$(AM_V_at)rm -rf images && mkdir images && \
	tar -xf $(distdir).tar.xz -C images
	unset MAKEFLAGS && cd images/$(distdir) && ./configure \
	    --with-ovs-source='$(abspath $(OVS_SOURCE))' $(KDP_FEATURE_FLAGS) && \
	make -j"`getconf _NPROCESSORS_ONLN`" all ovs-build-programs && \
	image/make-image . ..
	$(AM_V_at)rm -rf images/$(distdir) && ls -l images
.PHONY: image

# The images run on nothing but themselves.
check-image:
	$(MAKE) image >&2
	$(srcdir)/tests/image/check-image '$(abs_builddir)'
.PHONY: check-image
