/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_RULES_H
#define KDP_TC_TC_RULES_H 1

/* Rules of a datapath
 * ===================
 *
 * What we know of a rule in tc by ourselves, such as what tc calls it, and of
 * each device how many rules it has.
 *
 * What is known of a rule is kept by the offload engine, with the flow that
 * the rule is of, as a struct offload_rule (offload/offload-backend.h).  There
 * is no table of rules here.
 *
 * Life cycle: kdp_tc_rule_create() makes a blank one.  kdp_tc_rule_set() says
 * what tc calls it, before tc is asked for it, so that whoever reads it in
 * between finds it; from then on it counts for its device.
 * kdp_tc_rule_removed() says that it is known to be gone.  One that the engine
 * forgets without that has vanished, or went with its device, or is left in
 * tc.  It does not count any more, and its handle is used again: what is left
 * in tc with a handle of ours is deleted when its port comes again, before
 * flows are put there (tc/tc-adopt.h).
 *
 * Thread safety: any thread.  What a rule is called does not change once it is
 * set.  The counts have a mutex, which is held for no request, and which is
 * not needed to read a rule. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/offload-backend.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "tc.h"
#include "tc/tc-parse.h"

/* Rules of a datapath, and what goes for all of them. */
struct kdp_tc {
    const char *dpif_type;      /* As ovs_compat_ports_get() needs it. */
    bool recirc_sharing;        /* Tc's chains are known to the datapath, and
                                 * flows of them are translated. */
    atomic_bool count_headers;  /* In bytes of rules made from now on. */

    /* Set by the owner right after kdp_tc_init(): called once by an offload
     * thread, before there is any rule.  NULL does nothing. */
    void (*begin)(void *begin_aux);
    void *begin_aux;

    struct ovs_mutex begin_mutex;
    bool begun OVS_GUARDED;     /* See kdp_tc_adopt(). */

    struct ovs_list node;       /* In a list of all. */
    struct ovs_mutex mutex;
    struct hmap counts OVS_GUARDED;     /* Numbers of rules, by ifindex. */
};

/* Sets up the rules of a datapath whose ports Open vSwitch lists under
 * 'dpif_type', which must be constant. */
void kdp_tc_init(struct kdp_tc *, const char *dpif_type, bool recirc_sharing);

/* To be called when the engine has forgotten all rules. */
void kdp_tc_destroy(struct kdp_tc *);

/* Number of rules on device 'ifindex'.  Those that members of a bond share are
 * on the bond. */
uint64_t kdp_tc_count(struct kdp_tc *, int ifindex);

/* Has another datapath of the process rules on device 'ifindex'? */
bool kdp_tc_others_have_rules(const struct kdp_tc *, int ifindex);

/* For struct offload_backend. */
struct offload_rule *kdp_tc_rule_create(void *tc);
bool kdp_tc_rule_is_same(const struct offload_rule *,
                         const struct offload_rule *);

/* Takes note of what 'rule', which is blank, is called, and returns its
 * overhead (see kdp_tc_overhead()).  'desc' may be NULL if it is not known;
 * 'own_handle' says that the handle is from our pool. */
uint16_t kdp_tc_rule_set(struct offload_rule *rule, uint32_t port_no,
                         const struct kdp_tc_id *, const struct offload_desc *,
                         bool own_handle);

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

/* Takes note of which devices do 'rule', as 'told', and returns how that is
 * called. */
enum offload_hw kdp_tc_rule_saw(struct offload_rule *rule,
                                const struct kdp_tc_rule *told);

/* What is known of a rule. */
struct kdp_tc_known {
    struct kdp_tc_id id;
    uint32_t port_no;
    uint16_t overhead;          /* For kdp_tc_stats(). */
};

/* Returns the statistics of 'rule' with 'overhead' bytes more for each packet.
 * Tc counts a packet without the Ethernet header at ingress, and without a
 * VLAN tag that the device took off.  What a device forwards itself is taken
 * as it counts it. */
struct offload_stats kdp_tc_stats(const struct kdp_tc_rule *rule,
                                  uint16_t overhead);

/* Stores the places that have rules which were in the device when they were
 * read last in '*places', for the caller to free, and returns how many there
 * are. */
size_t kdp_tc_places_in_hw(struct kdp_tc *, struct tcf_id **places);

/* Stores what is known of 'rule' in '*known'.  Returns false if it is not, or
 * not any more, one that tc may have. */
bool kdp_tc_rule_get(const struct offload_rule *rule,
                     struct kdp_tc_known *known);

/* Says that 'rule' is not in tc.  Unless 'return_handle', its handle is not
 * used again. */
void kdp_tc_rule_removed(struct offload_rule *rule, bool return_handle);

#endif /* lib/tc/tc-rules.h */
