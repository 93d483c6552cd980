/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_FQ_H
#define KDP_UPCALL_FQ_H 1

/* Fair queues inside a channel
 * ============================
 *
 * Private to lib/upcall.  The upcalls of many senders come on one socket: the
 * remote machines behind a tunnel port, or the ports that share a channel.  A
 * socket is a queue, so that one sender that floods it makes all others wait,
 * and lose upcalls once it is full.
 *
 * So the owner of such a channel reads ahead.  It takes what the socket has,
 * sorts it into a queue for each sender (class), and hands it out in the way
 * of FQ-CoDel (RFC 8290): a class that was empty goes first, once; the others
 * have turns of UPCALL_FQ_QUANTUM upcalls (deficit round robin).
 *
 *      class of                is known by
 *      ---------------------   ------------------------------------
 *      a tunnel port           source address and id of the tunnel
 *      a channel of several    input port
 *      ports
 *
 * Classes are exact, not hashed: none has to suffer for another one.  A class
 * takes memory only while it has upcalls or has just had some.  What each
 * sender sent is counted in a summary of fixed size (upcall-senders.h).
 *
 * Shedding
 * --------
 *
 * At most UPCALL_FQ_MAX upcalls and UPCALL_FQ_MAX_BYTES bytes wait here.  When
 * there are more, the oldest upcalls of the class that has most go, half of
 * them at a time.  With a target delay, so do the upcalls of a class that wait
 * longer than that, as long as the class has more than a turn.  A class that is
 * sent less than its share has no more than that.
 *
 * Order (U1): upcalls of one class are handed out in the order in which they
 * were put in, and the class of a flow does not change.
 *
 * Thread safety: a fair queue belongs to the owner of its channel
 * (upcall-channel.h).  upcall_fq_total_bytes(), upcall_fq_senders() and
 * upcall_fq_reset_senders() are for other threads, too (upcall-senders.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "upcall/upcall-engine-provider.h"
#include "upcall/upcall-senders.h"

/* Upcalls of a turn: as many as the smallest turn of a channel has
 * (upcall-turn.h). */
#define UPCALL_FQ_QUANTUM 4

/* The most that wait in one fair queue: enough for a turn of each of 250
 * senders, and as much memory as the receive buffer of a port takes. */
#define UPCALL_FQ_MAX 1024
#define UPCALL_FQ_MAX_BYTES (2 * 1024 * 1024)

/* The most memory for all fair queues together.  When it is used up, a turn
 * reads no more than it hands out, and nothing while something was read ahead.
 * So each handler exceeds it by one read at most. */
#define UPCALL_FQ_TOTAL_BYTES (64 * 1024 * 1024)

/* An upcall that waits. */
struct upcall_fq_msg {
    struct ovs_list node;
    struct upcall_rx rx;        /* 'data' follows this structure. */
    uint64_t queued_at;         /* By the kernel, in microseconds. */
    bool last_of_new;           /* Its class went first, and has no more. */
};

struct upcall_fq {
    struct hmap classes;        /* Those in one of the lists. */
    struct ovs_list new_classes, old_classes;
    size_t n, n_bytes;          /* Upcalls, and memory for them. */
    size_t n_backlogged;        /* Classes with upcalls. */
    uint64_t n_shed;            /* Upcalls, ever. */
    ATOMIC(struct upcall_sender_set *) senders;    /* Or NULL, before the first
                                                 * upcall. */
};

void upcall_fq_init(struct upcall_fq *);

/* Throws away what waits. */
void upcall_fq_clear(struct upcall_fq *);

/* The same, and frees what the queue needs. */
void upcall_fq_uninit(struct upcall_fq *);

/* Puts in a copy of 'rx', of the class of 'key', which the kernel queued at
 * 'queued_at'. */
void upcall_fq_put(struct upcall_fq *, const struct upcall_sender_key *key,
                   const struct upcall_rx *rx, uint64_t queued_at);

/* Takes the next upcall, or returns NULL if there is none.  The caller frees
 * it.  'now' is in microseconds, and 'target' is how long an upcall may wait, or
 * 0 for no matter. */
struct upcall_fq_msg *upcall_fq_get(struct upcall_fq *, uint64_t now,
                                    uint64_t target);

/* The summary of the senders, or NULL if there was no upcall yet.  It lives as
 * long as the queue. */
const struct upcall_sender_set *upcall_fq_senders(const struct upcall_fq *);

/* Starts to count what senders sent from 0 again at 'now', in microseconds.
 * By the control thread. */
void upcall_fq_reset_senders(struct upcall_fq *, uint64_t now);

/* Memory of all fair queues together, in bytes. */
uint64_t upcall_fq_total_bytes(void);

#endif /* lib/upcall/upcall-fq.h */
