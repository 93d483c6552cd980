/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-withdraw.h"

#include <stdlib.h>

#include "offload/offload-engine.h"
#include "offload/offload-placement.h"

/* Sends a thread to the remaining rules of 'port', after the present
 * requests. */
static void
sweep_later(struct offload *offload, uint32_t port,
            const struct offload_place *place)
{
    const struct offload_control message = {
        .item.type = OFFLOAD_ITEM_SWEEP,
        .port = port,
        .located = true,
        .place = *place,
    };

    offload_send_to_port(offload, &message);
}

/* Is 'flow' in tc, or on its way there or back?  A flow that goes from tc to
 * nowhere goes there in any case: the user may have deleted it. */
static bool
is_concerned(const struct offload_flow *flow)
{
    return (flow->target != OFFLOAD_TARGET_NOWHERE
            && (offload_flow_needs_thread(flow) || flow->request));
}

/* Drops 'flow', whose port is gone, unless it may belong to the new port with
 * that number: flows of that port are offered only after
 * offload_ports_set_cleared(), and under the lock of the flow. */
static void
drop(struct offload_flow *flow, void *offload_)
{
    struct offload *offload = offload_;

    if (is_concerned(flow)
        && !offload_ports_is_cleared(&offload->ports, flow->desc->in_port)) {
        offload_placement_drop(offload, flow);
    }
}

/* Drops remaining flows of an earlier port with number 'port', whose message
 * may have been overtaken by that of the port with 'id'. */
void
offload_withdraw_old(struct offload *offload, uint32_t port, uint64_t id)
{
    offload_table_visit_port(&offload->table, port, drop, offload);
    offload_ports_set_cleared(&offload->ports, port, id);
}

/* Handles the removal of the port of 'message'. */
void
offload_withdraw_port(struct offload *offload,
                      const struct offload_control *message)
{
    offload_table_visit_port(&offload->table, message->port, drop, offload);
    if (message->located) {
        sweep_later(offload, message->port, &message->place);
    }
}

/* Handles that offload was turned off.  Stops when it is on again. */
void
offload_withdraw_all(struct offload *offload)
{
    struct offload_located_port *ports;
    size_t n;

    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];
        struct offload_flow *flow;
        bool enabled;

        /* Read with the lock, so that a flow that was offered after offload
         * was turned on again is not moved back. */
        ovs_mutex_lock(&stripe->mutex);
        atomic_read_relaxed(&offload->enabled, &enabled);
        if (enabled) {
            ovs_mutex_unlock(&stripe->mutex);
            return;
        }
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (is_concerned(flow)) {
                offload_placement_return(offload, flow,
                                         OFFLOAD_REASON_DISABLED);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }

    n = offload_ports_list(&offload->ports, &ports);
    for (size_t i = 0; i < n; i++) {
        if (ports[i].located) {
            sweep_later(offload, ports[i].port, &ports[i].place);
        }
    }
    free(ports);
}
