/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-llc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "util.h"

/* With fewer CPUs, too few handlers could help each other, and the topology
 * that a virtual machine shows often differs from the host's. */
#define GROUP_MIN 4

/* The most caches of a CPU to look at: two of the first level, one of each of
 * three others, and some to spare. */
#define MAX_CACHES 16

/* Reads the first line of file 'name' of cache 'index' into 'line'.  Returns
 * false if there is none. */
static bool
read_cache_file(const char *sysfs, int index, const char *name,
                char line[], size_t size)
{
    char *path = xasprintf("%s/cpu0/cache/index%d/%s", sysfs, index, name);
    FILE *file = fopen(path, "r");
    bool ok = false;

    free(path);
    if (file) {
        ok = fgets(line, size, file) != NULL;
        fclose(file);
    }
    return ok;
}

/* Counts the CPUs in 'list', such as "0-3,8-11".  Returns 0 if it is not a
 * list. */
static unsigned int
count_cpus(const char *list)
{
    unsigned int n = 0;

    for (;;) {
        unsigned int first, last;
        int len = 0;

        if (sscanf(list, "%u-%u%n", &first, &last, &len) != 2) {
            if (sscanf(list, "%u%n", &first, &len) != 1) {
                return 0;
            }
            last = first;
        }
        if (last < first) {
            return 0;
        }
        n += last - first + 1;
        list += len;
        if (*list != ',') {
            return *list == '\0' || *list == '\n' ? n : 0;
        }
        list++;
    }
}

unsigned int
upcall_llc_n_cpus(const char *sysfs)
{
    int last_level = 0;
    unsigned int n = 0;

    for (int i = 0; i < MAX_CACHES; i++) {
        char line[4096];
        int level;

        if (!read_cache_file(sysfs, i, "level", line, sizeof line)) {
            break;
        }
        level = atoi(line);
        if (level > last_level
            && read_cache_file(sysfs, i, "shared_cpu_list", line,
                               sizeof line)) {
            last_level = level;
            n = count_cpus(line);
        }
    }
    return n;
}

unsigned int
upcall_llc_group_size(unsigned int n_cpus)
{
    return n_cpus < GROUP_MIN ? UPCALL_LLC_GROUP_MAX
           : MIN(n_cpus, UPCALL_LLC_GROUP_MAX);
}
