/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_DESC_H
#define KDP_TC_TC_DESC_H 1

/* Descriptions of flows for the offload engine
 * ============================================
 *
 * The engine does not look into netlink attributes.  This module extracts what
 * the engine needs to know about a flow: its input port, the recirculation
 * chains that it is in and leads to, and its kind.  tc and devices accept or
 * refuse all flows of a kind, as far as we can tell: these have the same mask,
 * the same actions and the same protocols.
 *
 * Thread safety: any thread.  The functions have no state. */

#include <stddef.h>

#include "openvswitch/types.h"

struct nlattr;
struct offload_desc;

/* Returns a description of flow 'ufid', with a reference for the caller.  The
 * attributes are copied. */
struct offload_desc *kdp_tc_desc_create(
    const ovs_u128 *ufid, const struct nlattr *key, size_t key_len,
    const struct nlattr *mask, size_t mask_len, const struct nlattr *actions,
    size_t actions_len);

#endif /* lib/tc/tc-desc.h */
