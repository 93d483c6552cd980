/* SPDX-License-Identifier: Apache-2.0 */

/* Memory for messages: only what was written takes memory. */

#include <config.h>
#include "upcall/upcall-engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "upcall/upcall-channel.h"
#include "util.h"

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
    struct upcall_channel *channel;
    struct upcall_engine *engine;
    struct upcall_read read;
    struct upcall_rx rx;
    int sender = unit_sender_open();
    char flags[256];

    assert_int_equal(upcall_channel_create(&channel), 0);
    assert_int_equal(upcall_engine_epoll.create(UPCALL_BATCH, &engine), 0);
    unit_send_upcall(sender, channel->pid, 1);
    read = (struct upcall_read) {
        .fd = upcall_channel_fd(channel), .max = 1,
    };
    engine->class->read(engine, &read, 1, &rx);
    assert_int_equal(read.n, 1);
    get_flags(rx.data, flags, sizeof flags);
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) {
        print_message("the kernel has no transparent huge pages\n");
    } else {
        assert_non_null(strstr(flags, " nh"));
    }
    engine->class->destroy(engine);
    upcall_channel_unref(channel);
    close(sender);
}

/* Pages of memory that the process has mapped. */
static size_t
count_pages(void)
{
    FILE *stream = fopen("/proc/self/statm", "r");
    size_t n;

    assert_non_null(stream);
    assert_int_equal(fscanf(stream, "%zu", &n), 1);
    fclose(stream);
    return n;
}

static void
buffers_go_with_their_engine(void **state OVS_UNUSED)
{
    static const struct upcall_engine_class *const classes[] = {
        &upcall_engine_epoll, &upcall_engine_uring,
    };
    enum { N = 40 };

    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        const size_t page = getpagesize();
        size_t n = count_pages();

        for (int j = 0; j < N; j++) {
            struct upcall_engine *engine;

            assert_int_equal(classes[i]->create(UPCALL_BATCH, &engine), 0);
            classes[i]->destroy(engine);
        }

        /* Whatever the allocator keeps is less. */
        assert_true(count_pages() < n + N / 2 * (UPCALL_BATCH * UPCALL_MSG_SIZE
                                                 / page));
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_do_not_become_huge_pages),
        cmocka_unit_test(buffers_go_with_their_engine),
    };

    unit_init("test-upcall-buffers");
    return cmocka_run_group_tests_name("upcall-buffers", tests, NULL, NULL);
}
