/* SPDX-License-Identifier: Apache-2.0 */

/* Whose turn it is: a table whose handlers are played by one thread, with
 * ports of which some have a standing backlog. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-turn.h"
#include "util.h"

#define MAX_PORTS 64
#define MAX_HANDLERS 4
#define SEQ_BITS 32

struct port {
    uint32_t pid;
    size_t packet_len;
    uint64_t n_sent;
    uint64_t n_received;
    uint64_t bytes;             /* Of packets received. */
    size_t n_batch;             /* Received in the last batch, */
    size_t n_before;            /* and in the one before. */
};

struct fixture {
    size_t n_fds;
    struct upcall_table *table;
    int sender;
    struct port ports[MAX_PORTS];
    uint32_t n_ports;

    /* The ports whose upcalls each handler has, from the first of a batch to
     * the handler's next receive after it. */
    uint64_t held[MAX_HANDLERS];
    bool in_batch[MAX_HANDLERS];
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    f->sender = unit_sender_open();
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    upcall_table_destroy(f->table);
    close(f->sender);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

/* Makes the table one of 'n_handlers' handlers and 'n_ports' ports. */
static void
prepare(struct fixture *f, uint32_t n_handlers, uint32_t n_ports)
{
    assert_int_equal(upcall_table_set_handlers(f->table, n_handlers), 0);
    assert_true(n_ports <= ARRAY_SIZE(f->ports));
    for (f->n_ports = 0; f->n_ports < n_ports; f->n_ports++) {
        struct upcall_channel *channel;

        assert_int_equal(upcall_channel_create(&channel), 0);
        f->ports[f->n_ports] = (struct port) {
            .pid = channel->pid, .packet_len = UNIT_PACKET_MIN,
        };
        assert_int_equal(upcall_table_add(f->table, f->n_ports, "port",
                                          channel), 0);
    }
}

static size_t
n_waiting(const struct port *port)
{
    return port->n_sent - port->n_received;
}

/* Sends upcalls to port 'port_no' until 'n' wait, or no more fit. */
static void
top_up(struct fixture *f, uint32_t port_no, size_t n)
{
    struct port *port = &f->ports[port_no];
    struct unit_msg msg;
    int error = 0;

    unit_msg_upcall(&msg, 0, port->packet_len);
    while (!error && n_waiting(port) < n) {
        unit_msg_set_seq(&msg, (uint64_t) port_no << SEQ_BITS | port->n_sent);
        error = unit_send(f->sender, port->pid, msg.buf, msg.len);
        assert_true(!error || error == EAGAIN);
        port->n_sent += !error;
    }
    unit_msg_uninit(&msg);

    /* More than a turn, or the port is no noisy one. */
    assert_true(n_waiting(port) >= MIN(n, UPCALL_QUANTUM + 1));
}

static void
top_up_all(struct fixture *f, size_t n)
{
    for (uint32_t i = 0; i < f->n_ports; i++) {
        top_up(f, i, n);
    }
}

/* Receives one upcall with 'handler', which must be the next one of its port,
 * whose upcalls no other handler has.  Returns the port number, or UINT32_MAX
 * if the batch has ended. */
static uint32_t
recv_one(struct fixture *f, uint32_t handler)
{
    struct upcall_view view;
    struct port *port;
    uint32_t port_no;
    uint64_t seq;
    int error;

    if (!f->in_batch[handler]) {
        f->in_batch[handler] = true;
        f->held[handler] = 0;
    }
    error = upcall_table_recv(f->table, handler, &view);
    if (error) {
        assert_int_equal(error, EAGAIN);
        f->in_batch[handler] = false;
        return UINT32_MAX;
    }
    seq = unit_view_seq(&view);
    port_no = seq >> SEQ_BITS;
    assert_true(port_no < f->n_ports);
    port = &f->ports[port_no];
    assert_int_equal((uint32_t) seq, port->n_received);
    for (uint32_t i = 0; i < MAX_HANDLERS; i++) {
        assert_true(i == handler || !(f->held[i] >> port_no & 1));
    }
    f->held[handler] |= UINT64_C(1) << port_no;
    port->n_received++;
    port->bytes += view.packet_len;
    port->n_batch++;
    return port_no;
}

/* Receives a batch with 'handler'.  Returns the number of upcalls, and stores
 * the ports that they came from in 'order' if it is not null. */
static size_t
recv_batch(struct fixture *f, uint32_t handler,
           uint32_t order[UPCALL_BATCH])
{
    uint32_t port_no;
    size_t n = 0;

    for (uint32_t i = 0; i < f->n_ports; i++) {
        f->ports[i].n_before = f->ports[i].n_batch;
        f->ports[i].n_batch = 0;
    }
    while ((port_no = recv_one(f, handler)) != UINT32_MAX) {
        assert_true(n < UPCALL_BATCH);
        if (order) {
            order[n] = port_no;
        }
        n++;
    }
    return n;
}

/* Receives with all handlers in turn until there is nothing. */
static void
recv_all(struct fixture *f)
{
    for (int n_empty = 0; n_empty < 2; n_empty++) {
        for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
            if (recv_batch(f, h, NULL)) {
                n_empty = -1;
            }
        }

        /* Handlers that went for good release their channels when nobody can
         * be using them any more. */
        unit_rcu_barrier();
    }
    for (uint32_t i = 0; i < f->n_ports; i++) {
        assert_int_equal(n_waiting(&f->ports[i]), 0);
    }
}

/* Jain's index of fairness of 'n' shares: 1 if all are equal, 1/n if one has
 * all. */
static double
jain(const double shares[], size_t n)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        sum += shares[i];
        squares += shares[i] * shares[i];
    }
    return sum * sum / (n * squares);
}

static double
jain_upcalls(const struct fixture *f)
{
    double shares[MAX_PORTS];

    for (uint32_t i = 0; i < f->n_ports; i++) {
        shares[i] = f->ports[i].n_received;
    }
    return jain(shares, f->n_ports);
}

static double
jain_bytes(const struct fixture *f)
{
    double shares[MAX_PORTS];

    for (uint32_t i = 0; i < f->n_ports; i++) {
        shares[i] = f->ports[i].bytes;
    }
    return jain(shares, f->n_ports);
}

/* Gives the first 'n' ports, which are new, a backlog, and receives until each
 * had a turn as a new one. */
static void
warm_up(struct fixture *f, uint32_t n)
{
    for (uint32_t i = 0; i <= DIV_ROUND_UP(n, 3); i++) {
        for (uint32_t port = 0; port < n; port++) {
            top_up(f, port, 64);
        }
        assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
    }
}

/* Checks that the 'n' upcalls of port 'quiet' come first in the batch whose
 * ports are in 'order', but for the rests of turns that the batch before had
 * no room for. */
static void
check_is_first(const struct fixture *f, const uint32_t order[UPCALL_BATCH],
               uint32_t quiet, size_t n)
{
    size_t i = 0;

    while (i < UPCALL_BATCH && order[i] != quiet) {
        size_t n_before = f->ports[order[i++]].n_before;

        assert_in_range(n_before, 1, UPCALL_QUANTUM - 1);
    }
    for (size_t j = 0; j < n; j++, i++) {
        assert_true(i < UPCALL_BATCH);
        assert_int_equal(order[i], quiet);
    }
}

/* Quiet ports. */

static void
quiet_port_is_first_in_the_next_batch(void **state)
{
    static const size_t bursts[] = { 1, 2, 7, UPCALL_QUANTUM };
    struct fixture *f = *state;
    enum { N_NOISY = 10, QUIET = N_NOISY };

    prepare(f, 1, N_NOISY + 1);
    for (unsigned int i = 0; i < 60; i++) {
        size_t burst = bursts[i % ARRAY_SIZE(bursts)];
        uint32_t order[UPCALL_BATCH];

        /* A burst that is no more than its share of what has been received
         * since the last one. */
        for (uint32_t port = 0; port < N_NOISY; port++) {
            top_up(f, port, 64);
        }
        for (int j = 0; j < 5; j++) {
            assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
        }
        top_up(f, QUIET, burst);
        assert_int_equal(recv_batch(f, 0, order),
                         burst < UPCALL_QUANTUM ? burst + UPCALL_QUANTUM
                         : UPCALL_BATCH);
        check_is_first(f, order, QUIET, burst);
        assert_int_equal(n_waiting(&f->ports[QUIET]), 0);
    }
}

static void
quiet_port_that_spreads_its_upcalls_never_waits(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 10, QUIET = N_NOISY };

    /* One in each batch, of which a round of the noisy ports takes ten. */
    prepare(f, 1, N_NOISY + 1);
    warm_up(f, N_NOISY);
    for (unsigned int i = 0; i < 200; i++) {
        uint32_t order[UPCALL_BATCH];

        for (uint32_t port = 0; port < N_NOISY; port++) {
            top_up(f, port, 64);
        }
        top_up(f, QUIET, 1);
        assert_int_equal(recv_batch(f, 0, order), 1 + UPCALL_QUANTUM);
        check_is_first(f, order, QUIET, 1);
    }
}

static void
quiet_port_is_first_after_a_change_of_handlers_too(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 10, QUIET = N_NOISY };

    prepare(f, 1, N_NOISY + 1);
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t order[UPCALL_BATCH];

        /* The old scheduler has counted some rounds when the port used all of
         * its credit, the new one counts from 0. */
        for (int j = 0; j < 20; j++) {
            for (uint32_t port = 0; port < N_NOISY; port++) {
                top_up(f, port, 64);
            }
            assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
        }
        top_up(f, QUIET, UPCALL_QUANTUM);
        recv_batch(f, 0, NULL);
        assert_int_equal(n_waiting(&f->ports[QUIET]), 0);
        memset(f->held, 0, sizeof f->held);
        assert_int_equal(upcall_table_set_handlers(f->table, 2 - i % 2), 0);

        /* All channels are new to the scheduler; after that the quiet one is
         * quiet. */
        for (int j = 0; j < 5; j++) {
            recv_batch(f, 0, NULL);
        }
        top_up(f, QUIET, 1);
        assert_int_equal(recv_batch(f, 0, order), 1 + UPCALL_QUANTUM);
        check_is_first(f, order, QUIET, 1);
    }
}

static void
many_quiet_ports_are_served_as_fast_as_events_are_taken(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 8, N_QUIET = 37 };

    /* No multiple of the events that are taken at a time, so that an
     * epoch ends after each crowd. */
    prepare(f, 1, N_NOISY + N_QUIET);
    warm_up(f, N_NOISY);
    for (unsigned int i = 0; i < 20; i++) {
        size_t n_left = N_QUIET;

        for (uint32_t port = N_NOISY; port < f->n_ports; port++) {
            top_up(f, port, 1);
        }
        while (n_left) {
            size_t n = 0;

            for (uint32_t port = 0; port < N_NOISY; port++) {
                top_up(f, port, 64);
            }
            size_t n_batch = recv_batch(f, 0, NULL);
            for (uint32_t port = N_NOISY; port < f->n_ports; port++) {
                n += f->ports[port].n_batch;
            }

            /* They do not wait for a full batch of others. */
            assert_int_equal(n_batch, n + UPCALL_QUANTUM);
            assert_true(n >= MIN(n_left, UPCALL_EVENTS));
            n_left -= n;
        }
    }
}

static void
quiet_port_passes_a_crowd_of_small_bursts(void **state)
{
    struct fixture *f = *state;
    enum { N_CROWD = 40, QUIET = N_CROWD, N_TIMES = 100, PERIOD = 10 };
    unsigned int n_prompt = 0, since = 0;

    /* None of the crowd has more than a quantum waiting, but together they are
     * more than is served. */
    prepare(f, 1, N_CROWD + 1);
    for (unsigned int i = 0; i < N_TIMES * PERIOD; i++) {
        for (uint32_t port = 0; port < N_CROWD; port++) {
            top_up(f, port, 5);
        }
        if (i % PERIOD == 0) {
            top_up(f, QUIET, 1);
            since = i;
        }
        recv_batch(f, 0, NULL);
        if (f->ports[QUIET].n_batch) {
            n_prompt += i == since;
        }
    }

    /* Not always: when the end of an epoch cannot be told, it waits with the
     * others. */
    assert_true(n_prompt >= N_TIMES * 9 / 10);
}

/* Noisy ports. */

static void
flooded_ports_are_served_equally(void **state)
{
    static const uint32_t counts[] = { 2, 3, 4, 5, 8, 16, 33 };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        prepare(f, 1, counts[i]);
        for (size_t k = 0; k < 8 * counts[i]; k++) {
            top_up_all(f, UPCALL_BATCH + 1);
            assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
        }
        assert_true(jain_upcalls(f) >= 0.99);
        for (uint32_t p = 0; p < f->n_ports; p++) {
            assert_true(f->ports[p].n_received + 2 * UPCALL_BATCH
                        >= f->ports[0].n_received);
        }
        upcall_table_del_all(f->table);
    }
}

static void
flooded_ports_are_served_equally_by_several_handlers(void **state)
{
    struct fixture *f = *state;
    size_t n_batches = 0, n = 0;

    /* One round robin for all: it does not matter which handler comes when, as
     * long as none of them keeps its ports for long. */
    prepare(f, 3, 16);
    for (; n_batches < 200; n_batches++) {
        top_up_all(f, UPCALL_BATCH + 1);
        n += recv_batch(f, (n_batches + n_batches / 7) % 3, NULL);
    }
    assert_true(jain_upcalls(f) >= 0.99);
    assert_true(n > n_batches * UPCALL_BATCH * 9 / 10);
    recv_all(f);
}

static void
large_packets_get_no_more_bytes_than_others(void **state)
{
    struct fixture *f = *state;

    /* Packets of 2.5 kB are already limited by their bytes. */
    prepare(f, 1, 5);
    for (uint32_t i = 0; i < 5; i++) {
        f->ports[i].packet_len = i ? 2500 : 16000;
    }
    for (size_t k = 0; k < 400; k++) {
        top_up_all(f, 24);
        recv_batch(f, 0, NULL);
    }
    assert_true(jain_bytes(f) >= 0.99);
}

static void
large_packets_do_not_delay_small_ones(void **state)
{
    struct fixture *f = *state;
    uint64_t n_rounds, others;

    prepare(f, 1, 4);
    f->ports[0].packet_len = 16000;
    for (size_t k = 0; k < 300; k++) {
        top_up_all(f, 24);
        recv_batch(f, 0, NULL);
    }

    /* The others are limited by their number.  What the large ones got is the
     * quantum of bytes for each round of theirs. */
    others = f->ports[1].n_received;
    for (uint32_t i = 2; i < 4; i++) {
        assert_true(f->ports[i].n_received + UPCALL_QUANTUM >= others
                    && f->ports[i].n_received <= others + UPCALL_QUANTUM);
    }
    n_rounds = others / UPCALL_QUANTUM;
    assert_true(f->ports[0].bytes
                <= (n_rounds + 2) * UPCALL_QUANTUM_BYTES + 21 * 16000);
    assert_true(f->ports[0].bytes + 3 * UPCALL_QUANTUM_BYTES
                >= n_rounds * UPCALL_QUANTUM_BYTES * 9 / 10);
}

static void
crowd_of_sparse_ports_leaves_room_for_the_backlog(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 3, N_SPARSE = 40 };
    size_t n_noisy = 0, n_all = 0;

    prepare(f, 1, N_NOISY + N_SPARSE);
    for (unsigned int i = 0; i < 100; i++) {
        /* More sparse ports are ready than one batch takes events of. */
        for (uint32_t port = 0; port < f->n_ports; port++) {
            top_up(f, port, port < N_NOISY ? 64 : 1);
        }
        n_all += recv_batch(f, 0, NULL);
        for (uint32_t port = 0; port < N_NOISY; port++) {
            n_noisy += f->ports[port].n_batch;
        }
    }
    assert_true(n_noisy * 3 >= n_all);
}

static void
port_that_goes_empty_in_between_gets_no_more_than_noisy_ones(void **state)
{
    static const size_t bursts[] = { 1, 7, UPCALL_QUANTUM - 1, UPCALL_QUANTUM,
                                     UPCALL_QUANTUM + 1, 40, 63 };
    enum { N_NOISY = 6, SLY = N_NOISY };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(bursts); i++) {
        struct port *sly = &f->ports[SLY];

        prepare(f, 1, N_NOISY + 1);
        for (unsigned int k = 0; k < 100; k++) {
            uint64_t most = 0, least = UINT64_MAX;

            for (uint32_t port = 0; port < N_NOISY; port++) {
                top_up(f, port, 64);
            }
            if (!n_waiting(sly)) {
                top_up(f, SLY, bursts[i]);
            }
            assert_true(recv_batch(f, 0, NULL) >= UPCALL_QUANTUM);
            for (uint32_t port = 0; port < N_NOISY; port++) {
                most = MAX(most, f->ports[port].n_received);
                least = MIN(least, f->ports[port].n_received);
            }

            /* No more than the turn that it may have ahead of them.  The first
             * turns of the noisy ones are all sparse, one after the other. */
            assert_true(sly->n_received <= most + UPCALL_QUANTUM);
            assert_true(k < 10
                        || sly->n_received <= least + 2 * UPCALL_QUANTUM);
        }
        upcall_table_del_all(f->table);
    }
}

static void
lone_noisy_port_gets_whole_batches(void **state)
{
    struct fixture *f = *state;

    prepare(f, 1, 3);
    for (unsigned int k = 0; k < 20; k++) {
        top_up(f, 1, 64);
        assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
    }
    recv_all(f);
}

/* Several handlers. */

static void
no_port_is_with_two_handlers_at_a_time(void **state)
{
    struct fixture *f = *state;

    /* Upcall by upcall, so that batches overlap in every way.  recv_one()
     * checks who has what, and the order of each port. */
    prepare(f, MAX_HANDLERS, 12);
    for (unsigned int i = 0; i < 20000; i++) {
        if (random_range(8) == 0) {
            top_up(f, random_range(f->n_ports), 1 + random_range(64));
        }
        recv_one(f, random_range(MAX_HANDLERS));
    }
    for (uint32_t h = 0; h < MAX_HANDLERS; h++) {
        while (recv_one(f, h) != UINT32_MAX) {
            continue;
        }
    }
    recv_all(f);
}

static void
backlog_moves_between_handlers_in_order(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    uint64_t seen[2] = { 0, 0 };

    prepare(f, 2, 7);
    for (unsigned int k = 0; k < 200; k++) {
        uint32_t handler = random_range(2);

        top_up_all(f, 64);
        recv_batch(f, handler, NULL);
        seen[handler] |= f->held[handler];
    }
    assert_int_equal(seen[0], 0x7f);
    assert_int_equal(seen[1], 0x7f);
    recv_all(f);

    upcall_table_get_info(f->table, &info);
    assert_true(info.handlers[0].steals > 0);
    assert_true(info.handlers[1].steals > 0);
    assert_int_equal(info.abandoned, 0);
    upcall_table_info_uninit(&info);
}

static void
upcalls_in_the_run_queue_survive_a_change_of_handlers(void **state)
{
    static const uint32_t n_handlers[] = { 3, 1, 2, 0, 4, 1, 0, 2 };
    struct fixture *f = *state;
    struct upcall_table_info info;

    prepare(f, 2, 20);
    for (size_t i = 0; i < ARRAY_SIZE(n_handlers); i++) {
        uint32_t n = upcall_table_n_handlers(f->table);

        top_up_all(f, 64);
        for (unsigned int k = 0; n && k < 12; k++) {
            recv_batch(f, k % n, NULL);
        }

        /* Some ports are in the run queue, some with a handler, some have an
         * event that nobody took. */
        assert_int_equal(upcall_table_set_handlers(f->table, n_handlers[i]),
                         0);
        memset(f->held, 0, sizeof f->held);
    }
    recv_all(f);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.abandoned, 0);
    for (size_t i = 0; i < info.n_ports; i++) {
        assert_int_equal(info.ports[i].stats.received, f->ports[i].n_sent);
    }
    upcall_table_info_uninit(&info);
}

/* Ports that go. */

static void
deleted_port_leaves_the_run_queue(void **state)
{
    enum { N_PORTS = 12 };
    struct fixture *f = *state;
    size_t n_fds;

    /* All are in the run queue but those of the last batch. */
    prepare(f, 1, N_PORTS);
    for (unsigned int k = 0; k < 2 * N_PORTS; k++) {
        top_up_all(f, 64);
        recv_batch(f, 0, NULL);
    }
    unit_rcu_barrier();
    n_fds = unit_count_fds();

    for (uint32_t gone = 0; gone < N_PORTS; gone++) {
        upcall_table_del(f->table, gone);
        unit_rcu_barrier();
        for (unsigned int k = 0; k < N_PORTS; k++) {
            size_t n;

            for (uint32_t port = gone + 1; port < N_PORTS; port++) {
                top_up(f, port, 64);
            }
            n = recv_batch(f, 0, NULL);
            for (uint32_t port = 0; port <= gone; port++) {
                assert_int_equal(f->ports[port].n_batch, 0);
            }

            /* Its turn is not lost but somebody else's. */
            assert_true(n == UPCALL_BATCH || gone + 1 == N_PORTS);
        }
        unit_rcu_barrier();
        assert_int_equal(unit_count_fds(), n_fds - 1 - gone);
    }
    recv_batch(f, 0, NULL);
    assert_int_equal(unit_count_fds(), n_fds - N_PORTS);
}

static void
deleted_ports_in_the_run_queue_go_with_the_handlers(void **state)
{
    struct fixture *f = *state;
    size_t n_fds = unit_count_fds();

    prepare(f, 2, 12);
    for (unsigned int k = 0; k < 24; k++) {
        top_up_all(f, 64);
        recv_batch(f, k % 2, NULL);
    }
    upcall_table_del_all(f->table);
    assert_int_equal(upcall_table_set_handlers(f->table, 0), 0);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(quiet_port_is_first_in_the_next_batch),
        TEST(quiet_port_that_spreads_its_upcalls_never_waits),
        TEST(quiet_port_is_first_after_a_change_of_handlers_too),
        TEST(many_quiet_ports_are_served_as_fast_as_events_are_taken),
        TEST(quiet_port_passes_a_crowd_of_small_bursts),
        TEST(flooded_ports_are_served_equally),
        TEST(flooded_ports_are_served_equally_by_several_handlers),
        TEST(large_packets_get_no_more_bytes_than_others),
        TEST(large_packets_do_not_delay_small_ones),
        TEST(crowd_of_sparse_ports_leaves_room_for_the_backlog),
        TEST(port_that_goes_empty_in_between_gets_no_more_than_noisy_ones),
        TEST(lone_noisy_port_gets_whole_batches),
        TEST(no_port_is_with_two_handlers_at_a_time),
        TEST(backlog_moves_between_handlers_in_order),
        TEST(upcalls_in_the_run_queue_survive_a_change_of_handlers),
        TEST(deleted_port_leaves_the_run_queue),
        TEST(deleted_ports_in_the_run_queue_go_with_the_handlers),
    };

    unit_init("test-upcall-fair");
    return cmocka_run_group_tests_name("upcall-fair", tests, NULL, NULL);
}
