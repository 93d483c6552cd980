/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SENDERS_H
#define KDP_UPCALL_SENDERS_H 1

/* The senders on a channel, and what each of them sent
 * ====================================================
 *
 * Private to lib/upcall, except for the structures of a snapshot.  The upcalls
 * of many senders arrive on the channel of a tunnel port and on a channel of
 * several ports:
 *
 *      channel of              a sender is
 *      ---------------------   ------------------------------------
 *      a tunnel port           source address and id of the tunnel
 *      several ports           input port
 *
 * A fair queue (upcall-fq.h) serves them like ports of their own, and forgets
 * a sender as soon as none of its upcalls waits.  The summary here remembers
 * the senders that send most, so that an operator sees which of them floods.
 *
 * Bound and error
 * ---------------
 *
 * A summary has UPCALL_SENDER_PLACES places for senders and takes 11 kB,
 * whatever arrives.  Anybody who can reach the tunnel can invent source
 * addresses, so neither the number of senders nor their order may matter.  The
 * summary uses the Space-Saving algorithm (Metwally, Agrawal and El Abbadi,
 * "Efficient computation of frequent and top-k elements in data streams",
 * 2005): each sender has a weight, which an upcall raises by one; a sender
 * without a place takes the place of the sender with the least weight, and
 * inherits that weight.  All weights are halved every UPCALL_SENDER_WINDOW, so
 * that the past counts less and less.
 *
 *   - A sender with more than one in UPCALL_SENDER_PLACES of the channel's
 *     recent upcalls always has a place.  (An upcall of the window before
 *     counts as half a one, of the window before that as a quarter, and so
 *     on.)
 *
 *   - Weights only decide which senders stay, and are not shown.  The counts
 *     shown are exact from the moment at which the sender took its place,
 *     which 'age' in the snapshot tells.  They lack what the sender sent
 *     before, so no count is ever too high.
 *
 *   - The total of the channel is exact.  The total less all senders is what
 *     senders sent while they had no place.
 *
 * Upcalls that the kernel dropped because the socket was full are not part of
 * any count: their senders are unknown.
 *
 * Rates
 * -----
 *
 * A rate is over the current window and the one before it: 5 to 10 s, or the
 * age of the sender if that is less, but at least one second.  Windows begin
 * with the first upcall after the end of the last one.  A channel that had
 * nothing for two windows has no rates.
 *
 * Thread safety
 * -------------
 *
 *      take, leave, arrived,       the owner of the channel
 *      received, shed, forget      (upcall-channel.h)
 *      get, reset                  any thread, under a mutex of the caller's
 *      merge, key_get              any thread
 *
 * The owner and other threads need no lock between them.  They share atomics
 * with one writer.  The sender's 'version' guards the atomics that belong
 * together: the owner makes the version odd before it changes them and even
 * afterwards, and a reader starts over if the version was odd or has changed.
 * The owner never waits.  If a sender changes each time a reader looks, some
 * ten times in a row, the snapshot omits it: it has only just got its place.
 *
 * In C11's terms: the stores between the two of 'version' are releases, and
 * the loads between the reader's two are acquires.  A reader that loads such a
 * store's value sees the odd version, or a later one, in its second load of
 * 'version'. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"

/* Senders of a summary.  If a hundred remotes send at the same rate, each
 * sends one in a hundred upcalls, and none of them floods.  The owner looks
 * through all places when a sender without a place arrives, so more places
 * would cost more. */
#define UPCALL_SENDER_PLACES 64

/* Microseconds.  The same as for the rates of ports (upcall-info.h), so that
 * both can be compared. */
#define UPCALL_SENDER_WINDOW 5000000

/* The sender of an upcall. */
struct upcall_sender_key {
    uint8_t source[16];         /* IPv6 address, or an IPv4-mapped one. */
    uint64_t id;                /* Id of the tunnel, in network byte order. */
    uint32_t port_no;           /* Input port. */
    uint32_t pad;               /* 0. */
};

/* Fills '*key' in for the upcall of 'len' bytes at 'msg', which may hold any
 * bytes.  If 'by_port', the sender is the input port; otherwise it is the
 * remote end of the tunnel.  All upcalls that do not say have the same
 * sender. */
void upcall_sender_key_get(const void *msg, size_t len, bool by_port,
                           struct upcall_sender_key *key);

/* True if 'key' has the address of the remote end of a tunnel. */
bool upcall_sender_has_remote(const struct upcall_sender_key *);

/* Stores the source address of 'key' in 'buf', for people. */
#define UPCALL_SENDER_REMOTE_LEN 46     /* As INET6_ADDRSTRLEN. */
void upcall_sender_format_remote(const struct upcall_sender_key *key,
                                 char buf[UPCALL_SENDER_REMOTE_LEN]);

/* The id of the tunnel, in the host's byte order. */
uint64_t upcall_sender_id(const struct upcall_sender_key *);

/* A sender in a snapshot. */
struct upcall_sender_info {
    struct upcall_sender_key key;
    uint64_t received;          /* Upcalls handed out. */
    uint64_t shed;              /* Upcalls thrown away. */
    uint64_t waiting;           /* Upcalls read ahead and not handed out. */
    uint64_t rate;              /* Upcalls that arrived per second, whether
                                 * handed out, shed or waiting. */
    uint64_t shed_rate;         /* Upcalls thrown away per second. */
    uint64_t age;               /* Milliseconds that 'received' and 'shed'
                                 * cover. */
};

/* Counts at the beginning of a window. */
struct upcall_sender_mark {
    atomic_uint64_t at;         /* Microseconds. */
    atomic_uint64_t arrived, shed;
};

#define UPCALL_SENDER_KEY_WORDS (sizeof(struct upcall_sender_key) / 8)

/* A place in the summary, or the total. */
struct upcall_sender {
    atomic_uint32_t version;    /* Guards all members except the counts. */
    atomic_uint64_t serial;     /* Tells the sender from earlier ones in the
                                 * same place; 0 if the place is free. */
    atomic_uint64_t key[UPCALL_SENDER_KEY_WORDS];
    atomic_uint64_t since;      /* When it took its place, in microseconds. */
    struct upcall_sender_mark marks[2]; /* Starts of the previous and the
                                         * current window. */

    /* The counts.  An upcall that arrived and was neither received nor shed
     * waits. */
    atomic_uint64_t arrived;
    atomic_uint64_t received;
    atomic_uint64_t shed;

    /* The pointer that refers to this place, or NULL.  Used only by the
     * owner. */
    struct upcall_sender **user;

    /* Guarded by the mutex of upcall_senders_get()'s callers: counts at the
     * last reset of sender 'base_serial'. */
    uint64_t base_serial, base_received, base_shed;
};

struct upcall_sender_set {
    struct upcall_sender senders[UPCALL_SENDER_PLACES];
    struct upcall_sender total;

    /* Used only by the owner. */
    uint32_t hashes[UPCALL_SENDER_PLACES];    /* Hashes of keys. */
    uint32_t weights[UPCALL_SENDER_PLACES];
    uint32_t least;             /* Lower bound of the weights once all places
                                 * are taken. */
    size_t next_place;          /* Where the next search for the least weight
                                 * begins. */
    size_t n;                   /* Places taken; they are the first ones. */
    uint64_t last_serial;
    uint64_t now;               /* The latest time seen. */
    uint64_t window_end;

    uint64_t reset_at;          /* Guarded by the callers' mutex. */
};

/* Creates a summary without senders at 'now', in microseconds. */
struct upcall_sender_set *upcall_senders_create(uint64_t now);
void upcall_senders_destroy(struct upcall_sender_set *);

/* Finds the place of sender 'key', whose hash is 'hash', or gives it one, and
 * stores it in '*user', which becomes NULL when the sender loses its place.
 * 'n_waiting' of the sender's upcalls wait.  'now' is in microseconds. */
void upcall_senders_take(struct upcall_sender_set *,
                         const struct upcall_sender_key *key, uint32_t hash,
                         uint32_t n_waiting, struct upcall_sender **user);

/* Forgets '*user', which is about to be freed.  The sender keeps its place. */
static inline void
upcall_senders_leave(struct upcall_sender **user)
{
    if (*user) {
        (*user)->user = NULL;
    }
}

void upcall_senders_begin_window(struct upcall_sender_set *);

/* Adds 'n' to 'counter', whose only writer is the caller. */
static inline void
upcall_sender_count(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t value;

    atomic_read_relaxed(counter, &value);
    atomic_store_relaxed(counter, value + n);
}

/* Counts an upcall that arrived at 'now', in microseconds, from 'sender'. */
static inline void
upcall_senders_arrived(struct upcall_sender_set *senders,
                       struct upcall_sender *sender, uint64_t now)
{
    if (now > senders->now) {
        senders->now = now;
        if (now >= senders->window_end) {
            upcall_senders_begin_window(senders);
        }
    }
    senders->weights[sender - senders->senders]++;
    upcall_sender_count(&sender->arrived, 1);
    upcall_sender_count(&senders->total.arrived, 1);
}

/* Count 'n' upcalls of 'sender' that were handed out, or thrown away.
 * 'sender' is NULL if it has lost its place. */
static inline void
upcall_senders_received(struct upcall_sender_set *senders,
                        struct upcall_sender *sender, uint32_t n)
{
    if (sender) {
        upcall_sender_count(&sender->received, n);
    }
    upcall_sender_count(&senders->total.received, n);
}

static inline void
upcall_senders_shed(struct upcall_sender_set *senders,
                    struct upcall_sender *sender, uint32_t n)
{
    if (sender) {
        upcall_sender_count(&sender->shed, n);
    }
    upcall_sender_count(&senders->total.shed, n);
}

/* Undoes the arrival of 'n' waiting upcalls of 'sender'. */
static inline void
upcall_senders_forget(struct upcall_sender_set *senders,
                      struct upcall_sender *sender, uint32_t n)
{
    if (sender) {
        upcall_sender_count(&sender->arrived, -(uint64_t) n);
    }
    upcall_sender_count(&senders->total.arrived, -(uint64_t) n);
}

/* Stores the senders at 'now', in microseconds, in 'infos', and the channel's
 * total, without a key, in '*total'.  Returns the number of senders. */
size_t upcall_senders_get(
    const struct upcall_sender_set *, uint64_t now,
    struct upcall_sender_info infos[UPCALL_SENDER_PLACES],
    struct upcall_sender_info *total);

/* Starts counting from 0 again at 'now'.  Rates go on. */
void upcall_senders_reset(struct upcall_sender_set *, uint64_t now);

/* Adds the counts of '*b' to '*a', or subtracts them, down to 0. */
void upcall_sender_info_add(struct upcall_sender_info *a,
                            const struct upcall_sender_info *b);
void upcall_sender_info_subtract(struct upcall_sender_info *a,
                                 const struct upcall_sender_info *b);

/* Merges all of the 'n' 'infos' that describe the same sender.  Returns how
 * many are left, in no order. */
size_t upcall_senders_merge(struct upcall_sender_info *infos, size_t n);

#endif /* lib/upcall/upcall-senders.h */
