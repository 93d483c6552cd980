/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DIAGNOSE_H
#define KDP_DPIF_NETLINK_DIAGNOSE_H 1

/* What is wrong with datapaths, for kdp/doctor: takes snapshots of the engines
 * of each, and has them looked at (unixctl/findings.h).
 *
 * Thread safety: the main thread. */

struct smap;

/* Takes note of 'other_config', the settings to be looked at. */
void kdp_diagnose_set_config(const struct smap *other_config);

/* Makes datapaths a source of findings. */
void kdp_diagnose_register(void);

#endif /* lib/dpif-netlink/diagnose.h */
