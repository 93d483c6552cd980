/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that are on a device: those that a previous run left, and those that
 * go with the port (O5, O8). */

#include <config.h>
#include "unit/tc/backend-fixture.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "harness/unit.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "ovs/compat-offload.h"
#include "tc/tc-adopt.h"
#include "tc/tc-handle.h"
#include "tc/tc-transact.h"
#include "util.h"

/* Translating rules back to flows. */

/* What the flow API of tc makes of a rule. */
struct translation {
    uint32_t flow;
    unsigned int n_tunnels;     /* Tunnels that its actions set. */
    unsigned int n_outputs;     /* Ports that they send to. */
    uint32_t chain;             /* That it is in. */
    uint32_t child;             /* Chain that they lead to, or 0. */
};

/* The translation of the only rule on a port, or NULL for Open vSwitch. */
static const struct translation *translation;

struct ovs_compat_rule_dump *
__wrap_ovs_compat_rule_dump_create(struct netdev *, odp_port_t port_no);
struct ovs_compat_rule_dump *
__real_ovs_compat_rule_dump_create(struct netdev *, odp_port_t port_no);
bool __wrap_ovs_compat_rule_dump_next(struct ovs_compat_rule_dump *,
                                      struct match *, struct nlattr **actions,
                                      struct dpif_flow_stats *,
                                      struct dpif_flow_attrs *, ovs_u128 *ufid,
                                      struct ofpbuf *rbuffer,
                                      struct ofpbuf *wbuffer);
bool __real_ovs_compat_rule_dump_next(struct ovs_compat_rule_dump *,
                                      struct match *, struct nlattr **actions,
                                      struct dpif_flow_stats *,
                                      struct dpif_flow_attrs *, ovs_u128 *ufid,
                                      struct ofpbuf *rbuffer,
                                      struct ofpbuf *wbuffer);
void __wrap_ovs_compat_rule_dump_destroy(struct ovs_compat_rule_dump *);
void __real_ovs_compat_rule_dump_destroy(struct ovs_compat_rule_dump *);

/* Rules that were translated in this dump. */
static unsigned int n_translated;

struct ovs_compat_rule_dump *
__wrap_ovs_compat_rule_dump_create(struct netdev *netdev, odp_port_t port_no)
{
    n_translated = 0;
    return (translation ? (struct ovs_compat_rule_dump *) translation
            : __real_ovs_compat_rule_dump_create(netdev, port_no));
}

void
__wrap_ovs_compat_rule_dump_destroy(struct ovs_compat_rule_dump *dump)
{
    if (!translation) {
        __real_ovs_compat_rule_dump_destroy(dump);
    }
}

/* Puts an action that sends packets into a Geneve tunnel over IPv6. */
static void
put_tunnel(struct ofpbuf *actions)
{
    const struct in6_addr address = IN6ADDR_LOOPBACK_INIT;
    size_t set = nl_msg_start_nested(actions, OVS_ACTION_ATTR_SET);
    size_t tunnel = nl_msg_start_nested(actions, OVS_KEY_ATTR_TUNNEL);

    nl_msg_put_be64(actions, OVS_TUNNEL_KEY_ATTR_ID, htonll(5));
    nl_msg_put_in6_addr(actions, OVS_TUNNEL_KEY_ATTR_IPV6_SRC, &address);
    nl_msg_put_in6_addr(actions, OVS_TUNNEL_KEY_ATTR_IPV6_DST, &address);
    nl_msg_put_u8(actions, OVS_TUNNEL_KEY_ATTR_TTL, 64);
    nl_msg_end_nested(actions, tunnel);
    nl_msg_end_nested(actions, set);
}

bool
__wrap_ovs_compat_rule_dump_next(struct ovs_compat_rule_dump *dump,
                                 struct match *match, struct nlattr **actions,
                                 struct dpif_flow_stats *stats,
                                 struct dpif_flow_attrs *attrs, ovs_u128 *ufid,
                                 struct ofpbuf *rbuffer,
                                 struct ofpbuf *wbuffer)
{
    size_t start;

    if (!translation) {
        return __real_ovs_compat_rule_dump_next(dump, match, actions, stats,
                                                attrs, ufid, rbuffer, wbuffer);
    }
    if (n_translated++) {
        return false;
    }
    match_init_catchall(match);
    match_set_in_port(match, u16_to_ofp(1));
    match_set_recirc_id(match, translation->chain);
    *ufid = unit_tc_ufid(translation->flow);
    ofpbuf_clear(wbuffer);
    start = nl_msg_start_nested(wbuffer, OVS_FLOW_ATTR_ACTIONS);
    for (unsigned int i = 0; i < translation->n_tunnels; i++) {
        put_tunnel(wbuffer);
    }
    for (unsigned int i = 0; i < translation->n_outputs; i++) {
        nl_msg_put_u32(wbuffer, OVS_ACTION_ATTR_OUTPUT, 2);
    }
    if (translation->child) {
        nl_msg_put_u32(wbuffer, OVS_ACTION_ATTR_RECIRC, translation->child);
    }
    nl_msg_end_nested(wbuffer, start);
    *actions = ofpbuf_at_assert(wbuffer, start, NLA_HDRLEN);
    return true;
}

/* Rules that are found. */

/* A rule of flow 'flow' on port 1 that 'tc' does not know. */
static void
add_unknown(uint32_t flow, uint32_t handle)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);
    struct kdp_tc_request request = { .type = KDP_TC_ADD };
    struct ofpbuf rule;
    struct tcmsg *tcm;

    ofpbuf_init(&rule, 0);
    unit_tc_make_rule(&ufid, 4 << 16 | 8, 0, &rule);
    tcm = ofpbuf_at_assert(&rule, NLMSG_HDRLEN, sizeof *tcm);
    tcm->tcm_ifindex = 1;
    request.rule = &rule;
    kdp_tc_id_parse(&rule, &request.id);
    request.id.handle = handle;
    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    assert_int_equal(request.error, 0);
    ofpbuf_uninit(&rule);
}

/* Rules that were found. */
struct found {
    unsigned int n;
    struct offload_rule *rules[16];
    ovs_u128 ufids[16];
};

static void
note_found(void *found_, const ovs_u128 *ufid, struct offload_desc *desc,
           const struct offload_stats *stats OVS_UNUSED,
           struct offload_rule *rule)
{
    struct found *found = found_;

    assert_null(desc);
    assert_true(found->n < ARRAY_SIZE(found->rules));
    found->ufids[found->n] = *ufid;
    found->rules[found->n++] = rule;
}

/* Looks for rules in 'place'.  Returns the error. */
static int
find(struct kdp_tc *tc, const struct offload_place *place,
     struct found *found)
{
    struct offload_backend backend = kdp_tc_backend(tc);

    found->n = 0;
    return backend.dump(backend.aux, 1, place, false, note_found, found);
}

/* Deletes those that were found, as the engine does.  Returns how often that
 * failed. */
static unsigned int
delete_found(struct kdp_tc *tc, struct found *found)
{
    struct offload_backend backend = kdp_tc_backend(tc);
    unsigned int n_failed = 0;

    for (size_t i = 0; i < found->n; i++) {
        struct offload_copy_op op = {
            .type = OFFLOAD_COPY_DEL,
            .ufid = found->ufids[i],
            .rule = found->rules[i],
        };

        backend.operate(backend.aux, (struct offload_copy_op *[]) { &op }, 1);
        n_failed += op.error != 0;
        offload_rule_unref(found->rules[i]);
    }
    return n_failed;
}

static struct offload_place
locate(struct kdp_tc *tc, uint32_t port_no)
{
    struct offload_backend backend = kdp_tc_backend(tc);
    struct offload_place place;

    assert_true(backend.locate(backend.aux, port_no, &place));
    return place;
}

static void
rules_are_found_where_their_port_was(void **state)
{
    struct offload_backend backend = kdp_tc_backend(*state);
    struct offload_place place = locate(*state, 1);
    struct offload_place other;
    struct found found;

    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(backend_put(*state, unit_tc_desc(i, 1 + i % 2, 0)),
                         0);
    }
    add_unknown(100, 0x10000001);
    add_unknown(101, 1);
    assert_false(backend.locate(backend.aux, 99, &other));
    unit_tc_ports_del(BACKEND_N_PORTS);
    assert_false(backend.locate(backend.aux, 1, &other));
    assert_int_equal(find(*state, &place, &found), 0);
    assert_int_equal(found.n, 7);
    assert_int_equal(delete_found(*state, &found), 0);
    assert_int_equal(unit_tc_count(), 5);
    for (uint32_t i = 0; i < 10; i += 2) {
        assert_int_equal(GET(i).error, ENOENT);
        backend_forget(i);
    }
    assert_int_equal(backend_n_known(), 5);
    unit_tc_ports_add(BACKEND_N_PORTS);
}

/* A port of that number may be another one by now. */
static void
rules_of_another_device_are_not_found(void **state)
{
    struct offload_place place = locate(*state, 1);
    struct found found;

    assert_int_equal(backend_put(*state, unit_tc_desc(1, 2, 0)), 0);
    unit_tc_port_replace(2, BACKEND_N_PORTS + 2);
    unit_tc_port_replace(1, 2);
    assert_int_equal(find(*state, &place, &found), 0);
    assert_int_equal(found.n, 0);
    unit_tc_port_replace(1, 1);
    unit_tc_port_replace(2, 2);
}

static void
rules_that_cannot_be_listed_or_deleted_are_told(void **state)
{
    struct offload_place place = locate(*state, 1);
    struct found found;

    assert_int_equal(PUT(1), 0);
    assert_int_equal(PUT(2), 0);
    assert_int_equal(find(*state, &place, &found), 0);
    backend_fail(UNIT_TC_REFUSED, RTM_DELTFILTER, EBUSY, 1);
    assert_int_equal(delete_found(*state, &found), 1);
    assert_int_equal(unit_tc_count(), 1);
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_int_equal(find(*state, &place, &found), ENOBUFS);
    unit_tc_fail_dumps(ENODEV, 0);
    assert_int_equal(find(*state, &place, &found), 0);
    unit_tc_fail_dumps(0, 0);
    assert_int_equal(unit_tc_n_dumps(), 0);
}

static void
note_unknown(void *n, const ovs_u128 *ufid OVS_UNUSED,
             struct offload_desc *desc, const struct offload_stats *stats,
             struct offload_rule *rule)
{
    assert_null(desc);
    assert_int_equal(stats->n_packets, 3);
    backend_rules[1] = rule;
    ++*(unsigned int *) n;
}

static void
rules_that_cannot_be_told_are_found_and_can_be_deleted(void **state)
{
    struct offload_backend backend = kdp_tc_backend(*state);
    struct offload_place places[] = { locate(*state, 1), locate(*state, 2) };
    unsigned int n = 0;

    add_unknown(1, 0x10000001);
    backend_packets(1, 3);
    assert_int_equal(backend.dump(backend.aux, 2, &places[1], true,
                                  note_unknown, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(backend.dump(backend.aux, 1, &places[0], true,
                                  note_unknown, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(backend_n_known(), 1);
    assert_int_equal(DEL(1).error, 0);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(backend_n_known(), 0);
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_int_equal(backend.dump(backend.aux, 1, &places[0], true,
                                  note_unknown, &n), ENOBUFS);
    unit_tc_fail_dumps(0, 0);
}

/* What adopting a rule came to. */
struct adopted {
    unsigned int n;             /* Rules. */
    struct offload_desc *desc;  /* Of the last one. */
};

static void
note_adopted(void *adopted_, const ovs_u128 *ufid, struct offload_desc *desc,
             const struct offload_stats *stats OVS_UNUSED,
             struct offload_rule *rule)
{
    struct adopted *adopted = adopted_;

    assert_true(ovs_u128_equals(*ufid, unit_tc_ufid(1)));
    adopted->n++;
    adopted->desc = desc;
    offload_rule_unref(rule);
}

/* Adopts flow 1, the only one on port 1, which is translated to 'to'.  Returns
 * its description, or NULL if it has none. */
static struct offload_desc *
adopt(struct kdp_tc *tc, const struct translation *to)
{
    struct offload_backend backend = kdp_tc_backend(tc);
    struct offload_place place = locate(tc, 1);
    struct adopted adopted = { .n = 0 };

    translation = to;
    assert_int_equal(backend.dump(backend.aux, 1, &place, true, note_adopted,
                                  &adopted), 0);
    translation = NULL;
    assert_int_equal(adopted.n, 1);
    return adopted.desc;
}

/* A broadcast to many chassis, for example. */
static void
rule_becomes_a_flow_however_long_its_actions_are(void **state)
{
    add_unknown(1, 0x10000001);
    for (unsigned int n_tunnels = 0; n_tunnels < 32; n_tunnels++) {
        const struct translation to = {
            .flow = 1, .n_tunnels = n_tunnels, .n_outputs = 1,
        };
        struct offload_desc *desc = adopt(*state, &to);
        const struct nlattr *a;
        unsigned int n = 0;
        size_t left;

        assert_non_null(desc);
        NL_ATTR_FOR_EACH (a, left, desc->actions, desc->actions_len) {
            n++;
        }
        assert_int_equal(n, n_tunnels + 1);
        offload_desc_unref(desc);
    }
}

/* Open vSwitch 3.1 leaves actions out, from the first one that it does not
 * know on: an output to a device that is not a port, or the meter of another
 * run.  A flow without them would seem to do what OpenFlow wants. */
static void
rule_that_does_more_than_its_translation_is_no_flow(void **state)
{
    const ovs_u128 ufid = unit_tc_ufid(1);
    static const struct {
        unsigned int n_outputs; /* Of the rule. */
        bool jumps;
        struct translation to;
        enum { GOES, STAYS, BECOMES_FLOW } fate;
        bool has_meter;
        bool leaves;            /* The last output leads to no port. */
    } cases[] = {
        { 1, false, { .n_outputs = 1 }, BECOMES_FLOW },
        { 1, false, { .n_outputs = 0 }, GOES },
        { 3, false, { .n_outputs = 3 }, BECOMES_FLOW },
        { 3, false, { .n_outputs = 2 }, GOES },
        { 1, true, { .n_outputs = 1 }, GOES },
        { 1, true, { .n_outputs = 1, .child = 7 }, BECOMES_FLOW },
        /* A rule of a chain stays a rule until no rule leads to it. */
        { 1, false, { .n_outputs = 0, .chain = 5 }, BECOMES_FLOW },
        { 1, true, { .n_outputs = 1, .chain = 5 }, BECOMES_FLOW },
        /* A meter of another run does what OpenFlow wants, for now. */
        { 1, false, { .n_outputs = 1 }, BECOMES_FLOW, true },
        { 1, false, { .n_outputs = 0 }, STAYS, true },
        { 1, true, { .n_outputs = 1 }, STAYS, true },
        /* Unless a port that it leads to has left the bridge. */
        { 1, false, { .n_outputs = 0 }, GOES, true, true },
        { 3, true, { .n_outputs = 0 }, GOES, true, true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct translation to = cases[i].to;
        struct offload_desc *desc;

        to.flow = 1;
        add_unknown(1, 0x10000001);
        unit_tc_set_outputs(&ufid, cases[i].n_outputs);
        if (cases[i].leaves) {
            unit_tc_set_leaves(&ufid);
        }
        if (cases[i].jumps) {
            unit_tc_set_jump(&ufid);
        }
        unit_tc_set_policer(cases[i].has_meter, false);
        desc = adopt(*state, &to);
        assert_int_equal((!desc ? GOES : desc->is_partial ? STAYS
                          : BECOMES_FLOW), cases[i].fate);
        if (desc) {
            assert_true(ovs_u128_equals(desc->ufid, ufid));
            assert_int_equal(desc->in_port, 1);
        }
        offload_desc_unref(desc);
        assert_true(unit_tc_remove(&ufid));
    }
    unit_tc_set_policer(0, false);
}

/* Open vSwitch does not get to see it. */
static void
rule_that_checks_sizes_stays_unless_its_handle_is_needed(void **state)
{
    static const struct translation none = { .flow = 2 };
    const ovs_u128 ufid = unit_tc_ufid(1);
    uint32_t handle;

    assert_true(kdp_tc_handle_new(&handle));
    kdp_tc_handle_free(handle);
    unit_tc_set_policer(1, true);
    for (int own = 0; own < 2; own++) {
        struct offload_desc *desc;

        add_unknown(1, own ? handle : handle ^ 0x80000000);
        desc = adopt(*state, &none);
        assert_int_equal(desc != NULL, !own);
        if (desc) {
            assert_true(desc->is_partial);
        }
        offload_desc_unref(desc);
        assert_true(unit_tc_remove(&ufid));
    }
    unit_tc_set_policer(0, false);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, backend_setup, backend_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rules_are_found_where_their_port_was),
        TEST(rules_of_another_device_are_not_found),
        TEST(rules_that_cannot_be_listed_or_deleted_are_told),
        TEST(rules_that_cannot_be_told_are_found_and_can_be_deleted),
        TEST(rule_becomes_a_flow_however_long_its_actions_are),
        TEST(rule_that_does_more_than_its_translation_is_no_flow),
        TEST(rule_that_checks_sizes_stays_unless_its_handle_is_needed),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-adopt", tests, NULL, NULL);
}
