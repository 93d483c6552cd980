/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_PARSE_H
#define KDP_TC_TC_PARSE_H 1

/* Messages of tc about rules
 * ==========================
 *
 * A rule of ours is a filter of kind "flower" that has only actions that Open
 * vSwitch makes, and whose first cookie is the ufid of its flow.  Other rules
 * are skipped.
 *
 * Messages come from the kernel, but the parser assumes nothing about their
 * contents: a message that is cut off or has attributes of other sizes is not
 * a rule of ours.
 *
 * Thread safety: any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "offload/offload.h"
#include "openvswitch/types.h"

struct ofpbuf;

/* The name of a rule in tc. */
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

/* The kernel's limit of actions in a rule, TCA_ACT_MAX_PRIO. */
#define KDP_TC_MAX_ACTIONS 32

/* A rule as tc reports it. */
struct kdp_tc_rule {
    struct kdp_tc_id id;
    ovs_u128 ufid;              /* Its cookie. */
    struct offload_stats stats;
    uint64_t n_sw_packets;      /* Of 'stats', those not met by the device. */
    bool in_hw;
    uint32_t n_devices;         /* Devices that have it, if 'in_hw'; 0 if
                                 * unknown, as in terse dumps. */
    unsigned int n_outputs;     /* Devices that it sends packets to. */
    int outputs[KDP_TC_MAX_ACTIONS]; /* Their indexes, 0 for one that is gone.
                                      * Not valid in terse dumps. */
    bool jumps;                 /* It leads to another chain.  Unknown in terse
                                 * dumps. */
    bool checks_size;           /* It checks the size of packets. */
    bool has_meter;
};

/* Stores the rule in 'msg' in '*rule' and returns true, or returns false if it
 * cannot be ours: its cookie must be the ufid of a flow, and it must have only
 * actions that Open vSwitch makes.  'msg' may have any contents and size. */
bool kdp_tc_rule_parse(const struct ofpbuf *msg, struct kdp_tc_rule *rule);

/* Stores in '*ufid' the ufid that the rule in 'msg', a request or a reply, has
 * as its cookie.  Returns false if it has none. */
bool kdp_tc_ufid_parse(const struct ofpbuf *msg, ovs_u128 *ufid);

/* Stores the name of the rule in 'msg', a request or a reply, in '*id'. */
void kdp_tc_id_parse(const struct ofpbuf *msg, struct kdp_tc_id *id);

#endif /* lib/tc/tc-parse.h */
