#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests how "./quickstart check" counts: whatever goes wrong in a stage must
# show in the summary line and in the exit status; that its stages wait for what
# they need and for nothing else; and what it says about machines that it does
# not run on.  It runs in a tree whose configure writes a Makefile with made-up
# test results.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
source=$PWD
dir=$(mktemp -d /tmp/test-quickstart.XXXXXX)
trap 'rm -rf "$dir"' EXIT
tree=$dir/tree
host=$dir/host
out=$dir/out

# Makes a tree in which all is well: 2 unit tests in each of the three builds,
# 3 tests in each of the nine other stages.
make_tree () {
    rm -rf "$tree"
    mkdir -p "$tree/utilities"
    cp "$source/quickstart" "$tree/"
    cp "$source"/utilities/{failed-cases.awk,quickstart-{host,results,stages,steps}} \
        "$tree/utilities/"
    for list in packages packages-{check,all}{,-12,-13}; do
        echo "# No package" > "$tree/utilities/$list"
    done
    touch "$tree/configure.ac" "$tree/Makefile.am"
    printf '#!/bin/sh\ntouch configure Makefile.in\n' > "$tree/boot.sh"
    cat > "$tree/configure" << 'EOF'
#!/bin/sh
mkdir -p tests
touch config.status
cp ../makefile Makefile
EOF
    chmod +x "$tree/boot.sh" "$tree/configure"

    printf '1..2\nok 1 - a\nok 2 - b\n' > "$tree/unit.log"
    echo ':global-test-result: PASS' > "$tree/unit.trs"
    printf '1..3\nok 1 - a\nok 2 - b\nok 3 - c\n' > "$tree/tap"
    # The commands of the targets; a test replaces those it is about.
    for target in all programs models guest kselftest system ovs-build \
                  system-selection ovs foreign bench versions kernels soak \
                  distcheck deb deb-arm64 rpm image arm64 fuzz analyze docs
    do
        echo "cat ../tap" > "$tree/run-$target"
    done
    make_host
    cat > "$tree/makefile" << 'EOF'
all:
	sh ../run-all
check:
	cp ../unit.log ../unit.trs tests
	grep -q PASS ../unit.trs
check-%:
	sh ../run-$*
ovs-build-full:
	sh ../run-ovs-build
soak distcheck fuzz analyze docs:
	sh ../run-$@
EOF
}

# Makes the machine that quickstart sees: a Debian 12 with enough of all.
make_host () {
    rm -rf "$host"
    mkdir -p "$host"/{etc,proc,dev,bin}
    : > "$host/dev/kvm"
    cat > "$host/etc/os-release" << 'EOF'
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
ID=debian
VERSION_ID="12"
EOF
    echo 'MemAvailable:   16000000 kB' > "$host/proc/meminfo"
    program uname 'echo x86_64'
    program id 'echo 0'
    program nproc 'echo 2'
    program df 'echo; echo "x 9 9 90000 9% /"'
    program dpkg-query 'echo "ii  installed"'
    program apt-get 'echo "apt-get $*" >> '"$host"'/calls; exit 100'
    program dpkg 'echo "dpkg $*" >> '"$host/calls"
}

# Puts a program $1 that runs shell command $2 before those of the system.
program () {
    printf '#!/bin/sh\n%s\n' "$2" > "$host/bin/$1"
    chmod +x "$host/bin/$1"
}

quickstart () {
    PATH=$host/bin:$PATH QUICKSTART_ROOT=$host "$tree/quickstart" "$@"
}

run () {
    quickstart check > "$out" 2>&1
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
    ended '30 passed, 0 failed' 0
}

test_failed_case () {
    printf '1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c\n' > "$tree/failing"
    echo 'cat ../failing; exit 1' > "$tree/run-kselftest"
    run
    # The stage, its log and the test are named; the stages after it ran.
    ended '29 passed, 1 failed' 1 && grep -q 'not ok 2 - b' "$out" \
        && tail -n 2 "$out" | grep -q 'not ok 2 - b' \
        && grep -q 'kselftest.*_build/logs/check-kselftest.log' "$out" \
        && grep -q 'models.*: 3 passed' "$out"
}

# All that is left of a machine may be what the check printed.
test_failed_case_says_why () {
    (
        printf '1..3\nok 1 - a\n# of a\nnot ok 2 - b\n'
        seq -f '# line %g of b' 40
        printf 'ok 3 - c\n# of c\n'
    ) > "$tree/failing"
    echo 'cat ../failing; exit 1' > "$tree/run-kselftest"
    run
    ended '29 passed, 1 failed' 1 && grep -q '# line 40 of b$' "$out" \
        && [ "$(grep -c '# line [0-9]* of b$' "$out")" -eq 30 ] \
        && ! grep -q '# of [ac]$' "$out"
}

test_guest_that_did_not_boot () {
    echo 'echo guest did not boot >&2; exit 125' > "$tree/run-system"
    run
    ended '27 passed, 1 failed' 1
}

test_no_test_ran () {
    echo true > "$tree/run-ovs"
    run
    ended '27 passed, 1 failed' 1
}

test_status_without_failed_case () {
    echo 'cat ../tap; exit 126' > "$tree/run-ovs"
    run
    ended '30 passed, 1 failed' 1
}

test_skipped_case () {
    printf '1..3\nok 1 - a\nok 2 - b # SKIP no such thing\nok 3 - c\n' \
        > "$tree/tap2"
    echo 'cat ../tap2' > "$tree/run-kselftest"
    run
    ended '29 passed, 1 failed' 1
}

test_plan_not_fulfilled () {
    # Two streams, of which the second one ends early.
    printf '1..1\nok 1 - a\n1..4\nok 1 - a\n' > "$tree/tap2"
    echo 'cat ../tap2' > "$tree/run-kselftest"
    run
    ended '29 passed, 3 failed' 1
}

test_crashed_unit_test () {
    printf '1..2\nok 1 - a\n' > "$tree/unit.log"
    echo ':global-test-result: FAIL' > "$tree/unit.trs"
    run
    ended '27 passed, 3 failed' 1
}

test_sanitizer_report_at_exit () {
    echo ':global-test-result: FAIL' > "$tree/unit.trs"
    run
    ended '30 passed, 3 failed' 1
}

test_failed_build () {
    # shellcheck disable=SC2016 # For make's shell.
    echo 'case $PWD in *-asan) echo no luck; exit 1; esac' > "$tree/run-all"
    run
    # What needs the build is missing: two unit tests, three system tests.
    ended '25 passed, 1 failed' 1 && grep -q 'build-asan-make.log' "$out" \
        && grep -q 'no luck' "$out" \
        && [ "$(grep -c 'address.*: not run' "$out")" -eq 2 ]
}

test_failed_bootstrap () {
    printf '#!/bin/sh\nexit 1\n' > "$tree/boot.sh"
    run
    ended '0 passed, 1 failed' 1
}

# A stage starts when what it needs is there, and does not wait for others.
test_stages_at_the_same_time () {
    # The guest tools' tests end when all but the first build has begun.
    echo 'until [ -e ../asan -a -e ../system ]; do sleep 0.1; done; cat ../tap' \
        > "$tree/run-guest"
    # The system tests, two guests, and the tools' tests leave no room for the
    # address sanitizer's build: that waits, though nothing else would stop it.
    echo '[ ! -e ../asan ] || touch ../early; [ -e ../built ] && touch ../system
          cat ../tap' > "$tree/run-system"
    # shellcheck disable=SC2016 # For make's shell.
    echo 'case $PWD in *-asan) touch ../asan; esac' > "$tree/run-all"
    # shellcheck disable=SC2016 # For make's shell.
    echo 'case $PWD in *_build) touch ../built; esac' > "$tree/run-programs"
    run
    ended '30 passed, 0 failed' 0 && [ ! -e "$tree/early" ]
}

# No more at a time than there are processors and one.
test_capacity () {
    local run
    # The first waits for another one.
    # shellcheck disable=SC2016 # For make's shell.
    run='mkdir ../now.$$; i=0
         until [ -e ../met -o $i -eq 600 ]; do
             [ "$(ls -d ../now.* | wc -l)" -lt 2 ] || touch ../met
             i=$((i + 1)); sleep 0.1
         done
         ls -d ../now.* | wc -l >> ../at-a-time; sleep 0.3
         rmdir ../now.$$; cat ../tap'
    for stage in models guest kselftest system system-selection ovs bench \
        versions; do
        echo "$run" > "$tree/run-$stage"
    done
    run
    ended '30 passed, 0 failed' 0 \
        && [ "$(sort -n "$tree/at-a-time" | tail -n 1)" -le 3 ] \
        && [ "$(sort -n "$tree/at-a-time" | tail -n 1)" -ge 2 ] || return 1
    # With little memory, one.
    rm -rf "$tree"/_* "$tree/at-a-time"
    echo 'MemAvailable: 5000000 kB' > "$host/proc/meminfo"
    run
    ended '30 passed, 0 failed' 0 \
        && [ "$(sort -n "$tree/at-a-time" | tail -n 1)" -eq 1 ]
}

test_old_results_do_not_count () {
    mkdir -p "$tree/_build/tests"
    cp "$tree/unit.log" "$tree/_build/tests/gone.log"
    cp "$tree/unit.trs" "$tree/_build/tests/gone.trs"
    run
    ended '30 passed, 0 failed' 0
}

# Other builds in a build folder run their own unit tests, at the same time.
test_results_of_other_builds () {
    local other=$tree/_build/versions/other-build/tests
    mkdir -p "$other"
    printf '1..2\nok 1 - a\n' > "$other/unit.log"
    cp "$tree/unit.trs" "$other/"
    run
    ended '30 passed, 0 failed' 0 && [ -e "$other/unit.trs" ]
}

test_interrupt () {
    local pid
    # Two stages that run then, one of which does not want to end at once.
    # How long they sleep tells them from others of the machine.
    echo "touch ../running; sleep 1000.$$; sleep 1001.$$" > "$tree/run-system"
    echo "trap 'sleep 1; touch ../cleaned; exit 1' TERM
          until [ -e ../running ]; do sleep 0.1; done
          touch ../running2; while :; do sleep 0.1; done" > "$tree/run-guest"
    quickstart check > "$out" 2>&1 &
    pid=$!
    for _ in {1..600}; do
        [ -e "$tree/running2" ] && break
        sleep 0.1
    done
    # The signal goes to quickstart, not to the function around it, nor to a process
    # of it, whose number may be a smaller one.
    kill -TERM "$(pgrep -o -f "^/bin/bash $tree/quickstart")"
    wait $pid 2> /dev/null
    [ $? -eq 143 ] && grep -q 'interrupted at:.*system tests' "$out" \
        && grep -q 'interrupted at:.*test tools' "$out" \
        && [ -e "$tree/cleaned" ] || return 1
    # Nothing left, and it can run again.
    ! pgrep -f "$tree" > /dev/null || return 1
    ! ps -eo args | grep -q "^sleep 100[01][.]$$\$" || return 1
    echo 'cat ../tap' | tee "$tree/run-guest" > "$tree/run-system"
    run
    ended '30 passed, 0 failed' 0
}

# Continuous integration runs the command that README.md shows, and fails with
# it.
test_continuous_integration () {
    local ci
    grep -qx '    ./quickstart check' "$source/README.md" || return 1
    ci=$(sed -n 's/^.*exec //p' "$source/.ci/run")
    [ "$ci" = './quickstart check' ] || return 1
    mkdir "$tree/.ci"
    cp "$source/.ci/run" "$tree/.ci/"
    PATH=$host/bin:$PATH QUICKSTART_ROOT=$host "$tree/.ci/run" > "$out" 2>&1
    status=$?
    ended '30 passed, 0 failed' 0 || return 1
    echo 'cat ../tap; exit 1' > "$tree/run-system"
    PATH=$host/bin:$PATH QUICKSTART_ROOT=$host "$tree/.ci/run" > "$out" 2>&1
    status=$?
    ended '30 passed, 1 failed' 1
}

test_second_instance () {
    local rc
    mkdir -p "$tree/_build/logs"
    PATH=$host/bin:$PATH QUICKSTART_ROOT=$host \
        flock "$tree/_build/logs/lock" "$tree/quickstart" check > "$out" 2>&1
    rc=$?
    [ $rc -eq 1 ] && grep -q 'another instance' "$out"
}

test_progress_and_times () {
    # It goes on once it has been listed.
    echo "echo half-way
          for i in \$(seq 600); do
              ! grep -q 'models of what.*: half-way' $out || break
              sleep 0.1
          done
          cat ../tap" > "$tree/run-models"
    QUICKSTART_PROGRESS=1 quickstart check > "$out" 2>&1
    grep -q ' s, models of what.*: half-way' "$out" \
        && [ "$(grep -c 'status 0$' "$tree/_build/logs/stages")" -eq 17 ]
}

# Makes the tree one of a commit, as a clone is.
make_commit () {
    printf '%s\n' '/_*' /configured /Makefile.in /config.status /calls \
        > "$tree/.gitignore"
    [ -e "$tree/.git" ] || git -C "$tree" init -q
    git -C "$tree" add -A
    git -C "$tree" -c user.name=test -c user.email=test commit -q \
        --allow-empty -m test
}

run_all () {
    quickstart check --all > "$out" 2>&1
    status=$?
}

# Each stage that tests something, with 3 tests or one, or 2 unit tests.
n_stages=56
n_tests_of_all=$((3 * 49 + 3 * 2 + 4))

test_all () {
    # The selection is no more, and the rest is a selection of nothing.
    echo false > "$tree/run-system-selection"
    # What saves time must not keep anything from being tested here.
    # shellcheck disable=SC2016 # For make's shell.
    echo 'case $PWD:$SYSTEMFLAGS in *-tsan:* | *:--all-cpus\ --portion*) cat ../tap; esac' \
        > "$tree/run-system"
    # shellcheck disable=SC2016 # For make's shell.
    echo 'case $OVS_TREES:$VERSIONSFLAGS in *--only*) cat ../tap; esac' \
        > "$tree/run-versions"
    run_all
    ended "$n_tests_of_all passed, 0 failed" 0 \
        && grep -q 'no result was kept' "$out" || return 1
    echo 'echo no luck; exit 1' > "$tree/run-fuzz"
    echo 'exit 1' > "$tree/run-docs"
    run_all
    ended "$((n_tests_of_all - 2)) passed, 2 failed" 1 && grep -q 'no luck' "$out"
}

# Portions have each portion once.
test_all_portions () {
    # shellcheck disable=SC2016 # For make's shell.
    echo 'echo "${PWD##*/} $SYSTEMFLAGS $TESTSUITEFLAGS $FOREIGNFLAGS $BENCHTESTS" |
              sed "s/ .*--portion/ /" >> ../portions; cat ../tap' \
        | tee "$tree"/run-{system,ovs,foreign,bench} > /dev/null
    run_all
    ended "$n_tests_of_all passed, 0 failed" 0 || return 1
    awk '/ [0-9]+\/[0-9]+ *$/ { split($NF, p, "/"); n[$1 "/" p[2]] += 1; sum[$1 "/" p[2]] += p[1] }
         END { for (i in n) { print i, n[i], sum[i] } }' "$tree/portions" \
        | sort > "$dir/sums"
    # 3 of the system tests and of the benchmarks, and 4 of Open vSwitch's and of
    # os-ken's.
    cat "$dir/sums" >> "$out"
    [ "$(cat "$dir/sums")" = "$(printf '%s\n' '_build-asan/5 5 15' \
        '_build-tsan/5 5 15' '_build/3 6 12' '_build/4 8 20')" ]
}

# What passed on a commit is not run again on it, and what failed is.
test_all_goes_on () {
    echo 'echo >> ../fuzzed; [ -e ../luck ]' > "$tree/run-fuzz"
    echo 'echo >> ../models; cat ../tap' > "$tree/run-models"
    printf '/fuzzed\n/models\n/luck\n' > "$tree/ignored"
    make_commit
    cat "$tree/ignored" >> "$tree/.gitignore"
    git -C "$tree" -c user.name=test -c user.email=test commit -q -a -m ignore
    run_all
    ended "$((n_tests_of_all - 1)) passed, 1 failed" 1 \
        && grep -q '^  fuzz .*FAILED' "$out" \
        && [ "$(grep -c '^  .* passed, ' "$out")" -ge $((n_stages - 1)) ] \
        || return 1
    touch "$tree/luck"
    run_all
    # The sum is that of the commit, not that of the run.
    ended "$n_tests_of_all passed, 0 failed" 0 \
        && [ "$(wc -l < "$tree/models")" -eq 1 ] \
        && [ "$(wc -l < "$tree/fuzzed")" -eq 2 ] || return 1
    run_all
    ended "$n_tests_of_all passed, 0 failed" 0 \
        && [ "$(wc -l < "$tree/fuzzed")" -eq 2 ] || return 1
    # All is open on another commit, or if the tree is changed.
    echo change >> "$tree/configure.ac"
    run_all
    ended "$n_tests_of_all passed, 0 failed" 0 \
        && [ "$(wc -l < "$tree/models")" -eq 2 ] || return 1
    make_commit
    quickstart check --list > "$out" 2>&1
    [ "$(grep -c ' open$' "$out")" -eq $n_stages ] || return 1
    run_all
    [ "$(wc -l < "$tree/models")" -eq 3 ]
}

# A stage that is interrupted is open, and so are those that need a build which
# failed.
test_all_open () {
    # shellcheck disable=SC2016 # For make's shell.
    echo 'case $PWD in *-tsan) exit 1; esac' > "$tree/run-all"
    make_commit
    run_all
    # Five portions of system tests, two of the soak, and the unit tests.
    ended "$((n_tests_of_all - 7 * 3 - 2)) passed, 1 failed" 1 \
        && grep -q '^8 stages are open$' "$out" \
        && [ "$(grep -c '^  .*thread sanitizer.* open$' "$out")" -eq 8 ]
}

# A named stage runs with what it needs, on whichever commit.
test_named_stages () {
    make_commit
    quickstart check soak-tsan-2 docs > "$out" 2>&1
    status=$?
    ended '4 passed, 0 failed' 0 && [ -d "$tree/_build-tsan" ] \
        && [ ! -d "$tree/_build-asan" ] || return 1
    quickstart check --list > "$out"
    [ "$(grep -c ' open$' "$out")" -eq $((n_stages - 2)) ] \
        && grep -q '^  docs .*passed, 1 tests' "$out" || return 1
    # What it needs and passed already is not run again; asked for, it is.
    quickstart check check-deb > "$out" 2>&1
    status=$?
    ended '4 passed, 0 failed' 0 || return 1
    quickstart check check-deb > "$out" 2>&1
    status=$?
    ended '3 passed, 0 failed' 0 || return 1
    quickstart check no-such docs build-make > "$out" 2>&1
    [ $? -eq 2 ] && grep -q 'no stage is called no-such build-make;' "$out"
}

test_help_touches_nothing () {
    quickstart --help > "$out" && grep -q 'check --all' "$out" \
        && quickstart -h > "$out" && [ ! -e "$tree/_build" ] || return 1
    quickstart check --al > "$out" 2>&1
    [ $? -eq 2 ] && [ ! -e "$tree/_build" ] || return 1
    quickstart --bogus > "$out" 2>&1
    [ $? -eq 2 ] && [ ! -e "$tree/_build" ]
}

# Runs quickstart $3... with a package missing.  It must say $1, in one line,
# and change nothing; $2 is what it must not say.
refused () {
    local text=$1 not=$2
    shift 2
    echo missing > "$tree/utilities/packages"
    quickstart "$@" > "$out" 2>&1
    [ $? -eq 1 ] && [ "$(grep -cF -- "$text" "$out")" -eq 1 ] \
        && [ "$(wc -l < "$out")" -eq 1 ] && ! grep -qF "$not" "$out" \
        && [ ! -e "$host/calls" ]
}

test_other_distributions () {
    local name id version
    while IFS=: read -r name id version; do
        printf 'PRETTY_NAME="%s"\nID=%s\nVERSION_ID="%s"\n' \
            "$name" "$id" "$version" > "$host/etc/os-release"
        refused "this is $name; quickstart knows the packages of Debian 12 and 13" \
            '/etc' && refused "$name" '/etc' check || return 1
    done << END
Debian GNU/Linux 14 (forky):debian:14
Ubuntu 24.04.1 LTS:ubuntu:24.04
Fedora Linux 41 (Server Edition):fedora:41
END
    # One without dpkg and os-release.
    rm "$host/etc/os-release"
    program dpkg-query 'exit 127'
    refused 'this is an unknown system;' '/etc'
}

test_other_architecture () {
    program uname 'echo aarch64'
    refused 'this machine is aarch64' 'Debian' \
        && refused 'this machine is aarch64' 'Debian' check
}

test_not_root () {
    program id 'echo 1000'
    refused 'apt-get install --no-install-recommends missing' 'x86' check
}

test_little_space () {
    program df 'echo; echo "x 9 9 1234 9% /"'
    refused '1234 MB of disk space are free' 'x86' check || return 1
    make_host
    echo 'MemAvailable: 2000000 kB' > "$host/proc/meminfo"
    refused '1953 MB of memory' 'x86' check || return 1
    # All that is wrong is said at once.
    program df 'echo; echo "x 9 9 1234 9% /"'
    quickstart check > "$out" 2>&1
    [ $? -eq 1 ] && [ "$(wc -l < "$out")" -eq 2 ]
}

test_no_network () {
    echo missing > "$tree/utilities/packages"
    program apt-get 'echo "E: Failed to fetch http://x  Could not resolve"
exit 100'
    quickstart check > "$out" 2>&1
    [ $? -eq 1 ] && grep -q 'no network.*cannot be fetched: missing$' "$out" \
        && grep -q 'logs/packages.log' "$out"
}

# In a container, and wherever else there is no KVM, guests are emulated.
test_container () {
    rm "$host/dev/kvm"
    run
    ended '30 passed, 0 failed' 0 \
        && [ "$(grep -c 'no KVM.*emulated' "$out")" -eq 1 ] || return 1
    # Its memory may be limited.
    mkdir -p "$host/sys/fs/cgroup"
    echo max > "$host/sys/fs/cgroup/memory.max"
    echo 1048576 > "$host/sys/fs/cgroup/memory.current"
    run
    ended '30 passed, 0 failed' 0 || return 1
    echo 2147483648 > "$host/sys/fs/cgroup/memory.max"
    refused '2047 MB of memory' 'x86' check
}

test_kernel_package () {
    printf 'linux-image-amd64\nopenvswitch-switch\n' \
        > "$tree/utilities/packages"
    quickstart > "$out" 2>&1
    # It is said before anything happens.
    [ $? -eq 1 ] && sed '/^  install /,$d' "$out" \
        | grep -q 'linux-image-amd64 puts a kernel.*into /boot' \
        && sed '/^  install /,$d' "$out" \
        | grep -q 'openvswitch-switch.*service is not started' \
        && grep -q 'apt-get' "$host/calls"
}

# The demonstration does without what only tests need.
test_package_lists () {
    echo only-check > "$tree/utilities/packages-check"
    program apt-get 'echo "$*" >> '"$host/calls; exit 100"
    quickstart --daemon /bin/true > "$out" 2>&1
    [ ! -e "$host/calls" ] || return 1
    quickstart check > "$out" 2>&1
    [ $? -eq 1 ] && [ -s "$host/calls" ]
}

# Names that differ between releases of Debian are those of this one.
test_package_lists_of_release () {
    local release
    echo of-12 | tee "$tree/utilities/packages-check-12" \
        > "$tree/utilities/packages-all-12"
    echo of-13 | tee "$tree/utilities/packages-check-13" \
        > "$tree/utilities/packages-all-13"
    program apt-get 'echo "$*" >> '"$host"'/calls
case $* in *update) ;; *) exit 100 ;; esac'
    for release in 12 13; do
        sed -i "s/^VERSION_ID=.*/VERSION_ID=$release/" "$host/etc/os-release"
        rm -f "$host/calls"
        quickstart check > "$out" 2>&1
        [ $? -eq 1 ] || return 1
        quickstart check --all > "$out" 2>&1
        [ $? -eq 1 ] || return 1
        # Once for each of the two.
        [ "$(grep -c "of-$release" "$host/calls")" -eq 2 ] \
            && ! grep -q "of-$((25 - release))" "$host/calls" || return 1
    done
}

# The command of the documentation, as it stands there, asks for each package
# of the lists, and for nothing on the way.
test_documented_packages () {
    local command expected
    command=$(sed -n '/[.]deb$/d; /^ .*apt-get/p
                      /^ .*utilities\/packages/p' \
        "$source/Documentation/building.rst")
    program apt-get 'echo "$*" >> '"$host/calls"
    (cd "$source" && PATH=$host/bin:$PATH bash -ec "$command") > "$out" 2>&1 \
        || return 1
    expected=$(cat "$source"/utilities/packages{,-check{,-12}} | sed 's/#.*//' \
        | grep . | sort)
    [ "$(grep install "$host/calls" | tr ' ' '\n' \
            | grep -vE '^(install|-.*)$' | sort)" = "$expected" ] \
        && grep -q '^update' "$host/calls" \
        && grep -qE '(^| )-y( |$)' "$host/calls"
}

tests='all_pass failed_case guest_that_did_not_boot no_test_ran
       status_without_failed_case skipped_case plan_not_fulfilled
       crashed_unit_test sanitizer_report_at_exit failed_build failed_bootstrap
       old_results_do_not_count results_of_other_builds
       stages_at_the_same_time capacity interrupt
       continuous_integration second_instance progress_and_times all
       all_portions all_goes_on all_open named_stages help_touches_nothing
       other_distributions other_architecture not_root little_space no_network
       container kernel_package package_lists
       package_lists_of_release documented_packages'

. "$source/tests/harness/tap.sh"
# shellcheck disable=SC2086 # Several words.
run_tests quickstart ${*:-$tests}
exit $tests_failed
