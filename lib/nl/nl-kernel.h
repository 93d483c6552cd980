/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NL_KERNEL_H
#define KDP_NL_KERNEL_H 1

/* Receiving from the kernel only
 * ==============================
 *
 * A process with CAP_NET_ADMIN in the network namespace can send a datagram
 * with any sequence number to any netlink socket, and so pretend to answer a
 * request.  Only the sender's address reveals that: the kernel's port id is 0,
 * and no process can bind a socket to that.
 *
 * Thread safety: any thread. */

#include <stddef.h>
#include <sys/types.h>

struct mnl_socket;

/* Does what mnl_socket_recvfrom() does, for datagrams from the kernel:
 * receives one into the 'size' bytes at 'buf' and returns its length, or -1
 * and an errno value, ENOSPC if it is longer.  Drops datagrams from other
 * senders, and counts them ("nl_not_kernel" of coverage/show). */
ssize_t nl_kernel_recv(const struct mnl_socket *, void *buf, size_t size);

#endif /* lib/nl/nl-kernel.h */
