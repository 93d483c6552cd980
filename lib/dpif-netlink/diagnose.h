/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DIAGNOSE_H
#define KDP_DPIF_NETLINK_DIAGNOSE_H 1

/* Findings about datapaths, for kdp/doctor: takes snapshots of each datapath's
 * engines and passes them to the functions that add findings
 * (unixctl/findings.h).
 *
 * Thread safety: the main thread. */

struct smap;

/* Stores 'other_config', the settings to check. */
void kdp_diagnose_set_config(const struct smap *other_config);

/* Registers datapaths as a source of findings. */
void kdp_diagnose_register(void);

#endif /* lib/dpif-netlink/diagnose.h */
