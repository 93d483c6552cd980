/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_HANDLER_PRIVATE_H
#define KDP_UPCALL_HANDLER_PRIVATE_H 1

/* What the files of a handler share: upcall-handler.c has its life and its
 * batches, upcall-serve.c reads channels. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"
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

    /* Channels that the handler owns.  Each entry is a reference. */
    struct upcall_fifo sparse;  /* Readable, with credit. */
    struct upcall_fifo rest;    /* Likewise, but they have had a part of their
                                 * turn: the batch was full. */
    struct upcall_fifo served;  /* Empty; kept until the batch is over. */
    struct upcall_fifo spent;   /* For the run queue; likewise. */
    struct upcall_fifo failed;  /* Could not be read, and pause. */
    long long int retry_at;     /* The earliest end of a pause of those, in ms,
                                 * or LLONG_MAX. */

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

/* Reads from the channels whose turn it is.  Returns false if there is none,
 * or no room. */
bool upcall_handler_serve__(struct upcall_handler *);

#endif /* lib/upcall/upcall-handler-private.h */
