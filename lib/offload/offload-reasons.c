/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-reasons.h"

#include <inttypes.h>
#include <string.h>

#include "offload/offload-backend.h"
#include "openvswitch/vlog.h"
#include "util.h"
#include "uuid.h"

VLOG_DEFINE_THIS_MODULE(offload_reasons);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

void
offload_reasons_init(struct offload_reasons *reasons)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_init(&reasons->mutex);
    memset(reasons->info, 0, sizeof reasons->info);
}

void
offload_reasons_destroy(struct offload_reasons *reasons)
{
    ovs_mutex_destroy(&reasons->mutex);
}

/* Counts that the flow that 'desc' describes is not in tc for 'reason', and
 * logs the first flow for each reason.  'error' is the errno value, or 0.
 * 'why' explains it, or is NULL; it is kept, so it must stay valid. */
void
offload_reasons_note(struct offload_reasons *reasons,
                     enum offload_reason reason,
                     const struct offload_desc *desc, int error,
                     const char *why)
{
    struct offload_reason_info *info = &reasons->info[reason];
    bool first;

    ovs_mutex_lock(&reasons->mutex);
    first = !info->n++;
    info->ufid = desc->ufid;
    info->port = desc->in_port;
    info->error = error;
    info->why = why;
    ovs_mutex_unlock(&reasons->mutex);

    if (first && offload_reason_is_rejection(reason)) {
        VLOG_INFO_RL(&rl, "flow "UUID_FMT" on port %"PRIu32" stays in the "
                     "kernel datapath: %s%s%s%s%s",
                     UUID_ARGS((const struct uuid *) &desc->ufid),
                     desc->in_port, offload_reason_to_string(reason),
                     error ? ": " : "", error ? ovs_strerror(error) : "",
                     why ? ": " : "", why ? why : "");
    }
}

/* Copies what is known of each reason to 'info'. */
void
offload_reasons_get(struct offload_reasons *reasons,
                    struct offload_reason_info info[OFFLOAD_N_REASONS])
{
    ovs_mutex_lock(&reasons->mutex);
    memcpy(info, reasons->info, sizeof reasons->info);
    ovs_mutex_unlock(&reasons->mutex);
}
