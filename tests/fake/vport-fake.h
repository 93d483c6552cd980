/* SPDX-License-Identifier: Apache-2.0 */

#ifndef FAKE_VPORT_FAKE_H
#define FAKE_VPORT_FAKE_H 1

/* A made-up datapath for tests of the vport table
 * ===============================================
 *
 * Stands in for the openvswitch module: it has ports, answers requests for
 * them, and announces changes on real sockets.  Requests come here because the
 * linker sends libmnl's send and receive functions here (--wrap);
 * announcements of ports are multicasts of a generic netlink socket, those of
 * devices of an rtnetlink socket, in the namespace of the test or in another
 * one, and their receiver (recvmsg()) takes the kernel for their sender.  The
 * names of devices (if_indextoname()) are those of the ports.
 *
 * A port is changed and announced apart, because the kernel announces after it
 * has released its lock, so that announcements may be late or change places.
 *
 * Thread safety: the functions that change ports belong to one thread; any may
 * use the table meanwhile. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nl/ovs-genl.h"
#include "harness/unit.h"

#define UNIT_VPORT_FAMILY 0x31
#define UNIT_VPORT_GROUP 9
#define UNIT_VPORT_MAX 512

/* Id of the other namespace. */
#define UNIT_NSID 5

struct vport_table;

struct unit_vport {
    struct ovs_vport vport;         /* dp_ifindex 0 if there is none. */
    char made_name[IFNAMSIZ];       /* Under which the kernel looks it up. */
};

struct unit_datapath {
    int dp_ifindex;                 /* Changing it makes the datapath go. */
    struct unit_vport ports[UNIT_VPORT_MAX];

    /* What the next requests meet with. */
    int get_error;                  /* Positive errno value, or 0. */
    int dump_error;
    unsigned int n_interrupted;     /* Dumps to say NLM_F_DUMP_INTR in. */
    void (*during_dump)(void *aux); /* Called half-way, once. */
    void *aux;
    uint32_t hidden;                /* Port that the rest of the dump does not
                                     * show, or 0. */

    /* What was asked. */
    unsigned int n_gets_by_number;
    unsigned int n_gets_by_name;
    unsigned int n_dumps;

    int sender;                     /* Generic netlink. */
    int links;                      /* Rtnetlink, */
    int other_links;                /* and in the other namespace. */
};

extern struct unit_datapath unit_dp;

/* Makes a datapath with its local port, number 0, device "dp", and makes
 * another namespace known under UNIT_NSID. */
void unit_datapath_init(void);
void unit_datapath_uninit(void);

struct vport_table *unit_vport_table(void);
unsigned int unit_n_requests(void);

/* Change what the kernel has.  Each returns what an announcement of the change
 * says. */
struct ovs_vport unit_port_add(uint32_t port_no, uint32_t type,
                               const char *name, int ifindex);
struct ovs_vport unit_port_del(uint32_t port_no);
struct ovs_vport unit_port_set(uint32_t port_no, uint32_t pid);
void unit_port_rename(uint32_t port_no, const char *name);

/* Announce.  Return 0 or a positive errno value. */
int unit_announce(const struct ovs_vport *);
int unit_announce_link(int sender, bool deleted, int ifindex,
                       const char *name);
int unit_announce_nsid_gone(int sender, int32_t nsid);

/* Both. */
void unit_add(uint32_t port_no, const char *name);
void unit_del(uint32_t port_no);

/* Fills 'buf' with what announces or answers 'vport'.  Returns its length. */
size_t unit_vport_put(char *buf, size_t size, const struct ovs_vport *vport,
                      uint32_t seq, uint16_t flags);

/* Questions.  Return what the table does. */
int unit_by_name(struct vport_table *, const char *name);
int unit_by_number(struct vport_table *, uint32_t port_no);

/* Makes one of the sockets of the table overrun: that for devices or that for
 * ports. */
void unit_overrun(bool links);

#endif /* tests/fake/vport-fake.h */
