/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_READER_H
#define OFFLOAD_READER_H 1

/* Reading tc's counters
 * =====================
 *
 * Threads that look at flows again and again, such as the revalidators, must
 * not wait for tc.  So one thread reads the counters of all rules, in rounds,
 * and stores them in the flows.  Dumps show these (offload-dump.c).
 *
 *      reader thread                        dumps
 *        backend.list(): devices that         |
 *          are better listed                  |
 *        backend.operate(): the others,       |
 *          OFFLOAD_BATCH at a time            |
 *             `----> flow->tc_seen <----------'
 *                    flow->read
 *
 * A round starts every 'read_interval' ms.  If there are few rules, each round
 * reads all of them.  Each rule is a request of a few microseconds of CPU
 * time, so a round of very many would take the whole interval.  Reading takes
 * at most a quarter of a CPU with lists, and a fifth without.  A rule is read
 * when one of these times has come:
 *
 *      when the flow would expire      last use + 'max_idle'
 *      when it is its turn             last read + number of rules / number
 *                                      that can be read in a round
 *
 * A dump never shows a flow as more idle than it was when it was read.  So an
 * idle flow expires when it is read after the first of these times, and not
 * before: within a round of that time, as long as all rules in use can be read
 * once in 'max_idle'.  With more rules the flow stays longer; overdue rules
 * come first.
 *
 * The flows of a stripe (offload-flow.h) that are in tc are in lists by the
 * second in which they are due (a timing wheel).  When that second has come, a
 * flow that was read meanwhile, in a list or in another thread's round, is
 * postponed.
 *
 * When there are more flows than the user wants (offload_kernel.is_crowded),
 * idle ones should go before 'max_idle'.  Then the rest of the fifth is used
 * to read rules before they are due, beginning with the flows that would
 * expire first.
 *
 * Devices whose rules are better listed are listed in each round.  Any thread
 * may do a round of all rules at any time (offload_read_rules()).
 *
 * Every few rounds all rules in tc are listed, to find those that no flow has
 * (offload-audit.h).
 *
 * If a rule is not found, it has vanished, and its flow returns to the kernel.
 * If it cannot be read, it keeps its last known statistics.
 *
 * Life cycle: _start() creates the thread, unless the configuration disables
 * it; _stop() ends it.
 *
 * Thread safety: any thread may call offload_read_rules() at any time between
 * offload_create() and _destroy(); it waits for tc.  If a flow moves
 * meanwhile, what was read from a copy that has changed since is discarded. */

#include <stdbool.h>
#include <stddef.h>

struct latch;
struct offload;

/* Limits of a round. */
struct offload_reader_pace {
    unsigned int interval;      /* Time in ms for which statistics of a rule
                                 * are new enough; above 0. */
    size_t max_reads;           /* Rules that are read by themselves; above
                                 * 0. */
    bool crowded;               /* There are more flows than the user wants. */
};

void offload_reader_round(struct offload *,
                          const struct offload_reader_pace *,
                          struct latch *stop);
void offload_reader_start(struct offload *, unsigned int read_interval);
void offload_reader_stop(struct offload *);

#endif /* lib/offload/offload-reader.h */
