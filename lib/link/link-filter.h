/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_FILTER_H
#define KDP_LINK_FILTER_H 1

/* Socket filter of the listener: makes the kernel drop messages of types that
 * are not asked for before they take room in the buffer of socket 'fd'.
 * Returns 0 or a positive errno value. */
int link_filter_attach(int fd);

#endif /* lib/link/link-filter.h */
