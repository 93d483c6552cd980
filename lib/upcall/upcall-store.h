/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_STORE_H
#define KDP_UPCALL_STORE_H 1

/* Sockets that outlive the process
 * ================================
 *
 * The kernel sends the upcalls of a port to the configured netlink port id,
 * whether or not a daemon runs.  As long as any process, or a message in
 * transit, holds a descriptor of that socket, the upcalls wait on the socket.
 * So this module keeps a copy of each descriptor outside the process, and the
 * next process takes the copies (R4).  There are two places:
 *
 *      store      what it is                        lasts until
 *      --------   -------------------------------   ------------------------
 *      systemd    the file descriptor store of      the service stops, and no
 *                 the service (sd_notify(3),        restart is under way
 *                 FDSTORE=1), if the process
 *                 has NOTIFY_SOCKET
 *      monitor    a pair of sockets that the        that process ends
 *                 process of --monitor has, too.
 *                 Each copy waits in it as a
 *                 message until the next
 *                 daemon reads it
 *
 * Both may be in use.  Without either, the sockets end with the process.
 *
 * A copy has a name that says its datapath, port and port id.  The module
 * believes the name only if the descriptor is a generic netlink socket with
 * this port id.  It leaves other descriptors alone.
 *
 * Life cycle
 * ----------
 *
 * upcall_store_open() is called before the process forks, and
 * upcall_store_start() in the process that serves.  It finds the sockets that
 * a previous run left.  upcall_store_take() gives a found socket to the
 * caller.  upcall_store_end() closes the found sockets that were not taken.
 * The next upcall_store_run(), which never blocks, copies added sockets.
 *
 * Failure
 * -------
 *
 * systemd's store has room for about 5,000 sockets, because systemd passes the
 * names of all of them in one environment variable.
 *
 * A socket that cannot be copied is used all the same, and the module tries
 * the copy again every second.  upcall_store_get_info() says how many such
 * sockets there are.
 *
 * Thread safety: any thread, except for _open() and _start(), which belong to
 * the start of the process. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct upcall_store_info {
    bool exists;                /* There is a store. */
    size_t n_kept;              /* Sockets that it has. */
    size_t n_missing;           /* Sockets that it refused at the last
                                 * attempt, */
    int error;                  /* and a reason, or 0. */
};

/* Finds the store of systemd, and creates the monitor's store if
 * 'monitored'. */
void upcall_store_open(bool monitored);

/* Finds the sockets that a previous run left. */
void upcall_store_start(void);

/* Keeps socket 'fd', with netlink port id 'pid', of port 'port_no' of datapath
 * 'dp_ifindex', unless it was taken from the store.  The caller still owns the
 * socket, and removes it from the store before closing it. */
void upcall_store_add(int fd, int dp_ifindex, uint32_t port_no, uint32_t pid);
void upcall_store_remove(uint32_t pid);

/* Returns the socket with 'pid' that a previous run used for port 'port_no' of
 * datapath 'dp_ifindex', or if 'pid' is 0 the last one for that port.  The
 * caller owns the socket from now on; the store still keeps its copy.  Returns
 * -1 if there is none. */
int upcall_store_take(int dp_ifindex, uint32_t port_no, uint32_t pid);

/* True if sockets were found and not taken yet. */
bool upcall_store_has_found(void);

/* Closes the sockets that were found and not taken. */
void upcall_store_end(void);

/* Makes upcall_store_leave(), if it is called within ten minutes, remove all
 * sockets from systemd's store, because the next process will not get them.
 * It then waits for systemd to read the messages. */
void upcall_store_clear_at_end(void);

/* Says that the process is about to end.  If the sockets outlive the process,
 * the store removes nothing from now on, and upcall_store_is_left() is true:
 * the kernel may go on sending to the sockets. */
void upcall_store_leave(void);
bool upcall_store_is_left(void);

/* Gives copies of all sockets to the process at the other end of 'sock', a
 * connection of sequenced packets.  That process calls upcall_store_receive(),
 * and the sockets count as found there.  Both functions block as long as the
 * time-outs of 'sock' allow, and return 0 or a positive errno value.  From
 * then on the sender's store is as after upcall_store_leave(), until
 * upcall_store_return(). */
int upcall_store_send(int sock);
int upcall_store_receive(int sock);
void upcall_store_return(void);

/* Sends 'text' to systemd, if it wants messages (sd_notify(3)). */
void upcall_store_notify(const char *text);

void upcall_store_get_info(struct upcall_store_info *);

/* To be called in each turn of the main loop. */
void upcall_store_run(void);
void upcall_store_wait(void);

#endif /* lib/upcall/upcall-store.h */
