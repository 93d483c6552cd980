/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UNIXCTL_FINDINGS_H
#define KDP_UNIXCTL_FINDINGS_H 1

/* Findings
 * ========
 *
 * Problems on this machine, for an operator: what was found, why it matters,
 * and what to do about it.  The command kdp/doctor prints them.
 *
 *      engines --> sources --> findings --> kdp/doctor
 *
 * An engine has a function that inspects a snapshot of itself and adds
 * findings, for example upcall_diagnose().  Such functions are pure, so that a
 * test can provoke each finding.  A module that has the snapshots registers a
 * source, which takes them and calls these functions.
 *
 * A kind of finding is a constant.  Its name is in the manual page and must
 * not change, because people search for it and programs compare it.
 *
 * A finding is about the present state, or about counters since the daemon was
 * started.  Functions that add findings about many objects of a kind limit
 * their number, and say how many more there are.
 *
 * Life cycle: findings_init(), any number of findings_add(), then output,
 * findings_uninit().  Sources stay registered.
 *
 * Thread safety: main thread only, as with all of unixctl; sets of findings
 * are plain data. */

#include <stddef.h>

#include "compiler.h"

struct ds;
struct json;

struct finding_kind {
    const char *name;           /* "upcalls-lost". */
    const char *why;            /* Why it matters, in a sentence. */
    const char *advice;         /* What to do, in a sentence. */
};

struct finding {
    const struct finding_kind *kind;
    char *what;                 /* What was found, and where. */
};

struct findings {
    struct finding *array;
    size_t n, allocated;
};

void findings_init(struct findings *);
void findings_uninit(struct findings *);

/* Adds a finding of 'kind', which must stay. */
void findings_add(struct findings *, const struct finding_kind *kind,
                  const char *format, ...) OVS_PRINTF_FORMAT(3, 4);

/* Two lines for each finding, or one line if there is none. */
void findings_to_text(const struct findings *, struct ds *);
struct json *findings_to_json(const struct findings *);

/* Adds the findings of a part of the program. */
typedef void findings_source_func(struct findings *, void *aux);

/* Registers 'source', which is called with 'aux' by findings_collect(). */
void findings_register_source(findings_source_func *source, void *aux);

/* Calls all sources, in the order in which they were registered. */
void findings_collect(struct findings *);

/* Registers the command kdp/doctor. */
void findings_register_command(void);

#endif /* lib/unixctl/findings.h */
