#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests how tests/foreign/check-foreign compares the results of both daemons.
# The guest, and the packages of PyPI, are made up.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
source=$PWD
dir=$(mktemp -d /tmp/test-check-foreign.XXXXXX)
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree
out=$dir/out

# Makes a tree with the results of a suite of three tests, which all pass.
make_tree () {
    local daemon
    rm -rf "$tree"
    mkdir -p "$tree"/{tests/{foreign,harness},utilities,build/vswitchd} \
        "$tree"/build/ovs/src/{vswitchd,utilities}
    cp "$source"/tests/foreign/* "$tree/tests/foreign/"
    cp "$source/tests/harness/portion.sh" "$tree/tests/harness/"
    cp /bin/true "$tree/build/vswitchd/ovs-vswitchd"
    cp /bin/true "$tree/build/ovs/src/vswitchd/ovs-vswitchd"
    cp /bin/true "$tree/build/ovs/src/utilities/ovs-vsctl"
    cat > "$tree/utilities/guest" << 'END'
#!/bin/bash
tree=${0%/utilities/*}
while [ "$1" != -- ]; do
    [ "$1" != --logs ] || logs=$2
    shift
done
echo "$4 $7" > "$tree/asked"
cp -r "$tree"/results/* "$logs"
exit "$(cat "$tree/status" 2> /dev/null || echo 0)"
END
    cat > "$tree/pip" << 'END'
#!/bin/bash
tree=${0%/*}
echo "$@" >> "$tree/pip-calls"
while [ "$1" != --target ]; do shift; done
[ ! -e "$tree/no-network" ] && mkdir "$2"
END
    chmod +x "$tree/utilities/guest" "$tree/pip"
    for daemon in stock kdp; do
        results_of $daemon-1 'ok one' 'ok two' 'ok three'
    done
}

# Gives round $1 the results $2..., "RESULT NAME [DETAIL]".
results_of () {
    local round=$1 result name detail
    shift
    mkdir -p "$tree/results/$round"
    printf '%s\n' "$@" | while read -r result name detail; do
        printf '%s\t%s\t%s\n' "$result" "$name" "$detail"
    done > "$tree/results/$round/results"
}

run () {
    PIP=$tree/pip "$tree/tests/foreign/check-foreign" \
        --builddir "$tree/build" "$@" > "$out" 2>&1
    status=$?
}

# Succeeds if $1 tests were announced, $2 passed and $3 failed, and the status
# is $4.
counted () {
    grep -qx "1\.\.$1" "$out" && [ "$(grep -c '^ok ' "$out")" -eq "$2" ] \
        && [ "$(grep -c '^not ok ' "$out")" -eq "$3" ] \
        && [ "$status" -eq "$4" ]
}

test_all_pass () {
    run os-ken
    counted 3 3 0 0 && grep -qx 'ok 2 - two' "$out"
}

test_difference_fails () {
    local again
    results_of kdp-1 'ok one' 'fail two timeout' 'ok three'
    run os-ken
    counted 3 2 1 1 || return 1
    # Also if it is there again, and if it is the stock daemon that fails.
    for again in 'ok two' 'fail two'; do
        results_of stock-2 "$again"
        results_of kdp-2 "$([ "$again" != 'ok two' ] && echo ok two \
                                || echo fail two timeout)"
        run os-ken
        counted 3 2 1 1 || return 1
    done
    grep -qx '# stock: fail' "$out" && grep -qx '# kdp: ok' "$out"
}

test_missing_result_fails () {
    results_of kdp-1 'ok one' 'ok three'
    run os-ken
    counted 3 2 1 1 && grep -qx '# kdp: no result' "$out" || return 1
    make_tree
    results_of stock-1 'ok one' 'ok three'
    run os-ken
    counted 3 2 1 1 && grep -qx '# stock: no result' "$out"
}

test_passes_when_repeated () {
    results_of kdp-1 'ok one' 'fail two' 'ok three'
    # What else is repeated does not count.
    results_of stock-2 'ok two' 'fail three'
    results_of kdp-2 'ok two' 'ok three'
    run os-ken
    counted 3 3 0 0 && grep -qx 'ok 2 - two (when it was repeated)' "$out"
}

test_not_repeated_fails () {
    results_of kdp-1 'ok one' 'fail two' 'fail three'
    results_of stock-2 'ok two'
    results_of kdp-2 'ok two'
    run os-ken
    counted 3 2 1 1
}

test_failure_of_both_does_not_count () {
    results_of stock-1 'ok one' 'fail two' 'skip three'
    results_of kdp-1 'ok one' 'fail two' 'skip three'
    run os-ken
    counted 3 3 0 0 && grep -qx 'ok 3 - three (skip with both)' "$out"
}

# A suite that is run with ours only.
test_scripts_have_to_work () {
    rm -r "$tree/results/stock-1"
    run tracing
    counted 3 3 0 0 || return 1
    results_of kdp-1 'ok one' 'fail two timeout' 'ok three'
    run tracing
    counted 3 2 1 1 && grep -qx '# kdp: fail, timeout' "$out"
}

test_no_test () {
    : > "$tree/results/stock-1/results"
    : > "$tree/results/kdp-1/results"
    run os-ken
    counted 0 0 0 1
}

test_guest_that_dies () {
    echo 125 > "$tree/status"
    run os-ken
    [ "$status" -eq 125 ] && ! grep -q '^ok' "$out" \
        && grep -q 'guest did not do its work (125)' "$out"
}

test_fetches_once () {
    touch "$tree/no-network"
    run os-ken
    [ "$status" -eq 125 ] && grep -q 'os-ken needs was not fetched' "$out" \
        && [ ! -e "$tree/asked" ] || return 1
    rm "$tree/no-network" "$tree/pip-calls"
    run --fetch-only os-ken
    [ "$status" -eq 0 ] && [ ! -e "$tree/asked" ] || return 1
    run os-ken
    counted 3 3 0 0 && [ "$(wc -l < "$tree/pip-calls")" -eq 1 ]
}

test_portion () {
    run --portion 2/3 os-ken
    counted 3 3 0 0 && grep -q '/build/foreign/os-ken 2/3$' "$tree/asked" \
        && [ -d "$tree/build/foreign/logs-os-ken-2" ]
}

test_wrong_usage () {
    local args
    for args in '' unknown '--portion 3/2 os-ken' '--nothing os-ken' \
        'os-ken tracing'; do
        # shellcheck disable=SC2086 # Several words.
        run $args
        [ "$status" -eq 2 ] && [ ! -e "$tree/asked" ] || return 1
    done
    rm "$tree/build/vswitchd/ovs-vswitchd"
    run os-ken
    [ "$status" -eq 2 ] && grep -q 'is not built' "$out"
}

tests='all_pass difference_fails missing_result_fails passes_when_repeated
       not_repeated_fails failure_of_both_does_not_count scripts_have_to_work
       no_test guest_that_dies fetches_once portion wrong_usage'

. "$source/tests/harness/tap.sh"
# shellcheck disable=SC2086 # Several words.
run_tests check-foreign ${*:-$tests}
exit $tests_failed
