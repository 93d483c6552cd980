/* SPDX-License-Identifier: Apache-2.0 */

/* Sends frames of which each one is an upcall, and measures how long they take
 * and how many are lost.
 *
 * The devices PREFIX0, PREFIX1, ... in a network namespace are the far ends of
 * a bridge's ports.  A frame sent into one of them enters the bridge, misses
 * the datapath's flows because its source address is new, goes to the daemon,
 * and is sent by it to the bridge's local port, where this program receives
 * it.  Its latency is the time from just before the system call that sent it
 * to the time stamp that the kernel gave it at the local port.  Both are times
 * of the same clock in the same kernel.
 *
 * One thread sends everything.  There are two kinds of frames: probes, sent at
 * a fixed interval to one port (or to each port in turn), which measure, and a
 * flood, sent at a given rate to all ports in turn, which disturbs.  As one
 * thread sends both, both enter the datapath on the same CPU.  It runs at a
 * real-time priority, as traffic from a network card would not wait for the
 * daemon either.
 *
 * Nothing is received while frames are being sent: the socket's buffer is made
 * large enough for all of them, so the measurement does not take CPU time from
 * what it measures. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <math.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
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

/* IEEE 802 local experimental Ethertype 1. */
#define BENCH_ETHERTYPE 0x88b5

#define BENCH_MAGIC 0x6b647062

/* More ports than this do not fit into a datapath (DP_MAX_PORTS). */
#define MAX_PORTS 65535

/* The flood is sent in portions, one each so many nanoseconds. */
#define TICK_NS INT64_C(1000000)

/* What the flood is behind with (the machine did not run this program) is
 * made up for, up to so many portions; more would be a load that nobody asked
 * for.  The rest is reported as not sent. */
#define MAX_CATCH_UP 20

/* Frames in one system call. */
#define SEND_BATCH 32
#define RECV_BATCH 64

/* A port's number in the options below. */
#define EACH_PORT UINT32_MAX

enum kind { PROBE, FLOOD, N_KINDS };

struct frame {
    uint8_t dst[6];
    uint8_t src[6];
    uint16_t ethertype;
    uint32_t magic;
    uint32_t run;
    uint32_t number;            /* Of all frames of this run. */
    uint32_t port;
    uint8_t kind;               /* enum kind. */
    int64_t sent;               /* CLOCK_REALTIME, ns. */
    uint8_t pad[21];
} __attribute__((packed));

struct port {
    int ifindex;
    uint32_t sent;
    uint32_t received;
    uint32_t in_window;         /* Received while frames were being sent. */
    uint32_t probes;            /* Probes received... */
    double probe_sum;           /* ...and the sum of their latencies, us. */
};

/* Latencies in microseconds of the frames of one kind. */
struct samples {
    double *us;
    size_t n, allocated;
    uint32_t sent;
};

struct bench {
    /* Options. */
    const char *local, *netns, *prefix;
    uint32_t n_ports, run, probe_port, probe_count, per_port, flood_rate;
    uint32_t settle_ms;
    int64_t interval_ns;
    int cpu;
    bool spare;                 /* The flood spares the probe's port. */

    int rx, tx;
    struct port *ports;
    struct samples kinds[N_KINDS];
    struct frame frame;         /* Template. */
    uint32_t number;            /* Of the next frame. */
    uint32_t flood_next;        /* Port of the flood's next frame. */
    uint8_t *seen;              /* For each number, whether it was received. */
    uint32_t duplicates;
    int64_t begin, end;         /* Of sending, CLOCK_REALTIME. */
    uint64_t not_sent;
    int64_t max_late;           /* Longest delay of a probe, ns. */
};

static void __attribute__((noreturn, format(printf, 1, 2)))
fatal(const char *format, ...)
{
    int error = errno;
    va_list args;

    fprintf(stderr, "upcall-traffic: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    if (error) {
        fprintf(stderr, " (%s)", strerror(error));
    }
    fputc('\n', stderr);
    exit(2);
}

static void *
allocate(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p) {
        fatal("no memory for %zu elements", n);
    }
    return p;
}

static int64_t
now_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void
sleep_until(int64_t when)
{
    struct timespec ts = {
        .tv_sec = when / 1000000000,
        .tv_nsec = when % 1000000000,
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL)
           == EINTR) {
        continue;
    }
}

static void
open_receiver(struct bench *b)
{
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(BENCH_ETHERTYPE),
        .sll_ifindex = if_nametoindex(b->local),
    };
    int buffer = INT_MAX / 2;
    int on = 1;

    if (!address.sll_ifindex) {
        fatal("%s: no such device", b->local);
    }
    /* Protocol 0 until bound, or frames of other devices would come in. */
    b->rx = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (b->rx < 0
        || setsockopt(b->rx, SOL_SOCKET, SO_RCVBUFFORCE, &buffer,
                      sizeof buffer)
        || setsockopt(b->rx, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on)
        || bind(b->rx, (struct sockaddr *) &address, sizeof address)) {
        fatal("%s: cannot open a packet socket", b->local);
    }
}

static void
open_sender(struct bench *b)
{
    char path[PATH_MAX];
    int on = 1;
    int fd;

    snprintf(path, sizeof path, "/run/netns/%s", b->netns);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET)) {
        fatal("namespace %s: cannot enter", b->netns);
    }
    close(fd);

    b->tx = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (b->tx < 0 || setsockopt(b->tx, SOL_PACKET, PACKET_QDISC_BYPASS, &on,
                                sizeof on)) {
        fatal("namespace %s: cannot open a packet socket", b->netns);
    }
    for (uint32_t i = 0; i < b->n_ports; i++) {
        char name[IFNAMSIZ];

        snprintf(name, sizeof name, "%s%"PRIu32, b->prefix, i);
        b->ports[i].ifindex = if_nametoindex(name);
        if (!b->ports[i].ifindex) {
            fatal("%s: no such device in namespace %s", name, b->netns);
        }
    }
}

/* Binds this thread to the CPU and lets it run whenever it wants to. */
static void
get_priority(const struct bench *b)
{
    struct sched_param param = { .sched_priority = 1 };
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(b->cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) {
        fatal("cannot run on CPU %d", b->cpu);
    }
    if (sched_setscheduler(0, SCHED_FIFO, &param)) {
        fatal("cannot get a real-time priority");
    }
}

static void
drop_priority(void)
{
    struct sched_param param = { .sched_priority = 0 };

    sched_setscheduler(0, SCHED_OTHER, &param);
}

/* Fills in 'frame' as the next one to 'port'. */
static void
make_frame(struct bench *b, enum kind kind, uint32_t port, int64_t now,
           struct frame *frame)
{
    uint32_t number = htonl(b->number);

    *frame = b->frame;
    memcpy(&frame->src[2], &number, sizeof number);
    frame->number = number;
    frame->port = htonl(port);
    frame->kind = kind;
    frame->sent = now;
    b->number++;
    b->ports[port].sent++;
    b->kinds[kind].sent++;
}

static void
send_frames(struct bench *b, struct frame frames[], unsigned int n)
{
    struct mmsghdr msgs[SEND_BATCH];
    struct sockaddr_ll to[SEND_BATCH];
    struct iovec iov[SEND_BATCH];
    unsigned int done = 0;

    for (unsigned int i = 0; i < n; i++) {
        to[i] = (struct sockaddr_ll) {
            .sll_family = AF_PACKET,
            .sll_ifindex = b->ports[ntohl(frames[i].port)].ifindex,
            .sll_halen = 6,
        };
        iov[i] = (struct iovec) { &frames[i], sizeof frames[i] };
        msgs[i].msg_hdr = (struct msghdr) {
            .msg_name = &to[i],
            .msg_namelen = sizeof to[i],
            .msg_iov = &iov[i],
            .msg_iovlen = 1,
        };
    }
    while (done < n) {
        int sent = sendmmsg(b->tx, msgs + done, n - done, 0);

        if (sent < 0 && errno != EINTR) {
            fatal("cannot send");
        }
        done += sent > 0 ? sent : 0;
    }
}

static void
send_probe(struct bench *b, uint32_t index)
{
    struct frame frame;
    uint32_t port = b->probe_port == EACH_PORT ? index / b->per_port
                                               : b->probe_port;

    make_frame(b, PROBE, port, now_ns(CLOCK_REALTIME), &frame);
    send_frames(b, &frame, 1);
}

static void
send_flood(struct bench *b, uint64_t n)
{
    struct frame frames[SEND_BATCH];

    while (n) {
        unsigned int batch = n < SEND_BATCH ? n : SEND_BATCH;
        int64_t now = now_ns(CLOCK_REALTIME);

        for (unsigned int i = 0; i < batch; i++) {
            if (b->spare && b->flood_next == b->probe_port) {
                b->flood_next = (b->flood_next + 1) % b->n_ports;
            }
            make_frame(b, FLOOD, b->flood_next, now, &frames[i]);
            b->flood_next = (b->flood_next + 1) % b->n_ports;
        }
        send_frames(b, frames, batch);
        n -= batch;
    }
}

/* Sends everything, each frame at its time.  Probes are sent in the middle
 * between two portions of the flood. */
static void
send_all(struct bench *b)
{
    int64_t start = now_ns(CLOCK_MONOTONIC) + 10 * TICK_NS;
    int64_t length = b->probe_count * b->interval_ns;
    int64_t n_ticks = b->flood_rate ? length / TICK_NS : 0;
    uint64_t flooded = 0, limit;
    uint32_t probe = 0;
    int64_t tick = 0;

    limit = (uint64_t) b->flood_rate * TICK_NS / 1000000000 * MAX_CATCH_UP
            + SEND_BATCH;
    sleep_until(start);
    b->begin = now_ns(CLOCK_REALTIME);
    while (probe < b->probe_count || tick < n_ticks) {
        int64_t next_probe = probe < b->probe_count
                             ? start + probe * b->interval_ns + TICK_NS / 2
                             : INT64_MAX;
        int64_t next_tick = tick < n_ticks ? start + tick * TICK_NS
                                           : INT64_MAX;
        int64_t now;

        sleep_until(next_probe < next_tick ? next_probe : next_tick);
        now = now_ns(CLOCK_MONOTONIC);
        if (next_probe < next_tick) {
            if (now - next_probe > b->max_late) {
                b->max_late = now - next_probe;
            }
            send_probe(b, probe++);
        } else {
            uint64_t due;

            /* Late ones are done with all at once. */
            tick = (now - start) / TICK_NS + 1;
            if (tick > n_ticks) {
                tick = n_ticks;
            }
            due = (uint64_t) tick * TICK_NS * b->flood_rate / 1000000000
                  - flooded;
            if (due > limit) {
                b->not_sent += due - limit;
                flooded += due - limit;
                due = limit;
            }
            send_flood(b, due);
            flooded += due;
        }
    }
    sleep_until(start + length);
    b->end = now_ns(CLOCK_REALTIME);
}

static void
add_sample(struct samples *s, double us)
{
    if (s->n == s->allocated) {
        s->allocated = s->allocated ? 2 * s->allocated : 1024;
        s->us = realloc(s->us, s->allocated * sizeof *s->us);
        if (!s->us) {
            fatal("no memory for %zu samples", s->allocated);
        }
    }
    s->us[s->n++] = us;
}

/* Counts 'frame', to which the kernel gave the time stamp 'stamp'. */
static void
count_frame(struct bench *b, const struct frame *frame, int64_t stamp)
{
    uint32_t number = ntohl(frame->number);
    double us = (stamp - frame->sent) / 1000.0;
    struct port *port;

    if (ntohl(frame->magic) != BENCH_MAGIC || ntohl(frame->run) != b->run
        || number >= b->number || ntohl(frame->port) >= b->n_ports
        || frame->kind >= N_KINDS) {
        return;
    }
    if (b->seen[number]) {
        b->duplicates++;
        return;
    }
    b->seen[number] = 1;

    port = &b->ports[ntohl(frame->port)];
    port->received++;
    port->in_window += stamp <= b->end;
    if (frame->kind == PROBE) {
        port->probes++;
        port->probe_sum += us;
    }
    add_sample(&b->kinds[frame->kind], us);
}

static int64_t
get_stamp(struct msghdr *msg)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec ts;

            memcpy(&ts, CMSG_DATA(c), sizeof ts);
            return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
        }
    }
    errno = 0;
    fatal("a frame has no time stamp");
}

/* Receives until all frames have come, or none came for as long as the user
 * said. */
static void
receive_all(struct bench *b)
{
    struct { char bytes[64]; } __attribute__((aligned(8))) control[RECV_BATCH];
    struct frame frames[RECV_BATCH];
    struct mmsghdr msgs[RECV_BATCH];
    struct iovec iov[RECV_BATCH];

    while (b->kinds[PROBE].n + b->kinds[FLOOD].n < b->number) {
        struct pollfd pfd = { .fd = b->rx, .events = POLLIN };
        int n;

        for (int i = 0; i < RECV_BATCH; i++) {
            iov[i] = (struct iovec) { &frames[i], sizeof frames[i] };
            msgs[i].msg_hdr = (struct msghdr) {
                .msg_iov = &iov[i],
                .msg_iovlen = 1,
                .msg_control = &control[i],
                .msg_controllen = sizeof control[i],
            };
        }
        n = recvmmsg(b->rx, msgs, RECV_BATCH, MSG_DONTWAIT, NULL);
        if (n < 0 && errno == EAGAIN) {
            if (!poll(&pfd, 1, b->settle_ms)) {
                return;
            }
        } else if (n < 0 && errno != EINTR) {
            fatal("%s: cannot receive", b->local);
        }
        for (int i = 0; i < n; i++) {
            if (msgs[i].msg_len == sizeof frames[i]) {
                count_frame(b, &frames[i], get_stamp(&msgs[i].msg_hdr));
            }
        }
    }
}

/* Ends the program if its own socket lost frames: the daemon would be blamed
 * for it. */
static void
check_own_loss(struct bench *b)
{
    struct tpacket_stats stats;
    socklen_t len = sizeof stats;

    if (getsockopt(b->rx, SOL_PACKET, PACKET_STATISTICS, &stats, &len)) {
        fatal("PACKET_STATISTICS");
    }
    if (stats.tp_drops) {
        errno = 0;
        fatal("%s: the receiving socket dropped %u frames; send fewer",
              b->local, stats.tp_drops);
    }
}

static int
compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* Returns the smallest sample that 'share' of the sorted samples do not
 * exceed (the nearest rank). */
static double
quantile(const struct samples *s, double share)
{
    size_t rank = ceil(share * s->n);

    return s->us[rank ? rank - 1 : 0];
}

static void
print_latency(const char *name, struct samples *s)
{
    double sum = 0, square = 0, mean;

    printf("\"%s\": {\"sent\": %"PRIu32", \"received\": %zu",
           name, s->sent, s->n);
    if (s->n) {
        qsort(s->us, s->n, sizeof *s->us, compare_doubles);
        for (size_t i = 0; i < s->n; i++) {
            sum += s->us[i];
        }
        mean = sum / s->n;
        for (size_t i = 0; i < s->n; i++) {
            square += (s->us[i] - mean) * (s->us[i] - mean);
        }
        printf(",\n\"us\": {\"min\": %.1f, \"mean\": %.1f, \"mdev\": %.1f, "
               "\"p50\": %.1f, \"p90\": %.1f, \"p99\": %.1f, \"p999\": %.1f, "
               "\"max\": %.1f},\n\"percentiles\": [", s->us[0], mean,
               sqrt(square / s->n), quantile(s, .5), quantile(s, .9),
               quantile(s, .99), quantile(s, .999), s->us[s->n - 1]);
        for (int i = 0; i <= 100; i++) {
            printf("%s%.1f", i ? ", " : "", quantile(s, i / 100.0));
        }
        printf("]");
    }
    printf("},\n");
}

static void
report(struct bench *b)
{
    printf("{");
    print_latency("probe", &b->kinds[PROBE]);
    print_latency("flood", &b->kinds[FLOOD]);
    printf("\"ports\": [");
    for (uint32_t i = 0; i < b->n_ports; i++) {
        const struct port *p = &b->ports[i];

        printf("%s[%"PRIu32", %"PRIu32", %"PRIu32"]", i ? ", " : "",
               p->sent, p->received, p->in_window);
    }
    printf("],\n\"port_means_us\": [");
    for (uint32_t i = 0, n = 0; i < b->n_ports; i++) {
        const struct port *p = &b->ports[i];

        if (p->probes) {
            printf("%s%.1f", n++ ? ", " : "", p->probe_sum / p->probes);
        }
    }
    printf("],\n\"seconds\": %.6f, \"sent\": %"PRIu32", \"received\": %zu, "
           "\"not_sent\": %"PRIu64", \"duplicates\": %"PRIu32", "
           "\"max_late_us\": %.1f}\n",
           (b->end - b->begin) / 1e9, b->number,
           b->kinds[PROBE].n + b->kinds[FLOOD].n, b->not_sent, b->duplicates,
           b->max_late / 1000.0);
}

static void __attribute__((noreturn))
usage(int status)
{
    fputs("usage: upcall-traffic [OPTION]...\n"
          "  --local=IFACE     local port of the bridge (default br0)\n"
          "  --netns=NAME      namespace of the far ends (default gen)\n"
          "  --prefix=NAME     devices there are NAME0, NAME1... (default f)\n"
          "  --ports=N         number of them (default 1)\n"
          "  --cpu=N           CPU that sends (default 0)\n"
          "  --run=N           0 to 255; source addresses differ from those\n"
          "                    of other runs (default 0)\n"
          "  --probe=N|each    port to send probes to, or each in turn\n"
          "                    (default 0)\n"
          "  --count=N         probes, with \"each\" for each port\n"
          "                    (default 1000)\n"
          "  --interval=US     time between two probes (default 1000)\n"
          "  --flood=N         other frames a second, to all ports in turn\n"
          "                    (default 0)\n"
          "  --spare           but not to the port of the probes\n"
          "  --settle=MS       time without a frame after which the missing\n"
          "                    ones are lost (default 1000)\n"
          "Prints JSON; times are in microseconds.  A member of \"ports\" is\n"
          "frames sent, received, and received before sending ended.\n",
          status ? stderr : stdout);
    exit(status);
}

static uint32_t
parse_number(const char *name, const char *s, uint32_t min, uint32_t max)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(s, &end, 10);
    if (errno || *s < '0' || *s > '9' || *end != '\0' || value < min
        || value > max) {
        errno = 0;
        fatal("--%s=%s: expected %"PRIu32" to %"PRIu32, name, s, min, max);
    }
    return value;
}

static void
parse_options(struct bench *b, int argc, char *argv[])
{
    static const struct option options[] = {
        { "local", required_argument, NULL, 'l' },
        { "netns", required_argument, NULL, 'n' },
        { "prefix", required_argument, NULL, 'x' },
        { "ports", required_argument, NULL, 'p' },
        { "cpu", required_argument, NULL, 'c' },
        { "run", required_argument, NULL, 'r' },
        { "probe", required_argument, NULL, 'P' },
        { "count", required_argument, NULL, 'C' },
        { "interval", required_argument, NULL, 'i' },
        { "flood", required_argument, NULL, 'f' },
        { "spare", no_argument, NULL, 's' },
        { "settle", required_argument, NULL, 'S' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c, i;

    while ((c = getopt_long(argc, argv, "", options, &i)) != -1) {
        const char *name = c == '?' ? "" : options[i].name;

        switch (c) {
        case 'l': b->local = optarg; break;
        case 'n': b->netns = optarg; break;
        case 'x': b->prefix = optarg; break;
        case 'p': b->n_ports = parse_number(name, optarg, 1, MAX_PORTS); break;
        case 'c':
            b->cpu = parse_number(name, optarg, 0, CPU_SETSIZE - 1);
            break;
        case 'r': b->run = parse_number(name, optarg, 0, 255); break;
        case 'P':
            b->probe_port = !strcmp(optarg, "each") ? EACH_PORT
                            : parse_number(name, optarg, 0, MAX_PORTS - 1);
            break;
        case 'C': b->per_port = parse_number(name, optarg, 1, 1000000); break;
        case 'i':
            b->interval_ns = parse_number(name, optarg, 1, 1000000) * 1000;
            break;
        case 'f': b->flood_rate = parse_number(name, optarg, 0, 10000000);
            break;
        case 's': b->spare = true; break;
        case 'S': b->settle_ms = parse_number(name, optarg, 1, 60000); break;
        case 'h': usage(0);
        default: usage(2);
        }
    }
    errno = 0;
    if (optind != argc) {
        fatal("%s: unexpected argument", argv[optind]);
    }
    if (b->probe_port == EACH_PORT) {
        b->probe_count = b->per_port * b->n_ports;
    } else if (b->probe_port >= b->n_ports) {
        fatal("--probe=%"PRIu32": expected 0 to %"PRIu32, b->probe_port,
              b->n_ports - 1);
    } else {
        b->probe_count = b->per_port;
    }
    if (b->spare && b->flood_rate && b->n_ports < 2) {
        fatal("--spare: there is no other port to flood");
    }
}

int
main(int argc, char *argv[])
{
    struct bench b = {
        .local = "br0",
        .netns = "gen",
        .prefix = "f",
        .n_ports = 1,
        .per_port = 1000,
        .interval_ns = 1000000,
        .settle_ms = 1000,
        .frame = {
            .dst = { 0x02, 0xff, 0xff, 0xff, 0xff, 0xff },
            .src = { 0x02 },
            .ethertype = htons(BENCH_ETHERTYPE),
            .magic = htonl(BENCH_MAGIC),
        },
    };

    parse_options(&b, argc, argv);
    b.frame.run = htonl(b.run);
    b.frame.src[1] = b.run;
    b.ports = allocate(b.n_ports, sizeof *b.ports);

    open_receiver(&b);
    open_sender(&b);
    get_priority(&b);
    send_all(&b);
    drop_priority();
    b.seen = allocate(b.number, sizeof *b.seen);
    receive_all(&b);
    check_own_loss(&b);
    report(&b);
    return 0;
}
