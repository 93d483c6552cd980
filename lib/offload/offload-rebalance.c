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
    uint32_t n_packets;         /* Since the last time; for a flow that leads
                                 * to a chain at least as many as the chain's
                                 * busiest flow has. */
    uint32_t level;             /* Among flows with equal packets, a flow that
                                 * others depend on has a higher level. */
    struct offload_desc *desc;  /* Description when it was ranked, with a
                                 * reference, if it leads to a chain; or
                                 * NULL. */
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
    size_t n_before;            /* Rules in the card the last time... */
    size_t n_in;                /* ...and now, ranked or not. */
    size_t n_unknown;           /* In tc, but not read yet: maybe in the
                                 * card. */
};

/* A recirculation chain, and the packets of its busiest flow. */
struct ranked_chain {
    struct hmap_node node;
    uint32_t id;
    uint32_t n_packets;
};

/* All flows that are ranked. */
struct ranks {
    struct offload *offload;
    struct hmap ports;          /* struct ranked_port. */
    struct hmap chains;         /* struct ranked_chain. */
};

static struct ranked_port *
get_port(struct ranks *ranks, uint32_t port_no)
{
    struct ranked_port *port;

    HMAP_FOR_EACH_WITH_HASH (port, node, hash_int(port_no, 0),
                             &ranks->ports) {
        if (port->port == port_no) {
            return port;
        }
    }
    port = xzalloc(sizeof *port);
    port->port = port_no;
    port->n_before = offload_ports_get_n_in_hw(&ranks->offload->ports,
                                               port_no);
    hmap_insert(&ranks->ports, &port->node, hash_int(port_no, 0));
    return port;
}

static struct ranked_chain *
find_chain(const struct hmap *chains, uint32_t id)
{
    struct ranked_chain *chain;

    HMAP_FOR_EACH_WITH_HASH (chain, node, hash_int(id, 0), chains) {
        if (chain->id == id) {
            return chain;
        }
    }
    return NULL;
}

/* Records that a flow of chain 'id', unless that is 0, has 'n_packets'.
 * Returns true if it is the busiest so far. */
static bool
raise_chain(struct hmap *chains, uint32_t id, uint32_t n_packets)
{
    struct ranked_chain *chain = id ? find_chain(chains, id) : NULL;

    if (id && !chain) {
        chain = xzalloc(sizeof *chain);
        chain->id = id;
        hmap_insert(chains, &chain->node, hash_int(id, 0));
    }
    if (!id || chain->n_packets >= n_packets) {
        return false;
    }
    chain->n_packets = n_packets;
    return true;
}

static void
add(struct ranking *ranking, struct offload_flow *flow)
{
    const struct offload_desc *desc = flow->desc;

    if (ranking->n == ranking->allocated) {
        ranking->flows = x2nrealloc(ranking->flows, &ranking->allocated,
                                    sizeof *ranking->flows);
    }
    flow->n_refs++;
    ranking->flows[ranking->n++] = (struct ranked) {
        .flow = flow,
        .n_packets = flow->n_recent,
        .level = (desc->n_children ? 2 : 0) + !desc->recirc_id,
        .desc = desc->n_children ? offload_desc_ref(desc) : NULL,
    };
}

/* Is 'flow' idle, without a request? */
static bool
is_eligible(const struct offload_flow *flow)
{
    return (flow->life == OFFLOAD_LIFE_PRESENT
            && flow->work == OFFLOAD_WORK_IDLE
            && !flow->request && !flow->kernel_claimed);
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

/* Does 'flow' wait for a flow that leads to its chain?  It needs a place when
 * that comes. */
static bool
is_waiting(const struct offload_flow *flow)
{
    return (flow->life == OFFLOAD_LIFE_PRESENT
            && flow->work == OFFLOAD_WORK_WAITING);
}

/* May 'flow', which is not in the card, be worth the place of another one? */
static bool
is_worth_it(const struct offload_flow *flow)
{
    return (flow->n_recent >= OFFLOAD_REBALANCE_GAIN
            || flow->desc->n_children);
}

/* Counts the packets of 'flow' since the last call. */
static void
count_packets(struct offload_flow *flow)
{
    uint32_t n = flow->base.n_packets;

    n += offload_flow_in_kernel(flow) ? flow->kernel_seen.n_packets : 0;
    n += offload_flow_in_tc(flow) ? flow->tc_seen.n_packets : 0;
    flow->n_recent = n - flow->n_ranked;
    flow->n_ranked = n;
}

/* Gives 'flow', which is not in the card, a place there if 'chosen'. */
static void
place(struct offload *offload, struct offload_flow *flow, bool chosen)
    OVS_REQUIRES(flow->stripe->mutex)
{
    uint32_t now = time_msec();

    if (!is_eligible(flow) || !(is_in_software(flow) || lacks_room(flow))) {
        /* It has changed meanwhile, or comes without help. */
    } else if (is_in_software(flow)) {
        if (chosen || now - flow->came >= OFFLOAD_SOFTWARE_MSEC) {
            offload_placement_return_for(offload, flow,
                                         OFFLOAD_REASON_SOFTWARE,
                                         (chosen ? 0
                                          : OFFLOAD_OUTRANKED_MSEC));
        }
    } else if (chosen) {
        offload_placement_postpone(offload, flow, 0);
    } else if (flow->retry < time_msec() + OFFLOAD_OUTRANKED_MSEC / 2) {
        offload_placement_postpone(offload, flow, OFFLOAD_OUTRANKED_MSEC);
    }
}

static void
collect_flow(struct ranks *ranks, struct offload_flow *flow)
    OVS_REQUIRES(flow->stripe->mutex)
{
    bool eligible = is_eligible(flow);
    struct ranked_port *port;

    count_packets(flow);
    raise_chain(&ranks->chains, flow->desc->recirc_id, flow->n_recent);
    port = get_port(ranks, flow->desc->in_port);
    port->n_unknown += (flow->tc != OFFLOAD_TC_NONE
                        && flow->hw == OFFLOAD_HW_UNKNOWN);
    if (is_in(flow)) {
        port->n_in++;
        if (eligible) {
            add(&port->in, flow);
        }
    } else if (eligible ? is_in_software(flow) || lacks_room(flow)
               : is_waiting(flow)) {
        if (is_worth_it(flow)) {
            add(&port->out, flow);
        } else if (port->n_before) {
            place(ranks->offload, flow, false);
        }
    }
}

static void
collect(struct ranks *ranks)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &ranks->offload->table.stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            collect_flow(ranks, flow);
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
}

/* Ranks the flows of 'ranking' that lead to chains as high as the flows there.
 * Returns true if that raises the chain of one of them. */
static bool
raise_parents(struct ranking *ranking, struct hmap *chains)
{
    bool raised = false;

    for (size_t i = 0; i < ranking->n; i++) {
        struct ranked *ranked = &ranking->flows[i];
        const struct offload_desc *desc = ranked->desc;

        for (size_t j = 0; desc && j < desc->n_children; j++) {
            const struct ranked_chain *chain = find_chain(chains,
                                                          desc->children[j]);

            if (chain && chain->n_packets > ranked->n_packets) {
                ranked->n_packets = chain->n_packets;
            }
        }
        if (desc) {
            raised |= raise_chain(chains, desc->recirc_id, ranked->n_packets);
        }
    }
    return raised;
}

/* Does the same on all ports until that raises no chain.  Each turn reaches
 * the parents of the chains of the last one.  It ends even if chains lead to
 * each other, as there are finitely many numbers and none decreases. */
static void
raise_all_parents(struct ranks *ranks)
{
    struct ranked_port *port;
    bool raised;

    do {
        raised = false;
        HMAP_FOR_EACH (port, node, &ranks->ports) {
            raised |= raise_parents(&port->in, &ranks->chains);
            raised |= raise_parents(&port->out, &ranks->chains);
        }
    } while (raised);
}

static int
compare(const void *a_, const void *b_)
{
    const struct ranked *a = a_, *b = b_;

    return (a->n_packets != b->n_packets
            ? (a->n_packets < b->n_packets ? -1 : 1)
            : a->level < b->level ? -1 : a->level > b->level);
}

/* Returns how many of the best of 'out', which are its last, get the places of
 * the first of 'in', at most 'max'.  They must have at least a quarter more
 * packets, and at least OFFLOAD_REBALANCE_GAIN more, so that similar flows do
 * not change places all the time. */
static size_t
count_swaps(const struct ranked_port *port, size_t max)
{
    const struct ranking *in = &port->in, *out = &port->out;
    size_t n = 0;

    max = MIN(max, MIN(in->n, out->n));
    while (n < max) {
        uint64_t n_in = in->flows[n].n_packets;
        uint64_t n_out = out->flows[out->n - 1 - n].n_packets;

        if (n_out <= n_in + n_in / 4
            || n_out < n_in + OFFLOAD_REBALANCE_GAIN) {
            break;
        }
        n++;
    }
    return n;
}

/* Makes 'flow' leave the card. */
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

/* Remaining places. */
struct rest {
    struct offload *offload;
    size_t n_room;
};

/* Gives 'flow' one of the remaining places if it was not worth ranking. */
static void
place_rest(struct offload_flow *flow, void *rest_)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct rest *rest = rest_;

    if (rest->n_room && !is_worth_it(flow) && is_eligible(flow)
        && (is_in_software(flow) || lacks_room(flow))) {
        place(rest->offload, flow, true);
        rest->n_room--;
    }
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
        offload_desc_unref(ranking->flows[i].desc);
    }
    free(ranking->flows);
}

/* Returns how many rules have left the card of 'port' since the last time. */
static size_t
count_room(const struct ranked_port *port)
{
    size_t n = port->n_in + port->n_unknown;

    return port->n_before > n ? port->n_before - n : 0;
}

static void
rebalance_port(struct offload *offload, struct ranked_port *port, size_t max)
{
    struct ranking *in = &port->in, *out = &port->out;
    struct rest rest = {
        .offload = offload, .n_room = count_room(port),
    };
    size_t n_swaps, n_chosen;

    offload_ports_set_n_in_hw(&offload->ports, port->port, port->n_in);
    if (!port->n_in && !rest.n_room) {
        /* There is no card. */
        return;
    }
    if (in->n) {
        qsort(in->flows, in->n, sizeof *in->flows, compare);
    }
    if (out->n) {
        qsort(out->flows, out->n, sizeof *out->flows, compare);
    }
    n_swaps = count_swaps(port, max);
    n_chosen = MIN(out->n, n_swaps + rest.n_room);
    if (n_swaps || rest.n_room) {
        offload_ports_has_room(&offload->ports, port->port);
    }
    for (size_t i = 0; i < n_swaps; i++) {
        evict(offload, in->flows[i].flow);
    }
    for (size_t i = 0; i < out->n; i++) {
        struct offload_flow *flow = out->flows[i].flow;

        ovs_mutex_lock(&flow->stripe->mutex);
        place(offload, flow, i >= out->n - n_chosen);
        ovs_mutex_unlock(&flow->stripe->mutex);
    }
    rest.n_room += n_swaps - n_chosen;
    if (rest.n_room) {
        offload_table_visit_port(&offload->table, port->port, place_rest,
                                 &rest);
    }
}

/* Returns how many flows may change places on each of 'n_ports' ports: so many
 * that their threads need half of the time until the next ranking, even if the
 * slowest thread has all of them. */
static size_t
max_swaps(struct offload *offload, size_t n_ports)
{
    uint32_t slowest = 1000;
    unsigned int interval, n;

    atomic_read_relaxed(&offload->rebalance_interval, &interval);
    atomic_read_relaxed(&offload->queues.n, &n);
    for (unsigned int i = 0; i < n; i++) {
        uint32_t nsec;

        atomic_read_relaxed(&offload->queues.queues[i].flow_nsec, &nsec);
        slowest = MAX(slowest, nsec);
    }
    /* A flow leaves the card, another one comes. */
    return MAX((interval ? interval : OFFLOAD_REBALANCE_INTERVAL)
               * UINT64_C(1000000) / 2 / 2 / slowest / MAX(n_ports, 1), 1);
}

/* Ranks flows by their known statistics, and makes threads exchange some. */
void
offload_rebalance_run(struct offload *offload)
{
    struct ranks ranks = {
        .offload = offload,
        .ports = HMAP_INITIALIZER(&ranks.ports),
        .chains = HMAP_INITIALIZER(&ranks.chains),
    };
    struct ranked_chain *chain;
    struct ranked_port *port;
    size_t n_cards = 0, max;

    collect(&ranks);
    raise_all_parents(&ranks);
    HMAP_FOR_EACH (port, node, &ranks.ports) {
        n_cards += port->in.n > 0;
    }
    max = max_swaps(offload, n_cards);
    HMAP_FOR_EACH_POP (port, node, &ranks.ports) {
        rebalance_port(offload, port, max);
        release(&port->in);
        release(&port->out);
        free(port);
    }
    HMAP_FOR_EACH_POP (chain, node, &ranks.chains) {
        free(chain);
    }
    hmap_destroy(&ranks.chains);
    hmap_destroy(&ranks.ports);
}
