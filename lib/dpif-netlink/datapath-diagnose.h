/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DATAPATH_DIAGNOSE_H
#define KDP_DPIF_NETLINK_DATAPATH_DIAGNOSE_H 1

/* Findings about a datapath as a whole, for kdp/doctor (unixctl/findings.h).
 *
 * Thread safety: a pure function of its arguments. */

#include <stdbool.h>
#include <stdint.h>

struct findings;

struct datapath_facts {
    const char *name;
    uint64_t n_restored;        /* Times that the dispatch mode was
                                 * restored. */
    const char *engine;         /* Engine that receives upcalls, and the */
    const char *wanted_engine;  /* configured one, or NULL. */
    bool offload;               /* Flows are offloaded. */
    bool chains;                /* Flows of recirculation chains can be
                                 * offloaded. */
};

void datapath_diagnose(const struct datapath_facts *, struct findings *);

#endif /* lib/dpif-netlink/datapath-diagnose.h */
