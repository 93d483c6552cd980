/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_PROC_NET_DEV_H
#define KDP_PROC_NET_DEV_H 1

/* Statistics of network devices without the RTNL lock
 * ===================================================
 *
 * Two kinds of files have the counters of a device and can be read without
 * waiting for the RTNL lock, unlike RTM_GETLINK:
 *
 *   - /proc/net/dev has all devices of the network namespace in one read, but
 *     only sums of some counters (struct proc_net_dev).
 *
 *   - /sys/class/net/DEVICE/statistics/ has a file for each counter.  It
 *     belongs to the namespace in which sysfs was mounted, which may be
 *     another one: sysfs_net_open() checks that it is the expected device.
 *
 * Thread safety: no state. */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_net_dev {
    char name[IFNAMSIZ];
    uint64_t rx_bytes, rx_packets, rx_errors, rx_fifo, multicast;
    uint64_t rx_drop;           /* Dropped and missed. */
    uint64_t rx_frame;          /* Length, overrun, CRC and frame errors. */
    uint64_t tx_bytes, tx_packets, tx_errors, tx_drop, tx_fifo, collisions;
    uint64_t tx_carrier;        /* Carrier, aborted, window and heartbeat
                                 * errors. */
};

/* Parses a line of /proc/net/dev.  Returns false if it describes no device,
 * as the first two lines do not. */
bool proc_net_dev_parse(const char *line, struct proc_net_dev *);

/* Calls 'cb' with each device in the file 'path', usually "/proc/net/dev".
 * Returns 0 or a positive errno value. */
typedef void proc_net_dev_func(const struct proc_net_dev *, void *aux);
int proc_net_dev_read(const char *path, proc_net_dev_func *cb, void *aux);

/* Opens the directory of statistics of device 'name' below 'root', usually
 * "/sys/class/net", if the device has interface index 'ifindex' and the
 * hardware address of 'hwaddr_len' bytes at 'hwaddr'.  Returns a file
 * descriptor that the caller closes, or a negative errno value, -ENODEV if it
 * is another device. */
int sysfs_net_open(const char *root, const char *name, int ifindex,
                   const uint8_t *hwaddr, size_t hwaddr_len);

/* Reads counter 'counter' in the directory 'dirfd'.  Returns 0 or a positive
 * errno value. */
int sysfs_net_read(int dirfd, const char *counter, uint64_t *value);

#endif /* lib/stats/proc-net-dev.h */
