/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_EXPLAIN_H
#define KDP_TC_TC_EXPLAIN_H 1

/* Why tc refuses a rule
 * =====================
 *
 * The kernel, or the driver of a card, says in words why it does not take a
 * rule (extended acknowledgement).  Batches of requests do not tell: Open
 * vSwitch's function that sends them forgets the words.  So a rule that was
 * refused is sent once more, by itself.
 *
 * Texts are kept, so that flows can have pointers to them: a driver has few.
 * Of more than KDP_TC_MAX_TEXTS different ones the others are not told.
 *
 * A rule that tc takes may be skipped by cards.  Their drivers say why if they
 * are asked when it is added: see tc-skip.h.
 *
 * Thread safety: any thread.  Waits for tc. */

#include <stdbool.h>
#include <stddef.h>

struct kdp_tc_request;

#define KDP_TC_MAX_TEXTS 64

/* Sends 'request', one to add a rule that tc has refused, once more.  Returns
 * what came of it this time: 0 if tc has the rule now, or a positive errno
 * value.  Stores what the kernel said in '*why', a string that stays for ever,
 * or NULL if it said nothing. */
int kdp_tc_explain(const struct kdp_tc_request *request, const char **why);

/* Sends 'request', one to add a rule, by itself, and asks the drivers of cards
 * to say why they skip it.  Returns 0 or a positive errno value, and stores in
 * '*why' what was said, as above.  '*sent' becomes false if it cannot be sent
 * so, and nothing has happened. */
int kdp_tc_add_verbosely(const struct kdp_tc_request *request, bool *sent,
                         const char **why);

/* May cards skip the rule that 'request' adds, without a word?  Does not
 * wait. */
bool kdp_tc_may_be_skipped(const struct kdp_tc_request *request);

#endif /* lib/tc/tc-explain.h */
