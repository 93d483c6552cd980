/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-shed.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>

#include "upcall/upcall-engine.h"
#include "util.h"

/* Throwing upcalls away takes less work in a batch than handing upcalls
 * out. */
BUILD_ASSERT_DECL(UPCALL_SHED_MAX / UPCALL_SHED_PRICE < UPCALL_BATCH);

/* The last look is 1/2^this of the moving average: several looks decide, and
 * not a single look that was delayed. */
#define RATE_SHIFT 2

/* Upcalls are summed up in this fraction of an upcall, so that the average of
 * a few does not become 0. */
#define RATE_UNIT 256

/* A longer time between two looks says nothing about a rate: the machine was
 * suspended, or the daemon stopped. */
#define LOOK_USEC_MAX UINT64_C(60000000)

/* Turns that 'keep' is at least enough for: the next turn, and one more for
 * uneven arrivals, so that no turn is short. */
#define KEEP_TURNS 2

/* Restarts counting with a look at 'now', in a turn of 'quantum'. */
static void
upcall_delay_restart(struct upcall_delay *delay, uint64_t now,
                     unsigned int quantum)
{
    delay->looked_at = now;
    delay->granted = quantum;
    delay->served = 0;
}

bool
upcall_delay_turn(struct upcall_delay *delay, uint64_t now,
                  unsigned int quantum)
{
    bool due = false;

    delay->turn_quantum = quantum;
    delay->turn_served = 0;
    if (!delay->looked_at) {
        upcall_delay_restart(delay, now, quantum);
    } else if (now - delay->looked_at >= UPCALL_DELAY_LOOK) {
        due = true;
    } else {
        delay->granted += quantum;
    }
    return due;
}

/* Takes the time until 'now' into the average, and returns how many upcalls
 * may wait. */
static unsigned int
upcall_delay_measure(struct upcall_delay *delay, uint64_t now,
                     unsigned int quantum, uint64_t target)
{
    uint64_t usec = MIN(now - delay->looked_at, LOOK_USEC_MAX);
    uint64_t n = (uint64_t) delay->granted * RATE_UNIT;
    uint64_t keep;

    if (!delay->usec) {
        delay->n = n << RATE_SHIFT;
        delay->usec = usec << RATE_SHIFT;
    } else {
        delay->n += n - (delay->n >> RATE_SHIFT);
        delay->usec += usec - (delay->usec >> RATE_SHIFT);
    }
    keep = delay->n * target / RATE_UNIT / MAX(delay->usec, 1);
    return MAX(quantum * KEEP_TURNS, MIN(keep, INT_MAX));
}

/* Says whether to limit an unlimited port from 'now' on, when 'queued' upcalls
 * wait and 'keep' may. */
static bool
upcall_delay_is_standing(struct upcall_delay *delay, uint64_t now,
                         unsigned int queued, unsigned int keep)
{
    if (queued <= keep) {
        delay->since = 0;
    } else if (!delay->since) {
        delay->since = now;
    }
    return delay->since && now - delay->since >= UPCALL_DELAY_INTERVAL;
}

/* Says whether a limited port sent no more than its share in an interval that
 * ends now.  The kernel dropped 'dropped' of its upcalls since the last
 * look. */
static bool
upcall_delay_is_within_share(struct upcall_delay *delay, uint64_t now,
                             uint32_t dropped)
{
    bool within;

    delay->share += delay->granted;
    delay->offered += (uint64_t) delay->served + dropped;
    if (now - delay->since < UPCALL_DELAY_INTERVAL) {
        return false;
    }
    within = delay->offered <= delay->share;
    delay->since = now;
    delay->share = delay->offered = 0;
    return within;
}

unsigned int
upcall_delay_look(struct upcall_delay *delay, uint64_t now,
                  unsigned int queued, uint32_t drops, unsigned int quantum,
                  uint64_t target)
{
    unsigned int keep = upcall_delay_measure(delay, now, quantum, target);
    uint32_t dropped = drops - delay->drops;

    delay->drops = drops;
    if (!target
        || (delay->keep
            && upcall_delay_is_within_share(delay, now, dropped))) {
        delay->keep = delay->since = 0;
        delay->shedding = false;
    } else if (delay->keep) {
        delay->keep = keep;
    } else if (upcall_delay_is_standing(delay, now, queued, keep)) {
        delay->keep = keep;
        delay->shedding = true;
        delay->since = now;
        delay->share = delay->offered = 0;
    }
    upcall_delay_restart(delay, now, quantum);
    return delay->keep;
}

void
upcall_delay_served(struct upcall_delay *delay, unsigned int n)
{
    delay->served += n;
    delay->turn_served += n;
}

void
upcall_delay_spent(struct upcall_delay *delay)
{
    delay->granted -= delay->turn_quantum;
    delay->granted += delay->turn_served;
    delay->turn_quantum = delay->turn_served;
}

void
upcall_delay_empty(struct upcall_delay *delay)
{
    if (!delay->keep) {
        delay->since = 0;
    }
    delay->shedding = false;
}

unsigned int
upcall_delay_shed(struct upcall_delay *delay, unsigned int queued)
{
    delay->shedding = delay->shedding && queued > delay->keep;
    return delay->shedding ? queued - delay->keep : 0;
}

/* Updates the mean memory of an upcall with 'n' upcalls that took 'bytes'. */
static void
learn(struct upcall_channel *channel, unsigned int n, int64_t bytes)
{
    if (n && bytes > 0) {
        uint32_t mem = MAX(UPCALL_MEM_MIN, bytes / n);

        channel->msg_mem = (channel->msg_mem
                            ? (channel->msg_mem * UINT64_C(3) + mem) / 4
                            : mem);
    }
}

/* Throws away up to 'max' upcalls. */
static void
shed(struct upcall_channel *channel, unsigned int max,
     struct upcall_shed *result)
{
    struct mmsghdr msgs[UPCALL_SHED_CALL] = { { .msg_len = 0 } };

    while (result->n < max) {
        unsigned int n_asked = MIN(max - result->n, UPCALL_SHED_CALL);
        int n = recvmmsg(upcall_channel_fd(channel), msgs, n_asked,
                         MSG_DONTWAIT, NULL);

        result->n_calls++;
        if (n < 0 && errno == ENOBUFS
            && ++result->overruns < UPCALL_OVERRUNS) {
            continue;
        } else if (n <= 0) {
            break;
        }
        result->n += n;
        if (n < n_asked) {
            break;
        }
    }
}

/* Number of upcalls that take 'bytes', or 0 if unknown. */
static unsigned int
n_in(const struct upcall_channel *channel, uint32_t bytes)
{
    return channel->msg_mem ? bytes / channel->msg_mem : 0;
}

/* Limits 'channel', for which the kernel has dropped 'drops' so far, as the
 * policy says.  While the channel sheds, its buffer stays large, so that the
 * newest upcalls are left, and not the last ones before a small buffer was
 * full. */
static void
limit(struct upcall_channel *channel, uint32_t drops)
{
    const struct upcall_delay *delay = &channel->delay;

    if (!delay->keep) {
        upcall_channel_unlimit(channel);
    } else if (!delay->shedding) {
        uint64_t mem = (uint64_t) (delay->keep - 1) * channel->msg_mem;

        upcall_channel_limit(channel, MIN(mem / 2, UINT32_MAX), drops);
    }
}

/* Throws away the excess of the upcalls on 'channel', which take '*mem', but
 * at most 'max'.  Updates '*mem' and the kernel's count '*drops'. */
static void
shed_excess(struct upcall_channel *channel, uint64_t now, unsigned int max,
            uint32_t *mem, uint32_t *drops, struct upcall_shed *result)
{
    unsigned int n = upcall_delay_shed(&channel->delay, n_in(channel, *mem));

    if (n && max) {
        uint32_t before = *mem;

        shed(channel, MIN(n, max), result);
        upcall_count(&channel->shed, result->n);
        upcall_age_read(&channel->age, result->n, false, now, NULL);
        upcall_turn_charge(&channel->turn, result->n / UPCALL_SHED_PRICE);
        *mem = upcall_channel_look(channel, drops);
        learn(channel, result->n, (int64_t) before - *mem);
        upcall_delay_shed(&channel->delay, n_in(channel, *mem));
    }
}

struct upcall_shed
upcall_shed_begin(struct upcall_channel *channel, uint64_t now,
                  unsigned int quantum, uint64_t target, unsigned int max)
{
    struct upcall_shed result = { .n = 0 };
    struct upcall_delay *delay = &channel->delay;
    bool may_limit = (upcall_port_is_real(channel->port_no)
                      && channel->senders <= UPCALL_SENDERS_ONE
                      && (target || delay->keep));
    bool was_limited = delay->keep;
    uint32_t mem, drops;
    bool due;

    channel->turn_mem = 0;
    if (!may_limit) {
        *delay = (struct upcall_delay) { .keep = 0 };
    }
    due = upcall_delay_turn(delay, now, quantum);
    if (!(may_limit && (due || delay->shedding))
        && !upcall_age_look_is_due(&channel->age, now)) {
        return result;
    }

    mem = upcall_channel_look(channel, &drops);
    if (may_limit) {
        if (due) {
            result.keep = upcall_delay_look(delay, now, n_in(channel, mem),
                                            drops, quantum, target);
            result.limited = result.keep && !was_limited;
        }
        shed_excess(channel, now, max, &mem, &drops, &result);
        limit(channel, drops);
    }
    if (channel->msg_mem) {
        upcall_age_mark(&channel->age, n_in(channel, mem), now);
    }
    channel->turn_mem = mem;
    return result;
}

void
upcall_shed_account(struct upcall_channel *channel, unsigned int n,
                    bool empty)
{
    if (channel->delay.turn_served) {
        /* More upcalls arrived between two reads of the turn. */
        channel->turn_mem = 0;
    }
    upcall_delay_served(&channel->delay, n);
    if (empty) {
        upcall_delay_empty(&channel->delay);
        channel->turn_mem = 0;
    }
}

void
upcall_shed_end(struct upcall_channel *channel, bool sample)
{
    upcall_delay_spent(&channel->delay);
    if (sample || (channel->turn_mem && !channel->msg_mem)) {
        uint32_t after = upcall_channel_sample_backlog(channel);

        if (channel->turn_mem) {
            learn(channel, channel->delay.turn_served,
                  (int64_t) channel->turn_mem - after);
        }
    }
}

void
upcall_shed_leave(struct upcall_channel *channel)
{
    if (channel->delay.looked_at) {
        upcall_channel_unlimit(channel);
        channel->delay = (struct upcall_delay) { .keep = 0 };
    }
}
