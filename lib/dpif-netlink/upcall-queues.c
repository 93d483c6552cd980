/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/upcall-queues.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/upcall-dest.h"
#include "hash.h"
#include "netdev.h"
#include "odp-netlink.h"
#include "openvswitch/hmap.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_upcall_queues);

/* The most ports whose queues change in one look, so that the main loop does
 * not make thousands of requests in one turn.  And milliseconds until the next
 * look, if there are more ports or some had to wait. */
#define CHANGES 16
#define LOOK_AGAIN 100

/* Milliseconds between two judgements of ports. */
#define JUDGE_INTERVAL 1000

struct queues_port {
    struct hmap_node node;      /* In upcall_queues->ports. */
    uint32_t port_no;
    bool wide;                  /* A tunnel or an uplink. */
    unsigned int set;           /* Setting of the port, or 0. */
    unsigned int said;          /* The largest since 'is_said'. */
    bool is_said;               /* 'said' becomes 'set' in the next look. */
    unsigned int grown;         /* Queues in addition to the initial ones. */
    unsigned int n_quiet;       /* Seconds in which one fewer was enough. */
    uint32_t last;              /* Upcalls at the last judgement. */
};

/* Under the mutex of the datapath. */
struct upcall_queues {
    unsigned int set;           /* Setting, or 0. */
    struct hmap ports;
    bool has_grown;             /* Some port may have 'grown'. */
    long long int judge_at;     /* Next judgement, in ms, */
    long long int judged_at;    /* and the last one, or 0, */
    uint64_t busy_usec;         /* and the handlers' work at that time, */
    uint64_t n_upcalls;         /* in microseconds and upcalls. */
    bool counted;               /* 'last' of ports is from that time. */
    bool look;                  /* Some port may have too many or too few. */
    long long int look_at;      /* Not before this time. */
    unsigned int max;           /* The most queues for a port with one in the
                                 * last turn. */
};

void
upcall_queues_create(struct kdp_datapath *dp)
{
    dp->queues = xzalloc(sizeof *dp->queues);
    hmap_init(&dp->queues->ports);
}

void
upcall_queues_destroy(struct kdp_datapath *dp)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    upcall_queues_clear(dp);
    hmap_destroy(&dp->queues->ports);
    free(dp->queues);
}

/* Requests a look at all ports. */
static void
look(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    dp->queues->look = true;
    dp->queues->look_at = LLONG_MIN;
}

void
upcall_queues_set(struct kdp_datapath *dp, unsigned int n)
{
    dp->queues->set = n;
    look(dp);
}

unsigned int
upcall_queues_get(const struct kdp_datapath *dp)
{
    return dp->queues->set;
}

void
upcall_queues_handlers_changed(struct kdp_datapath *dp)
{
    look(dp);
}

/* Ports. */

static struct queues_port *
find_port(const struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    struct queues_port *port;

    HMAP_FOR_EACH_WITH_HASH (port, node, hash_int(port_no, 0),
                             &dp->queues->ports) {
        if (port->port_no == port_no) {
            return port;
        }
    }
    return NULL;
}

static struct queues_port *
get_port(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    struct queues_port *port = find_port(dp, port_no);

    if (!port) {
        port = xzalloc(sizeof *port);
        port->port_no = port_no;
        hmap_insert(&dp->queues->ports, &port->node, hash_int(port_no, 0));
    }
    return port;
}

void
upcall_queues_clear(struct kdp_datapath *dp)
{
    struct queues_port *port;

    HMAP_FOR_EACH_POP (port, node, &dp->queues->ports) {
        free(port);
    }
}

void
upcall_queues_set_port(struct kdp_datapath *dp, uint32_t port_no,
                       unsigned int n)
{
    struct queues_port *port = find_port(dp, port_no);

    /* The bridge calls this for all interfaces at each change of any. */
    if (n || (port && (port->set || port->is_said))) {
        port = port ? port : get_port(dp, port_no);
        port->said = port->is_said ? MAX(port->said, n) : n;
        port->is_said = true;
        look(dp);
    }
}

/* True if a vport of type 'type' with a device called 'name' is a tunnel. */
static bool
is_tunnel(const char *name, uint32_t type)
{
    const char *netdev_type;

    if (type != OVS_VPORT_TYPE_NETDEV) {
        return type != OVS_VPORT_TYPE_INTERNAL;
    }
    netdev_type = netdev_get_type_from_name(name);
    return (netdev_type && strcmp(netdev_type, "system")
            && strcmp(netdev_type, "internal") && strcmp(netdev_type, "tap"));
}

bool
upcall_queues_is_uplink(const char *sysfs, const char *name)
{
    char *path = xasprintf("%s/%s/device/net", sysfs, name);
    DIR *dir = opendir(path);
    unsigned int n = 0;

    free(path);
    if (dir) {
        const struct dirent *entry;

        while ((entry = readdir(dir)) != NULL) {
            n += entry->d_name[0] != '.';
        }
        closedir(dir);
    }
    return n == 1;
}

static bool
is_wide(const char *name, uint32_t type)
{
    return (is_tunnel(name, type)
            || upcall_queues_is_uplink(UPCALL_QUEUES_SYSFS, name));
}

/* Numbers. */

/* Queues that a wide port begins with. */
static unsigned int
auto_queues(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    unsigned int n = MIN(upcall_table_n_handlers(dp->upcalls),
                         count_cpu_cores());

    return MIN(MAX(n, 1), UPCALL_QUEUES_AUTO);
}

/* Queues that a port should have if the budget has room. */
static unsigned int
wanted(const struct kdp_datapath *dp, unsigned int set, bool wide,
       unsigned int grown)
    OVS_REQUIRES(dp->mutex)
{
    unsigned int n = (set ? set
                      : dp->queues->set ? dp->queues->set
                      : (wide ? auto_queues(dp) : 1) + grown);

    return MIN(n, upcall_dest_max_queues(dp));
}

unsigned int
upcall_queues_admit(struct kdp_datapath *dp, const char *name, uint32_t type)
{
    bool wide = !dp->queues->set && is_wide(name, type);

    return (!socket_budget_admit(dp) ? 0
            : MIN(wanted(dp, 0, wide, 0), socket_budget_max_queues(dp, 0)));
}

void
upcall_queues_port_added(struct kdp_datapath *dp, uint32_t port_no,
                         const char *name, uint32_t type)
{
    get_port(dp, port_no)->wide = is_wide(name, type);
    look(dp);
}

void
upcall_queues_port_gone(struct kdp_datapath *dp, uint32_t port_no)
{
    struct queues_port *port = find_port(dp, port_no);

    if (port) {
        hmap_remove(&dp->queues->ports, &port->node);
        free(port);
    }
    upcall_dest_forget(dp, port_no);
}

/* Changes. */

/* Gives 'port' the queues that it should have.  Returns true if it has them,
 * false to try again later. */
static bool
adjust(struct kdp_datapath *dp, const struct queues_port *port,
       unsigned int *n_changes)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    unsigned int n, has, room;
    int error;

    if (upcall_dest_of(dp, port->port_no) != UPCALL_DEST_OWN) {
        return true;
    }
    has = upcall_dest_n_queues(dp, port->port_no);
    n = MIN(wanted(dp, port->set, port->wide, port->grown),
            socket_budget_max_queues(dp, has));
    if (n == has) {
        return true;
    }

    /* A change to fewer queues also needs new sockets: at least one, whatever
     * the budget, and no more than there is room for. */
    room = socket_budget_room(dp);
    room = n < has ? MAX(room, 1) : room;
    if (*n_changes >= CHANGES || (n > has && room < n)) {
        return false;
    }
    error = upcall_dest_set_queues(dp, port->port_no, MIN(n, room));
    *n_changes += error != EBUSY;
    if (error && error != EBUSY && error != ENODEV) {
        VLOG_WARN_RL(&rl, "%s: giving port %"PRIu32" %u sockets for its "
                     "upcalls in place of %u failed (%s); trying again",
                     dp->name, port->port_no, n, has, ovs_strerror(error));
    }
    return (error == ENODEV
            || (!error && n <= upcall_dest_n_queues(dp, port->port_no)
                && n <= upcall_dest_max_queues(dp)));
}

/* More and fewer. */

int
upcall_queues_judge(const struct upcall_queues_second *s)
{
    uint64_t worked = (s->n_upcalls
                       ? s->busy_usec * s->n_of_port / s->n_upcalls : 0);
    uint64_t enough = s->usec * UPCALL_QUEUES_BUSY / 100;

    if (s->n_queues < s->n_handlers && worked >= s->n_queues * enough
        && s->busy_usec + enough <= s->n_handlers * s->usec) {
        return 1;
    }
    return worked < (s->n_queues - 1) * s->usec / 2 ? -1 : 0;
}

/* Judges the port of 'count' in the second of 's'. */
static void
judge_port(struct kdp_datapath *dp, const struct upcall_port_count *count,
           struct upcall_queues_second *s)
    OVS_REQUIRES(dp->mutex)
{
    struct queues_port *port = find_port(dp, count->port_no);
    int32_t n;
    int verdict;

    if (!port) {
        return;
    }
    n = count->n - port->last;
    port->last = count->n;
    if (port->set || upcall_dest_of(dp, port->port_no) != UPCALL_DEST_OWN) {
        port->grown = 0;
        return;
    } else if (!dp->queues->counted) {
        return;                 /* 'last' was too old. */
    }
    s->n_of_port = MAX(n, 0);
    s->n_queues = upcall_dest_n_queues(dp, port->port_no);
    verdict = upcall_queues_judge(s);
    port->n_quiet = verdict < 0 && port->grown ? port->n_quiet + 1 : 0;
    if (verdict > 0 && s->n_queues < wanted(dp, 0, port->wide,
                                            port->grown + 1)) {
        /* Not before the port has its intended queues. */
        if (s->n_queues < wanted(dp, 0, port->wide, port->grown)) {
            return;
        }
        port->grown++;
    } else if (port->n_quiet >= UPCALL_QUEUES_QUIET) {
        port->grown--;
        port->n_quiet = 0;
    } else {
        return;
    }
    VLOG_INFO("%s: port %"PRIu32" %s a socket for its upcalls (other_config:"
              "upcall-port-queues is auto)", dp->name, port->port_no,
              verdict > 0 ? "gets" : "gives back");
    look(dp);
}

/* Once a second, gives ports more queues or fewer.  Skips all ports while
 * handlers did not work enough for any port to need more, and no port has more
 * than its initial queues. */
static void
judge(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_queues *queues = dp->queues;
    struct upcall_queues_second s = {
        .n_handlers = upcall_table_n_handlers(dp->upcalls),
    };
    long long int now = time_msec();
    uint64_t busy_usec, n_upcalls;

    if (now < queues->judge_at) {
        return;
    }
    upcall_table_get_work(dp->upcalls, &busy_usec, &n_upcalls);
    s.usec = queues->judged_at ? (now - queues->judged_at) * 1000 : 0;
    s.busy_usec = busy_usec - MIN(busy_usec, queues->busy_usec);
    s.n_upcalls = n_upcalls - MIN(n_upcalls, queues->n_upcalls);
    queues->judged_at = now;
    queues->judge_at = now + JUDGE_INTERVAL;
    queues->busy_usec = busy_usec;
    queues->n_upcalls = n_upcalls;

    if (s.usec && s.n_handlers > 1
        && (queues->has_grown
            || s.busy_usec >= s.usec * UPCALL_QUEUES_BUSY / 100)) {
        const struct queues_port *port;
        struct upcall_port_count *counts;
        size_t n;

        counts = upcall_table_get_counts(dp->upcalls, &n);
        for (size_t i = 0; i < n; i++) {
            judge_port(dp, &counts[i], &s);
        }
        free(counts);
        queues->counted = true;
        queues->has_grown = false;
        HMAP_FOR_EACH (port, node, &queues->ports) {
            queues->has_grown = queues->has_grown || port->grown;
        }
    } else {
        queues->counted = false;
    }
}

/* Gives ports the queues that they should have. */
static void
adjust_all(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_queues *queues = dp->queues;
    struct queues_port *port;
    unsigned int n_changes = 0;
    bool done = true;

    if (!queues->look || time_msec() < queues->look_at) {
        return;
    }
    HMAP_FOR_EACH (port, node, &queues->ports) {
        if (port->is_said) {
            port->set = port->said;
            port->is_said = false;
        }
        done = adjust(dp, port, &n_changes) && done;
    }
    queues->look = !done;
    queues->look_at = time_msec() + LOOK_AGAIN;
}

/* Requests a look at all ports if the budget has room for more queues than in
 * the last turn: ports with fewer than they should have may get more. */
static void
check_budget(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    unsigned int max = socket_budget_max_queues(dp, 1);

    if (max > dp->queues->max) {
        look(dp);
    }
    dp->queues->max = max;
}

void
upcall_queues_run(struct kdp_datapath *dp)
{
    if (upcall_dest_mode(dp) == DISPATCH_PER_PORT) {
        if (!dp->queues->set) {
            judge(dp);
        }
        check_budget(dp);
    }
    adjust_all(dp);
}

void
upcall_queues_wait(struct kdp_datapath *dp)
{
    if (upcall_dest_mode(dp) == DISPATCH_PER_PORT && !dp->queues->set) {
        poll_timer_wait_until(dp->queues->judge_at);
    }
    if (dp->queues->look) {
        poll_timer_wait_until(dp->queues->look_at);
    }
}
