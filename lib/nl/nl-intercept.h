/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NL_INTERCEPT_H
#define KDP_NL_INTERCEPT_H 1

/* Interception of Open vSwitch's netlink requests and replies
 * ===========================================================
 *
 * Open vSwitch sends each request that changes traffic control with
 * nl_transact(), which this module replaces.  A thread that calls a function
 * of Open vSwitch may inspect its requests first: to take one over, or to
 * answer one whose answer is known.
 *
 * Open vSwitch reads each message of a dump with nl_dump_next(), which this
 * module replaces, too.  A thread may hide messages from the function that it
 * calls.
 *
 * Life cycle: nl_intercept_begin(), the call, nl_intercept_end(); or
 * nl_intercept_replies(), the call, nl_intercept_replies(NULL).
 *
 * Thread safety: each thread has its own functions. */

#include <stdbool.h>

struct ofpbuf;

/* Inspects 'request', of protocol NETLINK_ROUTE.  Returns false to send it.
 * Otherwise nl_transact() does not send it and returns '*error', a positive
 * errno value or 0, and no reply. */
typedef bool nl_intercept_func(const struct ofpbuf *request, int *error,
                               void *aux);

/* Passes requests of the calling thread to 'cb' with 'aux' first.  To be
 * called only if they are not intercepted yet. */
void nl_intercept_begin(nl_intercept_func *cb, void *aux);
void nl_intercept_end(void);

/* Returns false if 'msg', a message of a dump, is to be skipped. */
typedef bool nl_intercept_keep_func(const struct ofpbuf *msg);

/* Shows the calling thread only those messages of dumps for which 'keep'
 * returns true, or all if 'keep' is NULL. */
void nl_intercept_replies(nl_intercept_keep_func *keep);

#endif /* lib/nl/nl-intercept.h */
