/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_SOCKET_BUDGET_H
#define KDP_DPIF_NETLINK_SOCKET_BUDGET_H 1

/* The budget of sockets for upcalls
 * =================================
 *
 * By default each port has a socket of its own.  With more ports than the
 * budget (other_config:upcall-max-sockets, or what the hard limit on open
 * files leaves) has room for, the rest share the socket that belongs to no
 * port.
 *
 * Which ports these are follows their traffic: every BALANCE_INTERVAL the
 * ports that share and had the most upcalls are compared with the ports that
 * have a socket and had the fewest, and change places with them where the
 * difference is worth it.  So a port that turns noisy gets a socket of its own
 * and stops delaying others.
 *
 * A change that the kernel refuses leaves the port as it is (upcall-dest.h);
 * the next comparison tries again.
 *
 * Thread safety: with the datapath's mutex held. */

#include <stdbool.h>
#include <stddef.h>

#include "dpif-netlink/datapath.h"

void socket_budget_create(struct kdp_datapath *);
void socket_budget_destroy(struct kdp_datapath *);

/* Sets the budget to 'max', or to what is possible if that is 0.  Returns true
 * if that is another one than before. */
bool socket_budget_set_max(struct kdp_datapath *dp, size_t max)
    OVS_REQUIRES(dp->mutex);
size_t socket_budget_get_max(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* The most ports that may have a socket of their own. */
size_t socket_budget_max_own(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* True if a port that has no socket of its own is to get one.  That the budget
 * is used up is logged once. */
bool socket_budget_admit(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* The most queues that a port which has 'n' may have, at least 1. */
unsigned int socket_budget_max_queues(const struct kdp_datapath *dp,
                                      unsigned int n)
    OVS_REQUIRES(dp->mutex);

/* Sockets that there may be besides those that there are, for a while. */
size_t socket_budget_room(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* To be called in each turn of the main loop. */
void socket_budget_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void socket_budget_wait(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

#endif /* lib/dpif-netlink/socket-budget.h */
