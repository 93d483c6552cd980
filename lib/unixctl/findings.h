/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UNIXCTL_FINDINGS_H
#define KDP_UNIXCTL_FINDINGS_H 1

/* Findings
 * ========
 *
 * What is wrong on this machine, for an operator: what was found, why it
 * matters, and what to do about it.  The command kdp/doctor prints them.
 *
 *      engines --> sources --> findings --> kdp/doctor
 *
 * An engine has a function that looks at a snapshot of itself and adds what it
 * finds, upcall_diagnose() for example.  Such functions are pure, so that each
 * finding can be provoked in a test.  Whoever has the snapshots registers a
 * source, which takes them and calls these functions.
 *
 * A kind of finding is a constant.  Its name stays, because people search for
 * it and programs compare it: it is in the manual page.
 *
 * A finding is about what is so now, or what was counted since the daemon was
 * started.  Whoever adds findings of many objects of a kind bounds their
 * number, and says how many more there are.
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
    const char *advice;         /* What to do, likewise. */
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

/* Adds what a part of the program finds. */
typedef void findings_source_func(struct findings *, void *aux);

/* Has 'source' called with 'aux' whenever somebody asks. */
void findings_register_source(findings_source_func *source, void *aux);

/* Asks all sources, in the order in which they were registered. */
void findings_collect(struct findings *);

/* Registers the command kdp/doctor. */
void findings_register_command(void);

#endif /* lib/unixctl/findings.h */
