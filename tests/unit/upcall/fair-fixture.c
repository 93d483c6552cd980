/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/upcall/fair-fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "upcall/upcall-turn.h"
#include "util.h"

int
fair_setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    f->sender = unit_sender_open();
    *state = f;
    return 0;
}

int
fair_teardown(void **state)
{
    struct fixture *f = *state;

    upcall_table_destroy(f->table);
    close(f->sender);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

void
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
        assert_int_equal(upcall_table_add_queues(f->table, f->n_ports, "port",
                                                 &channel, 1), 0);
    }
}

size_t
n_waiting(const struct port *port)
{
    return port->n_sent - port->n_received;
}

void
fill(struct fixture *f, uint32_t port_no, size_t n)
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
}

void
top_up(struct fixture *f, uint32_t port_no, size_t n)
{
    fill(f, port_no, n);

    /* More than a turn, or the port is no noisy one. */
    assert_true(n_waiting(&f->ports[port_no]) >= MIN(n, UPCALL_QUANTUM + 1));
}

void
top_up_all(struct fixture *f, size_t n)
{
    for (uint32_t i = 0; i < f->n_ports; i++) {
        top_up(f, i, n);
    }
}

uint32_t
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

size_t
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

void
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

double
jain(const double shares[], size_t n)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        sum += shares[i];
        squares += shares[i] * shares[i];
    }
    return sum * sum / (n * squares);
}

double
jain_upcalls(const struct fixture *f)
{
    double shares[MAX_PORTS];

    for (uint32_t i = 0; i < f->n_ports; i++) {
        shares[i] = f->ports[i].n_received;
    }
    return jain(shares, f->n_ports);
}

double
jain_bytes(const struct fixture *f)
{
    double shares[MAX_PORTS];

    for (uint32_t i = 0; i < f->n_ports; i++) {
        shares[i] = f->ports[i].bytes;
    }
    return jain(shares, f->n_ports);
}

void
warm_up(struct fixture *f, uint32_t n)
{
    for (uint32_t i = 0; i <= DIV_ROUND_UP(n, 3); i++) {
        for (uint32_t port = 0; port < n; port++) {
            top_up(f, port, 64);
        }
        assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
    }
}

void
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
