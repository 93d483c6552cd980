/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_QOS_MEMORY_H
#define KDP_NETDEV_LINUX_QOS_MEMORY_H 1

/* Quality of service that was last set
 * ====================================
 *
 * Whenever the bridge is configured, it sets the quality of service of each
 * port and each of its queues.  The stock class sends that to the kernel each
 * time, under the RTNL lock.  This module remembers what was last set, so that
 * it is sent only if it has changed.
 *
 * The memory is valid as long as its basis is the same: the device, the values
 * from which its rates are computed, and what the kernel has said about its
 * root discipline (link/link-qdisc.h).
 *
 * Life cycle: qos_memory_init(), qos_memory_destroy().  A caller that sets
 * something remembers it with the new basis, or forgets everything if it does
 * not know the basis.
 *
 * Thread safety: the caller's.
 *
 * Failure: none. */

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

/* True if the values from which rates are computed are the same. */
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
