/* SPDX-License-Identifier: Apache-2.0 */

/* How a handler chooses the channels that it reads, and accounts for what
 * came: see upcall-handler.h and upcall-turn.h. */

#include <config.h>
#include "upcall/upcall-handler-private.h"

#include <inttypes.h>

#include "coverage.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine-provider.h"
#include "upcall/upcall-ports.h"
#include "upcall/upcall-probes.h"
#include "upcall/upcall-sched.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_serve);

COVERAGE_DEFINE(upcall_overrun);
COVERAGE_DEFINE(upcall_receive_error);

/* The most channels that the engine is asked to read at once: what a full
 * batch needs when each uses its turn up, and one more for the rest of an
 * earlier turn. */
#define UPCALL_READS (DIV_ROUND_UP(UPCALL_BATCH, UPCALL_QUANTUM) + 1)

/* A channel with a standing backlog has its backlog measured in one of this
 * many turns, so that it costs few system calls. */
#define UPCALL_SAMPLE_TURNS 16

/* A channel that cannot be read is tried again at once, which is enough if the
 * kernel was short of something for a moment, and after that with pauses that
 * double from 1 ms to 2^10 ms: then it costs nothing to speak of, and is back
 * within a second once what was wrong is over. */
#define UPCALL_PAUSE_SHIFT 10

/* Takes the first channel of the run queue that can pay, and begins its turn.
 * Channels that still owe for large packets go to the end of the queue. */
static struct upcall_channel *
upcall_handler_dequeue(struct upcall_handler *handler)
{
    struct upcall_sched *sched = handler->sched;

    while (handler->share) {
        struct upcall_channel *channel;

        handler->share--;
        channel = upcall_sched_pop(sched, handler->token);
        if (!channel
            || upcall_channel_is_dead(channel)
            || upcall_turn_begin(&channel->turn, upcall_sched_pushed(sched))) {
            return channel;
        }
        upcall_handler_keep(handler, channel, UPCALL_STATE_SPENT);
    }
    return NULL;
}

/* A read to be made. */
struct choice {
    struct upcall_channel *channel;
    bool sparse;                /* It is one of the sparse ones. */
    unsigned int max;           /* Upcalls to ask for. */
};

/* Room for upcalls of channels that are not sparse, when 'n_asked' are asked
 * for already.  What sparse ones sent does not wait for a full batch of
 * others: all of a batch are processed together. */
static unsigned int
upcall_handler_room(const struct upcall_handler *handler, bool crowded,
                    unsigned int n_asked)
{
    unsigned int limit = UPCALL_BATCH;

    if (crowded && handler->n_sparse) {
        limit = MIN(limit, handler->n_sparse + UPCALL_QUANTUM);
    }
    return limit - MIN(limit, handler->n_msgs + n_asked);
}

/* Chooses the channel to read next, when 'n_asked' upcalls are asked for
 * already, by '*last' and others before it (a null pointer if there are none).
 * Returns false if there is nothing to read, or if that depends on how much
 * the reads chosen before take. */
static bool
upcall_handler_next(struct upcall_handler *handler, unsigned int n_asked,
                    const struct choice *last, struct choice *choice)
{
    bool crowded = upcall_sched_n_queued(handler->sched) > 0;
    bool others = ((crowded && handler->share)
                   || upcall_handler_n(handler, UPCALL_STATE_PARTIAL));
    unsigned int free = UPCALL_BATCH - handler->n_msgs;
    unsigned int room = upcall_handler_room(handler, crowded, n_asked);
    struct upcall_channel *channel = NULL;

    choice->sparse = false;
    if (upcall_handler_n(handler, UPCALL_STATE_SPARSE)) {
        /* What sparse channels leave to others. */
        unsigned int left = others ? UPCALL_QUANTUM : 0;

        if (free > n_asked + left) {
            room = free - n_asked - left;
            choice->sparse = true;
            channel = upcall_handler_pop(handler, UPCALL_STATE_SPARSE);
        } else if (last && free > left) {
            return false;
        }
    }
    if (!channel && last && last->sparse && crowded) {
        return false;
    }
    if (!channel && room) {
        channel = upcall_handler_pop(handler, UPCALL_STATE_PARTIAL);
        if (!channel) {
            channel = upcall_handler_dequeue(handler);
        }
        if (!channel) {
            choice->sparse = true;
            channel = upcall_handler_pop(handler, UPCALL_STATE_SPARSE);
        }
        if (!channel && !last && !crowded) {
            choice->sparse = false;
            channel = upcall_handler_pop(handler, UPCALL_STATE_SPENT);
            if (channel) {
                upcall_turn_begin(&channel->turn,
                                  upcall_sched_pushed(handler->sched));
            }
        }
    }
    choice->channel = channel;
    if (channel) {
        upcall_channel_set_state(channel, UPCALL_STATE_READING);
        choice->max = MIN(room, upcall_turn_allowance(&channel->turn));
    }
    return channel != NULL;
}

/* Says in 's' which channel it is, what it lost and what can be done.  The
 * rate limit works in front of the datapath, a meter only on packets that
 * match a flow; only another dispatch mode keeps the ports of a CPU apart. */
static void
upcall_handler_format_loss(const struct upcall_channel *channel,
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
upcall_handler_report_overrun(struct upcall_channel *channel,
                              const char *dp_name, unsigned int n)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    struct upcall_channel_stats stats;

    COVERAGE_ADD(upcall_overrun, n);
    upcall_count(&channel->overruns, n);
    UPCALL_PROBE_LOSS(channel->port_no, n);
    if (!VLOG_DROP_WARN(&rl)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        upcall_channel_get_stats(channel, &stats);
        upcall_handler_format_loss(channel, stats.lost, &s);
        VLOG_WARN("%s: %s", dp_name, ds_cstr(&s));
        ds_destroy(&s);
    }
}

/* Accounts for a read of 'channel' that failed with 'error', and puts the
 * channel in the state that it has now. */
static void
upcall_handler_fail(struct upcall_handler *handler,
                    struct upcall_channel *channel, const char *dp_name,
                    int error)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    long long int pause = 0;

    COVERAGE_INC(upcall_receive_error);
    upcall_count(&channel->errors, 1);
    if (channel->n_failures++) {
        pause = 1 << MIN(channel->n_failures - 2, UPCALL_PAUSE_SHIFT);
    }
    VLOG_WARN_RL(&rl, "%s: receiving upcalls of port %s failed (%s); trying "
                 "again in %lld ms", dp_name,
                 channel->name ? channel->name : "(none)",
                 ovs_strerror(error), pause);
    if (pause) {
        channel->retry_at = time_msec() + pause;
        handler->retry_at = MIN(handler->retry_at, channel->retry_at);
        upcall_handler_keep(handler, channel, UPCALL_STATE_PAUSED);
    } else {
        upcall_handler_keep(handler, channel, UPCALL_STATE_EMPTY);
    }
}

/* Accounts for what 'read' took as chosen, messages that begin at 'n_msgs',
 * and puts the channel in the state that it has now. */
static void
upcall_handler_account(struct upcall_handler *handler,
                       const struct choice *choice,
                       const struct upcall_read *read, const char *dp_name)
{
    struct upcall_channel *channel = choice->channel;
    uint32_t home = handler->index + 1;
    size_t n_bytes = 0;
    uint32_t last;

    for (unsigned int i = 0; i < read->n; i++) {
        n_bytes += handler->rx[handler->n_msgs].len;
        handler->channels[handler->n_msgs++] = channel;
    }
    handler->n_sparse += choice->sparse && read->empty ? read->n : 0;
    upcall_count(&channel->received, read->n);
    upcall_turn_spend(&channel->turn, read->n, n_bytes);
    UPCALL_PROBE_RECEIVE(channel->port_no, read->n, n_bytes, read->empty);

    atomic_read_relaxed(&channel->home, &last);
    if (last != home) {
        atomic_store_relaxed(&channel->home, home);
        if (last) {
            upcall_count(&handler->steals, 1);
        }
    }
    if (read->overruns) {
        upcall_handler_report_overrun(channel, dp_name, read->overruns);
    }
    if (!read->error || read->n) {
        channel->n_failures = 0;
    }

    if (read->error) {
        upcall_handler_fail(handler, channel, dp_name, read->error);
    } else if (read->empty && read->n && !choice->sparse
               && upcall_sched_is_saturated(handler->sched)) {
        upcall_handler_keep(handler, channel, UPCALL_STATE_SPENT);
    } else if (read->empty) {
        upcall_handler_keep(handler, channel, UPCALL_STATE_EMPTY);
    } else if (upcall_turn_has_credit(&channel->turn)) {
        upcall_handler_keep(handler, channel, UPCALL_STATE_PARTIAL);
    } else {
        if (handler->n_turns++ % UPCALL_SAMPLE_TURNS == 0) {
            upcall_channel_sample_backlog(channel);
        }
        upcall_handler_keep(handler, channel, UPCALL_STATE_SPENT);
    }
}

bool
upcall_handler_serve__(struct upcall_handler *handler)
{
    const char *dp_name = handler->ports->name;
    struct choice choices[UPCALL_READS];
    struct upcall_read reads[UPCALL_READS];
    unsigned int n_asked = 0;
    bool seen_dead = false;
    size_t n = 0;

    while (n < UPCALL_READS && handler->n_msgs + n_asked < UPCALL_BATCH) {
        struct choice *choice = &choices[n];

        if (!upcall_handler_next(handler, n_asked, n ? &choices[n - 1] : NULL,
                                 choice)) {
            break;
        } else if (upcall_channel_is_dead(choice->channel)) {
            /* Dropped at the start of the next batch: messages of this one may
             * still refer to it. */
            upcall_handler_keep(handler, choice->channel, UPCALL_STATE_EMPTY);
            seen_dead = true;
            continue;
        }
        reads[n++] = (struct upcall_read) {
            .fd = upcall_channel_fd(choice->channel), .max = choice->max,
        };
        n_asked += choice->max;
    }
    if (!n) {
        return seen_dead;
    }

    upcall_count(&handler->receives,
                 handler->engine->class->read(handler->engine, reads, n,
                                              &handler->rx[handler->n_msgs]));
    for (size_t i = 0; i < n; i++) {
        upcall_handler_account(handler, &choices[i], &reads[i], dp_name);
    }
    return true;
}
