/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fake/offload-fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/thread.h"
#include "ovs-thread.h"
#include "random.h"
#include "timeval.h"
#include "util.h"

/* One side. */
struct side {
    struct offload_fake *fake;
    bool tc;
    struct hmap copies;         /* Guarded by fake->mutex. */
    struct hmap keys;           /* The same, by key; kernel only. */
};

struct copy {
    struct hmap_node node;      /* In 'copies' of its side. */
    struct hmap_node key_node;  /* In 'keys', if it is in the kernel. */
    struct offload_desc *desc;
    struct offload_rule *rule;  /* Tc only. */
    struct offload_stats stats;
    enum offload_hw hw;         /* Tc only. */
};

/* Of a copy in tc.  There is nothing to know of it: it is compared. */
static struct offload_rule *
fake_create_rule(void *side OVS_UNUSED)
{
    struct offload_rule *rule = xmalloc(sizeof *rule);

    offload_rule_init(rule, (void (*)(struct offload_rule *)) free);
    return rule;
}

struct offload_fake {
    struct ovs_mutex mutex;
    struct side kernel;
    struct side tc;
    uint64_t n_ops OVS_GUARDED; /* In tc. */
    uint64_t n_calls OVS_GUARDED;

    offload_fake_fail_cb *fail OVS_GUARDED;
    void *fail_aux OVS_GUARDED;
    struct offload_fake_failure failure OVS_GUARDED;
    unsigned int min_delay OVS_GUARDED;
    unsigned int max_delay OVS_GUARDED;
    unsigned int card OVS_GUARDED;      /* Rules that it has room for. */
    bool only_card OVS_GUARDED;
    unsigned int n_in_card OVS_GUARDED;

    bool hold OVS_GUARDED;
    bool hold_returns OVS_GUARDED;
    bool hold_lists OVS_GUARDED;
    bool hold_flow OVS_GUARDED; /* Operations in tc on this flow: */
    ovs_u128 held_flow OVS_GUARDED;
    unsigned int n_held OVS_GUARDED;
    pthread_cond_t cond;        /* Any of these has changed. */
};

static void
init_side(struct side *side, struct offload_fake *fake, bool tc)
{
    side->fake = fake;
    side->tc = tc;
    hmap_init(&side->copies);
    hmap_init(&side->keys);
}

struct offload_fake *
offload_fake_create(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_fake *fake = xzalloc(sizeof *fake);

    ovs_mutex_init(&fake->mutex);
    xpthread_cond_init(&fake->cond, NULL);
    init_side(&fake->kernel, fake, false);
    init_side(&fake->tc, fake, true);
    return fake;
}

static void
copy_destroy(struct side *side, struct copy *copy)
{
    side->fake->n_in_card -= offload_in_hw(copy->hw);
    hmap_remove(&side->copies, &copy->node);
    if (!side->tc) {
        hmap_remove(&side->keys, &copy->key_node);
    }
    offload_desc_unref(copy->desc);
    offload_rule_unref(copy->rule);
    free(copy);
}

static void
destroy_side(struct side *side)
{
    struct copy *copy;

    HMAP_FOR_EACH_SAFE (copy, node, &side->copies) {
        copy_destroy(side, copy);
    }
    hmap_destroy(&side->copies);
    hmap_destroy(&side->keys);
}

void
offload_fake_destroy(struct offload_fake *fake)
{
    if (fake) {
        destroy_side(&fake->kernel);
        destroy_side(&fake->tc);
        xpthread_cond_destroy(&fake->cond);
        ovs_mutex_destroy(&fake->mutex);
        free(fake);
    }
}

static struct side *
side_of(struct offload_fake *fake, bool tc)
{
    return tc ? &fake->tc : &fake->kernel;
}

static uint32_t
ufid_hash(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

static struct copy *
copy_find(struct side *side, const ovs_u128 *ufid)
{
    struct copy *copy;

    HMAP_FOR_EACH_WITH_HASH (copy, node, ufid_hash(ufid), &side->copies) {
        if (ovs_u128_equals(copy->desc->ufid, *ufid)) {
            return copy;
        }
    }
    return NULL;
}

static uint32_t
key_hash(const struct offload_desc *desc)
{
    return hash_bytes(desc->key, desc->key_len, desc->recirc_id);
}

/* Is there a flow that overlaps with one of 'desc'?  Here, that is one with
 * the same key. */
static bool
is_in_the_way(const struct side *side, const struct offload_desc *desc)
{
    const struct copy *copy;

    HMAP_FOR_EACH_WITH_HASH (copy, key_node, key_hash(desc), &side->keys) {
        if (copy->desc->recirc_id == desc->recirc_id
            && copy->desc->key_len == desc->key_len
            && !memcmp(copy->desc->key, desc->key, desc->key_len)) {
            return true;
        }
    }
    return false;
}

/* Takes over a reference to 'rule'. */
static void
copy_create(struct side *side, const struct offload_desc *desc,
            struct offload_rule *rule)
{
    struct copy *copy = xzalloc(sizeof *copy);

    copy->desc = offload_desc_ref(desc);
    copy->rule = rule;
    if (side->tc && side->fake->n_in_card < side->fake->card) {
        side->fake->n_in_card++;
        copy->hw = OFFLOAD_HW_ALL;
    } else if (side->tc) {
        copy->hw = OFFLOAD_HW_NONE;
    }
    hmap_insert(&side->copies, &copy->node, ufid_hash(&desc->ufid));
    if (!side->tc) {
        hmap_insert(&side->keys, &copy->key_node, key_hash(desc));
    }
}

static int
put(struct side *side, const struct offload_copy_op *op)
{
    struct copy *copy = copy_find(side, &op->ufid);

    if (!copy) {
        if (!(op->flags & OFFLOAD_PUT_CREATE)) {
            return ENOENT;
        }
        if (is_in_the_way(side, op->desc)) {
            /* As ovs_flow_cmd_new() does. */
            return op->flags & OFFLOAD_PUT_MODIFY ? ENOENT : EEXIST;
        }
        if (side->tc && side->fake->only_card
            && side->fake->n_in_card >= side->fake->card) {
            return ENOSPC;
        }
        copy_create(side, op->desc, offload_rule_ref(op->rule));
        return 0;
    }
    if (side->tc || !(op->flags & OFFLOAD_PUT_MODIFY)) {
        return EEXIST;
    }
    offload_desc_unref(copy->desc);
    copy->desc = offload_desc_ref(op->desc);
    if (op->flags & OFFLOAD_PUT_ZERO_STATS) {
        copy->stats = (struct offload_stats) { .n_packets = 0 };
    }
    return 0;
}

/* Returns the error that 'op' shall end with, or 0. */
static int
get_failure(struct side *side, const struct offload_copy_op *op)
    OVS_REQUIRES(side->fake->mutex)
{
    struct offload_fake *fake = side->fake;
    struct offload_fake_failure *failure = &fake->failure;

    if (failure->n && side->tc == failure->tc && op->type == failure->type) {
        failure->n--;
        return failure->error;
    }
    return fake->fail ? fake->fail(fake->fail_aux, side->tc, op) : 0;
}

static void
operate_one(struct side *side, struct offload_copy_op *op)
    OVS_REQUIRES(side->fake->mutex)
{
    struct copy *copy;

    op->error = get_failure(side, op);
    if (op->error) {
        return;
    }
    if (op->type == OFFLOAD_COPY_PUT) {
        op->error = put(side, op);
        return;
    }
    copy = copy_find(side, &op->ufid);
    if (!copy || (side->tc && copy->rule != op->rule)) {
        /* Tc goes by the rule, not by the ufid. */
        op->error = ENOENT;
        return;
    }
    op->stats = copy->stats;
    op->hw = copy->hw;
    if (op->type == OFFLOAD_COPY_DEL) {
        copy_destroy(side, copy);
    }
}

/* Waits while '*hold', which is one of the flags of 'fake'. */
static void
wait_while(struct offload_fake *fake, const bool *hold)
    OVS_REQUIRES(fake->mutex)
{
    while (*hold) {
        fake->n_held++;
        xpthread_cond_broadcast(&fake->cond);
        ovs_mutex_cond_wait(&fake->cond, &fake->mutex);
        fake->n_held--;
    }
}

/* Waits as long as a change of tc has to. */
static void
hold_up(struct offload_fake *fake)
    OVS_REQUIRES(fake->mutex)
{
    unsigned int delay = fake->min_delay;

    wait_while(fake, &fake->hold);
    if (fake->max_delay > fake->min_delay) {
        delay += random_range(fake->max_delay - fake->min_delay + 1);
    }
    if (delay) {
        struct timespec ts = { .tv_sec = delay / 1000000,
                               .tv_nsec = delay % 1000000 * 1000 };

        ovs_mutex_unlock(&fake->mutex);
        nanosleep(&ts, NULL);
        ovs_mutex_lock(&fake->mutex);
    }
}

static void
fake_operate(void *side_, struct offload_copy_op *ops[], size_t n)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct side *side = side_;
    struct offload_fake *fake = side->fake;

    ovs_mutex_lock(&fake->mutex);
    if (side->tc) {
        fake->n_calls++;
        fake->n_ops += n;
    }
    for (size_t i = 0; i < n; i++) {
        bool change = side->tc && ops[i]->type != OFFLOAD_COPY_GET;

        if (change) {
            hold_up(fake);
            if (ovs_u128_equals(fake->held_flow, ops[i]->ufid)) {
                wait_while(fake, &fake->hold_flow);
            }
        }
        operate_one(side, ops[i]);
        if (change) {
            wait_while(fake, &fake->hold_returns);
        }
    }
    ovs_mutex_unlock(&fake->mutex);
}

static int
fake_flush_kernel(void *side_)
{
    struct side *side = side_;
    struct copy *copy;

    ovs_mutex_lock(&side->fake->mutex);
    HMAP_FOR_EACH_SAFE (copy, node, &side->copies) {
        copy_destroy(side, copy);
    }
    ovs_mutex_unlock(&side->fake->mutex);
    return 0;
}

/* Rules are where their port was. */
static bool
fake_locate(void *side OVS_UNUSED, uint32_t port, struct offload_place *place)
{
    *place = (struct offload_place) { .data = { port } };
    return true;
}

/* Calls 'cb' for copies on 'port', or on all ports if it is UINT32_MAX, with
 * what they were made of if 'describe'. */
static void
dump(struct side *side, uint32_t port, bool describe, offload_dump_cb *cb,
     void *cb_aux)
{
    struct copy *copies, *copy;
    size_t n = 0;

    ovs_mutex_lock(&side->fake->mutex);
    copies = xcalloc(hmap_count(&side->copies) + 1, sizeof *copies);
    HMAP_FOR_EACH (copy, node, &side->copies) {
        if (port == UINT32_MAX || copy->desc->in_port == port) {
            copies[n].desc = offload_desc_ref(copy->desc);
            copies[n].rule = offload_rule_ref(copy->rule);
            copies[n++].stats = copy->stats;
        }
    }
    ovs_mutex_unlock(&side->fake->mutex);

    for (size_t i = 0; i < n; i++) {
        struct offload_desc *desc = copies[i].desc;
        const ovs_u128 ufid = desc->ufid;

        if (!describe) {
            offload_desc_unref(desc);
            desc = NULL;
        }
        cb(cb_aux, &ufid, desc, &copies[i].stats, copies[i].rule);
    }
    free(copies);
}

static int
fake_dump_port(void *side_, uint32_t port OVS_UNUSED,
               const struct offload_place *place, bool describe,
               offload_dump_cb *cb, void *cb_aux)
{
    dump(side_, place->data[0], describe, cb, cb_aux);
    return 0;
}

/* A rule as the list tells it. */
struct listed {
    struct offload_rule *rule;
    struct offload_stats stats;
    enum offload_hw hw;
};

static void
fake_list_all(void *side_, offload_is_known_cb *is_known, offload_list_cb *cb,
              void *cb_aux)
{
    struct side *side = side_;
    struct offload_fake *fake = side->fake;
    struct copy *copies, *copy;
    size_t n = 0;

    ovs_mutex_lock(&fake->mutex);
    copies = xcalloc(hmap_count(&side->copies) + 1, sizeof *copies);
    HMAP_FOR_EACH (copy, node, &side->copies) {
        copies[n] = *copy;
        offload_desc_ref(copy->desc);
        offload_rule_ref(copy->rule);
        n++;
    }
    wait_while(fake, &fake->hold_lists);
    ovs_mutex_unlock(&fake->mutex);

    for (size_t i = 0; i < n; i++) {
        struct offload_desc *desc = copies[i].desc;
        struct offload_place place = { .data = { desc->in_port } };
        uint32_t port = (desc->in_port < OFFLOAD_FAKE_NO_PORT ? desc->in_port
                         : UINT32_MAX);
        const struct listed listed = {
            .rule = copies[i].rule,
            .stats = copies[i].stats,
            .hw = copies[i].hw,
        };

        if (is_known(cb_aux, port, &place)) {
            cb(cb_aux, &desc->ufid, &listed);
        }
        offload_rule_unref(copies[i].rule);
        offload_desc_unref(desc);
    }
    free(copies);
}

static bool
fake_take(void *side OVS_UNUSED, struct offload_rule *rule,
          const void *listed_, struct offload_stats *stats,
          enum offload_hw *hw)
{
    const struct listed *listed = listed_;

    *stats = listed->stats;
    *hw = listed->hw;
    return rule == listed->rule;
}

static struct offload_rule *
fake_name(void *side OVS_UNUSED, const void *listed)
{
    return offload_rule_ref(((const struct listed *) listed)->rule);
}

static bool
fake_is_same(const struct offload_rule *a, const struct offload_rule *b)
{
    return a == b;
}

struct offload_kernel
offload_fake_kernel(struct offload_fake *fake)
{
    return (struct offload_kernel) {
        .operate = fake_operate,
        .flush = fake_flush_kernel,
        .aux = &fake->kernel,
    };
}

struct offload_backend
offload_fake_backend(struct offload_fake *fake)
{
    return (struct offload_backend) {
        .create_rule = fake_create_rule,
        .operate = fake_operate,
        .list_all = fake_list_all,
        .take = fake_take,
        .name = fake_name,
        .is_same = fake_is_same,
        .locate = fake_locate,
        .dump = fake_dump_port,
        .aux = &fake->tc,
    };
}

void
offload_fake_set_delay(struct offload_fake *fake, unsigned int min,
                       unsigned int max)
{
    ovs_mutex_lock(&fake->mutex);
    fake->min_delay = min;
    fake->max_delay = max;
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_set_card(struct offload_fake *fake, unsigned int n,
                      bool only_card)
{
    ovs_mutex_lock(&fake->mutex);
    fake->card = n;
    fake->only_card = only_card;
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_set_fail(struct offload_fake *fake, offload_fake_fail_cb *fail,
                      void *aux)
{
    ovs_mutex_lock(&fake->mutex);
    fake->fail = fail;
    fake->fail_aux = aux;
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_fail_next(struct offload_fake *fake,
                       const struct offload_fake_failure *failure)
{
    ovs_mutex_lock(&fake->mutex);
    fake->failure = *failure;
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_hold(struct offload_fake *fake)
{
    ovs_mutex_lock(&fake->mutex);
    fake->hold = true;
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_hold_returns(struct offload_fake *fake)
{
    ovs_mutex_lock(&fake->mutex);
    fake->hold_returns = true;
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_hold_flow(struct offload_fake *fake, const ovs_u128 *ufid)
{
    ovs_mutex_lock(&fake->mutex);
    fake->hold_flow = ufid != NULL;
    if (ufid) {
        fake->held_flow = *ufid;
    }
    xpthread_cond_broadcast(&fake->cond);
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_hold_lists(struct offload_fake *fake)
{
    ovs_mutex_lock(&fake->mutex);
    fake->hold_lists = true;
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_release(struct offload_fake *fake)
{
    ovs_mutex_lock(&fake->mutex);
    fake->hold = fake->hold_returns = fake->hold_lists = false;
    fake->hold_flow = false;
    xpthread_cond_broadcast(&fake->cond);
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_wait_held(struct offload_fake *fake, unsigned int n)
{
    ovs_mutex_lock(&fake->mutex);
    while (fake->n_held < n) {
        ovs_mutex_cond_wait(&fake->cond, &fake->mutex);
    }
    ovs_mutex_unlock(&fake->mutex);
}

unsigned int
offload_fake_packet(struct offload_fake *fake, const ovs_u128 *ufid,
                    unsigned int n_bytes)
{
    struct copy *copy;
    unsigned int where;

    ovs_mutex_lock(&fake->mutex);
    where = OFFLOAD_FAKE_TC;
    copy = copy_find(&fake->tc, ufid);
    if (!copy) {
        where = OFFLOAD_FAKE_KERNEL;
        copy = copy_find(&fake->kernel, ufid);
    }
    if (copy) {
        copy->stats.n_packets++;
        copy->stats.n_bytes += n_bytes;
        copy->stats.used = time_msec();
    }
    ovs_mutex_unlock(&fake->mutex);
    return copy ? where : 0;
}

unsigned int
offload_fake_where(struct offload_fake *fake, const ovs_u128 *ufid)
{
    unsigned int where;

    ovs_mutex_lock(&fake->mutex);
    where = ((copy_find(&fake->tc, ufid) ? OFFLOAD_FAKE_TC : 0)
             | (copy_find(&fake->kernel, ufid) ? OFFLOAD_FAKE_KERNEL : 0));
    ovs_mutex_unlock(&fake->mutex);
    return where;
}

struct offload_desc *
offload_fake_rule(struct offload_fake *fake, const ovs_u128 *ufid)
{
    struct offload_desc *desc;
    struct copy *copy;

    ovs_mutex_lock(&fake->mutex);
    copy = copy_find(&fake->tc, ufid);
    desc = copy ? offload_desc_ref(copy->desc) : NULL;
    ovs_mutex_unlock(&fake->mutex);
    return desc;
}

size_t
offload_fake_count(struct offload_fake *fake, bool tc)
{
    size_t n;

    ovs_mutex_lock(&fake->mutex);
    n = hmap_count(&side_of(fake, tc)->copies);
    ovs_mutex_unlock(&fake->mutex);
    return n;
}

void
offload_fake_add(struct offload_fake *fake, bool tc,
                 const struct offload_desc *desc)
{
    ovs_mutex_lock(&fake->mutex);
    copy_create(side_of(fake, tc), desc,
                tc ? fake_create_rule(NULL) : NULL);
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_remove(struct offload_fake *fake, bool tc, const ovs_u128 *ufid)
{
    struct side *side = side_of(fake, tc);
    struct copy *copy;

    ovs_mutex_lock(&fake->mutex);
    copy = copy_find(side, ufid);
    if (copy) {
        copy_destroy(side, copy);
    }
    ovs_mutex_unlock(&fake->mutex);
}

void
offload_fake_dump(struct offload_fake *fake, bool tc, offload_dump_cb *cb,
                  void *cb_aux)
{
    dump(side_of(fake, tc), UINT32_MAX, true, cb, cb_aux);
}

void
offload_fake_get_load(struct offload_fake *fake, uint64_t *n_ops,
                      uint64_t *n_calls)
{
    ovs_mutex_lock(&fake->mutex);
    *n_ops = fake->n_ops;
    *n_calls = fake->n_calls;
    ovs_mutex_unlock(&fake->mutex);
}
