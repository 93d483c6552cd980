/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/dpif-netlink/fallback-fixture.h"

#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/revalidation.h"
#include "dpif-netlink/settings.h"
#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/takeover.h"
#include "dpif-netlink/upcall-dest.h"
#include "dpif-netlink/upcall-queues.h"
#include "dpif-netlink/upcall-sync.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nl/nl-mcast.h"
#include "odp-netlink.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "timeval.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "fake/uring-fake.h"
#include "util.h"

/* Error that the next such call fails with, or 0. */
int set_features_error;

/* The same of all such calls. */
int set_pid_error;
int epoll_create_error;
int no_features_error;

static int
take_error(int *error)
{
    int taken = *error;

    *error = 0;
    return taken;
}

int __wrap_epoll_create1(int);
int __real_epoll_create1(int);
int
__wrap_epoll_create1(int flags)
{
    if (epoll_create_error) {
        errno = epoll_create_error;
        return -1;
    }
    return __real_epoll_create1(flags);
}

/* The datapath in the kernel. */
struct fallback_kernel kernel;

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
    kernel.n_requests++;
    if (no_features_error
        && (!n_pids || !kernel.takes_cpu_pids)) {
        error = no_features_error;
    }
    if (!error) {
        kernel.features = features & ~kernel.lacks;
        if (reply) {
            *reply = (struct ovs_datapath) {
                .user_features = kernel.features,
            };
        }
        if (n_pids) {
            assert_true(features & OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
            kernel.cpu_pid = pids[0];
            kernel.n_cpu_pids = MIN(n_pids, ARRAY_SIZE(kernel.cpu_pids));
            memcpy(kernel.cpu_pids, pids,
                   kernel.n_cpu_pids * sizeof *kernel.cpu_pids);
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
    kernel.n_lists++;
    if (kernel.list_error) {
        *vportsp = NULL;
        *n = 0;
        return kernel.list_error;
    }
    *vportsp = xmemdup(&kernel.vport, sizeof kernel.vport);
    *n = 1;
    return 0;
}

int __wrap_vport_table_get_by_number(struct vport_table *, uint32_t,
                                     struct ovs_vport *);
int
__wrap_vport_table_get_by_number(struct vport_table *vports OVS_UNUSED,
                                 uint32_t port_no, struct ovs_vport *vport)
{
    assert_int_equal(port_no, PORT);
    *vport = kernel.vport;
    return kernel.get_error;
}

void __wrap_vport_table_expire(struct vport_table *);
void
__wrap_vport_table_expire(struct vport_table *vports OVS_UNUSED)
{
}

bool __wrap_vport_table_next_gone(struct vport_table *, uint32_t *);
bool
__wrap_vport_table_next_gone(struct vport_table *vports OVS_UNUSED,
                             uint32_t *port_no)
{
    if (!kernel.n_gone) {
        return false;
    }
    *port_no = kernel.gone[--kernel.n_gone];
    return true;
}

void __wrap_if_notifier_kdp_outdated(void);
void
__wrap_if_notifier_kdp_outdated(void)
{
    kernel.n_outdated++;
}

int __wrap_ovs_vport_set_pids(struct ovs_genl *, int, uint32_t,
                              const uint32_t pids[], size_t n);
int
__wrap_ovs_vport_set_pids(struct ovs_genl *genl OVS_UNUSED,
                          int dp_ifindex OVS_UNUSED, uint32_t port_no,
                          const uint32_t pids[], size_t n)
{
    assert_int_equal(port_no, PORT);
    assert_in_range(n, 1, UPCALL_MAX_QUEUES);
    kernel.n_set_pids++;
    if (kernel.max_pids && n > kernel.max_pids) {
        return EINVAL;
    }
    if (!set_pid_error) {
        memcpy(kernel.pids, pids, n * sizeof *pids);
        kernel.vport.pid = pids[0];
        kernel.vport.n_pids = n;
    }
    return set_pid_error;
}

int __wrap_ovs_vport_get_pids(struct ovs_genl *, int, uint32_t,
                              uint32_t pids[], size_t max, size_t *n);
int
__wrap_ovs_vport_get_pids(struct ovs_genl *genl OVS_UNUSED,
                          int dp_ifindex OVS_UNUSED, uint32_t port_no,
                          uint32_t pids[], size_t max, size_t *n)
{
    assert_int_equal(port_no, PORT);
    assert_in_range(kernel.vport.n_pids, 2, max);
    *n = kernel.vport.n_pids;
    memcpy(pids, kernel.pids, *n * sizeof *pids);
    return 0;
}

int __wrap_nl_mcast_recv(struct nl_mcast *, nl_mcast_func *, void *);
int
__wrap_nl_mcast_recv(struct nl_mcast *mcast OVS_UNUSED,
                     nl_mcast_func *cb OVS_UNUSED, void *aux OVS_UNUSED)
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

/* When the main loop runs again at the latest, in ms. */
static long long int next_run = LLONG_MAX;

void __wrap_poll_timer_wait_until_at(long long int, const char *);
void
__wrap_poll_timer_wait_until_at(long long int msec,
                                const char *where OVS_UNUSED)
{
    next_run = MIN(next_run, msec);
}

bool
wakes_within(struct fixture *f, long long int msec)
{
    next_run = LLONG_MAX;
    dispatch_wait(&f->dp);

    /* Forget what else was to wake it. */
    poll_immediate_wake();
    poll_block();
    return next_run <= time_msec() + msec;
}

/* The log. */

/* A file without a name, so that none is left whatever becomes of the test. */
static int log_fd;

/* Returns what was logged since the last time, which the caller frees. */
char *
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
void
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

static char inner_name[] = "dp";
static struct dpif inner = { .base_name = inner_name };

int
setup(void **state)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct fixture *f = xzalloc(sizeof *f);
    struct kdp_datapath *dp = &f->dp;

    unit_clock_stop(1000000);
    unit_uring_fail(UNIT_URING_SETUP, 0, 0, 0);
    set_features_error = set_pid_error = 0;
    epoll_create_error = no_features_error = 0;
    memset(&kernel, 0, sizeof kernel);
    kernel.vport.port_no = PORT;
    kernel.vport.type = OVS_VPORT_TYPE_NETDEV;
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
    upcall_queues_create(dp);
    upcall_sync_create(dp);
    dispatch_create(dp);
    settings_create(dp);
    takeover_create(dp);
    assert_int_equal(upcall_table_set_handlers(dp->upcalls, 2), 0);
    free(read_log());
    *state = f;
    return 0;
}

int
teardown(void **state)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct fixture *f = *state;
    struct kdp_datapath *dp = &f->dp;

    takeover_destroy(dp);
    settings_destroy(dp);
    dispatch_destroy(dp);
    upcall_sync_destroy(dp);
    upcall_queues_destroy(dp);
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
void
forget_per_cpu(struct fixture *f)
{
    ovs_mutex_lock(&f->dp.mutex);
    f->dp.per_cpu_known = false;
    ovs_mutex_unlock(&f->dp.mutex);
}

/* Turns upcalls on, and lets the bridge add its ports. */
void
start(struct fixture *f)
{
    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    for (int i = 0; i < UPCALL_DEST_HOLD_TURNS; i++) {
        dispatch_run(&f->dp);
    }
}

void
set_config(struct fixture *f, const char *key, const char *value)
{
    struct smap config = SMAP_INITIALIZER(&config);

    smap_add(&config, key, value);
    settings_set(&f->dp, &config);
    smap_destroy(&config);
}

/* A turn of the main loop, a second after the last one.  Returns true if flows
 * are to be revalidated. */
bool
turn(struct fixture *f)
{
    unit_clock_advance(1000);
    assert_false(dispatch_run(&f->dp));
    return dispatch_revalidate(&f->dp);
}

/* The revalidators go through the flows until what was in hand is done. */
void
revalidators_run(struct fixture *f)
{
    unit_rcu_barrier();
    for (int i = 0; i < REVALIDATION_DUMPS; i++) {
        upcall_dest_dump_begins(&f->dp);
    }
}

/* The main loop turns for a while: ports are compared, and what is no longer
 * used goes. */
void
run(struct fixture *f)
{
    for (int i = 0; i < 8; i++) {
        turn(f);
        revalidators_run(f);
    }
}

void
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

const char *
dispatch_of(struct fixture *f)
{
    const char *name;

    ovs_mutex_lock(&f->dp.mutex);
    name = dispatch_mode_name(upcall_dest_mode(&f->dp));
    ovs_mutex_unlock(&f->dp.mutex);
    return name;
}

/* Checks that the kernel dispatches by port, to sockets that are read. */
void
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

void
check_engine(struct fixture *f, const char *name)
{
    struct upcall_table_info info;

    /* What upcall/show shows. */
    upcall_table_get_info(f->dp.upcalls, &info);
    assert_string_equal(info.engine, name);
    upcall_table_info_uninit(&info);
    check_upcalls_come(f, kernel.vport.pid);
}

void
fallback_init(const char *program)
{
    unit_init(program);
    log_fd = unit_log_open();
}
