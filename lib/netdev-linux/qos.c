/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/qos.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "netdev-linux/device.h"
#include "netdev-linux/links.h"
#include "netdev-linux/ingress-qdisc.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux/speed.h"
#include "netdev-linux/state.h"
#include "netdev-linux-valid.h"
#include "netlink.h"
#include "nl/nl-intercept.h"
#include "openvswitch/hmap.h"
#include "openvswitch/ofpbuf.h"
#include "ovs/compat-netdev.h"
#include "ovs/compat-offload.h"
#include "smap.h"
#include "util.h"

/* The values that the quality of service of a device depends on. */
struct qos_basis {
    int ifindex;
    int mtu;
    uint32_t speed;             /* Mbit/s, where the details give no maximum;
                                 * 0 if unknown. */
    uint64_t seqno;             /* Of the root discipline, or 0 without. */
};

/* What was last set on a device, and the basis after that. */
struct qos_memory {
    char *type;
    struct smap details;
    struct hmap queues;         /* Of struct qos_queue. */
    struct qos_basis basis;
};

struct qos_queue {
    struct hmap_node node;      /* In 'queues', by 'id'. */
    unsigned int id;
    struct smap details;
};

static struct qos_queue *
qos_queue_find(const struct qos_memory *memory, unsigned int id)
{
    struct qos_queue *queue;

    HMAP_FOR_EACH_WITH_HASH (queue, node, hash_int(id, 0), &memory->queues) {
        if (queue->id == id) {
            return queue;
        }
    }
    return NULL;
}

static void
qos_queue_remove(struct qos_memory *memory, struct qos_queue *queue)
{
    hmap_remove(&memory->queues, &queue->node);
    smap_destroy(&queue->details);
    free(queue);
}

static void
qos_forget(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    struct qos_memory *memory = dev->qos;
    struct qos_queue *queue, *next;

    if (memory) {
        HMAP_FOR_EACH_SAFE (queue, next, node, &memory->queues) {
            qos_queue_remove(memory, queue);
        }
        hmap_destroy(&memory->queues);
        smap_destroy(&memory->details);
        free(memory->type);
        free(memory);
        dev->qos = NULL;
    }
}

void
netdev_kdp_qos_forget(struct netdev_kdp *dev)
{
    ovs_mutex_lock(&dev->up.mutex);
    qos_forget(dev);
    ovs_mutex_unlock(&dev->up.mutex);
}

/* True if rates that are computed from 'a' and 'b' are the same. */
static bool
qos_basis_rates_equal(const struct qos_basis *a, const struct qos_basis *b)
{
    return (a->ifindex == b->ifindex && a->mtu == b->mtu
            && a->speed == b->speed);
}

/* True if something is remembered and its basis is still 'basis'. */
static bool
qos_is_current(const struct netdev_kdp *dev, const struct qos_basis *basis)
    OVS_REQUIRES(dev->up.mutex)
{
    return (dev->qos && qos_basis_rates_equal(&dev->qos->basis, basis)
            && dev->qos->basis.seqno == basis->seqno);
}

/* Remembers what was set, without queues. */
static void
qos_remember(struct netdev_kdp *dev, const struct qos_basis *basis,
             const char *type, const struct smap *details)
    OVS_REQUIRES(dev->up.mutex)
{
    qos_forget(dev);
    dev->qos = xmalloc(sizeof *dev->qos);
    dev->qos->type = xstrdup(type);
    smap_clone(&dev->qos->details, details);
    hmap_init(&dev->qos->queues);
    dev->qos->basis = *basis;
}

/* True if the device is known to have no queueing discipline of the kind that
 * 'has' checks for. */
static bool
qos_lacks_qdisc(const struct netdev_kdp *dev,
                bool (*has)(const struct link_qdiscs *, int ifindex))
    OVS_REQUIRES(dev->up.mutex)
{
    return (dev->present && dev->link.nsid == LINK_NSID_LOCAL
            && !has(kdp_links_qdiscs(), dev->link.ifindex));
}

static uint64_t
qos_ingress_seqno(const struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    return (dev->present && dev->link.nsid == LINK_NSID_LOCAL
            ? link_qdiscs_ingress_seqno(kdp_links_qdiscs(), dev->link.ifindex)
            : 0);
}

int
netdev_kdp_qos_set_policing(struct netdev *netdev, uint32_t kbits_rate,
                            uint32_t kbits_burst, uint32_t kpkts_rate,
                            uint32_t kpkts_burst)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct netdev_linux *up = &dev->up;
    struct qdisc_lock *lock;
    bool nothing = false;
    long long int start;
    int error;

    netdev_kdp_state_resolve(netdev);
    if (!ovs_compat_offload_is_enabled()) {
        ovs_mutex_lock(&dev->up.mutex);
        if (qos_lacks_qdisc(dev, link_qdiscs_has_ingress)
            && (!(up->cache_valid & VALID_POLICING)
                || up->kbits_rate || up->kpkts_rate)) {
            /* There is none, whether policing was never set or another process
             * has removed the discipline, so that it has to be set again. */
            up->kbits_rate = up->kbits_burst = 0;
            up->kpkts_rate = up->kpkts_burst = 0;
            up->netdev_policing_error = 0;
            up->cache_valid |= VALID_POLICING;
        } else if ((up->kbits_rate || up->kpkts_rate
                    || up->netdev_policing_error)
                   && qos_ingress_seqno(dev) != dev->policing_seqno) {
            /* Another process has replaced the discipline, so what was set is
             * gone, too. */
            up->cache_valid &= ~VALID_POLICING;
        }
        nothing = ((up->cache_valid & VALID_POLICING)
                   && !up->netdev_policing_error
                   && !up->kbits_rate && !up->kpkts_rate
                   && !kbits_rate && !kpkts_rate);
        ovs_mutex_unlock(&dev->up.mutex);
    }
    if (nothing) {
        return 0;
    }

    /* Open vSwitch deletes the discipline before it sets up policing. */
    lock = qdisc_lock_get(netdev_get_ifindex(netdev));
    qdisc_lock_acquire(lock);
    start = kdp_rtnl_begin();
    error = kdp_stock_netdev_linux_class.set_policing(
        netdev, kbits_rate, kbits_burst, kpkts_rate, kpkts_burst);
    kdp_rtnl_end(KDP_RTNL_POLICING, start);
    qdisc_lock_release(lock);
    kdp_links_catch_up();
    ovs_mutex_lock(&dev->up.mutex);
    dev->policing_seqno = qos_ingress_seqno(dev);
    ovs_mutex_unlock(&dev->up.mutex);
    return error;
}

/* Returns the speed in Mbit/s from which Open vSwitch computes rates with
 * 'details', or 0 if it is unknown or 'details' give the rate. */
static uint32_t
qos_get_speed(const struct netdev *netdev, const struct smap *details)
{
    uint32_t speed;

    return (!smap_get_ullong(details, "max-rate", 0)
            && !ovs_compat_netdev_get_speed(netdev, &speed)
            ? speed : 0);
}

/* Fills '*basis' with the values that the quality of service of 'dev' depends
 * on, with 'speed'.  Returns false if they are unknown. */
static bool
qos_get_basis(const struct netdev_kdp *dev, uint32_t speed,
              struct qos_basis *basis)
    OVS_REQUIRES(dev->up.mutex)
{
    if (!dev->present || dev->link.nsid != LINK_NSID_LOCAL) {
        return false;
    }
    *basis = (struct qos_basis) {
        .ifindex = dev->link.ifindex,
        .mtu = dev->link.mtu,
        .speed = speed,
        .seqno = link_qdiscs_root_seqno(kdp_links_qdiscs(), dev->link.ifindex),
    };
    return true;
}

/* A device, and whether it still has no root discipline. */
struct qos_bare {
    int ifindex;
    bool is_bare;
};

/* Answers the requests that Open vSwitch makes before it sets up a discipline:
 * it gets the present one (once) and deletes it (twice). */
static bool
qos_answer_bare(const struct ofpbuf *request, int *error, void *bare_)
{
    const struct nlmsghdr *nlh = nl_msg_nlmsghdr(request);
    const struct tcmsg *tcm = ofpbuf_at(request, NLMSG_HDRLEN, sizeof *tcm);
    struct qos_bare *bare = bare_;

    if (!bare->is_bare || !tcm || tcm->tcm_ifindex != bare->ifindex) {
        return false;
    } else if (nlh->nlmsg_type == RTM_GETQDISC
               || (nlh->nlmsg_type == RTM_DELQDISC
                   && tcm->tcm_parent == TC_H_ROOT)) {
        *error = ENOENT;
        return true;
    }
    bare->is_bare = false;
    return false;
}

/* Lets Open vSwitch set the quality of service of 'netdev'. */
static int
qos_set_stock(struct netdev *netdev, const char *type,
              const struct smap *details)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    bool current = kdp_links_catch_up();
    struct qos_bare bare;
    int error;

    ovs_mutex_lock(&dev->up.mutex);
    bare.ifindex = dev->link.ifindex;
    bare.is_bare = (current && *type && !dev->up.tc
                    && qos_lacks_qdisc(dev, link_qdiscs_has_root));
    ovs_mutex_unlock(&dev->up.mutex);
    if (!bare.is_bare) {
        return kdp_stock_netdev_linux_class.set_qos(netdev, type, details);
    }
    nl_intercept_begin(qos_answer_bare, &bare);
    error = kdp_stock_netdev_linux_class.set_qos(netdev, type, details);
    nl_intercept_end();
    return error;
}

int
netdev_kdp_qos_set(struct netdev *netdev, const char *type,
                   const struct smap *details)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct qos_basis before = { .ifindex = 0 }, basis;
    uint32_t speed;
    bool known = false;
    bool nothing;
    long long int start;
    int error;

    netdev_kdp_state_resolve(netdev);
    speed = *type ? qos_get_speed(netdev, details) : 0;
    ovs_mutex_lock(&dev->up.mutex);
    netdev_kdp_speed_configure(dev);
    if (*type) {
        known = qos_get_basis(dev, speed, &before);
        nothing = (known && qos_is_current(dev, &before)
                   && !strcmp(dev->qos->type, type)
                   && smap_equal(&dev->qos->details, details));
    } else {
        dev->qdisc_checked |= (!dev->up.tc
                               && qos_lacks_qdisc(dev, link_qdiscs_has_root));
        nothing = dev->qdisc_checked;
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (nothing) {
        return 0;
    }

    start = kdp_rtnl_begin();
    error = qos_set_stock(netdev, type, details);
    kdp_rtnl_end(KDP_RTNL_QOS, start);
    if (*type) {
        /* Before events are processed: if Open vSwitch had to read the speed
         * again, this is the speed that it used. */
        speed = qos_get_speed(netdev, details);
    }
    bool current = kdp_links_catch_up();

    ovs_mutex_lock(&dev->up.mutex);
    dev->qdisc_checked = !error && !*type;
    if (!error && current && known && qos_get_basis(dev, speed, &basis)
        && qos_basis_rates_equal(&before, &basis)) {
        qos_remember(dev, &basis, type, details);
    } else {
        qos_forget(dev);
    }
    ovs_mutex_unlock(&dev->up.mutex);
    return error;
}

/* Remembers that queue 'id' was set to 'details', or deleted if that is NULL,
 * unless something else has changed since '*before'. */
static void
qos_remember_queue(struct netdev_kdp *dev, unsigned int id,
                   const struct smap *details, const struct qos_basis *before)
    OVS_EXCLUDED(dev->up.mutex)
{
    bool current = kdp_links_catch_up();
    struct qos_queue *queue;
    struct qos_basis basis;

    ovs_mutex_lock(&dev->up.mutex);
    if (current && qos_is_current(dev, before)
        && qos_get_basis(dev, before->speed, &basis)
        && basis.seqno == before->seqno + 1) {
        queue = qos_queue_find(dev->qos, id);
        if (queue) {
            qos_queue_remove(dev->qos, queue);
        }
        if (details) {
            queue = xmalloc(sizeof *queue);
            queue->id = id;
            smap_clone(&queue->details, details);
            hmap_insert(&dev->qos->queues, &queue->node, hash_int(id, 0));
        }
        dev->qos->basis = basis;
    } else {
        qos_forget(dev);
    }
    ovs_mutex_unlock(&dev->up.mutex);
}

/* Fills '*basis' with the present values, for the speed with which the
 * remembered settings were made. */
static bool
qos_get_queue_basis(const struct netdev_kdp *dev, struct qos_basis *basis)
    OVS_REQUIRES(dev->up.mutex)
{
    return qos_get_basis(dev, dev->qos ? dev->qos->basis.speed : 0, basis);
}

int
netdev_kdp_qos_set_queue(struct netdev *netdev, unsigned int id,
                         const struct smap *details)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct qos_basis basis = { .ifindex = 0 };
    const struct qos_queue *queue;
    bool nothing = false;
    long long int start;
    int error;

    ovs_mutex_lock(&dev->up.mutex);
    if (qos_get_queue_basis(dev, &basis) && qos_is_current(dev, &basis)) {
        queue = qos_queue_find(dev->qos, id);
        nothing = queue && smap_equal(&queue->details, details);
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (nothing) {
        return 0;
    }
    start = kdp_rtnl_begin();
    error = kdp_stock_netdev_linux_class.set_queue(netdev, id, details);
    if (error != EINVAL) {
        /* Otherwise the discipline has no such queue, and nothing was sent. */
        kdp_rtnl_end(KDP_RTNL_QOS, start);
        qos_remember_queue(dev, id, error ? NULL : details, &basis);
    }
    return error;
}

int
netdev_kdp_qos_delete_queue(struct netdev *netdev, unsigned int id)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct qos_basis basis = { .ifindex = 0 };
    long long int start;
    int error;

    ovs_mutex_lock(&dev->up.mutex);
    qos_get_queue_basis(dev, &basis);
    ovs_mutex_unlock(&dev->up.mutex);
    start = kdp_rtnl_begin();
    error = kdp_stock_netdev_linux_class.delete_queue(netdev, id);
    kdp_rtnl_end(KDP_RTNL_QOS, start);
    qos_remember_queue(dev, id, NULL, &basis);
    return error;
}
