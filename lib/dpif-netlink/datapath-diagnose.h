/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DATAPATH_DIAGNOSE_H
#define KDP_DPIF_NETLINK_DATAPATH_DIAGNOSE_H 1

/* What is wrong with a datapath as a whole, for kdp/doctor
 * (unixctl/findings.h).
 *
 * Thread safety: a pure function of its arguments. */

#include <stdbool.h>
#include <stdint.h>

struct findings;

struct datapath_facts {
    const char *name;
    uint64_t n_restored;        /* Times that the dispatch mode was set
                                 * back. */
    const char *engine;         /* That receives upcalls, and the one that */
    const char *wanted_engine;  /* is set, or NULL. */
    bool offload;               /* Flows are offloaded. */
    bool chains;                /* Those of recirculation chains can be. */
};

void datapath_diagnose(const struct datapath_facts *, struct findings *);

#endif /* lib/dpif-netlink/datapath-diagnose.h */
