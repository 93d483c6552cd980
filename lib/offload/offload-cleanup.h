/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_CLEANUP_H
#define OFFLOAD_CLEANUP_H 1

/* Deletes rules from tc whose flows have gone, or are not known.
 *
 * A rule that cannot be deleted is remembered by its ufid (offload-leak.h),
 * and tried again when all flows are flushed.  By then a new flow may have the
 * ufid, and its rule must not be deleted instead.  So the thread of the port
 * does it, which is the one that would put that rule there, unless another
 * thread is at a flow of the ufid, or has one in its queue.  When all rules of
 * a port are deleted, those are, too.
 *
 * Thread safety: offload threads, without any lock;
 * offload_cleanup_later() also with that of a stripe. */

#include <stdint.h>

#include "openvswitch/types.h"

struct offload;
struct offload_desc;

int offload_cleanup_rule(struct offload *, const ovs_u128 *ufid,
                         const struct offload_desc *);
void offload_cleanup_later(struct offload *, unsigned int thread,
                           const ovs_u128 *ufid, uint32_t port,
                           const struct offload_desc *, int error);
void offload_cleanup_retry(struct offload *, unsigned int thread);
void offload_cleanup_port(struct offload *, uint32_t port);

#endif /* lib/offload/offload-cleanup.h */
