/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-grace.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int
upcall_grace_wait(void)
{
    int fd;

    if (!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)) {
        return 0;
    }
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    close(fd);
    return 0;
}
