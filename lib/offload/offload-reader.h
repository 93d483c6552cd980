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
 * at most a share of a processor, READER_SHARE.  A round reads the rules that
 * neither came nor were read within that interval, and those that a device
 * lists.  So what is known of a rule is as old as that at most, and of a new
 * one twice, plus what tc takes to answer.  Somebody else may do a round at
 * any time (offload_read_rules()), which reads all.
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

struct latch;
struct offload;

void offload_reader_round(struct offload *, unsigned int interval,
                          struct latch *stop);
void offload_reader_start(struct offload *, unsigned int read_interval);
void offload_reader_stop(struct offload *);

#endif /* lib/offload/offload-reader.h */
