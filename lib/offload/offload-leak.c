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

/* Returns a new one about the rule of 'ufid' on 'port', made of 'desc' unless
 * that is NULL. */
struct offload_leak *
offload_leak_create(const ovs_u128 *ufid, uint32_t port,
                    const struct offload_desc *desc)
{
    struct offload_leak *leak = xmalloc(sizeof *leak);

    *leak = (struct offload_leak) {
        .ufid = *ufid,
        .port = port,
        .desc = desc ? offload_desc_ref(desc) : NULL,
    };
    return leak;
}

void
offload_leak_destroy(struct offload_leak *leak)
{
    offload_desc_unref(leak->desc);
    free(leak);
}

static uint32_t
ufid_hash(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

static bool
contain(const struct offload_leaks *leaks, const ovs_u128 *ufid)
    OVS_REQUIRES(leaks->mutex)
{
    const struct offload_leak *leak;

    HMAP_FOR_EACH_WITH_HASH (leak, hmap_node, ufid_hash(ufid), &leaks->hmap) {
        if (ovs_u128_equals(leak->ufid, *ufid)) {
            return true;
        }
    }
    return false;
}

/* Might what tc has of 'ufid' be a rule that should not be there? */
bool
offload_leaks_contain(struct offload_leaks *leaks, const ovs_u128 *ufid)
{
    bool known;

    ovs_mutex_lock(&leaks->mutex);
    known = contain(leaks, ufid);
    ovs_mutex_unlock(&leaks->mutex);
    return known;
}

/* Remembers 'leak', unless its ufid is already. */
void
offload_leaks_add(struct offload_leaks *leaks, struct offload_leak *leak)
{
    bool known;

    ovs_mutex_lock(&leaks->mutex);
    known = contain(leaks, &leak->ufid);
    if (!known) {
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
            hmap_remove(&leaks->hmap, &leak->hmap_node);
            ovs_list_push_back(taken, &leak->list_node);
        }
    }
    ovs_mutex_unlock(&leaks->mutex);
}
