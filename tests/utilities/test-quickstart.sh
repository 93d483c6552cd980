#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests how "./quickstart check" counts: whatever goes wrong in a stage must
# show in the summary line and in the exit status.  It runs in a tree whose
# configure writes a Makefile with made-up test results.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
source=$PWD
dir=$(mktemp -d /tmp/test-quickstart.XXXXXX)
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree
out=$dir/out

# Makes a tree in which all is well: 2 unit tests in each of the three builds,
# 3 tests in each of the six other stages.
make_tree () {
    rm -rf "$tree"
    mkdir -p "$tree/utilities"
    cp "$source/quickstart" "$tree/"
    cp "$source/utilities/quickstart-steps" "$tree/utilities/"
    echo "# No package" > "$tree/utilities/packages"
    touch "$tree/configure.ac" "$tree/Makefile.am"
    printf '#!/bin/sh\ntouch configure Makefile.in\n' > "$tree/boot.sh"
    cat > "$tree/configure" << 'EOF'
#!/bin/sh
touch config.status
cp ../makefile Makefile
EOF
    chmod +x "$tree/boot.sh" "$tree/configure"

    printf '1..2\nok 1 - a\nok 2 - b\n' > "$tree/unit.log"
    echo ':global-test-result: PASS' > "$tree/unit.trs"
    printf '1..3\nok 1 - a\nok 2 - b\nok 3 - c\n' > "$tree/tap"
    # The commands of the targets; a test replaces those it is about.
    for target in all models guest kselftest system ovs bench; do
        echo "cat ../tap" > "$tree/run-$target"
    done
    cat > "$tree/makefile" << 'EOF'
all:
	sh ../run-all
check:
	mkdir -p tests && cp ../unit.log ../unit.trs tests
	grep -q PASS ../unit.trs
check-%:
	sh ../run-$*
EOF
}

run () {
    "$tree/quickstart" check > "$out" 2>&1
    status=$?
}

# Succeeds if the last run ended with the summary $1 and status $2, and had
# only that one summary line.
ended () {
    [ "$(tail -n 1 "$out")" = "$1" ] && [ "$status" -eq "$2" ] \
        && [ "$(grep -cE '^[0-9]+ passed, [0-9]+ failed$' "$out")" -eq 1 ]
}

test_all_pass () {
    run
    ended '24 passed, 0 failed' 0
}

test_failed_case () {
    printf '1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c\n' > "$tree/failing"
    echo 'cat ../failing; exit 1' > "$tree/run-kselftest"
    run
    # The stage, its log and the test are named; the stages after it ran.
    ended '23 passed, 1 failed' 1 && grep -q 'not ok 2 - b' "$out" \
        && grep -q 'kselftest.*_build/logs/check-kselftest.log' "$out" \
        && grep -q 'kernel tests.*: 3 passed' "$out"
}

test_guest_that_did_not_boot () {
    echo 'echo guest did not boot >&2; exit 125' > "$tree/run-system"
    run
    ended '21 passed, 1 failed' 1
}

test_no_test_ran () {
    echo true > "$tree/run-ovs"
    run
    ended '21 passed, 1 failed' 1
}

test_status_without_failed_case () {
    echo 'cat ../tap; exit 126' > "$tree/run-ovs"
    run
    ended '24 passed, 1 failed' 1
}

test_skipped_case () {
    printf '1..3\nok 1 - a\nok 2 - b # SKIP no such thing\nok 3 - c\n' \
        > "$tree/tap2"
    echo 'cat ../tap2' > "$tree/run-kselftest"
    run
    ended '23 passed, 1 failed' 1
}

test_plan_not_fulfilled () {
    # Two streams, of which the second one ends early.
    printf '1..1\nok 1 - a\n1..4\nok 1 - a\n' > "$tree/tap2"
    echo 'cat ../tap2' > "$tree/run-kselftest"
    run
    ended '23 passed, 3 failed' 1
}

test_crashed_unit_test () {
    printf '1..2\nok 1 - a\n' > "$tree/unit.log"
    echo ':global-test-result: FAIL' > "$tree/unit.trs"
    run
    ended '21 passed, 3 failed' 1
}

test_sanitizer_report_at_exit () {
    echo ':global-test-result: FAIL' > "$tree/unit.trs"
    run
    ended '24 passed, 3 failed' 1
}

test_failed_build () {
    # shellcheck disable=SC2016 # For make's shell.
    echo 'case $PWD in *-asan) echo no luck; exit 1; esac' > "$tree/run-all"
    run
    # The address sanitizer's two tests are missing.
    ended '22 passed, 1 failed' 1 && grep -q 'build-asan-make.log' "$out"
}

test_old_results_do_not_count () {
    mkdir -p "$tree/_build/tests"
    cp "$tree/unit.log" "$tree/_build/tests/gone.log"
    cp "$tree/unit.trs" "$tree/_build/tests/gone.trs"
    run
    ended '24 passed, 0 failed' 0
}

test_interrupt () {
    local pid
    echo "touch ../running; sleep 1000; sleep 1001" > "$tree/run-system"
    "$tree/quickstart" check > "$out" 2>&1 &
    pid=$!
    for _ in {1..600}; do
        [ -e "$tree/running" ] && break
        sleep 0.1
    done
    kill -TERM $pid
    wait $pid 2> /dev/null
    [ $? -eq 143 ] && grep -q 'interrupted at: system tests' "$out" || return 1
    # Nothing left, and it can run again.
    ! pgrep -f "$tree" > /dev/null || return 1
    ! ps -eo args | grep -q '^sleep 100[01]$' || return 1
    echo 'cat ../tap' > "$tree/run-system"
    run
    ended '24 passed, 0 failed' 0
}

test_second_instance () {
    local rc
    mkdir -p "$tree/_build/logs"
    flock "$tree/_build/logs/lock" "$tree/quickstart" check > "$out" 2>&1
    rc=$?
    [ $rc -eq 1 ] && grep -q 'another instance' "$out"
}

tests='all_pass failed_case guest_that_did_not_boot no_test_ran
       status_without_failed_case skipped_case plan_not_fulfilled
       crashed_unit_test sanitizer_report_at_exit failed_build
       old_results_do_not_count interrupt second_instance'

n=0
failures=0
# shellcheck disable=SC2086 # Several words.
set -- ${*:-$tests}
echo "1..$#"
for name; do
    make_tree
    n=$((n + 1))
    if "test_$name"; then
        echo "ok $n - quickstart: ${name//_/ }"
    else
        failures=$((failures + 1))
        echo "not ok $n - quickstart: ${name//_/ }"
        sed 's/^/# /' "$out"
    fi
done
[ $failures -eq 0 ]
