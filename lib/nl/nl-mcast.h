/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NL_MCAST_H
#define KDP_NL_MCAST_H 1

/* Sockets of netlink multicasts
 * =============================
 *
 * A "struct nl_mcast" receives what the kernel announces to multicast groups
 * of one netlink protocol: changes of links, addresses and routes, of the
 * ports of a datapath, and the like.  It has all that listeners have in
 * common: the size of the receive buffer, a filter in the kernel, messages of
 * any size, namespaces, the loop that receives, and what follows a loss.
 *
 * Life cycle: nl_mcast_open(), nl_mcast_close().  The filter and the size of
 * the receive buffer are set before the first group is joined, so that no
 * unwanted message waits on the socket.
 *
 * Filter: a multicast group may bring messages that its member does not need.
 * The group of traffic control, for example, announces every offloaded rule.
 * The filter drops messages of other types in the kernel, before they take
 * room in the receive buffer.  A datagram has messages of one kind, so the
 * type of the first one decides.
 *
 * Namespaces: a socket that listens to all namespaces
 * (nl_mcast_listen_all_nsid()) passes on the id of the namespace that each
 * message came from.  That may be an id that our own namespace has for itself.
 *
 * Thread safety: one thread at a time.
 *
 * Loss: nl_mcast_recv() returns ENOBUFS when the receive buffer was full, and
 * EMSGSIZE when a datagram was cut short (the buffer is enlarged for the next
 * one).  After ENOBUFS the kernel queues nothing, and does not report what it
 * drops, until nl_mcast_recv_all() or nl_mcast_drain() has seen the socket
 * empty; the latter discards waiting messages.  Then the listener has to
 * request the state again. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nl/nl-conn.h"

struct nl_mcast;
struct nlmsghdr;

struct nl_mcast_options {
    const unsigned int *groups; /* To join, 'n_groups' of them. */
    size_t n_groups;
    const uint16_t *types;      /* Of messages to receive, 'n_types' of them;
                                 * 0 for all. */
    size_t n_types;
    int rcvbuf;                 /* Bytes of the receive buffer, or the system's
                                 * limit if the process may not exceed that; 0
                                 * for the system's default. */
};

struct nl_mcast_stats {
    uint64_t overruns;          /* Times that the kernel said ENOBUFS. */
    uint64_t lost;              /* Messages that it did not queue. */
    uint64_t truncated;         /* Datagrams that were cut short. */
    uint64_t drained;           /* Datagrams thrown away after a loss. */
    uint64_t ignored_sender;    /* Not sent by the kernel. */
    uint64_t malformed;         /* Datagrams that do not end with a message. */
};

/* Called for each message, with the id of the namespace that it came from, or
 * NL_NSID_NONE: it came from our own, or the socket does not listen to
 * others. */
typedef void nl_mcast_func(const struct nlmsghdr *, int32_t nsid, void *aux);

/* Opens a socket of netlink protocol 'protocol'.  Returns 0 and stores the
 * socket in '*mcastp', or returns a positive errno value and stores NULL. */
int nl_mcast_open(int protocol, const struct nl_mcast_options *,
                  struct nl_mcast **mcastp);

/* Closes 'mcast', which may be NULL. */
void nl_mcast_close(struct nl_mcast *mcast);

/* Joins or leaves 'group', according to 'member'.  Returns 0 or a positive
 * errno value, EINVAL if the kernel does not have the group. */
int nl_mcast_set_member(struct nl_mcast *, unsigned int group, bool member);

/* Also receives from the network namespaces that have an id in ours.  Returns
 * 0, or a positive errno value if that is not permitted. */
int nl_mcast_listen_all_nsid(struct nl_mcast *);

/* The most types that a filter lets pass. */
#define NL_FILTER_MAX 32

/* Makes the kernel drop messages to socket 'fd' unless their type is one of
 * the 'n' in 'types', at most NL_FILTER_MAX.  Returns 0 or a positive errno
 * value.  For nl_mcast_open(), and for tests. */
int nl_filter_attach(int fd, const uint16_t types[], size_t n);

/* File descriptor to poll for POLLIN. */
int nl_mcast_fd(const struct nl_mcast *);

/* The most datagrams that the receive buffer holds. */
unsigned int nl_mcast_capacity(const struct nl_mcast *);

/* Receives a datagram, if there is one, and passes its messages to 'cb'.  It
 * does not block.  Returns 0, EAGAIN if there is none, ENOBUFS or EMSGSIZE if
 * something was lost, or another positive errno value. */
int nl_mcast_recv(struct nl_mcast *, nl_mcast_func *cb, void *aux);

/* Receives datagrams until there are none or something was lost, at most
 * '*budget', and subtracts their number from '*budget'.  Returns EAGAIN once
 * the socket was seen empty, 0 if the budget ran out before, or the error of
 * nl_mcast_recv(). */
int nl_mcast_recv_all(struct nl_mcast *, unsigned int *budget,
                      nl_mcast_func *cb, void *aux);

/* Throws away waiting datagrams, at most '*budget'.  Returns true once the
 * socket was seen empty.  After an overrun the waiting datagrams are older
 * than the loss, and no more are added. */
bool nl_mcast_drain(struct nl_mcast *, unsigned int *budget);

/* Stores the number of waiting bytes and the size of the receive buffer, as
 * the kernel counts them; zeros if it does not report them. */
void nl_mcast_get_backlog(const struct nl_mcast *, uint32_t *backlog,
                          uint32_t *rcvbuf);

void nl_mcast_get_stats(const struct nl_mcast *, struct nl_mcast_stats *);

#endif /* lib/nl/nl-mcast.h */
