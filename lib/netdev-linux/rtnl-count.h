/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_RTNL_COUNT_H
#define KDP_NETDEV_LINUX_RTNL_COUNT_H 1

/* Calls under the RTNL lock
 * =========================
 *
 * Counts the calls that take the kernel's RTNL lock or may wait for it, and
 * the time that they take, by kind.  The kernel does not say how much of that
 * time is waiting.  Each thread counts in its own block
 * (stats/thread-counters.h).
 *
 * Life cycle: the counters exist from the first call to the end of the
 * process.
 *
 * Thread safety: any thread may call these functions at any time.
 *
 * Failure: none. */

#include <stdint.h>

#define KDP_RTNL_CALLS                                                    \
    KDP_RTNL_CALL(FEATURES, "ethtool link settings")                      \
    KDP_RTNL_CALL(DRIVER, "ethtool driver information")                   \
    KDP_RTNL_CALL(ADVERTISE, "ethtool advertisements")                    \
    KDP_RTNL_CALL(MII, "MII monitoring")                                  \
    KDP_RTNL_CALL(SET_FLAGS, "set flags")                                 \
    KDP_RTNL_CALL(SET_MTU, "set MTU")                                     \
    KDP_RTNL_CALL(SET_HWADDR, "set hardware address")                     \
    KDP_RTNL_CALL(SET_ADDR, "set IP address")                             \
    KDP_RTNL_CALL(TAP, "create tap device")                               \
    KDP_RTNL_CALL(POLICING, "policing")                                   \
    KDP_RTNL_CALL(QOS, "quality of service")                              \
    KDP_RTNL_CALL(LAG, "bind bond member")                                \
    KDP_RTNL_CALL(STATS, "statistics of a device that sysfs lacks")       \
    KDP_RTNL_CALL(PORT_ADD, "add port to datapath")                       \
    KDP_RTNL_CALL(PORT_DEL, "delete port from datapath")                  \
    KDP_RTNL_CALL(TC_QDISC, "prepare port for offload")                   \
    KDP_RTNL_CALL(TC_DUMP, "list rules in tc")                            \
    KDP_RTNL_CALL(TC_AUDIT, "look for rules in tc of no flow")            \
    KDP_RTNL_CALL(TC_ACTION, "load kind of action of tc")                 \
    KDP_RTNL_CALL(UNKNOWN, "device not in table")

enum kdp_rtnl_call {
#define KDP_RTNL_CALL(ENUM, NAME) KDP_RTNL_##ENUM,
    KDP_RTNL_CALLS
#undef KDP_RTNL_CALL
    KDP_N_RTNL_CALLS
};

/* Counts a call whose duration is negligible or unknown. */
void kdp_rtnl_count(enum kdp_rtnl_call);

/* To be called before a call, and after it with the result of the former. */
long long int kdp_rtnl_begin(void);
void kdp_rtnl_end(enum kdp_rtnl_call, long long int start);

/* Store the number of calls of each kind, and the microseconds that they
 * took. */
void kdp_rtnl_get_counts(uint64_t counts[KDP_N_RTNL_CALLS]);
void kdp_rtnl_get_usecs(uint64_t usecs[KDP_N_RTNL_CALLS]);

/* Returns the description of a kind, such as "set MTU". */
const char *kdp_rtnl_call_name(enum kdp_rtnl_call);

#endif /* lib/netdev-linux/rtnl-count.h */
