# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	rpm/ovs-kdp.fc \
	rpm/ovs-kdp.spec.in \
	rpm/ovs-kdp.te \
	rpm/ovs-vswitchd-alternative.conf \
	rpm/rpmlint.toml \
	tests/rpm/check-rpm

# RPM packages, in rpms/, of the release archive and the source of Open vSwitch
# that OVS_SOURCE names, here or to configure.  The source package has both.
# RPMFLAGS are options of rpmbuild.  On Debian no database of RPM says what is
# installed.
RPMFLAGS =
rpm_name = %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm
rpm:
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) dist BUILT_SOURCES=
	$(AM_V_at)rm -rf rpms && mkdir rpms && mv $(distdir).tar.xz rpms
	$(AM_V_at)source='$(abspath $(OVS_SOURCE))' && \
	if test -d "$$source"; then \
	    tar -C "$$source" -cf rpms/openvswitch.tar --exclude=./.git .; \
	else \
	    cp "$$source" rpms/openvswitch.tar; \
	fi && \
	configure_ac=`tar -xOf rpms/openvswitch.tar --wildcards \
	    --no-wildcards-match-slash '*/configure.ac'` && \
	version=`echo "$$configure_ac" | \
	    $(SED) -n 's/^AC_INIT(openvswitch, *\([0-9.]*\).*/\1/p'` && \
	revision=$${OVS_REVISION-`$(SHELL) $(srcdir)/build-aux/ovs-revision \
	    "$$source"`} && \
	$(SED) -e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|' \
	    -e "s|@OVS_VERSION[@]|$$version|; s|@OVS_REVISION[@]|$$revision|" \
	    $(srcdir)/rpm/ovs-kdp.spec.in >rpms/ovs-kdp.spec
	unset MAKEFLAGS && rpmbuild -ba --define '_topdir $(abs_builddir)/rpms' \
	    --define '_sourcedir %_topdir' --define '_rpmdir %_topdir' \
	    --define '_srcrpmdir %_topdir' --define '_build_name_fmt $(rpm_name)' \
	    $(if $(wildcard /etc/debian_version),--nodeps) $(RPMFLAGS) \
	    rpms/ovs-kdp.spec
	$(AM_V_at)cd rpms && rm -rf BUILD BUILDROOT RPMS SOURCES SPECS SRPMS \
	    openvswitch.tar *.spec *.tar.xz && ls -l
.PHONY: rpm

# The packages are clean by rpmlint, and do in a root of their own what they
# should.  The unit tests have targets of their own.
check-rpm:
	$(MAKE) rpm RPMFLAGS='--without check' >&2
	$(srcdir)/tests/rpm/check-rpm '$(abs_builddir)'
.PHONY: check-rpm
