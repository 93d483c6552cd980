/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/descriptors.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "harness/unit.h"

size_t
unit_count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    size_t n = 0;

    unit_check(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        static const char socket[] = "socket:", anon[] = "anon_inode:";
        char target[64];
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target,
                                 sizeof target);

        n += (len >= (ssize_t) sizeof socket
              && !memcmp(target, socket, sizeof socket - 1));
        n += (len >= (ssize_t) sizeof anon
              && !memcmp(target, anon, sizeof anon - 1));
    }
    closedir(dir);
    return n;
}
