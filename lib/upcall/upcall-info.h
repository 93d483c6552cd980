/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_INFO_H
#define KDP_UPCALL_INFO_H 1

/* What an upcall table says of itself: a snapshot for people and programs.
 *
 * upcall_table_get_info() (upcall-table.h) takes one and
 * upcall_table_info_uninit() frees it; upcall-show.h prints it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upcall/upcall-channel.h"
#include "upcall/upcall-rate.h"
#include "upcall/upcall-senders.h"

/* Budget of receive buffers, in bytes, unless another one is set: that of 512
 * ports with the largest buffers.  A machine with as many ports has hundreds
 * of GiB. */
#define UPCALL_BUFFER_MAX (UINT64_C(1024) << 20)

/* In place of a handler that has a channel. */
#define UPCALL_OWNER_NONE (-1)  /* Nothing waits on it. */
#define UPCALL_OWNER_QUEUE (-2) /* It waits in a run queue. */

/* A channel of a port that has several. */
struct upcall_queue_info {
    unsigned int number;        /* The kernel's, from 0. */
    uint32_t pid;
    bool retired;               /* Others have taken its place. */
    bool held;                  /* Waits for those whose place it takes. */
    int owner;                  /* As in struct upcall_port_info. */
    struct upcall_channel_stats stats;
};

struct upcall_port_info {
    uint32_t port_no;           /* Or UPCALL_PORT_*. */
    bool shared;                /* Its upcalls come on shared channels. */
    bool has_channel;           /* It has a channel of its own. */
    int owner;                  /* Handler that has the channel, or the first
                                 * of them, now, or UPCALL_OWNER_*. */
    const char *name;
    uint32_t pid;               /* Of the first channel. */
    size_t n_queues;            /* Channels that the kernel is to choose from;
                                 * 0 if it has none of its own. */
    size_t n_channels;          /* In 'queues'; 0 if there is at most one. */
    struct upcall_queue_info *queues;
    struct upcall_channel_stats stats;
    struct upcall_rate rate;

    /* Who sent the upcalls of its channels, if these are of several senders
     * (upcall-senders.h).  In no order. */
    bool senders_are_ports;     /* Rather than other ends of tunnels. */
    size_t n_senders;
    struct upcall_sender_info *senders;
    struct upcall_sender_info other_senders;    /* All that have no place in
                                                 * 'senders'. */
};

/* How many upcalls a port had, read or shed, since some time in the past.  All
 * 32 bits are used: it starts over after the largest number. */
struct upcall_port_count {
    uint32_t port_no;
    uint32_t n;
};

/* Sizes of batches are told apart by powers of two: size I is from 2^I to
 * 2^(I + 1) - 1 upcalls. */
#define UPCALL_N_BATCH_SIZES 6

struct upcall_handler_stats {
    uint64_t wakeups;           /* Times that it slept and was woken. */
    uint64_t empty_wakeups;     /* Of these, found no upcall. */
    uint64_t batches;           /* Batches with an upcall. */
    uint64_t batch_sizes[UPCALL_N_BATCH_SIZES]; /* Of these, by size. */
    uint64_t upcalls;           /* Upcalls handed out. */
    uint64_t receives;          /* Receive system calls. */
    uint64_t steals;            /* Reads from channels that another handler
                                 * had read from before. */
    uint64_t loans;             /* Channels taken over from other groups. */
    uint64_t busy_usec;         /* Microseconds from the first upcall of a
                                 * batch until the handler came for the next
                                 * batch. */
};

struct upcall_group_info {
    uint32_t n_handlers;        /* The first groups have the first ones. */
    uint32_t n_queued;          /* Channels in its run queue now. */
    uint32_t quantum;           /* Upcalls that a turn takes now. */
    uint64_t wakeups;           /* Of its handlers. */
    uint64_t loans;             /* Channels that they took over from others. */

    /* Since the handlers were changed last: how often the lock of the run
     * queue was taken, and how often somebody else had it then. */
    uint64_t locks;
    uint64_t contended;
};

struct upcall_table_info {
    const char *name;
    const char *engine;
    uint64_t foreign;           /* Messages of another datapath, dropped. */
    uint64_t abandoned;         /* Lost with a retired handler. */
    uint64_t refused;           /* Messages that were not the kernel's. */
    uint64_t outdated;          /* Upcalls that a previous run's flows had
                                 * recirculated, dropped. */
    uint64_t adopted;           /* Upcalls that waited for this run on sockets
                                 * of a previous one, those that are outdated
                                 * included, and */
    size_t n_adopted;           /* the sockets; no reset. */
    size_t n_sockets;           /* Number of channels. */
    uint64_t dropped;           /* Upcalls that the kernel could not queue on
                                 * any channel there ever was; no reset. */
    uint64_t buffer_max;        /* Budget of receive buffers, in bytes. */
    uint32_t buffer_size;       /* Kernel memory that the channel of a port can
                                 * take, in bytes; 0 if there was none. */
    uint32_t target_delay;      /* Microseconds that an upcall may wait, or 0
                                 * (upcall-delay.h). */
    size_t top;                 /* Show no more ports than this; 0 for all. */
    bool with_queues;           /* Show a line for each queue. */
    size_t top_senders;         /* Show no more senders of a port than this; 0
                                 * for all. */
    size_t n_ports;
    struct upcall_port_info *ports;         /* By port number. */
    size_t n_handlers;
    struct upcall_handler_stats *handlers;  /* By number. */
    uint32_t group_size;        /* The most handlers of a group. */
    size_t n_groups;
    struct upcall_group_info *groups;       /* By number. */
};

#endif /* lib/upcall/upcall-info.h */
