/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/processes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/prng.h"
#include "harness/unit.h"
#include "harness/watchdog.h"
#include "util.h"

void
unit_run_processes(unsigned int n, void (*func)(unsigned int i))
{
    pid_t *pids = xcalloc(n, sizeof *pids);
    bool failed = false;

    unit_seed();                /* All have the same. */
    fflush(NULL);
    for (unsigned int i = 0; i < n; i++) {
        pids[i] = fork();
        unit_check(pids[i] >= 0);
        if (!pids[i]) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            free(pids);
            unit_watchdog_progress();
            func(i);
            exit(EXIT_SUCCESS);
        }
    }
    for (unsigned int i = 0; i < n; i++) {
        int status;

        while (waitpid(pids[i], &status, 0) < 0) {
            unit_check(errno == EINTR);
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            printf("process %u failed (status %#x)\n", i, status);
            failed = true;
        }
        unit_watchdog_progress();
    }
    free(pids);
    unit_check(!failed);
}
