/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "upcall-traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The flood is sent in portions, one every TICK_NS nanoseconds. */
#define TICK_NS INT64_C(1000000)

/* When the flood is late because the machine did not run this program, it
 * catches up by at most so many portions.  More would be a load that the user
 * did not request.  The rest is reported as not sent. */
#define MAX_CATCH_UP 20

/* Frames in one system call. */
#define SEND_BATCH 32

/* The user wants no more frames. */
static volatile sig_atomic_t stopped;

static void
stop(int signum)
{
    stopped = signum;
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

    while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts,
                                       NULL) == EINTR) {
        continue;
    }
}

static bool
is_remote(const struct bench *b, uint32_t port)
{
    return port >= b->n_ports - b->n_remotes;
}

void
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
        char name[IFNAMSIZ] = TUNNEL_DEVICE;

        if (!is_remote(b, i)) {
            snprintf(name, sizeof name, "%s%"PRIu32, b->prefix, i);
        }
        b->ports[i].ifindex = if_nametoindex(name);
        if (!b->ports[i].ifindex) {
            fatal("%s: no such device in namespace %s", name, b->netns);
        }
    }
}

/* Binds this thread to the CPU and lets it run whenever it wants to, without
 * waiting for its own pages. */
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
    if (mlockall(MCL_CURRENT | MCL_FUTURE)
        || sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param)) {
        fatal("cannot get a real-time priority");
    }
}

static void
drop_priority(void)
{
    struct sched_param param = { .sched_priority = 0 };

    sched_setscheduler(0, SCHED_OTHER, &param);
}

/* Returns the sum of the words of the IPv4 header at 'ip' (RFC 1071). */
static uint16_t
header_sum(const void *ip)
{
    uint16_t words[sizeof(struct iphdr) / 2];
    uint32_t sum = 0;

    memcpy(words, ip, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        sum += words[i];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return sum + (sum >> 16);
}

/* Sets the source address of 'frame' to that with 'number'. */
static void
set_source(const struct bench *b, struct frame *frame, uint32_t number)
{
    struct ethernet *ethernet = (struct ethernet *) frame->bytes;

    if (b->udp) {
        struct udp *udp = (struct udp *) (ethernet + 1);

        udp->ip.saddr = htonl(UDP_SOURCES
                              + (b->flows ? number % b->flows : number));
        udp->ip.check = 0;
        udp->ip.check = ~header_sum(&udp->ip);
    } else {
        number = htonl(number);
        memcpy(&ethernet->src[2], &number, sizeof number);
    }
}

/* Makes 'frame' the next one to 'port'. */
static void
make_frame(struct bench *b, enum kind kind, uint32_t port, int64_t now,
           struct frame *frame)
{
    struct payload *payload;

    *frame = b->frame;
    set_source(b, frame, b->number);
    payload = (struct payload *) &frame->bytes[b->payload];
    payload->number = htonl(b->number);
    payload->port = htonl(port);
    payload->kind = kind;
    payload->sent = now;
    b->number++;
    *(kind == LEAD ? &b->ports[port].lead_sent : &b->ports[port].sent) += 1;
    b->kinds[kind].sent++;
}

/* Fills in 'outer' for the frame 'number' of the remote machine 'port'.  Like
 * real senders, it spreads the source port over the flows inside. */
static void
make_outer(const struct bench *b, uint32_t port, uint32_t number,
           struct outer *outer)
{
    uint32_t remote = port - (b->n_ports - b->n_remotes);
    size_t length = sizeof *outer - offsetof(struct outer, udp) + b->length;

    *outer = (struct outer) {
        .ethernet = {
            .dst = TUNNEL_MAC,
            .src = { 0x02, 0, 0, 0, 0, 2 },
            .ethertype = htons(ETH_P_IP),
        },
        .udp = {
            .ip = {
                .version = 4,
                .ihl = 5,
                .tot_len = htons(length),
                .ttl = 64,
                .protocol = IPPROTO_UDP,
                .saddr = htonl(TUNNEL_REMOTES + remote),
                .daddr = htonl(TUNNEL_LOCAL),
            },
            .udp = {
                .source = htons(0x8000 | (number * 40503 & 0x7fff)),
                .dest = htons(TUNNEL_PORT),
                .len = htons(length - sizeof(struct iphdr)),
            },
        },
        .protocol = htons(ETH_P_TEB),
        .vni = htonl((remote + 1) << 8),
    };
    outer->udp.ip.check = ~header_sum(&outer->udp.ip);
}

/* Sends 'n' frames, at most SEND_BATCH. */
static void
send_frames(struct bench *b, struct frame frames[], const uint32_t ports[],
            unsigned int n)
{
    struct mmsghdr msgs[SEND_BATCH];
    struct sockaddr_ll to[SEND_BATCH];
    struct outer outers[SEND_BATCH];
    struct iovec iov[SEND_BATCH][2];
    unsigned int done = 0;

    for (unsigned int i = 0; i < n; i++) {
        bool remote = is_remote(b, ports[i]);

        to[i] = (struct sockaddr_ll) {
            .sll_family = AF_PACKET,
            .sll_ifindex = b->ports[ports[i]].ifindex,
            .sll_halen = 6,
        };
        if (remote) {
            const struct payload *payload = (const struct payload *)
                &frames[i].bytes[b->payload];

            make_outer(b, ports[i], ntohl(payload->number), &outers[i]);
        }
        iov[i][0] = (struct iovec) { &outers[i], sizeof outers[i] };
        iov[i][1] = (struct iovec) { &frames[i], b->length };
        msgs[i].msg_hdr = (struct msghdr) {
            .msg_name = &to[i],
            .msg_namelen = sizeof to[i],
            .msg_iov = &iov[i][!remote],
            .msg_iovlen = 1 + remote,
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

/* Returns the port of probe 'index'. */
static uint32_t
probe_port(const struct bench *b, uint32_t index)
{
    uint32_t n = b->probed.last - b->probed.first + 1;

    return b->probed.first + (b->each ? index / b->per_port : index % n);
}

static void
send_probe(struct bench *b, uint32_t index)
{
    uint32_t port = probe_port(b, index);
    struct frame frame;

    make_frame(b, PROBE, port, now_ns(CLOCK_REALTIME), &frame);
    send_frames(b, &frame, &port, 1);
}

static void
send_flood(struct bench *b, enum kind kind, uint64_t n)
{
    struct frame frames[SEND_BATCH];
    uint32_t ports[SEND_BATCH];

    while (n) {
        unsigned int batch = n < SEND_BATCH ? n : SEND_BATCH;
        int64_t now = now_ns(CLOCK_REALTIME);

        for (unsigned int i = 0; i < batch; i++) {
            ports[i] = b->flood_next;
            make_frame(b, kind, b->flood_next, now, &frames[i]);
            b->flood_next = (b->flood_next < b->flooded.last
                             ? b->flood_next + 1 : b->flooded.first);
        }
        send_frames(b, frames, ports, batch);
        n -= batch;
    }
}

static double
cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
           + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* A flood of 'rate' frames a second that began at 'start' and has 'n_ticks'
 * portions. */
struct flood {
    int64_t start, tick, n_ticks;
    uint64_t rate, sent;
};

/* Sends the portions of 'flood' that are due at 'now', late ones at once.
 * Returns the number of frames that were left out. */
static uint64_t
send_due(struct bench *b, enum kind kind, struct flood *flood, int64_t now)
{
    uint64_t limit = flood->rate * TICK_NS / 1000000000 * MAX_CATCH_UP
                     + SEND_BATCH;
    uint64_t due, left_out = 0;

    flood->tick = (now - flood->start) / TICK_NS + 1;
    if (flood->tick > flood->n_ticks) {
        flood->tick = flood->n_ticks;
    }
    due = (uint64_t) flood->tick * TICK_NS * flood->rate / 1000000000
          - flood->sent;
    if (due > limit) {
        left_out = due - limit;
        due = limit;
    }
    send_flood(b, kind, due);
    flood->sent += due + left_out;
    return left_out;
}

/* The stopped process, or 0. */
static pid_t stopped_process;

static void
continue_process(void)
{
    if (stopped_process) {
        kill(stopped_process, SIGCONT);
        stopped_process = 0;
    }
}

/* Floods the ports for 'ms' before the measurement.  Receives returning frames
 * meanwhile, so that the socket's buffer need not hold them. */
static void
send_unmeasured(struct bench *b, uint32_t ms)
{
    struct flood flood = {
        .start = now_ns(CLOCK_MONOTONIC),
        .n_ticks = ms * INT64_C(1000000) / TICK_NS,
        .rate = b->flood_rate,
    };

    while (flood.tick < flood.n_ticks && !stopped) {
        sleep_until(flood.start + flood.tick * TICK_NS);
        send_due(b, LEAD, &flood, now_ns(CLOCK_MONOTONIC));
        receive_waiting(b);
    }
}

/* Floods the ports while the daemon is stopped, so that its buffers fill
 * quickly, and then while it runs, until the one-time effects of full buffers
 * are over. */
static void
send_lead(struct bench *b)
{
    if (b->stop) {
        /* Also if this program ends early. */
        atexit(continue_process);
        stopped_process = b->stop;
        if (kill(b->stop, SIGSTOP)) {
            fatal("cannot stop process %d", (int) b->stop);
        }
    }
    send_unmeasured(b, b->lead_ms);
    continue_process();
    send_unmeasured(b, b->run_in_ms);
}

/* Starts the user's command, if there is one, at no real-time priority.
 * Returns its process, or 0. */
static pid_t
start_command(const struct bench *b)
{
    char *argv[] = { "sh", "-c", (char *) b->at_begin, NULL };
    pid_t pid;

    if (!b->at_begin) {
        return 0;
    }
    errno = posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);
    if (errno) {
        fatal("cannot start \"%s\"", b->at_begin);
    }
    return pid;
}

static void
wait_for_command(const struct bench *b, pid_t pid)
{
    int status;

    if (pid && (waitpid(pid, &status, 0) != pid || status)) {
        errno = 0;
        fatal("\"%s\" failed", b->at_begin);
    }
}

/* Sends each frame at its time.  Probes are sent in the middle between two
 * portions of the flood. */
static void
send_schedule(struct bench *b)
{
    int64_t start = now_ns(CLOCK_MONOTONIC) + (b->lead_ms ? 1 : 10) * TICK_NS;
    int64_t length = b->probe_count * b->interval_ns;
    struct flood flood = {
        .start = start,
        .n_ticks = b->flood_rate ? length / TICK_NS : 0,
        .rate = b->flood_rate,
    };
    uint32_t probe = 0;
    pid_t command;

    sleep_until(start);
    b->begin = now_ns(CLOCK_REALTIME);
    b->cpu_s = -cpu_seconds();
    command = start_command(b);
    while (!stopped && (probe < b->probe_count
                        || flood.tick < flood.n_ticks)) {
        int64_t next_probe = probe < b->probe_count
                             ? start + probe * b->interval_ns + TICK_NS / 2
                             : INT64_MAX;
        int64_t next_tick = flood.tick < flood.n_ticks
                            ? start + flood.tick * TICK_NS : INT64_MAX;
        int64_t next = next_probe < next_tick ? next_probe : next_tick;
        int64_t now;

        sleep_until(next);
        if (stopped) {
            break;
        }
        now = now_ns(CLOCK_MONOTONIC);
        if (now - next > b->max_late) {
            b->max_late = now - next;
        }
        if (next_probe < next_tick) {
            send_probe(b, probe++);
        } else {
            b->not_sent += send_due(b, FLOOD, &flood, now);
        }
    }
    sleep_until(start + length);
    b->end = now_ns(CLOCK_REALTIME);
    b->cpu_s += cpu_seconds();
    wait_for_command(b, command);
}

static uint32_t
n_received(const struct bench *b)
{
    return b->kinds[PROBE].n + b->kinds[FLOOD].n;
}

/* Sends probes so that as many as permitted are in flight, and checks once per
 * portion which have returned.  When none has returned for as long as the user
 * said, those in flight are lost, and others are sent instead. */
static void
send_window(struct bench *b)
{
    uint32_t before = 0, lost = 0;
    int64_t settle = b->settle_ms * INT64_C(1000000);
    int64_t now = now_ns(CLOCK_MONOTONIC);
    int64_t changed = now;

    b->begin = now_ns(CLOCK_REALTIME);
    b->cpu_s = -cpu_seconds();
    while (b->number < b->probe_count && !stopped) {
        struct frame frames[SEND_BATCH];
        uint32_t ports[SEND_BATCH];
        unsigned int n = 0;

        receive_waiting(b);
        if (n_received(b) != before) {
            before = n_received(b);
            changed = now;
        } else if (now - changed > settle) {
            lost = b->number - before;
            changed = now;
        }
        while (b->number < b->probe_count
               && (int64_t) b->number - before - lost < b->window) {
            ports[n] = probe_port(b, b->number);
            make_frame(b, PROBE, ports[n], now_ns(CLOCK_REALTIME), &frames[n]);
            if (++n == SEND_BATCH) {
                send_frames(b, frames, ports, n);
                n = 0;
            }
        }
        if (n) {
            send_frames(b, frames, ports, n);
        }
        now += TICK_NS;
        sleep_until(now);
    }
    b->end = now_ns(CLOCK_REALTIME);
    b->cpu_s += cpu_seconds();
}

/* Sends everything. */
void
send_all(struct bench *b)
{
    signal(SIGTERM, stop);
    get_priority(b);
    if (b->window) {
        send_window(b);
    } else {
        if (b->lead_ms) {
            send_lead(b);
        }
        send_schedule(b);
    }
    drop_priority();
}
