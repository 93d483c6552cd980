/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_PROCESSES_H
#define HARNESS_PROCESSES_H 1

/* Runs 'func' for each number below 'n', each in its own process, all at the
 * same time, and waits for them.  Ends the program if one of them fails.
 * 'func' uses unit_check(), not cmocka's assertions.  The calling process must
 * have one thread. */
void unit_run_processes(unsigned int n, void (*func)(unsigned int i));

#endif /* tests/harness/processes.h */
