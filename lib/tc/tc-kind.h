/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_KIND_H
#define KDP_TC_TC_KIND_H 1

/* Kinds of actions
 * ================
 *
 * The kinds of actions that Open vSwitch puts in rules, where the number of an
 * action of each kind is, and which numbers are ours (tc-action.h).
 *
 * An attribute of an action's options describes it.  For all kinds except
 * policers it begins like struct tc_gact: with the number, and with the counts
 * of references ("refcnt") and of rules among them ("bindcnt").
 *
 * One action is recognised by what it does: the one that addresses a packet to
 * this host.  Open vSwitch puts it before each output to an internal port, and
 * rules may share it (tc-action.h).
 *
 * Thread safety: constant data. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlattr;

/* Numbers that tc-action.h names: KDP_TC_ACTION_N_RANGES ranges of
 * KDP_TC_ACTION_RANGE numbers, from KDP_TC_ACTION_FIRST on.  A range lasts for
 * 18 hours at 1,000 new actions per second.  All fit into an int, which some
 * programs use for them. */
#define KDP_TC_ACTION_FIRST 0x20000000u
#define KDP_TC_ACTION_RANGE 0x04000000u
#define KDP_TC_ACTION_N_RANGES 24

struct kdp_tc_kind {
    const char *name;
    size_t size;                /* Of 'name', with the null byte. */
    uint16_t times;             /* The option with the times, which at least
                                 * one action of each rule has; 0 if it is not
                                 * read. */
    uint16_t parms;             /* The option that describes the action, in the
                                 * new or the old form.  0 for policers, whose
                                 * numbers belong to meters. */
    uint16_t old_parms;
    bool is_common;             /* Rules may share an action of this kind, so
                                 * that its counters may cover several
                                 * rules. */
};

#define KDP_TC_N_KINDS 10
extern const struct kdp_tc_kind kdp_tc_kinds[KDP_TC_N_KINDS];

/* Returns the kind with 'name', an attribute or NULL, or NULL if there is
 * none. */
const struct kdp_tc_kind *kdp_tc_kind_find(const struct nlattr *name);

static inline bool
kdp_tc_kind_is_policer(const struct kdp_tc_kind *kind)
{
    return !kind->parms;
}

/* Returns the attribute of 'options', which may be NULL, that describes an
 * action of 'kind', or NULL. */
const struct nlattr *kdp_tc_kind_parms(const struct kdp_tc_kind *kind,
                                       const struct nlattr *options);

/* Does an action of 'kind' with 'options', which may be NULL, address a packet
 * to this host and do nothing else? */
bool kdp_tc_kind_is_to_host(const struct kdp_tc_kind *kind,
                            const struct nlattr *options);

#endif /* lib/tc/tc-kind.h */
