/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_QOS_MEMORY_H
#define KDP_NETDEV_LINUX_QOS_MEMORY_H 1

/* Quality of service that a device was given last
 * ===============================================
 *
 * Whenever the bridge is configured, it sets the quality of service of each
 * port and each of its queues.  The stock class sends that to the kernel each
 * time, under the RTNL lock.  What is remembered here, and still holds, need
 * not be sent.
 *
 * It holds as long as its basis is the same: the device, what its rates are
 * computed from, and what the kernel has said about its root discipline
 * (link/link-qdisc.h).
 *
 * Life cycle: qos_memory_init(), qos_memory_destroy().  Who sets something
 * remembers it with the basis after that; who cannot tell forgets all.
 *
 * Thread safety: the caller's.
 *
 * Failure: what is not remembered is sent. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/hmap.h"
#include "smap.h"

struct qos_basis {
    int ifindex;
    int mtu;
    uint32_t speed;             /* Mbit/s, where the details give no maximum;
                                 * 0 if unknown. */
    uint64_t seqno;             /* Of the root discipline, or 0 without. */
};

/* True if what rates are calculated from is the same. */
bool qos_basis_rates_equal(const struct qos_basis *, const struct qos_basis *);

struct qos_memory {
    char *type;                 /* NULL if nothing is remembered. */
    struct smap details;
    struct hmap queues;         /* Of struct qos_queue. */
    struct qos_basis basis;
};

void qos_memory_init(struct qos_memory *);
void qos_memory_destroy(struct qos_memory *);
void qos_memory_forget(struct qos_memory *);

/* True if 'type' with 'details', or queue 'id' with 'details', was set last,
 * and 'basis' is still the same. */
bool qos_memory_has(const struct qos_memory *, const struct qos_basis *basis,
                    const char *type, const struct smap *details);
bool qos_memory_has_queue(const struct qos_memory *,
                          const struct qos_basis *basis, unsigned int id,
                          const struct smap *details);

/* True if something is remembered and 'basis' is still the same. */
bool qos_memory_holds(const struct qos_memory *,
                      const struct qos_basis *basis);

/* Remembers what was set, with the basis after that.  The first forgets all
 * queues.  With 'details' NULL, the second forgets queue 'id'. */
void qos_memory_set(struct qos_memory *, const struct qos_basis *basis,
                    const char *type, const struct smap *details);
void qos_memory_set_queue(struct qos_memory *, const struct qos_basis *basis,
                          unsigned int id, const struct smap *details);

#endif /* lib/netdev-linux/qos-memory.h */
