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

/* Constants of the kernel's interface.  Open vSwitch has a copy of them, which
 * grows with each version.  The kernel's messages do not depend on that copy:
 * some versions lack these constants, which never change. */

/* Attribute of a vport since Linux 6.2: upcalls of its packets.  Nested, with
 * two attributes of 64 bits each; the first one has number 0. */
#define OVS_COMPAT_VPORT_ATTR_UPCALL_STATS 10
#define OVS_COMPAT_VPORT_UPCALL_ATTR_SUCCESS 0
#define OVS_COMPAT_VPORT_UPCALL_ATTR_FAIL 1

/* Flag of a rule of tc since Linux 4.17: drivers explain why they do not
 * accept the rule, although tc does. */
#define OVS_COMPAT_TCA_CLS_FLAGS_VERBOSE (1u << 4)

#endif /* lib/ovs/compat-util.h */
