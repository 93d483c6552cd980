/* SPDX-License-Identifier: Apache-2.0 */

/* Adding and deleting ports of the dpif provider when the system refuses: no
 * socket leaks (U6), and one that the kernel may use stays (U8).  Questions
 * about ports, and dumps of them.  The kernel's part is made up: requests for
 * vports come here. */

#include <config.h>
#include "dpif-netlink/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/upcall-dest.h"
#include "dpif-netlink/upcall-queues.h"
#include "dpif-netlink/upcall-sync.h"
#include "dpif-netlink-rtnl.h"
#include "dummy.h"
#include "netdev-linux/netdev-linux-kdp.h"
#include "netdev-linux.h"
#include "netdev.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/ofpbuf.h"
#include "harness/descriptors.h"
#include "harness/fault.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "smap.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-ports.h"
#include "util.h"

/* The number that the kernel gives to a port. */
#define PORT_NO 7

/* Some tests have more ports, whose numbers follow. */
#define N_PORTS 32

UNIT_WRAP(int, epoll_ctl, (int epfd, int op, int fd,
                           struct epoll_event *event),
          (epfd, op, fd, event),
          op == EPOLL_CTL_ADD ? UNIT_CALL_EPOLL_CTL : UNIT_N_CALLS, -1)

/* The kernel. */
static struct {
    int new_error, del_error, get_error;    /* Positive errno values or 0. */
    int list_error;
    uint32_t type;              /* Of the port, or 0 for an internal one. */
    int rtnl_error;
    int set_pid_error;
    bool has_port;
    uint32_t pid;               /* Of the port. */
    unsigned int n_new, n_del;
    unsigned int n_set_pids;    /* Requests for other sockets of a port. */
    unsigned int n_tunnels;     /* Devices of tunnels. */
    unsigned int n_rechecks;    /* Of the vport table. */
    char lro_off[IFNAMSIZ];     /* Device whose LRO was turned off. */
    int32_t nsid;               /* Namespace of the port's device. */

    /* The request for a new port. */
    struct ovs_vport requested;
    size_t n_pids;
    char options[64];
    size_t options_len;
} kernel;

/* How often others heard of ports. */
static struct {
    unsigned int expired;       /* The vport table. */
    unsigned int links, notifier;               /* Caught up. */
    unsigned int offload_changed, offload_del;
    int was_port;               /* Interface index, or 0. */
} told;

int __wrap_ovs_vport_new(struct ovs_genl *, struct ovs_vport *,
                         const uint32_t pids[], size_t n_pids, const void *,
                         size_t);
int
__wrap_ovs_vport_new(struct ovs_genl *genl OVS_UNUSED, struct ovs_vport *vport,
                     const uint32_t pids[], size_t n_pids,
                     const void *options, size_t len)
{
    assert_int_not_equal(n_pids, 0);
    assert_int_equal(vport->dp_ifindex, UNIT_DP_IFINDEX);
    assert_true(len <= sizeof kernel.options);
    kernel.requested = *vport;
    kernel.options_len = len;
    kernel.n_pids = n_pids;
    if (len) {
        memcpy(kernel.options, options, len);
    }
    kernel.n_new++;
    if (kernel.new_error) {
        return kernel.new_error;
    }
    assert_false(kernel.has_port);
    kernel.has_port = true;
    kernel.pid = pids[0];
    vport->port_no = PORT_NO;
    return 0;
}

int __wrap_ovs_vport_del(struct ovs_genl *, int, uint32_t);
int
__wrap_ovs_vport_del(struct ovs_genl *genl OVS_UNUSED, int dp_ifindex,
                     uint32_t port_no)
{
    assert_int_equal(dp_ifindex, UNIT_DP_IFINDEX);
    assert_int_equal(port_no, PORT_NO);
    kernel.n_del++;
    if (!kernel.del_error) {
        kernel.has_port = false;
    }
    return kernel.del_error;
}

int __wrap_ovs_vport_set_pids(struct ovs_genl *, int, uint32_t,
                              const uint32_t pids[], size_t n);
int
__wrap_ovs_vport_set_pids(struct ovs_genl *genl OVS_UNUSED,
                          int dp_ifindex OVS_UNUSED, uint32_t port_no,
                          const uint32_t pids[], size_t n)
{
    assert_int_not_equal(n, 0);
    assert_in_range(port_no, PORT_NO, PORT_NO + N_PORTS - 1);
    assert_true(kernel.has_port);
    kernel.n_set_pids++;
    if (!kernel.set_pid_error && port_no == PORT_NO) {
        kernel.pid = pids[0];
    }
    return kernel.set_pid_error;
}

int __wrap_vport_table_get_by_number(struct vport_table *, uint32_t,
                                     struct ovs_vport *);
int
__wrap_vport_table_get_by_number(struct vport_table *table OVS_UNUSED,
                                 uint32_t port_no, struct ovs_vport *vport)
{
    assert_int_equal(port_no, PORT_NO);
    memset(vport, 0, sizeof *vport);
    vport->port_no = port_no;
    vport->ifindex = 77;
    vport->nsid = kernel.nsid;
    vport->type = kernel.type ? kernel.type : OVS_VPORT_TYPE_INTERNAL;
    ovs_strlcpy(vport->name, "p7", sizeof vport->name);
    return (kernel.get_error ? kernel.get_error
            : kernel.has_port ? 0 : ENODEV);
}

int __wrap_vport_table_get_by_name(struct vport_table *, const char *,
                                   struct ovs_vport *);
int
__wrap_vport_table_get_by_name(struct vport_table *table, const char *name,
                               struct ovs_vport *vport)
{
    assert_string_equal(name, "p7");
    return __wrap_vport_table_get_by_number(table, PORT_NO, vport);
}

int __wrap_netdev_linux_ethtool_set_flag(struct netdev *, uint32_t flag,
                                         const char *flag_name, bool enable);
int
__wrap_netdev_linux_ethtool_set_flag(struct netdev *netdev, uint32_t flag,
                                     const char *flag_name, bool enable)
{
    assert_int_equal(flag, 1 << 15);
    assert_string_equal(flag_name, "LRO");
    assert_false(enable);
    ovs_strlcpy(kernel.lro_off, netdev_get_name(netdev),
                sizeof kernel.lro_off);
    return EOPNOTSUPP;
}

/* Ports are added after upcalls have been turned on. */
int __wrap_vport_table_list(struct vport_table *, struct ovs_vport **,
                            size_t *);
int
__wrap_vport_table_list(struct vport_table *vports,
                        struct ovs_vport **vportsp, size_t *n)
{
    *vportsp = NULL;
    *n = 0;
    if (!kernel.list_error && kernel.has_port) {
        *vportsp = xzalloc(sizeof **vportsp);
        *n = 1;
        return __wrap_vport_table_get_by_number(vports, PORT_NO, *vportsp);
    }
    return kernel.list_error;
}

int __wrap_ovs_datapath_set_features(struct ovs_genl *, int, uint32_t,
                                     const uint32_t[], size_t,
                                     struct ovs_datapath *);
int
__wrap_ovs_datapath_set_features(struct ovs_genl *genl OVS_UNUSED,
                                 int ifindex OVS_UNUSED,
                                 uint32_t features OVS_UNUSED,
                                 const uint32_t pids[] OVS_UNUSED,
                                 size_t n_pids OVS_UNUSED,
                                 struct ovs_datapath *reply OVS_UNUSED)
{
    return 0;
}

void __wrap_vport_table_recheck(struct vport_table *, uint32_t);
void
__wrap_vport_table_recheck(struct vport_table *table OVS_UNUSED,
                           uint32_t port_no)
{
    assert_int_equal(port_no, PORT_NO);
    kernel.n_rechecks++;
}

void __wrap_vport_table_expire(struct vport_table *);
void
__wrap_vport_table_expire(struct vport_table *table OVS_UNUSED)
{
    told.expired++;
}

void __wrap_kdp_links_catch_up(void);
void
__wrap_kdp_links_catch_up(void)
{
    told.links++;
}

void __wrap_if_notifier_kdp_catch_up(void);
void
__wrap_if_notifier_kdp_catch_up(void)
{
    told.notifier++;
}

void __wrap_kdp_flow_offload_ports_changed(struct kdp_datapath *);
void
__wrap_kdp_flow_offload_ports_changed(struct kdp_datapath *dp OVS_UNUSED)
{
    told.offload_changed++;
}

void __wrap_kdp_flow_offload_port_del(struct kdp_datapath *, uint32_t);
void
__wrap_kdp_flow_offload_port_del(struct kdp_datapath *dp OVS_UNUSED,
                                 uint32_t port_no)
{
    assert_int_equal(port_no, PORT_NO);

    /* Rules go before the port does. */
    assert_int_equal(told.expired, 0);
    told.offload_del++;
}

void __wrap_kdp_flow_offload_was_port(struct kdp_datapath *, int ifindex);
void
__wrap_kdp_flow_offload_was_port(struct kdp_datapath *dp OVS_UNUSED,
                                 int ifindex)
{
    told.was_port = ifindex;
}

int
__wrap_dpif_netlink_rtnl_port_create(struct netdev *);
int
__wrap_dpif_netlink_rtnl_port_create(struct netdev *netdev OVS_UNUSED)
{
    if (!kernel.rtnl_error) {
        kernel.n_tunnels++;
    }
    return kernel.rtnl_error;
}

int __wrap_dpif_netlink_rtnl_port_destroy(const char *, const char *);
int
__wrap_dpif_netlink_rtnl_port_destroy(const char *name OVS_UNUSED,
                                      const char *type OVS_UNUSED)
{
    if (!kernel.n_tunnels) {
        return EOPNOTSUPP;
    }
    kernel.n_tunnels--;
    return 0;
}

/* The names of these two since 3.7. */
int __wrap_dpif_netlink_rtnl_tunnel_create(struct netdev *);
int
__wrap_dpif_netlink_rtnl_tunnel_create(struct netdev *netdev)
{
    return __wrap_dpif_netlink_rtnl_port_create(netdev);
}

int __wrap_dpif_netlink_rtnl_tunnel_destroy(const char *, const char *);
int
__wrap_dpif_netlink_rtnl_tunnel_destroy(const char *name, const char *type)
{
    return __wrap_dpif_netlink_rtnl_port_destroy(name, type);
}

bool __wrap_dpif_netlink_rtnl_probe_oot_tunnels(void);
bool
__wrap_dpif_netlink_rtnl_probe_oot_tunnels(void)
{
    return false;
}

/* There is no route to the other end of a tunnel. */
bool __wrap_ovs_router_lookup(uint32_t mark, const struct in6_addr *dst,
                              char output_bridge[], struct in6_addr *src,
                              struct in6_addr *gw);
bool
__wrap_ovs_router_lookup(uint32_t mark OVS_UNUSED,
                         const struct in6_addr *dst OVS_UNUSED,
                         char output_bridge[] OVS_UNUSED,
                         struct in6_addr *src OVS_UNUSED,
                         struct in6_addr *gw OVS_UNUSED)
{
    return false;
}

struct fixture {
    struct kdp_datapath dp;
    struct netdev *netdev;
    size_t n_fds;
};

static int
setup(void **state)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    static const struct genl_family family = {
        .id = UNIT_FAMILY, .mcgroup = 1,
    };
    struct fixture *f = xzalloc(sizeof *f);

    memset(&kernel, 0, sizeof kernel);
    memset(&told, 0, sizeof told);
    kernel.rtnl_error = EOPNOTSUPP;
    kernel.nsid = OVS_VPORT_LOCAL;
    unit_clock_stop(1000000);
    unit_plan_none();
    f->dp.name = "system@dp";
    f->dp.ifindex = UNIT_DP_IFINDEX;
    f->dp.upcalls = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    f->dp.vports = vport_table_create("dp", UNIT_DP_IFINDEX, &family);
    ovs_mutex_init(&f->dp.mutex);
    f->dp.genl.datapath = family;
    upcall_dests_create(&f->dp);
    socket_budget_create(&f->dp);
    upcall_queues_create(&f->dp);
    upcall_sync_create(&f->dp);
    dispatch_create(&f->dp);
    unit_check(!upcall_table_set_handlers(f->dp.upcalls, 2));
    unit_check(!dispatch_recv_set(&f->dp, true));
    unit_check(!netdev_open("lo", "system", &f->netdev));
    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    unit_plan_none();
    netdev_close(f->netdev);
    dispatch_destroy(&f->dp);
    upcall_sync_destroy(&f->dp);
    upcall_queues_destroy(&f->dp);
    socket_budget_destroy(&f->dp);
    upcall_dests_destroy(&f->dp);
    vport_table_destroy(f->dp.vports);
    upcall_table_destroy(f->dp.upcalls);
    ovs_mutex_destroy(&f->dp.mutex);
    unit_rcu_barrier();
    free(f);
    return 0;
}

static int
add(struct fixture *f)
{
    odp_port_t port_no = ODPP_NONE;
    int error;

    memset(&told, 0, sizeof told);
    error = ports_add(&f->dp, f->netdev, &port_no);
    assert_int_equal(odp_to_u32(port_no),
                     error ? odp_to_u32(ODPP_NONE) : PORT_NO);
    return error;
}

static int
del(struct fixture *f)
{
    memset(&told, 0, sizeof told);
    return ports_del(&f->dp, u32_to_odp(PORT_NO));
}

/* Asserts that nothing is there of a port, neither here nor in the kernel.  Of
 * the sockets only those of no port are left. */
static void
assert_nothing(struct fixture *f)
{
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 2);
    assert_int_equal(upcall_table_get_pid(f->dp.upcalls, PORT_NO), 0);
    assert_false(kernel.has_port);
    assert_int_equal(kernel.n_tunnels, 0);
}

/* Asserts that the port is there, and its upcalls are received. */
static void
assert_works(struct fixture *f)
{
    assert_int_equal(unit_count_fds(), f->n_fds + 1);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 3);
    assert_true(kernel.has_port);
    assert_true(kernel.pid != 0);
    assert_int_equal(upcall_table_get_pid(f->dp.upcalls, PORT_NO), kernel.pid);
}

/* A port that could not be added can be, once nothing is in the way. */
static void
assert_works_now(struct fixture *f)
{
    unit_plan_none();
    assert_int_equal(add(f), 0);
    assert_works(f);
    assert_int_equal(del(f), 0);
    assert_nothing(f);
}

static void
a_port_without_a_socket_is_not_added(void **state)
{
    static const enum unit_call calls[] = { UNIT_CALL_SOCKET, UNIT_CALL_BIND };

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        unit_plan_failures(calls[i], 1, 1, EPERM);
        assert_int_equal(add(*state), EPERM);
        assert_int_equal(unit_n_failed(), 1);
        assert_nothing(*state);
    }
    assert_int_equal(kernel.n_new, 0);
    assert_works_now(*state);
}

/* Before its socket is opened. */
static void
a_port_raises_the_limit_on_open_files(void **state)
{
    struct rlimit old, limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    limit = old;
    limit.rlim_cur = unit_count_fds() + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_works_now(*state);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(limit.rlim_cur > unit_count_fds() + 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/* Asserts that the port is there and shares. */
static void
assert_shares(struct fixture *f)
{
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 2);
    assert_true(kernel.has_port);
    assert_true(upcall_table_is_shared(f->dp.upcalls, PORT_NO));
    assert_true(kernel.pid != 0);
    assert_int_equal(kernel.pid, upcall_table_get_pid(f->dp.upcalls,
                                                      UPCALL_PORT_SHARED));
}

/* Lets the budget of sockets be balanced if it is time to. */
static void
run_budget(struct fixture *f)
{
    ovs_mutex_lock(&f->dp.mutex);
    socket_budget_run(&f->dp);
    ovs_mutex_unlock(&f->dp.mutex);
}

/* The same a second later, when it is. */
static void
balance(struct fixture *f)
{
    unit_clock_advance(1000);
    run_budget(f);
}

static void
a_port_shares_while_the_system_is_short_of_something(void **state)
{
    static const struct {
        enum unit_call which;
        int error;
    } failures[] = {
        { UNIT_CALL_SOCKET, EMFILE },
        { UNIT_CALL_SOCKET, ENFILE },
        { UNIT_CALL_SOCKET, ENOMEM },
        { UNIT_CALL_BIND, ENOMEM },
        { UNIT_CALL_EPOLL_CTL, ENOSPC },
        { UNIT_CALL_EPOLL_CTL, ENOMEM },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        unit_plan_failures(failures[i].which, 1, 1000, failures[i].error);
        assert_int_equal(add(f), 0);
        assert_int_equal(unit_n_failed(), 1);
        assert_shares(f);

        /* It is tried again, now and then, */
        for (int j = 0; j < 3; j++) {
            balance(f);
            assert_int_equal(unit_n_failed(), 2 + j);
            assert_shares(f);
        }

        /* until it works. */
        unit_plan_none();
        balance(f);
        assert_works(f);
        assert_false(upcall_table_is_shared(f->dp.upcalls, PORT_NO));
        assert_int_equal(del(f), 0);
        assert_nothing(f);
    }
}

/* The kernel says that there are ports PORT_NO to PORT_NO + 'n_own' +
 * 'n_shared' - 1.  The first 'n_own' get sockets of their own, the others
 * share one. */
static void
add_many(struct fixture *f, unsigned int n_own, unsigned int n_shared)
{
    kernel.has_port = true;
    ovs_mutex_lock(&f->dp.mutex);
    for (unsigned int i = 0; i < n_own + n_shared; i++) {
        struct ovs_vport vport = { .port_no = PORT_NO + i };

        snprintf(vport.name, sizeof vport.name, "p%u", PORT_NO + i);
        assert_int_equal(upcall_dest_sync(&f->dp, &vport, i < n_own), 0);
    }
    ovs_mutex_unlock(&f->dp.mutex);
    assert_int_equal(upcall_table_n_shared(f->dp.upcalls), n_shared);
}

static void
set_budget(struct fixture *f, size_t max)
{
    ovs_mutex_lock(&f->dp.mutex);
    assert_true(socket_budget_set_max(&f->dp, max));
    ovs_mutex_unlock(&f->dp.mutex);
}

/* If one port does not get its socket, others are not tried at once. */
static void
balancing_ends_when_a_port_gets_no_socket(void **state)
{
    struct fixture *f = *state;

    add_many(f, 0, 3);
    kernel.n_set_pids = 0;
    unit_plan_failures(UNIT_CALL_SOCKET, 1, 1000, EMFILE);
    for (unsigned int i = 1; i <= 3; i++) {
        balance(f);
        assert_int_equal(upcall_table_n_shared(f->dp.upcalls), 3);
        assert_int_equal(unit_n_failed(), i);
    }
    assert_int_equal(kernel.n_set_pids, 0);
    unit_plan_none();
    kernel.set_pid_error = ENOMEM;
    for (unsigned int i = 1; i <= 3; i++) {
        balance(f);
        assert_int_equal(upcall_table_n_shared(f->dp.upcalls), 3);
        assert_int_equal(kernel.n_set_pids, i);
    }
    kernel.set_pid_error = 0;
    balance(f);
    assert_int_equal(upcall_table_n_shared(f->dp.upcalls), 0);
    assert_int_equal(kernel.n_set_pids, 3 + 3);
}

/* U2: not a second later. */
static void
smaller_budget_is_kept_at_once(void **state)
{
    struct fixture *f = *state;

    add_many(f, 3, 0);
    for (int i = 0; i < 3; i++) {
        run_budget(f);
        assert_int_equal(upcall_table_n_shared(f->dp.upcalls), 0);
        set_budget(f, 1);
        run_budget(f);
        assert_int_equal(upcall_table_n_shared(f->dp.upcalls), 3);

        /* The next comparison is in a second. */
        set_budget(f, 100);
        run_budget(f);
        assert_int_equal(upcall_table_n_shared(f->dp.upcalls), 3);
        balance(f);
    }
}

/* Counts 'n' upcalls of port 'port_no', which shares. */
static void
count_upcalls(struct fixture *f, uint32_t port_no, unsigned int n)
{
    struct upcall_view view = { .type = UPCALL_MISS };
    struct ofpbuf key;

    ofpbuf_init(&key, 0);
    nl_msg_put_u32(&key, OVS_KEY_ATTR_IN_PORT, port_no);
    view.key = key.data;
    view.key_len = key.size;
    for (unsigned int i = 0; i < n; i++) {
        upcall_ports_count_shared(f->dp.upcalls, &view);
    }
    ofpbuf_uninit(&key);
}

/* Sockets of ports that had to share last until they are drained.  All of them
 * together keep within the budget (U2). */
static void
ports_change_places_within_the_budget(void **state)
{
    /* Two sockets belong to no port, and two are kept for changes. */
    enum { MAX = 16, N_OWN = MAX - 2 - 2, N_NOISY = 8 };
    struct fixture *f = *state;

    set_budget(f, MAX);
    add_many(f, N_OWN, N_NOISY);
    balance(f);
    assert_int_equal(upcall_table_n_shared(f->dp.upcalls), N_NOISY);
    for (uint32_t i = 0; i < N_NOISY; i++) {
        count_upcalls(f, PORT_NO + N_OWN + i, 100);
    }
    kernel.n_set_pids = 0;
    balance(f);

    /* Each change takes a request for each of the two. */
    assert_int_equal(upcall_table_n_shared(f->dp.upcalls), N_NOISY);
    assert_int_equal(kernel.n_set_pids, 2 * 3);
    assert_true(upcall_table_n_channels(f->dp.upcalls) <= MAX + 1);
}

/* A turn of the main loop. */
static void
turn(struct fixture *f)
{
    ovs_mutex_lock(&f->dp.mutex);
    upcall_dest_run(&f->dp);
    ovs_mutex_unlock(&f->dp.mutex);
}

/* Receives with all handlers, until there is nothing.  Returns the number of
 * upcalls, which must be in order from 'first' on. */
static unsigned int
receive(struct fixture *f, uint64_t first)
{
    unsigned int n = 0;

    for (int i = 0; i < 3; i++) {
        for (uint32_t h = 0; h < 2; h++) {
            struct upcall_view view;

            while (!upcall_table_recv(f->dp.upcalls, h, &view)) {
                assert_int_equal(unit_view_seq(&view), first + n);
                n++;
            }
        }
    }
    return n;
}

/* A port that has little more than another one does not get its socket, or
 * they would change places all the time. */
static void
a_port_that_is_much_noisier_gets_the_socket_of_another(void **state)
{
    /* More than twice the upcalls, and 50 more. */
    static const struct {
        unsigned int n_own, n_shared;
    } seconds[] = {
        { 0, 0 }, { 0, 50 }, { 10, 70 }, { 100, 250 }, { 100, 99 },
        { 100, 251 },
    };
    struct fixture *f = *state;
    int sender = unit_sender_open();
    unsigned int n = 0;

    /* Two sockets belong to no port, and one is kept for changes. */
    set_budget(f, 4);
    add_many(f, 1, 1);
    turn(f);
    turn(f);
    balance(f);
    for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
        bool last = i == ARRAY_SIZE(seconds) - 1;

        for (unsigned int j = 0; j < seconds[i].n_own; j++) {
            unit_send_upcall(sender, kernel.pid, n + j);
        }
        assert_int_equal(receive(f, n), seconds[i].n_own);
        n += seconds[i].n_own;
        count_upcalls(f, PORT_NO + 1, seconds[i].n_shared);
        balance(f);
        assert_int_equal(upcall_table_n_shared(f->dp.upcalls), 1);
        assert_int_equal(upcall_table_is_shared(f->dp.upcalls, PORT_NO),
                         last);
        assert_int_equal(upcall_table_is_shared(f->dp.upcalls, PORT_NO + 1),
                         !last);
    }
    close(sender);
}

static void
upcalls_of_a_new_port_wait_for_the_bridge(void **state)
{
    struct fixture *f = *state;
    int sender = unit_sender_open();

    f->n_fds++;
    assert_int_equal(add(f), 0);
    for (int i = 0; i < 3; i++) {
        unit_send_upcall(sender, kernel.pid, i);
        if (i < 2) {
            assert_int_equal(receive(f, 0), 0);
            turn(f);
        }
    }
    assert_int_equal(receive(f, 0), 3);
    unit_send_upcall(sender, kernel.pid, 3);
    assert_int_equal(receive(f, 3), 1);

    /* Other handlers hold back, too, and hand out what came before. */
    assert_int_equal(del(f), 0);
    assert_int_equal(add(f), 0);
    unit_send_upcall(sender, kernel.pid, 0);
    assert_int_equal(upcall_table_set_handlers(f->dp.upcalls, 3), 0);
    assert_int_equal(receive(f, 0), 0);
    turn(f);
    assert_int_equal(receive(f, 0), 0);
    turn(f);
    assert_int_equal(receive(f, 0), 1);
    assert_int_equal(del(f), 0);
    close(sender);
}

static void
a_port_that_cannot_be_told_to_share_is_not_added(void **state)
{
    unit_plan_failures(UNIT_CALL_EPOLL_CTL, 1, 1, ENOSPC);
    kernel.set_pid_error = ENOMEM;
    assert_int_equal(add(*state), ENOSPC);
    assert_int_equal(kernel.n_new, 1);
    assert_int_equal(kernel.n_del, 1);
    assert_nothing(*state);
    kernel.set_pid_error = 0;
    assert_works_now(*state);
}

static void
a_port_that_the_kernel_refuses_leaves_no_socket(void **state)
{
    kernel.new_error = ENOMEM;
    assert_int_equal(add(*state), ENOMEM);
    assert_int_equal(kernel.n_new, 1);
    assert_int_equal(kernel.n_del, 0);
    assert_nothing(*state);
    kernel.new_error = 0;
    assert_works_now(*state);
}

/* The number of sockets was not the reason. */
static void
a_port_that_is_refused_with_any_number_of_sockets_reduces_none(void **state)
{
    struct fixture *f = *state;

    ovs_mutex_lock(&f->dp.mutex);
    upcall_queues_set(&f->dp, 2);
    ovs_mutex_unlock(&f->dp.mutex);
    kernel.new_error = EINVAL;
    assert_int_equal(add(f), EINVAL);
    assert_int_equal(kernel.n_new, 2);
    assert_int_equal(kernel.n_pids, 1);
    assert_nothing(f);

    kernel.new_error = 0;
    assert_int_equal(add(f), 0);
    assert_int_equal(kernel.n_pids, 2);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 4);
    assert_int_equal(del(f), 0);
    assert_nothing(f);
}

static void
a_port_that_no_handler_gets_is_taken_back(void **state)
{
    unit_plan_failures(UNIT_CALL_EPOLL_CTL, 1, 1, EPERM);
    assert_int_equal(add(*state), EPERM);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(kernel.n_del, 1);
    assert_nothing(*state);
    assert_works_now(*state);
}

/* The device goes, and the port is tried again as a vport, with other
 * sockets. */
static void
a_tunnel_that_no_handler_gets_is_added_as_a_vport(void **state)
{
    struct fixture *f = *state;

    kernel.rtnl_error = 0;
    unit_plan_failures(UNIT_CALL_EPOLL_CTL, 1, 1, EPERM);
    assert_int_equal(add(f), 0);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(kernel.n_new, 2);
    assert_int_equal(kernel.n_del, 1);
    assert_int_equal(kernel.n_tunnels, 0);
    unit_rcu_barrier();
    assert_works(f);
    assert_int_equal(del(f), 0);
    assert_nothing(f);

    /* Both attempts fail. */
    unit_plan_failures(UNIT_CALL_EPOLL_CTL, 1, 2, EPERM);
    assert_int_equal(add(f), EPERM);
    assert_int_equal(unit_n_failed(), 2);
    assert_nothing(f);

    /* The port cannot share at first. */
    unit_plan_failures(UNIT_CALL_EPOLL_CTL, 1, 1, ENOSPC);
    kernel.set_pid_error = ENOMEM;
    assert_int_equal(add(f), 0);
    assert_int_equal(kernel.n_tunnels, 0);
    unit_rcu_barrier();
    assert_works(f);
    assert_int_equal(del(f), 0);
    assert_nothing(f);
}

/* The kernel refuses two sockets and one for the device, and then for the
 * vport. */
static void
a_tunnel_that_is_refused_is_tried_with_all_sockets_again(void **state)
{
    struct fixture *f = *state;

    ovs_mutex_lock(&f->dp.mutex);
    upcall_queues_set(&f->dp, 2);
    ovs_mutex_unlock(&f->dp.mutex);
    kernel.rtnl_error = 0;
    kernel.new_error = EINVAL;
    assert_int_equal(add(f), EINVAL);
    assert_int_equal(kernel.n_new, 4);
    assert_nothing(f);
}

/* The port is tried as a tunnel that is a device, and then as a vport. */
static void
the_device_of_a_tunnel_goes_if_its_port_is_refused(void **state)
{
    kernel.rtnl_error = 0;
    kernel.new_error = ENOMEM;
    assert_int_equal(add(*state), ENOMEM);
    assert_int_equal(kernel.n_new, 2);
    assert_nothing(*state);

    kernel.new_error = 0;
    assert_int_equal(add(*state), 0);
    assert_int_equal(kernel.n_tunnels, 1);
    assert_works(*state);
    assert_int_equal(del(*state), 0);
    assert_nothing(*state);

    /* One that cannot be made as a device. */
    kernel.rtnl_error = EPERM;
    assert_works_now(*state);
}

static void
a_port_of_an_unknown_type_is_not_added(void **state)
{
    struct fixture *f = *state;
    struct netdev *lo = f->netdev;

    assert_int_equal(netdev_open("unknown", "dummy", &f->netdev), 0);
    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    assert_int_equal(add(f), EINVAL);
    assert_int_equal(kernel.n_new, 0);
    assert_nothing(f);
    netdev_close(f->netdev);
    f->netdev = lo;
}

/* The kernel still sends upcalls of a port that it did not delete. */
static void
a_port_that_cannot_be_deleted_keeps_its_socket(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(add(f), 0);
    kernel.get_error = ENOBUFS;
    assert_int_equal(del(f), ENOBUFS);
    assert_int_equal(kernel.n_del, 0);
    assert_works(f);
    kernel.get_error = 0;
    kernel.del_error = ENOMEM;
    assert_int_equal(del(f), ENOMEM);
    assert_int_equal(kernel.n_del, 1);
    assert_works(f);
    assert_int_equal(kernel.n_rechecks, 0);

    /* One that went meanwhile has no use for it.  The table may not have been
     * told that it did. */
    kernel.del_error = ENODEV;
    assert_int_equal(del(f), ENODEV);
    assert_int_equal(kernel.n_rechecks, 1);
    kernel.has_port = false;
    assert_nothing(f);

    /* Or went before. */
    kernel.del_error = 0;
    assert_int_equal(add(f), 0);
    kernel.has_port = false;
    assert_int_equal(del(f), ENODEV);
    assert_nothing(f);
}

/* Packets merged on reception could not be forwarded.  A device that cannot
 * turn that off is added all the same. */
static void
large_receive_offload_of_a_device_is_turned_off(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(add(f), 0);
    assert_string_equal(kernel.lro_off, "lo");
    assert_int_equal(del(f), 0);

    /* The device of a tunnel has none. */
    kernel.lro_off[0] = '\0';
    kernel.rtnl_error = 0;
    assert_int_equal(add(f), 0);
    assert_string_equal(kernel.lro_off, "");
    assert_int_equal(del(f), 0);
}

/* Checks how often others heard of the last port that was added or deleted. */
static void
check_told(unsigned int expired, unsigned int links, unsigned int notifier,
           unsigned int offload_changed, unsigned int offload_del,
           int was_port)
{
    assert_int_equal(told.expired, expired);
    assert_int_equal(told.links, links);
    assert_int_equal(told.notifier, notifier);
    assert_int_equal(told.offload_changed, offload_changed);
    assert_int_equal(told.offload_del, offload_del);
    assert_int_equal(told.was_port, was_port);
}

/* The kernel's announcements come later than the next question. */
static void
changes_are_looked_for_at_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(add(f), 0);
    check_told(1, 1, 0, 1, 0, 0);
    assert_int_equal(del(f), 0);
    check_told(1, 0, 1, 0, 1, 77);

    /* Something may have changed before it failed. */
    kernel.new_error = ENOMEM;
    assert_int_equal(add(f), ENOMEM);
    check_told(1, 1, 0, 1, 0, 0);
    kernel.new_error = 0;

    /* A device in another namespace has rules of others. */
    assert_int_equal(add(f), 0);
    kernel.nsid = 5;
    assert_int_equal(del(f), 0);
    check_told(1, 0, 1, 0, 1, 0);
    kernel.nsid = OVS_VPORT_LOCAL;

    /* A port that is not there, and ports that may be. */
    assert_int_equal(del(f), ENODEV);
    check_told(0, 0, 0, 0, 1, 0);
    assert_int_equal(add(f), 0);
    kernel.get_error = ENOBUFS;
    assert_int_equal(del(f), ENOBUFS);
    check_told(0, 0, 0, 0, 0, 0);
    kernel.get_error = 0;
    kernel.del_error = ENOMEM;
    assert_int_equal(del(f), ENOMEM);
    check_told(1, 0, 1, 0, 1, 0);
    kernel.del_error = ENODEV;
    assert_int_equal(del(f), ENODEV);
    check_told(1, 0, 1, 0, 1, 77);
    kernel.has_port = false;
}

/* Adds 'name' of 'type' with 'args', pairs of keys and values up to NULL, as a
 * vport of its own type. */
static void
add_vport(struct fixture *f, const char *name, const char *type,
          const char *const args[])
{
    struct smap config = SMAP_INITIALIZER(&config);
    struct netdev *lo = f->netdev;
    char *error = NULL;

    assert_int_equal(netdev_open(name, type, &f->netdev), 0);
    for (; *args; args += 2) {
        smap_add(&config, args[0], args[1]);
    }
    assert_int_equal(netdev_set_config(f->netdev, &config, &error), 0);
    assert_null(error);
    smap_destroy(&config);
    assert_int_equal(add(f), 0);
    assert_int_equal(kernel.requested.port_no, odp_to_u32(ODPP_NONE));
    netdev_close(f->netdev);
    f->netdev = lo;
    assert_int_equal(del(f), 0);
}

/* Without a device of its own, the kernel has to be told all of a tunnel. */
static void
options_of_a_tunnel_go_to_the_kernel(void **state)
{
    static const char *const vxlan[] = {
        "remote_ip", "192.0.2.1", "dst_port", "4790", "exts", "gbp", NULL,
    };
    static const char *const geneve[] = { "remote_ip", "192.0.2.1", NULL };
    const struct nlattr *options = (const struct nlattr *) kernel.options;
    const struct nlattr *a;

    add_vport(*state, "vx", "vxlan", vxlan);
    assert_string_equal(kernel.requested.name, "vxlan_sys_4790");
    assert_int_equal(kernel.requested.type, OVS_VPORT_TYPE_VXLAN);
    a = nl_attr_find__(options, kernel.options_len, OVS_TUNNEL_ATTR_DST_PORT);
    assert_non_null(a);
    assert_int_equal(nl_attr_get_u16(a), 4790);
    a = nl_attr_find__(options, kernel.options_len,
                       OVS_TUNNEL_ATTR_EXTENSION);
    assert_non_null(a);
    assert_int_equal(nl_attr_get_size(a), NLA_HDRLEN);
    a = nl_attr_get(a);
    assert_int_equal(nl_attr_type(a), OVS_VXLAN_EXT_GBP);
    assert_int_equal(nl_attr_get_size(a), 0);

    /* Port 6081 is the default. */
    add_vport(*state, "ge", "geneve", geneve);
    assert_string_equal(kernel.requested.name, "genev_sys_6081");
    assert_int_equal(kernel.requested.type, OVS_VPORT_TYPE_GENEVE);
    assert_int_equal(kernel.options_len, NLA_HDRLEN + NLA_ALIGN(2));
    assert_int_equal(nl_attr_type(options), OVS_TUNNEL_ATTR_DST_PORT);
    assert_int_equal(nl_attr_get_u16(options), 6081);
}

static void
a_number_that_is_in_use_is_named(void **state)
{
    odp_port_t port_no = u32_to_odp(5);
    struct fixture *f = *state;
    char buf[1024] = "";
    int fd = unit_log_open();

    kernel.new_error = EBUSY;
    assert_int_equal(ports_add(&f->dp, f->netdev, &port_no), EBUSY);
    assert_int_equal(odp_to_u32(port_no), 5);
    assert_int_equal(kernel.requested.port_no, 5);
    assert_true(pread(fd, buf, sizeof buf - 1, 0) > 0);
    assert_non_null(strstr(buf, "system@dp: requested port 5 is in use\n"));

    /* Nobody asked for a number. */
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(add(f), EBUSY);
    assert_int_equal(pread(fd, buf, sizeof buf, 0), 0);

    kernel.new_error = 0;
    assert_int_equal(ports_add(&f->dp, f->netdev, &port_no), 0);
    assert_int_equal(kernel.requested.port_no, 5);
    assert_int_equal(odp_to_u32(port_no), PORT_NO);
    assert_string_equal(kernel.requested.name, "lo");
    assert_int_equal(kernel.requested.type, OVS_VPORT_TYPE_NETDEV);
    assert_int_equal(kernel.options_len, 0);
    assert_int_equal(del(f), 0);
}

static int
query(struct fixture *f, bool by_name, struct dpif_port *port)
{
    return (by_name ? ports_query_by_name(&f->dp, "p7", port)
            : ports_query_by_number(&f->dp, u32_to_odp(PORT_NO), port));
}

/* With 'port' NULL, too: the caller only wants to know whether it is there. */
static void
a_question_about_a_port_has_the_answer_of_the_table(void **state)
{
    struct fixture *f = *state;

    for (int by_name = 0; by_name < 2; by_name++) {
        struct dpif_port port = { .name = NULL };

        assert_int_equal(query(f, by_name, &port), ENODEV);
        assert_int_equal(query(f, by_name, NULL), ENODEV);
        kernel.get_error = ENOBUFS;
        assert_int_equal(query(f, by_name, &port), ENOBUFS);
        kernel.get_error = 0;
        assert_null(port.name);

        kernel.has_port = true;
        assert_int_equal(query(f, by_name, NULL), 0);
        assert_int_equal(query(f, by_name, &port), 0);
        assert_string_equal(port.name, "p7");
        assert_string_equal(port.type, "internal");
        assert_int_equal(odp_to_u32(port.port_no), PORT_NO);
        dpif_port_destroy(&port);
        kernel.has_port = false;
    }
}

static void
types_of_ports_are_those_of_netdevs(void **state)
{
    static const struct {
        enum ovs_vport_type type;
        const char *name;
    } types[] = {
        { OVS_VPORT_TYPE_NETDEV, "system" },
        { OVS_VPORT_TYPE_INTERNAL, "internal" },
        { OVS_VPORT_TYPE_GRE, "gre" },
        { OVS_VPORT_TYPE_VXLAN, "vxlan" },
        { OVS_VPORT_TYPE_GENEVE, "geneve" },
        { OVS_VPORT_TYPE_ERSPAN, "erspan" },
        { 12345, "unknown" },
    };
    struct dpif_port port;

    kernel.has_port = true;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        kernel.type = types[i].type;
        assert_int_equal(query(*state, false, &port), 0);
        assert_string_equal(port.type, types[i].name);
        dpif_port_destroy(&port);
    }
    kernel.has_port = false;
}

static void
a_dump_has_all_ports_or_says_that_it_failed(void **state)
{
    struct fixture *f = *state;
    struct ports_dump *dump;
    struct dpif_port port;

    kernel.has_port = true;
    dump = ports_dump_start(&f->dp);
    assert_int_equal(ports_dump_next(dump, &port), 0);
    assert_string_equal(port.name, "p7");
    assert_string_equal(port.type, "internal");
    assert_int_equal(odp_to_u32(port.port_no), PORT_NO);
    assert_int_equal(ports_dump_next(dump, &port), EOF);
    assert_int_equal(ports_dump_next(dump, &port), EOF);
    assert_int_equal(ports_dump_done(dump), 0);

    kernel.list_error = ENOBUFS;
    dump = ports_dump_start(&f->dp);
    assert_int_equal(ports_dump_next(dump, &port), EOF);
    assert_int_equal(ports_dump_done(dump), ENOBUFS);
    kernel.has_port = false;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(a_port_without_a_socket_is_not_added),
        TEST(a_port_raises_the_limit_on_open_files),
        TEST(a_port_shares_while_the_system_is_short_of_something),
        TEST(balancing_ends_when_a_port_gets_no_socket),
        TEST(smaller_budget_is_kept_at_once),
        TEST(ports_change_places_within_the_budget),
        TEST(a_port_that_is_much_noisier_gets_the_socket_of_another),
        TEST(upcalls_of_a_new_port_wait_for_the_bridge),
        TEST(a_port_that_cannot_be_told_to_share_is_not_added),
        TEST(a_port_that_the_kernel_refuses_leaves_no_socket),
        TEST(a_port_that_is_refused_with_any_number_of_sockets_reduces_none),
        TEST(a_port_that_no_handler_gets_is_taken_back),
        TEST(a_tunnel_that_no_handler_gets_is_added_as_a_vport),
        TEST(a_tunnel_that_is_refused_is_tried_with_all_sockets_again),
        TEST(the_device_of_a_tunnel_goes_if_its_port_is_refused),
        TEST(a_port_of_an_unknown_type_is_not_added),
        TEST(a_port_that_cannot_be_deleted_keeps_its_socket),
        TEST(large_receive_offload_of_a_device_is_turned_off),
        TEST(changes_are_looked_for_at_once),
        TEST(options_of_a_tunnel_go_to_the_kernel),
        TEST(a_number_that_is_in_use_is_named),
        TEST(a_question_about_a_port_has_the_answer_of_the_table),
        TEST(types_of_ports_are_those_of_netdevs),
        TEST(a_dump_has_all_ports_or_says_that_it_failed),
    };

    unit_init(argv[0]);
    netdev_linux_kdp_init(true);
    netdev_dummy_register(DUMMY_OVERRIDE_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
