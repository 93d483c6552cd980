# SPDX-License-Identifier: Apache-2.0
#
# Random operations on flows in tc.

RANDOM_NS=(left right third)

# Does one random operation.
random_operation() {
    local i=$((RANDOM % 3)) n=$((RANDOM % 30 + 1)) ns choices rule
    ns=${RANDOM_NS[i]}
    case $((RANDOM % 12)) in
    0 | 1 | 2 | 3)
        send_frames "$ns" -n $n -s $((RANDOM % 4 + 1))
        ;;
    4 | 5)
        choices=(output:1 output:2 output:3 "output:1,2,3" drop
                 "mod_vlan_vid:7,output:2"
                 "mod_dl_src:02:00:00:00:00:99,output:3"
                 "output(port=3,max_len=100)" "controller,output:1")
        n=$((RANDOM % ${#choices[@]}))
        ovs-ofctl add-flow br0 \
            "priority=10,in_port=$((i + 1)),actions=${choices[n]}"
        ;;
    6)
        ovs-vsctl del-port "v-$ns"
        check_no_rules "v-$ns"
        send_frames left -n 3
        ovs-vsctl add-port br0 "v-$ns" -- \
            set Interface "v-$ns" ofport_request=$((i + 1))
        ;;
    7)
        set_offload false
        check_no_rules v-left v-right v-third
        send_frames "$ns" -n $n
        set_offload true
        ;;
    8)
        set_other_config n-offload-threads $((RANDOM % 10 + 1))
        ;;
    9)
        rule=$(tc filter show dev "v-$ns" ingress | awk -v n=$n '
            / flower .* handle / { rule[m++] = "prio " $5 " handle " $NF }
            END { if (m) { print rule[n % m], "flower" } }')
        # It may be gone by now.
        # shellcheck disable=SC2086
        test -z "$rule" || tc filter del dev "v-$ns" ingress $rule || :
        ;;
    10)
        tc filter del dev "v-$ns" ingress || :
        ;;
    11)
        start_sender "flood$n" "$ns" -n $((n * 10)) -s 5
        set_other_config offload-delay $((RANDOM % 2 * 500))
        wait_background "flood$n"
        ;;
    esac
}

add_test offload_random \
    'random operations leave tc and the daemon agreed (O3, O6)' kdp 600
offload_random() {
    local i round seed=${KDP_SEED:-$((SRANDOM % 32768))}
    ports_go_under_traffic
    # That is what Open vSwitch says of a port that is not there.
    allow_log 'output_trunc does not support patch port 3'
    note "seed $seed: KDP_SEED=$seed repeats it"
    RANDOM=$seed
    start_with_offload
    ovs-vsctl add-br br0
    for i in 0 1 2; do
        connect br0 "${RANDOM_NS[i]}" '' -- \
            set Interface "v-${RANDOM_NS[i]}" ofport_request=$((i + 1))
    done
    ovs-ofctl del-flows br0
    every_frame_an_upcall br0 1 2
    for ((round = 0; round < ${KDP_RANDOM_ROUNDS:-10}; round++)); do
        for ((i = 0; i < 6; i++)); do
            random_operation
        done
        set_other_config offload-delay 0
        # What rules were removed of is noticed when it is read.
        check_tc_agrees br0 v-left v-right v-third
        # Traffic goes where it should.
        ovs-ofctl add-flow br0 \
            'priority=30,in_port=1,dl_src=02:00:00:00:00:00,actions=output:2'
        ovs-appctl revalidator/wait
        ovs-appctl revalidator/wait
        wait_until $PATIENCE offload_is_settled
        start_receiver received right
        send_frames left --same -n 20
        wait_background received || {
            keep_state v-left v-right v-third
            fail "frames are missing: $(cat received)"
        }
        ovs-ofctl --strict del-flows br0 \
            'priority=30,in_port=1,dl_src=02:00:00:00:00:00'
    done
    equal "$(offload_json .total.leaked)" 0 'rules leaked'
    equal "$(offload_json .total.lost)" 0 'flows lost'
}
