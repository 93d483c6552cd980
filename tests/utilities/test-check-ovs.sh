#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests how tests/ovs/check-ovs counts groups of Open vSwitch's suites: what has
# no result or fails is a failure, except what is known of the stock daemon.
# The suite and the guests are made up.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
source=$PWD
dir=$(mktemp -d /tmp/test-check-ovs.XXXXXX)
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree
out=$dir/out

# Makes a tree with a suite of four groups.  What a guest writes is in a file
# for each group.
make_tree () {
    local suite=$tree/build/ovs/src/tests/system-kmod-testsuite group
    rm -rf "$tree"
    mkdir -p "$tree"/{tests/{ovs,harness},utilities,build/vswitchd} \
        "$tree"/build/ovs/src/{tests,utilities,ovsdb,vswitchd,vtep,python} \
        "$tree"/build/ovs/src/{build-aux,ofproto} "$tree/results"
    cp "$source"/tests/ovs/{check-ovs,wait-for-monitor.awk} "$tree/tests/ovs/"
    cp "$source/tests/harness/portion.sh" "$tree/tests/harness/"
    printf '%s\n' '# Stable.' 'datapath - number 2' 'datapath - number 4' \
        > "$tree/tests/ovs/stable-groups"
    cp /bin/true "$tree/build/vswitchd/ovs-vswitchd"
    touch "$tree"/build/ovs/src/tests/{atconfig,atlocal}
    cat > "$suite" << 'END'
#!/bin/sh
case " $* " in
*' --list '*) ;;
*) exit 1 ;;
esac
for group; do
    case $group in
    1-) groups='1 2 3 4' ;;
    [1-9]) groups="$groups $group" ;;
    esac
done
test "$*" != --list || groups='1 2 3 4'
for group in $groups; do
    echo "  $group: x.at:$group    datapath - number $group"
done
exit
#AT_START_1
#AT_STOP_1
END
    for group in 1 2 3 4; do
        echo "  $group: datapath - number $group      ok" \
            > "$tree/results/$group"
    done
    cat > "$tree/utilities/guest" << 'END'
#!/bin/bash
tree=${0%/utilities/*}
while [ "$1" != -- ]; do
    [ "$1" != --logs ] || logs=$2
    shift
done
[ ! -d "$tree/groups" ] || cp -r "$tree"/groups/. "$logs"
cat "$4" > "$tree/suite-in-guest"
status=0
for group in "${@:7}"; do
    cat "$tree/results/$group" || exit 125
    ! grep -q FAILED "$tree/results/$group" || status=1
done
exit $status
END
    chmod +x "$tree/utilities/guest" "$suite"
}

# Gives group $1 the result $2.
result_of () {
    echo "  $1: datapath - number $1      $2" > "$tree/results/$1"
}

run () {
    "$tree/tests/ovs/check-ovs" --builddir "$tree/build" --guests 2 "$@" \
        > "$out" 2>&1
    status=$?
}

# Succeeds if each of the four groups has one result, $1 of them passed, $2 were
# skipped, and the status is $3.
counted () {
    grep -q '^1\.\.4$' "$out" \
        && [ "$(grep -E '^(not )?ok ' "$out" | sed 's/^not //' \
                    | awk '{ printf "%s", $2 }')" = 1234 ] \
        && [ "$(grep '^ok ' "$out" | grep -vc '# SKIP')" -eq "$1" ] \
        && [ "$(grep -c '# SKIP' "$out")" -eq "$2" ] && [ "$status" -eq "$3" ]
}

test_all_pass () {
    run 1-
    counted 4 0 0 && [ "$(ls "$tree/build/check-ovs-logs/kmod-kdp")" = \
                       $'guest0\nguest0.out\nguest1\nguest1.out' ]
}

# Without groups, the stable ones, which are told by their titles.
test_stable () {
    run
    [ "$status" -eq 0 ] && grep -q '^1\.\.2$' "$out" \
        && grep -q '^ok 2 ' "$out" && grep -q '^ok 4 ' "$out"
}

test_portions () {
    run --portion 1/2 1-
    [ "$status" -eq 0 ] && [ "$(grep -c '^ok ' "$out")" -eq 2 ] \
        && grep -q '^ok 1 ' "$out" && grep -q '^ok 3 ' "$out" || return 1
    run --portion 2/2 1-
    [ "$status" -eq 0 ] && [ "$(grep -c '^ok ' "$out")" -eq 2 ] \
        && grep -q '^ok 2 ' "$out" && grep -q '^ok 4 ' "$out" \
        && [ -d "$tree/build/check-ovs-logs/kmod-kdp-1" ] || return 1
    run --portion 3/2 1-
    [ "$status" -eq 2 ] && grep -q -e '--portion 3/2: expected K/N' "$out" \
        || return 1
    run --portion 5/5 1-
    [ "$status" -eq 2 ] && grep -q 'no group.*portion 5/5' "$out"
}

test_failed_and_skipped () {
    result_of 2 'FAILED (x.at:2)'
    result_of 3 'skipped (x.at:3)'
    run 1-
    counted 2 1 1 && grep -q '^not ok 2 .*FAILED (x.at:2)' "$out"
}

# A failure says which line of the group's log was not expected.
test_reason () {
    mkdir -p "$tree/groups/002" "$tree/groups/004" || return 1
    printf '%s\n' '#   -*- compilation -*-' '--- /dev/null 2026' '+++ a/stderr' \
        '@@ -0,0 +1 @@' '+2026|WARN|no such thing' '+more' \
        > "$tree/groups/002/system-kmod-testsuite.log"
    : > "$tree/groups/004/system-kmod-testsuite.log"
    for group in 2 3 4; do
        result_of $group "FAILED (x.at:$group)"
    done
    run 1-
    rm -rf "$tree/groups"
    counted 1 0 1 \
        && grep -q '^not ok 2 .*(FAILED (x.at:2)): +2026|WARN|no such thing$' \
                "$out" \
        && grep -q '^not ok 3 .*(FAILED (x.at:3))$' "$out" \
        && grep -q '^not ok 4 .*(FAILED (x.at:4))$' "$out"
}

# Warnings of a slow machine do not count on standard error, others do.
test_slow_command () {
    local suite=$tree/build/ovs/src/tests/system-kmod-testsuite
    cat > "$suite.all" << 'END'
at_fn_diff_devnull ()
{
  test -s "$1" || return 0
  diff /dev/null "$1"
}
END
    cat "$suite.all" "$suite" > "$suite.new" && chmod +x "$suite.new" \
        && mv "$suite.new" "$suite" || return 1
    run 1-
    [ "$status" -eq 0 ] || return 1
    sed -n '1,/^}/p' "$tree/suite-in-guest" > "$dir/diff"
    printf '2026|0000%s\n' '2|timeval|WARN|Unreasonably long 1584ms' \
        '3|coverage|INFO|Event coverage, avg rate' \
        '4|poll_loop|INFO|wakeup due to [POLLIN] on fd 3' > "$dir/stderr"
    (. "$dir/diff" && at_fn_diff_devnull "$dir/stderr") > "$out" || return 1
    echo '2026|00002|bridge|WARN|no such thing' > "$dir/stderr"
    (. "$dir/diff" && ! at_fn_diff_devnull "$dir/stderr") > "$out"
}

test_guest_that_dies () {
    # Groups 1 and 3 share a guest.
    rm "$tree/results/3"
    run 1-
    counted 3 0 125 && grep -q '^not ok 3 .*no result' "$out"
}

test_known () {
    result_of 2 'FAILED (x.at:2)'
    result_of 3 'skipped (x.at:3)'
    result_of 4 'FAILED (x.at:4)'
    printf '# A list.\n2 fail slow\n3 skip no module\n1 fail slow\n' \
        > "$tree/known"
    run --known "$tree/known" 1-
    # What is known to fail may pass; what is not known must.
    counted 3 0 1 && grep -q '^ok 2 .*known of stock: fail slow' "$out" \
        && grep -q '^not ok 4 ' "$out" || return 1
    # No result is no failure that is known.
    : > "$tree/results/2"
    result_of 4 ok
    run --known "$tree/known" 1-
    counted 3 0 1 && grep -q '^not ok 2 .*no result' "$out"
}

test_write_known () {
    result_of 2 'FAILED (x.at:2)'
    result_of 3 'skipped (x.at:3)'
    run --write-known "$tree/known" 1-
    [ "$status" -eq 2 ] || return 1
    run --daemon stock --write-known "$tree/known" 1-
    [ "$(grep -v '^#' "$tree/known")" = '2 fail datapath - number 2
3 skip datapath - number 3' ] || return 1
    run --known "$tree/known" 1-
    counted 4 0 0
}

# What a group looks for in the log of a monitor, it waits for before it ends the
# monitor.  The group here is a part of what Autotest makes of one; its monitor
# writes the second line when the first was read.
test_group_waits_for_monitor () {
    local prints
    # shellcheck disable=SC2016 # For the shell that runs the suite.
    for prints in '$as_echo "one' 'printf "%s\n" "one'; do
        make_tree
        cat >> "$tree/build/ovs/src/tests/system-kmod-testsuite" << END
#AT_START_2
   TMPPID=\$(cat \$OVS_RUNDIR/ovs-ofctl.pid)
( \$at_check_trace; cat ofctl_monitor.log | grep -v none
) >>"\$at_stdout" 2>>"\$at_stderr" 5>&-
echo >>"\$at_stdout"; $prints
two
" | \\
  \$at_diff - "\$at_stdout" || at_failed=:
at_fn_check_status 0 \$at_status "\$at_srcdir/system-traffic.at:1"
#AT_STOP_2
END
        run 2
        [ "$status" -eq 0 ] || return 1
        (
            cd "$tree" || exit 1
            sed -n '/^#AT_START_2/,/^   TMPPID=/p' suite-in-guest > group
            printf 'one\nnone\n' > ofctl_monitor.log
            # shellcheck disable=SC2120 # The group calls it.
            cat () {
                command cat "$@"
                [ "$1" != ofctl_monitor.log ] || echo two >> "$1"
            }
            # shellcheck disable=SC2034 # The group uses it.
            OVS_RUNDIR=.
            touch ovs-ofctl.pid
            . ./group
            # It was read once too early and once in time.
            [ "$(grep -c two ofctl_monitor.log)" -eq 2 ]
        ) || return 1
    done
}

test_lists_of_the_tree () {
    local list
    for list in kmod offloads; do
        grep -v '^#' "$source/tests/ovs/known-$list" \
            | grep -vE '^[0-9]+ (fail|skip) .' && return 1
    done
    return 0
}

tests='all_pass stable portions failed_and_skipped reason slow_command guest_that_dies known
       write_known group_waits_for_monitor lists_of_the_tree'

. "$source/tests/harness/tap.sh"
# shellcheck disable=SC2086 # Several words.
run_tests check-ovs ${*:-$tests}
exit $tests_failed
