/* SPDX-License-Identifier: Apache-2.0 */

/* Flows of a previous run stay until they can be translated again (R1), which
 * is at once (R2), those that must not stay go before (R3), and recirculation
 * chains stay until nothing leads to them (R5). */

#include <config.h>
#include "dpif-netlink/takeover.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dpif-netlink/flow-chains.h"
#include "dpif-netlink/flow-operate.h"
#include "dpif-netlink/upcall-dest.h"
#include "fake/dpif-fake.h"
#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "openvswitch/ofpbuf.h"
#include "timeval.h"
#include "upcall/upcall-msg.h"

static struct unit_dpif *current;
static size_t n_barriers, n_log_at_barrier;

/* What the barrier ends with, and packet sockets that stand for it: how many
 * were opened, and whether there are any. */
static int barrier_error;
static size_t n_packet_sockets;
static int packet_socket_error;

/* A gate at the barrier, which holds the thread that comes there. */
enum { GATE_OPEN, GATE_CLOSED, GATE_REACHED };
static atomic_int barrier_gate = ATOMIC_VAR_INIT(GATE_OPEN);

static int
gate(void)
{
    int value;

    atomic_read(&barrier_gate, &value);
    return value;
}

/* Rules in tc that there are of old chains, and whether they stay. */
static size_t n_rules, n_log_at_rules;
static bool keeps_rules;
static pthread_t main_thread;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Notes how often the kernel is asked to wait, and how much had been asked of
 * the datapath by then.  It waits for nothing here. */
long
__wrap_syscall(long number, ...)
{
    va_list args;
    long values[6];

    va_start(args, number);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        values[i] = va_arg(args, long);
    }
    va_end(args);
    if (number == SYS_membarrier) {
        assert_int_equal(values[0], MEMBARRIER_CMD_GLOBAL);
        n_barriers++;
        n_log_at_barrier = current->n_log;
        if (gate() == GATE_CLOSED) {
            atomic_store(&barrier_gate, GATE_REACHED);
            while (gate() == GATE_REACHED) {
                unit_sleep_us(100);
            }
        }
        errno = barrier_error;
        return barrier_error ? -1 : 0;
    }
    return __real_syscall(number, values[0], values[1], values[2], values[3],
                          values[4], values[5]);
}

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);

int
__wrap_socket(int domain, int type, int protocol)
{
    if (domain != AF_PACKET) {
        return __real_socket(domain, type, protocol);
    }
    /* It is to see no packet. */
    assert_int_equal(protocol, 0);
    n_packet_sockets++;
    errno = packet_socket_error;
    return packet_socket_error ? -1 : __real_socket(AF_UNIX, SOCK_STREAM, 0);
}

void __wrap_kdp_flow_offload_keep_old(struct kdp_datapath *);
size_t __wrap_kdp_flow_offload_delete_old_chains(struct kdp_datapath *);
void __wrap_kdp_flow_offload_end_old(struct kdp_datapath *);

void
__wrap_kdp_flow_offload_keep_old(struct kdp_datapath *dp OVS_UNUSED)
{
    keeps_rules = true;
}

size_t
__wrap_kdp_flow_offload_delete_old_chains(struct kdp_datapath *dp OVS_UNUSED)
{
    /* The main thread waits for no list of rules. */
    assert_false(pthread_equal(pthread_self(), main_thread));
    assert_true(keeps_rules);
    n_log_at_rules = current->n_log;
    return n_rules;
}

void
__wrap_kdp_flow_offload_end_old(struct kdp_datapath *dp OVS_UNUSED)
{
    assert_true(keeps_rules);
    keeps_rules = false;
}

/* What Open vSwitch and the table of channels were told of ids. */
static uint32_t first_recirc_id, first_id_of_upcalls;

static void
set_first_recirc_id(uint32_t first)
{
    first_recirc_id = first;
}

void __wrap_upcall_table_set_first_recirc_id(struct upcall_table *,
                                             uint32_t first);

void
__wrap_upcall_table_set_first_recirc_id(struct upcall_table *table OVS_UNUSED,
                                        uint32_t first)
{
    first_id_of_upcalls = first;
}

static int
setup(void **state)
{
    struct unit_dpif *u;

    unit_dpif_setup(state);
    u = *state;
    current = u;
    n_barriers = n_packet_sockets = n_rules = 0;
    barrier_error = packet_socket_error = 0;
    keeps_rules = false;
    first_recirc_id = first_id_of_upcalls = 0;
    takeover_set_recirc_cb(set_first_recirc_id);
    takeover_create(&u->dp);
    unit_clock_stop(1000000);
    return 0;
}

static int
teardown(void **state)
{
    struct unit_dpif *u = *state;

    unit_clock_run();
    takeover_destroy(&u->dp);
    assert_int_equal(offload_flush(u->engine->offload), 0);
    return unit_dpif_teardown(state);
}

/* Leaves flow 'flow', which has met 'n' packets, in the kernel. */
static void
leave(struct unit_dpif *u, uint32_t flow, uint32_t port, unsigned int flags,
      unsigned int n)
{
    unit_dpif_add(u, unit_tc_desc(flow, port, flags));
    while (n--) {
        assert_true(unit_dpif_packet(u, flow, 100));
    }
}

/* Packets that the kernel has counted of 'flow'. */
static uint64_t
n_packets(struct unit_dpif *u, uint32_t flow)
{
    struct dpif_flow out;
    uint64_t stub[256];
    struct ofpbuf buffer;

    ofpbuf_use_stub(&buffer, stub, sizeof stub);
    assert_int_equal(unit_dpif_get(u, flow, &buffer, &out), 0);
    ofpbuf_uninit(&buffer);
    return out.stats.n_packets;
}

/* One turn of the main loop.  Returns true if flows are to be revalidated. */
static bool
run(struct unit_dpif *u)
{
    takeover_run(&u->dp, true);
    return takeover_revalidate(&u->dp);
}

/* Turns of the main loop until the takeover ends, after upcalls were turned
 * on.  A thread does the work. */
static void
settle(struct unit_dpif *u)
{
    for (int i = 1; i < UPCALL_DEST_HOLD_TURNS; i++) {
        assert_false(run(u));
        assert_true(takeover_hides_flows(&u->dp));
    }
    unit_wait_until(run(u));
    assert_false(takeover_hides_flows(&u->dp));
}

static void
flows_are_kept_and_hidden_until_they_can_be_translated(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, 0, 0);
    assert_false(takeover_refuses_flush(&u->dp));
    assert_false(takeover_hides_flows(&u->dp));

    /* While it waits for rules to be restored, there is no limit. */
    takeover_begin(&u->dp);
    for (int i = 0; i < 10; i++) {
        assert_false(run(u));
        assert_true(takeover_refuses_flush(&u->dp));
        assert_true(takeover_hides_flows(&u->dp));
    }

    takeover_upcalls_on(&u->dp);
    assert_true(takeover_refuses_flush(&u->dp));
    settle(u);
    assert_true(unit_dpif_has(u, 1));
}

static void
later_flush_is_carried_out(void **state)
{
    struct unit_dpif *u = *state;

    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_false(takeover_refuses_flush(&u->dp));
    assert_false(takeover_hides_flows(&u->dp));

    /* Upcalls are turned off and on again by others than a start. */
    takeover_upcalls_on(&u->dp);
    assert_false(takeover_refuses_flush(&u->dp));
}

static void
bridge_that_is_made_again_takes_over_again(void **state)
{
    struct unit_dpif *u = *state;

    takeover_begin(&u->dp);
    takeover_cancel(&u->dp);
    assert_false(takeover_refuses_flush(&u->dp));
    assert_false(takeover_hides_flows(&u->dp));
    assert_false(run(u));

    takeover_begin(&u->dp);
    assert_true(takeover_hides_flows(&u->dp));
    takeover_upcalls_on(&u->dp);
    settle(u);
}

static void
stale_flows_go_before_upcalls_roots_first(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, UNIT_TC_OF_CHAIN, 0);
    leave(u, 2, 1, UNIT_TC_TO_CHAIN, 0);
    leave(u, 3, 1, UNIT_TC_OF_CHAIN, 0);
    leave(u, 4, 1, 0, 1);
    u->n_log = 0;
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);

    assert_int_equal(unit_dpif_count(u), 1);
    assert_true(unit_dpif_has(u, 4));
    assert_int_equal(u->n_log, 4);
    assert_int_equal(u->log[0].type, DPIF_OP_FLOW_PUT);
    assert_int_equal(u->log[1].type, DPIF_OP_FLOW_DEL);
    assert_int_equal(u->log[1].flow, unit_tc_ufid(2).u32[0]);
}

/* Else an upcall of a packet that met one of them may come later. */
static void
packets_that_met_a_flow_that_went_are_waited_for(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    leave(u, 2, 1, UNIT_TC_OF_CHAIN, 0);
    u->n_log = 0;
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(n_barriers, 1);
    assert_int_equal(n_log_at_barrier, u->n_log);
    assert_int_equal(u->n_log, 2);
}

/* They forward as long as the flows. */
static void
rules_of_chains_go_with_the_flows_and_are_waited_for(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, 0, 0);
    n_rules = 1;
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    for (int i = 1; i < UPCALL_DEST_HOLD_TURNS; i++) {
        assert_false(run(u));
        assert_true(keeps_rules);
    }
    unit_wait_until(run(u));
    assert_false(keeps_rules);
    assert_int_equal(n_log_at_rules, u->n_log);
    assert_int_equal(n_barriers, 1);
}

/* As where CPUs have no tick. */
static void
where_the_kernel_has_no_barrier_a_packet_socket_is_closed(void **state)
{
    struct unit_dpif *u = *state;

    barrier_error = EINVAL;
    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(n_barriers, 1);
    assert_int_equal(n_packet_sockets, 1);
    assert_false(takeover_hides_flows(&u->dp));

    /* Without either it goes on, too. */
    packet_socket_error = EPERM;
    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(n_packet_sockets, 2);
    assert_false(takeover_hides_flows(&u->dp));
}

static void
nothing_is_waited_for_if_no_flow_goes(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, 0, 0);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(n_barriers, 0);
}

static void
flows_of_numbers_given_anew_go(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, 0, 0);               /* To port 1, as all are. */
    leave(u, 2, 2, 0, 0);
    takeover_begin(&u->dp);
    takeover_port_added(&u->dp, 2);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_true(unit_dpif_has(u, 1));
    assert_false(unit_dpif_has(u, 2));
}

static void
statistics_begin_anew(void **state)
{
    struct unit_dpif *u = *state;

    for (uint32_t i = 0; i < 200; i++) {
        leave(u, i, 1, 0, i % 5);
    }
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(unit_dpif_count(u), 200);
    for (uint32_t i = 0; i < 200; i++) {
        assert_int_equal(n_packets(u, i), 0);
    }
}

static void
flows_that_have_counted_nothing_are_not_changed(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, 0, 0);
    leave(u, 2, 1, 0, 1);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(u->n_log, 1);
    assert_int_equal(u->log[0].type, DPIF_OP_FLOW_PUT);
    assert_int_equal(u->log[0].flow, 2);
}

static void
flows_are_revalidated_again_soon(void **state)
{
    struct unit_dpif *u = *state;
    unsigned int n = 0;

    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_false(run(u));
    for (int i = 0; i < 10000; i++) {
        unit_clock_advance(1);
        n += run(u);
        assert_true(n || i < 100);
    }
    assert_int_equal(n, 3);
}

/* The kernel takes its time: no request gets through to it while the test
 * holds the mutex. */
static void
main_thread_does_not_wait_for_the_kernel(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    leave(u, 2, 1, 0, 3);
    ovs_mutex_lock(&u->mutex);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    for (int i = 0; i < 10; i++) {
        assert_false(run(u));
        assert_true(takeover_hides_flows(&u->dp));
    }
    ovs_mutex_unlock(&u->mutex);
    unit_wait_until(run(u));
    assert_false(unit_dpif_has(u, 1));
    assert_int_equal(n_packets(u, 2), 0);
}

static void
log_says_how_long_upcalls_were_held(void **state)
{
    struct unit_dpif *u = *state;
    char log[1024] = "";
    int fd = unit_log_open();

    leave(u, 1, 1, 0, 0);
    ovs_mutex_lock(&u->mutex);
    takeover_begin(&u->dp);
    unit_clock_advance(1000);
    takeover_upcalls_on(&u->dp);
    unit_clock_advance(30);
    ovs_mutex_unlock(&u->mutex);
    unit_wait_until(run(u));
    assert_true(pread(fd, log, sizeof log - 1, 0) > 0);
    if (!strstr(log, "unit: 1 flows of a previous run are translated again, "
                "0 were deleted; upcalls were held for them for 30 ms\n")) {
        fail_msg("%s", log);
    }
    close(fd);
}

static void
flows_of_a_number_that_is_given_while_others_are_deleted_go(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    leave(u, 2, 2, 0, 0);
    leave(u, 3, 1, 0, 0);
    atomic_store(&barrier_gate, GATE_CLOSED);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    unit_wait_until((takeover_run(&u->dp, true), gate() == GATE_REACHED));
    takeover_port_added(&u->dp, 2);
    atomic_store(&barrier_gate, GATE_OPEN);
    unit_wait_until(run(u));
    assert_false(unit_dpif_has(u, 1));
    assert_false(unit_dpif_has(u, 2));
    assert_true(unit_dpif_has(u, 3));
}

/* The bridge goes at once. */
static void
takeover_that_is_cancelled_deletes_nothing(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    for (uint32_t i = 2; i < 500; i++) {
        leave(u, i, 1, 0, 0);
    }
    for (int i = 0; i < 20; i++) {
        takeover_begin(&u->dp);
        if (i % 2) {
            takeover_upcalls_on(&u->dp);
            assert_false(run(u));
        }
        takeover_cancel(&u->dp);
        assert_false(takeover_hides_flows(&u->dp));
    }
    assert_int_equal(unit_dpif_count(u), 499);
}

/* As while the database is away. */
static void
takeover_ends_without_bridges_and_they_are_told_later(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    leave(u, 2, 1, 0, 0);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    unit_wait_until((takeover_run(&u->dp, false),
                     !takeover_hides_flows(&u->dp)));
    assert_false(unit_dpif_has(u, 1));
    unit_clock_advance(10000);
    takeover_run(&u->dp, false);
    assert_true(run(u));
}

/* R5, O8: recirculation chains. */

/* Leaves a root, number 1, its chain, number 2, and another flow, number 3. */
static void
leave_chain(struct unit_dpif *u, uint32_t id)
{
    unit_tc_chain = id;
    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 2);
    leave(u, 2, 1, UNIT_TC_OF_CHAIN, 2);
    unit_tc_chain = 1;
    leave(u, 3, 1, 0, 0);
}

/* Says that a revalidator has changed flow 'flow'. */
static void
change(struct unit_dpif *u, uint32_t flow)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_PUT,
        .flow_put = { .flags = DPIF_FP_MODIFY, .ufid = &ufid },
    };
    struct dpif_op *ops = &op;

    takeover_operated(&u->dp, &ops, 1, true);
}

/* Turns of the main loop until the chains are forgotten, which revalidators
 * have to see. */
static void
wait_for_end_of_chains(struct unit_dpif *u)
{
    unit_wait_until((takeover_run(&u->dp, true), !unit_dpif_has(u, 2)));
    for (int i = 0; i < 10; i++) {
        takeover_run(&u->dp, true);
        assert_non_null(kdp_datapath_chains(&u->dp));
    }
    unit_wait_until((takeover_dump_begins(&u->dp), takeover_run(&u->dp, true),
                     !kdp_datapath_chains(&u->dp)));
}

static void
chains_go_when_nothing_leads_to_them(void **state)
{
    const ovs_u128 chain = unit_tc_ufid(2);
    struct unit_dpif *u = *state;

    leave_chain(u, 2000);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(first_recirc_id, 2001);
    assert_int_equal(first_id_of_upcalls, 2001);
    assert_int_equal(unit_dpif_count(u), 3);
    assert_int_equal(n_barriers, 0);
    assert_int_equal(n_packets(u, 1), 0);
    assert_true(flow_chains_has(kdp_datapath_chains(&u->dp), &chain));
    for (int i = 0; i < 10; i++) {
        run(u);
    }
    assert_int_equal(unit_dpif_count(u), 3);

    /* Other flows do not matter. */
    change(u, 3);
    run(u);
    assert_int_equal(flow_chains_n_roots(kdp_datapath_chains(&u->dp)), 1);
    u->n_log = 0;
    change(u, 1);
    wait_for_end_of_chains(u);
    assert_true(unit_dpif_has(u, 1));
    assert_false(unit_dpif_has(u, 2));
    assert_true(unit_dpif_has(u, 3));

    /* Packets that met the root before are not on their way any more. */
    assert_int_equal(n_barriers, 1);
    assert_int_equal(n_log_at_barrier, 0);
    assert_int_equal(u->n_log, 1);
}

static void
roots_that_nobody_changes_go_with_the_chains(void **state)
{
    struct unit_dpif *u = *state;

    leave_chain(u, 2000);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    unit_clock_advance(59999);
    for (int i = 0; i < 10; i++) {
        run(u);
    }
    assert_int_equal(unit_dpif_count(u), 3);
    u->n_log = 0;
    unit_clock_advance(1);
    wait_for_end_of_chains(u);
    assert_int_equal(unit_dpif_count(u), 1);
    assert_true(unit_dpif_has(u, 3));
    assert_int_equal(u->n_log, 2);
    assert_int_equal(u->log[0].flow, unit_tc_ufid(1).u32[0]);
    assert_int_equal(n_log_at_barrier, 1);
}

static void
chains_go_before_upcalls_while_bridges_do_not_run(void **state)
{
    struct unit_dpif *u = *state;

    leave_chain(u, 2000);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    unit_wait_until((takeover_run(&u->dp, false),
                     !takeover_hides_flows(&u->dp)));
    assert_int_equal(first_recirc_id, 2001);
    assert_null(kdp_datapath_chains(&u->dp));
    assert_int_equal(unit_dpif_count(u), 1);
    assert_true(unit_dpif_has(u, 3));
    assert_int_equal(n_barriers, 1);
}

/* Rules of tc have no room for higher ones. */
static void
ids_begin_again_if_they_cannot_rise(void **state)
{
    struct unit_dpif *u = *state;

    leave_chain(u, UPCALL_RECIRC_RANGE - 1);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(first_recirc_id, UPCALL_RECIRC_RANGE);
    assert_int_equal(unit_dpif_count(u), 3);
    takeover_cancel(&u->dp);
    assert_null(kdp_datapath_chains(&u->dp));
    assert_int_equal(offload_flush(u->engine->offload), 0);

    leave_chain(u, UPCALL_RECIRC_RANGE);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(first_recirc_id, UPCALL_RECIRC_STATIC + 1);
    assert_null(kdp_datapath_chains(&u->dp));
    assert_int_equal(unit_dpif_count(u), 1);
    assert_true(unit_dpif_has(u, 3));
    assert_int_equal(n_barriers, 1);
}

static void
first_run_leaves_ids_of_bonds_out(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 3, 1, 0, 0);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_int_equal(first_recirc_id, UPCALL_RECIRC_STATIC + 1);
    assert_null(kdp_datapath_chains(&u->dp));
}

static void
bridge_that_is_made_again_sees_chains_again(void **state)
{
    struct unit_dpif *u = *state;

    leave_chain(u, 2000);
    for (int i = 0; i < 20; i++) {
        takeover_begin(&u->dp);
        assert_null(kdp_datapath_chains(&u->dp));
        takeover_upcalls_on(&u->dp);
        settle(u);
        assert_non_null(kdp_datapath_chains(&u->dp));
        if (i % 2) {
            takeover_cancel(&u->dp);
            assert_null(kdp_datapath_chains(&u->dp));
        } else if (i % 4) {
            /* While the thread deletes them. */
            unit_clock_advance(60000);
            takeover_run(&u->dp, true);
            leave_chain(u, 2000);
        }
        if (unit_dpif_count(u) < 3) {
            offload_flush(u->engine->offload);
            leave_chain(u, 2000);
        }
    }
}

static void
chain_that_cannot_be_deleted_is_given_up(void **state)
{
    struct unit_dpif *u = *state;
    int fd = unit_log_open();
    char log[1024] = "";

    leave_chain(u, 2000);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    unit_dpif_fail(u, DPIF_OP_FLOW_DEL, ENOBUFS, 1);
    change(u, 1);
    assert_int_equal(ftruncate(fd, 0), 0);
    unit_wait_until((takeover_dump_begins(&u->dp), takeover_run(&u->dp, true),
                     !kdp_datapath_chains(&u->dp)));
    assert_int_equal(unit_dpif_count(u), 3);
    assert_true(pread(fd, log, sizeof log - 1, 0) > 0);
    assert_non_null(strstr(log, "deleting flows of recirculation chains of a "
                           "previous run failed (No buffer space "
                           "available)\n"));
    close(fd);
}

static void
flows_that_cannot_be_listed_go(void **state)
{
    struct unit_dpif *u = *state;

    for (uint32_t i = 0; i < 20; i++) {
        leave(u, i, 1, 0, 0);
    }
    u->dump_error = ENOBUFS;
    u->dump_limit = 3;
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    u->dump_error = 0;
    assert_int_equal(unit_dpif_count(u), 0);
}

static void
all_go_if_one_cannot_be_deleted(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    leave(u, 2, 1, UNIT_TC_OF_CHAIN, 0);
    leave(u, 3, 1, 0, 0);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    unit_dpif_fail(u, DPIF_OP_FLOW_DEL, ENOBUFS, 1);
    settle(u);
    assert_int_equal(unit_dpif_count(u), 0);

    /* Or if only a flow of a chain cannot. */
    leave(u, 2, 1, UNIT_TC_OF_CHAIN, 0);
    leave(u, 3, 1, 0, 0);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    unit_dpif_fail(u, DPIF_OP_FLOW_DEL, ENOBUFS, 1);
    settle(u);
    assert_int_equal(unit_dpif_count(u), 0);

    /* But not if one is gone already. */
    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    leave(u, 3, 1, 0, 0);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    unit_dpif_fail(u, DPIF_OP_FLOW_DEL, ENOENT, 1);
    settle(u);
    assert_true(unit_dpif_has(u, 3));
}

/* A number that the bridge finds again belongs to the same port. */
static void
flows_of_ports_that_stay_stay(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, 0, 0);
    leave(u, 2, 2, 0, 0);
    leave(u, 3, 3, 0, 0);
    takeover_begin(&u->dp);
    takeover_port_added(&u->dp, 2);
    takeover_port_added(&u->dp, 3);
    takeover_port_stays(&u->dp, 2);

    /* The kernel gives no such number. */
    takeover_port_added(&u->dp, 65536);
    takeover_port_stays(&u->dp, 65536);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_true(unit_dpif_has(u, 1));
    assert_true(unit_dpif_has(u, 2));
    assert_false(unit_dpif_has(u, 3));

    /* Later it is none of its business. */
    takeover_port_added(&u->dp, 2);
    takeover_port_stays(&u->dp, 1);
    assert_true(unit_dpif_has(u, 2));
}

/* What takeover_wait() waited for. */
static struct {
    unsigned int n_immediate, n_seqs, n_timers;
    long long int until;
} waited;

static bool
is_main_thread(void)
{
    return pthread_equal(pthread_self(), main_thread);
}

void __wrap_poll_immediate_wake_at(const char *where);
void __real_poll_immediate_wake_at(const char *where);
void
__wrap_poll_immediate_wake_at(const char *where)
{
    if (is_main_thread()) {
        waited.n_immediate++;
    } else {
        __real_poll_immediate_wake_at(where);
    }
}

void __wrap_poll_timer_wait_until_at(long long int, const char *where);
void __real_poll_timer_wait_until_at(long long int, const char *where);
void
__wrap_poll_timer_wait_until_at(long long int msec, const char *where)
{
    if (is_main_thread()) {
        waited.n_timers++;
        waited.until = msec;
    } else {
        __real_poll_timer_wait_until_at(msec, where);
    }
}

void __wrap_seq_wait_at(const struct seq *, uint64_t value, const char *);
void __real_seq_wait_at(const struct seq *, uint64_t value, const char *);
void
__wrap_seq_wait_at(const struct seq *seq, uint64_t value, const char *where)
{
    if (is_main_thread()) {
        waited.n_seqs++;
    } else {
        __real_seq_wait_at(seq, value, where);
    }
}

static void
check_wait(struct unit_dpif *u, unsigned int n_immediate, unsigned int n_seqs,
           unsigned int n_timers)
{
    memset(&waited, 0, sizeof waited);
    takeover_wait(&u->dp);
    assert_int_equal(waited.n_immediate, n_immediate);
    assert_int_equal(waited.n_seqs, n_seqs);
    assert_int_equal(waited.n_timers, n_timers);
}

static void
main_loop_wakes_up_for_what_is_next(void **state)
{
    static const int after[] = { 20, 100, 500 };
    struct unit_dpif *u = *state;
    long long int ended;

    check_wait(u, 0, 0, 0);
    leave(u, 1, 1, 0, 0);
    takeover_begin(&u->dp);
    check_wait(u, 0, 0, 0);             /* For the bridge. */
    takeover_upcalls_on(&u->dp);
    for (int i = 1; i < UPCALL_DEST_HOLD_TURNS; i++) {
        check_wait(u, 1, 0, 0);
        assert_false(run(u));
    }
    unit_wait_until(run(u));

    /* Flows are revalidated again soon, until that is enough. */
    ended = time_msec();
    for (size_t i = 0; i < ARRAY_SIZE(after); i++) {
        check_wait(u, 0, 0, 1);
        assert_int_equal(waited.until, ended + after[i]);
        unit_clock_advance(ended + after[i] - 1 - time_msec());
        assert_false(run(u));
        unit_clock_advance(1);
        assert_true(run(u));
        assert_false(run(u));
    }
    check_wait(u, 0, 0, 0);
}

/* What a bridge says of its rules, and of its only port, "p1". */
static bool bridge_waits, p1_had_flows, p2_had_flows, p3_had_flows;

static bool
hold(takeover_had_flows_cb *had_flows, void *aux)
{
    p1_had_flows = had_flows("p1", aux);
    p2_had_flows = had_flows("p2", aux);
    p3_had_flows = had_flows("p3", aux);

    /* Nobody looks behind the end of the bitmap. */
    assert_false(had_flows("p:", aux));
    assert_false(had_flows("p;", aux));
    return bridge_waits && p1_had_flows;
}

/* The port with a rule that forwards, in tc, or 0. */
static uint32_t port_with_rule;

bool __wrap_offload_port_had_rules(struct offload *, uint32_t port);

bool
__wrap_offload_port_had_rules(struct offload *offload OVS_UNUSED,
                              uint32_t port)
{
    return port_with_rule && port == port_with_rule;
}

int __wrap_vport_table_get_by_name(struct vport_table *, const char *name,
                                   struct ovs_vport *);

/* There are ports "p1", of number 1, and "p2"; and two with numbers that the
 * kernel does not give, "p:" and "p;". */
int
__wrap_vport_table_get_by_name(struct vport_table *table OVS_UNUSED,
                               const char *name, struct ovs_vport *vport)
{
    *vport = (struct ovs_vport) {
        .port_no = (name[1] == ':' ? 65536 : name[1] == ';' ? UINT32_MAX
                    : name[1] - '0'),
    };
    return vport->port_no > 2 && vport->port_no < 65536 ? ENODEV : 0;
}

static int
hold_setup(void **state)
{
    takeover_set_hold_cb(hold);
    bridge_waits = true;
    p1_had_flows = p2_had_flows = p3_had_flows = false;
    port_with_rule = 0;
    return setup(state);
}

static int
hold_teardown(void **state)
{
    takeover_set_hold_cb(NULL);
    return teardown(state);
}

/* Waits until the bridge was asked for its rules, which is after all that
 * comes before that. */
static void
run_until_held(struct unit_dpif *u)
{
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    unit_wait_until((takeover_run(&u->dp, true), p1_had_flows));
    assert_true(takeover_hides_flows(&u->dp));
}

static void
flows_stay_while_a_bridge_waits_for_rules(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, UNIT_TC_TO_CHAIN, 0);
    leave(u, 2, 1, UNIT_TC_OF_CHAIN, 0);
    leave(u, 3, 1, 0, 0);
    run_until_held(u);
    assert_false(p2_had_flows);
    assert_false(p3_had_flows);
    unit_clock_advance(TAKEOVER_HOLD_DEFAULT * 1000 - 1);
    for (int i = 0; i < 10; i++) {
        assert_false(run(u));
    }
    assert_true(takeover_hides_flows(&u->dp));
    assert_true(takeover_refuses_flush(&u->dp));
    assert_int_equal(unit_dpif_count(u), 3);

    bridge_waits = false;
    unit_wait_until(run(u));
    assert_int_equal(unit_dpif_count(u), 1);
    assert_true(unit_dpif_has(u, 3));
}

/* Offload threads find them out in the end. */
static void
flows_stay_while_a_port_may_have_flows_in_tc_alone(void **state)
{
    struct unit_dpif *u = *state;

    port_with_rule = 1;
    run_until_held(u);
    assert_false(p2_had_flows);
    assert_false(run(u));
    assert_true(takeover_hides_flows(&u->dp));
    port_with_rule = 2;
    unit_wait_until(run(u));
    assert_true(p2_had_flows);
}

static void
the_hold_has_an_end(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, 0, 0);
    takeover_set_hold(&u->dp, 5);
    run_until_held(u);
    check_wait(u, 0, 0, 1);
    assert_int_equal(waited.until, time_msec() + 100);
    unit_clock_advance(4999);
    assert_false(run(u));
    check_wait(u, 0, 0, 1);
    assert_int_equal(waited.until, time_msec() + 1);
    assert_true(takeover_hides_flows(&u->dp));
    unit_clock_advance(1);
    unit_wait_until(run(u));
    assert_true(unit_dpif_has(u, 1));
}

static void
a_hold_can_be_shortened_and_turned_off(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 1, 0, 0);
    run_until_held(u);
    unit_clock_advance(2000);
    takeover_set_hold(&u->dp, 2);
    unit_wait_until(run(u));

    takeover_set_hold(&u->dp, 0);
    p1_had_flows = false;
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_false(p1_had_flows);
}

static void
nothing_is_held_for_a_port_without_flows_that_forward(void **state)
{
    struct unit_dpif *u = *state;

    leave(u, 1, 2, 0, 0);
    takeover_begin(&u->dp);
    takeover_upcalls_on(&u->dp);
    settle(u);
    assert_false(p1_had_flows);
    assert_true(p2_had_flows);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define HOLD(NAME) \
    cmocka_unit_test_setup_teardown(NAME, hold_setup, hold_teardown)
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(flows_are_kept_and_hidden_until_they_can_be_translated),
        TEST(later_flush_is_carried_out),
        TEST(bridge_that_is_made_again_takes_over_again),
        TEST(stale_flows_go_before_upcalls_roots_first),
        TEST(packets_that_met_a_flow_that_went_are_waited_for),
        TEST(rules_of_chains_go_with_the_flows_and_are_waited_for),
        TEST(where_the_kernel_has_no_barrier_a_packet_socket_is_closed),
        TEST(nothing_is_waited_for_if_no_flow_goes),
        TEST(flows_of_numbers_given_anew_go),
        TEST(flows_of_ports_that_stay_stay),
        TEST(main_loop_wakes_up_for_what_is_next),
        TEST(statistics_begin_anew),
        TEST(flows_that_have_counted_nothing_are_not_changed),
        TEST(flows_are_revalidated_again_soon),
        TEST(main_thread_does_not_wait_for_the_kernel),
        TEST(log_says_how_long_upcalls_were_held),
        TEST(flows_of_a_number_that_is_given_while_others_are_deleted_go),
        TEST(takeover_that_is_cancelled_deletes_nothing),
        TEST(takeover_ends_without_bridges_and_they_are_told_later),
        TEST(chains_go_when_nothing_leads_to_them),
        TEST(roots_that_nobody_changes_go_with_the_chains),
        TEST(chains_go_before_upcalls_while_bridges_do_not_run),
        TEST(ids_begin_again_if_they_cannot_rise),
        TEST(first_run_leaves_ids_of_bonds_out),
        TEST(bridge_that_is_made_again_sees_chains_again),
        TEST(chain_that_cannot_be_deleted_is_given_up),
        TEST(flows_that_cannot_be_listed_go),
        TEST(all_go_if_one_cannot_be_deleted),
        HOLD(flows_stay_while_a_bridge_waits_for_rules),
        HOLD(flows_stay_while_a_port_may_have_flows_in_tc_alone),
        HOLD(the_hold_has_an_end),
        HOLD(a_hold_can_be_shortened_and_turned_off),
        HOLD(nothing_is_held_for_a_port_without_flows_that_forward),
    };

    main_thread = pthread_self();
    unit_init(argv[0]);
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("takeover", tests, NULL, NULL);
}
