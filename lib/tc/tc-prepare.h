/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_PREPARE_H
#define KDP_TC_TC_PREPARE_H 1

/* Preparing devices for tc
 * ========================
 *
 * Open vSwitch's flow API "linux_tc" removes all rules, whoever made them,
 * from a device that it is given: it deletes the queueing discipline that
 * holds them.  Our version only adds the queueing discipline where it is
 * missing, and leaves existing rules to modules that know whose they are (see
 * offload_port_add()).  A bond needs a discipline whose rules its members
 * share: any other is replaced.  Internal ports need one with a place at
 * egress: an ingress one is replaced if it is empty, otherwise the port has no
 * offload.
 *
 * Existing rules of recirculation chains are deleted at once (tc/tc-chains.h):
 * ports are prepared before upcalls are served.
 *
 * Before that the stock code finds out what the kernel supports, on a device
 * where no other program has rules: the local port of the datapath, which Open
 * vSwitch made.  Devices that left their bonds while no daemon ran are
 * unbound, as they may be ports by now (netdev_kdp_lag_clean()).  A port whose
 * bond is gone is unbound when it is prepared (netdev_kdp_lag_clean_port()):
 * the kernel refuses rules on a device that is bound to a block.
 *
 * A device that cannot be prepared is logged, and has no offload.
 *
 * Thread safety: the main thread; kdp_tc_prepare_restore() is for any
 * thread. */

#include <stdbool.h>
#include <stdint.h>

struct netdev;
struct netdev_custom_stats;

/* What the flow API needs to know about datapaths. */
struct kdp_tc_datapaths {
    /* Calls 'cb' with the name of the local port of each datapath, a device of
     * type "internal", until 'cb' returns true.  Returns true if it did. */
    bool (*for_each_local_port)(bool (*cb)(const char *name));

    /* Does a datapath share recirculation chains with tc? */
    bool (*shares_chains)(void);

    /* Do rules of recirculation chains that a previous run left stay until a
     * datapath deletes them itself? */
    bool (*keeps_chains)(void);

    /* Number of rules that all datapaths have on device 'ifindex'. */
    uint64_t (*count_rules)(int ifindex);

    /* Stores the statistics of datapath 'name', such as "system@NAME".
     * Returns 0 or a positive errno value.  Not called before Open vSwitch
     * 3.7. */
    int (*get_stats)(const char *name, struct netdev_custom_stats *stats);
};

/* Registers the flow API in place of Open vSwitch's.  'dpif_type' is the type
 * of the datapaths.  Both arguments must be constant. */
void kdp_tc_prepare_register(const char *dpif_type,
                             const struct kdp_tc_datapaths *);

/* Adds the place for rules of 'netdev' again if another program has removed
 * it, as far as the link tables know.  Returns true if it was added.  A place
 * that members of a bond share is not added. */
bool kdp_tc_prepare_restore(struct netdev *netdev);

#endif /* lib/tc/tc-prepare.h */
