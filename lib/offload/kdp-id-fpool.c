/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/kdp-id-fpool.h"

#include <inttypes.h>
#include <stdlib.h>

#include "openvswitch/vlog.h"

VLOG_DEFINE_THIS_MODULE(kdp_id_fpool);

struct kdp_id_fpool {
    /* Constant. */
    uint32_t floor;             /* First id of the range. */
    uint32_t n_ids;             /* Number of ids in the range. */
    uint32_t size;              /* Ids in a full magazine. */
    atomic_uint64_t *held;      /* A bit for each id, or NULL. */

    /* The depot. */
    struct ovs_mutex mutex;
    struct kdp_id_magazine *full OVS_GUARDED;
    struct kdp_id_magazine *empty OVS_GUARDED;
    struct kdp_id_magazine *partial OVS_GUARDED;    /* At most one, or NULL. */
    uint32_t n_taken OVS_GUARDED;   /* Ids of the range taken by users. */
    unsigned int n_users OVS_GUARDED;
};

/* Creates a pool of the 'n_ids' numbers from 'floor' on, which must all be
 * below 2^32, with 'flags' from KDP_ID_FPOOL_*. */
struct kdp_id_fpool *
kdp_id_fpool_create(uint32_t floor, uint32_t n_ids, unsigned int flags)
{
    struct kdp_id_fpool *pool = xzalloc(sizeof *pool);

    ovs_assert((uint64_t) floor + n_ids <= (uint64_t) UINT32_MAX + 1);
    pool->floor = floor;
    pool->n_ids = n_ids;
    pool->size = n_ids / KDP_ID_MAGAZINE_SHARE;
    pool->size = MAX(1, MIN(pool->size, KDP_ID_MAGAZINE_SIZE));
    if (flags & KDP_ID_FPOOL_CHECK) {
        pool->held = xcalloc(DIV_ROUND_UP((uint64_t) n_ids, 64),
                             sizeof *pool->held);
    }
    ovs_mutex_init(&pool->mutex);
    return pool;
}

static void
magazines_free(struct kdp_id_magazine *magazine)
{
    while (magazine) {
        struct kdp_id_magazine *next = magazine->next;

        free(magazine);
        magazine = next;
    }
}

/* Destroys 'pool', which must have no users; ids may be held.  NULL does
 * nothing. */
void
kdp_id_fpool_destroy(struct kdp_id_fpool *pool)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    if (pool) {
        ovs_assert(!pool->n_users);
        magazines_free(pool->full);
        magazines_free(pool->empty);
        free(pool->partial);
        free(pool->held);
        ovs_mutex_destroy(&pool->mutex);
        free(pool);
    }
}

/* Returns the largest number of free ids that a user of 'pool' can have in its
 * cache. */
uint32_t
kdp_id_fpool_cached_max(const struct kdp_id_fpool *pool)
{
    return 3 * pool->size;
}

static void
push(struct kdp_id_magazine **list, struct kdp_id_magazine *magazine)
{
    magazine->next = *list;
    *list = magazine;
}

static struct kdp_id_magazine *
pop(struct kdp_id_magazine **list)
{
    struct kdp_id_magazine *magazine = *list;

    if (magazine) {
        *list = magazine->next;
    }
    return magazine;
}

static struct kdp_id_magazine *
magazine_create(void)
{
    struct kdp_id_magazine *magazine = xmalloc(sizeof *magazine);

    magazine->next = NULL;
    magazine->n = 0;
    return magazine;
}

/* Creates a user of 'pool'. */
struct kdp_id_user *
kdp_id_fpool_user_create(struct kdp_id_fpool *pool)
{
    struct kdp_id_user *user = xmalloc_cacheline(sizeof *user);

    *user = (struct kdp_id_user) {
        .loaded = magazine_create(),
        .spare = magazine_create(),
        .size = pool->size,
        .floor = pool->floor,
        .n_ids = pool->n_ids,
        .check = pool->held != NULL,
        .pool = pool,
    };
    ovs_mutex_lock(&pool->mutex);
    pool->n_users++;
    ovs_mutex_unlock(&pool->mutex);
    return user;
}

/* Puts 'id' into the depot of 'pool'. */
static void
return_id(struct kdp_id_fpool *pool, uint32_t id)
    OVS_REQUIRES(pool->mutex)
{
    if (!pool->partial) {
        pool->partial = pop(&pool->empty);
        if (!pool->partial) {
            pool->partial = magazine_create();
        }
    }
    pool->partial->ids[pool->partial->n++] = id;
    if (pool->partial->n == pool->size) {
        push(&pool->full, pool->partial);
        pool->partial = NULL;
    }
}

static void
return_magazine(struct kdp_id_fpool *pool, struct kdp_id_magazine *magazine)
    OVS_REQUIRES(pool->mutex)
{
    if (magazine->n == pool->size) {
        push(&pool->full, magazine);
        return;
    }
    while (magazine->n) {
        return_id(pool, magazine->ids[--magazine->n]);
    }
    push(&pool->empty, magazine);
}

/* Destroys 'user', and returns the ids in its cache to the pool.  NULL does
 * nothing. */
void
kdp_id_fpool_user_destroy(struct kdp_id_user *user)
{
    struct kdp_id_fpool *pool;

    if (!user) {
        return;
    }
    pool = user->pool;
    ovs_mutex_lock(&pool->mutex);
    return_magazine(pool, user->loaded);
    return_magazine(pool, user->spare);
    while (user->n_unused) {
        return_id(pool, user->unused++);
        user->n_unused--;
    }
    pool->n_users--;
    ovs_mutex_unlock(&pool->mutex);
    free_cacheline(user);
}

static void
swap_magazines(struct kdp_id_user *user)
{
    struct kdp_id_magazine *loaded = user->loaded;

    user->loaded = user->spare;
    user->spare = loaded;
}

/* Provides ids for 'user', which has neither unused ones nor any in the loaded
 * magazine.  Returns false if there are none. */
bool
kdp_id_fpool_reload__(struct kdp_id_user *user)
{
    struct kdp_id_fpool *pool = user->pool;
    struct kdp_id_magazine *magazine;

    if (user->spare->n) {
        swap_magazines(user);
        return true;
    }

    ovs_mutex_lock(&pool->mutex);
    magazine = pop(&pool->full);
    if (!magazine) {
        magazine = pool->partial;
        pool->partial = NULL;
    }
    if (magazine) {
        push(&pool->empty, user->loaded);
        user->loaded = magazine;
    } else {
        user->unused = pool->floor + pool->n_taken;
        user->n_unused = MIN(pool->size, pool->n_ids - pool->n_taken);
        pool->n_taken += user->n_unused;
    }
    ovs_mutex_unlock(&pool->mutex);
    return magazine || user->n_unused;
}

/* Makes room in the loaded magazine of 'user', which is full. */
void
kdp_id_fpool_unload__(struct kdp_id_user *user)
{
    struct kdp_id_fpool *pool = user->pool;
    struct kdp_id_magazine *empty;

    if (user->spare->n < user->size) {
        swap_magazines(user);
        return;
    }

    ovs_mutex_lock(&pool->mutex);
    push(&pool->full, user->spare);
    empty = pop(&pool->empty);
    ovs_mutex_unlock(&pool->mutex);

    user->spare = user->loaded;
    user->loaded = empty ? empty : magazine_create();
}

/* Marks 'id' as held or not, and returns whether it was.
 *
 * Relaxed: successive holders of an id are ordered by the pool's lock, or are
 * the same user.  If they are not ordered, that is the error, and an atomic
 * operation finds it in any order. */
static bool
set_held(struct kdp_id_fpool *pool, uint32_t id, bool held)
{
    uint32_t ofs = id - pool->floor;
    uint64_t bit = UINT64_C(1) << (ofs % 64);
    uint64_t orig;

    if (held) {
        atomic_or_relaxed(&pool->held[ofs / 64], bit, &orig);
    } else {
        atomic_and_relaxed(&pool->held[ofs / 64], ~bit, &orig);
    }
    return orig & bit;
}

void
kdp_id_fpool_check_new__(struct kdp_id_user *user, uint32_t id)
{
    if (set_held(user->pool, id, true)) {
        VLOG_ABORT("id %"PRIu32" is held already, the pool of ids is "
                   "corrupted", id);
    }
}

void
kdp_id_fpool_check_free__(struct kdp_id_user *user, uint32_t id)
{
    if (id - user->floor >= user->n_ids) {
        VLOG_ABORT("id %"PRIu32" is freed, but is not among the %"PRIu32
                   " from %"PRIu32" on", id, user->n_ids, user->floor);
    }
    if (!set_held(user->pool, id, false)) {
        VLOG_ABORT("id %"PRIu32" is freed, but is not held", id);
    }
}
