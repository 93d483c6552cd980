/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_READER_H
#define OFFLOAD_READER_H 1

/* Reading what tc has counted
 * ===========================
 *
 * Who looks at flows again and again, such as the revalidators, shall not wait
 * for tc.  So one thread reads the counters of all rules, in rounds, and what
 * it has read stays with the flows.  Dumps show that (offload-dump.c).
 *
 *      reader thread                        dumps
 *        backend.list(): devices that         |
 *          are better listed                  |
 *        backend.operate(): the others,       |
 *          OFFLOAD_BATCH at a time            |
 *             `----> flow->tc_seen <----------'
 *                    flow->read
 *
 * Rounds begin 'read_interval' ms after each other.  If there are few rules,
 * each one is read in each round.  A rule is a request, which takes a few
 * microseconds of a processor, so a round of very many would take the whole
 * interval.  Reading takes a quarter of a processor at most, with lists, and a
 * fifth without.  Which rules are read depends on when they are due:
 *
 *      when the flow would expire      last use + 'max_idle'
 *      when it is its turn             last read + number of rules / rules that
 *                                      can be read in a round
 *
 * whatever comes first.  What dumps show of a flow is never more idle than it
 * was when it was read, so an idle flow expires as soon as it is read after
 * the first of these, and not before.  So it is read within a round of that
 * time, as long as rules that are in use can be read once in 'max_idle'.  With
 * more than that the flow stays for longer; what is overdue comes first.
 *
 * The flows of a stripe (offload-flow.h) that are in tc are in lists by the
 * second in which they are due (a timing wheel).  A flow's second is looked at
 * again only when it has come: what was learnt of the flow before, from a list
 * or from somebody else's round, postpones it then.
 *
 * When there are more flows than the user wants (offload_kernel.is_crowded),
 * idle ones are to go before 'max_idle'.  Then what is left of the fifth is
 * used to read rules before they are due, beginning with the flows that would
 * expire first.
 *
 * Devices whose rules are better listed are listed in each round.  Somebody
 * else may do a round of all rules at any time (offload_read_rules()).
 *
 * Each few rounds all rules in tc are listed, to find those that no flow has
 * (offload-audit.h).
 *
 * A rule that is not there any more has vanished, and its flow goes back to
 * the kernel.  One that cannot be read keeps what was known of it.
 *
 * Life cycle: _start() makes the thread, unless the configuration says that
 * there is none; _stop() ends it.
 *
 * Thread safety: offload_read_rules() by any thread, any time between
 * offload_create() and _destroy(); it waits for tc.  Who moves a flow
 * meanwhile wins: what was read of a copy that has changed since is
 * forgotten. */

#include <stdbool.h>
#include <stddef.h>

struct latch;
struct offload;

/* What a round does. */
struct offload_reader_pace {
    unsigned int interval;      /* Time in ms for which what is known of a rule
                                 * is new enough; above 0. */
    size_t max_reads;           /* Rules that are read by themselves; above
                                 * 0. */
    bool crowded;               /* There are more flows than are wanted. */
};

void offload_reader_round(struct offload *,
                          const struct offload_reader_pace *,
                          struct latch *stop);
void offload_reader_start(struct offload *, unsigned int read_interval);
void offload_reader_stop(struct offload *);

#endif /* lib/offload/offload-reader.h */
