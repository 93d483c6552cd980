/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-reader.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "coverage.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-probes.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-shed.h"
#include "upcall/upcall-stats.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_reader);

COVERAGE_DEFINE(upcall_overrun);
COVERAGE_DEFINE(upcall_receive_error);
COVERAGE_DEFINE(upcall_shed);
COVERAGE_DEFINE(upcall_limited);

/* The most channels that the engine reads at once: as many as fill a batch
 * when each uses its turn up, and one more for the rest of an earlier turn. */
#define UPCALL_READS (DIV_ROUND_UP(UPCALL_BATCH, UPCALL_QUANTUM) + 1)

BUILD_ASSERT_DECL(UPCALL_TURNS == UPCALL_BATCH / UPCALL_QUANTUM);

/* The reader measures a standing backlog in one of this many turns, so that it
 * costs few system calls. */
#define UPCALL_SAMPLE_TURNS 16

/* If a channel cannot be read, the reader tries it again at once, in case the
 * kernel lacked a resource for a moment.  After that, it tries with pauses
 * that double from 1 ms to 2^10 ms: such a channel costs hardly anything, and
 * works again within about a second after the cause has gone. */
#define UPCALL_PAUSE_SHIFT 10

/* The most upcalls that a turn reads ahead: four turns empty a socket with the
 * largest receive buffer. */
#define UPCALL_AHEAD 512

int
upcall_reader_init(struct upcall_reader *reader, const char *dp_name,
                   uint32_t index, uint32_t token,
                   struct upcall_groups *groups,
                   const struct upcall_engine_class *engine,
                   struct upcall_stats_block *stats)
{
    int error;

    memset(reader, 0, sizeof *reader);
    error = engine->create(UPCALL_BATCH, &reader->engine);
    if (error) {
        return error;
    }
    error = upcall_engine_epoll.create(UPCALL_BATCH, &reader->ahead);
    if (error) {
        engine->destroy(reader->engine);
        return error;
    }
    reader->dp_name = dp_name;
    reader->groups = groups;
    reader->sched = upcall_groups_sched(
        groups, upcall_groups_of_handler(groups, index));
    reader->stats = stats;
    reader->index = index;
    reader->token = token;
    for (size_t i = 0; i < UPCALL_N_STATES; i++) {
        upcall_fifo_init(&reader->lists[i]);
    }
    reader->retry_at = LLONG_MAX;
    ovs_list_init(&reader->sorted);
    return 0;
}

/* Frees the messages of the batch that were read ahead. */
static void
upcall_reader_free_sorted(struct upcall_reader *reader)
{
    while (!ovs_list_is_empty(&reader->sorted)) {
        free(CONTAINER_OF(ovs_list_pop_front(&reader->sorted),
                          struct upcall_fq_msg, node));
    }
}

void
upcall_reader_uninit(struct upcall_reader *reader)
{
    for (size_t i = 0; i < UPCALL_N_STATES; i++) {
        struct upcall_channel *channel;

        while ((channel = upcall_reader_pop(reader, i))) {
            upcall_channel_unref(channel);
        }
        upcall_fifo_uninit(&reader->lists[i]);
    }
    upcall_reader_free_sorted(reader);
    reader->ahead->class->destroy(reader->ahead);
    reader->engine->class->destroy(reader->engine);
}

void
upcall_reader_begin(struct upcall_reader *reader, uint32_t target_delay)
{
    reader->target_delay = target_delay;
    reader->now = 0;
    reader->n_to_shed = UPCALL_SHED_MAX;
    reader->share = 0;
    reader->loan = (struct upcall_loan) { .lender = NULL };
    reader->n_msgs = reader->n_sparse = reader->n_urgent = 0;
    reader->n_others = reader->n_seen = 0;
    reader->cut = false;
    upcall_reader_free_sorted(reader);
    reader->engine->class->begin(reader->engine);
}

/* Appends to 's' the name of the channel, its losses and what can be done.
 * The rate limit works in front of the datapath, but a meter only on packets
 * that match a flow; only another dispatch mode keeps the ports of a CPU
 * apart. */
static void
upcall_reader_format_loss(const struct upcall_channel *channel,
                          uint64_t n_lost, struct ds *s)
{
    bool is_port = upcall_port_is_real(channel->port_no);

    ds_put_cstr(s, "lost packet on port channel ");
    if (is_port) {
        ds_put_format(s, "%"PRIu32" ", channel->port_no);
    }
    ds_put_format(s, "(%s): it dropped %"PRIu64" upcalls so far, which came "
                  "faster than handlers take them; limit what %s "
                  "(Interface column ingress_policing_kpkts_rate; meters, if "
                  "flows send to the controller) or raise "
                  "other_config:n-handler-threads",
                  channel->name ? channel->name : "no port", n_lost,
                  is_port ? "the port sends" : "ports send");
    if (upcall_port_is_cpu(channel->port_no)) {
        ds_put_cstr(s, ", or keep ports apart by "
                    "other_config:upcall-dispatch=per-port");
    }
}

static void
upcall_reader_report_overrun(const struct upcall_reader *reader,
                             struct upcall_channel *channel, unsigned int n)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    struct upcall_channel_stats stats;

    COVERAGE_ADD(upcall_overrun, n);
    upcall_count(&channel->overruns, n);
    UPCALL_PROBE_LOSS(channel->port_no, n);
    if (!VLOG_DROP_WARN(&rl)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        upcall_channel_get_stats(channel, &stats);
        upcall_reader_format_loss(channel, stats.lost, &s);
        VLOG_WARN("%s: %s", reader->dp_name, ds_cstr(&s));
        ds_destroy(&s);
    }
}

/* Counts the upcalls that waited on the adopted 'channel' for this run, among
 * the 'n' messages 'rx' just read from it, and turns upcalls of actions into
 * messages from ourselves, which are dropped.  'empty' says that nothing more
 * waits.  (If the kernel has dropped an upcall because the socket was full, it
 * queues nothing more, including the mark of the end, before the socket is
 * empty.) */
static void
upcall_reader_count_adopted(struct upcall_reader *reader,
                            struct upcall_channel *channel,
                            struct upcall_rx rx[], unsigned int n, bool empty)
{
    for (unsigned int i = 0; i < n && channel->waited; i++) {
        if (rx[i].source == channel->pid) {
            channel->waited = false;
            break;
        }
        upcall_stats_add(reader->stats, UPCALL_STAT_ADOPTED, 1);
        if (upcall_msg_is_action(rx[i].data, rx[i].len)) {
            rx[i].source = channel->pid;
            upcall_stats_add(reader->stats, UPCALL_STAT_OUTDATED, 1);
        }
    }
    channel->waited = channel->waited && !empty;
}

/* Makes sure that not too much waits on 'channel', whose turn of 'quantum' has
 * begun. */
static void
upcall_reader_limit(struct upcall_reader *reader,
                    struct upcall_channel *channel, unsigned int quantum)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct upcall_shed shed;

    if (channel->waited || reader->halted) {
        return;                 /* The mark of the end, or what another process
                                 * reads, must not be thrown away. */
    }
    if (!reader->now) {
        reader->now = upcall_now_usec();
    }
    shed = upcall_shed_begin(channel, reader->now, quantum,
                             reader->target_delay,
                             (reader->n_sparse
                              ? MIN(reader->n_to_shed, UPCALL_SHED_MAX_SPARSE)
                              : reader->n_to_shed));
    if (shed.overruns) {
        upcall_reader_report_overrun(reader, channel, shed.overruns);
    }
    if (shed.n_calls) {
        reader->n_to_shed -= shed.n;
        COVERAGE_ADD(upcall_shed, shed.n);
        UPCALL_PROBE_SHED(channel->port_no, shed.n);
        upcall_stats_add(reader->stats, UPCALL_STAT_RECEIVES, shed.n_calls);
    }
    if (shed.limited) {
        COVERAGE_INC(upcall_limited);
        VLOG_WARN_RL(&rl, "%s: port %s sends more upcalls than its share, and "
                     "they would wait longer than %"PRIu32" ms (other_config:"
                     "upcall-target-delay); for the time being no more than "
                     "%u of them may wait", reader->dp_name,
                     channel->name ? channel->name : "(none)",
                     reader->target_delay / 1000, shed.keep);
    }
}

/* Takes the next channel of a run queue: channels on loan first, then channels
 * of the reader's own group.  Stores the queue and how many upcalls the turn
 * may take. */
static struct upcall_channel *
upcall_reader_pop_queued(struct upcall_reader *reader,
                         struct upcall_sched **sched, unsigned int *quantum)
{
    struct upcall_channel *channel;

    if (reader->loan.n) {
        *sched = reader->loan.lender;
        channel = upcall_sched_pop(*sched, reader->token, quantum);
        if (channel) {
            reader->loan.n--;
            upcall_stats_add(reader->stats, UPCALL_STAT_LOANS, 1);
            return channel;
        }
        reader->loan.n = 0;
    }
    if (reader->share) {
        reader->share--;
        *sched = reader->sched;
        return upcall_sched_pop(*sched, reader->token, quantum);
    }
    return NULL;
}

uint64_t
upcall_reader_round_end(const struct upcall_reader *reader,
                        const struct upcall_sched *sched)
{
    return (upcall_sched_pushed(sched)
            + upcall_reader_n(reader, UPCALL_STATE_SPENT));
}

/* Takes the first channel of a run queue that can pay, and begins its turn.
 * Channels that still owe for large packets go to the end of the queue. */
static struct upcall_channel *
upcall_reader_dequeue(struct upcall_reader *reader)
{
    struct upcall_channel *channel;
    struct upcall_sched *sched;
    unsigned int quantum;

    while ((channel = upcall_reader_pop_queued(reader, &sched, &quantum))) {
        if (upcall_channel_is_dead(channel)) {
            return channel;
        }
        if (upcall_turn_begin(&channel->turn,
                              upcall_reader_round_end(reader, sched),
                              quantum)) {
            upcall_reader_limit(reader, channel, quantum);
            return channel;
        }
        upcall_reader_keep(reader, channel, UPCALL_STATE_SPENT);
    }
    return NULL;
}

/* A read to be made. */
struct choice {
    struct upcall_channel *channel;
    bool sparse;                /* The channel is sparse. */
    unsigned int max;           /* Number of upcalls to request. */
};

/* How many upcalls a read may request now, given the room in the batch. */
struct room {
    bool queued;                /* Others wait in the run queue. */
    bool sparse_waits;          /* Only requests to other channels leave no
                                 * room for sparse ones. */
    unsigned int sparse;        /* From a sparse channel. */
    unsigned int other;         /* From any other channel. */
};

/* Computes the room when 'n_asked' upcalls have already been requested. */
static void
upcall_reader_get_room(const struct upcall_reader *reader,
                       unsigned int n_asked, struct room *room)
{
    unsigned int free = UPCALL_BATCH - reader->n_msgs;
    unsigned int limit = UPCALL_BATCH;
    unsigned int left;

    room->queued = upcall_sched_n_queued(reader->sched) || reader->loan.n;

    /* The share that sparse channels leave to others, less what these had
     * (otherwise the quiet port of test-upcall-sparse waits for the next
     * batch). */
    left = ((room->queued && reader->share + reader->loan.n)
            || upcall_reader_n(reader, UPCALL_STATE_PARTIAL)
            ? UPCALL_QUANTUM : 0);
    left -= MIN(left, reader->n_others);
    room->sparse = free - MIN(free, n_asked + left);
    room->sparse_waits = !room->sparse && free > left;

    /* Upcalls of sparse channels do not wait for a full batch of others,
     * because all upcalls of a batch are processed together.  The others get
     * as many upcalls, so that few batches are small when many channels are
     * sparse, but at least a turn, and no more than a full turn.  (Otherwise a
     * quiet port of test-upcall-quiet is processed with 62 upcalls of others,
     * not with 21.)  The urgent channel takes nothing from the others
     * (test-upcall-quiet, a flood of no port). */
    if (room->queued && reader->n_sparse) {
        unsigned int turn = upcall_sched_quantum(reader->sched);

        limit = MIN(limit, (reader->n_sparse + reader->n_urgent
                            + MIN(MAX(turn, reader->n_sparse),
                                  UPCALL_QUANTUM)));
    } else if (reader->cut && !room->queued) {
        limit = reader->n_msgs;
    }
    room->other = limit - MIN(limit, reader->n_msgs + n_asked);
}

/* Chooses the channel to read next, after '*last' (a null pointer if it is the
 * first of a call), and stores whether it is sparse.  Returns NULL if there is
 * nothing to read, or if that depends on the result of the reads chosen
 * before. */
static struct upcall_channel *
upcall_reader_choose_channel(struct upcall_reader *reader,
                             const struct room *room,
                             const struct choice *last, bool *sparse)
{
    struct upcall_channel *channel;

    *sparse = true;
    if (upcall_reader_n(reader, UPCALL_STATE_SPARSE)) {
        if (room->sparse) {
            return upcall_reader_pop(reader, UPCALL_STATE_SPARSE);
        } else if (last && room->sparse_waits) {
            return NULL;
        }
    }
    if (!room->other || (last && last->sparse && room->queued)) {
        return NULL;
    }

    *sparse = false;
    channel = upcall_reader_pop(reader, UPCALL_STATE_PARTIAL);
    if (!channel) {
        channel = upcall_reader_dequeue(reader);
    }
    if (!channel) {
        channel = upcall_reader_pop(reader, UPCALL_STATE_SPARSE);
        *sparse = channel != NULL;
    }
    if (!channel && !last && !room->queued) {
        channel = upcall_reader_pop(reader, UPCALL_STATE_SPENT);
        if (channel) {
            upcall_turn_begin(&channel->turn,
                              upcall_reader_round_end(
                                  reader, upcall_groups_home(reader->groups,
                                                             channel)),
                              UPCALL_QUANTUM);
            upcall_reader_limit(reader, channel, UPCALL_QUANTUM);
        }
    }
    return channel;
}

/* Returns how many upcalls to request from 'channel'. */
static unsigned int
upcall_reader_choose_max(const struct room *room,
                         const struct upcall_channel *channel, bool sparse)
{
    return MIN(sparse && room->sparse ? room->sparse : room->other,
               upcall_turn_allowance(&channel->turn));
}

/* Chooses the next read, when '*last' and the reads before it have requested
 * 'n_asked' upcalls ('last' is a null pointer if there are none).  Returns
 * false if there is nothing to read now. */
static bool
upcall_reader_choose(struct upcall_reader *reader, unsigned int n_asked,
                     const struct choice *last, struct choice *choice)
{
    struct room room;

    upcall_reader_get_room(reader, n_asked, &room);
    choice->channel = upcall_reader_choose_channel(reader, &room, last,
                                                   &choice->sparse);
    if (!choice->channel) {
        return false;
    }
    upcall_channel_set_state(choice->channel, UPCALL_STATE_READING);
    choice->max = upcall_reader_choose_max(&room, choice->channel,
                                           choice->sparse);
    return true;
}

/* Accounts for a read of 'channel' that failed with 'error', and sets the
 * channel's new state. */
static void
upcall_reader_fail(struct upcall_reader *reader,
                   struct upcall_channel *channel, int error)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    long long int pause = 0;

    COVERAGE_INC(upcall_receive_error);
    upcall_count(&channel->errors, 1);
    if (channel->n_failures++) {
        pause = 1 << MIN(channel->n_failures - 2, UPCALL_PAUSE_SHIFT);
    }
    VLOG_WARN_RL(&rl, "%s: receiving upcalls of port %s failed (%s); trying "
                 "again in %lld ms", reader->dp_name,
                 channel->name ? channel->name : "(none)",
                 ovs_strerror(error), pause);
    if (pause) {
        channel->retry_at = time_msec() + pause;
        reader->retry_at = MIN(reader->retry_at, channel->retry_at);
        upcall_reader_keep(reader, channel, UPCALL_STATE_PAUSED);
    } else {
        upcall_reader_keep(reader, channel, UPCALL_STATE_EMPTY);
    }
}

/* True if 'channel', which is empty, has used its turn up, or sends more than
 * its share in bursts: it will have more by its next turn.  Any other channel
 * is quiet, and each of its upcalls would wait for that turn. */
static bool
upcall_reader_used_share(const struct upcall_channel *channel)
{
    return !upcall_turn_has_credit(&channel->turn) || channel->delay.keep;
}

/* Accounts for the messages that 'read' took, which begin at 'n_msgs', and
 * sets the channel's new state. */
static void
upcall_reader_account(struct upcall_reader *reader,
                      const struct choice *choice,
                      const struct upcall_read *read)
{
    struct upcall_channel *channel = choice->channel;
    uint32_t self = reader->index + 1;
    size_t n_bytes = 0;
    uint32_t last;

    for (unsigned int i = 0; i < read->n; i++) {
        n_bytes += reader->rx[reader->n_msgs].len;
        reader->channels[reader->n_msgs++] = channel;
    }
    if (choice->sparse
        && (read->empty || read->n < upcall_sched_quantum(reader->sched))) {
        reader->n_sparse += read->n;
    } else if (upcall_channel_is_urgent(channel)) {
        reader->n_urgent += read->n;
    }
    reader->n_others += choice->sparse ? 0 : read->n;
    upcall_count(&channel->received, read->n);
    upcall_turn_spend(&channel->turn, read->n, n_bytes);
    upcall_shed_account(channel, read->n, read->empty || read->error);
    UPCALL_PROBE_RECEIVE(channel->port_no, read->n, n_bytes, read->empty);

    atomic_read_relaxed(&channel->last_reader, &last);
    if (last != self) {
        atomic_store_relaxed(&channel->last_reader, self);
        if (last) {
            upcall_stats_add(reader->stats, UPCALL_STAT_STEALS, 1);
        }
    }
    if (read->overruns) {
        upcall_reader_report_overrun(reader, channel, read->overruns);
    }
    if (!read->error || read->n) {
        channel->n_failures = 0;
    }

    if (read->error) {
        upcall_reader_fail(reader, channel, read->error);
    } else if (read->empty && read->n && !choice->sparse
               && upcall_reader_used_share(channel)
               && upcall_sched_is_saturated(
                   upcall_groups_home(reader->groups, channel))) {
        upcall_reader_keep(reader, channel, UPCALL_STATE_SPENT);
    } else if (read->empty) {
        upcall_shed_leave(channel);
        upcall_reader_keep(reader, channel, UPCALL_STATE_EMPTY);
    } else if (upcall_turn_has_credit(&channel->turn)) {
        upcall_reader_keep(reader, channel, UPCALL_STATE_PARTIAL);
    } else {
        upcall_shed_end(channel,
                        reader->n_turns++ % UPCALL_SAMPLE_TURNS == 0);
        upcall_reader_keep(reader, channel, UPCALL_STATE_SPENT);
    }
}

/* Reads as many upcalls from 'channel' as should be read ahead for a turn of
 * 'turn' upcalls, and sorts them.  Stores the result in 'read'. */
static void
upcall_reader_read_ahead(struct upcall_reader *reader,
                         struct upcall_channel *channel, unsigned int turn,
                         struct upcall_read *read)
{
    struct upcall_rx rx[UPCALL_BATCH];
    uint64_t queued_at[UPCALL_BATCH];
    unsigned int n_read = 0, overruns = 0;
    uint64_t shed = channel->fq.n_shed;
    bool full = upcall_fq_total_bytes() >= UPCALL_FQ_TOTAL_BYTES;
    unsigned int n_calls = 0;
    uint64_t now;

    if (reader->halted || (full && channel->fq.n)) {
        *read = (struct upcall_read) { .empty = reader->halted };
        return;
    }
    do {
        *read = (struct upcall_read) {
            .fd = upcall_channel_fd(channel),
            .max = full ? turn : UPCALL_BATCH,
        };
        reader->ahead->class->begin(reader->ahead);
        n_calls += reader->ahead->class->read(reader->ahead, read, 1, rx);
        now = upcall_now_usec();
        upcall_age_read(&channel->age, read->n, read->empty, now, queued_at);
        if (OVS_UNLIKELY(channel->waited)) {
            upcall_reader_count_adopted(reader, channel, rx, read->n,
                                        read->empty);
        }
        for (unsigned int i = 0; i < read->n; i++) {
            struct upcall_sender_key key;

            upcall_sender_key_get(rx[i].data, rx[i].len,
                                  channel->senders == UPCALL_SENDERS_PORTS,
                                  &key);
            upcall_fq_put(&channel->fq, &key, &rx[i], queued_at[i]);
        }
        n_read += read->n;
        overruns += read->overruns;
    } while (!full && !read->empty && !read->error && n_read < UPCALL_AHEAD
             && upcall_fq_total_bytes() < UPCALL_FQ_TOTAL_BYTES);
    read->overruns = overruns;
    upcall_stats_add(reader->stats, UPCALL_STAT_RECEIVES, n_calls);
    upcall_turn_charge(&channel->turn,
                       (channel->fq.n_shed - shed) / UPCALL_SHED_PRICE);
}

/* Reads ahead as 'choice' says and takes the upcalls that are due. */
static void
upcall_reader_read_sorted(struct upcall_reader *reader,
                          struct choice *choice)
{
    struct upcall_channel *channel = choice->channel;
    struct upcall_fq *fq = &channel->fq;
    uint64_t now = upcall_now_usec();
    struct upcall_fq_msg *msg;
    unsigned int n_quiet = 0, n_others = 0;
    struct upcall_read read;
    uint64_t shed;
    bool purge;

    atomic_read_relaxed(&channel->purge, &purge);
    if (purge) {
        atomic_store_relaxed(&channel->purge, false);
        upcall_fq_clear(fq);
    }
    shed = fq->n_shed;
    upcall_reader_read_ahead(reader, channel, choice->max, &read);
    for (read.n = 0; read.n < choice->max; read.n++) {
        unsigned int i = reader->n_msgs + read.n;

        if (n_quiet && n_others >= UPCALL_FQ_QUANTUM * fq->n_backlogged) {
            reader->cut = fq->n > 0;
            break;
        }
        msg = upcall_fq_get(fq, now, reader->target_delay);
        if (!msg) {
            break;
        }
        *(msg->last_of_new ? &n_quiet : &n_others) += 1;
        reader->rx[i] = msg->rx;
        reader->queued_at[i] = msg->queued_at;
        ovs_list_push_back(&reader->sorted, &msg->node);
    }
    if (fq->n_shed != shed) {
        COVERAGE_ADD(upcall_shed, fq->n_shed - shed);
        UPCALL_PROBE_SHED(channel->port_no, fq->n_shed - shed);
        upcall_count(&channel->shed, fq->n_shed - shed);
    }
    if (fq->n) {
        /* An error will recur. */
        read.empty = false;
        read.error = 0;
    }
    /* Release: pairs with upcall_ports_are_ahead(). */
    atomic_store_explicit(&channel->ahead, MIN(fq->n_bytes, UINT32_MAX),
                          memory_order_release);
    /* A sender has a class in each of the port's queues. */
    atomic_store_relaxed(&channel->weight,
                         MAX(1, DIV_ROUND_UP(fq->n_backlogged,
                                             MAX(channel->n_queues, 1))));
    upcall_reader_account(reader, choice, &read);
}

/* True if there is no channel to choose. */
static bool
upcall_reader_is_done(const struct upcall_reader *reader)
{
    return (!reader->share && !reader->loan.n
            && !upcall_reader_n(reader, UPCALL_STATE_SPARSE)
            && !upcall_reader_n(reader, UPCALL_STATE_PARTIAL)
            && !upcall_reader_n(reader, UPCALL_STATE_SPENT));
}

bool
upcall_reader_is_between_turns(struct upcall_reader *reader)
{
    struct room room;

    if (reader->n_msgs - reader->n_seen < UPCALL_QUANTUM
        || (!reader->share && !reader->loan.n
            && !upcall_reader_n(reader, UPCALL_STATE_PARTIAL))) {
        return false;
    }
    upcall_reader_get_room(reader, 0, &room);
    if (!room.other) {
        return false;
    }
    reader->n_seen = reader->n_msgs;
    return true;
}

bool
upcall_reader_read(struct upcall_reader *reader)
{
    struct choice choices[UPCALL_READS];
    struct upcall_read reads[UPCALL_READS];
    bool together = reader->engine->class->together;
    unsigned int n_asked = 0, n_queued = 0, n_calls;
    uint64_t now;
    bool read_something = false;
    size_t n = 0;

    while (n < UPCALL_READS && reader->n_msgs + n_asked < UPCALL_BATCH
           && (together || n_queued < UPCALL_QUANTUM)
           && !upcall_reader_is_done(reader)) {
        struct choice *choice = &choices[n];

        if (!upcall_reader_choose(reader, n_asked, n ? &choices[n - 1] : NULL,
                                  choice)) {
            break;
        } else if (upcall_channel_is_dead(choice->channel)) {
            /* The channel is dropped at the start of the next batch, because
             * messages of this batch may still refer to it. */
            upcall_reader_keep(reader, choice->channel, UPCALL_STATE_EMPTY);
            read_something = true;
            continue;
        } else if (reader->halted && !choice->channel->fq.n) {
            /* The socket counts as empty. */
            upcall_shed_leave(choice->channel);
            upcall_reader_keep(reader, choice->channel, UPCALL_STATE_EMPTY);
            read_something = true;
            continue;
        } else if (choice->channel->senders > UPCALL_SENDERS_ONE) {
            upcall_reader_read_sorted(reader, choice);
            n_queued += choice->sparse ? 0 : choice->max;
            read_something = true;
            continue;
        }
        reads[n++] = (struct upcall_read) {
            .fd = upcall_channel_fd(choice->channel), .max = choice->max,
        };
        n_asked += choice->max;
        n_queued += choice->sparse ? 0 : choice->max;
    }
    if (!n) {
        return read_something;
    }

    n_calls = reader->engine->class->read(reader->engine, reads, n,
                                          &reader->rx[reader->n_msgs]);
    upcall_stats_add(reader->stats, UPCALL_STAT_RECEIVES, n_calls);
    now = upcall_now_usec();
    for (size_t i = 0; i < n; i++) {
        upcall_age_read(&choices[i].channel->age, reads[i].n, reads[i].empty,
                        now, &reader->queued_at[reader->n_msgs]);
        if (OVS_UNLIKELY(choices[i].channel->waited)) {
            upcall_reader_count_adopted(reader, choices[i].channel,
                                        &reader->rx[reader->n_msgs],
                                        reads[i].n, reads[i].empty);
        }
        upcall_reader_account(reader, &choices[i], &reads[i]);
    }
    return true;
}
