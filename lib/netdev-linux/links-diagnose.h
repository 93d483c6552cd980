/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LINKS_DIAGNOSE_H
#define KDP_NETDEV_LINUX_LINKS_DIAGNOSE_H 1

/* Makes link tables, and calls under the RTNL lock, a source of findings
 * (unixctl/findings.h).  Main thread. */
void kdp_links_diagnose_register(void);

#endif /* lib/netdev-linux/links-diagnose.h */
