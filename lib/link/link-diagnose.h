/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_DIAGNOSE_H
#define KDP_LINK_DIAGNOSE_H 1

/* What is wrong with link tables, for kdp/doctor (unixctl/findings.h).
 *
 * Thread safety: a pure function of its arguments. */

#include <stddef.h>

struct findings;
struct link_listener_stats;
struct link_ns_info;

/* 'ns' are the 'n' network namespaces. */
void link_diagnose(const struct link_listener_stats *,
                   const struct link_ns_info *ns, size_t n,
                   struct findings *);

#endif /* lib/link/link-diagnose.h */
