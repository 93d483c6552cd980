/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_RTNL_DIAGNOSE_H
#define KDP_NETDEV_LINUX_RTNL_DIAGNOSE_H 1

/* Who takes the RTNL lock too often, for kdp/doctor (unixctl/findings.h).
 *
 * Thread safety: a pure function of its arguments. */

#include <stdint.h>

#include "netdev-linux/rtnl-count.h"

struct findings;

/* 'counts' are calls in 'seconds' (rtnl-count.h). */
void kdp_rtnl_diagnose(const uint64_t counts[KDP_N_RTNL_CALLS],
                       unsigned int seconds, struct findings *);

#endif /* lib/netdev-linux/rtnl-diagnose.h */
