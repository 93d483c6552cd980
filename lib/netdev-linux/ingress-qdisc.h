/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_INGRESS_QDISC_H
#define KDP_NETDEV_LINUX_INGRESS_QDISC_H 1

/* Ingress queueing disciplines of devices
 * =======================================
 *
 * Asks the kernel for the discipline at the ingress of a device, which holds
 * tc rules.  It has rules of its own, or is bound to a block, which is a set
 * of rules that several devices share.
 *
 * The link tables know which devices have such a discipline, but only while
 * there is no offload, and not the block that it is bound to
 * (link/link-qdisc.h).
 *
 * Thread safety: any thread.  Each call takes the RTNL lock. */

#include <stdbool.h>
#include <stdint.h>

struct ingress_qdisc {
    int ifindex;                /* Of the device. */
    bool is_clsact;             /* Has a place for outgoing packets, too. */
    uint32_t block_id;          /* 0 if it is bound to no block. */
};

/* Stores the ingress discipline of device 'ifindex' in '*qdisc'.  Returns
 * false if it has none. */
bool ingress_qdisc_get(int ifindex, struct ingress_qdisc *qdisc);

/* Calls 'cb' for each device of our namespace that has one.  'cb' may send
 * requests about it.  Returns 0 or a positive errno value; then devices are
 * missing. */
int ingress_qdisc_for_each(void (*cb)(const struct ingress_qdisc *,
                                      void *aux),
                           void *aux);

#endif /* lib/netdev-linux/ingress-qdisc.h */
