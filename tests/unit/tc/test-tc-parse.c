/* SPDX-License-Identifier: Apache-2.0 */

/* Messages of tc about rules (O2): which are of rules of ours, and what they
 * say. */

#include <config.h>
#include "tc/tc-parse.h"

#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <string.h>
#include <unistd.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "tc.h"
#include "tc/tc-transact.h"
#include "util.h"

/* The time in ms. */
#define NOW 5000000

static const ovs_u128 ufid = { .u32 = { 1, 2, 3, 4 } };

/* Some statistics of an action.  A size of 0 means that there are none. */
struct stats {
    uint16_t type;
    uint32_t n_packets;
    uint64_t n_bytes;           /* Or all packets, if TCA_STATS_PKT64. */
    size_t size;
};

#define BASIC(PACKETS, BYTES) \
    { TCA_STATS_BASIC, PACKETS, BYTES, sizeof(struct gnet_stats_basic) }
#define BASIC_HW(PACKETS, BYTES) \
    { TCA_STATS_BASIC_HW, PACKETS, BYTES, sizeof(struct gnet_stats_basic) }
#define BASIC_SIZE(TYPE, SIZE) { TYPE, 1, 1, SIZE }
#define PKT64(PACKETS) { TCA_STATS_PKT64, 0, PACKETS, 8 }
#define OTHER { TCA_STATS_QUEUE, 0, 9, 8 }

struct action {
    const char *kind;
    uint64_t age, lifetime;     /* In ms.  Equal if it was not used. */
    size_t cookie_len;
    int gact;
    struct stats stats[6];
};

static uint64_t
to_ticks(uint64_t msec)
{
    return msec * sysconf(_SC_CLK_TCK) / 1000;
}

static void
put_stats(const struct stats *stats, struct ofpbuf *msg)
{
    struct gnet_stats_basic basic;

    if (stats->type == TCA_STATS_BASIC || stats->type == TCA_STATS_BASIC_HW) {
        memset(&basic, 0, sizeof basic);
        basic.packets = stats->n_packets;
        basic.bytes = stats->n_bytes;
        nl_msg_put_unspec(msg, stats->type, &basic, stats->size);
    } else {
        nl_msg_put_unspec(msg, stats->type, &stats->n_bytes, stats->size);
    }
}

static void
put_action(const struct action *action, uint16_t order, struct ofpbuf *msg)
{
    const bool is_gact = !strcmp(action->kind, "gact");
    const struct tcf_t times = {
        .install = to_ticks(action->lifetime),
        .lastuse = to_ticks(action->age),
    };
    const struct tc_gact gact = { .action = action->gact };
    size_t start = nl_msg_start_nested(msg, order);
    size_t nest;

    nl_msg_put_string(msg, TCA_ACT_KIND, action->kind);
    nest = nl_msg_start_nested(msg, TCA_ACT_STATS);
    for (size_t i = 0; i < ARRAY_SIZE(action->stats); i++) {
        if (action->stats[i].size) {
            put_stats(&action->stats[i], msg);
        }
    }
    nl_msg_end_nested(msg, nest);
    if (action->cookie_len) {
        uint8_t cookie[32] = { 0 };

        memcpy(cookie, &ufid, sizeof ufid);
        nl_msg_put_unspec(msg, TCA_ACT_COOKIE, cookie, action->cookie_len);
    }
    nest = nl_msg_start_nested(msg, TCA_ACT_OPTIONS);
    nl_msg_put_unspec(msg, is_gact ? TCA_GACT_TM : TCA_MIRRED_TM, &times,
                      sizeof times);
    if (is_gact) {
        nl_msg_put_unspec(msg, TCA_GACT_PARMS, &gact, sizeof gact);
    }
    nl_msg_end_nested(msg, nest);
    nl_msg_end_nested(msg, start);
}

/* A rule. */
struct filter {
    const char *kind;
    uint32_t info, handle;
    uint32_t flags, n_devices;  /* Put into the message unless 0. */
    struct action actions[3];   /* Up to one whose kind is NULL. */
};

#define OURS .kind = "flower", .info = 4 << 16 | 8, .handle = 0x10000001
#define COUNT_OF_NONE .stats = { BASIC(0, 0) }

/* The next message of a dump, or NULL at the end. */
static const struct ofpbuf *dumped;

/* Was the last message that was parsed shown to the flow API? */
static bool shown;

bool __wrap_kdp_stock_nl_dump_next(struct nl_dump *, struct ofpbuf *reply,
                                   struct ofpbuf *buffer);
bool
__wrap_kdp_stock_nl_dump_next(struct nl_dump *dump OVS_UNUSED,
                              struct ofpbuf *reply,
                              struct ofpbuf *buffer OVS_UNUSED)
{
    if (!dumped) {
        return false;
    }
    ofpbuf_use_const(reply, dumped->data, dumped->size);
    dumped = NULL;
    return true;
}

/* Does a dump for adoption show 'msg' to the flow API? */
static bool
is_shown(const struct ofpbuf *msg)
{
    struct ofpbuf reply;
    bool retval;

    dumped = msg;
    kdp_tc_only_adoptable(true);
    retval = nl_dump_next(NULL, &reply, NULL);
    kdp_tc_only_adoptable(false);
    return retval;
}

static bool
parse(const struct filter *filter, struct kdp_tc_rule *rule)
{
    const struct tcmsg tcm = {
        .tcm_ifindex = 3,
        .tcm_parent = 0xfffffff2,
        .tcm_info = filter->info,
        .tcm_handle = filter->handle,
    };
    size_t options, actions;
    struct kdp_tc_id id;
    struct ofpbuf msg;
    bool ok;

    ofpbuf_init(&msg, 0);
    nl_msg_put_nlmsghdr(&msg, sizeof tcm, RTM_NEWTFILTER, 0);
    ofpbuf_put(&msg, &tcm, sizeof tcm);
    nl_msg_put_string(&msg, TCA_KIND, filter->kind);
    nl_msg_put_u32(&msg, TCA_CHAIN, 6);
    options = nl_msg_start_nested(&msg, TCA_OPTIONS);
    actions = nl_msg_start_nested(&msg, TCA_FLOWER_ACT);
    for (size_t i = 0; (i < ARRAY_SIZE(filter->actions)
                        && filter->actions[i].kind); i++) {
        put_action(&filter->actions[i], i + 1, &msg);
    }
    nl_msg_end_nested(&msg, actions);
    if (filter->flags) {
        nl_msg_put_u32(&msg, TCA_FLOWER_FLAGS, filter->flags);
    }
    if (filter->n_devices) {
        nl_msg_put_u32(&msg, TCA_FLOWER_IN_HW_COUNT, filter->n_devices);
    }
    nl_msg_end_nested(&msg, options);

    memset(rule, 0xee, sizeof *rule);
    unit_clock_stop(NOW);
    ok = kdp_tc_rule_parse(&msg, rule);
    shown = is_shown(&msg);
    assert_true(ok || !shown);
    unit_clock_run();
    kdp_tc_id_parse(&msg, &id);
    assert_memory_equal(&id, &rule->id, sizeof id);
    ofpbuf_uninit(&msg);
    return ok;
}

/* Parses a rule of ours with 'actions'. */
static bool
parse_actions(const struct action actions[3], struct kdp_tc_rule *rule)
{
    struct filter filter = { OURS };

    memcpy(filter.actions, actions, sizeof filter.actions);
    return parse(&filter, rule);
}

static void
rule_has_all_that_the_message_says(void **state OVS_UNUSED)
{
    static const struct filter filter = {
        OURS, .flags = TCA_CLS_FLAGS_IN_HW, .n_devices = 2,
        .actions = { { .kind = "mirred", .age = 300, .lifetime = 900,
                       .cookie_len = 16,
                       .stats = { BASIC(10, 1000), BASIC_HW(6, 600) } } },
    };
    struct kdp_tc_rule rule;

    assert_true(parse(&filter, &rule));
    assert_int_equal(rule.id.ifindex, 3);
    assert_int_equal(rule.id.parent, 0xfffffff2);
    assert_int_equal(rule.id.info, 4 << 16 | 8);
    assert_int_equal(rule.id.handle, 0x10000001);
    assert_int_equal(rule.id.chain, 6);
    assert_true(ovs_u128_equals(rule.ufid, ufid));
    assert_int_equal(rule.stats.n_packets, 10);
    assert_int_equal(rule.stats.n_bytes, 1000);
    assert_int_equal(rule.stats.used, NOW - 300);
    assert_int_equal(rule.stats.tcp_flags, 0);
    assert_int_equal(rule.n_sw_packets, 4);
    assert_true(rule.in_hw);
    assert_int_equal(rule.n_devices, 2);
    assert_false(rule.jumps);
}

static void
rule_is_in_hardware_unless_it_says_otherwise(void **state OVS_UNUSED)
{
    static const struct {
        uint32_t flags;
        bool in_hw;
    } cases[] = {
        { 0, true },
        { TCA_CLS_FLAGS_IN_HW, true },
        { TCA_CLS_FLAGS_NOT_IN_HW, false },
        { TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_NOT_IN_HW, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct filter filter = {
            OURS, .flags = cases[i].flags,
            .actions = { { .kind = "mirred", .cookie_len = 16,
                           COUNT_OF_NONE } },
        };
        struct kdp_tc_rule rule;

        assert_true(parse(&filter, &rule));
        assert_int_equal(rule.in_hw, cases[i].in_hw);
        assert_int_equal(rule.n_devices, 0);
    }
}

static void
rules_of_others_are_told_from_ours(void **state OVS_UNUSED)
{
#define ACTIONS .actions = { { .kind = "mirred", .cookie_len = 16, \
                               COUNT_OF_NONE } }
    static const struct {
        struct filter filter;
        bool ours;
    } cases[] = {
        { { OURS, ACTIONS }, true },
        { { .kind = "matchall", .info = 4 << 16 | 8, .handle = 1, ACTIONS },
          false },
        { { .kind = "flowe", .info = 4 << 16 | 8, .handle = 1, ACTIONS },
          false },
        { { .kind = "flower", .info = 4 << 16 | 8, .handle = 0, ACTIONS },
          false },
        { { .kind = "flower", .handle = 1, ACTIONS,
            .info = (TC_RESERVED_PRIORITY_POLICE + 1) << 16 | 8 }, true },
        { { .kind = "flower", .handle = 1, ACTIONS,
            .info = TC_RESERVED_PRIORITY_POLICE << 16 | 8 }, false },
        { { .kind = "flower", .handle = 0, ACTIONS,
            .info = TC_RESERVED_PRIORITY_POLICE << 16 | 8 }, false },

        /* Without an action, a kind that we know, or a ufid. */
        { { OURS }, false },
        { { OURS, .actions = { { .kind = "simple", .cookie_len = 16,
                                 COUNT_OF_NONE } } }, false },
        { { OURS, .actions = { { .kind = "mirred", COUNT_OF_NONE } } },
          false },
        { { OURS, .actions = { { .kind = "mirred", .cookie_len = 15,
                                 COUNT_OF_NONE } } }, false },
        { { OURS, .actions = { { .kind = "mirred", .cookie_len = 17,
                                 COUNT_OF_NONE } } }, false },

        /* The first cookie counts. */
        { { OURS, .actions = { { .kind = "vlan", COUNT_OF_NONE },
                               { .kind = "mirred", .cookie_len = 16,
                                 COUNT_OF_NONE },
                               { .kind = "mirred", .cookie_len = 4,
                                 COUNT_OF_NONE } } }, true },
        { { OURS, .actions = { { .kind = "mirred", .cookie_len = 4,
                                 COUNT_OF_NONE },
                               { .kind = "mirred", .cookie_len = 16,
                                 COUNT_OF_NONE } } }, false },
        { { OURS, .actions = { { .kind = "mirred", .cookie_len = 16,
                                 COUNT_OF_NONE },
                               { .kind = "simple", COUNT_OF_NONE } } },
          false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct kdp_tc_rule rule;

        assert_int_equal(parse(&cases[i].filter, &rule), cases[i].ours);
    }
}

static void
statistics_are_those_of_the_action_that_counts_all(void **state OVS_UNUSED)
{
    static const struct {
        struct stats stats[2][6];       /* Of two actions. */
        bool ok;
        uint64_t n_packets, n_bytes, n_sw_packets;
    } cases[] = {
        { { { BASIC(10, 1000) }, { BASIC(10, 1000) } }, true, 10, 1000, 10 },
        { { { BASIC(10, 1000) }, { BASIC(7, 700) } }, true, 10, 1000, 10 },
        { { { BASIC(7, 700) }, { BASIC(10, 1000) } }, true, 10, 1000, 10 },
        { { { BASIC(10, 1000), BASIC_HW(10, 1000) }, { BASIC(0, 0) } },
          true, 10, 1000, 0 },
        { { { BASIC_HW(4, 400), BASIC(10, 1000) }, { BASIC(0, 0) } },
          true, 10, 1000, 6 },

        /* More in the device than in all. */
        { { { BASIC(3, 300), BASIC_HW(4, 400) }, { BASIC(0, 0) } },
          true, 4, 400, 0 },

        /* 64 bits, which follow the number that they are about. */
        { { { BASIC(10, 1000), PKT64(UINT64_C(10000000000)) },
            { BASIC(0, 0) } }, true, 10000000000, 1000, 10000000000 },
        { { { BASIC(10, 1000), PKT64(UINT64_C(10000000000)), BASIC_HW(1, 100),
              PKT64(UINT64_C(4000000000)) }, { BASIC(0, 0) } },
          true, 10000000000, 1000, 6000000000 },
        { { { BASIC(10, 1000), OTHER, BASIC_HW(4, 400), OTHER },
            { BASIC(0, 0) } }, true, 10, 1000, 6 },

        /* They follow none, or they are too short. */
        { { { PKT64(10) }, { BASIC(0, 0) } }, false, 0, 0, 0 },
        { { { BASIC(10, 1000), OTHER, PKT64(10) }, { BASIC(0, 0) } },
          false, 0, 0, 0 },
        { { { BASIC(10, 1000), PKT64(10), PKT64(10) }, { BASIC(0, 0) } },
          false, 0, 0, 0 },
        { { { BASIC(10, 1000), { TCA_STATS_PKT64, 0, 10, 7 } },
            { BASIC(0, 0) } }, false, 0, 0, 0 },
        { { { BASIC_SIZE(TCA_STATS_BASIC,
                         sizeof(struct gnet_stats_basic) - 1) },
            { BASIC(0, 0) } }, false, 0, 0, 0 },
        { { { BASIC(10, 1000),
              BASIC_SIZE(TCA_STATS_BASIC_HW,
                         sizeof(struct gnet_stats_basic) - 1) },
            { BASIC(0, 0) } }, false, 0, 0, 0 },

        /* Each action has its number of packets. */
        { { { BASIC(10, 1000) } }, false, 0, 0, 0 },
        { { { BASIC(10, 1000) }, { BASIC_HW(10, 1000) } }, false, 0, 0, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct action actions[3] = {
            { .kind = "vlan", .cookie_len = 16 }, { .kind = "mirred" },
        };
        struct kdp_tc_rule rule;

        for (size_t j = 0; j < 2; j++) {
            memcpy(actions[j].stats, cases[i].stats[j],
                   sizeof actions[j].stats);
        }
        assert_int_equal(parse_actions(actions, &rule), cases[i].ok);
        if (cases[i].ok) {
            assert_int_equal(rule.stats.n_packets, cases[i].n_packets);
            assert_int_equal(rule.stats.n_bytes, cases[i].n_bytes);
            assert_int_equal(rule.n_sw_packets, cases[i].n_sw_packets);
        }
    }
}

static void
actions_that_do_not_count_the_flow_are_skipped(void **state OVS_UNUSED)
{
    /* A policer without a cookie is of a meter, and "skbedit" is shared. */
    static const struct action others[] = {
        { .kind = "police", .stats = { BASIC(90, 9000) } },
        { .kind = "skbedit", .stats = { BASIC(90, 9000) } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        const struct action actions[3] = {
            others[i],
            { .kind = "mirred", .cookie_len = 16,
              .stats = { BASIC(10, 1000) } },
        };
        struct kdp_tc_rule rule;

        assert_true(parse_actions(actions, &rule));
        assert_int_equal(rule.stats.n_packets, 10);
        assert_int_equal(rule.stats.n_bytes, 1000);
        assert_int_equal(rule.n_sw_packets, 10);
        assert_true(shown);
    }

    /* The policer of a rule has a cookie.  Open vSwitch 3.1 may translate such
     * a rule for ever. */
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct action actions[3] = { others[i] };
        struct kdp_tc_rule rule;

        actions[0].cookie_len = 16;
        assert_true(parse_actions(actions, &rule));
        assert_int_equal(rule.stats.n_packets, i ? 0 : 90);
        assert_int_equal(shown, i);
    }
}

static void
rule_was_used_when_one_of_its_actions_was(void **state OVS_UNUSED)
{
    static const struct {
        uint64_t age[2], lifetime[2];
        long long int used;
    } cases[] = {
        { { 900, 900 }, { 900, 900 }, 0 },
        { { 300, 900 }, { 900, 900 }, NOW - 300 },
        { { 900, 300 }, { 900, 900 }, NOW - 300 },
        { { 300, 500 }, { 900, 900 }, NOW - 300 },
        { { 500, 300 }, { 900, 900 }, NOW - 300 },
        { { 0, 500 }, { 900, 900 }, NOW },

        /* Longer ago than the clock counts. */
        { { NOW, 900 }, { NOW + 900, 900 }, 0 },
        { { NOW - 100, 900 }, { NOW + 900, 900 }, 100 },
        { { NOW + 1000, 900 }, { NOW + 2000, 900 }, 0 },
        { { UINT32_MAX, 900 }, { 900, 900 }, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct action actions[3] = {
            { .kind = "gact", .cookie_len = 16, COUNT_OF_NONE },
            { .kind = "mirred", COUNT_OF_NONE },
        };
        struct kdp_tc_rule rule;

        for (size_t j = 0; j < 2; j++) {
            actions[j].age = cases[i].age[j];
            actions[j].lifetime = cases[i].lifetime[j];
        }
        assert_true(parse_actions(actions, &rule));
        assert_int_equal(rule.stats.used, cases[i].used);
    }
}

static void
rule_that_goes_to_a_chain_jumps(void **state OVS_UNUSED)
{
    static const struct {
        const char *kind;
        int action;
        bool jumps;
    } cases[] = {
        { "gact", TC_ACT_SHOT, false },
        { "gact", TC_ACT_GOTO_CHAIN, true },
        { "gact", TC_ACT_GOTO_CHAIN | 55, true },
        { "gact", TC_ACT_JUMP | 1, false },
        { "mirred", TC_ACT_GOTO_CHAIN, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        /* Whether another action follows does not matter. */
        for (int n = 1; n <= 2; n++) {
            const struct action actions[3] = {
                { .kind = cases[i].kind, .gact = cases[i].action,
                  .cookie_len = 16, COUNT_OF_NONE },
                { .kind = n > 1 ? "mirred" : NULL, COUNT_OF_NONE },
            };
            struct kdp_tc_rule rule;

            assert_true(parse_actions(actions, &rule));
            assert_int_equal(rule.jumps, cases[i].jumps);
        }
    }
}

static void
outputs_of_a_rule_are_counted(void **state OVS_UNUSED)
{
    static const struct {
        struct action actions[3];
        unsigned int n_outputs;
    } cases[] = {
#define ACTION(KIND) { .kind = KIND, .cookie_len = 16, COUNT_OF_NONE }
        { { ACTION("gact") }, 0 },
        { { ACTION("skbedit"), ACTION("mirred") }, 1 },
        { { ACTION("mirred"), ACTION("vlan"), ACTION("mirred") }, 2 },
        { { ACTION("mirred"), ACTION("mirred"), ACTION("mirred") }, 3 },
#undef ACTION
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct kdp_tc_rule rule;

        assert_true(parse_actions(cases[i].actions, &rule));
        assert_int_equal(rule.n_outputs, cases[i].n_outputs);
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_has_all_that_the_message_says),
        cmocka_unit_test(rule_is_in_hardware_unless_it_says_otherwise),
        cmocka_unit_test(rules_of_others_are_told_from_ours),
        cmocka_unit_test(statistics_are_those_of_the_action_that_counts_all),
        cmocka_unit_test(actions_that_do_not_count_the_flow_are_skipped),
        cmocka_unit_test(rule_was_used_when_one_of_its_actions_was),
        cmocka_unit_test(rule_that_goes_to_a_chain_jumps),
        cmocka_unit_test(outputs_of_a_rule_are_counted),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-parse", tests, NULL, NULL);
}
