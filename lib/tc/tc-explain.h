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
 * Thread safety: any thread.  Waits for tc. */

#include <stddef.h>

struct kdp_tc_request;

#define KDP_TC_MAX_TEXTS 64

/* Sends 'request', one to add a rule that tc has refused, once more.  Returns
 * what came of it this time: 0 if tc has the rule now, or a positive errno
 * value.  Stores what the kernel said in '*why', a string that stays for ever,
 * or NULL if it said nothing. */
int kdp_tc_explain(const struct kdp_tc_request *request, const char **why);

#endif /* lib/tc/tc-explain.h */
