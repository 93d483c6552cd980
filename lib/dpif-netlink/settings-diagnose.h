/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_SETTINGS_DIAGNOSE_H
#define KDP_DPIF_NETLINK_SETTINGS_DIAGNOSE_H 1

/* Findings about settings without effect, for kdp/doctor (unixctl/findings.h):
 * invalid values, unknown names, and settings that other settings make
 * pointless.
 *
 * The ranges are the same as in settings.c, flow-offload.c and
 * netdev-linux/links.c, which keep the previous value if a value is wrong, and
 * log that once.
 *
 * Thread safety: a pure function of its arguments. */

struct findings;
struct smap;

void settings_diagnose(const struct smap *other_config, struct findings *);

#endif /* lib/dpif-netlink/settings-diagnose.h */
