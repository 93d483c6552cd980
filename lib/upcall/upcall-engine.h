/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_ENGINE_H
#define KDP_UPCALL_ENGINE_H 1

/* Receive engines
 * ===============
 *
 * An engine takes messages from the sockets of several
 * channels into the buffers of a batch.  The handler chooses the channels,
 * their order and the number of messages of each.  The handler also keeps
 * messages in order, because a handler has one engine and a channel has one
 * handler at a time.
 *
 *      engine      how
 *      --------    -----------------------------------------------------
 *      epoll       one recvmmsg() for each channel
 *      io_uring    one io_uring_enter() for all channels of a read() call
 *
 * A batch: begin() makes all buffers free, then several read() calls fill them
 * in turn.  When read() returns, no message is on its way to the engine, so
 * that the handler can pass the channel on.
 *
 * Thread safety: an engine belongs to one handler, and is created, used and
 * destroyed without locks.  The classes are constant. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct upcall_engine;

/* The most upcalls of a batch.  Open vSwitch's handlers process what they have
 * after 64 upcalls without another receive call.  With one upcall fewer, each
 * batch ends with the EAGAIN that marks its end. */
#define UPCALL_BATCH 63

/* Space for one message: a frame of 64 kB, the flow key, user data and actions
 * (the kernel's limit for actions is 32 kB, but it sends up only the short
 * ones of a "userspace" action). */
#define UPCALL_MSG_SIZE (80 * 1024)

/* What to read from one socket, and the result. */
struct upcall_read {
    int fd;
    unsigned int max;           /* The most messages to take, at least 1. */

    unsigned int n;             /* Messages taken. */
    unsigned int overruns;      /* Times that the socket said ENOBUFS. */
    int error;                  /* Any other error except EAGAIN, or 0. */
    bool empty;                 /* False if there may be more to read. */
};

/* A message.  Valid until the next begin(). */
struct upcall_rx {
    void *data;                 /* Aligned for a struct nlmsghdr; writable. */
    size_t len;                 /* Bytes. */
    uint32_t source;            /* Netlink port id of the sender. */
    bool truncated;             /* It was longer than UPCALL_MSG_SIZE. */
};

struct upcall_engine_class {
    const char *name;

    /* Reads cost less when several are carried out at once. */
    bool together;

    /* Checks that the kernel has what the engine needs.  Returns 0 or a
     * positive errno value.  Null if the engine needs nothing special. */
    int (*probe)(void);

    /* Creates an engine with buffers for 'n_msgs' messages.  Returns 0 or a
     * positive errno value. */
    int (*create)(unsigned int n_msgs, struct upcall_engine **);
    void (*destroy)(struct upcall_engine *);

    /* Begins a batch. */
    void (*begin)(struct upcall_engine *);

    /* Carries out 'n_reads' reads.  Stores the messages one after the other in
     * 'rx', which has room for the sum of the reads' 'max'.  The batch has as
     * many free buffers.  Returns the number of receive system calls. */
    unsigned int (*read)(struct upcall_engine *, struct upcall_read *,
                         size_t n_reads, struct upcall_rx *rx);
};

/* Each engine has this as its first member. */
struct upcall_engine {
    const struct upcall_engine_class *class;
};

/* The engine that makes one recvmmsg() for each channel, and the one that
 * makes one io_uring_enter() for all channels of a read. */
extern const struct upcall_engine_class upcall_engine_epoll;
extern const struct upcall_engine_class upcall_engine_uring;

/* Finds the class called 'name', or returns NULL. */
const struct upcall_engine_class *upcall_engine_lookup(const char *name);

/* The most overruns that one read reports.  A flood can overrun the socket
 * again between two attempts, and the other ports need their turn. */
#define UPCALL_OVERRUNS 4

#endif /* lib/upcall/upcall-engine.h */
