/* SPDX-License-Identifier: Apache-2.0 */

/* Ports, with what is remembered of their devices, and chains, with the flows
 * that wait for them. */

#include <config.h>
#include "offload/offload-private.h"

#include <errno.h>
#include <stdlib.h>

#include "hash.h"
#include "timeval.h"
#include "util.h"

/* Kinds of flows remembered for a port.  Traffic has some dozens; when there
 * are more, those that come are tried each time, which costs time, not
 * correctness. */
#define MAX_KINDS 256

struct port {
    struct hmap_node node;      /* In offload->ports. */
    uint32_t port_no;
    uint64_t seq;               /* Changes when the port does. */
    bool ready;                 /* The rules that were there are known. */
    struct hmap kinds;          /* Rejected. */
    unsigned int backoff;       /* Pause after ENOSPC in ms, 0 if none. */
    long long int backoff_until;
};

struct kind {
    struct hmap_node node;      /* Its hash is the kind. */
};

/* A chain of recirculation. */
struct chain {
    struct hmap_node node;      /* In offload->chains.  By id. */
    uint32_t id;
    unsigned int n_parents;     /* Rules in tc that recirculate to it. */
    struct ovs_list parked;     /* Flows, without references. */
};

void
offload_ports_init(struct offload *offload)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_init(&offload->ports_mutex);
    hmap_init(&offload->ports);
    ovs_mutex_init(&offload->chains_mutex);
    hmap_init(&offload->chains);
}

static void
forget_kinds(struct port *port)
{
    struct kind *kind;

    HMAP_FOR_EACH_POP (kind, node, &port->kinds) {
        free(kind);
    }
}

/* To be called when no flow is left. */
void
offload_ports_destroy(struct offload *offload)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct chain *chain;
    struct port *port;

    HMAP_FOR_EACH_POP (port, node, &offload->ports) {
        forget_kinds(port);
        hmap_destroy(&port->kinds);
        free(port);
    }
    hmap_destroy(&offload->ports);
    ovs_mutex_destroy(&offload->ports_mutex);

    HMAP_FOR_EACH_POP (chain, node, &offload->chains) {
        free(chain);
    }
    hmap_destroy(&offload->chains);
    ovs_mutex_destroy(&offload->chains_mutex);
}

static struct port *
port_find(struct offload *offload, uint32_t port_no)
    OVS_REQUIRES(offload->ports_mutex)
{
    struct port *port;

    HMAP_FOR_EACH_WITH_HASH (port, node, hash_int(port_no, 0),
                             &offload->ports) {
        if (port->port_no == port_no) {
            return port;
        }
    }
    return NULL;
}

/* Forgets what 'port' rejected. */
static void
port_reset(struct offload *offload, struct port *port)
    OVS_REQUIRES(offload->ports_mutex)
{
    port->seq = ++offload->port_seq;
    forget_kinds(port);
    port->backoff = 0;
    port->backoff_until = 0;
}

/* Says that datapath port 'port_no' is there, so that its flows may be
 * offered.  Rules that a previous run left on it become flows, or are deleted
 * if they are about flows that the engine knows better; an offload thread does
 * that, and then offers what came meanwhile.  If the port is there already,
 * does what offload_port_changed() does. */
void
offload_port_add(struct offload *offload, uint32_t port_no)
{
    struct port *port;
    bool new = false;

    ovs_mutex_lock(&offload->ports_mutex);
    port = port_find(offload, port_no);
    if (!port) {
        port = xzalloc(sizeof *port);
        port->port_no = port_no;
        hmap_init(&port->kinds);
        hmap_insert(&offload->ports, &port->node, hash_int(port_no, 0));
        new = true;
    }
    port_reset(offload, port);
    ovs_mutex_unlock(&offload->ports_mutex);

    if (new) {
        ovs_rwlock_rdlock(&offload->gate);
        offload_send(offload, offload_choose_thread(offload, port_no),
                     OFFLOAD_ITEM_ADOPT, port_no, NULL);
        ovs_rwlock_unlock(&offload->gate);
    }
}

/* Says that what the device of 'port_no' can do may have changed, so that its
 * rejections are forgotten. */
void
offload_port_changed(struct offload *offload, uint32_t port_no)
{
    struct port *port;

    ovs_mutex_lock(&offload->ports_mutex);
    port = port_find(offload, port_no);
    if (port) {
        port_reset(offload, port);
    }
    ovs_mutex_unlock(&offload->ports_mutex);
}

/* Says that 'port_no' goes.  Moves its flows back to the kernel.  When this
 * returns, no rule of ours with that input port is in tc. */
void
offload_port_del(struct offload *offload, uint32_t port_no)
{
    struct port *port;

    ovs_mutex_lock(&offload->ports_mutex);
    port = port_find(offload, port_no);
    if (port) {
        hmap_remove(&offload->ports, &port->node);
        forget_kinds(port);
        hmap_destroy(&port->kinds);
        free(port);
    }
    ovs_mutex_unlock(&offload->ports_mutex);

    /* What is found on new ports is known after this. */
    offload_urgent_barrier(offload);
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (flow->desc->in_port == port_no
                && (offload_flow_in_tc(flow) || offload_flow_is_busy(flow)
                    || flow->request)) {
                offload_flow_return(offload, flow, OFFLOAD_REASON_NO_PORT);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
    offload_urgent_barrier(offload);

    /* What could not be deleted one by one. */
    offload_flush_ports(offload, &port_no, 1);
}

/* Says that the rules that were on 'port_no' when it came are known, and
 * offers the flows that waited for that. */
void
offload_port_ready(struct offload *offload, uint32_t port_no)
{
    struct port *port;

    ovs_mutex_lock(&offload->ports_mutex);
    port = port_find(offload, port_no);
    if (port) {
        port->ready = true;
    }
    ovs_mutex_unlock(&offload->ports_mutex);

    for (size_t i = 0; port && i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (flow->desc->in_port == port_no) {
                offload_flow_offer(offload, flow);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
}

/* Stores the numbers of all ports in '*ports', which the caller must free, and
 * returns how many they are. */
size_t
offload_port_list(struct offload *offload, uint32_t **ports)
{
    struct port *port;
    size_t n = 0;

    ovs_mutex_lock(&offload->ports_mutex);
    *ports = xcalloc(hmap_count(&offload->ports) + 1, sizeof **ports);
    HMAP_FOR_EACH (port, node, &offload->ports) {
        (*ports)[n++] = port->port_no;
    }
    ovs_mutex_unlock(&offload->ports_mutex);
    return n;
}

static struct kind *
kind_find(struct port *port, uint32_t id)
{
    struct hmap_node *node = hmap_first_with_hash(&port->kinds, id);

    return node ? CONTAINER_OF(node, struct kind, node) : NULL;
}

/* Tells whether, as far as its port is concerned, 'desc' may be offered.
 * Stores in '*seq' what changes when the port does, 0 if there is none. */
enum offload_reason
offload_port_admit(struct offload *offload, const struct offload_desc *desc,
                   uint64_t *seq)
{
    enum offload_reason reason = OFFLOAD_REASON_NO_PORT;
    struct port *port;

    ovs_mutex_lock(&offload->ports_mutex);
    port = port_find(offload, desc->in_port);
    *seq = port ? port->seq : 0;
    if (port) {
        reason = (!port->ready ? OFFLOAD_REASON_RECONCILING
                  : desc->kind && kind_find(port, desc->kind)
                  ? OFFLOAD_REASON_KIND
                  : port->backoff && time_msec() < port->backoff_until
                  ? OFFLOAD_REASON_BACKOFF : OFFLOAD_REASON_NONE);
    }
    ovs_mutex_unlock(&offload->ports_mutex);
    return reason;
}

/* Remembers that tc did not take 'desc' because of 'error'. */
void
offload_port_failed(struct offload *offload, const struct offload_desc *desc,
                    int error)
{
    long long int now = time_msec();
    unsigned int backoff;
    struct port *port;

    atomic_read_relaxed(&offload->backoff, &backoff);
    ovs_mutex_lock(&offload->ports_mutex);
    port = port_find(offload, desc->in_port);
    if (port && error == ENOSPC && now >= port->backoff_until) {
        /* Of those that were under way together only the first counts. */
        port->backoff = (port->backoff
                         ? MIN(port->backoff * 2,
                               backoff * OFFLOAD_BACKOFF_FACTOR)
                         : backoff);
        port->backoff_until = now + port->backoff;
    } else if (port && error == EOPNOTSUPP && desc->kind
               && !kind_find(port, desc->kind)
               && hmap_count(&port->kinds) < MAX_KINDS) {
        struct kind *kind = xmalloc(sizeof *kind);

        hmap_insert(&port->kinds, &kind->node, desc->kind);
    }
    ovs_mutex_unlock(&offload->ports_mutex);
}

/* Takes note that tc took a flow of 'port_no'. */
void
offload_port_succeeded(struct offload *offload, uint32_t port_no)
{
    struct port *port;

    ovs_mutex_lock(&offload->ports_mutex);
    port = port_find(offload, port_no);
    if (port && time_msec() >= port->backoff_until) {
        port->backoff = 0;
    }
    ovs_mutex_unlock(&offload->ports_mutex);
}

/* Returns the number of ports that back off. */
uint32_t
offload_ports_backing_off(struct offload *offload)
{
    long long int now = time_msec();
    struct port *port;
    uint32_t n = 0;

    ovs_mutex_lock(&offload->ports_mutex);
    HMAP_FOR_EACH (port, node, &offload->ports) {
        n += port->backoff && now < port->backoff_until;
    }
    ovs_mutex_unlock(&offload->ports_mutex);
    return n;
}

static struct chain *
chain_find(struct offload *offload, uint32_t id)
    OVS_REQUIRES(offload->chains_mutex)
{
    struct chain *chain;

    HMAP_FOR_EACH_WITH_HASH (chain, node, hash_int(id, 0), &offload->chains) {
        if (chain->id == id) {
            return chain;
        }
    }
    return NULL;
}

static struct chain *
chain_get(struct offload *offload, uint32_t id)
    OVS_REQUIRES(offload->chains_mutex)
{
    struct chain *chain = chain_find(offload, id);

    if (!chain) {
        chain = xzalloc(sizeof *chain);
        chain->id = id;
        ovs_list_init(&chain->parked);
        hmap_insert(&offload->chains, &chain->node, hash_int(id, 0));
    }
    return chain;
}

static void
chain_release(struct offload *offload, struct chain *chain)
    OVS_REQUIRES(offload->chains_mutex)
{
    if (!chain->n_parents && ovs_list_is_empty(&chain->parked)) {
        hmap_remove(&offload->chains, &chain->node);
        free(chain);
    }
}

/* Takes note that a rule made of 'desc' is in tc. */
void
offload_chains_add(struct offload *offload, const struct offload_desc *desc)
{
    if (desc->n_children) {
        ovs_mutex_lock(&offload->chains_mutex);
        for (size_t i = 0; i < desc->n_children; i++) {
            chain_get(offload, desc->children[i])->n_parents++;
        }
        ovs_mutex_unlock(&offload->chains_mutex);
    }
}

/* Takes note that it is no longer. */
void
offload_chains_remove(struct offload *offload, const struct offload_desc *desc)
{
    if (desc->n_children) {
        ovs_mutex_lock(&offload->chains_mutex);
        for (size_t i = 0; i < desc->n_children; i++) {
            struct chain *chain = chain_find(offload, desc->children[i]);

            chain->n_parents--;
            chain_release(offload, chain);
        }
        ovs_mutex_unlock(&offload->chains_mutex);
    }
}

/* If 'flow' is of a chain that no rule in tc recirculates to, parks it and
 * returns true. */
bool
offload_flow_park(struct offload *offload, struct offload_flow *flow)
{
    struct chain *chain;
    bool chains;

    atomic_read_relaxed(&offload->chains_work, &chains);
    if (!flow->desc->recirc_id || !chains) {
        return false;
    }
    ovs_mutex_lock(&offload->chains_mutex);
    chain = chain_get(offload, flow->desc->recirc_id);
    if (!chain->n_parents) {
        ovs_list_push_back(&chain->parked, &flow->park_node);
        flow->in_park_list = true;
        offload_flow_set_work(flow, OFFLOAD_WORK_WAITING);
        flow->parked_for = chain->id;
        offload_count(offload, flow->thread, OFFLOAD_PARKED);
    }
    ovs_mutex_unlock(&offload->chains_mutex);
    return flow->work == OFFLOAD_WORK_WAITING;
}

/* Ends the parking of 'flow', if it is parked. */
void
offload_flow_unpark(struct offload *offload, struct offload_flow *flow)
{
    if (flow->work == OFFLOAD_WORK_WAITING) {
        ovs_mutex_lock(&offload->chains_mutex);
        if (flow->in_park_list) {
            struct chain *chain;

            ovs_list_remove(&flow->park_node);
            flow->in_park_list = false;
            chain = chain_find(offload, flow->parked_for);
            chain_release(offload, chain);
        }
        ovs_mutex_unlock(&offload->chains_mutex);
        offload_flow_set_work(flow, OFFLOAD_WORK_IDLE);
    }
}

/* Takes a flow out of the list of those that wait for 'id', unless no rule
 * recirculates to it any more.  Returns false if there is none. */
static bool
chain_pop(struct offload *offload, uint32_t id, ovs_u128 *ufid)
{
    struct chain *chain;
    bool found = false;

    ovs_mutex_lock(&offload->chains_mutex);
    chain = chain_find(offload, id);
    if (chain && chain->n_parents && !ovs_list_is_empty(&chain->parked)) {
        struct offload_flow *flow = CONTAINER_OF(
            ovs_list_pop_front(&chain->parked), struct offload_flow,
            park_node);

        /* It is in the table: what takes it out ends the parking first.  But
         * it need not be any longer when the caller gets there. */
        flow->in_park_list = false;
        *ufid = flow->ufid;
        found = true;
    }
    ovs_mutex_unlock(&offload->chains_mutex);
    return found;
}

/* Is 'flow' parked, but was taken out of the list of its chain?  It may be
 * parked again since then, and another thread may be about to take it. */
static bool
is_popped(struct offload *offload, const struct offload_flow *flow)
{
    bool popped;

    ovs_mutex_lock(&offload->chains_mutex);
    popped = flow->work == OFFLOAD_WORK_WAITING && !flow->in_park_list;
    ovs_mutex_unlock(&offload->chains_mutex);
    return popped;
}

/* Offers again the flows that waited for 'desc', which is in tc now.  The
 * caller has no lock. */
void
offload_chains_wake(struct offload *offload, const struct offload_desc *desc)
{
    for (size_t i = 0; i < desc->n_children; i++) {
        ovs_u128 ufid;

        while (chain_pop(offload, desc->children[i], &ufid)) {
            struct offload_stripe *stripe = offload_stripe(offload, &ufid);
            struct offload_flow *flow;

            ovs_mutex_lock(&stripe->mutex);
            flow = offload_flow_find(stripe, &ufid);
            if (flow && is_popped(offload, flow)) {
                flow->requested = time_usec();
                flow->thread = offload_choose_thread(offload,
                                                     flow->desc->in_port);
                offload_flow_push(offload, flow);
            }
            ovs_mutex_unlock(&stripe->mutex);
        }
    }
}
