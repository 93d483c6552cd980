/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_LEAK_H
#define OFFLOAD_LEAK_H 1

/* Rules that could not be deleted from tc
 * =======================================
 *
 * Remembered by the ufid of their flow, which has gone, until somebody has
 * deleted them: see offload-cleanup.h.
 *
 * Thread safety: any thread, any time, but for _init and _destroy. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/thread.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"

struct offload_desc;
struct offload_rule;

struct offload_leaks {
    struct ovs_mutex mutex;
    struct hmap hmap OVS_GUARDED;       /* struct offload_leak. */
    atomic_count n;             /* Of them. */
};

struct offload_leak {
    struct hmap_node hmap_node; /* In leaks->hmap, by ufid. */
    struct ovs_list list_node;  /* For who has taken it. */
    ovs_u128 ufid;
    uint32_t port;
    struct offload_rule *rule;
    struct offload_desc *desc;  /* Of the rule; NULL if it is not known. */
};

void offload_leaks_init(struct offload_leaks *);
void offload_leaks_destroy(struct offload_leaks *);
struct offload_leak *offload_leak_create(const ovs_u128 *ufid, uint32_t port,
                                         const struct offload_rule *,
                                         const struct offload_desc *);
void offload_leak_destroy(struct offload_leak *);
void offload_leaks_add(struct offload_leaks *, struct offload_leak *);
struct offload_leak *offload_leaks_take_one(struct offload_leaks *,
                                            const ovs_u128 *ufid);

/* Decides whether a rule on 'port' is meant. */
typedef bool offload_leak_filter(void *aux, uint32_t port);
void offload_leaks_take(struct offload_leaks *, offload_leak_filter *,
                        void *aux, struct ovs_list *taken);

#endif /* lib/offload/offload-leak.h */
