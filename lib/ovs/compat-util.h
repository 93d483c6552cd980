/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_COMPAT_UTIL_H
#define KDP_OVS_COMPAT_UTIL_H 1

/* Differences between versions of Open vSwitch: helpers
 * =====================================================
 *
 * The OVS_HAVE_* constants come from build-aux/ovs-features, which looks at
 * the declarations of the tree that is built on.  lib/ovs/README.md says
 * more.
 *
 * Thread safety: functions of their arguments. */

#include <stdbool.h>

#include "compiler.h"
#include "openvswitch/json.h"
#include "ovs-features.h"

/* Ignores a result that the compiler wants to be used.  The name differs since
 * 3.7. */
static inline void
ovs_compat_ignore(bool result OVS_UNUSED)
{
}

/* Elements of a JSON array, whose structure is private since 3.6. */
static inline size_t
ovs_compat_json_size(const struct json *array)
{
#if OVS_HAVE_JSON_ARRAY_AT
    return json_array_size(array);
#else
    return json_array(array)->n;
#endif
}

static inline const struct json *
ovs_compat_json_at(const struct json *array, size_t i)
{
#if OVS_HAVE_JSON_ARRAY_AT
    return json_array_at(array, i);
#else
    return json_array(array)->elems[i];
#endif
}

#endif /* lib/ovs/compat-util.h */
