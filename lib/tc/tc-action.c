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

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static uint32_t next_number OVS_GUARDED_BY(mutex);
static uint32_t n_left OVS_GUARDED_BY(mutex);
static bool gave_up OVS_GUARDED_BY(mutex);

/* The number that rules share, from the present range.  0 if none was named
 * yet. */
static uint32_t shared_number OVS_GUARDED_BY(mutex);

/* Held while a range is being chosen, so that only one thread does it.  Taken
 * before 'mutex'. */
static struct ovs_mutex choose_mutex = OVS_MUTEX_INITIALIZER;

/* Returns the position of the number of 'action', at any alignment, or NULL if
 * actions of its kind are not numbered. */
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

/* Stores the first number of a range that has no action.  Returns 0 or a
 * positive errno value.  Waits for tc. */
static int
find_range(uint32_t *first)
{
    bool used[KDP_TC_ACTION_N_RANGES] = { false };
    uint32_t start = random_range(KDP_TC_ACTION_N_RANGES);

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

/* Numbers for a request: 'n' for it alone, from 'first' on, and, if 'share',
 * one that it shares. */
struct numbers {
    uint32_t n;
    bool share;
    uint32_t first;
    uint32_t shared;
};

/* Takes '*numbers' from the present range.  Returns false if there are not
 * enough. */
static bool
take(struct numbers *numbers)
{
    uint32_t n;
    bool taken;

    ovs_mutex_lock(&mutex);
    n = numbers->n + (numbers->share && !shared_number);
    taken = n <= n_left;
    if (taken) {
        numbers->first = next_number;
        next_number += n;
        n_left -= n;
        if (n > numbers->n) {
            shared_number = next_number - 1;
        }
        numbers->shared = shared_number;
    }
    ovs_mutex_unlock(&mutex);
    return taken;
}

/* Chooses another range, unless another thread just did.  Returns false if
 * that fails. */
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
            VLOG_INFO("leaving numbers of tc actions to the kernel, which "
                      "takes longer the more there are (%s)",
                      ovs_strerror(error));
        }
        chosen = !error;
        ovs_mutex_lock(&mutex);
        next_number = first;
        n_left = chosen ? KDP_TC_ACTION_RANGE : 0;
        shared_number = 0;
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

/* Takes '*numbers', from another range if necessary.  Returns false if the
 * kernel is to choose. */
static bool
take_or_choose(struct numbers *numbers)
{
    return (take(numbers)
            || (!has_given_up() && choose_range(numbers->n + numbers->share)
                && take(numbers)));
}

/* Returns the options of the rule that 'request' adds, or NULL. */
static const struct nlattr *
options_of(const struct ofpbuf *request)
{
    return nl_attr_find(request, NLMSG_HDRLEN + sizeof(struct tcmsg),
                        TCA_OPTIONS);
}

/* Does a rule with 'options' reach no driver? */
static bool
skips_hw(const struct nlattr *options)
{
    const struct nlattr *flags = nl_attr_find_nested(options,
                                                     TCA_FLOWER_FLAGS);

    return (flags && nl_attr_get_size(flags) == sizeof(uint32_t)
            && nl_attr_get_u32(flags) & TCA_CLS_FLAGS_SKIP_HW);
}

/* Is 'action' one that rules may share? */
static bool
is_to_host(const struct nlattr *action)
{
    const struct kdp_tc_kind *kind = kdp_tc_kind_find(
        nl_attr_find_nested(action, TCA_ACT_KIND));

    return kind && kdp_tc_kind_is_to_host(
        kind, nl_attr_find_nested(action, TCA_ACT_OPTIONS));
}

/* Returns the action that a rule with 'options' shares with others, or
 * NULL. */
static const struct nlattr *
shared_of(const struct nlattr *options)
{
    const struct nlattr *actions = nl_attr_find_nested(options,
                                                       TCA_FLOWER_ACT);
    const struct nlattr *action;
    size_t left;

    if (actions && skips_hw(options)) {
        NL_NESTED_FOR_EACH (action, left, actions) {
            if (is_to_host(action)) {
                return action;
            }
        }
    }
    return NULL;
}

/* Is there an unnamed number at 'number'? */
static bool
is_unnamed(const void *number)
{
    return number && !get_number(number);
}

static void
set_number(const void *p, uint32_t number)
{
    memcpy(CONST_CAST(void *, p), &number, sizeof number);
}

void
kdp_tc_action_name(struct ofpbuf *request)
{
    const struct nlattr *options = options_of(request);
    const struct nlattr *actions, *action, *shared;
    struct numbers numbers = { .n = 0 };
    size_t left;

    actions = options ? nl_attr_find_nested(options, TCA_FLOWER_ACT) : NULL;
    if (!actions) {
        return;
    }
    shared = shared_of(options);
    NL_NESTED_FOR_EACH (action, left, actions) {
        if (is_unnamed(number_of(action))) {
            numbers.share |= action == shared;
            numbers.n += action != shared;
        }
    }
    if (!(numbers.n || numbers.share) || !take_or_choose(&numbers)) {
        return;
    }
    NL_NESTED_FOR_EACH (action, left, actions) {
        const void *p = number_of(action);

        if (is_unnamed(p)) {
            set_number(p, action == shared ? numbers.shared : numbers.first++);
        }
    }
}

bool
kdp_tc_action_unshare(struct ofpbuf *request)
{
    const struct nlattr *options = options_of(request);
    const struct nlattr *shared = options ? shared_of(options) : NULL;
    const void *p = shared ? number_of(shared) : NULL;
    struct numbers own = { .n = 1 };

    if (!p || is_unnamed(p)) {
        return false;
    }
    ovs_mutex_lock(&mutex);
    if (get_number(p) == shared_number) {
        shared_number = 0;
    }
    ovs_mutex_unlock(&mutex);
    set_number(p, take_or_choose(&own) ? own.first : 0);
    return true;
}

void
kdp_tc_action_next_range(void)
{
    ovs_mutex_lock(&mutex);
    n_left = 0;
    shared_number = 0;
    gave_up = false;
    ovs_mutex_unlock(&mutex);
}
