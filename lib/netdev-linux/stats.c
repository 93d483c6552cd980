/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hash.h"
#include "netdev-linux/device.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux/state.h"
#include "netdev-linux/stats-snapshot.h"
#include "netdev-linux-valid.h"
#include "netnsid.h"
#include "nl/ovs-genl.h"
#include "nl/ovs-stats.h"
#include "openvswitch/hmap.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "ovs/compat-netdev.h"
#include "stats/proc-net-dev.h"
#include "unaligned.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_kdp_stats);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* Counters of a device that /proc/net/dev has only as sums, and the sums that
 * it had when they were read. */
struct rare {
    char name[IFNAMSIZ];
    int ifindex;
    uint64_t rx_drop, rx_frame, tx_carrier;
    struct netdev_stats stats;
    uint64_t turn;              /* When last used. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;

static struct ovs_genl genl OVS_GUARDED_BY(mutex);

/* Interface indexes of the datapaths that are known. */
static int *datapaths OVS_GUARDED_BY(mutex);
static size_t n_datapaths OVS_GUARDED_BY(mutex);
static size_t allocated_datapaths OVS_GUARDED_BY(mutex);

/* The current turn, and the first device whose statistics were read in it. */
static uint64_t turn OVS_GUARDED_BY(mutex) = 1;
static char first[IFNAMSIZ] OVS_GUARDED_BY(mutex);

/* The snapshot, valid if it is of this turn, and 'first' of the last turn with
 * a snapshot.  If that device is read first again, others will follow, so the
 * snapshot is taken at once. */
static uint64_t snapshot_turn OVS_GUARDED_BY(mutex);
static char snapshot_first[IFNAMSIZ] OVS_GUARDED_BY(mutex);
static struct stats_snapshot snapshot OVS_GUARDED_BY(mutex);

static struct shash rares OVS_GUARDED_BY(mutex) = SHASH_INITIALIZER(&rares);

/* Turns after which the rare counters of a device that is no longer read are
 * forgotten. */
#define RARE_TURNS 10000

void
netdev_kdp_stats_run(void)
{
    ovs_mutex_lock(&mutex);
    turn++;
    first[0] = '\0';
    if (snapshot_turn + 1 < turn) {
        stats_snapshot_clear(&snapshot);
    }
    if (!(turn % RARE_TURNS)) {
        struct shash_node *node;

        SHASH_FOR_EACH_SAFE (node, &rares) {
            struct rare *rare = node->data;

            if (rare->turn + RARE_TURNS < turn) {
                free(rare);
                shash_delete(&rares, node);
            }
        }
    }
    ovs_mutex_unlock(&mutex);
}

/* Vports. */

/* Opens the connection to the datapath if necessary. */
static int
stats_open(void)
    OVS_REQUIRES(mutex)
{
    return genl.conn ? 0 : ovs_genl_open(&genl);
}

static void
stats_note_datapath(int dp_ifindex)
    OVS_REQUIRES(mutex)
{
    for (size_t i = 0; i < n_datapaths; i++) {
        if (datapaths[i] == dp_ifindex) {
            return;
        }
    }
    if (n_datapaths >= allocated_datapaths) {
        datapaths = x2nrealloc(datapaths, &allocated_datapaths,
                               sizeof *datapaths);
    }
    datapaths[n_datapaths++] = dp_ifindex;
}

/* Requests the statistics of vport 'name'.  Returns 0 or a positive errno
 * value, ENODEV or ENOENT if there is no such vport. */
static int
stats_get_vport(const char *name, struct ovs_vport_counters *counters)
    OVS_REQUIRES(mutex)
{
    int error = stats_open();

    if (!error) {
        error = ovs_vport_counters_get(&genl, name, counters);
    }
    if (!error) {
        stats_note_datapath(counters->dp_ifindex);
    } else if (error != ENODEV && error != ENOENT) {
        VLOG_WARN_RL(&rl, "%s: obtaining netdev stats via vport failed (%s)",
                     name, ovs_strerror(error));
    }
    return error;
}

/* Snapshot. */

static void
snapshot_vport(const struct ovs_vport_counters *counters, void *aux OVS_UNUSED)
    OVS_REQUIRES(mutex)
{
    stats_snapshot_add_vport(&snapshot, counters);
}

static void
snapshot_dev(const struct proc_net_dev *dev, void *aux OVS_UNUSED)
    OVS_REQUIRES(mutex)
{
    stats_snapshot_add_dev(&snapshot, dev);
}

static void
snapshot_take(void)
    OVS_REQUIRES(mutex)
{
    int error = stats_open();

    stats_snapshot_clear(&snapshot);
    snapshot_turn = turn;
    for (size_t i = 0; i < n_datapaths && !error; ) {
        int dp_error = ovs_vport_counters_dump(&genl, datapaths[i],
                                               snapshot_vport, NULL);

        if (dp_error && dp_error != EINTR) {
            /* It is gone.  If not, it will be added again. */
            datapaths[i] = datapaths[--n_datapaths];
        } else {
            i++;
        }
    }
    error = proc_net_dev_read("/proc/net/dev", snapshot_dev, NULL);
    if (error) {
        VLOG_WARN_RL(&rl, "/proc/net/dev: reading it failed (%s); ports lack "
                     "statistics of their devices", ovs_strerror(error));
    }
    stats_snapshot_sort(&snapshot);
}

/* One device. */

/* Reads the counters that /proc/net/dev lacks, and with 'all' also those that
 * it has.  Returns 0 or a positive errno value. */
static int
stats_read_sysfs(const struct link_info *link, bool all,
                 struct netdev_stats *stats)
{
    const struct {
        const char *file;
        uint64_t *value;
        bool rare;
    } counters[] = {
        { "rx_packets", &stats->rx_packets, false },
        { "tx_packets", &stats->tx_packets, false },
        { "rx_bytes", &stats->rx_bytes, false },
        { "tx_bytes", &stats->tx_bytes, false },
        { "rx_errors", &stats->rx_errors, false },
        { "tx_errors", &stats->tx_errors, false },
        { "tx_dropped", &stats->tx_dropped, false },
        { "multicast", &stats->multicast, false },
        { "collisions", &stats->collisions, false },
        { "rx_fifo_errors", &stats->rx_fifo_errors, false },
        { "tx_fifo_errors", &stats->tx_fifo_errors, false },
        { "rx_dropped", &stats->rx_dropped, true },
        { "rx_missed_errors", &stats->rx_missed_errors, true },
        { "rx_length_errors", &stats->rx_length_errors, true },
        { "rx_over_errors", &stats->rx_over_errors, true },
        { "rx_crc_errors", &stats->rx_crc_errors, true },
        { "rx_frame_errors", &stats->rx_frame_errors, true },
        { "tx_aborted_errors", &stats->tx_aborted_errors, true },
        { "tx_carrier_errors", &stats->tx_carrier_errors, true },
        { "tx_heartbeat_errors", &stats->tx_heartbeat_errors, true },
        { "tx_window_errors", &stats->tx_window_errors, true },
    };
    int fd = sysfs_net_open("/sys/class/net", link->name, link->ifindex,
                            link->hwaddr, link->hwaddr_len);
    int error = 0;

    if (fd < 0) {
        return -fd;
    }
    for (size_t i = 0; i < ARRAY_SIZE(counters) && !error; i++) {
        if (all || counters[i].rare) {
            error = sysfs_net_read(fd, counters[i].file, counters[i].value);
        }
    }
    close(fd);
    return error;
}

/* Reads all counters of a device, the slow way if necessary. */
static int
stats_read_dev(const struct netdev *netdev, const struct link_info *link,
               struct netdev_stats *stats)
{
    int error;

    memset(stats, 0xff, sizeof *stats);
    error = stats_read_sysfs(link, true, stats);
    if (error) {
        long long int start = kdp_rtnl_begin();

        error = get_stats_via_netlink(netdev, stats);
        kdp_rtnl_end(KDP_RTNL_STATS, start);
    }
    return error;
}

/* Fills in the counters that 'dev' has only as sums.  'vport' is the vport in
 * the snapshot, or NULL. */
static int
stats_split(const struct netdev *netdev, const struct link_info *link,
            const struct proc_net_dev *dev,
            const struct ovs_vport_counters *vport, struct netdev_stats *stats)
    OVS_REQUIRES(mutex)
{
    struct rare *rare = shash_find_data(&rares, dev->name);

    if (!dev->rx_frame && !dev->tx_carrier
        && (!dev->rx_drop
            || (vport && get_32aligned_u64(&vport->stats.rx_dropped)
                         == dev->rx_drop))) {
        stats->rx_dropped = dev->rx_drop;
        stats->rx_missed_errors = 0;
        stats->rx_length_errors = stats->rx_over_errors = 0;
        stats->rx_crc_errors = stats->rx_frame_errors = 0;
        stats->tx_aborted_errors = stats->tx_carrier_errors = 0;
        stats->tx_heartbeat_errors = stats->tx_window_errors = 0;
        return 0;
    }
    if (!rare) {
        rare = xzalloc(sizeof *rare);
        shash_add(&rares, dev->name, rare);
    }
    rare->turn = turn;
    if (rare->ifindex != link->ifindex || rare->rx_drop != dev->rx_drop
        || rare->rx_frame != dev->rx_frame
        || rare->tx_carrier != dev->tx_carrier) {
        int error = stats_read_dev(netdev, link, &rare->stats);

        if (error) {
            rare->ifindex = 0;
            return error;
        }
        rare->ifindex = link->ifindex;
        rare->rx_drop = dev->rx_drop;
        rare->rx_frame = dev->rx_frame;
        rare->tx_carrier = dev->tx_carrier;
    }
    stats->rx_dropped = rare->stats.rx_dropped;
    stats->rx_missed_errors = rare->stats.rx_missed_errors;
    stats->rx_length_errors = rare->stats.rx_length_errors;
    stats->rx_over_errors = rare->stats.rx_over_errors;
    stats->rx_crc_errors = rare->stats.rx_crc_errors;
    stats->rx_frame_errors = rare->stats.rx_frame_errors;
    stats->tx_aborted_errors = rare->stats.tx_aborted_errors;
    stats->tx_carrier_errors = rare->stats.tx_carrier_errors;
    stats->tx_heartbeat_errors = rare->stats.tx_heartbeat_errors;
    stats->tx_window_errors = rare->stats.tx_window_errors;
    return 0;
}

/* Converts a line of /proc/net/dev.  'vport' is as above. */
static int
stats_from_dev(const struct netdev *netdev, const struct link_info *link,
               const struct proc_net_dev *dev,
               const struct ovs_vport_counters *vport,
               struct netdev_stats *stats)
    OVS_REQUIRES(mutex)
{
    memset(stats, 0xff, sizeof *stats);
    stats->rx_packets = dev->rx_packets;
    stats->tx_packets = dev->tx_packets;
    stats->rx_bytes = dev->rx_bytes;
    stats->tx_bytes = dev->tx_bytes;
    stats->rx_errors = dev->rx_errors;
    stats->tx_errors = dev->tx_errors;
    stats->tx_dropped = dev->tx_drop;
    stats->multicast = dev->multicast;
    stats->collisions = dev->collisions;
    stats->rx_fifo_errors = dev->rx_fifo;
    stats->tx_fifo_errors = dev->tx_fifo;
    return stats_split(netdev, link, dev, vport, stats);
}

/* Converts the datapath's counters of a vport. */
static void
stats_from_vport(struct netdev_stats *stats,
                 const struct ovs_vport_counters *counters)
{
    const struct ovs_vport_stats *vport = &counters->stats;

    stats->rx_packets = get_32aligned_u64(&vport->rx_packets);
    stats->tx_packets = get_32aligned_u64(&vport->tx_packets);
    stats->rx_bytes = get_32aligned_u64(&vport->rx_bytes);
    stats->tx_bytes = get_32aligned_u64(&vport->tx_bytes);
    stats->rx_errors = get_32aligned_u64(&vport->rx_errors);
    stats->tx_errors = get_32aligned_u64(&vport->tx_errors);
    stats->rx_dropped = get_32aligned_u64(&vport->rx_dropped);
    stats->tx_dropped = get_32aligned_u64(&vport->tx_dropped);
    ovs_compat_netdev_set_upcalls(stats, counters->upcall_packets,
                                  counters->upcall_errors);

    /* Counters that it lacks are the device's, or 0. */
    stats->multicast = stats->collisions = 0;
    stats->rx_length_errors = stats->rx_over_errors = 0;
    stats->rx_crc_errors = stats->rx_frame_errors = 0;
    stats->rx_fifo_errors = stats->rx_missed_errors = 0;
    stats->tx_aborted_errors = stats->tx_carrier_errors = 0;
    stats->tx_fifo_errors = stats->tx_heartbeat_errors = 0;
    stats->tx_window_errors = 0;
}

/* Statistics of a device: the datapath's and the device's own. */
struct sides {
    int vport_error;            /* 0 if the datapath has the port. */
    struct ovs_vport_counters vport;
    int dev_error;              /* 0 if there is the device. */
    struct netdev_stats dev;
};

/* Gets both sides of 'netdev', which is in the table as 'link', or not in the
 * table if 'link' is NULL.  With 'vport_only', gets the datapath's only. */
static void
stats_get_sides(const struct netdev *netdev, const struct link_info *link,
                bool vport_only, struct sides *sides)
{
    const char *name = netdev_get_name(netdev);
    const struct ovs_vport_counters *vport = NULL;
    const struct proc_net_dev *dev = NULL;

    sides->dev_error = ENODEV;
    memset(&sides->dev, 0xff, sizeof sides->dev);

    ovs_mutex_lock(&mutex);
    if (!first[0]) {
        ovs_strlcpy(first, name, sizeof first);
    }
    if (snapshot_turn != turn
        && (strcmp(first, name) || !strcmp(snapshot_first, name))) {
        ovs_strlcpy(snapshot_first, first, sizeof snapshot_first);
        snapshot_take();
    }
    if (snapshot_turn == turn) {
        vport = stats_snapshot_find_vport(&snapshot, name);
        dev = stats_snapshot_find_dev(&snapshot, name);
    }

    if (vport) {
        sides->vport = *vport;
        sides->vport_error = 0;
    } else {
        sides->vport_error = stats_get_vport(name, &sides->vport);
    }
    if (link && !vport_only) {
        /* The file does not have alternative names. */
        sides->dev_error = (dev
                            ? stats_from_dev(netdev, link, dev, vport,
                                             &sides->dev)
                            : stats_read_dev(netdev, link, &sides->dev));
    }
    ovs_mutex_unlock(&mutex);
}

/* Gets both sides of 'netdev'. */
static void
netdev_kdp_get_sides(const struct netdev *netdev, bool vport_only,
                     struct sides *sides)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct link_info link;
    bool present;

    netdev_kdp_state_resolve(netdev);
    ovs_mutex_lock(&dev->up.mutex);
    /* For a device in another namespace, only the datapath has counters. */
    present = dev->present && dev->link.nsid == LINK_NSID_LOCAL;
    link = dev->link;
    ovs_mutex_unlock(&dev->up.mutex);
    stats_get_sides(netdev, present ? &link : NULL, vport_only, sides);
}

int
netdev_kdp_stats_get(const struct netdev *netdev, struct netdev_stats *stats)
{
    struct sides sides;

    netdev_kdp_get_sides(netdev, false, &sides);
    if (sides.vport_error) {
        if (!sides.dev_error) {
            *stats = sides.dev;
        }
        return sides.dev_error;
    }
    stats_from_vport(stats, &sides.vport);
    if (!sides.dev_error) {
        stats->multicast = sides.dev.multicast;
        stats->collisions = sides.dev.collisions;
        stats->rx_length_errors = sides.dev.rx_length_errors;
        stats->rx_over_errors = sides.dev.rx_over_errors;
        stats->rx_crc_errors = sides.dev.rx_crc_errors;
        stats->rx_frame_errors = sides.dev.rx_frame_errors;
        stats->rx_fifo_errors = sides.dev.rx_fifo_errors;
        stats->rx_missed_errors = sides.dev.rx_missed_errors;
        stats->tx_aborted_errors = sides.dev.tx_aborted_errors;
        stats->tx_carrier_errors = sides.dev.tx_carrier_errors;
        stats->tx_fifo_errors = sides.dev.tx_fifo_errors;
        stats->tx_heartbeat_errors = sides.dev.tx_heartbeat_errors;
        stats->tx_window_errors = sides.dev.tx_window_errors;
    }
    return 0;
}

/* Packets that a tap device counts as received were sent by the switch. */
static void
stats_swap(struct netdev_stats *stats, const struct netdev_stats *dev)
{
    *stats = *dev;
    stats->rx_packets = dev->tx_packets;
    stats->tx_packets = dev->rx_packets;
    stats->rx_bytes = dev->tx_bytes;
    stats->tx_bytes = dev->rx_bytes;
    stats->rx_errors = dev->tx_errors;
    stats->tx_errors = dev->rx_errors;
    stats->rx_dropped = dev->tx_dropped;
    stats->tx_dropped = dev->rx_dropped;
    stats->rx_length_errors = stats->rx_over_errors = 0;
    stats->rx_crc_errors = stats->rx_frame_errors = 0;
    stats->rx_fifo_errors = stats->rx_missed_errors = 0;
    stats->tx_aborted_errors = stats->tx_carrier_errors = 0;
    stats->tx_fifo_errors = stats->tx_heartbeat_errors = 0;
    stats->tx_window_errors = 0;
}

int
netdev_kdp_stats_get_tap(const struct netdev *netdev,
                         struct netdev_stats *stats)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct netdev_stats swapped;
    struct sides sides;
    int error = 0;

    netdev_kdp_get_sides(netdev, false, &sides);
    stats_swap(&swapped, &sides.dev);
    if (sides.vport_error) {
        error = sides.dev_error;
        if (!error) {
            *stats = swapped;
        }
    } else {
        stats_from_vport(stats, &sides.vport);
        if (!sides.dev_error) {
            /* The datapath counts merged segments, so its numbers differ from
             * the packets on the wire. */
            stats->rx_packets = swapped.rx_packets;
            stats->rx_bytes = swapped.rx_bytes;
            stats->tx_packets = swapped.tx_packets;
            stats->tx_bytes = swapped.tx_bytes;
            stats->rx_dropped += swapped.rx_dropped;
            stats->tx_dropped += swapped.tx_dropped;
            stats->rx_errors += swapped.rx_errors;
            stats->tx_errors += swapped.tx_errors;
            stats->multicast = swapped.multicast;
            stats->collisions = swapped.collisions;
        }
    }
    if (!error) {
        ovs_mutex_lock(&dev->up.mutex);
        stats->tx_dropped += dev->up.tx_dropped;
        stats->rx_dropped += dev->up.rx_dropped;
        ovs_mutex_unlock(&dev->up.mutex);
    }
    return error;
}

int
netdev_kdp_stats_get_internal(const struct netdev *netdev,
                              struct netdev_stats *stats)
{
    struct sides sides;

    netdev_kdp_get_sides(netdev, true, &sides);
    if (!sides.vport_error) {
        stats_from_vport(stats, &sides.vport);
    }
    return sides.vport_error;
}
