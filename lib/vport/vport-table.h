/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_VPORT_TABLE_H
#define KDP_VPORT_TABLE_H 1

/* Vport table
 * ===========
 *
 * The ports of one datapath, equal to the kernel's, by number and by name, so
 * that a lookup needs no request.  Open vSwitch looks up every port by name
 * whenever it goes through the ports of a bridge.
 *
 *      kernel --> "ovs_vport" socket -- ports that come, go, change --\
 *      kernel --> rtnetlink socket ---- devices that are renamed or ---> table
 *                                       change their namespace       /
 *      kernel <-> connection ---------- dumps, uncertain ports ------/
 *
 *
 * Life cycle
 * ----------
 *
 * The sockets are opened, and the ports dumped, at the first lookup.  From
 * then on the table catches up before a lookup: it processes everything that
 * waits on both sockets.  The kernel puts an announcement on the sockets
 * before it answers the request that caused it, so changes by this process are
 * in the table by then.
 *
 * A lookup that finds a port needs no system call if the table has caught up
 * since the last vport_table_expire().  The main loop calls that in each turn,
 * and a thread that changes a port calls it after the change.  If a port is
 * not in the table, the table catches up first.
 *
 *
 * Uncertain ports
 * ---------------
 *
 * If announcements leave the state of a port uncertain, the kernel is asked.
 * Requests (all are OVS_VPORT_CMD_GET) are counted by their reasons:
 *
 *   - VPORT_ASK_START, VPORT_ASK_LOSS: A dump, at first and after a loss.
 *
 *   - VPORT_ASK_ORDER: The kernel announces a change after it has released its
 *     lock, so the announcements of two processes may arrive in the wrong
 *     order.  An announcement that contradicts the table (an existing port is
 *     added, a missing one removed) causes a request for that number.  So do
 *     the next announcements about it, until as many ports have come and gone
 *     as the kernel says, or a second has passed.  After a dump that followed
 *     a loss, all announcements of the first second cause requests.
 *
 *   - VPORT_ASK_DEVICE: "ovs_vport" does not announce that a device was
 *     renamed, or that an internal device moved to another namespace or died
 *     with it.  Rtnetlink does (the end of a namespace is the end of its id),
 *     and causes a request for the port's number.  Further reasons are a name
 *     under which the kernel no longer finds a port that we cannot track, and
 *     an announcement of a port whose device differs from the table's, is in
 *     another namespace, or has another name by now.
 *
 *   - VPORT_ASK_NAME: The kernel looks a port up under the name with which it
 *     was created, so it does not find a device that was renamed.  The table
 *     gives the kernel's answer: it asks once about a name under which it has
 *     not seen a port being added.
 *
 *   - VPORT_ASK_NAMESPACE: The device is in a namespace that rtnetlink does
 *     not report on.  That may be a dying namespace: the kernel announces that
 *     before it removes the port.
 *
 *   - VPORT_ASK_UNSYNCED: The table is not in sync, see below.
 *
 *   - VPORT_ASK_UNUSUAL: The name is too long, or the number too high.  The
 *     kernel has its own errors for these.
 *
 *
 * Loss
 * ----
 *
 * When a socket's buffer was full (ENOBUFS), or a message was cut short or
 * malformed, the ports are dumped again, after all waiting messages were
 * processed.  The same happens when more than VPORT_MAX_ASKS ports are
 * uncertain (vport-sync.h).
 *
 * For VPORT_LATE_MS after any dump, including the first, announcements are
 * uncertain: they may be older than the dump, or follow one that was made
 * before the sockets were open.
 *
 * A deletion during a dump can make the kernel skip another port.  So a dump
 * is repeated, like an interrupted one, if a removal was announced before its
 * end.
 *
 * A dump fails, for example, when the datapath is gone.  Then every lookup is
 * a request to the kernel, until a dump succeeds.  It is tried in each turn of
 * the main loop.
 *
 *
 * Thread safety
 * -------------
 *
 *      function                    thread
 *      ------------------------    --------------------------------------
 *      vport_poller_*              any, one at a time for each poller
 *      create, destroy             no other thread uses the table
 *      all others                  any; they take the table's mutex, and
 *                                  may wait for an answer of the kernel
 *
 * No function calls back.
 *
 * The table has its own rtnetlink socket.  Any thread may look ports up, and
 * the result includes all previous announcements.  A listener that the main
 * loop runs would have them only after its next turn. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nl/ovs-genl.h"
#include "vport/vport-stats.h"

struct vport_table;
struct vport_poller;

/* Creates a table for datapath 'name', whose local port has interface index
 * 'dp_ifindex'.  'vport_family' is the family "ovs_vport" and its group.
 * Opens nothing yet. */
struct vport_table *vport_table_create(const char *name, int dp_ifindex,
                                       const struct genl_family *vport_family);

/* Destroys 'table', which may be NULL and must have no pollers. */
void vport_table_destroy(struct vport_table *table);

/* Says that the kernel's ports may have changed, and that the next lookup must
 * show that. */
void vport_table_expire(struct vport_table *);

/* Says that the kernel seems to have no port 'port_no', though the table may
 * have one: the kernel is asked before the next lookup. */
void vport_table_recheck(struct vport_table *, uint32_t port_no);

/* Stores in '*vport' the port with that number, or the one that the kernel
 * finds under that name.  Returns 0, ENODEV if there is none, or the positive
 * errno value of a request. */
int vport_table_get_by_number(struct vport_table *, uint32_t port_no,
                              struct ovs_vport *vport);
int vport_table_get_by_name(struct vport_table *, const char *name,
                            struct ovs_vport *vport);

/* Stores all ports, ordered by number, in the array '*vports', which the
 * caller frees, and their number in '*n'.  Returns 0 or the positive errno
 * value of a request; then '*vports' is NULL. */
int vport_table_list(struct vport_table *, struct ovs_vport **vports,
                     size_t *n);

/* Returns true and stores in '*port_no' the number of a port that was removed,
 * or VPORT_ALL if any may have been; or returns false.  Each number is
 * returned once, to one caller.  It may belong to another port by now. */
#define VPORT_ALL UINT32_MAX
bool vport_table_next_gone(struct vport_table *, uint32_t *port_no);

/* A poller reports changes to one user. */
struct vport_poller *vport_poller_create(struct vport_table *);
void vport_poller_destroy(struct vport_poller *);

/* Returns 0 and stores in '*namep' the name, which the caller frees, of a port
 * that was added, removed or changed, or whose device lost that name in our
 * namespace; or ENOBUFS if any port may have changed, as in the first call; or
 * EAGAIN if nothing has changed; or the error that prevents opening the
 * sockets. */
int vport_poller_next(struct vport_poller *, char **namep);

/* Makes poll_block() wake up when vport_poller_next() may return something
 * other than EAGAIN. */
void vport_poller_wait(struct vport_poller *);

/* Statistics. */
struct vport_table_info {
    char *name;
    bool open;                  /* The sockets are open. */
    bool in_sync;
    bool all_namespaces;        /* Devices in others can be tracked. */
    struct vport_table_stats stats;
    struct ovs_vport *vports;
    size_t n_vports;
};

/* Takes a snapshot, without a request and without reading the sockets. */
void vport_table_get_info(struct vport_table *, struct vport_table_info *);
void vport_table_info_uninit(struct vport_table_info *);

#endif /* lib/vport/vport-table.h */
