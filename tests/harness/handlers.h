/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_HANDLERS_H
#define HARNESS_HANDLERS_H 1

/* Handler threads
 * ===============
 *
 * Threads that do what Open vSwitch's handler threads do: receive until
 * EAGAIN, process what they got, wait with poll_block() for more upcalls or
 * for the latch that ends them. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "latch.h"
#include "ovs-atomic.h"
#include "upcall/upcall-table.h"

#define UNIT_MAX_HANDLERS 16

/* Called in a handler's thread with the 'n' upcalls of a batch that has
 * ended. */
typedef void unit_process_func(uint32_t handler, const struct upcall_view[],
                               size_t n, void *aux);

struct unit_handler {
    struct unit_handlers *all;
    uint32_t id;
    pthread_t thread;
    atomic_count tid;           /* The kernel's thread id. */
};

struct unit_handlers {
    struct upcall_table *table;
    unit_process_func *process;
    void *aux;
    struct latch exit;
    uint32_t n;
    struct unit_handler handlers[UNIT_MAX_HANDLERS];
};

/* Starts 'n' threads for the handlers from 0 to 'n' - 1 of 'table'. */
void unit_handlers_start(struct unit_handlers *, struct upcall_table *,
                         uint32_t n, unit_process_func *, void *aux);

/* Ends them, between batches, and waits until they are gone. */
void unit_handlers_stop(struct unit_handlers *);

/* True if thread 'handler' is blocked inside epoll_wait(). */
bool unit_handler_is_in_epoll_wait(const struct unit_handlers *,
                                   uint32_t handler);

/* How often thread 'handler' has gone to sleep so far. */
uint64_t unit_handler_n_sleeps(const struct unit_handlers *, uint32_t handler);

/* True if all of them are blocked inside epoll_wait(). */
bool unit_handlers_are_in_epoll_wait(const struct unit_handlers *);

#endif /* tests/harness/handlers.h */
