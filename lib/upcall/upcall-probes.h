/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_PROBES_H
#define KDP_UPCALL_PROBES_H 1

/* Probes
 * ======
 *
 * Private to lib/upcall.  Tracers (bpftrace, perf, SystemTap) can look into a
 * running daemon at these places.  Each probe is a user statically-defined
 * tracepoint: a "nop" in the program and a note in the ELF section
 * ".note.stapsdt", which says where to find the arguments.  A tracer replaces
 * the nop with a breakpoint.  Without a tracer, a probe costs only the nop, so
 * an argument has to be a value that is at hand anyway.
 *
 * The provider is "ovs_kdp".  Names and arguments, in their order:
 *
 *      upcall_receive      after a read from a channel
 *          port number, messages taken, their bytes, 1 if the socket is empty
 *          or 0 if there may be more to read
 *      upcall_handout      when a handler is given an upcall
 *          port number, index of the handler, microseconds waited (as in
 *          the latencies of upcall-channel.h)
 *      upcall_shed         after upcalls that waited too long were thrown away
 *          port number, how many
 *      upcall_loss         when a channel reports that upcalls were lost
 *          port number, times that the socket said ENOBUFS since the last
 *          report
 *
 * A port number below 65536 is the datapath's; a larger number belongs to a
 * channel that is not a single port's (UPCALL_PORT_*).  For example, the
 * latencies of each port:
 *
 *      bpftrace -p $(pidof ovs-vswitchd) \
 *          -e 'usdt:*:ovs_kdp:upcall_handout { @[arg0] = hist(arg2); }'
 *
 * Thread safety: a probe has no state.  It fires in the thread of the handler
 * that owns the channel. */

#include <sys/sdt.h>

#define UPCALL_PROBE_RECEIVE(PORT_NO, N_MSGS, N_BYTES, EMPTY)           \
    DTRACE_PROBE4(ovs_kdp, upcall_receive, PORT_NO, N_MSGS, N_BYTES, EMPTY)

#define UPCALL_PROBE_HANDOUT(PORT_NO, HANDLER, USEC)                    \
    DTRACE_PROBE3(ovs_kdp, upcall_handout, PORT_NO, HANDLER, USEC)

#define UPCALL_PROBE_SHED(PORT_NO, N_MSGS)                              \
    DTRACE_PROBE2(ovs_kdp, upcall_shed, PORT_NO, N_MSGS)

#define UPCALL_PROBE_LOSS(PORT_NO, N_OVERRUNS)                          \
    DTRACE_PROBE2(ovs_kdp, upcall_loss, PORT_NO, N_OVERRUNS)

#endif /* lib/upcall/upcall-probes.h */
