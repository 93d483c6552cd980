# SPDX-License-Identifier: Apache-2.0
#
# Bash functions that divide tests into portions which can be run one at a time:
# a stage of the check must not take more than half an hour.

# Succeeds if $1 is a portion: "K/N", 1 <= K <= N <= 99.
is_portion() {
    [[ $1 =~ ^([1-9][0-9]?)/([1-9][0-9]?)$ ]] &&
        test "${BASH_REMATCH[1]}" -le "${BASH_REMATCH[2]}"
}

# Prints portion $1 of the lines of standard input: every Nth line from line K
# on, so that tests which stand together, and often take alike long, are shared.
portion() {
    awk -v k="${1%/*}" -v n="${1#*/}" 'NR % n == k % n'
}
