/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_AUDIT_H
#define OFFLOAD_AUDIT_H 1

/* Rules in tc that no flow has
 * ============================
 *
 * A rule without a flow ("orphan") forwards packets for ever, and no dump
 * shows it.  None should come to be, but tc may have lost an answer, another
 * program may have added it, or there may be a bug here.  So the reader thread
 * compares all rules in tc with the table, both ways:
 *
 *      a rule of a flow    found when it is read    its flow goes back to the
 *      is not in tc        (offload-reader.h)       kernel, and is offered
 *
 *      a rule in tc has    found in a list of all   it is suspect; if it is so
 *      no flow             rules in all places,     in the next round, too, it
 *                          each 'interval' ms       becomes a flow that is
 *                                                   being deleted
 *
 * What becomes of such a flow is up to its thread: it tries to delete the rule
 * until that is gone (offload-step.h).
 *
 * Races
 * -----
 *
 * A list is outdated when it has been read.  So a suspect is asked for once
 * more by its name, at least a round later, and is deleted only if tc still
 * has it, with the same ufid, and no flow has it either before or after tc is
 * asked.  A flow may have it if it has a rule of that name, maybe on its way
 * to tc, or if one of that ufid is being deleted.
 *
 * The second time the new flow takes its place among those that are being
 * deleted with the lock with which that was looked at.  So whoever puts a rule
 * of that ufid waits until the orphan is gone.
 *
 * Rules in the places of ports are listed only if the engine knows which rules
 * were there when the port came.  While rules of recirculation chains of a
 * previous run are kept, no list is made: ports may be still to come.
 *
 * The backend decides which rules may be deleted: those with names that only
 * we give.
 *
 * Thread safety: the reader thread, or a test in its place, except
 * offload_audit_count(), which is for any thread. */

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
                           const void *told);
void offload_audit_judge(struct offload *);

#endif /* lib/offload/offload-audit.h */
