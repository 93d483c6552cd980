/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_CLEANUP_H
#define OFFLOAD_CLEANUP_H 1

/* Deletes rules from tc whose flows have gone, or are not known.
 *
 * A rule that cannot be deleted is remembered by its ufid (offload-leak.h),
 * and tried again when all flows are flushed, or its port goes, by the thread
 * of its port, and before a new flow of the ufid is put into tc, whose rule it
 * would be in the way of (offload_cleanup_before_put()).
 *
 * Thread safety: offload threads, without any lock;
 * offload_cleanup_later() also with that of a stripe. */

#include <stdint.h>

#include "openvswitch/types.h"

struct offload;
struct offload_desc;
struct offload_rule;

int offload_cleanup_rule(struct offload *, const ovs_u128 *ufid,
                         struct offload_rule *, const struct offload_desc *);
int offload_cleanup_before_put(struct offload *, const ovs_u128 *ufid);
void offload_cleanup_later(struct offload *, unsigned int thread,
                           const ovs_u128 *ufid, uint32_t port,
                           const struct offload_rule *,
                           const struct offload_desc *, int error);
void offload_cleanup_retry(struct offload *, unsigned int thread);
void offload_cleanup_retry_port(struct offload *, uint32_t port);

#endif /* lib/offload/offload-cleanup.h */
