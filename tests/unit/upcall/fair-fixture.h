/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_UPCALL_FAIR_FIXTURE_H
#define UNIT_UPCALL_FAIR_FIXTURE_H 1

/* Whose turn it is: one thread plays all handlers of a table.  Some ports of
 * the table have a standing backlog. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upcall/upcall-table.h"

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

int fair_setup(void **state);
int fair_teardown(void **state);

/* Makes the table one of 'n_handlers' handlers and 'n_ports' ports. */
void prepare(struct fixture *f, uint32_t n_handlers, uint32_t n_ports);
size_t n_waiting(const struct port *port);

/* Sends upcalls to port 'port_no' until 'n' wait, or no more fit. */
void fill(struct fixture *f, uint32_t port_no, size_t n);

/* The same, and checks that more than a turn fits. */
void top_up(struct fixture *f, uint32_t port_no, size_t n);
void top_up_all(struct fixture *f, size_t n);

/* Receives one upcall with 'handler', which must be the next one of its port,
 * whose upcalls no other handler has.  Returns the port number, or UINT32_MAX
 * if the batch has ended. */
uint32_t recv_one(struct fixture *f, uint32_t handler);

/* Receives a batch with 'handler'.  Returns the number of upcalls, and stores
 * the ports that they came from in 'order' if it is not null. */
size_t recv_batch(struct fixture *f, uint32_t handler,
                  uint32_t order[UPCALL_BATCH]);

/* Receives with all handlers in turn until there is nothing. */
void recv_all(struct fixture *f);

/* Jain's index of fairness of 'n' shares: 1 if all are equal, 1/n if one has
 * all. */
double jain(const double shares[], size_t n);
double jain_upcalls(const struct fixture *f);
double jain_bytes(const struct fixture *f);

/* Gives the first 'n' ports, which are new, a backlog, and receives until each
 * had a turn as a new one. */
void warm_up(struct fixture *f, uint32_t n);

/* Checks that the 'n' upcalls of port 'quiet' come first in the batch whose
 * ports are in 'order', except the rests of turns that the batch before had
 * no room for. */
void check_is_first(const struct fixture *f,
                    const uint32_t order[UPCALL_BATCH], uint32_t quiet,
                    size_t n);

#endif /* tests/unit/upcall/fair-fixture.h */
