/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_CHAIN_H
#define OFFLOAD_CHAIN_H 1

/* Recirculation chains
 * ====================
 *
 * For each chain that matters, stores how many rules in tc recirculate to it
 * ("parents"), and which flows wait for the first parent.
 *
 * A waiting flow is in the list of its chain, from offload_chains_wait() until
 * it is removed with offload_chains_cancel(), or until a parent has come and
 * offload_chains_pop() removes it.  In the latter case the caller still has to
 * wake the flow.  It may be deleted, or wait again, before that happens.  So
 * the function returns its ufid, and the caller has to check
 * offload_chains_is_waiting().
 *
 * Thread safety: any thread, any time, except for _init and _destroy.  A
 * waiter belongs to a flow: _wait and _cancel are called with the flow's lock.
 * The mutex of chains is taken after that. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/thread.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"

struct offload_desc;

struct offload_chains {
    atomic_bool enabled;        /* The backend supports chains. */
    struct ovs_mutex mutex;
    struct hmap hmap OVS_GUARDED;       /* struct chain, by ID. */
};

/* A flow's place in the list of a chain.  Guarded by the mutex of chains. */
struct offload_chain_waiter {
    struct ovs_list node;
    bool listed;
    uint32_t chain;             /* ID, if 'listed'. */
    ovs_u128 ufid;              /* If 'listed'. */
};

void offload_chains_init(struct offload_chains *);
void offload_chains_destroy(struct offload_chains *);
void offload_chains_add(struct offload_chains *, const struct offload_desc *);
void offload_chains_remove(struct offload_chains *,
                           const struct offload_desc *);
bool offload_chains_wait(struct offload_chains *, const struct offload_desc *,
                         struct offload_chain_waiter *);
void offload_chains_cancel(struct offload_chains *,
                           struct offload_chain_waiter *);
bool offload_chains_pop(struct offload_chains *, uint32_t id, ovs_u128 *ufid);
bool offload_chains_is_waiting(struct offload_chains *,
                               const struct offload_chain_waiter *);

#endif /* lib/offload/offload-chain.h */
