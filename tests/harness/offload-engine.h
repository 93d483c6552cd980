/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_OFFLOAD_ENGINE_H
#define HARNESS_OFFLOAD_ENGINE_H 1

/* An engine on top of the fake, and numbered flows, for the tests of the
 * offload engine. */

#include "fake/offload-fake.h"
#include "offload/offload-info.h"
#include "offload/offload.h"

struct unit_offload {
    struct offload_fake *fake;
    struct offload *offload;
};

/* Creates an engine with ports 1 to 'n_ports'. */
void unit_offload_init(struct unit_offload *, const struct offload_config *,
                       uint32_t n_ports);

/* Checks invariants at the end: each request had one outcome, and the states
 * agree with the copies of flows. */
void unit_offload_uninit(struct unit_offload *);

/* Number of rules whose deletion has failed and is retried. */
uint64_t unit_retried(struct unit_offload *);

/* Waits until all requests, and their consequences, are done. */
void unit_settle(struct unit_offload *);

ovs_u128 unit_ufid(uint32_t flow);

/* Flow number 'flow'. */
struct offload_desc *unit_desc(uint32_t flow, uint32_t port);

/* The same in chain 'recirc_id', of a kind, with an action that recirculates
 * to 'child' unless that is 0. */
struct offload_desc *unit_desc_full(uint32_t flow, uint32_t port,
                                    uint32_t recirc_id, uint32_t child,
                                    uint32_t kind);

/* A flow of a kind, with an output port and maybe a meter.  Its number, not
 * its port, determines its thread. */
struct offload_desc *unit_desc_to(uint32_t flow, uint32_t port,
                                  uint32_t kind, uint32_t output,
                                  bool has_meter);

/* A flow whose thread 'spread' determines, not its port. */
struct offload_desc *unit_desc_spread(uint32_t flow, uint32_t port,
                                      uint32_t spread);

/* A flow with the key of 'other', so that the kernel accepts only one of
 * them. */
struct offload_desc *unit_desc_like(uint32_t flow,
                                    const struct offload_desc *other);

/* Return the error.  These take over the reference to 'desc'. */
int unit_put(struct unit_offload *, struct offload_desc *,
             unsigned int flags);
int unit_del(struct unit_offload *, uint32_t flow, uint64_t *n_packets);
int unit_get(struct unit_offload *, uint32_t flow, uint64_t *n_packets,
             bool *in_tc);

/* Whether 'flow', which exists, is in devices. */
enum offload_hw unit_get_hw(struct unit_offload *, uint32_t flow);

/* Dumps all flows and returns their number.  'seen', if not NULL, has room for
 * flows 0 to 'n' - 1 and counts them. */
size_t unit_dump(struct unit_offload *, unsigned int seen[], size_t n);

/* The same with a lax dump, which does not wait for tc. */
size_t unit_dump_lax(struct unit_offload *, unsigned int seen[], size_t n);

unsigned int unit_where(struct unit_offload *, uint32_t flow);
unsigned int unit_packets(struct unit_offload *, uint32_t flow, size_t n);
uint64_t unit_counter(struct unit_offload *, enum offload_counter);
enum offload_state unit_state(struct unit_offload *, uint32_t flow);
enum offload_reason unit_reason(struct unit_offload *, uint32_t flow);

#endif /* tests/harness/offload-engine.h */
