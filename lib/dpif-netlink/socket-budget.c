/* SPDX-License-Identifier: Apache-2.0 */

/* The budget of sockets for upcalls.
 *
 * By default each port has a socket of its own.  With more ports than the
 * budget (other_config:upcall-max-sockets, or what the hard limit on open
 * files leaves) has room for, the rest share the socket that belongs to no
 * port.
 *
 * Which ports these are follows their traffic: every KDP_BALANCE_MS the ports
 * that share and had the most upcalls are compared with the ports that have a
 * socket and had the fewest, and change places with them where the difference
 * is worth it.  So a port that turns noisy gets a socket of its own and stops
 * delaying others.
 *
 * A port that loses its socket is switched over first; the socket stays until
 * it is empty (see dispatch.c).  Around a change upcalls of the port may
 * come on both sockets and be handled out of order. */

#include <config.h>
#include "dpif-netlink/datapath.h"

#include <stdlib.h>

#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "upcall/upcall-fd-limit.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_share);

/* Milliseconds between two comparisons.  Long enough to count enough upcalls,
 * short enough that a noisy port is soon alone. */
#define KDP_BALANCE_MS 1000

/* The most ports that change places at a time; so many sockets of the budget
 * (but at most an eighth, and at least one) are kept for those on their
 * way. */
#define KDP_BALANCE_PORTS 16

/* A port that shares gets the socket of another one if it had more than this
 * many times the upcalls of that one, and this many more.  Without the two,
 * ports with the same little traffic would change places for ever. */
#define KDP_BALANCE_FACTOR 2
#define KDP_BALANCE_MARGIN 50

static size_t
kdp_share_budget(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    size_t possible = upcall_fd_limit_max_channels();

    return dp->max_sockets ? MIN(dp->max_sockets, possible) : possible;
}

size_t
kdp_share_max_own(const struct kdp_datapath *dp)
{
    size_t budget = kdp_share_budget(dp);
    size_t kept = 1 + MAX(1, MIN(budget / 8, KDP_BALANCE_PORTS));

    return budget == SIZE_MAX ? SIZE_MAX : budget > kept ? budget - kept : 0;
}

/* Number of channels that belong to ports, those that are on their way out
 * included. */
static size_t
kdp_share_n_own(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    return upcall_table_n_port_channels(dp->upcalls);
}

bool
kdp_share_has_room(const struct kdp_datapath *dp)
{
    return kdp_share_n_own(dp) < kdp_share_max_own(dp);
}

void
kdp_share_note(struct kdp_datapath *dp)
{
    if (!dp->share_noted) {
        dp->share_noted = true;
        VLOG_INFO("%s: the budget of %"PRIuSIZE" sockets for upcalls is used "
                  "up; the quietest ports share one (other_config:"
                  "upcall-max-sockets, and the hard limit on open files, set "
                  "the budget)", dp->name, kdp_share_budget(dp));
    }
}

/* A port and the upcalls that came for it since the last comparison, which may
 * have been long ago: there are none while no port shares. */
struct port_rate {
    const struct upcall_port_info *port;
    uint64_t n;
};

static int
compare_rates(const void *a_, const void *b_)
{
    const struct port_rate *a = a_;
    const struct port_rate *b = b_;

    return a->n < b->n ? -1 : a->n > b->n;
}

/* Upcalls of 'port', lost ones too, since this was called last. */
static uint64_t
port_count(struct kdp_datapath *dp, const struct upcall_port_info *port)
    OVS_REQUIRES(dp->mutex)
{
    uint64_t now = port->stats.received + port->stats.lost;
    uint64_t *last = &dp->share_last[port->port_no];
    uint64_t n = now >= *last ? now - *last : now;

    *last = now;
    return n;
}

/* Sorts the ports into those that share and those with a channel, the quietest
 * first. */
static void
sort_ports(struct kdp_datapath *dp, const struct upcall_table_info *info,
           struct port_rate *shared, size_t *n_shared,
           struct port_rate *own, size_t *n_own)
    OVS_REQUIRES(dp->mutex)
{
    *n_shared = *n_own = 0;
    for (size_t i = 0; i < info->n_ports; i++) {
        const struct upcall_port_info *port = &info->ports[i];

        if (upcall_port_is_real(port->port_no)) {
            struct port_rate rate = { port, port_count(dp, port) };

            if (port->shared) {
                shared[(*n_shared)++] = rate;
            } else {
                own[(*n_own)++] = rate;
            }
        }
    }
    qsort(shared, *n_shared, sizeof *shared, compare_rates);
    qsort(own, *n_own, sizeof *own, compare_rates);
}

static void
kdp_share_balance(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct port_rate *shared, *own;
    struct upcall_table_info info;
    size_t n_shared, n_own, n_total, max_own;
    size_t quietest = 0;

    upcall_table_get_info(dp->upcalls, &info);
    shared = xcalloc(info.n_ports, sizeof *shared);
    own = xcalloc(info.n_ports, sizeof *own);
    sort_ports(dp, &info, shared, &n_shared, own, &n_own);
    max_own = kdp_share_max_own(dp);
    n_total = kdp_share_n_own(dp);

    /* The budget was made smaller. */
    for (; n_own - quietest > max_own; quietest++) {
        kdp_datapath_share_port(dp, own[quietest].port->port_no,
                                own[quietest].port->name);
    }

    for (size_t i = 0; i < KDP_BALANCE_PORTS && n_shared > 0; i++) {
        const struct port_rate *noisiest = &shared[--n_shared];

        if (n_total >= max_own) {
            if (quietest >= n_own || n_total + 1 >= kdp_share_budget(dp)
                || noisiest->n <= (own[quietest].n * KDP_BALANCE_FACTOR
                                   + KDP_BALANCE_MARGIN)) {
                break;
            }
            if (kdp_datapath_share_port(dp, own[quietest].port->port_no,
                                        own[quietest].port->name)) {
                break;
            }
            quietest++;
        }
        if (kdp_datapath_own_port(dp, noisiest->port->port_no,
                                  noisiest->port->name)) {
            break;
        }
        n_total++;
    }
    free(shared);
    free(own);
    upcall_table_info_uninit(&info);
}

static bool
kdp_share_is_active(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    return (dp->dispatch == KDP_PER_PORT
            && (upcall_table_n_shared(dp->upcalls)
                || kdp_share_n_own(dp) > kdp_share_max_own(dp)));
}

void
kdp_share_run(struct kdp_datapath *dp)
{
    if (!kdp_share_is_active(dp)) {
        dp->balance_at = LLONG_MIN;
    } else if (time_msec() >= dp->balance_at) {
        if (!dp->share_last) {
            dp->share_last = xcalloc(UPCALL_MAX_PORTS,
                                     sizeof *dp->share_last);
        }
        kdp_share_balance(dp);
        dp->balance_at = time_msec() + KDP_BALANCE_MS;
    }
}

void
kdp_share_wait(struct kdp_datapath *dp)
{
    if (kdp_share_is_active(dp)) {
        poll_timer_wait_until(dp->balance_at);
    }
}
