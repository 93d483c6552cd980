/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_VPORT_STATS_H
#define KDP_VPORT_STATS_H 1

/* Statistics of a vport table: see vport-table.h.  The table's mutex guards
 * them. */

#include <stdint.h>

/* Why a request was sent. */
enum vport_ask {
    VPORT_ASK_START,
    VPORT_ASK_LOSS,
    VPORT_ASK_ORDER,
    VPORT_ASK_DEVICE,
    VPORT_ASK_NAME,
    VPORT_ASK_NAMESPACE,
    VPORT_ASK_UNSYNCED,
    VPORT_ASK_UNUSUAL,
    VPORT_N_ASKS
};

struct vport_table_stats {
    /* Lookups in the table. */
    uint64_t by_number;
    uint64_t by_name;
    uint64_t lists;

    uint64_t asked[VPORT_N_ASKS];   /* Requests. */

    /* What was received. */
    uint64_t new;               /* Ports that were added... */
    uint64_t deleted;           /* ...removed... */
    uint64_t changed;           /* ...or changed. */
    uint64_t foreign;           /* The same in other datapaths. */
    uint64_t links;             /* Messages about devices. */
    uint64_t malformed;
    uint64_t vport_overruns;    /* Losses that either socket reported. */
    uint64_t link_overruns;

    /* Results. */
    uint64_t renamed;           /* Names that changed. */
    uint64_t resyncs;           /* Dumps after the first that succeeded. */
};

#endif /* lib/vport/vport-stats.h */
