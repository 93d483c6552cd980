/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_SOCKET_BUDGET_H
#define KDP_DPIF_NETLINK_SOCKET_BUDGET_H 1

/* The budget of sockets for upcalls
 * =================================
 *
 * By default each port has a socket of its own.  The budget is
 * other_config:upcall-max-sockets, or what the hard limit on open files
 * leaves.  If there are more ports than it has room for, the rest share the
 * socket that belongs to no port.
 *
 * The traffic decides which ports share.  Every BALANCE_INTERVAL, this module
 * compares the sharing ports with the most upcalls with the ports with a
 * socket and the fewest upcalls, and swaps them where the difference is worth
 * it.  So a port that becomes noisy gets a socket of its own and stops
 * delaying others.
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
 * if the budget has changed. */
bool socket_budget_set_max(struct kdp_datapath *dp, size_t max)
    OVS_REQUIRES(dp->mutex);
size_t socket_budget_get_max(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* The most ports that may have a socket of their own. */
size_t socket_budget_max_own(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* True if a port without a socket of its own should get one.  Logs once that
 * the budget is used up. */
bool socket_budget_admit(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* The most queues that a port with 'n' queues may have, at least 1. */
unsigned int socket_budget_max_queues(const struct kdp_datapath *dp,
                                      unsigned int n)
    OVS_REQUIRES(dp->mutex);

/* Number of additional sockets that may exist temporarily. */
size_t socket_budget_room(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* To be called in each turn of the main loop. */
void socket_budget_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void socket_budget_wait(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

#endif /* lib/dpif-netlink/socket-budget.h */
