/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_HANDLER_H
#define KDP_UPCALL_HANDLER_H 1

/* Upcall handlers
 * ===============
 *
 * Private to lib/upcall.  A handler is what one handler thread needs: the
 * channels that it owns and a batch of upcalls.
 *
 * A batch goes like this:
 *
 *   1. The handler gives the channels of the last batch back: it arms EMPTY
 *      channels again and puts SPENT ones into the run queue
 *      (upcall-channel.h).
 *   2. The scheduler's events name channels that became readable.  The handler
 *      becomes their owner.  Channels with credit (upcall-turn.h) become
 *      SPARSE, the others go to the run queue.  If other handlers of the group
 *      sleep, the handler gives SPARSE channels beyond its share back to
 *      epoll.
 *   3. The reader takes upcalls from the channels whose turn it is
 *      (upcall-reader.h), until the batch is full or nothing is left.  After
 *      the first read, before any upcall is processed, the handler wakes
 *      another handler for the rest of the run queue, and calls another group
 *      if its own has too much (upcall-groups.h).  While no handler of the
 *      group sleeps, the handler looks for events again before each full turn
 *      of the run queue: a channel with credit that has become readable goes
 *      first and ends the batch.
 *   4. When the batch ends, the handler kicks a sleeping handler for what is
 *      left in the run queue.
 *
 * After a wake-up and a batch of one channel, the handler does not look for
 * events: there hardly are any, and if there are, the sleep that follows
 * returns them at once.  So a single upcall takes three system calls: the
 * sleep, the read, and arming the channel.
 *
 * A handler belongs to a set (upcall-set.c) with a generation number.  A set
 * is never changed, only replaced.  A handler that replaces another one of the
 * same index has it as its predecessor: the thread first finishes the
 * predecessor's batch and releases the predecessor's channels, and so loses
 * and reorders nothing.
 *
 * Thread safety: create, destroy and stats belong to the control thread, under
 * the table's mutex; the rest belongs to the handler's own thread.  References
 * keep a handler alive while its thread sleeps in it. */

#include <stdbool.h>
#include <stdint.h>

struct upcall_engine_class;
struct upcall_groups;
struct upcall_handler;
struct upcall_handler_stats;
struct upcall_table;
struct upcall_sched;
struct upcall_view;

/* Creates handler 'index' of generation 'generation' for 'table', in whose
 * statistics it counts.  It takes channels from its group in 'groups' and
 * reads from them with an engine of class 'engine'.  Returns 0 or a positive
 * errno value. */
int upcall_handler_create(struct upcall_table *table, uint32_t index,
                          uint32_t generation, struct upcall_groups *groups,
                          const struct upcall_engine_class *engine,
                          struct upcall_handler **);

/* Makes 'predecessor' the handler whose batch 'handler' has to finish first.
 * Takes over the caller's reference to 'predecessor'.  To be called before
 * other threads can see 'handler'. */
void upcall_handler_set_predecessor(struct upcall_handler *handler,
                                    struct upcall_handler *predecessor);

/* Releases all channels after a grace period, when no thread receives for the
 * handler any more.  Upcalls that the handler took but did not hand out are
 * lost, and counted. */
void upcall_handler_postpone_abandon(struct upcall_handler *);

void upcall_handler_ref(struct upcall_handler *);
void upcall_handler_unref(struct upcall_handler *);

/* Like upcall_table_recv(). */
int upcall_handler_recv(struct upcall_handler *, struct upcall_view *);

/* True if the next call of upcall_handler_recv() continues a batch of this
 * handler or of a predecessor.  For the handler's thread. */
bool upcall_handler_is_in_batch(struct upcall_handler *);

/* True if upcall_handler_recv() should be called without waiting.  'halted' is
 * what upcall_ports_is_halted() returned: while the table is halted, events
 * that the handler has stay where they are. */
bool upcall_handler_is_ready(const struct upcall_handler *, bool halted);

/* When upcall_handler_recv() should be called even if nothing happens, in ms,
 * or LLONG_MAX.  For the handler's thread. */
long long int upcall_handler_retry_at(const struct upcall_handler *);

struct upcall_sched *upcall_handler_sched(const struct upcall_handler *);

/* Waits at most 'timeout' milliseconds (-1 for ever) for something to receive,
 * and keeps the events for the next receive.  Sets '*ready' if there may be
 * something, and '*latched' if there was an event of a latch (upcall-sched.h).
 * Sets '*again' if a call of another group (upcall-groups.h) that no longer
 * needs help ended the wait.  Returns 0 or a positive errno value. */
int upcall_handler_wait(struct upcall_handler *, int timeout, bool *ready,
                        bool *latched, bool *again);

/* Counts of the handler since the last reset.  For the control thread. */
void upcall_handler_get_stats(const struct upcall_handler *,
                              struct upcall_handler_stats *);
void upcall_handler_reset_stats(struct upcall_handler *);

#endif /* lib/upcall/upcall-handler.h */
