/* SPDX-License-Identifier: Apache-2.0 */

/* The daemon: Open vSwitch's bridge on the providers of this project.
 *
 * Options, exit codes, files and control commands are the same as in the stock
 * ovs-vswitchd, because scripts and other daemons rely on them. */

#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "command-line.h"
#include "daemon.h"
#include "dirs.h"
#include "dns-resolve.h"
#include "dpif-netlink/dpif-netlink-kdp.h"
#include "dpif.h"
#include "dummy.h"
#include "fatal-signal.h"
#include "handover.h"
#include "netdev-linux/links.h"
#include "netdev-linux/links-show.h"
#include "kdp-version.h"
#include "memory.h"
#include "netdev-linux/netdev-check.h"
#include "netdev-linux/netdev-linux-kdp.h"
#include "netdev-linux/rtnl-worker.h"
#include "netdev.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/usdt-probes.h"
#include "openvswitch/vlog.h"
#include "ovs-numa.h"
#include "ovs-rcu.h"
#include "ovs-router.h"
#include "ovs-thread.h"
#include "ovs/compat-daemon.h"
#include "port-types.h"
#include "recirc-ids.h"
#include "restart-hold.h"
#include "netdev-linux/route-table-kdp.h"
#include "simap.h"
#include "stream-ssl.h"
#include "stream.h"
#include "unixctl.h"
#include "unixctl/findings.h"
#include "upcall/upcall-store.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(vswitchd);

/* Options from the command line. */
struct vswitchd_options {
    char *database;             /* OVSDB remote; owned. */
    const char *unixctl_path;   /* NULL for the default. */
    bool mlockall;
    bool monitor;
    bool disable_system;
    bool disable_system_route;
    bool enable_dummy;
    const char *dummy_level;    /* NULL for the default. */
    bool stock_providers;
    bool hw_rawio_access;       /* See ovs_compat_daemonize_start(). */
    struct handover_options handover;
};

/* Requests of "exit" commands. */
struct vswitchd_exit {
    bool exiting;
    bool cleanup;
    struct unixctl_conn **conns;        /* Connections that wait for the
                                         * exit. */
    size_t n_conns;
    size_t allocated_conns;
};

OVS_NO_RETURN static void
usage(void)
{
    printf("%s: Open vSwitch daemon of ovs-kdp\n"
           "usage: %s [OPTIONS] [DATABASE]\n"
           "where DATABASE is a socket on which ovsdb-server is listening\n"
           "      (default: \"unix:%s/db.sock\").\n",
           program_name, program_name, ovs_rundir());
    stream_usage("DATABASE", true, false, true);
    daemon_usage();
    vlog_usage();
    printf("\nOther options:\n"
           "  --stock-providers         run on Open vSwitch's own providers\n"
           "                            instead of those of ovs-kdp\n"
           "  --mlockall                lock all memory into RAM\n"
           "  --disable-system          do not use the kernel datapath\n"
           "  --disable-system-route    do not read the system's routes\n"
           "%s"
           "  --unixctl=SOCKET          override default control socket name\n"
           "  -h, --help                display this help message\n"
           "  -V, --version             display version information\n",
           OVS_HAVE_RAWIO
           ? "  --hw-rawio-access         has no effect: for drivers of DPDK\n"
           : "");
    exit(EXIT_SUCCESS);
}

/* The text of --version and of the control command "version": the linker
 * redirects the library's calls to this function (--wrap).  Scripts read the
 * version of Open vSwitch from the first line, or from the line with this
 * name.  So the first line is the same as the stock daemon's, and no other
 * line has the name. */
const char *__wrap_ovs_get_program_version(void);

const char *
__wrap_ovs_get_program_version(void)
{
    static char text[256];

    snprintf(text, sizeof text, "%s (Open vSwitch) %s\n"
             "ovs-kdp %s\nbuilt from %s\n", program_name, kdp_ovs_version(),
             kdp_version(), kdp_ovs_revision());
    return text;
}

/* Open vSwitch calls this after it has applied the first configuration: the
 * linker redirects this call, too (--wrap). */
void __wrap_daemonize_complete(void);
void __real_daemonize_complete(void);

void
__wrap_daemonize_complete(void)
{
    __real_daemonize_complete();
    dpif_netlink_kdp_configured();
    handover_configured();
}

OVS_NO_RETURN static void
print_version(void)
{
    fputs(__wrap_ovs_get_program_version(), stdout);
    exit(EXIT_SUCCESS);
}

enum {
    OPT_PEER_CA_CERT = UCHAR_MAX + 1,
    OPT_MLOCKALL,
    OPT_UNIXCTL,
    VLOG_OPTION_ENUMS,
    OPT_BOOTSTRAP_CA_CERT,
    OPT_ENABLE_DUMMY,
    OPT_DISABLE_SYSTEM,
    OPT_DISABLE_SYSTEM_ROUTE,
    DAEMON_OPTION_ENUMS,
    OPT_DPDK,
    SSL_OPTION_ENUMS,
    OPT_DUMMY_NUMA,
    OPT_STOCK_PROVIDERS,
    OPT_HW_RAWIO_ACCESS,
    OPT_HANDOVER,
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {"mlockall", no_argument, NULL, OPT_MLOCKALL},
    {"unixctl", required_argument, NULL, OPT_UNIXCTL},
    DAEMON_LONG_OPTIONS,
    VLOG_LONG_OPTIONS,
    STREAM_SSL_LONG_OPTIONS,
    {"peer-ca-cert", required_argument, NULL, OPT_PEER_CA_CERT},
    {"bootstrap-ca-cert", required_argument, NULL, OPT_BOOTSTRAP_CA_CERT},
    {"enable-dummy", optional_argument, NULL, OPT_ENABLE_DUMMY},
    {"disable-system", no_argument, NULL, OPT_DISABLE_SYSTEM},
    {"disable-system-route", no_argument, NULL, OPT_DISABLE_SYSTEM_ROUTE},
    {"dpdk", optional_argument, NULL, OPT_DPDK},
    {"dummy-numa", required_argument, NULL, OPT_DUMMY_NUMA},
    {"stock-providers", no_argument, NULL, OPT_STOCK_PROVIDERS},
    {"handover", required_argument, NULL, OPT_HANDOVER},
    OVS_COMPAT_RAWIO_OPTION(OPT_HW_RAWIO_ACCESS)
    {NULL, 0, NULL, 0},
};

/* Carries out option 'c' as returned by getopt_long(). */
static void
parse_option(int c, struct vswitchd_options *options)
{
    switch (c) {
    case 'h':
        usage();
    case 'V':
        print_version();

    case OPT_MLOCKALL:
        options->mlockall = true;
        break;
    case OPT_UNIXCTL:
        options->unixctl_path = optarg;
        break;
    case OPT_STOCK_PROVIDERS:
        options->stock_providers = true;
        break;
    case OPT_HW_RAWIO_ACCESS:
        options->hw_rawio_access = true;
        break;
    case OPT_HANDOVER:
        options->handover.fd = atoi(optarg);
        break;

    VLOG_OPTION_HANDLERS
    DAEMON_OPTION_HANDLERS
    STREAM_SSL_OPTION_HANDLERS

    case OPT_PEER_CA_CERT:
        stream_ssl_set_peer_ca_cert_file(optarg);
        break;
    case OPT_BOOTSTRAP_CA_CERT:
        stream_ssl_set_ca_cert_file(optarg, true);
        break;
    case OPT_ENABLE_DUMMY:
        options->enable_dummy = true;
        options->dummy_level = optarg;
        break;
    case OPT_DISABLE_SYSTEM:
        options->disable_system = true;
        break;
    case OPT_DISABLE_SYSTEM_ROUTE:
        options->disable_system_route = true;
        ovs_router_disable_system_routing_table();
        break;
    case OPT_DUMMY_NUMA:
        ovs_numa_set_dummy(optarg);
        break;
    case OPT_DPDK:
        ovs_fatal(0, "--dpdk is no option of this daemon; DPDK is "
                  "configured through the database");
    case '?':
        exit(EXIT_FAILURE);
    default:
        OVS_NOT_REACHED();
    }
}

/* Adds option 'c', with long name 'name' unless it is a short option, to the
 * command line of the next daemon.  The next daemon is in the background
 * already. */
static void
add_for_next(int c, const char *name, struct handover_options *handover)
{
    switch (c) {
    case OPT_DETACH:
    case OPT_OVERWRITE_PIDFILE:
    case OPT_HANDOVER:
        return;
    case OPT_MONITOR:
        handover->refusal = "the daemon runs under --monitor";
        return;
    case OPT_UNIXCTL:
        handover->refusal = "the daemon has --unixctl";
        return;
    case OPT_USER_GROUP:
        handover->refusal = "the daemon has --user";
        return;
    case OPT_PIDFILE:
        handover->pidfile = true;
        handover->pidfile_name = optarg;
        break;
    }
    if (!name) {
        svec_add_nocopy(&handover->args, xasprintf("-%c%s", c,
                                                   optarg ? optarg : ""));
    } else {
        svec_add_nocopy(&handover->args, xasprintf("--%s%s%s", name,
                                                   optarg ? "=" : "",
                                                   optarg ? optarg : ""));
    }
}

static void
parse_options(int argc, char *argv[], struct vswitchd_options *options)
{
    char *short_options = ovs_cmdl_long_options_to_short_options(long_options);
    struct handover_options *handover = &options->handover;
    int c, index = -1;

    memset(options, 0, sizeof *options);
    handover->fd = -1;
    svec_init(&handover->args);
    svec_add(&handover->args, "");      /* The program name. */
    svec_add(&handover->args, "--handover=" OVS_STRINGIZE(HANDOVER_FD));
    while ((c = getopt_long(argc, argv, short_options, long_options,
                            &index)) != -1) {
        options->monitor |= c == OPT_MONITOR;
        add_for_next(c, index >= 0 ? long_options[index].name : NULL,
                     handover);
        index = -1;
        /* The new daemon writes its pidfile when it serves. */
        if (c != OPT_PIDFILE || handover->fd < 0) {
            parse_option(c, options);
        }
    }
    free(short_options);

    if (argc - optind > 1) {
        VLOG_FATAL("at most one non-option argument accepted; "
                   "use --help for usage");
    }
    options->database = (optind < argc ? xstrdup(argv[optind])
                         : xasprintf("unix:%s/db.sock", ovs_rundir()));
    svec_add(&handover->args, options->database);
}

/* The linker redirects the bridge's calls to this function (--wrap).  The
 * bridge calls it at each configuration. */
void __wrap_ofproto_set_threads(int n_handlers, int n_revalidators);
void __real_ofproto_set_threads(int n_handlers, int n_revalidators);

void
__wrap_ofproto_set_threads(int n_handlers, int n_revalidators)
{
    __real_ofproto_set_threads(dpif_netlink_kdp_limit_handlers(n_handlers),
                               n_revalidators);
}

/* The linker redirects requests to drivers to this function (--wrap),
 * including the library's.
 *
 * A device may disappear while a thread waits for the kernel's lock to query
 * the device's driver.  Open vSwitch would warn of that although it needs no
 * attention.  Open vSwitch does not warn of a driver that does not support the
 * request. */
int __wrap_af_inet_ioctl(unsigned long int command, const void *arg);
int __real_af_inet_ioctl(unsigned long int command, const void *arg);

int
__wrap_af_inet_ioctl(unsigned long int command, const void *arg)
{
    int error = __real_af_inet_ioctl(command, arg);

    return error == ENODEV && rtnl_worker_is_self() ? EOPNOTSUPP : error;
}

/* Registers the providers.  To be called before anything requests a network
 * device or a datapath from Open vSwitch. */
static void
init_providers(const struct vswitchd_options *options)
{
    int error;

    if (!options->stock_providers && !options->disable_system
        && netdev_kdp_check()) {
        error = kdp_links_init();
        if (error) {
            VLOG_WARN("listening to events of links failed (%s); the kernel "
                      "is asked for the state of devices each time",
                      ovs_strerror(error));
        }
    }
    kdp_links_show_register();
    kdp_links_diagnose_register();
    findings_register_command();
    netdev_linux_kdp_init(options->stock_providers);
    if (!options->disable_system_route) {
        route_table_kdp_register();
    }
    if (options->disable_system) {
        dp_disallow_provider("system");
    }
    if (options->enable_dummy) {
        dummy_enable(options->dummy_level);
    }
    if (options->stock_providers) {
        VLOG_INFO("ovs-kdp %s: running on the stock providers of Open vSwitch",
                  kdp_version());
    } else if (!options->disable_system) {
        static bool by_signal = true;

        error = dpif_netlink_kdp_register();
        if (error) {
            VLOG_FATAL("registering the provider of kernel datapaths failed "
                       "(%s)", ovs_strerror(error));
        }
        port_types_init();
        restart_hold_init();
        recirc_ids_init();
        error = netdev_kdp_check_device();
        if (error) {
            VLOG_FATAL("Open vSwitch %s (%s), as this program was built with "
                       "it, does not take network devices of ovs-kdp for its "
                       "own (%s)", kdp_ovs_version(), kdp_ovs_revision(),
                       ovs_strerror(error));
        }
        fatal_signal_add_hook(dpif_netlink_kdp_leave_upcalls, NULL,
                              &by_signal, false);
        return;
    }
    upcall_store_end();         /* Nothing here can read the sockets. */
}

/* Size in bytes from which a block of memory is not part of the heap:
 * malloc()'s initial value.  And free bytes that the heap keeps at its end:
 * twice that, which is malloc()'s own rule. */
#define LARGE_BLOCK (128 * 1024)
#define HEAP_SPARE (2 * LARGE_BLOCK)

/* Returns large blocks of memory to the kernel when they are freed.
 *
 * The first configuration of many ports, and the first report of their
 * statistics, need temporary blocks of more than 1 MB for texts and tables.
 * Once such a block was freed, malloc() would allocate all blocks up to its
 * size from the heap, where later small blocks prevent their return to the
 * kernel.  The kernel would never get this memory back: with --mlockall free
 * memory within the heap is locked. */
static void
limit_heap(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    mallopt(M_TRIM_THRESHOLD, HEAP_SPARE);
#endif
}

static void
lock_memory(void)
{
    int error = ovs_compat_lock_memory();

    if (error) {
        VLOG_ERR("mlockall failed: %s", ovs_strerror(error));
    }
}

static void
vswitchd_exit(struct unixctl_conn *conn, int argc, const char *argv[],
              void *request_)
{
    struct vswitchd_exit *request = request_;

    request->exiting = true;
    request->cleanup |= argc == 2 && !strcmp(argv[1], "--cleanup");
    if (request->n_conns >= request->allocated_conns) {
        request->conns = x2nrealloc(request->conns, &request->allocated_conns,
                                    sizeof *request->conns);
    }
    request->conns[request->n_conns++] = conn;
}

/* Answers the waiting connections: the clean-up is done, and the next daemon
 * may start now. */
static void
vswitchd_exited(struct vswitchd_exit *request)
{
    for (size_t i = 0; i < request->n_conns; i++) {
        unixctl_command_reply(request->conns[i], NULL);
    }
    free(request->conns);
}

/* Adds the memory in use in the C library's heaps, which shows the daemon's
 * own growth: the resident size also counts free memory. */
static void
get_heap_usage(struct simap *usage)
{
    struct mallinfo2 heaps = mallinfo2();

    simap_increase(usage, "heap kB in use",
                   (heaps.uordblks + heaps.hblkhd) / 1024);
    simap_increase(usage, "heap kB free", heaps.fordblks / 1024);
}

static void
report_memory(void)
{
    struct simap usage;

    memory_run();
    if (memory_should_report()) {
        simap_init(&usage);
        bridge_get_memory_usage(&usage);
        kdp_links_get_memory_usage(&usage);
        dpif_netlink_kdp_get_memory_usage(&usage);
        get_heap_usage(&usage);
        memory_report(&usage);
        simap_destroy(&usage);
    }
}

/* Minimum length of every other turn while bridges do not run, in ms. */
#define ALONE_MS 10

/* Waits for events for the bridges.
 *
 * If the bridges did not run in this turn ('alone'), the connection to the
 * database is lost.  Then their events may be there already, and the bridges
 * will not consume these before the connection is back.  So a pause follows a
 * short wait.  The pause is short, because connecting again takes some
 * turns. */
static void
wait_for_bridges(bool alone)
{
    static unsigned int n_alone = 0;
    static long long int waited_at = LLONG_MIN;
    static bool paused = false;
    long long int now = time_msec();

    /* A bridge that was created in this turn runs in the next one. */
    if (alone && ++n_alone == 2) {
        VLOG_INFO("without the database bridges do not run; flows stay, and "
                  "upcalls are served");
    } else if (!alone && n_alone > 1) {
        VLOG_INFO("the database is back, and bridges run");
    }
    n_alone = alone ? MIN(n_alone, 2) : 0;
    paused = alone && !paused && now < waited_at + ALONE_MS;
    if (paused) {
        poll_timer_wait(ALONE_MS);
    } else {
        bridge_wait();
    }
    waited_at = now;
}

int
main(int argc, char *argv[])
{
    struct vswitchd_exit request = { .exiting = false };
    struct vswitchd_options options;
    struct unixctl_server *unixctl;

    limit_heap();
    handover_close_inherited(argc, argv);
    set_program_name(argv[0]);
    ovsthread_id_init();
    dns_resolve_init(true);
    ovs_cmdl_proctitle_init(argc, argv);
    parse_options(argc, argv, &options);
    fatal_ignore_sigpipe();

    upcall_store_open(options.monitor);
    ovs_compat_daemonize_start(true, options.hw_rawio_access);
    upcall_store_start();
    if (options.mlockall) {
        lock_memory();
    }
    if (unixctl_server_create(options.unixctl_path, &unixctl)) {
        exit(EXIT_FAILURE);
    }
    unixctl_command_register("exit", "[--cleanup]", 0, 1, vswitchd_exit,
                             &request);
    init_providers(&options);
    handover_init(&options.handover);
    bridge_init(options.database);
    free(options.database);

    while (!request.exiting && !handover_is_over()) {
        bool alone;

        /* The probes of the stock main loop, for Open vSwitch's scripts. */
        OVS_USDT_PROBE(main, run_start);
        report_memory();
        bridge_run();
        alone = dpif_netlink_kdp_run_alone();
        unixctl_server_run(unixctl);
        netdev_run();
        upcall_store_run();
        handover_run();

        memory_wait();
        wait_for_bridges(alone);
        unixctl_server_wait(unixctl);
        netdev_wait();
        upcall_store_wait();
        handover_wait();
        if (request.exiting || handover_is_over()) {
            poll_immediate_wake();
        }
        OVS_USDT_PROBE(main, poll_block);
        poll_block();
    }

    if (handover_is_over()) {
        vswitchd_exited(&request);
        exit(EXIT_SUCCESS);     /* Everything is ready for the next daemon. */
    }
    if (!request.cleanup) {
        dpif_netlink_kdp_leave_upcalls(NULL);
        dpif_netlink_kdp_leave_flows();
    }
    bridge_exit(request.cleanup);
    dpif_netlink_kdp_exit();
    upcall_store_run();         /* Forgets the sockets of datapaths that are
                                 * cleaned up. */
    vswitchd_exited(&request);
    unixctl_server_destroy(unixctl);
    vlog_disable_async();
    ovsrcu_exit();
    dns_resolve_destroy();
    svec_destroy(&options.handover.args);
    return 0;
}
