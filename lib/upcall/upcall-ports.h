/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_PORTS_H
#define KDP_UPCALL_PORTS_H 1

/* Ports of a datapath and their channels
 * ======================================
 *
 * Private to lib/upcall.  This half of the table (upcall-table.h) has the
 * channels of each port, and knows with which groups the channels are
 * registered now.  Handlers look channels up here.  The other half, in
 * upcall-set.c, has the handlers; this one does not call them.
 *
 * Queues
 * ------
 *
 * The channels of a port are a list.  The port's queues come first, in the
 * order in which the kernel knows them.  The kernel chooses one by the hash of
 * the packet, so the upcalls of a flow stay in one queue.  With another number
 * of queues, the flow may move to another queue.  So a change replaces all
 * queues of the port, and the new queues are held until nothing of the port is
 * under way on the old queues, which are now called retired:
 *
 *      call           new queues                 retired queues
 *      -----------    -----------------------    ---------------------------
 *      change()       registered, held           read as before
 *      (the caller passes the
 *      pids to the kernel)
 *      changed()      the kernel sends here      the kernel may still send
 *                                                here for one grace period
 *                                                (upcall_grace_wait())
 *      (the grace
 *      period ends)                              waiting upcalls have to be
 *                                                processed first
 *      settle()       released                   only flows that name them
 *                                                in their actions send here
 *      del_retired()                             removed when they are idle
 *
 * changed() starts a thread that waits for the grace period and then calls
 * settle().  A handler that releases a retired channel calls settle(), too.
 * Each datapath has at most one such thread.  If no thread can be created,
 * changed() waits.
 *
 * Handlers are replaced as a whole (upcall-set.c).  Each generation of them
 * has groups (upcall-groups.h) of its own, and upcall_ports_attach() registers
 * every channel with the new ones.  A handler of an earlier generation that
 * releases a channel afterwards arms the channel in the new groups with
 * upcall_ports_rearm().
 *
 * Ports that share channels
 * -------------------------
 *
 * A port without a channel of its own sends its upcalls to channels that
 * belong to no port.  The port's entry in 'shared' counts them by the port
 * number in each upcall.
 *
 * Life cycle
 * ----------
 *
 * The owner of the table and each handler hold a reference, because a handler
 * that was replaced releases its channels only after a grace period.
 *
 * Thread safety
 * -------------
 *
 *      lookup, urgent, target_delay,    any thread, RCU readers; no lock
 *      count_shared
 *      all others                       any thread; they take the mutex and
 *                                       make only short system calls */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-table.h"

struct upcall_engine_class;
struct upcall_groups;
struct upcall_past;
struct upcall_rate;
struct upcall_set;
struct upcall_stats;

typedef OVSRCU_TYPE(struct upcall_channel *) upcall_slot;

/* A port that shares.  Several handlers may count at the same time. */
struct upcall_shared_port {
    char *name;
    atomic_uint64_t received;
};

typedef OVSRCU_TYPE(struct upcall_shared_port *) upcall_shared_slot;

struct upcall_table {
    struct ovs_refcount refcount;

    /* The datapath.  Constant. */
    char *name;
    int dp_ifindex;
    uint16_t packet_family;

    /* Held by threads that change what follows. */
    struct ovs_mutex mutex;
    uint64_t grace_wanted OVS_GUARDED;  /* Number of the last grace period that
                                         * was requested, and of the */
    uint64_t grace_over OVS_GUARDED;    /* last one that is over. */
    bool grace_running OVS_GUARDED;     /* A thread waits for one. */
    size_t n_channels OVS_GUARDED;
    size_t n_adopted OVS_GUARDED;       /* Adopted channels so far. */
    size_t n_port_channels OVS_GUARDED; /* Channels of ports, and */
    size_t n_retired OVS_GUARDED;       /* those that are retired. */
    uint64_t buffer_max OVS_GUARDED; /* Bytes of all receive buffers. */
    uint32_t rcvbuf OVS_GUARDED;    /* Receive buffer size of ports, or 0 if
                                     * there was no port (upcall-rcvbuf.h). */
    uint64_t dropped OVS_GUARDED;   /* Upcalls that the kernel dropped on
                                     * removed channels. */
    bool over_budget OVS_GUARDED;   /* This was logged. */
    bool holding OVS_GUARDED;   /* Some channel may be held. */
    uint32_t last_slot OVS_GUARDED; /* Highest port number used so far. */
    struct upcall_groups *groups OVS_GUARDED;   /* The channels are registered
                                                 * here; or NULL. */
    atomic_uint32_t target_delay; /* Microseconds, or 0 (upcall-shed.h). */
    atomic_uint32_t first_recirc_id;    /* First id of this run, or 0. */
    atomic_uint32_t generation; /* Generation of the last groups attached. */
    upcall_slot *slots;         /* UPCALL_N_SLOTS, mostly untouched memory. */
    struct upcall_rate *rates;  /* UPCALL_N_SLOTS; under the mutex. */
    struct upcall_past **pasts; /* The same. */
    long long int rated_at OVS_GUARDED;     /* Last look, in ms, or 0. */
    upcall_slot adding;         /* First channel that is being added to its
                                 * slot. */
    upcall_shared_slot *shared; /* UPCALL_MAX_PORTS, mostly untouched. */
    size_t n_shared OVS_GUARDED;    /* Ports that share. */

    /* The handlers, see upcall-set.c. */
    struct upcall_stats *stats;
    union upcall_thread *threads;   /* UPCALL_MAX_HANDLERS, mostly untouched,
                                     * each for the thread of that handler. */
    atomic_bool halted;         /* Handlers read no more sockets. */

    /* Held by threads that change the handlers.  Taken before 'mutex'. */
    struct ovs_mutex set_mutex;
    const struct upcall_engine_class *engine OVS_GUARDED;
    uint32_t group_size OVS_GUARDED;
    OVSRCU_TYPE(struct upcall_set *) set;
    uint32_t set_generation OVS_GUARDED; /* The last set's. */
};

void upcall_ports_ref(struct upcall_table *);

/* Drops a reference.  Dropping the last one frees the table, which must not
 * have channels then. */
void upcall_ports_unref(struct upcall_table *);

/* Finds the channel of an event: the channel of port 'port_no' with serial
 * number 'serial', or NULL if it is gone.  Valid until the next quiescent
 * state. */
struct upcall_channel *upcall_ports_lookup(const struct upcall_table *,
                                           uint32_t port_no, uint32_t serial);

/* The target set last.  Any thread. */
uint32_t upcall_ports_target_delay(const struct upcall_table *);

/* True if handlers must not read sockets any more, but only hand out what they
 * have read ahead (upcall_table_halt()).  Sequentially consistent.  Any
 * thread. */
bool upcall_ports_is_halted(const struct upcall_table *);

/* True if upcalls of some channel were read ahead and not taken since.  All
 * that a thread did before it took the last of them happened before a result
 * of false. */
bool upcall_ports_are_ahead(struct upcall_table *);

/* Finds the urgent channel (upcall-channel.h), or NULL.  Any thread. */
struct upcall_channel *upcall_ports_urgent(const struct upcall_table *);

/* Counts an upcall that arrived on a channel shared by several ports. */
void upcall_ports_count_shared(struct upcall_table *,
                               const struct upcall_view *);

/* Registers every channel with 'groups', the groups of 'generation', and from
 * now on each channel that is added.  To be called before a handler of
 * 'generation' takes a channel.  Returns 0 or the error that kept a channel
 * from being registered; then nothing has changed. */
int upcall_ports_attach(struct upcall_table *, struct upcall_groups *groups,
                        uint32_t generation);

/* Stops registering channels with groups. */
void upcall_ports_detach(struct upcall_table *);

/* Arms 'channel', which a handler or the run queue of 'generation' has
 * released, with the current groups if these are of another generation. */
void upcall_ports_rearm(struct upcall_table *, struct upcall_channel *,
                        uint32_t generation);

/* Fills in 'info->ports' and the numbers of ports and sockets. */
void upcall_ports_get_info(const struct upcall_table *,
                           struct upcall_table_info *);

/* Looks at the counters 'stats' at 'wall' ms since 1970.  'msec' is the time
 * since the last look, or 0 if there was none. */
void upcall_rate_update(struct upcall_rate *,
                        const struct upcall_channel_stats *stats,
                        long long int msec, long long int wall);

/* Starts counting from 0 again. */
void upcall_ports_reset_stats(struct upcall_table *);

#endif /* lib/upcall/upcall-ports.h */
