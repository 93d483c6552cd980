/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_PREPARE_H
#define KDP_TC_TC_PREPARE_H 1

/* Preparing devices for tc
 * ========================
 *
 * Open vSwitch's flow API "linux_tc" removes all rules, of whomever, from a
 * device that it is given, by taking the queueing discipline away that holds
 * them.  Ours is the same but for that: it adds the queueing discipline where
 * it is missing, and leaves what is there to those who know whose it is (see
 * offload_port_add()).  A bond needs one whose rules its members share: any
 * other is replaced.  Internal ports need one with a place at egress: an
 * ingress one is replaced if it is empty, else the port goes without offload.
 *
 * Of the rules that are there, those of recirculation chains are deleted at
 * once (tc/tc-chains.h): ports are prepared before upcalls are served.
 *
 * Before that it lets the stock code find out what the kernel can do, on a
 * device where nobody else has rules: the local port of the datapath, which
 * Open vSwitch made.  It also unbinds devices that left their bonds while no
 * daemon ran, as they may be ports by now (netdev_kdp_lag_clean()).
 *
 * A device that cannot be prepared is logged, and has no offload.
 *
 * Thread safety: the main thread, except kdp_tc_prepare_restore(), which is
 * for any. */

#include <stdbool.h>
#include <stdint.h>

struct netdev;
struct netdev_custom_stats;

/* What the flow API asks about datapaths. */
struct kdp_tc_datapaths {
    /* Calls 'cb' with the name of the local port of each datapath, a device of
     * type "internal", until 'cb' returns true.  Returns true if it did. */
    bool (*for_each_local_port)(bool (*cb)(const char *name));

    /* Has a datapath recirculation chains in common with tc? */
    bool (*shares_chains)(void);

    /* Do rules of recirculation chains stay that a previous run left, until a
     * datapath has them deleted by itself? */
    bool (*keeps_chains)(void);

    /* Number of rules that all datapaths have on device 'ifindex'. */
    uint64_t (*count_rules)(int ifindex);

    /* Tells the figures of datapath 'name', such as "system@NAME".  Returns 0
     * or a positive errno value.  Not called before Open vSwitch 3.7. */
    int (*get_stats)(const char *name, struct netdev_custom_stats *stats);
};

/* Registers the flow API in place of Open vSwitch's.  'dpif_type' is that of
 * the datapaths.  Both arguments must be constant. */
void kdp_tc_prepare_register(const char *dpif_type,
                             const struct kdp_tc_datapaths *);

/* Adds the place for rules of 'netdev' again if somebody has taken it away, as
 * far as the link tables know already.  Returns true if so.  One that members
 * of a bond share is not added. */
bool kdp_tc_prepare_restore(struct netdev *netdev);

#endif /* lib/tc/tc-prepare.h */
