/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-prio.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "tc.h"
#include "tc/tc-transact.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_prio);

/* Priorities for protocols whose default one is taken. */
#define FIRST_SPARE 11
#define LAST_SPARE 16

/* A priority that no program has: ours are at most LAST_SPARE or an Ethertype,
 * which is at least 0x05ff, and the kernel chooses from 0xc000 downwards. */
#define NOBODYS 0x05fe

/* Most choices that are remembered.  Devices come and go, and a choice that is
 * no longer needed cannot be recognised.  At the limit all are forgotten, and
 * made again when needed, which costs a rule its first try. */
#define MAX_CHOICES 4096

/* The first priority of ours. */
#define FIRST_OWN 2
BUILD_ASSERT_DECL(FIRST_OWN > TC_RESERVED_PRIORITY_POLICE);

/* Protocols with a priority of their own, from FIRST_OWN on.  Other runs rely
 * on these numbers, so the order must not change. */
static const uint16_t common[] = {
    ETH_TYPE_IP, ETH_TYPE_IPV6, ETH_TYPE_VLAN_8021Q, ETH_TYPE_ARP,
    ETH_TYPE_VLAN_8021AD, ETH_TYPE_MPLS, ETH_TYPE_MPLS_MCAST, ETH_TYPE_NSH,
    ETH_TYPE_RARP,
};
BUILD_ASSERT_DECL(FIRST_OWN + ARRAY_SIZE(common) == FIRST_SPARE);

/* What was chosen instead of a protocol's own priority. */
struct choice {
    struct hmap_node node;      /* By ifindex. */
    int ifindex;
    uint32_t parent;
    uint16_t protocol;          /* As in struct kdp_tc_id, big endian. */
    uint16_t prio;
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct hmap choices OVS_GUARDED_BY(mutex)
    = HMAP_INITIALIZER(&choices);
static atomic_bool any_choice = ATOMIC_VAR_INIT(false); /* There was one. */

static uint16_t
protocol_of(const struct kdp_tc_id *id)
{
    return TC_H_MIN(id->info);
}

static uint16_t
prio_of(const struct kdp_tc_id *id)
{
    return tc_get_major(id->info);
}

uint16_t
kdp_tc_prio_own(ovs_be16 protocol)
{
    uint16_t type = ntohs(protocol);

    for (size_t i = 0; i < ARRAY_SIZE(common); i++) {
        if (type == common[i]) {
            return FIRST_OWN + i;
        }
    }
    /* Numbers below 0x0600 are lengths, not Ethertypes. */
    return MAX(type, LAST_SPARE + 1);
}

/* Returns the priority for 'protocol' to try after 'prio', or 0. */
static uint16_t
next_prio(uint16_t protocol, uint16_t prio)
{
    return (prio == kdp_tc_prio_own((OVS_FORCE ovs_be16) protocol)
            ? FIRST_SPARE
            : prio < LAST_SPARE ? prio + 1 : 0);
}

static struct choice *
find(const struct kdp_tc_id *id)
    OVS_REQUIRES(mutex)
{
    struct choice *choice;

    HMAP_FOR_EACH_WITH_HASH (choice, node, hash_int(id->ifindex, 0),
                             &choices) {
        if (choice->ifindex == id->ifindex && choice->parent == id->parent
            && choice->protocol == protocol_of(id)) {
            return choice;
        }
    }
    return NULL;
}

void
kdp_tc_prio_set(struct kdp_tc_id *id)
{
    uint16_t protocol = protocol_of(id);
    uint16_t prio = kdp_tc_prio_own((OVS_FORCE ovs_be16) protocol);
    bool look;

    atomic_read_relaxed(&any_choice, &look);
    if (look) {
        const struct choice *choice;

        ovs_mutex_lock(&mutex);
        choice = find(id);
        prio = choice ? choice->prio : prio;
        ovs_mutex_unlock(&mutex);
    }
    id->info = tc_make_handle(prio, protocol);
}

/* Does tc refuse (EINVAL) to look for a rule with 'prio' in the place of
 * 'request'?  It does if 'prio' belongs to another protocol or kind, and for
 * all priorities if there is no queueing discipline or no chain: a chain
 * without rules may not exist.  Otherwise it does not find the handle, which
 * no rule has. */
static bool
is_refused(const struct kdp_tc_request *request, uint16_t prio)
{
    struct kdp_tc_request probe = {
        .type = KDP_TC_PROBE, .id = request->id,
    };

    probe.id.info = tc_make_handle(prio, protocol_of(&request->id));
    ovsrcu_quiesce_start();
    kdp_tc_transact((struct kdp_tc_request *[]) { &probe }, 1);
    ovsrcu_quiesce_end();
    return probe.error == EINVAL;
}

/* Makes 'prio' the choice for the place and protocol of 'id'. */
static void
choose(const struct kdp_tc_id *id, uint16_t prio)
{
    struct choice *choice;

    ovs_mutex_lock(&mutex);
    if (hmap_count(&choices) >= MAX_CHOICES) {
        HMAP_FOR_EACH_POP (choice, node, &choices) {
            free(choice);
        }
    }
    choice = find(id);
    if (!choice) {
        choice = xmalloc(sizeof *choice);
        choice->ifindex = id->ifindex;
        choice->parent = id->parent;
        choice->protocol = protocol_of(id);
        hmap_insert(&choices, &choice->node, hash_int(id->ifindex, 0));
    }
    choice->prio = prio;
    atomic_store_relaxed(&any_choice, true);
    ovs_mutex_unlock(&mutex);
}

bool
kdp_tc_prio_avoid(const struct kdp_tc_request *request)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    const struct kdp_tc_id *id = &request->id;
    struct kdp_tc_id latest = *id;
    uint16_t prio = prio_of(id);

    kdp_tc_prio_set(&latest);
    if (prio_of(&latest) != prio) {
        /* Another rule of the batch has already made the choice. */
        return true;
    }
    if (!is_refused(request, prio) || is_refused(request, NOBODYS)) {
        return false;
    }
    do {
        prio = next_prio(protocol_of(id), prio);
    } while (prio && is_refused(request, prio));

    /* What was missing at first may exist by now. */
    if (!prio || !is_refused(request, prio_of(id))) {
        return false;
    }
    choose(id, prio);
    VLOG_INFO_RL(&rl, "tc, device or block %d: priority %"PRIu16" belongs to "
                 "another protocol or kind of filter; rules of protocol "
                 "0x%04"PRIx16" have priority %"PRIu16" there",
                 id->ifindex == (int) TCM_IFINDEX_MAGIC_BLOCK
                 ? (int) id->parent : id->ifindex, prio_of(id),
                 ntohs((OVS_FORCE ovs_be16) protocol_of(id)), prio);
    return true;
}
