/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_TABLE_PRIVATE_H
#define KDP_UPCALL_TABLE_PRIVATE_H 1

/* What the files of the upcall table share: upcall-table.c keeps the channels
 * in slots, upcall-set.c the handlers, upcall-share.c the ports that share
 * channels, upcall-info.c says what was counted. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-table.h"
#include "util.h"

struct upcall_engine_class;
struct upcall_handler;
struct upcall_sched;

/* Handlers that work together.  Never changed once it can be seen by others
 * than its maker. */
struct upcall_set {
    uint32_t generation;
    struct upcall_sched *sched;
    uint32_t n;
    struct upcall_handler *handlers[];
};

/* Slots: one for each possible port, one for the channel without a port, one
 * for the CPUs of each handler. */
#define UPCALL_N_SLOTS (UPCALL_MAX_PORTS + 1 + UPCALL_MAX_HANDLERS)

typedef OVSRCU_TYPE(struct upcall_channel *) upcall_slot;

/* A port that shares channels with others.  Several handlers may count. */
struct upcall_sharer {
    char *name;
    atomic_uint64_t received;
    atomic_uint64_t lost;       /* While it had a channel. */
};

typedef OVSRCU_TYPE(struct upcall_sharer *) upcall_sharer_slot;

/* What the thread that receives for a handler is in the middle of, whichever
 * handlers have had the number meanwhile.  On a cache line of its own. */
union upcall_seat {
    bool in_batch;              /* It got an upcall and no EAGAIN since. */
    uint8_t pad[CACHE_LINE_SIZE];
};

struct upcall_table {
    struct ovs_refcount refcount;   /* The user, and orphaned handlers. */
    char *name;
    int dp_ifindex;
    uint16_t packet_family;

    /* Held by those who change the table. */
    struct ovs_mutex mutex;
    size_t n_channels OVS_GUARDED;
    size_t n_port_channels OVS_GUARDED; /* Of these, of ports. */
    uint32_t last_slot OVS_GUARDED; /* No higher port number was ever used. */

    const struct upcall_engine_class *engine OVS_GUARDED;
    OVSRCU_TYPE(struct upcall_set *) set;
    atomic_uint32_t generation; /* Of 'set', or of none if there is none. */
    upcall_slot *slots;         /* UPCALL_N_SLOTS, mostly untouched memory. */
    upcall_slot adding;         /* Channel on its way into its slot. */
    upcall_sharer_slot *sharers;    /* UPCALL_MAX_PORTS, likewise. */
    size_t n_shared OVS_GUARDED;
    union upcall_seat *seats;   /* UPCALL_MAX_HANDLERS, mostly untouched, each
                                 * for the thread of that handler. */

    uint64_t abandoned OVS_GUARDED;
    atomic_count foreign;
};

/* The channel in 'slot', the sharer in it and the set of 'table', or NULL.
 * The table's mutex has to be held. */
static inline struct upcall_channel *
upcall_table_slot_channel(const struct upcall_table *table, uint32_t slot)
{
    return ovsrcu_get_protected(struct upcall_channel *, &table->slots[slot]);
}

static inline struct upcall_sharer *
upcall_table_slot_sharer(const struct upcall_table *table, uint32_t slot)
{
    return (slot < UPCALL_MAX_PORTS
            ? ovsrcu_get_protected(struct upcall_sharer *,
                                   &table->sharers[slot])
            : NULL);
}

static inline struct upcall_set *
upcall_table_set_protected(const struct upcall_table *table)
{
    return ovsrcu_get_protected(struct upcall_set *, &table->set);
}

/* The slot after 'slot'.  Those above the highest port number in use need not
 * be looked at. */
static inline uint32_t
upcall_table_next_slot(const struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    return slot == table->last_slot ? UPCALL_MAX_PORTS
           : slot + 1;
}

/* Iterates over the channels of TABLE, whose mutex is held. */
#define UPCALL_TABLE_FOR_EACH(CHANNEL, SLOT, TABLE)                       \
    for ((SLOT) = 0; (SLOT) < UPCALL_N_SLOTS;                             \
         (SLOT) = upcall_table_next_slot(TABLE, SLOT))                    \
        if (((CHANNEL) = upcall_table_slot_channel(TABLE, SLOT)) != NULL)

/* upcall-table.c. */

/* Drops a reference; the last one frees the table. */
void upcall_table_unref__(struct upcall_table *);

/* upcall-share.c. */

/* Adds what 'channel', which leaves 'slot', has counted to what its port has,
 * if that shares. */
void upcall_table_carry__(struct upcall_table *table, uint32_t slot,
                          const struct upcall_channel *channel)
    OVS_REQUIRES(table->mutex);
void upcall_table_unshare__(struct upcall_table *table, uint32_t port_no)
    OVS_REQUIRES(table->mutex);

#endif /* lib/upcall/upcall-table-private.h */
