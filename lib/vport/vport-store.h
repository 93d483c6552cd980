/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_VPORT_STORE_H
#define KDP_VPORT_STORE_H 1

/* Vport store
 * ===========
 *
 * The content of a vport table: the ports, the uncertain port numbers, and the
 * pollers.  vport-sync.h says how the ports become equal to the kernel's, and
 * vport-table.h how they are used.
 *
 * Life cycle: vport_store_init(), vport_store_uninit(), with the table.
 *
 * Thread safety: all functions need the table's mutex.
 *
 * Failure: none. */

#include "bitmap.h"
#include "nl/nl-mcast.h"
#include "nl/ovs-genl.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"
#include "sset.h"
#include "vport/vport-stats.h"

/* Whether the kernel finds a port under the name of its device. */
enum vport_found {
    VPORT_FOUND_UNKNOWN,
    VPORT_FOUND_YES,
    VPORT_FOUND_NO
};

/* A port. */
struct vport_entry {
    struct hmap_node number_node;
    struct hmap_node name_node;
    struct hmap_node ifindex_node;
    struct ovs_vport vport;
    enum vport_found found;
    bool marked;                /* Seen by the dump in progress. */
};

/* An uncertain port number, about which the kernel is to be asked. */
struct vport_recheck {
    struct hmap_node node;
    uint32_t port_no;
    enum vport_ask reason;
    bool ask;                   /* The request is still to be sent. */

    /* Announced additions of ports with this number, minus announced removals.
     * If the kernel's answer differs from that, more announcements are to
     * come.  Until then, but at most for VPORT_LATE_MS, all announcements
     * about this number are uncertain. */
    int announced;
    long long int since;        /* When that began, in ms. */
};

/* The kernel announces a change within microseconds, unless a process is
 * stopped in between: then within milliseconds. */
#define VPORT_LATE_MS 1000

struct vport_table {
    char *name;
    int dp_ifindex;
    uint32_t mcgroup;

    struct ovs_mutex mutex;
    struct ovs_genl genl OVS_GUARDED;       /* 'conn' is NULL until opened. */
    struct nl_mcast *vport_mcast OVS_GUARDED;
    struct nl_mcast *link_mcast OVS_GUARDED;
    bool all_namespaces OVS_GUARDED;

    bool in_sync OVS_GUARDED;   /* The ports are equal to the kernel's. */
    bool caught_up OVS_GUARDED; /* Since vport_table_expire(). */
    bool tried OVS_GUARDED;     /* A dump has failed since then. */
    enum vport_ask dump_reason OVS_GUARDED; /* Why it is not in sync. */
    long long int late_until OVS_GUARDED;   /* Announcements before this time
                                             * may be older than the dump. */

    struct hmap by_number OVS_GUARDED;      /* struct vport_entry. */
    struct hmap by_name OVS_GUARDED;
    struct hmap by_ifindex OVS_GUARDED;
    size_t n_untracked OVS_GUARDED; /* Ports whose names we cannot track. */

    struct hmap rechecks OVS_GUARDED;       /* struct vport_recheck. */

    struct ovs_list pollers OVS_GUARDED;    /* struct vport_poller. */
    unsigned long *gone OVS_GUARDED;        /* Bitmap of port numbers. */
    size_t n_gone OVS_GUARDED;
    bool all_gone OVS_GUARDED;

    struct vport_table_stats stats OVS_GUARDED;
};

/* Most names that a poller holds.  An abandoned poller would collect names
 * without end. */
#define VPORT_POLLER_MAX 65536

struct vport_poller {
    struct ovs_list node;
    struct vport_table *table;
    struct sset names;
    bool all;                   /* Any port may have changed. */
};

void vport_store_init(struct vport_table *table)
    OVS_REQUIRES(table->mutex);
void vport_store_uninit(struct vport_table *table)
    OVS_REQUIRES(table->mutex);
struct vport_entry *vport_store_find(const struct vport_table *table,
                                     uint32_t port_no)
    OVS_REQUIRES(table->mutex);

/* True if the device of a port has index 'ifindex', in whatever namespace. */
bool vport_store_has_ifindex(const struct vport_table *table, int ifindex)
    OVS_REQUIRES(table->mutex);

/* Returns the number of ports whose device is called 'name', and stores the
 * first in '*entryp'. */
size_t vport_store_find_name(const struct vport_table *table,
                             const char *name, struct vport_entry **entryp)
    OVS_REQUIRES(table->mutex);

/* Makes 'vport' the port with its number.  'found' applies if it is new or has
 * a new name. */
struct vport_entry *vport_store_put(struct vport_table *table,
                                    const struct ovs_vport *vport,
                                    enum vport_found found)
    OVS_REQUIRES(table->mutex);
void vport_store_remove(struct vport_table *table, struct vport_entry *entry)
    OVS_REQUIRES(table->mutex);

/* True if no message reports that the port's device was renamed. */
bool vport_is_untracked(const struct vport_table *table,
                        const struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex);

struct vport_recheck *vport_recheck_add(struct vport_table *table,
                                        uint32_t port_no,
                                        enum vport_ask reason)
    OVS_REQUIRES(table->mutex);
struct vport_recheck *vport_recheck_find(const struct vport_table *table,
                                         uint32_t port_no)
    OVS_REQUIRES(table->mutex);
void vport_recheck_remove(struct vport_table *table,
                          struct vport_recheck *recheck)
    OVS_REQUIRES(table->mutex);
void vport_recheck_clear(struct vport_table *table)
    OVS_REQUIRES(table->mutex);

/* Notifies pollers that port 'name', or any port, has changed. */
void vport_notify(struct vport_table *table, const char *name)
    OVS_REQUIRES(table->mutex);
void vport_notify_all(struct vport_table *table)
    OVS_REQUIRES(table->mutex);

#endif /* lib/vport/vport-store.h */
