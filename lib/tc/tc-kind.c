/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-kind.h"

#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_ct.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_mpls.h>
#include <linux/tc_act/tc_pedit.h>
#include <linux/tc_act/tc_skbedit.h>
#include <linux/tc_act/tc_tunnel_key.h>
#include <linux/tc_act/tc_vlan.h>
#include <string.h>

#include "netlink.h"

/* Frequent ones first. */
const struct kdp_tc_kind kdp_tc_kinds[KDP_TC_N_KINDS] = {
#define KIND(NAME) .name = NAME, .size = sizeof NAME
#define PARMS(NEW, OLD) .parms = TCA_##NEW, .old_parms = TCA_##OLD
    { KIND("mirred"), .times = TCA_MIRRED_TM,
      PARMS(MIRRED_PARMS, MIRRED_PARMS) },
    { KIND("gact"), .times = TCA_GACT_TM, PARMS(GACT_PARMS, GACT_PARMS) },
    { KIND("csum"), PARMS(CSUM_PARMS, CSUM_PARMS) },
    { KIND("ct"), .times = TCA_CT_TM, PARMS(CT_PARMS, CT_PARMS) },
    { KIND("mpls"), PARMS(MPLS_PARMS, MPLS_PARMS) },
    { KIND("pedit"), PARMS(PEDIT_PARMS_EX, PEDIT_PARMS) },
    { KIND("police"), .times = TCA_POLICE_TM },
    { KIND("skbedit"), PARMS(SKBEDIT_PARMS, SKBEDIT_PARMS) },
    { KIND("tunnel_key"), PARMS(TUNNEL_KEY_PARMS, TUNNEL_KEY_PARMS) },
    { KIND("vlan"), PARMS(VLAN_PARMS, VLAN_PARMS) },
#undef PARMS
#undef KIND
};

const struct kdp_tc_kind *
kdp_tc_kind_find(const struct nlattr *name)
{
    for (size_t i = 0; name && i < KDP_TC_N_KINDS; i++) {
        const struct kdp_tc_kind *kind = &kdp_tc_kinds[i];

        if (nl_attr_get_size(name) == kind->size
            && !memcmp(nl_attr_get(name), kind->name, kind->size)) {
            return kind;
        }
    }
    return NULL;
}

const struct nlattr *
kdp_tc_kind_parms(const struct kdp_tc_kind *kind,
                  const struct nlattr *options)
{
    const struct nlattr *parms = NULL;

    if (options && !kdp_tc_kind_is_policer(kind)) {
        parms = nl_attr_find_nested(options, kind->parms);
        if (!parms && kind->old_parms != kind->parms) {
            parms = nl_attr_find_nested(options, kind->old_parms);
        }
    }
    return parms;
}
