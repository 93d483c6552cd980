/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_READER_H
#define KDP_UPCALL_READER_H 1

/* Reading from the channels of a handler
 * ======================================
 *
 * Private to lib/upcall.  A reader has the channels that its handler owns, by
 * state (upcall-channel.h), and the messages of a batch.  upcall_reader_read()
 * chooses channels and how much to read of each, makes the engine read them,
 * and accounts for the messages.
 *
 * Which channel is next
 * ---------------------
 *
 *   1. SPARSE channels, the urgent one first.  While other channels have
 *      something to read, SPARSE channels leave them a quantum of each batch,
 *      so that even many SPARSE channels cannot starve the run queue.
 *   2. PARTIAL channels: the rest of a turn.
 *   3. The run queue: this handler's share of its channels.
 *   4. SPENT channels, if no other channel has anything to read.
 *
 * How much
 * --------
 *
 * The turn of the channel (upcall-turn.h) and the room in the batch limit a
 * read.  All upcalls of a batch are processed together.  So that upcalls of
 * SPARSE channels do not wait for a full batch of others, the others get only
 * as many upcalls as the SPARSE channels, but at least a turn, while there is
 * a run queue.  For the same reason a call reads no more than a full turn from
 * the run queue, unless the engine works better with more: the handler looks
 * for SPARSE channels before it goes on.
 *
 * If too much waits on a channel from the run queue, the reader limits its
 * receive buffer before the read (upcall-shed.h).
 *
 * The reader reads a channel of several senders ahead, up to UPCALL_AHEAD
 * upcalls in each turn, and fills the turn from the sorted upcalls
 * (upcall-fq.h).  The channel is empty when nothing waits in the fair queue
 * and on the socket.  If quiet senders went first, the turn ends after a
 * quantum of each of the others, and so does the batch if no other port waits:
 * upcalls of quiet senders are not processed together with a full batch of the
 * others, and the reader reads the socket again before it overruns.
 *
 * When the table is halted (upcall-table.h), the reader takes every socket for
 * empty, so that only upcalls that were read ahead are left.
 *
 * Failure
 * -------
 *
 * A channel whose read fails, except for an overrun, is still readable, and
 * would be an event again as soon as it is armed.  So the channel becomes
 * PAUSED, and the handler releases it at 'retry_at'.  Only upcalls that the
 * socket has no room for are lost.
 *
 * Thread safety: a reader belongs to its handler's thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/list.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-groups.h"

struct upcall_sched;
struct upcall_stats_block;

struct upcall_reader {
    /* Constant. */
    const char *dp_name;        /* For messages. */
    struct upcall_groups *groups;
    struct upcall_sched *sched; /* Scheduler of the handler's group. */
    struct upcall_engine *engine;
    struct upcall_engine *ahead;    /* For channels of several senders. */
    struct upcall_stats_block *stats;
    uint32_t index;             /* Index of the handler. */
    uint32_t token;             /* Its owner word, see upcall-channel.h. */

    /* Channels that the handler owns, by state, in the order in which the
     * handler got them.  Each entry is a reference.  Channels that are TAKEN
     * or READING are in no list. */
    struct upcall_fifo lists[UPCALL_N_STATES];
    long long int retry_at;     /* The earliest end of a pause of a PAUSED
                                 * channel, in ms, or LLONG_MAX. */

    /* The batch. */
    uint32_t target_delay;      /* See upcall-shed.h. */
    uint64_t now;               /* Time in microseconds, or 0 if not read
                                 * yet. */
    unsigned int n_to_shed;     /* Upcalls that may still be shed. */
    size_t share;               /* Channels still to take from the run
                                 * queue. */
    struct upcall_loan loan;    /* Channels to take from another group's run
                                 * queue first. */
    unsigned int n_msgs;        /* Messages received. */
    unsigned int n_sparse;      /* Those from sparse channels that had no more,
                                 * or less credit than a turn. */
    unsigned int n_urgent;      /* Those from the urgent channel. */
    unsigned int n_others;      /* Those from channels that were not sparse
                                 * when they were read. */
    unsigned int n_seen;        /* Messages received when the handler last had
                                 * to look for events. */
    bool halted;                /* Sockets must not be read. */
    unsigned int n_turns;       /* Turns used up, for sampling. */
    bool cut;                   /* A turn ended early (see above). */
    struct upcall_rx rx[UPCALL_BATCH];
    uint64_t queued_at[UPCALL_BATCH];   /* When each message was queued, in
                                         * microseconds (upcall-age.h). */
    struct upcall_channel *channels[UPCALL_BATCH]; /* Channel of each message;
                                                    * one of the lists holds a
                                                    * reference. */
    struct ovs_list sorted;     /* struct upcall_fq_msg: the messages that were
                                 * read ahead. */
};

/* Makes a reader for handler 'index' of datapath 'dp_name' with owner word
 * 'token', which takes channels from the run queue of its group in 'groups',
 * reads with an engine of class 'engine' and counts in 'stats'.  The caller
 * keeps all of these until upcall_reader_uninit().  Returns 0 or a positive
 * errno value. */
int upcall_reader_init(struct upcall_reader *, const char *dp_name,
                       uint32_t index, uint32_t token, struct upcall_groups *,
                       const struct upcall_engine_class *engine,
                       struct upcall_stats_block *);
void upcall_reader_uninit(struct upcall_reader *);

/* Begins a batch, which has no messages yet.  Views of the last batch are no
 * longer valid.  'target_delay' is the table's, in microseconds. */
void upcall_reader_begin(struct upcall_reader *, uint32_t target_delay);

/* True if the batch has received as many upcalls as a full turn takes since
 * this function last returned true, and would take more from the run queue.
 * Then the handler has to look for channels that go before the run queue. */
bool upcall_reader_is_between_turns(struct upcall_reader *);

/* Returns the value of "popped" that ends a round of 'sched' that begins now
 * (upcall-turn.h).  Channels that used their turn up in this batch, and enter
 * the run queue when the batch is over, have a turn in the round, too. */
uint64_t upcall_reader_round_end(const struct upcall_reader *,
                                 const struct upcall_sched *sched);

/* Reads from the channels whose turn it is.  Returns false if there is no such
 * channel, or no room. */
bool upcall_reader_read(struct upcall_reader *);

/* Makes 'state' the state of 'channel', which the handler owns, and puts it at
 * the end of the list of that state, or at its head if it is urgent. */
static inline void
upcall_reader_keep(struct upcall_reader *reader,
                   struct upcall_channel *channel, enum upcall_state state)
{
    upcall_channel_set_state(channel, state);
    if (upcall_channel_is_urgent(channel)) {
        upcall_fifo_push_front(&reader->lists[state], channel);
    } else {
        upcall_fifo_push(&reader->lists[state], channel);
    }
}

/* Number of channels in the list of 'state'. */
static inline size_t
upcall_reader_n(const struct upcall_reader *reader, enum upcall_state state)
{
    return reader->lists[state].n;
}

/* Takes the first channel out of the list of 'state'.  Returns NULL if it is
 * empty. */
static inline struct upcall_channel *
upcall_reader_pop(struct upcall_reader *reader, enum upcall_state state)
{
    return upcall_fifo_pop(&reader->lists[state]);
}

#endif /* lib/upcall/upcall-reader.h */
