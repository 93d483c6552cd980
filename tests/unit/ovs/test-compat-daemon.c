/* SPDX-License-Identifier: Apache-2.0 */

/* How memory is locked: page by page where the kernel knows that, at once
 * otherwise. */

#include <config.h>

#include <errno.h>
#include <sys/mman.h>

#include "harness/unit.h"
#include "ovs/compat-daemon.h"
#include "util.h"

/* What mlockall() says to calls with and without MCL_ONFAULT, and how often it
 * was called. */
static int onfault_error, all_error;
static unsigned int n_onfault, n_all;

int __wrap_mlockall(int flags);

int
__wrap_mlockall(int flags)
{
    int error;

    assert_int_equal(flags & ~MCL_ONFAULT, MCL_CURRENT | MCL_FUTURE);
    if (flags & MCL_ONFAULT) {
        n_onfault++;
        error = onfault_error;
    } else {
        n_all++;
        error = all_error;
    }
    errno = error;
    return error ? -1 : 0;
}

static int
setup(void **state OVS_UNUSED)
{
    onfault_error = all_error = 0;
    n_onfault = n_all = 0;
    return 0;
}

/* Must come first: that memory is locked is never forgotten. */
static void
memory_that_could_not_be_locked_is_not(void **state OVS_UNUSED)
{
    onfault_error = EINVAL;
    all_error = ENOMEM;
    assert_int_equal(ovs_compat_lock_memory(), ENOMEM);
    assert_int_equal(n_onfault, 1);
    assert_int_equal(n_all, 1);
    assert_false(ovs_compat_memory_locked());
}

/* A caller that asks whether all memory is locked also means pages that were
 * never used. */
static void
pages_are_locked_when_they_are_used(void **state OVS_UNUSED)
{
    assert_int_equal(ovs_compat_lock_memory(), 0);
    assert_int_equal(n_onfault, 1);
    assert_int_equal(n_all, 0);
    assert_false(ovs_compat_memory_locked());
}

static void
old_kernels_lock_all_at_once(void **state OVS_UNUSED)
{
    onfault_error = EINVAL;
    assert_int_equal(ovs_compat_lock_memory(), 0);
    assert_int_equal(n_onfault, 1);
    assert_int_equal(n_all, 1);
    assert_true(ovs_compat_memory_locked());
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup(NAME, setup)
    const struct CMUnitTest tests[] = {
        TEST(memory_that_could_not_be_locked_is_not),
        TEST(pages_are_locked_when_they_are_used),
        TEST(old_kernels_lock_all_at_once),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("compat-daemon", tests, NULL, NULL);
}
