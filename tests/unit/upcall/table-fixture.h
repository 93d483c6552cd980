/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_UPCALL_TABLE_FIXTURE_H
#define UNIT_UPCALL_TABLE_FIXTURE_H 1

/* A table seen by one thread that plays all handlers, so that every
 * interleaving is the one that the test asks for.  Every test ends with the
 * question of whether all is closed. */

#include <stddef.h>
#include <stdint.h>

#include "upcall/upcall-table.h"

struct fixture {
    size_t n_fds;               /* Before everything else. */
    struct upcall_table *table;
    int sender;
};

int table_setup(void **state);
int table_teardown(void **state);
struct upcall_channel *create_channel(void);

/* Adds a port and returns its channel, which the table owns. */
struct upcall_channel *add_port(struct fixture *f, uint32_t port_no);
void set_handlers(struct fixture *f, uint32_t n);
void send_to(struct fixture *f, uint32_t port_no, uint64_t seq);

/* Receives one batch.  Returns the number of upcalls and stores their views in
 * 'views', which has room for UPCALL_BATCH. */
size_t recv_batch(struct fixture *f, uint32_t handler,
                  struct upcall_view views[]);

/* Receives the next batch of 'handler', which must be the 'n' upcalls with
 * the sequence numbers 'first' and up. */
void expect_batch(struct fixture *f, uint32_t handler, uint64_t first,
                  size_t n);
void expect_nothing(struct fixture *f, uint32_t handler);
struct upcall_channel_stats stats_of(struct fixture *f, uint32_t port_no);

#endif /* tests/unit/upcall/table-fixture.h */
