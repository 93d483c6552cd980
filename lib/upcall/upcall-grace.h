/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_GRACE_H
#define KDP_UPCALL_GRACE_H 1

/* Private to lib/upcall.  Waits until the kernel sends no more upcalls to the
 * sockets that a port had before the kernel was told of others.
 *
 * The kernel looks up the socket and queues the upcall in one RCU read-side
 * critical section.  So the old sockets get nothing more from the port when an
 * RCU grace period has passed.  membarrier(MEMBARRIER_CMD_GLOBAL) waits for
 * one (Linux 4.3), some 10 ms as a rule.  On a machine with one processor it
 * returns at once, which is as good: packets are processed with bottom halves
 * disabled there, not while a process runs.
 *
 * Without that call (a filter of system calls, or processors in nohz_full
 * mode), this waits for UPCALL_GRACE_MSEC.
 *
 * Thread safety: any thread that may block. */

/* A hundred times the usual grace period. */
#define UPCALL_GRACE_MSEC 1000

void upcall_grace_wait(void);

#endif /* lib/upcall/upcall-grace.h */
