/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/tc/backend-fixture.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "dpif-netlink/datapath.h"
#include "harness/unit.h"
#include "netdev-provider.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "tc.h"
#include "tc/tc-transact.h"
#include "util.h"

int backend_error;
uint32_t backend_hook = TC_INGRESS_PARENT;
uint32_t backend_block;
uint16_t backend_protocol = ETH_TYPE_IP;

int __wrap_kdp_tc_translate(struct netdev *, const struct offload_desc *,
                            bool recirc_sharing, struct ofpbuf **,
                            struct kdp_tc_id *);

int
__wrap_kdp_tc_translate(struct netdev *netdev,
                        const struct offload_desc *desc,
                        bool recirc_sharing OVS_UNUSED,
                        struct ofpbuf **rule, struct kdp_tc_id *id)
{
    struct tcmsg *tcm;

    if (backend_error) {
        return backend_error;
    }
    *rule = ofpbuf_new(0);

    /* As Open vSwitch numbers protocols. */
    unit_tc_make_rule(&desc->ufid,
                      tc_make_handle(4, (OVS_FORCE uint16_t) htons(
                                            backend_protocol)),
                      desc->recirc_id, *rule);
    tcm = ofpbuf_at_assert(*rule, NLMSG_HDRLEN, sizeof *tcm);
    tcm->tcm_ifindex = netdev_get_ifindex(netdev);
    tcm->tcm_parent = backend_hook;
    if (backend_block) {
        tcm->tcm_ifindex = TCM_IFINDEX_MAGIC_BLOCK;
        tcm->tcm_parent = backend_block;
    }
    kdp_tc_id_parse(*rule, id);
    return 0;
}

struct offload_rule *backend_rules[BACKEND_N_FLOWS];

void
backend_forget(uint32_t flow)
{
    offload_rule_unref(backend_rules[flow]);
    backend_rules[flow] = NULL;
}

void
backend_forget_all(void)
{
    for (uint32_t i = 0; i < BACKEND_N_FLOWS; i++) {
        backend_forget(i);
    }
}

int
backend_setup(void **state)
{
    struct kdp_tc *tc = xzalloc(sizeof *tc);

    backend_hook = TC_INGRESS_PARENT;
    backend_block = backend_error = 0;
    backend_protocol = ETH_TYPE_IP;
    unit_tc_init();
    unit_tc_ports_add(BACKEND_N_PORTS);
    kdp_tc_init(tc, kdp_dpif_type, false);
    atomic_store_relaxed(&tc->count_headers, true);
    *state = tc;
    return 0;
}

int
backend_teardown(void **state)
{
    backend_forget_all();
    kdp_tc_destroy(*state);
    free(*state);
    unit_tc_ports_del(BACKEND_N_PORTS);
    unit_tc_uninit();
    return 0;
}

struct offload_copy_op
backend_operate(struct kdp_tc *tc, enum offload_copy_type type, uint32_t flow,
        struct offload_desc *desc)
{
    struct offload_backend backend = kdp_tc_backend(tc);
    struct offload_copy_op op = {
        .type = type, .ufid = unit_tc_ufid(flow), .desc = desc,
        .error = -1, .stats.n_packets = 99, .hw = OFFLOAD_HW_ALL,
    };

    if (type == OFFLOAD_COPY_PUT) {
        backend_forget(flow);
        backend_rules[flow] = backend.create_rule(backend.aux);
    }
    op.rule = backend_rules[flow];
    backend.operate(backend.aux, (struct offload_copy_op *[]) { &op }, 1);
    if (type == OFFLOAD_COPY_PUT ? op.error
        : type == OFFLOAD_COPY_DEL
        && (!op.error || op.error == ENOENT || op.error == ENODEV)) {
        backend_forget(flow);
    }
    return op;
}

int
backend_put(struct kdp_tc *tc, struct offload_desc *desc)
{
    struct offload_copy_op op = backend_operate(tc, OFFLOAD_COPY_PUT,
                                        desc->ufid.u32[0], desc);

    offload_desc_unref(desc);
    return op.error;
}

void
backend_packets(uint32_t flow, unsigned int n)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);

    while (n--) {
        assert_true(unit_tc_packet(&ufid, BACKEND_PACKET));
    }
}

size_t
backend_n_known(void)
{
    size_t n = 0;

    for (uint32_t i = 0; i < BACKEND_N_FLOWS; i++) {
        struct kdp_tc_known known;

        n += backend_rules[i] && kdp_tc_rule_get(backend_rules[i], &known);
    }
    return n;
}

void
backend_fail(enum unit_tc_fault fault, uint16_t type, int error,
         unsigned int n)
{
    const struct unit_tc_plan plan = {
        .fault = fault, .type = type, .error = error, .n = n,
    };

    unit_tc_plan(&plan);
}
