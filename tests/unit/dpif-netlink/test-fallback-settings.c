/* SPDX-License-Identifier: Apache-2.0 */

/* Settings of upcalls that make no sense are named, and the last good one
 * stays. */

#include <config.h>
#include "dpif-netlink/settings.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/socket-budget.h"
#include "harness/unit.h"
#include "unit/dpif-netlink/fallback-fixture.h"
#include "util.h"

static uint64_t
buffer_max(struct fixture *f)
{
    struct upcall_table_info info;

    upcall_table_get_info(f->dp.upcalls, &info);
    upcall_table_info_uninit(&info);
    return info.buffer_max;
}

static void
wrong_budget_of_buffers_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = {
        "", "15", "1048577", "-1", "1 GB", "many", "99999999999999999999",
    };
    struct fixture *f = *state;
    char *message;

    start(f);
    assert_int_equal(buffer_max(f), UPCALL_BUFFER_MAX);

    /* No value came before. */
    free(read_log());
    set_config(f, "upcall-buffer-max", "many");
    message = xasprintf("expected 16 to 1048576 MiB; going on with "
                        "%"PRIu64"\n",
                        UPCALL_BUFFER_MAX / 1024 / 1024);
    check_log(message);
    free(message);
    assert_int_equal(buffer_max(f), UPCALL_BUFFER_MAX);
    set_config(f, "upcall-buffer-max", "16");
    assert_int_equal(buffer_max(f), 16 << 20);
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        message = xasprintf("other_config:upcall-buffer-max is \"%s\", "
                            "expected 16 to 1048576 MiB; going on with 16\n",
                            wrong[i]);
        set_config(f, "upcall-buffer-max", wrong[i]);
        check_log(message);
        free(message);
        assert_int_equal(buffer_max(f), 16 << 20);
    }
    set_config(f, "upcall-buffer-max", "1048576");
    assert_int_equal(buffer_max(f), UINT64_C(1) << 40);

    /* Without it, the default is used. */
    set_config(f, "upcall-engine", "epoll");
    assert_int_equal(buffer_max(f), UPCALL_BUFFER_MAX);
}

static uint32_t
target_delay(struct fixture *f)
{
    struct upcall_table_info info;

    upcall_table_get_info(f->dp.upcalls, &info);
    upcall_table_info_uninit(&info);
    return info.target_delay;
}

/* U7. */
static void
wrong_target_delay_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = {
        "", "10001", "-1", "50 ms", "long", "99999999999999999999",
    };
    struct fixture *f = *state;

    start(f);
    assert_int_equal(target_delay(f), 100000);
    free(read_log());
    set_config(f, "upcall-target-delay", "never");
    check_log("other_config:upcall-target-delay is \"never\", expected 0 "
              "(off) to 10000 ms; going on with 100\n");
    assert_int_equal(target_delay(f), 100000);
    set_config(f, "upcall-engine", "epoll");
    assert_int_equal(target_delay(f), 100000);
    set_config(f, "upcall-target-delay", "7");
    assert_int_equal(target_delay(f), 7000);
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message = xasprintf("other_config:upcall-target-delay is "
                                  "\"%s\", expected 0 (off) to 10000 ms; "
                                  "going on with 7\n", wrong[i]);

        set_config(f, "upcall-target-delay", wrong[i]);
        check_log(message);
        free(message);
        assert_int_equal(target_delay(f), 7000);
    }
    set_config(f, "upcall-target-delay", "10000");
    assert_int_equal(target_delay(f), 10000000);
    set_config(f, "upcall-target-delay", "0");
    assert_int_equal(target_delay(f), 0);

    /* Without it, the default is used. */
    set_config(f, "upcall-engine", "epoll");
    assert_int_equal(target_delay(f), 100000);
}

static void
wrong_hold_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = {
        "", "3601", "-1", "5 s", "never", "99999999999999999999",
    };
    static const char *const good[] = { "0", "3600", "19" };
    struct fixture *f = *state;

    start(f);
    free(read_log());
    set_config(f, "restart-hold", "long");
    check_log("other_config:restart-hold is \"long\", expected 0 (off) to "
              "3600 s; going on with 30\n");
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        char *log, *message;

        set_config(f, "restart-hold", good[i]);
        log = read_log();
        assert_string_equal(log, "");
        free(log);
        set_config(f, "restart-hold", "short");
        message = xasprintf("other_config:restart-hold is \"short\", expected "
                            "0 (off) to 3600 s; going on with %s\n", good[i]);
        check_log(message);
        free(message);
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message = xasprintf("other_config:restart-hold is \"%s\", "
                                  "expected 0 (off) to 3600 s; going on with "
                                  "19\n", wrong[i]);

        set_config(f, "restart-hold", wrong[i]);
        check_log(message);
        free(message);
    }
}

static void
wrong_group_size_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = {
        "", "0", "65", "-1", "4 handlers", "many", "99999999999999999999",
    };
    struct fixture *f = *state;
    uint32_t deflt;

    start(f);
    set_config(f, "upcall-engine", "epoll");
    deflt = upcall_table_group_size(f->dp.upcalls);
    assert_in_range(deflt, 4, 8);
    set_config(f, "upcall-group-size", "3");
    assert_int_equal(upcall_table_group_size(f->dp.upcalls), 3);
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message = xasprintf("other_config:upcall-group-size is \"%s\", "
                                  "expected \"auto\" or 1 to 64; going on "
                                  "with 3\n", wrong[i]);

        set_config(f, "upcall-group-size", wrong[i]);
        check_log(message);
        free(message);
        assert_int_equal(upcall_table_group_size(f->dp.upcalls), 3);
    }
    set_config(f, "upcall-group-size", "64");
    assert_int_equal(upcall_table_group_size(f->dp.upcalls), 64);
    set_config(f, "upcall-group-size", "auto");
    assert_int_equal(upcall_table_group_size(f->dp.upcalls), deflt);
}

static size_t
max_sockets(struct fixture *f)
{
    size_t max;

    ovs_mutex_lock(&f->dp.mutex);
    max = socket_budget_get_max(&f->dp);
    ovs_mutex_unlock(&f->dp.mutex);
    return max;
}

/* U2. */
static void
wrong_budget_of_sockets_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = {
        "", "1", "2", "1000001", "-1", "3 sockets", "many",
        "99999999999999999999",
    };
    static const unsigned int good[] = { 0, 3, 1000000, 19 };
    struct fixture *f = *state;

    start(f);
    assert_int_equal(max_sockets(f), 0);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        char *value = xasprintf("%u", good[i]);

        set_config(f, "upcall-max-sockets", value);
        assert_int_equal(max_sockets(f), good[i]);
        free(value);
    }
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message = xasprintf("other_config:upcall-max-sockets is \"%s\", "
                                  "expected 0 (no limit) or 3 to 1000000; "
                                  "going on with 19\n", wrong[i]);

        set_config(f, "upcall-max-sockets", wrong[i]);
        check_log(message);
        free(message);
        assert_int_equal(max_sockets(f), 19);
    }

    /* Without it, there is no limit. */
    set_config(f, "upcall-engine", "epoll");
    assert_int_equal(max_sockets(f), 0);
}

static void
wrong_dispatch_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = { "", "per-vport", "per-port ", "1" };
    static const char *const good[] = { "per-port", "per-cpu", "per-port" };
    struct fixture *f = *state;

    start(f);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        set_config(f, "upcall-dispatch", good[i]);
        run(f);
        assert_string_equal(dispatch_of(f), good[i]);
        free(read_log());
        for (size_t j = 0; j < ARRAY_SIZE(wrong); j++) {
            char *message = xasprintf(
                "other_config:upcall-dispatch is \"%s\", expected "
                "\"per-port\" or \"per-cpu\"; going on with \"%s\"\n",
                wrong[j], good[i]);

            set_config(f, "upcall-dispatch", wrong[j]);
            check_log(message);
            free(message);
            assert_string_equal(dispatch_of(f), good[i]);
        }
    }
}

static void
wrong_engine_is_named_and_the_last_good_one_stays(void **state)
{
    static const char *const wrong[] = { "", "poll", "EPOLL", "io_uring2" };
    struct fixture *f = *state;

    start(f);
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message = xasprintf("other_config:upcall-engine is \"%s\", "
                                  "expected \"epoll\" or \"io_uring\"; going "
                                  "on with \"epoll\"\n", wrong[i]);

        set_config(f, "upcall-engine", wrong[i]);
        check_log(message);
        free(message);
        check_engine(f, "epoll");
    }
}

/* Open vSwitch is told nothing that it would be refused (U8). */
static void
too_many_handlers_are_named_and_the_last_good_number_stays(
    void **state OVS_UNUSED)
{
    free(read_log());
    assert_int_equal(settings_limit_handlers(5000), 0);
    check_log("other_config:n-handler-threads is 5000, expected 1 to 4095; "
              "going on with a number that fits the machine\n");
    assert_int_equal(settings_limit_handlers(4), 4);
    assert_int_equal(settings_limit_handlers(4096), 4);
    check_log("other_config:n-handler-threads is 4096, expected 1 to 4095; "
              "going on with 4\n");

    /* Once, however often the bridge is configured. */
    assert_int_equal(settings_limit_handlers(4096), 4);
    assert_int_equal(settings_limit_handlers(4095), 4095);
    assert_int_equal(settings_limit_handlers(0), 0);
    assert_int_equal(settings_limit_handlers(-1), -1);
    char *log = read_log();
    assert_string_equal(log, "");
    free(log);
    assert_int_equal(settings_limit_handlers(INT_MAX), -1);
    check_log("n-handler-threads is 2147483647, expected 1 to 4095");
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(wrong_budget_of_buffers_is_named_and_the_last_good_one_stays),
        TEST(wrong_target_delay_is_named_and_the_last_good_one_stays),
        TEST(too_many_handlers_are_named_and_the_last_good_number_stays),
        TEST(wrong_group_size_is_named_and_the_last_good_one_stays),
        TEST(wrong_budget_of_sockets_is_named_and_the_last_good_one_stays),
        TEST(wrong_dispatch_is_named_and_the_last_good_one_stays),
        TEST(wrong_engine_is_named_and_the_last_good_one_stays),
        TEST(wrong_hold_is_named_and_the_last_good_one_stays),
    };

    fallback_init("test-kdp-fallback-settings");
    return cmocka_run_group_tests_name("kdp-fallback-settings", tests, NULL,
                                       NULL);
}
