/* SPDX-License-Identifier: Apache-2.0 */

/* Random operations of several threads on a datapath with offload, while tc
 * fails in many ways, offload goes off and on, and others dump (O1, O2, O3).
 *
 * Each user has flows of its own, to which nobody else sends packets, so that
 * it knows at every moment what has to be there and how many packets it has
 * seen.  Only while a port goes and comes back may a packet of it miss: a
 * device that is gone sends none.
 *
 * The seed is printed; KDP_SEED sets it, for the choice of operations, though
 * not for their timing. */

#include <config.h>
#include "fake/dpif-fake.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dpif-netlink/flow-dump.h"
#include "harness/prng.h"
#include "hash.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/thread.h"
#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "util.h"

#define N_PORTS 4
#define N_USERS 3
#define N_FLOWS 40              /* Of each user. */

/* Steps of each user.  The thread sanitizer makes them 20 times slower, and
 * reports two accesses that nothing orders also when they do not meet in time:
 * it takes each pair of operations some times, not often. */
#ifdef __SANITIZE_THREAD__
#define N_STEPS 800
#else
#define N_STEPS 3000
#endif

struct test {
    struct unit_dpif u;
    atomic_bool stop;

    /* How often the port began to go, and was back with all its flows: odd
     * between the two. */
    atomic_uint port_changes[N_PORTS + 1];
};

struct user {
    struct test *test;
    unsigned int id;
    struct {
        bool exists;
        uint64_t n_packets;
    } flows[N_FLOWS];
};

static void
check_count(const struct user *user, uint32_t i,
            const struct dpif_flow_stats *stats)
{
    uint64_t expected = user->flows[i].n_packets;

    if (stats->n_packets != expected || stats->n_bytes != expected * 100) {
        unit_die("flow %u of user %u has %"PRIu64" packets of %"PRIu64" "
                 "bytes, expected %"PRIu64, i, user->id, stats->n_packets,
                 stats->n_bytes, expected);
    }
}

static void
get(struct user *user, uint32_t i, uint32_t flow)
{
    struct dpif_flow found;
    struct ofpbuf buffer;
    int error;

    ofpbuf_init(&buffer, 0);
    error = unit_dpif_get(&user->test->u, flow, &buffer, &found);
    unit_check(error == (user->flows[i].exists ? 0 : ENOENT));
    if (!error) {
        check_count(user, i, &found.stats);
    }
    ofpbuf_uninit(&buffer);
}

static void
put(struct user *user, uint32_t i, uint32_t flow,
    enum dpif_flow_put_flags flags)
{
    bool exists = user->flows[i].exists;
    unsigned int odd = unit_random(8) ? 0 : UNIT_TC_ODD;
    struct dpif_flow_stats stats;
    bool want = unit_random(2);
    int error = unit_dpif_put(&user->test->u,
                              unit_tc_desc(flow, 1 + flow % N_PORTS, odd),
                              flags, want ? &stats : NULL);

    if (exists ? !(flags & DPIF_FP_MODIFY) : !(flags & DPIF_FP_CREATE)) {
        unit_check(error == (exists ? EEXIST : ENOENT));
        return;
    }
    unit_check(!error);
    user->flows[i].exists = true;
    if (want) {
        check_count(user, i, &stats);
    }
}

static void
del(struct user *user, uint32_t i, uint32_t flow)
{
    struct dpif_flow_stats stats;
    int error = unit_dpif_del(&user->test->u, flow, &stats);

    unit_check(error == (user->flows[i].exists ? 0 : ENOENT));
    if (!error) {
        check_count(user, i, &stats);
    }
    user->flows[i].exists = false;
    user->flows[i].n_packets = 0;
}

static unsigned int
n_port_changes(const struct user *user, uint32_t flow)
{
    unsigned int n;

    atomic_read(&user->test->port_changes[1 + flow % N_PORTS], &n);
    return n;
}

static void
send_packets(struct user *user, uint32_t i, uint32_t flow)
{
    unsigned int n = unit_random(4);

    while (n--) {
        unsigned int changes = n_port_changes(user, flow);
        bool met = unit_dpif_packet(&user->test->u, flow, 100);
        bool may_miss = (changes % 2
                         || changes != n_port_changes(user, flow));

        if (met != user->flows[i].exists && (met || !may_miss)) {
            unit_die("packet %s flow %u of user %u", met ? "met" : "missed",
                     i, user->id);
        }
        user->flows[i].n_packets += met;
    }
}

static void *
user_main(void *user_)
{
    struct user *user = user_;

    unit_random_stream(user->id);
    for (unsigned int step = 0; step < N_STEPS; step++) {
        uint32_t i = unit_random(N_FLOWS);
        uint32_t flow = user->id * N_FLOWS + i;

        switch (unit_random(8)) {
        case 0:
            put(user, i, flow, DPIF_FP_MODIFY);
            break;
        case 1:
            put(user, i, flow, DPIF_FP_CREATE | DPIF_FP_MODIFY);
            break;
        case 2:
        case 3:
            put(user, i, flow, DPIF_FP_CREATE);
            break;
        case 4:
            del(user, i, flow);
            break;
        case 5:
            get(user, i, flow);
            break;
        default:
            send_packets(user, i, flow);
            break;
        }
    }
    return NULL;
}

/* Others. */

static bool
stopped(struct test *test)
{
    bool stop;

    atomic_read_relaxed(&test->stop, &stop);
    return stop;
}

/* Goes through all flows.  Those that come and go may be shown or not. */
static void *
dumper_main(void *test_)
{
    struct test *test = test_;

    unit_random_stream(N_USERS);
    while (!stopped(test)) {
        struct dpif_flow_dump_thread *thread;
        struct dpif_flow_dump *dump;
        struct dpif_flow flows[50];
        int n;

        dump = kdp_flow_dump_create(&test->u.dp, test->u.engine,
                                    &test->u.inner, unit_random(2), true,
                                    false, NULL);
        thread = kdp_flow_dump_thread_create(dump);
        while ((n = kdp_flow_dump_next(thread, flows, 50)) > 0) {
            for (int i = 0; i < n; i++) {
                unit_check(flows[i].ufid.u32[0] < N_USERS * N_FLOWS);
            }
        }
        kdp_flow_dump_thread_destroy(thread);
        unit_check(!kdp_flow_dump_destroy(dump));
    }
    return NULL;
}

/* What may go wrong without anything being lost for good. */
static const struct unit_tc_plan plans[] = {
    { UNIT_TC_REFUSED, ENOSPC, RTM_NEWTFILTER, 0, 2 },
    { UNIT_TC_REFUSED, EBUSY, RTM_NEWTFILTER, 0, 2 },
    { UNIT_TC_REFUSED, EEXIST, RTM_NEWTFILTER, 0, 2 },
    { UNIT_TC_NOT_SENT, ENOBUFS, RTM_NEWTFILTER, 0, 1 },
    { UNIT_TC_NOT_SENT, EMFILE, RTM_DELTFILTER, 0, 1 },
    { UNIT_TC_REPEATED, 0, RTM_NEWTFILTER, 0, 5 },
    { UNIT_TC_REPEATED, 0, RTM_GETTFILTER, 0, 5 },
    { UNIT_TC_REFUSED, 0, RTM_GETTFILTER, 0, 0 },
};

static void *
saboteur_main(void *test_)
{
    struct test *test = test_;

    unit_random_stream(N_USERS + 1);
    while (!stopped(test)) {
        unit_tc_plan(&plans[unit_random(ARRAY_SIZE(plans))]);
        switch (unit_random(20)) {
        case 0:
            offload_set_enabled(test->u.engine->offload, false);
            offload_set_enabled(test->u.engine->offload, true);
            break;
        case 1:
            offload_port_changed(test->u.engine->offload,
                                 1 + unit_random(N_PORTS));
            break;
        case 2: {
            uint32_t port = 1 + unit_random(N_PORTS);
            unsigned int orig;

            atomic_add(&test->port_changes[port], 1, &orig);
            offload_port_del(test->u.engine->offload, port);
            offload_port_add(test->u.engine->offload, port);
            /* The thread of the port asks those of the flows to put these into
             * the kernel. */
            offload_barrier(test->u.engine->offload);
            offload_barrier(test->u.engine->offload);
            atomic_add(&test->port_changes[port], 1, &orig);
            break;
        }
        default:
            offload_barrier(test->u.engine->offload);
            break;
        }
    }
    unit_tc_plan(&plans[ARRAY_SIZE(plans) - 1]);
    return NULL;
}

static void
users_see_what_they_did(void **state OVS_UNUSED)
{
    struct test *test = xzalloc(sizeof *test);
    struct user *users = xcalloc(N_USERS, sizeof *users);
    pthread_t threads[N_USERS], dumper, saboteur;
    size_t n_messages, n_requests;

    unit_dpif_init(&test->u, N_PORTS);
    atomic_init(&test->stop, false);
    for (size_t i = 0; i <= N_PORTS; i++) {
        atomic_init(&test->port_changes[i], 0);
    }
    dumper = ovs_thread_create("dumper", dumper_main, test);
    saboteur = ovs_thread_create("saboteur", saboteur_main, test);
    for (unsigned int i = 0; i < N_USERS; i++) {
        users[i].test = test;
        users[i].id = i;
        threads[i] = ovs_thread_create("user", user_main, &users[i]);
    }
    for (size_t i = 0; i < N_USERS; i++) {
        xpthread_join(threads[i], NULL);
    }
    atomic_store_relaxed(&test->stop, true);
    xpthread_join(dumper, NULL);
    xpthread_join(saboteur, NULL);

    /* Tc had its part in it. */
    unit_tc_get_load(&n_messages, &n_requests);
    assert_true(n_requests > N_FLOWS);

    /* What is left is right, too, and goes. */
    for (unsigned int i = 0; i < N_USERS; i++) {
        for (uint32_t j = 0; j < N_FLOWS; j++) {
            get(&users[i], j, i * N_FLOWS + j);
            if (j % 2) {
                del(&users[i], j, i * N_FLOWS + j);
            }
        }
    }
    unit_dpif_uninit(&test->u);
    free(users);
    free(test);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_see_what_they_did),
    };

    unit_init(argv[0]);
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("offload-dpif-random", tests, NULL,
                                       NULL);
}
