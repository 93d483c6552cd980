#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Which Open vSwitch sources configure takes, and what it says of others.  The
# sources are made up.  Prints TAP.
set -u
export LC_ALL=C
source=$(cd "$(dirname "$0")/../../.." && pwd)
dir=$(mktemp -d /tmp/test-ovs-source.XXXXXX)
trap 'rm -rf "$dir"' EXIT
out=$dir/out
. "$source/tests/harness/tap.sh"

# Makes tree $1, of Open vSwitch $2.
make_tree () {
    mkdir -p "$1"/{lib,ofproto,vswitchd}
    echo "AC_INIT(openvswitch, $2, bugs@openvswitch.org)" > "$1/configure.ac"
    touch "$1"/boot.sh "$1"/lib/netdev-linux.c "$1"/ofproto/ofproto.c \
        "$1"/vswitchd/bridge.c
}

# Configures with arguments $@, and fails if that does.
configure () {
    (cd "$dir/build" && "$dir/configure" "$@") > "$out" 2>&1
}

# As configure, but fails unless it ends with an error that says $1, and what
# is supported.
refused () {
    local says=$1
    shift
    ! configure "$@" && grep -q "error: .*$says.*Supported are .*3\\.1\\.x" \
        "$out"
}

# Succeeds if source $1, of version $2, was taken.
took () {
    [ "$(cat "$dir/build/result")" = "$1 $2" ]
}

command -v autoconf > /dev/null || {
    echo "1..0 # SKIP autoconf not found (apt-get install autoconf)"
    exit 77
}
echo 1..12
mkdir "$dir/build" "$dir/distribution"
cat > "$dir/configure.ac" << END
AC_INIT([test], [1])
m4_include([$source/m4/kdp.m4])
AC_PROG_SED
KDP_OVS_SOURCE([$dir/distribution])
echo "\$OVS_SOURCE \$OVS_VERSION" > result
END
(cd "$dir" && autoconf) > "$out" 2>&1
result 'there is a configure'

supported='2.17.9 3.1.0 3.1.8 3.3.0 3.3.10 3.5.0 3.5.5 4.0.0 4.0.1'
for version in $supported; do
    make_tree "$dir/$version" "$version"
    configure --with-ovs-source="$dir/$version" \
        && took "$dir/$version" "$version" || break
done
result "trees of these are taken: $supported"

others='2.16.8 3.0.1 3.2.0 3.4.0 3.6.0 3.7.1 4.1.0 3.10.0 13.1.0'
for version in $others; do
    make_tree "$dir/$version" "$version"
    refused "is Open vSwitch $version, which is not supported" \
        --with-ovs-source="$dir/$version" || break
done
result "of these not: $others"

tar -C "$dir" -czf "$dir/ovs.tar.gz" 3.3.10
configure --with-ovs-source="$dir/ovs.tar.gz" \
    && took "$dir/ovs.tar.gz" 3.3.10
result 'a tar file is taken'
tar -C "$dir/3.5.0" -czf "$dir/flat.tar.gz" .
configure --with-ovs-source="$dir/flat.tar.gz" \
    && took "$dir/flat.tar.gz" 3.5.0
result 'also one without a folder'
head -c 100 "$dir/ovs.tar.gz" > "$dir/short.tar.gz"
refused 'is damaged' --with-ovs-source="$dir/short.tar.gz"
result 'one that is cut short is not'

rm "$dir/3.1.8/vswitchd/bridge.c"
refused 'has no vswitchd/bridge.c' --with-ovs-source="$dir/3.1.8"
result 'nor an incomplete tree'
refused 'no such file or directory' --with-ovs-source="$dir/missing"
result 'nor what is not there'

refused 'neither openvswitch.tar.gz nor a source tree'
result 'without a package of the distribution one has to be named'
make_tree "$dir/distribution" 3.5.0
configure && took "$dir/distribution" 3.5.0
result 'the package may have a tree'
cp "$dir/ovs.tar.gz" "$dir/distribution/openvswitch.tar.gz"
configure && took "$dir/distribution/openvswitch.tar.gz" 3.3.10
result 'or a tar file'

# It would be copied into itself, or written to.
mkdir "$dir/distribution/build"
rm "$dir/distribution/openvswitch.tar.gz"
(cd "$dir/distribution/build" && "$dir/configure") > "$out" 2>&1
[ $? -ne 0 ] && grep -q 'contains the build directory' "$out"
result 'nothing is built in a tree that is given'
exit $tests_failed
