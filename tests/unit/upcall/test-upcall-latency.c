/* SPDX-License-Identifier: Apache-2.0 */

/* U11: latencies include the wait in the socket.  One thread plays the
 * handler, time is made up, and the test knows when each upcall was sent. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <stdlib.h>

#include "harness/made-up-clock.h"
#include "harness/unit.h"
#include "stats/latency-hist.h"
#include "unit/upcall/fair-fixture.h"
#include "util.h"

#define UPCALL_USEC 100         /* Work for one upcall. */
#define MAX_SENT 20000

struct truth {
    uint64_t sent_at[MAX_PORTS][MAX_SENT];
    struct latency_hist waits[MAX_PORTS];
};

static struct truth *
truth_create(void)
{
    struct truth *truth = xzalloc(sizeof *truth);

    for (uint32_t i = 0; i < MAX_PORTS; i++) {
        latency_hist_init(&truth->waits[i]);
    }
    return truth;
}

static void
truth_destroy(struct truth *truth)
{
    for (uint32_t i = 0; i < MAX_PORTS; i++) {
        latency_hist_uninit(&truth->waits[i]);
    }
    free(truth);
}

static void
send_up_to(struct fixture *f, struct truth *truth, uint32_t port_no,
           size_t n_waiting_after)
{
    struct port *port = &f->ports[port_no];

    for (uint64_t i = port->n_sent;
         i < port->n_received + n_waiting_after; i++) {
        ovs_assert(i < MAX_SENT);
        truth->sent_at[port_no][i] = unit_made_up_usec();
    }
    top_up(f, port_no, n_waiting_after);
}

/* Receives a batch.  Returns the number of upcalls. */
static size_t
receive(struct fixture *f, struct truth *truth)
{
    uint32_t port_no;
    size_t n = 0;

    while ((port_no = recv_one(f, 0)) != UINT32_MAX) {
        uint64_t i = f->ports[port_no].n_received - 1;

        latency_hist_record(&truth->waits[port_no],
                            unit_made_up_usec() - truth->sent_at[port_no][i]);
        n++;
    }
    return n;
}

/* Checks that 'a' and 'b' differ by a quarter at most: two buckets of a
 * histogram. */
static void
check_near(const char *what, uint32_t port_no, uint64_t a, uint64_t b)
{
    if (a * 4 > b * 5 || b * 4 > a * 5) {
        fail_msg("port %u: %s is %llu, and was in truth %llu", port_no, what,
                 (unsigned long long) a, (unsigned long long) b);
    }
}

static void
check_latency(struct fixture *f, struct truth *truth, uint32_t port_no)
{
    struct latency_summary told, was;
    struct upcall_table_info info;

    upcall_table_get_info(f->table, &info);
    for (size_t i = 0; i < info.n_ports; i++) {
        if (info.ports[i].port_no == port_no) {
            told = info.ports[i].stats.latency;
            latency_hist_summarize(&truth->waits[port_no], &was);
            assert_int_equal(told.n, was.n);
            check_near("the mean", port_no, told.sum / told.n,
                       was.sum / was.n);
            check_near("p50", port_no, told.p50, was.p50);
            check_near("p99", port_no, told.p99, was.p99);
        }
    }
    upcall_table_info_uninit(&info);
}

/* 200 upcalls wait at each of 10 ports, for ten rounds or 200 ms. */
static void
flood_waits_in_its_socket(void **state)
{
    struct fixture *f = *state;
    struct truth *truth = truth_create();

    prepare(f, 1, 10);
    for (int i = 0; i < 1000; i++) {
        for (uint32_t port = 0; port < 10; port++) {
            send_up_to(f, truth, port, 200);
        }
        unit_made_up_advance(receive(f, truth) * UPCALL_USEC);
    }
    for (uint32_t port = 0; port < 10; port++) {
        check_latency(f, truth, port);
    }
    truth_destroy(truth);
}

/* Upcalls of a quiet port come while the only handler works on those of
 * another one, each at another moment of the batch: all moments alike, in an
 * order that has nothing to do with that of the estimate. */
static void
quiet_upcall_waits_for_the_end_of_a_batch(void **state)
{
    struct fixture *f = *state;
    struct truth *truth = truth_create();

    prepare(f, 1, 2);
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t before = i * 7 % 300 * 21;

        send_up_to(f, truth, 0, 63);
        receive(f, truth);
        unit_made_up_advance(before);
        send_up_to(f, truth, 1, 1);
        unit_made_up_advance(6300 - before);
    }
    check_latency(f, truth, 1);
    truth_destroy(truth);
}

/* A handler is busy from the first upcall of a batch until it asks for the
 * next one, whatever it got. */
static void
work_is_what_handlers_were_busy_for(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    uint64_t busy_usec, n_upcalls;

    prepare(f, 2, 1);
    upcall_table_get_work(f->table, &busy_usec, &n_upcalls);
    assert_int_equal(busy_usec, 0);
    assert_int_equal(n_upcalls, 0);
    for (uint32_t handler = 0; handler < 2; handler++) {
        unit_made_up_advance(1000);
        top_up(f, 0, 3);
        unit_made_up_advance(1000);
        assert_int_equal(recv_one(f, handler), 0);
        unit_made_up_advance(10);
        assert_int_equal(recv_batch(f, handler, NULL), 2);
        unit_made_up_advance(100 + handler);
        assert_int_equal(recv_batch(f, handler, NULL), 0);
        unit_made_up_advance(1000);
        assert_int_equal(recv_batch(f, handler, NULL), 0);
    }
    upcall_table_get_work(f->table, &busy_usec, &n_upcalls);
    assert_int_equal(busy_usec, 221);
    assert_int_equal(n_upcalls, 6);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.n_handlers, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(info.handlers[i].busy_usec, 110 + i);
        assert_int_equal(info.handlers[i].upcalls, 3);
        assert_int_equal(info.handlers[i].batches, 1);
        assert_int_equal(info.handlers[i].batch_sizes[1], 1);
        assert_int_equal(info.handlers[i].wakeups, 0);
        assert_int_equal(info.handlers[i].empty_wakeups, 0);
        assert_int_equal(info.handlers[i].steals, i);
        assert_int_equal(info.handlers[i].loans, 0);
    }
    upcall_table_info_uninit(&info);

    /* It stays with the handlers that go, and a reset ends it. */
    assert_int_equal(upcall_table_set_handlers(f->table, 0), 0);
    unit_rcu_barrier();
    upcall_table_get_work(f->table, &busy_usec, &n_upcalls);
    assert_int_equal(busy_usec, 221);
    assert_int_equal(n_upcalls, 6);
    upcall_table_reset_stats(f->table);
    upcall_table_get_work(f->table, &busy_usec, &n_upcalls);
    assert_int_equal(busy_usec, 0);
    assert_int_equal(n_upcalls, 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, fair_setup, \
                                                   fair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(flood_waits_in_its_socket),
        TEST(quiet_upcall_waits_for_the_end_of_a_batch),
        TEST(work_is_what_handlers_were_busy_for),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("upcall-latency", tests, NULL, NULL);
}
