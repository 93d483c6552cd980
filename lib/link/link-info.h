/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_INFO_H
#define KDP_LINK_INFO_H 1

/* What a link table stores about a link, which parts of it may change, how
 * well a namespace is known, and the statistics of a listener. */

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
    uint32_t carrier_up;        /* Times that the carrier came... */
    uint32_t carrier_down;      /* ...and went. */
    uint32_t mtu;               /* Bytes. */
    uint8_t hwaddr[LINK_HWADDR_MAX];
    uint8_t hwaddr_len;
    int master;                 /* Interface index or 0... */
    int last_master;            /* ...and what it was before that. */
    uint16_t bond_state;        /* As in struct link_view. */

    /* The link that this one is on, or a veth's peer, as of the last message
     * about this link: the kernel says nothing when a veth gets its peer or
     * the peer moves. */
    int lower;                  /* Interface index or 0... */
    int32_t lower_nsid;         /* ...in that namespace, LINK_NSID_SAME, or
                                 * LINK_NSID_OTHER. */

    /* Of a port of a switch in hardware, such as the representor of a virtual
     * function: its name there, or an empty string, and what all ports of the
     * switch have in common. */
    char port_name[LINK_NAME_SIZE];
    uint8_t switch_id[LINK_SWITCH_ID_MAX];
    uint8_t switch_id_len;      /* 0 if there is none. */

    uint64_t change_seqno;      /* Of the last change. */
    uint64_t addr_seqno;        /* Of the last change of IP addresses. */
};

/* What has changed. */
#define LINK_CHANGE_NEW       (1u << 0)     /* There is such a link now. */
#define LINK_CHANGE_GONE      (1u << 1)     /* There is none any more. */
#define LINK_CHANGE_NAME      (1u << 2)     /* Or what the name means. */
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
#define LINK_CHANGE_SWITCH    (1u << 13)    /* Name of the port, or id of the
                                             * switch that it is of. */
#define LINK_CHANGE_BOND      (1u << 14)    /* Whether the bond, which it is a
                                             * member of, sends through it. */
#define LINK_CHANGE_ALL       ((1u << 15) - 1)

/* How well the links of a namespace are known. */
enum link_ns_state {
    LINK_NS_CURRENT,            /* As the kernel has told. */
    LINK_NS_PENDING,            /* They are still to be asked for. */
    LINK_NS_STALE,              /* They cannot be asked for. */
    LINK_NS_UNFOLLOWED          /* They are of no interest to anybody. */
};

/* A change of a link. */
struct link_change {
    uint32_t what;              /* LINK_CHANGE_*. */
    const struct link_info *link;       /* As it is now or, with
                                         * LINK_CHANGE_GONE, was last.  Valid
                                         * during the call. */
};

typedef void link_change_func(const struct link_change *, void *aux);

/* Why a request was sent. */
enum link_reason {
    LINK_REASON_START,          /* The listener opened. */
    LINK_REASON_LOSS,           /* Events were lost. */
    LINK_REASON_NAMESPACE,      /* A namespace was given an id. */
    LINK_REASON_ASKED,          /* A caller requested it. */
    LINK_N_REASONS
};

/* Statistics of a listener.  Only the thread that runs the listener reads and
 * writes them. */
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

#endif /* lib/link/link-info.h */
