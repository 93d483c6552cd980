#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows that check-layers fails for what it is there for, and for nothing else:
# builds small trees of sources with one violation each, and looks at the exit
# status and at what the failure names.  Prints TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' HUP INT TERM
tree=$work/tree
flags=
n=0
n_failed=0

# Starts a tree that is right.  It has what is special, too: a weak symbol with
# a strong one elsewhere, the --wrap of the linker, Open vSwitch's original
# under its other name, and a private header.
begin () {
    rm -rf "$tree"
    add lib/nl/nl-a.h 'int nl_a(void);'
    add lib/nl/nl-a.c '#include "nl/nl-a.h"' 'int nl_a(void) { return 1; }'
    add lib/upcall/upcall-a-private.h '#include "upcall/upcall-a.h"'
    add lib/upcall/upcall-a.h 'int upcall_a(void);'
    add lib/upcall/upcall-a.c '#include "upcall/upcall-a-private.h"' \
        '#include "nl/nl-a.h"' '#include <poll.h>' \
        'int __wrap_poll(void) { return 0; }' \
        'int upcall_a(void) { return nl_a() + poll(0, 0, 0); }'
    add lib/upcall/upcall-b.c '#include "upcall/upcall-a.h"' \
        '#include "odp-netlink.h"' 'int upcall_b(void);' \
        'int upcall_b(void) { return upcall_a(); }'
    add include/odp-netlink.h
    add lib/link/link-a.c '#include <poll.h>' 'int link_a(void);' \
        'int __attribute__((weak)) nl_a(void);' \
        'int nl_a(void) { return 2; }' \
        'int link_a(void) { return nl_a() + poll(0, 0, 0); }'
    add lib/netdev-linux/netdev-a.c 'int kdp_stock_netdev_linux_run(void);' \
        'int netdev_a(void);' \
        'int netdev_a(void) { return kdp_stock_netdev_linux_run(); }'
    add vswitchd/main.c 'int upcall_b(void);' \
        'int main(void) { return upcall_b(); }'
}

# Writes file $1 with lines $2...
add () {
    local file=$tree/$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "$@" >"$file"
}

build () {
    local file
    for file in $(cd "$tree" && find . -name '*.c'); do
        # shellcheck disable=SC2086 # Several words, or none.
        (cd "$tree" && ${CC:-cc} $flags -w -Ilib -Iinclude -c "$file" \
            -o "${file%.c}.o") || exit 99
    done
}

# Runs the check.  Leaves its status in $status and its output in $output.
check () {
    output=$("${PYTHON3:-python3}" "$here/check-layers" --source "$tree" \
        --objects "$tree" "$@" 2>&1)
    status=$?
}

# Prints the result of case $1, which passed if $2 is 0.
result () {
    n=$((n + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $n - $1"
    else
        n_failed=$((n_failed + 1))
        echo "not ok $n - $1"
        sed 's/^/#   /' <<<"status $status"$'\n'"$output"
    fi
}

# Case $1: the tree is right.
passes () {
    build
    check
    [ $status -eq 0 ] && ! grep -q '^not ok' <<<"$output"
    result "$1" $?
}

# Case $1: the tree fails in the case called $2 and in no other, and says the
# lines $3...
fails () {
    local what=$1 name=$2 line failed
    shift 2
    build
    check
    failed=$(sed -n 's/^not ok [0-9]* - //p' <<<"$output")
    [ $status -eq 1 ] && [ "$failed" = "$name" ] \
        && for line in "$@"; do
               grep -qxF "# $line" <<<"$output" || break
               line=
           done && [ -z "$line" ]
    result "$what" $?
}

echo 1..19

begin
passes 'a tree without violations passes'

begin
flags=-fsanitize=address
if (build) 2>/dev/null; then
    passes 'a tree without violations passes, with the address sanitizer'
else
    n=$((n + 1))
    echo "ok $n - with the address sanitizer # SKIP the compiler has none"
fi
flags=

begin
add lib/nl/nl-b.c 'int upcall_a(void);' 'int nl_b(void) { return upcall_a(); }'
fails 'an arrow upwards fails' 'lib/nl uses only what it may, by symbols' \
    "lib/nl/nl-b.c needs upcall_a of lib/upcall/upcall-a.c: lib/nl may not use\
 lib/upcall"

begin
add lib/link/link-b.c 'extern int upcall_a(void);' \
    'int (*link_b)(void) = upcall_a;'
fails 'an arrow sideways fails' 'lib/link uses only what it may, by symbols' \
    "lib/link/link-b.c needs upcall_a of lib/upcall/upcall-a.c: lib/link may\
 not use lib/upcall"

begin
add lib/link/link-b.c 'int upcall_a(void) __attribute__((weak));' \
    'int link_b(void) { return upcall_a ? upcall_a() : 0; }'
fails 'a weak reference sideways fails' \
    'lib/link uses only what it may, by symbols' \
    "lib/link/link-b.c needs upcall_a of lib/upcall/upcall-a.c: lib/link may\
 not use lib/upcall"

begin
add lib/link/link-b.c 'int other(void) __asm__("upcall_a");' \
    'int link_b(void) { return other(); }'
fails 'an arrow by another name in C fails' \
    'lib/link uses only what it may, by symbols' \
    "lib/link/link-b.c needs upcall_a of lib/upcall/upcall-a.c: lib/link may\
 not use lib/upcall"

begin
add lib/nl/nl-b.h '#include "upcall/upcall-a.h"'
fails 'an #include upwards fails' 'lib/nl uses only what it may, by includes' \
    "lib/nl/nl-b.h:1 includes \"upcall/upcall-a.h\" of lib/upcall/upcall-a.h:\
 lib/nl may not use lib/upcall"

begin
add lib/upcall/upcall-c.c 'int dpif_open(void);' \
    'int upcall_c(void) { return dpif_open(); }'
fails 'an engine that calls dpif fails' \
    'lib/upcall knows nothing of dpif and odp and netdev, by symbols' \
    "lib/upcall/upcall-c.c needs dpif_open: lib/upcall is to know nothing of\
 dpif"

begin
add lib/link/link-b.c 'int kdp_stock_netdev_linux_run(void);' \
    'int link_b(void) { return kdp_stock_netdev_linux_run(); }'
fails 'an engine that calls the original of netdev fails' \
    'lib/link knows nothing of dpif and odp and netdev, by symbols' \
    "lib/link/link-b.c needs kdp_stock_netdev_linux_run: lib/link is to know\
 nothing of netdev"

begin
add lib/other.c 'int hidden(void) { return 1; }'
(cd "$tree" && ${CC:-cc} -c lib/other.c -o dpif.o && mkdir ovs &&
    ar cr ovs/libopenvswitch-kdp.a dpif.o && rm lib/other.c) || exit 99
add lib/vport/vport-a.c 'int hidden(void);' \
    'int vport_a(void) { return hidden(); }'
fails 'an engine that needs a symbol of an object of dpif fails' \
    'lib/vport knows nothing of dpif and odp and netdev, by symbols' \
    "lib/vport/vport-a.c needs hidden of dpif.o: lib/vport is to know nothing\
 of dpif"

begin
add include/netdev-provider.h
add lib/stats/stats-a.c '' '# include "netdev-provider.h"'
fails 'the ground floor with an #include of netdev fails' \
    'lib/stats knows nothing of dpif and odp and netdev, by includes' \
    "lib/stats/stats-a.c:2 includes \"netdev-provider.h\": lib/stats is to\
 know nothing of netdev"

begin
add lib/tc/tc-a.c '#include "dpif.h"' 'int dpif_close(void);' \
    'int tc_a(void) { return dpif_close(); }'
add include/dpif.h
fails 'tc may include dpif.h, but not call dpif' \
    'lib/tc knows nothing of dpif, by symbols' \
    "lib/tc/tc-a.c needs dpif_close: lib/tc is to know nothing of dpif"

begin
add lib/ovs/compat-dpif.h '#include "openvswitch/dpif.h"'
add lib/link/link-b.h '#include "ovs/compat-dpif.h"'
fails 'an #include of dpif through another header fails' \
    'lib/link knows nothing of dpif and odp and netdev, by includes' \
    "lib/link/link-b.h:1 includes \"ovs/compat-dpif.h\" of\
 lib/ovs/compat-dpif.h, and lib/ovs/compat-dpif.h:1 includes\
 \"openvswitch/dpif.h\": lib/link is to know nothing of dpif"

begin
add lib/nl/nl-b.c 'int nl_c(void);' 'int nl_b(void) { return nl_c(); }'
add lib/nl/nl-c.c 'int nl_d(void);' 'int nl_c(void) { return nl_d(); }'
add lib/nl/nl-d.c 'int nl_b(void), nl_a(void);' \
    'int nl_d(void) { return nl_b() + nl_a(); }'
fails 'a circle of files by symbols fails' \
    'lib/nl has no circle of files, by symbols' \
    'circle of 3 in lib/nl: nl-b, nl-c, nl-d' \
    '  lib/nl/nl-b.c needs nl_c of lib/nl/nl-c.c' \
    '  lib/nl/nl-c.c needs nl_d of lib/nl/nl-d.c' \
    '  lib/nl/nl-d.c needs nl_b of lib/nl/nl-b.c'

begin
add lib/nl/nl-b.h '#include "nl/nl-c.h"'
add lib/nl/nl-c.h
add lib/nl/nl-c.c '#include "nl/nl-b.h"'
fails 'a circle of files by #include fails' \
    'lib/nl has no circle of files, by includes' \
    'circle of 2 in lib/nl: nl-b, nl-c' \
    '  lib/nl/nl-b.h:1 includes "nl/nl-c.h" of lib/nl/nl-c.h' \
    '  lib/nl/nl-c.c:1 includes "nl/nl-b.h" of lib/nl/nl-b.h'

begin
add lib/new/new-a.c 'int new_a;'
fails 'a folder without a layer fails' 'every folder has its layer' \
    'lib/new is not in the table'

begin
build
add lib/nl/nl-b.c
check
[ $status -eq 1 ] && grep -qxF '# lib/nl/nl-b.c has none' <<<"$output"
result 'a source without an object fails' $?

begin
printf 'lib/nl: lib/upcall\nlib/upcall:\n' >"$work/right"
printf 'lib/nl:\nlib/upcall: lib/nl\nlib/nl: lib/upcall\n' >"$work/wrong"
printf 'lib/upcall:\nlib/link: lib/upcall\n' >"$work/upwards"
check --table "$work/right"
[ $status -ne 99 ] && check --table "$work/upwards" && [ $status -eq 99 ] \
    && grep -qF 'lib/link uses lib/upcall, which is not below it' \
        <<<"$output" \
    && check --table "$work/wrong" && [ $status -eq 99 ]
result 'a table with an arrow upwards is refused' $?

begin
add lib/nl/nl-b.c 'int nl_b;'
build
check --unused
[ $status -eq 0 ] && grep -qxF 'lib/nl/nl-b.c: nl_b: nobody' <<<"$output" \
    && ! grep -qE 'nl_a|upcall_|main|__wrap' <<<"$output"
result 'what nobody uses is listed' $?

exit $((n_failed > 0))
