/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_OPERATE_H
#define KDP_DPIF_NETLINK_FLOW_OPERATE_H 1

/* Operations on flows
 * ===================
 *
 * This module connects dpifs and the offload engine in both directions:
 * operations of the dpif's users go to the engine, and the engine's operations
 * on flows in the kernel go to the inner dpif.
 *
 * Packets and other operations that are not for the engine go to the kernel
 * together with the engine's first operations for the same user, so that both
 * take one system call.
 *
 * An operation that fails stores its error; the others are carried out.
 *
 * Thread safety: any thread. */

#include <stddef.h>

#include "offload/offload-backend.h"

struct dpif_op;
struct kdp_flow_engine;

/* Carries out the 'n' operations 'ops': the operations on flows in order, and
 * the others in order, with or after the first operations on flows in the
 * kernel. */
void kdp_flow_operate(struct kdp_flow_engine *, struct dpif_op **ops,
                      size_t n);

/* Makes the engine take over flow 'ufid', which the kernel has and the engine
 * does not know. */
void kdp_flow_learn(struct kdp_flow_engine *, const ovs_u128 *ufid);

/* The kernel side of the engine. */
struct offload_kernel kdp_flow_kernel(struct kdp_flow_engine *);

#endif /* lib/dpif-netlink/flow-operate.h */
