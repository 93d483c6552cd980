/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-list.h"

#include <stdlib.h>

#include "netdev-linux/rtnl-count.h"
#include "netlink-socket.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "tc.h"
#include "tc/tc-handle.h"
#include "tc/tc-places.h"
#include "tc/tc-rules.h"
#include "tc/tc-transact.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_list);

/* Calls 'cb' for each rule in 'place' that may be ours, in a dump for
 * 'purpose'. Rules may be missing after an error; the caller then reads a
 * flow's rule by name. */
static void
list_place(const struct tcf_id *place_, enum kdp_rtnl_call purpose, bool terse,
           offload_list_cb *cb, void *cb_aux)
{
    struct tcf_id place = *place_;
    struct kdp_tc_rule rule;
    struct ofpbuf buffer;
    struct nl_dump dump;

    kdp_rtnl_count(purpose);
    tc_dump_flower_start(&place, &dump, terse);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_tc_dump_next(&dump, &buffer, &rule)) {
        cb(cb_aux, &rule.ufid, &rule);
    }
    ofpbuf_uninit(&buffer);
    kdp_tc_dump_done(&dump);
}

void
kdp_tc_list(void *tc, bool exact, offload_list_cb *cb, void *cb_aux)
{
    struct tcf_id *places;
    size_t n = kdp_tc_places_in_hw(tc, &places);

    for (size_t i = 0; i < n; i++) {
        list_place(&places[i], KDP_RTNL_TC_DUMP, !exact, cb, cb_aux);
    }
    free(places);
}

/* Are rules in 'id' to be listed?  Not if the engine does not know the port
 * there.  If there is no port, not if another datapath has rules there, which
 * may belong to a port that is being deleted. */
static bool
is_listed(const struct kdp_tc *tc, const struct kdp_tc_places *ports,
          const struct tcf_id *id, offload_is_known_cb *is_known, void *cb_aux)
{
    const struct kdp_tc_place *port = kdp_tc_places_find(ports, id);
    struct offload_place place;

    if (!port) {
        return !kdp_tc_others_have_rules(tc, kdp_tc_place_device(id));
    }
    place = kdp_tc_place_for_engine(&port->id);
    return is_known(cb_aux, port->port_no, &place);
}

void
kdp_tc_list_all(void *tc_, offload_is_known_cb *is_known, offload_list_cb *cb,
                void *cb_aux)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct kdp_tc_places ports = { .n = 0 }, places = { .n = 0 };
    struct kdp_tc *tc = tc_;
    int error;

    /* If a device becomes a port meanwhile, its place seems to have no port,
     * but its rules belong to flows by the time of the next check. */
    error = kdp_tc_places_add_all(&places);
    kdp_tc_places_add_ports(&ports, tc->dpif_type);
    if (error) {
        VLOG_WARN_RL(&rl, "queueing disciplines cannot be listed (%s): rules "
                     "that no flow has go on forwarding",
                     ovs_strerror(error));
    }
    for (size_t i = 0; i < places.n; i++) {
        const struct kdp_tc_place *place = &places.array[i];

        if ((!i || !kdp_tc_places_is_same(place, place - 1))
            && is_listed(tc, &ports, &place->id, is_known, cb_aux)) {
            list_place(&place->id, KDP_RTNL_TC_AUDIT, true, cb, cb_aux);
        }
    }
    kdp_tc_places_uninit(&places);
    kdp_tc_places_uninit(&ports);
}

bool
kdp_tc_take(void *tc OVS_UNUSED, struct offload_rule *rule, const void *told_,
            struct offload_stats *stats, enum offload_hw *hw)
{
    const struct kdp_tc_rule *told = told_;
    struct kdp_tc_known known;

    if (!kdp_tc_rule_get(rule, &known)
        || !kdp_tc_id_equals(&known.id, &told->id)) {
        return false;
    }
    *hw = kdp_tc_rule_saw(rule, told);
    *stats = kdp_tc_stats(told, known.overhead);
    return true;
}

struct offload_rule *
kdp_tc_name(void *tc, const void *told_)
{
    const struct kdp_tc_rule *told = told_;
    struct offload_rule *rule;

    if (!kdp_tc_handle_is_kdp(told->id.handle)) {
        return NULL;
    }
    rule = kdp_tc_rule_create(tc);
    kdp_tc_rule_set(rule, UINT32_MAX, &told->id, NULL, false);
    return rule;
}
