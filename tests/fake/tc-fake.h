/* SPDX-License-Identifier: Apache-2.0 */

#ifndef FAKE_TC_FAKE_H
#define FAKE_TC_FAKE_H 1

/* A tc in memory
 * ==============
 *
 * It answers the requests that come to nl_transact_multiple() as flower does,
 * and hands replies out as Open vSwitch does: they are received into the
 * buffer of the next request that has one, and change places when one is
 * missing.
 * Dumps show the rules that were there at their start.  The linker sends the
 * calls here (--wrap, see unit_tc_wrap in automake.mk).
 *
 * Thread safety: any thread, except _init and _uninit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/types.h"

struct offload_desc;
struct ofpbuf;

/* What goes wrong with a request. */
enum unit_tc_fault {
    UNIT_TC_REFUSED,            /* Answered with 'error', not done. */
    UNIT_TC_UNANSWERED,         /* Done, but no reply. */
    UNIT_TC_CUT,                /* Done, but the reply is cut off. */
    UNIT_TC_MISTAKEN,           /* Done, but the reply is about another. */
    UNIT_TC_REPEATED,           /* Done; the reply was lost, so that the
                                 * request was sent again. */
    UNIT_TC_NOT_SENT,           /* All of the message fail with 'error', none
                                 * is done. */
    UNIT_TC_NOT_RECEIVED,       /* It and all after it in the message are done
                                 * and fail with 'error'. */
};

struct unit_tc_plan {
    enum unit_tc_fault fault;
    int error;
    uint16_t type;              /* RTM_*TFILTER, or 0 for any of those, or
                                 * RTM_NEWACTION, which is always refused. */
    unsigned int skip;          /* So many come before. */
    unsigned int n;             /* So many are hit. */
};

void unit_tc_init(void);
void unit_tc_uninit(void);
void unit_tc_plan(const struct unit_tc_plan *);

/* Number of rules; of messages and requests so far. */
size_t unit_tc_count(void);
void unit_tc_get_load(size_t *n_messages, size_t *n_requests);

/* Was the thread quiescent (ovs-rcu.h) when the latest message came? */
bool unit_tc_was_quiescent(void);

/* Kinds of actions that were asked for, which do not count in the load. */
size_t unit_tc_n_kinds(void);

/* What tc says about a rule that it refused, when it is sent once more: 'why',
 * a constant string or NULL, unless it takes the rule, which it does if
 * 'takes'.  Returns how often it was asked so far. */
unsigned int unit_tc_explain(const char *why, bool takes);

/* From now on cards may skip rules without a word, and say 'why' if asked; no
 * longer if 'why' is NULL.  Returns how many rules were added with that
 * question so far. */
unsigned int unit_tc_skip(const char *why);

/* Says that all rules are in devices, or that none is. */
void unit_tc_set_in_hw(bool);

/* Says that 'n' of the packets of each rule, or all if it has fewer, were
 * counted by a card, the others by the kernel. */
void unit_tc_set_packets_in_hw(uint64_t n);

/* Shows a policer as the first action of all rules, which has met 'n_packets'
 * of 1000 bytes, the last one just now; none if that is 0.  'cookie' says that
 * it has the cookie of the rule.  What else a rule does met its last packet
 * never, then. */
void unit_tc_set_policer(uint64_t n_packets, bool cookie);

/* Makes dumps end with 'error', if that is not 0, after 'n' rules. */
void unit_tc_fail_dumps(int error, unsigned int n);

/* Makes dumps wait for 'ms' milliseconds at their start. */
void unit_tc_delay_dumps(unsigned int ms);

/* Number of dumps under way. */
unsigned int unit_tc_n_dumps(void);

/* A packet of 'n_bytes', as tc counts them, meets the rule whose cookie is
 * 'ufid'.  Returns false if there is none. */
bool unit_tc_packet(const ovs_u128 *ufid, unsigned int n_bytes);

/* Makes the rule whose cookie is 'ufid' send packets to 'n' devices: one
 * unless this is called. */
void unit_tc_set_outputs(const ovs_u128 *ufid, unsigned int n);

/* Makes the last device to which the rule whose cookie is 'ufid' sends packets
 * one that is no port.  All others are the rule's own device. */
void unit_tc_set_leaves(const ovs_u128 *ufid);

/* Makes the rule whose cookie is 'ufid' lead to a chain, too. */
void unit_tc_set_jump(const ovs_u128 *ufid);

/* The number of the action of the rule whose cookie is 'ufid' that makes
 * packets ones for this host. */
uint32_t unit_tc_common_number(const ovs_u128 *ufid);

/* Says whether rules that unit_tc_make_rule() makes from now on are not for
 * drivers, and send to an internal port, as Open vSwitch makes them. */
void unit_tc_send_to_host(bool);

/* From now on 'prio' of device 'ifindex', in all chains, belongs to filters of
 * another kind. */
void unit_tc_take_prio(int ifindex, uint16_t prio);

/* The priority of the rule whose cookie is 'ufid'. */
uint16_t unit_tc_prio(const ovs_u128 *ufid);

/* Somebody else deletes the rule.  Returns false if there is none. */
bool unit_tc_remove(const ovs_u128 *ufid);

/* Makes ports 1 to 'n', the first one of the device "lo", with the flow API of
 * tc, and takes them away.  The devices stay. */
void unit_tc_ports_add(uint32_t n);
void unit_tc_ports_del(uint32_t n);

/* Gives port 'port_no' to another device, the one that port 'device' would
 * have. */
void unit_tc_port_replace(uint32_t port_no, uint32_t device);

/* Describes flow 'flow': of packets to the IPv4 address of that number, from
 * 'port' to port 1. */
#define UNIT_TC_ODD (1u << 0)           /* One that tc cannot have. */
#define UNIT_TC_VLAN (1u << 1)          /* Of packets with a VLAN tag. */
#define UNIT_TC_NO_VLAN (1u << 2)       /* Of packets without, explicitly. */
#define UNIT_TC_NO_ETHERNET (1u << 3)   /* Of packets without that header. */
#define UNIT_TC_TO_CHAIN (1u << 4)      /* That recirculates to a chain, which
                                         * is unit_tc_chain, 1 at first. */
#define UNIT_TC_OF_CHAIN (1u << 5)      /* Of what was recirculated to it. */
extern uint32_t unit_tc_chain;
struct offload_desc *unit_tc_desc(uint32_t flow, uint32_t port,
                                  unsigned int flags);
ovs_u128 unit_tc_ufid(uint32_t flow);

/* Makes 'rule', which is empty, a request for a rule with 'ufid' and the name
 * (3, ingress, 'info'), as kdp_tc_translate() does.  Without a cookie if
 * 'ufid' is NULL. */
void unit_tc_make_rule(const ovs_u128 *ufid, uint32_t info, uint32_t chain,
                       struct ofpbuf *rule);

#endif /* tests/fake/tc-fake.h */
