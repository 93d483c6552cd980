/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/upcall-dest.h"

#include <errno.h>
#include <stdlib.h>

#include "dpif-netlink/revalidation.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "upcall/upcall-fd-limit.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_upcall_dest);

/* Milliseconds before sockets that are no longer used are looked at, and
 * between two looks.  Some hundred times the kernel's usual grace period. */
#define DRAIN_DELAY 1000
#define DRAIN_AGAIN 100

/* What the kernel was told of a port. */
struct told {
    struct hmap_node node;      /* In upcall_dests->told. */
    uint32_t port_no;
    uint32_t pid;
    uint64_t change;            /* Revalidation after which no flow names the
                                 * socket that the port had before, or 0. */
};

/* Under the mutex of the datapath. */
struct upcall_dests {
    enum dispatch_mode mode;
    uint32_t n_cpus;            /* The kernel knows the sockets of the first so
                                 * many handlers for its CPUs. */
    struct hmap told;           /* By port number. */
    struct revalidation *revalidation;
    bool draining;              /* Some socket may wait to be empty. */
    long long int drain_at;     /* Not before this time. */
    bool holding;               /* Upcalls of a new port are held. */
    unsigned int hold_all;      /* Turns in which those of all sockets that
                                 * are added are to be held. */
    bool mark_outdated;         /* New sockets mark those of a previous
                                 * run. */
};

void
upcall_dests_create(struct kdp_datapath *dp)
{
    dp->dests = xzalloc(sizeof *dp->dests);
    dp->dests->mode = DISPATCH_PER_PORT;
    hmap_init(&dp->dests->told);
    dp->dests->revalidation = revalidation_create();
}

static void
clear_told(struct upcall_dests *dests)
{
    struct told *told;

    HMAP_FOR_EACH_POP (told, node, &dests->told) {
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

/* What the kernel was told. */

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

/* Takes note that the kernel knows 'pid' for port 'port_no'. */
static void
set_told(struct kdp_datapath *dp, uint32_t port_no, uint32_t pid)
    OVS_REQUIRES(dp->mutex)
{
    struct told *told = find_told(dp, port_no);

    if (!told) {
        told = xzalloc(sizeof *told);
        told->port_no = port_no;
        hmap_insert(&dp->dests->told, &told->node, hash_int(port_no, 0));
    }
    told->pid = pid;
}

static void
forget_told(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    struct told *told = find_told(dp, port_no);

    if (told) {
        hmap_remove(&dp->dests->told, &told->node);
        free(told);
    }
}

/* Tells the kernel where the upcalls of port 'port_no' are to be sent.
 * Returns 0 or a positive errno value. */
static int
tell(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t pid = upcall_table_get_pid(dp->upcalls, port_no);
    int error = ovs_vport_set_pid(&dp->genl, dp->ifindex, port_no, pid);

    if (!error) {
        set_told(dp, port_no, pid);
    } else if (error == ENODEV) {
        forget_told(dp, port_no);
    }
    return error;
}

/* Has flows revalidated because the pid of port 'port_no' changed: they may
 * name the one that it had before. */
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

/* Makes the destination of port 'port_no', called 'name', the one that the
 * kernel knows, because it does not take another one ('error').  If that is
 * none of ours, the port keeps what it was to have. */
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

/* Tells the kernel the destination that port 'port_no', called 'name', has
 * now.  If that fails, the port has the one that the kernel knows.  Returns 0
 * or a positive errno value. */
static int
tell_change(struct kdp_datapath *dp, uint32_t port_no, const char *name)
    OVS_REQUIRES(dp->mutex)
{
    int error = tell(dp, port_no);

    if (error && error != ENODEV) {
        keep_what_is_told(dp, port_no, name, error);
    }

    /* Flows that were translated meanwhile have the new pid, whatever became
     * of it. */
    revalidate(dp, port_no);
    upcall_dest_drain(dp);
    return error;
}

/* Questions. */

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

/* Creates a channel that no port has yet.  Returns 0 or a positive errno
 * value. */
static int
create_channel(struct kdp_datapath *dp, struct upcall_channel **channelp)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    int error = upcall_channel_create(channelp);

    if (!error && dp->dests->mark_outdated) {
        int filter_error = upcall_channel_mark_outdated(*channelp);

        if (filter_error) {
            VLOG_WARN_RL(&rl, "%s: upcalls of a previous run cannot be told "
                         "from others (%s): packets that it had recirculated "
                         "may take a wrong way", dp->name,
                         ovs_strerror(filter_error));
        }
    }
    return error;
}

void
upcall_dest_mark_outdated(struct kdp_datapath *dp, bool mark)
{
    if (dp->dests->mark_outdated && !mark) {
        upcall_table_unmark_outdated(dp->upcalls);
    }
    dp->dests->mark_outdated = mark;
}

/* Creates a channel and adds it as 'port_no', called 'name'.  Returns 0 or a
 * positive errno value. */
static int
add_channel(struct kdp_datapath *dp, uint32_t port_no, const char *name)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_channel *channel;
    int error = create_channel(dp, &channel);

    if (error) {
        return error;
    }
    if (dp->dests->hold_all) {
        hold(dp, channel, dp->dests->hold_all);
    }
    error = upcall_table_add(dp->upcalls, port_no, name, channel);
    if (error) {
        upcall_channel_unref(channel);
    }
    return error;
}

/* Sockets that are no port's. */

/* Adds the one that the table has as 'port_no', unless it is there.  It is
 * called 'name', which is freed. */
static int
add_special(struct kdp_datapath *dp, uint32_t port_no, char *name)
    OVS_REQUIRES(dp->mutex)
{
    int error = (upcall_table_get_pid(dp->upcalls, port_no)
                 ? 0 : add_channel(dp, port_no, name));

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
    for (uint32_t i = 0; i < n && !error; i++) {
        error = add_special(dp, UPCALL_PORT_CPU(i),
                            xasprintf("(handler %"PRIu32")", i));
    }
    return error;
}

/* New ports. */

/* True if 'error' says that the system is short of something, so that a port
 * is to share the socket of others rather than to have none. */
static bool
is_shortage(int error)
{
    switch (error) {
    case EMFILE:                /* Descriptors. */
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:                /* fs.epoll.max_user_watches. */
        return true;
    default:
        return false;
    }
}

static void
warn_of_shortage(const struct kdp_datapath *dp, const char *name, int error)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

    VLOG_WARN_RL(&rl, "%s: no socket of its own for the upcalls of port %s "
                 "(%s); it shares one with others, and will be given one when "
                 "that is possible", dp->name, name, ovs_strerror(error));
}

int
upcall_dest_prepare(struct kdp_datapath *dp, bool own, const char *name,
                    struct upcall_dest_new *new)
{
    int error;

    new->channel = NULL;
    new->pid = upcall_table_get_pid(dp->upcalls, UPCALL_PORT_SHARED);
    if (!own) {
        return 0;
    }
    upcall_fd_limit_ensure(dp->name, upcall_table_n_channels(dp->upcalls) + 1,
                           upcall_table_n_handlers(dp->upcalls));
    error = create_channel(dp, &new->channel);
    if (!error) {
        new->pid = new->channel->pid;
    } else if (is_shortage(error)) {
        warn_of_shortage(dp, name, error);
        error = 0;
    }
    return error;
}

/* Makes port 'port_no', called 'name', share, whose channel handlers could not
 * be given because of 'error'.  The kernel knows the channel's pid. */
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
    upcall_channel_unref(new->channel);
    new->channel = NULL;
    return 0;
}

int
upcall_dest_commit(struct kdp_datapath *dp, struct upcall_dest_new *new,
                   uint32_t port_no, const char *name)
{
    if (new->channel) {
        int error;

        hold(dp, new->channel, UPCALL_DEST_HOLD_TURNS);
        error = upcall_table_add(dp->upcalls, port_no, name, new->channel);

        if (is_shortage(error)) {
            return commit_shared(dp, new, port_no, name, error);
        } else if (error) {
            return error;
        }
        new->channel = NULL;
    } else if (new->pid) {
        upcall_table_share(dp->upcalls, port_no, name);
    }
    set_told(dp, port_no, new->pid);
    return 0;
}

void
upcall_dest_abort(struct upcall_dest_new *new)
{
    upcall_channel_unref(new->channel);
    new->channel = NULL;
}

/* Changes. */

/* Gives port 'port_no', called 'name', a channel if it has none. */
static int
add_own(struct kdp_datapath *dp, uint32_t port_no, const char *name)
    OVS_REQUIRES(dp->mutex)
{
    return (upcall_table_has_channel(dp->upcalls, port_no)
            ? 0 : add_channel(dp, port_no, name));
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
    int error = add_own(dp, port_no, name);

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
                 bool own)
{
    uint32_t port_no = vport->port_no;
    uint32_t pid = vport->n_pids == 1 ? vport->pid : 0;
    int error;

    set_told(dp, port_no, pid);
    error = own ? add_own(dp, port_no, vport->name) : 0;
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
    if (pid && pid == upcall_table_get_pid(dp->upcalls, port_no)) {
        return 0;
    }
    error = tell_change(dp, port_no, vport->name);
    if (error == ENODEV) {
        upcall_dest_forget(dp, port_no);    /* The port went meanwhile. */
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
    dp->dests->draining = false;
    dp->dests->n_cpus = 0;
    clear_told(dp->dests);
    upcall_table_del_all(dp->upcalls);
}

/* Draining. */

void
upcall_dest_drain(struct kdp_datapath *dp)
{
    dp->dests->draining = true;
    dp->dests->drain_at = time_msec() + DRAIN_DELAY;
}

/* True if the channel of 'port' is where its upcalls are to go. */
static bool
is_wanted(const struct kdp_datapath *dp, const struct upcall_port_info *port)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t port_no = port->port_no;

    if (port_no == UPCALL_PORT_NONE || port_no == UPCALL_PORT_SHARED) {
        return true;
    } else if (upcall_port_is_cpu(port_no)) {
        return (dp->dests->mode == DISPATCH_PER_CPU
                && port_no - UPCALL_PORT_CPU_BASE < n_cpu_handlers(dp));
    } else {
        return upcall_dest_of(dp, port_no) == UPCALL_DEST_OWN;
    }
}

/* True if the kernel may still send to the channel of 'port', which is not
 * wanted: it was told so of the port or the CPU, or it has flows that name
 * it. */
static bool
is_in_use(const struct kdp_datapath *dp, const struct upcall_port_info *port)
    OVS_REQUIRES(dp->mutex)
{
    const struct told *told = find_told(dp, port->port_no);

    if (upcall_port_is_cpu(port->port_no)) {
        return port->port_no - UPCALL_PORT_CPU_BASE < dp->dests->n_cpus;
    }
    return (told
            && (told->pid == upcall_table_get_own_pid(dp->upcalls,
                                                      port->port_no)
                || !revalidation_is_done(dp->dests->revalidation,
                                         told->change)));
}

/* Removes the channels that are no longer used and empty, and finds out
 * whether others are to follow. */
static void
drain(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_table_info info;
    bool again = false;

    upcall_table_get_info(dp->upcalls, &info);
    for (size_t i = 0; i < info.n_ports; i++) {
        const struct upcall_port_info *port = &info.ports[i];

        if (!port->has_channel || is_wanted(dp, port)) {
            continue;
        } else if (is_in_use(dp, port) || port->stats.backlog) {
            again = true;
            continue;
        }
        upcall_table_del(dp->upcalls, port->port_no);
    }
    upcall_table_info_uninit(&info);
    dp->dests->draining = again;
    dp->dests->drain_at = time_msec() + DRAIN_AGAIN;
}

void
upcall_dest_run(struct kdp_datapath *dp)
{
    /* While flows of a previous run forward, all upcalls wait. */
    if (!dp->dests->mark_outdated) {
        if (dp->dests->hold_all) {
            dp->dests->hold_all--;
        }
        if (dp->dests->holding) {
            dp->dests->holding = upcall_table_release(dp->upcalls);
        }
    }
    if (dp->dests->draining && time_msec() >= dp->dests->drain_at) {
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
    if (dp->dests->holding && !dp->dests->mark_outdated) {
        poll_immediate_wake();
    }
    if (dp->dests->draining) {
        poll_timer_wait_until(dp->dests->drain_at);
    }
}
