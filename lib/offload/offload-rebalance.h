/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_REBALANCE_H
#define OFFLOAD_REBALANCE_H 1

/* Rebalancing of full cards
 * =========================
 *
 * A full card keeps the flows that came first.  If the user wants it, this
 * module gives their places to the flows with the most packets.  It regularly
 * counts the packets of each flow since the last time, and ranks the flows of
 * each input port that has rules in hardware:
 *
 *     in    in the card
 *     out   the card had no room: refused (ENOSPC), not offered because of
 *           that, or in tc, but only in software
 *
 * It compares the best of "out" with the worst of "in", pair by pair.  As long
 * as the former has clearly more packets, the latter returns to the kernel,
 * and the former is offered, or offered again, once there is room.  Flows that
 * are not chosen wait, so that they do not take the place.  Flows outside of
 * the card with few packets are not ranked, as that would cost more than it
 * gains: they get the remaining places, in any order.
 *
 * Chains.  A flow of a recirculation chain is useful in the card only if a
 * flow that leads to it is there.  So a flow that leads to a chain ranks as
 * high as the chain's busiest flow, and above it: it is inserted first and
 * removed last.  A flow that waits for such a flow is ranked, too, as it needs
 * a place as soon as it stops waiting.
 *
 * The number of flows that change places at a time depends on the recent time
 * that offload threads took for a flow: they should be done in half of the
 * time until the next ranking.
 *
 * A flow that has been in tc's software for OFFLOAD_SOFTWARE_MSEC returns to
 * the kernel datapath, whose tables are made for many flows with many masks:
 * tc searches them one after the other.  It is offered again after a pause, or
 * when flows have left the card.
 *
 * Thread safety: any thread, but one at a time. */

struct offload;

/* Packets between two rankings by which a flow outside of the card has to be
 * ahead at least: one per second is worth the two changes of the card.
 * Smaller counts differ by chance. */
#define OFFLOAD_REBALANCE_GAIN 3

/* Time in ms after which a flow that is only in software returns to the
 * kernel. */
#define OFFLOAD_SOFTWARE_MSEC 10000

/* Time in ms for which such a flow is not offered again, unless there is
 * room. */
#define OFFLOAD_OUTRANKED_MSEC 10000

void offload_rebalance_run(struct offload *);

#endif /* lib/offload/offload-rebalance.h */
