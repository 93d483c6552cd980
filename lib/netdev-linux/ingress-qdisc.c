/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/ingress-qdisc.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "netdev-linux/rtnl-count.h"
#include "netlink-socket.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "tc.h"
#include "util.h"

/* The original: its replacement in lib/tc is for dumps of rules. */
bool kdp_stock_nl_dump_next(struct nl_dump *, struct ofpbuf *reply,
                            struct ofpbuf *buffer);

/* Is 'kind', an attribute that may be NULL, 's' of 'size' bytes? */
static bool
is_kind(const struct nlattr *kind, const char *s, size_t size)
{
    return (kind && nl_attr_get_size(kind) == size
            && !memcmp(nl_attr_get(kind), s, size));
}

/* Fills in '*qdisc' from a message of the kernel.  Returns false if that is
 * not about an ingress discipline. */
static bool
ingress_qdisc_parse(const struct ofpbuf *msg, struct ingress_qdisc *qdisc)
{
    const struct tcmsg *tcm = ofpbuf_at(msg, NLMSG_HDRLEN, sizeof *tcm);
    const struct nlattr *kind, *block;
    bool is_clsact;

    if (!tcm) {
        return false;
    }
    kind = nl_attr_find(msg, NLMSG_HDRLEN + sizeof *tcm, TCA_KIND);
    block = nl_attr_find(msg, NLMSG_HDRLEN + sizeof *tcm, TCA_INGRESS_BLOCK);
    is_clsact = is_kind(kind, "clsact", sizeof "clsact");
    if (!is_clsact && !is_kind(kind, "ingress", sizeof "ingress")) {
        return false;
    }
    *qdisc = (struct ingress_qdisc) {
        .ifindex = tcm->tcm_ifindex,
        .is_clsact = is_clsact,
        .block_id = (block && nl_attr_get_size(block) == sizeof(uint32_t)
                     ? nl_attr_get_u32(block) : 0),
    };
    return true;
}

bool
ingress_qdisc_get(int ifindex, struct ingress_qdisc *qdisc)
{
    struct ofpbuf request, *reply;
    struct tcmsg *tcm;
    bool found;

    kdp_rtnl_count(KDP_RTNL_TC_QDISC);
    tcm = tc_make_request(ifindex, RTM_GETQDISC, NLM_F_ECHO, &request);
    tcm->tcm_parent = TC_H_INGRESS;
    if (tc_transact(&request, &reply)) {
        return false;
    }
    found = ingress_qdisc_parse(reply, qdisc);
    ofpbuf_delete(reply);
    return found;
}

int
ingress_qdisc_for_each(void (*cb)(const struct ingress_qdisc *, void *aux),
                       void *aux)
{
    struct ingress_qdisc *qdiscs = NULL, qdisc;
    struct ofpbuf request, msg, buffer;
    size_t n = 0, allocated = 0;
    struct nl_dump dump;
    int error;

    kdp_rtnl_count(KDP_RTNL_TC_QDISC);
    tc_make_request(0, RTM_GETQDISC, 0, &request);
    nl_dump_start(&dump, NETLINK_ROUTE, &request);
    ofpbuf_uninit(&request);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_stock_nl_dump_next(&dump, &msg, &buffer)) {
        if (ingress_qdisc_parse(&msg, &qdisc)) {
            if (n == allocated) {
                qdiscs = x2nrealloc(qdiscs, &allocated, sizeof *qdiscs);
            }
            qdiscs[n++] = qdisc;
        }
    }
    ofpbuf_uninit(&buffer);
    error = nl_dump_done(&dump);

    /* Not during the dump: a change could make the kernel skip devices. */
    for (size_t i = 0; i < n; i++) {
        cb(&qdiscs[i], aux);
    }
    free(qdiscs);
    return error;
}

/* Locks. */

/* Number of locks: larger than the number of devices whose policing changes
 * while rules are deleted on others, so that these hardly ever share one. */
#define N_LOCKS 64

static struct qdisc_lock locks[N_LOCKS];

static void
init_locks(void)
{
    for (size_t i = 0; i < N_LOCKS; i++) {
        ovs_mutex_init(&locks[i].queue);
        ovs_mutex_init(&locks[i].mutex);
    }
}

struct qdisc_lock *
qdisc_lock_get(int ifindex)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, init_locks);
    return &locks[hash_int(ifindex, 0) % N_LOCKS];
}

void
qdisc_lock_acquire(struct qdisc_lock *lock)
{
    /* A plain mutex would go to a thread that unlocks it and locks it again at
     * once.  The queue makes such a thread wait behind the others. */
    ovs_mutex_lock(&lock->queue);
    ovs_mutex_lock(&lock->mutex);
    ovs_mutex_unlock(&lock->queue);
}

void
qdisc_lock_release(struct qdisc_lock *lock)
{
    ovs_mutex_unlock(&lock->mutex);
}
