/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_CLOSED_H
#define KDP_UPCALL_CLOSED_H 1

/* Whether a descriptor was closed
 * ===============================
 *
 * Private to lib/upcall.  A descriptor that is registered with epoll leaves
 * the epoll instance when it is closed, and its number may be that of another
 * one soon.  Who registered it and has not closed it itself cannot tell, but
 * by registering it again, a system call that fails nearly always.
 *
 * So the program's close(), dup2() and dup3() are replaced (it links with
 * --wrap=close and so on, as with --wrap=poll, see upcall-poll.h), and count
 * for descriptors that somebody watches:
 *
 *      upcall_closed_watch(fd) == what it returned before
 *              ==> 'fd' was not closed in between
 *
 * Numbers are counted modulo 64, so that the count may change for the sake of
 * another descriptor, which costs a call and does no harm.  The count is made
 * before the descriptor is closed: whoever is given its number by the kernel
 * afterwards sees the count.  A thread that watches a descriptor while another
 * thread closes it is in error, as with any other use of it.
 *
 * Thread safety: any thread, any time.
 *
 *      close()                        watch()
 *      -------                        -------
 *      read 'watched'                 set the bit in 'watched'
 *      add to the count
 *      the kernel closes              read the count
 *
 * 'watched' is written before the descriptor's first registration, and the
 * owner of the descriptor closes it when those who use it are done, for which
 * it synchronizes with them.  The kernel orders the number's release before
 * its next use.  So relaxed order is enough for both. */

#include <stdint.h>

/* Returns the count for 'fd', and has it counted from now on. */
uint64_t upcall_closed_watch(int fd);

/* What the linker replaces close() and its like by.  Same contracts as
 * close(2) and dup(2). */
int __wrap_close(int fd);
int __wrap_dup2(int old, int new);
int __wrap_dup3(int old, int new, int flags);

#endif /* lib/upcall/upcall-closed.h */
