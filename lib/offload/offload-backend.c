/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-backend.h"

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

/* Returns a new description with one reference, for the caller, that says what
 * 'proto' says.  'proto->n_refs' does not matter. */
struct offload_desc *
offload_desc_create(const struct offload_desc *proto)
{
    size_t children_len = proto->n_children * sizeof *proto->children;
    struct offload_desc *desc;
    uint8_t *pos;

    desc = xmalloc(ROUND_UP(sizeof *desc, 8) + ROUND_UP(children_len, 8)
                   + ROUND_UP(proto->key_len, 8)
                   + ROUND_UP(proto->mask_len, 8)
                   + ROUND_UP(proto->actions_len, 8));
    *desc = *proto;
    atomic_init(&desc->n_refs, 1);
    pos = (uint8_t *) desc + ROUND_UP(sizeof *desc, 8);
    desc->children = append(&pos, proto->children, children_len);
    desc->key = append(&pos, proto->key, proto->key_len);
    desc->mask = append(&pos, proto->mask, proto->mask_len);
    desc->actions = append(&pos, proto->actions, proto->actions_len);
    return desc;
}

/* Takes a reference. */
struct offload_desc *
offload_desc_ref(const struct offload_desc *desc_)
{
    struct offload_desc *desc = CONST_CAST(struct offload_desc *, desc_);
    unsigned int orig;

    atomic_add_relaxed(&desc->n_refs, 1, &orig);
    return desc;
}

/* Gives a reference back.  NULL does nothing. */
void
offload_desc_unref(struct offload_desc *desc)
{
    unsigned int orig;

    if (desc) {
        /* Release: what was read from it.  Acquire: what others read.  (Not
         * struct ovs_refcount, whose fence a thread sanitizer cannot see.) */
        atomic_sub_explicit(&desc->n_refs, 1, &orig, memory_order_acq_rel);
        if (orig == 1) {
            free(desc);
        }
    }
}
