/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_VPORT_TABLE_H
#define KDP_VPORT_TABLE_H 1

/* Vport table
 * ===========
 *
 * The ports of one datapath as the kernel has them, by number and by name, so
 * that who asks about a port need not ask the kernel.  Open vSwitch asks for
 * every port by its name whenever it goes through the ports of a bridge.
 *
 *      kernel --> "ovs_vport" socket -- ports that come, go, change --\
 *      kernel --> rtnetlink socket ---- devices that are renamed or ---> table
 *                                       change their namespace       /
 *      kernel <-> connection ---------- dumps, and what is in doubt -/
 *
 *
 * Life cycle
 * ----------
 *
 * The sockets are opened, and the ports dumped, when something is asked first.
 * From then on the table catches up before it answers: it takes everything
 * that waits on both sockets.  The kernel puts an announcement on the sockets
 * before it answers the request that caused it, so what this process did is in
 * the table by then.
 *
 * A port that the table has is answered without a system call if it has caught
 * up since the last vport_table_expire(), which the main loop calls in each
 * round and whoever changes a port after the change.  A port that the table
 * does not have is answered only after catching up.
 *
 *
 * What is in doubt
 * ----------------
 *
 * Where announcements do not tell the truth for certain, the kernel is asked.
 * Requests (all are OVS_VPORT_CMD_GET) are counted by their reasons:
 *
 *   - VPORT_ASK_START, VPORT_ASK_LOSS: A dump, at first and after a loss.
 *
 *   - VPORT_ASK_ORDER: The kernel announces after it has released its lock, so
 *     the announcements of two processes may come in the wrong order.  One
 *     that contradicts the table (a port comes that is there, one goes that is
 *     not) leads to a request for that number, and so do the next ones about
 *     it until as many ports have come and gone as the kernel says, for at
 *     most a second, and all of the first second after a dump that followed a
 *     loss.
 *
 *   - VPORT_ASK_DEVICE: "ovs_vport" does not tell that a device was renamed,
 *     or that an internal one went to another namespace, or that it died with
 *     that namespace.  Rtnetlink does (that a namespace dies, in that its id
 *     goes), and leads to a request for the port's number.  So does a name
 *     under which the kernel finds no port any more, of which rtnetlink tells
 *     us nothing, and an announcement of a port whose device is not what the
 *     table has, is elsewhere, or has another name by now.
 *
 *   - VPORT_ASK_NAME: The kernel looks a port up by name under the name that
 *     it was made with, so a device that was renamed is not found.  The table
 *     answers as the kernel does: it asks once about a name that it did not
 *     see a port come with.
 *
 *   - VPORT_ASK_NAMESPACE: The device is in a namespace of which rtnetlink
 *     tells us nothing.  That may be one that dies: the kernel says so before
 *     it takes the port away.
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
 * malformed, the ports are dumped again, after everything that waited on the
 * sockets was taken.  The same happens when more than VPORT_MAX_ASKS ports are
 * in doubt (vport-sync.h).
 *
 * After any dump, the first included, what is announced for VPORT_LATE_MS is
 * in doubt: it may be older than the dump, or follow something that was
 * announced before the sockets were open.
 *
 * While a dump is under way, a deletion can make the kernel skip another port.
 * So a dump is repeated, as an interrupted one is, if a port was announced to
 * have gone by its end.
 *
 * A dump fails, for example, when the datapath is gone.  Then every question
 * goes to the kernel, until a dump succeeds.  One is tried in each round of
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
 * The table has a socket of rtnetlink of its own.  Any thread may ask, and the
 * answer takes into account all that was announced before.  A listener that
 * the main loop runs would know that only after its next turn. */

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

/* Destroys 'table', which may be NULL.  It has no pollers any more. */
void vport_table_destroy(struct vport_table *table);

/* Says that the kernel's ports may have changed in a way that the next answer
 * must show. */
void vport_table_expire(struct vport_table *);

/* Says that the kernel has shown that it has no port 'port_no', though the
 * table may have one: the kernel is asked before the next answer. */
void vport_table_doubt(struct vport_table *, uint32_t port_no);

/* Stores the port of that number, or the one that the kernel finds under that
 * name, in '*vport'.  Returns 0, ENODEV if there is none, or the positive
 * errno value of a request. */
int vport_table_get_by_number(struct vport_table *, uint32_t port_no,
                              struct ovs_vport *vport);
int vport_table_get_by_name(struct vport_table *, const char *name,
                            struct ovs_vport *vport);

/* Stores all ports, in the order of their numbers, in an array that the caller
 * frees, '*vports', and their number in '*n'.  Returns 0 or the positive errno
 * value of a request; then '*vports' is NULL. */
int vport_table_list(struct vport_table *, struct ovs_vport **vports,
                     size_t *n);

/* Stores in '*port_no' the number of a port that went, or VPORT_ALL if any may
 * have gone, and returns true; or returns false.  Each is told once, to one
 * caller.  The number may belong to another port by now. */
#define VPORT_ALL UINT32_MAX
bool vport_table_next_gone(struct vport_table *, uint32_t *port_no);

/* Tells about changes to one user. */
struct vport_poller *vport_poller_create(struct vport_table *);
void vport_poller_destroy(struct vport_poller *);

/* Returns 0 and stores in '*namep' the name, which the caller frees, of a port
 * that came, went or changed, or whose device lost that name in our namespace;
 * or ENOBUFS if any port
 * may have changed, as it does the first time; or EAGAIN if nothing happened;
 * or the error that keeps the sockets from being opened. */
int vport_poller_next(struct vport_poller *, char **namep);

/* Makes poll_block() wake up when vport_poller_next() may say something other
 * than EAGAIN. */
void vport_poller_wait(struct vport_poller *);

/* Statistics. */
struct vport_table_info {
    char *name;
    bool open;                  /* The sockets are. */
    bool in_sync;
    bool all_namespaces;        /* Devices of others can be followed. */
    struct vport_table_stats stats;
    struct ovs_vport *vports;
    size_t n_vports;
};

/* Takes a snapshot.  Asks the kernel nothing and takes nothing from the
 * sockets. */
void vport_table_get_info(struct vport_table *, struct vport_table_info *);
void vport_table_info_uninit(struct vport_table_info *);

#endif /* lib/vport/vport-table.h */
