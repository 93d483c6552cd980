/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-qdisc.h"

#include <linux/pkt_sched.h>
#include <stdlib.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "ovs-thread.h"
#include "util.h"

struct link_qdisc {
    struct hmap_node node;      /* In 'qdiscs', by interface index. */
    int ifindex;
    uint32_t parent;            /* TC_H_ROOT or TC_H_INGRESS. */
    uint32_t handle;
    uint64_t seqno;             /* Never repeats a previous value. */
    uint64_t generation;        /* At the last update. */
};

struct link_qdiscs {
    struct ovs_mutex mutex;
    struct hmap qdiscs;         /* Of struct link_qdisc. */
    uint64_t generation;
    uint64_t next_seqno;        /* For the next discipline. */
    bool followed;              /* A writer enters changes. */
    bool known;                 /* 'qdiscs' is complete. */
};

/* Distance between the initial numbers of two disciplines: more changes than
 * one will ever see. */
#define QDISC_SEQNO_STEP (UINT64_C(1) << 40)

struct link_qdiscs *
link_qdiscs_create(void)
{
    struct link_qdiscs *qdiscs = xzalloc(sizeof *qdiscs);

    ovs_mutex_init(&qdiscs->mutex);
    hmap_init(&qdiscs->qdiscs);
    qdiscs->followed = qdiscs->known = true;
    return qdiscs;
}

static void
link_qdisc_remove(struct link_qdiscs *qdiscs, struct link_qdisc *qdisc)
    OVS_REQUIRES(qdiscs->mutex)
{
    hmap_remove(&qdiscs->qdiscs, &qdisc->node);
    free(qdisc);
}

static void
link_qdiscs_clear(struct link_qdiscs *qdiscs)
    OVS_REQUIRES(qdiscs->mutex)
{
    struct link_qdisc *qdisc;

    HMAP_FOR_EACH_SAFE (qdisc, node, &qdiscs->qdiscs) {
        link_qdisc_remove(qdiscs, qdisc);
    }
}

void
link_qdiscs_destroy(struct link_qdiscs *qdiscs)
{
    if (qdiscs) {
        ovs_mutex_lock(&qdiscs->mutex);
        link_qdiscs_clear(qdiscs);
        ovs_mutex_unlock(&qdiscs->mutex);
        hmap_destroy(&qdiscs->qdiscs);
        ovs_mutex_destroy(&qdiscs->mutex);
        free(qdiscs);
    }
}

void
link_qdiscs_follow(struct link_qdiscs *qdiscs, bool follow)
{
    ovs_mutex_lock(&qdiscs->mutex);
    qdiscs->followed = follow;
    if (!follow) {
        qdiscs->known = false;
        link_qdiscs_clear(qdiscs);
    }
    ovs_mutex_unlock(&qdiscs->mutex);
}

/* Finds the discipline of link 'ifindex' at 'parent', or any if that is 0. */
static struct link_qdisc *
link_qdisc_find(struct link_qdiscs *qdiscs, int ifindex, uint32_t parent)
    OVS_REQUIRES(qdiscs->mutex)
{
    struct link_qdisc *qdisc;

    HMAP_FOR_EACH_WITH_HASH (qdisc, node, hash_int(ifindex, 0),
                             &qdiscs->qdiscs) {
        if (qdisc->ifindex == ifindex
            && (!parent || qdisc->parent == parent)) {
            return qdisc;
        }
    }
    return NULL;
}

void
link_qdiscs_update(struct link_qdiscs *qdiscs,
                   const struct link_qdisc_view *view, bool gone)
{
    if (!view->handle
        || (view->parent != TC_H_ROOT && view->parent != TC_H_INGRESS)) {
        return;
    }

    ovs_mutex_lock(&qdiscs->mutex);
    struct link_qdisc *qdisc = link_qdisc_find(qdiscs, view->ifindex,
                                               view->parent);
    if (!qdiscs->followed) {
        /* The message was sent before following ended. */
    } else if (gone) {
        /* Its replacement may have been announced before. */
        if (qdisc && qdisc->handle == view->handle) {
            link_qdisc_remove(qdiscs, qdisc);
        }
    } else {
        if (!qdisc) {
            qdisc = xzalloc(sizeof *qdisc);
            qdisc->ifindex = view->ifindex;
            qdisc->parent = view->parent;
            qdisc->seqno = qdiscs->next_seqno += QDISC_SEQNO_STEP;
            hmap_insert(&qdiscs->qdiscs, &qdisc->node,
                        hash_int(view->ifindex, 0));
        }
        qdisc->seqno++;
        qdisc->handle = view->handle;
        qdisc->generation = qdiscs->generation;
    }
    ovs_mutex_unlock(&qdiscs->mutex);
}

void
link_qdiscs_class_changed(struct link_qdiscs *qdiscs, int ifindex)
{
    ovs_mutex_lock(&qdiscs->mutex);
    struct link_qdisc *qdisc = link_qdisc_find(qdiscs, ifindex, TC_H_ROOT);
    if (qdisc) {
        qdisc->seqno++;
    }
    ovs_mutex_unlock(&qdiscs->mutex);
}

void
link_qdiscs_remove_link(struct link_qdiscs *qdiscs, int ifindex)
{
    struct link_qdisc *qdisc;

    ovs_mutex_lock(&qdiscs->mutex);
    while ((qdisc = link_qdisc_find(qdiscs, ifindex, 0)) != NULL) {
        link_qdisc_remove(qdiscs, qdisc);
    }
    ovs_mutex_unlock(&qdiscs->mutex);
}

void
link_qdiscs_mark(struct link_qdiscs *qdiscs)
{
    ovs_mutex_lock(&qdiscs->mutex);
    qdiscs->generation++;
    ovs_mutex_unlock(&qdiscs->mutex);
}

void
link_qdiscs_sweep(struct link_qdiscs *qdiscs)
{
    struct link_qdisc *qdisc;

    ovs_mutex_lock(&qdiscs->mutex);
    HMAP_FOR_EACH_SAFE (qdisc, node, &qdiscs->qdiscs) {
        if (qdisc->generation != qdiscs->generation) {
            link_qdisc_remove(qdiscs, qdisc);
        }
    }
    qdiscs->known = qdiscs->followed;
    ovs_mutex_unlock(&qdiscs->mutex);
}

bool
link_qdiscs_are_known(const struct link_qdiscs *qdiscs_)
{
    struct link_qdiscs *qdiscs = CONST_CAST(struct link_qdiscs *, qdiscs_);

    ovs_mutex_lock(&qdiscs->mutex);
    bool known = qdiscs->known;
    ovs_mutex_unlock(&qdiscs->mutex);
    return known;
}

/* Returns the sequence number of the discipline of link 'ifindex' at 'parent',
 * or 0, which no discipline has, if there is none.  If the table is unknown,
 * returns a number that no discipline has had or will have. */
static uint64_t
link_qdiscs_seqno(const struct link_qdiscs *qdiscs_, int ifindex,
                  uint32_t parent)
{
    struct link_qdiscs *qdiscs = CONST_CAST(struct link_qdiscs *, qdiscs_);

    ovs_mutex_lock(&qdiscs->mutex);
    struct link_qdisc *qdisc = link_qdisc_find(qdiscs, ifindex, parent);
    uint64_t seqno = (!qdiscs->known
                      ? qdiscs->next_seqno += QDISC_SEQNO_STEP
                      : qdisc ? qdisc->seqno : 0);
    ovs_mutex_unlock(&qdiscs->mutex);
    return seqno;
}

uint64_t
link_qdiscs_root_seqno(const struct link_qdiscs *qdiscs, int ifindex)
{
    return link_qdiscs_seqno(qdiscs, ifindex, TC_H_ROOT);
}

uint64_t
link_qdiscs_ingress_seqno(const struct link_qdiscs *qdiscs, int ifindex)
{
    return link_qdiscs_seqno(qdiscs, ifindex, TC_H_INGRESS);
}

bool
link_qdiscs_has_root(const struct link_qdiscs *qdiscs, int ifindex)
{
    return link_qdiscs_seqno(qdiscs, ifindex, TC_H_ROOT) != 0;
}

bool
link_qdiscs_has_ingress(const struct link_qdiscs *qdiscs, int ifindex)
{
    return link_qdiscs_seqno(qdiscs, ifindex, TC_H_INGRESS) != 0;
}

size_t
link_qdiscs_count(const struct link_qdiscs *qdiscs_)
{
    struct link_qdiscs *qdiscs = CONST_CAST(struct link_qdiscs *, qdiscs_);

    ovs_mutex_lock(&qdiscs->mutex);
    size_t n = hmap_count(&qdiscs->qdiscs);
    ovs_mutex_unlock(&qdiscs->mutex);
    return n;
}
