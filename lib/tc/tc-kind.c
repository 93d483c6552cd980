/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-kind.h"

#include <linux/if_packet.h>
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
    { KIND("skbedit"), PARMS(SKBEDIT_PARMS, SKBEDIT_PARMS),
      .is_common = true },
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

/* Is 'a' an option of an skbedit action that does not affect packets? */
static bool
is_no_edit(const struct nlattr *a)
{
    return (nl_attr_type(a) == TCA_SKBEDIT_PARMS
            || nl_attr_type(a) == TCA_SKBEDIT_TM
            || nl_attr_type(a) == TCA_SKBEDIT_PAD);
}

static bool
is_type_host(const struct nlattr *a)
{
    return (nl_attr_type(a) == TCA_SKBEDIT_PTYPE
            && nl_attr_get_size(a) == sizeof(uint16_t)
            && nl_attr_get_u16(a) == PACKET_HOST);
}

bool
kdp_tc_kind_is_to_host(const struct kdp_tc_kind *kind,
                       const struct nlattr *options)
{
    const struct nlattr *parms = kdp_tc_kind_parms(kind, options);
    bool is_to_host = false;
    struct tc_skbedit skbedit;
    const struct nlattr *a;
    size_t left;

    if (strcmp(kind->name, "skbedit") || !parms
        || nl_attr_get_size(parms) != sizeof skbedit) {
        return false;
    }
    memcpy(&skbedit, nl_attr_get(parms), sizeof skbedit);
    NL_NESTED_FOR_EACH (a, left, options) {
        if (is_type_host(a)) {
            is_to_host = true;
        } else if (!is_no_edit(a)) {
            return false;
        }
    }
    return is_to_host && skbedit.action == TC_ACT_PIPE;
}
