# SPDX-License-Identifier: Apache-2.0

# Other versions of Open vSwitch than the one that is built on.  For example:
#
#   make check-versions                        Debian's releases
#   make check-versions OVS_TREES=trixie       one of them
#   make check-versions OVS_TREES='~/ovs ../ovs-3.3.tar.gz'
#   make check-versions VERSIONSFLAGS=--guests system tests, too
OVS_TREES =
VERSIONSFLAGS =
check-versions:
	@$(srcdir)/tests/versions/check-versions $(VERSIONSFLAGS) $(OVS_TREES)
.PHONY: check-versions

# Other kernels than the one that is installed: linux-image-amd64 of a release
# of Debian, or the file of a kernel.
KERNELS =
KERNELSFLAGS =
check-kernels:
	@$(srcdir)/tests/versions/check-kernels $(KERNELSFLAGS) $(KERNELS)
.PHONY: check-kernels

# The processors of SmartNICs, and of some hypervisors.
ARM64FLAGS =
check-arm64:
	@$(srcdir)/tests/versions/check-arm64 $(ARM64FLAGS)
check-deb-arm64:
	$(MAKE) dist BUILT_SOURCES= >&2
	@$(srcdir)/tests/versions/check-arm64 --deb $(ARM64FLAGS)
.PHONY: check-arm64 check-deb-arm64

# A kernel for guests in which tc knows chains of recirculation, as those of
# Debian do not.
kernel-with-chains:
	@$(srcdir)/tests/versions/build-kernel --builddir '$(abs_builddir)'
.PHONY: kernel-with-chains
EXTRA_DIST += \
	tests/harness/debian.sh \
	tests/versions/build-kernel \
	tests/versions/check-arm64 \
	tests/versions/check-kernels \
	tests/versions/check-versions \
	tests/versions/debian-packages
