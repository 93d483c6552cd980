#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests how tests/system/check-system shares the system tests among guests, and
# that whatever goes wrong in one is a failure.  The guests and their tests are
# made up.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
source=$PWD
dir=$(mktemp -d /tmp/test-check-system.XXXXXX)
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree
out=$dir/out

# Makes a tree with six tests.  A guest is a process.
make_tree () {
    rm -rf "$tree"
    mkdir -p "$tree"/{tests/{system,harness},utilities} \
        "$tree"/build/{vswitchd,tests/system}
    cp "$source/tests/system/check-system" "$tree/tests/system/"
    cp "$source/tests/harness/portion.sh" "$tree/tests/harness/"
    ln -s /bin/true "$tree/build/vswitchd/ovs-vswitchd"
    ln -s /bin/true "$tree/build/tests/system/traffic"
    : > "$tree/build/Makefile"
    cat > "$tree/utilities/guest" << 'END'
#!/bin/bash
while [ $# -gt 0 ]; do
    case $1 in
    --print-modules) echo /nowhere/none; exit ;;
    --env) export "$2"; shift ;;
    --cpus) export GUEST_CPUS=$2; shift ;;
    --logs) export GUEST_LOGS=$2; mkdir -p "$2"; shift ;;
    --) shift; break ;;
    esac
    shift
done
. "${0%/*}/before-guest"
"$@"
status=$?
. "${0%/*}/after-guest"
exit $status
END
    : > "$tree/utilities/before-guest"
    : > "$tree/utilities/after-guest"
    cat > "$tree/tests/system/run" << 'END'
#!/bin/bash
if [ "$1" = --list ]; then
    printf '%-10s 1    what it shows\n' a b c d e f
    exit
fi
status=0
for name; do
    mkdir "$KDP_RESULTS/$name" 2> /dev/null || continue
    echo "$GUEST_LOGS" > "$KDP_RESULTS/$name/by"
    sleep 0.2
    result="ok - system: $name"
    . "${0%/*}/one-test"
    [ "${result%% *}" = ok ] || status=1
    # Only a result that is complete has this name.
    printf "%s${result:+\n}" "$result" > "$KDP_RESULTS/$name/result.new"
    mv "$KDP_RESULTS/$name/result.new" "$KDP_RESULTS/$name/result"
done
exit $status
END
    : > "$tree/tests/system/one-test"
    chmod +x "$tree/utilities/guest" "$tree/tests/system/run"
}

run () {
    "$tree/tests/system/check-system" --builddir "$tree/build" --guests 2 \
        "$@" > "$out" 2>&1
    status=$?
}

# Succeeds if each of the six tests has one result, with a number of its own,
# of which $1 passed, and the status is $2.
counted () {
    [ "$(grep -c '^1\.\.6$' "$out")" -eq 1 ] \
        && [ "$(grep -cE '^(not )?ok ' "$out")" -eq 6 ] \
        && [ "$(grep -E '^(not )?ok ' "$out" | sed 's/^not //' \
                    | awk '{ print $2 }' | sort -n | tr -d '\n')" = 123456 ] \
        && [ "$(grep -oE 'system: [a-f]\b' "$out" | sort -u | wc -l)" -eq 6 ] \
        && [ "$(grep -c '^ok ' "$out")" -eq "$1" ] && [ "$status" -eq "$2" ]
}

test_two_guests_share () {
    # Each has one before either goes on, however late the other one is.
    cat > "$tree/tests/system/one-test" << 'END'
cp "$KDP_RESULTS/$name/by" "$KDP_RESULTS/../by-$name"
for _ in {1..600}; do
    [ "$(cat "$KDP_RESULTS"/../by-? | sort -u | wc -l)" -lt 2 ] || break
    sleep 0.1
done
END
    run
    counted 6 0 && [ "$(cat "$tree"/build/by-? | sort -u | wc -l)" -eq 2 ] \
        || return 1
    # Nothing is left of tests that passed.
    [ "$(cd "$tree/build/system-logs" && echo *)" = 'guest0 guest1' ]
}

test_failed_test () {
    echo '[ $name != c ] || result="not ok - system: c
# c: this is why"' > "$tree/tests/system/one-test"
    run
    counted 5 1 && grep -A 1 '^not ok . - system: c' "$out" \
        | grep -q '^# c: this is why' \
        && [ -e "$tree/build/system-logs/c/by" ]
}

test_guest_that_dies () {
    echo '[ $name != b ] || { echo guest: out of luck >&2; exit 125; }' \
        > "$tree/tests/system/one-test"
    run
    # The other guest did the rest.
    counted 5 125 \
        && grep -q '^not ok .*: b did not end .* did (out of luck)$' "$out" \
        && grep -q '^# guest: out of luck' "$out"
}

test_all_guests_die () {
    echo 'exit 124' > "$tree/tests/system/one-test"
    run
    counted 0 124 && [ "$(grep -c 'was not begun' "$out")" -eq 4 ]
}

test_guest_that_does_not_boot () {
    echo '[ "${GUEST_LOGS##*/}" != guest1 ] || exit 125' \
        > "$tree/utilities/before-guest"
    run
    counted 6 125
}

test_kernel_report () {
    echo '[ "${GUEST_LOGS##*/}" != guest0 ] || exit 126' \
        > "$tree/utilities/after-guest"
    run
    counted 6 126
}

test_result_that_is_not_one () {
    echo '[ $name != d ] || result=' > "$tree/tests/system/one-test"
    run
    counted 5 1
}

test_result_that_is_a_line_of_nothing () {
    echo '[ $name != d ] || result=" "' > "$tree/tests/system/one-test"
    run
    counted 5 1
}

test_old_results () {
    mkdir -p "$tree/build/system-logs/a"
    echo 'not ok - system: a' > "$tree/build/system-logs/a/result"
    run
    counted 6 0
}

test_more_guests_than_tests () {
    run --guests 9
    counted 6 0 && [ ! -e "$tree/build/system-logs/guest6" ]
}

test_sanitizers () {
    mkdir -p "$tree"/tests/{unit,system/sanitizers}
    echo 'race:^one$' > "$tree/tests/unit/tsan-suppressions.txt"
    echo 'race:^two$' > "$tree/tests/system/sanitizers/thread.txt"
    echo 'SANITIZER_CFLAGS = -fsanitize=thread' > "$tree/build/Makefile"
    echo '[[ $KDP_SANITIZER_OPTIONS = *suppressions=*/thread.txt* ]] \
              && [ $KDP_PATIENCE -gt 1 ] && [ $KDP_ALL_CPUS = yes ] || result="not ok - system: $name"' \
        > "$tree/tests/system/one-test"
    run
    counted 6 0 && [ "$(grep -c '^race:' \
                            "$tree/build/system-logs/thread.txt")" -eq 2 ]
}

# Portions have each test once between them, and logs of their own.
test_portions () {
    local k n
    for n in 1 4 6; do
        for ((k = 1; k <= n; k++)); do
            run --portion $k/$n
            [ $status -eq 0 ] || return 1
            grep -o 'system: [a-f]$' "$out"
        done | sort > "$dir/results"
        [ "$(cat "$dir/results")" = "$(printf 'system: %s\n' a b c d e f)" ] \
            || return 1
    done
    [ -d "$tree/build/system-logs-1" ] && [ -d "$tree/build/system-logs-6" ] \
        || return 1
    # One without a test is none.
    run --portion 7/7
    [ "$status" -eq 2 ] && grep -q -- '--portion 7/7: no test' "$out" || return 1
    for k in 0/2 3/2 1 1/ /2 1/100 a/b ''; do
        run --portion "$k"
        [ "$status" -eq 2 ] && grep -q -e "--portion $k: expected K/N" "$out" \
            || return 1
    done
}

# Those that are about what happens at the same time have all processors, and
# whether the others do is asked for.
test_processors () {
    local name cpus rest
    "$source/tests/system/check-system" --list > "$dir/list" || return 1
    while read -r name cpus rest; do
        case $cpus:$name in
        1:handlers_* | 1:upcall_engines | 1:upcall_dispatch | 1:upcall_cpus \
        | 1:upcall_units | 1:idle_* | 1:flow* | 1:loss_* | 1:first_* \
        | 1:stock_dpctl | 1:restart_* | 1:*_churn | 1:*_burst_* | 1:*_overrun \
        | 1:*_lost | 1:offload_threads | 1:offload_random | 1:offload_toggle \
        | 1:offload_counts | 1:offload_crash* | 1:offload_device* \
        | 1:offload_rule* | 1:offload_leaks | 1:socket_budget)
            echo "$name has one processor"
            return 1
            ;;
        1:* | all:*) [ "$rest" ] || return 1 ;;
        *) return 1 ;;
        esac
    done < "$dir/list" > "$out"
    grep -q '^link_state  *1 ' "$dir/list" || return 1
    echo 'result="$result # $KDP_ALL_CPUS"' > "$tree/tests/system/one-test"
    run
    counted 6 0 && [ "$(grep -c '# no$' "$out")" -eq 6 ] || return 1
    run --all-cpus
    counted 6 0 && [ "$(grep -c '# yes$' "$out")" -eq 6 ]
}

# The first guest runs what needs several processors.
test_processors_of_guests () {
    # shellcheck disable=SC2016
    echo 'echo "${GUEST_LOGS##*/} $GUEST_CPUS $KDP_ONE_CPU" >> "$tree/guests"' \
        > "$tree/utilities/before-guest"
    export tree
    run --guests 3
    counted 6 0 && [ "$(sort "$tree/guests")" = \
                     $'guest0 2 no\nguest1 1 yes\nguest2 1 yes' ] || return 1
    rm "$tree/guests"
    run --all-cpus
    counted 6 0 \
        && [ "$(sort "$tree/guests")" = $'guest0 2 no\nguest1 2 no' ]
}

# The guest's processors are taken away and given back, except the first one.
test_processors_taken () {
    local cpu
    for cpu in 1 2 10; do
        mkdir -p "$dir/cpus/cpu$cpu"
        echo 1 > "$dir/cpus/cpu$cpu/online"
    done
    mkdir -p "$dir/cpus/cpu0" "$dir/cpus/cpuidle"
    online () {
        (. "$source/tests/system/harness.sh"
         CPUS=$dir/cpus
         set -e
         use_cpus "$1") > "$out" 2>&1 || return 1
        [ "$(cat "$dir"/cpus/cpu*/online | tr -d '\n')" = "$2" ]
    }
    online 1 000 && online all 111 && online all 111 && online 1 000 \
        && [ ! -e "$dir/cpus/cpu0/online" ] || return 1
    # One that cannot be had is a failure.
    rm "$dir/cpus/cpu2/online" && mkdir "$dir/cpus/cpu2/online" || return 1
    ! online all 111
}

# json_values() prints the same as jq, which it does not start for paths.
test_json_paths () {
    local json path
    json='[{"name": "a, b {x} \"q\"", "total": {"n": 0, "s p": -3.5}, "z": true,
            "empty": [], "ports": [{"pid": 1, "alt": ["x", "y"]},
                                   {"pid": 22, "alt": [], "none": null}]}]'
    values () {
        (. "$source/tests/system/harness.sh"
         jq () { echo "jq was started"; }
         json_values '.[0]' "$@" <<< "$json")
    }
    for path in .name .total.n '.total["s p"]' .z '.ports[].pid' .nonesuch \
        '.ports[1].pid' '.ports[].alt[]' '.ports[1].none' '.empty[]'; do
        [ "$(values "$path")" = "$(jq -r ".[0] | $path" <<< "$json")" ] \
            || return 1
    done
    # In the order in which they are asked for.
    [ "$(values '.ports[].pid' .total.n)" = $'1\n22\n0' ] || return 1
    [ "$(values '.ports | length')" = 'jq was started' ]
}

test_interrupt () {
    echo 'sleep 1000 & echo $! > "$KDP_RESULTS/../pid"; wait' \
        > "$tree/tests/system/one-test"
    echo 'trap "kill \$(cat \"\$KDP_RESULTS/../pid\"); exit 143" TERM; "$@" &
wait; exit 1' > "$tree/utilities/before-guest"
    "$tree/tests/system/check-system" --builddir "$tree/build" > "$out" 2>&1 &
    local pid=$!
    for _ in {1..600}; do
        [ ! -s "$tree/build/pid" ] || break
        sleep 0.1
    done
    kill -TERM $pid
    wait $pid 2> /dev/null
    [ $? -eq 143 ] || return 1
    # Who was killed is there until somebody has taken note of it.
    for _ in {1..600}; do
        kill -0 "$(cat "$tree/build/pid")" 2> /dev/null || return 0
        sleep 0.1
    done
    return 1
}

tests='two_guests_share failed_test guest_that_dies all_guests_die
       guest_that_does_not_boot kernel_report result_that_is_not_one
       result_that_is_a_line_of_nothing
       old_results more_guests_than_tests sanitizers portions processors
       processors_of_guests processors_taken json_paths interrupt'

. "$source/tests/harness/tap.sh"
# shellcheck disable=SC2086 # Several words.
run_tests check-system ${*:-$tests}
exit $tests_failed
