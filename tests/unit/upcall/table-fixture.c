/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/upcall/table-fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "util.h"

int
table_setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    /* Whatever the library opens once for good is open after this. */
    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    f->sender = unit_sender_open();
    *state = f;
    return 0;
}

int
table_teardown(void **state)
{
    struct fixture *f = *state;

    upcall_table_destroy(f->table);
    close(f->sender);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

struct upcall_channel *
create_channel(void)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    return channel;
}

struct upcall_channel *
add_port(struct fixture *f, uint32_t port_no)
{
    struct upcall_channel *channel = create_channel();
    char name[32];

    snprintf(name, sizeof name, "port%u", port_no);
    assert_int_equal(upcall_table_add_queues(f->table, port_no, name, &channel,
                                             1), 0);
    return channel;
}

void
set_handlers(struct fixture *f, uint32_t n)
{
    assert_int_equal(upcall_table_set_handlers(f->table, n), 0);
    assert_int_equal(upcall_table_n_handlers(f->table), n);
}

void
send_to(struct fixture *f, uint32_t port_no, uint64_t seq)
{
    unit_send_upcall(f->sender, upcall_table_get_pid(f->table, port_no), seq);
}

size_t
recv_batch(struct fixture *f, uint32_t handler, struct upcall_view views[])
{
    size_t n = 0;

    for (;;) {
        struct upcall_view view;
        int error = upcall_table_recv(f->table, handler, &view);

        if (error) {
            assert_int_equal(error, EAGAIN);
            return n;
        }
        assert_true(n < UPCALL_BATCH);
        views[n++] = view;
    }
}

void
expect_batch(struct fixture *f, uint32_t handler, uint64_t first, size_t n)
{
    struct upcall_view views[UPCALL_BATCH];

    assert_int_equal(recv_batch(f, handler, views), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(unit_view_seq(&views[i]), first + i);
    }
}

void
expect_nothing(struct fixture *f, uint32_t handler)
{
    expect_batch(f, handler, 0, 0);
}

struct upcall_channel_stats
stats_of(struct fixture *f, uint32_t port_no)
{
    struct upcall_channel_stats stats;
    struct upcall_table_info info;
    bool found = false;

    upcall_table_get_info(f->table, &info);
    for (size_t i = 0; i < info.n_ports; i++) {
        if (info.ports[i].port_no == port_no) {
            stats = info.ports[i].stats;
            found = true;
        }
    }
    assert_true(found);
    upcall_table_info_uninit(&info);
    return stats;
}
