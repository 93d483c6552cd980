/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_HANDLER_PRIVATE_H
#define KDP_UPCALL_HANDLER_PRIVATE_H 1

/* What the files of a handler share: upcall-handler.c has its life and its
 * batches, upcall-serve.c reads channels. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine-provider.h"
#include "upcall/upcall-fifo.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-sched.h"

struct upcall_handler {
    struct upcall_ports *ports;
    struct upcall_sched *sched;
    struct upcall_engine *engine;
    struct upcall_handler *predecessor; /* To be ended first, or NULL. */
    struct ovs_refcount refcount;
    uint32_t index;
    uint32_t generation;
    uint32_t token;             /* Owner word, see upcall-channel.h. */

    /* What a sleep ended with and the handler has not looked at. */
    struct upcall_events events;

    /* Channels that the handler owns, by state, in the order in which they
     * came to it.  Each entry is a reference.  Those that are TAKEN or READING
     * are in no list. */
    struct upcall_fifo lists[UPCALL_N_STATES];
    long long int retry_at;     /* The earliest end of a pause of those that
                                 * are PAUSED, in ms, or LLONG_MAX. */

    /* The batch. */
    bool in_batch;
    bool woken;                 /* It follows a wake-up. */
    size_t share;               /* Channels to take from the run queue yet. */
    unsigned int n_handed;      /* Upcalls handed out. */
    unsigned int n_msgs;        /* Messages received. */
    unsigned int n_sparse;      /* Of these, from sparse channels that had no
                                 * more. */
    unsigned int next_msg;      /* First one not looked at. */
    unsigned int n_turns;       /* Turns used up, for sampling. */
    struct upcall_rx rx[UPCALL_BATCH];
    struct upcall_channel *channels[UPCALL_BATCH]; /* Of each message; a
                                                    * reference is in one of
                                                    * the lists. */

    /* Written by the handler's thread alone. */
    atomic_uint64_t wakeups;
    atomic_uint64_t empty_wakeups;
    atomic_uint64_t batches;
    atomic_uint64_t upcalls;
    atomic_uint64_t receives;
    atomic_uint64_t steals;
};

/* Makes 'state' the state of 'channel', which the handler owns, and puts it at
 * the end of the list of that state. */
static inline void
upcall_handler_keep(struct upcall_handler *handler,
                    struct upcall_channel *channel, enum upcall_state state)
{
    upcall_channel_set_state(channel, state);
    upcall_fifo_push(&handler->lists[state], channel);
}

/* Number of channels in the list of 'state'. */
static inline size_t
upcall_handler_n(const struct upcall_handler *handler,
                 enum upcall_state state)
{
    return handler->lists[state].n;
}

/* Takes the first channel out of the list of 'state'.  Returns NULL if it is
 * empty. */
static inline struct upcall_channel *
upcall_handler_pop(struct upcall_handler *handler, enum upcall_state state)
{
    return upcall_fifo_pop(&handler->lists[state]);
}

/* Reads from the channels whose turn it is.  Returns false if there is none,
 * or no room. */
bool upcall_handler_serve__(struct upcall_handler *);

#endif /* lib/upcall/upcall-handler-private.h */
