/* SPDX-License-Identifier: Apache-2.0 */

/* U4: a descriptor that was closed is not taken for the one that has its
 * number now. */

#include <config.h>
#include "upcall/upcall-closed.h"

#include <fcntl.h>
#include <unistd.h>

#include "harness/unit.h"
#include "latch.h"

static void
count_tells_of_whatever_closes_the_descriptor(void **state OVS_UNUSED)
{
    int fd = dup(0), other = dup(0);
    uint64_t before = upcall_closed_watch(fd);
    struct latch latch;

    assert_true(fd >= 0 && other >= 0 && fd % 64 != other % 64);
    assert_int_equal(upcall_closed_watch(fd), before);
    close(other);
    assert_int_equal(upcall_closed_watch(fd), before);

    assert_int_equal(dup2(0, fd), fd);
    assert_int_not_equal(upcall_closed_watch(fd), before);
    before = upcall_closed_watch(fd);
    assert_int_equal(dup3(0, fd, O_CLOEXEC), fd);
    assert_int_not_equal(upcall_closed_watch(fd), before);
    before = upcall_closed_watch(fd);
    close(fd);
    assert_int_not_equal(upcall_closed_watch(fd), before);

    /* In Open vSwitch's library, too. */
    latch_init(&latch);
    before = upcall_closed_watch(latch.fds[0]);
    latch_destroy(&latch);
    assert_int_not_equal(upcall_closed_watch(latch.fds[0]), before);
    assert_int_equal(close(-1), -1);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(count_tells_of_whatever_closes_the_descriptor),
    };

    unit_init("test-upcall-closed");
    return cmocka_run_group_tests_name("upcall-closed", tests, NULL, NULL);
}
