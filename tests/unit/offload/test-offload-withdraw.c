/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine: flows that are taken out of tc all together, because
 * their port goes, because offload is turned off, or by a flush.
 *
 *   O1  disabling_leaves_no_flow_nowhere
 *   O2  flow_of_a_dying_port_tells_what_it_counted
 *   O5  rules_of_a_dying_port_are_deleted_without_a_move,
 *       rule_that_nobody_knows_goes_with_its_port,
 *       flush_is_not_undone_by_old_rules,
 *       disabling_is_not_undone_by_old_rules,
 *       port_that_goes_at_once_leaves_no_old_rule
 *   O8  rules_of_old_chains_do_not_become_flows,
 *       rules_of_old_chains_stay_as_long_as_they_are_kept
 *   O7  nobody_waits_for_tc, port_without_flows_costs_tc_nothing,
 *       flows_are_visited_once_for_all_ports_that_go */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>

#include "harness/unit.h"
#include "harness/wait.h"
#include "hash.h"
#include "netlink.h"
#include "offload/offload-engine.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

/* Operations on one side, by type. */
struct load {
    unsigned int kernel[OFFLOAD_COPY_GET + 1];
    unsigned int tc[OFFLOAD_COPY_GET + 1];
};

/* With the lock of the fake. */
static int
count_operation(void *load_, bool tc, const struct offload_copy_op *op)
{
    struct load *load = load_;

    (tc ? load->tc : load->kernel)[op->type]++;
    return 0;
}

/* Visits of all flows because ports went, and these ports. */
static atomic_uint n_visits, n_withdrawn;

void __real_offload_withdraw_ports(struct offload *,
                                   struct offload_control *const messages[],
                                   size_t n);
void __wrap_offload_withdraw_ports(struct offload *,
                                   struct offload_control *const messages[],
                                   size_t n);

void
__wrap_offload_withdraw_ports(struct offload *offload,
                              struct offload_control *const messages[],
                              size_t n)
{
    unsigned int orig;

    atomic_add(&n_visits, 1, &orig);
    atomic_add(&n_withdrawn, n, &orig);
    __real_offload_withdraw_ports(offload, messages, n);
}

/* A port goes and another one gets its number while the number of threads
 * changes, so that another thread sees to the new port, and is first. */
static void
late_news_of_a_port_do_not_concern_the_next_one(void **state OVS_UNUSED)
{
    const ovs_u128 held = unit_ufid(1);
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;
    uint32_t port;

    unit_offload_init(&unit, &config, 20);
    for (port = 1; hash_int(port, 0) % 2 != 1; port++) {
        continue;
    }
    unit_put(&unit, unit_desc(2, port), CREATE);
    offload_barrier(unit.offload);

    /* The only thread waits for tc. */
    offload_fake_hold_flow(unit.fake, &held);
    unit_put(&unit, unit_desc(1, port + 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    offload_port_del(unit.offload, port);
    config.n_threads = 2;
    offload_configure(unit.offload, &config);
    offload_port_add(unit.offload, port);
    unit_put(&unit, unit_desc(3, port), CREATE);
    unit_wait_until((unit_dump_lax(&unit, NULL, 0),
                     unit_where(&unit, 3) == TC));
    offload_fake_hold_flow(unit.fake, NULL);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_where(&unit, 3), TC);

    /* The flow of the old port went with it, and is back. */
    unit_dump_lax(&unit, NULL, 0);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 2), TC);
    unit_offload_uninit(&unit);
}

/* Tc does nothing at all meanwhile.  A call that waited for it would never
 * return. */
static void
nobody_waits_for_tc(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;

    config.n_threads = 3;
    unit_offload_init(&unit, &config, 4);
    for (uint32_t i = 0; i < 40; i++) {
        unit_put(&unit, unit_desc(i, 1 + i % 4), CREATE);
    }
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 40);
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(100, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    offload_port_del(unit.offload, 1);
    offload_port_add(unit.offload, 1);
    offload_port_del(unit.offload, 2);
    offload_set_enabled(unit.offload, false);
    offload_set_enabled(unit.offload, true);
    assert_int_equal(offload_flush(unit.offload), 0);
    offload_set_enabled(unit.offload, false);
    offload_fake_release(unit.fake);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);
    assert_int_equal(offload_fake_count(unit.fake, false), 0);
    unit_offload_uninit(&unit);
}

/* The kernel copies are gone when the flush returns, the rules are not. */
static void
flush_counts_flows_that_only_tc_still_has(void **state OVS_UNUSED)
{
    struct offload_engine_info info;
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    for (uint32_t i = 1; i <= 3; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    offload_barrier(unit.offload);
    assert_int_equal(offload_n_tc_only(unit.offload), 3);

    /* Two in tc alone, one in both, one in the kernel. */
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(1, 1), OFFLOAD_PUT_MODIFY);
    offload_fake_wait_held(unit.fake, 1);
    unit_put(&unit, unit_desc(4, 7), CREATE);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    assert_int_equal(unit_where(&unit, 4), KERNEL);
    assert_int_equal(offload_n_tc_only(unit.offload), 2);

    assert_int_equal(offload_flush(unit.offload), 0);
    assert_int_equal(offload_fake_count(unit.fake, false), 0);
    assert_int_equal(offload_fake_count(unit.fake, true), 3);
    assert_int_equal(offload_n_tc_only(unit.offload), 3);
    offload_get_info(unit.offload, &info);
    for (size_t i = 0; i < OFFLOAD_N_STATES; i++) {
        assert_int_equal(info.n_flows[i],
                         i == OFFLOAD_STATE_DELETING ? 3 : 0);
    }
    offload_fake_release(unit.fake);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);
    assert_int_equal(offload_n_tc_only(unit.offload), 0);
    unit_offload_uninit(&unit);
}

static void
port_without_flows_costs_tc_nothing(void **state OVS_UNUSED)
{
    struct load load = { .kernel = { 0 } };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 2);
    for (uint32_t i = 0; i < 100; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    unit_settle(&unit);
    offload_fake_set_fail(unit.fake, count_operation, &load);
    offload_port_del(unit.offload, 2);
    unit_settle(&unit);
    for (size_t i = 0; i <= OFFLOAD_COPY_GET; i++) {
        assert_int_equal(load.kernel[i] + load.tc[i], 0);
    }
    unit_offload_uninit(&unit);
}

static void
rules_of_a_dying_port_are_deleted_without_a_move(void **state OVS_UNUSED)
{
    struct load load = { .kernel = { 0 } };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 2);
    for (uint32_t i = 0; i < 200; i++) {
        unit_put(&unit, unit_desc(i, 1 + i % 2), CREATE);
    }
    unit_put(&unit, unit_desc_full(300, 1, 0, 55, 0), CREATE);
    unit_put(&unit, unit_desc_full(301, 1, 55, 0, 0), CREATE);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 301), TC | KERNEL);
    offload_fake_set_fail(unit.fake, count_operation, &load);
    offload_port_del(unit.offload, 1);
    unit_settle(&unit);
    for (uint32_t i = 0; i < 200; i++) {
        assert_int_equal(unit_where(&unit, i), i % 2 ? TC : 0);
    }
    assert_int_equal(unit_where(&unit, 301), KERNEL);
    assert_int_equal(load.tc[OFFLOAD_COPY_DEL], 102);
    assert_int_equal(load.kernel[OFFLOAD_COPY_PUT], 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LOST), 0);
    assert_int_equal(unit_reason(&unit, 0), OFFLOAD_REASON_NO_PORT);

    /* Each is shown until the user deletes it. */
    assert_int_equal(unit_dump(&unit, NULL, 0), 202);
    unit_offload_uninit(&unit);
}

/* Puts flows 1, to port 2, and 2, to port 3, into tc. */
static void
init_with_outputs(struct unit_offload *unit)
{
    unit_offload_init(unit, NULL, 3);
    unit_put(unit, unit_desc_to(1, 1, 0, 2, false), CREATE);
    unit_put(unit, unit_desc_to(2, 1, 0, 3, false), CREATE);
    unit_settle(unit);
    assert_int_equal(unit_where(unit, 1), TC);
    assert_int_equal(unit_where(unit, 2), TC);
}

/* The rule names the device that the port had. */
static void
flow_to_a_port_that_is_replaced_gets_another_rule(void **state OVS_UNUSED)
{
    struct load load = { .kernel = { 0 } };
    struct unit_offload unit;
    uint64_t n;

    init_with_outputs(&unit);
    unit_packets(&unit, 1, 3);
    offload_fake_set_fail(unit.fake, count_operation, &load);
    offload_port_del(unit.offload, 2);
    offload_port_add(unit.offload, 2);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_where(&unit, 2), TC);
    unit_packets(&unit, 1, 4);
    unit_dump(&unit, NULL, 0);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(load.tc[OFFLOAD_COPY_DEL], 1);
    assert_int_equal(load.tc[OFFLOAD_COPY_PUT], 1);
    assert_int_equal(unit_get(&unit, 1, &n, NULL), 0);
    assert_int_equal(n, 7);
    unit_offload_uninit(&unit);
}

/* Its rule sends to the port, and its actions do not any more, or the other
 * way round.  The port belongs to another thread than the flow. */
static void
flow_that_changes_leaves_tc_with_either_port(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    uint32_t port = 2;

    config.n_threads = 2;
    while (hash_int(port, 0) % 2 != 1) {
        port++;
    }
    for (int i = 0; i < 2; i++) {
        struct unit_offload unit;

        unit_offload_init(&unit, &config, port + 2);
        unit_put(&unit, unit_desc_to(1, 1, 0, port + i, false), CREATE);
        unit_settle(&unit);
        assert_int_equal(unit_where(&unit, 1), TC);
        offload_fake_hold(unit.fake);
        unit_put(&unit, unit_desc_to(1, 1, 0, port + !i, false), MODIFY);
        offload_fake_wait_held(unit.fake, 1);
        offload_port_del(unit.offload, port);
        unit_wait_until(unit_reason(&unit, 1) == OFFLOAD_REASON_NO_PORT);
        offload_fake_release(unit.fake);
        unit_settle(&unit);
        assert_int_equal(unit_where(&unit, 1), KERNEL);
        unit_offload_uninit(&unit);
    }
}

static void
flow_on_its_way_to_tc_returns_when_its_output_goes(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 2);
    offload_fake_hold_returns(unit.fake);
    unit_put(&unit, unit_desc_to(1, 1, 0, 2, false), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    offload_port_del(unit.offload, 2);
    offload_fake_release(unit.fake);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    unit_offload_uninit(&unit);
}

/* There may be very many flows.  Ports 2 to 'N_PORTS' - 1 go while the only
 * thread waits for tc, port 2 comes again, and port 3 comes and goes. */
static void
flows_are_visited_once_for_all_ports_that_go(void **state OVS_UNUSED)
{
    enum { N_PORTS = 40 };
    const ovs_u128 held = unit_ufid(1000);
    struct load load = { .kernel = { 0 } };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, N_PORTS);
    for (uint32_t i = 2; i <= N_PORTS; i++) {
        unit_put(&unit, unit_desc_to(i, 1, 0, i, false), CREATE);
        unit_put(&unit, unit_desc_to(100 + i, i, 0, i % 2 ? 2 : 1, false),
                 CREATE);
    }
    unit_settle(&unit);
    offload_fake_hold_flow(unit.fake, &held);
    unit_put(&unit, unit_desc(1000, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);

    atomic_store(&n_visits, 0);
    atomic_store(&n_withdrawn, 0);
    offload_fake_set_fail(unit.fake, count_operation, &load);
    for (uint32_t i = 2; i < N_PORTS; i++) {
        offload_port_del(unit.offload, i);
        if (i == 2) {
            offload_port_add(unit.offload, 2);
        }
    }
    offload_port_add(unit.offload, 3);
    unit_put(&unit, unit_desc_to(4, 1, 0, 4, true), MODIFY);
    offload_port_del(unit.offload, 3);
    offload_fake_hold_flow(unit.fake, NULL);
    unit_settle(&unit);
    offload_fake_set_fail(unit.fake, NULL, NULL);

    assert_int_equal(n_visits, 1);
    assert_int_equal(n_withdrawn, N_PORTS - 1);
    for (uint32_t i = 2; i <= N_PORTS; i++) {
        assert_int_equal(unit_where(&unit, i), (i < N_PORTS ? KERNEL
                                                : TC));
        assert_int_equal(unit_where(&unit, 100 + i), (i == 2 ? KERNEL
                                                      : i < N_PORTS ? 0 : TC));
    }

    /* The flows to the ports, and that of port 2, which is there again. */
    assert_int_equal(load.kernel[OFFLOAD_COPY_PUT], N_PORTS - 2 + 1);

    /* Another removal is news. */
    offload_port_del(unit.offload, N_PORTS);
    unit_settle(&unit);
    assert_int_equal(n_visits, 2);
    assert_int_equal(unit_where(&unit, N_PORTS), KERNEL);
    assert_int_equal(unit_where(&unit, 100 + N_PORTS), 0);
    unit_offload_uninit(&unit);
}

static void
flow_of_a_dying_port_tells_what_it_counted(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_put(&unit, unit_desc(2, 1), CREATE);
    unit_packets(&unit, 1, 2);
    unit_settle(&unit);
    unit_packets(&unit, 1, 3);
    offload_fake_hold(unit.fake);
    offload_port_del(unit.offload, 1);
    offload_fake_wait_held(unit.fake, 1);
    unit_packets(&unit, 1, 4);
    assert_int_equal(unit_get(&unit, 1, &n, NULL), 0);
    assert_int_equal(n, 9);
    offload_fake_release(unit.fake);
    unit_settle(&unit);
    assert_int_equal(unit_get(&unit, 1, &n, NULL), 0);
    assert_int_equal(n, 9);
    assert_int_equal(unit_del(&unit, 1, &n), 0);
    assert_int_equal(n, 9);

    /* The user may change it, too: it is one of the kernel then. */
    assert_int_equal(unit_put(&unit, unit_desc(2, 1), MODIFY), 0);
    assert_int_equal(unit_where(&unit, 2), KERNEL);
    unit_offload_uninit(&unit);
}

/* Whatever the thread has done by then. */
static void
flow_comes_back_with_its_port(void **state OVS_UNUSED)
{
    for (int i = 0; i < 2; i++) {
        bool at_once = i;
        struct unit_offload unit;
        uint64_t n;

        unit_offload_init(&unit, NULL, 1);
        unit_put(&unit, unit_desc(1, 1), CREATE);
        unit_put(&unit, unit_desc_full(2, 1, 55, 0, 0), CREATE);
        unit_settle(&unit);
        unit_packets(&unit, 1, 3);
        if (at_once) {
            offload_fake_hold(unit.fake);
        }
        offload_port_del(unit.offload, 1);
        if (!at_once) {
            unit_settle(&unit);
            assert_int_equal(unit_where(&unit, 1), 0);
        }
        offload_port_add(unit.offload, 1);
        offload_fake_release(unit.fake);
        unit_settle(&unit);
        assert_int_equal(unit_where(&unit, 1), KERNEL);
        assert_int_equal(unit_where(&unit, 2), KERNEL);
        unit_packets(&unit, 1, 4);
        unit_dump(&unit, NULL, 0);
        unit_settle(&unit);
        assert_int_equal(unit_where(&unit, 1), TC);
        assert_int_equal(unit_get(&unit, 1, &n, NULL), 0);
        assert_int_equal(n, 7);
        unit_offload_uninit(&unit);
    }
}

static void
rule_that_nobody_knows_goes_with_its_port(void **state OVS_UNUSED)
{
    struct offload_desc *desc = unit_desc(7, 1);
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 2);
    unit_put(&unit, unit_desc(8, 2), CREATE);
    unit_settle(&unit);
    offload_fake_add(unit.fake, true, desc);
    offload_port_del(unit.offload, 1);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 1);
    assert_int_equal(unit_where(&unit, 8), TC);

    /* The same when offload is turned off. */
    offload_port_add(unit.offload, 1);
    unit_settle(&unit);
    offload_fake_add(unit.fake, true, desc);
    offload_set_enabled(unit.offload, false);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);
    offload_desc_unref(desc);
    unit_offload_uninit(&unit);
}

/* A packet at any time finds its flow. */
struct sender {
    struct unit_offload *unit;
    atomic_bool stop;
    unsigned int n_lost;
};

static void *
sender_main(void *sender_)
{
    struct sender *sender = sender_;
    bool stop;

    do {
        for (uint32_t i = 0; i < 50; i++) {
            sender->n_lost += !unit_packets(sender->unit, i, 1);
        }
        atomic_read_relaxed(&sender->stop, &stop);
    } while (!stop);
    return NULL;
}

static void
disabling_leaves_no_flow_nowhere(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct sender sender = { .unit = &unit };
    pthread_t thread;

    unit_offload_init(&unit, NULL, 4);
    for (uint32_t i = 0; i < 50; i++) {
        unit_put(&unit, unit_desc(i, 1 + i % 4), CREATE);
    }
    unit_settle(&unit);
    atomic_init(&sender.stop, false);
    thread = ovs_thread_create("sender", sender_main, &sender);
    for (int i = 0; i < 20; i++) {
        offload_set_enabled(unit.offload, false);
        if (i % 2) {
            unit_settle(&unit);
            assert_int_equal(offload_fake_count(unit.fake, true), 0);
        }
        offload_set_enabled(unit.offload, true);
        unit_dump(&unit, NULL, 0);
    }
    unit_settle(&unit);
    atomic_store_relaxed(&sender.stop, true);
    xpthread_join(thread, NULL);
    assert_int_equal(sender.n_lost, 0);
    unit_offload_uninit(&unit);
}

static struct offload_stripe *
stripe_of(struct unit_offload *unit, uint32_t flow)
{
    const ovs_u128 ufid = unit_ufid(flow);

    return offload_stripe(unit->offload, &ufid);
}

/* The thread has begun to move all flows back when offload is turned on again.
 * A flow that is put after that goes to tc all the same.  The thread stops at
 * the lock of a stripe between those of the two flows. */
static void
flow_that_is_put_when_offload_is_on_again_goes_to_tc(void **state OVS_UNUSED)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    uint32_t first = 0, last = 0, between = 0;
    struct offload_stripe *stripe;
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    for (uint32_t i = 1; i < 100; i++) {
        stripe = stripe_of(&unit, i);
        first = stripe < stripe_of(&unit, first) ? i : first;
        last = stripe > stripe_of(&unit, last) ? i : last;
    }
    do {
        stripe = stripe_of(&unit, between++);
    } while (stripe <= stripe_of(&unit, first)
             || stripe >= stripe_of(&unit, last));

    unit_put(&unit, unit_desc(first, 1), CREATE);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, first), TC);
    ovs_mutex_lock(&stripe->mutex);
    offload_set_enabled(unit.offload, false);
    unit_wait_until(unit_state(&unit, first) == OFFLOAD_STATE_MOVING_BACK);
    offload_set_enabled(unit.offload, true);
    unit_put(&unit, unit_desc(last, 1), CREATE);
    ovs_mutex_unlock(&stripe->mutex);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, first), KERNEL);
    assert_int_equal(unit_where(&unit, last), TC);
    unit_offload_uninit(&unit);
}

/* Rules of a previous run are being looked at when something else happens. */
static void
begin_with_old_rules(struct unit_offload *unit)
{
    static const struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_kernel kernel;
    struct offload_backend backend;

    unit->fake = offload_fake_create();
    kernel = offload_fake_kernel(unit->fake);
    backend = offload_fake_backend(unit->fake);
    for (uint32_t i = 1; i <= 10; i++) {
        struct offload_desc *desc = unit_desc(i, 2);

        offload_fake_add(unit->fake, true, desc);
        offload_desc_unref(desc);
    }
    unit->offload = offload_create(&kernel, &backend, &config);
    offload_port_add(unit->offload, 1);
    unit_settle(unit);

    /* The thread is at something else. */
    offload_fake_hold(unit->fake);
    unit_put(unit, unit_desc(100, 1), CREATE);
    offload_fake_wait_held(unit->fake, 1);
    offload_port_add(unit->offload, 2);
}

static void
end_without_rules(struct unit_offload *unit)
{
    offload_fake_release(unit->fake);
    unit_settle(unit);
    assert_int_equal(unit_counter(unit, OFFLOAD_ADOPTED), 0);
    assert_int_equal(unit_counter(unit, OFFLOAD_STALE), 10);
    for (uint32_t i = 1; i <= 10; i++) {
        assert_int_equal(unit_where(unit, i), 0);
    }
    unit_offload_uninit(unit);
}

static void
flush_is_not_undone_by_old_rules(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    begin_with_old_rules(&unit);
    assert_int_equal(offload_flush(unit.offload), 0);
    end_without_rules(&unit);
}

static void
disabling_is_not_undone_by_old_rules(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    begin_with_old_rules(&unit);
    offload_set_enabled(unit.offload, false);
    end_without_rules(&unit);
}

static void
port_that_goes_at_once_leaves_no_old_rule(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    begin_with_old_rules(&unit);
    offload_port_del(unit.offload, 2);
    end_without_rules(&unit);
}

/* Makes '*unit' an engine without ports, where a previous run has left three
 * rules of chains and another one. */
static void
init_with_old_chains(struct unit_offload *unit)
{
    static const struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_desc *descs[] = {
        unit_desc_full(1, 1, 55, 0, 0), unit_desc_full(2, 1, 0, 55, 0),
        unit_desc_full(3, 1, 55, 56, 0), unit_desc(4, 1),
    };
    struct offload_backend backend;
    struct offload_kernel kernel;

    unit->fake = offload_fake_create();
    kernel = offload_fake_kernel(unit->fake);
    backend = offload_fake_backend(unit->fake);
    for (size_t i = 0; i < ARRAY_SIZE(descs); i++) {
        offload_fake_add(unit->fake, true, descs[i]);
        offload_desc_unref(descs[i]);
    }
    unit->offload = offload_create(&kernel, &backend, &config);
}

/* The numbers of chains mean something to one run only. */
static void
rules_of_old_chains_do_not_become_flows(void **state OVS_UNUSED)
{
    struct load load = { .kernel = { 0 } };
    struct unit_offload unit;

    init_with_old_chains(&unit);
    offload_fake_set_fail(unit.fake, count_operation, &load);
    offload_port_add(unit.offload, 1);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 1);
    assert_int_equal(unit_where(&unit, 4), TC);
    assert_int_equal(load.kernel[OFFLOAD_COPY_PUT], 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ADOPTED), 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_STALE), 3);
    unit_offload_uninit(&unit);
}

static void
rules_of_old_chains_stay_as_long_as_they_are_kept(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    init_with_old_chains(&unit);
    offload_keep_chains(unit.offload, true);
    offload_port_add(unit.offload, 1);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 4);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ADOPTED), 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_STALE), 0);

    /* What its owner has not deleted is deleted. */
    offload_keep_chains(unit.offload, false);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 1);
    assert_int_equal(unit_where(&unit, 4), TC);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ADOPTED), 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_STALE), 3);
    unit_offload_uninit(&unit);
}

/* Rules that nobody can translate, such as one with a meter of the previous
 * run, serve their packets until a handler can. */
static void
rules_that_cannot_be_translated_stay_as_long_as_chains(
    void **state OVS_UNUSED)
{
    static const struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    const struct offload_desc proto = {
        .ufid = unit_ufid(1), .in_port = 1, .is_partial = true,
    };
    struct offload_desc *desc = offload_desc_create(&proto);

    for (int keep = 0; keep < 2; keep++) {
        struct offload_kernel kernel;
        struct offload_backend backend;
        struct unit_offload unit;

        unit.fake = offload_fake_create();
        kernel = offload_fake_kernel(unit.fake);
        backend = offload_fake_backend(unit.fake);
        offload_fake_add(unit.fake, true, desc);
        unit.offload = offload_create(&kernel, &backend, &config);
        offload_keep_chains(unit.offload, keep);
        offload_port_add(unit.offload, 1);
        unit_settle(&unit);
        assert_int_equal(offload_fake_count(unit.fake, true), keep);
        assert_int_equal(unit_counter(&unit, OFFLOAD_STALE), !keep);
        offload_keep_chains(unit.offload, false);
        unit_settle(&unit);
        assert_int_equal(offload_fake_count(unit.fake, true), 0);
        assert_int_equal(unit_counter(&unit, OFFLOAD_ADOPTED), 0);
        assert_int_equal(unit_counter(&unit, OFFLOAD_STALE), 1);
        unit_offload_uninit(&unit);
    }
    offload_desc_unref(desc);
}

static void
port_had_rules_if_one_forwards_or_none_is_known(void **state OVS_UNUSED)
{
    static const struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    const struct nlattr action = { .nla_len = sizeof action };
    const struct offload_desc protos[] = {
        { .ufid = unit_ufid(1), .in_port = 1,
          .actions = &action, .actions_len = sizeof action },
        { .ufid = unit_ufid(2), .in_port = 2 },         /* Drops. */
        { .ufid = unit_ufid(4), .in_port = 4, .is_partial = true },
    };
    static const bool had[] = { false, true, false, false, true };
    struct offload_kernel kernel;
    struct offload_backend backend;
    struct offload_ports ports;
    struct unit_offload unit;
    uint64_t id;

    unit.fake = offload_fake_create();
    kernel = offload_fake_kernel(unit.fake);
    backend = offload_fake_backend(unit.fake);
    for (size_t i = 0; i < ARRAY_SIZE(protos); i++) {
        struct offload_desc *desc = offload_desc_create(&protos[i]);

        offload_fake_add(unit.fake, true, desc);
        offload_desc_unref(desc);
    }
    unit.offload = offload_create(&kernel, &backend, &config);
    offload_keep_chains(unit.offload, true);
    for (uint32_t port = 1; port < ARRAY_SIZE(had); port++) {
        assert_false(offload_port_had_rules(unit.offload, port));
        offload_port_add(unit.offload, port);
    }
    unit_settle(&unit);
    for (uint32_t port = 0; port < ARRAY_SIZE(had); port++) {
        assert_int_equal(offload_port_had_rules(unit.offload, port),
                         had[port]);
    }
    offload_keep_chains(unit.offload, false);
    unit_settle(&unit);
    unit_offload_uninit(&unit);

    offload_ports_init(&ports);
    id = offload_ports_add(&ports, 1, NULL);
    assert_true(offload_ports_had_rules(&ports, 1));
    offload_ports_set_ready(&ports, 1, id);
    assert_false(offload_ports_had_rules(&ports, 1));
    /* The message may concern an earlier port. */
    offload_ports_set_had_rules(&ports, 1, id + 1);
    assert_false(offload_ports_had_rules(&ports, 1));
    offload_ports_set_had_rules(&ports, 1, id);
    assert_true(offload_ports_had_rules(&ports, 1));
    offload_ports_destroy(&ports);
}

/* Nobody ends it then, so they go with the port. */
static void
kept_rules_go_with_their_port(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    init_with_old_chains(&unit);
    offload_keep_chains(unit.offload, true);
    offload_port_add(unit.offload, 1);
    unit_settle(&unit);
    offload_port_del(unit.offload, 1);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);
    offload_keep_chains(unit.offload, false);
    unit_offload_uninit(&unit);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_news_of_a_port_do_not_concern_the_next_one),
        cmocka_unit_test(nobody_waits_for_tc),
        cmocka_unit_test(flush_counts_flows_that_only_tc_still_has),
        cmocka_unit_test(port_without_flows_costs_tc_nothing),
        cmocka_unit_test(rules_of_a_dying_port_are_deleted_without_a_move),
        cmocka_unit_test(flow_to_a_port_that_is_replaced_gets_another_rule),
        cmocka_unit_test(flow_that_changes_leaves_tc_with_either_port),
        cmocka_unit_test(flow_on_its_way_to_tc_returns_when_its_output_goes),
        cmocka_unit_test(flows_are_visited_once_for_all_ports_that_go),
        cmocka_unit_test(flow_of_a_dying_port_tells_what_it_counted),
        cmocka_unit_test(flow_comes_back_with_its_port),
        cmocka_unit_test(rule_that_nobody_knows_goes_with_its_port),
        cmocka_unit_test(disabling_leaves_no_flow_nowhere),
        cmocka_unit_test(flow_that_is_put_when_offload_is_on_again_goes_to_tc),
        cmocka_unit_test(flush_is_not_undone_by_old_rules),
        cmocka_unit_test(disabling_is_not_undone_by_old_rules),
        cmocka_unit_test(port_that_goes_at_once_leaves_no_old_rule),
        cmocka_unit_test(rules_of_old_chains_do_not_become_flows),
        cmocka_unit_test(rules_of_old_chains_stay_as_long_as_they_are_kept),
        cmocka_unit_test(
            rules_that_cannot_be_translated_stay_as_long_as_chains),
        cmocka_unit_test(port_had_rules_if_one_forwards_or_none_is_known),
        cmocka_unit_test(kept_rules_go_with_their_port),
    };

    unit_init(argv[0]);
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-withdraw", tests, NULL, NULL);
}
