/* SPDX-License-Identifier: Apache-2.0 */

#ifndef FAKE_TC_FAKE_PRIVATE_H
#define FAKE_TC_FAKE_PRIVATE_H 1

/* What the files of tc-fake.h share: tc-fake.c has the rules and answers
 * requests, tc-fake-messages.c knows what they look like, tc-fake-explain.c
 * says why rules are refused or skipped, tc-fake-dump.c answers dumps, and
 * tc-fake-flows.c makes ports and descriptions of flows. */

#include "fake/tc-fake.h"

#include "openvswitch/hmap.h"
#include "ovs-thread.h"
#include "tc/tc-parse.h"

struct unit_tc_rule {
    struct hmap_node node;      /* By ufid. */
    ovs_u128 ufid;
    struct kdp_tc_id id;
    uint64_t n_packets;
    uint64_t n_bytes;
    uint32_t number;            /* Of its action. */
    bool to_host;               /* See unit_tc_send_to_host(). */
    uint32_t common_number;     /* If so, that of the action that makes packets
                                 * ones for this host. */
    unsigned int n_copies;      /* Outputs before the last one. */
    bool leaves;                /* The last one leads to no port. */
    bool jumps;                 /* To a chain. */
    bool bare;                  /* Has no cookie. */
};

extern struct ovs_mutex unit_tc_mutex;
extern struct hmap unit_tc_rules OVS_GUARDED_BY(unit_tc_mutex);

/* Messages are those of a terse dump. */
extern bool unit_tc_is_terse OVS_GUARDED_BY(unit_tc_mutex);

/* Makes '*msg' a message of 'type' about 'rule'. */
void unit_tc_put_rule(struct ofpbuf *msg, uint16_t type,
                      const struct unit_tc_rule *)
    OVS_REQUIRES(unit_tc_mutex);

/* The first cookie of a request. */
ovs_u128 unit_tc_get_cookie(const struct ofpbuf *request);

/* Stores the numbers of the actions in 'request' in '*rule'. */
void unit_tc_get_numbers(const struct ofpbuf *request, struct unit_tc_rule *)
    OVS_REQUIRES(unit_tc_mutex);

/* Forget what tests asked for.  No dump may be under way. */
void unit_tc_messages_reset(void);
void unit_tc_explanations_reset(void);
void unit_tc_dumps_reset(void);

#endif /* tests/fake/tc-fake-private.h */
