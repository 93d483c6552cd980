/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_RCVBUF_H
#define KDP_UPCALL_RCVBUF_H 1

/* Receive buffers of channels
 * ===========================
 *
 * Private to lib/upcall.  The receive buffer of a channel has to hold what
 * arrives at one port while every handler is busy.  The kernel allocates its
 * memory as upcalls arrive, so a quiet port takes none.  But a flood of all
 * ports fills all buffers, and thousands of buffers would take as much memory
 * as the machine has.  So all buffers share a budget.
 *
 * All ports have buffers of the same size: the largest power of two, from
 * UPCALL_RCVBUF_MIN to UPCALL_RCVBUF_MAX, with which all buffers together stay
 * within the budget.  The size stays until the number of ports has changed by
 * a quarter, so that adding or deleting a port does not resize the buffers of
 * all others each time.  Channels that belong to no port have buffers of the
 * largest size, which are taken off the budget first.
 *
 * A port that sends more than its share temporarily has a smaller buffer
 * (upcall-shed.h).
 *
 * Sizes are arguments of setsockopt().  The kernel doubles them for its own
 * overhead, and the budget counts the doubled size.
 *
 * Thread safety: no state. */

#include <stddef.h>
#include <stdint.h>

/* Largest size: with about 1 kB of kernel memory for the upcall of a small
 * packet, room for two thousand of them, some tens of milliseconds of work for
 * a handler.  With more room, the packets of a port that sends too many would
 * wait longer and still be lost.  Stock Open vSwitch gives its netlink sockets
 * the same size. */
#define UPCALL_RCVBUF_MAX (1024 * 1024)

/* Smallest size: room for a hundred small packets, some quanta
 * (upcall-turn.h), or one of 64 kB.  If the budget has no room for all ports
 * at this size, the buffers exceed the budget, and the log says so. */
#define UPCALL_RCVBUF_MIN (64 * 1024)

/* Returns the size for each of 'n_ports' channels of ports, when there are
 * also 'n_others' other channels and the budget is 'max' bytes.  'size' is the
 * size until now, or 0 if there was none. */
uint32_t upcall_rcvbuf_choose(uint64_t max, size_t n_ports, size_t n_others,
                              uint32_t size);

/* Returns how many bytes all of these buffers take when they are full. */
uint64_t upcall_rcvbuf_total(size_t n_ports, size_t n_others, uint32_t size);

/* Sets the receive buffer of socket 'fd' to 'size'.  If the process may not
 * exceed net.core.rmem_max, the buffer gets as large as this sysctl allows,
 * with a warning. */
void upcall_rcvbuf_set(int fd, uint32_t size);

/* The same without a warning, for a buffer that changes often. */
void upcall_rcvbuf_change(int fd, uint32_t size);

/* Number of sockets so far whose receive buffer is smaller than requested.
 * Any thread. */
unsigned int upcall_rcvbuf_n_clamped(void);

#endif /* lib/upcall/upcall-rcvbuf.h */
