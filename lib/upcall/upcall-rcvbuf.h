/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_RCVBUF_H
#define KDP_UPCALL_RCVBUF_H 1

/* Receive buffers of channels
 * ===========================
 *
 * Private to lib/upcall.  The receive buffer of a channel has to hold what
 * arrives at one port while every handler is busy.  The kernel takes its
 * memory as upcalls come, so that a port which is quiet takes none.  But a
 * flood of all ports fills all buffers, and thousands of them would take as
 * much memory as the machine has.  So there is a budget for all of them
 * together.
 *
 * All ports have buffers of the same size: the largest power of two, from
 * UPCALL_RCVBUF_MIN to UPCALL_RCVBUF_MAX, with which the buffers of all stay
 * within the budget.  A size holds until the number of ports has changed by a
 * quarter, so that ports that come and go do not have the buffers of all
 * others set each time.  Channels that belong to no port have buffers of the
 * largest size, which are taken off the budget first.
 *
 * A port that sends more than its share has a smaller one for the time being
 * (upcall-shed.h).
 *
 * Sizes are what setsockopt() is given.  The kernel makes twice as much of it,
 * for its own overhead, and that is what the budget counts.
 *
 * Thread safety: no state. */

#include <stddef.h>
#include <stdint.h>

/* Largest size: with about 1 kB of kernel memory for the upcall of a small
 * packet, room for two thousand of them, some tens of milliseconds of work for
 * a handler.  More would make the packets of a port that sends too many wait
 * longer without saving them.  It is what stock Open vSwitch gives its netlink
 * sockets. */
#define UPCALL_RCVBUF_MAX (1024 * 1024)

/* Smallest size: room for a hundred small packets, some quanta
 * (upcall-turn.h), or one of 64 kB.  With more ports than the budget has room
 * for at this size, it is exceeded, and the log says so. */
#define UPCALL_RCVBUF_MIN (64 * 1024)

/* Returns the size for each of 'n_ports' channels of ports, beside which there
 * are 'n_others', with a budget of 'max' bytes, when it was 'size' until now,
 * 0 if there was none. */
uint32_t upcall_rcvbuf_choose(uint64_t max, size_t n_ports, size_t n_others,
                              uint32_t size);

/* Returns what all of these take when they are full, in bytes. */
uint64_t upcall_rcvbuf_total(size_t n_ports, size_t n_others, uint32_t size);

/* Gives socket 'fd' a buffer of 'size', beyond net.core.rmem_max where the
 * process may, and as large as that sysctl allows elsewhere, with a warning.
 */
void upcall_rcvbuf_set(int fd, uint32_t size);

/* The same, without a word, for a buffer that changes all the time. */
void upcall_rcvbuf_change(int fd, uint32_t size);

/* Number of sockets so far whose receive buffer is smaller than was asked for.
 * Any thread. */
unsigned int upcall_rcvbuf_n_clamped(void);

#endif /* lib/upcall/upcall-rcvbuf.h */
