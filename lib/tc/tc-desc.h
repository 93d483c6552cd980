/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_DESC_H
#define KDP_TC_TC_DESC_H 1

/* Descriptions of flows for the offload engine
 * ============================================
 *
 * The engine does not look into netlink attributes.  What it has to know of a
 * flow is taken from them here: the input port, the recirculation chain that
 * the flow is in and those that it leads to, and its kind.  Flows of one kind
 * are those that tc and the devices take or refuse alike, as far as we can
 * tell: with the same mask, the same actions and the same protocols.
 *
 * Thread safety: any thread.  The functions keep nothing. */

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
