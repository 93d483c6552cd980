/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that could not be deleted from tc, although their flows have gone.
 *
 * They are remembered by ufid, and tried again when all flows are flushed.  By
 * then a new flow may have the ufid, and its rule must not be deleted instead.
 * So the thread of the port does it, which is the one that would put that rule
 * there, unless another thread is at a flow of the ufid, or has one in its
 * queue.  When all rules of a port are deleted, those are, too. */

#include <config.h>
#include "offload/offload-private.h"

#include <errno.h>
#include <stdlib.h>

#include "hash.h"
#include "openvswitch/vlog.h"
#include "util.h"
#include "uuid.h"

VLOG_DEFINE_THIS_MODULE(offload_leak);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

struct leak {
    struct hmap_node node;      /* In offload->leaks.  By ufid. */
    ovs_u128 ufid;
    uint32_t port;
    struct offload_desc *desc;  /* Of the rule; NULL if it is not known. */
};

void
offload_leaks_init(struct offload *offload)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_init(&offload->leaks_mutex);
    hmap_init(&offload->leaks);
}

static void
leak_destroy(struct leak *leak)
{
    offload_desc_unref(leak->desc);
    free(leak);
}

void
offload_leaks_destroy(struct offload *offload)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct leak *leak;

    HMAP_FOR_EACH_POP (leak, node, &offload->leaks) {
        leak_destroy(leak);
    }
    hmap_destroy(&offload->leaks);
    ovs_mutex_destroy(&offload->leaks_mutex);
}

static uint32_t
ufid_hash(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

static bool
is_known(const struct offload *offload, const ovs_u128 *ufid)
    OVS_REQUIRES(offload->leaks_mutex)
{
    const struct leak *leak;

    HMAP_FOR_EACH_WITH_HASH (leak, node, ufid_hash(ufid), &offload->leaks) {
        if (ovs_u128_equals(leak->ufid, *ufid)) {
            return true;
        }
    }
    return false;
}

/* Might what tc has of 'ufid' be a rule that should not be there? */
bool
offload_is_leaked(struct offload *offload, const ovs_u128 *ufid)
{
    bool known;

    ovs_mutex_lock(&offload->leaks_mutex);
    known = is_known(offload, ufid);
    ovs_mutex_unlock(&offload->leaks_mutex);
    return known;
}

/* Remembers 'leak', unless its ufid is already. */
static void
remember(struct offload *offload, struct leak *leak)
{
    bool known;

    ovs_mutex_lock(&offload->leaks_mutex);
    known = is_known(offload, &leak->ufid);
    if (!known) {
        hmap_insert(&offload->leaks, &leak->node, ufid_hash(&leak->ufid));
    }
    ovs_mutex_unlock(&offload->leaks_mutex);
    if (known) {
        leak_destroy(leak);
    }
}

/* Takes note that the rule of 'ufid' on 'port', made of 'desc' unless that is
 * NULL, could not be deleted by 'thread' because of 'error'. */
void
offload_leaked(struct offload *offload, unsigned int thread,
               const ovs_u128 *ufid, uint32_t port,
               const struct offload_desc *desc, int error)
{
    struct leak *leak = xmalloc(sizeof *leak);

    *leak = (struct leak) {
        .ufid = *ufid,
        .port = port,
        .desc = desc ? offload_desc_ref(desc) : NULL,
    };
    offload_count(offload, thread, OFFLOAD_LEAKED);
    VLOG_INFO_RL(&rl, "flow "UUID_FMT" on port %"PRIu32" could not be "
                 "deleted from tc: %s; its rule stays until all flows are "
                 "flushed or the port is removed",
                 UUID_ARGS((const struct uuid *) ufid), port,
                 ovs_strerror(error));
    remember(offload, leak);
}

/* Deletes the rule of 'ufid'.  Returns 0, also if there is none, or a positive
 * errno value. */
int
offload_delete_rule(struct offload *offload, const ovs_u128 *ufid,
                    const struct offload_desc *desc)
{
    struct offload_copy_op op = {
        .type = OFFLOAD_COPY_DEL, .ufid = *ufid, .desc = desc,
    };
    struct offload_copy_op *ops[] = { &op };

    for (int i = 0; i < OFFLOAD_MAX_FAILURES; i++) {
        offload->backend.operate(offload->backend.aux, ops, 1);
        if (!op.error || op.error == ENOENT || op.error == ENODEV) {
            return 0;
        }
    }
    return op.error;
}

/* Tries to delete the rule of 'leak' again.  Returns true if it is done with,
 * false to try another time. */
static bool
retry(struct offload_thread *thread, const struct leak *leak)
{
    struct offload *offload = thread->offload;
    struct offload_stripe *stripe = offload_stripe(offload, &leak->ufid);
    const struct offload_flow *flow;
    bool replaced, elsewhere;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, &leak->ufid);
    elsewhere = (offload_flow_is_deleting(stripe, &leak->ufid)
                 || (flow && (offload_flow_is_busy(flow)
                              || (flow->work == OFFLOAD_WORK_QUEUED
                                  && flow->thread != thread->id))));
    replaced = flow && offload_flow_in_tc(flow);
    ovs_mutex_unlock(&stripe->mutex);

    return (!elsewhere
            && (replaced
                || !offload_delete_rule(offload, &leak->ufid, leak->desc)));
}

/* Tries to delete the rules that are left on ports of 'thread', which calls
 * this when it is at no flow. */
void
offload_leaks_retry(struct offload_thread *thread)
{
    struct offload *offload = thread->offload;
    struct hmap mine = HMAP_INITIALIZER(&mine);
    struct leak *leak;

    ovs_mutex_lock(&offload->leaks_mutex);
    HMAP_FOR_EACH_SAFE (leak, node, &offload->leaks) {
        if (offload_choose_thread(offload, leak->port) == thread->id) {
            hmap_remove(&offload->leaks, &leak->node);
            hmap_insert(&mine, &leak->node, leak->node.hash);
        }
    }
    ovs_mutex_unlock(&offload->leaks_mutex);

    HMAP_FOR_EACH_POP (leak, node, &mine) {
        if (retry(thread, leak)) {
            leak_destroy(leak);
        } else {
            remember(offload, leak);
        }
    }
    hmap_destroy(&mine);
}

/* Deletes all rules of ours on 'port' from tc. */
void
offload_flush_port(struct offload *offload, uint32_t port)
{
    struct leak *leak;

    if (offload->backend.flush(offload->backend.aux, port)) {
        return;
    }
    ovs_mutex_lock(&offload->leaks_mutex);
    HMAP_FOR_EACH_SAFE (leak, node, &offload->leaks) {
        if (leak->port == port) {
            hmap_remove(&offload->leaks, &leak->node);
            leak_destroy(leak);
        }
    }
    ovs_mutex_unlock(&offload->leaks_mutex);
}
