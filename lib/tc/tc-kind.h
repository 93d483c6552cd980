/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_KIND_H
#define KDP_TC_TC_KIND_H 1

/* Kinds of actions
 * ================
 *
 * Those that Open vSwitch makes rules of, where the number of an action of
 * each kind is, and which numbers are ours (tc-action.h).
 *
 * What an action is like stands in an attribute of its options, and begins for
 * all kinds but policers as struct tc_gact does: with its number, and with how
 * many refer to it ("refcnt"), rules among them ("bindcnt").
 *
 * One action is known by what it does: the one that makes a packet one for
 * this host.  Open vSwitch has it before each output to an internal port, so
 * that all rules may have the same (tc-action.h).
 *
 * Thread safety: constant data. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlattr;

/* Numbers that are named here: so many ranges of so many, from the first one.
 * A range has those of 18 hours, with 1,000 new actions a second.  All fit
 * into an int, which some programs take them for. */
#define KDP_TC_ACTION_FIRST 0x20000000u
#define KDP_TC_ACTION_RANGE 0x04000000u
#define KDP_TC_ACTION_N_RANGES 24

struct kdp_tc_kind {
    const char *name;
    size_t size;                /* Of 'name', with the null byte. */
    uint16_t times;             /* The option with the times, which one action
                                 * of each rule tells at least; 0 if it is not
                                 * looked at. */
    uint16_t parms;             /* The option that says what it is like, in
                                 * either form.  0 for policers, whose numbers
                                 * are those of meters. */
    uint16_t old_parms;
    bool is_common;             /* Rules may have one action of this kind
                                 * together, so that what it counts is not of
                                 * one rule. */
};

#define KDP_TC_N_KINDS 10
extern const struct kdp_tc_kind kdp_tc_kinds[KDP_TC_N_KINDS];

/* Returns the kind with 'name', an attribute that may be NULL, or NULL if
 * there is none. */
const struct kdp_tc_kind *kdp_tc_kind_find(const struct nlattr *name);

static inline bool
kdp_tc_kind_is_policer(const struct kdp_tc_kind *kind)
{
    return !kind->parms;
}

/* Returns what says in 'options', which may be NULL, what an action of 'kind'
 * is like, or NULL. */
const struct nlattr *kdp_tc_kind_parms(const struct kdp_tc_kind *kind,
                                       const struct nlattr *options);

/* Does an action of 'kind' with 'options', which may be NULL, make a packet
 * one for this host, and nothing else? */
bool kdp_tc_kind_is_to_host(const struct kdp_tc_kind *kind,
                            const struct nlattr *options);

#endif /* lib/tc/tc-kind.h */
