/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_INFO_H
#define KDP_UPCALL_INFO_H 1

/* The state of an upcall table: a snapshot for people and programs.
 *
 * upcall_table_get_info() (upcall-table.h) takes one and
 * upcall_table_info_uninit() frees it; upcall-show.h prints it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upcall/upcall-channel.h"
#include "upcall/upcall-senders.h"

/* Budget of receive buffers, in bytes, unless another one is set: enough for
 * 512 ports with the largest buffers.  A machine with as many ports has
 * hundreds of GiB of memory. */
#define UPCALL_BUFFER_MAX (UINT64_C(1024) << 20)

/* Used instead of the index of a handler that owns a channel. */
#define UPCALL_OWNER_NONE (-1)  /* Nothing waits on it. */
#define UPCALL_OWNER_QUEUE (-2) /* It waits in a run queue. */

/* A channel of a port that has several. */
struct upcall_queue_info {
    unsigned int number;        /* Index in the kernel's order, from 0. */
    uint32_t pid;
    bool retired;               /* Other queues have replaced it. */
    bool held;                  /* It waits for the queues that it replaces. */
    int owner;                  /* As in struct upcall_port_info. */
    struct upcall_channel_stats stats;
};

/* Milliseconds between two looks: as often as Open vSwitch looks at
 * statistics of interfaces. */
#define UPCALL_RATE_MSEC 5000

/* Rates of a port.  Counters tell the past, but an operator wants to know the
 * present.  So the main loop looks at the counters of each port every
 * UPCALL_RATE_MSEC.  The differences are the rates until the next look.  All
 * zeros mean that nothing is known of the port yet. */
struct upcall_rate {
    /* Upcalls per second. */
    uint64_t received;
    uint64_t lost;
    uint64_t shed;

    long long int lost_at;      /* Last loss that was noticed: ms since 1970,
                                 * or 0. */

    /* Counters at the last look. */
    uint64_t last_received;
    uint64_t last_lost;
    uint64_t last_shed;
};

struct upcall_port_info {
    uint32_t port_no;           /* Or UPCALL_PORT_*. */
    bool shared;                /* Its upcalls arrive on shared channels. */
    bool has_channel;           /* It has a channel of its own. */
    int owner;                  /* Handler that owns the (first) channel now,
                                 * or UPCALL_OWNER_*. */
    const char *name;
    uint32_t pid;               /* Pid of the first channel. */
    size_t n_queues;            /* Channels that the kernel chooses from; 0 if
                                 * it has none of its own. */
    size_t n_channels;          /* In 'queues'; 0 if there is at most one. */
    struct upcall_queue_info *queues;
    struct upcall_channel_stats stats;
    struct upcall_rate rate;

    /* The senders of the upcalls on its channels, in no order, if the channels
     * have several senders (upcall-senders.h). */
    bool senders_are_ports;     /* Ports, not remote ends of tunnels. */
    size_t n_senders;
    struct upcall_sender_info *senders;
    struct upcall_sender_info other_senders;    /* All senders that are not in
                                                 * 'senders'. */
};

/* How many upcalls a port had, read or shed, since some time in the past.  The
 * count uses all 32 bits and wraps around. */
struct upcall_port_count {
    uint32_t port_no;
    uint32_t n;
};

/* Batches are counted by size in powers of two: size I means 2^I to 2^(I + 1)
 * - 1 upcalls. */
#define UPCALL_N_BATCH_SIZES 6

struct upcall_handler_stats {
    uint64_t wakeups;           /* Times that it slept and was woken. */
    uint64_t empty_wakeups;     /* Wakeups that found no upcall. */
    uint64_t batches;           /* Batches with an upcall. */
    uint64_t batch_sizes[UPCALL_N_BATCH_SIZES]; /* Batches, by size. */
    uint64_t upcalls;           /* Upcalls handed out. */
    uint64_t receives;          /* Receive system calls. */
    uint64_t steals;            /* Reads from channels that another handler
                                 * had read from before. */
    uint64_t loans;             /* Channels taken over from other groups. */
    uint64_t busy_usec;         /* Microseconds from the first upcall of a
                                 * batch until the handler asked for the next
                                 * batch. */
};

struct upcall_group_info {
    uint32_t n_handlers;        /* The first groups have the first handlers. */
    uint32_t n_queued;          /* Channels in its run queue now. */
    uint32_t quantum;           /* Upcalls that a turn takes now. */
    uint64_t wakeups;           /* Wakeups of its handlers. */
    uint64_t loans;             /* Channels that they took over from other
                                 * groups. */

    /* How often the lock of the run queue was taken, and how often another
     * thread held it at that moment, since the last change of the handlers. */
    uint64_t locks;
    uint64_t contended;
};

struct upcall_table_info {
    const char *name;
    const char *engine;
    uint64_t foreign;           /* Messages for another datapath, dropped. */
    uint64_t abandoned;         /* Upcalls lost with a retired handler. */
    uint64_t refused;           /* Messages that did not come from the
                                 * kernel. */
    uint64_t outdated;          /* Upcalls of packets that flows of a previous
                                 * run recirculated, dropped. */
    uint64_t adopted;           /* Upcalls that waited for this run on sockets
                                 * of a previous run, outdated ones
                                 * included, */
    size_t n_adopted;           /* and the sockets; never reset. */
    size_t n_sockets;           /* Number of channels. */
    uint64_t dropped;           /* Upcalls that the kernel could not queue on
                                 * any channel so far; never reset. */
    uint64_t buffer_max;        /* Budget of receive buffers, in bytes. */
    uint32_t buffer_size;       /* Kernel memory that the channel of a port can
                                 * take, in bytes; 0 before the first
                                 * channel. */
    uint32_t target_delay;      /* Microseconds that an upcall may wait, or 0
                                 * (upcall-shed.h). */
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
