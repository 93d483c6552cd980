/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_AUDIT_H
#define OFFLOAD_AUDIT_H 1

/* Audit: rules in tc that no flow has
 * ===================================
 *
 * A rule without a flow ("orphan") forwards packets forever, and no dump shows
 * it.  There should be none, but tc may have lost an answer, another program
 * may have added the rule, or there may be a bug here.  So the reader thread
 * compares all rules in tc with the table, in both directions:
 *
 *      a rule of a flow    found when it is read    its flow returns to the
 *      is not in tc        (offload-reader.h)       kernel, and is offered
 *
 *      a rule in tc has    found in a list of all   it is suspect; if it still
 *      no flow             rules in all places,     is in the next round, it
 *                          each 'interval' ms       becomes a flow that is
 *                                                   being deleted
 *
 * The thread of such a flow tries to delete the rule until that succeeds
 * (offload-step.c).
 *
 * Races
 * -----
 *
 * A list is outdated as soon as it has been read.  So a suspect is read again
 * by name, at least a round later.  It is deleted only if tc still has it with
 * the same ufid, and no flow has it before or after tc is asked.  A flow may
 * have it if the flow has a rule of that name, maybe on its way to tc, or if a
 * flow of that ufid is being deleted.
 *
 * The last check and the insertion of the new flow into the list of flows that
 * are being deleted happen under one lock.  So a thread that adds a rule of
 * that ufid waits until the orphan is gone.
 *
 * Rules in the places of ports are listed only if the engine knows the rules
 * that were there when the port came.  No list is made while rules of
 * recirculation chains of a previous run are kept, as more ports may come.
 *
 * The backend decides which rules may be deleted: those with names that only
 * this program assigns.
 *
 * Thread safety: the reader thread, or a test in its place; any thread may
 * call offload_audit_count(). */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/types.h"

struct offload;
struct offload_audit;

struct offload_audit *offload_audit_create(unsigned int interval);
void offload_audit_destroy(struct offload_audit *);
uint64_t offload_audit_count(const struct offload_audit *);
bool offload_audit_is_due(struct offload *, long long int now);
void offload_audit_postpone(struct offload *, long long int when);
void offload_audit_suspect(struct offload *, const ovs_u128 *ufid,
                           const void *listed);
void offload_audit_judge(struct offload *);

#endif /* lib/offload/offload-audit.h */
