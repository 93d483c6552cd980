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
 * Rounds begin 'read_interval' ms after each other, or later: the thread takes
 * at most a share of a processor, READER_SHARE.  So what is known of a rule is
 * as old as that at most, plus what tc takes to answer.  Somebody else may do a
 * round at any time (offload_read_rules()).
 *
 * A rule that is not there any more has vanished, and its flow goes back to the
 * kernel.  One that cannot be read keeps what was known of it.
 *
 * Life cycle: _start() makes the thread, unless the configuration says that
 * there is none; _stop() ends it.
 *
 * Thread safety: offload_read_rules() by any thread, any time between
 * offload_create() and _destroy(); it waits for tc.  Who moves a flow meanwhile
 * wins: what was read of a copy that has changed since is forgotten. */

struct latch;
struct offload;

void offload_reader_round(struct offload *, struct latch *stop);
void offload_reader_start(struct offload *, unsigned int read_interval);
void offload_reader_stop(struct offload *);

#endif /* lib/offload/offload-reader.h */
