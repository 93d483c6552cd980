/* SPDX-License-Identifier: Apache-2.0 */

/* Sends frames that are upcalls, and measures how long they take and how many
 * are lost.
 *
 * The devices PREFIX0, PREFIX1, ... in a network namespace are the far ends of
 * a bridge's ports.  With --remotes there are more senders: machines that
 * reach the bridge through one tunnel port.  Their frames are wrapped in
 * Geneve, each machine with an outer source address and a VNI of its own, and
 * go into TUNNEL_DEVICE, whose far end has the address of the tunnel.  Options
 * and results treat the machines as ports that follow the others.
 *
 * A frame sent into one of them enters the bridge, misses the datapath's flows
 * because its source address is new, goes to the daemon, and is sent by it to
 * the bridge's local port, where this program receives it.  Its latency is the
 * time from just before the system call that sent it to the time stamp that
 * the kernel gave it at the local port.  Both are times of the same clock in
 * the same kernel.
 *
 * With --udp the frames are IPv4 and UDP, each from another address, for rules
 * that tc accepts; with --flows the addresses repeat after some frames.
 *
 * One thread sends everything.  There are two kinds of frames: probes, sent at
 * a fixed interval to one port (or to several in turn), which measure, and a
 * flood, sent at a given rate to all or some ports in turn, which disturbs.
 * As one thread sends both, both enter the datapath on the same CPU, unless
 * the kernel is told to spread them.  It runs at a real-time priority, as
 * traffic from a network card would not wait for the daemon either.
 *
 * With --lead the flood begins before the measurement, so that all buffers
 * that it can fill are full by then; with --stop the daemon is stopped
 * meanwhile, and they fill sooner.  With --run-in the flood goes on for some
 * time while the daemon runs again, before the measurement.  With --at-begin a
 * command is started when the measurement begins.
 *
 * Nothing is received while frames are being sent: the socket's buffer is
 * large enough for all of them, so the measurement takes no CPU time from what
 * it measures.  The exceptions are the lead, the run-in, and --window, with
 * which frames are sent as fast as they come back: as many as may be under way
 * are there for the daemon to take at any time, and none is lost because a
 * buffer is full. */

#ifndef UPCALL_TRAFFIC_H
#define UPCALL_TRAFFIC_H 1

#include <linux/ip.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* IEEE 802 local experimental Ethertype 1. */
#define BENCH_ETHERTYPE 0x88b5

#define BENCH_MAGIC 0x6b647062

/* Source and destination addresses of frames with --udp: 10.0.0.0 and up, and
 * 198.18.0.RUN, which are private and for benchmarks (RFC 2544).  Port 9
 * discards. */
#define UDP_SOURCES 0x0a000000
#define UDP_DESTINATION 0xc6120000
#define UDP_PORT 9

/* The tunnel: its device in the namespace, the Ethernet address of that
 * device's far end, the addresses of the tunnel's ends, and its UDP port.  The
 * addresses are for benchmarks, too. */
#define TUNNEL_DEVICE "tunnel"
#define TUNNEL_MAC { 0x02, 0, 0, 0, 0, 1 }
#define TUNNEL_LOCAL 0xc6130001
#define TUNNEL_REMOTES 0xc6130100
#define TUNNEL_PORT 6081

/* More remote machines than this do not fit into the network of the tunnel. */
#define MAX_REMOTES 60000

/* More ports than this do not fit into a datapath (DP_MAX_PORTS). */
#define MAX_PORTS 65535

/* Ports that get frames in turn. */
struct range {
    uint32_t first, last;
};

/* The lead is a flood before the measurement, which fills the buffers. */
enum kind { PROBE, FLOOD, LEAD, N_KINDS };

/* What frames have in front of the payload. */
struct ethernet {
    uint8_t dst[6];
    uint8_t src[6];
    uint16_t ethertype;
} __attribute__((packed));

/* The rest of it with --udp. */
struct udp {
    struct iphdr ip;
    struct udphdr udp;
} __attribute__((packed));

/* What frames of remote machines have in front of all that. */
struct outer {
    struct ethernet ethernet;
    struct udp udp;
    uint8_t geneve[2];          /* Version, length of options, flags: 0. */
    uint16_t protocol;
    uint32_t vni;               /* In the upper 24 bits. */
} __attribute__((packed));

struct payload {
    uint32_t magic;
    uint32_t run;
    uint32_t number;            /* Of all frames of this run. */
    uint32_t port;
    uint8_t kind;               /* enum kind. */
    int64_t sent;               /* CLOCK_REALTIME, ns. */
} __attribute__((packed));

#define MAX_FRAME (sizeof(struct ethernet) + sizeof(struct udp)    \
                   + sizeof(struct payload))

/* The shortest frame, without its check sum (802.3). */
#define MIN_FRAME 60

struct frame {
    uint8_t bytes[MAX_FRAME];
};

struct port {
    int ifindex;
    uint32_t sent;              /* Without the lead, as the next one. */
    uint32_t received;
    uint32_t in_window;         /* Received, of all, while those were sent. */
    uint32_t lead_sent;
    uint32_t lead_received;
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
    uint32_t n_ports;           /* With the remote machines, which... */
    uint32_t n_remotes;         /* ...are the last ones. */
    uint32_t run, probe_count, per_port, flood_rate;
    struct range probed, flooded;
    bool each;                  /* All probes of a port, then of the next. */
    uint32_t settle_ms, lead_ms, run_in_ms;
    pid_t stop;                 /* To be stopped during the lead, or 0. */
    int64_t interval_ns;
    int cpu;
    bool udp;                   /* Frames are IPv4 and UDP... */
    uint32_t flows;             /* ...from so many addresses, 0: any. */
    const char *at_begin;       /* Command to start, or NULL. */
    uint32_t window;            /* Frames under way, 0: send by the clock. */

    int rx, tx;
    struct port *ports;
    struct samples kinds[N_KINDS];
    struct frame frame;         /* Template. */
    size_t payload;             /* Where it begins in a frame. */
    size_t length;              /* Of a frame. */
    uint32_t number;            /* Of the next frame. */
    uint32_t flood_next;        /* Port of the flood's next frame. */
    uint8_t *seen;              /* For each number, whether it was received. */
    uint32_t allocated;         /* Elements of 'seen'. */
    uint32_t duplicates;
    int64_t begin, end;         /* Of sending after the lead,
                                 * CLOCK_REALTIME. */
    int64_t latest;             /* Time stamp of the last frame received. */
    uint64_t not_sent;
    int64_t max_late;           /* Longest delay of sending, in ns. */
    double cpu_s;               /* CPU time of sending, in seconds. */
};

/* upcall-traffic.c */
void fatal(const char *format, ...)
    __attribute__((noreturn, format(printf, 1, 2)));
void *allocate(size_t n, size_t size);

/* upcall-send.c */
void open_sender(struct bench *);
void send_all(struct bench *);

/* upcall-receive.c */
void open_receiver(struct bench *);
void receive_waiting(struct bench *);
void receive_all(struct bench *);

#endif /* upcall-traffic.h */
