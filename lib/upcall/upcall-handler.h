/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_HANDLER_H
#define KDP_UPCALL_HANDLER_H 1

/* Upcall handlers
 * ===============
 *
 * Private to lib/upcall.  A handler is what one handler thread needs: an epoll
 * instance that holds every channel, the channels that it owns, and buffers
 * for a batch of upcalls.
 *
 * A round goes like this: the events that epoll gave are edges; for each the
 * handler tries to become the channel's owner; those it gets go to the end of
 * the "backlog" list.  The handler serves that list round-robin, a quantum at
 * a time.  A channel that gave less than its quantum is empty and goes to the
 * "served" list, where it stays, owned, until the batch was processed.  At the
 * start of the next batch the handler lets go of the served channels, or reads
 * them again if an edge came meanwhile.
 *
 * A handler belongs to a set (upcall-table.c) with a generation number.  A set
 * is never changed, only replaced.  The handlers of a set share an eventfd that
 * wakes them when the set is retired.
 *
 * Thread safety: create, destroy, add and del belong to the control thread,
 * under the table's mutex; stats may be read by any thread; the rest belongs
 * to the handler's own thread.  References keep a handler alive while its
 * thread sleeps in it. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "upcall/upcall-table.h"

struct upcall_handler;

/* What wakes the handlers of a set.  Each of them has a reference, so that it
 * can still be woken when its set is gone. */
struct upcall_wake {
    struct ovs_refcount refcount;
    int fd;                     /* eventfd, readable for good once rung. */
};

int upcall_wake_create(struct upcall_wake **);
void upcall_wake_ring(struct upcall_wake *);
void upcall_wake_unref(struct upcall_wake *);

/* Finds the channel of an event: that of port 'port_no' whose serial number is
 * 'serial', or NULL if it is gone.  Valid until the next quiescent state. */
struct upcall_channel *upcall_table_lookup__(const struct upcall_table *,
                                             uint32_t port_no,
                                             uint32_t serial);

/* Tells whether 'generation' is the table's current one. */
bool upcall_table_is_current__(const struct upcall_table *,
                               uint32_t generation);

/* Counts messages that another datapath sent. */
void upcall_table_count_foreign__(struct upcall_table *);

/* Creates handler 'index' of generation 'generation', which 'wake' wakes.
 * Returns 0 or a positive errno value. */
int upcall_handler_create(struct upcall_table *, uint32_t index,
                          uint32_t generation, struct upcall_wake *wake,
                          struct upcall_handler **);
void upcall_handler_ref(struct upcall_handler *);
void upcall_handler_unref(struct upcall_handler *);

/* Adds 'channel' to the handler's epoll instance.  If its socket is readable
 * that is an edge.  Returns 0 or a positive errno value. */
int upcall_handler_add(struct upcall_handler *, const struct upcall_channel *);
void upcall_handler_del(struct upcall_handler *,
                        const struct upcall_channel *);

int upcall_handler_recv(struct upcall_handler *, uint16_t packet_family,
                        int dp_ifindex, const char *dp_name,
                        struct upcall_view *);

/* Number of upcalls taken from sockets and not handed out. */
unsigned int upcall_handler_n_pending(const struct upcall_handler *);

/* True if upcall_handler_recv() should be called without waiting. */
bool upcall_handler_is_ready(const struct upcall_handler *);

int upcall_handler_epoll_fd(const struct upcall_handler *);

/* Waits at most 'timeout' milliseconds (-1 for ever) for an event on the
 * handler's epoll instance and keeps what came for the next receive.  Events
 * of file descriptors that are not channels, which the caller added with
 * 'data.u64' as UPCALL_EVENT_OTHER and the descriptor in its low 32 bits, are
 * stored in 'others', at most 'max_others'.
 *
 * Returns the number of events of either sort (0 after a time-out) or a
 * negative errno value. */
int upcall_handler_epoll_wait(struct upcall_handler *, int timeout,
                              int others[], size_t max_others,
                              size_t *n_others);

/* Marks of event data: the high 32 bits of a channel's are its serial number,
 * which never has these values. */
#define UPCALL_EVENT_OTHER (UINT64_C(0xffffffff) << 32)
#define UPCALL_EVENT_WAKE (UINT64_C(0xfffffffe) << 32)
#define UPCALL_EVENT_MASK (UINT64_C(0xffffffff) << 32)

void upcall_handler_get_stats(const struct upcall_handler *,
                              struct upcall_handler_stats *);

#endif /* lib/upcall/upcall-handler.h */
