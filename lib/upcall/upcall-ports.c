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
#include "upcall/upcall-clock.h"
#include "upcall/upcall-grace.h"
#include "upcall/upcall-groups.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-rcvbuf.h"
#include "upcall/upcall-refcount.h"
#include "upcall/upcall-sched.h"
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

/* The first channel in 'slot', or NULL. */
static struct upcall_channel *
slot_channel(const struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    return ovsrcu_get_protected(struct upcall_channel *, &ports->slots[slot]);
}

/* The slot after 'slot'.  Skips slots above the highest port number ever
 * used. */
static uint32_t
next_slot(const struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    return slot == ports->last_slot ? UPCALL_MAX_PORTS : slot + 1;
}

static struct upcall_channel *
next_channel(const struct upcall_channel *channel)
{
    return ovsrcu_get_protected(struct upcall_channel *, &channel->next);
}

/* The name of the port in 'slot', which is used. */
static const char *
slot_name(const struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    const struct upcall_channel *channel = slot_channel(ports, slot);
    const struct upcall_shared_port *shared
        = upcall_shared_get(&ports->shared, slot);

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
    atomic_init(&ports->first_recirc_id, 0);
    atomic_init(&ports->generation, 0);
    ports->slots = xcalloc(UPCALL_N_SLOTS, sizeof *ports->slots);
    ports->rates = xcalloc(UPCALL_N_SLOTS, sizeof *ports->rates);
    ports->pasts = xcalloc(UPCALL_N_SLOTS, sizeof *ports->pasts);
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
        free(ports->pasts);
        free(ports->rates);
        free(ports->slots);
        free(ports->name);
        free(ports);
    }
}

/* Finds the first channel in the slot of 'port_no'. */
static struct upcall_channel *
upcall_ports_get(const struct upcall_ports *ports, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);

    return (slot < UPCALL_N_SLOTS
            ? ovsrcu_get(struct upcall_channel *, &ports->slots[slot])
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
upcall_ports_lookup(const struct upcall_ports *ports, uint32_t port_no,
                    uint32_t serial)
{
    struct upcall_channel *channel;

    /* In this order, because channels enter their slot before they leave
     * 'adding'. */
    channel = find_serial(ovsrcu_get(struct upcall_channel *, &ports->adding),
                          serial);
    return channel ? channel : find_serial(upcall_ports_get(ports, port_no),
                                           serial);
}

struct upcall_channel *
upcall_ports_urgent(const struct upcall_ports *ports)
{
    return upcall_ports_get(ports, UPCALL_PORT_NONE);
}

/* Sets the receive buffers of all ports to the size for their present
 * number. */
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

/* Lets handlers take 'channel', which was held. */
static void
unhold(struct upcall_ports *ports, struct upcall_channel *channel)
    OVS_REQUIRES(ports->mutex)
{
    upcall_channel_unhold(channel);

    /* A handler may have ignored an event of the channel before. */
    if (ports->groups) {
        upcall_groups_arm(ports->groups, channel);
    }
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
                unhold(ports, channel);
            }
            holding = holding || channel->hold;
        }
        ports->holding = holding;
    }
    ovs_mutex_unlock(&ports->mutex);
    return holding;
}

void
upcall_ports_end_adopted(struct upcall_ports *ports)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&ports->mutex);
    UPCALL_PORTS_FOR_EACH (channel, slot, ports) {
        upcall_channel_end_adopted(channel);
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
get_past(struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    struct upcall_past *past = ports->pasts[slot];

    if (!past) {
        past = ports->pasts[slot] = xzalloc(sizeof *past);
        latency_hist_init(&past->latency);
    }
    return past;
}

static void
forget_past(struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    struct upcall_past *past = ports->pasts[slot];

    if (past) {
        latency_hist_uninit(&past->latency);
        free(past);
        ports->pasts[slot] = NULL;
    }
}

/* Adds the counts of 'channel', which the port in 'slot' is about to lose, to
 * the port's past counts. */
static void
carry_on(struct upcall_ports *ports, uint32_t slot,
         const struct upcall_channel *channel)
    OVS_REQUIRES(ports->mutex)
{
    struct upcall_past *past = get_past(ports, slot);
    struct upcall_channel_stats stats;

    upcall_channel_get_counts(channel, &stats);
    stats.backlog = 0;
    add_counts(&past->counts, &stats);
    latency_hist_add(&past->latency, &channel->latency);
}

/* Adding and deleting channels. */

static void
del_channel(struct upcall_ports *ports, uint32_t slot,
            struct upcall_channel *channel)
    OVS_REQUIRES(ports->mutex)
{
    struct upcall_channel *next = next_channel(channel);
    struct upcall_channel *before = slot_channel(ports, slot);

    if (before == channel) {
        ovsrcu_set(&ports->slots[slot], next);
    } else {
        while (next_channel(before) != channel) {
            before = next_channel(before);
        }
        ovsrcu_set(&before->next, next);
    }
    ports->dropped += upcall_channel_dropped(channel);
    upcall_store_remove(channel->pid);
    atomic_store_relaxed(&channel->dead, true);
    if (ports->groups) {
        upcall_groups_del(ports->groups, channel);
    }
    ports->n_channels--;
    ports->n_port_channels -= slot < UPCALL_MAX_PORTS;
    ports->n_retired -= upcall_channel_is_retired(channel);

    /* A handler may have found the channel in the slot but not taken a
     * reference yet. */
    ovsrcu_postpone(upcall_channel_unref, channel);
}

/* Deletes 'channel', if that is not NULL, and its successors in 'slot'. */
static void
del_channels(struct upcall_ports *ports, uint32_t slot,
             struct upcall_channel *channel)
    OVS_REQUIRES(ports->mutex)
{
    bool shared = upcall_shared_get(&ports->shared, slot);

    for (; channel; channel = next_channel(channel)) {
        if (shared) {
            carry_on(ports, slot, channel);
        }
        del_channel(ports, slot, channel);
    }
    if (!shared) {
        forget_past(ports, slot);
    }
}

/* Registers the 'n' 'channels' with the groups.  If that fails, none is
 * registered. */
static int
register_channels(struct upcall_ports *ports,
                  struct upcall_channel *channels[], size_t n)
    OVS_REQUIRES(ports->mutex)
{
    for (size_t i = 0; ports->groups && i < n; i++) {
        int error = upcall_groups_add(ports->groups, channels[i]);

        if (error) {
            while (i-- > 0) {
                upcall_groups_del(ports->groups, channels[i]);
            }
            return error;
        }
    }
    return 0;
}

/* Puts the 'n' 'channels', at least one, before those in 'slot'.  If that
 * fails, nothing has changed. */
static int
insert_channels(struct upcall_ports *ports, uint32_t port_no, uint32_t slot,
                const char *name, struct upcall_channel *channels[], size_t n)
    OVS_REQUIRES(ports->mutex)
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
    ovsrcu_set(&ports->adding, channels[0]);
    error = register_channels(ports, channels, n);
    if (error) {
        VLOG_WARN("%s: adding the channel of port %s to the upcall handlers "
                  "failed (%s)", ports->name, name, ovs_strerror(error));
    } else {
        ovsrcu_set(&channels[n - 1]->next, slot_channel(ports, slot));
        ovsrcu_set(&ports->slots[slot], channels[0]);
        ports->n_channels += n;
        for (size_t i = 0; i < n; i++) {
            ports->n_adopted += channels[i]->adopted;
            upcall_store_add(upcall_channel_fd(channels[i]),
                             ports->dp_ifindex, port_no, channels[i]->pid);
        }
        if (slot < UPCALL_MAX_PORTS) {
            ports->n_port_channels += n;
            ports->last_slot = MAX(ports->last_slot, slot);
        }
    }
    ovsrcu_set(&ports->adding, NULL);
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
update_new_rcvbufs(struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    struct upcall_channel *channel;

    upcall_ports_update_rcvbuf(ports);
    if (slot < UPCALL_MAX_PORTS) {
        UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
            upcall_channel_set_rcvbuf(channel, ports->rcvbuf);
        }
    }
}

/* Forgets the counts and rates of the port in 'slot' if the port is gone. */
static void
forget_if_gone(struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    if (!slot_channel(ports, slot)
        && !upcall_shared_get(&ports->shared, slot)) {
        memset(&ports->rates[slot], 0, sizeof ports->rates[slot]);
        forget_past(ports, slot);
    }
}

/* Forgets the port that shares in 'slot' if it is not called 'name'.  That
 * port is gone: the kernel gave its number to another port, and the news of
 * the new port arrived first. */
static void
forget_earlier(struct upcall_ports *ports, uint32_t slot, const char *name)
    OVS_REQUIRES(ports->mutex)
{
    const struct upcall_shared_port *shared
        = upcall_shared_get(&ports->shared, slot);

    if (shared && strcmp(shared->name, name)) {
        upcall_shared_del(&ports->shared, slot);
        forget_if_gone(ports, slot);
    }
}

int
upcall_ports_add(struct upcall_ports *ports, uint32_t port_no,
                 const char *name, struct upcall_channel *channels[], size_t n)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *old;
    int error;

    if (slot >= UPCALL_N_SLOTS) {
        VLOG_WARN("%s: port %s has number %"PRIu32", beyond the %u that the "
                  "kernel datapath has", ports->name, name, port_no,
                  UPCALL_MAX_PORTS);
        return EINVAL;
    }

    ovs_mutex_lock(&ports->mutex);
    old = slot_channel(ports, slot);
    error = insert_channels(ports, port_no, slot, name, channels, n);
    if (!error) {
        forget_earlier(ports, slot, name);
        del_channels(ports, slot, old);
        update_new_rcvbufs(ports, slot);
    }
    ovs_mutex_unlock(&ports->mutex);
    return error;
}

/* Changing queues. */

int
upcall_ports_change(struct upcall_ports *ports, uint32_t port_no,
                    struct upcall_channel *channels[], size_t n)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *old;
    int error = 0;

    ovs_mutex_lock(&ports->mutex);
    old = slot < UPCALL_MAX_PORTS ? slot_channel(ports, slot) : NULL;
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
        error = insert_channels(ports, port_no, slot, old->name, channels, n);
    }
    if (!error) {
        for (; old; old = next_channel(old)) {
            upcall_channel_set_retired(old, true);
            ports->n_retired++;
        }
        update_new_rcvbufs(ports, slot);
    }
    ovs_mutex_unlock(&ports->mutex);
    return error;
}

void
upcall_ports_revert(struct upcall_ports *ports, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *channel;

    ovs_mutex_lock(&ports->mutex);
    UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
        if (upcall_channel_is_retired(channel)) {
            upcall_channel_set_retired(channel, false);
            ports->n_retired--;
        } else {
            del_channel(ports, slot, channel);
        }
    }
    upcall_ports_update_rcvbuf(ports);
    ovs_mutex_unlock(&ports->mutex);
}

/* Releases the new queues in 'slot' if handlers are done with the retired
 * ones.  Returns true if no queue is held for that any more. */
static bool
settle(struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    struct upcall_channel *first = slot_channel(ports, slot);
    struct upcall_channel *channel;
    bool done = true;

    if (!first || !first->grace) {
        return true;
    } else if (first->grace > ports->grace_over) {
        return false;
    }
    UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
        /* Check all of them, because the first check of a queue records what
         * has to be processed. */
        done = ((!upcall_channel_is_retired(channel)
                 || upcall_channel_is_done(channel)) && done);
    }
    if (done) {
        UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
            if (channel->grace) {
                channel->grace = 0;
                unhold(ports, channel);
            }
        }
    }
    return done;
}

void
upcall_ports_settle(struct upcall_ports *ports, uint32_t port_no)
{
    ovs_mutex_lock(&ports->mutex);
    settle(ports, port_to_slot(port_no));
    ovs_mutex_unlock(&ports->mutex);
}

/* Waits for grace periods until none is wanted, and releases queues. */
static void
run_grace(struct upcall_ports *ports)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    bool again;

    do {
        uint64_t number;
        int error;

        ovs_mutex_lock(&ports->mutex);
        number = ports->grace_wanted;
        ovs_mutex_unlock(&ports->mutex);

        error = upcall_grace_wait();
        if (error) {
            VLOG_WARN_RL(&rl, "%s: upcalls that are on their way to replaced "
                         "sockets cannot be waited for (%s), and may be "
                         "handled out of order", ports->name,
                         ovs_strerror(error));
        }

        ovs_mutex_lock(&ports->mutex);
        ports->grace_over = number;
        for (uint32_t slot = 0; slot <= ports->last_slot; slot++) {
            settle(ports, slot);
        }
        again = ports->grace_wanted != number;
        ports->grace_running = again;
        ovs_mutex_unlock(&ports->mutex);
    } while (again);
    upcall_ports_unref(ports);
}

static void *
grace_main(void *ports)
{
    run_grace(ports);
    return NULL;
}

/* Runs run_grace() in a thread.  This is not an Open vSwitch thread: failing
 * to create one would end the daemon, and other threads would have to wait for
 * it to quiesce. */
static void
start_grace(struct upcall_ports *ports)
{
    pthread_attr_t attr;
    pthread_t thread;
    int error;

    upcall_ports_ref(ports);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    error = pthread_create(&thread, &attr, grace_main, ports);
    pthread_attr_destroy(&attr);
    if (error) {
        run_grace(ports);
    }
}

void
upcall_ports_changed(struct upcall_ports *ports, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *channel;
    bool start;

    ovs_mutex_lock(&ports->mutex);
    ports->grace_wanted++;
    UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
        if (channel->grace) {
            channel->grace = ports->grace_wanted;
        }
    }
    start = !ports->grace_running;
    ports->grace_running = true;
    ovs_mutex_unlock(&ports->mutex);
    if (start) {
        start_grace(ports);
    }
}

char *
upcall_ports_name(const struct upcall_ports *ports, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);
    char *name;

    ovs_mutex_lock(&ports->mutex);
    name = xstrdup(slot_name(ports, slot));
    ovs_mutex_unlock(&ports->mutex);
    return name;
}

size_t
upcall_ports_n_queues(const struct upcall_ports *ports, uint32_t port_no,
                      size_t *n_retiredp)
{
    uint32_t slot = port_to_slot(port_no);
    const struct upcall_channel *channel;
    size_t n = 0, n_retired = 0;

    ovs_mutex_lock(&ports->mutex);
    UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
        if (upcall_channel_is_retired(channel)) {
            n_retired++;
        } else {
            n++;
        }
    }
    ovs_mutex_unlock(&ports->mutex);
    if (n_retiredp) {
        *n_retiredp = n_retired;
    }
    return n;
}

bool
upcall_ports_del_retired(struct upcall_ports *ports, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_channel *channel;
    bool all;

    ovs_mutex_lock(&ports->mutex);
    all = settle(ports, slot);
    if (all) {
        UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
            if (!upcall_channel_is_retired(channel)) {
                continue;
            } else if (upcall_channel_is_idle(channel)) {
                carry_on(ports, slot, channel);
                del_channel(ports, slot, channel);
            } else {
                all = false;
            }
        }
        upcall_ports_update_rcvbuf(ports);
    }
    ovs_mutex_unlock(&ports->mutex);
    return all;
}

void
upcall_ports_del(struct upcall_ports *ports, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);

    if (slot < UPCALL_N_SLOTS) {
        ovs_mutex_lock(&ports->mutex);
        del_channels(ports, slot, slot_channel(ports, slot));
        upcall_ports_update_rcvbuf(ports);
        forget_if_gone(ports, slot);
        ovs_mutex_unlock(&ports->mutex);
    }
}

void
upcall_ports_del_all(struct upcall_ports *ports)
{
    ovs_mutex_lock(&ports->mutex);
    for (uint32_t slot = 0; slot < UPCALL_N_SLOTS;
         slot = next_slot(ports, slot)) {
        upcall_shared_del(&ports->shared, slot);
        del_channels(ports, slot, slot_channel(ports, slot));
        forget_if_gone(ports, slot);
    }
    upcall_ports_update_rcvbuf(ports);
    ovs_mutex_unlock(&ports->mutex);
}

void
upcall_ports_share(struct upcall_ports *ports, uint32_t port_no,
                   const char *name)
{
    if (upcall_port_is_real(port_no)) {
        ovs_mutex_lock(&ports->mutex);
        forget_earlier(ports, port_no, name);
        upcall_shared_add(&ports->shared, port_no, name);
        ports->last_slot = MAX(ports->last_slot, port_no);
        ovs_mutex_unlock(&ports->mutex);
    }
}

static void
stop_sharing(struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    const struct upcall_shared_port *shared
        = upcall_shared_get(&ports->shared, slot);

    if (shared) {
        uint64_t received = upcall_counter_read(&shared->received);

        get_past(ports, slot)->counts.received += received;
        upcall_shared_del(&ports->shared, slot);
    }
}

void
upcall_ports_unshare(struct upcall_ports *ports, uint32_t port_no)
{
    if (upcall_port_is_real(port_no)) {
        ovs_mutex_lock(&ports->mutex);
        stop_sharing(ports, port_no);
        forget_if_gone(ports, port_no);
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

size_t
upcall_ports_get_pids(const struct upcall_ports *ports, uint32_t port_no,
                      uint32_t pids[UPCALL_MAX_QUEUES])
{
    const struct upcall_channel *channel;
    size_t n = 0;

    if (upcall_ports_is_shared(ports, port_no)) {
        port_no = UPCALL_PORT_SHARED;
    }
    for (channel = upcall_ports_get(ports, port_no);
         channel && n < UPCALL_MAX_QUEUES
         && !upcall_channel_is_retired(channel);
         channel = ovsrcu_get(struct upcall_channel *, &channel->next)) {
        pids[n++] = channel->pid;
    }
    return n;
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
upcall_ports_n_retired(const struct upcall_ports *ports)
{
    size_t n;

    ovs_mutex_lock(&ports->mutex);
    n = ports->n_retired;
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
                          const struct upcall_view *view)
{
    uint32_t port_no;

    if (upcall_view_in_port(view, &port_no)) {
        upcall_shared_count(&ports->shared, port_no);
    }
}

/* If upcalls of 'channel', which is registered with 'ports->groups', were read
 * ahead, makes these groups serve the channel without an event. */
static void
upcall_ports_adopt(struct upcall_ports *ports, struct upcall_channel *channel)
    OVS_REQUIRES(ports->mutex)
{
    uint32_t ahead;

    atomic_read_relaxed(&channel->ahead, &ahead);
    if (ahead) {
        upcall_sched_adopt(upcall_groups_home(ports->groups, channel),
                           channel);
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
    struct upcall_channel *channel;
    uint32_t slot;
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
        UPCALL_PORTS_FOR_EACH (channel, slot, ports) {
            upcall_ports_adopt(ports, channel);
        }
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
                   struct upcall_channel *channel, uint32_t generation)
{
    uint32_t current;

    /* The channel is armed in a new set of handlers from the start, but one of
     * these handlers may have seen the event before the release, and ignored
     * it.  The caller has written the owner word and reads the generation now;
     * the generation was written before handlers of the new set read the owner
     * word.  Both are sequentially consistent, so one of the two sees the
     * other.  Pairs with the store in upcall_ports_attach(). */
    atomic_read(&ports->generation, &current);
    if (current != generation) {
        ovs_mutex_lock(&ports->mutex);
        if (ports->groups) {
            upcall_groups_arm(ports->groups, channel);
            upcall_ports_adopt(ports, channel);
        }
        ovs_mutex_unlock(&ports->mutex);
    }
}

/* Stores all counts of the port in 'slot', past channels included, without the
 * latency. */
static void
get_port_counts(const struct upcall_ports *ports, uint32_t slot,
                struct upcall_channel_stats *sum)
    OVS_REQUIRES(ports->mutex)
{
    const struct upcall_shared_port *shared
        = upcall_shared_get(&ports->shared, slot);
    const struct upcall_channel *channel;

    memset(sum, 0, sizeof *sum);
    if (ports->pasts[slot]) {
        *sum = ports->pasts[slot]->counts;
    }
    if (shared) {
        sum->received += upcall_counter_read(&shared->received);
    }
    UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
        struct upcall_channel_stats stats;

        upcall_channel_get_counts(channel, &stats);
        add_counts(sum, &stats);
    }
}

/* The same with the latency. */
static void
get_port_stats(const struct upcall_ports *ports, uint32_t slot,
               struct upcall_channel_stats *sum)
    OVS_REQUIRES(ports->mutex)
{
    const struct upcall_past *past = ports->pasts[slot];
    struct upcall_channel *channel = slot_channel(ports, slot);

    get_port_counts(ports, slot, sum);
    if (channel && !past && !next_channel(channel)) {
        latency_hist_summarize(&channel->latency, &sum->latency);
    } else if (channel || past) {
        struct latency_hist all;

        latency_hist_init(&all);
        if (past) {
            latency_hist_add(&all, &past->latency);
        }
        UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
            latency_hist_add(&all, &channel->latency);
        }
        latency_hist_summarize(&all, &sum->latency);
        latency_hist_uninit(&all);
    }
}

/* True if 'slot' has a channel or a port that shares. */
static bool
slot_is_used(const struct upcall_ports *ports, uint32_t slot)
    OVS_REQUIRES(ports->mutex)
{
    return slot_channel(ports, slot) || upcall_shared_get(&ports->shared,
                                                          slot);
}

bool
upcall_ports_get_stats(const struct upcall_ports *ports, uint32_t port_no,
                       struct upcall_channel_stats *stats)
{
    uint32_t slot = port_to_slot(port_no);
    bool used;

    if (slot >= UPCALL_N_SLOTS) {
        return false;
    }
    ovs_mutex_lock(&ports->mutex);
    used = slot_is_used(ports, slot);
    get_port_counts(ports, slot, stats);
    ovs_mutex_unlock(&ports->mutex);
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
get_queues_info(const struct upcall_ports *ports, uint32_t slot,
                struct upcall_port_info *port)
    OVS_REQUIRES(ports->mutex)
{
    const struct upcall_channel *channel;
    size_t n = 0;

    UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
        n++;
        port->n_queues += !upcall_channel_is_retired(channel);
    }
    if (n < 2) {
        return;
    }
    port->queues = xcalloc(n, sizeof *port->queues);
    UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
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
get_senders_info(const struct upcall_ports *ports, uint32_t slot,
                 struct upcall_port_info *port)
    OVS_REQUIRES(ports->mutex)
{
    struct upcall_sender_info *others = &port->other_senders;
    uint64_t now = upcall_now_usec();
    const struct upcall_channel *channel;
    size_t n = 0;

    UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
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
get_port_info(const struct upcall_ports *ports, uint32_t slot,
              struct upcall_port_info *port)
    OVS_REQUIRES(ports->mutex)
{
    const struct upcall_channel *channel = slot_channel(ports, slot);
    const struct upcall_shared_port *shared
        = upcall_shared_get(&ports->shared, slot);

    if (channel) {
        port->port_no = channel->port_no;
        port->has_channel = true;
        port->owner = upcall_channel_owner(channel);
    } else {
        port->port_no = slot;
        port->owner = UPCALL_OWNER_NONE;
    }
    port->name = xstrdup(slot_name(ports, slot));
    port->pid = upcall_ports_get_pid(ports, port->port_no);
    port->shared = shared != NULL;
    get_queues_info(ports, slot, port);
    get_port_stats(ports, slot, &port->stats);
    port->rate = ports->rates[slot];
    get_senders_info(ports, slot, port);
}

struct upcall_port_count *
upcall_ports_get_counts(const struct upcall_ports *ports, size_t *np)
{
    struct upcall_port_count *counts;
    size_t n = 0;

    ovs_mutex_lock(&ports->mutex);
    counts = xcalloc(ports->n_port_channels + ports->shared.n,
                     sizeof *counts);
    for (uint32_t slot = 0; slot <= ports->last_slot; slot++) {
        const struct upcall_shared_port *shared
            = upcall_shared_get(&ports->shared, slot);
        const struct upcall_channel *channel;
        uint64_t sum = 0;

        if (!slot_is_used(ports, slot)) {
            continue;
        }
        if (ports->pasts[slot]) {
            sum += ports->pasts[slot]->counts.received;
            sum += ports->pasts[slot]->counts.shed;
        }
        if (shared) {
            sum += upcall_counter_read(&shared->received);
        }
        UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
            sum += upcall_counter_read(&channel->received);
            sum += upcall_counter_read(&channel->shed);
        }
        counts[n++] = (struct upcall_port_count) { slot, sum };
    }
    ovs_mutex_unlock(&ports->mutex);
    *np = n;
    return counts;
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
            if (slot_is_used(ports, slot)) {
                struct upcall_channel_stats stats;

                get_port_counts(ports, slot, &stats);
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
    info->n_adopted = ports->n_adopted;
    info->dropped = ports->dropped;
    info->buffer_max = ports->buffer_max;
    info->buffer_size = ports->rcvbuf * 2;
    info->target_delay = upcall_ports_target_delay(ports);
    info->ports = xcalloc(ports->n_channels + ports->shared.n,
                          sizeof *info->ports);
    for (uint32_t slot = 0; slot < UPCALL_N_SLOTS;
         slot = next_slot(ports, slot)) {
        const struct upcall_channel *channel;

        if (slot_is_used(ports, slot)) {
            get_port_info(ports, slot, &info->ports[info->n_ports++]);
        }
        UPCALL_SLOT_FOR_EACH (channel, slot, ports) {
            info->dropped += upcall_channel_dropped(channel);
        }
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
    for (slot = 0; slot < UPCALL_N_SLOTS; slot = next_slot(ports, slot)) {
        struct upcall_shared_port *shared
            = upcall_shared_get(&ports->shared, slot);

        if (shared) {
            atomic_store_relaxed(&shared->received, 0);
        }
        forget_past(ports, slot);
        memset(&ports->rates[slot], 0, sizeof ports->rates[slot]);
    }
    ports->rated_at = 0;
    ovs_mutex_unlock(&ports->mutex);
}
