/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_REBALANCE_H
#define OFFLOAD_REBALANCE_H 1

/* Which flows a full card has
 * ===========================
 *
 * A card that is full keeps the flows that came first.  This gives its places
 * to those with the most packets, as far as the user wants it.  From time to
 * time the packets of each flow since the time before are counted, and the
 * flows of each input port that has rules in hardware are ranked:
 *
 *     in    in the card
 *     out   the card had no room: refused (ENOSPC), not offered because of
 *           that, or in tc, but only in software
 *
 * The best of "out" are compared with the worst of "in", pair by pair.  As
 * long as the former has clearly more packets, the latter goes back to the
 * kernel, and the former is offered, or offered again, once there is room.
 * Flows that are not chosen wait, so that they do not take the place.  Flows
 * outside of the card with few packets are not ranked, which would cost more
 * than it is worth: they get what places are left, in any order.
 *
 * Chains.  A flow of a recirculation chain is of use in the card only if a
 * flow that leads to it is there.  So a flow that leads to a chain ranks as
 * high as the chain's busiest flow, and above it: it comes first and goes
 * last.  A flow that waits for it is ranked, too, as it takes a place as soon
 * as it stops waiting.
 *
 * How many flows change places at a time depends on how long offload threads
 * took for a flow lately: they are to be done in half of the time until the
 * next ranking.
 *
 * A flow that has been in tc's software for OFFLOAD_SOFTWARE_MSEC goes back to
 * the kernel datapath, whose tables are made for many flows with many masks:
 * tc looks through one after the other.  It is offered again after a pause, or
 * when flows have left the card.
 *
 * Thread safety: any thread, but one at a time. */

struct offload;

/* Packets between two rankings by which a flow outside of the card has to be
 * ahead, at least: one a second is worth the two changes of the card.  Counts
 * that are smaller differ by chance. */
#define OFFLOAD_REBALANCE_GAIN 3

/* Time in ms after which a flow that is in software only goes back. */
#define OFFLOAD_SOFTWARE_MSEC 10000

/* Time in ms for which one that went back is not offered again, unless there
 * is room. */
#define OFFLOAD_OUTRANKED_MSEC 10000

void offload_rebalance_run(struct offload *);

#endif /* lib/offload/offload-rebalance.h */
