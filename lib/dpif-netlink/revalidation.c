/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/revalidation.h"

#include <stdlib.h>

#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "upcall/upcall-channel.h"
#include "util.h"

/* An RCU grace period in progress.  The revalidation and the pending callback
 * hold references. */
struct grace {
    struct ovs_refcount refcount;
    atomic_bool over;
};

struct revalidation {
    enum { REST, TOLD, GRACE, DUMPING } state;
    uint64_t last;              /* Number of the last change. */
    uint64_t round;             /* Number of the last change in this round. */
    uint64_t done;              /* Number of the last change that is done. */
    struct grace *grace;        /* Only in GRACE. */
    uint64_t first_dump;        /* 'n_dumps' at the start of DUMPING. */
    atomic_uint64_t n_dumps;    /* Dumps begun so far. */
};

static void
grace_unref(struct grace *grace)
{
    if (grace && upcall_refcount_unref(&grace->refcount)) {
        free(grace);
    }
}

static void
grace_over(struct grace *grace)
{
    /* Pairs with the load in grace_is_over(). */
    atomic_store_explicit(&grace->over, true, memory_order_release);
    grace_unref(grace);
}

static bool
grace_is_over(struct grace *grace)
{
    bool over;

    atomic_read_explicit(&grace->over, &over, memory_order_acquire);
    return over;
}

static struct grace *
grace_begin(void)
{
    struct grace *grace = xmalloc(sizeof *grace);

    ovs_refcount_init(&grace->refcount);
    ovs_refcount_ref(&grace->refcount);
    atomic_init(&grace->over, false);
    ovsrcu_postpone(grace_over, grace);
    return grace;
}

struct revalidation *
revalidation_create(void)
{
    struct revalidation *r = xzalloc(sizeof *r);

    r->state = REST;
    atomic_init(&r->n_dumps, 0);
    return r;
}

void
revalidation_destroy(struct revalidation *r)
{
    grace_unref(r->grace);
    free(r);
}

uint64_t
revalidation_request(struct revalidation *r)
{
    return ++r->last;
}

bool
revalidation_is_done(const struct revalidation *r, uint64_t change)
{
    return change <= r->done;
}

void
revalidation_dump_begins(struct revalidation *r)
{
    uint64_t orig;

    atomic_add_relaxed(&r->n_dumps, 1, &orig);
}

static uint64_t
n_dumps(struct revalidation *r)
{
    uint64_t n;

    atomic_read_relaxed(&r->n_dumps, &n);
    return n;
}

bool
revalidation_run(struct revalidation *r)
{
    switch (r->state) {
    case REST:
        if (r->last == r->done) {
            return false;
        }
        r->round = r->last;
        r->state = TOLD;
        return true;

    case TOLD:
        r->grace = grace_begin();
        r->state = GRACE;
        return false;

    case GRACE:
        if (grace_is_over(r->grace)) {
            grace_unref(r->grace);
            r->grace = NULL;
            r->first_dump = n_dumps(r);
            r->state = DUMPING;
        }
        return false;

    case DUMPING:
        if (n_dumps(r) - r->first_dump >= REVALIDATION_DUMPS) {
            r->done = r->round;
            r->state = REST;
        }
        return false;
    }
    OVS_NOT_REACHED();
}

void
revalidation_wait(const struct revalidation *r)
{
    if (r->state == TOLD || (r->state == REST && r->last != r->done)) {
        poll_immediate_wake();
    }
}
