/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-stale.h"

#include "dpif.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "upcall/upcall-msg.h"
#include "util.h"

/* Where actions occur. */
enum where {
    IN_FLOW,                    /* They apply to all packets of the flow. */
    IN_SAMPLE,                  /* They apply to some packets, which then go
                                 * on. */
};

/* Open vSwitch does not nest actions more deeply. */
#define MAX_DEPTH 16

struct search {
    flow_stale_port_cb *is_new;
    void *aux;
    uint32_t max_id;            /* Highest recirculation id, or 0. */
};

static bool actions_are_stale(struct search *, const struct nlattr *actions,
                              size_t len, enum where, int depth);

/* True if recirculation id 'id' cannot stay. */
static bool
id_is_stale(struct search *search, uint32_t id)
{
    search->max_id = MAX(search->max_id, id);
    return id && id <= UPCALL_RECIRC_STATIC;
}

/* True if the actions in attribute 'type' of 'a' cannot stay. */
static bool
nested_is_stale(struct search *search, const struct nlattr *a,
                uint16_t type, enum where where, int depth)
{
    const struct nlattr *actions = nl_attr_find_nested(a, type);

    return (actions
            && actions_are_stale(search, nl_attr_get(actions),
                                 nl_attr_get_size(actions), where, depth));
}

static bool
action_is_stale(struct search *search, const struct nlattr *a,
                enum where where, int depth)
{
    bool stale;

    switch (nl_attr_type(a)) {
    case OVS_ACTION_ATTR_RECIRC:
        return id_is_stale(search, nl_attr_get_u32(a));
    case OVS_ACTION_ATTR_USERSPACE:
        return where == IN_FLOW;
    case OVS_ACTION_ATTR_OUTPUT:
        return search->is_new(search->aux, nl_attr_get_u32(a));
    case OVS_ACTION_ATTR_CLONE:
        return actions_are_stale(search, nl_attr_get(a), nl_attr_get_size(a),
                                 where, depth);
    case OVS_ACTION_ATTR_SAMPLE:
        return nested_is_stale(search, a, OVS_SAMPLE_ATTR_ACTIONS, IN_SAMPLE,
                               depth);
    case OVS_ACTION_ATTR_CHECK_PKT_LEN:
        /* Evaluate both, as above. */
        stale = nested_is_stale(search, a,
                                OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER,
                                where, depth);
        return (nested_is_stale(search, a,
                                OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL,
                                where, depth)
                || stale);
    default:
        return false;
    }
}

static bool
actions_are_stale(struct search *search, const struct nlattr *actions,
                  size_t len, enum where where, int depth)
{
    const struct nlattr *a;
    bool stale = false;
    size_t left;

    if (depth >= MAX_DEPTH) {
        return true;
    }
    /* Look at all actions, for their recirculation ids. */
    NL_ATTR_FOR_EACH (a, left, actions, len) {
        stale |= action_is_stale(search, a, where, depth + 1);
    }
    return stale;
}

enum flow_stale
flow_stale(const struct dpif_flow *flow, flow_stale_port_cb *is_new,
           void *aux, uint32_t *max_id)
{
    struct search search = { .is_new = is_new, .aux = aux };
    bool stale = actions_are_stale(&search, flow->actions, flow->actions_len,
                                   IN_FLOW, 0);
    bool in_chain = false;
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, flow->key, flow->key_len) {
        uint16_t type = nl_attr_type(a);

        if (type == OVS_KEY_ATTR_RECIRC_ID && nl_attr_get_u32(a)) {
            in_chain = true;
            stale |= id_is_stale(&search, nl_attr_get_u32(a));
        } else if (type == OVS_KEY_ATTR_IN_PORT) {
            stale |= is_new(aux, nl_attr_get_u32(a));
        }
    }
    *max_id = MAX(*max_id, search.max_id);
    if (!search.max_id) {
        return stale ? FLOW_STALE_ROOT : FLOW_FRESH;
    }
    stale |= !flow->ufid_present;       /* Without a ufid, the flow cannot be
                                         * identified. */
    return (in_chain ? (stale ? FLOW_STALE : FLOW_CHAIN)
            : stale ? FLOW_STALE_ROOT : FLOW_ROOT);
}
