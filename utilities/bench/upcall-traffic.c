/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "upcall-traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

void
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

void *
allocate(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p) {
        fatal("no memory for %zu elements", n);
    }
    return p;
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
    printf("\"lead\": {\"sent\": %"PRIu32", \"received\": %zu},\n",
           b->kinds[LEAD].sent, b->kinds[LEAD].n);
    printf("\"probed\": [%"PRIu32", %"PRIu32"], \"flooded\": [%"PRIu32
           ", %"PRIu32"],\n", b->probed.first, b->probed.last,
           b->flooded.first, b->flooded.last);
    printf("\"ports\": [");
    for (uint32_t i = 0; i < b->n_ports; i++) {
        const struct port *p = &b->ports[i];

        printf("%s[%"PRIu32", %"PRIu32", %"PRIu32", %"PRIu32", %"PRIu32"]",
               i ? ", " : "", p->sent, p->received, p->in_window,
               p->lead_sent, p->lead_received);
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
           "\"max_late_us\": %.1f, \"send_cpu_s\": %.6f, "
           "\"begin_ns\": %"PRId64", \"latest_s\": %.6f}\n",
           (b->end - b->begin) / 1e9, b->number,
           b->kinds[PROBE].n + b->kinds[FLOOD].n + b->kinds[LEAD].n,
           b->not_sent, b->duplicates,
           b->max_late / 1000.0, b->cpu_s, b->begin,
           b->latest ? (b->latest - b->begin) / 1e9 : 0);
}

static void __attribute__((noreturn))
usage(int status)
{
    fputs("usage: upcall-traffic [OPTION]...\n"
          "  --local=IFACE     local port of the bridge (default br0)\n"
          "  --netns=NAME      namespace of the far ends (default gen)\n"
          "  --prefix=NAME     devices there are NAME0, NAME1... (default f)\n"
          "  --ports=N         number of them (default 1)\n"
          "  --remotes=N       and of machines behind the tunnel's device\n"
          "                    "TUNNEL_DEVICE" there, which count as further\n"
          "                    ports (default 0)\n"
          "  --cpu=N           CPU that sends (default 0)\n"
          "  --run=N           0 to 255; source addresses differ from those\n"
          "                    of other runs (default 0)\n"
          "  --probe=N|A-B|turn|each\n"
          "                    port to send probes to, or from A to B one to\n"
          "                    each in turn, or to all so, or to each all of\n"
          "                    its probes (default 0)\n"
          "  --count=N         probes, with \"each\" for each port\n"
          "                    (default 1000)\n"
          "  --interval=US     time between two probes (default 1000)\n"
          "  --flood=N         other frames a second, to ports in turn\n"
          "                    (default 0)\n"
          "  --flooded=A-B     to these (default: to all)\n"
          "  --lead=MS         the flood begins so long before what is\n"
          "                    measured (default 0)\n"
          "  --stop=PID        and this process is stopped meanwhile\n"
          "  --run-in=MS       then the flood goes on, while it runs, so long\n"
          "                    before what is measured (default 0)\n"
          "  --at-begin=COMMAND\n"
          "                    started when what is measured begins\n"
          "  --window=N        probes under way at a time, sent as fast as\n"
          "                    they come back, without a flood (default 0:\n"
          "                    sent by the clock)\n"
          "  --udp             frames are IPv4 and UDP from 10.0.0.0 and up\n"
          "  --flows=N         from so many addresses in turn (default 0:\n"
          "                    each from another one)\n"
          "  --settle=MS       time without a frame after which the missing\n"
          "                    ones are lost (default 1000)\n"
          "Prints JSON; times are in microseconds.  A member of \"ports\" is\n"
          "frames sent and received, without the lead; received, with it,\n"
          "while they were sent; sent and received of the lead.\n"
          "SIGTERM ends sending.\n",
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

/* Parses "A-B" or "A".  Whether there are such ports is checked later. */
static struct range
parse_range(const char *name, const char *s)
{
    char first[16];
    size_t length = strcspn(s, "-");
    struct range range;

    snprintf(first, sizeof first, "%.*s", (int) MIN(length, sizeof first), s);
    range.first = parse_number(name, first, 0, MAX_PORTS - 1);
    range.last = s[length] ? parse_number(name, s + length + 1, range.first,
                                          MAX_PORTS - 1) : range.first;
    return range;
}

static void
check_range(const struct bench *b, const char *name, const struct range *range)
{
    if (range->last >= b->n_ports) {
        fatal("--%s=%"PRIu32"-%"PRIu32": expected 0 to %"PRIu32, name,
              range->first, range->last, b->n_ports - 1);
    }
}

static void
parse_options(struct bench *b, int argc, char *argv[])
{
    static const struct option options[] = {
        { "local", required_argument, NULL, 'l' },
        { "netns", required_argument, NULL, 'n' },
        { "prefix", required_argument, NULL, 'x' },
        { "remotes", required_argument, NULL, 'm' },
        { "flooded", required_argument, NULL, 'O' },
        { "ports", required_argument, NULL, 'p' },
        { "cpu", required_argument, NULL, 'c' },
        { "run", required_argument, NULL, 'r' },
        { "probe", required_argument, NULL, 'P' },
        { "count", required_argument, NULL, 'C' },
        { "interval", required_argument, NULL, 'i' },
        { "flood", required_argument, NULL, 'f' },
        { "settle", required_argument, NULL, 'S' },
        { "lead", required_argument, NULL, 'L' },
        { "stop", required_argument, NULL, 'T' },
        { "run-in", required_argument, NULL, 'R' },
        { "at-begin", required_argument, NULL, 'B' },
        { "window", required_argument, NULL, 'w' },
        { "udp", no_argument, NULL, 'u' },
        { "flows", required_argument, NULL, 'F' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    bool all_probed = false, some_flooded = false;
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
            b->each = !strcmp(optarg, "each");
            all_probed = b->each || !strcmp(optarg, "turn");
            if (!all_probed) {
                b->probed = parse_range(name, optarg);
            }
            break;
        case 'm':
            b->n_remotes = parse_number(name, optarg, 0, MAX_REMOTES);
            break;
        case 'O':
            b->flooded = parse_range(name, optarg);
            some_flooded = true;
            break;
        case 'C': b->per_port = parse_number(name, optarg, 1, 1000000); break;
        case 'i':
            b->interval_ns = parse_number(name, optarg, 1, 1000000) * 1000;
            break;
        case 'f': b->flood_rate = parse_number(name, optarg, 0, 10000000);
            break;
        case 'T': b->stop = parse_number(name, optarg, 2, INT_MAX); break;
        case 'L': b->lead_ms = parse_number(name, optarg, 0, 600000); break;
        case 'R': b->run_in_ms = parse_number(name, optarg, 0, 600000); break;
        case 'B': b->at_begin = optarg; break;
        case 'w': b->window = parse_number(name, optarg, 0, 100000); break;
        case 'u': b->udp = true; break;
        case 'F': b->flows = parse_number(name, optarg, 0, 1000000); break;
        case 'S': b->settle_ms = parse_number(name, optarg, 1, 60000); break;
        case 'h': usage(0);
        default: usage(2);
        }
    }
    errno = 0;
    if (optind != argc) {
        fatal("%s: unexpected argument", argv[optind]);
    }
    b->n_ports += b->n_remotes;
    if (all_probed) {
        b->probed = (struct range) { 0, b->n_ports - 1 };
    }
    if (!some_flooded) {
        b->flooded = (struct range) { 0, b->n_ports - 1 };
    } else if (!b->flood_rate) {
        fatal("--flooded=%"PRIu32"-%"PRIu32": expected --flood",
              b->flooded.first, b->flooded.last);
    }
    check_range(b, "probe", &b->probed);
    check_range(b, "flooded", &b->flooded);
    b->probe_count = b->per_port * (b->each ? b->n_ports : 1);
    b->flood_next = b->flooded.first;
    if (b->window && b->flood_rate) {
        fatal("--window=%"PRIu32": expected no --flood", b->window);
    }
    if (b->lead_ms && !b->flood_rate) {
        fatal("--lead=%"PRIu32": expected --flood", b->lead_ms);
    }
    if (b->run_in_ms && !b->lead_ms) {
        fatal("--run-in=%"PRIu32": expected --lead", b->run_in_ms);
    }
    if (b->stop && !b->lead_ms) {
        fatal("--stop=%d: expected --lead", (int) b->stop);
    }
    if (b->flows && !b->udp) {
        fatal("--flows=%"PRIu32": expected --udp", b->flows);
    }
}

/* Fills in the common part of all frames. */
static void
make_template(struct bench *b)
{
    struct ethernet *ethernet = (struct ethernet *) b->frame.bytes;
    struct payload *payload;

    *ethernet = (struct ethernet) {
        .dst = { 0x02, 0xff, 0xff, 0xff, 0xff, 0xff },
        .src = { 0x02, b->run },
        .ethertype = htons(b->udp ? ETH_P_IP : BENCH_ETHERTYPE),
    };
    b->payload = sizeof *ethernet;
    if (b->udp) {
        *(struct udp *) (ethernet + 1) = (struct udp) {
            .ip = {
                .version = 4,
                .ihl = 5,
                .tot_len = htons(sizeof(struct udp) + sizeof *payload),
                .ttl = 64,
                .protocol = IPPROTO_UDP,
                .daddr = htonl(UDP_DESTINATION | b->run),
            },
            .udp = {
                .source = htons(UDP_PORT),
                .dest = htons(UDP_PORT),
                .len = htons(sizeof(struct udphdr) + sizeof *payload),
            },
        };
        b->payload += sizeof(struct udp);
    }
    b->length = b->payload + sizeof *payload;
    if (b->length < MIN_FRAME) {
        b->length = MIN_FRAME;
    }
    payload = (struct payload *) &b->frame.bytes[b->payload];
    payload->magic = htonl(BENCH_MAGIC);
    payload->run = htonl(b->run);
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
    };

    parse_options(&b, argc, argv);
    make_template(&b);
    b.ports = allocate(b.n_ports, sizeof *b.ports);

    open_receiver(&b);
    open_sender(&b);
    send_all(&b);
    receive_all(&b);
    report(&b);
    return 0;
}
