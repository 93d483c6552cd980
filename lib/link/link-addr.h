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
 * Life cycle: addresses come and go with link_addrs_update(), and with their
 * link (link_addrs_remove_link()).  To take all again: link_addrs_mark(), an
 * update for each that there is, link_addrs_sweep().
 *
 * Thread safety: any thread may read.  All else belongs to the thread that
 * writes.  A mutex is held for no longer than it takes to copy the addresses
 * of a link.
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

/* Enters, or removes if 'gone', the address that 'view' describes.  One that
 * is neither IPv4 nor IPv6 is ignored.  Returns true if that was a change. */
bool link_addrs_update(struct link_addrs *, const struct link_addr_view *view,
                       bool gone);

/* Removes the addresses of link 'ifindex'. */
void link_addrs_remove_link(struct link_addrs *, int ifindex);

void link_addrs_mark(struct link_addrs *);
void link_addrs_sweep(struct link_addrs *);

/* Returns the number of addresses of link 'ifindex' and stores them in
 * '*addrs' and their netmasks in '*masks', two arrays that the caller frees,
 * or NULL if there are none.  IPv4 addresses come first, the oldest before.
 * IPv6 addresses are in the order of their values, which is the same whether
 * they were listed or announced.  IPv4 addresses and masks are mapped to IPv6
 * (::ffff:0:0/96). */
size_t link_addrs_get(const struct link_addrs *, int ifindex,
                      struct in6_addr **addrs, struct in6_addr **masks);

size_t link_addrs_count(const struct link_addrs *);

/* Stores in '*ifindex' a link whose addresses have changed, each once, and
 * returns true; or returns false if there is none. */
bool link_addrs_next_changed(struct link_addrs *, int *ifindex);

/* Changes with every change. */
uint64_t link_addrs_seqno(const struct link_addrs *);

#endif /* lib/link/link-addr.h */
