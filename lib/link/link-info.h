/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_INFO_H
#define KDP_LINK_INFO_H 1

/* The record of a link in a link table, the parts of it that may change, the
 * states of a namespace's table, and the statistics of a listener. */

#include <stdbool.h>
#include <stdint.h>

#include "link/link-msg.h"

/* A link. */
struct link_info {
    int32_t nsid;               /* Namespace. */
    int ifindex;
    char name[LINK_NAME_SIZE];
    char kind[LINK_KIND_SIZE];  /* "veth" and so on, or an empty string. */
    uint16_t arp_type;          /* ARPHRD_*. */
    uint32_t flags;             /* IFF_*. */
    uint8_t operstate;          /* IF_OPER_*. */
    bool carrier;
    uint32_t carrier_up;        /* Times that the carrier came up... */
    uint32_t carrier_down;      /* ...and went down. */
    uint32_t mtu;               /* Bytes. */
    uint8_t hwaddr[LINK_HWADDR_MAX];
    uint8_t hwaddr_len;
    int master;                 /* Interface index or 0... */
    int last_master;            /* ...and what it was before that. */
    uint16_t bond_state;        /* As in struct link_view. */

    /* The link that this one is stacked on, or a veth's peer, as of the last
     * message about this link: the kernel announces nothing when a veth gets
     * its peer or the peer moves. */
    int lower;                  /* Interface index or 0... */
    int32_t lower_nsid;         /* ...in that namespace, LINK_NSID_SAME, or
                                 * LINK_NSID_OTHER. */

    /* For a port of a hardware switch, such as the representor of a virtual
     * function: its name in the switch, or an empty string, and the id that
     * all ports of the switch share. */
    char port_name[LINK_NAME_SIZE];
    uint8_t switch_id[LINK_SWITCH_ID_MAX];
    uint8_t switch_id_len;      /* 0 if there is none. */

    uint64_t change_seqno;      /* Of the last change. */
    uint64_t addr_seqno;        /* Of the last change of IP addresses. */
};

/* What has changed. */
#define LINK_CHANGE_NEW       (1u << 0)     /* The link is new. */
#define LINK_CHANGE_GONE      (1u << 1)     /* The link was removed. */
#define LINK_CHANGE_NAME      (1u << 2)     /* Or which link has the name. */
#define LINK_CHANGE_ALT_NAMES (1u << 3)
#define LINK_CHANGE_FLAGS     (1u << 4)
#define LINK_CHANGE_OPERSTATE (1u << 5)
#define LINK_CHANGE_CARRIER   (1u << 6)     /* Carrier or its counts. */
#define LINK_CHANGE_MTU       (1u << 7)
#define LINK_CHANGE_HWADDR    (1u << 8)
#define LINK_CHANGE_MASTER    (1u << 9)
#define LINK_CHANGE_LOWER     (1u << 10)
#define LINK_CHANGE_KIND      (1u << 11)    /* Kind or type. */
#define LINK_CHANGE_ADDRS     (1u << 12)    /* IP addresses, which are not in
                                             * the table. */
#define LINK_CHANGE_SWITCH    (1u << 13)    /* Name of the port, or id of its
                                             * switch. */
#define LINK_CHANGE_BOND      (1u << 14)    /* Whether the link's bond sends
                                             * through it. */
#define LINK_CHANGE_ALL       ((1u << 15) - 1)

/* How well the links of a namespace are known. */
enum link_ns_state {
    LINK_NS_CURRENT,            /* They are what the kernel has announced. */
    LINK_NS_PENDING,            /* They are still to be requested. */
    LINK_NS_STALE,              /* They cannot be requested. */
    LINK_NS_UNFOLLOWED          /* No caller is interested in them. */
};

/* A change of a link. */
struct link_change {
    uint32_t what;              /* LINK_CHANGE_*. */
    const struct link_info *link;       /* Its present state or, with
                                         * LINK_CHANGE_GONE, its last.  Valid
                                         * during the call. */
};

typedef void link_change_func(const struct link_change *, void *aux);

/* Why a request was sent. */
enum link_reason {
    LINK_REASON_START,          /* The listener opened. */
    LINK_REASON_LOSS,           /* Events were lost. */
    LINK_REASON_NAMESPACE,      /* A namespace began to be followed. */
    LINK_REASON_ASKED,          /* A caller requested it. */
    LINK_N_REASONS
};

/* Statistics of a listener.  Only the thread that runs the listener reads and
 * writes them. */
struct link_listener_stats {
    uint64_t events[LINK_N_MSGS];       /* By enum link_msg_type. */
    uint64_t events_other;      /* With unexpected types. */
    uint64_t malformed;         /* Dropped as malformed. */
    uint64_t ignored_foreign;   /* From other namespaces: not about links, or
                                 * of a namespace that is not followed. */
    uint64_t ignored_own;       /* About our own links, received again on the
                                 * socket of other namespaces. */
    uint64_t ignored_port;      /* About ports of bridges, not devices. */
    uint64_t ignored_sender;    /* Not sent by the kernel. */

    uint64_t overruns;          /* Times that the socket said ENOBUFS. */
    uint64_t lost;              /* Messages that the kernel did not queue. */
    uint64_t truncated;         /* Messages that were cut short. */
    uint64_t drained;           /* Messages thrown away after a loss. */

    uint64_t resyncs;           /* Times that everything was dumped again. */
    uint64_t interrupted;       /* Dumps that a change interrupted. */
    uint64_t failed;            /* Dumps that failed and were repeated. */
    uint64_t refused;           /* Dumps of namespaces that the kernel does not
                                 * let us dump. */
    uint64_t resync_last;       /* Duration in microseconds, from the notice of
                                 * a loss to the last dump. */
    uint64_t resync_max;
    uint64_t resync_total;

    uint64_t rtnl[LINK_N_REASONS];      /* Requests that take the RTNL lock, by
                                         * reason... */
    uint64_t rtnl_us[LINK_N_REASONS];   /* ...and microseconds until they were
                                         * answered. */
    uint64_t nsid_requests;     /* Requests that do not take it. */
};

#endif /* lib/link/link-info.h */
