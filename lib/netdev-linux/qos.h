/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_QOS_H
#define KDP_NETDEV_LINUX_QOS_H 1

/* Quality of service and policing
 * ===============================
 *
 * Callbacks of the classes of devices.  The bridge sets quality of service and
 * policing of all ports whenever it is configured, and the stock callbacks
 * send that to the kernel, under the RTNL lock.  These do nothing if the
 * kernel has it already: they remember what was last set on a device, and the
 * values from which its rates were computed.  The table of queueing
 * disciplines (link/link-qdisc.h) says whether another process has changed
 * anything since.
 *
 * Thread safety: the main thread. */

#include <stdint.h>

struct netdev;
struct netdev_kdp;
struct smap;

int netdev_kdp_qos_set_policing(struct netdev *, uint32_t kbits_rate,
                                uint32_t kbits_burst, uint32_t kpkts_rate,
                                uint32_t kpkts_burst);
int netdev_kdp_qos_set(struct netdev *, const char *type,
                       const struct smap *details);
int netdev_kdp_qos_set_queue(struct netdev *, unsigned int id,
                             const struct smap *details);
int netdev_kdp_qos_delete_queue(struct netdev *, unsigned int id);

/* Frees what is remembered about a device. */
void netdev_kdp_qos_forget(struct netdev_kdp *);

#endif /* lib/netdev-linux/qos.h */
