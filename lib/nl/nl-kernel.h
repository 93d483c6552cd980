/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NL_KERNEL_H
#define KDP_NL_KERNEL_H 1

/* Receiving from the kernel alone
 * ===============================
 *
 * A process with CAP_NET_ADMIN in the network namespace can send a datagram to
 * any netlink socket, with any sequence number in it, and so pretend to answer
 * a request.  Only the address of the sender tells the difference: the port id
 * of the kernel is 0, and no process can bind a socket to that.
 *
 * Thread safety: any thread. */

#include <stddef.h>
#include <sys/types.h>

struct mnl_socket;

/* Does what mnl_socket_recvfrom() does, for datagrams of the kernel: receives
 * one into the 'size' bytes at 'buf' and returns its length, or -1 and an
 * errno value, ENOSPC if it is longer.  Drops datagrams of others, and counts
 * them ("nl_not_kernel" of coverage/show). */
ssize_t nl_kernel_recv(const struct mnl_socket *, void *buf, size_t size);

#endif /* lib/nl/nl-kernel.h */
