/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-cleanup.h"

#include <errno.h>
#include <inttypes.h>

#include "offload/offload-engine.h"
#include "openvswitch/vlog.h"
#include "util.h"
#include "uuid.h"

VLOG_DEFINE_THIS_MODULE(offload_cleanup);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* Tries once.  Returns 0, also if there is no such rule, or a positive errno
 * value. */
static int
delete_once(struct offload *offload, const ovs_u128 *ufid,
            struct offload_rule *rule, const struct offload_desc *desc)
{
    struct offload_copy_op op = {
        .type = OFFLOAD_COPY_DEL, .ufid = *ufid, .rule = rule, .desc = desc,
    };

    offload_tc_operate(offload, &op);
    return op.error == ENOENT || op.error == ENODEV ? 0 : op.error;
}

/* Deletes 'rule' of 'ufid', made of 'desc' unless that is NULL.  Returns 0,
 * also if there is none, or a positive errno value. */
int
offload_cleanup_rule(struct offload *offload, const ovs_u128 *ufid,
                     struct offload_rule *rule,
                     const struct offload_desc *desc)
{
    int error = 0;

    for (int i = 0; i < OFFLOAD_MAX_FAILURES; i++) {
        error = delete_once(offload, ufid, rule, desc);
        if (!error) {
            break;
        }
    }
    return error;
}

/* Deletes the rule that 'ufid' still has, because that failed before.  Returns
 * 0, also if there is none, or a positive errno value. */
int
offload_cleanup_before_put(struct offload *offload, const ovs_u128 *ufid)
{
    struct offload_leak *leak = offload_leaks_take_one(&offload->leaks, ufid);
    int error;

    if (!leak) {
        return 0;
    }
    error = delete_once(offload, ufid, leak->rule, leak->desc);
    if (error) {
        offload_leaks_add(&offload->leaks, leak);
    } else {
        offload_leak_destroy(leak);
    }
    return error;
}

/* Takes note that 'rule' of 'ufid' on 'port', made of 'desc' unless that is
 * NULL, could not be deleted by 'thread' because of 'error'. */
void
offload_cleanup_later(struct offload *offload, unsigned int thread,
                      const ovs_u128 *ufid, uint32_t port,
                      const struct offload_rule *rule,
                      const struct offload_desc *desc, int error)
{
    offload_count(offload, thread, OFFLOAD_LEAKED);
    VLOG_INFO_RL(&rl, "flow "UUID_FMT" on port %"PRIu32" could not be "
                 "deleted from tc: %s; its rule stays until all flows are "
                 "flushed or the port is removed",
                 UUID_ARGS((const struct uuid *) ufid), port,
                 ovs_strerror(error));
    offload_leaks_add(&offload->leaks,
                      offload_leak_create(ufid, port, rule, desc));
}

struct of_thread {
    struct offload *offload;
    unsigned int thread;
};

static bool
is_of_thread(void *of_thread_, uint32_t port)
{
    const struct of_thread *of_thread = of_thread_;

    return (offload_queues_choose(&of_thread->offload->queues, port)
            == of_thread->thread);
}

/* Tries to delete the rules that 'filter' selects. */
static void
retry(struct offload *offload, offload_leak_filter *filter, void *aux)
{
    struct offload_leak *leak;
    struct ovs_list taken;

    offload_leaks_take(&offload->leaks, filter, aux, &taken);
    LIST_FOR_EACH_POP (leak, list_node, &taken) {
        if (offload_cleanup_rule(offload, &leak->ufid, leak->rule,
                                 leak->desc)) {
            offload_leaks_add(&offload->leaks, leak);
        } else {
            offload_leak_destroy(leak);
        }
    }
}

/* Tries to delete the rules that are left on ports of 'thread', which calls
 * this when it is at no flow. */
void
offload_cleanup_retry(struct offload *offload, unsigned int thread)
{
    struct of_thread of_thread = { .offload = offload, .thread = thread };

    retry(offload, is_of_thread, &of_thread);
}

static bool
is_on_port(void *port, uint32_t other)
{
    return *(const uint32_t *) port == other;
}

/* Likewise, for those on 'port'. */
void
offload_cleanup_retry_port(struct offload *offload, uint32_t port)
{
    retry(offload, is_on_port, &port);
}
