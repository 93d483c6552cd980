/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_PROBES_H
#define KDP_UPCALL_PROBES_H 1

/* Static probes of the way of an upcall
 * =====================================
 *
 * Private to lib/upcall.  User-level statically defined tracing, provider
 * "ovs_kdp": a "nop" in the code and a note in the program, by which bpftrace,
 * perf and others find it.  Arguments are values that are at hand anyway.
 *
 *      upcall_receive   port number, upcalls, bytes, 1 if the socket is empty
 *      upcall_handout   port number, handler, latency in microseconds
 *      upcall_loss      port number, overruns of the socket
 *
 * A port number that is not below 65536 is a channel that is no port's own.
 * For example, the latency of each port:
 *
 *      bpftrace -e 'usdt:/usr/lib/openvswitch-switch-kdp/ovs-vswitchd:
 *                   ovs_kdp:upcall_handout { @[arg0] = hist(arg2); }'
 */

#include <sys/sdt.h>

#define UPCALL_PROBE_RECEIVE(PORT_NO, N, BYTES, EMPTY) \
    DTRACE_PROBE4(ovs_kdp, upcall_receive, PORT_NO, N, BYTES, EMPTY)
#define UPCALL_PROBE_HANDOUT(PORT_NO, HANDLER, LATENCY) \
    DTRACE_PROBE3(ovs_kdp, upcall_handout, PORT_NO, HANDLER, LATENCY)
#define UPCALL_PROBE_LOSS(PORT_NO, OVERRUNS) \
    DTRACE_PROBE2(ovs_kdp, upcall_loss, PORT_NO, OVERRUNS)

#endif /* lib/upcall/upcall-probes.h */
