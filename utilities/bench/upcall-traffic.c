/* SPDX-License-Identifier: Apache-2.0 */

/* Traffic of the upcall benchmark.
 *
 * Sends frames into the far ends of ports, each with a source address of its
 * own, so that with exact-match flows each is an upcall, and receives them on
 * the bridge's own device.  A frame carries the number of its port and the
 * time at which it was sent; the latency is from there to the kernel's receive
 * time stamp.
 *
 * One thread, pinned to one CPU, sends everything in ticks of a millisecond:
 * the flood, spread over its ports by turns, and the probe, which comes first
 * in its tick.  It has a real-time priority, so that the load is what was asked
 * for, whatever the daemon does.  Another one receives.  The result is JSON on
 * standard output. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <math.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* IEEE 802 local experimental Ethertype 2. */
#define BENCH_ETHERTYPE 0x88b6
#define BENCH_MAGIC 0x6b626e63

#define NSEC 1000000000ULL
#define TICK 1000000ULL         /* Nanoseconds. */
#define BATCH 64

/* After the last frame was sent, so long without one is the end. */
#define QUIET_MS 1000
#define DRAIN_LIMIT_MS 60000

struct frame {
    uint8_t dst[6];
    uint8_t src[6];
    uint16_t ethertype;
    uint32_t magic;
    uint32_t port;
    uint64_t sent_at;
    uint8_t pad[30];
} __attribute__((packed));

struct port {
    int fd;
    uint64_t sent, received;
    uint64_t *latencies;        /* Nanoseconds, 'received' of them. */
    size_t allocated;
};

static struct port *ports;
static unsigned int n_ports;
static unsigned int n_flood;            /* The first ones are flooded. */
static unsigned int rate;               /* Of the flood, frames a second. */
static unsigned int probe_port;         /* Index, or UINT_MAX. */
static unsigned int probe_interval = 1; /* Milliseconds. */
static unsigned int duration = 3000;    /* Milliseconds. */
static bool in_turn;                    /* Probe each port, one by one. */
static int cpu;
static volatile bool done_sending;
static uint64_t started_at, last_at;    /* First frame sent, last received. */

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *format, ...)
{
    va_list args;

    fputs("upcall-traffic: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

static uint64_t
now(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec * NSEC + ts.tv_nsec;
}

static int
open_socket(const char *device, bool receive)
{
    struct sockaddr_ll addr = { .sll_family = AF_PACKET };
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    int one = 1;

    if (fd < 0) {
        die("socket: %s", strerror(errno));
    }
    addr.sll_protocol = receive ? htons(BENCH_ETHERTYPE) : 0;
    addr.sll_ifindex = if_nametoindex(device);
    if (!addr.sll_ifindex) {
        die("there is no device %s", device);
    }
    if (bind(fd, (struct sockaddr *) &addr, sizeof addr)) {
        die("bind to %s: %s", device, strerror(errno));
    }
    if (!receive) {
        setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
    } else {
        int size = 64 * 1024 * 1024;

        if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one)
            || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size,
                          sizeof size)) {
            die("receive options: %s", strerror(errno));
        }
    }
    return fd;
}

static void
record(unsigned int index, uint64_t latency)
{
    struct port *port = &ports[index];

    if (port->received == port->allocated) {
        port->allocated = port->allocated ? port->allocated * 2 : 64;
        port->latencies = realloc(port->latencies,
                                  port->allocated * sizeof *port->latencies);
        if (!port->latencies) {
            die("out of memory");
        }
    }
    port->latencies[port->received++] = latency;
}

static void
take(struct msghdr *msg, const struct frame *frame, size_t len)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (len >= sizeof *frame && c->cmsg_level == SOL_SOCKET
            && c->cmsg_type == SCM_TIMESTAMPNS
            && frame->magic == htonl(BENCH_MAGIC)
            && ntohl(frame->port) < n_ports) {
            struct timespec ts;

            memcpy(&ts, CMSG_DATA(c), sizeof ts);
            record(ntohl(frame->port),
                   ts.tv_sec * NSEC + ts.tv_nsec - frame->sent_at);
        }
    }
}

static void *
receive_all(void *fd_)
{
    static struct frame frames[BATCH];
    static char controls[BATCH][CMSG_SPACE(sizeof(struct timespec)) + 64];
    static struct mmsghdr msgs[BATCH];
    static struct iovec iovs[BATCH];
    uint64_t last = now(CLOCK_MONOTONIC), end = 0;
    int fd = *(int *) fd_;

    for (;;) {
        struct pollfd pfd = { .fd = fd, .events = POLLIN };
        uint64_t t;
        int n;

        if (poll(&pfd, 1, 100) > 0) {
            for (int i = 0; i < BATCH; i++) {
                iovs[i] = (struct iovec) { &frames[i], sizeof frames[i] };
                msgs[i].msg_hdr = (struct msghdr) {
                    .msg_iov = &iovs[i], .msg_iovlen = 1,
                    .msg_control = controls[i],
                    .msg_controllen = sizeof controls[i],
                };
            }
            n = recvmmsg(fd, msgs, BATCH, MSG_DONTWAIT, NULL);
            for (int i = 0; i < n; i++) {
                take(&msgs[i].msg_hdr, &frames[i], msgs[i].msg_len);
            }
            if (n > 0) {
                last = last_at = now(CLOCK_MONOTONIC);
            }
        }
        t = now(CLOCK_MONOTONIC);
        if (done_sending && !end) {
            end = t;
        }
        if (end && (t - last > QUIET_MS * TICK
                    || t - end > DRAIN_LIMIT_MS * TICK)
            && t - end > QUIET_MS * TICK) {
            return NULL;
        }
    }
}

static void
send_one(unsigned int index)
{
    static uint64_t serial;
    struct frame frame = {
        .dst = { 0x02, 0xff, 0, 0, 0, 1 },
        .ethertype = htons(BENCH_ETHERTYPE),
        .magic = htonl(BENCH_MAGIC),
        .port = htonl(index),
    };

    if (!serial) {
        /* Unlike those of the run before. */
        serial = now(CLOCK_REALTIME) / 1000;
    }
    serial++;
    frame.src[0] = 0x02;
    for (int i = 1; i < 6; i++) {
        frame.src[i] = serial >> (8 * (5 - i));
    }
    frame.sent_at = now(CLOCK_REALTIME);
    if (send(ports[index].fd, &frame, sizeof frame, 0) == sizeof frame) {
        ports[index].sent++;
    }
}

static void
send_all(void)
{
    uint64_t start = started_at = now(CLOCK_MONOTONIC), flood_sent = 0;
    unsigned int next = 0;

    for (uint64_t tick = 0; tick < duration; tick++) {
        uint64_t at = start + tick * TICK, due;
        struct timespec ts = { at / NSEC, at % NSEC };

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
        if (in_turn) {
            send_one((uint64_t) tick * n_ports / duration);
        } else if (probe_port != UINT32_MAX && tick % probe_interval == 0) {
            send_one(probe_port);
        }

        due = (tick + 1) * rate / 1000;
        for (; n_flood && flood_sent < due; flood_sent++) {
            send_one(next);
            next = (next + 1) % n_flood;
        }
    }
}

static int
compare(const void *a_, const void *b_)
{
    const uint64_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static void
print_port(unsigned int index)
{
    struct port *port = &ports[index];
    uint64_t n = port->received;
    double sum = 0, squares = 0;

    printf("{\"sent\": %"PRIu64", \"received\": %"PRIu64, port->sent, n);
    if (n) {
        uint64_t *l = port->latencies;

        qsort(l, n, sizeof *l, compare);
        for (uint64_t i = 0; i < n; i++) {
            sum += l[i] / 1e3;
        }
        for (uint64_t i = 0; i < n; i++) {
            squares += (l[i] / 1e3 - sum / n) * (l[i] / 1e3 - sum / n);
        }
        printf(", \"min\": %.1f, \"mean\": %.1f, \"dev\": %.1f, "
               "\"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f", l[0] / 1e3,
               sum / n, sqrt(squares / n), l[n / 2] / 1e3,
               l[n * 99 / 100] / 1e3, l[n - 1] / 1e3);
    }
    putchar('}');
}

static unsigned int
number(const char *option, const char *s, unsigned long int max)
{
    char *end;
    unsigned long int n = strtoul(s, &end, 10);

    if (!*s || *end || n > max) {
        die("--%s %s: expected a number from 0 to %lu", option, s, max);
    }
    return n;
}

static void
usage(void)
{
    puts("usage: upcall-traffic [OPTION]... NETNS PREFIX PORTS RECEIVER\n"
         "Sends into devices PREFIX0 to PREFIX(PORTS - 1) of namespace NETNS\n"
         "and receives on device RECEIVER.\n"
         "  --flood N        flood the first N ports\n"
         "  --rate N         frames a second of the flood\n"
         "  --probe N        send from port N every --interval milliseconds\n"
         "  --interval N     (default 1)\n"
         "  --in-turn        one frame a millisecond, all ports one by one\n"
         "  --duration N     milliseconds of sending (default 3000)\n"
         "  --cpu N          send on this CPU (default 0)");
    exit(0);
}

static void
parse_options(int argc, char *argv[])
{
    static const struct option options[] = {
        { "flood", required_argument, NULL, 'f' },
        { "rate", required_argument, NULL, 'r' },
        { "probe", required_argument, NULL, 'p' },
        { "interval", required_argument, NULL, 'i' },
        { "in-turn", no_argument, NULL, 't' },
        { "duration", required_argument, NULL, 'd' },
        { "cpu", required_argument, NULL, 'c' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };

    probe_port = UINT32_MAX;
    for (;;) {
        int c = getopt_long(argc, argv, "h", options, NULL);

        switch (c) {
        case 'f': n_flood = number("flood", optarg, 65535); break;
        case 'r': rate = number("rate", optarg, 10000000); break;
        case 'p': probe_port = number("probe", optarg, 65535); break;
        case 'i': probe_interval = number("interval", optarg, 60000); break;
        case 't': in_turn = true; break;
        case 'd': duration = number("duration", optarg, 3600000); break;
        case 'c': cpu = number("cpu", optarg, 1023); break;
        case 'h': usage(); break;
        case -1: return;
        default: exit(2);
        }
    }
}

int
main(int argc, char *argv[])
{
    struct sched_param param = { .sched_priority = 1 };
    char path[256];
    cpu_set_t cpus;
    pthread_t receiver;
    int netns, receive_fd;

    parse_options(argc, argv);
    if (argc - optind != 4) {
        die("four arguments expected, see --help");
    }
    n_ports = number("PORTS", argv[optind + 2], 65535);
    if (n_flood > n_ports || !probe_interval
        || (probe_port != UINT32_MAX && probe_port >= n_ports)) {
        die("there are only %u ports, and an interval is at least 1", n_ports);
    }
    ports = calloc(n_ports, sizeof *ports);
    if (!ports) {
        die("out of memory");
    }

    receive_fd = open_socket(argv[optind + 3], true);
    snprintf(path, sizeof path, "/var/run/netns/%s", argv[optind]);
    netns = open(path, O_RDONLY | O_CLOEXEC);
    if (netns < 0 || setns(netns, CLONE_NEWNET)) {
        die("namespace %s: %s", argv[optind], strerror(errno));
    }
    for (unsigned int i = 0; i < n_ports; i++) {
        snprintf(path, sizeof path, "%s%u", argv[optind + 1], i);
        ports[i].fd = open_socket(path, false);
    }

    if (pthread_create(&receiver, NULL, receive_all, &receive_fd)) {
        die("no thread");
    }
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) {
        die("CPU %d: %s", cpu, strerror(errno));
    }
    if (sched_setscheduler(0, SCHED_FIFO, &param)) {
        die("real-time priority: %s", strerror(errno));
    }
    send_all();
    done_sending = true;
    pthread_join(receiver, NULL);

    printf("{\"ports\": [");
    for (unsigned int i = 0; i < n_ports; i++) {
        printf("%s", i ? ",\n" : "\n");
        print_port(i);
    }
    printf("],\n\"busy_seconds\": %.3f}\n",
           last_at > started_at ? (last_at - started_at) / 1e9 : 0);
    return 0;
}
