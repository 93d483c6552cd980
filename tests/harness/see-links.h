/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_SEE_LINKS_H
#define HARNESS_SEE_LINKS_H 1

/* Callbacks for nl_conn_transact() and nl_mcast_recv() that record messages
 * about links. */

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

/* What a callback has seen. */
struct unit_seen {
    size_t n;                   /* Messages. */
    size_t n_lo;                /* Of these, about the loopback device. */
    uint16_t type;              /* Of the last one. */
    uint32_t mtu;               /* In the last one. */
    int error;                  /* What unit_see_link() returns. */
    int32_t nsid;               /* Namespace of the last one. */
};

int unit_see_link(const struct nlmsghdr *, void *seen);
void unit_see_event(const struct nlmsghdr *, int32_t nsid, void *seen);

#endif /* tests/harness/see-links.h */
