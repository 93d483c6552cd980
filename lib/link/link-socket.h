/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_SOCKET_H
#define KDP_LINK_SOCKET_H 1

/* Socket of rtnetlink events
 * ==========================
 *
 * Receives the events of the groups that it was opened for, from our own
 * network namespace and, as far as the kernel permits, from those that have an
 * id in it.  A filter in the kernel drops messages of types that nobody asked
 * for.
 *
 * Life cycle: link_socket_open(), link_socket_close().
 *
 * Thread safety: one thread.
 *
 * Loss: link_socket_receive() returns ENOBUFS when the receive buffer was
 * full, and EMSGSIZE when a datagram was cut short (the buffer for the next
 * one is made large enough).  After ENOBUFS the kernel queues nothing, and
 * does not report what it drops, until the socket was seen empty: see
 * link_socket_drain(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link-stats.h"

struct link_socket;
struct nlmsghdr;

/* Called for each message, with the id of the namespace that it is tagged
 * with, or LINK_NSID_NONE. */
typedef void link_socket_func(const struct nlmsghdr *, int32_t tag, void *aux);

/* Opens a socket that is a member of the 'n' multicast groups 'groups', with a
 * receive buffer of 'rcvbuf' bytes or, without the privilege for that, of the
 * system's limit.  Listens to other namespaces if 'all_nsid'.  'stats', in
 * which it counts, has to live as long.  Returns 0 and stores the socket in
 * '*sockp', or returns a positive errno value. */
int link_socket_open(const unsigned int groups[], size_t n, int rcvbuf,
                     bool all_nsid, struct link_listener_stats *stats,
                     struct link_socket **sockp);

/* Makes the socket a member of 'group', or ends that, according to 'member'.
 * Returns 0 or a positive errno value. */
int link_socket_set_member(struct link_socket *, unsigned int group,
                           bool member);

/* Closes 'sock', which may be NULL. */
void link_socket_close(struct link_socket *sock);

/* File descriptor to poll for POLLIN. */
int link_socket_fd(const struct link_socket *);

/* True if it listens to other namespaces. */
bool link_socket_has_all_nsid(const struct link_socket *);

/* The most datagrams that the receive buffer holds. */
int link_socket_capacity(const struct link_socket *);

/* Stores how many bytes wait, and for how many there is room, as the kernel
 * counts them; zeros if it does not say. */
void link_socket_get_backlog(const struct link_socket *, uint32_t *backlog,
                             uint32_t *rcvbuf);

/* Messages that the kernel did not queue, for want of room. */
uint64_t link_socket_lost(const struct link_socket *);

/* Stores how many bytes wait, and for how many there is room, as the kernel
 * counts them; zeros if it does not say. */
void link_socket_get_backlog(const struct link_socket *, uint32_t *backlog,
                             uint32_t *rcvbuf);

/* Receives a datagram, if there is one, and passes its messages to 'cb'.
 * Returns 0, EAGAIN if there is none, ENOBUFS or EMSGSIZE if something was
 * lost, or another positive errno value. */
int link_socket_receive(struct link_socket *, link_socket_func *cb, void *aux);

/* Throws away what waits on the socket, '*budget' datagrams at most.  Returns
 * true once the socket was seen empty.  What waits there after an overrun is
 * older than the loss, and there is an end to it. */
bool link_socket_drain(struct link_socket *, unsigned int *budget);

#endif /* lib/link/link-socket.h */
