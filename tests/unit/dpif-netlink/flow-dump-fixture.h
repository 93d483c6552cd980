/* SPDX-License-Identifier: Apache-2.0 */

#ifndef UNIT_DPIF_NETLINK_FLOW_DUMP_FIXTURE_H
#define UNIT_DPIF_NETLINK_FLOW_DUMP_FIXTURE_H 1

/* What the tests of dumps share: a datapath with offload, and what a dump of
 * it has shown. */

#include "fake/dpif-fake.h"

#include "dpif-netlink/flow-dump.h"

/* Flows that tests use: more than a batch of a dump, and of requests. */
#define DUMP_N_FLOWS 180

/* Where the flows are that a dump is to show. */
extern const struct dpif_flow_dump_types dump_ovs, dump_tc, dump_both,
    dump_neither;

/* What a dump has shown. */
struct dump_seen {
    unsigned int n[DUMP_N_FLOWS];    /* How often, by number of the flow. */
    unsigned int n_tc;          /* Those said to be in tc, */
    unsigned int n_hw;          /* and in a device. */
    uint64_t n_packets[DUMP_N_FLOWS];
    long long int used[DUMP_N_FLOWS];
};

/* Are dumps those of revalidators?  Not at the start of a test. */
extern bool dump_terse;

/* Do dumps take over flows that the engine does not know?  At the start of a
 * test they do. */
extern bool dump_learn;

/* For cmocka, as unit_dpif_setup(). */
int dump_setup(void **state);

struct dpif_flow_dump *dump_start(struct unit_dpif *,
                                  const struct dpif_flow_dump_types *);

/* Takes note that 'flow' was shown. */
void dump_note(struct dump_seen *, const struct dpif_flow *flow);

/* Goes through what one thread gets of 'dump'. */
void dump_walk(struct dpif_flow_dump *dump, int max_flows,
               struct dump_seen *);

/* Dumps, and returns the error. */
int dump_all(struct unit_dpif *, const struct dpif_flow_dump_types *,
             int max_flows, struct dump_seen *);

/* Has each of the flows from 'first' to 'end' - 1, and no other, been shown
 * once? */
void dump_check_seen(const struct dump_seen *, size_t first, size_t end);

/* Puts flows from 'first' to 'end' - 1. */
void dump_put(struct unit_dpif *, uint32_t first, uint32_t end);

/* Lets all requests of 'type' to tc fail with 'error', until dump_allow(). */
void dump_refuse(uint16_t type, int error);
void dump_allow(void);

#endif /* tests/unit/dpif-netlink/flow-dump-fixture.h */
