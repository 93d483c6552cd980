/* SPDX-License-Identifier: Apache-2.0 */

/* Dumps of a datapath with offload: each flow once, wherever it is and
 * goes. */

#include <config.h>
#include "fake/dpif-fake.h"

#include "dpif-netlink/flow-dump.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/thread.h"
#include "random.h"
#include "fake/tc-fake.h"
#include "harness/clock.h"
#include "harness/unit.h"
#include "util.h"

/* Flows that tests use: more than a batch of a dump, and of requests. */
#define N_FLOWS 180

static const struct dpif_flow_dump_types ovs = { .ovs_flows = true };
static const struct dpif_flow_dump_types tc = { .netdev_flows = true };
static const struct dpif_flow_dump_types both = {
    .ovs_flows = true, .netdev_flows = true,
};
static const struct dpif_flow_dump_types neither;

/* What a dump has shown. */
struct seen {
    unsigned int n[N_FLOWS];    /* How often, by number of the flow. */
    unsigned int n_tc;          /* Those said to be in tc, */
    unsigned int n_hw;          /* and in a device. */
    uint64_t n_packets[N_FLOWS];
    long long int used[N_FLOWS];
};

/* Are dumps those of revalidators? */
static bool terse;

static void
note(struct seen *seen, const struct dpif_flow *flow)
{
    uint32_t number = flow->ufid.u32[0];
    struct offload_desc *desc = unit_tc_desc(number, 1, 0);

    unit_check(number < N_FLOWS);
    seen->n[number]++;
    seen->n_packets[number] = flow->stats.n_packets;
    seen->used[number] = flow->stats.used;
    seen->n_tc += !strcmp(flow->attrs.dp_layer, "tc");
    seen->n_hw += flow->attrs.offloaded;
    unit_check(flow->stats.n_bytes == flow->stats.n_packets * 100);
    unit_check(flow->ufid_present);

    /* Still readable, and the flow's. */
    unit_check(flow->mask_len == desc->mask_len);
    unit_check(!memcmp(flow->mask, desc->mask, desc->mask_len));
    unit_check(flow->actions_len == desc->actions_len);
    unit_check(!memcmp(flow->actions, desc->actions, desc->actions_len));
    offload_desc_unref(desc);
}

/* Goes through what one thread gets of 'dump'. */
static void
walk(struct dpif_flow_dump *dump, int max_flows, struct seen *seen)
{
    struct dpif_flow_dump_thread *thread;
    struct dpif_flow flows[64];
    int n;

    thread = kdp_flow_dump_thread_create(dump);
    while ((n = kdp_flow_dump_next(thread, flows, max_flows)) > 0) {
        unit_check(n <= max_flows);
        for (int i = 0; i < n; i++) {
            note(seen, &flows[i]);
        }
    }
    unit_check(!kdp_flow_dump_next(thread, flows, max_flows));
    kdp_flow_dump_thread_destroy(thread);
}

static struct dpif_flow_dump *
start(struct unit_dpif *u, const struct dpif_flow_dump_types *types)
{
    return kdp_flow_dump_create(u->engine, &u->inner, terse, types);
}

static int
setup(void **state)
{
    terse = false;
    return unit_dpif_setup(state);
}

/* Dumps, and returns the error. */
static int
dump(struct unit_dpif *u, const struct dpif_flow_dump_types *types,
     int max_flows, struct seen *seen)
{
    struct dpif_flow_dump *d = start(u, types);

    memset(seen, 0, sizeof *seen);
    walk(d, max_flows, seen);
    return kdp_flow_dump_destroy(d);
}

/* Has each of the flows from 'first' to 'end' - 1, and no other, been shown
 * once? */
static void
check_seen(const struct seen *seen, size_t first, size_t end)
{
    for (size_t i = 0; i < N_FLOWS; i++) {
        unsigned int expected = i >= first && i < end;

        if (seen->n[i] != expected) {
            unit_die("flow %"PRIuSIZE" was shown %u times, expected %u", i,
                     seen->n[i], expected);
        }
    }
}

/* Puts flows from 'first' to 'end' - 1. */
static void
put(struct unit_dpif *u, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        unit_check(!unit_dpif_put(u, unit_tc_desc(i, 1, 0), DPIF_FP_CREATE,
                                  NULL));
    }
}

/* Lets all requests of 'type' to tc fail with 'error'. */
static void
refuse(uint16_t type, int error)
{
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .error = error, .type = type, .n = UINT_MAX,
    };

    unit_tc_plan(&plan);
}

static void
allow(void)
{
    unit_tc_plan(&(struct unit_tc_plan) { .n = 0 });
}

static void
types_select_where_flows_are(void **state)
{
    static const int sizes[] = { 1, 3, 50, 64 };
    struct unit_dpif *u = *state;
    struct seen seen;

    /* The first 100 are in tc, the others in the kernel. */
    put(u, 0, 100);
    unit_dpif_settle(u);
    refuse(RTM_NEWTFILTER, EOPNOTSUPP);
    put(u, 100, N_FLOWS);
    unit_dpif_settle(u);
    assert_int_equal(unit_tc_count(), 100);
    assert_int_equal(unit_dpif_count(u), N_FLOWS - 100);

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        assert_int_equal(dump(u, NULL, sizes[i], &seen), 0);
        check_seen(&seen, 0, N_FLOWS);
        assert_int_equal(seen.n_tc, 100);
        assert_int_equal(dump(u, &both, sizes[i], &seen), 0);
        check_seen(&seen, 0, N_FLOWS);
        assert_int_equal(dump(u, &tc, sizes[i], &seen), 0);
        check_seen(&seen, 0, 100);
        assert_int_equal(seen.n_tc, 100);
        assert_int_equal(dump(u, &ovs, sizes[i], &seen), 0);
        check_seen(&seen, 100, N_FLOWS);
        assert_int_equal(seen.n_tc, 0);
        assert_int_equal(dump(u, &neither, sizes[i], &seen), 0);
        check_seen(&seen, 0, 0);
    }
    allow();
}

static void
statistics_are_those_of_both_sides(void **state)
{
    struct unit_dpif *u = *state;
    struct seen seen;

    put(u, 0, N_FLOWS);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    unit_dpif_settle(u);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    check_seen(&seen, 0, N_FLOWS);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        assert_int_equal(seen.n_packets[i], 2);
    }
}

static void
flows_that_were_there_before_are_shown_once_and_learned(void **state)
{
    struct unit_dpif *u = *state;
    struct seen seen;

    for (uint32_t i = 0; i < N_FLOWS; i++) {
        unit_dpif_add(u, unit_tc_desc(i, 1, 0));
    }
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    check_seen(&seen, 0, N_FLOWS);
    unit_dpif_settle(u);
    assert_int_equal(unit_tc_count(), N_FLOWS);
    assert_int_equal(unit_dpif_count(u), 0);
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    check_seen(&seen, 0, N_FLOWS);
    assert_int_equal(seen.n_tc, N_FLOWS);
}

static void
flows_that_were_there_before_are_shown_once_while_offload_is_off(void **state)
{
    struct unit_dpif *u = *state;
    struct seen seen;

    offload_set_enabled(u->engine->offload, false);
    atomic_store_relaxed(&u->engine->enabled, false);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        unit_dpif_add(u, unit_tc_desc(i, 1, 0));
    }
    assert_int_equal(dump(u, NULL, 1, &seen), 0);
    check_seen(&seen, 0, N_FLOWS);
    assert_int_equal(unit_tc_count(), 0);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        assert_int_equal(unit_dpif_del(u, i, NULL), 0);
    }
}

static void
flows_that_tc_does_not_tell_about_are_shown(void **state)
{
    static const enum unit_tc_fault faults[] = {
        UNIT_TC_UNANSWERED, UNIT_TC_CUT, UNIT_TC_NOT_SENT,
    };
    struct unit_dpif *u = *state;
    struct seen seen;

    put(u, 0, N_FLOWS);
    unit_dpif_settle(u);
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        const struct unit_tc_plan plan = {
            .fault = faults[i], .error = ENOBUFS, .type = RTM_GETTFILTER,
            .n = UINT_MAX,
        };

        unit_tc_plan(&plan);
        assert_int_equal(dump(u, NULL, 50, &seen), 0);
        check_seen(&seen, 0, N_FLOWS);
        allow();
        assert_int_equal(unit_tc_count(), N_FLOWS);
    }
}

static void
flows_whose_rules_vanished_are_shown_and_go_back(void **state)
{
    struct unit_dpif *u = *state;
    struct seen seen;

    put(u, 0, N_FLOWS);
    unit_dpif_settle(u);
    refuse(RTM_NEWTFILTER, EOPNOTSUPP);
    for (uint32_t i = 0; i < N_FLOWS; i += 2) {
        const ovs_u128 ufid = unit_tc_ufid(i);

        assert_true(unit_tc_remove(&ufid));
    }
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    check_seen(&seen, 0, N_FLOWS);
    unit_dpif_settle(u);
    assert_int_equal(unit_dpif_count(u), N_FLOWS / 2);
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    check_seen(&seen, 0, N_FLOWS);
    assert_int_equal(seen.n_tc, N_FLOWS / 2);
    allow();
}

static void
error_of_the_inner_dump_is_that_of_the_dump(void **state)
{
    struct unit_dpif *u = *state;
    struct seen seen;

    refuse(RTM_NEWTFILTER, EOPNOTSUPP);
    put(u, 0, N_FLOWS);
    unit_dpif_settle(u);
    ovs_mutex_lock(&u->mutex);
    u->dump_error = ENOBUFS;
    u->dump_limit = 60;
    ovs_mutex_unlock(&u->mutex);
    assert_int_equal(dump(u, NULL, 50, &seen), ENOBUFS);

    /* The engine knows the rest. */
    check_seen(&seen, 0, N_FLOWS);
    ovs_mutex_lock(&u->mutex);
    u->dump_error = 0;
    ovs_mutex_unlock(&u->mutex);
    allow();
}

static void
rules_in_devices_are_listed_and_shown_once(void **state)
{
    size_t n_messages, n_before, n_after;
    struct unit_dpif *u = *state;
    struct seen seen;

    put(u, 0, N_FLOWS);
    unit_dpif_settle(u);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    unit_tc_set_in_hw(true);

    /* The first time they are asked for by name. */
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    check_seen(&seen, 0, N_FLOWS);
    assert_int_equal(seen.n_hw, N_FLOWS);
    unit_tc_get_load(&n_messages, &n_before);
    for (int max_flows = 1; max_flows <= 64; max_flows += 21) {
        assert_int_equal(dump(u, NULL, max_flows, &seen), 0);
        check_seen(&seen, 0, N_FLOWS);
        assert_int_equal(seen.n_hw, N_FLOWS);
        for (uint32_t i = 0; i < N_FLOWS; i++) {
            assert_int_equal(seen.n_packets[i], 1);
        }
    }
    assert_int_equal(dump(u, &ovs, 50, &seen), 0);
    check_seen(&seen, 0, 0);
    unit_tc_get_load(&n_messages, &n_after);
    assert_int_equal(n_after, n_before);

    /* They leave the devices. */
    unit_tc_set_in_hw(false);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dump(u, NULL, 50, &seen), 0);
        check_seen(&seen, 0, N_FLOWS);
        assert_int_equal(seen.n_hw, 0);
    }
    unit_tc_get_load(&n_messages, &n_after);
    assert_int_equal(n_after, n_before + N_FLOWS);
}

static void
rules_in_devices_that_are_not_listed_are_shown(void **state)
{
    static const unsigned int limits[] = { 0, 1, 60 };
    struct unit_dpif *u = *state;
    struct seen seen;

    put(u, 0, N_FLOWS);
    unit_dpif_settle(u);
    unit_tc_set_in_hw(true);
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    for (size_t i = 0; i < 2 * ARRAY_SIZE(limits); i++) {
        unit_tc_fail_dumps(ENOBUFS, limits[i / 2]);
        terse = i % 2;
        assert_int_equal(dump(u, NULL, 50, &seen), 0);
        check_seen(&seen, 0, N_FLOWS);
    }
    unit_tc_fail_dumps(0, 0);
}

/* Number of requests by name that a dump makes, which has to show all flows
 * with one packet. */
static size_t
n_requests_of_dump(struct unit_dpif *u, struct seen *seen)
{
    size_t n_messages, before, after;

    unit_tc_get_load(&n_messages, &before);
    assert_int_equal(dump(u, NULL, 50, seen), 0);
    unit_tc_get_load(&n_messages, &after);
    check_seen(seen, 0, N_FLOWS);
    assert_int_equal(seen->n_tc, N_FLOWS);
    assert_int_equal(seen->n_hw, 0);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        assert_int_equal(seen->n_packets[i], 1);
    }
    return after - before;
}

static void
revalidators_list_many_rules(void **state)
{
    struct unit_dpif *u = *state;
    struct seen seen, again;
    long long int start;

    put(u, 0, N_FLOWS);
    unit_dpif_settle(u);

    /* No part of a list takes long, however loaded the machine is. */
    start = time_msec();
    unit_clock_stop(start);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    terse = true;
    assert_int_equal(n_requests_of_dump(u, &seen), 0);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        assert_true(seen.used[i] >= start);
    }

    /* What has met no more packets was not used. */
    unit_clock_advance(2);
    assert_int_equal(n_requests_of_dump(u, &again), 0);
    assert_memory_equal(seen.used, again.used, sizeof seen.used);

    /* Others want to know when exactly. */
    terse = false;
    assert_int_equal(n_requests_of_dump(u, &seen), N_FLOWS);

    /* Few are asked for by name. */
    terse = true;
    for (uint32_t i = 99; i < N_FLOWS; i++) {
        assert_int_equal(unit_dpif_del(u, i, NULL), 0);
    }
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    check_seen(&seen, 0, 99);
    unit_clock_run();
}

/* Shows what thread 'd' of a dump gets until 'n' flows or more were shown. */
static void
walk_some(struct dpif_flow_dump_thread *d, unsigned int n, struct seen *seen)
{
    struct dpif_flow flows[10];
    unsigned int shown = 0;
    int batch;

    while (shown < n && (batch = kdp_flow_dump_next(d, flows, 10)) > 0) {
        for (int i = 0; i < batch; i++) {
            note(seen, &flows[i]);
        }
        shown += batch;
    }
}

static void
revalidators_share_the_list_of_a_device(void **state)
{
    struct dpif_flow_dump_thread *threads[2];
    size_t n_messages, before, after;
    struct unit_dpif *u = *state;
    struct dpif_flow_dump *d;
    struct seen seen;

    put(u, 0, N_FLOWS);
    unit_dpif_settle(u);
    unit_clock_stop(time_msec());
    terse = true;
    for (unsigned int n = 0; n <= 3; n++) {
        unit_tc_get_load(&n_messages, &before);
        memset(&seen, 0, sizeof seen);
        d = start(u, NULL);
        for (size_t i = 0; i < 2; i++) {
            threads[i] = kdp_flow_dump_thread_create(d);
        }
        /* The first is in the midst of the list when the second joins. */
        walk_some(threads[0], n * 50, &seen);
        walk_some(threads[1], UINT_MAX, &seen);
        walk_some(threads[0], UINT_MAX, &seen);
        for (size_t i = 0; i < 2; i++) {
            kdp_flow_dump_thread_destroy(threads[i]);
        }
        assert_int_equal(kdp_flow_dump_destroy(d), 0);
        check_seen(&seen, 0, N_FLOWS);
        unit_tc_get_load(&n_messages, &after);
        assert_int_equal(after, before);
        assert_int_equal(unit_tc_n_dumps(), 0);
    }
    unit_clock_run();
}

static void
revalidators_ask_by_name_where_lists_are_slow(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_flow_dump *d;
    struct seen seen;

    put(u, 0, N_FLOWS);
    unit_dpif_settle(u);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    terse = true;
    unit_tc_delay_dumps(KDP_TC_SLOW_DUMP + 1);
    assert_int_equal(n_requests_of_dump(u, &seen), 0);
    unit_tc_delay_dumps(0);
    assert_int_equal(n_requests_of_dump(u, &seen), N_FLOWS);
    assert_int_equal(n_requests_of_dump(u, &seen), N_FLOWS);
    atomic_store_relaxed(&u->engine->tc.dump_after, 0);
    assert_int_equal(n_requests_of_dump(u, &seen), 0);

    /* One that starts meanwhile skips the devices, and reads what they have
     * one by one. */
    d = start(u, NULL);
    kdp_tc_dump_waited(&u->engine->tc, KDP_TC_SLOW_DUMP);
    memset(&seen, 0, sizeof seen);
    walk(d, 50, &seen);
    assert_int_equal(kdp_flow_dump_destroy(d), 0);
    check_seen(&seen, 0, N_FLOWS);
}

static void
revalidators_do_not_ask_for_flows_that_have_just_come(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_flow_dump *d;
    struct seen seen;

    for (int i = 0; i < 2; i++) {
        const size_t n_expected = i ? 0 : N_FLOWS;
        size_t n_messages, before, after;

        /* Flows that have met a packet in the kernel come to tc, and meet one
         * more there, once the dump has started. */
        terse = i;
        offload_set_enabled(u->engine->offload, false);
        put(u, 0, N_FLOWS);
        for (uint32_t j = 0; j < N_FLOWS; j++) {
            assert_true(unit_dpif_packet(u, j, 100));
        }
        d = start(u, &tc);
        offload_set_enabled(u->engine->offload, true);
        assert_int_equal(dump(u, &ovs, 50, &seen), 0);
        unit_dpif_settle(u);
        assert_int_equal(unit_tc_count(), N_FLOWS);
        for (uint32_t j = 0; j < N_FLOWS; j++) {
            assert_true(unit_dpif_packet(u, j, 100));
        }

        unit_tc_get_load(&n_messages, &before);
        memset(&seen, 0, sizeof seen);
        walk(d, 50, &seen);
        unit_tc_get_load(&n_messages, &after);
        assert_int_equal(kdp_flow_dump_destroy(d), 0);
        check_seen(&seen, 0, N_FLOWS);
        assert_int_equal(after - before, n_expected);
        for (uint32_t j = 0; j < N_FLOWS; j++) {
            assert_int_equal(seen.n_packets[j], terse ? 1 : 2);
        }

        /* The next one knows. */
        assert_int_equal(dump(u, NULL, 50, &seen), 0);
        for (uint32_t j = 0; j < N_FLOWS; j++) {
            assert_int_equal(seen.n_packets[j], 2);
            assert_int_equal(unit_dpif_del(u, j, NULL), 0);
        }
    }
}

static void
dump_of_devices_that_is_not_finished_leaves_nothing(void **state)
{
    struct dpif_flow_dump_thread *threads[3];
    struct unit_dpif *u = *state;
    struct dpif_flow flows[5];
    struct dpif_flow_dump *d;
    struct seen seen;

    put(u, 0, N_FLOWS);
    unit_dpif_settle(u);
    unit_tc_set_in_hw(true);
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    d = start(u, &tc);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = kdp_flow_dump_thread_create(d);
        kdp_flow_dump_next(threads[i], flows, ARRAY_SIZE(flows));
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        kdp_flow_dump_thread_destroy(threads[i]);
    }
    assert_int_equal(kdp_flow_dump_destroy(d), 0);
    assert_int_equal(unit_tc_n_dumps(), 0);
}

static void
dump_of_too_many_shows_nothing_and_says_so(void **state)
{
    struct dpif_flow_dump *dumps[OFFLOAD_MAX_DUMPS];
    struct unit_dpif *u = *state;
    struct seen seen;

    put(u, 0, 10);
    for (size_t i = 0; i < OFFLOAD_MAX_DUMPS; i++) {
        dumps[i] = start(u, NULL);
    }
    assert_int_equal(dump(u, NULL, 50, &seen), EBUSY);
    check_seen(&seen, 0, 0);
    for (size_t i = 0; i < OFFLOAD_MAX_DUMPS; i++) {
        memset(&seen, 0, sizeof seen);
        walk(dumps[i], 50, &seen);
        check_seen(&seen, 0, 10);
        assert_int_equal(kdp_flow_dump_destroy(dumps[i]), 0);
    }
    assert_int_equal(dump(u, NULL, 50, &seen), 0);
    check_seen(&seen, 0, 10);
}

static void
dump_that_is_not_finished_leaves_nothing(void **state)
{
    struct dpif_flow_dump_thread *threads[3];
    struct unit_dpif *u = *state;
    struct dpif_flow flows[5];
    struct dpif_flow_dump *d;

    put(u, 0, 100);
    unit_dpif_settle(u);
    refuse(RTM_NEWTFILTER, EOPNOTSUPP);
    put(u, 100, N_FLOWS);
    d = start(u, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = kdp_flow_dump_thread_create(d);
        for (size_t j = 0; j < i * 10; j++) {
            kdp_flow_dump_next(threads[i], flows, ARRAY_SIZE(flows));
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        kdp_flow_dump_thread_destroy(threads[i]);
    }
    assert_int_equal(kdp_flow_dump_destroy(d), 0);
    allow();
}

/* With others. */

#define N_DUMPERS 3
#define N_DUMPS 200

/* Flows that are changed, so that they move, and have to be seen by each dump
 * of all; the others come and go. */
#define N_STABLE 120

struct race {
    struct unit_dpif *u;
    struct dpif_flow_dump *dump;
    int max_flows;
    struct seen seen[N_DUMPERS];
    unsigned int next_dumper;
    struct ovs_mutex mutex;
    atomic_bool stop;
    atomic_count n_changes;
};

static void *
dumper(void *race_)
{
    struct race *race = race_;
    unsigned int i;

    ovs_mutex_lock(&race->mutex);
    i = race->next_dumper++;
    ovs_mutex_unlock(&race->mutex);
    walk(race->dump, race->max_flows, &race->seen[i]);
    return NULL;
}

/* Changes flows, so that they move back and forth. */
static void *
changer(void *race_)
{
    struct race *race = race_;
    bool stop = false;

    while (!stop) {
        uint32_t flow = random_range(N_STABLE);

        unit_check(!unit_dpif_put(race->u, unit_tc_desc(flow, 1, 0),
                                  DPIF_FP_MODIFY, NULL));
        unit_check(unit_dpif_packet(race->u, flow, 100));
        flow = N_STABLE + random_range(N_FLOWS - N_STABLE);
        unit_dpif_put(race->u, unit_tc_desc(flow, 1, 0), DPIF_FP_CREATE, NULL);
        flow = N_STABLE + random_range(N_FLOWS - N_STABLE);
        unit_dpif_del(race->u, flow, NULL);
        atomic_count_inc(&race->n_changes);
        atomic_read_relaxed(&race->stop, &stop);
    }
    return NULL;
}

/* Checks that all dumpers together have seen each of the flows that stay
 * once. */
static void
check_race(const struct race *race)
{
    for (size_t i = 0; i < N_STABLE; i++) {
        unsigned int n = 0;

        for (size_t j = 0; j < N_DUMPERS; j++) {
            n += race->seen[j].n[i];
        }
        if (n != 1) {
            unit_die("flow %"PRIuSIZE" was shown %u times", i, n);
        }
    }
}

static void
several_threads_show_flows_that_move_once(void **state)
{
    struct race race = { .u = *state, .stop = false };
    pthread_t changers[2], dumpers[N_DUMPERS];

    ovs_mutex_init(&race.mutex);
    put(*state, 0, N_STABLE);
    for (size_t i = 0; i < ARRAY_SIZE(changers); i++) {
        changers[i] = ovs_thread_create("changer", changer, &race);
    }
    for (int i = 0; i < N_DUMPS; i++) {
        memset(race.seen, 0, sizeof race.seen);
        race.next_dumper = 0;
        race.max_flows = i % 2 ? 1 : 50;
        unit_tc_set_in_hw(i % 10 >= 5);
        terse = i % 4 >= 2;
        unit_wait_until(atomic_count_get(&race.n_changes) > i * 10u);
        race.dump = start(*state, i % 3 ? NULL : &both);
        for (size_t j = 0; j < N_DUMPERS; j++) {
            dumpers[j] = ovs_thread_create("dumper", dumper, &race);
        }
        for (size_t j = 0; j < N_DUMPERS; j++) {
            xpthread_join(dumpers[j], NULL);
        }
        assert_int_equal(kdp_flow_dump_destroy(race.dump), 0);
        check_race(&race);
    }
    atomic_store_relaxed(&race.stop, true);
    for (size_t i = 0; i < ARRAY_SIZE(changers); i++) {
        xpthread_join(changers[i], NULL);
    }
    ovs_mutex_destroy(&race.mutex);
}

/* Takes flows over that nobody changes, from several threads. */
static void
several_threads_learn_flows_once(void **state)
{
    struct race race = { .u = *state, .max_flows = 50 };
    pthread_t dumpers[N_DUMPERS];
    struct seen seen;

    ovs_mutex_init(&race.mutex);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        unit_dpif_add(*state, unit_tc_desc(i, 1, 0));
    }
    race.dump = start(*state, NULL);
    for (size_t j = 0; j < N_DUMPERS; j++) {
        dumpers[j] = ovs_thread_create("dumper", dumper, &race);
    }
    for (size_t j = 0; j < N_DUMPERS; j++) {
        xpthread_join(dumpers[j], NULL);
    }
    assert_int_equal(kdp_flow_dump_destroy(race.dump), 0);
    check_race(&race);
    assert_int_equal(dump(*state, NULL, 50, &seen), 0);
    check_seen(&seen, 0, N_FLOWS);
    ovs_mutex_destroy(&race.mutex);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup, unit_dpif_teardown)
    const struct CMUnitTest tests[] = {
        TEST(types_select_where_flows_are),
        TEST(statistics_are_those_of_both_sides),
        TEST(flows_that_were_there_before_are_shown_once_and_learned),
        TEST(flows_that_were_there_before_are_shown_once_while_offload_is_off),
        TEST(flows_that_tc_does_not_tell_about_are_shown),
        TEST(flows_whose_rules_vanished_are_shown_and_go_back),
        TEST(error_of_the_inner_dump_is_that_of_the_dump),
        TEST(rules_in_devices_are_listed_and_shown_once),
        TEST(rules_in_devices_that_are_not_listed_are_shown),
        TEST(revalidators_list_many_rules),
        TEST(revalidators_share_the_list_of_a_device),
        TEST(revalidators_ask_by_name_where_lists_are_slow),
        TEST(revalidators_do_not_ask_for_flows_that_have_just_come),
        TEST(dump_of_devices_that_is_not_finished_leaves_nothing),
        TEST(dump_of_too_many_shows_nothing_and_says_so),
        TEST(dump_that_is_not_finished_leaves_nothing),
        TEST(several_threads_show_flows_that_move_once),
        TEST(several_threads_learn_flows_once),
    };

    unit_init(argv[0]);
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("offload-dump", tests, NULL, NULL);
}
