# SPDX-License-Identifier: Apache-2.0

# KDP_ARG_SANITIZERS
# ------------------
# --enable-sanitizers=LIST.  Sets SANITIZER_CFLAGS, for Open vSwitch and for us.
AC_DEFUN([KDP_ARG_SANITIZERS],
[AC_ARG_ENABLE([sanitizers],
  [AS_HELP_STRING([--enable-sanitizers=LIST],
     [build all of Open vSwitch and ovs-kdp with sanitizers: "address",
      "undefined", "address,undefined" or "thread"])],
  [], [enable_sanitizers=no])
SANITIZER_CFLAGS=
AS_CASE([$enable_sanitizers],
  [no], [],
  [address | undefined | address,undefined | undefined,address | thread],
    [SANITIZER_CFLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer"
     AS_IF([test "${CFLAGS+set}" != set], [CFLAGS="-g -O1"])],
  [AC_MSG_ERROR([--enable-sanitizers=$enable_sanitizers: expected "address", "undefined", "address,undefined" or "thread"])])
AC_SUBST([SANITIZER_CFLAGS])
])

# KDP_ARG_WERROR
# --------------
AC_DEFUN([KDP_ARG_WERROR],
[AC_ARG_ENABLE([werror],
  [AS_HELP_STRING([--enable-werror], [make warnings errors])],
  [], [enable_werror=no])
])

# KDP_CHECK_SANITIZERS
# --------------------
# Stops if the compiler cannot link with the sanitizers asked for.  Also if
# link-time optimization is on: symbols of Open vSwitch are replaced in its
# object files, which then have none.
AC_DEFUN([KDP_CHECK_SANITIZERS],
[AS_IF([test -n "$SANITIZER_CFLAGS"],
  [AC_MSG_CHECKING([whether $CC links with -fsanitize=$enable_sanitizers])
   kdp_save_CFLAGS=$CFLAGS
   CFLAGS="$CFLAGS $SANITIZER_CFLAGS"
   AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
     [AC_MSG_RESULT([yes])],
     [AC_MSG_RESULT([no])
      AC_MSG_ERROR([$CC has no libraries for -fsanitize=$enable_sanitizers])])
   CFLAGS=$kdp_save_CFLAGS])
AS_CASE([" $CFLAGS "],
  [*" -fno-lto "*], [],
  [*" -flto"*],
    [AC_MSG_ERROR([-flto is in CFLAGS ("$CFLAGS"), and does not work with the symbols of Open vSwitch that are replaced; add -fno-lto])])
])

# KDP_HARDENING
# -------------
# --disable-hardening.  Sets HARDENING_CFLAGS and HARDENING_LDFLAGS, for Open
# vSwitch and for us, since its libraries are part of the daemon, which runs as
# root: protection of the stack, checks of the sizes of buffers, formats, a
# position-independent executable, and relocations that are made at start and
# are read-only afterwards.
#
# What the distribution's dpkg-buildflags says is taken, of these flags only;
# where that is not to be had, what Debian 12 says.  It may say -flto, which
# KDP_CHECK_SANITIZERS explains.  With sanitizers the default is without, as
# _FORTIFY_SOURCE hides functions that they watch.
AC_DEFUN([KDP_HARDENING],
[AC_ARG_ENABLE([hardening],
  [AS_HELP_STRING([--disable-hardening],
     [do not build Open vSwitch and ovs-kdp with the hardening flags of the
      distribution; without them is the default with --enable-sanitizers])],
  [], [enable_hardening=default])
AS_CASE([$enable_hardening],
  [yes | no], [],
  [default], [AS_IF([test -n "$SANITIZER_CFLAGS"], [enable_hardening=no],
                    [enable_hardening=yes])],
  [AC_MSG_ERROR([--enable-hardening=$enable_hardening: expected "yes" or "no"])])
HARDENING_CFLAGS=
HARDENING_LDFLAGS=
AS_IF([test "$enable_hardening" = yes], [
  kdp_flags="`DEB_BUILD_OPTIONS= DEB_BUILD_MAINT_OPTIONS=hardening=+all \
    dpkg-buildflags --get CPPFLAGS 2>/dev/null`"
  kdp_flags="$kdp_flags `DEB_BUILD_OPTIONS= \
    DEB_BUILD_MAINT_OPTIONS=hardening=+all \
    dpkg-buildflags --get CFLAGS 2>/dev/null`"
  AS_CASE([$kdp_flags], [*-fstack-protector*], [],
    [kdp_flags="-fstack-protector-strong -Wformat -Werror=format-security -D_FORTIFY_SOURCE=2"])
  kdp_fortify=
  for kdp_flag in $kdp_flags; do
    AS_CASE([$kdp_flag],
      [-fstack-protector* | -fstack-clash-protection | -fcf-protection* | dnl
-mbranch-protection=* | -Wformat | -Werror=format-security],
        [KDP_HARDENING_FLAG([CFLAGS], [$kdp_flag])],
      [-D_FORTIFY_SOURCE=*], [kdp_fortify=$kdp_flag])
  done
  # Some compilers define it themselves.
  AS_CASE([" $CPPFLAGS $CFLAGS "], [*_FORTIFY_SOURCE*], [kdp_fortify=])
  AS_IF([test -n "$kdp_fortify"],
    [KDP_HARDENING_FLAG([CFLAGS], [-U_FORTIFY_SOURCE $kdp_fortify])])
  KDP_HARDENING_FLAG([CFLAGS], [-fPIE])
  for kdp_flag in -pie -Wl,-z,relro -Wl,-z,now; do
    KDP_HARDENING_FLAG([LDFLAGS], [$kdp_flag])
  done])
AC_SUBST([HARDENING_CFLAGS])
AC_SUBST([HARDENING_LDFLAGS])
])

# KDP_HARDENING_FLAG(CFLAGS|LDFLAGS, FLAG)
# ----------------------------------------
# Adds FLAG to the hardening flags if programs can be built with it.  Without
# optimization _FORTIFY_SOURCE checks nothing, and some C libraries warn.
AC_DEFUN([KDP_HARDENING_FLAG],
[AC_MSG_CHECKING([whether programs can be built with $2])
 kdp_save_CFLAGS=$CFLAGS
 kdp_save_LDFLAGS=$LDFLAGS
 $1="$2 $[]$1"
 CFLAGS="-Werror $HARDENING_CFLAGS $CFLAGS"
 LDFLAGS="$HARDENING_LDFLAGS $LDFLAGS"
 AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>
#if _FORTIFY_SOURCE && !defined __OPTIMIZE__
#error "only warns"
#endif]])],
   [AC_MSG_RESULT([yes])
    HARDENING_$1="${HARDENING_$1:+$HARDENING_$1 }$2"],
   [AC_MSG_RESULT([no])])
 CFLAGS=$kdp_save_CFLAGS
 LDFLAGS=$kdp_save_LDFLAGS
])

# KDP_CHECK_FLAGS
# ---------------
# Sets KDP_CFLAGS to the flags that the compiler knows.  Open vSwitch is built
# with -fno-strict-aliasing, and the functions in its headers need it too.
# -Wthread-safety is what its lock annotations are for; only Clang has it.  A
# function of another version of Open vSwitch may have other arguments, or be
# gone: that never is a mere warning.
AC_DEFUN([KDP_CHECK_FLAGS],
[KDP_CFLAGS=
 kdp_save_CFLAGS=$CFLAGS
 for kdp_flag in -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
     -Wno-missing-field-initializers -Wno-unused-function -Wshadow \
     -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
     -Werror=implicit-function-declaration \
     -Werror=incompatible-pointer-types -Werror=int-conversion \
     -Wpointer-arith -Wformat=2 -Wno-format-nonliteral -Wthread-safety \
     -fno-strict-aliasing; do
   CFLAGS="$kdp_save_CFLAGS -Werror $kdp_flag"
   AC_MSG_CHECKING([whether $CC accepts $kdp_flag])
   AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
     [AC_MSG_RESULT([yes])
      KDP_CFLAGS="$KDP_CFLAGS $kdp_flag"],
     [AC_MSG_RESULT([no])])
 done
 CFLAGS=$kdp_save_CFLAGS
 AS_IF([test "$enable_werror" = yes], [KDP_CFLAGS="$KDP_CFLAGS -Werror"])
 # The compiler warns of fences, which the thread sanitizer does not model and
 # Open vSwitch's reference counts use.
 AS_IF([test "$enable_sanitizers" = thread],
       [KDP_CFLAGS="$KDP_CFLAGS -Wno-tsan"])
 AC_SUBST([KDP_CFLAGS])
])

# KDP_OVS_SOURCE([DIR])
# ---------------------
# Finds the Open vSwitch source and checks its version.  Sets OVS_SOURCE, a
# directory or a tar file, OVS_VERSION, and OVS_REVISION, which is in the
# environment where no changelog and no clone says it (build-aux/ovs-revision).
#
# Without --with-ovs-source, it is what the distribution's package has put into
# DIR, by default /usr/src/openvswitch: a tar file (Debian 12), or the tree
# itself (Debian 13).  Nothing is built in there.
AC_DEFUN([KDP_OVS_SOURCE],
[AC_ARG_WITH([ovs-source],
  [AS_HELP_STRING([--with-ovs-source=DIR|TARBALL],
     [Open vSwitch source tree or tar file to build on; the default is that
      of the distribution's package openvswitch-source])],
  [], [with_ovs_source=])
AC_MSG_CHECKING([for the Open vSwitch source])
kdp_ovs_advice="Supported are Open vSwitch 2.17.x, 3.1.x, 3.3.x, 3.5.x, 3.6.x, 3.7.x and 4.0.x, such as the package openvswitch-source of Debian 12, 13 and sid (apt-get install openvswitch-source)."
AS_CASE([$with_ovs_source],
  [yes | no],
    [AC_MSG_ERROR([--with-ovs-source needs a directory or a tar file. $kdp_ovs_advice])],
  [''],
    [OVS_SOURCE=m4_default([$1], [/usr/src/openvswitch])
     AS_IF([test -f "$OVS_SOURCE/openvswitch.tar.gz"],
       [OVS_SOURCE=$OVS_SOURCE/openvswitch.tar.gz],
       [test ! -f "$OVS_SOURCE/configure.ac"],
       [AC_MSG_ERROR([neither openvswitch.tar.gz nor a source tree is found at $OVS_SOURCE. $kdp_ovs_advice])])],
  [OVS_SOURCE=$with_ovs_source
   AS_IF([test ! -e "$OVS_SOURCE"],
     [AC_MSG_ERROR([--with-ovs-source=$OVS_SOURCE: no such file or directory. $kdp_ovs_advice])])])

# The whole archive is read, so that one cut short is noticed here and not
# when it is unpacked.
kdp_ovs_top=
AS_IF([test -d "$OVS_SOURCE"],
  [OVS_SOURCE=`cd "$OVS_SOURCE" && pwd`
   kdp_pwd=`pwd`
   AS_CASE([$kdp_pwd/], ["$OVS_SOURCE"/*],
     [AC_MSG_ERROR([$OVS_SOURCE contains the build directory $kdp_pwd, and would be copied into itself. Build somewhere else.])])
   kdp_ovs_missing() { test ! -f "$OVS_SOURCE/$[1]"; }
   kdp_ovs_cat() { cat "$OVS_SOURCE/$[1]"; }],
  [AS_CASE([$OVS_SOURCE], [/*], [], [OVS_SOURCE=`pwd`/$OVS_SOURCE])
   AS_IF([tar -tf "$OVS_SOURCE" >conftest.ovs 2>&AS_MESSAGE_LOG_FD], [],
     [rm -f conftest.ovs
      AC_MSG_ERROR([$OVS_SOURCE is no tar file, or is damaged: tar cannot read it to its end. $kdp_ovs_advice])])
   kdp_ovs_top=`$SED -n ['s,^\(\(\./\)*[^/]*/\)configure\.ac$,\1,p'] conftest.ovs | $SED 1q`
   kdp_ovs_list=`cat conftest.ovs`
   rm -f conftest.ovs
   kdp_ovs_missing() {
     AS_CASE(["$as_nl$kdp_ovs_list$as_nl"],
       [*"$as_nl$kdp_ovs_top$[1]$as_nl"*], [false], [:])
   }
   kdp_ovs_cat() { tar -xOf "$OVS_SOURCE" "$kdp_ovs_top$[1]"; }])
AS_IF([kdp_ovs_missing configure.ac],
  [AC_MSG_ERROR([$OVS_SOURCE is no Open vSwitch source: it has no configure.ac. $kdp_ovs_advice])])
OVS_VERSION=`kdp_ovs_cat configure.ac 2>&AS_MESSAGE_LOG_FD |
  $SED -n ['s/^A[C]_INIT(openvswitch, *\([0-9][0-9.]*\).*/\1/p']`
AS_CASE([$OVS_VERSION],
  [2.17.* | 3.1.* | 3.3.* | 3.5.* | 3.6.* | 3.7.* | 4.0.*], [],
  [''], [AC_MSG_ERROR([$OVS_SOURCE is no Open vSwitch source: its configure.ac names no version of openvswitch. $kdp_ovs_advice])],
  [AC_MSG_ERROR([$OVS_SOURCE is Open vSwitch $OVS_VERSION, which is not supported. $kdp_ovs_advice])])
for kdp_file in boot.sh lib/netdev-linux.c ofproto/ofproto.c \
    vswitchd/bridge.c; do
  AS_IF([kdp_ovs_missing $kdp_file],
    [AC_MSG_ERROR([$OVS_SOURCE is an incomplete source of Open vSwitch $OVS_VERSION: it has no $kdp_file. $kdp_ovs_advice])])
done
AC_ARG_VAR([OVS_REVISION],
  [which revision of Open vSwitch the source is, for --version])
AS_IF([test -z "$OVS_REVISION"],
  [OVS_REVISION=`sh "$srcdir/build-aux/ovs-revision" "$OVS_SOURCE" 2>&AS_MESSAGE_LOG_FD`])
AC_MSG_RESULT([$OVS_SOURCE, version $OVS_VERSION ($OVS_REVISION)])
AC_SUBST([OVS_SOURCE])
AC_SUBST([OVS_VERSION])
])

# KDP_OVS_FEATURES
# ----------------
# Optional parts of Open vSwitch.  The daemon takes the place of the
# distribution's, so what that one offers must not be missing because a
# package was: each is required unless it is disabled.  Sets
# OVS_CONFIGURE_FLAGS, for Open vSwitch's configure, and KDP_FEATURE_FLAGS,
# what was disabled, for ours.
AC_DEFUN([KDP_OVS_FEATURES],
[OVS_CONFIGURE_FLAGS=
KDP_FEATURE_FLAGS=
kdp_save_LIBS=$LIBS
KDP_OVS_FEATURE([ssl], [OpenFlow and OVSDB connections over SSL],
  [ssl], [SSL_CTX_new], [libssl-dev],
  [--enable-ssl], [--disable-ssl])
KDP_OVS_FEATURE([libcapng], [the option --user],
  [cap-ng], [capng_clear], [libcap-ng-dev],
  [--enable-libcapng], [--disable-libcapng])
dnl Open vSwitch has no option for this one, only a check.
KDP_OVS_FEATURE([unbound], [host names in connection methods],
  [unbound], [ub_ctx_create], [libunbound-dev],
  [ac_cv_lib_unbound_ub_ctx_create=yes], [ac_cv_lib_unbound_ub_ctx_create=no])
LIBS=$kdp_save_LIBS
dnl AF_XDP is for the userspace datapath; Debian's package has no libunwind.
dnl configure requires the header of the probes for our own, so that those of
dnl Open vSwitch can always be there, too.
OVS_CONFIGURE_FLAGS="$OVS_CONFIGURE_FLAGS --disable-afxdp --enable-usdt-probes ac_cv_lib_unwind_unw_backtrace=no"
AS_IF([test "$cross_compiling" = yes],
  [OVS_CONFIGURE_FLAGS="--host=$host_alias $OVS_CONFIGURE_FLAGS"])
AC_SUBST([OVS_CONFIGURE_FLAGS])
AC_SUBST([KDP_FEATURE_FLAGS])
])

# KDP_OVS_FEATURE(NAME, WHAT, LIBRARY, FUNCTION, PACKAGE, FLAG-ON, FLAG-OFF)
# --------------------------------------------------------------------------
AC_DEFUN([KDP_OVS_FEATURE],
[AC_ARG_ENABLE([$1],
  [AS_HELP_STRING([--disable-$1], [build Open vSwitch without $2])],
  [], [enable_$1=yes])
AS_CASE([$enable_$1],
  [yes],
    [AC_CHECK_LIB([$3], [$4], [],
       [AC_MSG_ERROR([lib$3 is needed for $2 (apt-get install $5). To build without, use --disable-$1.])])
     OVS_CONFIGURE_FLAGS="$OVS_CONFIGURE_FLAGS $6"],
  [no],
    [OVS_CONFIGURE_FLAGS="$OVS_CONFIGURE_FLAGS $7"
     KDP_FEATURE_FLAGS="$KDP_FEATURE_FLAGS --disable-$1"],
  [AC_MSG_ERROR([--enable-$1=$enable_$1: expected "yes" or "no"])])
])
