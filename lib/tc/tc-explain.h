/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_EXPLAIN_H
#define KDP_TC_TC_EXPLAIN_H 1

/* Why tc refuses a rule
 * =====================
 *
 * The kernel, or the driver of a card, explains in words why it does not
 * accept a rule (extended acknowledgement).  The function of Open vSwitch that
 * sends batches drops these words.  So a rule that was refused is sent again,
 * by itself.
 *
 * Texts are kept, so that flows can point to them: a driver has few.  After
 * KDP_TC_MAX_TEXTS different ones, new texts are dropped.
 *
 * Cards may skip a rule that tc has accepted.  Their drivers give the reason
 * if the request that adds the rule asks for it: see tc-skip.h.
 *
 * Thread safety: any thread.  Waits for tc. */

#include <stdbool.h>
#include <stddef.h>

struct kdp_tc_request;

#define KDP_TC_MAX_TEXTS 64

/* Sends 'request', which was to add a rule and which tc has refused, again.
 * Returns the new result: 0 if tc has the rule now, or a positive errno value.
 * Stores the kernel's reason in '*why', as a string that is never freed, or
 * NULL if it gave none. */
int kdp_tc_explain(const struct kdp_tc_request *request, const char **why);

/* Sends 'request', which adds a rule, by itself, and asks the drivers of cards
 * to say why they skip it.  Returns 0 or a positive errno value, and stores
 * the reason in '*why' as above.  If it cannot be sent like this, nothing
 * happens and '*sent' becomes false. */
int kdp_tc_add_verbosely(const struct kdp_tc_request *request, bool *sent,
                         const char **why);

/* May cards skip the rule that 'request' adds without an error?  Does not
 * wait. */
bool kdp_tc_may_be_skipped(const struct kdp_tc_request *request);

#endif /* lib/tc/tc-explain.h */
