/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_OPERATE_H
#define KDP_DPIF_NETLINK_FLOW_OPERATE_H 1

/* Operations on flows
 * ===================
 *
 * Both ways between dpifs and the offload engine: operations of the dpif's
 * users go to the engine, and what the engine does with flows in the kernel
 * goes to the inner dpif.
 *
 * Packets and other operations that are not for the engine go to the kernel
 * together with the first that the engine does there for the same user, so
 * that both take one system call.
 *
 * An operation that fails has its error; the others are done.
 *
 * Thread safety: any thread. */

#include <stddef.h>

#include "offload/offload-backend.h"

struct dpif_op;
struct kdp_flow_engine;

/* Does the 'n' operations 'ops': those on flows, in order, and the others, in
 * order, with or after those that the kernel is first asked to do. */
void kdp_flow_operate(struct kdp_flow_engine *, struct dpif_op **ops,
                      size_t n);

/* Deletes all flows.  Returns 0 or a positive errno value. */
int kdp_flow_flush(struct kdp_flow_engine *);

/* Has the engine take over flow 'ufid', which the kernel has and the engine
 * does not know. */
void kdp_flow_learn(struct kdp_flow_engine *, const ovs_u128 *ufid);

/* The kernel side of the engine. */
struct offload_kernel kdp_flow_kernel(struct kdp_flow_engine *);

#endif /* lib/dpif-netlink/flow-operate.h */
