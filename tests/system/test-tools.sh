# SPDX-License-Identifier: Apache-2.0
#
# What programs read of a live daemon.

# Keeps what the daemon shows in folder $1.
keep_shown() {
    local name
    mkdir "$1"
    for name in upcall vport-table link-table offload; do
        ovs-appctl "$name/show" --format json >"$1/$name-show"
    done
    ovs-appctl kdp/doctor --format json >"$1/kdp-doctor"
}

# Checks that a scrape, $1, has each metric that alerts and the dashboard ask for.
scrape_is_complete() {
    local name
    while read -r name; do
        # A flow that tc does not take is none of this test.
        test "$name" != ovs_kdp_offload_not_in_tc_total || continue
        [[ $1 == *$'\n'"$name"[{\ ]* ]] || fail "$name is not in: $1"
    done < <(grep -ohE 'ovs_kdp_[a-z_]+' "$here"/../../utilities/prometheus/*.* |
        sort -u)
}

add_test tools 'what a live daemon shows is as described, and tools read it' \
    kdp one-cpu 150
tools() {
    local file files=() metrics
    allow_log 'upcall-max-sockets is "1"'
    start_ovs
    ovs-vsctl add-br br0
    connect br0 n1 10.0.0.1/24
    connect br0 n2 10.0.0.2/24
    ping_works n1 10.0.0.2
    keep_shown before
    matches "$(ovs-appctl kdp/doctor)" 'nothing was found to be wrong'
    ovs-vsctl set Open_vSwitch . other_config:hw-offload=true \
        other_config:upcall-max-sockets=1
    ping_works n1 10.0.0.2
    keep_shown after
    matches "$(ovs-appctl kdp/doctor)" \
        'setting-wrong: other_config:upcall-max-sockets is "1"'

    # Programs start slowly here: one for everything.
    for file in before/* after/*; do
        files+=("${file#*/}" "$file")
    done
    "$here/../unit/utilities/schemas.py" "${files[@]}"
    metrics=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here/../../utilities \
        /usr/bin/python3 -m ovs_kdp.exporter --timeout "$PATIENCE" --once)
    matches "$metrics" 'ovs_kdp_up 1.0'
    scrape_is_complete "$metrics"
    matches "$metrics" \
        'ovs_kdp_upcalls_received_total\{[^}]*port="v-n1"\} [1-9]'
    matches "$metrics" 'ovs_kdp_offload_enabled\{[^}]*\} 1.0'
    matches "$metrics" 'ovs_kdp_link_namespaces\{state="current"\} [1-9]'
}
