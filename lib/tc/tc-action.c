/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-action.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "random.h"
#include "tc/tc-kind.h"
#include "tc/tc-transact.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_action);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static uint32_t next_number OVS_GUARDED_BY(mutex);
static uint32_t n_left OVS_GUARDED_BY(mutex);
static bool gave_up OVS_GUARDED_BY(mutex);

/* Ranges that were given up, and how many. */
static bool given_up[KDP_TC_ACTION_N_RANGES] OVS_GUARDED_BY(mutex);
static unsigned int n_given_up OVS_GUARDED_BY(mutex);

/* Held while a range is being chosen, so that one thread does it.  Taken
 * outside of 'mutex'. */
static struct ovs_mutex choose_mutex = OVS_MUTEX_INITIALIZER;

/* Returns where the number of 'action' is, or NULL if it is of a kind whose
 * actions are not named.  It may be at any address. */
static const void *
number_of(const struct nlattr *action)
{
    const struct kdp_tc_kind *kind = kdp_tc_kind_find(
        nl_attr_find_nested(action, TCA_ACT_KIND));
    const struct nlattr *parms = (kind ? kdp_tc_kind_parms(
        kind, nl_attr_find_nested(action, TCA_ACT_OPTIONS)) : NULL);

    return (parms && nl_attr_get_size(parms) >= sizeof(uint32_t)
            ? nl_attr_get(parms) : NULL);
}

static uint32_t
get_number(const void *number_)
{
    uint32_t number;

    memcpy(&number, number_, sizeof number);
    return number;
}

void
kdp_tc_action_mark(const struct ofpbuf *msg, bool used[])
{
    const size_t offset = NLMSG_HDRLEN + sizeof(struct tcamsg);
    const struct nlattr *tab, *action;
    size_t left;

    tab = msg->size >= offset ? nl_attr_find(msg, offset, TCA_ACT_TAB) : NULL;
    if (!tab) {
        return;
    }
    NL_NESTED_FOR_EACH (action, left, tab) {
        const void *number = number_of(action);
        uint32_t i;

        if (number && get_number(number) >= KDP_TC_ACTION_FIRST) {
            i = (get_number(number) - KDP_TC_ACTION_FIRST)
                / KDP_TC_ACTION_RANGE;
            if (i < KDP_TC_ACTION_N_RANGES) {
                used[i] = true;
            }
        }
    }
}

static void
mark(void *used, const struct ofpbuf *msg)
{
    kdp_tc_action_mark(msg, used);
}

/* Stores the first number of a range that no action has a number of.  Returns
 * 0 or a positive errno value.  Waits for tc. */
static int
find_range(uint32_t *first)
{
    bool used[KDP_TC_ACTION_N_RANGES];
    uint32_t start = random_range(KDP_TC_ACTION_N_RANGES);

    ovs_mutex_lock(&mutex);
    memcpy(used, given_up, sizeof used);
    ovs_mutex_unlock(&mutex);
    for (size_t i = 0; i < KDP_TC_N_KINDS; i++) {
        const struct kdp_tc_kind *kind = &kdp_tc_kinds[i];
        int error = (kdp_tc_kind_is_policer(kind) ? 0
                     : kdp_tc_dump_actions(kind->name, mark, used));

        if (error) {
            return error;
        }
    }
    for (uint32_t i = 0; i < KDP_TC_ACTION_N_RANGES; i++) {
        uint32_t range = (start + i) % KDP_TC_ACTION_N_RANGES;

        if (!used[range]) {
            *first = KDP_TC_ACTION_FIRST + range * KDP_TC_ACTION_RANGE;
            return 0;
        }
    }
    return ENOSPC;
}

/* Takes 'n' numbers of the range that is in use.  Returns false if there are
 * none. */
static bool
take(uint32_t n, uint32_t *first)
{
    bool taken;

    ovs_mutex_lock(&mutex);
    taken = n <= n_left;
    if (taken) {
        *first = next_number;
        next_number += n;
        n_left -= n;
    }
    ovs_mutex_unlock(&mutex);
    return taken;
}

/* Chooses another range, unless another thread just did.  Returns false if
 * that cannot be done. */
static bool
choose_range(uint32_t n)
{
    uint32_t first = 0;
    bool needed;
    bool chosen;

    ovsrcu_quiesce_start();
    ovs_mutex_lock(&choose_mutex);
    ovs_mutex_lock(&mutex);
    needed = n > n_left && !gave_up;
    chosen = !gave_up;
    ovs_mutex_unlock(&mutex);
    if (needed) {
        int error = find_range(&first);

        if (error) {
            VLOG_INFO("numbers of actions of tc are left to the kernel, "
                      "which takes longer the more there are (%s)",
                      ovs_strerror(error));
        }
        chosen = !error;
        ovs_mutex_lock(&mutex);
        next_number = first;
        n_left = chosen ? KDP_TC_ACTION_RANGE : 0;
        gave_up = !chosen;
        ovs_mutex_unlock(&mutex);
    }
    ovs_mutex_unlock(&choose_mutex);
    ovsrcu_quiesce_end();
    return chosen;
}

static bool
has_given_up(void)
{
    bool value;

    ovs_mutex_lock(&mutex);
    value = gave_up;
    ovs_mutex_unlock(&mutex);
    return value;
}

/* Returns the actions of 'request', or NULL. */
static const struct nlattr *
actions_of(const struct ofpbuf *request)
{
    const struct nlattr *options = nl_attr_find(
        request, NLMSG_HDRLEN + sizeof(struct tcmsg), TCA_OPTIONS);

    return options ? nl_attr_find_nested(options, TCA_FLOWER_ACT) : NULL;
}

/* Is there a number at 'number' that is to be named? */
static bool
is_unnamed(const void *number)
{
    return number && !get_number(number);
}

void
kdp_tc_action_name(struct ofpbuf *request)
{
    const struct nlattr *actions = actions_of(request);
    const struct nlattr *action;
    uint32_t n = 0, number;
    size_t left;

    if (!actions) {
        return;
    }
    NL_NESTED_FOR_EACH (action, left, actions) {
        n += is_unnamed(number_of(action));
    }
    if (!n || (!take(n, &number)
               && (has_given_up() || !choose_range(n) || !take(n, &number)))) {
        return;
    }
    NL_NESTED_FOR_EACH (action, left, actions) {
        const void *p = number_of(action);

        if (is_unnamed(p)) {
            memcpy(CONST_CAST(void *, p), &number, sizeof number);
            number++;
        }
    }
}

/* Is 'number' of the range that is in use? */
static bool
is_in_use(uint32_t number)
    OVS_REQUIRES(mutex)
{
    uint32_t end = next_number + n_left;

    return n_left && number < end && number >= end - KDP_TC_ACTION_RANGE;
}

void
kdp_tc_action_conflict(const char *device, const char *kind, uint32_t number)
{
    ovs_mutex_lock(&mutex);
    if (is_in_use(number)) {
        n_left = 0;
        given_up[(number - KDP_TC_ACTION_FIRST) / KDP_TC_ACTION_RANGE] = true;
        gave_up = ++n_given_up >= KDP_TC_ACTION_MAX_CONFLICTS;
    }
    ovs_mutex_unlock(&mutex);
    VLOG_WARN_RL(&rl, "%s: number %"PRIu32" of actions of kind \"%s\" is used "
                 "by another process, too: the rule that has it is made anew "
                 "with other numbers", device, number, kind);
}

void
kdp_tc_action_next_range(void)
{
    ovs_mutex_lock(&mutex);
    n_left = 0;
    memset(given_up, 0, sizeof given_up);
    n_given_up = 0;
    gave_up = false;
    ovs_mutex_unlock(&mutex);
}
