/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/offload/model.h"

#include <inttypes.h>

#include "harness/unit.h"
#include "util.h"

void
model_init(struct model *model, uint32_t flow)
{
    model->flow = flow;
    pthread_rwlock_init(&model->rwlock, NULL);
    pthread_mutex_init(&model->change, NULL);
}

void
model_uninit(struct model *model)
{
    offload_desc_unref(model->desc);
    pthread_rwlock_destroy(&model->rwlock);
    pthread_mutex_destroy(&model->change);
}

/* A number of packets that was reported has to lie between what was sent
 * before and what was begun after the report was asked for, and must not be
 * less than what was reported before. */
struct bounds
bounds_begin(struct model *model)
{
    struct bounds bounds;

    atomic_read(&model->sent, &bounds.sent);
    atomic_read(&model->reported, &bounds.reported);
    return bounds;
}

void
bounds_end(struct model *model, const struct bounds *bounds, uint64_t n)
{
    uint64_t begun, reported;

    atomic_read(&model->begun, &begun);
    if (n < bounds->sent || n > begun || n < bounds->reported) {
        unit_die("flow %"PRIu32": %"PRIu64" packets reported, %"PRIu64" sent "
                 "before, %"PRIu64" after; %"PRIu64" reported before",
                 model->flow, n, bounds->sent, begun, bounds->reported);
    }
    atomic_read(&model->reported, &reported);
    while (reported < n && !atomic_compare_exchange_weak(&model->reported,
                                                         &reported, n)) {
        continue;
    }
}

/* What a deletion reported. */
void
model_check_final(struct model *model, const struct offload_stats *stats)
{
    uint64_t sent;

    atomic_read(&model->sent, &sent);
    if (stats->n_packets != sent) {
        unit_die("flow %"PRIu32": %"PRIu64" packets at the end, %"PRIu64
                 " sent", model->flow, stats->n_packets, sent);
    }
}

void
model_created(struct model *model, struct offload_desc *desc)
{
    model->installed = true;
    model->epoch++;
    atomic_store(&model->begun, 0);
    atomic_store(&model->sent, 0);
    atomic_store(&model->reported, 0);
    model->desc = desc;
}

void
model_deleted(struct model *model)
{
    model->installed = false;
    model->epoch++;
    offload_desc_unref(model->desc);
    model->desc = NULL;
}
