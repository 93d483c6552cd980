/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_GRACE_H
#define KDP_UPCALL_GRACE_H 1

/* Waits for an RCU grace period of the kernel, some 10 ms as a rule.
 *
 * The kernel forwards a packet, looks up the socket for its upcall and queues
 * the upcall in one RCU read-side critical section.  So after a grace period no
 * packet is under way that met a flow which has been deleted, and none that
 * sends an upcall to a socket which has been replaced.
 *
 * membarrier(MEMBARRIER_CMD_GLOBAL) waits for a grace period (Linux 4.3).  With
 * one CPU it returns at once.  There a packet is never half-way while a process
 * runs, except with PREEMPT_RT.  The kernel refuses the call where CPUs have no
 * tick, and a filter of system calls may.  Then this closes a packet socket,
 * which waits in the same way, as packets may be on their way to it.  It needs
 * CAP_NET_RAW.
 *
 * Returns 0, or a positive errno value if neither is possible.
 *
 * Thread safety: any thread that may block. */

int upcall_grace_wait(void);

#endif /* lib/upcall/upcall-grace.h */
