/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-chain.h"

#include <stdlib.h>

#include "hash.h"
#include "offload/offload-backend.h"
#include "util.h"

/* A chain of recirculation. */
struct chain {
    struct hmap_node node;      /* In chains->hmap.  By id. */
    uint32_t id;
    unsigned int n_parents;     /* Rules in tc that recirculate to it. */
    struct ovs_list waiters;    /* struct offload_chain_waiter. */
};

void
offload_chains_init(struct offload_chains *chains)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    atomic_init(&chains->enabled, true);
    ovs_mutex_init(&chains->mutex);
    hmap_init(&chains->hmap);
}

/* To be called when no flow waits. */
void
offload_chains_destroy(struct offload_chains *chains)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct chain *chain;

    HMAP_FOR_EACH_POP (chain, node, &chains->hmap) {
        free(chain);
    }
    hmap_destroy(&chains->hmap);
    ovs_mutex_destroy(&chains->mutex);
}

static struct chain *
chain_find(struct offload_chains *chains, uint32_t id)
    OVS_REQUIRES(chains->mutex)
{
    struct chain *chain;

    HMAP_FOR_EACH_WITH_HASH (chain, node, hash_int(id, 0), &chains->hmap) {
        if (chain->id == id) {
            return chain;
        }
    }
    return NULL;
}

static struct chain *
chain_get(struct offload_chains *chains, uint32_t id)
    OVS_REQUIRES(chains->mutex)
{
    struct chain *chain = chain_find(chains, id);

    if (!chain) {
        chain = xzalloc(sizeof *chain);
        chain->id = id;
        ovs_list_init(&chain->waiters);
        hmap_insert(&chains->hmap, &chain->node, hash_int(id, 0));
    }
    return chain;
}

static void
chain_release(struct offload_chains *chains, struct chain *chain)
    OVS_REQUIRES(chains->mutex)
{
    if (!chain->n_parents && ovs_list_is_empty(&chain->waiters)) {
        hmap_remove(&chains->hmap, &chain->node);
        free(chain);
    }
}

/* Records that a rule made of 'desc' is in tc. */
void
offload_chains_add(struct offload_chains *chains,
                   const struct offload_desc *desc)
{
    if (desc->n_children) {
        ovs_mutex_lock(&chains->mutex);
        for (size_t i = 0; i < desc->n_children; i++) {
            chain_get(chains, desc->children[i])->n_parents++;
        }
        ovs_mutex_unlock(&chains->mutex);
    }
}

/* Records that it is no longer in tc. */
void
offload_chains_remove(struct offload_chains *chains,
                      const struct offload_desc *desc)
{
    if (desc->n_children) {
        ovs_mutex_lock(&chains->mutex);
        for (size_t i = 0; i < desc->n_children; i++) {
            struct chain *chain = chain_find(chains, desc->children[i]);

            chain->n_parents--;
            chain_release(chains, chain);
        }
        ovs_mutex_unlock(&chains->mutex);
    }
}

/* If 'desc' is in a chain to which no rule in tc recirculates, puts 'waiter'
 * into its list and returns true. */
bool
offload_chains_wait(struct offload_chains *chains,
                    const struct offload_desc *desc,
                    struct offload_chain_waiter *waiter)
{
    struct chain *chain;
    bool enabled, wait;

    atomic_read_relaxed(&chains->enabled, &enabled);
    if (!desc->recirc_id || !enabled) {
        return false;
    }
    ovs_mutex_lock(&chains->mutex);
    chain = chain_get(chains, desc->recirc_id);
    wait = !chain->n_parents;
    if (wait) {
        ovs_list_push_back(&chain->waiters, &waiter->node);
        waiter->listed = true;
        waiter->chain = chain->id;
        waiter->ufid = desc->ufid;
    }
    ovs_mutex_unlock(&chains->mutex);
    return wait;
}

/* Removes 'waiter' from the list of its chain, if it is still there. */
void
offload_chains_cancel(struct offload_chains *chains,
                      struct offload_chain_waiter *waiter)
{
    ovs_mutex_lock(&chains->mutex);
    if (waiter->listed) {
        ovs_list_remove(&waiter->node);
        waiter->listed = false;
        chain_release(chains, chain_find(chains, waiter->chain));
    }
    ovs_mutex_unlock(&chains->mutex);
}

/* Removes a flow from the list of those that wait for 'id', and stores its
 * ufid.  Returns false if there is none, or if no rule recirculates to 'id'
 * any more. */
bool
offload_chains_pop(struct offload_chains *chains, uint32_t id, ovs_u128 *ufid)
{
    struct chain *chain;
    bool found = false;

    ovs_mutex_lock(&chains->mutex);
    chain = chain_find(chains, id);
    if (chain && chain->n_parents && !ovs_list_is_empty(&chain->waiters)) {
        struct offload_chain_waiter *waiter = CONTAINER_OF(
            ovs_list_pop_front(&chain->waiters), struct offload_chain_waiter,
            node);

        waiter->listed = false;
        *ufid = waiter->ufid;
        found = true;
    }
    ovs_mutex_unlock(&chains->mutex);
    return found;
}

/* Is 'waiter' in the list of its chain? */
bool
offload_chains_is_waiting(struct offload_chains *chains,
                          const struct offload_chain_waiter *waiter)
{
    bool listed;

    ovs_mutex_lock(&chains->mutex);
    listed = waiter->listed;
    ovs_mutex_unlock(&chains->mutex);
    return listed;
}
