/* SPDX-License-Identifier: Apache-2.0 */

/* The tc side of offload: which rules there are, and what the engine asks to
 * be done with them. */

#include <config.h>
#include "tc/tc-kdp.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "hash.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "offload/kdp-id-fpool.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "packets.h"
#include "random.h"
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

/* Handles. */

static struct kdp_id_fpool *handles;
static uint32_t handles_floor;
static ovsthread_key_t handles_key;     /* struct kdp_id_user. */

static void
return_handles(void *user)
{
    kdp_id_fpool_user_destroy(user);
}

/* The calling thread's user of the pool. */
static struct kdp_id_user *
handles_user(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;
    struct kdp_id_user *user;

    if (ovsthread_once_start(&once)) {
        handles_floor = random_range(KDP_TC_HANDLE_RANGES) * KDP_TC_HANDLE_N;
        handles_floor += KDP_TC_HANDLE_FIRST;
        handles = kdp_id_fpool_create(handles_floor, KDP_TC_HANDLE_N, 0);
        ovsthread_key_create(&handles_key, return_handles);
        ovsthread_once_done(&once);
    }
    user = ovsthread_getspecific(handles_key);
    if (!user) {
        user = kdp_id_fpool_user_create(handles);
        ovsthread_setspecific(handles_key, user);
    }
    return user;
}

bool
kdp_tc_is_own_handle(uint32_t handle)
{
    handles_user();
    return handle - handles_floor < KDP_TC_HANDLE_N;
}

/* Rules. */

void
kdp_tc_init(struct kdp_tc *tc, bool recirc_sharing)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    tc->dpif_type = dpif_normalize_type(dpif_netlink_kdp_class.type);
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
        kdp_id_fpool_free_id(handles_user(), rule->id.handle);
    }
    free(rule);
}

/* Forgets the rule of 'ufid' that is called 'id'.  Unless 'return_handle', its
 * handle is not used again. */
static void
rule_remove(struct kdp_tc *tc, const ovs_u128 *ufid,
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

/* Stores what is known of the rule of 'ufid' in '*copy'.  Returns false if
 * there is none. */
static bool
rule_get(struct kdp_tc *tc, const ovs_u128 *ufid, struct rule *copy)
{
    const struct rule *rule;

    ovs_mutex_lock(&tc->mutex);
    rule = rule_find(tc, ufid);
    if (rule) {
        *copy = *rule;
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
            list->rules[list->n_rules++] = (struct kdp_tc_listed) {
                .ufid = rule->ufid,
                .id = rule->id,
                .port_no = rule->port_no,
                .overhead = rule->overhead,
            };
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

/* Operations. */

/* Do all ports that 'actions' send to exist for tc? */
static bool
outputs_are_known(const struct kdp_tc *tc, const struct nlattr *actions,
                  size_t len)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, len) {
        if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT) {
            struct netdev *netdev = netdev_ports_get(nl_attr_get_odp_port(a),
                                                     tc->dpif_type);

            if (!netdev) {
                return false;
            }
            netdev_close(netdev);
        }
    }
    return true;
}

/* Translates 'desc' into '*request'. */
static int
prepare_add(const struct kdp_tc *tc, const struct offload_desc *desc,
            struct kdp_tc_request *request)
{
    struct netdev *netdev;
    int error;

    if (!tc->recirc_sharing && (desc->recirc_id || desc->n_children)) {
        return EOPNOTSUPP;
    }
    if (!outputs_are_known(tc, desc->actions, desc->actions_len)) {
        /* One of them is coming or going, which says nothing about flows of
         * that kind. */
        return EAGAIN;
    }
    netdev = netdev_ports_get(u32_to_odp(desc->in_port), tc->dpif_type);
    if (!netdev) {
        return ENODEV;
    }
    error = kdp_tc_translate(netdev, desc, tc->recirc_sharing, &request->rule,
                             &request->id);
    netdev_close(netdev);
    if (!error && !kdp_id_fpool_new_id(handles_user(), &request->id.handle)) {
        ofpbuf_delete(request->rule);
        error = ENOSPC;
    }
    return error;
}

/* An operation under way. */
struct pending {
    struct offload_copy_op *op;
    struct kdp_tc_request request;
    uint16_t overhead;          /* DEL, GET. */
    bool handle_taken;          /* PUT: the handle may be another rule's. */
};

/* Deletes the rule that 'ufid' still has, because that failed when the engine
 * wanted it deleted.  Returns 0, also if there is none, or a positive errno
 * value. */
static int
delete_leaked(struct kdp_tc *tc, const ovs_u128 *ufid)
{
    struct kdp_tc_request request = { .type = KDP_TC_DEL };
    struct rule rule;

    if (!rule_get(tc, ufid, &rule)) {
        return 0;
    }
    request.id = rule.id;
    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    if (request.error && request.error != ENOENT && request.error != ENODEV) {
        return request.error;
    }
    rule_remove(tc, ufid, &rule.id, true);
    return 0;
}

/* Makes the request of 'pending->op'.  Returns false if the outcome is known
 * already. */
static bool
prepare(struct kdp_tc *tc, struct pending *pending)
{
    struct kdp_tc_request *request = &pending->request;
    struct offload_copy_op *op = pending->op;
    struct rule rule;

    op->stats = (struct offload_stats) { .n_packets = 0 };
    op->in_hw = false;
    pending->handle_taken = false;
    if (op->type == OFFLOAD_COPY_PUT) {
        request->type = KDP_TC_ADD;
        op->error = delete_leaked(tc, &op->ufid);
        if (!op->error) {
            op->error = prepare_add(tc, op->desc, request);
        }
        if (!op->error) {
            /* Packets may meet the rule before the answer comes: who asks
             * meanwhile has to find it. */
            kdp_tc_insert(tc, &op->ufid, op->desc->in_port, &request->id,
                          op->desc, true);
        }
    } else {
        request->type = (op->type == OFFLOAD_COPY_DEL ? KDP_TC_DEL
                         : KDP_TC_GET);
        op->error = ENOENT;
        if (rule_get(tc, &op->ufid, &rule)) {
            request->id = rule.id;
            pending->overhead = rule.overhead;
            op->error = 0;
        }
    }
    return !op->error;
}

/* May the rule that 'request' was to add be there although that failed?  It
 * may if the answer was lost: then the request was sent again, and found the
 * rule in its way, or the error is not tc's. */
static bool
is_in_doubt(const struct kdp_tc_request *request)
{
    switch (request->error) {
    case 0:
    case EINVAL:
    case ENODEV:
    case ENOENT:
    case ENOSPC:
    case EOPNOTSUPP:
    case EPERM:
        return false;
    default:
        return true;
    }
}

/* Asks whether the rule of 'pending', to add which failed, is there. */
static void
resolve_doubt(struct pending *pending)
{
    struct kdp_tc_request get = {
        .type = KDP_TC_GET, .id = pending->request.id,
    };

    kdp_tc_transact((struct kdp_tc_request *[]) { &get }, 1);
    if (!get.error && ovs_u128_equals(get.reply.ufid, pending->op->ufid)) {
        pending->request.error = 0;
    } else {
        pending->handle_taken = get.error != ENOENT;
    }
}

/* Makes a request without a reply about flow 'ufid' one that has not found
 * the rule.  Its name may be another's by now, and the reply may be lost: what
 * was seen last is better than nothing then. */
static void
check_reply(struct kdp_tc_request *request, const ovs_u128 *ufid)
{
    if (!request->error && !ovs_u128_equals(request->reply.ufid, *ufid)) {
        memset(&request->reply, 0, sizeof request->reply);
        request->error = ENOENT;
    }
}

static void
commit(struct kdp_tc *tc, struct pending *pending)
{
    struct kdp_tc_request *request = &pending->request;
    struct offload_copy_op *op = pending->op;

    if (op->type != OFFLOAD_COPY_PUT) {
        check_reply(request, &op->ufid);
    } else if (is_in_doubt(request)) {
        resolve_doubt(pending);
    }
    op->error = request->error;
    switch (op->type) {
    case OFFLOAD_COPY_PUT:
        if (op->error) {
            rule_remove(tc, &op->ufid, &request->id, !pending->handle_taken);
        }
        ofpbuf_delete(request->rule);
        break;
    case OFFLOAD_COPY_DEL:
        op->stats = kdp_tc_stats(&request->reply, pending->overhead);
        if (!op->error || op->error == ENOENT || op->error == ENODEV) {
            rule_remove(tc, &op->ufid, &request->id, true);
        }
        break;
    case OFFLOAD_COPY_GET:
    default:
        op->stats = kdp_tc_stats(&request->reply, pending->overhead);
        op->in_hw = request->reply.in_hw;
        break;
    }
}

/* Has an insertion failed because the place for rules is gone?  Then adds it
 * again and returns true. */
static bool
restore_place(const struct kdp_tc *tc, const struct pending *pending)
{
    bool restored = false;
    struct netdev *netdev;

    if (pending->request.type == KDP_TC_ADD
        && (pending->request.error == EINVAL
            || pending->request.error == ENOENT)) {
        netdev = netdev_ports_get(u32_to_odp(pending->op->desc->in_port),
                                  tc->dpif_type);
        if (netdev) {
            restored = kdp_offload_api_restore(netdev);
            netdev_close(netdev);
        }
    }
    return restored;
}

/* Tries insertions again that failed because the place for rules was gone.
 * (Others of the batch find it there.) */
static void
retry_batch(const struct kdp_tc *tc, struct pending pending[], size_t n)
{
    struct kdp_tc_request *requests[KDP_TC_BATCH];
    bool restored = false;
    size_t n_requests = 0;

    for (size_t i = 0; i < n; i++) {
        restored |= restore_place(tc, &pending[i]);
    }
    for (size_t i = 0; restored && i < n; i++) {
        struct kdp_tc_request *request = &pending[i].request;

        if (request->type == KDP_TC_ADD && request->error) {
            requests[n_requests++] = request;
        }
    }
    kdp_tc_transact(requests, n_requests);
}

/* Does at most KDP_TC_BATCH operations. */
static void
operate_batch(struct kdp_tc *tc, struct offload_copy_op *ops[], size_t n)
{
    struct pending *pending = xmalloc(n * sizeof *pending);
    struct kdp_tc_request *requests[KDP_TC_BATCH];
    size_t n_pending = 0;

    for (size_t i = 0; i < n; i++) {
        pending[n_pending].op = ops[i];
        if (prepare(tc, &pending[n_pending])) {
            requests[n_pending] = &pending[n_pending].request;
            n_pending++;
        }
    }
    kdp_tc_transact(requests, n_pending);
    retry_batch(tc, pending, n_pending);
    for (size_t i = 0; i < n_pending; i++) {
        commit(tc, &pending[i]);
    }
    free(pending);
}

static void
tc_operate(void *tc, struct offload_copy_op *ops[], size_t n)
{
    while (n) {
        size_t chunk = MIN(n, KDP_TC_BATCH);

        operate_batch(tc, ops, chunk);
        ops += chunk;
        n -= chunk;
    }
}

struct offload_backend
kdp_tc_backend(struct kdp_tc *tc)
{
    return (struct offload_backend) {
        .operate = tc_operate,
        .dump = kdp_tc_adopt,
        .flush = kdp_tc_flush,
        .aux = tc,
    };
}
