#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Which revision build-aux/ovs-revision says that a source is.  Prints TAP.
set -u
export LC_ALL=C
source=$(cd "$(dirname "$0")/../../.." && pwd)
dir=$(mktemp -d /tmp/test-ovs-revision.XXXXXX)
trap 'rm -rf "$dir"' EXIT
out=$dir/out
. "$source/tests/harness/tap.sh"

# Checks that source $1 is revision $2.
is () {
    sh "$source/build-aux/ovs-revision" "$1" > "$out" 2>&1 &&
        test "$(cat "$out")" = "$2"
}

# Gives the tree a changelog whose maintainer is $1.
changelog () {
    mkdir -p "$dir/tree/debian"
    cat > "$dir/tree/debian/changelog" << END
openvswitch (3.3.4-0ubuntu1) noble; urgency=medium

  * Fix <dev@example.org>.

 -- $1  Thu, 16 Jul 2026 13:00:00 +0100

openvswitch (3.3.3-1) unstable; urgency=low

 -- Open vSwitch team <dev@openvswitch.org>  Wed, 15 Jul 2026 13:00:00 +0100
END
}

command -v git > /dev/null && echo 1..5 || echo 1..4
mkdir "$dir/tree"
echo 'AC_INIT(openvswitch, 3.3.4, bugs@openvswitch.org)' \
    > "$dir/tree/configure.ac"
is "$dir/tree" 'tree 3.3.4'
result 'a tree has the version of its configure.ac'
changelog 'Somebody <somebody@ubuntu.com>'
is "$dir/tree" 'openvswitch 3.3.4-0ubuntu1'
result 'a source package has the revision of its changelog'
tar -C "$dir" -czf "$dir/with.tar.gz" tree
tar -C "$dir/tree" -cf "$dir/without.tar" .
is "$dir/with.tar.gz" 'openvswitch 3.3.4-0ubuntu1' \
    && is "$dir/without.tar" 'openvswitch 3.3.4-0ubuntu1'
result 'a tar file has it, too'
changelog 'Open vSwitch team <dev@openvswitch.org>'
is "$dir/tree" 'tree 3.3.4'
result 'no distribution has the revisions of Open vSwitch itself'
command -v git > /dev/null || exit $tests_failed
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org \
    GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
(cd "$dir/tree" && git init -q && git add . && git commit -q -m first \
    && git tag v3.3.4 && echo >> configure.ac) \
    && is "$dir/tree" 'git v3.3.4-dirty'
result 'a clone has what git says'
exit $tests_failed
