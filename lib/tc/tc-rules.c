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
#include "util.h"

/* Most devices that are counted for a rule: the members of a bond, and maybe
 * devices where tunnels end. */
#define MAX_DEVICES 8

enum phase {
    BLANK,
    SET,                        /* It may be in tc. */
    REMOVED,
};

/* A rule of ours. */
struct rule {
    struct offload_rule up;
    struct kdp_tc *tc;
    atomic_uint phase;          /* enum phase.  The release store of SET pairs
                                 * with the acquire of a thread that reads the
                                 * following members. */
    uint32_t port_no;           /* Input port. */
    uint16_t overhead;          /* For kdp_tc_stats(). */
    struct kdp_tc_id id;
    struct count *count;        /* Of its device. */

    atomic_uint n_devices;      /* Devices that had it when it was last read,
                                 * at most MAX_DEVICES.  Written with
                                 * tc->mutex. */
    bool own_handle;            /* From the pool of handles; guarded by the
                                 * caller that changes the rule. */
};

/* Number of rules on a device, or on the members of a bond. */
struct count {
    struct hmap_node node;      /* In kdp_tc->counts, by ifindex. */
    int ifindex;
    struct tcf_id place;        /* Constant. */
    unsigned int n_refs;        /* Rules, removed ones included.  Guarded by
                                 * tc->mutex. */

    /* Written with tc->mutex.  Number of rules, and the same by the number of
     * devices that had them when they were last read. */
    atomic_uint64_t n;
    atomic_uint64_t n_by_devices[MAX_DEVICES + 1];
};

/* All "struct kdp_tc". */
static struct ovs_mutex all_mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list all_tcs OVS_GUARDED_BY(all_mutex)
    = OVS_LIST_INITIALIZER(&all_tcs);

static struct rule *
rule_cast(const struct offload_rule *rule)
{
    return CONTAINER_OF(CONST_CAST(struct offload_rule *, rule), struct rule,
                        up);
}

void
kdp_tc_init(struct kdp_tc *tc, const char *dpif_type, bool recirc_sharing)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    tc->dpif_type = dpif_type;
    tc->recirc_sharing = recirc_sharing;
    atomic_init(&tc->count_headers, false);
    tc->begin = NULL;
    ovs_mutex_init(&tc->begin_mutex);
    tc->begun = false;
    ovs_mutex_init(&tc->mutex);
    hmap_init(&tc->counts);
    ovs_mutex_lock(&all_mutex);
    ovs_list_push_back(&all_tcs, &tc->node);
    ovs_mutex_unlock(&all_mutex);
}

void
kdp_tc_destroy(struct kdp_tc *tc)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_lock(&all_mutex);
    ovs_list_remove(&tc->node);
    ovs_mutex_unlock(&all_mutex);
    ovs_assert(hmap_is_empty(&tc->counts));
    hmap_destroy(&tc->counts);
    ovs_mutex_destroy(&tc->mutex);
    ovs_mutex_destroy(&tc->begin_mutex);
}

/* Returns the device for which rule 'id' counts.  Members of a bond share a
 * block whose number is the interface index of the bond. */
static int
device_of(const struct kdp_tc_id *id)
{
    return (id->ifindex == (int) TCM_IFINDEX_MAGIC_BLOCK ? (int) id->parent
            : id->ifindex);
}

/* Returns the place of rule 'id', to list the rules there. */
static struct tcf_id
place_of(const struct kdp_tc_id *id)
{
    bool shared = id->ifindex == (int) TCM_IFINDEX_MAGIC_BLOCK;

    return tc_make_tcf_id(device_of(id), shared ? id->parent : 0, 0,
                          (!shared && id->parent == TC_EGRESS_PARENT
                           ? TC_EGRESS : TC_INGRESS));
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

static uint64_t
get(const atomic_uint64_t *n_)
{
    uint64_t n;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, n_), &n);
    return n;
}

/* The caller holds tc->mutex. */
static void
add(atomic_uint64_t *n, int64_t diff)
{
    atomic_store_relaxed(n, get(n) + diff);
}

/* Returns the largest number of devices that have a rule of 'count'. */
static unsigned int
most_devices(const struct count *count)
{
    unsigned int i;

    for (i = MAX_DEVICES; i > 0 && !get(&count->n_by_devices[i]); i--) {
        continue;
    }
    return i;
}

/* Adds 'rule' to the counts. */
static void
count_inc(struct kdp_tc *tc, struct rule *rule)
    OVS_REQUIRES(tc->mutex)
{
    int ifindex = device_of(&rule->id);
    struct count *count = count_find(tc, ifindex);
    unsigned int n_devices;

    if (!count) {
        count = xzalloc(sizeof *count);
        count->ifindex = ifindex;
        count->place = place_of(&rule->id);
        hmap_insert(&tc->counts, &count->node, hash_int(ifindex, 0));
    }

    /* If others are in the device, this one will be, too. */
    n_devices = most_devices(count);
    atomic_store_relaxed(&rule->n_devices, n_devices);
    rule->count = count;
    count->n_refs++;
    add(&count->n, 1);
    add(&count->n_by_devices[n_devices], 1);
}

/* Removes 'rule' from the counts. */
static void
count_dec(struct rule *rule)
    OVS_REQUIRES(rule->tc->mutex)
{
    unsigned int n_devices;

    atomic_read_relaxed(&rule->n_devices, &n_devices);
    add(&rule->count->n, -1);
    add(&rule->count->n_by_devices[n_devices], -1);
}

static void
count_unref(struct kdp_tc *tc, struct count *count)
    OVS_REQUIRES(tc->mutex)
{
    if (!--count->n_refs) {
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
    n = count ? get(&count->n) : 0;
    ovs_mutex_unlock(&tc->mutex);
    return n;
}

bool
kdp_tc_others_have_rules(const struct kdp_tc *tc, int ifindex)
{
    struct kdp_tc *other;
    bool have = false;

    ovs_mutex_lock(&all_mutex);
    LIST_FOR_EACH (other, node, &all_tcs) {
        have = have || (other != tc && kdp_tc_count(other, ifindex));
    }
    ovs_mutex_unlock(&all_mutex);
    return have;
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

static bool
rule_is_set(const struct rule *rule)
{
    unsigned int phase;

    /* Acquire: see struct rule. */
    atomic_read_explicit(&CONST_CAST(struct rule *, rule)->phase, &phase,
                         memory_order_acquire);
    return phase == SET;
}

static void
rule_destroy(struct offload_rule *rule_)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct rule *rule = rule_cast(rule_);
    struct kdp_tc *tc = rule->tc;

    if (rule->count) {
        bool is_set = rule_is_set(rule);

        ovs_mutex_lock(&tc->mutex);
        if (is_set) {
            count_dec(rule);
        }
        count_unref(tc, rule->count);
        ovs_mutex_unlock(&tc->mutex);
        if (is_set && rule->own_handle) {
            kdp_tc_handle_free(rule->id.handle);
        }
    }
    free(rule);
}

struct offload_rule *
kdp_tc_rule_create(void *tc)
{
    struct rule *rule = xzalloc(sizeof *rule);

    offload_rule_init(&rule->up, rule_destroy);
    rule->tc = tc;
    atomic_init(&rule->phase, BLANK);
    atomic_init(&rule->n_devices, 0);
    return &rule->up;
}

uint16_t
kdp_tc_rule_set(struct offload_rule *rule_, uint32_t port_no,
                const struct kdp_tc_id *id, const struct offload_desc *desc,
                bool own_handle)
{
    struct rule *rule = rule_cast(rule_);
    struct kdp_tc *tc = rule->tc;

    rule->port_no = port_no;
    rule->own_handle = own_handle;
    rule->overhead = desc ? kdp_tc_overhead(tc, desc, id) : 0;
    rule->id = *id;
    ovs_mutex_lock(&tc->mutex);
    count_inc(tc, rule);
    ovs_mutex_unlock(&tc->mutex);

    /* Release: see struct rule. */
    atomic_store_explicit(&rule->phase, SET, memory_order_release);
    return rule->overhead;
}

void
kdp_tc_rule_removed(struct offload_rule *rule_, bool return_handle)
{
    struct rule *rule = rule_cast(rule_);

    if (!rule_is_set(rule)) {
        return;
    }
    ovs_mutex_lock(&rule->tc->mutex);
    atomic_store_relaxed(&rule->phase, REMOVED);
    count_dec(rule);
    ovs_mutex_unlock(&rule->tc->mutex);
    if (rule->own_handle && return_handle) {
        kdp_tc_handle_free(rule->id.handle);
    }
}

bool
kdp_tc_rule_is_same(const struct offload_rule *a_,
                    const struct offload_rule *b_)
{
    const struct rule *a = rule_cast(a_), *b = rule_cast(b_);

    return (rule_is_set(a) && rule_is_set(b)
            && kdp_tc_id_equals(&a->id, &b->id));
}

bool
kdp_tc_rule_get(const struct offload_rule *rule_, struct kdp_tc_known *known)
{
    const struct rule *rule = rule_cast(rule_);

    if (!rule_is_set(rule)) {
        return false;
    }
    *known = (struct kdp_tc_known) {
        .id = rule->id,
        .port_no = rule->port_no,
        .overhead = rule->overhead,
    };
    return true;
}

/* Sets the number of devices that have 'rule' to 'n'. */
static void
set_devices(struct rule *rule, unsigned int n)
    OVS_REQUIRES(rule->tc->mutex)
{
    unsigned int old;

    atomic_read_relaxed(&rule->n_devices, &old);
    atomic_store_relaxed(&rule->n_devices, n);
    add(&rule->count->n_by_devices[old], -1);
    add(&rule->count->n_by_devices[n], 1);
}

enum offload_hw
kdp_tc_rule_saw(struct offload_rule *rule_, const struct kdp_tc_rule *listed)
{
    struct rule *rule = rule_cast(rule_);
    unsigned int before, n;

    if (!rule_is_set(rule)) {
        return OFFLOAD_HW_UNKNOWN;
    }
    atomic_read_relaxed(&rule->n_devices, &before);
    n = (!listed->in_hw ? 0
         : listed->n_devices ? MIN(listed->n_devices, MAX_DEVICES)
         : MAX(before, 1));
    if (n != before) {
        /* This is rare.  Another thread may change or remove it meanwhile. */
        ovs_mutex_lock(&rule->tc->mutex);
        if (rule_is_set(rule)) {
            set_devices(rule, n);
        }
        ovs_mutex_unlock(&rule->tc->mutex);
    }
    return (!n ? OFFLOAD_HW_NONE
            : n < most_devices(rule->count) ? OFFLOAD_HW_PARTLY
            : OFFLOAD_HW_ALL);
}

size_t
kdp_tc_places_in_hw(struct kdp_tc *tc, struct tcf_id **places)
{
    const struct count *count;
    size_t n = 0;

    ovs_mutex_lock(&tc->mutex);
    *places = xcalloc(hmap_count(&tc->counts) + 1, sizeof **places);
    HMAP_FOR_EACH (count, node, &tc->counts) {
        if (most_devices(count)) {
            (*places)[n++] = count->place;
        }
    }
    ovs_mutex_unlock(&tc->mutex);
    return n;
}
