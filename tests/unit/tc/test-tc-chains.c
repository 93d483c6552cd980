/* SPDX-License-Identifier: Apache-2.0 */

/* Recirculation chains that a previous run left in tc (O8). */

#include <config.h>
#include "tc/tc-chains.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "ovs/compat-offload.h"
#include "tc/tc-prepare.h"
#include "tc/tc-transact.h"
#include "util.h"

/* What the datapaths say. */
static bool shares, keeps;
static uint64_t n_rules;

/* What adding a queueing discipline ends with, unless one was deleted before,
 * and what deleting one ends with. */
static int qdisc_error, delete_error;
static unsigned int n_qdiscs_added, n_qdiscs_deleted;

/* The block of the device's bond, and that of its queueing discipline, or 0
 * if there is none.  The kind of the latter. */
static uint32_t bond_block, qdisc_block;
static const char *qdisc_kind;

uint32_t __wrap_netdev_get_block_id(struct netdev *);
int __wrap_tc_transact(struct ofpbuf *request, struct ofpbuf **replyp);
int __real_tc_transact(struct ofpbuf *request, struct ofpbuf **replyp);

/* The stock flow API, which is called for devices that it is to clear, lists
 * chains and policers.  There are none then. */
int __wrap_tc_dump_tc_action_start(char *name, struct nl_dump *);
int __wrap_tc_dump_tc_chain_start(struct tcf_id *, struct nl_dump *);

int
__wrap_tc_dump_tc_action_start(char *name OVS_UNUSED, struct nl_dump *dump)
{
    struct tcf_id place = tc_make_tcf_id(1, 0, 0, TC_INGRESS);

    return __wrap_tc_dump_tc_chain_start(&place, dump);
}

int
__wrap_tc_dump_tc_chain_start(struct tcf_id *place, struct nl_dump *dump)
{
    assert_int_equal(unit_tc_count(), 0);
    return tc_dump_flower_start(place, dump, true);
}

uint32_t
__wrap_netdev_get_block_id(struct netdev *netdev OVS_UNUSED)
{
    return bond_block;
}

int
__wrap_tc_transact(struct ofpbuf *request, struct ofpbuf **replyp)
{
    if (nl_msg_nlmsghdr(request)->nlmsg_type != RTM_GETQDISC) {
        return __real_tc_transact(request, replyp);
    }
    ofpbuf_uninit(request);
    if (!qdisc_block) {
        return ENOENT;
    }
    *replyp = ofpbuf_new(0);
    nl_msg_put_nlmsghdr(*replyp, sizeof(struct tcmsg), RTM_NEWQDISC, 0);
    ofpbuf_put_zeros(*replyp, sizeof(struct tcmsg));
    nl_msg_put_string(*replyp, TCA_KIND, qdisc_kind);
    nl_msg_put_u32(*replyp, TCA_INGRESS_BLOCK, qdisc_block);
    return 0;
}

int __wrap_tc_add_del_qdisc(int ifindex, bool add, uint32_t block_id,
                            enum tc_qdisc_hook);

int
__wrap_tc_add_del_qdisc(int ifindex OVS_UNUSED, bool add,
                        uint32_t block_id OVS_UNUSED,
                        enum tc_qdisc_hook hook OVS_UNUSED)
{
    if (!add) {
        n_qdiscs_deleted++;
        return delete_error;
    }
    n_qdiscs_added++;
    return n_qdiscs_deleted && !delete_error ? 0 : qdisc_error;
}

/* A rule of flow 'flow', on device "lo" or on another one. */
static void
add_rule(uint32_t flow, uint32_t chain, bool jumps, int ifindex)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);
    struct kdp_tc_request request = { .type = KDP_TC_ADD };
    struct ofpbuf rule;
    struct tcmsg *tcm;

    ofpbuf_init(&rule, 0);
    unit_tc_make_rule(&ufid, 4 << 16 | 8, chain, &rule);
    tcm = ofpbuf_at_assert(&rule, NLMSG_HDRLEN, sizeof *tcm);
    tcm->tcm_ifindex = ifindex;
    request.rule = &rule;
    kdp_tc_id_parse(&rule, &request.id);
    request.id.handle = flow;
    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    assert_int_equal(request.error, 0);
    if (jumps) {
        unit_tc_set_jump(&ufid);
    }
    ofpbuf_uninit(&rule);
}

static bool
is_there(uint32_t flow)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);

    return unit_tc_packet(&ufid, 100);
}

static void
add_rules(void)
{
    add_rule(1, 0, false, 1);
    add_rule(2, 0, true, 1);
    add_rule(3, 7, false, 1);
    add_rule(4, 7, true, 1);
    add_rule(5, 0, false, 1);
    add_rule(6, 7, true, 99);
}

static int
setup(void **state OVS_UNUSED)
{
    shares = true;
    keeps = false;
    n_rules = 0;
    qdisc_error = EEXIST;
    delete_error = 0;
    n_qdiscs_added = n_qdiscs_deleted = 0;
    bond_block = qdisc_block = 0;
    qdisc_kind = "ingress";
    unit_tc_init();
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    unit_tc_uninit();
    return 0;
}

static void
rules_of_chains_and_those_that_lead_there_go(void **state OVS_UNUSED)
{
    struct tcf_id place = tc_make_tcf_id(1, 0, 0, TC_INGRESS);

    size_t n;

    add_rules();
    assert_int_equal(kdp_tc_delete_chains(&place, &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(unit_tc_count(), 3);
    assert_true(is_there(1) && is_there(5) && is_there(6));
    assert_int_equal(kdp_tc_delete_chains(&place, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(unit_tc_n_dumps(), 0);
}

static void
rule_that_cannot_be_deleted_is_reported(void **state OVS_UNUSED)
{
    struct tcf_id place = tc_make_tcf_id(1, 0, 0, TC_INGRESS);
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .type = RTM_DELTFILTER, .error = EBUSY,
        .n = 1,
    };
    size_t n;

    add_rules();
    unit_tc_plan(&plan);
    assert_int_equal(kdp_tc_delete_chains(&place, &n), EBUSY);
    assert_int_equal(n, 2);
    assert_int_equal(kdp_tc_delete_chains(&place, &n), 0);
    assert_int_equal(n, 1);
}

/* One that another process has deleted meanwhile is gone, as it should be. */
static void
rule_that_is_gone_is_no_failure(void **state OVS_UNUSED)
{
    struct tcf_id place = tc_make_tcf_id(1, 0, 0, TC_INGRESS);
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .type = RTM_DELTFILTER, .error = ENOENT,
        .n = 1,
    };
    size_t n;

    add_rules();
    unit_tc_plan(&plan);
    assert_int_equal(kdp_tc_delete_chains(&place, &n), 0);
    assert_int_equal(n, 2);
}

static void
rules_that_cannot_be_listed_are_reported(void **state OVS_UNUSED)
{
    struct tcf_id place = tc_make_tcf_id(1, 0, 0, TC_INGRESS);
    size_t n;

    add_rules();
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_int_equal(kdp_tc_delete_chains(&place, &n), ENOBUFS);
    assert_int_equal(n, 0);
    unit_tc_fail_dumps(0, 0);
}

/* All ports there are: device "lo". */
void __wrap_ovs_compat_ports_traverse(const char *dpif_type,
                                      bool (*cb)(struct netdev *, odp_port_t,
                                                 void *aux),
                                      void *aux);

void
__wrap_ovs_compat_ports_traverse(const char *dpif_type,
                                 bool (*cb)(struct netdev *, odp_port_t,
                                            void *aux),
                                 void *aux)
{
    struct netdev *netdev;

    assert_string_equal(dpif_type, "system");
    assert_int_equal(netdev_open("lo", "system", &netdev), 0);
    cb(netdev, u32_to_odp(1), aux);
    netdev_close(netdev);
}

static void
rules_of_chains_on_all_ports_go(void **state OVS_UNUSED)
{
    add_rules();
    assert_int_equal(kdp_tc_clean_chains("system"), 3);
    assert_true(is_there(1) && is_there(5) && is_there(6));
    assert_int_equal(kdp_tc_clean_chains("system"), 0);
    assert_int_equal(unit_tc_count(), 3);
}

static bool
probe(bool (*cb)(const char *name) OVS_UNUSED)
{
    /* As if a local port had been probed. */
    return true;
}

static bool
shares_chains(void)
{
    return shares;
}

static bool
keeps_chains(void)
{
    return keeps;
}

static uint64_t
count_rules(int ifindex OVS_UNUSED)
{
    return n_rules;
}

/* Has the flow API prepare device "lo".  Returns how many rules are left. */
static size_t
prepare(void)
{
    struct netdev *netdev;

    assert_int_equal(netdev_open("lo", "system", &netdev), 0);
    netdev_set_dpif_type(netdev, "system");
    assert_int_equal(ovs_compat_offload_prepare(netdev), 0);
    ovs_compat_offload_set_prepared(netdev, false);
    netdev_close(netdev);
    return unit_tc_count();
}

static void
port_has_no_chains_once_it_is_prepared(void **state OVS_UNUSED)
{
    static const struct kdp_tc_datapaths datapaths = {
        .for_each_local_port = probe,
        .shares_chains = shares_chains,
        .keeps_chains = keeps_chains,
        .count_rules = count_rules,
    };

    kdp_tc_prepare_register("system", &datapaths);
    ovs_compat_offload_enable();
    add_rules();

    /* The numbers are not shared.  The first device gets a queueing discipline
     * as any other does: the kernel is probed on a local port. */
    shares = false;
    for (unsigned int i = 1; i <= 3; i++) {
        assert_int_equal(prepare(), 6);
        assert_int_equal(n_qdiscs_added, i);
    }

    /* There are rules of this run. */
    shares = true;
    n_rules = 1;
    assert_int_equal(prepare(), 6);

    /* Those of the previous run forward for now. */
    n_rules = 0;
    keeps = true;
    assert_int_equal(prepare(), 6);

    keeps = false;
    assert_int_equal(prepare(), 3);
    assert_true(is_there(1) && is_there(5) && is_there(6));
}

/* The rules that the members share are in the discipline's block. */
static void
discipline_of_a_bond_is_deleted_only_if_it_is_another(void **state OVS_UNUSED)
{
    bond_block = 1;
    qdisc_block = 1;
    assert_int_equal(prepare(), 0);
    assert_int_equal(n_qdiscs_deleted, 0);
    qdisc_block = 7;
    qdisc_error = 0;
    prepare();
    assert_true(n_qdiscs_deleted > 0);
    n_qdiscs_deleted = 0;
    qdisc_block = 0;
    prepare();
    assert_true(n_qdiscs_deleted > 0);
}

/* A bond that is gone leaves its block to its members.  A rule on a device
 * whose discipline is bound to a block cannot be added. */
static void
discipline_of_a_port_is_no_longer_bound_to_a_block(void **state OVS_UNUSED)
{
    qdisc_block = 7;
    assert_int_equal(prepare(), 0);
    assert_int_equal(n_qdiscs_deleted, 1);
    assert_int_equal(n_qdiscs_added, 2);

    /* Without a block it stays. */
    n_qdiscs_added = n_qdiscs_deleted = 0;
    qdisc_block = 0;
    prepare();
    assert_int_equal(n_qdiscs_deleted, 0);
    assert_int_equal(n_qdiscs_added, 1);

    /* If it cannot be deleted, the rules on the device fail later. */
    n_qdiscs_added = 0;
    qdisc_block = 7;
    delete_error = EBUSY;
    prepare();
    assert_int_equal(n_qdiscs_deleted, 1);
    assert_int_equal(n_qdiscs_added, 1);

    /* Another program's kind, and then its rule in the block. */
    n_qdiscs_added = n_qdiscs_deleted = 0;
    delete_error = 0;
    qdisc_kind = "clsact";
    prepare();
    assert_int_equal(n_qdiscs_deleted, 0);
    qdisc_kind = "ingress";
    add_rule(1, 0, false, 0);
    assert_int_equal(prepare(), 1);
    assert_int_equal(n_qdiscs_deleted, 0);
    assert_int_equal(n_qdiscs_added, 2);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(rules_of_chains_and_those_that_lead_there_go),
        TEST(rule_that_cannot_be_deleted_is_reported),
        TEST(rule_that_is_gone_is_no_failure),
        TEST(rules_that_cannot_be_listed_are_reported),
        TEST(rules_of_chains_on_all_ports_go),
        TEST(port_has_no_chains_once_it_is_prepared),
        TEST(discipline_of_a_bond_is_deleted_only_if_it_is_another),
        TEST(discipline_of_a_port_is_no_longer_bound_to_a_block),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-chains", tests, NULL, NULL);
}
