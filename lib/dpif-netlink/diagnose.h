/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DIAGNOSE_H
#define KDP_DPIF_NETLINK_DIAGNOSE_H 1

/* Findings about datapaths, for kdp/doctor: takes snapshots of each datapath's
 * engines and passes them to the functions that add findings
 * (unixctl/findings.h).
 *
 * Thread safety: the main thread.  The last two functions are pure functions
 * of their arguments. */

#include <stdbool.h>
#include <stdint.h>

struct findings;
struct smap;

/* Stores 'other_config', the settings to check. */
void kdp_diagnose_set_config(const struct smap *other_config);

/* Registers datapaths as a source of findings. */
void kdp_diagnose_register(void);

/* Finds settings without effect: invalid values, unknown names, and settings
 * that other settings make pointless.
 *
 * The ranges are the same as in settings.c, flow-offload.c and
 * netdev-linux/links.c, which keep the previous value if a value is wrong, and
 * log that once. */
void kdp_diagnose_settings(const struct smap *other_config, struct findings *);

/* Finds what is wrong with a datapath as a whole. */
struct kdp_diagnose_facts {
    const char *name;
    uint64_t n_restored;        /* Times that the dispatch mode was
                                 * restored. */
    const char *engine;         /* Engine that receives upcalls, and the */
    const char *wanted_engine;  /* configured one, or NULL. */
    bool offload;               /* Flows are offloaded. */
    bool chains;                /* Flows of recirculation chains can be
                                 * offloaded. */
};

void kdp_diagnose_facts(const struct kdp_diagnose_facts *, struct findings *);

#endif /* lib/dpif-netlink/diagnose.h */
