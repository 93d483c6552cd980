/* SPDX-License-Identifier: Apache-2.0 */

/* Random numbers need no descriptor, and no kernel's newest flag. */

#include <config.h>
#include "entropy.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/unit.h"
#include "ovs-thread.h"
#include "random.h"
#include "util.h"

/* What the system call does before it works: so many times it fails with that,
 * or gives one byte. */
static unsigned int n_fail, n_short;
static int fail_error;
static unsigned int n_calls;

ssize_t __real_getrandom(void *, size_t, unsigned int flags);
ssize_t __wrap_getrandom(void *, size_t, unsigned int flags);

ssize_t
__wrap_getrandom(void *buffer, size_t n, unsigned int flags)
{
    n_calls++;
    if (n_fail) {
        n_fail--;
        errno = fail_error;
        return -1;
    } else if (n_short) {
        n_short--;
        return __real_getrandom(buffer, 1, flags);
    }
    return __real_getrandom(buffer, n, flags);
}

static int
setup(void **state OVS_UNUSED)
{
    n_fail = n_short = n_calls = 0;
    return 0;
}

static void *
use_random_number(void *aux OVS_UNUSED)
{
    random_uint32();
    return NULL;
}

/* Open vSwitch's own ends the program here. */
static void
thread_has_random_numbers_without_descriptors(void **state OVS_UNUSED)
{
    struct rlimit old, none = { .rlim_cur = 0 };
    pthread_t thread;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(open("/dev/null", O_RDONLY), -1);
    /* One of Open vSwitch's threads makes a pipe. */
    assert_int_equal(pthread_create(&thread, NULL, use_random_number, NULL),
                     0);
    xpthread_join(thread, NULL);
    assert_int_equal(n_calls, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void
all_bytes_are_asked_for(void **state OVS_UNUSED)
{
    uint8_t bytes[64] = { 0 };
    size_t n_zero = 0;

    n_short = 3;
    n_fail = 1;
    fail_error = EINTR;
    assert_int_equal(get_entropy(bytes, sizeof bytes), 0);
    assert_int_equal(n_calls, 5);
    for (size_t i = 0; i < sizeof bytes; i++) {
        n_zero += !bytes[i];
    }
    assert_true(n_zero < sizeof bytes / 2);
}

static void
kernel_without_the_flag_is_asked_without(void **state OVS_UNUSED)
{
    uint32_t number;

    n_fail = 1;
    fail_error = EINVAL;
    assert_int_equal(get_entropy(&number, sizeof number), 0);
    assert_int_equal(n_calls, 2);

    n_fail = 2;
    assert_int_equal(get_entropy(&number, sizeof number), EINVAL);
    n_fail = 1;
    fail_error = ENOSYS;
    assert_int_equal(get_entropy(&number, sizeof number), ENOSYS);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup(NAME, setup)
    static const struct CMUnitTest tests[] = {
        TEST(thread_has_random_numbers_without_descriptors),
        TEST(all_bytes_are_asked_for),
        TEST(kernel_without_the_flag_is_asked_without),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("entropy", tests, NULL, NULL);
}
