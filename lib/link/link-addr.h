/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_ADDR_H
#define KDP_LINK_ADDR_H 1

/* IP addresses of links
 * =====================
 *
 * The IPv4 and IPv6 addresses of the links of our own network namespace, by
 * interface index.  A writer, usually a listener (link-listener.h), enters
 * what the kernel says; readers get copies.
 *
 * Life cycle: addresses come and go with link_addrs_update(), and go with
 * their link (link_addrs_remove_link()).  To enter all addresses again, call
 * link_addrs_mark(), then link_addrs_update() for each, then
 * link_addrs_sweep().
 *
 * Thread safety: any thread may read.  Everything else belongs to the thread
 * that writes.  A mutex is held only while the addresses of one link are
 * copied.
 *
 * Loss: the table does not know what its writer missed. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link-msg.h"

struct link_addrs;

struct link_addrs *link_addrs_create(void);
void link_addrs_destroy(struct link_addrs *);

/* Adds, or removes if 'gone', the address that 'view' describes, unless it is
 * neither IPv4 nor IPv6.  Returns true if the table changed. */
bool link_addrs_update(struct link_addrs *, const struct link_addr_view *view,
                       bool gone);

/* Removes the addresses of link 'ifindex'. */
void link_addrs_remove_link(struct link_addrs *, int ifindex);

void link_addrs_mark(struct link_addrs *);
void link_addrs_sweep(struct link_addrs *);

/* Returns the number of addresses of link 'ifindex', and stores in '*addrs'
 * and '*masks' arrays of addresses and netmasks, which the caller frees, or
 * NULL if there are none.  IPv4 addresses come first, oldest first, then IPv6
 * addresses sorted by value, since the order in which the kernel lists them
 * differs from that in which it announces them.  IPv4 addresses and masks are
 * mapped to IPv6 (::ffff:0:0/96). */
size_t link_addrs_get(const struct link_addrs *, int ifindex,
                      struct in6_addr **addrs, struct in6_addr **masks);

size_t link_addrs_count(const struct link_addrs *);

/* Returns true and stores in '*ifindex' a link whose addresses have changed.
 * Returns each link once; returns false if no link is left. */
bool link_addrs_next_changed(struct link_addrs *, int *ifindex);

#endif /* lib/link/link-addr.h */
