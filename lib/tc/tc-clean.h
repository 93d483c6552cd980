/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_CLEAN_H
#define KDP_TC_TC_CLEAN_H 1

/* Rules left by a previous run, without offload
 * =============================================
 *
 * A thread deletes them, once, where a daemon starts without offload.
 *
 * Thread safety: the main thread.  A gate may be entered by any. */

#include <stdbool.h>

#include "ovs-thread.h"

struct kdp_offload_cleaner;
struct netdev;

/* A lock that who waits for it gets before who had it last. */
struct kdp_gate {
    struct ovs_mutex queue;     /* Held by who is next. */
    struct ovs_mutex mutex;     /* After "queue". */
};

void kdp_gate_init(struct kdp_gate *);
void kdp_gate_destroy(struct kdp_gate *);
void kdp_gate_enter(struct kdp_gate *gate) OVS_ACQUIRES(gate->mutex);
void kdp_gate_leave(struct kdp_gate *gate) OVS_RELEASES(gate->mutex);

/* Starts to delete the rules that a previous run left on the ports of type
 * 'dpif_type'.  Returns NULL if there is nothing to look at. */
struct kdp_offload_cleaner *kdp_offload_cleaner_start(const char *dpif_type);

/* Waits until the cleaner, which may be NULL, has finished, or if not 'finish'
 * until it is done with the rule that it is at, and frees it. */
void kdp_offload_cleaner_join(struct kdp_offload_cleaner *, bool finish);

/* While there is no engine: between _pause(), which waits for one that may be
 * under way, and _resume() we make no request about rules of 'netdev' that a
 * previous run left, so that its queueing discipline can be deleted. */
void kdp_offload_clean_pause(struct netdev *);
void kdp_offload_clean_resume(struct netdev *);

#endif /* lib/tc/tc-clean.h */
