/* SPDX-License-Identifier: Apache-2.0 */

/* Messages of tc about rules.
 *
 * Only the statistics of a rule with a name and a cookie matter, so the rest
 * of the message is skipped.  Open vSwitch's parser reads all matches and
 * actions, relies on the kernel for which attributes come together, and aborts
 * the process when their sizes are not as it expects. */

#include <config.h>
#include "tc/tc-parse.h"

#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <string.h>
#include <unistd.h>

#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "tc.h"
#include "tc/tc-kind.h"
#include "timeval.h"
#include "util.h"

/* What comes before the attributes. */
#define HEADERS_LEN (NLMSG_HDRLEN + sizeof(struct tcmsg))

/* Is 'a', which may be NULL, 's' of 'size' bytes? */
static bool
is_string(const struct nlattr *a, const char *s, size_t size)
{
    return (a && nl_attr_get_size(a) == size
            && !memcmp(nl_attr_get(a), s, size));
}

/* Stores in 'found' the first of each type of attribute, up to 'max', among
 * the 'size' bytes at 'attrs', or NULL. */
static void
find_attrs(const struct nlattr *attrs, size_t size, uint16_t max,
           const struct nlattr *found[])
{
    const struct nlattr *a;
    size_t left;

    memset(found, 0, (max + 1) * sizeof *found);
    NL_ATTR_FOR_EACH (a, left, attrs, size) {
        uint16_t type = nl_attr_type(a);

        if (type <= max && !found[type]) {
            found[type] = a;
        }
    }
}

static void
find_nested(const struct nlattr *nest, uint16_t max,
            const struct nlattr *found[])
{
    find_attrs(nl_attr_get(nest), nl_attr_get_size(nest), max, found);
}

/* Does the same for the attributes of 'msg'. */
static void
find_in_msg(const struct ofpbuf *msg, uint16_t max,
            const struct nlattr *found[])
{
    find_attrs(ofpbuf_at(msg, HEADERS_LEN, 0), msg->size - HEADERS_LEN, max,
               found);
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

/* Raises the counts of the device ('hw') and the kernel ('sw') to the counts
 * of the action with statistics 'stats'.  Each action counts the packets that
 * reach it, so the first one counts all.  If that is the policer of a meter,
 * which is skipped, the next one counts the packets that passed.  Packets may
 * jump over later actions. */
static bool
parse_stats(const struct nlattr *stats, struct count *sw, struct count *hw)
{
    struct count all = { 0, 0 }, device = { 0, 0 };
    struct count *last = NULL;  /* The count that a 64-bit number is about. */
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

/* Raises '*used' to the time when the action with 'options' was used, in
 * ms. */
static void
parse_times(const struct nlattr *options, uint16_t type, long long int *used)
{
    struct tcf_t times;
    uint64_t age, hz, now;

    /* The kernel sets both when it makes the rule. */
    if (!type || !options
        || !get_bytes(nl_attr_find_nested(options, type), &times, sizeof times)
        || times.lastuse == times.install) {
        return;
    }
    hz = sysconf(_SC_CLK_TCK);
    now = time_msec();
    age = times.lastuse > now * hz / 1000 ? now : times.lastuse * 1000 / hz;
    if (age < now) {
        *used = MAX(*used, (long long int) (now - age));
    }
}

/* Adds the action of 'attrs' to the counts and to 'rule'.  Returns false if
 * Open vSwitch does not make such actions. */
static bool
parse_action(const struct nlattr *attrs[], struct count *sw, struct count *hw,
             struct kdp_tc_rule *rule)
{
    const struct kdp_tc_kind *kind = kdp_tc_kind_find(attrs[TCA_ACT_KIND]);
    const struct nlattr *options = attrs[TCA_ACT_OPTIONS];
    struct count others_sw = { 0, 0 }, others_hw = { 0, 0 };

    if (!kind) {
        return false;
    }
    if (kdp_tc_kind_is_policer(kind) && !attrs[TCA_ACT_COOKIE]) {
        /* The policer of a meter belongs to all rules that name it, and counts
         * the packets of all of them since the meter was created.  Open
         * vSwitch gives it no cookie, unlike the policer of a rule that checks
         * the size of packets. */
        rule->has_meter = true;
        return true;
    }
    rule->checks_size |= kdp_tc_kind_is_policer(kind);
    if (!kdp_tc_kind_is_policer(kind) && kind->is_common) {
        /* An output follows a shared action, and counts the same packets. */
        return parse_stats(attrs[TCA_ACT_STATS], &others_sw, &others_hw);
    }
    parse_times(options, kind->times, &rule->stats.used);
    return parse_stats(attrs[TCA_ACT_STATS], sw, hw);
}

/* Returns the index of the device to which an action of kind mirred with
 * 'options', which may be NULL, sends packets, or 0. */
static int
get_output(const struct nlattr *options)
{
    struct tc_mirred mirred;

    return (options && get_bytes(nl_attr_find_nested(options,
                                                     TCA_MIRRED_PARMS),
                                 &mirred, sizeof mirred)
            ? mirred.ifindex : 0);
}

/* Does the action of 'attrs' lead to another chain?  Open vSwitch makes one of
 * kind gact for that. */
static bool
is_jump(const struct nlattr *attrs[])
{
    const struct nlattr *options = attrs[TCA_ACT_OPTIONS];
    struct tc_gact gact;

    return (options && is_string(attrs[TCA_ACT_KIND], "gact", sizeof "gact")
            && get_bytes(nl_attr_find_nested(options, TCA_GACT_PARMS), &gact,
                         sizeof gact)
            && (gact.action & ~TC_ACT_EXT_VAL_MASK) == TC_ACT_GOTO_CHAIN);
}

/* Stores the ufid in 'cookie' in '*ufid'.  Returns false if there is none.
 *
 * The first cookie among the actions of a rule identifies its flow.  Open
 * vSwitch gives none to actions that only prepare others, such as skbedit. */
static bool
get_ufid(const struct nlattr *cookie, ovs_u128 *ufid)
{
    return (nl_attr_get_size(cookie) == sizeof *ufid
            && get_bytes(cookie, ufid, sizeof *ufid));
}

bool
kdp_tc_ufid_parse(const struct ofpbuf *msg, ovs_u128 *ufid)
{
    const struct nlattr *options = nl_attr_find(msg, HEADERS_LEN, TCA_OPTIONS);
    const struct nlattr *actions
        = options ? nl_attr_find_nested(options, TCA_FLOWER_ACT) : NULL;
    const struct nlattr *a, *cookie;
    size_t left;

    if (!actions) {
        return false;
    }
    NL_NESTED_FOR_EACH (a, left, actions) {
        cookie = nl_attr_find_nested(a, TCA_ACT_COOKIE);
        if (cookie) {
            return get_ufid(cookie, ufid);
        }
    }
    return false;
}

/* Adds the list of actions to 'rule'.  Returns false if Open vSwitch does not
 * make such a list for a flow. */
static bool
parse_actions(const struct nlattr *actions, struct kdp_tc_rule *rule)
{
    const struct nlattr *attrs[TCA_ACT_COOKIE + 1];
    struct count sw = { 0, 0 }, hw = { 0, 0 };
    bool has_ufid = false;
    const struct nlattr *a;
    size_t left;

    NL_NESTED_FOR_EACH (a, left, actions) {
        find_nested(a, TCA_ACT_COOKIE, attrs);
        if (!has_ufid && attrs[TCA_ACT_COOKIE]) {
            has_ufid = get_ufid(attrs[TCA_ACT_COOKIE], &rule->ufid);
            if (!has_ufid) {
                return false;
            }
        }
        if (!parse_action(attrs, &sw, &hw, rule)) {
            return false;
        }
        if (is_string(attrs[TCA_ACT_KIND], "mirred", sizeof "mirred")) {
            if (rule->n_outputs == ARRAY_SIZE(rule->outputs)) {
                return false;
            }
            rule->outputs[rule->n_outputs++]
                = get_output(attrs[TCA_ACT_OPTIONS]);
        }
        rule->jumps |= is_jump(attrs);
    }
    if (!has_ufid) {
        return false;
    }
    rule->n_sw_packets = sw.n_packets;
    rule->stats.n_packets = sw.n_packets + hw.n_packets;
    rule->stats.n_bytes = sw.n_bytes + hw.n_bytes;
    return true;
}

/* Stores the name of the rule in 'msg', whose chain is 'chain', which may be
 * NULL, in '*id'. */
static void
get_id(const struct ofpbuf *msg, const struct nlattr *chain,
       struct kdp_tc_id *id)
{
    const struct tcmsg *tcm = ofpbuf_at_assert(msg, NLMSG_HDRLEN, sizeof *tcm);

    *id = (struct kdp_tc_id) {
        .ifindex = tcm->tcm_ifindex,
        .parent = tcm->tcm_parent,
        .info = tcm->tcm_info,
        .handle = tcm->tcm_handle,
    };
    get_bytes(chain, &id->chain, sizeof id->chain);
}

void
kdp_tc_id_parse(const struct ofpbuf *msg, struct kdp_tc_id *id)
{
    get_id(msg, nl_attr_find(msg, HEADERS_LEN, TCA_CHAIN), id);
}

bool
kdp_tc_rule_parse(const struct ofpbuf *msg, struct kdp_tc_rule *rule)
{
    const struct nlattr *attrs[TCA_CHAIN + 1];
    const struct nlattr *options[TCA_FLOWER_IN_HW_COUNT + 1];
    uint32_t bits = 0;

    memset(rule, 0, sizeof *rule);
    if (msg->size < HEADERS_LEN) {
        return false;
    }
    find_in_msg(msg, TCA_CHAIN, attrs);
    get_id(msg, attrs[TCA_CHAIN], &rule->id);
    if (!is_string(attrs[TCA_KIND], "flower", sizeof "flower")
        || !attrs[TCA_OPTIONS] || !rule->id.handle
        || tc_get_major(rule->id.info) == TC_RESERVED_PRIORITY_POLICE) {
        return false;
    }
    find_nested(attrs[TCA_OPTIONS], TCA_FLOWER_IN_HW_COUNT, options);
    if (!options[TCA_FLOWER_ACT]
        || !parse_actions(options[TCA_FLOWER_ACT], rule)) {
        return false;
    }
    get_bytes(options[TCA_FLOWER_FLAGS], &bits, sizeof bits);
    rule->in_hw = !(bits & TCA_CLS_FLAGS_NOT_IN_HW);
    get_bytes(options[TCA_FLOWER_IN_HW_COUNT], &rule->n_devices,
              sizeof rule->n_devices);
    return true;
}
