/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-grace.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void
upcall_grace_wait(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0)) {
        struct timespec pause = { .tv_sec = UPCALL_GRACE_MSEC / 1000 };

        while (nanosleep(&pause, &pause)) {
            continue;
        }
    }
}
