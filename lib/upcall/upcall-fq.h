/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_FQ_H
#define KDP_UPCALL_FQ_H 1

/* Fair queues inside a channel
 * ============================
 *
 * Private to lib/upcall.  The upcalls of many senders may arrive on one
 * socket: the remote machines behind a tunnel port, or the ports that share a
 * channel.  A socket is a queue, so a sender that floods it makes all others
 * wait, and they lose upcalls once the socket is full.
 *
 * So the owner of such a channel reads ahead.  The owner takes what the socket
 * has, sorts it into a queue for each sender (class), and hands it out as
 * FQ-CoDel (RFC 8290) does: a class that was empty goes first, once; the
 * others have turns of UPCALL_FQ_QUANTUM upcalls (deficit round robin).
 *
 *      class of                is known by
 *      ---------------------   ------------------------------------
 *      a tunnel port           source address and id of the tunnel
 *      a channel of several    input port
 *      ports
 *
 * Classes are exact, not hashed, so no sender suffers for another one.  A
 * class takes memory only while it has upcalls or has just had some.  A
 * summary of fixed size counts what each sender sent (upcall-senders.h).
 *
 * Shedding
 * --------
 *
 * At most UPCALL_FQ_MAX upcalls and UPCALL_FQ_MAX_BYTES bytes wait here.  When
 * there are more, the queue sheds the older half of the upcalls of the largest
 * class.  With a target delay, the queue also sheds upcalls that wait longer
 * than the target, as long as their class has more than a turn.  A class that
 * sends less than its share has no more than a turn.
 *
 * Order (U1): the upcalls of a class leave the queue in the order in which
 * they were put in, and the class of a flow does not change.
 *
 * Thread safety: a fair queue belongs to the owner of its channel
 * (upcall-channel.h).  upcall_fq_total_bytes(), upcall_fq_senders() and
 * upcall_fq_reset_senders() may also be called by other threads
 * (upcall-senders.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-senders.h"

/* Upcalls of a turn: as many as the smallest turn of a channel has
 * (upcall-turn.h). */
#define UPCALL_FQ_QUANTUM 4

/* The most that wait in one fair queue: enough for a turn of each of 250
 * senders, and as much memory as the receive buffer of a port takes. */
#define UPCALL_FQ_MAX 1024
#define UPCALL_FQ_MAX_BYTES (2 * 1024 * 1024)

/* The most memory for all fair queues together.  When it is used up, a turn
 * reads no more than it hands out, and reads nothing while upcalls that were
 * read ahead wait.  So each handler exceeds the limit by one read at most. */
#define UPCALL_FQ_TOTAL_BYTES (64 * 1024 * 1024)

/* An upcall that waits. */
struct upcall_fq_msg {
    struct ovs_list node;
    struct upcall_rx rx;        /* 'data' follows this structure. */
    uint64_t queued_at;         /* When the kernel queued it, in
                                 * microseconds. */
    bool last_of_new;           /* Its class went first and is empty now. */
};

struct upcall_fq {
    struct hmap classes;        /* The classes in either list. */
    struct ovs_list new_classes, old_classes;
    size_t n, n_bytes;          /* Upcalls, and memory for them. */
    size_t n_backlogged;        /* Classes with upcalls. */
    uint64_t n_shed;            /* Upcalls shed so far. */
    ATOMIC(struct upcall_sender_set *) senders;    /* NULL before the first
                                                    * upcall. */
};

void upcall_fq_init(struct upcall_fq *);

/* Throws away all waiting upcalls. */
void upcall_fq_clear(struct upcall_fq *);

/* The same, and frees the queue's memory. */
void upcall_fq_uninit(struct upcall_fq *);

/* Puts a copy of 'rx' into the class of 'key'.  The kernel queued 'rx' at
 * 'queued_at'. */
void upcall_fq_put(struct upcall_fq *, const struct upcall_sender_key *key,
                   const struct upcall_rx *rx, uint64_t queued_at);

/* Takes the next upcall, or returns NULL if there is none.  The caller frees
 * it.  'now' is in microseconds, as is 'target', the time that an upcall may
 * wait, or 0 for no bound. */
struct upcall_fq_msg *upcall_fq_get(struct upcall_fq *, uint64_t now,
                                    uint64_t target);

/* Returns the summary of the senders, or NULL if there was no upcall yet.  The
 * summary lives as long as the queue. */
const struct upcall_sender_set *upcall_fq_senders(const struct upcall_fq *);

/* Restarts the counts of the senders from 0 at 'now', in microseconds.  Called
 * by the control thread. */
void upcall_fq_reset_senders(struct upcall_fq *, uint64_t now);

/* Memory of all fair queues together, in bytes. */
uint64_t upcall_fq_total_bytes(void);

#endif /* lib/upcall/upcall-fq.h */
