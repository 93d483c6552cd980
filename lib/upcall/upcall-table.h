/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_TABLE_H
#define KDP_UPCALL_TABLE_H 1

/* Upcall table
 * ============
 *
 * The channels of one datapath, indexed by port number, and the handlers that
 * share them.  Each port has one socket, whatever the number of handlers, or
 * several sockets if it needs more than one handler.  Some channels belong to
 * no port (UPCALL_PORT_*).
 *
 *      kernel --> socket of port 1 --\                     /-- handler 0
 *      kernel --> socket of port 2 ---- epoll, run queue ----- handler 1
 *      kernel --> socket of port 3 --/                     \-- handler 2
 *
 * The kernel wakes one waiting handler for an upcall; an owner word in the
 * channel keeps its upcalls in order; deficit round robin keeps ports from
 * harming each other.
 *
 *
 * Batches
 * -------
 *
 * The user takes upcalls with upcall_table_recv() until it returns EAGAIN, and
 * then processes what it took.  That EAGAIN, and nothing else, ends a batch:
 * until the handler's next call the upcalls that the handler took stay valid,
 * and it still owns their channels, so that no other handler overtakes it.  A
 * batch has at most UPCALL_BATCH upcalls.
 *
 *
 * Thread safety
 * -------------
 *
 *      function                    thread
 *      ------------------------    -------------------------------------
 *      recv, recv_wait             one thread for each handler
 *      get_pid, get_own_pid,       any; no lock
 *      get_pids, has_channel,
 *      is_shared,
 *      n_handlers
 *      changed                     any that may block
 *      all others                  any; they take a mutex and make only
 *                                  short system calls
 *
 * A thread that receives waits for no other thread, except for the few
 * instructions that the run queue's mutex is held (upcall-sched.h).  It takes
 * the mutex of the ports only to release a channel while handlers or queues
 * are changed.  It reads the set of handlers and the array of ports under RCU,
 * and holds references to objects that it keeps over a quiescent state.  All
 * threads are Open vSwitch threads (ovs-rcu.h).
 *
 * Handlers and engines may be changed while threads receive.  If a handler is
 * replaced by one of the same number, its thread first gets the rest of the
 * current batch.  If a handler is removed, its thread must have finished its
 * batch before: upcalls that the handler took from a socket and did not hand
 * out are lost (and counted).
 *
 *
 * Loss and failure
 * ----------------
 *
 * When a socket's buffer is full, the kernel drops the upcall, counts it, and
 * reports ENOBUFS once.  The loss affects only this port, the channel counts
 * it, and reading goes on.  A function that fails leaves the table as it
 * was. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-msg.h"

struct upcall_table;

/* Creates a table for datapath 'name' with interface index 'dp_ifindex', whose
 * upcalls are messages of generic netlink family 'packet_family'.  It has no
 * channels and no handlers. */
struct upcall_table *upcall_table_create(const char *name, int dp_ifindex,
                                         uint16_t packet_family);

/* Destroys 'table', which may be NULL.  No thread may use the table at the
 * same time or later. */
void upcall_table_destroy(struct upcall_table *table);

/* Makes 'n' handlers, numbered from 0, in place of the table's handlers.  'n'
 * is 0 to UPCALL_MAX_HANDLERS.  Nothing happens if there are 'n' already.
 * Channels and their port ids stay, and so do the upcalls that wait on them.
 * Returns 0, EINVAL if 'n' is out of range, or the error that prevented the
 * creation of an epoll instance or an engine; then the old handlers stay. */
int upcall_table_set_handlers(struct upcall_table *, uint32_t n);

/* Makes the handlers receive with engines of class 'engine' (upcall-engine.h).
 * The default is "epoll".  Returns 0 or the error that prevented the creation
 * of an engine; then nothing has changed. */
int upcall_table_set_engine(struct upcall_table *,
                            const struct upcall_engine_class *engine);
const char *upcall_table_engine_name(const struct upcall_table *);

/* Puts the handlers into groups of at most 'size', which is at least 1.  The
 * handlers of a group share an epoll instance and a run queue
 * (upcall-groups.h).  The default is UPCALL_GROUP_SIZE.  Returns 0 or the
 * error that prevented the creation of a group; then nothing has changed. */
#define UPCALL_GROUP_SIZE 8
int upcall_table_set_group_size(struct upcall_table *, uint32_t size);
uint32_t upcall_table_group_size(const struct upcall_table *);

uint32_t upcall_table_n_handlers(const struct upcall_table *);

/* Makes the 'n' 'channels', from 1 to UPCALL_MAX_QUEUES, the queues of port
 * 'port_no' (below UPCALL_MAX_PORTS, or UPCALL_PORT_*), called 'name', in
 * place of the port's present channels, if any.  The caller passes their pids
 * to the kernel in that order.  On success takes over the caller's references.
 * Upcalls that arrived on 'channels' before are not lost.
 *
 * Returns 0, EINVAL if 'port_no' is out of range, or the error of adding a
 * socket to an epoll instance; then the port keeps its present channels. */
int upcall_table_add_queues(struct upcall_table *, uint32_t port_no,
                            const char *name,
                            struct upcall_channel *channels[], size_t n);

/* Replaces the queues of port 'port_no' without changing the order of upcalls
 * of any flow (upcall-ports.h):
 *
 *   - change() makes the 'n' 'channels' the queues of the port, on the same
 *     terms as add_queues(), but the present queues stay as retired queues.
 *     Upcalls on the new queues are held.  Returns EBUSY if the port has
 *     retired queues already, ENODEV if it has no channels.
 *
 *   - Then the caller passes the new pids to the kernel.  It calls changed()
 *     if the kernel has accepted them, otherwise revert(), which removes the
 *     new queues.  After changed(), handlers hand out the upcalls of the new
 *     queues as soon as earlier upcalls on the retired queues were processed.
 *
 *   - settle() checks whether they were.  To be called now and then, in case
 *     no other thread checks.
 *
 *   - del_retired() removes the retired queues that are idle.  The caller has
 *     to know that flows no longer name them.  Returns true if none is left,
 *     false if the caller must call it again. */
int upcall_table_change(struct upcall_table *, uint32_t port_no,
                        struct upcall_channel *channels[], size_t n);
void upcall_table_changed(struct upcall_table *, uint32_t port_no);
void upcall_table_revert(struct upcall_table *, uint32_t port_no);
void upcall_table_settle(struct upcall_table *, uint32_t port_no);
bool upcall_table_del_retired(struct upcall_table *, uint32_t port_no);

/* Holding: the upcalls of a new port, which the translation does not know yet,
 * wait on its socket.
 *
 * hold() holds 'channel', which was not added yet, until the 'n'th call of
 * release().  Then the waiting upcalls are handed out.  release() returns true
 * if some channel is still held. */
void upcall_table_hold(struct upcall_table *, struct upcall_channel *channel,
                       unsigned int n);
bool upcall_table_release(struct upcall_table *);

/* Marks the end of the upcalls that waited for this run on adopted channels
 * (upcall_channel_end_adopted()). */
void upcall_table_end_adopted(struct upcall_table *);

/* Says that recirculation ids of this run begin with 'first', except those up
 * to UPCALL_RECIRC_STATIC.  An upcall with another id has a packet that a flow
 * of a previous run recirculated.  Handlers drop and count such an upcall.
 * The UPCALL_RECIRC_RANGE ids from 'first' on are this run's.  At first, and
 * with 0, all ids are.  Any thread. */
void upcall_table_set_first_recirc_id(struct upcall_table *, uint32_t first);

/* Removes the channels of port 'port_no', if it has any.  A socket is closed
 * when no handler uses it any more. */
void upcall_table_del(struct upcall_table *, uint32_t port_no);

/* Removes all channels. */
void upcall_table_del_all(struct upcall_table *);

/* Sharing: a port without a channel of its own sends its upcalls to channels
 * of several ports.  The table knows the port, to count its upcalls.
 *
 * share() makes port 'port_no', called 'name', share.  A channel of the port
 * stays until upcall_table_del(), so that handlers can empty it; its counts go
 * on.  unshare() ends the sharing; the counts go on in the port's channel, if
 * it has one.  Both do nothing if there is nothing to do. */
void upcall_table_share(struct upcall_table *, uint32_t port_no,
                        const char *name);
void upcall_table_unshare(struct upcall_table *, uint32_t port_no);
bool upcall_table_is_shared(const struct upcall_table *, uint32_t port_no);
size_t upcall_table_n_shared(const struct upcall_table *);

/* Netlink port id of the first channel of port 'port_no', or of
 * UPCALL_PORT_SHARED if the port shares, or 0. */
uint32_t upcall_table_get_pid(const struct upcall_table *, uint32_t port_no);

/* Stores the netlink port ids of all queues of port 'port_no', or the one of
 * UPCALL_PORT_SHARED if the port shares.  Returns how many there are. */
size_t upcall_table_get_pids(const struct upcall_table *, uint32_t port_no,
                             uint32_t pids[UPCALL_MAX_QUEUES]);

/* Netlink port id of the first channel of port 'port_no', whether the port
 * shares or not, or 0. */
uint32_t upcall_table_get_own_pid(const struct upcall_table *,
                                  uint32_t port_no);

/* True if port 'port_no' has a channel of its own. */
bool upcall_table_has_channel(const struct upcall_table *, uint32_t port_no);

/* Returns the name of port 'port_no', which the table has; the caller frees
 * it. */
char *upcall_table_port_name(const struct upcall_table *, uint32_t port_no);

/* Number of queues of port 'port_no'.  Stores the number of retired queues in
 * '*n_retired', unless that is NULL. */
size_t upcall_table_n_queues(const struct upcall_table *, uint32_t port_no,
                             size_t *n_retired);

/* Number of channels that belong to ports. */
size_t upcall_table_n_port_channels(const struct upcall_table *);

/* Number of retired channels of ports. */
size_t upcall_table_n_retired(const struct upcall_table *);

/* Number of channels, including channels that belong to no port. */
size_t upcall_table_n_channels(const struct upcall_table *);

/* Sets the budget of all receive buffers together to 'max' bytes
 * (upcall-rcvbuf.h).  The more sockets there are, the smaller their buffers.
 * The default is UPCALL_BUFFER_MAX. */
void upcall_table_set_buffer_max(struct upcall_table *, uint64_t max);

/* Default target and largest target, in ms.  A larger target would be no
 * bound, because a receive buffer is full by then.
 *
 * The default is the shortest target that was measured to cost less than 1% of
 * the upcalls served, with 200 ports: shorter turns take more reads for the
 * same number of upcalls. */
#define UPCALL_DELAY_DEFAULT 100
#define UPCALL_DELAY_MAX 10000

/* Sets the target delay to 'usec' microseconds, or to none if that is 0, the
 * default.  If upcalls would wait much longer because their port sends more
 * than its share, the oldest ones are thrown away (upcall-shed.h). */
void upcall_table_set_target_delay(struct upcall_table *, uint32_t usec);

/* Takes the next upcall for handler 'handler_id' into '*view'.  Returns 0, or
 * EAGAIN if there is none, the batch is full, or there is no such handler.
 * Never blocks. */
int upcall_table_recv(struct upcall_table *, uint32_t handler_id,
                      struct upcall_view *view);

/* Arranges for the calling thread's poll_block() to wake up when
 * upcall_table_recv() may have an upcall, or when the handlers are changed.
 * If there is no handler of that number, poll_block() wakes up after a
 * while. */
void upcall_table_recv_wait(struct upcall_table *, uint32_t handler_id);

/* Stops all handlers from reading sockets, and waits at most a second until
 * they have processed their batches: another process takes the upcalls that
 * still wait.  recv() goes on to hand out upcalls that were read ahead
 * (upcall-reader.h), and halt() waits for these, too, if 'all'.
 *
 * Called by a thread that no handler waits for, or by a handler between two
 * batches.  Where no handler begins another batch, as when a signal ends the
 * process, 'all' must be false. */
void upcall_table_halt(struct upcall_table *, bool all);

/* Lets handlers take upcalls again soon, because the other process is gone. */
void upcall_table_go_on(struct upcall_table *);

/* Throws away the upcalls that wait on all channels. */
void upcall_table_purge(struct upcall_table *);

/* Starts counting from 0 again. */
void upcall_table_reset_stats(struct upcall_table *);

/* Looks at the counters of all ports, for their rates, if it is time to.
 * 'now' is monotonic, 'wall' since 1970, both in ms.  Returns the time of the
 * next look. */
long long int upcall_table_update_rates(struct upcall_table *,
                                        long long int now,
                                        long long int wall);

/* Stores the counts of port 'port_no', on all channels, in '*stats', without
 * the latency.  Returns false if the table does not know the port. */
bool upcall_table_get_stats(const struct upcall_table *table,
                            uint32_t port_no,
                            struct upcall_channel_stats *stats);

/* Returns the counts of all ports, by port number, as an array of '*n'
 * elements that the caller frees.  No system calls. */
struct upcall_port_count *upcall_table_get_counts(const struct upcall_table *,
                                                  size_t *n);

/* Stores how long handlers have worked, in microseconds, and how many upcalls
 * they handled, since some time in the past, or since
 * upcall_table_reset_stats().  No system calls. */
void upcall_table_get_work(const struct upcall_table *, uint64_t *busy_usec,
                           uint64_t *n_upcalls);

/* Takes a snapshot of 'table' into '*info', which upcall_table_info_uninit()
 * frees.  'info->name' and the port names live as long as the snapshot. */
void upcall_table_get_info(const struct upcall_table *table,
                           struct upcall_table_info *info);
void upcall_table_info_uninit(struct upcall_table_info *);

#endif /* lib/upcall/upcall-table.h */
