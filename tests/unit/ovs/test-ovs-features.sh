#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# How build-aux/ovs-features reads declarations: those of the tree that is built
# on, and made up ones.  Runs in the build directory.  Prints TAP.
set -u
export LC_ALL=C
source=$(cd "$(dirname "$0")/../../.." && pwd)
dir=$(mktemp -d /tmp/test-ovs-features.XXXXXX)
trap 'rm -rf "$dir"' EXIT
out=$dir/out
. "$source/tests/harness/tap.sh"

features () {
    sh "$source/build-aux/ovs-features" "$1" > "$out" 2>&1
}

# Does the output say that feature $1 is $2?
says () {
    grep -qx "#define OVS_HAVE_$1 $2" "$out"
}

echo 1..5
features ovs/src && cmp -s "$out" ovs/ovs-features.h
result 'what was built is what the script says now'
! grep -vE '^(#define OVS_HAVE_[A-Z_]+ [01]|/\* .* \*/)$' "$out"
result 'each feature is there or is not'

mkdir "$dir/tree"
tar -C ovs/src -cf - --exclude='*.o' --exclude='*.a' lib ofproto include \
    | tar -xf - -C "$dir/tree"
cat > "$dir/tree/lib/daemon.h" << 'END'
void daemonize_start(bool access_datapath /* bool, bool */,
                     bool access_hardware_ports);
END
features "$dir/tree" && says RAWIO 1
result 'a declaration may be in several lines, with comments'
echo '/* daemonize_start(bool a, bool b) */ void daemonize_start(bool a);' \
    > "$dir/tree/lib/daemon.h"
features "$dir/tree" && says RAWIO 0
result 'what a comment says does not count'
rm "$dir/tree/lib/daemon.h"
! features "$dir/tree" && grep -q 'lib/daemon.h is missing' "$out"
result 'a file that is missing is an error'
exit $tests_failed
