/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NL_INTERCEPT_H
#define KDP_NL_INTERCEPT_H 1

/* Requests of Open vSwitch that are not sent, and answers that are not seen
 * ========================================================================
 *
 * Open vSwitch sends each request to change traffic control by nl_transact(),
 * in whose place this module is.  A thread that calls such a function of Open
 * vSwitch may see its requests first: to take one over, or to answer one to
 * which the answer is known.
 *
 * Open vSwitch takes each message of a dump by nl_dump_next(), which is here,
 * too.  A thread may hide messages from the function that it calls.
 *
 * Life cycle: nl_intercept_begin(), the call, nl_intercept_end(); or
 * nl_intercept_replies(), the call, nl_intercept_replies(NULL).
 *
 * Thread safety: each thread has a function of its own. */

#include <stdbool.h>

struct ofpbuf;

/* Looks at 'request', of protocol NETLINK_ROUTE.  Returns false if it is to be
 * sent.  Otherwise it is not: nl_transact() returns '*error', a positive errno
 * value or 0, and no reply. */
typedef bool nl_intercept_func(const struct ofpbuf *request, int *error,
                               void *aux);

/* Has the requests of the thread go to 'cb' with 'aux' first.  There must be
 * none that they go to already. */
void nl_intercept_begin(nl_intercept_func *cb, void *aux);
void nl_intercept_end(void);

/* Returns false if 'msg', a message of a dump, is to be skipped. */
typedef bool nl_intercept_keep_func(const struct ofpbuf *msg);

/* Shows the thread only those messages of dumps for which 'keep' returns true,
 * or all if it is NULL. */
void nl_intercept_replies(nl_intercept_keep_func *keep);

#endif /* lib/nl/nl-intercept.h */
