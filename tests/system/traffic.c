/* SPDX-License-Identifier: Apache-2.0 */

/* Sends and receives numbered Ethernet frames.
 *
 * Tests need to know exactly which packets arrived and in what order, which
 * ping does not tell.  They also need packets that each miss the flows of the
 * datapath, so that each one is an upcall.  A frame carries the number of its
 * stream, its number in the stream, and whether it is the last one; its source
 * address is made from both numbers (or, with --same, from the stream's
 * alone; with --flows=N, from the remainder of the number by N).  With --udp
 * the frames are UDP in IPv4, and their source port is made the same way.
 *
 * With --window a sender waits while that many of its frames have not arrived,
 * which the receiver tells it through a file: then none is lost on a slow
 * machine just because it comes too fast. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* IEEE 802 local experimental Ethertype 1. */
#define TRAFFIC_ETHERTYPE 0x88b5

#define TRAFFIC_MAGIC 0x6b647074

/* With --udp, the destination port, and the first of the source ports. */
#define UDP_PORT 9000

/* Streams that one receiver can tell apart. */
#define MAX_STREAMS 64

/* A receiver must not lose what the switch delivered: it says so if the kernel
 * dropped frames at its socket, and this makes that unlikely. */
#define RECEIVE_BUFFER (64 * 1024 * 1024)

struct payload {
    uint32_t magic;
    uint32_t stream;
    uint32_t number;
    uint8_t last;
    int64_t sent_ns;            /* In the byte order of the machine. */
    uint8_t pad[25];
} __attribute__((packed));

struct frame {
    uint8_t dst[6];
    uint8_t src[6];
    uint16_t ethertype;
    union {
        struct payload raw;
        struct {
            struct iphdr ip;
            struct udphdr udp;
            struct payload payload;
        } __attribute__((packed)) udp;
    } __attribute__((packed));
} __attribute__((packed));

/* Bytes of a frame, which is one of UDP if 'udp'. */
static size_t
frame_size(bool udp)
{
    return (offsetof(struct frame, raw)
            + (udp ? sizeof ((struct frame *) NULL)->udp
               : sizeof (struct payload)));
}

static struct payload *
frame_payload(struct frame *frame, bool udp)
{
    return udp ? &frame->udp.payload : &frame->raw;
}

static volatile sig_atomic_t stopped;

static void
stop(int signum)
{
    (void) signum;
    stopped = 1;
}

static void __attribute__((noreturn, format(printf, 1, 2)))
fatal(const char *format, ...)
{
    int error = errno;
    va_list args;

    fprintf(stderr, "traffic: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    if (error) {
        fprintf(stderr, " (%s)", strerror(error));
    }
    fputc('\n', stderr);
    exit(2);
}

static void __attribute__((noreturn))
usage(int status)
{
    fputs("usage: traffic send [OPTION]... IFACE\n"
          "       traffic recv [OPTION]... IFACE\n"
          "send:\n"
          "  -s, --stream=N    number of the stream (default 0)\n"
          "  -n, --count=N     frames to send (default 1; 0: until SIGTERM\n"
          "                    and then one more)\n"
          "  -r, --rate=N      frames a second (default: as many as possible)\n"
          "  -d, --dst=MAC     destination address (default: broadcast)\n"
          "  --same            one source address for the whole stream\n"
          "  --flows=N         N source addresses in turn\n"
          "  --udp             UDP in IPv4, of as many source ports\n"
          "  --sport=N         of this source port alone, with --udp\n"
          "  --window=N        waits while N frames have not arrived\n"
          "  --progress=FILE   where the receiver says which have\n"
          "  Prints the number of frames sent.\n"
          "recv:\n"
          "  -s, --streams=N   N streams are expected (default 1)\n"
          "  -f, --first=N     the first of them (default 0)\n"
          "  -t, --timeout=S   seconds without a frame before it gives up\n"
          "                    (default 10)\n"
          "  --udp             the frames are UDP in IPv4\n"
          "  --progress=FILE   where it says what has arrived, for senders\n"
          "  --times=FILE      where it writes, for each frame, when it was\n"
          "                    sent and came, in seconds of CLOCK_MONOTONIC\n"
          "  Ends when it has all frames of all streams, or was idle too\n"
          "  long, or on SIGTERM when no frame is waiting.  Prints\n"
          "  \"ready\", at the end a line for the frames of other streams\n"
          "  and one for each stream:\n"
          "  others N\n"
          "  stream N received N lost N duplicated N reordered N\n"
          "  Exit status 0 if nothing was lost or duplicated, 1 otherwise.\n",
          status ? stderr : stdout);
    exit(status);
}

static uint32_t
parse_number(const char *s)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(s, &end, 10);
    if (errno || *s == '\0' || *end != '\0' || value > UINT32_MAX) {
        errno = 0;
        fatal("\"%s\" is not a number", s);
    }
    return value;
}

static int
open_socket(const char *iface, uint16_t ethertype)
{
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ethertype),
        .sll_ifindex = if_nametoindex(iface),
    };
    int fd;

    if (!address.sll_ifindex) {
        fatal("%s: no such device", iface);
    }
    /* Protocol 0 until bound, or frames of other devices would come in. */
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof address)) {
        fatal("%s: cannot open a packet socket", iface);
    }
    return fd;
}

/* Maps file 'name', which the receiver makes again: for each stream, how many
 * of its frames have arrived. */
static atomic_uint *
map_progress(const char *name, bool make)
{
    const size_t size = MAX_STREAMS * sizeof(atomic_uint);
    int fd = open(name, O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_TRUNC : 0),
                  0600);
    void *progress = MAP_FAILED;

    if (fd >= 0 && (!make || !ftruncate(fd, size))) {
        progress = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (progress == MAP_FAILED) {
        fatal("%s: cannot map the file", name);
    }
    close(fd);
    return progress;
}

static int64_t
now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Sleeps until 'when' or until a signal comes. */
static void
sleep_until(int64_t when)
{
    struct timespec ts = {
        .tv_sec = when / 1000000000,
        .tv_nsec = when % 1000000000,
    };

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void
send_frame(int fd, const struct frame *frame, size_t size)
{
    while (send(fd, frame, size, 0) < 0) {
        if (errno == ENOBUFS || errno == EAGAIN) {
            /* The device's queue is full. */
            struct pollfd pfd = { .fd = fd, .events = POLLOUT };

            poll(&pfd, 1, 1);
        } else if (errno != EINTR) {
            fatal("send");
        }
    }
}

/* Makes 'frame' one of UDP, from 192.0.2.1 to 192.0.2.2. */
static void
make_udp(struct frame *frame)
{
    const uint16_t len = sizeof frame->udp - sizeof frame->udp.ip;
    uint16_t words[sizeof frame->udp.ip / 2];
    uint32_t sum = 0;

    frame->ethertype = htons(ETHERTYPE_IP);
    frame->udp.ip = (struct iphdr) {
        .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP,
        .tot_len = htons(sizeof frame->udp),
        .saddr = htonl(0xc0000201), .daddr = htonl(0xc0000202),
    };
    memcpy(words, &frame->udp.ip, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        sum += words[i];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    frame->udp.ip.check = ~(sum + (sum >> 16));
    /* No checksum of UDP. */
    frame->udp.udp = (struct udphdr) {
        .source = htons(UDP_PORT), .dest = htons(UDP_PORT),
        .len = htons(len),
    };
}

static int
do_send(int argc, char *argv[])
{
    static const struct option options[] = {
        { "stream", required_argument, NULL, 's' },
        { "count", required_argument, NULL, 'n' },
        { "rate", required_argument, NULL, 'r' },
        { "dst", required_argument, NULL, 'd' },
        { "same", no_argument, NULL, 'S' },
        { "flows", required_argument, NULL, 'F' },
        { "udp", no_argument, NULL, 'U' },
        { "sport", required_argument, NULL, 'P' },
        { "window", required_argument, NULL, 'w' },
        { "progress", required_argument, NULL, 'p' },
        { NULL, 0, NULL, 0 },
    };
    struct sigaction action = { .sa_handler = stop };
    struct frame frame = {
        .dst = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
        .ethertype = htons(TRAFFIC_ETHERTYPE),
    };
    struct payload *payload;
    bool udp = false;
    uint32_t count = 1, rate = 0, stream = 0, number = 0;
    uint32_t n_flows = 0;       /* 0: each frame is one. */
    uint32_t sport = 0;         /* 0: one for each flow. */
    uint32_t window = 0;        /* 0: no bound. */
    atomic_uint *progress = NULL;
    int64_t start;
    int c, fd;

    while ((c = getopt_long(argc, argv, "s:n:r:d:", options, NULL)) != -1) {
        switch (c) {
        case 's': stream = parse_number(optarg); break;
        case 'n': count = parse_number(optarg); break;
        case 'r': rate = parse_number(optarg); break;
        case 'S': n_flows = 1; break;
        case 'F': n_flows = parse_number(optarg); break;
        case 'U': udp = true; break;
        case 'P': sport = parse_number(optarg); break;
        case 'w': window = parse_number(optarg); break;
        case 'p': progress = map_progress(optarg, false); break;
        case 'd':
            if (sscanf(optarg, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx",
                       &frame.dst[0], &frame.dst[1], &frame.dst[2],
                       &frame.dst[3], &frame.dst[4], &frame.dst[5]) != 6) {
                errno = 0;
                fatal("\"%s\" is not an Ethernet address", optarg);
            }
            break;
        default: usage(2);
        }
    }
    if (optind + 1 != argc || !window != !progress
        || (window && stream >= MAX_STREAMS)) {
        usage(2);
    }

    fd = open_socket(argv[optind], 0);
    sigaction(SIGTERM, &action, NULL);
    if (udp) {
        make_udp(&frame);
    }
    payload = frame_payload(&frame, udp);
    payload->magic = htonl(TRAFFIC_MAGIC);
    payload->stream = htonl(stream);
    frame.src[0] = 0x02;
    frame.src[1] = stream;
    start = now_ns();
    do {
        payload->number = htonl(number);
        if (n_flows != 1) {
            uint32_t flow = htonl(n_flows ? number % n_flows : number);

            memcpy(&frame.src[2], &flow, sizeof flow);
            if (udp) {
                frame.udp.udp.source = htons(sport ? sport : UDP_PORT
                                             + ntohl(flow) % 50000);
            }
        }
        if (rate) {
            sleep_until(start + number * INT64_C(1000000000) / rate);
        }
        while (window && !stopped
               && number - atomic_load(&progress[stream]) >= window) {
            sleep_until(now_ns() + 1000000);
        }
        payload->last = stopped || number + 1 == count;
        payload->sent_ns = now_ns();
        send_frame(fd, &frame, frame_size(udp));
        number++;
    } while (!payload->last);
    printf("%"PRIu32"\n", number);
    return 0;
}

/* What a receiver knows of a stream. */
struct stream {
    uint8_t *seen;              /* A byte for each number. */
    size_t allocated;
    uint32_t n;                 /* Different numbers seen. */
    uint32_t end;               /* One more than the highest number seen. */
    bool ended;                 /* The frame marked as the last one was
                                 * seen. */
    uint32_t duplicated;
    uint32_t reordered;         /* Came after a higher number. */
};

static void
stream_add(struct stream *stream, uint32_t number)
{
    if (number >= stream->allocated) {
        size_t allocated = (number + 1) * (size_t) 2;

        stream->seen = realloc(stream->seen, allocated);
        if (!stream->seen) {
            fatal("no memory for number %"PRIu32, number);
        }
        memset(stream->seen + stream->allocated, 0,
               allocated - stream->allocated);
        stream->allocated = allocated;
    }
    if (stream->seen[number]) {
        stream->duplicated++;
        return;
    }
    stream->seen[number] = 1;
    stream->n++;
    if (number < stream->end) {
        stream->reordered++;
    } else {
        stream->end = number + 1;
    }
}

static bool
complete(const struct stream streams[], uint32_t n_streams)
{
    for (uint32_t i = 0; i < n_streams; i++) {
        if (!streams[i].ended || streams[i].n < streams[i].end) {
            return false;
        }
    }
    return true;
}

/* Ends the program if the receiver's own socket lost frames: the test would
 * blame the switch. */
static void
check_own_loss(int fd)
{
    struct tpacket_stats stats;
    socklen_t len = sizeof stats;

    if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len)) {
        fatal("PACKET_STATISTICS");
    }
    if (stats.tp_drops) {
        errno = 0;
        fatal("the receiver's socket dropped %u frames", stats.tp_drops);
    }
}

static int
report(const struct stream streams[], uint32_t n_streams, uint32_t first,
       uint32_t n_others)
{
    int status = 0;

    printf("others %"PRIu32"\n", n_others);
    for (uint32_t i = 0; i < n_streams; i++) {
        const struct stream *s = &streams[i];
        /* Without the last frame, at least that one is lost. */
        uint32_t lost = s->end - s->n + !s->ended;

        printf("stream %"PRIu32" received %"PRIu32" lost %"PRIu32
               " duplicated %"PRIu32" reordered %"PRIu32"\n",
               first + i, s->n, lost, s->duplicated, s->reordered);
        if (lost || s->duplicated) {
            status = 1;
        }
    }
    return status;
}

static int
do_recv(int argc, char *argv[])
{
    static const struct option options[] = {
        { "streams", required_argument, NULL, 's' },
        { "first", required_argument, NULL, 'f' },
        { "timeout", required_argument, NULL, 't' },
        { "udp", no_argument, NULL, 'U' },
        { "progress", required_argument, NULL, 'p' },
        { "times", required_argument, NULL, 'T' },
        { NULL, 0, NULL, 0 },
    };
    static struct stream streams[MAX_STREAMS];
    struct sigaction action = { .sa_handler = stop };
    uint32_t n_streams = 1, first = 0, timeout = 10, n_others = 0;
    int buffer = RECEIVE_BUFFER;
    atomic_uint *progress = NULL;
    FILE *times = NULL;
    bool udp = false;
    int c, fd;

    while ((c = getopt_long(argc, argv, "s:f:t:", options, NULL)) != -1) {
        switch (c) {
        case 's': n_streams = parse_number(optarg); break;
        case 'f': first = parse_number(optarg); break;
        case 't': timeout = parse_number(optarg); break;
        case 'U': udp = true; break;
        case 'p': progress = map_progress(optarg, true); break;
        case 'T':
            times = fopen(optarg, "we");
            if (!times) {
                fatal("%s", optarg);
            }
            break;
        default: usage(2);
        }
    }
    if (optind + 1 != argc || n_streams > MAX_STREAMS
        || (progress && first > MAX_STREAMS - n_streams)) {
        usage(2);
    }

    fd = open_socket(argv[optind], udp ? ETHERTYPE_IP : TRAFFIC_ETHERTYPE);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer)) {
        fatal("SO_RCVBUFFORCE");
    }
    sigaction(SIGTERM, &action, NULL);
    printf("ready\n");
    fflush(stdout);

    while (!complete(streams, n_streams)) {
        struct pollfd pfd = { .fd = fd, .events = POLLIN };
        struct frame frame;
        int n = poll(&pfd, 1, stopped ? 0 : timeout * 1000);

        if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0) {
            fatal("poll");
        } else if (!n) {
            break;
        }
        while (recv(fd, &frame, sizeof frame, MSG_DONTWAIT)
               == frame_size(udp)) {
            const struct payload *payload = frame_payload(&frame, udp);
            uint32_t stream = ntohl(payload->stream) - first;

            if (ntohl(payload->magic) != TRAFFIC_MAGIC) {
                continue;
            } else if (stream < n_streams) {
                stream_add(&streams[stream], ntohl(payload->number));
                if (times) {
                    fprintf(times, "%.6f %.6f\n", payload->sent_ns / 1e9,
                            now_ns() / 1e9);
                }
                streams[stream].ended |= payload->last;
                if (progress) {
                    atomic_store(&progress[first + stream],
                                 streams[stream].n);
                }
            } else {
                n_others++;
            }
        }
    }
    check_own_loss(fd);
    if (times && fclose(times)) {
        fatal("cannot write the times");
    }
    return report(streams, n_streams, first, n_others);
}

int
main(int argc, char *argv[])
{
    if (argc > 1 && !strcmp(argv[1], "send")) {
        return do_send(argc - 1, argv + 1);
    } else if (argc > 1 && !strcmp(argv[1], "recv")) {
        return do_recv(argc - 1, argv + 1);
    }
    usage(argc > 1 && !strcmp(argv[1], "--help") ? 0 : 2);
}
