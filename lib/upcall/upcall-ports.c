/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-ports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-groups.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-rcvbuf.h"
#include "upcall/upcall-refcount.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_ports);

/* Slots: one for each possible port, one for the channel of no port, one for
 * the shared one, one for the CPUs of each handler. */
#define UPCALL_N_SLOTS (UPCALL_MAX_PORTS + 2 + UPCALL_MAX_HANDLERS)

/* Returns UPCALL_N_SLOTS for a number that no port can have. */
static uint32_t
port_to_slot(uint32_t port_no)
{
    return (upcall_port_is_real(port_no) ? port_no
            : port_no == UPCALL_PORT_NONE ? UPCALL_MAX_PORTS
            : port_no == UPCALL_PORT_SHARED ? UPCALL_MAX_PORTS + 1
            : upcall_port_is_cpu(port_no)
            ? UPCALL_MAX_PORTS + 2 + (port_no - UPCALL_PORT_CPU_BASE)
            : UPCALL_N_SLOTS);
}

/* The channel in 'slot', or NULL. */
static struct upcall_channel *
slot_channel(const struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    return ovsrcu_get_protected(struct upcall_channel *, &ports->slots[slot]);
}

/* The slot after 'slot'.  Those above the highest port number in use need not
 * be looked at. */
static uint32_t
next_slot(const struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    return slot == ports->last_slot ? UPCALL_MAX_PORTS : slot + 1;
}

/* Iterates over the channels of PORTS, whose mutex is held. */
#define UPCALL_PORTS_FOR_EACH(CHANNEL, SLOT, PORTS)                     \
    for ((SLOT) = 0; (SLOT) < UPCALL_N_SLOTS;                           \
         (SLOT) = next_slot(PORTS, SLOT))                               \
        if (((CHANNEL) = slot_channel(PORTS, SLOT)) != NULL)

struct upcall_ports *
upcall_ports_create(const char *name, int dp_ifindex, uint16_t packet_family)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct upcall_ports *ports = xzalloc(sizeof *ports);

    ovs_refcount_init(&ports->refcount);
    ports->name = xstrdup(name);
    ports->dp_ifindex = dp_ifindex;
    ports->packet_family = packet_family;
    ovs_mutex_init(&ports->mutex);
    ports->buffer_max = UPCALL_BUFFER_MAX;
    atomic_init(&ports->target_delay, 0);
    atomic_init(&ports->generation, 0);
    ports->slots = xcalloc(UPCALL_N_SLOTS, sizeof *ports->slots);
    ports->rates = xcalloc(UPCALL_N_SLOTS, sizeof *ports->rates);
    ovsrcu_init(&ports->adding, NULL);
    upcall_shared_init(&ports->shared);
    return ports;
}

void
upcall_ports_ref(struct upcall_ports *ports)
{
    ovs_refcount_ref(&ports->refcount);
}

void
upcall_ports_unref(struct upcall_ports *ports)
{
    if (upcall_refcount_unref(&ports->refcount)) {
        upcall_shared_uninit(&ports->shared);
        ovs_mutex_destroy(&ports->mutex);
        free(ports->rates);
        free(ports->slots);
        free(ports->name);
        free(ports);
    }
}

/* Finds the channel in the slot of 'port_no'. */
static struct upcall_channel *
upcall_ports_get(const struct upcall_ports *ports, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);

    return (slot < UPCALL_N_SLOTS
            ? ovsrcu_get(struct upcall_channel *, &ports->slots[slot])
            : NULL);
}

struct upcall_channel *
upcall_ports_lookup(const struct upcall_ports *ports, uint32_t port_no,
                    uint32_t serial)
{
    struct upcall_channel *channel;

    /* In this order, because a channel is put into its slot before it stops
     * being the one that is added. */
    channel = ovsrcu_get(struct upcall_channel *, &ports->adding);
    if (!channel || channel->serial != serial) {
        channel = upcall_ports_get(ports, port_no);
    }
    return channel && channel->serial == serial ? channel : NULL;
}

struct upcall_channel *
upcall_ports_urgent(const struct upcall_ports *ports)
{
    return upcall_ports_get(ports, UPCALL_PORT_NONE);
}

/* Gives the channels of ports receive buffers of the size for as many as there
 * are. */
static void
upcall_ports_update_rcvbuf(struct upcall_ports *ports)
    OVS_REQUIRES(ports->mutex)
{
    size_t n_ports = ports->n_port_channels;
    size_t n_others = ports->n_channels - n_ports;
    uint32_t size = upcall_rcvbuf_choose(ports->buffer_max, n_ports, n_others,
                                         ports->rcvbuf);
    struct upcall_channel *channel;
    uint64_t total;
    uint32_t slot;

    if (size != ports->rcvbuf) {
        ports->rcvbuf = size;
        UPCALL_PORTS_FOR_EACH (channel, slot, ports) {
            if (slot < UPCALL_MAX_PORTS) {
                upcall_channel_set_rcvbuf(channel, size);
            }
        }
    }

    total = upcall_rcvbuf_total(n_ports, n_others, size);
    if (total <= ports->buffer_max) {
        ports->over_budget = false;
    } else if (!ports->over_budget) {
        ports->over_budget = true;
        VLOG_WARN("%s: %"PRIuSIZE" sockets for upcalls can take %"PRIu64" MiB "
                  "of kernel memory, with the smallest receive buffers that "
                  "are of use, and the budget is %"PRIu64" MiB (other_config:"
                  "upcall-buffer-max); upcall-max-sockets limits their number",
                  ports->name, ports->n_channels, total >> 20,
                  ports->buffer_max >> 20);
    }
}

void
upcall_ports_hold(struct upcall_ports *ports, struct upcall_channel *channel,
                  unsigned int n)
{
    ovs_mutex_lock(&ports->mutex);
    if (n) {
        upcall_channel_hold(channel);
        channel->hold = n;
        ports->holding = true;
    }
    ovs_mutex_unlock(&ports->mutex);
}

bool
upcall_ports_release(struct upcall_ports *ports)
{
    struct upcall_channel *channel;
    bool holding = false;
    uint32_t slot;

    ovs_mutex_lock(&ports->mutex);
    if (ports->holding) {
        UPCALL_PORTS_FOR_EACH (channel, slot, ports) {
            if (channel->hold && !--channel->hold) {
                /* A handler may have left an event of it before this. */
                upcall_channel_unhold(channel);
                if (ports->groups) {
                    upcall_groups_arm(ports->groups, channel);
                }
            }
            holding = holding || channel->hold;
        }
        ports->holding = holding;
    }
    ovs_mutex_unlock(&ports->mutex);
    return holding;
}

void
upcall_ports_unmark_outdated(struct upcall_ports *ports)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&ports->mutex);
    UPCALL_PORTS_FOR_EACH (channel, slot, ports) {
        upcall_channel_unmark_outdated(channel);
    }
    ovs_mutex_unlock(&ports->mutex);
}

void
upcall_ports_set_buffer_max(struct upcall_ports *ports, uint64_t max)
{
    ovs_mutex_lock(&ports->mutex);
    if (max != ports->buffer_max) {
        ports->buffer_max = max;
        ports->over_budget = false;
        upcall_ports_update_rcvbuf(ports);
    }
    ovs_mutex_unlock(&ports->mutex);
}

void
upcall_ports_set_target_delay(struct upcall_ports *ports, uint32_t usec)
{
    atomic_store_relaxed(&ports->target_delay, usec);
}

uint32_t
upcall_ports_target_delay(const struct upcall_ports *ports_)
{
    struct upcall_ports *ports = CONST_CAST(struct upcall_ports *, ports_);
    uint32_t usec;

    atomic_read_relaxed(&ports->target_delay, &usec);
    return usec;
}

static void
upcall_ports_del__(struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    struct upcall_channel *channel = slot_channel(ports, slot);
    struct upcall_shared_port *shared;

    if (!channel) {
        return;
    }
    shared = upcall_shared_get(&ports->shared, slot);
    if (shared) {
        struct upcall_channel_stats stats;

        upcall_channel_get_stats(channel, &stats);
        upcall_shared_port_add_stats(shared, &stats);
    }
    ports->dropped += upcall_channel_dropped(channel);
    ovsrcu_set(&ports->slots[slot], NULL);
    atomic_store_relaxed(&channel->dead, true);
    if (ports->groups) {
        upcall_groups_del(ports->groups, channel);
    }
    ports->n_channels--;
    ports->n_port_channels -= slot < UPCALL_MAX_PORTS;
    upcall_ports_update_rcvbuf(ports);

    /* A handler may have found it in the slot and not taken its reference
     * yet. */
    ovsrcu_postpone(upcall_channel_unref, channel);
}

/* Puts 'channel' into 'slot', in place of one that is there. */
static void
upcall_ports_put(struct upcall_ports *ports, uint32_t slot,
                 struct upcall_channel *channel)
    OVS_REQUIRES(ports->mutex)
{
    upcall_ports_del__(ports, slot);
    ovsrcu_set(&ports->slots[slot], channel);
    ports->n_channels++;
    ports->n_port_channels += slot < UPCALL_MAX_PORTS;
    if (slot < UPCALL_MAX_PORTS && slot > ports->last_slot) {
        ports->last_slot = slot;
    }
    upcall_ports_update_rcvbuf(ports);
    if (slot < UPCALL_MAX_PORTS) {
        upcall_channel_set_rcvbuf(channel, ports->rcvbuf);
    }
}

int
upcall_ports_add(struct upcall_ports *ports, uint32_t port_no,
                 const char *name, struct upcall_channel *channel)
{
    uint32_t slot = port_to_slot(port_no);
    int error;

    if (slot >= UPCALL_N_SLOTS) {
        VLOG_WARN("%s: port %s has number %"PRIu32", beyond the %u that the "
                  "kernel datapath has", ports->name, name, port_no,
                  UPCALL_MAX_PORTS);
        return EINVAL;
    }

    ovs_mutex_lock(&ports->mutex);
    channel->port_no = port_no;
    if (channel->name) {
        /* Refused before; a handler may be about to mention it. */
        ovsrcu_postpone(free, channel->name);
    }
    channel->name = xstrdup(name);

    /* From the first event on handlers must find the channel; and a channel
     * that the port has already must stay if this fails. */
    ovsrcu_set(&ports->adding, channel);
    error = ports->groups ? upcall_groups_add(ports->groups, channel) : 0;
    if (error) {
        VLOG_WARN("%s: adding the channel of port %s to the upcall handlers "
                  "failed (%s)", ports->name, name, ovs_strerror(error));
    } else {
        upcall_ports_put(ports, slot, channel);
    }
    ovsrcu_set(&ports->adding, NULL);
    if (error) {
        /* A handler may be looking at it, looking for another one, and the
         * caller is free to drop it. */
        ovs_refcount_ref(&channel->refcount);
        ovsrcu_postpone(upcall_channel_unref, channel);
    }
    ovs_mutex_unlock(&ports->mutex);
    return error;
}

/* Forgets what was seen of the port in 'slot'. */
static void
forget_rate(struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    memset(&ports->rates[slot], 0, sizeof ports->rates[slot]);
}

void
upcall_ports_del(struct upcall_ports *ports, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);

    if (slot < UPCALL_N_SLOTS) {
        ovs_mutex_lock(&ports->mutex);
        upcall_ports_del__(ports, slot);
        if (!upcall_shared_get(&ports->shared, slot)) {
            forget_rate(ports, slot);
        }
        ovs_mutex_unlock(&ports->mutex);
    }
}

void
upcall_ports_del_all(struct upcall_ports *ports)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&ports->mutex);
    UPCALL_PORTS_FOR_EACH (channel, slot, ports) {
        upcall_ports_del__(ports, slot);
    }
    for (slot = 0; slot <= ports->last_slot; slot++) {
        upcall_shared_del(&ports->shared, slot, NULL);
    }
    ovs_mutex_unlock(&ports->mutex);
}

void
upcall_ports_share(struct upcall_ports *ports, uint32_t port_no,
                   const char *name)
{
    if (upcall_port_is_real(port_no)) {
        ovs_mutex_lock(&ports->mutex);
        upcall_shared_add(&ports->shared, port_no, name);
        ports->last_slot = MAX(ports->last_slot, port_no);
        ovs_mutex_unlock(&ports->mutex);
    }
}

void
upcall_ports_unshare(struct upcall_ports *ports, uint32_t port_no)
{
    if (upcall_port_is_real(port_no)) {
        ovs_mutex_lock(&ports->mutex);
        upcall_shared_del(&ports->shared, port_no,
                          slot_channel(ports, port_no));
        if (!slot_channel(ports, port_no)) {
            forget_rate(ports, port_no);
        }
        ovs_mutex_unlock(&ports->mutex);
    }
}

bool
upcall_ports_is_shared(const struct upcall_ports *ports, uint32_t port_no)
{
    return upcall_shared_has(&ports->shared, port_no);
}

uint32_t
upcall_ports_get_own_pid(const struct upcall_ports *ports, uint32_t port_no)
{
    const struct upcall_channel *channel = upcall_ports_get(ports, port_no);

    return channel ? channel->pid : 0;
}

uint32_t
upcall_ports_get_pid(const struct upcall_ports *ports, uint32_t port_no)
{
    if (upcall_ports_is_shared(ports, port_no)) {
        port_no = UPCALL_PORT_SHARED;
    }
    return upcall_ports_get_own_pid(ports, port_no);
}

bool
upcall_ports_has_channel(const struct upcall_ports *ports, uint32_t port_no)
{
    return upcall_ports_get(ports, port_no) != NULL;
}

size_t
upcall_ports_n_shared(const struct upcall_ports *ports)
{
    size_t n;

    ovs_mutex_lock(&ports->mutex);
    n = ports->shared.n;
    ovs_mutex_unlock(&ports->mutex);
    return n;
}

size_t
upcall_ports_n_port_channels(const struct upcall_ports *ports)
{
    size_t n;

    ovs_mutex_lock(&ports->mutex);
    n = ports->n_port_channels;
    ovs_mutex_unlock(&ports->mutex);
    return n;
}

size_t
upcall_ports_n_channels(const struct upcall_ports *ports)
{
    size_t n;

    ovs_mutex_lock(&ports->mutex);
    n = ports->n_channels;
    ovs_mutex_unlock(&ports->mutex);
    return n;
}

void
upcall_ports_purge(struct upcall_ports *ports)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&ports->mutex);
    UPCALL_PORTS_FOR_EACH (channel, slot, ports) {
        upcall_channel_drain(channel);
    }
    ovs_mutex_unlock(&ports->mutex);
}

void
upcall_ports_count_shared(struct upcall_ports *ports,
                          const struct upcall_view *view, uint64_t now)
{
    struct upcall_channel *channel;
    uint32_t port_no, n;

    if (!upcall_view_in_port(view, &port_no)) {
        return;
    }
    n = upcall_shared_count(&ports->shared, port_no, now);
    if (n) {
        channel = upcall_ports_get(ports, UPCALL_PORT_SHARED);
        if (channel) {
            atomic_store_relaxed(&channel->weight, n);
        }
    }
}

static int
upcall_ports_register_all(struct upcall_ports *ports,
                          struct upcall_groups *groups)
    OVS_REQUIRES(ports->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct upcall_channel *channel;
    uint32_t slot;

    UPCALL_PORTS_FOR_EACH (channel, slot, ports) {
        int error = upcall_groups_add(groups, channel);

        if (error) {
            VLOG_WARN_RL(&rl, "%s: adding the channel of port %s to the "
                         "upcall handlers failed (%s)", ports->name,
                         channel->name, ovs_strerror(error));
            return error;
        }
    }
    return 0;
}

int
upcall_ports_attach(struct upcall_ports *ports, struct upcall_groups *groups,
                    uint32_t generation)
{
    int error;

    ovs_mutex_lock(&ports->mutex);
    error = upcall_ports_register_all(ports, groups);
    if (!error) {
        upcall_groups_ref(groups);
        upcall_groups_unref(ports->groups);
        ports->groups = groups;

        /* Pairs with the load in upcall_ports_rearm().  Sequentially
         * consistent, as is the owner word. */
        atomic_store(&ports->generation, generation);
    }
    ovs_mutex_unlock(&ports->mutex);
    return error;
}

void
upcall_ports_detach(struct upcall_ports *ports)
{
    ovs_mutex_lock(&ports->mutex);
    upcall_groups_unref(ports->groups);
    ports->groups = NULL;
    ovs_mutex_unlock(&ports->mutex);
}

void
upcall_ports_rearm(struct upcall_ports *ports,
                   const struct upcall_channel *channel, uint32_t generation)
{
    uint32_t current;

    /* A new set of handlers has the channel armed from its beginning on, but
     * one of them may have seen the event before the channel was released, and
     * left it.  The caller has written the owner word and reads the generation
     * now; the generation was written before handlers of the new set read the
     * owner word.  Both sequentially consistent, so one of the two sees the
     * other.  Pairs with the store in upcall_ports_attach(). */
    atomic_read(&ports->generation, &current);
    if (current != generation) {
        ovs_mutex_lock(&ports->mutex);
        if (ports->groups) {
            upcall_groups_arm(ports->groups, channel);
        }
        ovs_mutex_unlock(&ports->mutex);
    }
}

/* Stores what was counted on 'channel' and as 'shared', either of which may be
 * NULL.  Without 'latency' that is left out. */
static void
get_port_stats(const struct upcall_channel *channel,
               const struct upcall_shared_port *shared, bool latency,
               struct upcall_channel_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    if (channel && latency) {
        upcall_channel_get_stats(channel, stats);
    } else if (channel) {
        upcall_channel_get_counts(channel, stats);
    }
    if (shared) {
        stats->received += upcall_counter_read(&shared->received);
        stats->lost += upcall_counter_read(&shared->lost);
        stats->lost_limited += upcall_counter_read(&shared->lost_limited);
        stats->shed += upcall_counter_read(&shared->shed);
    }
}

bool
upcall_ports_get_stats(const struct upcall_ports *ports, uint32_t port_no,
                       struct upcall_channel_stats *stats)
{
    uint32_t slot = port_to_slot(port_no);
    const struct upcall_shared_port *shared;
    const struct upcall_channel *channel;

    if (slot >= UPCALL_N_SLOTS) {
        return false;
    }
    ovs_mutex_lock(&ports->mutex);
    shared = upcall_shared_get(&ports->shared, slot);
    channel = slot_channel(ports, slot);
    get_port_stats(channel, shared, false, stats);
    ovs_mutex_unlock(&ports->mutex);
    return channel || shared;
}

/* Who has 'channel' now. */
static int
upcall_channel_owner(const struct upcall_channel *channel)
{
    uint32_t owner, handler;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &channel->owner),
                        &owner);
    handler = owner & UPCALL_MAX_HANDLERS;
    return (!owner || owner == UPCALL_TOKEN_HELD ? UPCALL_OWNER_NONE
            : !handler ? UPCALL_OWNER_QUEUE : (int) handler - 1);
}

static void
get_port_info(const struct upcall_ports *ports, uint32_t slot,
              const struct upcall_channel *channel,
              const struct upcall_shared_port *shared,
              struct upcall_port_info *port)
    OVS_REQUIRES(ports->mutex)
{
    if (channel) {
        port->port_no = channel->port_no;
        port->has_channel = true;
        port->owner = upcall_channel_owner(channel);
    } else {
        port->port_no = slot;
        port->owner = UPCALL_OWNER_NONE;
    }
    port->name = xstrdup(channel ? channel->name : shared->name);
    port->pid = upcall_ports_get_pid(ports, port->port_no);
    if (shared) {
        port->shared = true;
    }
    get_port_stats(channel, shared, true, &port->stats);
    port->rate = ports->rates[slot];
}

long long int
upcall_ports_update_rates(struct upcall_ports *ports, long long int now,
                          long long int wall)
{
    long long int next;

    ovs_mutex_lock(&ports->mutex);
    if (!ports->rated_at || now - ports->rated_at >= UPCALL_RATE_MSEC) {
        long long int msec = ports->rated_at ? now - ports->rated_at : 0;

        for (uint32_t slot = 0; slot < UPCALL_N_SLOTS;
             slot = next_slot(ports, slot)) {
            struct upcall_shared_port *shared
                = upcall_shared_get(&ports->shared, slot);
            struct upcall_channel *channel = slot_channel(ports, slot);

            if (channel || shared) {
                struct upcall_channel_stats stats;

                get_port_stats(channel, shared, false, &stats);
                upcall_rate_update(&ports->rates[slot], &stats, msec, wall);
            }
        }
        ports->rated_at = now;
    }
    next = ports->rated_at + UPCALL_RATE_MSEC;
    ovs_mutex_unlock(&ports->mutex);
    return next;
}

void
upcall_ports_get_info(const struct upcall_ports *ports,
                      struct upcall_table_info *info)
{
    ovs_mutex_lock(&ports->mutex);
    info->n_sockets = ports->n_channels;
    info->dropped = ports->dropped;
    info->buffer_max = ports->buffer_max;
    info->buffer_size = ports->rcvbuf * 2;
    info->target_delay = upcall_ports_target_delay(ports);
    info->ports = xcalloc(ports->n_channels + ports->shared.n,
                          sizeof *info->ports);
    for (uint32_t slot = 0; slot < UPCALL_N_SLOTS;
         slot = next_slot(ports, slot)) {
        struct upcall_shared_port *shared
            = upcall_shared_get(&ports->shared, slot);
        struct upcall_channel *channel = slot_channel(ports, slot);

        if (channel || shared) {
            get_port_info(ports, slot, channel, shared,
                          &info->ports[info->n_ports++]);
        }
        info->dropped += channel ? upcall_channel_dropped(channel) : 0;
    }
    ovs_mutex_unlock(&ports->mutex);
}

void
upcall_ports_reset_stats(struct upcall_ports *ports)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&ports->mutex);
    UPCALL_PORTS_FOR_EACH (channel, slot, ports) {
        upcall_channel_reset_stats(channel);
    }
    for (slot = 0; slot <= ports->last_slot; slot++) {
        struct upcall_shared_port *shared
            = upcall_shared_get(&ports->shared, slot);

        if (shared) {
            upcall_shared_port_reset_stats(shared);
        }
    }
    for (slot = 0; slot < UPCALL_N_SLOTS; slot = next_slot(ports, slot)) {
        forget_rate(ports, slot);
    }
    ports->rated_at = 0;
    ovs_mutex_unlock(&ports->mutex);
}
