/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-set.h"

#include <stdlib.h>

#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-groups.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-ports.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_set);

/* No thread receives for 'set' any more, but a thread may still sleep in one
 * of its handlers. */
void
upcall_set_destroy(struct upcall_set *set)
{
    if (set) {
        for (uint32_t i = 0; i < set->n; i++) {
            upcall_handler_unref(set->handlers[i]);
        }
        upcall_groups_unref(set->groups);
        upcall_ports_unref(set->ports);
        free(set);
    }
}

int
upcall_set_create(struct upcall_ports *ports, struct upcall_stats *stats,
                  uint32_t n, uint32_t group_size, uint32_t generation,
                  const struct upcall_engine_class *engine,
                  struct upcall_set **setp)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct upcall_set *set = xzalloc(sizeof *set + n * sizeof *set->handlers);
    int error;

    *setp = NULL;
    set->generation = generation;
    upcall_ports_ref(ports);
    set->ports = ports;
    error = upcall_groups_create(generation, n, group_size, &set->groups);
    if (error) {
        VLOG_WARN_RL(&rl, "%s: creating upcall handlers failed (%s)",
                     ports->name, ovs_strerror(error));
        goto error;
    }
    for (; set->n < n; set->n++) {
        error = upcall_handler_create(ports, stats, set->n, generation,
                                      set->groups, engine,
                                      &set->handlers[set->n]);
        if (error) {
            VLOG_WARN_RL(&rl, "%s: creating upcall handler %"PRIu32" failed "
                         "(%s)", ports->name, set->n, ovs_strerror(error));
            goto error;
        }
    }
    *setp = set;
    return 0;

error:
    upcall_set_destroy(set);
    return error;
}

void
upcall_set_inherit(struct upcall_set *set, const struct upcall_set *old)
{
    for (uint32_t i = 0; i < MIN(set->n, old->n); i++) {
        upcall_handler_ref(old->handlers[i]);
        upcall_handler_set_predecessor(set->handlers[i], old->handlers[i]);
    }
}

/* Releases 'channel', which was in the run queue of 'set'. */
static void
release_queued(struct upcall_channel *channel, void *set_)
{
    struct upcall_set *set = set_;

    upcall_channel_release(channel, upcall_token_queue(set->generation));
    if (!upcall_channel_is_dead(channel)) {
        upcall_ports_rearm(set->ports, channel, set->generation);
    }
    upcall_channel_unref(channel);
}

void
upcall_set_retire(struct upcall_set *old, uint32_t n_successors)
{
    for (uint32_t i = n_successors; i < old->n; i++) {
        upcall_handler_postpone_abandon(old->handlers[i]);
    }

    /* A thread that sleeps in an old handler wakes up and looks for its
     * handler again. */
    upcall_groups_retire(old->groups, release_queued, old);
    ovsrcu_postpone(upcall_set_destroy, old);
}
