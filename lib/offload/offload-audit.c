/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-audit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "openvswitch/vlog.h"
#include "util.h"
#include "uuid.h"

VLOG_DEFINE_THIS_MODULE(offload_audit);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* Most suspects of one list: some hundred kilobytes.  There are none unless
 * something has gone wrong, and the next list finds the rest. */
#define MAX_SUSPECTS 4096

/* A rule in tc that no flow had. */
struct suspect {
    ovs_u128 ufid;
    struct offload_rule *rule;  /* A reference. */
};

struct offload_audit {
    unsigned int interval;      /* In ms; 0 if there are no audits.
                                 * Constant. */
    long long int next;         /* When the next list is due, in ms. */
    struct suspect *suspects;
    size_t n, allocated;
    atomic_uint64_t n_audits;   /* Lists that were made. */
};

/* Creates the data of an audit each 'interval' ms, or of none if that is 0. */
struct offload_audit *
offload_audit_create(unsigned int interval)
{
    struct offload_audit *audit = xzalloc(sizeof *audit);

    audit->interval = interval;
    atomic_init(&audit->n_audits, 0);
    return audit;
}

static void
forget_suspects(struct offload_audit *audit)
{
    while (audit->n) {
        offload_rule_unref(audit->suspects[--audit->n].rule);
    }
}

void
offload_audit_destroy(struct offload_audit *audit)
{
    forget_suspects(audit);
    free(audit->suspects);
    free(audit);
}

uint64_t
offload_audit_count(const struct offload_audit *audit)
{
    uint64_t n;

    atomic_read_relaxed(&CONST_CAST(struct offload_audit *, audit)->n_audits,
                        &n);
    return n;
}

/* Is a list of all rules due at 'now', in ms?  If so, sets when the next one
 * is. */
bool
offload_audit_is_due(struct offload *offload, long long int now)
{
    struct offload_audit *audit = offload->audit;
    uint64_t orig;

    if (!audit->interval || !offload->backend.list_all || now < audit->next
        || offload_ports_keep_any_chain(&offload->ports)) {
        return false;
    }
    audit->next = now + (audit->interval
                         * (1 + offload_ports_count(&offload->ports)
                                / OFFLOAD_AUDIT_PORTS));
    atomic_add_relaxed(&audit->n_audits, 1, &orig);
    return true;
}

/* Postpones the next list until 'when', in ms, as the last one was
 * expensive. */
void
offload_audit_postpone(struct offload *offload, long long int when)
{
    offload->audit->next = MAX(offload->audit->next, when);
}

/* Records that tc reported a rule of 'ufid' that no flow had. */
void
offload_audit_suspect(struct offload *offload, const ovs_u128 *ufid,
                      const void *listed)
{
    struct offload_audit *audit = offload->audit;
    struct offload_rule *rule;

    if (audit->n >= MAX_SUSPECTS) {
        return;
    }
    rule = offload->backend.name(offload->backend.aux, listed);
    if (rule) {
        if (audit->n == audit->allocated) {
            audit->suspects = x2nrealloc(audit->suspects, &audit->allocated,
                                         sizeof *audit->suspects);
        }
        audit->suspects[audit->n++] = (struct suspect) {
            .ufid = *ufid, .rule = rule,
        };
    }
}

/* May a flow have the rule of 'suspect'? */
static bool
is_accounted_for(struct offload *offload, struct offload_stripe *stripe,
                 const struct suspect *suspect)
    OVS_REQUIRES(stripe->mutex)
{
    const struct offload_flow *flow = offload_flow_find(stripe,
                                                        &suspect->ufid);

    return (offload_flow_find_deleting(stripe, &suspect->ufid)
            || (flow && flow->tc != OFFLOAD_TC_NONE
                && offload->backend.is_same(flow->rule, suspect->rule)));
}

/* Makes 'suspect', which tc has with 'stats', a flow that is being deleted,
 * unless a flow has it. */
static void
judge(struct offload *offload, const struct suspect *suspect,
      const struct offload_stats *stats)
{
    struct offload_stripe *stripe = offload_stripe(offload, &suspect->ufid);
    struct offload_flow *flow = NULL;

    ovs_rwlock_rdlock(&offload->change_rwlock);
    ovs_mutex_lock(&stripe->mutex);
    if (!is_accounted_for(offload, stripe, suspect)) {
        flow = offload_flow_create_stale(stripe, &suspect->ufid, UINT32_MAX,
                                         stats, suspect->rule);
        offload_placement_delete(offload, flow);
        offload_count(offload, flow->thread, OFFLOAD_ORPHANS);
    }
    ovs_mutex_unlock(&stripe->mutex);
    ovs_rwlock_unlock(&offload->change_rwlock);
    if (flow) {
        VLOG_INFO_RL(&rl, "a rule in tc of flow "UUID_FMT", which does not "
                     "have it, is deleted; it counted %"PRIu64" packets",
                     UUID_ARGS((const struct uuid *) &suspect->ufid),
                     stats->n_packets);
    }
}

/* Checks the 'n' suspects from 'first' on, at most OFFLOAD_BATCH.  Asks tc
 * again for each that no flow has.  If tc has it, and still no flow does,
 * deletes it. */
static void
judge_batch(struct offload *offload, const struct suspect *first, size_t n)
{
    struct offload_copy_op ops[OFFLOAD_BATCH], *opps[OFFLOAD_BATCH];
    const struct suspect *asked[OFFLOAD_BATCH];
    size_t n_asked = 0;

    for (size_t i = 0; i < n; i++) {
        struct offload_stripe *stripe = offload_stripe(offload,
                                                       &first[i].ufid);

        ovs_mutex_lock(&stripe->mutex);
        if (!is_accounted_for(offload, stripe, &first[i])) {
            ops[n_asked] = (struct offload_copy_op) {
                .type = OFFLOAD_COPY_GET,
                .ufid = first[i].ufid,
                .rule = first[i].rule,
            };
            opps[n_asked] = &ops[n_asked];
            asked[n_asked++] = &first[i];
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
    if (n_asked) {
        offload->backend.operate(offload->backend.aux, opps, n_asked);
    }
    for (size_t i = 0; i < n_asked; i++) {
        if (!ops[i].error) {
            judge(offload, asked[i], &ops[i].stats);
        }
    }
}

/* Decides on the suspects of the previous list.  Waits for tc, so the reader
 * thread is quiescent. */
void
offload_audit_judge(struct offload *offload)
{
    struct offload_audit *audit = offload->audit;

    for (size_t i = 0; i < audit->n; i += OFFLOAD_BATCH) {
        judge_batch(offload, &audit->suspects[i],
                    MIN(audit->n - i, OFFLOAD_BATCH));
    }
    forget_suspects(audit);
}
