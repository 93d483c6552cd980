/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_COMPAT_DPIF_H
#define KDP_OVS_COMPAT_DPIF_H 1

/* Differences between versions of Open vSwitch: dpif classes
 * ==========================================================
 *
 * The OVS_HAVE_* constants come from build-aux/ovs-features, which looks at
 * the declarations of the tree that is built upon.  Each is 1 or 0, so that
 * plain C can test them, too.  lib/ovs/README.md says more.
 *
 * Thread safety: that of the function of Open vSwitch that stands behind. */

#include "dpif-provider.h"
#include "ovs-features.h"

/* Default limit of connections, which the functions of the dpif class about
 * limits have as an argument before 3.3.  Later it is the limit of a zone of
 * its own in the lists.  Expand to nothing then; the comma is part of them. */
#if OVS_HAVE_CT_DEFAULT_LIMIT
#define OVS_COMPAT_CT_DEFAULT_PARAM(TYPE) TYPE default_limit,
#define OVS_COMPAT_CT_DEFAULT_ARG default_limit,
#else
#define OVS_COMPAT_CT_DEFAULT_PARAM(TYPE)
#define OVS_COMPAT_CT_DEFAULT_ARG
#endif

/* Member of struct dpif_class, since 3.1.1: a dump shows a flow once, with the
 * statistics of all places where it is, so the revalidator must not take
 * another place for a new flow.  Expands to its initializer, with a comma. */
#if OVS_HAVE_SYNCED_DP_LAYERS
#define OVS_COMPAT_SYNCED_DP_LAYERS .synced_dp_layers = true,
#else
#define OVS_COMPAT_SYNCED_DP_LAYERS
#endif

/* Does the revalidator keep what it knows of a flow of a dpif of 'class' that
 * comes to another place?  Before 3.1.1 always. */
static inline bool
ovs_compat_keeps_statistics(const struct dpif_class *class OVS_UNUSED)
{
#if OVS_HAVE_SYNCED_DP_LAYERS
    return class->synced_dp_layers;
#else
    return true;
#endif
}

/* Has the number of flows that the dpif tells to include those that are in tc
 * only?  Open vSwitch adds them by itself, unless the class has the member
 * above. */
static inline bool
ovs_compat_counts_tc_flows(void)
{
    return OVS_HAVE_SYNCED_DP_LAYERS;
}

#endif /* lib/ovs/compat-dpif.h */
