/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NL_FILTER_H
#define KDP_NL_FILTER_H 1

/* Filter of netlink messages by type
 * ==================================
 *
 * A multicast group may bring messages that its member has no use for: that of
 * traffic control brings every rule that is offloaded.  This filter runs in
 * the kernel, before a message takes room in the receive buffer, and drops
 * those of other types than the ones that were asked for.
 *
 * A datagram has messages of one kind, so that its first one's type decides.
 *
 * Thread safety: no state.
 *
 * Failure: an errno value, and no filter. */

#include <stddef.h>
#include <stdint.h>

/* The most types that a filter lets pass. */
#define NL_FILTER_MAX 32

/* Makes the kernel drop what comes to socket 'fd', unless its type is one of
 * the 'n' in 'types', at most NL_FILTER_MAX.  Returns 0 or a positive errno
 * value. */
int nl_filter_attach(int fd, const uint16_t types[], size_t n);

#endif /* lib/nl/nl-filter.h */
