/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-leak.h"

#include <stdlib.h>

#include "hash.h"
#include "offload/offload-backend.h"
#include "util.h"

void
offload_leaks_init(struct offload_leaks *leaks)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_init(&leaks->mutex);
    hmap_init(&leaks->hmap);
    atomic_count_init(&leaks->n, 0);
}

void
offload_leaks_destroy(struct offload_leaks *leaks)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_leak *leak;

    HMAP_FOR_EACH_POP (leak, hmap_node, &leaks->hmap) {
        offload_leak_destroy(leak);
    }
    hmap_destroy(&leaks->hmap);
    ovs_mutex_destroy(&leaks->mutex);
}

/* Returns a new one about 'rule' of 'ufid' on 'port', made of 'desc' unless
 * that is NULL. */
struct offload_leak *
offload_leak_create(const ovs_u128 *ufid, uint32_t port,
                    const struct offload_rule *rule,
                    const struct offload_desc *desc)
{
    struct offload_leak *leak = xmalloc(sizeof *leak);

    *leak = (struct offload_leak) {
        .ufid = *ufid,
        .port = port,
        .rule = offload_rule_ref(rule),
        .desc = desc ? offload_desc_ref(desc) : NULL,
    };
    return leak;
}

void
offload_leak_destroy(struct offload_leak *leak)
{
    offload_rule_unref(leak->rule);
    offload_desc_unref(leak->desc);
    free(leak);
}

static uint32_t
ufid_hash(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

static struct offload_leak *
find(const struct offload_leaks *leaks, const ovs_u128 *ufid)
    OVS_REQUIRES(leaks->mutex)
{
    struct offload_leak *leak;

    HMAP_FOR_EACH_WITH_HASH (leak, hmap_node, ufid_hash(ufid), &leaks->hmap) {
        if (ovs_u128_equals(leak->ufid, *ufid)) {
            return leak;
        }
    }
    return NULL;
}

static void
leak_remove(struct offload_leaks *leaks, struct offload_leak *leak)
    OVS_REQUIRES(leaks->mutex)
{
    hmap_remove(&leaks->hmap, &leak->hmap_node);
    atomic_count_dec(&leaks->n);
}

/* Removes the leak of 'ufid' and returns it, or returns NULL if there is
 * none.  The caller is the thread that adds leaks of 'ufid': usually there are
 * none at all, which it can tell without the mutex. */
struct offload_leak *
offload_leaks_take_one(struct offload_leaks *leaks, const ovs_u128 *ufid)
{
    struct offload_leak *leak;

    if (!atomic_count_get(&leaks->n)) {
        return NULL;
    }
    ovs_mutex_lock(&leaks->mutex);
    leak = find(leaks, ufid);
    if (leak) {
        leak_remove(leaks, leak);
    }
    ovs_mutex_unlock(&leaks->mutex);
    return leak;
}

/* Remembers 'leak', unless its ufid is already. */
void
offload_leaks_add(struct offload_leaks *leaks, struct offload_leak *leak)
{
    bool known;

    ovs_mutex_lock(&leaks->mutex);
    known = find(leaks, &leak->ufid) != NULL;
    if (!known) {
        atomic_count_inc(&leaks->n);
        hmap_insert(&leaks->hmap, &leak->hmap_node, ufid_hash(&leak->ufid));
    }
    ovs_mutex_unlock(&leaks->mutex);
    if (known) {
        offload_leak_destroy(leak);
    }
}

/* Moves those that 'filter' selects to 'taken'. */
void
offload_leaks_take(struct offload_leaks *leaks, offload_leak_filter *filter,
                   void *aux, struct ovs_list *taken)
{
    struct offload_leak *leak;

    ovs_list_init(taken);
    ovs_mutex_lock(&leaks->mutex);
    HMAP_FOR_EACH_SAFE (leak, hmap_node, &leaks->hmap) {
        if (filter(aux, leak->port)) {
            leak_remove(leaks, leak);
            ovs_list_push_back(taken, &leak->list_node);
        }
    }
    ovs_mutex_unlock(&leaks->mutex);
}
