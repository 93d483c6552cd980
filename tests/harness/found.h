/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_FOUND_H
#define HARNESS_FOUND_H 1

/* Findings, for tests of the functions that make them. */

#include "unixctl/findings.h"

/* Checks that 'findings' are 'n' of kind 'name', that the first contains
 * 'what', and that each has a reason and advice that are sentences.  Empties
 * them. */
void unit_found(struct findings *, size_t n, const char *name,
                const char *what);

/* Checks that there are none. */
void unit_found_nothing(const struct findings *);

#endif /* tests/harness/found.h */
