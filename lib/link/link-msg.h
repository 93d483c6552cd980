/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_MSG_H
#define KDP_LINK_MSG_H 1

/* Messages about links
 * ====================
 *
 * In rtnetlink messages, both events and answers, the kernel describes network
 * devices ("links"), their addresses and queueing disciplines, and the ids
 * that namespaces have for each other.  link_msg_parse() checks such a message
 * against a policy and returns a view that points into the message.  It copies
 * nothing and allocates nothing.
 *
 * Three kinds of RTM_NEWLINK need care:
 *
 *   - A bridge sends RTM_NEWLINK and RTM_DELLINK of family AF_BRIDGE when a
 *     device becomes its port or ceases to be.  The device lives on.  Such a
 *     message does not describe a link ('family' of the view is not
 *     AF_UNSPEC).
 *
 *   - Wireless drivers send an RTM_NEWLINK that has only flags and name
 *     ('partial').
 *
 *   - An answer about a device of another namespace carries the id of that
 *     namespace ('target_nsid').  An older kernel ignores the requested
 *     namespace: its answer lacks the id and describes a device of our own.
 *
 * Failure: a malformed message gives EINVAL; the caller counts and skips it.
 * So does one that was truncated, which the receiver has to notice itself.
 *
 * Life cycle and thread safety: the functions have no state; a view lives as
 * long as its message.  See rtnetlink(7) and, for newer attributes,
 * linux/if_link.h and linux/net_namespace.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlattr;

/* Namespaces: the kernel's ids, which start at 0, and these values. */
#define LINK_NSID_NONE (-1)             /* No id. */
#define LINK_NSID_LOCAL INT32_MIN       /* Our own namespace. */
#define LINK_NSID_SAME (INT32_MIN + 1)  /* The namespace of the link. */
#define LINK_NSID_OTHER (INT32_MIN + 2) /* Another, unknown one. */
#define LINK_NSID_ALL (INT32_MIN + 3)   /* In filters: every namespace. */

/* Returns "local" or the number of namespace 'nsid'.  The caller frees it. */
char *link_nsid_to_string(int32_t nsid);

/* Room for names, with the null byte. */
#define LINK_NAME_SIZE 16       /* IFNAMSIZ */
#define LINK_ALT_NAME_SIZE 128  /* ALTIFNAMSIZ */
#define LINK_KIND_SIZE 64       /* MODULE_NAME_LEN and then some. */
#define LINK_HWADDR_MAX 32      /* MAX_ADDR_LEN */
#define LINK_SWITCH_ID_MAX 32   /* MAX_PHYS_ITEM_ID_LEN */

/* Attributes of a link whose absence does not mean anything. */
#define LINK_HAS_OPERSTATE     (1u << 0)
#define LINK_HAS_CARRIER       (1u << 1)
#define LINK_HAS_CARRIER_COUNT (1u << 2)
#define LINK_HAS_MTU           (1u << 3)

struct link_view {
    uint8_t family;             /* AF_UNSPEC if it describes a link. */
    bool partial;               /* Only 'flags' and 'name' are valid. */
    uint16_t has;               /* LINK_HAS_*: which of these are valid: */
    uint8_t operstate;          /* IF_OPER_*. */
    bool carrier;
    uint32_t carrier_up;        /* Times that the carrier came up... */
    uint32_t carrier_down;      /* ...and went down. */
    uint32_t mtu;               /* Bytes. */

    /* Always valid. */
    const uint8_t *hwaddr;
    size_t hwaddr_len;          /* At most LINK_HWADDR_MAX.  0 if the link has
                                 * none; then the attribute is missing. */
    uint16_t arp_type;          /* ARPHRD_*. */
    uint32_t flags;             /* IFF_*. */
    int ifindex;                /* Above 0. */
    const char *name;           /* Shorter than LINK_NAME_SIZE. */
    const char *kind;           /* Or NULL.  Shorter than LINK_KIND_SIZE. */
    int master;                 /* Interface index or 0. */
    int lower;                  /* IFLA_LINK: interface index or 0... */
    int32_t lower_nsid;         /* ...in that namespace, by the ids of the
                                 * namespace that sent the message, or
                                 * LINK_NSID_SAME or LINK_NSID_OTHER. */
    int32_t target_nsid;        /* Answers: namespace, or LINK_NSID_NONE. */
    int32_t new_nsid;           /* RTM_DELLINK: namespace to which the device
                                 * moves, or LINK_NSID_NONE. */

    uint16_t bond_state;        /* For a member of a bond, a number for each
                                 * combination of active or backup, and up or
                                 * down according to the bond.  Otherwise 0. */

    /* For a port of a hardware switch, such as the representor of a virtual
     * function.  The kernel omits these attributes for other links. */
    const char *port_name;      /* "p0", "pf0vf1" or the like, or NULL.
                                 * Shorter than LINK_NAME_SIZE. */
    const uint8_t *switch_id;   /* Shared by all ports of a switch. */
    size_t switch_id_len;       /* At most LINK_SWITCH_ID_MAX.  0 if none. */

    const struct nlattr *alt_names;     /* See link_view_next_alt_name(). */
};

/* An address of a link. */
struct link_addr_view {
    uint8_t family;             /* AF_INET, AF_INET6 or another one. */
    uint8_t prefix_len;
    int ifindex;                /* Above 0. */
    const void *address;        /* IFA_LOCAL, or else IFA_ADDRESS, or NULL. */
    size_t address_len;
};

/* A queueing discipline. */
struct link_qdisc_view {
    int ifindex;                /* Above 0. */
    uint32_t handle;
    uint32_t parent;            /* TC_H_*. */
    const char *kind;           /* Or NULL. */
};

enum link_msg_type {
    LINK_MSG_NEWLINK,
    LINK_MSG_DELLINK,
    LINK_MSG_NEWADDR,
    LINK_MSG_DELADDR,
    LINK_MSG_NEWNSID,
    LINK_MSG_DELNSID,
    LINK_MSG_NEWQDISC,
    LINK_MSG_DELQDISC,
    LINK_MSG_NEWTCLASS,
    LINK_MSG_DELTCLASS,
    LINK_N_MSGS
};

struct link_msg {
    enum link_msg_type type;
    union {
        struct link_view link;          /* NEWLINK, DELLINK. */
        struct link_addr_view addr;     /* NEWADDR, DELADDR. */
        int32_t nsid;                   /* NEWNSID, DELNSID; LINK_NSID_NONE if
                                         * there is none. */
        struct link_qdisc_view qdisc;   /* NEWQDISC, DELQDISC; NEWTCLASS and
                                         * DELTCLASS, without 'kind'. */
    };
};

/* Parses the message in the 'len' bytes at 'msg', which must be aligned for a
 * struct nlmsghdr.  Returns 0 and fills '*out', EINVAL if the message is
 * malformed, or ENOMSG if it is of another type.  After an error the content
 * of '*out' is unspecified. */
int link_msg_parse(const void *msg, size_t len, struct link_msg *out);

/* Returns the alternative name of 'view' that follows 'name', or the first one
 * if 'name' is NULL, or NULL after the last.  Each is shorter than
 * LINK_ALT_NAME_SIZE. */
const char *link_view_next_alt_name(const struct link_view *view,
                                    const char *name);

#endif /* lib/link/link-msg.h */
