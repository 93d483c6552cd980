/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_MSG_H
#define KDP_UPCALL_MSG_H 1

/* Upcall messages
 * ===============
 *
 * When no flow of the kernel datapath matches a packet, or an action of a flow
 * says so, the kernel sends the packet to user space in a message of the
 * generic netlink family "ovs_packet".  The message has a struct ovs_header,
 * which names the datapath, and attributes.  The packet and the flow key
 * extracted from the packet are always among the attributes.
 *
 * upcall_msg_parse() checks such a message and fills in a view that points
 * into the message.  It copies nothing and allocates nothing.  It does not
 * trust the bytes of a message: whatever they hold, the view stays within the
 * message.
 *
 * Thread safety: none of this has state. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlattr;

enum upcall_type {
    UPCALL_MISS,                /* No flow matched. */
    UPCALL_ACTION,              /* A "userspace" action. */
};

/* View of an upcall.  Pointers to attributes that the message does not have
 * are NULL. */
struct upcall_view {
    enum upcall_type type;
    int dp_ifindex;             /* Datapath that sent it. */
    uint32_t pid;               /* Netlink port id of the socket that received
                                 * it.  Not part of the message. */

    void *packet;               /* First byte of the frame. */
    size_t packet_len;          /* In bytes, at least UPCALL_PACKET_MIN. */
    size_t headroom;            /* Writable bytes before 'packet', which the
                                 * message no longer needs. */

    struct nlattr *key;         /* OVS_KEY_ATTR_* attributes. */
    size_t key_len;             /* In bytes. */

    struct nlattr *userdata;    /* Whole attributes, with their headers. */
    struct nlattr *egress_tun_key;
    struct nlattr *actions;
    struct nlattr *mru;         /* 16 bits of payload. */
    struct nlattr *hash;        /* 64 bits of payload. */
};

/* A frame has an Ethernet header, except if it comes from a tunnel that
 * carries layer-3 packets; neither kind is shorter than this. */
#define UPCALL_PACKET_MIN 14

/* Recirculation ids up to this one are for long-term uses, such as bonds.
 * Each run of the daemon allocates them in the order in which bridges are
 * configured. */
#define UPCALL_RECIRC_STATIC 1024

/* Number of recirculation ids that a run may allocate in addition.  Rules of
 * tc have room for 28 bits of an id, so a run begins in the lower half of
 * these. */
#define UPCALL_RECIRC_RANGE (1u << 27)

/* Parses the 'len' bytes at 'msg', which must be aligned for a struct nlmsghdr
 * and start with one, as a message of generic netlink family 'packet_family'.
 * Returns 0 and fills '*view', or returns EINVAL and leaves '*view'
 * unspecified. */
int upcall_msg_parse(void *msg, size_t len, uint16_t packet_family,
                     struct upcall_view *view);

/* True if the 'len' bytes at 'msg', as received, can only be an upcall of type
 * UPCALL_ACTION. */
bool upcall_msg_is_action(const void *msg, size_t len);

/* True if netlink port id 'pid', which a message came from, is the kernel's.
 *
 * Any process with CAP_NET_ADMIN in the network namespace can send to a
 * netlink socket whose port id it knows or guesses.  The content of an upcall
 * leads to flows and packets, so handlers accept only upcalls from the kernel.
 *
 * The symbol is weak, because tests play the kernel's part: they define the
 * function differently, and the linker takes their definition. */
bool upcall_msg_is_from_kernel(uint32_t pid);

/* Finds the input port of the packet of 'view'.  Returns false if the flow key
 * does not say. */
bool upcall_view_in_port(const struct upcall_view *view, uint32_t *port_no);

/* Returns the recirculation id of the packet of 'view', 0 if it has none. */
uint32_t upcall_view_recirc_id(const struct upcall_view *view);

/* True if the packet of 'view' came out of a tunnel. */
bool upcall_view_has_tunnel(const struct upcall_view *view);

#endif /* lib/upcall/upcall-msg.h */
