/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_SETTINGS_DIAGNOSE_H
#define KDP_DPIF_NETLINK_SETTINGS_DIAGNOSE_H 1

/* Settings that have no effect, for kdp/doctor (unixctl/findings.h): values
 * that are not accepted, names that nobody knows, and settings that others
 * make pointless.
 *
 * The ranges are those of settings.c, flow-offload.c and netdev-linux/links.c,
 * which go on with what they had if a value is wrong, and log it once.
 *
 * Thread safety: a pure function of its arguments. */

struct findings;
struct smap;

void settings_diagnose(const struct smap *other_config, struct findings *);

#endif /* lib/dpif-netlink/settings-diagnose.h */
