#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The daemon, with the libraries of Open vSwitch in it, was built with the
# hardening flags, unless they were disabled, and without link-time
# optimization.  Runs in the build directory.  Prints TAP.
set -u
export LC_ALL=C
daemon=vswitchd/ovs-vswitchd
# Each has an object that formats text into a buffer.
archives='lib/libkdp.a ovs/libopenvswitch-kdp.a'
flags=$(sed -n 's/^HARDENING_CFLAGS = *//p' Makefile)
status=0
n=0

# Prints the result of command $2..., which tests what $1 says.
result () {
    local what=$1 ok=ok
    shift
    "$@" || { ok='not ok'; status=1; }
    echo "$ok $((++n)) - $what"
}

# Succeeds if what readelf prints with options $1 has a line that matches $2.
has () {
    readelf "$1" "$daemon" | grep -qE "$2"
}

# Succeeds if an object of each archive needs a symbol that matches $1.
each_needs () {
    local archive
    for archive in $archives; do
        if ! nm "$archive" 2> /dev/null | grep -qE "^ +U $1\$"; then
            echo "# $archive: no object needs $1"
            return 1
        fi
    done
}

# Succeeds if no object of the archives is compiled to what only a linker
# finishes.
no_lto () {
    # shellcheck disable=SC2086 # Several words.
    ! readelf -SW $archives | grep -F .gnu.lto_
}

if [ -z "$flags" ]; then
    echo 1..1
    result 'nothing is left to the linker to optimize' no_lto
    exit $status
fi
echo 1..7
result 'it is position-independent' has -h 'Type: +DYN'
result 'it is an executable' has -dW 'FLAGS_1.*\<PIE\>'
result 'relocations are read-only' has -lW GNU_RELRO
result 'relocations are made at start' has -dW 'BIND_NOW|FLAGS_1.*\<NOW\>'
result 'the stack is protected' each_needs __stack_chk_fail
if [[ $flags == *FORTIFY_SOURCE* ]]; then
    result 'sizes of buffers are checked' each_needs '__[a-z]+_chk'
else
    echo "ok $((++n)) - sizes of buffers # SKIP no optimization"
fi
result 'nothing is left to the linker to optimize' no_lto
exit $status
