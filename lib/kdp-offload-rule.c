/* SPDX-License-Identifier: Apache-2.0 */

/* Messages of tc about rules.
 *
 * Of a rule that has a name and a cookie only the statistics matter, so that
 * no more of the message is looked at.  Open vSwitch's parser goes through all
 * matches and actions, relies on the kernel for which attributes come
 * together, and ends the process when it is wrong about their sizes. */

#include <config.h>
#include "kdp-offload-private.h"

#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_ct.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <string.h>
#include <unistd.h>

#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "timeval.h"
#include "util.h"

/* What comes before the attributes. */
#define HEADERS_LEN (NLMSG_HDRLEN + sizeof(struct tcmsg))

/* Actions that Open vSwitch makes rules of, and which of their options is the
 * times, which one action of each rule tells at least; 0 if it is not looked
 * at. */
static const struct action_kind {
    const char *name;
    uint16_t times;
} action_kinds[] = {
    { "csum", 0 },
    { "ct", TCA_CT_TM },
    { "gact", TCA_GACT_TM },
    { "mirred", TCA_MIRRED_TM },
    { "mpls", 0 },
    { "pedit", 0 },
    { "police", TCA_POLICE_TM },
    { "skbedit", 0 },
    { "tunnel_key", 0 },
    { "vlan", 0 },
};

/* Is 'a', which may be NULL, the string 's'? */
static bool
is_string(const struct nlattr *a, const char *s)
{
    size_t size = strlen(s) + 1;

    return (a && nl_attr_get_size(a) == size
            && !memcmp(nl_attr_get(a), s, size));
}

/* Copies the first 'size' bytes of 'a', which may be NULL, to 'dst'.  Returns
 * false if there are fewer. */
static bool
get_bytes(const struct nlattr *a, void *dst, size_t size)
{
    if (!a || nl_attr_get_size(a) < size) {
        return false;
    }
    memcpy(dst, nl_attr_get(a), size);
    return true;
}

/* Packets and bytes. */
struct count {
    uint64_t n_packets;
    uint64_t n_bytes;
};

static bool
get_count(const struct nlattr *a, struct count *count)
{
    struct gnet_stats_basic basic;

    if (!get_bytes(a, &basic, sizeof basic)) {
        return false;
    }
    count->n_packets = basic.packets;
    count->n_bytes = basic.bytes;
    return true;
}

static void
count_max(struct count *count, const struct count *other)
{
    if (other->n_packets > count->n_packets) {
        *count = *other;
    }
}

/* Raises what the device ('hw') and the kernel ('sw') have counted to what the
 * action with statistics 'stats' has.  Each action counts the packets that it
 * met, so that the first one counts all; but that may be the policer of a
 * meter, which is left out, and then the first after it counts those that
 * passed.  Those after it may be jumped over. */
static bool
parse_stats(const struct nlattr *stats, struct count *sw, struct count *hw)
{
    struct count all = { 0, 0 }, device = { 0, 0 };
    struct count *last = NULL;  /* What a 64-bit number is about. */
    bool seen = false;
    const struct nlattr *a;
    size_t left;

    if (!stats) {
        return false;
    }
    NL_NESTED_FOR_EACH (a, left, stats) {
        uint16_t type = nl_attr_type(a);

        if (type == TCA_STATS_PKT64) {
            if (!last || !get_bytes(a, &last->n_packets,
                                    sizeof last->n_packets)) {
                return false;
            }
            last = NULL;
            continue;
        }
        last = (type == TCA_STATS_BASIC ? &all
                : type == TCA_STATS_BASIC_HW ? &device
                : NULL);
        if (last && !get_count(a, last)) {
            return false;
        }
        seen |= last == &all;
    }
    if (!seen) {
        return false;
    }
    all.n_packets -= MIN(all.n_packets, device.n_packets);
    all.n_bytes -= MIN(all.n_bytes, device.n_bytes);
    count_max(sw, &all);
    count_max(hw, &device);
    return true;
}

/* Raises '*used' to when the action with 'options' was used, in ms. */
static void
parse_times(const struct nlattr *options, uint16_t type, long long int *used)
{
    const struct nlattr *a = (type && options
                              ? nl_attr_find_nested(options, type) : NULL);
    uint64_t hz = sysconf(_SC_CLK_TCK);
    uint64_t now = time_msec();
    struct tcf_t times;
    uint64_t age;

    /* The kernel sets both when it makes the rule. */
    if (!get_bytes(a, &times, sizeof times)
        || times.lastuse == times.install) {
        return;
    }
    age = times.lastuse > now * hz / 1000 ? now : times.lastuse * 1000 / hz;
    if (age < now) {
        *used = MAX(*used, (long long int) (now - age));
    }
}

/* Is action 'a', of kind 'kind', the policer of a meter?  It belongs to all
 * rules that name it, and counts what all of them met since the meter was
 * made.  Open vSwitch gives it no cookie, unlike the policer of a rule that
 * asks for the size of packets. */
static bool
is_meter(const struct nlattr *a, const struct nlattr *kind)
{
    return (is_string(kind, "police")
            && !nl_attr_find_nested(a, TCA_ACT_COOKIE));
}

/* Adds what action 'a' tells to the others.  Returns false if it is not one
 * of Open vSwitch. */
static bool
parse_action(const struct nlattr *a, struct count *sw, struct count *hw,
             long long int *used)
{
    const struct nlattr *kind = nl_attr_find_nested(a, TCA_ACT_KIND);

    if (is_meter(a, kind)) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(action_kinds); i++) {
        if (is_string(kind, action_kinds[i].name)) {
            parse_times(nl_attr_find_nested(a, TCA_ACT_OPTIONS),
                        action_kinds[i].times, used);
            return parse_stats(nl_attr_find_nested(a, TCA_ACT_STATS), sw, hw);
        }
    }
    return false;
}

/* Stores the ufid that is the first cookie of 'actions' in '*ufid'.  Returns
 * false if there is none: the rule is not ours.  Open vSwitch gives none to
 * actions that only prepare others, such as skbedit. */
static bool
parse_ufid(const struct nlattr *actions, ovs_u128 *ufid)
{
    const struct nlattr *a, *cookie;
    size_t left;

    NL_NESTED_FOR_EACH (a, left, actions) {
        cookie = nl_attr_find_nested(a, TCA_ACT_COOKIE);
        if (cookie) {
            return (nl_attr_get_size(cookie) == sizeof *ufid
                    && get_bytes(cookie, ufid, sizeof *ufid));
        }
    }
    return false;
}

bool
kdp_tc_ufid_parse(const struct ofpbuf *msg, ovs_u128 *ufid)
{
    const struct nlattr *options = nl_attr_find(msg, HEADERS_LEN, TCA_OPTIONS);
    const struct nlattr *actions
        = options ? nl_attr_find_nested(options, TCA_FLOWER_ACT) : NULL;

    return actions && parse_ufid(actions, ufid);
}

/* Adds what the list of actions tells to 'rule'.  Returns false if it is none
 * that Open vSwitch makes. */
static bool
parse_actions(const struct nlattr *actions, struct kdp_tc_rule *rule)
{
    struct count sw = { 0, 0 }, hw = { 0, 0 };
    const struct nlattr *a;
    size_t left;

    if (!actions || !parse_ufid(actions, &rule->ufid)) {
        return false;
    }
    NL_NESTED_FOR_EACH (a, left, actions) {
        if (!parse_action(a, &sw, &hw, &rule->stats.used)) {
            return false;
        }
    }
    rule->n_sw_packets = sw.n_packets;
    rule->stats.n_packets = sw.n_packets + hw.n_packets;
    rule->stats.n_bytes = sw.n_bytes + hw.n_bytes;
    return true;
}

void
kdp_tc_id_parse(const struct ofpbuf *msg, struct kdp_tc_id *id)
{
    const struct tcmsg *tcm = ofpbuf_at_assert(msg, NLMSG_HDRLEN, sizeof *tcm);
    const struct nlattr *chain = nl_attr_find(msg, HEADERS_LEN, TCA_CHAIN);

    *id = (struct kdp_tc_id) {
        .ifindex = tcm->tcm_ifindex,
        .parent = tcm->tcm_parent,
        .info = tcm->tcm_info,
        .handle = tcm->tcm_handle,
    };
    get_bytes(chain, &id->chain, sizeof id->chain);
}

bool
kdp_tc_rule_parse(const struct ofpbuf *msg, struct kdp_tc_rule *rule)
{
    const struct nlattr *options, *flags;
    uint32_t bits = 0;

    memset(rule, 0, sizeof *rule);
    if (msg->size < HEADERS_LEN
        || !is_string(nl_attr_find(msg, HEADERS_LEN, TCA_KIND), "flower")) {
        return false;
    }
    options = nl_attr_find(msg, HEADERS_LEN, TCA_OPTIONS);
    kdp_tc_id_parse(msg, &rule->id);
    if (!options || !rule->id.handle
        || tc_get_major(rule->id.info) == TC_RESERVED_PRIORITY_POLICE
        || !parse_actions(nl_attr_find_nested(options, TCA_FLOWER_ACT),
                          rule)) {
        return false;
    }
    flags = nl_attr_find_nested(options, TCA_FLOWER_FLAGS);
    get_bytes(flags, &bits, sizeof bits);
    rule->in_hw = !(bits & TCA_CLS_FLAGS_NOT_IN_HW);
    return true;
}
