/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_ID_FPOOL_H
#define KDP_ID_FPOOL_H 1

/* Fast pool of unique 32-bit ids
 * ==============================
 *
 * Assigns numbers from a range, each to one holder at a time: handles in the
 * kernel, indexes of records.  Any thread may free an id, even if another
 * thread got it.
 *
 * Each thread is a user of the pool and has a cache of ids, which it changes
 * without atomics and locks.  The cache consists of magazines, stacks of ids
 * of fixed size, as in J. Bonwick and J. Adams, "Magazines and Vmem" (2001).
 * Ids come from and go to the loaded magazine; the other one is the spare.
 * They change places when the loaded one is empty or full.  If that does not
 * help, the thread exchanges a magazine at the depot, under the pool's lock.
 * So a thread takes the lock at most once in as many calls as a magazine has
 * ids, whatever the order of calls is, even if one thread gets all ids and
 * another frees them; ids that users left behind may add to that.  Ids that
 * were never assigned need no memory: a user takes a piece of the range, as
 * large as a magazine, and counts.
 *
 * Which ids
 * ---------
 *
 * Freed ids are assigned again before others, the last one first.  No assigned
 * id is ever beyond the floor of the range by more than
 *
 *     the largest number held at the same time
 *     + kdp_id_fpool_cached_max() * the largest number of users
 *
 * so that they are good for indexes.
 *
 * What a cache costs
 * ------------------
 *
 * A user may get no id although other users have ids in their caches: at most
 * kdp_id_fpool_cached_max() each, which is 192, and less than 1.2 % of the
 * range for ranges below 16,384 ids, or 3 ids if that is more.  Apart from
 * that, every id can be assigned; a single user can hold all of them.  A
 * thread that will not use the pool for long returns its cache by destroying
 * its user.
 *
 * The pool uses 4.3 bytes for each id that was assigned and is free at the
 * same time as others, until it is destroyed.  Ranges below 16,384 have
 * magazines of the same size with fewer ids: up to 272 bytes for each id, 140
 * kB in all.
 *
 * Misuse
 * ------
 *
 * Freeing an id that is outside of the range aborts.  Freeing one that is not
 * held would cause it to be assigned twice later.  A pool with
 * KDP_ID_FPOOL_CHECK knows which ids are held, at the price of an atomic
 * operation for each call and a bit for each id, and aborts instead.
 *
 * Thread safety
 * -------------
 *
 *     kdp_id_fpool_create, _destroy      no other call on the pool
 *     kdp_id_fpool_user_create           any thread, any time
 *     kdp_id_fpool_user_destroy          no other call on the user
 *     kdp_id_fpool_new_id, _free_id      no other call on the user; different
 *                                        users at the same time
 *     kdp_id_fpool_cached_max            any thread, any time
 *
 * The pool orders freeing and getting an id: what a thread did before it freed
 * the id happens before the return of the call that assigns it again. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/compiler.h"
#include "openvswitch/thread.h"
#include "ovs-atomic.h"
#include "util.h"

/* Ids in a magazine.  The lock costs as much as ten ids from the cache: the
 * magazine spreads that over enough ids, and is small enough for the
 * prefetcher. */
#define KDP_ID_MAGAZINE_SIZE 64

/* Magazines are smaller in small ranges: at most this part of the range.  A
 * user has at most three times that. */
#define KDP_ID_MAGAZINE_SHARE 256

/* For kdp_id_fpool_create(). */
#define KDP_ID_FPOOL_CHECK (1u << 0)    /* Find ids that are freed twice. */

struct kdp_id_fpool;

struct kdp_id_magazine {
    struct kdp_id_magazine *next;       /* In the depot. */
    uint32_t n;                         /* Number of ids. */
    uint32_t ids[KDP_ID_MAGAZINE_SIZE];
};

/* A user.  Its members are for the functions below. */
struct kdp_id_user {
    struct kdp_id_magazine *loaded;
    struct kdp_id_magazine *spare;      /* Full or empty, mostly. */
    uint32_t size;                      /* Ids in a full magazine. */
    uint32_t unused;                    /* The first of */
    uint32_t n_unused;                  /* ids never given out. */
    uint32_t floor;                     /* The pool's range. */
    uint32_t n_ids;
    bool check;
    struct kdp_id_fpool *pool;
};

struct kdp_id_fpool *kdp_id_fpool_create(uint32_t floor, uint32_t n_ids,
                                         unsigned int flags);
void kdp_id_fpool_destroy(struct kdp_id_fpool *);
uint32_t kdp_id_fpool_cached_max(const struct kdp_id_fpool *);

struct kdp_id_user *kdp_id_fpool_user_create(struct kdp_id_fpool *);
void kdp_id_fpool_user_destroy(struct kdp_id_user *);

static inline bool kdp_id_fpool_new_id(struct kdp_id_user *, uint32_t *id);
static inline void kdp_id_fpool_free_id(struct kdp_id_user *, uint32_t id);

bool kdp_id_fpool_reload__(struct kdp_id_user *);
void kdp_id_fpool_unload__(struct kdp_id_user *);
void kdp_id_fpool_check_new__(struct kdp_id_user *, uint32_t id);
void kdp_id_fpool_check_free__(struct kdp_id_user *, uint32_t id);

/* Stores an id that no one holds in '*id' and returns true.  Returns false if
 * there is none; see above about the caches of other users. */
static inline bool
kdp_id_fpool_new_id(struct kdp_id_user *user, uint32_t *id)
{
    do {
        struct kdp_id_magazine *loaded = user->loaded;

        if (OVS_LIKELY(loaded->n)) {
            *id = loaded->ids[--loaded->n];
        } else if (user->n_unused) {
            *id = user->unused++;
            user->n_unused--;
        } else {
            continue;
        }
        if (OVS_UNLIKELY(user->check)) {
            kdp_id_fpool_check_new__(user, *id);
        }
        return true;
    } while (kdp_id_fpool_reload__(user));
    return false;
}

/* Frees 'id', which must be held. */
static inline void
kdp_id_fpool_free_id(struct kdp_id_user *user, uint32_t id)
{
    struct kdp_id_magazine *loaded = user->loaded;

    if (OVS_UNLIKELY(user->check || id - user->floor >= user->n_ids)) {
        kdp_id_fpool_check_free__(user, id);
    }
    if (OVS_UNLIKELY(loaded->n == user->size)) {
        kdp_id_fpool_unload__(user);
        loaded = user->loaded;
    }
    loaded->ids[loaded->n++] = id;
}

#endif /* lib/offload/kdp-id-fpool.h */
