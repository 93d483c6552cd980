# SPDX-License-Identifier: Apache-2.0
#
# The switch tests of os-ken: a controller that adds flows and groups to one
# bridge, and sends packets through it from another bridge.  Those of meters
# and of weights of groups are left out: they measure rates, with a sender in
# Python that an emulated guest makes too slow.

osken_tests=$FOREIGN_CODE/python/os_ken/tests/switch

# Prints the files of tests that belong to the portion, or of tests $@.
osken_files() {
    local name file
    cd "$osken_tests" || return
    if test $# -eq 0; then
        grep -rL '"throughput"' --include='*.json' of10 of13 of14 | sort |
            portion "$FOREIGN_PORTION"
        return
    fi
    for name; do
        file=${name%% / *}
        grep -rlxF --include='*.json' "    \"${file#* }\"," "${file%% *}"
    done | sort -u
}

# A test is called "VERSION FILE / TEST", with what the file and the test say
# of themselves.  Those of a file run together.
suite_run() {
    local files version file
    files=$(osken_files "$@")
    test -n "$files" || die "no file has tests: $*"
    for version in of10 of13 of14; do
        rm -rf tests
        for file in $files; do
            test "${file%%/*}" = $version || continue
            mkdir -p "tests/${file%/*}"
            cp "$osken_tests/$file" "tests/$file"
        done
        test ! -d tests || osken_run ${version#of}
    done
}

# Runs what is in folder "tests" with version $1.
osken_run() {
    local version=openflow$1 i j
    start_switch
    # Nothing but packets of the tests.
    sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 \
        net.ipv6.conf.default.disable_ipv6=1
    for i in 1 2 3; do
        ip link add s1-eth$i type veth peer name s2-eth$i
        ip link set s1-eth$i up
        ip link set s2-eth$i up
    done
    for i in 1 2; do
        ovs-vsctl add-br s$i -- set-fail-mode s$i secure -- \
            set Bridge s$i other_config:datapath-id=000000000000000$i \
            "protocols=OpenFlow$1" -- set-controller s$i tcp:127.0.0.1:6653
        for j in 1 2 3; do
            ovs-vsctl add-port s$i s$i-eth$j -- \
                set Interface s$i-eth$j ofport_request=$j
        done
    done
    echo "version of$1"
    # Packages of Debian are of other versions.
    PYTHONPATH=$FOREIGN_CODE/python /usr/bin/python3 -S "$here/os-ken.py" \
        --ofp-tcp-listen-port 6653 --test-switch-dir tests \
        --test-switch-target-version $version \
        --test-switch-tester-version $version
    ovs-vsctl del-br s1 -- del-br s2
    for i in 1 2 3; do
        ip link del s1-eth$i
    done
    stop_switch
}

# Prints the names of the files of tests, as they say of themselves.
osken_names() {
    grep -rhoE --include='*.json' '^    "[^"]*",$' "$osken_tests" |
        sed 's/^ *"//; s/",$//'
}

# A test is a line that begins with 4 blanks, its error one with 8.  An
# exception of the tester at a packet that it does not know may come between.
suite_results() {
    awk -v OFS='\t' '
        NR == FNR { names[$0]; next }
        function flush() {
            if (name != "") print result, name, detail
            name = detail = ""
        }
        /^version / { flush(); version = $2; inside = 0 }
        /^--- Test start ---/ { inside = 1; next }
        /^---  Test end  ---/ { flush(); inside = 0 }
        !inside { next }
        $0 in names { file = $0; next }
        /^        / && name != "" { sub(/^ +/, ""); detail = $0; next }
        /^    .* (OK|ERROR)$/ {
            flush()
            result = $NF == "OK" ? "ok" : "fail"
            sub(/^ +/, "")
            sub(/ +(OK|ERROR)$/, "")
            name = version " " file " / " $0
            next
        }
        END { flush() }' <(osken_names) -
}
