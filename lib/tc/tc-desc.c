/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-desc.h"

#include "hash.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "offload/offload-backend.h"
#include "packets.h"
#include "util.h"

/* More deeply nested actions are ignored: the kernel does not accept them
 * (COPY_ACTIONS_MAX_DEPTH of Linux 6.1). */
#define MAX_DEPTH 16

/* Most chains that one flow recirculates to.  tc would refuse flows with more,
 * and ignoring some of their chains only means that they wait longer. */
#define MAX_CHILDREN 64

/* Most ports that one flow sends to.  tc accepts no more than 32 actions
 * (TCA_ACT_MAX_PRIO), so for flows with more ports it does not matter. */
#define MAX_OUTPUTS 32

/* Bytes of a field that the hash of a match covers.  The rest of longer
 * fields, such as labels of tunnels, makes no difference. */
#define MAX_FIELD 64

/* What is known about a flow so far. */
struct gathered {
    uint32_t hash;
    bool has_meter;
    uint32_t outputs[MAX_OUTPUTS];
    size_t n_outputs;
    uint32_t children[MAX_CHILDREN];
    size_t n_children;
};

static void
add_hash(struct gathered *gathered, uint32_t value)
{
    gathered->hash = hash_add(gathered->hash, value);
}

static void
add_bytes(struct gathered *gathered, const void *bytes, size_t n)
{
    gathered->hash = hash_bytes(bytes, n, gathered->hash);
}

/* Does the value of attribute 'type' matter to a driver, in a tunnel from
 * which packets come, or into which they are 'sent'?  The driver looks up the
 * device of the local address, and the route if packets are sent, and a card
 * knows some UDP ports.  The VNI and other values that differ between flows
 * are only compared or copied. */
static bool
is_decisive(enum ovs_tunnel_key_attr type, bool sent)
{
    return (type == OVS_TUNNEL_KEY_ATTR_IPV4_DST
            || type == OVS_TUNNEL_KEY_ATTR_IPV6_DST
            || type == OVS_TUNNEL_KEY_ATTR_TP_DST
            || (sent && (type == OVS_TUNNEL_KEY_ATTR_IPV4_SRC
                         || type == OVS_TUNNEL_KEY_ATTR_IPV6_SRC)));
}

/* Adds the attributes of a tunnel that may matter to a device. */
static void
gather_tunnel(struct gathered *gathered, const struct nlattr *tunnel,
              bool sent)
{
    const struct nlattr *a;
    size_t left;

    NL_NESTED_FOR_EACH (a, left, tunnel) {
        enum ovs_tunnel_key_attr type = nl_attr_type(a);

        add_hash(gathered, type);
        if (is_decisive(type, sent)) {
            add_bytes(gathered, nl_attr_get(a), nl_attr_get_size(a));
        } else if (type == OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS) {
            add_hash(gathered, nl_attr_get_size(a));
        }
    }
}

/* Adds the parts of the key 'attrs' that may matter to a device: which fields
 * there are, whether they are zero, and protocols.  The mask says which bits
 * count. */
static void
gather_key(struct gathered *gathered, const struct nlattr *attrs, size_t len,
           int depth)
{
    const struct nlattr *a;
    size_t left;

    if (!depth) {
        return;
    }
    NL_ATTR_FOR_EACH (a, left, attrs, len) {
        enum ovs_key_attr type = nl_attr_type(a);
        size_t size = nl_attr_get_size(a);

        add_hash(gathered, type);
        if (type == OVS_KEY_ATTR_ENCAP) {
            gather_key(gathered, nl_attr_get(a), size, depth - 1);
            continue;
        }
        if (type == OVS_KEY_ATTR_TUNNEL) {
            gather_tunnel(gathered, a, false);
            continue;
        }
        add_hash(gathered, is_all_zeros(nl_attr_get(a), size));
        if (type == OVS_KEY_ATTR_CT_STATE) {
            /* Cards support some combinations of states. */
            add_bytes(gathered, nl_attr_get(a), size);
        } else if (type == OVS_KEY_ATTR_ETHERTYPE
                   && size == sizeof(ovs_be16)) {
            add_hash(gathered, (OVS_FORCE uint16_t) nl_attr_get_be16(a));
        } else if (type == OVS_KEY_ATTR_IPV4
                   && size == sizeof(struct ovs_key_ipv4)) {
            const struct ovs_key_ipv4 *ip = nl_attr_get(a);

            add_hash(gathered, ip->ipv4_proto << 8 | ip->ipv4_frag);
        } else if (type == OVS_KEY_ATTR_IPV6
                   && size == sizeof(struct ovs_key_ipv6)) {
            const struct ovs_key_ipv6 *ip = nl_attr_get(a);

            add_hash(gathered, ip->ipv6_proto << 8 | ip->ipv6_frag);
        }
    }
}

static void gather_actions(struct gathered *, const struct nlattr *actions,
                           size_t len, int depth);

/* Adds the nested actions of an action, which are in its attributes of type
 * 'first' or 'second'. */
static void
gather_branches(struct gathered *gathered, const struct nlattr *action,
                int first, int second, int depth)
{
    const struct nlattr *a;
    size_t left;

    NL_NESTED_FOR_EACH (a, left, action) {
        if (nl_attr_type(a) == first || nl_attr_type(a) == second) {
            gather_actions(gathered, nl_attr_get(a), nl_attr_get_size(a),
                           depth - 1);
        }
    }
}

/* Adds the types of the attributes in 'nest', and of those nested in its
 * attribute of type 'inner', which is never 0. */
static void
gather_types(struct gathered *gathered, const struct nlattr *nest, int inner)
{
    const struct nlattr *a;
    size_t left;

    NL_NESTED_FOR_EACH (a, left, nest) {
        add_hash(gathered, nl_attr_type(a));
        if (inner && nl_attr_type(a) == inner) {
            gather_types(gathered, a, 0);
        }
    }
}

/* Adds the field that the action sets, and its mask if it is 'masked'. */
static void
gather_set(struct gathered *gathered, const struct nlattr *action,
           bool masked)
{
    const struct nlattr *a = nl_attr_get(action);
    size_t size;

    if (!nl_attr_is_valid(a, nl_attr_get_size(action))) {
        return;
    }
    add_hash(gathered, nl_attr_type(a));
    size = nl_attr_get_size(a);
    if (nl_attr_type(a) == OVS_KEY_ATTR_TUNNEL) {
        gather_tunnel(gathered, a, true);
    } else if (masked) {
        add_bytes(gathered, (const char *) nl_attr_get(a) + size / 2,
                  size / 2);
    }
}

static void
gather_action(struct gathered *gathered, const struct nlattr *a, int depth)
{
    enum ovs_action_attr type = nl_attr_type(a);
    const struct ovs_action_push_vlan *vlan;

    add_hash(gathered, type);
    switch (type) {
    case OVS_ACTION_ATTR_OUTPUT:
        /* A device may support only some output ports and meters. */
        add_hash(gathered, nl_attr_get_u32(a));
        if (gathered->n_outputs < MAX_OUTPUTS) {
            gathered->outputs[gathered->n_outputs++] = nl_attr_get_u32(a);
        }
        break;
    case OVS_ACTION_ATTR_METER:
        add_hash(gathered, nl_attr_get_u32(a));
        gathered->has_meter = true;
        break;
    case OVS_ACTION_ATTR_RECIRC:
        if (gathered->n_children < MAX_CHILDREN) {
            gathered->children[gathered->n_children++] = nl_attr_get_u32(a);
        }
        break;
    case OVS_ACTION_ATTR_SAMPLE:
        gather_branches(gathered, a, OVS_SAMPLE_ATTR_ACTIONS,
                        OVS_SAMPLE_ATTR_ACTIONS, depth);
        break;
    case OVS_ACTION_ATTR_CLONE:
        gather_actions(gathered, nl_attr_get(a), nl_attr_get_size(a),
                       depth - 1);
        break;
    case OVS_ACTION_ATTR_CHECK_PKT_LEN:
        gather_branches(gathered, a,
                        OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER,
                        OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL, depth);
        break;
    case OVS_ACTION_ATTR_SET:
    case OVS_ACTION_ATTR_SET_MASKED:
        gather_set(gathered, a, type == OVS_ACTION_ATTR_SET_MASKED);
        break;
    case OVS_ACTION_ATTR_CT:
        gather_types(gathered, a, OVS_CT_ATTR_NAT);
        break;
    case OVS_ACTION_ATTR_PUSH_VLAN:
        if (nl_attr_get_size(a) == sizeof *vlan) {
            vlan = nl_attr_get(a);
            add_hash(gathered, (OVS_FORCE uint16_t) vlan->vlan_tpid);
        }
        break;
    case OVS_ACTION_ATTR_UNSPEC:
    case OVS_ACTION_ATTR_USERSPACE:
    case OVS_ACTION_ATTR_POP_VLAN:
    case OVS_ACTION_ATTR_HASH:
    case OVS_ACTION_ATTR_PUSH_MPLS:
    case OVS_ACTION_ATTR_POP_MPLS:
    case OVS_ACTION_ATTR_TRUNC:
    case OVS_ACTION_ATTR_PUSH_ETH:
    case OVS_ACTION_ATTR_POP_ETH:
    case OVS_ACTION_ATTR_CT_CLEAR:
    case OVS_ACTION_ATTR_PUSH_NSH:
    case OVS_ACTION_ATTR_POP_NSH:
    case OVS_ACTION_ATTR_ADD_MPLS:
    case OVS_ACTION_ATTR_TUNNEL_PUSH:
    case OVS_ACTION_ATTR_TUNNEL_POP:
    case OVS_ACTION_ATTR_DROP:
    case OVS_ACTION_ATTR_LB_OUTPUT:
    case __OVS_ACTION_ATTR_MAX:
    default:
        break;
    }
}

static void
gather_actions(struct gathered *gathered, const struct nlattr *actions,
               size_t len, int depth)
{
    const struct nlattr *a;
    size_t left;

    if (!depth) {
        return;
    }
    NL_ATTR_FOR_EACH (a, left, actions, len) {
        gather_action(gathered, a, depth);
    }
}

/* Attributes, and the position at which the next one is expected. */
struct expectation {
    const struct nlattr *attrs;
    size_t len;
    const struct nlattr *next;
    size_t left;
};

/* Returns the attribute of 'type', or NULL.  Masks have the same fields as
 * their keys in the same order, so that it is usually the next one. */
static const struct nlattr *
find_expected(struct expectation *e, uint16_t type)
{
    const struct nlattr *a = e->next;

    if (!nl_attr_is_valid(a, e->left) || nl_attr_type(a) != type) {
        a = nl_attr_find__(e->attrs, e->len, type);
        if (!a) {
            return NULL;
        }
        e->left = e->len - ((const char *) a - (const char *) e->attrs);
    }
    e->left -= nl_attr_len_pad(a, e->left);
    e->next = nl_attr_next(a);
    return a;
}

/* Returns a hash of field 'a' under mask 'm' and of the mask, or 0 if the mask
 * is zero. */
static uint32_t
hash_field(const struct nlattr *a, const struct nlattr *m)
{
    size_t size = MIN(MIN(nl_attr_get_size(a), nl_attr_get_size(m)),
                      MAX_FIELD);
    const uint8_t *value = nl_attr_get(a);
    const uint8_t *mask = nl_attr_get(m);
    uint8_t field[2 * MAX_FIELD];
    uint8_t any = 0;

    for (size_t i = 0; i < size; i++) {
        field[i] = value[i] & mask[i];
        field[size + i] = mask[i];
        any |= mask[i];
    }
    return any ? hash_bytes(field, 2 * size, nl_attr_type(a)) : 0;
}

/* Returns a hash of the fields of 'key' under 'mask' and of the masks, which
 * does not depend on the order of fields. */
static uint32_t
hash_match(const struct nlattr *key, size_t key_len,
           const struct nlattr *mask, size_t mask_len, int depth)
{
    struct expectation masks = { mask, mask_len, mask, mask_len };
    const struct nlattr *a;
    uint32_t hash = 0;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, key, key_len) {
        enum ovs_key_attr type = nl_attr_type(a);
        const struct nlattr *m = find_expected(&masks, type);

        if (!m) {
            continue;
        }
        if (type != OVS_KEY_ATTR_ENCAP && type != OVS_KEY_ATTR_TUNNEL) {
            hash += hash_field(a, m);
        } else if (depth) {
            hash += hash_add(type, hash_match(
                nl_attr_get(a), nl_attr_get_size(a),
                nl_attr_get(m), nl_attr_get_size(m), depth - 1));
        }
    }
    return hash;
}

static uint32_t
get_u32(const struct nlattr *attrs, size_t len, uint16_t type, uint32_t deflt)
{
    const struct nlattr *a = nl_attr_find__(attrs, len, type);

    return (a && nl_attr_get_size(a) == sizeof(uint32_t)
            ? nl_attr_get_u32(a) : deflt);
}

struct offload_desc *
kdp_tc_desc_create(const ovs_u128 *ufid,
                   const struct nlattr *key, size_t key_len,
                   const struct nlattr *mask, size_t mask_len,
                   const struct nlattr *actions, size_t actions_len)
{
    struct gathered gathered = { .hash = hash_bytes(mask, mask_len, 0) };
    struct offload_desc desc;
    uint32_t recirc_id, spread = 0;

    gather_key(&gathered, key, key_len, MAX_DEPTH);
    gather_actions(&gathered, actions, actions_len, MAX_DEPTH);
    gathered.hash = hash_finish(gathered.hash, key_len);
    recirc_id = get_u32(key, key_len, OVS_KEY_ATTR_RECIRC_ID, 0);
    if (!recirc_id && !gathered.n_children) {
        spread = hash_finish(hash_match(key, key_len, mask, mask_len,
                                        MAX_DEPTH), 0);
        spread = spread ? spread : 1;
    }

    desc = (struct offload_desc) {
        .ufid = *ufid,
        .in_port = get_u32(key, key_len, OVS_KEY_ATTR_IN_PORT, UINT32_MAX),
        .recirc_id = recirc_id,
        .kind = gathered.hash ? gathered.hash : 1,
        .spread = spread,
        .has_meter = gathered.has_meter,
        .outputs = gathered.outputs,
        .n_outputs = gathered.n_outputs,
        .children = gathered.children,
        .n_children = gathered.n_children,
        .key = key,
        .key_len = key_len,
        .mask = mask,
        .mask_len = mask_len,
        .actions = actions,
        .actions_len = actions_len,
    };
    return offload_desc_create(&desc);
}
