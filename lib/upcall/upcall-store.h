/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_STORE_H
#define KDP_UPCALL_STORE_H 1

/* Sockets that outlive the process
 * ================================
 *
 * The kernel sends the upcalls of a port to the netlink port id that it was
 * told, whether or not a daemon runs.  As long as some process, or a message
 * on its way to one, has a descriptor of that socket, the upcalls wait on it.
 * So this module keeps a copy of each descriptor outside the process, and the
 * next process takes the copies (R4).  There are two places:
 *
 *      store      what it is                        lasts until
 *      --------   -------------------------------   ------------------------
 *      systemd    the file descriptor store of      the service stops, and no
 *                 the service (sd_notify(3),        restart is under way
 *                 FDSTORE=1), if it is told
 *                 NOTIFY_SOCKET
 *      monitor    a pair of sockets that the        that process ends
 *                 process of --monitor has, too.
 *                 Each copy waits in it as a
 *                 message, which nobody reads
 *                 before the next daemon
 *
 * Both may be in use.  Without any, sockets go with the process.
 *
 * A copy has a name that says which datapath, port and port id it belongs to.
 * That is only believed of a socket of generic netlink with this port id.
 * Other descriptors are left alone.
 *
 * Life cycle
 * ----------
 *
 * upcall_store_open() comes before the process forks, upcall_store_start() in
 * the process that serves: it finds the sockets that a previous run left.
 * upcall_store_take() gives a found socket to the caller.  upcall_store_end()
 * closes those that nobody took.  Sockets that are added are copied in the
 * next upcall_store_run(), which never blocks.
 *
 * Failure
 * -------
 *
 * A socket that cannot be copied is used all the same, and tried again every
 * second.  upcall_store_get_info() says how many there are.
 *
 * Thread safety: any thread, but for _open() and _start(), which belong to the
 * start of the process. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct upcall_store_info {
    bool exists;                /* There is a store. */
    size_t n_kept;              /* Sockets that it has. */
    size_t n_missing;           /* Those that it did not take when it was told
                                 * last, */
    int error;                  /* and a reason, or 0. */
};

/* Finds the store of systemd, and makes that of a monitor if 'monitored'. */
void upcall_store_open(bool monitored);

/* Finds what a previous run left. */
void upcall_store_start(void);

/* Keeps socket 'fd', with netlink port id 'pid', of port 'port_no' of datapath
 * 'dp_ifindex', unless it was taken from the store.  The socket stays the
 * caller's, which removes it before it closes it. */
void upcall_store_add(int fd, int dp_ifindex, uint32_t port_no, uint32_t pid);
void upcall_store_remove(uint32_t pid);

/* Returns the socket with 'pid' that a previous run used for port 'port_no' of
 * datapath 'dp_ifindex', or if 'pid' is 0 the last one for that port.  It is
 * the caller's from now on, and is still kept.  Returns -1 if there is none.
 */
int upcall_store_take(int dp_ifindex, uint32_t port_no, uint32_t pid);

/* True if sockets were found and not taken yet. */
bool upcall_store_has_found(void);

/* Closes what was found and not taken. */
void upcall_store_end(void);

/* Says that the process is about to end.  If sockets outlive that, nothing is
 * removed from now on, and upcall_store_is_left() is true: the kernel may go
 * on sending to them. */
void upcall_store_leave(void);
bool upcall_store_is_left(void);

/* Gives copies of all sockets to the process at the other end of 'sock', a
 * connection of sequenced packets, which calls upcall_store_receive(): there
 * they count as found.  Both block, as long as 'sock' says, and return 0 or a
 * positive errno value.  The caller's sockets are left as by
 * upcall_store_leave(), until upcall_store_return(). */
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
