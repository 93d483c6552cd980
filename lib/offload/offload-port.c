/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-port.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "offload/offload-backend.h"
#include "offload/offload.h"
#include "timeval.h"
#include "util.h"

/* Kinds of flows remembered for a port.  Traffic has some dozens, and one for
 * each remote end of a tunnel that the card refuses.  Further kinds are tried
 * each time, which costs time, not correctness.  So many take 256 kB. */
#define MAX_KINDS 4096

struct port {
    struct hmap_node node;      /* In ports->hmap. */
    uint32_t port_no;
    bool located;               /* 'place' is valid. */
    struct offload_place place; /* Where its rules are. */
    uint64_t id;                /* Unique, not 0. */
    uint64_t seq;               /* Changes when the port does. */
    bool cleared;               /* No flow of an earlier port with its number
                                 * is left. */
    bool ready;                 /* The rules that were there are known. */
    bool had_rules;             /* Some of them forward packets. */
    bool kept_chains;           /* Some of them were kept. */
    struct hmap kinds;          /* Rejected. */
    unsigned int backoff;       /* Pause after ENOSPC in ms, 0 if none. */
    long long int backoff_until;
    uint32_t n_in_hw;           /* Rules in the device, at the last count. */
};

/* A kind of flows that failed. */
struct kind {
    struct hmap_node node;      /* Its hash is the kind. */
    uint64_t seq;               /* offload_ports_seq() at that time. */
    unsigned int n_failures;    /* In a row, up to OFFLOAD_KIND_FAILURES. */
    unsigned int pause;         /* The latest, in ms, or 0. */
    long long int until;        /* They are not tried before that, in ms; 0 if
                                 * they are. */
    bool refused;               /* EOPNOTSUPP was the latest answer... */
    bool asked;                 /* ...and one flow is being tried again. */
};

void
offload_ports_init(struct offload_ports *ports)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_init(&ports->mutex);
    hmap_init(&ports->hmap);
    ports->seq = 0;
    ports->meters_seq = 0;
    ports->keep_chains = false;
}

static void
forget_kinds(struct port *port)
{
    struct kind *kind;

    HMAP_FOR_EACH_POP (kind, node, &port->kinds) {
        free(kind);
    }
}

static void
port_destroy(struct port *port)
{
    forget_kinds(port);
    hmap_destroy(&port->kinds);
    free(port);
}

void
offload_ports_destroy(struct offload_ports *ports)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct port *port;

    HMAP_FOR_EACH_POP (port, node, &ports->hmap) {
        port_destroy(port);
    }
    hmap_destroy(&ports->hmap);
    ovs_mutex_destroy(&ports->mutex);
}

static struct port *
port_find(struct offload_ports *ports, uint32_t port_no)
    OVS_REQUIRES(ports->mutex)
{
    struct port *port;

    HMAP_FOR_EACH_WITH_HASH (port, node, hash_int(port_no, 0),
                             &ports->hmap) {
        if (port->port_no == port_no) {
            return port;
        }
    }
    return NULL;
}

/* Forgets what the device of 'port' has rejected. */
static void
port_reset(struct offload_ports *ports, struct port *port)
    OVS_REQUIRES(ports->mutex)
{
    port->seq = ++ports->seq;
    forget_kinds(port);
    port->backoff = 0;
    port->backoff_until = 0;
}

/* Adds 'port_no', whose rules are in 'place' unless that is NULL.  If it
 * already exists, forgets what it rejected.  Returns the id of a new port, or
 * 0. */
uint64_t
offload_ports_add(struct offload_ports *ports, uint32_t port_no,
                  const struct offload_place *place)
{
    struct port *port;
    uint64_t new_id = 0;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    if (!port) {
        port = xzalloc(sizeof *port);
        port->port_no = port_no;
        port->located = place != NULL;
        if (place) {
            port->place = *place;
        }
        hmap_init(&port->kinds);
        hmap_insert(&ports->hmap, &port->node, hash_int(port_no, 0));
        new_id = port->id = ++ports->seq;
    }
    port_reset(ports, port);
    ovs_mutex_unlock(&ports->mutex);
    return new_id;
}

/* Removes 'port_no'.  Returns true and stores in '*place' where its rules are,
 * or returns false if that is unknown. */
bool
offload_ports_remove(struct offload_ports *ports, uint32_t port_no,
                     struct offload_place *place)
{
    bool located = false;
    struct port *port;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    if (port) {
        located = port->located;
        *place = port->place;
        hmap_remove(&ports->hmap, &port->node);
        port_destroy(port);
    }
    ovs_mutex_unlock(&ports->mutex);
    return located;
}

/* Does the port with 'id' still exist as 'port_no'? */
bool
offload_ports_exists(struct offload_ports *ports, uint32_t port_no,
                     uint64_t id)
{
    const struct port *port;
    bool exists;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    exists = port && port->id == id;
    ovs_mutex_unlock(&ports->mutex);
    return exists;
}

/* Forgets what 'port_no' rejected, if it exists. */
void
offload_ports_reset(struct offload_ports *ports, uint32_t port_no)
{
    struct port *port;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    if (port) {
        port_reset(ports, port);
    }
    ovs_mutex_unlock(&ports->mutex);
}

/* Records that the flows of an earlier port with number 'port_no' have been
 * dropped.  No flow of the port with 'id' is offered before. */
void
offload_ports_set_cleared(struct offload_ports *ports, uint32_t port_no,
                          uint64_t id)
{
    struct port *port;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    if (port && port->id == id) {
        port->cleared = true;
    }
    ovs_mutex_unlock(&ports->mutex);
}

/* Was that recorded, so that the flows of 'port_no' belong to the present
 * port? */
bool
offload_ports_is_cleared(struct offload_ports *ports, uint32_t port_no)
{
    const struct port *port;
    bool cleared;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    cleared = port && port->cleared;
    ovs_mutex_unlock(&ports->mutex);
    return cleared;
}

/* Does port 'port_no' have its rules in 'place', and are the rules known that
 * were there when it came, so that all others belong to flows? */
bool
offload_ports_is_known(struct offload_ports *ports, uint32_t port_no,
                       const struct offload_place *place)
{
    const struct port *port;
    bool known;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    known = (port && port->ready && port->located && !ports->keep_chains
             && !memcmp(&port->place, place, sizeof *place));
    ovs_mutex_unlock(&ports->mutex);
    return known;
}

/* Records that the rules that were on 'port_no', with 'id', when it came are
 * known.  Returns false if the port no longer exists. */
bool
offload_ports_set_ready(struct offload_ports *ports, uint32_t port_no,
                        uint64_t id)
{
    struct port *port;
    bool exists;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    exists = port && port->id == id;
    if (exists) {
        port->ready = true;
    }
    ovs_mutex_unlock(&ports->mutex);
    return exists;
}

/* Returns the number of ports. */
size_t
offload_ports_count(struct offload_ports *ports)
{
    size_t n;

    ovs_mutex_lock(&ports->mutex);
    n = hmap_count(&ports->hmap);
    ovs_mutex_unlock(&ports->mutex);
    return n;
}

/* Stores all ports in '*list', which the caller must free, and returns their
 * number. */
size_t
offload_ports_list(struct offload_ports *ports,
                   struct offload_located_port **list)
{
    struct port *port;
    size_t n = 0;

    ovs_mutex_lock(&ports->mutex);
    *list = xcalloc(hmap_count(&ports->hmap) + 1, sizeof **list);
    HMAP_FOR_EACH (port, node, &ports->hmap) {
        (*list)[n++] = (struct offload_located_port) {
            .port = port->port_no,
            .id = port->id,
            .kept_chains = port->kept_chains,
            .located = port->located,
            .place = port->place,
        };
    }
    ovs_mutex_unlock(&ports->mutex);
    return n;
}

/* Sets whether rules of recirculation chains that are found on ports stay. */
void
offload_ports_keep_chains(struct offload_ports *ports, bool keep)
{
    ovs_mutex_lock(&ports->mutex);
    ports->keep_chains = keep;
    ovs_mutex_unlock(&ports->mutex);
}

/* Do such rules stay? */
bool
offload_ports_keep_any_chain(struct offload_ports *ports)
{
    bool keep;

    ovs_mutex_lock(&ports->mutex);
    keep = ports->keep_chains;
    ovs_mutex_unlock(&ports->mutex);
    return keep;
}

/* Does a rule of a recirculation chain that was found on 'port_no', with 'id',
 * stay?  If so, records that the port has one.  A thread that ends the keeping
 * of such rules after that finds the port in the list. */
bool
offload_ports_keeps_chain(struct offload_ports *ports, uint32_t port_no,
                          uint64_t id)
{
    struct port *port;
    bool keep;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    keep = ports->keep_chains && port && port->id == id;
    if (keep) {
        port->had_rules = port->kept_chains = true;
    }
    ovs_mutex_unlock(&ports->mutex);
    return keep;
}

/* Records that a rule of a previous run that forwards packets was found on
 * 'port_no', with 'id', and stays. */
void
offload_ports_set_had_rules(struct offload_ports *ports, uint32_t port_no,
                            uint64_t id)
{
    struct port *port;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    if (port && port->id == id) {
        port->had_rules = true;
    }
    ovs_mutex_unlock(&ports->mutex);
}

/* Was such a rule found on 'port_no', or is it not known yet? */
bool
offload_ports_had_rules(struct offload_ports *ports, uint32_t port_no)
{
    const struct port *port;
    bool had;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    had = port && (port->had_rules || !port->ready);
    ovs_mutex_unlock(&ports->mutex);
    return had;
}

static struct kind *
kind_find(struct port *port, uint32_t id)
{
    struct hmap_node *node = hmap_first_with_hash(&port->kinds, id);

    return node ? CONTAINER_OF(node, struct kind, node) : NULL;
}

static void
kind_forget(struct port *port, struct kind *kind)
{
    hmap_remove(&port->kinds, &kind->node);
    free(kind);
}

/* Makes room for one more kind, if there is one that does not matter.  Returns
 * false if not. */
static bool
make_room(struct port *port, long long int now)
{
    struct kind *kind;

    if (hmap_count(&port->kinds) >= MAX_KINDS) {
        HMAP_FOR_EACH_SAFE (kind, node, &port->kinds) {
            if (kind->until <= now) {
                kind_forget(port, kind);
            }
        }
    }
    return hmap_count(&port->kinds) < MAX_KINDS;
}

/* Records that a flow of the kind of 'desc', with sequence number 'seq', has
 * failed.  'refused' says that the device does not support it. */
static void
kind_failed(struct port *port, const struct offload_desc *desc, uint64_t seq,
            bool refused, unsigned int backoff)
{
    struct kind *kind = kind_find(port, desc->kind);
    long long int now = time_msec();

    if (!kind) {
        if (!make_room(port, now)) {
            return;
        }
        kind = xzalloc(sizeof *kind);
        kind->seq = seq;
        hmap_insert(&port->kinds, &kind->node, desc->kind);
    } else if (kind->seq != seq) {
        kind->seq = seq;
        kind->n_failures = kind->pause = kind->until = 0;
        kind->refused = false;
    }
    if (refused) {
        kind->until = now + OFFLOAD_REFUSED_MSEC;
        kind->refused = true;
        kind->asked = false;
    } else if (now >= kind->until
               && ++kind->n_failures >= OFFLOAD_KIND_FAILURES) {
        /* One more failure ends the next pause and begins another. */
        kind->n_failures = OFFLOAD_KIND_FAILURES - 1;
        kind->pause = (kind->pause
                       ? MIN(kind->pause * 2,
                             backoff * OFFLOAD_BACKOFF_FACTOR)
                       : backoff);
        kind->until = now + kind->pause;
    }
}

/* Returns the number of the latest change that 'desc', with input port 'port',
 * depends on. */
static uint64_t
desc_seq(struct offload_ports *ports, const struct port *port,
         const struct offload_desc *desc)
    OVS_REQUIRES(ports->mutex)
{
    uint64_t seq = port ? port->seq : 0;

    for (size_t i = 0; i < desc->n_outputs; i++) {
        const struct port *output = port_find(ports, desc->outputs[i]);

        seq = MAX(seq, output ? output->seq : 0);
    }
    return desc->has_meter ? MAX(seq, ports->meters_seq) : seq;
}

/* Returns a number that changes when the ports or meters of 'desc' do, 0 if
 * there is no input port. */
uint64_t
offload_ports_seq(struct offload_ports *ports, const struct offload_desc *desc)
{
    const struct port *port;
    uint64_t seq;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, desc->in_port);
    seq = port ? desc_seq(ports, port, desc) : 0;
    ovs_mutex_unlock(&ports->mutex);
    return seq;
}

/* Is 'kind', which may be NULL, one that is not tried at 'now' for flows with
 * sequence number 'seq'?  If its device has refused it, and the time for that
 * is over, returns false for this flow, and true for others until the outcome
 * is known or that time has passed again. */
static bool
kind_is_out(struct kind *kind, uint64_t seq, long long int now)
{
    if (!kind || kind->seq != seq) {
        return false;
    }
    if (now < kind->until) {
        return true;
    }
    if (kind->refused) {
        kind->until = now + OFFLOAD_REFUSED_MSEC;
        kind->asked = true;
    }
    return false;
}

/* Returns whether ports permit that 'desc' is offered; if so, the caller must
 * offer it. */
enum offload_reason
offload_ports_admit(struct offload_ports *ports,
                    const struct offload_desc *desc)
{
    enum offload_reason reason = OFFLOAD_REASON_NO_PORT;
    long long int now = time_msec();
    struct port *port;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, desc->in_port);
    if (port) {
        struct kind *kind = desc->kind ? kind_find(port, desc->kind) : NULL;

        reason = (!port->ready ? OFFLOAD_REASON_RECONCILING
                  : port->backoff && now < port->backoff_until
                  ? OFFLOAD_REASON_BACKOFF
                  : kind_is_out(kind, desc_seq(ports, port, desc), now)
                  ? OFFLOAD_REASON_KIND : OFFLOAD_REASON_NONE);
    }
    ovs_mutex_unlock(&ports->mutex);
    return reason;
}

/* Records that tc refused 'desc' with 'error'.  'backoff' is the first pause,
 * in ms. */
void
offload_ports_failed(struct offload_ports *ports,
                     const struct offload_desc *desc, int error,
                     unsigned int backoff)
{
    long long int now = time_msec();
    struct port *port;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, desc->in_port);
    if (port && error == ENOSPC && now >= port->backoff_until) {
        /* Only the first of several concurrent failures counts. */
        port->backoff = (port->backoff
                         ? MIN(port->backoff * 2,
                               backoff * OFFLOAD_BACKOFF_FACTOR)
                         : backoff);
        port->backoff_until = now + port->backoff;
    } else if (port && desc->kind
               && (error == EOPNOTSUPP || error == EINVAL
                   || error == ENOENT)) {
        kind_failed(port, desc, desc_seq(ports, port, desc),
                    error == EOPNOTSUPP, backoff);
    }
    ovs_mutex_unlock(&ports->mutex);
}

/* Records that tc accepted 'desc'. */
void
offload_ports_succeeded(struct offload_ports *ports,
                        const struct offload_desc *desc)
{
    struct port *port;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, desc->in_port);
    if (port) {
        struct kind *kind = desc->kind ? kind_find(port, desc->kind) : NULL;

        /* If it was in progress when another was refused, it means nothing. */
        if (kind && (!kind->refused || kind->asked)) {
            kind_forget(port, kind);
        }
        if (time_msec() >= port->backoff_until) {
            port->backoff = 0;
        }
    }
    ovs_mutex_unlock(&ports->mutex);
}

/* Records that the device of 'port_no' has room again: ends its pause. */
void
offload_ports_has_room(struct offload_ports *ports, uint32_t port_no)
{
    struct port *port;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    if (port) {
        port->backoff_until = 0;
    }
    ovs_mutex_unlock(&ports->mutex);
}

/* Records that 'n' rules of 'port_no' are in its device. */
void
offload_ports_set_n_in_hw(struct offload_ports *ports, uint32_t port_no,
                          uint32_t n)
{
    struct port *port;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    if (port) {
        port->n_in_hw = n;
    }
    ovs_mutex_unlock(&ports->mutex);
}

/* Returns the number that was last recorded. */
uint32_t
offload_ports_get_n_in_hw(struct offload_ports *ports, uint32_t port_no)
{
    const struct port *port;
    uint32_t n;

    ovs_mutex_lock(&ports->mutex);
    port = port_find(ports, port_no);
    n = port ? port->n_in_hw : 0;
    ovs_mutex_unlock(&ports->mutex);
    return n;
}

/* Records that a meter was added or changed. */
void
offload_ports_meters_changed(struct offload_ports *ports)
{
    ovs_mutex_lock(&ports->mutex);
    ports->meters_seq = ++ports->seq;
    ovs_mutex_unlock(&ports->mutex);
}

/* Returns the number of ports that back off. */
uint32_t
offload_ports_backing_off(struct offload_ports *ports)
{
    long long int now = time_msec();
    struct port *port;
    uint32_t n = 0;

    ovs_mutex_lock(&ports->mutex);
    HMAP_FOR_EACH (port, node, &ports->hmap) {
        n += port->backoff && now < port->backoff_until;
    }
    ovs_mutex_unlock(&ports->mutex);
    return n;
}

