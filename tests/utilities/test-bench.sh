#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests utilities/bench-upcall, -rtnl, -offload and -link: that they refuse what
# makes no sense, and that a short run measures what it says it measures.  How fast
# anything is plays no part.  Prints TAP.
#
# usage: test-bench.sh BUILDDIR

cd "$(dirname "$0")/../.." || exit 1
bench=$PWD/utilities/bench-upcall
plot=$PWD/utilities/bench/plot-upcall
traffic=$1/utilities/bench/upcall-traffic
builddir=$1

TMPDIR=$(mktemp -d /tmp/test-bench.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
out=$TMPDIR/out
mkdir "$out"
results=$out/upcall.json

n=0
failures=0

# Reports test $1, passed if $2 (a status) is 0.
result () {
    n=$((n + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $n - $1"
    else
        failures=$((failures + 1))
        echo "not ok $n - $1"
        sed 's/^/# stdout: /' "$out/stdout"
        sed 's/^/# stderr: /' "$out/stderr"
    fi
}

# Runs command $@.  Leaves its status in $status.
run () {
    "$@" > "$out/stdout" 2> "$out/stderr" < /dev/null
    status=$?
}

# Succeeds if all of $@ are in what the last command wrote to standard error.
said () {
    local text
    for text; do
        grep -qF -e "$text" "$out/stderr" || return 1
    done
}

test_help () {
    run "$bench" --help
    [ "$status" -eq 0 ] && grep -q -e --sockets-only "$out/stdout"
}

# Arguments that are refused, with the texts of which the error has to consist.
# Each error names the value and what would have been accepted.
test_wrong_arguments () {
    local option value texts
    while IFS='|' read -r option value texts; do
        run "$bench" --builddir "$builddir" "$option" "$value"
        if [ "$status" -ne 2 ] || ! said "$option" "$value" expected "$texts"
        then
            echo "# arguments: $option $value"
            return 1
        fi
    done << END
--ports|1|2 to 4000
--ports|many|2 to 4000
--handlers|0|1 to 256
--cpus|65|1 to 64
--flood|-5|100 to 10000000
--interval|9|10 to 1000000
--rounds||1 to 100
--config|stok|stock, stock-per-vport, per-handler, kdp-per-port-epoll
--open-files|255|256 to 1048576
--memory|3000|such as 3G
--send-cpu|2|0 to 1
--kdp|/nonexistent|an executable file
END
    run "$bench" --builddir /nonexistent
    [ "$status" -eq 2 ] && said /nonexistent folder
}

test_traffic_arguments () {
    local args
    for args in --ports=0 --run=256 --count=0 --probe=1 --flood=x extra \
                "--spare --flood=1" "--window=2 --flood=1" --flows=3; do
        # shellcheck disable=SC2086 # Several words.
        run "$traffic" $args
        if [ "$status" -ne 2 ] || [ ! -s "$out/stderr" ]; then
            echo "# arguments: $args"
            return 1
        fi
    done
}

# Checks with jq that expression $1 is true of the results.
holds () {
    jq -e "$1" "$results" > /dev/null || { echo "# not so: $1"; return 1; }
}

test_quick_run () {
    run "$bench" --quick --icount --builddir "$builddir" --config stock \
        --config kdp-per-port-epoll --output "$results" --logs "$out/logs"
    [ "$status" -eq 0 ] && [ -s "$results" ] \
        && grep -q '^Targets:' "$out/stdout"
}

test_every_frame_missed () {
    holds '[.runs[].tests[]] | length == 12
           and all(.missed_equals_sent and .sent == .datapath.missed)'
}

test_every_frame_accounted_for () {
    holds '[.runs[].tests[]] | all(.unaccounted == 0 and .duplicates == 0)'
}

test_all_members () {
    holds '.runs | all(.found.mode and .sockets.netlink > 0
                       and .sockets.handlers > 0 and .available)' \
        && holds '[.runs[].tests | keys] | all(. == ["alone", "each",
                  "flooded", "idle", "trace_flood", "trace_light"])' \
        && holds '[.runs[].tests[]] | all(.probe.us.p50 > 0
                  and (.probe.percentiles | length) == 101
                  and (.ports | length) == 20 and .cpu_s >= 0)' \
        && holds '[.runs[].tests | .trace_flood, .trace_light]
                  | all(.trace.calls_per_upcall > 0)' \
        && holds '[.runs[] | select(.configuration != "stock").tests[]]
                  | all(.upcall_show.received > 0)' \
        && holds '.summary.stock.to_stock.idle_p50_us == 1
                  and (.targets | length) > 8'
}

test_idle_port_is_spared () {
    holds '[.runs[].tests.idle] | all(.ports[0][0] == .probe.sent
           and .ports[1][0] > 0)'
}

# A configuration is there only if the daemon says that it is the one.  Seven
# ports times three handlers, and one for requests.
test_unavailable () {
    run "$bench" --quick --builddir "$builddir" --sockets-only \
        --kdp /usr/sbin/ovs-vswitchd --config kdp-per-port-epoll \
        --config stock-per-vport --config per-handler --ports 5 --handlers 3 \
        --output "$out/other.json" --logs "$out/logs"
    [ "$status" -eq 0 ] \
        && grep -q '^kdp-per-port-epoll: not available' "$out/stdout" \
        && jq -e '(.summary["stock-per-vport"] | .available
                   and (.found.mode | contains("per-vport")))
                  and .summary["per-handler"].median.sockets == 22' \
              "$out/other.json" > /dev/null
}

# More ports than open files: they share sockets, and nothing of a port without
# much traffic is lost.
test_few_open_files () {
    run "$bench" --icount --builddir "$builddir" --ports 4000 \
        --open-files 1024 --memory 4G --config kdp-per-port-epoll \
        --probes 100 --each 1 --idle-probes 50 --flood 10000 --no-trace \
        --rounds 1 --output "$out/many.json" --logs "$out/logs"
    [ "$status" -eq 0 ] \
        && jq -e '.runs[0] | .sockets.descriptors <= 1024
                  and .sockets.ports == 4002 and .sockets.netlink > 700
                  and ([.tests[]] | all(.missed_equals_sent
                                        and .unaccounted == 0))
                  and ([.tests.alone, .tests.each, .tests.idle]
                       | all(.probe.received == .probe.sent))' \
              "$out/many.json" > /dev/null
}

# Without a daemon there is nothing to measure, which is an error.
test_dead_daemon () {
    run "$bench" --quick --builddir "$builddir" --stock /bin/false \
        --config stock --output "$out/dead.json" --logs "$out/logs"
    [ "$status" -eq 1 ] && said /bin/false \
        && jq -e .error "$out/dead.json" > /dev/null
}

test_plots () {
    run "$plot" --directory "$out" --name plot "$results"
    [ "$status" -eq 0 ] && grep -q '</svg>' "$out/plot-latency.svg" \
        && grep -q '</svg>' "$out/plot-load.svg" \
        && grep -q 'idle: p50 ms' "$out/plot.inc" || return 1
    # A summary makes the same plots.
    cp "$out/plot-latency.svg" "$out/before.svg"
    run "$plot" --directory "$out" --name plot "$out/plot.json"
    [ "$status" -eq 0 ] && cmp -s "$out/before.svg" "$out/plot-latency.svg"
}

test_rtnl_arguments () {
    local option value text
    while IFS='|' read -r option value text; do
        run "${bench%upcall}rtnl" --builddir "$builddir" "$option" "$value"
        if [ "$status" -ne 2 ] || ! said "$option" "$value" "$text"; then
            echo "# arguments: $option $value"
            return 1
        fi
    done << END
--ports|0,1|1 to 4000
--delays|x|0 to 1000000
--grow|20|21 to 4000
--rounds|1,2|1 to 100
--daemon|other|stock
--kdp|/nonexistent|an executable file
END
}

test_rtnl () {
    run "${bench%upcall}rtnl" --quick --builddir "$builddir" \
        --output "$out/rtnl.json" --logs "$out/rtnl-logs"
    # One for the statistics of each port every five seconds, and about a
    # hundred for a port that comes anew, is what the stock daemon needs; ours
    # needs a handful for a port and none in steady state.
    [ "$status" -eq 0 ] && grep -q '^Targets:' "$out/stdout" \
        && jq -e '(.runs | length == 12)
                  and ([.runs[] | select(.daemon == "stock")]
                       | (map(select(.test == "steady"))
                          | all(.acquisitions >= 4 and .acquisitions < 100))
                         and (map(select(.test == "each"))
                              | all(.acquisitions > 40 * .ports
                                    and (.requests | add) > 40 * .ports
                                    and .longest_turn_ms > 0)))
                  and ([.runs[] | select(.daemon == "kdp")]
                       | (map(select(.test == "steady"))
                          | all(.acquisitions == 0))
                         and (map(select(.test != "steady"))
                              | all(.acquisitions > 0
                                    and .acquisitions <= 10 * .changed
                                    and (.requests | add)
                                        <= 30 * .changed)))' \
              "$out/rtnl.json" > /dev/null \
        || { jq '.summary' "$out/rtnl.json" | sed 's/^/# /'; return 1; }
    run "${plot%upcall}rtnl" --directory "$out" --name rtnl-plot \
        "$out/rtnl.json"
    [ "$status" -eq 0 ] && grep -q '</svg>' "$out/rtnl-plot-time.svg" \
        && grep -q 'RTNL/port' "$out/rtnl-plot.inc"
}

# What a daemon did not finish is told, and counts for nothing.
test_rtnl_not_finished () {
    jq '(.runs[] | select(.daemon == "stock" and .test == "all"
                          and .delay_us == 1000)).finished = false' \
        "$out/rtnl.json" > "$out/rtnl-not-finished.json" || return 1
    (cd "${bench%/*}/bench" && python3 -B -c '
import json, sys
import rtnl_report as report
results = json.load(sys.stdin)
results["summary"] = report.summarize(results)
results["targets"] = report.targets(results)
json.dump(results, sys.stdout)
' < "$out/rtnl-not-finished.json" > "$out/rtnl-summary.json") || return 1
    jq -e '(.targets | map(.what) | (any(startswith("each: time"))
                                     and all(startswith("all:") | not)))
           and ([.summary[] | select(.not_finished == 1)] | length == 1)' \
        "$out/rtnl-summary.json" > /dev/null || return 1
    run "${plot%upcall}rtnl" --directory "$out" --name rtnl-cut \
        "$out/rtnl-summary.json"
    [ "$status" -eq 0 ] \
        && grep -q '^Stock, all, 4 ports, 1000 us: 1 of 1 rounds not' \
            "$out/rtnl-cut.inc"
}

test_offload_arguments () {
    local option value text
    while IFS='|' read -r option value text; do
        run "${bench%upcall}offload" --builddir "$builddir" "$option" "$value"
        if [ "$status" -ne 2 ] || ! said "$option" "$value" "$text"; then
            echo "# arguments: $option $value"
            return 1
        fi
    done << END
--tests|paced,fast|paced, burst, single, threads, moves
--modes|hard|off, software, card, slow-card
--ports|0|1 to 200
--flows|9|10 to 200000
--card-flows|many|10 to 200000
--interval|1|10 to 1000000
--window|0|1 to 10000
--delays|0,x|0 to 1000000
--threads|11|1 to 10
--moves|1|2 to 1000000
--rule-time|0|1 to 1000000
--memory|3000|such as 3G
--daemon|other|stock
--kdp|/nonexistent|an executable file
END
}

# Checks with jq that expression $1 is true of the results of bench-offload.
offload_holds () {
    jq -e "$1" "$out/offload.json" > /dev/null \
        || { echo "# not so: $1"; return 1; }
}

test_offload () {
    run "${bench%upcall}offload" --quick --builddir "$builddir" \
        --output "$out/offload.json" --logs "$out/offload-logs"
    # Each frame makes a flow, and each flow a rule, as tc itself says; the
    # stock daemon needs the lock for each one in a card, and for none in
    # software, nor does its handler wait for a card without one.
    [ "$status" -eq 0 ] && grep -q '^Targets:' "$out/stdout" \
        && offload_holds '.runs | length == 34 and all(.available)' \
        && offload_holds '[.runs[] | select(.test != "moves")]
                          | all(.missed == .sent and .received == .sent
                                and .duplicates == 0 and .us.p50 > 0)' \
        && offload_holds '[.runs[] | select(.mode != "off"
                                            and .test != "moves")]
                          | all(.rules == .sent and .listed == .rules + 64
                                and .in_tc_s > 0)' \
        && offload_holds '[.runs[] | select(.mode == "off")]
                          | all(.flows_in_kernel >= .sent
                                and .listed == null)' \
        && offload_holds '[.runs[] | select(.daemon == "stock")]
                          | (map(select(.mode == "card"))
                             | all(.acquisitions >= .sent))
                            and (map(select(.mode == "software"))
                                 | all(.acquisitions < .sent))'
}

# Delays of the lock and of the card are felt by who waits for them.
test_offload_delays () {
    offload_holds '[.runs[] | select(.daemon == "stock" and .test == "paced")]
                   | (map(select(.mode == "card") | {(.delay_us | tostring):
                                                     .us.p50}) | add)
                     | .["1000"] > 10 * .["0"]' \
        && offload_holds '[.runs[] | select(.mode == "slow-card")]
                          | all(.insert_s > 0.04)'
}

test_offload_ours () {
    offload_holds '[.runs[] | select(.test == "single")]
                   | length == 1
                     and all(.offload_us > 0
                             and .offload_stats["Inserted offloads"]
                                 == .sent + 64)' \
        && offload_holds '[.runs[] | select(.test == "moves")]
                          | length == 1 and all(.moves >= 1000 and .missed == 0
                                                and .received == .sent)' \
        && offload_holds '[.runs[] | select(.threads) | .threads] | sort
                          == [1, 1, 2, 2]'
}

test_offload_plots () {
    run "${plot%upcall}offload" --directory "$out" --name offload-plot \
        "$out/offload.json"
    [ "$status" -eq 0 ] && grep -q '</svg>' "$out/offload-plot-latency.svg" \
        && grep -q '</svg>' "$out/offload-plot-rules.svg" \
        && grep -q 'rules/s' "$out/offload-plot.inc"
}

test_offload_dead_daemon () {
    run "${bench%upcall}offload" --quick --builddir "$builddir" \
        --stock /bin/false --daemon stock --output "$out/dead.json" \
        --logs "$out/logs"
    [ "$status" -eq 1 ] && said /bin/false \
        && jq -e .error "$out/dead.json" > /dev/null
}

test_link_arguments () {
    local option value text
    while IFS='|' read -r option value text; do
        run "${bench%upcall}link" --builddir "$builddir" "$option" "$value"
        if [ "$status" -ne 2 ] || ! said "$option" "$value" "$text"; then
            echo "# arguments: $option $value"
            return 1
        fi
    done << END
--chains|0,1|1 to 1024
--chains|1;2|separated by commas
--buckets|1|2 to 65536
--other|1024|fewer than the 1024 links
--links|3|an even number
--possible-cpus|0|1 to 4096
END
    run "${bench%upcall}link" --builddir "$builddir" --no-lookup
    [ "$status" -eq 2 ] && said --no-lookup --dump || return 1
    run "${bench%upcall}link" --builddir /tmp --quick --output "$out/none.json"
    [ "$status" -eq 1 ] && said link-lookup
}

# A chain of 64 is felt by who shares a table that does not grow, and by nobody
# else, by a margin that does not depend on the machine.
test_link_lookups () {
    run "${bench%upcall}link" --builddir "$builddir" --quick --chains 1,64 \
        --output "$out/link.json"
    [ "$status" -eq 0 ] && jq -e '
        [.summary.lookups[] | select(.chain == 64)]
        | (map({(.table): .}) | add)
        | .fixed.index_ns > 2 * .split.index_ns
          and .fixed.missing_ns > 2 * .growing.missing_ns
          and .fixed.buckets == -1024 and .split.buckets == 1024
          and .growing.buckets <= -32768
          and all(.[]; .drop_ms > 0)' "$out/link.json" > /dev/null
}

# The filter leaves out no link, and some bytes of each.
test_link_dumps () {
    run "${bench%upcall}link" --builddir "$builddir" --quick --no-lookup \
        --dump --possible-cpus 1,3 --output "$out/dump.json" \
        --logs "$out/link-logs"
    [ "$status" -eq 0 ] && jq -e '
        (.dumps | length == 12 and all(.links == 41 and .ms > 0))
        and (.summary.dumps | map(.possible_cpus) == [1, 3]
             and all(.skip_bytes < .stats_bytes and .skip_ms < .stats_ms))
        and (.kernel | test("^[0-9]"))' "$out/dump.json" > /dev/null
}

test_link_plots () {
    run "${plot%upcall}link" --directory "$out" "$out/link.json"
    [ "$status" -eq 0 ] && grep -q '</svg>' "$out/links-lookup.svg" \
        && [ ! -e "$out/links-dump.svg" ] \
        && grep -q 'Nanoseconds' "$out/links.inc" || return 1
    run "${plot%upcall}link" --directory "$out" "$out/dump.json"
    [ "$status" -eq 0 ] && grep -q '</svg>' "$out/links-dump.svg"
}

tests='help wrong_arguments traffic_arguments quick_run every_frame_missed
       every_frame_accounted_for all_members idle_port_is_spared unavailable
       few_open_files dead_daemon plots rtnl_arguments
       rtnl rtnl_not_finished offload_arguments offload offload_delays offload_ours
       offload_plots offload_dead_daemon link_arguments
       link_lookups link_dumps link_plots'

shift
# shellcheck disable=SC2086 # Several words.
[ $# -gt 0 ] || set -- $tests
echo "1..$#"
for name; do
    "test_$name"
    result "bench: ${name//_/ }" $?
done
[ $failures -eq 0 ]
