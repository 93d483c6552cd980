/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-rebalance.h"

#include <stdlib.h>

#include "hash.h"
#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "timeval.h"
#include "util.h"

/* A flow in the ranking, with a reference. */
struct ranked {
    struct offload_flow *flow;
    uint64_t n_packets;         /* Since the last time; fits into 32 bits. */
};

struct ranking {
    struct ranked *flows;
    size_t n, allocated;
};

/* A port. */
struct ranked_port {
    struct hmap_node node;
    uint32_t port;
    struct ranking in, out;
    size_t n_unknown;           /* In tc, but not read yet: maybe in the
                                 * card. */
};

static struct ranked_port *
get_port(struct hmap *ports, uint32_t port_no)
{
    struct ranked_port *port;

    HMAP_FOR_EACH_WITH_HASH (port, node, hash_int(port_no, 0), ports) {
        if (port->port == port_no) {
            return port;
        }
    }
    port = xzalloc(sizeof *port);
    port->port = port_no;
    hmap_insert(ports, &port->node, hash_int(port_no, 0));
    return port;
}

static void
add(struct ranking *ranking, struct offload_flow *flow, uint32_t n_packets)
{
    if (ranking->n == ranking->allocated) {
        ranking->flows = x2nrealloc(ranking->flows, &ranking->allocated,
                                    sizeof *ranking->flows);
    }
    flow->n_refs++;
    ranking->flows[ranking->n++] = (struct ranked) { flow, n_packets };
}

/* Is nothing under way for 'flow', on which no other depends? */
static bool
is_eligible(const struct offload_flow *flow)
{
    return (flow->life == OFFLOAD_LIFE_PRESENT
            && flow->work == OFFLOAD_WORK_IDLE
            && !flow->request && !flow->kernel_claimed
            && !flow->desc->recirc_id && !flow->desc->n_children);
}

static bool
is_in(const struct offload_flow *flow)
{
    return (flow->target == OFFLOAD_TARGET_TC && offload_flow_in_tc(flow)
            && offload_in_hw(flow->hw));
}

static bool
is_in_software(const struct offload_flow *flow)
{
    return (flow->target == OFFLOAD_TARGET_TC && offload_flow_in_tc(flow)
            && flow->hw == OFFLOAD_HW_NONE);
}

/* Is 'flow' in the kernel because there was no room? */
static bool
lacks_room(const struct offload_flow *flow)
{
    return (flow->target == OFFLOAD_TARGET_KERNEL
            && !offload_flow_in_tc(flow) && offload_flow_in_kernel(flow)
            && (flow->reason == OFFLOAD_REASON_NO_SPACE
                || flow->reason == OFFLOAD_REASON_BACKOFF
                || flow->reason == OFFLOAD_REASON_SOFTWARE
                || flow->reason == OFFLOAD_REASON_OUTRANKED));
}

/* Packets of 'flow' since this was called before. */
static uint32_t
count_packets(struct offload_flow *flow)
{
    uint32_t before = flow->n_ranked, n = flow->base.n_packets;

    n += offload_flow_in_kernel(flow) ? flow->kernel_seen.n_packets : 0;
    n += offload_flow_in_tc(flow) ? flow->tc_seen.n_packets : 0;
    flow->n_ranked = n;
    return n - before;
}

static void
collect(struct offload *offload, struct hmap *ports)
{
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            uint32_t n_packets = count_packets(flow);
            bool in = is_in(flow);

            if (flow->tc != OFFLOAD_TC_NONE
                && flow->hw == OFFLOAD_HW_UNKNOWN) {
                get_port(ports, flow->desc->in_port)->n_unknown++;
            }

            if (is_eligible(flow)
                && (in || is_in_software(flow) || lacks_room(flow))) {
                struct ranked_port *port = get_port(ports,
                                                    flow->desc->in_port);

                add(in ? &port->in : &port->out, flow, n_packets);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
}

static int
compare(const void *a_, const void *b_)
{
    const struct ranked *a = a_, *b = b_;

    return a->n_packets < b->n_packets ? -1 : a->n_packets > b->n_packets;
}

/* Returns how many of the best of 'out', which are its last, shall have the
 * places of the first of 'in': those with more packets by a quarter at least,
 * so that flows that are alike do not change places all the time. */
static size_t
count_swaps(const struct ranked_port *port)
{
    const struct ranking *in = &port->in, *out = &port->out;
    size_t max = MIN(MIN(in->n, out->n), OFFLOAD_REBALANCE_MAX);
    size_t n = 0;

    while (n < max && (out->flows[out->n - 1 - n].n_packets
                       > in->flows[n].n_packets
                       + in->flows[n].n_packets / 4)) {
        n++;
    }
    return n;
}

/* Has 'flow' leave the card. */
static void
evict(struct offload *offload, struct offload_flow *flow)
{
    ovs_mutex_lock(&flow->stripe->mutex);
    if (is_eligible(flow) && is_in(flow)) {
        offload_placement_return_for(offload, flow, OFFLOAD_REASON_OUTRANKED,
                                     OFFLOAD_OUTRANKED_MSEC);
    }
    ovs_mutex_unlock(&flow->stripe->mutex);
}

/* 'flow' is one of the best that are not in the card if 'chosen'. */
static void
place(struct offload *offload, struct offload_flow *flow, bool chosen)
{
    uint32_t now = time_msec();

    ovs_mutex_lock(&flow->stripe->mutex);
    if (!is_eligible(flow)) {
        /* It has changed meanwhile. */
    } else if (is_in_software(flow)) {
        if (chosen || now - flow->came >= OFFLOAD_SOFTWARE_MSEC) {
            offload_placement_return_for(offload, flow,
                                         OFFLOAD_REASON_SOFTWARE,
                                         (chosen ? 0
                                          : OFFLOAD_OUTRANKED_MSEC));
        }
    } else if (lacks_room(flow)) {
        offload_placement_postpone(offload, flow,
                                   chosen ? 0 : OFFLOAD_OUTRANKED_MSEC);
    }
    ovs_mutex_unlock(&flow->stripe->mutex);
}

static void
release(struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->n; i++) {
        struct offload_flow *flow = ranking->flows[i].flow;
        struct ovs_mutex *mutex = &flow->stripe->mutex;

        ovs_mutex_lock(mutex);
        offload_flow_unref(flow);
        ovs_mutex_unlock(mutex);
    }
    free(ranking->flows);
}

/* Returns how many rules have left the card of 'port' since the last time. */
static size_t
count_room(struct offload *offload, const struct ranked_port *port)
{
    uint32_t before = offload_ports_set_n_in_hw(&offload->ports, port->port,
                                                port->in.n);
    size_t n = port->in.n + port->n_unknown;

    return before > n ? before - n : 0;
}

static void
rebalance_port(struct offload *offload, struct ranked_port *port)
{
    struct ranking *in = &port->in, *out = &port->out;
    size_t n_room = count_room(offload, port);
    size_t n_swaps, n_chosen;

    if (!in->n && !n_room) {
        /* There is no card. */
        return;
    }
    if (in->n) {
        qsort(in->flows, in->n, sizeof *in->flows, compare);
    }
    if (out->n) {
        qsort(out->flows, out->n, sizeof *out->flows, compare);
    }
    n_swaps = count_swaps(port);
    n_chosen = MIN(out->n, n_swaps + n_room);
    for (size_t i = 0; i < n_swaps; i++) {
        evict(offload, in->flows[i].flow);
    }
    if (n_chosen) {
        offload_ports_has_room(&offload->ports, port->port);
    }
    for (size_t i = 0; i < out->n; i++) {
        place(offload, out->flows[i].flow, i >= out->n - n_chosen);
    }
}

/* Ranks flows and has some change places, which threads do then.  Statistics
 * are those that are known. */
void
offload_rebalance_run(struct offload *offload)
{
    struct hmap ports = HMAP_INITIALIZER(&ports);
    struct ranked_port *port;

    collect(offload, &ports);
    HMAP_FOR_EACH_POP (port, node, &ports) {
        rebalance_port(offload, port);
        release(&port->in);
        release(&port->out);
        free(port);
    }
    hmap_destroy(&ports);
}
