/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_STATS_H
#define KDP_LINK_STATS_H 1

/* Statistics of a link listener.  One thread writes and reads them, the one
 * that the listener belongs to. */

#include <stdint.h>

#include "link/link-msg.h"

/* Why the kernel was asked. */
enum link_reason {
    LINK_REASON_START,          /* The listener opened. */
    LINK_REASON_LOSS,           /* Events were lost. */
    LINK_REASON_NAMESPACE,      /* A namespace was given an id. */
    LINK_REASON_ASKED,          /* Somebody wanted it. */
    LINK_N_REASONS
};

/* "start" and so on. */
const char *link_reason_name(enum link_reason);

struct link_listener_stats {
    uint64_t events[LINK_N_MSGS];       /* By enum link_msg_type. */
    uint64_t events_other;      /* Of a type that nobody asked for. */
    uint64_t malformed;         /* Dropped as unparsable. */
    uint64_t ignored_foreign;   /* Of other namespaces, and not of links. */
    uint64_t ignored_own;       /* Of our own links, once more, on the socket
                                 * of other namespaces. */
    uint64_t ignored_port;      /* About ports of bridges, not devices. */
    uint64_t ignored_sender;    /* Not sent by the kernel. */

    uint64_t overruns;          /* Times that the socket said ENOBUFS. */
    uint64_t lost;              /* Messages that the kernel did not queue. */
    uint64_t truncated;         /* Messages that were cut short. */
    uint64_t drained;           /* Messages thrown away after a loss. */

    uint64_t resyncs;           /* Times that all was taken again. */
    uint64_t interrupted;       /* Dumps that a change interrupted. */
    uint64_t failed;            /* Dumps that failed, not for good. */
    uint64_t refused;           /* Dumps of namespaces that are not ours to
                                 * ask for. */
    uint64_t resync_last;       /* Duration in microseconds, from the notice
                                 * of a loss to the last dump. */
    uint64_t resync_max;
    uint64_t resync_total;

    uint64_t rtnl[LINK_N_REASONS];      /* Requests that take the RTNL lock,
                                         * by reason... */
    uint64_t rtnl_us[LINK_N_REASONS];   /* ...and microseconds until they were
                                         * answered. */
    uint64_t nsid_requests;     /* Requests that do not. */
};

#endif /* lib/link/link-stats.h */
