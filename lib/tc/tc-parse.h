/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_PARSE_H
#define KDP_TC_TC_PARSE_H 1

/* Messages of tc about rules
 * ==========================
 *
 * A rule of ours is a filter of kind "flower" whose actions are those that
 * Open vSwitch makes, and whose first cookie is the ufid of its flow.  Other
 * rules are not told.
 *
 * Messages come from the kernel, but nothing is taken for granted about their
 * contents: one that is cut off or has attributes of other sizes is no rule of
 * ours.
 *
 * Thread safety: any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "offload/offload.h"
#include "openvswitch/types.h"

struct ofpbuf;

/* What tc calls a rule. */
struct kdp_tc_id {
    int ifindex;                /* Of the device, or "a block". */
    uint32_t parent;            /* Hook, or number of the block. */
    uint32_t info;              /* Priority and protocol. */
    uint32_t handle;
    uint32_t chain;
};

static inline bool
kdp_tc_id_equals(const struct kdp_tc_id *a, const struct kdp_tc_id *b)
{
    return (a->ifindex == b->ifindex && a->parent == b->parent
            && a->info == b->info && a->handle == b->handle
            && a->chain == b->chain);
}

/* A rule as tc tells it. */
struct kdp_tc_rule {
    struct kdp_tc_id id;
    ovs_u128 ufid;              /* Its cookie. */
    struct offload_stats stats;
    uint64_t n_sw_packets;      /* Of 'stats', those not met by the device. */
    bool in_hw;
    uint32_t n_devices;         /* That do it, if 'in_hw'; 0 if not told, as in
                                 * terse dumps. */
    bool jumps;                 /* It leads to another chain.  Terse dumps do
                                 * not tell. */
};

/* Stores the rule that 'msg' is about in '*rule' and returns true, or returns
 * false if it is not one that may be ours: of a flow, which its cookie is the
 * ufid of, and with no other actions than those of Open vSwitch.  'msg' may
 * have any contents and size. */
bool kdp_tc_rule_parse(const struct ofpbuf *msg, struct kdp_tc_rule *rule);

/* Stores the ufid that the rule that 'msg', a request or a reply, is about has
 * as its cookie in '*ufid'.  Returns false if it has none. */
bool kdp_tc_ufid_parse(const struct ofpbuf *msg, ovs_u128 *ufid);

/* Stores what the rule that 'msg', a request or a reply, is about is called in
 * '*id'. */
void kdp_tc_id_parse(const struct ofpbuf *msg, struct kdp_tc_id *id);

#endif /* lib/tc/tc-parse.h */
