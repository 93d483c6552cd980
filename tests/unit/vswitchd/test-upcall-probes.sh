#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The built daemon has the probes that lib/upcall/upcall-probes.h promises,
# which cost a nop, and those of the stock daemon.  Runs in the build
# directory.  Prints TAP.
set -u
daemon=vswitchd/ovs-vswitchd
notes=$(LC_ALL=C readelf --notes "$daemon") || exit 99
status=0
n=0

# Prints the result of command $2..., which tests what $1 says.
result () {
    local what=$1 ok=ok
    shift
    "$@" || { ok='not ok'; status=1; }
    echo "$ok $((++n)) - $what"
}

# Prints "LOCATION SEMAPHORE N-ARGUMENTS" of each place of probe $1.
places () {
    awk -v probe="$1" '
        $1 == "Provider:" { provider = $2 }
        $1 == "Name:" { name = $2 }
        $1 == "Location:" { location = $2; semaphore = $NF }
        $1 == "Arguments:" && provider == "ovs_kdp" && name == probe {
            gsub(",", "", location)
            print location, semaphore, NF - 1
        }' <<<"$notes"
}

# Succeeds if each place of probe $1 has $2 arguments and no semaphore, which
# the program would have to look at.
has_arguments () {
    local location semaphore n_args found=false
    while read -r location semaphore n_args; do
        found=true
        if ((semaphore != 0 || n_args != $2)); then
            echo "# $1 at $location: semaphore $semaphore, $n_args arguments"
            return 1
        fi
    done < <(places "$1")
    $found
}

# Succeeds if each place of probe $1 is a nop.
is_nop () {
    local location rest found=false
    while read -r location rest; do
        found=true
        if ! objdump -d --start-address="$location" \
            --stop-address=$((location + 1)) "$daemon" | grep -qw nop; then
            echo "# $1 at $location: no nop"
            return 1
        fi
    done < <(places "$1")
    $found
}

# Prints "PROVIDER:NAME" of each probe in the source of the stock daemon.
stock_probes () {
    find ovs/src/{lib,ofproto,vswitchd}/ -name '*.c' -exec \
        sed -n 's/.*OVS_USDT_PROBE(\([a-z_]*\), \([a-z_]*\).*/\1:\2/p' {} +
}

# Succeeds if there are such probes, and the daemon has each.
has_stock_probes () {
    local missing
    missing=$(awk '$1 == "Provider:" { provider = $2 }
                   $1 == "Name:" { print provider ":" $2 }' <<<"$notes" |
        sort -u | comm -13 - <(stock_probes | sort -u))
    test -z "$missing" || printf '# not there: %s\n' $missing
    test -z "$missing" && test -n "$(stock_probes)"
}

probes=(upcall_receive:4 upcall_handout:3 upcall_loss:2 upcall_shed:2)
echo "1..$((2 * ${#probes[@]} + 2))"
for probe in "${probes[@]}"; do
    result "probe ${probe%:*} has ${probe#*:} arguments" \
        has_arguments "${probe%:*}" "${probe#*:}"
    result "probe ${probe%:*} costs a nop" is_nop "${probe%:*}"
done
others=$(awk '$1 == "Provider:" { provider = $2 }
              $1 == "Name:" && provider == "ovs_kdp" { print $2 }' \
             <<<"$notes" | grep -vxE 'upcall_(receive|handout|loss|shed)')
result 'there is no other probe' test -z "$others"
result 'the probes of the stock daemon are there' has_stock_probes
exit $status
