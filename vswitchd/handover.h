/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_HANDOVER_H
#define KDP_HANDOVER_H 1

/* Live handover
 * =============
 *
 * The daemon that serves ("the old one") starts the next one ("the new one"),
 * which makes all bridges while the old one goes on serving.  When it is
 * ready, the old one gives it the sockets for upcalls, and the new one serves.
 * One of them serves at every instant, whatever happens to the other one (R6).
 *
 *      command      old daemon                 new daemon
 *      ----------   ------------------------   -----------------------------
 *      start        starts the new one         SHADOW: makes its bridges from
 *                                              the database; changes neither
 *                                              that nor the datapath
 *      (ovs-ofctl   serves, with its           takes OpenFlow rules at
 *      copies)      controllers                BRIDGE.mgmt.next
 *      prepare      MUTE: has no
 *                   controllers; rules do
 *                   not change, and are read
 *                   at BRIDGE.mgmt.old
 *      (ovs-ofctl   serves                     takes what has changed
 *      copies)
 *      commit       STANDBY: halts upcalls,    takes the sockets, serves,
 *                   gives sockets and the      gets the lock, and says so
 *                   database's lock away
 *                   OVER: ends                 has controllers
 *
 * ovs-kdp-switch(8) gives the commands.
 *
 * What decides who serves in the end is the database's lock "ovs_vswitchd",
 * which ovsdb-server gives to one process at a time.  The new daemon asks for
 * it from the beginning, and bridges are told in the shadow that they have it.
 * The old one lets go of it in "commit", and asks for it again at once:
 * ovsdb-server gives it to the new one, and back if that ends.
 *
 * Failure
 * -------
 *
 * The two daemons have a connection.  If it ends:
 *
 *   - before "commit": the old one goes on, with its controllers.  If it is
 *     the old one that died, the new one serves, with sockets of its own.
 *
 *   - later: the old one serves again.  It deletes the flows of the new one.
 *     If it is the old one that died, the new one serves.
 *
 * The old one kills a new one that does not answer in time (limits[]).  An old
 * one that ends in an orderly way takes the new one with it.
 *
 * A new daemon whose way of handing over is another one must not know the
 * option --handover: then it ends at once, and there is no handover.
 *
 * Not handed over: MAC addresses and multicast groups that were learned,
 * statistics of OpenFlow rules, the state of LACP, STP, BFD and CFM.  A daemon
 * that offloads flows, has meters or runs under --monitor does not hand over.
 *
 * The linker brings some calls of the bridge to ovsdb-idl and ofproto here
 * (--wrap).  Without a handover they go on to where they would have gone.
 *
 * Thread safety: the main thread. */

#include <stdbool.h>

#include "svec.h"

/* The descriptor that the new daemon has of the connection. */
#define HANDOVER_FD 3

/* What the command line says. */
struct handover_options {
    struct svec args;           /* Of the next daemon, from argv[1] on. */
    const char *refusal;        /* Why there cannot be one, or NULL. */
    bool pidfile;               /* --pidfile, */
    const char *pidfile_name;   /* and its value, or NULL. */
    int fd;                     /* --handover: to the old daemon, or -1. */
};

/* First thing in main(): if 'argv' has --handover=FD, closes all descriptors
 * that were inherited but FD and the standard ones. */
void handover_close_inherited(int argc, char *argv[]);

/* Before bridge_init().  'options' stays the caller's, for good. */
void handover_init(const struct handover_options *options);

/* Says that the first configuration has been carried out. */
void handover_configured(void);

/* In each turn of the main loop. */
void handover_run(void);
void handover_wait(void);

/* True if another process serves in place of this one, which is to end and to
 * leave everything as it is. */
bool handover_is_over(void);

#endif /* vswitchd/handover.h */
