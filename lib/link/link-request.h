/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_REQUEST_H
#define KDP_LINK_REQUEST_H 1

/* Questions that a listener asks the kernel
 * =========================================
 *
 * Each function makes one request and enters the answer in the replica.  When
 * to ask what is decided elsewhere (link-resync.h).  Dumps are apart
 * (link-resync.h).
 *
 * The RTNL lock: a question about a link takes it, and is counted by reason in
 * the statistics.  One about a namespace id does not, and is counted apart.
 *
 * Thread safety: all functions belong to the thread of the replica, and wait
 * for the kernel's answer.
 *
 * Failure: functions return 0 or a positive errno value. */

#include "link/link-replica.h"

/* Asks for the id that our namespace has for itself and notes it.  A failure
 * is logged. */
int link_request_self_nsid(struct link_replica *);

/* Returns 0 if namespace id 'nsid' is in use, ENOENT if it is not, or another
 * positive errno value if that is not known. */
int link_request_nsid_exists(struct link_replica *, int32_t nsid);

/* Asks for link 'ifindex' of our namespace, and removes it if there is none.
 * Returns 0 in that case, too. */
int link_request_link(struct link_replica *, int ifindex, enum link_reason);

#endif /* lib/link/link-request.h */
