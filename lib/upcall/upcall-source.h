/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SOURCE_H
#define KDP_UPCALL_SOURCE_H 1

/* Permitted senders of upcalls
 * ============================
 *
 * Private to lib/upcall.  Any process with CAP_NET_ADMIN in the network
 * namespace can send to a netlink socket whose port id it knows or guesses.
 * The content of an upcall leads to flows and packets, so handlers accept only
 * upcalls from the kernel.
 *
 * This is a file of its own because tests play the kernel's part: they define
 * the function differently, and the linker takes their definition.
 *
 * Thread safety: no state. */

#include <stdbool.h>
#include <stdint.h>

/* True if netlink port id 'pid' is the kernel's. */
bool upcall_source_is_kernel(uint32_t pid);

#endif /* lib/upcall/upcall-source.h */
