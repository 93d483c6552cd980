/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-rules.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "hash.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "packets.h"
#include "tc.h"
#include "tc/tc-handle.h"
#include "timeval.h"
#include "util.h"

/* A rule of ours. */
struct rule {
    struct hmap_node node;      /* In kdp_tc->rules, by ufid. */
    ovs_u128 ufid;
    uint32_t port_no;           /* Input port. */
    bool own_handle;            /* From the pool of handles. */
    uint16_t overhead;          /* For kdp_tc_stats(). */
    bool in_hw;                 /* When it was read last. */
    struct kdp_tc_id id;
    struct count *count;        /* Of its device. */
};

/* Number of rules on a device, or on the members of a bond. */
struct count {
    struct hmap_node node;      /* In kdp_tc->counts, by ifindex. */
    int ifindex;
    uint64_t n;
    uint64_t n_in_hw;           /* Found in the device when read last. */
    bool listed;                /* Within kdp_tc_list(). */
};

void
kdp_tc_init(struct kdp_tc *tc, const char *dpif_type, bool recirc_sharing)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    tc->dpif_type = dpif_type;
    tc->recirc_sharing = recirc_sharing;
    atomic_init(&tc->count_headers, false);
    atomic_init(&tc->dump_after, 0);
    ovs_mutex_init(&tc->actions_mutex);
    tc->loaded_actions = false;
    ovs_mutex_init(&tc->mutex);
    hmap_init(&tc->rules);
    hmap_init(&tc->counts);
}

/* Forgets all rules, which stay where they are. */
void
kdp_tc_destroy(struct kdp_tc *tc)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct count *count;
    struct rule *rule;

    HMAP_FOR_EACH_POP (rule, node, &tc->rules) {
        free(rule);
    }
    hmap_destroy(&tc->rules);
    HMAP_FOR_EACH_POP (count, node, &tc->counts) {
        free(count);
    }
    hmap_destroy(&tc->counts);
    ovs_mutex_destroy(&tc->mutex);
    ovs_mutex_destroy(&tc->actions_mutex);
}

static uint32_t
ufid_hash(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

static struct rule *
rule_find(struct kdp_tc *tc, const ovs_u128 *ufid)
    OVS_REQUIRES(tc->mutex)
{
    struct rule *rule;

    HMAP_FOR_EACH_WITH_HASH (rule, node, ufid_hash(ufid), &tc->rules) {
        if (ovs_u128_equals(rule->ufid, *ufid)) {
            return rule;
        }
    }
    return NULL;
}

/* The device that rule 'id' is counted for.  Members of a bond share a block
 * whose number is the interface index of the bond. */
static int
device_of(const struct kdp_tc_id *id)
{
    return (id->ifindex == (int) TCM_IFINDEX_MAGIC_BLOCK ? (int) id->parent
            : id->ifindex);
}

static struct count *
count_find(struct kdp_tc *tc, int ifindex)
    OVS_REQUIRES(tc->mutex)
{
    struct count *count;

    HMAP_FOR_EACH_WITH_HASH (count, node, hash_int(ifindex, 0), &tc->counts) {
        if (count->ifindex == ifindex) {
            return count;
        }
    }
    return NULL;
}

/* Counts 'rule', which becomes one of the rules. */
static void
count_inc(struct kdp_tc *tc, struct rule *rule)
    OVS_REQUIRES(tc->mutex)
{
    int ifindex = device_of(&rule->id);
    struct count *count = count_find(tc, ifindex);

    if (!count) {
        count = xzalloc(sizeof *count);
        count->ifindex = ifindex;
        hmap_insert(&tc->counts, &count->node, hash_int(ifindex, 0));
    }

    /* Where others are in the device, this one will be, too. */
    rule->in_hw = count->n_in_hw > 0;
    rule->count = count;
    count->n++;
    count->n_in_hw += rule->in_hw;
}

/* Likewise, for one that is none any more. */
static void
count_dec(struct kdp_tc *tc, struct rule *rule)
    OVS_REQUIRES(tc->mutex)
{
    struct count *count = rule->count;

    count->n_in_hw -= rule->in_hw;
    if (!--count->n) {
        hmap_remove(&tc->counts, &count->node);
        free(count);
    }
}

uint64_t
kdp_tc_count(struct kdp_tc *tc, int ifindex)
{
    const struct count *count;
    uint64_t n;

    ovs_mutex_lock(&tc->mutex);
    count = count_find(tc, ifindex);
    n = count ? count->n : 0;
    ovs_mutex_unlock(&tc->mutex);
    return n;
}

uint16_t
kdp_tc_overhead(struct kdp_tc *tc, const struct offload_desc *desc,
                const struct kdp_tc_id *id)
{
    const struct nlattr *vlan;
    uint16_t overhead = 0;
    bool count_headers;

    atomic_read_relaxed(&tc->count_headers, &count_headers);
    if (!count_headers) {
        return 0;
    }
    vlan = nl_attr_find__(desc->key, desc->key_len, OVS_KEY_ATTR_VLAN);
    if (id->parent != TC_EGRESS_PARENT
        && nl_attr_find__(desc->key, desc->key_len, OVS_KEY_ATTR_ETHERNET)) {
        overhead += ETH_HEADER_LEN;
    }
    if (vlan && nl_attr_get_size(vlan) == sizeof(ovs_be16)
        && nl_attr_get_be16(vlan) & htons(VLAN_CFI)) {
        overhead += VLAN_HEADER_LEN;
    }
    return overhead;
}

struct offload_stats
kdp_tc_stats(const struct kdp_tc_rule *rule, uint16_t overhead)
{
    struct offload_stats stats = rule->stats;

    stats.n_bytes += rule->n_sw_packets * overhead;
    return stats;
}

uint16_t
kdp_tc_insert(struct kdp_tc *tc, const ovs_u128 *ufid, uint32_t port_no,
              const struct kdp_tc_id *id, const struct offload_desc *desc,
              bool own_handle)
{
    uint16_t overhead = desc ? kdp_tc_overhead(tc, desc, id) : 0;
    struct rule *rule = xzalloc(sizeof *rule);

    rule->ufid = *ufid;
    rule->port_no = port_no;
    rule->own_handle = own_handle;
    rule->overhead = overhead;
    rule->id = *id;
    ovs_mutex_lock(&tc->mutex);
    hmap_insert(&tc->rules, &rule->node, ufid_hash(ufid));
    count_inc(tc, rule);
    ovs_mutex_unlock(&tc->mutex);
    return overhead;
}

static void
rule_remove__(struct kdp_tc *tc, struct rule *rule)
    OVS_REQUIRES(tc->mutex)
{
    hmap_remove(&tc->rules, &rule->node);
    count_dec(tc, rule);
    if (rule->own_handle) {
        kdp_tc_handle_free(rule->id.handle);
    }
    free(rule);
}

void
kdp_tc_remove(struct kdp_tc *tc, const ovs_u128 *ufid,
              const struct kdp_tc_id *id, bool return_handle)
{
    struct rule *rule;

    ovs_mutex_lock(&tc->mutex);
    HMAP_FOR_EACH_WITH_HASH (rule, node, ufid_hash(ufid), &tc->rules) {
        if (ovs_u128_equals(rule->ufid, *ufid)
            && rule->id.handle == id->handle) {
            rule->own_handle = rule->own_handle && return_handle;
            rule_remove__(tc, rule);
            break;
        }
    }
    ovs_mutex_unlock(&tc->mutex);
}

/* What is known of 'rule'. */
static struct kdp_tc_listed
describe(const struct rule *rule)
{
    return (struct kdp_tc_listed) {
        .ufid = rule->ufid,
        .id = rule->id,
        .port_no = rule->port_no,
        .overhead = rule->overhead,
    };
}

bool
kdp_tc_lookup(struct kdp_tc *tc, const ovs_u128 *ufid,
              struct kdp_tc_listed *listed)
{
    const struct rule *rule;

    ovs_mutex_lock(&tc->mutex);
    rule = rule_find(tc, ufid);
    if (rule) {
        *listed = describe(rule);
    }
    ovs_mutex_unlock(&tc->mutex);
    return rule != NULL;
}

uint16_t
kdp_tc_saw(struct kdp_tc *tc, const ovs_u128 *ufid, bool in_hw)
{
    uint16_t overhead = 0;
    struct rule *rule;

    ovs_mutex_lock(&tc->mutex);
    rule = rule_find(tc, ufid);
    if (rule) {
        rule->count->n_in_hw += in_hw - rule->in_hw;
        rule->in_hw = in_hw;
        overhead = rule->overhead;
    }
    ovs_mutex_unlock(&tc->mutex);
    return overhead;
}

void
kdp_tc_list(struct kdp_tc *tc, uint64_t n_dump, struct kdp_tc_list *list)
{
    struct count *count;
    struct rule *rule;

    ovs_mutex_lock(&tc->mutex);
    *list = (struct kdp_tc_list) {
        .rules = xmalloc(hmap_count(&tc->rules) * sizeof *list->rules),
        .devices = xmalloc(hmap_count(&tc->counts) * sizeof *list->devices),
    };
    HMAP_FOR_EACH (rule, node, &tc->rules) {
        count = rule->count;
        if (!count->n_in_hw && count->n < n_dump) {
            list->rules[list->n_rules++] = describe(rule);
        } else if (!count->listed) {
            count->listed = true;
            list->devices[list->n_devices++] = (struct kdp_tc_device) {
                .port_no = rule->port_no,
                .in_hw = count->n_in_hw > 0,
            };
        }
    }
    HMAP_FOR_EACH (count, node, &tc->counts) {
        count->listed = false;
    }
    ovs_mutex_unlock(&tc->mutex);
}

void
kdp_tc_list_uninit(struct kdp_tc_list *list)
{
    free(list->rules);
    free(list->devices);
}

bool
kdp_tc_may_dump(struct kdp_tc *tc)
{
    long long int dump_after;

    atomic_read_relaxed(&tc->dump_after, &dump_after);
    return time_msec() >= dump_after;
}

void
kdp_tc_dump_waited(struct kdp_tc *tc, long long int duration)
{
    if (duration >= KDP_TC_SLOW_DUMP) {
        atomic_store_relaxed(&tc->dump_after,
                             time_msec() + KDP_TC_DUMP_PAUSE);
    }
}

void
kdp_tc_forget_port(struct kdp_tc *tc, uint32_t port_no)
{
    struct rule *rule;

    ovs_mutex_lock(&tc->mutex);
    HMAP_FOR_EACH_SAFE (rule, node, &tc->rules) {
        if (rule->port_no == port_no) {
            rule_remove__(tc, rule);
        }
    }
    ovs_mutex_unlock(&tc->mutex);
}
