/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "upcall-traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Frames in one system call. */
#define RECV_BATCH 64

void
open_receiver(struct bench *b)
{
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(b->udp ? ETH_P_IP : BENCH_ETHERTYPE),
        .sll_ifindex = if_nametoindex(b->local),
    };
    int buffer = INT_MAX / 2;
    int on = 1;

    if (!address.sll_ifindex) {
        fatal("%s: no such device", b->local);
    }
    /* Protocol 0 until it is bound, to receive no frames of other devices. */
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

/* Counts the frame with 'payload', to which the kernel gave the time stamp
 * 'stamp'. */
static void
count_frame(struct bench *b, const struct payload *payload, int64_t stamp)
{
    uint32_t number = ntohl(payload->number);
    double us = (stamp - payload->sent) / 1000.0;
    struct port *port;

    if (ntohl(payload->magic) != BENCH_MAGIC || ntohl(payload->run) != b->run
        || number >= b->number || ntohl(payload->port) >= b->n_ports
        || payload->kind >= N_KINDS) {
        return;
    }
    if (b->seen[number]) {
        b->duplicates++;
        return;
    }
    b->seen[number] = 1;

    port = &b->ports[ntohl(payload->port)];
    port->in_window += b->begin && stamp >= b->begin && stamp <= b->end;
    if (payload->kind == LEAD) {
        port->lead_received++;
        b->kinds[LEAD].n++;
        return;
    }
    port->received++;
    if (payload->kind == PROBE) {
        port->probes++;
        port->probe_sum += us;
    }
    if (stamp > b->latest) {
        b->latest = stamp;
    }
    add_sample(&b->kinds[payload->kind], us);
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

/* Ends the program if its own socket has lost frames, for which the daemon
 * would be blamed. */
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

/* Makes room in 'seen' for all frames sent so far. */
static void
prepare_seen(struct bench *b)
{
    uint32_t n = b->probe_count > b->number ? b->probe_count : b->number;

    if (b->allocated < n) {
        b->seen = realloc(b->seen, n);
        if (!b->seen) {
            fatal("no memory for %"PRIu32" frames", n);
        }
        memset(&b->seen[b->allocated], 0, n - b->allocated);
        b->allocated = n;
    }
}

/* Receives some of the frames that wait.  Returns whether there were any. */
static bool
receive_batch(struct bench *b)
{
    struct { char bytes[64]; } __attribute__((aligned(8))) control[RECV_BATCH];
    struct frame frames[RECV_BATCH];
    struct mmsghdr msgs[RECV_BATCH];
    struct iovec iov[RECV_BATCH];
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
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            fatal("%s: cannot receive", b->local);
        }
        return errno == EINTR;
    }
    for (int i = 0; i < n; i++) {
        if (msgs[i].msg_len == b->length) {
            count_frame(b, (struct payload *) &frames[i].bytes[b->payload],
                        get_stamp(&msgs[i].msg_hdr));
        }
    }
    return n;
}

/* Receives the waiting frames. */
void
receive_waiting(struct bench *b)
{
    prepare_seen(b);
    while (receive_batch(b)) {
        continue;
    }
}

/* Receives waiting and later frames, until all have come or none came for as
 * long as the user said. */
void
receive_all(struct bench *b)
{
    prepare_seen(b);
    while (b->kinds[PROBE].n + b->kinds[FLOOD].n + b->kinds[LEAD].n
           < b->number) {
        struct pollfd pfd = { .fd = b->rx, .events = POLLIN };

        if (!receive_batch(b) && !poll(&pfd, 1, b->settle_ms)) {
            break;
        }
    }
    check_own_loss(b);
}
