#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests utilities/bench-upcall, -rtnl, -offload, -restart and -link: that they
# refuse what makes no sense, and that a short run measures what it says it
# measures.  How fast anything is plays no part.  Prints TAP.
#
# usage: test-bench.sh BUILDDIR [--portion K/N] [TEST]...

cd "$(dirname "$0")/../.." || exit 1
bench=$PWD/utilities/bench-upcall
tools=$PWD/utilities/bench
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

# Each benchmark has files of its own, unless others are named.
test_result_files () {
    run python3 -B -c '
import sys
sys.path.insert(0, sys.argv[1])
import bench_options as options
for given in [], ["--output", "o", "--logs", "/l"]:
    parser = options.ArgumentParser("test", "test")
    options.add_daemons(parser.add_argument)
    options.add_results(parser.add_argument, "some.json", "some-logs")
    args = parser.parse_args(["--builddir", sys.argv[2], *given])
    options.complete(parser, args, "some.json", "some-logs")
    print(args.output, args.logs)' "$tools" "$builddir"
    [ "$status" -eq 0 ] && [ "$(cat "$out/stdout")" = \
        "$builddir/bench/some.json $builddir/bench/some-logs
o /l" ]
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
--remotes|1|2 to 4000
--cpus|65|1 to 64
--flood|-5|100 to 10000000
--interval|9|10 to 1000000
--rounds||1 to 100
--config|stok|stock, distribution, stock-per-vport, stock-epoll-wait, per-handler
--config|kdp-delay-10001|kdp-groups-N, kdp-handlers-N, kdp-delay-N
--config|kdp-delay-x|kdp-groups-N, kdp-handlers-N, kdp-delay-N
--config|kdp-groups-0|kdp-groups-N, kdp-handlers-N, kdp-delay-N
--config|kdp-handlers-0|kdp-groups-N, kdp-handlers-N, kdp-delay-N
--open-files|255|256 to 1048576
--tables|0|1 to 200
--lead|600001|0 to 600000
--moves|201|0 to 200
--run-in|600001|0 to 600000
--memory|3000|such as 3G
--send-cpu|2|0 to 1
--kdp|/nonexistent|an executable file
--stock|/nonexistent|an executable file
--distribution|/nonexistent|an executable file
END
    run "$bench" --builddir "$builddir" --chassis --trace
    [ "$status" -eq 2 ] && said --chassis --trace || return 1
    run "$bench" --builddir "$builddir" --test tunnel
    [ "$status" -eq 2 ] && said --chassis "--test tunnel" || return 1
    run "$bench" --builddir "$builddir" --chassis --test idle
    [ "$status" -eq 2 ] && said "'remote', 'tunnel', 'mixed'" || return 1
    run "$bench" --builddir /nonexistent
    [ "$status" -eq 2 ] && said /nonexistent folder
}

test_traffic_arguments () {
    local args
    for args in --ports=0 --run=256 --count=0 --probe=1 --flood=x extra \
                "--flooded=0-1 --flood=1" --flooded=0 --probe=0-1 \
                "--window=2 --flood=1" --flows=3 --remotes=60001 \
                --lead=5 --stop=99 --stop=1; do
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
    holds '[.runs[].tests[]] | length == 13
           and all(.missed_equals_sent and .sent == .datapath.missed)'
}

test_every_frame_accounted_for () {
    holds '[.runs[].tests | to_entries[] | select(.key != "shown").value]
           | all(.unaccounted == 0 and .duplicates == 0)'
}

test_all_members () {
    holds '.runs | all(.found.mode and .sockets.netlink > 0
                       and .sockets.handlers > 0 and .available)' \
        && holds '[.runs[].tests | del(.shown) | keys] | all(. == ["alone",
                  "each", "flooded", "idle", "trace_flood", "trace_light"])' \
        && holds '[.runs[] | select(.configuration == "kdp-per-port-epoll")
                   | .tests | .idle, .shown] | all(.shown.p99 >= .shown.p50
                                          and .shown.p50 > 0)' \
        && holds '[.runs[].tests[]] | all(.probe.us.p50 > 0
                  and (.probe.percentiles | length) == 101
                  and (.ports | length) == 8 and .cpu_s >= 0)' \
        && holds '[.runs[].tests | .trace_flood, .trace_light]
                  | all(.trace.calls_per_upcall > 0)' \
        && holds '[.runs[] | select(.configuration | startswith("kdp"))
                   | .tests | del(.shown)[]] | all(.upcall_show.received > 0)' \
        && holds '.summary.stock.to_stock.idle_p50_us == 1
                  and (.targets | length) > 8'
}

test_idle_port_is_spared () {
    holds '[.runs[].tests.idle] | all(.ports[0][0] == .probe.sent
           and .ports[1][0] > 0)'
}

# More comes than is served, and all buffers were full: each flooded port has
# lost some.  The lead has no part in what is counted, but in what was
# served meanwhile.
test_floods_are_too_much () {
    holds '[.runs[].tests | .flooded, .idle]
           | all(.lead.sent > 8 * 5400 and .lead.received < .lead.sent
                 and ([.ports[1:][] | .[0] + .[3] > .[1] + .[4]] | all)
                 and ([.ports[][0]] | add) == .sent - .lead.sent
                 and ([.ports[][0]] | add) > 1.05 * ([.ports[][2]] | add))' \
        && holds '[.summary[].median | .flooded_not_full, .idle_not_full]
                  | all(. == 0)' \
        && holds '.targets | map(select(.what | startswith("idle")))
                  | length == 7 and all(.holds != null)'
}

# Remote machines send through the tunnel, each as much as it should; all is
# accounted for, nothing of those that send little is lost, and a flood that is
# no overload is said to be none.
test_chassis () {
    local chassis=$out/chassis.json
    run "$bench" --chassis --quick --icount --builddir "$builddir" \
        --config stock --config kdp-per-port-epoll --output "$chassis" \
        --logs "$out/logs"
    [ "$status" -eq 0 ] && jq -e '[.runs[].tests]
        | length == 2 and all(keys == ["mixed", "remote", "tunnel"])
          and ([.[][]] | all(.missed_equals_sent and .unaccounted == 0
                             and .duplicates == 0 and .sent > 9 * 5400))
          and ([.[].remote] | all([.ports[][0]]
               | .[:3] == [0, 0, 0] and length == 9
                 and .[3] > 1000 * .[4] and (.[4:] | min > 40)))
          and ([.[].tunnel] | all([.ports[][0]]
               | .[:3] == [0, 0, 0] and (.[3:] | max - min < 3)))
          and ([.[].mixed] | all([.ports[][0]] | max - min < 3))' \
        "$chassis" > /dev/null \
        && jq -e '.summary["kdp-per-port-epoll"].median.remote_loss == 0
                  and ([.targets[] | select(.what | test(
                        "^(remote|tunnel|mixed):")).holds]
                       | length == 5 and all(. != null))' \
            "$chassis" > /dev/null \
        && (cd "$tools" && python3 -B -c '
import json, sys
import upcall_report as report
with open(sys.argv[1]) as f:
    results = json.load(f)
assert not report.problems(results)
for run in results["runs"]:
    for port in run["tests"]["tunnel"]["ports"]:
        port[2] = port[0]
results["summary"] = report.summarize(results)
for name in "stock", "kdp-per-port-epoll":
    assert any(p.startswith(name + ", tunnel: ") and "not overloaded" in p
               for p in report.problems(results)), report.problems(results)
assert all(t["holds"] is None for t in report.targets(results)
           if t["what"].startswith("tunnel:"))
' "$chassis") >> "$out/stdout" 2>> "$out/stderr"
}

# Handlers of the stock daemon with dispatch by port sleep in poll(), and with
# the other library in epoll_wait(), which more is waited in then.  The few
# frames are no flood, so the program fails.
test_where_handlers_sleep () {
    run "$bench" --quick --icount --builddir "$builddir" --ports 4 \
        --config stock-per-vport --config stock-epoll-wait --lead 0 \
        --probes 10 --each 1 --flooded-probes 10 --idle-probes 10 \
        --output "$out/sleep.json" --logs "$out/logs"
    jq -e '.runs | map({(.configuration): .}) | add
           | .["stock-epoll-wait"] as $wait | .["stock-per-vport"] as $poll
           | ([$wait, $poll]
              | all(.sockets.handlers == 4
                    and (.found.mode | contains("per-vport"))))
             and $wait.tests.trace_light.trace.by_name.epoll_wait
                 > 1.5 * $poll.tests.trace_light.trace.by_name.epoll_wait
             and $wait.tests.trace_light.trace.by_name.epoll_ctl > 0
             and ($poll.tests.trace_light.trace.by_name
                  | has("epoll_ctl") | not)' "$out/sleep.json" > /dev/null
}

# What is needed to measure it again, and to know what was measured.
test_provenance () {
    local ovs
    ovs=$(sed -n 's/^#define VERSION "\(.*\)"$/\1/p' "$builddir/ovs/src/config.h")
    [ "$ovs" ] || return
    holds '.provenance | (.commit | test("^[0-9a-f]{12}[+]?$"))
           and (.date | test("^20[0-9]{2}-[0-9]{2}-[0-9]{2}$"))
           and .rounds == 1 and (.version | test("^[0-9.]+$"))
           and .command == ("make bench-upcall BENCHFLAGS='"'"'--quick "
               + "--icount --config stock "
               + "--config kdp-per-port-epoll'"'"'")
           and (.daemons | keys) == ["kdp", "stock"]
           and .daemons.kdp.flags == .daemons.stock.flags
           and (.daemons.stock.version | contains("'"$ovs"'"))' \
        && holds '.kernel | test("^[0-9]")'
}

# A configuration is there only if the daemon says that it is the one.  Seven
# ports times three handlers, and one for requests.
test_unavailable () {
    run "$bench" --quick --builddir "$builddir" --sockets-only \
        --kdp /usr/sbin/ovs-vswitchd --config kdp-per-port-epoll \
        --config stock-per-vport --config per-handler \
        --config distribution --ports 5 --handlers 3 \
        --output "$out/other.json" --logs "$out/logs"
    [ "$status" -eq 0 ] \
        && grep -q '^kdp-per-port-epoll: not available' "$out/stdout" \
        && jq -e '(.summary["stock-per-vport"] | .available
                   and (.found.mode | contains("per-vport")))
                  and .summary["per-handler"].median.sockets == 22
                  and (.provenance.daemons.distribution
                       | (.package | startswith("openvswitch-switch"))
                         and (has("flags") | not))' \
              "$out/other.json" > /dev/null
}

# More ports than open files: they share sockets, and nothing of a port without
# much traffic is lost.  The flood is less than is served, so this says nothing
# of how ports fare under one, which the program says and fails.
test_few_open_files () {
    run "$bench" --icount --builddir "$builddir" --ports 4000 \
        --open-files 1024 --memory 4G --config kdp-per-port-epoll \
        --probes 100 --flooded-probes 100 --each 1 --idle-probes 50 --flood 10000 --no-trace \
        --rounds 1 --lead 0 --output "$out/many.json" --logs "$out/logs"
    [ "$status" -eq 1 ] && said "was not overloaded" \
        && jq -e '[.targets[] | select(.what | test("^(idle|flooded)"))]
                  | length > 0 and all(.holds == null)' "$out/many.json" \
            > /dev/null \
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

# Runs the tool publish with the results $2 under name $1.
publish () {
    run "$tools/publish" --into "$out/published.json" "$1" "$2"
}

# Results that a page must not show are refused.
test_publish_refuses () {
    publish upcalls-quick "$results"
    [ "$status" -eq 1 ] && said "1 rounds, expected 3" || return 1
    publish something "$results"
    [ "$status" -eq 2 ] && said something expected upcalls || return 1
    publish upcalls-many "$out/many.json"
    [ "$status" -eq 1 ] && said "was not overloaded" || return 1
    jq '.provenance.rounds = 3 | .provenance.commit = "0123456789ab+"' \
        "$results" > "$out/changed.json"
    publish upcalls-quick "$out/changed.json"
    [ "$status" -eq 1 ] && said 0123456789ab+ || return 1
    jq '.error = "the guest ended"' "$results" > "$out/changed.json"
    publish upcalls-quick "$out/changed.json"
    [ "$status" -eq 1 ] && said "the guest ended" \
        && [ ! -e "$out/published.json" ]
}

# Makes pages of what was published.
make_pages () {
    mkdir -p "$out/pages"
    run "$tools/make-pages" --results "$out/published.json" "$out/pages"
}

# What is published makes tables and plots, but only with a sentence about each
# target that is missed; and is small.
test_pages () {
    jq '.provenance.rounds = 3 | .provenance.commit = "0123456789ab"
        | .targets |= map(.holds = true) | .targets[0].holds = false' \
        "$results" > "$out/fit.json"
    publish upcalls-fit "$out/fit.json"
    [ "$status" -eq 0 ] && said "kdp-per-port-epoll sockets" "is missed" \
        || return 1
    make_pages
    [ "$status" -eq 1 ] && said "no sentence" "kdp-per-port-epoll sockets" \
        || return 1
    jq '.sentences["upcalls-fit"].sockets = "There are many."' \
        "$out/published.json" > "$out/with.json"
    mv "$out/with.json" "$out/published.json"
    make_pages
    [ "$status" -eq 0 ] && grep -q '</svg>' "$out/pages/upcalls-fit-latency.svg" \
        && grep -q '</svg>' "$out/pages/upcalls-fit-load.svg" \
        && grep -q 'idle: p50 ms' "$out/pages/upcalls-fit.inc" \
        && grep -q 'Missed.*There are many' "$out/pages/upcalls-fit.inc" \
        && grep -q '0123456789ab' "$out/pages/upcalls-fit.inc" \
        && grep -q '^    make bench-upcall BENCHFLAGS=' \
            "$out/pages/upcalls-fit.inc" \
        && ! grep -q 'warning::' "$out/pages/upcalls-fit.inc" \
        && [ "$(stat -c %s "$out/published.json")" -lt 20000 ]
}

# The published results are of what there is, small, and explained.
test_published () {
    [ "$(stat -c %s Documentation/performance/results.json)" -lt 100000 ] \
        || return 1
    mkdir -p "$out/published"
    run "$tools/make-pages" "$out/published"
    [ "$status" -eq 0 ] || return 1
    local name
    for name in $(grep -ho '^\(.. include::\|   :file:\|.. figure::\|.. image::\) [^ ]*' \
                      Documentation/performance/*.rst | sed 's/.* //'); do
        [ -s "$out/published/$name" ] || { echo "# no $name"; return 1; }
    done
    # No figure is there that no page shows.
    (cd "$tools" && python3 -B -c '
import bench_results as b, rtnl_page
for name, of in b.load(b.RESULTS)["results"].items():
    if of["benchmark"] == "rtnl":
        for row in of["summary"]:
            assert row == rtnl_page.published_row(row, of["parameters"]), name
') >> "$out/stdout" 2>> "$out/stderr" || return 1
    # The table of the README is of these results.
    cp README.md "$out/published/README.md"
    run "$tools/make-pages" --readme "$out/published/README.md"
    [ "$status" -eq 0 ] && diff README.md "$out/published/README.md"
}

# A page says that it is older than the code by more than a release.
test_old_results () {
    (cd "$tools" && python3 -B -c '
import bench_results as b, pages
known = ["0.3.0", "0.2.0", "0.1.0"]
for measured, current, n in (("0.3.0", "0.3.0", 0), ("0.2.0", "0.3.0", 1),
                             ("0.1.0", "0.3.0", 2), ("0.0.9", "0.3.0", None),
                             ("0.1.0", "0.2.0", 1)):
    since = b.releases_since(measured, known, current)
    assert since == n, (measured, current, since)
    text = pages.age_text({"provenance": {"version": measured}},
                          lambda _: since)
    assert (text is None) == (n in (0, 1)), text
    assert text is None or measured in text and "warning" in text
assert b.version() in b.releases()
') > "$out/stdout" 2> "$out/stderr"
}

test_restart_arguments () {
    local option value text
    while IFS='|' read -r option value text; do
        run "${bench%upcall}restart" --builddir "$builddir" "$option" "$value"
        if [ "$status" -ne 2 ] || ! said "$option" "$value" "$text"; then
            echo "# arguments: $option $value"
            return 1
        fi
    done << END
--ends|TERM,other|TERM, KILL, monitor
--rules|x|normal, openflow, conntrack
--offload|yes|off, on
--flows|0|1 to 5000
--ports|1|2 to 4000
--handlers|0|1 to 256
--left|0|1 to 500000
--left-misses|100001|0 to 100000
--rate|9|10 to 100000
--daemon|other|stock
END
}

# Lost packets are added up by case, ours is to lose none but where the datapath
# is deleted, and what failed is named.
test_restart_report () {
    (cd "$tools" && python3 -B -c '
import restart_report as report
def case(how, first, to, lost):
    return {"how": how, "rules": "normal", "offload": False, "flows": 1,
            "from": first, "to": to, "lost": lost}
def start(daemon, rss_kb, ports=10):
    return {"daemon": daemon, "ports": ports, "handlers": 4, "start_ms": 5,
            "first_upcall_ms": 6, "rss_kb": rss_kb, "threads": 7}
results = {"parameters": {"rate": 1000},
           "runs": [case("TERM", "stock", "stock", 20),
                    case("TERM", "stock", "stock", 30),
                    case("TERM", "kdp", "kdp", 0),
                    case("TERM", "kdp", "stock", 9),
                    case("exit --cleanup", "kdp", "kdp", 500)],
           "starts": [start("stock", 1000), start("kdp", 1100),
                      start("stock", 3000, 99), start("kdp", 3099, 99)],
           "takeovers": [{"left": 5000, "wait": True, "misses": 0,
                          "hold_ms": 12},
                         {"left": 5000, "wait": False, "misses": 20000,
                          "hold_ms": 100, "overruns": 0,
                          "sent_per_s": 19990}],
           "failures": [{"how": "exit", "error": "no end"}]}
def evaluate():
    results["summary"] = report.summarize(results)
    results["targets"] = report.targets(results)
    return [t["holds"] for t in results["targets"]]
assert evaluate() == [True] * 5, results["targets"]
text = report.text(results)
for said in ("25 (20-30)", "kdp to stock", "500", "first upcall, ms",
             "5,000                0                yes                12",
             "5,000           19,990                 no               100"):
    assert said in text, text
assert report.problems(results) == ["how exit error no end"]
results["takeovers"][1].update(hold_ms=101, overruns=1)
assert evaluate() == [True, False, False, True, True], results["targets"]
del results["takeovers"][1]
results["runs"].append(case("TERM", "stock", "kdp", 1))
results["starts"][1]["rss_kb"] = 1200
results["starts"][3]["rss_kb"] = 3200
assert evaluate() == [False, False, False], results["targets"]
del results["starts"][2]
assert evaluate() == [False, False], results["targets"]
results["starts"] = results["starts"][:1]
assert evaluate() == [False], results["targets"]
def live(how, rules, daemon, lost, p99_ms, **more):
    return {**case(how, daemon, daemon, lost), "rules": rules,
            "p99_ms": p99_ms, "restart_ms": 300, **more}
results["starts"] = []
results["runs"] = [live("TERM", "new", "stock", 300, 1),
                   live("TERM", "new", "kdp", 0, 350),
                   live("handover", "new", "kdp", 0, 20, memory=2.2),
                   live("KILL", "zones", "kdp", 0, 0, upcalls_pct=10)]
assert evaluate() == [True] * 7, results["targets"]
text = report.text(results)
for said in ("300", "350", "2.20", "10.0", "zones, KILL: more upcalls"):
    assert said in text, text
results["runs"] = [live("TERM", "new", "kdp", 1, 351),
                   live("handover", "new", "kdp", 1, 21, memory=2.3),
                   live("KILL", "zones", "kdp", 1, 0, upcalls_pct=11)]
assert evaluate() == [False] * 7, results["targets"]
') > "$out/stdout" 2> "$out/stderr"
}

# A short run has all rules with which packets need the daemon, and results of
# several runs make one page.
test_restart () {
    run "${bench%upcall}restart" --builddir "$builddir" --quick --daemon kdp \
        --no-starts --output "$out/restart.json" --logs "$out/restart-logs"
    [ "$status" -eq 0 ] && jq -e '
        (.runs | map(.rules) | sort == ["new", "ovn", "zones"])
        and all(.runs[]; .sent > 0 and .restart_ms > 0)
        and all(.runs[] | select(.rules == "zones"); .upcalls_pct != null)
        and all(.runs[] | select(.how == "handover");
                .memory > 1 and .p99_ms > 0)' "$out/restart.json" \
            > /dev/null || return 1
    jq '.provenance.rounds = 3 | .provenance.commit = "0123456789ab"
        | .runs |= map(.lost = 0 | .memory = 2 | .p99_ms = 1)
        | .targets |= []' "$out/restart.json" > "$out/fit.json"
    run "$tools/publish" --into "$out/restarts.json" restart-fit \
        "$out/fit.json" "$out/fit.json"
    [ "$status" -eq 0 ] && jq -e '.results["restart-fit"]
        | .summary.lost.rows | length == 3' "$out/restarts.json" > /dev/null
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
--grow-devices|vlan|dummy
--rounds|1,2|1 to 100
--daemon|other|stock
--conditions|plain,other|plain, ipv6, qos, routes, bonds
--condition-ports|3|an even number
--condition-delays|x|0 to 1000000
--kdp|/nonexistent|an executable file
END
}

# Checks with jq that expression $1 is true of the results of bench-rtnl.
rtnl_holds () {
    jq -e "$1" "$out/rtnl.json" > /dev/null \
        || { echo "# not so: $1"; return 1; }
}

test_rtnl () {
    run "${bench%upcall}rtnl" --quick --builddir "$builddir" --daemon stock \
        --daemon kdp --output "$out/rtnl.json" --logs "$out/rtnl-logs"
    # One for the statistics of each port every five seconds, and about a
    # hundred for a port that comes again, is what the stock daemon needs; ours
    # needs a handful for a port and none in steady state.
    [ "$status" -eq 0 ] && grep -q '^Targets:' "$out/stdout" \
        && rtnl_holds '(.runs | length == 38)
                  and ([.runs[] | select(.daemon == "stock"
                                         and .condition == "plain")]
                       | (map(select(.test == "steady"))
                          | all(.acquisitions >= 4 and .acquisitions < 100))
                         and (map(select(.test == "each"))
                              | all(.acquisitions > 40 * .ports
                                    and (.requests | add) > 40 * .ports
                                    and .longest_turn_ms > 0)))
                  and ([.runs[] | select(.daemon == "kdp"
                                         and .condition == "plain")]
                       | (map(select(.test == "steady"))
                          | all(.acquisitions == 0))
                         and (map(select(.test != "steady"))
                              | all(.acquisitions > 0
                                    and .acquisitions <= 10 * .changed
                                    and (.requests | add)
                                        <= 30 * .changed)))' \
        || { jq '.summary' "$out/rtnl.json" | sed 's/^/# /'; return 1; }
}

# The conditions are what they say: with routes that change the stock daemon
# takes the lock again and again where it otherwise does not, and the routing
# daemon changes as many as it should; to configure QoS takes the lock for each
# port; IPv6 and bonds are checked in the guest.
test_rtnl_conditions () {
    rtnl_holds '[.runs[].condition] | unique
                == ["bonds", "ipv6", "plain", "qos", "routes"]' \
        && rtnl_holds '[.runs[] | select(.condition == "routes"
                                         and .test == "steady")]
                       | length == 2
                         and all(.route_changes / .seconds > 900
                                 and .route_changes / .seconds < 1100)' \
        && rtnl_holds '[.runs[] | select(.condition == "routes"
                                         and .test == "each")]
                       | all(.route_changes > 0)' \
        && rtnl_holds '[.runs[] | select(.condition != "routes")]
                       | all(has("route_changes") | not)' \
        && rtnl_holds '[.runs[] | select(.daemon == "stock"
                                         and .test == "steady")]
                       | map({(.condition): .acquisitions}) | add
                       | .routes > 10 * .plain' \
        && rtnl_holds '[.runs[] | select(.daemon == "kdp" and .test == "each"
                                         and .delay_us == 1000)]
                       | map({(.condition): .acquisitions}) | add
                       | .qos > .plain' \
        && rtnl_holds '[.targets[] | select(.what | test("^(ipv6|qos|routes|bonds), "))]
                       | length >= 20'
}

# What a daemon did not finish is told, and counts for nothing.
test_rtnl_not_finished () {
    jq '(.runs[] | select(.daemon == "stock" and .test == "all"
                          and .delay_us == 1000)).finished = false' \
        "$out/rtnl.json" > "$out/rtnl-not-finished.json" || return 1
    (cd "$tools" && python3 -B -c '
import json, sys
import rtnl_report as report
results = json.load(sys.stdin)
results["summary"] = report.summarize(results)
results["targets"] = report.targets(results)
results["text"] = report.text(results)
json.dump(results, sys.stdout)
' < "$out/rtnl-not-finished.json" > "$out/rtnl-summary.json") || return 1
    jq -e '(.targets | map(.what) | (any(startswith("each: time"))
                                     and all(startswith("all:") | not)))
           and ([.summary[] | select(.not_finished == 1)] | length == 5)
           and (.text | contains("stock, all, plain, 4 ports, 1000 us: 1 of 1 "
                                 + "rounds not finished"))' \
        "$out/rtnl-summary.json" > /dev/null
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
--tests|paced,fast|paced, burst, masks, chains, pipeline, expire, single
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
--kernel|/nonexistent|expected a file
END
}

# Checks with jq that expression $1 is true of the results of bench-offload.
offload_holds () {
    jq -e "$1" "$out/offload.json" > /dev/null \
        || { echo "# not so: $1"; return 1; }
}

test_offload () {
    run "${bench%upcall}offload" --quick --builddir "$builddir" \
        --daemon stock --daemon kdp --output "$out/offload.json" \
        --logs "$out/offload-logs"
    # Each frame makes a flow, and each flow a rule, as tc itself says; the
    # stock daemon needs the lock for each one in a card, and for none in
    # software, nor does its handler wait for a card without one.
    [ "$status" -eq 0 ] && grep -q '^Targets:' "$out/stdout" \
        && offload_holds '[.runs[] | select(.test | IN("chains", "pipeline") | not)]
                          | length == 42 and all(.available)' \
        && offload_holds '[.runs[] | select(.test | IN("moves", "expire",
                                                       "chains", "pipeline")
                                            | not)]
                          | all(.missed == .sent and .received == .sent
                                and .duplicates == 0 and .us.p50 > 0)' \
        && offload_holds '[.runs[] | select(.mode != "off")
                                   | select(.test | IN("moves", "expire",
                                                       "chains", "pipeline")
                                            | not)]
                          | all(.rules == .sent and .listed == .rules + 64
                                and .in_tc_s > 0)' \
        && offload_holds '[.runs[] | select(.mode == "off"
                                            and .test != "pipeline")]
                          | all(.flows_in_kernel >= .sent
                                and .listed == null)' \
        && offload_holds '[.runs[] | select(.daemon == "stock")]
                          | map(select(.test | IN("paced", "burst")))
                          | (map(select(.mode == "card"))
                             | all(.acquisitions >= .sent))
                            and (map(select(.mode == "software"))
                                 | all(.acquisitions < .sent))'
}

# There is a rule for each frame and for each one that warmed up.  All go when
# flows expire, but not as long as the card says that it forwards their frames,
# which it is asked for.
test_offload_expire () {
    offload_holds '[.runs[] | select(.test == "expire")]
                   | (map(.mode) | sort) == ["card", "card", "slow-card",
                                             "slow-card", "software",
                                             "software"]
                     and all(.rules == (if .mode == "software" then 464
                                        else 264 end)
                             and .deleted == .rules
                             and .expire_s >= 0.4 and .delete_s > 0)
                     and (map(select(.mode != "software"))
                          | all(.kept == .rules and .asked >= .rules))'
}

# The flows of a port have as many masks as was asked for, which tc keeps under
# a priority each.
test_offload_masks () {
    offload_holds '[.runs[] | select(.test == "masks")]
                   | length == 2 and all(.masks_in_tc == 8)'
}

# What the kernel cannot do is left out, and the reason told.
test_offload_chains () {
    offload_holds '[.runs[] | select(.test | IN("chains", "pipeline"))
                            | select(.mode == "software")]
                   | length == 4
                     and all(if .available
                             then .missed == .per_frame * .sent
                                  and .rules >= .per_frame * .sent
                             else .reason | contains("CONFIG_NET_TC_SKB_EXT")
                             end)' \
        && offload_holds '[.runs[] | select(.test == "pipeline"
                                            and .mode == "off")]
                          | length == 2
                            and all(.received == .sent
                                    and .missed == 4 * .sent)' \
        && { offload_holds '[.runs[] | select(.test == "chains")]
                            | all(.available)' > /dev/null \
             || grep -q '^chains, kdp, software: left out' "$out/stdout"; }
}

# There is a target of each mode and delay, of those that are lost, too.
test_offload_targets () {
    offload_holds '[.targets[].what | select(startswith("insertions a second, to stock"))]
                   | length == 5' \
        && offload_holds '[.targets[].what | select(startswith("CPU time for a flow, to stock"))]
                          | length == 7' \
        && offload_holds '[.targets[].what] | any(startswith("deletions"))
                          and any(contains("several masks"))
                          and any(contains("card forwards"))'
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

# Results of the other benchmarks make pages, too.
test_other_pages () {
    local name
    rm -f "$out/published.json"
    for name in rtnl offload; do
        jq '.provenance.rounds = 3 | .provenance.commit = "0123456789ab"
            | .targets |= map(.holds = true)' "$out/$name.json" \
            > "$out/fit.json"
        publish "$name" "$out/fit.json"
        [ "$status" -eq 0 ] || return 1
    done
    for name in lookups:link dumps:dump; do
        jq '.provenance.rounds = 3 | .provenance.commit = "0123456789ab"' \
            "$out/${name#*:}.json" > "$out/fit.json"
        publish "links-${name%:*}" "$out/fit.json"
        [ "$status" -eq 0 ] || return 1
    done
    make_pages
    [ "$status" -eq 0 ] \
        && grep -q '</svg>' "$out/pages/rtnl-time.svg" \
        && grep -q 'RTNL/port' "$out/pages/rtnl.inc" \
        && grep -q "make bench-rtnl BENCHFLAGS='--quick --daemon stock" \
            "$out/pages/rtnl.inc" \
        && grep -q "make bench-offload BENCHFLAGS='--quick" \
            "$out/pages/offload.inc" \
        && grep -q 'commit ``0123456789ab``; Linux' "$out/pages/offload.inc" \
        && grep -q '</svg>' "$out/pages/offload-latency.svg" \
        && grep -q '</svg>' "$out/pages/offload-rules.svg" \
        && grep -q 'rules/s' "$out/pages/offload.inc" \
        && grep -q '</svg>' "$out/pages/links-lookups-lookup.svg" \
        && [ ! -e "$out/pages/links-lookups-dump.svg" ] \
        && grep -q 'Nanoseconds' "$out/pages/links-lookups.inc" \
        && grep -q '</svg>' "$out/pages/links-dumps-dump.svg" \
        && grep -q 'pairs/s' "$out/pages/links-dumps.inc"
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
        --dump --churn --possible-cpus 1,3 --output "$out/dump.json" \
        --logs "$out/link-logs"
    [ "$status" -eq 0 ] && jq -e '
        (.dumps | length == 12 and all(.links == 41 and .ms > 0))
        and (.summary.dumps | map(.possible_cpus) == [1, 3]
             and all(.skip_bytes < .stats_bytes and .skip_ms < .stats_ms))
        and (.churn.equal and (.churn.rounds | length == 1))
        and (.kernel | test("^[0-9]"))' "$out/dump.json" > /dev/null
}

# A benchmark that is ended ends its guest, and has no results.
test_ended () {
    cat > "$out/guest" << 'EOF'
#!/bin/bash
trap 'touch "${0%/*}/guest-ended"; exit 143' TERM
touch "${0%/*}/guest-began"
while :; do sleep 0.1; done
EOF
    chmod +x "$out/guest"
    run timeout 60 python3 -B -c '
import sys, threading, os, time
sys.path.insert(0, sys.argv[1])
import bench_host
bench_host.GUEST = sys.argv[2] + "/guest"

def end():
    while not os.path.exists(sys.argv[2] + "/guest-began"):
        time.sleep(.01)
    os.kill(os.getpid(), 15)

threading.Thread(target=end).start()
results = bench_host.run_guest("bench", "script", {}, sys.argv[2], [])
sys.exit(7 if results is None else 1)' "$tools" "$out"
    [ "$status" -eq 7 ] && [ -e "$out/guest-ended" ] && said "status 143"
}

tests='help wrong_arguments result_files traffic_arguments old_results published quick_run
       every_frame_missed every_frame_accounted_for all_members
       idle_port_is_spared floods_are_too_much chassis where_handlers_sleep
       provenance unavailable few_open_files dead_daemon publish_refuses pages
       restart_arguments restart_report restart rtnl_arguments rtnl rtnl_conditions
       rtnl_not_finished offload_arguments offload offload_delays
       offload_expire offload_masks offload_chains
       offload_targets offload_ours offload_dead_daemon link_arguments ended
       link_lookups link_dumps other_pages'

shift
portion=1/1
if [ "${1-}" = --portion ]; then
    portion=${2-}
    shift 2
fi
. tests/harness/portion.sh
if ! is_portion "$portion"; then
    echo "test-bench.sh: --portion $portion: expected K/N" >&2
    exit 2
fi
# shellcheck disable=SC2086 # Several words.
[ $# -gt 0 ] || set -- $tests
mapfile -t names < <(printf '%s\n' "$@" | portion "$portion")
set -- "${names[@]}"
echo "1..$#"
for name; do
    "test_$name"
    result "bench: ${name//_/ }" $?
done
[ $failures -eq 0 ]
