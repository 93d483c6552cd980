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

# KDP_CHECK_FLAGS
# ---------------
# Sets KDP_CFLAGS to the warning flags that the compiler knows.
AC_DEFUN([KDP_CHECK_FLAGS],
[KDP_CFLAGS=
 kdp_save_CFLAGS=$CFLAGS
 for kdp_flag in -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
     -Wno-missing-field-initializers -Wno-unused-function -Wshadow \
     -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
     -Wpointer-arith -Wformat=2 -Wno-format-nonliteral; do
   CFLAGS="$kdp_save_CFLAGS -Werror $kdp_flag"
   AC_MSG_CHECKING([whether $CC accepts $kdp_flag])
   AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
     [AC_MSG_RESULT([yes])
      KDP_CFLAGS="$KDP_CFLAGS $kdp_flag"],
     [AC_MSG_RESULT([no])])
 done
 CFLAGS=$kdp_save_CFLAGS
 AS_IF([test "$enable_werror" = yes], [KDP_CFLAGS="$KDP_CFLAGS -Werror"])
 AC_SUBST([KDP_CFLAGS])
])

# KDP_OVS_SOURCE
# --------------
# Finds the Open vSwitch source and checks its version.  Sets OVS_SOURCE, a
# directory or a tar file, and OVS_VERSION.
AC_DEFUN([KDP_OVS_SOURCE],
[AC_ARG_WITH([ovs-source],
  [AS_HELP_STRING([--with-ovs-source=DIR|TARBALL],
     [Open vSwitch source tree or tar file to build upon; the default is that
      of the distribution's package openvswitch-source])],
  [], [with_ovs_source=])
AC_MSG_CHECKING([for the Open vSwitch source])
kdp_ovs_advice="Supported is Open vSwitch 3.1.x, as in the package openvswitch-source of Debian 12 (apt-get install openvswitch-source)."
AS_CASE([$with_ovs_source],
  [yes | no],
    [AC_MSG_ERROR([--with-ovs-source needs a directory or a tar file. $kdp_ovs_advice])],
  [''],
    [OVS_SOURCE=/usr/src/openvswitch/openvswitch.tar.gz
     AS_IF([test ! -f "$OVS_SOURCE"],
       [AC_MSG_ERROR([nothing found at $OVS_SOURCE. $kdp_ovs_advice])])],
  [OVS_SOURCE=$with_ovs_source
   AS_IF([test ! -e "$OVS_SOURCE"],
     [AC_MSG_ERROR([--with-ovs-source=$OVS_SOURCE: no such file or directory. $kdp_ovs_advice])])])
AS_IF([test -d "$OVS_SOURCE"],
  [OVS_SOURCE=`cd "$OVS_SOURCE" && pwd`
   AS_IF([test -f "$OVS_SOURCE/configure.ac"],
     [kdp_ac_init=`grep ['^A[C]_INIT(openvswitch'] "$OVS_SOURCE/configure.ac"`],
     [AC_MSG_ERROR([$OVS_SOURCE is no Open vSwitch source tree: it has no configure.ac. $kdp_ovs_advice])])],
  [AS_CASE([$OVS_SOURCE], [/*], [],
     [OVS_SOURCE=`pwd`/$OVS_SOURCE])
   kdp_ac_init=`tar -xOf "$OVS_SOURCE" --wildcards --no-wildcards-match-slash '*/configure.ac' 2>&AS_MESSAGE_LOG_FD | grep ['^A[C]_INIT(openvswitch']`])
OVS_VERSION=`printf '%s\n' "$kdp_ac_init" | $SED -n ['s/^A[C]_INIT(openvswitch, *\([0-9][0-9.]*\).*/\1/p']`
AS_CASE([$OVS_VERSION],
  [3.1.*], [AC_MSG_RESULT([$OVS_SOURCE, version $OVS_VERSION])],
  [''], [AC_MSG_ERROR([$OVS_SOURCE is no Open vSwitch source: no version found in its configure.ac (broken or incomplete?). $kdp_ovs_advice])],
  [AC_MSG_ERROR([$OVS_SOURCE is Open vSwitch $OVS_VERSION, which is not supported. $kdp_ovs_advice])])
AC_SUBST([OVS_SOURCE])
AC_SUBST([OVS_VERSION])
])
