/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_SKIP_H
#define KDP_TC_TC_SKIP_H 1

/* Why cards skip rules
 * ====================
 *
 * With "tc-policy=none" tc takes a rule though no card does, and does it in
 * software.  The driver says why only if the request asks for that
 * (TCA_CLS_FLAGS_VERBOSE) and for an answer, which takes a request by itself.
 *
 * So the first rule of a kind and port is sent so, and another one after
 * KDP_TC_SKIP_MSEC, as a card may be full by then, or have room again.  What
 * the driver said of it holds for the others of the kind.
 *
 * The table has a place for each hash of port and kind.  If two have the same,
 * the later one takes it.
 *
 * Thread safety: any thread. */

#include <stdbool.h>

struct kdp_tc_request;
struct offload_desc;

#define KDP_TC_SKIP_MSEC 10000

/* Should 'request', one to add the rule of 'desc', ask what the driver says?
 * If so, returns true, and kdp_tc_skip_learn() should follow.  If not, stores
 * in '*why' what was said of the latest of its kind, or NULL. */
bool kdp_tc_skip_ask(const struct kdp_tc_request *request,
                     const struct offload_desc *, const char **why);

/* The driver said 'why', a string that stays for ever, or NULL if it said
 * nothing, of the rule of 'desc', which tc has taken. */
void kdp_tc_skip_learn(const struct offload_desc *, const char *why);

#endif /* lib/tc/tc-skip.h */
