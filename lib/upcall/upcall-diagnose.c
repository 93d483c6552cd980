/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-diagnose.h"

#include <inttypes.h>
#include <stdlib.h>

#include "unixctl/findings.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-rcvbuf.h"
#include "util.h"

/* The most ports, or senders, that findings name, the worst first.  The others
 * are added up. */
#define MAX_PORTS 5

/* Kernel memory of a port with the largest buffer: the kernel doubles the size
 * that it is given. */
#define MAX_BUFFER (2 * UPCALL_RCVBUF_MAX)

static const struct finding_kind upcalls_lost = {
    "upcalls-lost",
    "The packets are gone: new connections at the port stall or fail.",
    "Limit what it sends (ingress_policing_kpkts_rate of the interface, "
    "meters in flows to the controller), or give it more handlers: raise "
    "n-handler-threads, and upcall-port-queues of the interface; "
    "upcall/reset starts counting from 0.",
};

static const struct finding_kind upcalls_shed = {
    "upcalls-shed",
    "The packets are gone; they waited longer than upcall-target-delay, and "
    "newer ones were served instead.",
    "Limit what the port sends (\"upcall/show --senders\" shows the remotes "
    "behind a tunnel port), give it more handlers (n-handler-threads, and "
    "upcall-port-queues of the interface), or raise upcall-target-delay; "
    "upcall/reset starts counting from 0.",
};

static const struct finding_kind sender_shed = {
    "sender-shed",
    "It sends more than its share, and so its oldest packets are thrown away; "
    "other senders of the port are served first.  The address is the one in "
    "the packets, which the sender may have made up.",
    "Limit what it sends, at that machine or in the network between.  "
    "\"upcall/show --senders\" shows all senders.",
};

static const struct finding_kind sockets_shared = {
    "sockets-shared",
    "A noisy port harms the others on its socket.",
    "Raise LimitNOFILE of the service, or upcall-max-sockets.",
};

static const struct finding_kind descriptors_scarce = {
    "descriptors-scarce",
    "New ports will share sockets, and a noisy one then harms others.",
    "Raise the hard limit on open files (LimitNOFILE of the service).",
};

static const struct finding_kind sockets_not_kept = {
    "sockets-not-kept",
    "The next restart loses the packets of new flows that wait on them.",
    "Raise FileDescriptorStoreMax of the service, or the limit on open files "
    "of a daemon that runs as another user. systemd keeps about 5,000 at "
    "most.",
};

static const struct finding_kind buffers_small = {
    "buffers-small",
    "Shorter bursts of new connections lead to losses.",
    "Raise upcall-buffer-max, if the machine has the memory.",
};

static const struct finding_kind buffers_clamped = {
    "buffers-clamped",
    "Bursts of new connections lead to losses.",
    "Give the daemon CAP_NET_ADMIN, or raise net.core.rmem_max.",
};

static const struct finding_kind messages_refused = {
    "messages-refused",
    "Some process sends to sockets that only the kernel should send to; the "
    "messages were dropped.",
    "Find the process: it runs in the daemon's network namespace.",
};

/* How many upcalls of a port had a certain fate. */
struct port_count {
    const struct upcall_port_info *port;
    uint64_t n;
};

static int
compare_counts(const void *a_, const void *b_)
{
    const struct port_count *a = a_;
    const struct port_count *b = b_;

    return a->n < b->n ? 1 : a->n > b->n ? -1 : 0;
}

static uint64_t
get_lost(const struct upcall_channel_stats *stats)
{
    return stats->lost;
}

static uint64_t
get_shed(const struct upcall_channel_stats *stats)
{
    return stats->shed;
}

/* Adds findings of 'kind' for the ports whose upcalls had the fate that 'get'
 * counts, which 'fate' names. */
static void
diagnose_fate(const struct upcall_table_info *info,
              const struct finding_kind *kind, const char *fate,
              uint64_t (*get)(const struct upcall_channel_stats *),
              struct findings *findings)
{
    struct port_count *counts = xcalloc(info->n_ports, sizeof *counts);
    uint64_t others = 0;
    size_t n = 0;

    for (size_t i = 0; i < info->n_ports; i++) {
        uint64_t count = get(&info->ports[i].stats);

        if (count) {
            counts[n++] = (struct port_count) { &info->ports[i], count };
        }
    }
    qsort(counts, n, sizeof *counts, compare_counts);
    for (size_t i = 0; i < n; i++) {
        const struct upcall_port_info *port = counts[i].port;

        if (i >= MAX_PORTS) {
            others += counts[i].n;
            continue;
        }
        findings_add(findings, kind, "%s: port %s: %"PRIu64" upcalls %s, %"
                     PRIu64" received%s", info->name, port->name, counts[i].n,
                     fate, port->stats.received,
                     (port->n_queues < info->n_handlers
                      ? "; not all handlers can work for it at a time" : ""));
    }
    if (others) {
        findings_add(findings, kind, "%s: %"PRIuSIZE" more ports: %"PRIu64
                     " upcalls %s", info->name, n - MAX_PORTS, others, fate);
    }
    free(counts);
}

/* A sender whose upcalls are thrown away now. */
struct shed_sender {
    const struct upcall_port_info *port;
    const struct upcall_sender_info *sender;
};

static int
compare_shed_senders(const void *a_, const void *b_)
{
    const struct shed_sender *a = a_;
    const struct shed_sender *b = b_;

    return (a->sender->shed_rate < b->sender->shed_rate ? 1
            : a->sender->shed_rate > b->sender->shed_rate ? -1 : 0);
}

static void
diagnose_sender(const struct upcall_table_info *info,
                const struct shed_sender *shed, struct findings *findings)
{
    const struct upcall_sender_key *key = &shed->sender->key;
    char remote[UPCALL_SENDER_REMOTE_LEN];

    upcall_sender_format_remote(key, remote);
    findings_add(findings, &sender_shed, "%s: port %s: remote %s, VNI %"PRIu64
                 ": %"PRIu64" upcalls a second, %"PRIu64" of them shed",
                 info->name, shed->port->name, remote, upcall_sender_id(key),
                 shed->sender->rate, shed->sender->shed_rate);
}

/* Adds findings for the remotes of tunnels whose upcalls are thrown away.
 * Ports of a shared socket have findings of their own. */
static void
diagnose_senders(const struct upcall_table_info *info,
                 struct findings *findings)
{
    struct shed_sender *sheds = NULL;
    size_t n = 0, allocated = 0;

    for (size_t i = 0; i < info->n_ports; i++) {
        const struct upcall_port_info *port = &info->ports[i];

        for (size_t j = 0; !port->senders_are_ports && j < port->n_senders;
             j++) {
            if (port->senders[j].shed_rate) {
                if (n == allocated) {
                    sheds = x2nrealloc(sheds, &allocated, sizeof *sheds);
                }
                sheds[n++] = (struct shed_sender) { port, &port->senders[j] };
            }
        }
    }
    if (n) {
        qsort(sheds, n, sizeof *sheds, compare_shed_senders);
    }
    for (size_t i = 0; i < MIN(n, MAX_PORTS); i++) {
        diagnose_sender(info, &sheds[i], findings);
    }
    if (n > MAX_PORTS) {
        findings_add(findings, &sender_shed, "%s: %"PRIuSIZE" more remotes",
                     info->name, n - MAX_PORTS);
    }
    free(sheds);
}

static void
diagnose_sockets(const struct upcall_table_info *info, size_t max_channels,
                 struct findings *findings)
{
    size_t n_shared = 0;

    for (size_t i = 0; i < info->n_ports; i++) {
        n_shared += (info->ports[i].shared
                     && upcall_port_is_real(info->ports[i].port_no));
    }
    if (n_shared) {
        findings_add(findings, &sockets_shared, "%s: %"PRIuSIZE" of %"PRIuSIZE
                     " ports share a socket", info->name, n_shared,
                     info->n_ports);
    } else if (info->n_sockets > max_channels / 10 * 9) {
        findings_add(findings, &descriptors_scarce, "%s: %"PRIuSIZE" sockets "
                     "for upcalls, and room for %"PRIuSIZE, info->name,
                     info->n_sockets, max_channels);
    }
}

static void
diagnose_buffers(const struct upcall_table_info *info, unsigned int n_clamped,
                 struct findings *findings)
{
    if (n_clamped) {
        findings_add(findings, &buffers_clamped, "%s: %u sockets got a "
                     "smaller receive buffer than was asked for", info->name,
                     n_clamped);
    }
    if (info->buffer_size && info->buffer_size < MAX_BUFFER) {
        findings_add(findings, &buffers_small, "%s: receive buffers of %"PRIu32
                     " kB for each port rather than %d, to stay within %"
                     PRIu64" MB", info->name, info->buffer_size >> 10,
                     MAX_BUFFER >> 10, info->buffer_max >> 20);
    }
}

void
upcall_diagnose(const struct upcall_table_info *info,
                const struct upcall_limits *limits, struct findings *findings)
{
    diagnose_fate(info, &upcalls_lost, "lost", get_lost, findings);
    diagnose_fate(info, &upcalls_shed, "shed", get_shed, findings);
    diagnose_senders(info, findings);
    diagnose_sockets(info, limits->max_channels, findings);
    if (limits->store.n_missing) {
        findings_add(findings, &sockets_not_kept, "%s: %"PRIuSIZE" sockets "
                     "for upcalls cannot be kept for the next start (%s), %"
                     PRIuSIZE" are", info->name, limits->store.n_missing,
                     ovs_strerror(limits->store.error),
                     limits->store.n_kept);
    }
    diagnose_buffers(info, limits->n_clamped, findings);
    if (info->refused) {
        findings_add(findings, &messages_refused, "%s: %"PRIu64" messages of "
                     "other processes", info->name, info->refused);
    }
}
