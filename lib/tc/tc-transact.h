/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_TRANSACT_H
#define KDP_TC_TC_TRANSACT_H 1

/* Requests to tc
 * ==============
 *
 * Translates flows into requests to add rules, by the flow API of Open
 * vSwitch, and sends requests in batches.  A request waits for its answer, and
 * has one of its own: one that fails says nothing about the others of its
 * batch.
 *
 * A request to add a rule whose answer is lost is sent again, and may then
 * find the rule that it made (EEXIST).  The caller has to ask.
 *
 * Thread safety: any thread.  A request takes no lock of ours. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netlink-socket.h"
#include "offload/offload.h"
#include "tc.h"
#include "tc/tc-parse.h"

struct netdev;
struct ofpbuf;

/* Requests that are sent together, at most. */
#define KDP_TC_BATCH OFFLOAD_BATCH

enum kdp_tc_request_type {
    KDP_TC_ADD,
    KDP_TC_DEL,
    KDP_TC_GET,
    KDP_TC_PROBE,               /* Like KDP_TC_GET, but only 'error' is stored,
                                 * as tc tells it. */
};

struct kdp_tc_request {
    enum kdp_tc_request_type type;
    struct kdp_tc_id id;        /* ADD: made by kdp_tc_translate(), except
                                 * 'handle' and the priority. */
    struct ofpbuf *rule;        /* ADD: made by kdp_tc_translate(). */

    /* Results. */
    int error;                  /* 0 or a positive errno value: ENOENT for one
                                 * that tc does not have. */
    struct kdp_tc_rule reply;   /* DEL, GET: what it was, or is. */
};

/* Appends the message that 'request' describes to 'buf', which is empty. */
void kdp_tc_request_put(const struct kdp_tc_request *request,
                        struct ofpbuf *buf);

/* Sends the 'n' requests, in order, and waits for all answers. */
void kdp_tc_transact(struct kdp_tc_request *requests[], size_t n);

/* Has the kernel load the kinds of actions that rules of ours may have, which
 * takes a second or so where files are slow, so that no rule has to wait for
 * that.  A kind that it does not have is logged.  Takes the RTNL lock, but not
 * while something is loaded.  The caller should be quiescent. */
void kdp_tc_load_actions(void);

/* Has the flow API of 'netdev' translate a flow into a request to add a rule,
 * which is stored in '*rule', for the caller to free, and its name but for the
 * handle in '*id'.  Returns 0 or a positive errno value. */
int kdp_tc_translate(struct netdev *netdev, const struct offload_desc *,
                     bool recirc_sharing, struct ofpbuf **rule,
                     struct kdp_tc_id *id);

/* Does the library send requests by our function, so that one can be taken?
 * Must be true for all of the above.  Sends nothing if so. */
bool kdp_tc_check(void);

/* Is a pair of flows of recirculation chains, the first of which leads to the
 * second, translated for 'netdev'?  Sends nothing. */
bool kdp_tc_check_chains(struct netdev *netdev);

/* Goes through the rules of a device that have a ufid.  Threads may share a
 * dump, each with a buffer of its own of NL_DUMP_BUFSIZE. */
int kdp_tc_dump_start(struct netdev *, bool terse, struct nl_dump *);
void kdp_tc_dump_start_at(const struct tcf_id *place, bool terse,
                          struct nl_dump *);
bool kdp_tc_dump_next(struct nl_dump *, struct ofpbuf *buffer,
                      struct kdp_tc_rule *);
int kdp_tc_dump_done(struct nl_dump *);

/* Calls 'cb' for each message of a dump of the actions of 'kind', not only
 * those of rules.  Takes the RTNL lock.  Returns 0 or a positive errno value;
 * it is no error if the kernel has no such kind. */
typedef void kdp_tc_actions_cb(void *aux, const struct ofpbuf *msg);
int kdp_tc_dump_actions(const char *kind, kdp_tc_actions_cb *, void *aux);

/* Has the flow API's dumps by the calling thread leave out rules that are not
 * ours, whose actions it may not know and would complain about. */
void kdp_tc_only_ours(bool only_ours);

/* Where rules of 'netdev', a device whose index is 'ifindex', are. */
struct tcf_id kdp_tc_place(struct netdev *netdev, int ifindex);

#endif /* lib/tc/tc-transact.h */
