/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_REQUEST_H
#define KDP_LINK_REQUEST_H 1

/* What a listener asks the kernel
 * ===============================
 *
 * Each function makes one request and enters the answer in the replica.  When
 * to ask what is decided elsewhere (link-resync.h).
 *
 * A dump marks what is known, updates what the answer has, and removes the
 * rest if the answer was complete.  A dump that a change interrupted
 * (NLM_F_DUMP_INTR) updates, and removes nothing.
 *
 * The RTNL lock: dumps take it, and are counted by reason in the statistics.
 * Questions about a single id do not, and are counted apart.
 *
 * Thread safety: all functions belong to the thread of the replica, and wait
 * for the kernel's answer.
 *
 * Failure: functions return 0 or a positive errno value, EINTR if a change
 * interrupted a dump. */

#include "link/link-replica.h"

/* Asks for the id that our namespace has for itself and notes it.  A failure
 * is logged. */
int link_request_self_nsid(struct link_replica *);

/* Returns 0 if namespace id 'nsid' is in use, ENOENT if it is not, or another
 * positive errno value if that is not known. */
int link_request_nsid_exists(struct link_replica *, int32_t nsid);

/* Asks for all ids and makes the table's namespaces those. */
int link_request_nsids(struct link_replica *, enum link_reason);

/* Asks for the links of 'nsid' and makes the table's those.  With 'again',
 * what the last dump told, which was interrupted, counts, too.  Returns
 * EOPNOTSUPP if the kernel cannot tell those of another namespace. */
int link_request_links(struct link_replica *, int32_t nsid, bool again,
                       enum link_reason);

/* Asks for link 'ifindex' of our namespace, and removes it if there is none.
 * Returns 0 in that case, too. */
int link_request_link(struct link_replica *, int ifindex, enum link_reason);

/* Ask for all that is kept of our own namespace beside links.  Each does
 * nothing if that is not kept. */
int link_request_addrs(struct link_replica *, enum link_reason);
int link_request_routes(struct link_replica *, enum link_reason);
int link_request_qdiscs(struct link_replica *, enum link_reason);

#endif /* lib/link/link-request.h */
