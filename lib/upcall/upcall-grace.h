/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_GRACE_H
#define KDP_UPCALL_GRACE_H 1

/* Waits for an RCU grace period of the kernel, usually about 10 ms.
 *
 * The kernel forwards a packet, looks up the socket for its upcall and queues
 * the upcall in one RCU read-side critical section.  So after a grace period
 * the kernel has finished all packets that matched a flow deleted before it,
 * and all upcalls to a socket replaced before it.
 *
 * membarrier(MEMBARRIER_CMD_GLOBAL) waits for a grace period (Linux 4.3).  On
 * a machine with one CPU the call returns at once.  That is safe, because no
 * packet is half-way while a process runs there, except with PREEMPT_RT.  The
 * kernel refuses the call if CPUs have no tick, and a system call filter may
 * refuse it, too.  Then this function closes a packet socket, for which the
 * kernel waits in the same way, because packets may be on their way to the
 * socket.  That needs CAP_NET_RAW.
 *
 * Returns 0, or a positive errno value if neither is possible.
 *
 * Thread safety: any thread that may block. */

int upcall_grace_wait(void);

#endif /* lib/upcall/upcall-grace.h */
