/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_TRANSACT_H
#define KDP_TC_TC_TRANSACT_H 1

/* Requests to tc
 * ==============
 *
 * Translates flows into requests to add rules, with the flow API of Open
 * vSwitch, and sends requests in batches.  Each request has its own answer:
 * the failure of one says nothing about the others of its batch.
 *
 * If the answer to a request to add a rule is lost, the request is sent again,
 * and may then find the rule that it has added (EEXIST).  The caller has to
 * check.
 *
 * Thread safety: any thread.  Requests take no lock of ours. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netlink-socket.h"
#include "offload/offload.h"
#include "tc.h"
#include "tc/tc-parse.h"

struct netdev;
struct ofpbuf;

/* Most requests that are sent together. */
#define KDP_TC_BATCH OFFLOAD_BATCH

enum kdp_tc_request_type {
    KDP_TC_ADD,
    KDP_TC_DEL,
    KDP_TC_GET,
    KDP_TC_PROBE,               /* Like KDP_TC_GET, but stores only 'error', as
                                 * tc reports it. */
};

struct kdp_tc_request {
    enum kdp_tc_request_type type;
    struct kdp_tc_id id;        /* ADD: made by kdp_tc_translate(), except
                                 * 'handle' and the priority. */
    struct ofpbuf *rule;        /* ADD: made by kdp_tc_translate(). */

    /* Results. */
    int error;                  /* 0 or a positive errno value; ENOENT if tc
                                 * does not have the rule. */
    struct kdp_tc_rule reply;   /* DEL, GET: the rule. */
};

/* Appends the message that 'request' describes to 'buf', which is empty. */
void kdp_tc_request_put(const struct kdp_tc_request *request,
                        struct ofpbuf *buf);

/* Sends the 'n' requests, in order, and waits for all answers. */
void kdp_tc_transact(struct kdp_tc_request *requests[], size_t n);

/* Makes the kernel load the modules of all kinds of actions that rules of ours
 * may have.  That takes a second or so where files are slow, and no rule
 * should wait for it.  Logs a missing kind.  Takes the RTNL lock, but not
 * while a module is loaded.  The caller should be quiescent. */
void kdp_tc_load_actions(void);

/* Makes the flow API of 'netdev' translate a flow into a request to add a
 * rule.  Stores the request in '*rule', for the caller to free, and the rule's
 * name except for the handle in '*id'.  Returns 0 or a positive errno
 * value. */
int kdp_tc_translate(struct netdev *netdev, const struct offload_desc *,
                     bool recirc_sharing, struct ofpbuf **rule,
                     struct kdp_tc_id *id);

/* Does the library send requests through our function, so that it can
 * intercept one?  Must be true for all of the above.  Sends nothing if so. */
bool kdp_tc_check(void);

/* Are two flows in recirculation chains, a parent and its child, translated
 * for 'netdev'?  Sends nothing. */
bool kdp_tc_check_chains(struct netdev *netdev);

/* Goes through the rules in a place that have a ufid.  Threads may share a
 * dump, each with a buffer of its own of NL_DUMP_BUFSIZE. */
void kdp_tc_dump_start(const struct tcf_id *place, struct nl_dump *);
bool kdp_tc_dump_next(struct nl_dump *, struct ofpbuf *buffer,
                      struct kdp_tc_rule *);
int kdp_tc_dump_done(struct nl_dump *);

/* Calls 'cb' for each message of a dump of the actions of 'kind', whether or
 * not a rule has them.  Takes the RTNL lock.  Returns 0 or a positive errno
 * value; it is no error if the kernel has no such kind. */
typedef void kdp_tc_actions_cb(void *aux, const struct ofpbuf *msg);
int kdp_tc_dump_actions(const char *kind, kdp_tc_actions_cb *, void *aux);

/* Makes dumps of the flow API by the calling thread skip rules that are not
 * ours, because it may log warnings about actions that it does not know, and
 * rules that check the size of packets.  Open vSwitch 3.1 translates the same
 * action of such a rule for ever if an output or a meter in one of its branches
 * is gone. */
void kdp_tc_only_adoptable(bool only_adoptable);

/* Returns the place of the rules of 'netdev', a device with index
 * 'ifindex'. */
struct tcf_id kdp_tc_place(struct netdev *netdev, int ifindex);

#endif /* lib/tc/tc-transact.h */
