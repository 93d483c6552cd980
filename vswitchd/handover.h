/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_HANDOVER_H
#define KDP_HANDOVER_H 1

/* Live handover
 * =============
 *
 * The daemon that serves ("the old daemon") starts the next one ("the new
 * daemon"), which creates all bridges while the old daemon goes on serving.
 * When the new daemon is ready, the old daemon gives it the sockets for
 * upcalls, and the new daemon serves.  One of them serves at every instant,
 * whatever happens to the other one (R6).
 *
 *      command      old daemon                 new daemon
 *      ----------   ------------------------   -----------------------------
 *      start        starts the new one         SHADOW: creates its bridges
 *                                              from the database; changes
 *                                              neither it nor the datapath
 *      (ovs-ofctl   serves, with its           takes OpenFlow rules at
 *      copies)      controllers                BRIDGE.mgmt.next
 *      prepare      MUTE: has no
 *                   controllers; rules do
 *                   not change, and are read
 *                   at BRIDGE.mgmt.old
 *      (ovs-ofctl   serves                     takes the changed rules
 *      copies)
 *      commit       STANDBY: halts upcalls,    takes the sockets, serves,
 *                   gives sockets and the      gets the lock, and says so
 *                   database's lock away
 *                   OVER: ends                 has controllers
 *
 * ovs-kdp-switch(8) sends the commands.
 *
 * The database's lock "ovs_vswitchd", which ovsdb-server gives to one process
 * at a time, decides which daemon serves in the end.  The new daemon requests
 * the lock from the beginning.  Until it has the lock, its bridges act as if
 * they had it, so that they run in every turn, but change nothing in the
 * database and have no controllers.
 * The old daemon releases the lock in "commit" and requests it again at once:
 * ovsdb-server gives the lock to the new daemon, and back if the new daemon
 * ends.
 *
 * Failure
 * -------
 *
 * The two daemons have a connection.  If the connection ends:
 *
 *   - before "commit": the old daemon goes on, with its controllers.  If the
 *     old daemon died, the new one serves, with sockets of its own.
 *
 *   - later: the old daemon serves again, and deletes the flows of the new
 *     one.  If the old daemon died, the new one serves.
 *
 * A new daemon that is to serve and cannot turn upcalls on ends, and takes no
 * port's socket away.
 *
 * If the old daemon dies while it is the main process of a systemd service,
 * systemd ends the new daemon, too, and starts the service again, as it does
 * after any crash.
 *
 * If ovsdb-server restarts before "commit", it may give the lock to the new
 * daemon.  The old daemon then kills the new one, and gets the lock.
 *
 * The old daemon kills a new one that does not answer in time (limits[]).
 * When the old daemon ends in an orderly way, it also ends the new one.
 *
 * A new daemon with an incompatible handover must not know the option
 * --handover: then it ends at once, and there is no handover.
 *
 * Not handed over: MAC addresses and multicast groups that were learned,
 * statistics of OpenFlow rules, the state of LACP, STP, BFD and CFM.  LACP and
 * STP begin when the new daemon serves, because no PDU reaches it before.  A
 * daemon that offloads flows, has meters or runs under --monitor does not hand
 * over.  Nor does a daemon while a bridge in fail mode "standalone" is without
 * its controller.
 *
 * The linker redirects some of the calls of ovsdb-idl, ofproto, LACP and STP
 * to this module (--wrap).  Without a handover, the module passes them on.
 *
 * Thread safety: the main thread. */

#include <stdbool.h>

#include "svec.h"

/* The new daemon's descriptor of the connection. */
#define HANDOVER_FD 3

/* Options from the command line. */
struct handover_options {
    struct svec args;           /* For the next daemon, from argv[1] on. */
    const char *refusal;        /* Why a handover is impossible, or NULL. */
    bool pidfile;               /* --pidfile, */
    const char *pidfile_name;   /* and its value, or NULL. */
    int fd;                     /* --handover: to the old daemon, or -1. */
};

/* To be called first in main(): if 'argv' has --handover=FD, closes all
 * inherited descriptors except FD and the standard ones. */
void handover_close_inherited(int argc, char *argv[]);

/* To be called before bridge_init().  The caller owns 'options' and must keep
 * them. */
void handover_init(const struct handover_options *options);

/* Says that the first configuration has been carried out. */
void handover_configured(void);

/* To be called in each turn of the main loop. */
void handover_run(void);
void handover_wait(void);

/* True if another process serves instead of this one, which then must end and
 * leave everything as it is. */
bool handover_is_over(void);

#endif /* vswitchd/handover.h */
