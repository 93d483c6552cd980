/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_FD_LIMIT_H
#define KDP_UPCALL_FD_LIMIT_H 1

/* File descriptors for channels.
 *
 * Each port takes a socket and each handler an epoll instance, so a hypervisor
 * with thousands of ports needs more file descriptors than the usual soft
 * limit of 1,024.  A process may raise its soft limit; the administrator sets
 * the hard limit.  If the hard limit is too low, a message says so before the
 * descriptors run out.
 *
 * This module counts now and then what the process has open besides channels
 * and sockets of a previous run, which are to become channels, and adds a
 * reserve for descriptors opened before the next count.  The count comes from
 * /proc/self/fd or, if that cannot be opened, from a check of each descriptor
 * that the soft limit allows.
 *
 * Thread safety: any thread. */

#include <stddef.h>
#include <stdint.h>

/* Makes sure that the soft limit on open files admits 'n_channels' channels
 * and 'n_handlers' handlers in addition to the process's other descriptors,
 * and raises it as far as the hard limit allows.  'name' is the datapath, for
 * messages.  Returns 0, or EMFILE if the hard limit is too low. */
int upcall_fd_limit_ensure(const char *name, size_t n_channels,
                           size_t n_handlers);

/* Says that 'n' of the open descriptors are sockets of a previous run that are
 * not channels yet.  Most of them become channels, and the store closes the
 * rest soon (upcall-store.h).  So the hard limit needs no room for them in
 * addition to channels, but the soft limit has it. */
void upcall_fd_limit_set_found(size_t n);

/* The most channels that the hard limit on open files has room for in addition
 * to other descriptors; SIZE_MAX if there is no limit. */
size_t upcall_fd_limit_max_channels(void);

#endif /* lib/upcall/upcall-fd-limit.h */
