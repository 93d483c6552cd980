/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/socket-budget.h"

#include <stdlib.h>

#include "dpif-netlink/upcall-dest.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "upcall/upcall-fd-limit.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_socket_budget);

/* Milliseconds between two comparisons.  Long enough to count enough upcalls,
 * short enough that a noisy port soon gets a socket of its own. */
#define BALANCE_INTERVAL 1000

/* The most ports that change places at a time.  The budget keeps this many
 * sockets (but at most an eighth of it, and at least one) for ports that
 * change places, besides the two sockets that belong to no port. */
#define BALANCE_PORTS 16

/* A sharing port gets the socket of another port if it had more than
 * BALANCE_FACTOR times the upcalls of the other port, and BALANCE_MARGIN more.
 * Without these, ports with the same little traffic would change places
 * forever. */
#define BALANCE_FACTOR 2
#define BALANCE_MARGIN 50

/* Under the mutex of the datapath. */
struct socket_budget {
    size_t max;                 /* Setting, or 0 for what is possible. */
    bool noted;                 /* It was logged that the budget is used up. */
    uint32_t *last;             /* By port number: upcalls at the last
                                 * comparison.  NULL before that. */
    long long int balance_at;   /* Next comparison. */
};

void
socket_budget_create(struct kdp_datapath *dp)
{
    dp->budget = xzalloc(sizeof *dp->budget);
}

void
socket_budget_destroy(struct kdp_datapath *dp)
{
    free(dp->budget->last);
    free(dp->budget);
}

bool
socket_budget_set_max(struct kdp_datapath *dp, size_t max)
{
    struct socket_budget *budget = dp->budget;

    if (max == budget->max) {
        return false;
    }
    budget->max = max;
    budget->noted = false;
    return true;
}

size_t
socket_budget_get_max(const struct kdp_datapath *dp)
{
    return dp->budget->max;
}

/* The most sockets that may exist. */
static size_t
max_sockets(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    size_t possible = upcall_fd_limit_max_channels();

    return dp->budget->max ? MIN(dp->budget->max, possible) : possible;
}

size_t
socket_budget_max_own(const struct kdp_datapath *dp)
{
    size_t max = max_sockets(dp);
    size_t kept = 2 + MAX(1, MIN(max / 8, BALANCE_PORTS));

    return max == SIZE_MAX ? SIZE_MAX : max > kept ? max - kept : 0;
}

bool
socket_budget_admit(struct kdp_datapath *dp)
{
    struct socket_budget *budget = dp->budget;

    if (upcall_dest_mode(dp) != DISPATCH_PER_PORT) {
        return false;
    } else if (upcall_dest_n_own(dp) < socket_budget_max_own(dp)) {
        return true;
    }
    if (!budget->noted) {
        budget->noted = true;
        VLOG_INFO("%s: the budget of %"PRIuSIZE" sockets for upcalls is used "
                  "up; the quietest ports share one (other_config:"
                  "upcall-max-sockets, and the hard limit on open files, set "
                  "the budget)", dp->name, max_sockets(dp));
    }
    return false;
}

unsigned int
socket_budget_max_queues(const struct kdp_datapath *dp, unsigned int n)
{
    size_t max = socket_budget_max_own(dp);
    size_t others = (upcall_dest_n_own(dp) - n
                     - upcall_table_n_retired(dp->upcalls));

    if (upcall_table_n_shared(dp->upcalls) || others >= max) {
        return 1;
    }
    return MIN(max - others, UPCALL_MAX_QUEUES);
}

size_t
socket_budget_room(const struct kdp_datapath *dp)
{
    size_t max = max_sockets(dp);
    size_t n = upcall_table_n_channels(dp->upcalls);

    return max > n ? max - n : 0;
}

/* A port and its upcalls since the last comparison, which may have been long
 * ago: there are no comparisons while no port shares. */
struct port_rate {
    uint32_t port_no;
    uint32_t n;
};

static int
compare_rates(const void *a_, const void *b_)
{
    const struct port_rate *a = a_;
    const struct port_rate *b = b_;

    return a->n < b->n ? -1 : a->n > b->n;
}

/* Upcalls of the port of 'count' since the last call.  Lost upcalls do not
 * count: reading their number takes a system call for each port, and a port
 * that loses upcalls has many others. */
static uint32_t
port_count(struct kdp_datapath *dp, const struct upcall_port_count *count)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t *last = &dp->budget->last[count->port_no];
    int32_t n = count->n - *last;

    *last = count->n;
    return MAX(n, 0);           /* Below 0 if the counters were reset. */
}

/* Ports by where their upcalls go, the quietest first. */
struct ranking {
    struct port_rate *shared, *own;
    size_t n_shared, n_own;
};

static void
ranking_init(struct ranking *ranking, struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_port_count *counts;
    size_t n;

    counts = upcall_table_get_counts(dp->upcalls, &n);
    ranking->shared = xcalloc(n, sizeof *ranking->shared);
    ranking->own = xcalloc(n, sizeof *ranking->own);
    ranking->n_shared = ranking->n_own = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t port_no = counts[i].port_no;
        struct port_rate rate = { port_no, port_count(dp, &counts[i]) };

        if (upcall_dest_of(dp, port_no) == UPCALL_DEST_OWN) {
            ranking->own[ranking->n_own++] = rate;
        } else {
            ranking->shared[ranking->n_shared++] = rate;
        }
    }
    free(counts);
    qsort(ranking->shared, ranking->n_shared, sizeof *ranking->shared,
          compare_rates);
    qsort(ranking->own, ranking->n_own, sizeof *ranking->own, compare_rates);
}

static void
ranking_uninit(struct ranking *ranking)
{
    free(ranking->shared);
    free(ranking->own);
}

/* True if 'noisy' should get the socket of 'quiet'. */
static bool
is_noisier(const struct port_rate *noisy, const struct port_rate *quiet)
{
    return (noisy->n > (uint64_t) quiet->n * BALANCE_FACTOR
                       + BALANCE_MARGIN);
}

/* Makes port 'port_no' share, or gives it a socket of its own.  Returns 0 or a
 * positive errno value. */
static int
to_shared(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    char *name = upcall_table_port_name(dp->upcalls, port_no);
    int error = upcall_dest_to_shared(dp, port_no, name);

    free(name);
    return error;
}

static int
to_own(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    char *name = upcall_table_port_name(dp->upcalls, port_no);
    int error = upcall_dest_to_own(dp, port_no, name);

    free(name);
    return error;
}

static void
balance(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    size_t max_own = socket_budget_max_own(dp);
    size_t n_total = upcall_dest_n_own(dp);
    struct ranking ranking;
    size_t quietest = 0;

    ranking_init(&ranking, dp);

    /* The budget was made smaller. */
    for (; ranking.n_own - quietest > max_own; quietest++) {
        to_shared(dp, ranking.own[quietest].port_no);
    }

    for (size_t i = 0; i < BALANCE_PORTS && ranking.n_shared > 0; i++) {
        const struct port_rate *noisy = &ranking.shared[--ranking.n_shared];

        if (n_total >= max_own) {
            const struct port_rate *quiet = &ranking.own[quietest];

            if (quietest >= ranking.n_own || n_total + 1 >= max_sockets(dp)
                || !is_noisier(noisy, quiet)
                || to_shared(dp, quiet->port_no)) {
                break;
            }
            quietest++;
        }
        if (to_own(dp, noisy->port_no)) {
            break;
        }
        n_total++;
    }
    ranking_uninit(&ranking);
}

/* True if some port shares, or will have to. */
static bool
is_active(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    return (upcall_dest_mode(dp) == DISPATCH_PER_PORT
            && (upcall_table_n_shared(dp->upcalls)
                || upcall_dest_n_own(dp) > socket_budget_max_own(dp)));
}

void
socket_budget_run(struct kdp_datapath *dp)
{
    struct socket_budget *budget = dp->budget;

    if (!is_active(dp)) {
        budget->balance_at = LLONG_MIN;
    } else if (time_msec() >= budget->balance_at) {
        if (!budget->last) {
            budget->last = xcalloc(UPCALL_MAX_PORTS, sizeof *budget->last);
        }
        balance(dp);
        budget->balance_at = time_msec() + BALANCE_INTERVAL;
    }
}

void
socket_budget_wait(struct kdp_datapath *dp)
{
    if (is_active(dp)) {
        poll_timer_wait_until(dp->budget->balance_at);
    }
}
