/* SPDX-License-Identifier: Apache-2.0 */

/* U10: senders behind a tunnel, and ports that share a channel, are served as
 * ports of their own.  One thread plays the handlers. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <libmnl/libmnl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "harness/wait.h"
#include "odp-netlink.h"
#include "ovs-rcu.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-fq.h"
#include "util.h"

#define TUNNEL 1                /* Port number. */
#define FLOOD 0                 /* The sender that floods. */
#define MAX_SENDERS 64

/* Stands in for the memory of all fair queues together, unless it is 0. */
static uint64_t total;

struct fixture {
    size_t n_fds;
    struct upcall_table *table;
    int sender;
    uint32_t n_sent[MAX_SENDERS], next[MAX_SENDERS];
    uint64_t n_got[MAX_SENDERS];
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    total = 0;
    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    assert_int_equal(upcall_table_set_handlers(f->table, 1), 0);
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
    total = 0;
    assert_int_equal(upcall_fq_total_bytes(), 0);
    free(f);
    return 0;
}

static void
add(struct fixture *f, uint32_t port_no, enum upcall_senders senders)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    channel->senders = senders;
    assert_int_equal(upcall_table_add_queues(f->table, port_no, "port",
                                             &channel, 1), 0);
}

/* Sends 'n' upcalls of 'sender' to the channel of 'port_no'. */
static void
send_n(struct fixture *f, uint32_t port_no, uint32_t sender, uint32_t n)
{
    uint32_t pid = upcall_table_get_own_pid(f->table, port_no);
    char key[256] = { 0 }, zeros[UNIT_PACKET_MIN] = { 0 };
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(key);
    struct nlattr *tunnel = mnl_attr_nest_start(nlh, OVS_KEY_ATTR_TUNNEL);
    struct unit_msg msg;

    mnl_attr_put_u64(nlh, OVS_TUNNEL_KEY_ATTR_ID, 7);
    mnl_attr_put_u32(nlh, OVS_TUNNEL_KEY_ATTR_IPV4_SRC, sender);
    mnl_attr_nest_end(nlh, tunnel);
    mnl_attr_put_u32(nlh, OVS_KEY_ATTR_IN_PORT, sender);

    unit_msg_init(&msg, UNIT_FAMILY, OVS_PACKET_CMD_MISS, UNIT_DP_IFINDEX);
    unit_msg_put(&msg, OVS_PACKET_ATTR_KEY, mnl_nlmsg_get_payload(nlh),
                 mnl_nlmsg_get_payload_len(nlh));
    msg.packet_ofs = msg.len + MNL_ATTR_HDRLEN;
    unit_msg_put(&msg, OVS_PACKET_ATTR_PACKET, zeros, sizeof zeros);
    for (uint32_t i = 0; i < n; i++) {
        unit_msg_set_seq(&msg, (uint64_t) sender << 32 | f->n_sent[sender]++);
        assert_int_equal(unit_send(f->sender, pid, msg.buf, msg.len), 0);
    }
    unit_msg_uninit(&msg);
}

/* Receives a batch with 'handler'.  The upcalls of each sender come in their
 * order.  Returns their number, and stores the senders in 'order' unless it is
 * null. */
static size_t
recv_batch(struct fixture *f, uint32_t handler, uint32_t order[UPCALL_BATCH])
{
    struct upcall_view view;
    size_t n = 0;

    while (!upcall_table_recv(f->table, handler, &view)) {
        uint64_t seq = unit_view_seq(&view);
        uint32_t sender = seq >> 32;

        assert_true((uint32_t) seq >= f->next[sender]);
        f->next[sender] = seq + 1;
        f->n_got[sender]++;
        if (order) {
            order[n] = sender;
        }
        n++;
    }
    return n;
}

static size_t
recv_all(struct fixture *f)
{
    size_t n = 0, n_batch;

    while ((n_batch = recv_batch(f, 0, NULL))) {
        n += n_batch;
    }
    return n;
}

static struct upcall_channel_stats
stats_of(struct fixture *f, uint32_t port_no)
{
    struct upcall_channel_stats stats;

    assert_true(upcall_table_get_stats(f->table, port_no, &stats));
    return stats;
}

static void
check_quiet_sender(struct fixture *f, uint32_t port_no)
{
    uint32_t order[UPCALL_BATCH];

    send_n(f, port_no, FLOOD, 800);
    assert_true(recv_batch(f, 0, NULL) > 0);
    for (uint32_t i = 1; i <= 5; i++) {
        send_n(f, port_no, i, 1);
        assert_true(recv_batch(f, 0, order) > 0);
        /* Except for the rest of a turn. */
        assert_true(memchr(order, i, (UPCALL_FQ_QUANTUM + 1) * sizeof *order));
        assert_int_equal(f->n_got[i], 1);
    }
    recv_all(f);
    assert_int_equal(f->n_got[FLOOD], 800);
    assert_int_equal(stats_of(f, port_no).received, 805);
    assert_int_equal(stats_of(f, port_no).shed, 0);
    assert_int_equal(stats_of(f, port_no).backlog, 0);
}

static void
quiet_sender_behind_a_tunnel_does_not_wait(void **state)
{
    struct fixture *f = *state;

    add(f, TUNNEL, UPCALL_SENDERS_UNKNOWN);
    send_n(f, TUNNEL, 10, 1);
    assert_int_equal(recv_all(f), 1);
    upcall_table_reset_stats(f->table);
    check_quiet_sender(f, TUNNEL);
}

static void
quiet_port_of_the_shared_channel_does_not_wait(void **state)
{
    add(*state, UPCALL_PORT_SHARED, UPCALL_SENDERS_ONE);
    check_quiet_sender(*state, UPCALL_PORT_SHARED);
}

/* What quiet senders sent is in a batch with a quantum of the one that floods,
 * and the socket is read before each batch. */
static void
quiet_senders_do_not_wait_for_a_full_batch(void **state)
{
    struct fixture *f = *state;
    uint32_t order[UPCALL_BATCH];

    add(f, TUNNEL, UPCALL_SENDERS_TUNNEL);
    send_n(f, TUNNEL, FLOOD, 600);
    assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 1; i <= 5; i++) {
            send_n(f, TUNNEL, i, 1);
        }
        assert_in_range(recv_batch(f, 0, order), 5, 5 + UPCALL_FQ_QUANTUM);
        for (uint32_t i = 1; i <= 5; i++) {
            assert_int_equal(f->n_got[i], round + 1);
        }
    }

    /* Batches are full again when nobody is quiet. */
    recv_batch(f, 0, NULL);
    assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
}

/* Ten ports with a channel each, and twenty senders behind a tunnel. */
static void
senders_get_the_share_of_a_port(void **state)
{
    enum { N_PORTS = 10, N_REMOTES = 20, N = N_PORTS + N_REMOTES };
    struct fixture *f = *state;
    double sum = 0, squares = 0;

    for (uint32_t i = 0; i < N_PORTS; i++) {
        add(f, 100 + i, UPCALL_SENDERS_ONE);
    }
    add(f, TUNNEL, UPCALL_SENDERS_TUNNEL);
    for (int i = 0; i < 600; i++) {
        if (i == 100) {
            memset(f->n_got, 0, sizeof f->n_got);
        }
        for (uint32_t j = 0; j < N; j++) {
            uint32_t n = f->n_sent[j] - f->next[j];

            send_n(f, j < N_PORTS ? 100 + j : TUNNEL, j, 40 - MIN(n, 40));
        }
        recv_batch(f, 0, NULL);
    }
    for (uint32_t i = 0; i < N; i++) {
        sum += f->n_got[i];
        squares += (double) f->n_got[i] * f->n_got[i];
    }
    print_message("Jain's index %.3f\n", sum * sum / (N * squares));
    assert_true(sum * sum / (N * squares) >= 0.95);
}

static void
flood_sheds_its_own_upcalls(void **state)
{
    struct fixture *f = *state;
    uint64_t n_lost = 0;

    add(f, TUNNEL, UPCALL_SENDERS_TUNNEL);
    for (int i = 0; i < 40; i++) {
        send_n(f, TUNNEL, FLOOD, 400);
        send_n(f, TUNNEL, 1 + i % 3, 2);
        recv_batch(f, 0, NULL);
    }
    recv_all(f);
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(f->n_got[i], f->n_sent[i]);
    }
    n_lost = f->n_sent[FLOOD] - f->n_got[FLOOD];
    assert_true(n_lost > 0);
    assert_int_equal(stats_of(f, TUNNEL).shed, n_lost);
    assert_int_equal(stats_of(f, TUNNEL).received,
                     f->n_got[FLOOD] + f->n_got[1] + f->n_got[2]
                     + f->n_got[3]);
}

/* What was read ahead waits for no event. */
static void
handlers_change_while_upcalls_are_read_ahead(void **state)
{
    struct fixture *f = *state;

    add(f, TUNNEL, UPCALL_SENDERS_TUNNEL);
    for (int i = 0; i < 30; i++) {
        uint64_t before = f->n_got[FLOOD];

        send_n(f, TUNNEL, FLOOD, 300);
        assert_true(recv_batch(f, 0, NULL) > 0);
        assert_true(stats_of(f, TUNNEL).backlog > 0);
        if (i % 3 == 0) {
            /* None for a while. */
            assert_int_equal(upcall_table_set_handlers(f->table, 0), 0);
            if (i % 2) {
                unit_rcu_barrier();
            }
        }
        assert_int_equal(upcall_table_set_handlers(f->table, 1 + i % 2), 0);
        for (int tries = 0; f->n_got[FLOOD] - before < 300; tries++) {
            assert_true(tries < 100);
            recv_batch(f, 0, NULL);
            recv_batch(f, 1, NULL);
            unit_rcu_barrier();
        }
    }
    assert_int_equal(stats_of(f, TUNNEL).backlog, 0);
}

static void
purge_and_removal_take_what_was_read_ahead(void **state)
{
    struct fixture *f = *state;

    add(f, TUNNEL, UPCALL_SENDERS_TUNNEL);
    send_n(f, TUNNEL, FLOOD, 300);
    assert_true(recv_batch(f, 0, NULL) > 0);
    upcall_table_purge(f->table);
    assert_int_equal(recv_batch(f, 0, NULL), 0);
    assert_int_equal(stats_of(f, TUNNEL).backlog, 0);
    send_n(f, TUNNEL, FLOOD, 5);
    assert_int_equal(recv_all(f), 5);

    send_n(f, TUNNEL, FLOOD, 300);
    assert_true(recv_batch(f, 0, NULL) > 0);
    upcall_table_del(f->table, TUNNEL);
    assert_int_equal(recv_batch(f, 0, NULL), 0);
    assert_int_equal(recv_batch(f, 0, NULL), 0);
    unit_rcu_barrier();
    assert_int_equal(upcall_fq_total_bytes(), 0);
}

uint64_t __wrap_upcall_fq_total_bytes(void);
uint64_t __real_upcall_fq_total_bytes(void);
uint64_t
__wrap_upcall_fq_total_bytes(void)
{
    return total ? total : __real_upcall_fq_total_bytes();
}

static void
nothing_more_is_read_ahead_when_all_take_too_much(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    uint64_t n_receives;
    size_t n;

    add(f, TUNNEL, UPCALL_SENDERS_TUNNEL);
    total = UPCALL_FQ_TOTAL_BYTES;

    /* A turn takes no more than it hands out. */
    send_n(f, TUNNEL, FLOOD, 100);
    n = recv_batch(f, 0, NULL);
    assert_in_range(n, 1, UPCALL_BATCH);
    assert_int_equal(__real_upcall_fq_total_bytes(), 0);
    assert_int_equal(recv_all(f), 100 - n);

    /* What is there already goes first. */
    total = 0;
    send_n(f, TUNNEL, FLOOD, 300);
    assert_true(recv_batch(f, 0, NULL) > 0);
    total = UPCALL_FQ_TOTAL_BYTES;
    upcall_table_get_info(f->table, &info);
    n_receives = info.handlers[0].receives;
    upcall_table_info_uninit(&info);
    assert_true(recv_batch(f, 0, NULL) > 0);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.handlers[0].receives, n_receives);
    upcall_table_info_uninit(&info);
    recv_all(f);
    assert_int_equal(f->n_got[FLOOD], 400);
}

/* What is sorted takes no room from the other reads of a call, however many
 * ports are quiet. */
static void
quiet_ports_are_read_with_a_quiet_tunnel(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    struct upcall_view view;

    add(f, TUNNEL, UPCALL_SENDERS_TUNNEL);
    add(f, 2, UPCALL_SENDERS_ONE);
    send_n(f, TUNNEL, 1, 2);
    send_n(f, 2, 2, 1);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    assert_int_equal(unit_view_seq(&view), UINT64_C(1) << 32);

    /* What comes now is too late for that read, and for the batch. */
    send_n(f, TUNNEL, 1, 1);
    send_n(f, 2, 2, 1);
    assert_int_equal(recv_batch(f, 0, NULL), 2);
    assert_int_equal(f->n_got[1], 1);
    assert_int_equal(f->n_got[2], 1);
    assert_int_equal(recv_batch(f, 0, NULL), 2);
    assert_int_equal(recv_batch(f, 0, NULL), 0);

    /* Each socket was read once for each batch. */
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.handlers[0].receives, 4);
    assert_int_equal(info.handlers[0].upcalls, 5);
    assert_int_equal(info.handlers[0].batches, 2);
    assert_int_equal(info.handlers[0].batch_sizes[1], 2);
    upcall_table_info_uninit(&info);
    assert_int_equal(stats_of(f, TUNNEL).received, 3);
    assert_int_equal(stats_of(f, 2).received, 2);
}

/* A turn takes up to 512 upcalls from the socket, in reads of a batch, so that
 * reading is no more work than serving. */
static void
turn_reads_ahead_no_more_than_its_bound(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    struct upcall_view view;
    uint64_t n_receives;

    /* It is in the run queue, and nearly nothing is left. */
    add(f, TUNNEL, UPCALL_SENDERS_TUNNEL);
    send_n(f, TUNNEL, FLOOD, 13 * UPCALL_BATCH);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
    }
    send_n(f, TUNNEL, FLOOD, 800);
    upcall_table_get_info(f->table, &info);
    n_receives = info.handlers[0].receives;
    upcall_table_info_uninit(&info);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.handlers[0].receives - n_receives,
                     DIV_ROUND_UP(512, UPCALL_BATCH));
    upcall_table_info_uninit(&info);
    assert_int_equal(recv_all(f), 800 + UPCALL_BATCH - 1);
    assert_int_equal(stats_of(f, TUNNEL).shed, 0);
}

/* A snapshot says who floods. */
static void
table_names_the_sender_that_floods(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    const struct upcall_port_info *port;

    add(f, TUNNEL, UPCALL_SENDERS_TUNNEL);
    add(f, 2, UPCALL_SENDERS_ONE);
    for (int i = 0; i < 40; i++) {
        send_n(f, TUNNEL, 5, 400);
        send_n(f, TUNNEL, 6, 1);
        send_n(f, 2, 7, 1);
        recv_batch(f, 0, NULL);
    }
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.n_ports, 2);
    assert_int_equal(info.ports[1].n_senders, 0);
    port = &info.ports[0];
    assert_false(port->senders_are_ports);
    assert_int_equal(port->n_senders, 2);
    for (size_t i = 0; i < port->n_senders; i++) {
        const struct upcall_sender_info *sender = &port->senders[i];
        uint32_t source;

        memcpy(&source, &sender->key.source[12], sizeof source);
        assert_int_equal(sender->key.id, 7);
        assert_int_equal(sender->received, f->n_got[source]);
        if (source == 5) {
            assert_int_equal(sender->shed, port->stats.shed);
            assert_true(sender->shed > 0 && sender->waiting > 0);
            assert_true(sender->rate > 40);
        } else {
            assert_int_equal(source, 6);
            assert_int_equal(sender->shed, 0);
        }
    }
    assert_int_equal(port->other_senders.received, 0);
    upcall_table_info_uninit(&info);

    upcall_table_reset_stats(f->table);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.ports[0].n_senders, 2);
    assert_int_equal(info.ports[0].senders[0].received, 0);
    assert_int_equal(info.ports[0].senders[1].received, 0);
    upcall_table_info_uninit(&info);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(quiet_sender_behind_a_tunnel_does_not_wait),
        TEST(quiet_port_of_the_shared_channel_does_not_wait),
        TEST(quiet_senders_do_not_wait_for_a_full_batch),
        TEST(senders_get_the_share_of_a_port),
        TEST(flood_sheds_its_own_upcalls),
        TEST(handlers_change_while_upcalls_are_read_ahead),
        TEST(purge_and_removal_take_what_was_read_ahead),
        TEST(nothing_more_is_read_ahead_when_all_take_too_much),
        TEST(quiet_ports_are_read_with_a_quiet_tunnel),
        TEST(turn_reads_ahead_no_more_than_its_bound),
        TEST(table_names_the_sender_that_floods),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("upcall-senders", tests, NULL, NULL);
}
