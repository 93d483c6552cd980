/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_RULES_H
#define KDP_TC_TC_RULES_H 1

/* Rules of a datapath
 * ===================
 *
 * What this process knows about a rule in tc, such as its name there, and the
 * number of rules of each device.
 *
 * The offload engine stores a struct offload_rule (offload/offload-backend.h)
 * with the rule's flow.  There is no table of rules here.
 *
 * Life cycle: kdp_tc_rule_create() creates a blank rule.  kdp_tc_rule_set()
 * stores its name before the request to tc, so that a reader finds the rule in
 * between; from then on it counts for its device.  kdp_tc_rule_removed() says
 * that it is known to be gone.  If the engine forgets a rule without that, the
 * rule has vanished, has gone with its device, or is left in tc.  It no longer
 * counts, and its handle is used again.  If it is left in tc, it is deleted
 * when its port returns, before flows are put there (tc/tc-adopt.h).
 *
 * Thread safety: any thread.  The name of a rule does not change once it is
 * set.  A mutex guards the counts.  It is not held during requests and is not
 * needed to read a rule. */

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

/* Rules of a datapath, and what they have in common. */
struct kdp_tc {
    const char *dpif_type;      /* As ovs_compat_ports_get() needs it. */
    bool recirc_sharing;        /* The datapath knows tc's chains, and flows in
                                 * chains are translated. */
    atomic_bool count_headers;  /* In bytes of rules made from now on. */

    /* Set by the owner right after kdp_tc_init(): called once by an offload
     * thread, before there is any rule.  NULL does nothing. */
    void (*begin)(void *begin_aux);
    void *begin_aux;

    struct ovs_mutex begin_mutex;
    bool begun OVS_GUARDED;     /* See kdp_tc_adopt(). */

    struct ovs_list node;       /* In a list of all struct kdp_tc. */
    struct ovs_mutex mutex;
    struct hmap counts OVS_GUARDED;     /* Numbers of rules, by ifindex. */
};

/* Sets up the rules of a datapath whose ports Open vSwitch lists under
 * 'dpif_type', which must be constant. */
void kdp_tc_init(struct kdp_tc *, const char *dpif_type, bool recirc_sharing);

/* To be called when the engine has forgotten all rules. */
void kdp_tc_destroy(struct kdp_tc *);

/* Number of rules on device 'ifindex'.  Rules that members of a bond share
 * count for the bond. */
uint64_t kdp_tc_count(struct kdp_tc *, int ifindex);

/* Does another datapath of the process have rules on device 'ifindex'? */
bool kdp_tc_others_have_rules(const struct kdp_tc *, int ifindex);

/* For struct offload_backend. */
struct offload_rule *kdp_tc_rule_create(void *tc);
bool kdp_tc_rule_is_same(const struct offload_rule *,
                         const struct offload_rule *);

/* Sets the name of 'rule', which is blank, and returns its overhead (see
 * kdp_tc_overhead()).  'desc' may be NULL if it is unknown; 'own_handle' says
 * that the handle is from our pool. */
uint16_t kdp_tc_rule_set(struct offload_rule *rule, uint32_t port_no,
                         const struct kdp_tc_id *, const struct offload_desc *,
                         bool own_handle);

/* Returns the bytes to add for each packet of 'desc' to tc's byte count in the
 * place of 'id': those that tc leaves out if 'count_headers', else 0.  They
 * are determined when the rule is made, so that its count never decreases.
 *
 * This is exact only for packets that tc does not count as several.  If the
 * network stack has merged a packet or will have to split it, tc counts the
 * segments as packets, but leaves out the Ethernet header only once.  Then the
 * result is too large by the overhead of all segments except one.  (At egress
 * tc counts the headers of each segment.) */
uint16_t kdp_tc_overhead(struct kdp_tc *, const struct offload_desc *,
                         const struct kdp_tc_id *id);

/* Updates the devices that have 'rule', as 'listed' reports them, and returns
 * that as enum offload_hw. */
enum offload_hw kdp_tc_rule_saw(struct offload_rule *rule,
                                const struct kdp_tc_rule *listed);

/* What is known of a rule. */
struct kdp_tc_known {
    struct kdp_tc_id id;
    uint32_t port_no;
    uint16_t overhead;          /* For kdp_tc_stats(). */
};

/* Returns the statistics of 'rule' plus 'overhead' bytes for each packet.  At
 * ingress, tc counts a packet without the Ethernet header and without a VLAN
 * tag that the device removed.  The counts of packets that a device forwards
 * itself are used as they are. */
struct offload_stats kdp_tc_stats(const struct kdp_tc_rule *rule,
                                  uint16_t overhead);

/* Stores in '*places', which the caller frees, the places with rules that were
 * in a device when they were last read.  Returns their number. */
size_t kdp_tc_places_in_hw(struct kdp_tc *, struct tcf_id **places);

/* Stores what is known about 'rule' in '*known'.  Returns false if tc cannot
 * have it, because it is not set yet or was removed. */
bool kdp_tc_rule_get(const struct offload_rule *rule,
                     struct kdp_tc_known *known);

/* Says that 'rule' is not in tc.  Its handle is used again only if
 * 'return_handle'. */
void kdp_tc_rule_removed(struct offload_rule *rule, bool return_handle);

#endif /* lib/tc/tc-rules.h */
