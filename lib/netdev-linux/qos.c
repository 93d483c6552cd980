/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/qos.h"

#include <errno.h>

#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "netdev-linux/device.h"
#include "netdev-linux/links.h"
#include "netdev-linux/ingress-qdisc.h"
#include "netdev-linux/qos-memory.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux/speed.h"
#include "netdev-linux/state.h"
#include "netdev-linux-valid.h"
#include "ovs/compat-netdev.h"
#include "ovs/compat-offload.h"
#include "smap.h"

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
        } else if (qos_ingress_seqno(dev) != dev->policing_seqno) {
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

int
netdev_kdp_qos_set(struct netdev *netdev, const char *type,
                   const struct smap *details)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct qos_basis before, basis;
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
        nothing = (known
                   && qos_memory_has(&dev->qos, &before, type, details));
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
    error = kdp_stock_netdev_linux_class.set_qos(netdev, type, details);
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
        qos_memory_set(&dev->qos, &basis, type, details);
    } else {
        qos_memory_forget(&dev->qos);
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
    struct qos_basis basis;

    ovs_mutex_lock(&dev->up.mutex);
    if (current && qos_memory_holds(&dev->qos, before)
        && qos_get_basis(dev, before->speed, &basis)
        && basis.seqno == before->seqno + 1) {
        qos_memory_set_queue(&dev->qos, &basis, id, details);
    } else {
        qos_memory_forget(&dev->qos);
    }
    ovs_mutex_unlock(&dev->up.mutex);
}

int
netdev_kdp_qos_set_queue(struct netdev *netdev, unsigned int id,
                         const struct smap *details)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct qos_basis basis = { .ifindex = 0 };
    bool nothing;
    long long int start;
    int error;

    ovs_mutex_lock(&dev->up.mutex);
    nothing = (qos_get_basis(dev, dev->qos.basis.speed, &basis)
               && qos_memory_has_queue(&dev->qos, &basis, id, details));
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
    qos_get_basis(dev, dev->qos.basis.speed, &basis);
    ovs_mutex_unlock(&dev->up.mutex);
    start = kdp_rtnl_begin();
    error = kdp_stock_netdev_linux_class.delete_queue(netdev, id);
    kdp_rtnl_end(KDP_RTNL_QOS, start);
    qos_remember_queue(dev, id, NULL, &basis);
    return error;
}
