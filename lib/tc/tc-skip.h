/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_SKIP_H
#define KDP_TC_TC_SKIP_H 1

/* Why cards skip rules
 * ====================
 *
 * With "tc-policy=none", tc accepts a rule even if no card does, and executes
 * it in software.  The driver gives its reason only if the request asks for it
 * (TCA_CLS_FLAGS_VERBOSE) and for an answer, which needs a request for a
 * single rule.
 *
 * So the first rule of a kind and port is sent in this way, and another one
 * after KDP_TC_SKIP_MSEC, as the card may be full by then, or have room again.
 * The driver's reason applies to other rules of the kind.
 *
 * The table has an entry for each hash of port and kind.  If two have the same
 * hash, the later one replaces the earlier.
 *
 * Thread safety: any thread. */

#include <stdbool.h>

struct kdp_tc_request;
struct offload_desc;

#define KDP_TC_SKIP_MSEC 10000

/* Should 'request', which adds the rule of 'desc', ask the driver for a
 * reason? If so, returns true, and kdp_tc_skip_learn() should follow.  If not,
 * stores the last reason for this kind, or NULL, in '*why'. */
bool kdp_tc_skip_ask(const struct kdp_tc_request *request,
                     const struct offload_desc *, const char **why);

/* Stores the driver's reason 'why' for skipping the rule of 'desc', which tc
 * has accepted.  'why' is a string that is never freed, or NULL if there was
 * no reason. */
void kdp_tc_skip_learn(const struct offload_desc *, const char *why);

#endif /* lib/tc/tc-skip.h */
