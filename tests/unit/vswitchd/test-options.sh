#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The daemon knows each option of the stock daemon that it takes the place of.
# Options are read in the source of that one.  Runs in the build directory.
# Prints TAP.
set -u
export LC_ALL=C
daemon=vswitchd/ovs-vswitchd
stock=ovs/src/vswitchd/ovs-vswitchd.c

# Prints the options in files $@, except those of Windows.
options () {
    cat "$@" | sed -n 's/^.*{ *"\([a-z0-9-]*\)", *[a-z]*_argument.*$/\1/p' |
        grep -vxE 'pipe-handle|service|service-monitor' | sort -u
}

all=$(options $stock ovs/src/lib/daemon.h ovs/src/include/openvswitch/vlog.h \
              ovs/src/lib/stream-ssl.h)
n=0
status=0
echo "1..$(($(echo "$all" | wc -w) + 1))"
for name in $all; do
    # What is wrong with its argument, or what it does, does not matter.
    out=$(timeout 60 $daemon --"$name" --version 2>&1 < /dev/null)
    case $out in
    *"unrecognized option"*)
        echo "not ok $((++n)) - --$name"
        status=1
        ;;
    *) echo "ok $((++n)) - --$name" ;;
    esac
done
out=$($daemon --nonsense --version 2>&1)
if [[ $out == *"unrecognized option"* ]]; then
    echo "ok $((++n)) - others are refused"
else
    echo "not ok $((++n)) - others are refused"
    status=1
fi
exit $status
