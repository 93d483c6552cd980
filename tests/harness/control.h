/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_CONTROL_H
#define HARNESS_CONTROL_H 1

/* Control commands, over a real control socket of this process.
 *
 * Thread safety: one thread. */

#include "compiler.h"

void unit_control_start(void);
void unit_control_stop(void);

/* Runs 'command' with its arguments, which end with NULL.  Returns its reply,
 * or the error with "error: " in front, for the caller to free. */
char *unit_control_run(const char *command, ...) SENTINEL(0);

#endif /* tests/harness/control.h */
