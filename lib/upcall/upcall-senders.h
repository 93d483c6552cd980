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
 * addresses, so neither the number of senders nor the order in which they come
 * may matter.  The summary is that of the Space-Saving algorithm (Metwally,
 * Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements
 * in data streams", 2005): each sender has a weight, which an upcall raises by
 * one; a sender that is not there takes the place of the one with the least
 * weight, and inherits that weight.  All weights are halved every
 * UPCALL_SENDER_WINDOW, so that the past counts less and less.
 *
 *   - A sender with more than one in UPCALL_SENDER_PLACES of the upcalls that
 *     the channel had lately is always there.  (An upcall of the window before
 *     counts as half a one, of the window before that as a quarter, and so
 *     on.)
 *
 *   - Weights only decide who stays.  They are not shown.  Counts are shown,
 *     and they are exact from the moment at which the sender took its place,
 *     which 'age' of the snapshot tells.  What it had sent before is missing,
 *     so no count is ever too high.
 *
 *   - The total of the channel is exact.  The total less all senders is what
 *     senders sent that are not there, or were not there then.
 *
 * Upcalls that the kernel dropped because the socket was full are not part of
 * any count: nobody knows who sent them.
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
 * The owner and the others need no lock between them.  What they share are
 * atomics with one writer.  Those that belong together are guarded by the
 * sender's 'version': the owner makes it odd before it changes them and even
 * afterwards, and a reader starts over if it was odd or has changed.  The
 * owner never waits.  A sender that changes each time a reader looks, some ten times
 * in a row, is left out of the snapshot: it has been there for no time.
 *
 * In C11's terms: the stores between the two of 'version' are releases, and
 * the loads between the reader's two are acquires.  A reader that loads what
 * such a store wrote sees the odd version, or a later one, in its second
 * load. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"

/* Senders of a summary.  A hundred remotes that send alike are each one in a
 * hundred, and no one of them floods.  The owner looks through all of them
 * when a sender comes that has no place, so more would cost more. */
#define UPCALL_SENDER_PLACES 64

/* Microseconds.  As often as ports' rates are looked at (upcall-rate.h), so
 * that both can be compared. */
#define UPCALL_SENDER_WINDOW 5000000

/* The sender of an upcall. */
struct upcall_sender_key {
    uint8_t source[16];         /* IPv6 address, or an IPv4-mapped one. */
    uint64_t id;                /* Of the tunnel, in network byte order. */
    uint32_t port_no;           /* Input port. */
    uint32_t pad;               /* 0. */
};

/* Fills '*key' in for the upcall of 'len' bytes at 'msg', which may be
 * anything.  'by_port' says that the sender is the input port; otherwise it is
 * the other end of the tunnel.  All upcalls that do not say have the same
 * sender. */
void upcall_sender_key_get(const void *msg, size_t len, bool by_port,
                           struct upcall_sender_key *key);

/* True if 'key' says where the other end of the tunnel is. */
bool upcall_sender_has_remote(const struct upcall_sender_key *);

/* Stores the source address of 'key' in 'buf', for people. */
#define UPCALL_SENDER_REMOTE_LEN 46     /* As INET6_ADDRSTRLEN. */
void upcall_sender_format_remote(const struct upcall_sender_key *key,
                                 char buf[UPCALL_SENDER_REMOTE_LEN]);

/* The id of the tunnel, in the host's byte order. */
uint64_t upcall_sender_id(const struct upcall_sender_key *);

/* What is known of a sender, in a snapshot. */
struct upcall_sender_info {
    struct upcall_sender_key key;
    uint64_t received;          /* Upcalls handed out. */
    uint64_t shed;              /* Upcalls thrown away. */
    uint64_t waiting;           /* Upcalls read ahead and not handed out. */
    uint64_t rate;              /* Upcalls a second that arrived, whatever
                                 * became of them. */
    uint64_t shed_rate;         /* Upcalls a second thrown away. */
    uint64_t age;               /* Milliseconds that 'received' and 'shed' are
                                 * about. */
};

/* Counts at the beginning of a window. */
struct upcall_sender_mark {
    atomic_uint64_t at;         /* Microseconds. */
    atomic_uint64_t arrived, shed;
};

#define UPCALL_SENDER_KEY_WORDS (sizeof(struct upcall_sender_key) / 8)

/* A place in the summary, or the total. */
struct upcall_sender {
    atomic_uint32_t version;    /* Guards all but the counts. */
    atomic_uint64_t serial;     /* Tells it from others that had its place;
                                 * 0 if the place is free. */
    atomic_uint64_t key[UPCALL_SENDER_KEY_WORDS];
    atomic_uint64_t since;      /* When it took its place, in microseconds. */
    struct upcall_sender_mark marks[2]; /* Of the window before, and of the
                                         * current one. */

    /* The counts.  What arrived and was neither received nor shed waits. */
    atomic_uint64_t arrived;
    atomic_uint64_t received;
    atomic_uint64_t shed;

    /* The owner's: where the place is referred to from, or NULL. */
    struct upcall_sender **user;

    /* Under the mutex of those who get: counts at the last reset of sender
     * 'base_serial'. */
    uint64_t base_serial, base_received, base_shed;
};

struct upcall_sender_set {
    struct upcall_sender senders[UPCALL_SENDER_PLACES];
    struct upcall_sender total;

    /* The owner's. */
    uint32_t hashes[UPCALL_SENDER_PLACES];    /* Of keys. */
    uint32_t weights[UPCALL_SENDER_PLACES];
    uint32_t least;             /* No weight is below it once all places are
                                 * taken. */
    size_t next_place;          /* Where to look for the least next. */
    size_t n;                   /* Places taken; they are the first ones. */
    uint64_t last_serial;
    uint64_t now;               /* The latest time heard of. */
    uint64_t window_end;

    uint64_t reset_at;          /* Under the mutex of those who get. */
};

/* Makes a summary without senders at 'now', in microseconds. */
struct upcall_sender_set *upcall_senders_create(uint64_t now);
void upcall_senders_destroy(struct upcall_sender_set *);

/* Finds the place of sender 'key', whose hash is 'hash', or gives it one, and
 * stores it in '*user', which becomes NULL when the sender loses its place.
 * 'n_waiting' of its upcalls wait.  'now' is in microseconds. */
void upcall_senders_take(struct upcall_sender_set *,
                         const struct upcall_sender_key *key, uint32_t hash,
                         uint32_t n_waiting, struct upcall_sender **user);

/* Forgets '*user', which goes away.  The sender keeps its place. */
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

/* Counts 'n' upcalls of 'sender' that were handed out, or thrown away.
 * 'sender' is NULL for one that has lost its place. */
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

/* Makes 'n' upcalls of 'sender', which wait, as if they had never arrived. */
static inline void
upcall_senders_forget(struct upcall_sender_set *senders,
                      struct upcall_sender *sender, uint32_t n)
{
    if (sender) {
        upcall_sender_count(&sender->arrived, -(uint64_t) n);
    }
    upcall_sender_count(&senders->total.arrived, -(uint64_t) n);
}

/* Stores what is known of the senders at 'now', in microseconds, in 'infos',
 * and what is known of all together, apart from the key, in '*total'.  Returns
 * the number of senders. */
size_t upcall_senders_get(
    const struct upcall_sender_set *, uint64_t now,
    struct upcall_sender_info infos[UPCALL_SENDER_PLACES],
    struct upcall_sender_info *total);

/* Starts counting from 0 again at 'now'.  Rates go on. */
void upcall_senders_reset(struct upcall_sender_set *, uint64_t now);

/* Adds the counts of '*b' to '*a', or subtracts them, but no more than there
 * are. */
void upcall_sender_info_add(struct upcall_sender_info *a,
                            const struct upcall_sender_info *b);
void upcall_sender_info_subtract(struct upcall_sender_info *a,
                                 const struct upcall_sender_info *b);

/* Makes one of those of 'n' 'infos' that are about the same sender.  Returns
 * how many are left, in no order. */
size_t upcall_senders_merge(struct upcall_sender_info *infos, size_t n);

#endif /* lib/upcall/upcall-senders.h */
