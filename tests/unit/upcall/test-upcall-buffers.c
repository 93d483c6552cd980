/* SPDX-License-Identifier: Apache-2.0 */

/* Memory for messages: only what was written takes memory. */

#include <config.h>
#include "upcall/upcall-buffers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/unit.h"
#include "util.h"

#define N_MSGS 63
#define MSG_SIZE (80 * 1024)

/* Stores in 'flags' what the kernel says of the mapping that has 'address', in
 * two letters each (proc(5), "VmFlags"). */
static void
get_flags(const void *address, char *flags, size_t size)
{
    FILE *stream = fopen("/proc/self/smaps", "r");
    bool found = false;
    char line[1024];

    assert_non_null(stream);
    flags[0] = '\0';
    while (fgets(line, sizeof line, stream)) {
        uintptr_t start, end;

        if (sscanf(line, "%"SCNxPTR"-%"SCNxPTR" ", &start, &end) == 2) {
            found = (uintptr_t) address >= start && (uintptr_t) address < end;
        } else if (found && !strncmp(line, "VmFlags:", 8)) {
            ovs_strlcpy(flags, line + 8, size);
        }
    }
    fclose(stream);
    assert_string_not_equal(flags, "");
}

static void
buffers_do_not_become_huge_pages(void **state OVS_UNUSED)
{
    char *buffers = upcall_buffers_map(N_MSGS, MSG_SIZE);
    char flags[256];

    assert_non_null(buffers);
    get_flags(buffers, flags, sizeof flags);
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) {
        print_message("the kernel has no transparent huge pages\n");
    } else {
        assert_non_null(strstr(flags, " nh"));
    }
    for (size_t i = 0; i < N_MSGS; i++) {
        buffers[i * MSG_SIZE] = 1;
    }
    upcall_buffers_unmap(buffers, N_MSGS, MSG_SIZE);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_do_not_become_huge_pages),
    };

    unit_init("test-upcall-buffers");
    return cmocka_run_group_tests_name("upcall-buffers", tests, NULL, NULL);
}
