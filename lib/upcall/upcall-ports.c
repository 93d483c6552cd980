/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-ports.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-groups.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-rcvbuf.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-stats.h"
#include "upcall/upcall-store.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_ports);

/* Slots: one for each possible port, one for the channel of no port, one for
 * the shared channel, one for the CPUs of each handler. */
#define UPCALL_N_SLOTS (UPCALL_MAX_PORTS + 2 + UPCALL_MAX_HANDLERS)

/* Grace period of new queues whose pids were not passed to the kernel yet. */
#define GRACE_UNKNOWN UINT64_MAX

/* Counts of channels that a port had before. */
struct upcall_past {
    struct upcall_channel_stats counts;     /* Without backlog and latency. */
    struct latency_hist latency;
};

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

/* The port that shares in 'slot', or NULL. */
static struct upcall_shared_port *
get_shared(const struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    return (slot < UPCALL_MAX_PORTS
            ? ovsrcu_get_protected(struct upcall_shared_port *,
                                   &table->shared[slot])
            : NULL);
}

/* The first channel in 'slot', or NULL. */
static struct upcall_channel *
slot_channel(const struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    return ovsrcu_get_protected(struct upcall_channel *, &table->slots[slot]);
}

/* The slot after 'slot'.  Skips slots above the highest port number ever
 * used. */
static uint32_t
next_slot(const struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    return slot == table->last_slot ? UPCALL_MAX_PORTS : slot + 1;
}

static struct upcall_channel *
next_channel(const struct upcall_channel *channel)
{
    return ovsrcu_get_protected(struct upcall_channel *, &channel->next);
}

/* The name of the port in 'slot', which is used. */
static const char *
slot_name(const struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    const struct upcall_channel *channel = slot_channel(table, slot);
    const struct upcall_shared_port *shared
        = get_shared(table, slot);

    return channel ? channel->name : shared ? shared->name : "";
}

/* Iterates over the channels in SLOT of PORTS, whose mutex is held.  The body
 * may delete CHANNEL. */
#define UPCALL_SLOT_FOR_EACH(CHANNEL, SLOT, PORTS)                      \
    for ((CHANNEL) = slot_channel(PORTS, SLOT); (CHANNEL);              \
         (CHANNEL) = next_channel(CHANNEL))

/* Iterates over all channels of PORTS. */
#define UPCALL_PORTS_FOR_EACH(CHANNEL, SLOT, PORTS)                     \
    for ((SLOT) = 0; (SLOT) < UPCALL_N_SLOTS;                           \
         (SLOT) = next_slot(PORTS, SLOT))                               \
        UPCALL_SLOT_FOR_EACH (CHANNEL, SLOT, PORTS)

struct upcall_table *
upcall_table_create(const char *name, int dp_ifindex, uint16_t packet_family)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct upcall_table *table = xzalloc(sizeof *table);

    ovs_refcount_init(&table->refcount);
    table->name = xstrdup(name);
    table->dp_ifindex = dp_ifindex;
    table->packet_family = packet_family;
    ovs_mutex_init(&table->mutex);
    table->buffer_max = UPCALL_BUFFER_MAX;
    table->slots = xcalloc(UPCALL_N_SLOTS, sizeof *table->slots);
    table->rates = xcalloc(UPCALL_N_SLOTS, sizeof *table->rates);
    table->pasts = xcalloc(UPCALL_N_SLOTS, sizeof *table->pasts);
    table->shared = xcalloc(UPCALL_MAX_PORTS, sizeof *table->shared);
    table->stats = upcall_stats_create();
    table->threads = xcalloc(UPCALL_MAX_HANDLERS, CACHE_LINE_SIZE);
    ovs_mutex_init(&table->set_mutex);
    table->engine = &upcall_engine_epoll;
    table->group_size = UPCALL_GROUP_SIZE;
    return table;
}

void
upcall_ports_ref(struct upcall_table *table)
{
    ovs_refcount_ref(&table->refcount);
}

void
upcall_ports_unref(struct upcall_table *table)
{
    if (upcall_refcount_unref(&table->refcount)) {
        ovs_mutex_destroy(&table->set_mutex);
        free(table->threads);
        upcall_stats_unref(table->stats);
        free(table->shared);
        ovs_mutex_destroy(&table->mutex);
        free(table->pasts);
        free(table->rates);
        free(table->slots);
        free(table->name);
        free(table);
    }
}

/* Finds the first channel in the slot of 'port_no'. */
static struct upcall_channel *
upcall_ports_get(const struct upcall_table *table, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);

    return (slot < UPCALL_N_SLOTS
            ? ovsrcu_get(struct upcall_channel *, &table->slots[slot])
            : NULL);
}

/* Finds the channel with 'serial' among 'channel', which may be NULL, and its
 * successors. */
static struct upcall_channel *
find_serial(struct upcall_channel *channel, uint32_t serial)
{
    while (channel && channel->serial != serial) {
        channel = ovsrcu_get(struct upcall_channel *, &channel->next);
    }
    return channel;
}

struct upcall_channel *
upcall_ports_lookup(const struct upcall_table *table, uint32_t port_no,
                    uint32_t serial)
{
    struct upcall_channel *channel;

    /* In this order, because channels enter their slot before they leave
     * 'adding'. */
    channel = find_serial(ovsrcu_get(struct upcall_channel *, &table->adding),
                          serial);
    return channel ? channel : find_serial(upcall_ports_get(table, port_no),
                                           serial);
}

struct upcall_channel *
upcall_ports_urgent(const struct upcall_table *table)
{
    return upcall_ports_get(table, UPCALL_PORT_NONE);
}

/* Sets the receive buffers of all ports to the size for their present
 * number. */
static void
upcall_ports_update_rcvbuf(struct upcall_table *table)
    OVS_REQUIRES(table->mutex)
{
    size_t n_ports = table->n_port_channels;
    size_t n_others = table->n_channels - n_ports;
    uint32_t size = upcall_rcvbuf_choose(table->buffer_max, n_ports, n_others,
                                         table->rcvbuf);
    struct upcall_channel *channel;
    uint64_t total;
    uint32_t slot;

    if (size != table->rcvbuf) {
        table->rcvbuf = size;
        UPCALL_PORTS_FOR_EACH (channel, slot, table) {
            if (slot < UPCALL_MAX_PORTS) {
                upcall_channel_set_rcvbuf(channel, size);
            }
        }
    }

    total = upcall_rcvbuf_total(n_ports, n_others, size);
    if (total <= table->buffer_max) {
        table->over_budget = false;
    } else if (!table->over_budget) {
        table->over_budget = true;
        VLOG_WARN("%s: %"PRIuSIZE" sockets for upcalls can take %"PRIu64" MiB "
                  "of kernel memory, with the smallest receive buffers that "
                  "are of use, and the budget is %"PRIu64" MiB (other_config:"
                  "upcall-buffer-max); upcall-max-sockets limits their number",
                  table->name, table->n_channels, total >> 20,
                  table->buffer_max >> 20);
    }
}

void
upcall_table_hold(struct upcall_table *table, struct upcall_channel *channel,
                  unsigned int n)
{
    ovs_mutex_lock(&table->mutex);
    if (n) {
        upcall_channel_hold(channel);
        channel->hold = n;
        table->holding = true;
    }
    ovs_mutex_unlock(&table->mutex);
}

/* Lets handlers take 'channel', which was held. */
static void
unhold(struct upcall_table *table, struct upcall_channel *channel)
    OVS_REQUIRES(table->mutex)
{
    upcall_channel_unhold(channel);

    /* A handler may have ignored an event of the channel before. */
    if (table->groups) {
        upcall_sched_arm(upcall_groups_home(table->groups, channel), channel);
    }
}

bool
upcall_table_release(struct upcall_table *table)
{
    struct upcall_channel *channel;
    bool holding = false;
    uint32_t slot;

    ovs_mutex_lock(&table->mutex);
    if (table->holding) {
        UPCALL_PORTS_FOR_EACH (channel, slot, table) {
            if (channel->hold && !--channel->hold) {
                unhold(table, channel);
            }
            holding = holding || channel->hold;
        }
        table->holding = holding;
    }
    ovs_mutex_unlock(&table->mutex);
    return holding;
}

void
upcall_table_end_adopted(struct upcall_table *table)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&table->mutex);
    UPCALL_PORTS_FOR_EACH (channel, slot, table) {
        upcall_channel_end_adopted(channel);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
upcall_table_set_buffer_max(struct upcall_table *table, uint64_t max)
{
    ovs_mutex_lock(&table->mutex);
    if (max != table->buffer_max) {
        table->buffer_max = max;
        table->over_budget = false;
        upcall_ports_update_rcvbuf(table);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
upcall_table_set_first_recirc_id(struct upcall_table *table, uint32_t first)
{
    atomic_store_relaxed(&table->first_recirc_id, first);
}

void
upcall_table_set_target_delay(struct upcall_table *table, uint32_t usec)
{
    atomic_store_relaxed(&table->target_delay, usec);
}

uint32_t
upcall_ports_target_delay(const struct upcall_table *table_)
{
    struct upcall_table *table = CONST_CAST(struct upcall_table *, table_);
    uint32_t usec;

    atomic_read_relaxed(&table->target_delay, &usec);
    return usec;
}

/* Adding up counts. */

static void
add_counts(struct upcall_channel_stats *sum,
           const struct upcall_channel_stats *stats)
{
    sum->received += stats->received;
    sum->malformed += stats->malformed;
    sum->overruns += stats->overruns;
    sum->errors += stats->errors;
    sum->lost += stats->lost;
    sum->lost_limited += stats->lost_limited;
    sum->shed += stats->shed;
    sum->backlog += stats->backlog;
    sum->backlog_max = MAX(sum->backlog_max, stats->backlog_max);
}

/* Returns the counts of past channels of the port in 'slot'. */
static struct upcall_past *
get_past(struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_past *past = table->pasts[slot];

    if (!past) {
        past = table->pasts[slot] = xzalloc(sizeof *past);
        latency_hist_init(&past->latency);
    }
    return past;
}

static void
forget_past(struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_past *past = table->pasts[slot];

    if (past) {
        latency_hist_uninit(&past->latency);
        free(past);
        table->pasts[slot] = NULL;
    }
}

/* Adds the counts of 'channel', which the port in 'slot' is about to lose, to
 * the port's past counts. */
static void
carry_on(struct upcall_table *table, uint32_t slot,
         const struct upcall_channel *channel)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_past *past = get_past(table, slot);
    struct upcall_channel_stats stats;

    upcall_channel_get_counts(channel, &stats);
    stats.backlog = 0;
    add_counts(&past->counts, &stats);
    latency_hist_add(&past->latency, &channel->latency);
}

/* Adding and deleting channels. */

static void
del_channel(struct upcall_table *table, uint32_t slot,
            struct upcall_channel *channel)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_channel *next = next_channel(channel);
    struct upcall_channel *before = slot_channel(table, slot);

    if (before == channel) {
        ovsrcu_set(&table->slots[slot], next);
    } else {
        while (next_channel(before) != channel) {
            before = next_channel(before);
        }
        ovsrcu_set(&before->next, next);
    }
    table->dropped += upcall_channel_dropped(channel);
    upcall_store_remove(channel->pid);
    atomic_store_relaxed(&channel->dead, true);
    if (table->groups) {
        upcall_sched_del(upcall_groups_home(table->groups, channel), channel);
    }
    table->n_channels--;
    table->n_port_channels -= slot < UPCALL_MAX_PORTS;
    table->n_retired -= upcall_channel_is_retired(channel);

    /* A handler may have found the channel in the slot but not taken a
     * reference yet. */
    ovsrcu_postpone(upcall_channel_unref, channel);
}

/* Deletes 'channel', if that is not NULL, and its successors in 'slot'. */
static void
del_channels(struct upcall_table *table, uint32_t slot,
             struct upcall_channel *channel)
    OVS_REQUIRES(table->mutex)
{
    bool shared = get_shared(table, slot);

    for (; channel; channel = next_channel(channel)) {
        if (shared) {
            carry_on(table, slot, channel);
        }
        del_channel(table, slot, channel);
    }
    if (!shared) {
        forget_past(table, slot);
    }
}

/* Registers the 'n' 'channels' with the groups.  If that fails, none is
 * registered. */
static int
register_channels(struct upcall_table *table,
                  struct upcall_channel *channels[], size_t n)
    OVS_REQUIRES(table->mutex)
{
    for (size_t i = 0; table->groups && i < n; i++) {
        int error = upcall_sched_add(upcall_groups_home(table->groups,
                                                        channels[i]),
                                     channels[i]);

        if (error) {
            while (i-- > 0) {
                upcall_sched_del(upcall_groups_home(table->groups,
                                                    channels[i]),
                                 channels[i]);
            }
            return error;
        }
    }
    return 0;
}

/* Puts the 'n' 'channels', at least one, before those in 'slot'.  If that
 * fails, nothing has changed. */
static int
insert_channels(struct upcall_table *table, uint32_t port_no, uint32_t slot,
                const char *name, struct upcall_channel *channels[], size_t n)
    OVS_REQUIRES(table->mutex)
{
    int error;

    for (size_t i = n; i-- > 0; ) {
        struct upcall_channel *channel = channels[i];

        channel->port_no = port_no;
        channel->queue = i;
        channel->n_queues = n;
        if (slot >= UPCALL_MAX_PORTS) {
            channel->senders = (port_no == UPCALL_PORT_NONE
                                ? UPCALL_SENDERS_ONE : UPCALL_SENDERS_PORTS);
        }
        if (channel->name) {
            /* From an attempt that failed; a handler may be about to log the
             * name. */
            ovsrcu_postpone(free, channel->name);
        }
        channel->name = xstrdup(name);
        ovsrcu_set(&channel->next, i + 1 < n ? channels[i + 1] : NULL);
    }

    /* Handlers must find the channels from the first event on, and the port's
     * present channels must stay if this fails. */
    ovsrcu_set(&table->adding, channels[0]);
    error = register_channels(table, channels, n);
    if (error) {
        VLOG_WARN("%s: adding the channel of port %s to the upcall handlers "
                  "failed (%s)", table->name, name, ovs_strerror(error));
    } else {
        ovsrcu_set(&channels[n - 1]->next, slot_channel(table, slot));
        ovsrcu_set(&table->slots[slot], channels[0]);
        table->n_channels += n;
        for (size_t i = 0; i < n; i++) {
            table->n_adopted += channels[i]->adopted;
            upcall_store_add(upcall_channel_fd(channels[i]),
                             table->dp_ifindex, port_no, channels[i]->pid);
        }
        if (slot < UPCALL_MAX_PORTS) {
            table->n_port_channels += n;
            table->last_slot = MAX(table->last_slot, slot);
        }
    }
    ovsrcu_set(&table->adding, NULL);
    for (size_t i = 0; error && i < n; i++) {
        /* A handler that looks for another channel may be reading this one,
         * and the caller is free to drop it. */
        ovs_refcount_ref(&channels[i]->refcount);
        ovsrcu_postpone(upcall_channel_unref, channels[i]);
    }
    return error;
}

/* Sets the receive buffers of the channels in 'slot', which includes new
 * channels. */
static void
update_new_rcvbufs(struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_channel *channel;

    upcall_ports_update_rcvbuf(table);
    if (slot < UPCALL_MAX_PORTS) {
        UPCALL_SLOT_FOR_EACH (channel, slot, table) {
            upcall_channel_set_rcvbuf(channel, table->rcvbuf);
        }
    }
}

/* Forgets the counts and rates of the port in 'slot' if the port is gone. */
static void
forget_if_gone(struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    if (!slot_channel(table, slot)
        && !get_shared(table, slot)) {
        memset(&table->rates[slot], 0, sizeof table->rates[slot]);
        forget_past(table, slot);
    }
}

static void
shared_port_destroy(struct upcall_shared_port *port)
{
    free(port->name);
    free(port);
}

/* Ends the sharing of the port in 'slot', if it shares. */
static void
del_shared(struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_shared_port *port = get_shared(table, slot);

    if (port) {
        ovsrcu_set(&table->shared[slot], NULL);
        table->n_shared--;
        ovsrcu_postpone(shared_port_destroy, port);
    }
}

/* Forgets the port that shares in 'slot' if it is not called 'name'.  That
 * port is gone: the kernel gave its number to another port, and the news of
 * the new port arrived first. */
static void
forget_earlier(struct upcall_table *table, uint32_t slot, const char *name)
    OVS_REQUIRES(table->mutex)
{
    const struct upcall_shared_port *shared
        = get_shared(table, slot);

    if (shared && strcmp(shared->name, name)) {
        del_shared(table, slot);
        forget_if_gone(table, slot);
    }
}

int
upcall_table_add_queues(struct upcall_table *table, uint32_t port_no,
                        const char *name, struct upcall_channel *channels[],
                        size_t n)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *old;
    int error;

    if (slot >= UPCALL_N_SLOTS) {
        VLOG_WARN("%s: port %s has number %"PRIu32", beyond the %u that the "
                  "kernel datapath has", table->name, name, port_no,
                  UPCALL_MAX_PORTS);
        return EINVAL;
    }

    ovs_mutex_lock(&table->mutex);
    old = slot_channel(table, slot);
    error = insert_channels(table, port_no, slot, name, channels, n);
    if (!error) {
        forget_earlier(table, slot, name);
        del_channels(table, slot, old);
        update_new_rcvbufs(table, slot);
    }
    ovs_mutex_unlock(&table->mutex);
    return error;
}

/* Changing queues. */

int
upcall_table_change(struct upcall_table *table, uint32_t port_no,
                    struct upcall_channel *channels[], size_t n)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *old;
    int error = 0;

    ovs_mutex_lock(&table->mutex);
    old = slot < UPCALL_MAX_PORTS ? slot_channel(table, slot) : NULL;
    if (!old) {
        error = ENODEV;
    }
    for (struct upcall_channel *c = old; c && !error; c = next_channel(c)) {
        error = upcall_channel_is_retired(c) ? EBUSY : 0;
    }
    for (size_t i = 0; i < n && !error; i++) {
        upcall_channel_hold(channels[i]);
        channels[i]->grace = GRACE_UNKNOWN;
    }
    if (!error) {
        error = insert_channels(table, port_no, slot, old->name, channels, n);
    }
    if (!error) {
        for (; old; old = next_channel(old)) {
            upcall_channel_set_retired(old, true);
            table->n_retired++;
        }
        update_new_rcvbufs(table, slot);
    }
    ovs_mutex_unlock(&table->mutex);
    return error;
}

void
upcall_table_revert(struct upcall_table *table, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *channel;

    ovs_mutex_lock(&table->mutex);
    UPCALL_SLOT_FOR_EACH (channel, slot, table) {
        if (upcall_channel_is_retired(channel)) {
            upcall_channel_set_retired(channel, false);
            table->n_retired--;
        } else {
            del_channel(table, slot, channel);
        }
    }
    upcall_ports_update_rcvbuf(table);
    ovs_mutex_unlock(&table->mutex);
}

/* Releases the new queues in 'slot' if handlers are done with the retired
 * ones.  Returns true if no queue is held for that any more. */
static bool
settle(struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_channel *first = slot_channel(table, slot);
    struct upcall_channel *channel;
    bool done = true;

    if (!first || !first->grace) {
        return true;
    } else if (first->grace > table->grace_over) {
        return false;
    }
    UPCALL_SLOT_FOR_EACH (channel, slot, table) {
        /* Check all of them, because the first check of a queue records what
         * has to be processed. */
        done = ((!upcall_channel_is_retired(channel)
                 || upcall_channel_is_done(channel)) && done);
    }
    if (done) {
        UPCALL_SLOT_FOR_EACH (channel, slot, table) {
            if (channel->grace) {
                channel->grace = 0;
                unhold(table, channel);
            }
        }
    }
    return done;
}

void
upcall_table_settle(struct upcall_table *table, uint32_t port_no)
{
    ovs_mutex_lock(&table->mutex);
    settle(table, port_to_slot(port_no));
    ovs_mutex_unlock(&table->mutex);
}

/* Waits for grace periods until none is wanted, and releases queues. */
static void
run_grace(struct upcall_table *table)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    bool again;

    do {
        uint64_t number;
        int error;

        ovs_mutex_lock(&table->mutex);
        number = table->grace_wanted;
        ovs_mutex_unlock(&table->mutex);

        error = upcall_grace_wait();
        if (error) {
            VLOG_WARN_RL(&rl, "%s: upcalls that are on their way to replaced "
                         "sockets cannot be waited for (%s), and may be "
                         "handled out of order", table->name,
                         ovs_strerror(error));
        }

        ovs_mutex_lock(&table->mutex);
        table->grace_over = number;
        for (uint32_t slot = 0; slot <= table->last_slot; slot++) {
            settle(table, slot);
        }
        again = table->grace_wanted != number;
        table->grace_running = again;
        ovs_mutex_unlock(&table->mutex);
    } while (again);
    upcall_ports_unref(table);
}

static void *
grace_main(void *table)
{
    run_grace(table);
    return NULL;
}

/* Runs run_grace() in a thread.  This is not an Open vSwitch thread: failing
 * to create one would end the daemon, and other threads would have to wait for
 * it to quiesce. */
static void
start_grace(struct upcall_table *table)
{
    pthread_attr_t attr;
    pthread_t thread;
    int error;

    upcall_ports_ref(table);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    error = pthread_create(&thread, &attr, grace_main, table);
    pthread_attr_destroy(&attr);
    if (error) {
        run_grace(table);
    }
}

void
upcall_table_changed(struct upcall_table *table, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *channel;
    bool start;

    ovs_mutex_lock(&table->mutex);
    table->grace_wanted++;
    UPCALL_SLOT_FOR_EACH (channel, slot, table) {
        if (channel->grace) {
            channel->grace = table->grace_wanted;
        }
    }
    start = !table->grace_running;
    table->grace_running = true;
    ovs_mutex_unlock(&table->mutex);
    if (start) {
        start_grace(table);
    }
}

char *
upcall_table_port_name(const struct upcall_table *table, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);
    char *name;

    ovs_mutex_lock(&table->mutex);
    name = xstrdup(slot_name(table, slot));
    ovs_mutex_unlock(&table->mutex);
    return name;
}

size_t
upcall_table_n_queues(const struct upcall_table *table, uint32_t port_no,
                      size_t *n_retiredp)
{
    uint32_t slot = port_to_slot(port_no);
    const struct upcall_channel *channel;
    size_t n = 0, n_retired = 0;

    ovs_mutex_lock(&table->mutex);
    UPCALL_SLOT_FOR_EACH (channel, slot, table) {
        if (upcall_channel_is_retired(channel)) {
            n_retired++;
        } else {
            n++;
        }
    }
    ovs_mutex_unlock(&table->mutex);
    if (n_retiredp) {
        *n_retiredp = n_retired;
    }
    return n;
}

bool
upcall_table_del_retired(struct upcall_table *table, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *channel;
    bool all;

    ovs_mutex_lock(&table->mutex);
    all = settle(table, slot);
    if (all) {
        UPCALL_SLOT_FOR_EACH (channel, slot, table) {
            if (!upcall_channel_is_retired(channel)) {
                continue;
            } else if (upcall_channel_is_idle(channel)) {
                carry_on(table, slot, channel);
                del_channel(table, slot, channel);
            } else {
                all = false;
            }
        }
        upcall_ports_update_rcvbuf(table);
    }
    ovs_mutex_unlock(&table->mutex);
    return all;
}

void
upcall_table_del(struct upcall_table *table, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);

    if (slot < UPCALL_N_SLOTS) {
        ovs_mutex_lock(&table->mutex);
        del_channels(table, slot, slot_channel(table, slot));
        upcall_ports_update_rcvbuf(table);
        forget_if_gone(table, slot);
        ovs_mutex_unlock(&table->mutex);
    }
}

void
upcall_table_del_all(struct upcall_table *table)
{
    ovs_mutex_lock(&table->mutex);
    for (uint32_t slot = 0; slot < UPCALL_N_SLOTS;
         slot = next_slot(table, slot)) {
        del_shared(table, slot);
        del_channels(table, slot, slot_channel(table, slot));
        forget_if_gone(table, slot);
    }
    upcall_ports_update_rcvbuf(table);
    ovs_mutex_unlock(&table->mutex);
}

void
upcall_table_share(struct upcall_table *table, uint32_t port_no,
                   const char *name)
{
    if (upcall_port_is_real(port_no)) {
        ovs_mutex_lock(&table->mutex);
        forget_earlier(table, port_no, name);
        if (!get_shared(table, port_no)) {
            struct upcall_shared_port *port = xzalloc(sizeof *port);

            port->name = xstrdup(name);
            ovsrcu_set(&table->shared[port_no], port);
            table->n_shared++;
        }
        table->last_slot = MAX(table->last_slot, port_no);
        ovs_mutex_unlock(&table->mutex);
    }
}

static void
stop_sharing(struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    const struct upcall_shared_port *shared
        = get_shared(table, slot);

    if (shared) {
        uint64_t received = upcall_counter_read(&shared->received);

        get_past(table, slot)->counts.received += received;
        del_shared(table, slot);
    }
}

void
upcall_table_unshare(struct upcall_table *table, uint32_t port_no)
{
    if (upcall_port_is_real(port_no)) {
        ovs_mutex_lock(&table->mutex);
        stop_sharing(table, port_no);
        forget_if_gone(table, port_no);
        ovs_mutex_unlock(&table->mutex);
    }
}

bool
upcall_table_is_shared(const struct upcall_table *table, uint32_t port_no)
{
    return (upcall_port_is_real(port_no)
            && ovsrcu_get(struct upcall_shared_port *,
                          &table->shared[port_no]));
}

uint32_t
upcall_table_get_own_pid(const struct upcall_table *table, uint32_t port_no)
{
    const struct upcall_channel *channel = upcall_ports_get(table, port_no);

    return channel ? channel->pid : 0;
}

size_t
upcall_table_get_pids(const struct upcall_table *table, uint32_t port_no,
                      uint32_t pids[UPCALL_MAX_QUEUES])
{
    const struct upcall_channel *channel;
    size_t n = 0;

    if (upcall_table_is_shared(table, port_no)) {
        port_no = UPCALL_PORT_SHARED;
    }
    for (channel = upcall_ports_get(table, port_no);
         channel && n < UPCALL_MAX_QUEUES
         && !upcall_channel_is_retired(channel);
         channel = ovsrcu_get(struct upcall_channel *, &channel->next)) {
        pids[n++] = channel->pid;
    }
    return n;
}

uint32_t
upcall_table_get_pid(const struct upcall_table *table, uint32_t port_no)
{
    if (upcall_table_is_shared(table, port_no)) {
        port_no = UPCALL_PORT_SHARED;
    }
    return upcall_table_get_own_pid(table, port_no);
}

bool
upcall_table_has_channel(const struct upcall_table *table, uint32_t port_no)
{
    return upcall_ports_get(table, port_no) != NULL;
}

size_t
upcall_table_n_shared(const struct upcall_table *table)
{
    size_t n;

    ovs_mutex_lock(&table->mutex);
    n = table->n_shared;
    ovs_mutex_unlock(&table->mutex);
    return n;
}

size_t
upcall_table_n_port_channels(const struct upcall_table *table)
{
    size_t n;

    ovs_mutex_lock(&table->mutex);
    n = table->n_port_channels;
    ovs_mutex_unlock(&table->mutex);
    return n;
}

size_t
upcall_table_n_retired(const struct upcall_table *table)
{
    size_t n;

    ovs_mutex_lock(&table->mutex);
    n = table->n_retired;
    ovs_mutex_unlock(&table->mutex);
    return n;
}

size_t
upcall_table_n_channels(const struct upcall_table *table)
{
    size_t n;

    ovs_mutex_lock(&table->mutex);
    n = table->n_channels;
    ovs_mutex_unlock(&table->mutex);
    return n;
}

void
upcall_table_purge(struct upcall_table *table)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&table->mutex);
    UPCALL_PORTS_FOR_EACH (channel, slot, table) {
        upcall_channel_drain(channel);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
upcall_ports_count_shared(struct upcall_table *table,
                          const struct upcall_view *view)
{
    struct upcall_shared_port *port;
    uint32_t port_no;

    if (upcall_view_in_port(view, &port_no)
        && upcall_port_is_real(port_no)) {
        port = ovsrcu_get(struct upcall_shared_port *,
                          &table->shared[port_no]);
        if (port) {
            uint64_t orig;

            atomic_add_relaxed(&port->received, 1, &orig);
        }
    }
}

bool
upcall_ports_is_halted(const struct upcall_table *table)
{
    bool halted;

    atomic_read(CONST_CAST(atomic_bool *, &table->halted), &halted);
    return halted;
}

bool
upcall_ports_are_ahead(struct upcall_table *table)
{
    struct upcall_channel *channel;
    uint32_t slot, ahead = 0;

    ovs_mutex_lock(&table->mutex);
    UPCALL_PORTS_FOR_EACH (channel, slot, table) {
        uint32_t n_bytes;

        /* Acquire: pairs with upcall_reader_read_sorted(). */
        atomic_read_explicit(&channel->ahead, &n_bytes, memory_order_acquire);
        ahead |= n_bytes;
    }
    ovs_mutex_unlock(&table->mutex);
    return ahead;
}

/* If upcalls of 'channel', which is registered with 'table->groups', were read
 * ahead, makes these groups serve the channel without an event. */
static void
upcall_ports_adopt(struct upcall_table *table, struct upcall_channel *channel)
    OVS_REQUIRES(table->mutex)
{
    uint32_t ahead;

    atomic_read_relaxed(&channel->ahead, &ahead);
    if (ahead) {
        upcall_sched_adopt(upcall_groups_home(table->groups, channel),
                           channel);
    }
}

static int
upcall_ports_register_all(struct upcall_table *table,
                          struct upcall_groups *groups)
    OVS_REQUIRES(table->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct upcall_channel *channel;
    uint32_t slot;

    UPCALL_PORTS_FOR_EACH (channel, slot, table) {
        int error = upcall_sched_add(upcall_groups_home(groups, channel),
                                     channel);

        if (error) {
            VLOG_WARN_RL(&rl, "%s: adding the channel of port %s to the "
                         "upcall handlers failed (%s)", table->name,
                         channel->name, ovs_strerror(error));
            return error;
        }
    }
    return 0;
}

int
upcall_ports_attach(struct upcall_table *table, struct upcall_groups *groups,
                    uint32_t generation)
{
    struct upcall_channel *channel;
    uint32_t slot;
    int error;

    ovs_mutex_lock(&table->mutex);
    error = upcall_ports_register_all(table, groups);
    if (!error) {
        upcall_groups_ref(groups);
        upcall_groups_unref(table->groups);
        table->groups = groups;

        /* Pairs with the load in upcall_ports_rearm().  Sequentially
         * consistent, as is the owner word. */
        atomic_store(&table->generation, generation);
        UPCALL_PORTS_FOR_EACH (channel, slot, table) {
            upcall_ports_adopt(table, channel);
        }
    }
    ovs_mutex_unlock(&table->mutex);
    return error;
}

void
upcall_ports_detach(struct upcall_table *table)
{
    ovs_mutex_lock(&table->mutex);
    upcall_groups_unref(table->groups);
    table->groups = NULL;
    ovs_mutex_unlock(&table->mutex);
}

void
upcall_ports_rearm(struct upcall_table *table,
                   struct upcall_channel *channel, uint32_t generation)
{
    uint32_t current;

    /* The channel is armed in a new set of handlers from the start, but one of
     * these handlers may have seen the event before the release, and ignored
     * it.  The caller has written the owner word and reads the generation now;
     * the generation was written before handlers of the new set read the owner
     * word.  Both are sequentially consistent, so one of the two sees the
     * other.  Pairs with the store in upcall_ports_attach(). */
    atomic_read(&table->generation, &current);
    if (current != generation) {
        ovs_mutex_lock(&table->mutex);
        if (table->groups) {
            upcall_sched_arm(upcall_groups_home(table->groups, channel),
                             channel);
            upcall_ports_adopt(table, channel);
        }
        ovs_mutex_unlock(&table->mutex);
    }
}

/* Stores all counts of the port in 'slot', past channels included, without the
 * latency. */
static void
get_port_counts(const struct upcall_table *table, uint32_t slot,
                struct upcall_channel_stats *sum)
    OVS_REQUIRES(table->mutex)
{
    const struct upcall_shared_port *shared
        = get_shared(table, slot);
    const struct upcall_channel *channel;

    memset(sum, 0, sizeof *sum);
    if (table->pasts[slot]) {
        *sum = table->pasts[slot]->counts;
    }
    if (shared) {
        sum->received += upcall_counter_read(&shared->received);
    }
    UPCALL_SLOT_FOR_EACH (channel, slot, table) {
        struct upcall_channel_stats stats;

        upcall_channel_get_counts(channel, &stats);
        add_counts(sum, &stats);
    }
}

/* The same with the latency. */
static void
get_port_stats(const struct upcall_table *table, uint32_t slot,
               struct upcall_channel_stats *sum)
    OVS_REQUIRES(table->mutex)
{
    const struct upcall_past *past = table->pasts[slot];
    struct upcall_channel *channel = slot_channel(table, slot);

    get_port_counts(table, slot, sum);
    if (channel && !past && !next_channel(channel)) {
        latency_hist_summarize(&channel->latency, &sum->latency);
    } else if (channel || past) {
        struct latency_hist all;

        latency_hist_init(&all);
        if (past) {
            latency_hist_add(&all, &past->latency);
        }
        UPCALL_SLOT_FOR_EACH (channel, slot, table) {
            latency_hist_add(&all, &channel->latency);
        }
        latency_hist_summarize(&all, &sum->latency);
        latency_hist_uninit(&all);
    }
}

/* True if 'slot' has a channel or a port that shares. */
static bool
slot_is_used(const struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    return slot_channel(table, slot) || get_shared(table, slot);
}

bool
upcall_table_get_stats(const struct upcall_table *table, uint32_t port_no,
                       struct upcall_channel_stats *stats)
{
    uint32_t slot = port_to_slot(port_no);
    bool used;

    if (slot >= UPCALL_N_SLOTS) {
        return false;
    }
    ovs_mutex_lock(&table->mutex);
    used = slot_is_used(table, slot);
    get_port_counts(table, slot, stats);
    ovs_mutex_unlock(&table->mutex);
    return used;
}

/* Returns the handler that owns 'channel' now, or UPCALL_OWNER_*. */
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

/* Fills in the queues of 'port', if it has several channels. */
static void
get_queues_info(const struct upcall_table *table, uint32_t slot,
                struct upcall_port_info *port)
    OVS_REQUIRES(table->mutex)
{
    const struct upcall_channel *channel;
    size_t n = 0;

    UPCALL_SLOT_FOR_EACH (channel, slot, table) {
        n++;
        port->n_queues += !upcall_channel_is_retired(channel);
    }
    if (n < 2) {
        return;
    }
    port->queues = xcalloc(n, sizeof *port->queues);
    UPCALL_SLOT_FOR_EACH (channel, slot, table) {
        struct upcall_queue_info *queue = &port->queues[port->n_channels++];

        queue->number = channel->queue;
        queue->pid = channel->pid;
        queue->retired = upcall_channel_is_retired(channel);
        queue->held = channel->grace != 0;
        queue->owner = upcall_channel_owner(channel);
        upcall_channel_get_stats(channel, &queue->stats);
    }
}

/* Fills in the senders of 'port', if one of its channels has several. */
static void
get_senders_info(const struct upcall_table *table, uint32_t slot,
                 struct upcall_port_info *port)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_sender_info *others = &port->other_senders;
    uint64_t now = upcall_now_usec();
    const struct upcall_channel *channel;
    size_t n = 0;

    UPCALL_SLOT_FOR_EACH (channel, slot, table) {
        const struct upcall_sender_set *senders
            = upcall_fq_senders(&channel->fq);
        struct upcall_sender_info total;

        if (senders) {
            port->senders = xrealloc(port->senders,
                                     ((n + UPCALL_SENDER_PLACES)
                                      * sizeof *port->senders));
            n += upcall_senders_get(senders, now, &port->senders[n], &total);
            upcall_sender_info_add(others, &total);
            port->senders_are_ports |= !upcall_port_is_real(port->port_no);
        }
    }
    for (size_t i = 0; i < n; i++) {
        upcall_sender_info_subtract(others, &port->senders[i]);
    }
    port->n_senders = upcall_senders_merge(port->senders, n);
}

static void
get_port_info(const struct upcall_table *table, uint32_t slot,
              struct upcall_port_info *port)
    OVS_REQUIRES(table->mutex)
{
    const struct upcall_channel *channel = slot_channel(table, slot);
    const struct upcall_shared_port *shared
        = get_shared(table, slot);

    if (channel) {
        port->port_no = channel->port_no;
        port->has_channel = true;
        port->owner = upcall_channel_owner(channel);
    } else {
        port->port_no = slot;
        port->owner = UPCALL_OWNER_NONE;
    }
    port->name = xstrdup(slot_name(table, slot));
    port->pid = upcall_table_get_pid(table, port->port_no);
    port->shared = shared != NULL;
    get_queues_info(table, slot, port);
    get_port_stats(table, slot, &port->stats);
    port->rate = table->rates[slot];
    get_senders_info(table, slot, port);
}

struct upcall_port_count *
upcall_table_get_counts(const struct upcall_table *table, size_t *np)
{
    struct upcall_port_count *counts;
    size_t n = 0;

    ovs_mutex_lock(&table->mutex);
    counts = xcalloc(table->n_port_channels + table->n_shared,
                     sizeof *counts);
    for (uint32_t slot = 0; slot <= table->last_slot; slot++) {
        const struct upcall_shared_port *shared
            = get_shared(table, slot);
        const struct upcall_channel *channel;
        uint64_t sum = 0;

        if (!slot_is_used(table, slot)) {
            continue;
        }
        if (table->pasts[slot]) {
            sum += table->pasts[slot]->counts.received;
            sum += table->pasts[slot]->counts.shed;
        }
        if (shared) {
            sum += upcall_counter_read(&shared->received);
        }
        UPCALL_SLOT_FOR_EACH (channel, slot, table) {
            sum += upcall_counter_read(&channel->received);
            sum += upcall_counter_read(&channel->shed);
        }
        counts[n++] = (struct upcall_port_count) { slot, sum };
    }
    ovs_mutex_unlock(&table->mutex);
    *np = n;
    return counts;
}

/* Returns how much a counter has grown since '*last', which becomes 'now'.  A
 * counter that is smaller was set to 0 meanwhile. */
static uint64_t
grown(uint64_t *last, uint64_t now)
{
    uint64_t n = now >= *last ? now - *last : now;

    *last = now;
    return n;
}

static uint64_t
a_second(uint64_t n, long long int msec)
{
    return msec > 0 ? DIV_ROUND_UP(n * 1000, msec) : 0;
}

void
upcall_rate_update(struct upcall_rate *rate,
                   const struct upcall_channel_stats *stats,
                   long long int msec, long long int wall)
{
    uint64_t n_lost = grown(&rate->last_lost, stats->lost);

    if (n_lost) {
        rate->lost_at = wall;
    }
    rate->lost = a_second(n_lost, msec);
    rate->received = a_second(grown(&rate->last_received, stats->received),
                              msec);
    rate->shed = a_second(grown(&rate->last_shed, stats->shed), msec);
}

long long int
upcall_table_update_rates(struct upcall_table *table, long long int now,
                          long long int wall)
{
    long long int next;

    ovs_mutex_lock(&table->mutex);
    if (!table->rated_at || now - table->rated_at >= UPCALL_RATE_MSEC) {
        long long int msec = table->rated_at ? now - table->rated_at : 0;

        for (uint32_t slot = 0; slot < UPCALL_N_SLOTS;
             slot = next_slot(table, slot)) {
            if (slot_is_used(table, slot)) {
                struct upcall_channel_stats stats;

                get_port_counts(table, slot, &stats);
                upcall_rate_update(&table->rates[slot], &stats, msec, wall);
            }
        }
        table->rated_at = now;
    }
    next = table->rated_at + UPCALL_RATE_MSEC;
    ovs_mutex_unlock(&table->mutex);
    return next;
}

void
upcall_ports_get_info(const struct upcall_table *table,
                      struct upcall_table_info *info)
{
    ovs_mutex_lock(&table->mutex);
    info->n_sockets = table->n_channels;
    info->n_adopted = table->n_adopted;
    info->dropped = table->dropped;
    info->buffer_max = table->buffer_max;
    info->buffer_size = table->rcvbuf * 2;
    info->target_delay = upcall_ports_target_delay(table);
    info->ports = xcalloc(table->n_channels + table->n_shared,
                          sizeof *info->ports);
    for (uint32_t slot = 0; slot < UPCALL_N_SLOTS;
         slot = next_slot(table, slot)) {
        const struct upcall_channel *channel;

        if (slot_is_used(table, slot)) {
            get_port_info(table, slot, &info->ports[info->n_ports++]);
        }
        UPCALL_SLOT_FOR_EACH (channel, slot, table) {
            info->dropped += upcall_channel_dropped(channel);
        }
    }
    ovs_mutex_unlock(&table->mutex);
}

void
upcall_ports_reset_stats(struct upcall_table *table)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&table->mutex);
    UPCALL_PORTS_FOR_EACH (channel, slot, table) {
        upcall_channel_reset_stats(channel);
    }
    for (slot = 0; slot < UPCALL_N_SLOTS; slot = next_slot(table, slot)) {
        struct upcall_shared_port *shared
            = get_shared(table, slot);

        if (shared) {
            atomic_store_relaxed(&shared->received, 0);
        }
        forget_past(table, slot);
        memset(&table->rates[slot], 0, sizeof table->rates[slot]);
    }
    table->rated_at = 0;
    ovs_mutex_unlock(&table->mutex);
}
