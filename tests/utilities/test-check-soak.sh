#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests how tests/soak/check-soak adds up the pieces of a soak test: by commit,
# without pieces that failed or whose tree was changed.  The guest is made up.
# Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
source=$PWD
dir=$(mktemp -d /tmp/test-check-soak.XXXXXX)
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree
out=$dir/out

make_tree () {
    rm -rf "$tree" "$dir/build"
    mkdir -p "$tree"/{tests/soak,utilities} "$dir"/build/{vswitchd,tests/system}
    cp "$source/tests/soak/check-soak" "$tree/tests/soak/"
    cp "$source/utilities/quickstart-results" "$tree/utilities/"
    ln -s /bin/true "$dir/build/vswitchd/ovs-vswitchd"
    ln -s /bin/true "$dir/build/tests/system/traffic"
    cat > "$tree/utilities/guest" << 'END'
#!/bin/bash
for arg; do
    case $arg in SOAK_*) echo "# $arg" ;; esac
done
printf 'ok 1 - a\nok 2 - b\n1..2\n'
. "${0%/*}/at-the-end"
END
    echo exit > "$tree/utilities/at-the-end"
    chmod +x "$tree/utilities/guest"
    git -C "$tree" init -q
    commit
}

commit () {
    git -C "$tree" add -A
    git -C "$tree" -c user.name=test -c user.email=test commit -q \
        --allow-empty -m test
}

run () {
    "$tree/tests/soak/check-soak" --builddir "$dir/build" "$@" > "$out" 2>&1
    status=$?
}

# Succeeds if the last run ended with status $1 and says $2 of its commit.
said () {
    [ $status -eq "$1" ] \
        && tail -n 1 "$out" | grep -qE "^# on commit [0-9a-f]{12}: $2\$"
}

test_pieces_add_up () {
    run
    said 0 '15 minutes passed, 2 cases, seeds 1' \
        && grep -qx '# SOAK_SEED=1' "$out" || return 1
    run --seconds 1800
    said 0 '45 minutes passed, 4 cases, seeds 1 2' || return 1
    # The same one again adds nothing.
    run --seed 2
    said 0 '45 minutes passed, 4 cases, seeds 1 2' || return 1
    # Only those of one commit add up.
    commit
    run
    said 0 '15 minutes passed, 2 cases, seeds 1' \
        && [ -e "$dir/build/soak-logs/1/soak.tap" ]
}

test_failure_does_not_count () {
    echo 'echo "not ok 3 - c"; exit 1' > "$tree/utilities/at-the-end"
    commit
    run
    said 1 '0 minutes passed, 0 cases; runs that failed: seeds 1' || return 1
    # It is the next one again.
    run
    said 1 '0 minutes passed, 0 cases; runs that failed: seeds 1 1' || return 1
    # A report of the kernel, which no case shows.
    echo 'exit 126' > "$tree/utilities/at-the-end"
    commit
    run
    said 126 '0 minutes passed, 0 cases; runs that failed: seeds 1'
}

test_other_trees_do_not_count () {
    # A change before the run, and one in it.
    touch "$tree/new"
    run
    [ $status -eq 0 ] && grep -q 'this result is not kept' "$out" || return 1
    rm "$tree/new"
    echo 'touch "${0%/*}/new"; exit' > "$tree/utilities/at-the-end"
    commit
    run
    [ $status -eq 0 ] && grep -q 'this result is not kept' "$out" || return 1
    rm -r "$tree/.git"
    run
    [ $status -eq 0 ] && grep -q 'this result is not kept' "$out" \
        && [ ! -e "$dir/build/soak-results" ]
}

test_chosen_operations_do_not_count () {
    run --only bond
    said 0 '0 minutes passed, 0 cases' && grep -qx '# SOAK_ONLY=bond' "$out"
}

test_interrupt () {
    local pid
    # How long it sleeps tells it from others of the machine.
    echo "touch '$dir/build/begun'; exec sleep 1002.$$" \
        > "$tree/utilities/at-the-end"
    commit
    "$tree/tests/soak/check-soak" --builddir "$dir/build" > "$out" 2>&1 &
    pid=$!
    for _ in {1..600}; do
        [ -e "$dir/build/begun" ] && break
        sleep 0.1
    done
    kill -TERM $pid
    wait $pid
    [ $? -eq 143 ] && ! ps -eo args | grep -q "^sleep 1002[.]$$\$" \
        && [ ! -e "$dir/build/soak-results" ]
}

test_usage () {
    local option
    for option in seconds seed life cpus patience; do
        run --$option 0
        [ $status -eq 2 ] && grep -q -e "--$option 0: expected" "$out" \
            || return 1
    done
    run --bogus
    [ $status -eq 2 ] || return 1
    run --help
    [ $status -eq 0 ] && grep -q soak-results "$out"
}

tests='pieces_add_up failure_does_not_count other_trees_do_not_count
       chosen_operations_do_not_count interrupt usage'

. "$source/tests/harness/tap.sh"
# shellcheck disable=SC2086 # Several words.
run_tests check-soak ${*:-$tests}
exit $tests_failed
