#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests how tests/versions/check-versions fetches, builds and counts.  The
# sources, configure, apt and dpkg are made up.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
source=$PWD
dir=$(mktemp -d /tmp/test-check-versions.XXXXXX)
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree
out=$dir/out
. tests/harness/tap.sh
. tests/harness/debian.sh

# Makes a tree of ovs-kdp whose configure takes versions 1 and 2, and whose
# build does what the files "build" and "check" of the source say.
make_tree () {
    rm -rf "$tree" "$dir/build"
    mkdir -p "$tree/tests/versions" "$dir/build" "$dir/bin"
    cp "$source"/tests/versions/{check-versions,debian-packages} \
        "$tree/tests/versions/"
    mkdir -p "$tree/utilities"
    cp "$source/utilities/failed-cases.awk" "$tree/utilities/"
    cat > "$tree/configure" << 'END'
#!/bin/bash
for arg; do
    case $arg in
    --with-ovs-source=*) from=${arg#*=} ;;
    esac
done
version=$(cat "$from/version") || exit 1
if [ "$version" -gt 2 ]; then
    echo "configure: error: $from is Open vSwitch $version, which is not supported." >&2
    exit 1
fi
echo configured "$@" >> "$from/configured"
touch config.status
printf 'OVS_VERSION = %s\nall:\n\t%s\ncheck:\n\t%s\n' "$version" \
    "$(cat "$from/build")" "$(cat "$from/check")" > Makefile
printf 'ovs-build-%%:\n\tmkdir -p ovs/src/tests\n' >> Makefile
printf '\ttouch ovs/src/tests/system-kmod-testsuite\n' >> Makefile
END
    chmod +x "$tree/configure"
    make_source one 1
    make_source two 2
}

# Makes source $1 of version $2.
make_source () {
    rm -rf "${dir:?}/$1"
    mkdir "$dir/$1"
    echo "$2" > "$dir/$1/version"
    echo true > "$dir/$1/build"
    echo true > "$dir/$1/check"
}

run () {
    PATH=$dir/bin:$PATH "$tree/tests/versions/check-versions" \
        --builddir "$dir/build" "$@" > "$out" 2>&1
    status=$?
}

# Succeeds if the status is $1, $2 results are ok, and $3 are not.
counted () {
    [ $status -eq "$1" ] && [ "$(grep -c '^ok ' "$out")" -eq "$2" ] \
        && [ "$(grep -c '^not ok ' "$out")" -eq "$3" ] \
        && grep -qx "1\\.\\.$(($2 + $3))" "$out"
}

echo 1..14
make_tree
run "$dir/one" "$dir/two"
counted 0 4 0 && grep -q '^ok 2 - one, 1: unit tests$' "$out"
result 'each source is built and tested'
run "$dir/one"
[ "$(wc -l < "$dir/one/configured")" -eq 1 ] && counted 0 2 0
result 'what was configured is not configured again'

echo false > "$dir/one/build"
rm -rf "$dir/build/versions"
run "$dir/one" "$dir/two"
counted 1 2 1 && grep -q '^not ok 1 - one, 1: build$' "$out"
result 'a build that fails is a failure, and is not tested'
echo true > "$dir/one/build"
echo "echo 'FAIL: some-test'; false" > "$dir/one/check"
rm -rf "$dir/build/versions"
run "$dir/one"
counted 1 1 1 && grep -q '^# failed: some-test$' "$out"
result 'tests that fail are named'
make_source three 3
run "$dir/three"
counted 0 1 0 && grep -q '^ok 1 - three: Open vSwitch 3 # SKIP' "$out"
result 'a version that is not supported is skipped, and says so'
rm -r "$dir/two/version" "$dir/build/versions"
run "$dir/two"
[ $status -eq 1 ] && grep -q '^not ok 1 - two: configure$' "$out"
result 'a source that configure does not understand is a failure'
run "$dir/missing"
[ $status -eq 2 ]
result 'a source that is missing is wrong usage'

# Tests in guests, which say what they were asked for.
make_tree
mkdir -p "$tree/tests/system" "$tree/tests/ovs"
for program in system/check-system ovs/check-ovs; do
    cat > "$tree/tests/$program" << END
#!/bin/bash
echo "${program##*/} \$*" >> "$dir/guests"
cat "$dir/one/guests"
! grep -q fails "$dir/one/guests"
END
    chmod +x "$tree/tests/$program"
done
echo passes > "$dir/one/guests"
run --system --cflags '-O1 -g0' "$dir/one"
grep -q -- ' CFLAGS=-O1 -g0$' "$dir/one/configured" && counted 0 4 0 \
    && [ "$(wc -l < "$dir/guests")" -eq 1 ] \
    && grep -q -- '--same-ovs --daemon kdp .* bridge_ports ' "$dir/guests" \
    && echo fails > "$dir/one/guests" && run --system "$dir/one" \
    && counted 1 3 1
result 'a few system tests are run if asked for, and flags are used'
(
    printf 'not ok 1 - this fails\n# reason\n'
    seq -f 'ok %g - passes' 2 20
) > "$dir/one/guests"
run --system "$dir/one"
counted 1 3 1 && grep -qx '# not ok 1 - this fails' "$out" \
    && grep -qx '#   # reason' "$out" && grep -qx '# ok 20 - passes' "$out"
result 'the test in a guest that failed says why'
echo passes > "$dir/one/guests"
: > "$dir/guests"
run --guests "$dir/one"
counted 0 10 0 && [ "$(grep -c '^check-system ' "$dir/guests")" -eq 2 ] \
    && [ "$(grep -c '^check-ovs .*--suite kmod ' "$dir/guests")" -eq 2 ] \
    && [ "$(grep -c '^check-ovs .*--suite userspace ' "$dir/guests")" -eq 2 ]
result 'or many, and those of Open vSwitch, with both daemons'
only_parts () {
    run --only unit "$dir/one"
    counted 0 2 0 || return 1
    run --only system "$dir/one"
    counted 0 4 0 && grep -q 'ok 4 - .*: system tests, daemon stock' "$out" \
        || return 1
    run --only groups "$dir/one"
    counted 0 7 0 \
        && grep -q 'ok 7 - .*: stable groups, userspace, daemon stock' "$out" \
        || return 1
    run --only all "$dir/one"
    [ $status -eq 2 ] \
        && grep -q -e '--only all: expected unit, system or groups' "$out"
}
only_parts
result 'or one part of all this'

# Of the system, only apt's list of sources is read.
make_tree
make_apt "$dir/bin" "$dir/apt"
cat > "$dir/bin/dpkg-deb" << END
#!/bin/bash
mkdir -p "\$3/usr/src" && cp -r "$dir/one" "\$3/usr/src/openvswitch"
END
chmod +x "$dir/bin"/*
run trixie
counted 0 3 0 && grep -q '^ok 1 - trixie: fetch$' "$out" \
    && grep -qE ' file:/archive/ trixie main$' \
        "$dir/build/versions/trixie/sources.list" \
    && ! grep -v indextargets "$dir/apt" \
        | grep -vE "Dir::Etc::sourceparts=- .*Dir::State::lists=$dir/build"
result 'a package is fetched with files of its own'
lines=$(wc -l < "$dir/apt")
run trixie
counted 0 3 0 && [ "$(wc -l < "$dir/apt")" -eq "$lines" ]
result 'once'
printf '#!/bin/sh\n' > "$dir/bin/apt-get"
run sid
counted 1 0 1 && grep -q 'name a path instead' "$out"
result 'a system without packages of Debian is told to name paths'
exit $tests_failed
