/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_RULES_H
#define KDP_TC_TC_RULES_H 1

/* Table of a datapath's rules
 * ===========================
 *
 * What we know of the rules in tc by ourselves: of each flow there, by its
 * ufid, what tc calls its rule, and of each device how many rules it has.  A
 * rule is in the table from before it is asked for until it is known to be
 * gone, so that whoever is told of a rule by tc finds it here.
 *
 * Thread safety: any thread.  The table has a mutex, which is held for no
 * request. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/offload.h"
#include "openvswitch/hmap.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "tc/tc-parse.h"

/* Rules of a datapath, and what goes for all of them. */
struct kdp_tc {
    const char *dpif_type;      /* As netdev_ports_get() needs it. */
    bool recirc_sharing;        /* Tc's chains are known to the datapath. */
    atomic_bool count_headers;  /* In bytes of rules made from now on. */
    atomic_llong dump_after;    /* See kdp_tc_may_dump(). */

    struct ovs_mutex actions_mutex;
    bool loaded_actions OVS_GUARDED;    /* See kdp_tc_load_actions(). */

    struct ovs_mutex mutex;
    struct hmap rules OVS_GUARDED;      /* By ufid. */
    struct hmap counts OVS_GUARDED;     /* Numbers of rules, by ifindex. */
};

/* Sets up the table of a datapath whose ports Open vSwitch lists under
 * 'dpif_type', which must be constant. */
void kdp_tc_init(struct kdp_tc *, const char *dpif_type, bool recirc_sharing);

/* Forgets all rules, which stay where they are. */
void kdp_tc_destroy(struct kdp_tc *);

/* Number of rules on device 'ifindex'.  Those that members of a bond share are
 * on the bond. */
uint64_t kdp_tc_count(struct kdp_tc *, int ifindex);

/* Takes note of a rule, and returns its overhead (see kdp_tc_overhead()).
 * 'desc' may be NULL if it is not known; 'own_handle' says that the handle is
 * from our pool. */
uint16_t kdp_tc_insert(struct kdp_tc *, const ovs_u128 *ufid, uint32_t port_no,
                       const struct kdp_tc_id *, const struct offload_desc *,
                       bool own_handle);

/* Forgets the rules of port 'port_no'. */
void kdp_tc_forget_port(struct kdp_tc *, uint32_t port_no);

/* Bytes to be added for each packet of 'desc' to those that tc counts where
 * 'id' is: those that tc leaves out if 'count_headers', else 0.  That is
 * decided on when the rule is made, so that its count never falls.
 *
 * That holds for packets that are one to tc, too.  Of one that the network
 * stack has merged, or will have to split, tc counts the segments as packets,
 * but the Ethernet header is missing from its bytes once, so that its bytes
 * come out too large by the overhead of all segments but one.  (At egress tc
 * counts the headers of each segment by itself.) */
uint16_t kdp_tc_overhead(struct kdp_tc *, const struct offload_desc *,
                         const struct kdp_tc_id *id);

/* Takes note whether the rule of 'ufid' was found in the device, and returns
 * its overhead. */
uint16_t kdp_tc_saw(struct kdp_tc *, const ovs_u128 *ufid, bool in_hw);

/* What is known of a rule. */
struct kdp_tc_listed {
    ovs_u128 ufid;
    struct kdp_tc_id id;
    uint32_t port_no;
    uint16_t overhead;          /* For kdp_tc_stats(). */
};

/* A device that has rules, or the members of a bond. */
struct kdp_tc_device {
    uint32_t port_no;           /* One of its ports. */
    bool in_hw;                 /* Some are in the device. */
};

/* All rules, once each. */
struct kdp_tc_list {
    struct kdp_tc_listed *rules;        /* To be asked for by name. */
    size_t n_rules;
    struct kdp_tc_device *devices;      /* Whose rules a dump is to tell. */
    size_t n_devices;
};

/* Returns the statistics of 'rule' with 'overhead' bytes more for each packet.
 * Tc counts a packet without the Ethernet header at ingress, and without a
 * VLAN tag that the device took off.  What a device forwards itself is taken
 * as it counts it. */
struct offload_stats kdp_tc_stats(const struct kdp_tc_rule *rule,
                                  uint16_t overhead);

/* Stores a list of all rules in '*list', to be freed by kdp_tc_list_uninit().
 * Devices are those that have 'n_dump' rules or more, or some that are in the
 * device itself. */
void kdp_tc_list(struct kdp_tc *, uint64_t n_dump, struct kdp_tc_list *list);
void kdp_tc_list_uninit(struct kdp_tc_list *);

/* May rules be listed by dumps that could be asked for by name as well?  A
 * dump takes far less time for a rule, but the RTNL lock for each part.  Where
 * that was to be waited for as long as KDP_TC_SLOW_DUMP ms, there are no such
 * dumps for KDP_TC_DUMP_PAUSE ms. */
#define KDP_TC_SLOW_DUMP 5
#define KDP_TC_DUMP_PAUSE 30000
bool kdp_tc_may_dump(struct kdp_tc *);

/* Says that a part of a dump had to wait, and took 'duration' ms. */
void kdp_tc_dump_waited(struct kdp_tc *, long long int duration);


/* Stores what is known of the rule of 'ufid' in '*rule'.  Returns false if
 * there is none. */
bool kdp_tc_lookup(struct kdp_tc *, const ovs_u128 *ufid,
                   struct kdp_tc_listed *rule);

/* Forgets the rule of 'ufid' that is called 'id'.  Unless 'return_handle', its
 * handle is not used again. */
void kdp_tc_remove(struct kdp_tc *, const ovs_u128 *ufid,
                   const struct kdp_tc_id *id, bool return_handle);

#endif /* lib/tc/tc-rules.h */
