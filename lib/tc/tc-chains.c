/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-chains.h"

#include <stdlib.h>

#include "netdev.h"
#include "netlink-socket.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "tc/tc-transact.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_chains);

/* Names of rules. */
struct names {
    struct kdp_tc_id *ids;
    size_t n, allocated;
};

static void
add(struct names *names, const struct kdp_tc_id *id)
{
    if (names->n == names->allocated) {
        names->ids = x2nrealloc(names->ids, &names->allocated,
                                sizeof *names->ids);
    }
    names->ids[names->n++] = *id;
}

/* Deletes the rules, whose names are freed.  Returns how many were there. */
static size_t
delete_rules(struct names *names)
{
    struct kdp_tc_request *requests = xcalloc(names->n + 1, sizeof *requests);
    struct kdp_tc_request **sent = xcalloc(names->n + 1, sizeof *sent);
    size_t n = 0;

    for (size_t i = 0; i < names->n; i++) {
        requests[i].type = KDP_TC_DEL;
        requests[i].id = names->ids[i];
        sent[i] = &requests[i];
    }
    kdp_tc_transact(sent, names->n);
    for (size_t i = 0; i < names->n; i++) {
        n += !requests[i].error;
    }
    free(sent);
    free(requests);
    free(names->ids);
    return n;
}

size_t
kdp_tc_delete_chains(const struct tcf_id *place)
{
    struct names parents = { .n = 0 }, children = { .n = 0 };
    struct kdp_tc_rule rule;
    struct ofpbuf buffer;
    struct nl_dump dump;
    size_t n;

    kdp_tc_dump_start_at(place, false, &dump);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_tc_dump_next(&dump, &buffer, &rule)) {
        if (rule.jumps) {
            add(&parents, &rule.id);
        } else if (rule.id.chain) {
            add(&children, &rule.id);
        }
    }
    ofpbuf_uninit(&buffer);
    kdp_tc_dump_done(&dump);
    n = delete_rules(&parents);
    n += delete_rules(&children);
    return n;
}

size_t
kdp_tc_delete_chains_of(struct netdev *netdev, int ifindex)
{
    struct tcf_id place = kdp_tc_place(netdev, ifindex);
    size_t n = kdp_tc_delete_chains(&place);

    if (n) {
        VLOG_INFO("%s: deleted %"PRIuSIZE" rules of recirculation chains that "
                  "a previous run left in tc", netdev_get_name(netdev), n);
    }
    return n;
}
