/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hmapx.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-provider.h"
#include "netlink-socket.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs/compat-offload.h"
#include "tc.h"
#include "tc/tc-action.h"
#include "tc/tc-adopt.h"
#include "tc/tc-explain.h"
#include "tc/tc-handle.h"
#include "tc/tc-places.h"
#include "tc/tc-prepare.h"
#include "tc/tc-prio.h"
#include "tc/tc-rules.h"
#include "tc/tc-skip.h"
#include "tc/tc-transact.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_backend);

/* Does tc know all ports that 'actions' send to? */
static bool
outputs_are_known(const struct kdp_tc *tc, const struct nlattr *actions,
                  size_t len)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, len) {
        if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT) {
            struct netdev *netdev = ovs_compat_ports_get(
                nl_attr_get_odp_port(a), tc->dpif_type);

            if (!netdev) {
                return false;
            }
            netdev_close(netdev);
        }
    }
    return true;
}

/* Translates 'desc' into '*request'.  On failure, may store the reason in
 * '*why'. */
static int
prepare_add(const struct kdp_tc *tc, const struct offload_desc *desc,
            struct kdp_tc_request *request, const char **why)
{
    struct netdev *netdev;
    int error;

    if (!tc->recirc_sharing && (desc->recirc_id || desc->n_children)) {
        *why = "chains of tc are not known to the kernel datapath";
        return EOPNOTSUPP;
    }
    if (!outputs_are_known(tc, desc->actions, desc->actions_len)) {
        /* A port is being added or deleted, or the user wants it without
         * offload (hw-offload-priority of Open vSwitch 3.7). */
        *why = "an output port has no offload, or is coming or going";
        return EOPNOTSUPP;
    }
    netdev = ovs_compat_ports_get(u32_to_odp(desc->in_port), tc->dpif_type);
    if (!netdev) {
        return ENODEV;
    }
    error = kdp_tc_translate(netdev, desc, tc->recirc_sharing, &request->rule,
                             &request->id);
    netdev_close(netdev);
    if (error == EOPNOTSUPP) {
        *why = "Open vSwitch has no rule of tc for it";
    }
    if (!error && !kdp_tc_handle_new(&request->id.handle)) {
        ofpbuf_delete(request->rule);
        error = ENOSPC;
    }
    if (!error) {
        kdp_tc_prio_set(&request->id);
        kdp_tc_action_name(request->rule);
    }
    return error;
}

/* An operation in progress. */
struct pending {
    struct offload_copy_op *op;
    struct kdp_tc_request request;
    uint16_t overhead;          /* DEL, GET. */
    bool handle_taken;          /* PUT: another rule may have the handle. */
    bool prio_taken;            /* PUT: another filter has the priority; the
                                 * next try uses another one. */
    bool alone;                 /* PUT: it is sent by itself, with a request to
                                 * drivers to say why cards skip it. */
};

/* Builds the request of 'pending->op'.  Returns false if the outcome is
 * already known. */
static bool
prepare(struct kdp_tc *tc, struct pending *pending)
{
    struct kdp_tc_request *request = &pending->request;
    struct offload_copy_op *op = pending->op;
    struct kdp_tc_known known;

    op->stats = (struct offload_stats) { .n_packets = 0 };
    op->hw = OFFLOAD_HW_UNKNOWN;
    op->why = NULL;
    pending->handle_taken = false;
    pending->prio_taken = false;
    pending->alone = false;
    if (op->type == OFFLOAD_COPY_PUT) {
        request->type = KDP_TC_ADD;
        op->error = prepare_add(tc, op->desc, request, &op->why);
        if (!op->error) {
            /* Packets may use the rule before the answer arrives, and a reader
             * has to find it then. */
            kdp_tc_rule_set(op->rule, op->desc->in_port, &request->id,
                            op->desc, true);
            pending->alone = kdp_tc_skip_ask(request, op->desc, &op->why);
        }
    } else {
        request->type = (op->type == OFFLOAD_COPY_DEL ? KDP_TC_DEL
                         : KDP_TC_GET);
        op->error = ENOENT;
        if (op->rule && kdp_tc_rule_get(op->rule, &known)) {
            request->id = known.id;
            pending->overhead = known.overhead;
            op->error = 0;
        }
    }
    return !op->error;
}

/* Sends 'n' requests.  If they change rules, the caller is an offload thread,
 * which holds no pointers that RCU guards; otherwise it may be a user. */
static void
transact(struct kdp_tc_request *requests[], size_t n)
{
    bool quiesce = false;

    for (size_t i = 0; i < n; i++) {
        quiesce |= requests[i]->type != KDP_TC_GET;
    }
    if (quiesce) {
        ovsrcu_quiesce_start();
    }
    kdp_tc_transact(requests, n);
    if (quiesce) {
        ovsrcu_quiesce_end();
    }
}

/* Sends the request of 'pending', which adds a rule, by itself.  Returns false
 * if that cannot be done. */
static bool
add_alone(struct pending *pending)
{
    struct kdp_tc_request *request = &pending->request;
    struct offload_copy_op *op = pending->op;
    bool sent;

    ovsrcu_quiesce_start();
    request->error = kdp_tc_add_verbosely(request, &sent, &op->why);
    ovsrcu_quiesce_end();
    if (sent && !request->error) {
        kdp_tc_skip_learn(op->desc, op->why);
    }
    return sent;
}

/* Sends the requests of 'n' operations, in the order of the array. */
static void
transact_batch(struct pending pending[], size_t n)
{
    struct kdp_tc_request *requests[KDP_TC_BATCH];
    size_t n_requests = 0;

    for (size_t i = 0; i < n; i++) {
        if (pending[i].alone) {
            transact(requests, n_requests);
            n_requests = 0;
            if (add_alone(&pending[i])) {
                continue;
            }
        }
        requests[n_requests++] = &pending[i].request;
    }
    transact(requests, n_requests);
}

/* May the rule that 'request' was to add exist although the request failed?
 * It may if the answer was lost: then the request was sent again and found the
 * rule in its way, or the error is not tc's. */
static bool
may_exist(const struct kdp_tc_request *request)
{
    switch (request->error) {
    case 0:
    case EINVAL:
    case ENODEV:
    case ENOENT:
    case ENOSPC:
    case EOPNOTSUPP:
    case EPERM:
        return false;
    default:
        return true;
    }
}

/* Finds out whether the rule of 'pending', which failed to add it, exists. */
static void
find_out(struct pending *pending)
{
    struct kdp_tc_request get = {
        .type = KDP_TC_GET, .id = pending->request.id,
    };

    kdp_tc_transact((struct kdp_tc_request *[]) { &get }, 1);
    if (!get.error && ovs_u128_equals(get.reply.ufid, pending->op->ufid)) {
        pending->request.error = 0;
    } else {
        pending->handle_taken = get.error != ENOENT;
    }
}

/* Checks that the reply to 'request' is about flow 'ufid'; otherwise sets the
 * error to ENOENT.  Another rule may have its name by now.  A reply may be
 * lost; then the last known statistics are better than none. */
static void
check_reply(struct kdp_tc_request *request, const ovs_u128 *ufid)
{
    if (!request->error && !ovs_u128_equals(request->reply.ufid, *ufid)) {
        memset(&request->reply, 0, sizeof request->reply);
        request->error = ENOENT;
    }
}

static void
commit(struct pending *pending)
{
    struct kdp_tc_request *request = &pending->request;
    struct offload_copy_op *op = pending->op;

    if (op->type != OFFLOAD_COPY_PUT) {
        check_reply(request, &op->ufid);
    } else if (may_exist(request)) {
        find_out(pending);
    }
    op->error = pending->prio_taken ? EAGAIN : request->error;
    switch (op->type) {
    case OFFLOAD_COPY_PUT:
        if (op->error) {
            kdp_tc_rule_removed(op->rule, !pending->handle_taken);
        }
        ofpbuf_delete(request->rule);
        break;
    case OFFLOAD_COPY_DEL:
        op->stats = kdp_tc_stats(&request->reply, pending->overhead);
        if (!op->error || op->error == ENOENT || op->error == ENODEV) {
            kdp_tc_rule_removed(op->rule, true);
        }
        break;
    case OFFLOAD_COPY_GET:
    default:
        op->stats = kdp_tc_stats(&request->reply, pending->overhead);
        if (!op->error) {
            op->hw = kdp_tc_rule_saw(op->rule, &request->reply);
        }
        break;
    }
}

/* May an insertion have failed because the place for rules is gone? */
static bool
lacks_place(const struct pending *pending)
{
    return (pending->request.type == KDP_TC_ADD
            && (pending->request.error == EINVAL
                || pending->request.error == ENOENT));
}

/* May an insertion have failed because another program has created the action
 * that it shares? */
static bool
may_mismatch(const struct pending *pending)
{
    return (pending->request.type == KDP_TC_ADD
            && pending->request.error == EINVAL);
}

/* Adds the place for rules of 'port_no' again if it is gone.  Returns true if
 * it was added. */
static bool
restore_place(const struct kdp_tc *tc, uint32_t port_no)
{
    struct netdev *netdev = ovs_compat_ports_get(u32_to_odp(port_no),
                                                 tc->dpif_type);
    bool restored = netdev && kdp_tc_prepare_restore(netdev);

    netdev_close(netdev);
    return restored;
}

/* Retries insertions that failed because the place for rules was gone, or
 * maybe because of an action that rules share.  Checks each port of the batch
 * once, whatever fails there. */
static void
retry_batch(const struct kdp_tc *tc, struct pending pending[], size_t n)
{
    struct kdp_tc_request *requests[KDP_TC_BATCH];
    struct hmapx ports = HMAPX_INITIALIZER(&ports);
    bool restored = false;
    size_t n_requests = 0;

    for (size_t i = 0; i < n; i++) {
        if (lacks_place(&pending[i])) {
            uint32_t port_no = pending[i].op->desc->in_port;

            if (hmapx_add(&ports, (void *) (uintptr_t) port_no)) {
                restored |= restore_place(tc, port_no);
            }
        }
    }
    hmapx_destroy(&ports);
    for (size_t i = 0; i < n; i++) {
        struct kdp_tc_request *request = &pending[i].request;

        if (restored ? request->type == KDP_TC_ADD && request->error
            : may_mismatch(&pending[i])
            && kdp_tc_action_unshare(request->rule)) {
            requests[n_requests++] = request;
        }
    }
    transact(requests, n_requests);
}

/* Finds insertions that failed because another filter has their priority.
 * Their failure is temporary: the engine offers these flows again, and they
 * get another priority.  The name of a rule does not change once it is set
 * (tc-rules.h). */
static void
avoid_priorities(struct pending pending[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct kdp_tc_request *request = &pending[i].request;

        if (request->type == KDP_TC_ADD && request->error == EINVAL
            && kdp_tc_prio_avoid(request)) {
            pending[i].prio_taken = true;
            pending[i].op->why = "another filter has its priority; the next "
                                 "try has another one";
        }
    }
}

/* Is 'error' a refusal for which the kernel may have given a reason? */
static bool
is_refusal(int error)
{
    return error == EOPNOTSUPP || error == EINVAL || error == ENOSPC;
}

/* Asks why insertions were refused, once for each error of the batch, as
 * others were probably refused for the same reason. */
static void
explain_batch(struct pending pending[], size_t n)
{
    int asked[KDP_TC_BATCH];
    size_t n_asked = 0;

    for (size_t i = 0; i < n; i++) {
        struct kdp_tc_request *request = &pending[i].request;
        bool ask = (request->type == KDP_TC_ADD
                    && is_refusal(request->error) && !pending[i].op->why);

        for (size_t j = 0; ask && j < n_asked; j++) {
            ask = asked[j] != request->error;
        }
        if (ask) {
            asked[n_asked++] = request->error;
            ovsrcu_quiesce_start();
            request->error = kdp_tc_explain(request, &pending[i].op->why);
            ovsrcu_quiesce_end();
        }
    }
}

/* Carries out at most KDP_TC_BATCH operations. */
static void
operate_batch(struct kdp_tc *tc, struct offload_copy_op *ops[], size_t n)
{
    struct pending *pending = xmalloc(n * sizeof *pending);
    size_t n_pending = 0;

    for (size_t i = 0; i < n; i++) {
        pending[n_pending].op = ops[i];
        n_pending += prepare(tc, &pending[n_pending]);
    }
    transact_batch(pending, n_pending);
    retry_batch(tc, pending, n_pending);
    avoid_priorities(pending, n_pending);
    explain_batch(pending, n_pending);
    for (size_t i = 0; i < n_pending; i++) {
        commit(&pending[i]);
    }
    free(pending);
}

static void
tc_operate(void *tc, struct offload_copy_op *ops[], size_t n)
{
    while (n) {
        size_t chunk = MIN(n, KDP_TC_BATCH);

        operate_batch(tc, ops, chunk);
        ops += chunk;
        n -= chunk;
    }
}

/* Lists.
 *
 * The kernel needs no lock to read rules by name, many in a message.  If a
 * rule is in a card it asks the driver, though, and most drivers need the RTNL
 * lock, for each rule.  A dump takes the lock once for each part, of some
 * eighty rules.  So a device with rules in a card is dumped.  (The dump takes
 * the lock even for a driver that does not need it.)
 *
 * To find rules without a flow, all places are dumped, without the times at
 * which rules were used.  That takes the RTNL lock once for each place, and
 * for each eighty rules. */

/* Calls 'cb' for each rule in 'place' that may be ours, in a dump for
 * 'purpose'.  Rules may be missing after an error; the caller then reads a
 * flow's rule by name. */
static void
list_place(const struct tcf_id *place_, enum kdp_rtnl_call purpose, bool terse,
           offload_list_cb *cb, void *cb_aux)
{
    struct tcf_id place = *place_;
    struct kdp_tc_rule rule;
    struct ofpbuf buffer;
    struct nl_dump dump;

    kdp_rtnl_count(purpose);
    tc_dump_flower_start(&place, &dump, terse);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    while (kdp_tc_dump_next(&dump, &buffer, &rule)) {
        cb(cb_aux, &rule.ufid, &rule);
    }
    ofpbuf_uninit(&buffer);
    kdp_tc_dump_done(&dump);
}

static void
tc_list(void *tc, bool exact, offload_list_cb *cb, void *cb_aux)
{
    struct tcf_id *places;
    size_t n = kdp_tc_places_in_hw(tc, &places);

    for (size_t i = 0; i < n; i++) {
        list_place(&places[i], KDP_RTNL_TC_DUMP, !exact, cb, cb_aux);
    }
    free(places);
}

/* Are rules in 'id' to be listed?  Not if the engine does not know the port
 * there, or is to end.  If there is no port, not if another datapath has rules
 * there, which may belong to a port that is being deleted. */
static bool
is_listed(const struct kdp_tc *tc, const struct kdp_tc_places *ports,
          const struct tcf_id *id, offload_is_known_cb *is_known, void *cb_aux)
{
    const struct kdp_tc_place *port = kdp_tc_places_find(ports, id);
    struct offload_place place = kdp_tc_place_for_engine(port ? &port->id
                                                         : id);

    return (is_known(cb_aux, port ? port->port_no : UINT32_MAX, &place)
            && (port
                || !kdp_tc_others_have_rules(tc, kdp_tc_place_device(id))));
}

static void
tc_list_all(void *tc_, offload_is_known_cb *is_known, offload_list_cb *cb,
            void *cb_aux)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct kdp_tc_places ports = { .n = 0 }, places = { .n = 0 };
    struct kdp_tc *tc = tc_;
    int error;

    /* If a device becomes a port meanwhile, its place seems to have no port,
     * but its rules belong to flows by the time of the next check. */
    error = kdp_tc_places_add_all(&places);
    kdp_tc_places_add_ports(&ports, tc->dpif_type);
    if (error) {
        VLOG_WARN_RL(&rl, "queueing disciplines cannot be listed (%s): rules "
                     "that no flow has go on forwarding",
                     ovs_strerror(error));
    }
    for (size_t i = 0; i < places.n; i++) {
        const struct kdp_tc_place *place = &places.array[i];

        if ((!i || !kdp_tc_places_is_same(place, place - 1))
            && is_listed(tc, &ports, &place->id, is_known, cb_aux)) {
            list_place(&place->id, KDP_RTNL_TC_AUDIT, true, cb, cb_aux);
        }
    }
    kdp_tc_places_uninit(&places);
    kdp_tc_places_uninit(&ports);
}

static bool
tc_take(void *tc OVS_UNUSED, struct offload_rule *rule, const void *listed_,
        struct offload_stats *stats, enum offload_hw *hw)
{
    const struct kdp_tc_rule *listed = listed_;
    struct kdp_tc_known known;

    if (!kdp_tc_rule_get(rule, &known)
        || !kdp_tc_id_equals(&known.id, &listed->id)) {
        return false;
    }
    *hw = kdp_tc_rule_saw(rule, listed);
    *stats = kdp_tc_stats(listed, known.overhead);
    return true;
}

static struct offload_rule *
tc_name(void *tc, const void *listed_)
{
    const struct kdp_tc_rule *listed = listed_;
    struct offload_rule *rule;

    if (!kdp_tc_handle_is_kdp(listed->id.handle)) {
        return NULL;
    }
    rule = kdp_tc_rule_create(tc);
    kdp_tc_rule_set(rule, UINT32_MAX, &listed->id, NULL, false);
    return rule;
}

struct offload_backend
kdp_tc_backend(struct kdp_tc *tc)
{
    return (struct offload_backend) {
        .create_rule = kdp_tc_rule_create,
        .operate = tc_operate,
        .list = tc_list,
        .list_all = tc_list_all,
        .take = tc_take,
        .name = tc_name,
        .is_same = kdp_tc_rule_is_same,
        .locate = kdp_tc_locate,
        .dump = kdp_tc_adopt,
        .aux = tc,
    };
}
