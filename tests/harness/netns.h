/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_NETNS_H
#define HARNESS_NETNS_H 1

/* Network namespaces and links, for unit tests
 * ============================================
 *
 * Network namespaces that the test creates and changes over netlink
 * connections opened in them, and the comparison of a link table with the
 * kernel's state.  The comparison parses the kernel's answers itself, not with
 * the parser under test.
 *
 * Operations return 0 or the kernel's positive errno value. */

#include <stdbool.h>
#include <stdint.h>

#include "link/link-table.h"
#include "harness/unit.h"

struct unit_ns {
    int fd;                     /* Of the namespace. */
    struct nl_conn *conn;
};

/* The namespace of the calling thread. */
struct unit_ns *unit_ns_own(void);

/* Creates a namespace. */
struct unit_ns *unit_ns_create(void);

/* Frees 'ns', which may be NULL.  The kernel destroys a created namespace some
 * time later. */
void unit_ns_destroy(struct unit_ns *ns);

/* Gives 'of' the id 'nsid' in 'in'; returns that id, or LINK_NSID_NONE. */
int unit_ns_set_nsid(struct unit_ns *in, struct unit_ns *of, int32_t nsid);
int32_t unit_ns_get_nsid(struct unit_ns *in, struct unit_ns *of);

/* An interface index of 0 lets the kernel choose. */
int unit_link_add(struct unit_ns *, const char *kind, int ifindex,
                  const char *name);
int unit_link_add_veth(struct unit_ns *, int ifindex, const char *name,
                       struct unit_ns *peer_ns, int peer_ifindex,
                       const char *peer_name);
int unit_link_del(struct unit_ns *, int ifindex);
int unit_link_set_up(struct unit_ns *, int ifindex, bool up);

/* Keeps the kernel from giving the link IPv6 addresses by itself.  It would do
 * so some time after the link came up, and announce them some time later. */
int unit_link_set_no_addresses(struct unit_ns *, int ifindex);
int unit_link_set_name(struct unit_ns *, int ifindex, const char *name);
int unit_link_set_mtu(struct unit_ns *, int ifindex, uint32_t mtu);
int unit_link_set_hwaddr(struct unit_ns *, int ifindex,
                         const uint8_t hwaddr[6]);
int unit_link_set_master(struct unit_ns *, int ifindex, int master);

/* Moves a link and gives it interface index 'new_ifindex' there. */
int unit_link_move(struct unit_ns *, int ifindex, struct unit_ns *to,
                   int new_ifindex);
int unit_link_add_alt_name(struct unit_ns *, int ifindex, const char *name);
int unit_link_del_alt_name(struct unit_ns *, int ifindex, const char *name);
int unit_addr_add(struct unit_ns *, int ifindex, uint32_t ipv4);

/* Interface index of the link called 'name', or 0. */
int unit_link_index(struct unit_ns *, const char *name);

/* Describes the first difference between namespace 'nsid' in 'table' and the
 * kernel's state of 'ns', or returns NULL if there is none.  With 'announced',
 * compares only what the kernel announces in events.  The caller frees the
 * result. */
char *unit_links_diff(const struct link_table *table, int32_t nsid,
                      struct unit_ns *ns, bool announced);

#endif /* tests/harness/netns.h */
