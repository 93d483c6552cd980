/* SPDX-License-Identifier: Apache-2.0 */

/* Parser of tc's messages about rules: what it accepts has a name, and was
 * used in the past or never. */

#include <config.h>
#include "tc/tc-parse.h"

#include <linux/gen_stats.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_skbedit.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "timeval.h"
#include "util.h"

/* Parses 'data' as what follows the header of a netlink message. */
static bool
parse(const uint8_t *data, size_t size, struct kdp_tc_rule *rule)
{
    struct nlmsghdr header = { .nlmsg_len = NLMSG_HDRLEN + size };
    char *buf = xmalloc(NLMSG_HDRLEN + size);
    struct ofpbuf msg;
    bool ok;

    memcpy(buf, &header, sizeof header);
    if (size) {
        memcpy(buf + NLMSG_HDRLEN, data, size);
    }
    ofpbuf_use_const(&msg, buf, NLMSG_HDRLEN + size);
    ok = kdp_tc_rule_parse(&msg, rule);
    free(buf);
    return ok;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kdp_tc_rule rule;

    if (parse(data, size, &rule)) {
        fuzz_check(rule.id.handle);
        fuzz_check(rule.stats.used >= 0 && rule.stats.used <= time_msec());
        fuzz_check(!rule.stats.tcp_flags);
    }
    return 0;
}

bool
fuzz_accepts(const uint8_t *data, size_t size)
{
    struct kdp_tc_rule rule;

    return parse(data, size, &rule);
}

static void
put_action(struct ofpbuf *msg, uint16_t order, const char *kind,
           uint16_t times, bool hw)
{
    size_t action = nl_msg_start_nested(msg, order);
    const struct gnet_stats_basic all = { .bytes = 1000, .packets = 10 };
    const struct gnet_stats_basic device = { .bytes = 600, .packets = 6 };
    const struct tcf_t tcf = { .install = 500, .lastuse = 100 };
    static const uint8_t cookie[16] = { 1, 2, 3 };
    size_t nest;

    nl_msg_put_string(msg, TCA_ACT_KIND, kind);
    nest = nl_msg_start_nested(msg, TCA_ACT_STATS);
    nl_msg_put_unspec(msg, TCA_STATS_BASIC, &all, sizeof all);
    if (hw) {
        nl_msg_put_u64(msg, TCA_STATS_PKT64, 10);
        nl_msg_put_unspec(msg, TCA_STATS_BASIC_HW, &device, sizeof device);
        nl_msg_put_u64(msg, TCA_STATS_PKT64, 6);
    }
    nl_msg_end_nested(msg, nest);
    nl_msg_put_unspec(msg, TCA_ACT_COOKIE, cookie, sizeof cookie);
    nest = nl_msg_start_nested(msg, TCA_ACT_OPTIONS);
    if (times) {
        nl_msg_put_unspec(msg, times, &tcf, sizeof tcf);
    }
    nl_msg_end_nested(msg, nest);
    nl_msg_end_nested(msg, action);
}

/* An action that rules share. */
static void
put_to_host(struct ofpbuf *msg, uint16_t order)
{
    size_t action = nl_msg_start_nested(msg, order);
    const struct gnet_stats_basic all = { .bytes = 9000, .packets = 90 };
    const struct tc_skbedit skbedit = {
        .index = 0x20000001, .action = TC_ACT_PIPE, .refcnt = 3, .bindcnt = 3,
    };
    size_t nest;

    nl_msg_put_string(msg, TCA_ACT_KIND, "skbedit");
    nest = nl_msg_start_nested(msg, TCA_ACT_STATS);
    nl_msg_put_unspec(msg, TCA_STATS_BASIC, &all, sizeof all);
    nl_msg_end_nested(msg, nest);
    nest = nl_msg_start_nested(msg, TCA_ACT_OPTIONS);
    nl_msg_put_unspec(msg, TCA_SKBEDIT_PARMS, &skbedit, sizeof skbedit);
    nl_msg_put_u16(msg, TCA_SKBEDIT_PTYPE, PACKET_HOST);
    nl_msg_end_nested(msg, nest);
    nl_msg_end_nested(msg, action);
}

static void
emit_rule(fuzz_emit_func *emit, void *aux, const char *seed, bool hw,
          uint32_t chain, bool to_host)
{
    const struct tcmsg tcm = {
        .tcm_ifindex = 3,
        .tcm_parent = 0xfffffff2,
        .tcm_info = 4 << 16 | 8,
        .tcm_handle = 0x10000001,
    };
    size_t options, actions;
    struct ofpbuf msg;

    ofpbuf_init(&msg, 0);
    ofpbuf_put(&msg, &tcm, sizeof tcm);
    nl_msg_put_string(&msg, TCA_KIND, "flower");
    if (chain) {
        nl_msg_put_u32(&msg, TCA_CHAIN, chain);
    }
    options = nl_msg_start_nested(&msg, TCA_OPTIONS);
    nl_msg_put_u32(&msg, TCA_FLOWER_FLAGS, hw ? TCA_CLS_FLAGS_IN_HW
                   : TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_NOT_IN_HW);
    actions = nl_msg_start_nested(&msg, TCA_FLOWER_ACT);
    if (to_host) {
        put_to_host(&msg, 1);
    } else {
        put_action(&msg, 1, "pedit", 0, hw);
    }
    put_action(&msg, 2, "mirred", TCA_MIRRED_TM, hw);
    if (chain) {
        put_action(&msg, 3, "gact", TCA_GACT_TM, hw);
    }
    nl_msg_end_nested(&msg, actions);
    nl_msg_end_nested(&msg, options);
    emit(seed, msg.data, msg.size, aux);
    ofpbuf_uninit(&msg);
}

void
fuzz_seeds(fuzz_emit_func *emit, void *aux)
{
    emit_rule(emit, aux, "software", false, 0, false);
    emit_rule(emit, aux, "hardware", true, 0, false);
    emit_rule(emit, aux, "chain", false, 7, false);
    emit_rule(emit, aux, "to-host", false, 0, true);
}
