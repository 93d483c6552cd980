/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/upcall-dest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/revalidation.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "upcall/upcall-fd-limit.h"
#include "upcall/upcall-store.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_upcall_dest);

/* Milliseconds before the first look at sockets that are no longer used, and
 * between two looks.  Some hundred times the kernel's usual grace period.
 * (Sockets of replaced queues are looked at earlier, because the table knows
 * when the grace period is over.) */
#define DRAIN_DELAY 1000
#define DRAIN_AGAIN 100

/* The kernel's configuration of a port. */
struct told {
    struct hmap_node node;      /* In upcall_dests->told. */
    struct ovs_list leaving_node;   /* In upcall_dests->leaving, or empty. */
    uint32_t port_no;
    uint32_t pid;               /* The first pid. */
    size_t n_pids;
    long long int drain_at;     /* If it is in 'leaving': not before this. */
    uint64_t change;            /* Revalidation after which flows no longer
                                 * name the port's previous socket, or 0. */
};

/* Under the mutex of the datapath. */
struct upcall_dests {
    enum dispatch_mode mode;
    uint32_t n_cpus;            /* Number of handlers whose sockets the kernel
                                 * has for its CPUs. */
    struct hmap told;           /* By port number. */
    struct revalidation *revalidation;
    struct ovs_list leaving;    /* Ports with a socket that may wait to be
                                 * empty. */
    bool cpus_leaving;          /* The same for a socket of CPUs. */
    uint32_t max_cpus;          /* No handler from this one on ever had such a
                                 * socket. */
    long long int drain_at;     /* When to look at these sockets, in ms. */
    unsigned int max_queues;    /* See upcall_dest_max_queues(). */
    bool holding;               /* Upcalls of a new port are held. */
    unsigned int hold_all;      /* Turns in which upcalls of all added sockets
                                 * are held. */
    bool takeover;              /* Flows of a previous run are taken over. */
};

void
upcall_dests_create(struct kdp_datapath *dp)
{
    dp->dests = xzalloc(sizeof *dp->dests);
    dp->dests->mode = DISPATCH_PER_PORT;
    dp->dests->max_queues = UPCALL_MAX_QUEUES;
    hmap_init(&dp->dests->told);
    ovs_list_init(&dp->dests->leaving);
    dp->dests->revalidation = revalidation_create();
}

static void
clear_told(struct upcall_dests *dests)
{
    struct told *told;

    HMAP_FOR_EACH_POP (told, node, &dests->told) {
        ovs_list_remove(&told->leaving_node);
        free(told);
    }
}

void
upcall_dests_destroy(struct kdp_datapath *dp)
{
    clear_told(dp->dests);
    hmap_destroy(&dp->dests->told);
    revalidation_destroy(dp->dests->revalidation);
    free(dp->dests);
}

/* True if some socket may wait to be empty. */
static bool
is_draining(const struct upcall_dests *dests)
{
    return dests->cpus_leaving || !ovs_list_is_empty(&dests->leaving);
}

/* The kernel's configuration. */

static struct told *
find_told(const struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    struct told *told;

    HMAP_FOR_EACH_WITH_HASH (told, node, hash_int(port_no, 0),
                             &dp->dests->told) {
        if (told->port_no == port_no) {
            return told;
        }
    }
    return NULL;
}

/* Notes that the kernel has 'n' pids for port 'port_no', the first being
 * 'pid'. */
static void
set_told(struct kdp_datapath *dp, uint32_t port_no, uint32_t pid, size_t n)
    OVS_REQUIRES(dp->mutex)
{
    struct told *told = find_told(dp, port_no);

    if (!told) {
        told = xzalloc(sizeof *told);
        told->port_no = port_no;
        ovs_list_init(&told->leaving_node);
        hmap_insert(&dp->dests->told, &told->node, hash_int(port_no, 0));
    }
    told->pid = pid;
    told->n_pids = n;
}

static void
forget_told(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    struct told *told = find_told(dp, port_no);

    if (told) {
        hmap_remove(&dp->dests->told, &told->node);
        ovs_list_remove(&told->leaving_node);
        free(told);
    }
}

/* Returns true if the kernel may accept fewer pids for a port than 'n', which
 * it has refused with 'error'.  From now on no port has more. */
static bool
refused(struct kdp_datapath *dp, size_t n, int error)
    OVS_REQUIRES(dp->mutex)
{
    unsigned int n_cpus = MAX(1, count_total_cores());

    if (error != EINVAL || n < 2) {
        return false;
    }
    dp->dests->max_queues = n > n_cpus ? n_cpus : 1;
    VLOG_INFO("%s: the kernel does not take %"PRIuSIZE" sockets for the "
              "upcalls of one port; ports have %u at most", dp->name, n,
              dp->dests->max_queues);
    return true;
}

/* Passes the destination of port 'port_no' to the kernel.  If the kernel does
 * not accept as many sockets as the port has, passes only the first ones.
 * Returns 0 or a positive errno value. */
static int
tell(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t pids[UPCALL_MAX_QUEUES];
    size_t n = upcall_table_get_pids(dp->upcalls, port_no, pids);
    int error;

    do {
        n = MIN(n, dp->dests->max_queues);
        error = ovs_vport_set_pids(&dp->genl, dp->ifindex, port_no, pids, n);
    } while (refused(dp, n, error));
    if (!error) {
        set_told(dp, port_no, pids[0], n);
    } else if (error == ENODEV) {
        forget_told(dp, port_no);
    }
    return error;
}

/* Requests a revalidation because the pid of port 'port_no' changed: flows may
 * name the previous pid. */
static void
revalidate(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    struct told *told = find_told(dp, port_no);
    uint64_t change = revalidation_request(dp->dests->revalidation);

    if (told) {
        told->change = change;
    }
}

/* Drains the unused sockets of port 'port_no' from 'msec' ms from now on. */
static void
drain_port(struct kdp_datapath *dp, uint32_t port_no, int msec)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_dests *dests = dp->dests;
    struct told *told = find_told(dp, port_no);

    if (told) {
        long long int at = time_msec() + msec;

        if (!is_draining(dests) || at < dests->drain_at) {
            dests->drain_at = at;
        }
        told->drain_at = at;
        ovs_list_remove(&told->leaving_node);
        ovs_list_push_back(&dests->leaving, &told->leaving_node);
    }
}

/* Resets the destination of port 'port_no', called 'name', to the kernel's,
 * because the kernel refuses another one with 'error'.  If the kernel's
 * destination is not our socket, the port keeps its intended destination. */
static void
keep_what_is_told(struct kdp_datapath *dp, uint32_t port_no, const char *name,
                  int error)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    const struct told *told = find_told(dp, port_no);
    uint32_t pid = told ? told->pid : 0;

    if (pid && pid == upcall_table_get_own_pid(dp->upcalls, port_no)) {
        upcall_table_unshare(dp->upcalls, port_no);
    } else if (pid && pid == upcall_table_get_pid(dp->upcalls,
                                                  UPCALL_PORT_SHARED)) {
        upcall_table_share(dp->upcalls, port_no, name);
    } else {
        VLOG_WARN_RL(&rl, "%s: the kernel does not take a socket for the "
                     "upcalls of port %s (%s); they are lost until it does",
                     dp->name, name, ovs_strerror(error));
        return;
    }
    VLOG_WARN_RL(&rl, "%s: the kernel does not take another socket for the "
                 "upcalls of port %s (%s); they go to the one that it knows",
                 dp->name, name, ovs_strerror(error));
}

/* Passes the new destination of port 'port_no', called 'name', to the kernel.
 * If that fails, the port gets the destination that the kernel has.  Returns 0
 * or a positive errno value. */
static int
tell_change(struct kdp_datapath *dp, uint32_t port_no, const char *name)
    OVS_REQUIRES(dp->mutex)
{
    int error = tell(dp, port_no);

    if (error && error != ENODEV) {
        keep_what_is_told(dp, port_no, name, error);
    }

    /* Flows that were translated meanwhile have the new pid, even after a
     * failure. */
    revalidate(dp, port_no);
    drain_port(dp, port_no, DRAIN_DELAY);
    return error;
}

/* Queries. */

enum dispatch_mode
upcall_dest_mode(const struct kdp_datapath *dp)
{
    return dp->dests->mode;
}

void
upcall_dest_set_mode(struct kdp_datapath *dp, enum dispatch_mode mode)
{
    dp->dests->mode = mode;
}

enum upcall_dest
upcall_dest_of(const struct kdp_datapath *dp, uint32_t port_no)
{
    bool shared = upcall_table_is_shared(dp->upcalls, port_no);

    if (!shared && !upcall_table_has_channel(dp->upcalls, port_no)) {
        return UPCALL_DEST_NONE;
    } else if (dp->dests->mode == DISPATCH_PER_CPU) {
        return UPCALL_DEST_CPU;
    } else {
        return shared ? UPCALL_DEST_SHARED : UPCALL_DEST_OWN;
    }
}

uint32_t
upcall_dest_pid(const struct kdp_datapath *dp, uint32_t port_no)
{
    uint32_t pid = upcall_table_get_pid(dp->upcalls, port_no);

    return pid ? pid : upcall_table_get_pid(dp->upcalls, UPCALL_PORT_SHARED);
}

/* Number of handlers that have CPUs. */
static uint32_t
n_cpu_handlers(const struct kdp_datapath *dp)
{
    return MAX(1, upcall_table_n_handlers(dp->upcalls));
}

uint32_t
upcall_dest_cpu_pid(const struct kdp_datapath *dp, size_t cpu)
{
    uint32_t port_no = (dp->dests->mode == DISPATCH_PER_CPU
                        ? UPCALL_PORT_CPU(cpu % n_cpu_handlers(dp))
                        : UPCALL_PORT_SHARED);

    return upcall_dest_pid(dp, port_no);
}

void
upcall_dest_cpus_told(struct kdp_datapath *dp)
{
    dp->dests->n_cpus = (dp->dests->mode == DISPATCH_PER_CPU
                         ? n_cpu_handlers(dp) : 0);
}

size_t
upcall_dest_n_own(const struct kdp_datapath *dp)
{
    return upcall_table_n_port_channels(dp->upcalls);
}

/* Holding. */

/* Holds 'channel' for 'n' turns. */
static void
hold(struct kdp_datapath *dp, struct upcall_channel *channel, unsigned int n)
    OVS_REQUIRES(dp->mutex)
{
    upcall_table_hold(dp->upcalls, channel, n);
    dp->dests->holding = true;
}

void
upcall_dest_hold_all(struct kdp_datapath *dp)
{
    dp->dests->hold_all = UPCALL_DEST_HOLD_TURNS;
}

/* Sockets. */

/* True if 'error' says that the system is short of a resource, so that a port
 * should use the shared socket instead of none. */
static bool
is_shortage(int error)
{
    switch (error) {
    case EMFILE:                /* No descriptors. */
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:                /* fs.epoll.max_user_watches. */
        return true;
    default:
        return false;
    }
}

/* Creates a channel for 'port_no'.  Uses a socket that a previous run left, if
 * its pid is 'pid', or if 'port_no' is not a port.  Returns 0 or a positive
 * errno value. */
static int
create_channel(struct kdp_datapath *dp, uint32_t port_no, uint32_t pid,
               struct upcall_channel **channelp)
    OVS_REQUIRES(dp->mutex)
{
    int fd = (pid || !upcall_port_is_real(port_no)
              ? upcall_store_take(dp->ifindex, port_no, pid) : -1);

    int error = (fd >= 0 ? upcall_channel_create_adopted(fd, channelp)
                 : upcall_channel_create(channelp));

    if (!error && !dp->dests->takeover) {
        upcall_channel_end_adopted(*channelp);
    }
    return error;
}

static void
unref_channels(struct upcall_channel *channels[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        upcall_store_remove(channels[i]->pid);
        upcall_channel_unref(channels[i]);
    }
}

/* Creates '*n' channels for 'port_no', but at most as many as the kernel
 * accepts, and fewer, at least one, if the system is short of a resource.
 * 'pids', unless NULL, are the kernel's present pids, whose sockets a previous
 * run may have left.  Stores the number of channels in '*n'.  Returns 0 or a
 * positive errno value. */
static int
create_channels(struct kdp_datapath *dp, uint32_t port_no,
                const uint32_t pids[], struct upcall_channel *channels[],
                size_t *n)
    OVS_REQUIRES(dp->mutex)
{
    size_t wanted = MIN(*n, dp->dests->max_queues);
    int error = 0;

    *n = 0;
    while (*n < wanted && !error) {
        error = create_channel(dp, port_no, pids ? pids[*n] : 0,
                               &channels[*n]);
        *n += !error;
    }
    if (error && !(*n && is_shortage(error))) {
        unref_channels(channels, *n);
        *n = 0;
        return error;
    }
    return 0;
}

void
upcall_dest_set_takeover(struct kdp_datapath *dp, bool takeover)
{
    if (dp->dests->takeover && !takeover) {
        upcall_table_end_adopted(dp->upcalls);
    }
    dp->dests->takeover = takeover;
}

/* Creates 'n' channels, or as many as possible, and adds them as 'port_no',
 * called 'name'.  'pids' is as in create_channels().  Returns 0 or a positive
 * errno value. */
static int
add_channels(struct kdp_datapath *dp, uint32_t port_no, const char *name,
             const uint32_t pids[], size_t n)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_channel *channels[UPCALL_MAX_QUEUES];
    int error = create_channels(dp, port_no, pids, channels, &n);

    if (error) {
        return error;
    }
    for (size_t i = 0; i < n; i++) {
        hold(dp, channels[i], dp->dests->hold_all);
    }
    error = upcall_table_add_queues(dp->upcalls, port_no, name, channels, n);
    if (error) {
        unref_channels(channels, n);
    }
    return error;
}

/* Sockets of no port. */

/* Adds the socket that the table has as 'port_no', unless it exists.  It is
 * called 'name', which this function frees. */
static int
add_special(struct kdp_datapath *dp, uint32_t port_no, char *name)
    OVS_REQUIRES(dp->mutex)
{
    int error = (upcall_table_get_pid(dp->upcalls, port_no)
                 ? 0 : add_channels(dp, port_no, name, NULL, 1));

    free(name);
    return error;
}

int
upcall_dest_add_shared(struct kdp_datapath *dp)
{
    int error = add_special(dp, UPCALL_PORT_NONE, xstrdup("(control)"));

    return error ? error : add_special(dp, UPCALL_PORT_SHARED,
                                       xstrdup("(shared)"));
}

int
upcall_dest_add_cpus(struct kdp_datapath *dp)
{
    uint32_t n = n_cpu_handlers(dp);
    int error = 0;

    upcall_fd_limit_ensure(dp->name, upcall_table_n_channels(dp->upcalls) + n,
                           n);
    dp->dests->max_cpus = MAX(dp->dests->max_cpus, n);
    for (uint32_t i = 0; i < n && !error; i++) {
        error = add_special(dp, UPCALL_PORT_CPU(i),
                            xasprintf("(handler %"PRIu32")", i));
    }
    return error;
}

/* New ports. */

static void
warn_of_shortage(const struct kdp_datapath *dp, const char *name, int error)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

    VLOG_WARN_RL(&rl, "%s: no socket of its own for the upcalls of port %s "
                 "(%s); it shares one with others, and will be given one when "
                 "that is possible", dp->name, name, ovs_strerror(error));
}

int
upcall_dest_prepare(struct kdp_datapath *dp, unsigned int n_queues,
                    const char *name, struct upcall_dest_new *new)
{
    int error;

    new->n_channels = n_queues;
    new->pids[0] = upcall_table_get_pid(dp->upcalls, UPCALL_PORT_SHARED);
    new->n_pids = 1;
    if (!n_queues) {
        return 0;
    }
    upcall_fd_limit_ensure(dp->name, (upcall_table_n_channels(dp->upcalls)
                                      + n_queues),
                           upcall_table_n_handlers(dp->upcalls));
    error = create_channels(dp, UPCALL_MAX_PORTS, NULL, new->channels,
                            &new->n_channels);
    if (!error) {
        for (size_t i = 0; i < new->n_channels; i++) {
            new->pids[i] = new->channels[i]->pid;
        }
        new->n_pids = new->n_channels;
    } else if (is_shortage(error)) {
        warn_of_shortage(dp, name, error);
        error = 0;
    }
    return error;
}

void
upcall_dest_allow(struct kdp_datapath *dp, unsigned int max_queues)
{
    dp->dests->max_queues = max_queues;
}

bool
upcall_dest_refused(struct kdp_datapath *dp, struct upcall_dest_new *new,
                    int error)
{
    bool again = refused(dp, new->n_pids, error);

    new->n_pids = MIN(new->n_pids, dp->dests->max_queues);
    return again;
}

void
upcall_dest_abort(struct upcall_dest_new *new)
{
    unref_channels(new->channels, new->n_channels);
    new->n_channels = 0;
}

/* Makes port 'port_no', called 'name', share, because its channels could not
 * be given to handlers because of 'error'.  The kernel has the channels'
 * pids. */
static int
commit_shared(struct kdp_datapath *dp, struct upcall_dest_new *new,
              uint32_t port_no, const char *name, int error)
    OVS_REQUIRES(dp->mutex)
{
    warn_of_shortage(dp, name, error);
    upcall_table_share(dp->upcalls, port_no, name);
    if (tell(dp, port_no)) {
        upcall_table_unshare(dp->upcalls, port_no);
        return error;
    }
    upcall_dest_abort(new);
    return 0;
}

int
upcall_dest_commit(struct kdp_datapath *dp, struct upcall_dest_new *new,
                   uint32_t port_no, const char *name)
{
    if (new->n_channels) {
        int error;

        for (size_t i = 0; i < new->n_channels; i++) {
            hold(dp, new->channels[i], UPCALL_DEST_HOLD_TURNS);
        }
        error = upcall_table_add_queues(dp->upcalls, port_no, name,
                                        new->channels, new->n_channels);
        if (is_shortage(error)) {
            return commit_shared(dp, new, port_no, name, error);
        } else if (error) {
            return error;
        }
        new->n_channels = 0;
    } else if (new->pids[0]) {
        upcall_table_share(dp->upcalls, port_no, name);
    }
    set_told(dp, port_no, new->pids[0], new->n_pids);
    return 0;
}

/* Changes. */

/* Gives port 'port_no', called 'name', 'n' channels if it has none.  'pids' is
 * as in create_channels(). */
static int
add_own(struct kdp_datapath *dp, uint32_t port_no, const char *name,
        const uint32_t pids[], size_t n)
    OVS_REQUIRES(dp->mutex)
{
    return (upcall_table_has_channel(dp->upcalls, port_no)
            ? 0 : add_channels(dp, port_no, name, pids, n));
}

/* Stores the pids that the kernel has for 'vport' in 'pids' if a previous run
 * may have left their sockets.  Returns their number, otherwise 0. */
static size_t
get_left_pids(struct kdp_datapath *dp, const struct ovs_vport *vport,
              uint32_t pids[UPCALL_MAX_QUEUES])
    OVS_REQUIRES(dp->mutex)
{
    size_t n = 0;

    if (!vport->pid || !upcall_store_has_found()) {
        return 0;
    } else if (vport->n_pids == 1) {
        pids[n++] = vport->pid;
    } else {
        ovs_vport_get_pids(&dp->genl, dp->ifindex, vport->port_no, pids,
                           UPCALL_MAX_QUEUES, &n);
    }
    return n;
}

unsigned int
upcall_dest_n_queues(const struct kdp_datapath *dp, uint32_t port_no)
{
    return upcall_table_n_queues(dp->upcalls, port_no, NULL);
}

unsigned int
upcall_dest_max_queues(const struct kdp_datapath *dp)
{
    return dp->dests->max_queues;
}

int
upcall_dest_set_queues(struct kdp_datapath *dp, uint32_t port_no,
                       unsigned int n_queues)
{
    struct upcall_channel *channels[UPCALL_MAX_QUEUES];
    size_t n = n_queues, has, n_retired;
    int error;

    has = upcall_table_n_queues(dp->upcalls, port_no, &n_retired);
    if (n_retired) {
        return EBUSY;
    }
    upcall_fd_limit_ensure(dp->name,
                           upcall_table_n_channels(dp->upcalls) + n,
                           upcall_table_n_handlers(dp->upcalls));
    error = create_channels(dp, UPCALL_MAX_PORTS, NULL, channels, &n);
    if (error) {
        return error;
    }
    error = (n <= has && has < n_queues ? EMFILE    /* No more than before. */
             : upcall_table_change(dp->upcalls, port_no, channels, n));
    if (error) {
        unref_channels(channels, n);
        return error;
    }
    error = tell(dp, port_no);
    if (error) {
        upcall_table_revert(dp->upcalls, port_no);
    } else {
        upcall_table_changed(dp->upcalls, port_no);
    }
    revalidate(dp, port_no);
    drain_port(dp, port_no, DRAIN_AGAIN);
    return error;
}

int
upcall_dest_to_shared(struct kdp_datapath *dp, uint32_t port_no,
                      const char *name)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    int error;

    upcall_table_share(dp->upcalls, port_no, name);
    error = tell_change(dp, port_no, name);
    if (!error) {
        VLOG_INFO_RL(&rl, "%s: port %s shares the socket for upcalls of "
                     "several ports now, because others have more upcalls and "
                     "there is no socket for each (other_config:"
                     "upcall-max-sockets, or the limit on open files)",
                     dp->name, name);
    }
    return error;
}

int
upcall_dest_to_own(struct kdp_datapath *dp, uint32_t port_no, const char *name)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    int error = add_own(dp, port_no, name, NULL, 1);

    if (error) {
        return error;
    }
    upcall_table_unshare(dp->upcalls, port_no);
    error = tell_change(dp, port_no, name);
    if (!error) {
        VLOG_INFO_RL(&rl, "%s: port %s has a socket for upcalls of its own "
                     "now", dp->name, name);
    }
    return error;
}

int
upcall_dest_sync(struct kdp_datapath *dp, const struct ovs_vport *vport,
                 unsigned int n_queues)
{
    uint32_t port_no = vport->port_no;
    uint32_t pids[UPCALL_MAX_QUEUES], left_pids[UPCALL_MAX_QUEUES];
    bool own = n_queues > 0;
    size_t n_left = own ? get_left_pids(dp, vport, left_pids) : 0;
    int error;

    set_told(dp, port_no, vport->pid, vport->n_pids);
    error = (!own ? 0
             : n_left ? add_own(dp, port_no, vport->name, left_pids, n_left)
             : add_own(dp, port_no, vport->name, NULL, n_queues));
    if (is_shortage(error)) {
        warn_of_shortage(dp, vport->name, error);
        own = false;
    } else if (error) {
        return error;
    }
    if (own) {
        upcall_table_unshare(dp->upcalls, port_no);
    } else {
        upcall_table_share(dp->upcalls, port_no, vport->name);
    }
    if (vport->pid
        && vport->n_pids == MIN(dp->dests->max_queues,
                                upcall_table_get_pids(dp->upcalls, port_no,
                                                      pids))
        && vport->pid == pids[0]
        && !memcmp(pids, left_pids, n_left * sizeof *pids)) {
        return 0;
    }
    error = tell_change(dp, port_no, vport->name);
    if (error == ENODEV) {
        upcall_dest_forget(dp, port_no);    /* The port is gone. */
        return 0;
    }
    return error;
}

bool
upcall_dest_is_known(const struct kdp_datapath *dp, uint32_t port_no)
{
    return find_told(dp, port_no) != NULL;
}

void
upcall_dest_forget(struct kdp_datapath *dp, uint32_t port_no)
{
    forget_told(dp, port_no);
    upcall_table_unshare(dp->upcalls, port_no);
    upcall_table_del(dp->upcalls, port_no);
}

void
upcall_dest_clear(struct kdp_datapath *dp)
{
    dp->dests->cpus_leaving = false;
    dp->dests->n_cpus = 0;
    clear_told(dp->dests);
    upcall_table_del_all(dp->upcalls);
}

/* Draining. */

void
upcall_dest_drain(struct kdp_datapath *dp)
{
    struct told *told;

    HMAP_FOR_EACH (told, node, &dp->dests->told) {
        drain_port(dp, told->port_no, DRAIN_DELAY);
    }
    if (!is_draining(dp->dests)) {
        dp->dests->drain_at = time_msec() + DRAIN_DELAY;
    }
    dp->dests->cpus_leaving = true;
}

/* True if nothing waits on the channels of port 'port_no'. */
static bool
is_empty(const struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_channel_stats stats;

    return (!upcall_table_get_stats(dp->upcalls, port_no, &stats)
            || !stats.backlog);
}

/* Removes the unused, empty channels of the port of 'told'.  Returns true if
 * no other will follow. */
static bool
drain_told(struct kdp_datapath *dp, const struct told *told)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t port_no = told->port_no;
    bool revalidated = revalidation_is_done(dp->dests->revalidation,
                                            told->change);
    size_t n_retired;

    upcall_table_n_queues(dp->upcalls, port_no, &n_retired);
    if (n_retired) {
        upcall_table_settle(dp->upcalls, port_no);
        if (!revalidated || !upcall_table_del_retired(dp->upcalls, port_no)) {
            return false;
        }
    }
    if (!upcall_table_has_channel(dp->upcalls, port_no)
        || upcall_dest_of(dp, port_no) == UPCALL_DEST_OWN) {
        return true;
    } else if (!revalidated || !is_empty(dp, port_no)
               || told->pid == upcall_table_get_own_pid(dp->upcalls,
                                                        port_no)) {
        /* The kernel may still send to the channel, because the port or flows
         * name it. */
        return false;
    }
    upcall_table_del(dp->upcalls, port_no);
    return true;
}

/* The same for channels of CPUs. */
static bool
drain_cpus(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t first = (dp->dests->mode == DISPATCH_PER_CPU
                      ? n_cpu_handlers(dp) : 0);
    bool done = true;

    for (uint32_t i = first; i < dp->dests->max_cpus; i++) {
        uint32_t port_no = UPCALL_PORT_CPU(i);

        if (!upcall_table_has_channel(dp->upcalls, port_no)) {
            continue;
        } else if (i < dp->dests->n_cpus || !is_empty(dp, port_no)) {
            done = false;
        } else {
            upcall_table_del(dp->upcalls, port_no);
        }
    }
    return done;
}

static void
drain(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_dests *dests = dp->dests;
    long long int now = time_msec();
    struct told *told;

    LIST_FOR_EACH_SAFE (told, leaving_node, &dests->leaving) {
        if (now >= told->drain_at && drain_told(dp, told)) {
            ovs_list_remove(&told->leaving_node);
            ovs_list_init(&told->leaving_node);
        }
    }
    dests->cpus_leaving = dests->cpus_leaving && !drain_cpus(dp);
    dests->drain_at = now + DRAIN_AGAIN;
}

void
upcall_dest_run(struct kdp_datapath *dp)
{
    /* While flows of a previous run forward, all upcalls wait. */
    if (!dp->dests->takeover) {
        if (dp->dests->hold_all) {
            dp->dests->hold_all--;
        }
        if (dp->dests->holding) {
            dp->dests->holding = upcall_table_release(dp->upcalls);
        }
    }
    if (is_draining(dp->dests) && time_msec() >= dp->dests->drain_at) {
        drain(dp);
    }
}

bool
upcall_dest_revalidate(struct kdp_datapath *dp)
{
    return revalidation_run(dp->dests->revalidation);
}

void
upcall_dest_dump_begins(struct kdp_datapath *dp)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    revalidation_dump_begins(dp->dests->revalidation);
}

void
upcall_dest_wait(struct kdp_datapath *dp)
{
    revalidation_wait(dp->dests->revalidation);
    if (dp->dests->holding && !dp->dests->takeover) {
        poll_immediate_wake();
    }
    if (is_draining(dp->dests)) {
        poll_timer_wait_until(dp->dests->drain_at);
    }
}
