/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-places.h"

#include <stdlib.h>

#include "netdev-linux/ingress-qdisc.h"
#include "netdev-provider.h"
#include "odp-util.h"
#include "ovs-rcu.h"
#include "ovs/compat-offload.h"
#include "tc/tc-transact.h"
#include "util.h"

void
kdp_tc_places_uninit(struct kdp_tc_places *places)
{
    free(places->array);
}

static void
add(struct kdp_tc_places *places, struct tcf_id id, uint32_t port_no)
{
    if (places->n == places->allocated) {
        places->array = x2nrealloc(places->array, &places->allocated,
                                   sizeof *places->array);
    }
    places->array[places->n++] = (struct kdp_tc_place) {
        .id = id, .port_no = port_no,
    };
}

static int
compare(const void *a_, const void *b_)
{
    const struct tcf_id *a = &((const struct kdp_tc_place *) a_)->id;
    const struct tcf_id *b = &((const struct kdp_tc_place *) b_)->id;

    /* It does not matter which member reports a block. */
    if (a->block_id != b->block_id) {
        return a->block_id < b->block_id ? -1 : 1;
    }
    if (a->block_id) {
        return 0;
    }
    return (a->ifindex != b->ifindex ? (a->ifindex < b->ifindex ? -1 : 1)
            : (int) a->hook - (int) b->hook);
}

static void
sort(struct kdp_tc_places *places)
{
    if (places->n) {
        qsort(places->array, places->n, sizeof *places->array, compare);
    }
}

/* Adds the places of a device: its ingress, or the block there, and its
 * egress. */
static void
add_qdisc(const struct ingress_qdisc *qdisc, void *places)
{
    add(places, tc_make_tcf_id(qdisc->ifindex, qdisc->block_id, 0,
                               TC_INGRESS), UINT32_MAX);
    if (qdisc->is_clsact) {
        add(places, tc_make_tcf_id(qdisc->ifindex, 0, 0, TC_EGRESS),
            UINT32_MAX);
    }
}

int
kdp_tc_places_add_all(struct kdp_tc_places *places)
{
    int error = ingress_qdisc_for_each(add_qdisc, places);

    sort(places);
    return error;
}

static bool
add_port(struct netdev *netdev, odp_port_t port_no, void *places)
{
    int ifindex = netdev_get_ifindex(netdev);

    if (ifindex >= 0) {
        add(places, kdp_tc_place(netdev, ifindex), odp_to_u32(port_no));
    }
    return false;
}

void
kdp_tc_places_add_ports(struct kdp_tc_places *places, const char *dpif_type)
{
    bool quiescent = ovsrcu_is_quiescent();

    /* Open vSwitch may guard ports by RCU. */
    if (quiescent) {
        ovsrcu_quiesce_end();
    }
    ovs_compat_ports_traverse(dpif_type, add_port, places);
    if (quiescent) {
        ovsrcu_quiesce_start();
    }
    sort(places);
}

const struct kdp_tc_place *
kdp_tc_places_find(const struct kdp_tc_places *places, const struct tcf_id *id)
{
    const struct kdp_tc_place key = { .id = *id };

    return (places->n ? bsearch(&key, places->array, places->n,
                                sizeof *places->array, compare)
            : NULL);
}

bool
kdp_tc_places_is_same(const struct kdp_tc_place *a,
                      const struct kdp_tc_place *b)
{
    return !compare(a, b);
}

struct offload_place
kdp_tc_place_for_engine(const struct tcf_id *id)
{
    return (struct offload_place) {
        .data = { id->ifindex, id->block_id, id->hook },
    };
}

int
kdp_tc_place_device(const struct tcf_id *id)
{
    return id->block_id ? (int) id->block_id : id->ifindex;
}
