# SPDX-License-Identifier: Apache-2.0
#
# For test scripts in bash, whose output is TAP.  To be sourced; the script ends
# with "exit $tests_failed".  Variable "out" names the file whose lines are shown
# when a test fails.

n_tests=0
tests_failed=0

# Prints the result of the test that $1 describes, which is that of the last
# command.
result () {
    if [ $? -eq 0 ]; then
        echo "ok $((++n_tests)) - $1"
    else
        echo "not ok $((++n_tests)) - $1"
        sed 's/^/# /' "$out"
        tests_failed=1
    fi
}

# Runs functions test_NAME, for each NAME of $2..., with their plan: each after
# function make_tree, which makes what they start with.  $1 is what is tested.
run_tests () {
    local what=$1 name
    shift
    echo "1..$#"
    for name; do
        make_tree
        "test_$name"
        result "$what: ${name//_/ }"
    done
}
