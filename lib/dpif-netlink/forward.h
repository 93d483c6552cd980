/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FORWARD_H
#define KDP_DPIF_NETLINK_FORWARD_H 1

/* Functions of the class that change nothing: each calls the function of the
 * same name of the inner dpif.  Only get_stats() adds the flows in tc to the
 * kernel's flows, for versions of Open vSwitch that do not.
 *
 * Thread safety and failure: like the inner dpif. */

#include "dpif-netlink/dpif-kdp.h"

DPIF_KDP_DECLARE(get_stats);
DPIF_KDP_DECLARE(queue_to_priority);
DPIF_KDP_DECLARE(get_datapath_version);
DPIF_KDP_DECLARE(ct_dump_start);
DPIF_KDP_DECLARE(ct_dump_next);
DPIF_KDP_DECLARE(ct_dump_done);
DPIF_KDP_DECLARE(ct_flush);
DPIF_KDP_DECLARE(ct_set_limits);
DPIF_KDP_DECLARE(ct_get_limits);
DPIF_KDP_DECLARE(ct_del_limits);
DPIF_KDP_DECLARE(ct_set_timeout_policy);
DPIF_KDP_DECLARE(ct_get_timeout_policy);
DPIF_KDP_DECLARE(ct_del_timeout_policy);
DPIF_KDP_DECLARE(ct_timeout_policy_dump_start);
DPIF_KDP_DECLARE(ct_timeout_policy_dump_next);
DPIF_KDP_DECLARE(ct_timeout_policy_dump_done);
DPIF_KDP_DECLARE(ct_get_timeout_policy_name);
DPIF_KDP_DECLARE(ct_get_features);
DPIF_KDP_DECLARE(meter_get_features);
DPIF_KDP_DECLARE(meter_set);
DPIF_KDP_DECLARE(meter_get);
DPIF_KDP_DECLARE(meter_del);
DPIF_KDP_DECLARE(cache_get_supported_levels);
DPIF_KDP_DECLARE(cache_get_name);
DPIF_KDP_DECLARE(cache_get_size);
DPIF_KDP_DECLARE(cache_set_size);

#endif /* lib/dpif-netlink/forward.h */
