/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-list.h"

#include <stdlib.h>

#include "openvswitch/ofpbuf.h"
#include "tc.h"
#include "tc/tc-rules.h"
#include "tc/tc-transact.h"
#include "util.h"

static void
list_place(const struct kdp_tc_place_in_hw *place, bool exact,
           offload_list_cb *cb, void *cb_aux)
{
    struct kdp_tc_rule rule;
    struct ofpbuf buffer;
    struct nl_dump dump;

    kdp_tc_dump_start_at(&place->place, !exact && !place->full, &dump);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_tc_dump_next(&dump, &buffer, &rule)) {
        cb(cb_aux, &rule.ufid, &rule);
    }
    ofpbuf_uninit(&buffer);

    /* What was not told is asked for by name. */
    kdp_tc_dump_done(&dump);
}

void
kdp_tc_list(void *tc, bool exact, offload_list_cb *cb, void *cb_aux)
{
    struct kdp_tc_place_in_hw *places;
    size_t n = kdp_tc_places_in_hw(tc, &places);

    for (size_t i = 0; i < n; i++) {
        list_place(&places[i], exact, cb, cb_aux);
    }
    free(places);
}

bool
kdp_tc_take(void *tc OVS_UNUSED, struct offload_rule *rule, const void *told_,
            struct offload_stats *stats, enum offload_hw *hw)
{
    const struct kdp_tc_rule *told = told_;
    struct kdp_tc_known known;

    if (!kdp_tc_rule_get(rule, &known) || known.id.handle != told->id.handle
        || known.id.info != told->id.info || known.id.chain != told->id.chain
        || told->shared_number) {
        return false;
    }
    *hw = kdp_tc_rule_saw(rule, told);
    if (!kdp_tc_rule_is_checked(rule)) {
        return false;
    }
    *stats = kdp_tc_stats(told, known.overhead);
    return true;
}
