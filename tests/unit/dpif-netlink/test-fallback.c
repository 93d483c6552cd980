/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels that lack what a setting of the dpif provider asks for: upcalls go
 * on to be received as before (U8), and the log says so.
 *
 * The linker sends the calls that look for io_uring here (--wrap), and those
 * that tell the kernel where to send upcalls, behind which there is a datapath
 * of one port. */

#include <config.h>
#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/revalidation.h"
#include "dpif-netlink/settings.h"
#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/upcall-dest.h"
#include "dpif-netlink/upcall-sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nl/nl-conn.h"
#include "odp-netlink.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "fake/uring-fake.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "util.h"

#define PORT 1

/* Errors that the next such call fails with, or 0. */
static int socketpair_error;
static int set_features_error;

/* The same of all such calls. */
static int set_pid_error;

static int
take_error(int *error)
{
    int taken = *error;

    *error = 0;
    return taken;
}

int __wrap_socketpair(int, int, int, int[2]);
int __real_socketpair(int, int, int, int[2]);
int
__wrap_socketpair(int domain, int type, int protocol, int fds[2])
{
    int error = take_error(&socketpair_error);

    if (error) {
        errno = error;
        return -1;
    }
    return __real_socketpair(domain, type, protocol, fds);
}

/* The datapath in the kernel. */
static struct {
    uint32_t features;
    unsigned int n_requests;    /* To change the features. */
    uint32_t cpu_pid;           /* Socket of the first CPU. */
    struct ovs_vport vport;
    bool announcements_lost;
} kernel;

int __wrap_ovs_datapath_set_features(struct ovs_genl *, int, uint32_t,
                                     const uint32_t[], size_t,
                                     struct ovs_datapath *);
int
__wrap_ovs_datapath_set_features(struct ovs_genl *genl OVS_UNUSED,
                                 int ifindex, uint32_t features,
                                 const uint32_t pids[], size_t n_pids,
                                 struct ovs_datapath *reply)
{
    int error = take_error(&set_features_error);

    assert_int_equal(ifindex, UNIT_DP_IFINDEX);
    assert_null(reply);
    kernel.n_requests++;
    if (!error) {
        kernel.features = features;
        if (n_pids) {
            assert_true(features & OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
            kernel.cpu_pid = pids[0];
        }
    }
    return error;
}

int __wrap_vport_table_list(struct vport_table *, struct ovs_vport **,
                            size_t *);
int
__wrap_vport_table_list(struct vport_table *vports OVS_UNUSED,
                        struct ovs_vport **vportsp, size_t *n)
{
    *vportsp = xmemdup(&kernel.vport, sizeof kernel.vport);
    *n = 1;
    return 0;
}

void __wrap_vport_table_expire(struct vport_table *);
void
__wrap_vport_table_expire(struct vport_table *vports OVS_UNUSED)
{
}

bool __wrap_vport_table_next_gone(struct vport_table *, uint32_t *);
bool
__wrap_vport_table_next_gone(struct vport_table *vports OVS_UNUSED,
                             uint32_t *port_no OVS_UNUSED)
{
    return false;
}

int __wrap_ovs_vport_set_pid(struct ovs_genl *, int, uint32_t, uint32_t);
int
__wrap_ovs_vport_set_pid(struct ovs_genl *genl OVS_UNUSED,
                         int dp_ifindex OVS_UNUSED, uint32_t port_no,
                         uint32_t pid)
{
    assert_int_equal(port_no, PORT);
    if (!set_pid_error) {
        kernel.vport.pid = pid;
        kernel.vport.n_pids = 1;
    }
    return set_pid_error;
}

int __wrap_nl_mcast_recv(struct nl_mcast *, nl_reply_func *, void *);
int
__wrap_nl_mcast_recv(struct nl_mcast *mcast OVS_UNUSED,
                     nl_reply_func *cb OVS_UNUSED, void *aux OVS_UNUSED)
{
    if (kernel.announcements_lost) {
        kernel.announcements_lost = false;
        return ENOBUFS;
    }
    return EAGAIN;
}

/* What another process made of the datapath. */
int __wrap_ovs_datapath_get(struct ovs_genl *, const char *name,
                            struct ovs_datapath *);
int
__wrap_ovs_datapath_get(struct ovs_genl *genl OVS_UNUSED,
                        const char *name OVS_UNUSED,
                        struct ovs_datapath *datapath)
{
    memset(datapath, 0, sizeof *datapath);
    datapath->ifindex = UNIT_DP_IFINDEX;
    datapath->user_features = OVS_DP_F_DISPATCH_UPCALL_PER_CPU;
    return 0;
}

/* The log. */

/* A file without a name, so that none is left whatever becomes of the test. */
static int log_fd;

/* Returns what was logged since the last time, which the caller frees. */
static char *
read_log(void)
{
    static char buf[8192];
    ssize_t n = pread(log_fd, buf, sizeof buf - 1, 0);

    assert_true(n >= 0);
    buf[n] = '\0';
    assert_int_equal(ftruncate(log_fd, 0), 0);
    return xstrdup(buf);
}

/* Checks that 'message', and no other warning, was logged. */
static void
check_log(const char *message)
{
    char *log = read_log();
    char *first = strstr(log, "|WARN|");

    if (!strstr(log, message)) {
        fail_msg("no \"%s\" in: %s", message, log);
    }
    if (first && (!strstr(first, message) || strstr(first + 1, "|WARN|"))) {
        fail_msg("not just \"%s\" in: %s", message, log);
    }
    free(log);
}

struct fixture {
    size_t n_fds;
    struct kdp_datapath dp;
    int sender;
    uint64_t seq;
};

static char inner_name[] = "dp";
static struct dpif inner = { .base_name = inner_name };

static int
setup(void **state)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct fixture *f = xzalloc(sizeof *f);
    struct kdp_datapath *dp = &f->dp;

    unit_clock_stop(1000000);
    unit_uring_fail(UNIT_URING_SETUP, 0, 0, 0);
    socketpair_error = set_features_error = set_pid_error = 0;
    memset(&kernel, 0, sizeof kernel);
    kernel.vport.port_no = PORT;
    strcpy(kernel.vport.name, "port");
    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->sender = unit_sender_open();

    dp->name = xstrdup("system@dp");
    dp->ifindex = UNIT_DP_IFINDEX;
    dp->inner = &inner;
    dp->upcalls = upcall_table_create(dp->name, UNIT_DP_IFINDEX, UNIT_FAMILY);
    ovs_mutex_init(&dp->mutex);
    dp->per_cpu_known = true;
    dp->user_features = OVS_DP_F_UNALIGNED;
    dp->genl.datapath.mcgroup = 1;
    upcall_dests_create(dp);
    socket_budget_create(dp);
    upcall_sync_create(dp);
    dispatch_create(dp);
    settings_create(dp);
    assert_int_equal(upcall_table_set_handlers(dp->upcalls, 2), 0);
    free(read_log());
    *state = f;
    return 0;
}

static int
teardown(void **state)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct fixture *f = *state;
    struct kdp_datapath *dp = &f->dp;

    settings_destroy(dp);
    dispatch_destroy(dp);
    upcall_sync_destroy(dp);
    socket_budget_destroy(dp);
    upcall_dests_destroy(dp);
    upcall_table_destroy(dp->upcalls);
    ovs_mutex_destroy(&dp->mutex);
    free(dp->name);
    close(f->sender);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

/* Makes the kernel one before Linux 5.15. */
static void
forget_per_cpu(struct fixture *f)
{
    ovs_mutex_lock(&f->dp.mutex);
    f->dp.per_cpu_known = false;
    ovs_mutex_unlock(&f->dp.mutex);
}

/* Turns upcalls on, and lets the bridge add its ports. */
static void
start(struct fixture *f)
{
    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    for (int i = 0; i < UPCALL_DEST_HOLD_TURNS; i++) {
        dispatch_run(&f->dp);
    }
}

static void
set_config(struct fixture *f, const char *key, const char *value)
{
    struct smap config = SMAP_INITIALIZER(&config);

    smap_add(&config, key, value);
    settings_set(&f->dp, &config);
    smap_destroy(&config);
}

/* A turn of the main loop, a second after the last one.  Returns true if flows
 * are to be revalidated. */
static bool
turn(struct fixture *f)
{
    unit_clock_advance(1000);
    assert_false(dispatch_run(&f->dp));
    return dispatch_revalidate(&f->dp);
}

/* The revalidators go through the flows until what was in hand is done. */
static void
revalidators_run(struct fixture *f)
{
    unit_rcu_barrier();
    for (int i = 0; i < REVALIDATION_DUMPS; i++) {
        upcall_dest_dump_begins(&f->dp);
    }
}

/* The main loop turns for a while: ports are compared, and what is no longer
 * used goes. */
static void
run(struct fixture *f)
{
    for (int i = 0; i < 8; i++) {
        turn(f);
        revalidators_run(f);
    }
}

static void
check_upcalls_come(struct fixture *f, uint32_t pid)
{
    struct upcall_table *table = f->dp.upcalls;
    unsigned int n = 0;

    assert_int_not_equal(pid, 0);
    unit_send_upcall(f->sender, pid, ++f->seq);
    for (int n_empty = 0; n_empty < 3; n_empty++) {
        for (uint32_t h = 0; h < upcall_table_n_handlers(table); h++) {
            struct upcall_view view;

            while (!upcall_table_recv(table, h, &view)) {
                assert_int_equal(unit_view_seq(&view), f->seq);
                n++;
            }
        }
    }
    assert_int_equal(n, 1);
}

static const char *
dispatch_of(struct fixture *f)
{
    const char *name;

    ovs_mutex_lock(&f->dp.mutex);
    name = dispatch_mode_name(upcall_dest_mode(&f->dp));
    ovs_mutex_unlock(&f->dp.mutex);
    return name;
}

/* Checks that the kernel dispatches by port, to sockets that are read. */
static void
check_per_port(struct fixture *f)
{
    assert_string_equal(dispatch_of(f), "per-port");
    assert_int_equal(kernel.features,
                     OVS_DP_F_UNALIGNED | OVS_DP_F_VPORT_PIDS);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 3);
    assert_int_equal(kernel.vport.pid,
                     upcall_table_get_pid(f->dp.upcalls, PORT));
    assert_false(upcall_table_is_shared(f->dp.upcalls, PORT));
    check_upcalls_come(f, kernel.vport.pid);
}

static void
check_engine(struct fixture *f, const char *name)
{
    struct upcall_table_info info;

    /* What upcall/show shows. */
    upcall_table_get_info(f->dp.upcalls, &info);
    assert_string_equal(info.engine, name);
    upcall_table_info_uninit(&info);
    check_upcalls_come(f, kernel.vport.pid);
}

/* Asks for io_uring, which the kernel lacks because of 'error'. */
static void
check_no_io_uring(struct fixture *f, int error)
{
    char *message, *log;
    size_t n_fds;

    unit_rcu_barrier();
    n_fds = unit_count_fds();
    set_config(f, "upcall-engine", "io_uring");
    message = xasprintf("system@dp: the kernel lacks what upcall engine "
                        "\"io_uring\" needs (%s); using \"epoll\"\n",
                        ovs_strerror(error));
    check_log(message);
    free(message);
    check_engine(f, "epoll");
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);

    /* A setting is looked at once. */
    set_config(f, "upcall-engine", "io_uring");
    check_engine(f, "epoll");
    set_config(f, "upcall-engine", "epoll");
    log = read_log();
    assert_string_equal(log, "");
    free(log);
}

static void
kernel_without_io_uring_leaves_epoll(void **state)
{
    static const struct {
        enum unit_uring_call call;
        unsigned int nth;
        int error;
    } lacks[] = {
        { UNIT_URING_SETUP, 1, ENOSYS },    /* Linux before 5.1. */
        { UNIT_URING_SETUP, 1, EPERM },     /* Forbidden. */
        { UNIT_URING_REGISTER, 1, EINVAL }, /* Linux before 5.19. */
        { UNIT_URING_REGISTER, 5, ENOMEM },
        { UNIT_URING_REQUEST, 1, EINVAL },  /* Linux before 6.0. */
        { UNIT_URING_SUBMIT, 1, EPERM },
    };
    struct fixture *f = *state;

    start(f);
    check_engine(f, "epoll");
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(lacks); i++) {
        unit_uring_fail(lacks[i].call, lacks[i].nth, 1, lacks[i].error);
        check_no_io_uring(f, lacks[i].error);
        assert_int_equal(unit_uring_n_failed(), 1);
    }
    socketpair_error = EMFILE;
    check_no_io_uring(f, EMFILE);

    set_config(f, "upcall-engine", "io_uring");
    check_log("system@dp: upcalls are received with engine \"io_uring\"\n");
    check_engine(f, "io_uring");
}

static void
engine_in_use_stays_when_the_next_cannot_start(void **state)
{
    struct fixture *f = *state;

    /* The first ring is the probe's; then there is one for each handler. */
    start(f);
    free(read_log());
    unit_uring_fail(UNIT_URING_SETUP, 3, 1, ENOMEM);
    set_config(f, "upcall-engine", "io_uring");
    assert_int_equal(unit_uring_n_failed(), 1);
    char *log = read_log();
    assert_non_null(strstr(log, "system@dp: starting upcall engine "
                           "\"io_uring\" failed (Cannot allocate memory); "
                           "going on with \"epoll\"\n"));
    free(log);
    check_engine(f, "epoll");
}

static void
kernel_that_cannot_dispatch_by_cpu_goes_on_by_port(void **state)
{
    struct fixture *f = *state;
    unsigned int n_requests;

    forget_per_cpu(f);
    start(f);
    check_per_port(f);
    free(read_log());
    n_requests = kernel.n_requests;
    set_config(f, "upcall-dispatch", "per-cpu");
    check_log("system@dp: the kernel does not dispatch upcalls by CPU "
              "(Operation not supported); going on by port\n");
    check_per_port(f);
    run(f);
    check_per_port(f);

    /* The kernel was not asked for what it does not know. */
    assert_int_equal(kernel.n_requests, n_requests);
}

static void
kernel_that_cannot_dispatch_by_cpu_starts_by_port(void **state)
{
    struct fixture *f = *state;

    /* The database is read before upcalls are turned on. */
    forget_per_cpu(f);
    set_config(f, "upcall-dispatch", "per-cpu");
    start(f);
    check_log("system@dp: the kernel does not dispatch upcalls by CPU "
              "(Operation not supported); going on by port\n");
    check_per_port(f);
    assert_int_equal(kernel.n_requests, 1);
    run(f);
    check_per_port(f);
}

static void
kernel_that_refuses_to_dispatch_by_cpu_goes_on_by_port(void **state)
{
    struct fixture *f = *state;

    start(f);
    check_per_port(f);
    for (int i = 0; i < 2; i++) {
        free(read_log());
        set_features_error = i ? ENOMEM : EOPNOTSUPP;
        set_config(f, "upcall-dispatch", "per-cpu");
        check_log(i ? "by CPU (Cannot allocate memory); going on by port\n"
                  : "by CPU (Operation not supported); going on by port\n");

        /* The sockets that were meant for the CPUs go. */
        assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 5);
        run(f);
        check_per_port(f);
        set_config(f, "upcall-dispatch", "per-port");
    }

    /* It was not for good. */
    set_config(f, "upcall-dispatch", "per-cpu");
    run(f);
    assert_string_equal(dispatch_of(f), "per-cpu");
    assert_int_equal(kernel.features,
                     OVS_DP_F_UNALIGNED | OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 4);
    check_upcalls_come(f, kernel.cpu_pid);
    set_config(f, "upcall-dispatch", "per-port");
    run(f);
    check_per_port(f);
}

/* Sets the budget of sockets, to one that is too small for any port to have
 * its own or to one that is not. */
static void
set_budget(struct fixture *f, bool small)
{
    ovs_mutex_lock(&f->dp.mutex);
    assert_true(socket_budget_set_max(&f->dp, small ? 1 : 100));
    ovs_mutex_unlock(&f->dp.mutex);
}

/* Checks that the kernel sends to the socket that the port shares. */
static void
check_shared(struct fixture *f)
{
    assert_true(upcall_table_is_shared(f->dp.upcalls, PORT));
    assert_int_equal(kernel.vport.pid,
                     upcall_table_get_pid(f->dp.upcalls, UPCALL_PORT_SHARED));
    check_upcalls_come(f, kernel.vport.pid);
}

static void
port_keeps_the_socket_that_the_kernel_knows(void **state)
{
    struct fixture *f = *state;
    char *log;

    start(f);
    run(f);
    check_per_port(f);
    free(read_log());

    set_budget(f, true);
    set_pid_error = ENOMEM;
    run(f);
    check_per_port(f);
    log = read_log();
    assert_non_null(strstr(log, "system@dp: the kernel does not take another "
                           "socket for the upcalls of port port (Cannot "
                           "allocate memory); they go to the one that it "
                           "knows\n"));
    free(log);
    set_pid_error = 0;
    run(f);
    check_shared(f);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 2);

    set_budget(f, false);
    set_pid_error = ENOMEM;
    run(f);
    check_shared(f);

    /* The socket that was meant for the port goes when nobody wants it. */
    set_budget(f, true);
    run(f);
    check_shared(f);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 2);

    set_budget(f, false);
    run(f);
    check_shared(f);
    set_pid_error = 0;
    run(f);
    check_per_port(f);
}

/* R1: what comes before the bridge has added its ports is not refused. */
static void
upcalls_wait_until_the_bridge_has_its_ports(void **state)
{
    struct fixture *f = *state;
    struct upcall_table *table = f->dp.upcalls;
    struct upcall_view view;
    unsigned int n = 0;

    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    unit_send_upcall(f->sender, kernel.vport.pid, ++f->seq);
    for (int i = 0; i < UPCALL_DEST_HOLD_TURNS; i++) {
        for (uint32_t h = 0; h < upcall_table_n_handlers(table); h++) {
            assert_int_equal(upcall_table_recv(table, h, &view), EAGAIN);
        }
        dispatch_run(&f->dp);
    }
    for (uint32_t h = 0; h < upcall_table_n_handlers(table); h++) {
        n += !upcall_table_recv(table, h, &view);
    }
    assert_int_equal(n, 1);

    /* Sockets that are made later are those of ports that are known. */
    set_config(f, "upcall-dispatch", "per-cpu");
    check_upcalls_come(f, kernel.cpu_pid);
}

/* Turns until flows are to be revalidated. */
static void
turn_until_revalidation(struct fixture *f)
{
    for (int i = 0; !turn(f); i++) {
        assert_true(i < 3);
    }
}

/* Flows that send to a controller or to sFlow name the socket that the port
 * had when they were translated. */
static void
socket_lives_until_flows_that_name_it_are_revalidated(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;

    start(f);
    run(f);
    pid = kernel.vport.pid;
    assert_int_equal(upcall_table_get_own_pid(f->dp.upcalls, PORT), pid);

    /* The port loses its socket. */
    set_budget(f, true);
    turn_until_revalidation(f);
    assert_int_not_equal(kernel.vport.pid, pid);
    for (int i = 0; i < 5; i++) {
        unit_rcu_barrier();
        assert_false(turn(f));
        check_upcalls_come(f, pid);
    }
    run(f);
    check_shared(f);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 2);

    /* It gets one. */
    set_budget(f, false);
    turn_until_revalidation(f);
    run(f);
    check_per_port(f);

    /* The mode changes, there and back. */
    pid = kernel.vport.pid;
    set_config(f, "upcall-dispatch", "per-cpu");
    turn_until_revalidation(f);
    for (int i = 0; i < 5; i++) {
        assert_false(turn(f));
        check_upcalls_come(f, pid);
    }
    set_config(f, "upcall-dispatch", "per-port");
    turn(f);
    check_upcalls_come(f, pid);
    run(f);
    check_per_port(f);
    assert_int_equal(kernel.vport.pid, pid);

    set_config(f, "upcall-dispatch", "per-cpu");
    run(f);
    set_config(f, "upcall-dispatch", "per-port");
    turn_until_revalidation(f);
    run(f);
    check_per_port(f);
}

/* Upcalls of no port come on a socket that no port has. */
static void
check_control(struct fixture *f)
{
    uint32_t pid = upcall_dest_pid(&f->dp, UPCALL_PORT_NONE);

    assert_int_not_equal(pid, kernel.vport.pid);
    assert_int_not_equal(pid, kernel.cpu_pid);
    check_upcalls_come(f, pid);
}

static void
upcalls_of_no_port_have_their_own_socket(void **state)
{
    struct fixture *f = *state;

    start(f);
    run(f);
    check_control(f);
    set_budget(f, true);
    run(f);
    check_shared(f);
    check_control(f);
    assert_int_equal(upcall_dest_pid(&f->dp, PORT + 1), kernel.vport.pid);
    set_config(f, "upcall-dispatch", "per-cpu");
    run(f);
    check_control(f);
}

static uint64_t
buffer_max(struct fixture *f)
{
    struct upcall_table_info info;

    upcall_table_get_info(f->dp.upcalls, &info);
    upcall_table_info_uninit(&info);
    return info.buffer_max;
}

static void
wrong_budget_of_buffers_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = {
        "", "15", "1048577", "-1", "1 GB", "many", "99999999999999999999",
    };
    struct fixture *f = *state;

    start(f);
    assert_int_equal(buffer_max(f), UPCALL_BUFFER_MAX);
    set_config(f, "upcall-buffer-max", "16");
    assert_int_equal(buffer_max(f), 16 << 20);
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message = xasprintf("other_config:upcall-buffer-max is \"%s\", "
                                  "expected 16 to 1048576 MiB; going on with "
                                  "16\n", wrong[i]);

        set_config(f, "upcall-buffer-max", wrong[i]);
        check_log(message);
        free(message);
        assert_int_equal(buffer_max(f), 16 << 20);
    }
    set_config(f, "upcall-buffer-max", "1048576");
    assert_int_equal(buffer_max(f), UINT64_C(1) << 40);

    /* Without it, the default is used. */
    set_config(f, "upcall-engine", "epoll");
    assert_int_equal(buffer_max(f), UPCALL_BUFFER_MAX);
}

static uint32_t
target_delay(struct fixture *f)
{
    struct upcall_table_info info;

    upcall_table_get_info(f->dp.upcalls, &info);
    upcall_table_info_uninit(&info);
    return info.target_delay;
}

/* U7. */
static void
wrong_target_delay_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = {
        "", "10001", "-1", "50 ms", "long", "99999999999999999999",
    };
    struct fixture *f = *state;

    start(f);
    set_config(f, "upcall-engine", "epoll");
    assert_int_equal(target_delay(f), UPCALL_DELAY_DEFAULT * 1000);
    set_config(f, "upcall-target-delay", "7");
    assert_int_equal(target_delay(f), 7000);
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message = xasprintf("other_config:upcall-target-delay is "
                                  "\"%s\", expected 0 (off) to 10000 ms; "
                                  "going on with 7\n", wrong[i]);

        set_config(f, "upcall-target-delay", wrong[i]);
        check_log(message);
        free(message);
        assert_int_equal(target_delay(f), 7000);
    }
    set_config(f, "upcall-target-delay", "10000");
    assert_int_equal(target_delay(f), 10000000);
    set_config(f, "upcall-target-delay", "0");
    assert_int_equal(target_delay(f), 0);

    /* Without it, the default is used. */
    set_config(f, "upcall-engine", "epoll");
    assert_int_equal(target_delay(f), UPCALL_DELAY_DEFAULT * 1000);
}

/* Another process changes the mode, which is restored. */
static void
restore_once(struct fixture *f)
{
    kernel.announcements_lost = true;
    turn(f);
    assert_true(kernel.features & OVS_DP_F_VPORT_PIDS);
    assert_false(kernel.features & OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
}

/* U8. */
static void
mode_that_others_keep_changing_is_warned_of_once(void **state)
{
    struct fixture *f = *state;

    start(f);
    run(f);
    free(read_log());

    /* Many in a short time, and for a long time with a pause, are not it. */
    for (int i = 0; i < 30; i++) {
        restore_once(f);
    }
    for (int i = 0; i < 15; i++) {
        unit_clock_advance(i == 5 ? 60000 : 58000);
        restore_once(f);
    }
    char *log = read_log();
    assert_null(strstr(log, "changing"));
    free(log);

    unit_clock_advance(58000);
    restore_once(f);
    unit_clock_advance(58000);
    restore_once(f);
    check_log("other processes have kept changing how the datapath dispatches");
    for (int i = 0; i < 30; i++) {
        unit_clock_advance(58000);
        restore_once(f);
    }
    log = read_log();
    assert_null(strstr(log, "changing"));
    free(log);
    ovs_mutex_lock(&f->dp.mutex);
    assert_int_equal(dispatch_n_restored(&f->dp), 77);
    ovs_mutex_unlock(&f->dp.mutex);
}

static void
wrong_group_size_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = {
        "", "0", "65", "-1", "4 handlers", "many", "99999999999999999999",
    };
    struct fixture *f = *state;
    uint32_t deflt;

    start(f);
    set_config(f, "upcall-engine", "epoll");
    deflt = upcall_table_group_size(f->dp.upcalls);
    assert_in_range(deflt, 4, 8);
    set_config(f, "upcall-group-size", "3");
    assert_int_equal(upcall_table_group_size(f->dp.upcalls), 3);
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message = xasprintf("other_config:upcall-group-size is \"%s\", "
                                  "expected \"auto\" or 1 to 64; going on "
                                  "with 3\n", wrong[i]);

        set_config(f, "upcall-group-size", wrong[i]);
        check_log(message);
        free(message);
        assert_int_equal(upcall_table_group_size(f->dp.upcalls), 3);
    }
    set_config(f, "upcall-group-size", "64");
    assert_int_equal(upcall_table_group_size(f->dp.upcalls), 64);
    set_config(f, "upcall-group-size", "auto");
    assert_int_equal(upcall_table_group_size(f->dp.upcalls), deflt);
}

static void
nothing_is_revalidated_without_a_change_of_sockets(void **state)
{
    struct fixture *f = *state;

    start(f);
    run(f);
    for (int i = 0; i < 10; i++) {
        assert_false(turn(f));
        revalidators_run(f);
    }
}

/* Upcalls are turned on, the kernel knows the socket of the port, and refuses
 * another one when all ports are compared. */
static void
comparison_keeps_the_socket_that_the_kernel_knows(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;

    start(f);
    run(f);
    pid = kernel.vport.pid;
    set_budget(f, true);
    set_pid_error = ENOMEM;
    set_config(f, "upcall-dispatch", "per-cpu");
    for (int i = 0; i < 10; i++) {
        turn(f);
        revalidators_run(f);
        assert_int_equal(kernel.vport.pid, pid);
        check_upcalls_come(f, pid);
    }
    set_pid_error = 0;
    run(f);
    assert_int_equal(upcall_table_get_own_pid(f->dp.upcalls, PORT), 0);
    assert_int_not_equal(kernel.vport.pid, pid);
    check_upcalls_come(f, kernel.vport.pid);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(kernel_without_io_uring_leaves_epoll),
        TEST(engine_in_use_stays_when_the_next_cannot_start),
        TEST(kernel_that_cannot_dispatch_by_cpu_goes_on_by_port),
        TEST(kernel_that_cannot_dispatch_by_cpu_starts_by_port),
        TEST(kernel_that_refuses_to_dispatch_by_cpu_goes_on_by_port),
        TEST(port_keeps_the_socket_that_the_kernel_knows),
        TEST(upcalls_wait_until_the_bridge_has_its_ports),
        TEST(socket_lives_until_flows_that_name_it_are_revalidated),
        TEST(upcalls_of_no_port_have_their_own_socket),
        TEST(wrong_budget_of_buffers_is_named_and_the_last_good_one_stays),
        TEST(mode_that_others_keep_changing_is_warned_of_once),
        TEST(wrong_target_delay_is_named_and_the_last_good_one_stays),
        TEST(wrong_group_size_is_named_and_the_last_good_one_stays),
        TEST(nothing_is_revalidated_without_a_change_of_sockets),
        TEST(comparison_keeps_the_socket_that_the_kernel_knows),
    };
    char log_name[] = "/tmp/test-kdp-fallback-XXXXXX";

    unit_init("test-kdp-fallback");
    log_fd = mkstemp(log_name);
    if (log_fd < 0 || vlog_set_log_file(log_name)) {
        unit_die("%s: cannot log there", log_name);
    }
    unlink(log_name);
    vlog_set_levels(NULL, VLF_FILE, VLL_INFO);
    return cmocka_run_group_tests_name("kdp-fallback", tests, NULL, NULL);
}
