#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The daemon has the static probes that lib/upcall/upcall-probes.h names.

daemon=vswitchd/ovs-vswitchd
probes="upcall_receive upcall_handout upcall_loss"

echo "1..3"
n=0
status=0
notes=$(readelf -n "$daemon") || exit 99
for probe in $probes; do
    n=$((n + 1))
    if echo "$notes" | grep -A1 'Provider: ovs_kdp$' \
           | grep -q "Name: $probe\$"; then
        echo "ok $n - probe $probe"
    else
        echo "not ok $n - probe $probe"
        status=1
    fi
done
exit $status
