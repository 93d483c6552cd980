/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-backend.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* Adds 'b' to '*a'. */
void
offload_stats_add(struct offload_stats *a, const struct offload_stats *b)
{
    a->n_packets += b->n_packets;
    a->n_bytes += b->n_bytes;
    a->used = MAX(a->used, b->used);
    a->tcp_flags |= b->tcp_flags;
}

/* Copies 'n' bytes of 'src' to '*pos', which is advanced to the next multiple
 * of an attribute's alignment. */
static const void *
append(uint8_t **pos, const void *src, size_t n)
{
    void *dst = *pos;

    nullable_memcpy(dst, src, n);
    *pos += ROUND_UP(n, 8);
    return dst;
}

/* Returns a copy of 'proto' with one reference, for the caller.
 * 'proto->n_refs' does not matter. */
struct offload_desc *
offload_desc_create(const struct offload_desc *proto)
{
    size_t children_len = proto->n_children * sizeof *proto->children;
    size_t outputs_len = proto->n_outputs * sizeof *proto->outputs;
    const size_t skip = offsetof(struct offload_desc, ufid);
    struct offload_desc *desc;
    uint8_t *pos;

    desc = xmalloc(ROUND_UP(sizeof *desc, 8) + ROUND_UP(children_len, 8)
                   + ROUND_UP(outputs_len, 8) + ROUND_UP(proto->key_len, 8)
                   + ROUND_UP(proto->mask_len, 8)
                   + ROUND_UP(proto->actions_len, 8));
    /* Not the count, which others may be changing. */
    memcpy((uint8_t *) desc + skip, (const uint8_t *) proto + skip,
           sizeof *desc - skip);
    atomic_init(&desc->n_refs, 1);
    pos = (uint8_t *) desc + ROUND_UP(sizeof *desc, 8);
    desc->children = append(&pos, proto->children, children_len);
    desc->outputs = append(&pos, proto->outputs, outputs_len);
    desc->key = append(&pos, proto->key, proto->key_len);
    desc->mask = append(&pos, proto->mask, proto->mask_len);
    desc->actions = append(&pos, proto->actions, proto->actions_len);
    return desc;
}

static void
refs_inc(const atomic_uint *n_refs)
{
    unsigned int orig;

    atomic_add_relaxed(CONST_CAST(atomic_uint *, n_refs), 1, &orig);
}

/* Returns true if that was the last reference. */
static bool
refs_dec(atomic_uint *n_refs)
{
    unsigned int orig;

    /* Release: our reads of the object.  Acquire: the reads of other threads.
     * (Not struct ovs_refcount, whose fence a thread sanitizer cannot see.) */
    atomic_sub_explicit(n_refs, 1, &orig, memory_order_acq_rel);
    return orig == 1;
}

/* Takes a reference. */
struct offload_desc *
offload_desc_ref(const struct offload_desc *desc_)
{
    refs_inc(&desc_->n_refs);
    return CONST_CAST(struct offload_desc *, desc_);
}

/* Gives up a reference.  NULL does nothing. */
void
offload_desc_unref(struct offload_desc *desc)
{
    if (desc && refs_dec(&desc->n_refs)) {
        free(desc);
    }
}

/* Gives the caller, the backend that owns 'rule', the first reference.  The
 * thread that gives up the last one calls 'destroy', with locks of the engine
 * held. */
void
offload_rule_init(struct offload_rule *rule,
                  void (*destroy)(struct offload_rule *))
{
    atomic_init(&rule->n_refs, 1);
    rule->destroy = destroy;
}

/* Takes a reference.  NULL does nothing. */
struct offload_rule *
offload_rule_ref(const struct offload_rule *rule)
{
    if (rule) {
        refs_inc(&rule->n_refs);
    }
    return CONST_CAST(struct offload_rule *, rule);
}

/* Gives up a reference.  NULL does nothing. */
void
offload_rule_unref(struct offload_rule *rule)
{
    if (rule && refs_dec(&rule->n_refs)) {
        rule->destroy(rule);
    }
}
