/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/dpif-netlink/flow-dump-fixture.h"

#include <string.h>

#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "ovs/compat-dpif.h"
#include "util.h"

const struct dpif_flow_dump_types dump_ovs = { .ovs_flows = true };
const struct dpif_flow_dump_types dump_tc = { .OVS_COMPAT_TC_FLOWS = true };
const struct dpif_flow_dump_types dump_both = {
    .ovs_flows = true, .OVS_COMPAT_TC_FLOWS = true,
};
const struct dpif_flow_dump_types dump_neither;

bool dump_terse, dump_learn;

void
dump_note(struct dump_seen *seen, const struct dpif_flow *flow)
{
    uint32_t number = flow->ufid.u32[0];
    struct offload_desc *desc = unit_tc_desc(number, 1, 0);

    unit_check(number < DUMP_N_FLOWS);
    seen->n[number]++;
    seen->n_packets[number] = flow->stats.n_packets;
    seen->used[number] = flow->stats.used;
    seen->n_tc += !strcmp(flow->attrs.dp_layer, "tc");
    seen->n_hw += flow->attrs.offloaded;
    unit_check(flow->stats.n_bytes == flow->stats.n_packets * 100);
    unit_check(flow->ufid_present);

    /* Still readable, and the flow's. */
    unit_check(flow->mask_len == desc->mask_len);
    unit_check(!memcmp(flow->mask, desc->mask, desc->mask_len));
    unit_check(flow->actions_len == desc->actions_len);
    unit_check(!memcmp(flow->actions, desc->actions, desc->actions_len));
    offload_desc_unref(desc);
}

void
dump_walk(struct dpif_flow_dump *dump, int max_flows, struct dump_seen *seen)
{
    struct dpif_flow_dump_thread *thread;
    struct dpif_flow flows[64];
    int n;

    thread = kdp_flow_dump_thread_create(dump);
    while ((n = kdp_flow_dump_next(thread, flows, max_flows)) > 0) {
        unit_check(n <= max_flows);
        for (int i = 0; i < n; i++) {
            dump_note(seen, &flows[i]);
        }
    }
    unit_check(!kdp_flow_dump_next(thread, flows, max_flows));
    kdp_flow_dump_thread_destroy(thread);
}

struct dpif_flow_dump *
dump_start(struct unit_dpif *u, const struct dpif_flow_dump_types *types)
{
    return kdp_flow_dump_create(&u->dp, u->engine, &u->inner, dump_terse,
                                dump_learn, false, types);
}

int
dump_setup(void **state)
{
    dump_terse = false;
    dump_learn = true;
    return unit_dpif_setup(state);
}

int
dump_all(struct unit_dpif *u, const struct dpif_flow_dump_types *types,
     int max_flows, struct dump_seen *seen)
{
    struct dpif_flow_dump *d = dump_start(u, types);

    memset(seen, 0, sizeof *seen);
    dump_walk(d, max_flows, seen);
    return kdp_flow_dump_destroy(d);
}

void
dump_check_seen(const struct dump_seen *seen, size_t first, size_t end)
{
    for (size_t i = 0; i < DUMP_N_FLOWS; i++) {
        unsigned int expected = i >= first && i < end;

        if (seen->n[i] != expected) {
            unit_die("flow %"PRIuSIZE" was shown %u times, expected %u", i,
                     seen->n[i], expected);
        }
    }
}

void
dump_put(struct unit_dpif *u, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        unit_check(!unit_dpif_put(u, unit_tc_desc(i, 1, 0), DPIF_FP_CREATE,
                                  NULL));
    }
}

void
dump_refuse(uint16_t type, int error)
{
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .error = error, .type = type, .n = UINT_MAX,
    };

    unit_tc_plan(&plan);
}

void
dump_allow(void)
{
    unit_tc_plan(&(struct unit_tc_plan) { .n = 0 });
}
