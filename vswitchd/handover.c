/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "handover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dirs.h"
#include "dpif-netlink/dpif-netlink-kdp.h"
#include "fatal-signal.h"
#include "lacp.h"
#include "netdev.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "ofproto/connmgr.h"
#include "ofproto/ofproto-provider.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "ovsdb-idl.h"
#include "rstp.h"
#include "sset.h"
#include "stp.h"
#include "timeval.h"
#include "unixctl.h"
#include "upcall/upcall-store.h"
#include "util.h"
#include "vswitch-idl.h"

VLOG_DEFINE_THIS_MODULE(handover);

/* The lock's name in bridge.c. */
#define LOCK "ovs_vswitchd"

/* Why there is no handover while this process does not have it. */
static const char database_away[] = "the database is away";

/* Seconds for which one daemon waits for the other one to read or write. */
#define CONN_SEC 2

enum state {
    ALONE,                      /* No handover. */

    /* States of the old daemon. */
    STARTING,                   /* The new daemon is not ready yet. */
    READY,                      /* The new daemon is ready. */
    MUTE,                       /* No bridge has controllers. */
    STANDBY,                    /* The new daemon has the sockets. */
    OVER,                       /* The new daemon serves. */

    /* States of the new daemon. */
    SHADOW,                     /* The old daemon serves. */
    WAITING,                    /* This one serves, but has no lock yet: its
                                 * bridges run, without the database and
                                 * controllers. */
};

/* Seconds that the old daemon stays in a state at most: several times as long
 * as a start with 4,000 ports, and copying many OpenFlow rules, take.  In MUTE
 * controllers wait, and in STANDBY perhaps no daemon serves. */
static const int limits[] = {
    [STARTING] = 120,
    [READY] = 1800,
    [MUTE] = 120,
    [STANDBY] = 10,
};

static const struct handover_options *options;
static struct ovsdb_idl *idl;
static enum state state = ALONE;
static long long int ends_at = LLONG_MAX;       /* End of 'state', in ms. */
static int sock = -1;                   /* To the other daemon, or -1. */
static pid_t new_pid;                   /* The new daemon, or 0. */
static struct unixctl_conn *waiting;    /* Sender of the command, or NULL. */
static bool lock_awaited;               /* Waiting for the database's lock. */

/* Names of bridges whose controllers were taken away, and whether Open vSwitch
 * must not delete rules because of that. */
static struct sset muted = SSET_INITIALIZER(&muted);
static bool keep_rules;

/* True if members of bonds with LACP are not registered yet. */
static bool has_lacp;

/* Names of ports that wait until the database has their OpenFlow numbers: then
 * the daemon that serves has added them. */
static struct sset numberless = SSET_INITIALIZER(&numberless);

static void
enter(enum state new)
{
    state = new;
    ends_at = (new < ARRAY_SIZE(limits) && limits[new]
               ? time_msec() + limits[new] * 1000LL : LLONG_MAX);
}

/* True in the new daemon until it has the database's lock. */
static bool
is_new(void)
{
    return state == SHADOW || state == WAITING;
}

/* Seams. */

void __real_ovsdb_idl_set_lock(struct ovsdb_idl *, const char *);
void __wrap_ovsdb_idl_set_lock(struct ovsdb_idl *, const char *);
bool __real_ovsdb_idl_has_lock(const struct ovsdb_idl *);
bool __wrap_ovsdb_idl_has_lock(const struct ovsdb_idl *);
bool __real_ovsdb_idl_is_lock_contended(const struct ovsdb_idl *);
bool __wrap_ovsdb_idl_is_lock_contended(const struct ovsdb_idl *);
enum ovsdb_idl_txn_status __real_ovsdb_idl_txn_commit(struct ovsdb_idl_txn *);
enum ovsdb_idl_txn_status __wrap_ovsdb_idl_txn_commit(struct ovsdb_idl_txn *);
void __real_ofproto_set_controllers(struct ofproto *, struct shash *);
void __wrap_ofproto_set_controllers(struct ofproto *, struct shash *);
int __real_ofproto_set_snoops(struct ofproto *, const struct sset *);
int __wrap_ofproto_set_snoops(struct ofproto *, const struct sset *);
void __real_ofproto_flush_flows(struct ofproto *);
void __wrap_ofproto_flush_flows(struct ofproto *);
void __real_lacp_member_register(struct lacp *, void *,
                                 const struct lacp_member_settings *);
void __wrap_lacp_member_register(struct lacp *, void *,
                                 const struct lacp_member_settings *);
void __real_stp_tick(struct stp *, int);
void __wrap_stp_tick(struct stp *, int);
void __real_rstp_tick_timers(struct rstp *);
void __wrap_rstp_tick_timers(struct rstp *);
int __real_ofproto_port_add(struct ofproto *, struct netdev *, ofp_port_t *);
int __wrap_ofproto_port_add(struct ofproto *, struct netdev *, ofp_port_t *);

void
__wrap_ovsdb_idl_set_lock(struct ovsdb_idl *idl_, const char *name)
{
    idl = idl_;
    __real_ovsdb_idl_set_lock(idl, name);
}

bool
__wrap_ovsdb_idl_has_lock(const struct ovsdb_idl *idl_)
{
    bool has = __real_ovsdb_idl_has_lock(idl_);

    if (is_new()) {
        return true;
    } else if (state == STANDBY || state == OVER) {
        return false;
    }
    lock_awaited &= !has;
    return has;
}

/* The bridge would delete all bridges, because another process has the lock:
 * in a handover that may be the other daemon. */
bool
__wrap_ovsdb_idl_is_lock_contended(const struct ovsdb_idl *idl_)
{
    return (state == ALONE && !lock_awaited
            && __real_ovsdb_idl_is_lock_contended(idl_));
}

enum ovsdb_idl_txn_status
__wrap_ovsdb_idl_txn_commit(struct ovsdb_idl_txn *txn)
{
    return (is_new() ? TXN_UNCHANGED
            : __real_ovsdb_idl_txn_commit(txn));
}

static bool
is_mute(void)
{
    return state >= MUTE;
}

/* Adds the management socket of 'controllers' to 'services', at another path,
 * because the other daemon has such a socket, too. */
static void
move_management(const struct shash *controllers, struct shash *services)
{
    const char *suffix = is_new() ? "next" : "old";
    const struct shash_node *node;

    SHASH_FOR_EACH (node, controllers) {
        if (!strncmp(node->name, "punix:", 6)
            && string_ends_with(node->name, ".mgmt")) {
            shash_add_nocopy(services, xasprintf("%s.%s", node->name, suffix),
                             node->data);
        }
    }
}

void
__wrap_ofproto_set_controllers(struct ofproto *ofproto,
                               struct shash *controllers)
{
    struct shash services = SHASH_INITIALIZER(&services);

    if (is_mute()) {
        const struct sset none = SSET_INITIALIZER(&none);

        move_management(controllers, &services);
        sset_add(&muted, ofproto->name);
        keep_rules = true;
        __real_ofproto_set_controllers(ofproto, &services);
        __real_ofproto_set_snoops(ofproto, &none);
    } else {
        keep_rules = sset_find_and_delete(&muted, ofproto->name);
        __real_ofproto_set_controllers(ofproto, controllers);
    }
    keep_rules = false;
    shash_destroy(&services);
}

int
__wrap_ofproto_set_snoops(struct ofproto *ofproto, const struct sset *snoops)
{
    return is_mute() ? 0 : __real_ofproto_set_snoops(ofproto, snoops);
}

/* Open vSwitch deletes the rules of a bridge that gets its first controller,
 * or loses its last one. */
void
__wrap_ofproto_flush_flows(struct ofproto *ofproto)
{
    if (!keep_rules) {
        __real_ofproto_flush_flows(ofproto);
    }
}

/* Protocols between bridges.  In the shadow no PDU comes in and none goes out.
 * A member of a bond would take its partner for gone, and then would not send
 * for 30 seconds.  A port would forward, as if there were no other bridge
 * behind it.  So these protocols begin when this daemon serves. */

/* activate() has the bridge register the members. */
void
__wrap_lacp_member_register(struct lacp *lacp, void *member,
                            const struct lacp_member_settings *settings)
{
    if (state == SHADOW) {
        has_lacp = true;
    } else {
        __real_lacp_member_register(lacp, member, settings);
    }
}

void
__wrap_stp_tick(struct stp *stp, int ms)
{
    if (state != SHADOW) {
        __real_stp_tick(stp, ms);
    }
}

void
__wrap_rstp_tick_timers(struct rstp *rstp)
{
    if (state != SHADOW) {
        __real_rstp_tick_timers(rstp);
    }
}

/* True if interface 'name' is in the database.  The fake interface of a bond
 * is not. */
static bool
is_configured(const char *name)
{
    const struct ovsrec_interface *iface;

    OVSREC_INTERFACE_FOR_EACH (iface, idl) {
        if (!strcmp(iface->name, name)) {
            return true;
        }
    }
    return false;
}

/* The daemon that serves chooses the OpenFlow number of a new port, and adds
 * the port to the datapath. */
int
__wrap_ofproto_port_add(struct ofproto *ofproto, struct netdev *netdev,
                        ofp_port_t *ofp_portp)
{
    const char *name = netdev_get_name(netdev);
    int error;

    if (state == SHADOW && *ofp_portp == OFPP_NONE
        && strcmp(name, ofproto->name) && is_configured(name)) {
        sset_add(&numberless, name);
        return EBUSY;
    }
    error = __real_ofproto_port_add(ofproto, netdev, ofp_portp);
    if (state == SHADOW && error == EBUSY) {
        /* The number is known, but the datapath has no such port yet. */
        sset_add(&numberless, name);
    }
    return error;
}

/* Has the bridge add the ports whose numbers are in the database by now.  It
 * does not look for numbers there by itself. */
static void
add_numbered_ports(void)
{
    const struct ovsrec_interface *iface;

    if (sset_is_empty(&numberless)) {
        return;
    }
    OVSREC_INTERFACE_FOR_EACH (iface, idl) {
        if (iface->n_ofport && *iface->ofport > 0
            && sset_find_and_delete(&numberless, iface->name)) {
            if_notifier_kdp_outdated();
        }
    }
}

/* Both daemons. */

static int
say(const char *word)
{
    return send(sock, word, strlen(word), MSG_NOSIGNAL) < 0 ? errno : 0;
}

/* Returns true if the other daemon says 'word'.  Sets '*ended' if the
 * connection has ended. */
static bool
hears(const char *word, bool *ended)
{
    char text[16];
    ssize_t n = recv(sock, text, sizeof text, MSG_DONTWAIT);

    *ended = !n || (n < 0 && errno != EAGAIN && errno != EINTR);
    return n == strlen(word) && !memcmp(text, word, n);
}

static void
set_conn(int fd)
{
    const struct timeval limit = { .tv_sec = CONN_SEC };

    sock = fd;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void
close_conn(void)
{
    close(sock);
    sock = -1;
}

static char *
pidfile_path(void)
{
    return (options->pidfile_name
            ? abs_file_name(ovs_rundir(), options->pidfile_name)
            : xasprintf("%s/%s.pid", ovs_rundir(), program_name));
}

/* Replaces the other process's pidfile with this process's.  As in Open
 * vSwitch, the lock on the file says that the process is alive, so the file
 * stays open. */
static int
write_pidfile(const char *path)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char *temporary = xasprintf("%s.tmp%ld", path, (long int) getpid());
    int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int error = 0;

    if (fd < 0 || fcntl(fd, F_SETLK, &lock)
        || dprintf(fd, "%ld\n", (long int) getpid()) < 0
        || rename(temporary, path)) {
        error = errno;
        unlink(temporary);
    } else {
        fatal_signal_add_file_to_unlink(path);
    }
    free(temporary);
    return error;
}

/* Announces that this process is the daemon. */
static void
announce(void)
{
    char *text = xasprintf("MAINPID=%ld", (long int) getpid());

    if (options->pidfile) {
        char *path = pidfile_path();
        int error = write_pidfile(path);

        if (error) {
            VLOG_ERR("%s: writing failed (%s): control commands do not reach "
                     "this daemon", path, ovs_strerror(error));
        }
        free(path);
    }
    upcall_store_notify(text);
    free(text);
}

/* Deletes the management sockets that the other daemon, which was killed, had
 * at paths that end in 'suffix', ".mgmt" or ".mgmt.WORD". */
static void
unlink_management(const char *suffix)
{
    struct sset names = SSET_INITIALIZER(&names);
    const char *name;

    ofproto_enumerate_names("system", &names);
    SSET_FOR_EACH (name, &names) {
        char *path = xasprintf("%s/%s%s", ovs_rundir(), name, suffix);

        unlink(path);
        free(path);
    }
    sset_destroy(&names);
}

/* The new daemon. */

void
handover_close_inherited(int argc, char *argv[])
{
    static const char option[] = "--handover=";
    const struct dirent *entry;
    DIR *dir = NULL;
    int keep = -1;

    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], option, sizeof option - 1)) {
            keep = atoi(argv[i] + sizeof option - 1);
            dir = opendir("/proc/self/fd");
        }
    }
    if (!dir) {
        return;
    }
    while ((entry = readdir(dir))) {
        int fd = atoi(entry->d_name);

        if (fd > STDERR_FILENO && fd != keep && fd != dirfd(dir)) {
            close(fd);
        }
    }
    closedir(dir);
}

/* Serves from now on.  Ends the process if it cannot: the old daemon then goes
 * on, or the service manager starts the service again. */
static void
activate(void)
{
    int error = dpif_netlink_kdp_leave_shadow();

    if (error) {
        VLOG_FATAL("turning upcalls on failed (%s): this daemon cannot serve, "
                   "and ends", ovs_strerror(error));
    }
    enter(WAITING);
    if (has_lacp) {
        if_notifier_kdp_outdated();     /* Bonds must not wait for the lock. */
    }
}

static void
run_new(void)
{
    bool ended = false;

    if (state == SHADOW && hears("go", &ended)) {
        int error = upcall_store_receive(sock);

        if (error) {
            VLOG_WARN("receiving sockets for upcalls failed (%s): packets "
                      "that wait on others are lost", ovs_strerror(error));
        }
        VLOG_INFO("serving in place of another process");
        activate();
    } else if (state == SHADOW && ended) {
        VLOG_WARN("the process that served has ended: serving in its place");
        close_conn();
        unlink_management(".mgmt.old");
        activate();
    } else if (state == WAITING && __real_ovsdb_idl_has_lock(idl)) {
        announce();
        if (sock >= 0) {
            say("serving");
            close_conn();
        }
        enter(ALONE);
        if_notifier_kdp_outdated();     /* Controllers come. */
    }
}

void
handover_configured(void)
{
    if (state == SHADOW) {
        say("ready");
    }
}

/* The old daemon. */

static void
reply(const char *text)
{
    if (waiting) {
        unixctl_command_reply(waiting, text);
        waiting = NULL;
    }
}

/* Ends the new daemon together with this one.  Also called in a signal
 * handler. */
static void
kill_new(void *aux OVS_UNUSED)
{
    if (new_pid) {
        kill(new_pid, SIGKILL);
    }
}

/* Ends the handover because of 'reason': this daemon goes on serving. */
static void
stop(const char *reason)
{
    enum state old = state;

    VLOG_WARN("no handover: %s; this daemon goes on", reason);
    kill_new(NULL);
    unlink_management(".mgmt.next");
    close_conn();
    lock_awaited = true;        /* The new daemon may have the lock. */
    enter(ALONE);
    if (old == STANDBY) {
        unlink_management(".mgmt");
        dpif_netlink_kdp_go_on();
        announce();
    }
    if (old >= MUTE) {
        if_notifier_kdp_outdated();     /* The controllers come back. */
    }
    if (waiting) {
        unixctl_command_reply_error(waiting, reason);
        waiting = NULL;
    }
}

/* Starts 'program' in the shadow of this process.  Returns 0 or a positive
 * errno value. */
static int
spawn(const char *program)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t no_signals;
    struct svec args;
    int fds[2];
    int error;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
        return errno;
    }
    svec_clone(&args, &options->args);
    svec_terminate(&args);
    free(args.names[0]);
    args.names[0] = xstrdup(program);
    sigemptyset(&no_signals);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &no_signals);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], HANDOVER_FD);
    error = posix_spawn(&new_pid, program, &actions, &attributes, args.names,
                        environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    svec_destroy(&args);
    close(fds[1]);
    if (error) {
        new_pid = 0;
        close(fds[0]);
    } else {
        set_conn(fds[0]);
    }
    return error;
}

/* True if a bridge in fail mode "standalone" has no controller that serves it.
 * Such a bridge forwards by a hidden rule that OpenFlow does not show, and that
 * Open vSwitch deletes with the controllers in MUTE.  The new daemon would add
 * the rule only 15 seconds after it begins to connect. */
static bool
fails_open(void)
{
    struct sset names = SSET_INITIALIZER(&names);
    const char *name;
    bool fails = false;

    ofproto_enumerate_names("system", &names);
    SSET_FOR_EACH (name, &names) {
        const struct ofproto *ofproto = ofproto_lookup(name);
        const struct connmgr *mgr = ofproto ? ofproto->connmgr : NULL;

        fails |= (mgr
                  && connmgr_get_fail_mode(mgr) == OFPROTO_FAIL_STANDALONE
                  && connmgr_has_controllers(mgr)
                  && !connmgr_is_any_controller_admitted(mgr));
    }
    sset_destroy(&names);
    return fails;
}

/* Returns NULL if a handover is possible, otherwise the reason why it is
 * not. */
static const char *
check(void)
{
    struct sset names = SSET_INITIALIZER(&names);
    bool userspace;

    ofproto_enumerate_names("netdev", &names);
    userspace = !sset_is_empty(&names);
    sset_destroy(&names);
    return (options->refusal ? options->refusal
            : !__real_ovsdb_idl_has_lock(idl) ? database_away
            : userspace ? "there are bridges of datapath type netdev"
            : fails_open() ? "a standalone bridge is without its controller"
            : (getenv("INVOCATION_ID") && !getenv("NOTIFY_SOCKET")
               ? "systemd takes no messages of the service (NotifyAccess)"
               : dpif_netlink_kdp_hand_over_check()));
}

static void
handover_start(struct unixctl_conn *conn, int argc OVS_UNUSED,
               const char *argv[], void *aux OVS_UNUSED)
{
    const char *refusal = (state != ALONE
                           ? "there is another handover, which \"ovs-appctl "
                             "handover/abort\" ends"
                           : new_pid ? "a killed daemon has not ended yet"
                           : check());
    int error;

    if (refusal) {
        unixctl_command_reply_error(conn, refusal);
        return;
    }
    error = spawn(argv[1]);
    if (error) {
        unixctl_command_reply_error(conn, ovs_strerror(error));
        return;
    }
    VLOG_INFO("%s: started as process %ld, to which this one will hand over",
              argv[1], (long int) new_pid);
    waiting = conn;
    enter(STARTING);
}

static bool
is_next(struct unixctl_conn *conn, enum state expected)
{
    if (state != expected || waiting) {
        unixctl_command_reply_error(conn, "this is not the next step");
        return false;
    }
    waiting = conn;
    return true;
}

static void
handover_prepare(struct unixctl_conn *conn, int argc OVS_UNUSED,
                 const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    if (is_next(conn, READY)) {
        const char *refusal = check();

        if (refusal) {
            stop(refusal);
            return;
        }
        enter(MUTE);
        sset_clear(&muted);
        if_notifier_kdp_outdated();
    }
}

static void
handover_commit(struct unixctl_conn *conn, int argc OVS_UNUSED,
                const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    const char *refusal;
    int error;

    if (!is_next(conn, MUTE)) {
        return;
    }
    refusal = check();
    if (refusal) {
        stop(refusal);
        return;
    }
    error = say("go");
    if (error) {
        stop(ovs_strerror(error));
        return;
    }
    VLOG_INFO("hands over to process %ld", (long int) new_pid);
    enter(STANDBY);
    error = dpif_netlink_kdp_hand_over(sock);
    if (error) {
        stop(ovs_strerror(error));
        return;
    }
    __real_ovsdb_idl_set_lock(idl, NULL);
    __real_ovsdb_idl_set_lock(idl, LOCK);
}

static void
handover_abort(struct unixctl_conn *conn, int argc OVS_UNUSED,
               const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    if (state >= STARTING && state <= STANDBY) {
        stop("it was aborted");
    }
    unixctl_command_reply(conn, NULL);
}

static void
handover_clear_sockets(struct unixctl_conn *conn, int argc OVS_UNUSED,
                       const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    upcall_store_clear_at_end();
    unixctl_command_reply(conn, NULL);
}

/* True if no bridge has controllers. */
static bool
all_are_muted(void)
{
    struct sset names = SSET_INITIALIZER(&names);
    const char *name;
    bool all = true;

    ofproto_enumerate_names("system", &names);
    SSET_FOR_EACH (name, &names) {
        all &= !ofproto_lookup(name) || sset_contains(&muted, name);
    }
    sset_destroy(&names);
    return all;
}

static void
run_old(void)
{
    const char *expected = state == STARTING ? "ready" : "serving";
    bool ended;

    if (hears(expected, &ended)) {
        if (state == STARTING) {
            char *text = xasprintf("%ld", (long int) new_pid);

            enter(READY);
            reply(text);
            free(text);
        } else if (state == STANDBY) {
            char *path = pidfile_path();

            VLOG_INFO("process %ld serves in place of this one, which ends",
                      (long int) new_pid);
            fatal_signal_remove_file_to_unlink(path);
            free(path);
            new_pid = 0;
            enter(OVER);
        }
        reply(NULL);
    } else if (ended) {
        stop("the next daemon has ended; its log may say why");
    } else if (time_msec() >= ends_at) {
        stop("a step took too long");
    } else if (state != STANDBY && !__real_ovsdb_idl_has_lock(idl)) {
        /* The new daemon may have been given the lock. */
        stop(database_away);
    } else if (state == MUTE && waiting && all_are_muted()) {
        reply(NULL);
    }
}

/* Both daemons. */

void
handover_init(const struct handover_options *options_)
{
    options = options_;
    fatal_signal_add_hook(kill_new, NULL, NULL, true);
    if (options->fd >= 0) {
        set_conn(options->fd);
        dpif_netlink_kdp_enter_shadow();
        enter(SHADOW);
    }
    unixctl_command_register("handover/start", "program", 1, 1,
                             handover_start, NULL);
    unixctl_command_register("handover/prepare", "", 0, 0, handover_prepare,
                             NULL);
    unixctl_command_register("handover/commit", "", 0, 0, handover_commit,
                             NULL);
    unixctl_command_register("handover/abort", "", 0, 0, handover_abort,
                             NULL);
    unixctl_command_register("handover/clear-sockets", "", 0, 0,
                             handover_clear_sockets, NULL);
}

void
handover_run(void)
{
    if (is_new()) {
        add_numbered_ports();
        run_new();
    } else if (state != ALONE && state != OVER) {
        run_old();
    } else if (new_pid && waitpid(new_pid, NULL, WNOHANG) == new_pid) {
        new_pid = 0;
    }
}

void
handover_wait(void)
{
    if (sock >= 0 && state != WAITING) {
        poll_fd_wait(sock, POLLIN);
    }
    if (state != ALONE) {
        poll_timer_wait_until(ends_at);
    }
}

bool
handover_is_over(void)
{
    return state == OVER;
}
