/* SPDX-License-Identifier: Apache-2.0 */

/* Control commands that add to stock ones, over a real control socket. */

#include <config.h>
#include "unixctl/override.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "harness/control.h"
#include "harness/unit.h"
#include "util.h"

static int stock_aux, our_aux;
static unsigned int n_stock_calls;

static void
stock_command(struct unixctl_conn *conn, int argc, const char *argv[],
              void *aux)
{
    assert_ptr_equal(aux, &stock_aux);
    assert_true(argc >= 1);
    assert_true(!strncmp(argv[0], "test/", 5));
    n_stock_calls++;
    unixctl_command_reply(conn, "stock says\n");
}

static void
silent_stock_command(struct unixctl_conn *conn, int argc OVS_UNUSED,
                     const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    unixctl_command_reply(conn, NULL);
}

static void
our_command(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    assert_ptr_equal(aux, &our_aux);
    ds_put_cstr(&s, "we say\n");
    unixctl_override_call_stock(argv[0], conn, &s);
    for (int i = 1; i < argc; i++) {
        ds_put_format(&s, "%s\n", argv[i]);
    }
    unixctl_command_reply(conn, ds_cstr(&s));
    ds_destroy(&s);
}

static char around[16];

static void
before(void)
{
    ovs_strlcpy(around, n_stock_calls ? "late" : "before", sizeof around);
}

static void
after(void)
{
    ovs_strlcpy(around, n_stock_calls ? around[0] == 'b' ? "both" : "late"
                : "early", sizeof around);
}

static int
setup(void **state OVS_UNUSED)
{
    unixctl_override("test/extended", "[option]", 0, 1, our_command,
                     &our_aux);
    unixctl_override("test/silent", "", 0, 0, our_command, &our_aux);
    unixctl_override_around("test/around", before, after);
    unixctl_override("test/early", "", 0, 0, our_command, &our_aux);
    unixctl_command_register("test/extended", "", 0, 0, stock_command,
                             &stock_aux);
    unixctl_command_register("test/silent", "", 0, 0, silent_stock_command,
                             NULL);
    unixctl_command_register("test/around", "", 0, 1, stock_command,
                             &stock_aux);
    unixctl_command_register("test/stock", "", 0, 2, stock_command,
                             &stock_aux);
    unit_control_start();
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    unit_control_stop();
    return 0;
}

static void
check(const char *command, const char *arg, const char *expected)
{
    char *reply = unit_control_run(command, arg, NULL);

    assert_string_equal(reply, expected);
    free(reply);
}

static void
other_commands_stay_as_they_are(void **state OVS_UNUSED)
{
    n_stock_calls = 0;
    check("test/stock", NULL, "stock says\n");
    check("test/stock", "x", "stock says\n");
    assert_int_equal(n_stock_calls, 2);
}

static void
our_function_answers_with_the_stock_reply_in_its_own(void **state OVS_UNUSED)
{
    n_stock_calls = 0;
    check("test/extended", NULL, "we say\nstock says\n");
    assert_int_equal(n_stock_calls, 1);

    /* Capturing ends with the stock function. */
    check("test/stock", NULL, "stock says\n");
    check("test/extended", NULL, "we say\nstock says\n");
}

static void
our_usage_and_arguments_hold(void **state OVS_UNUSED)
{
    char *reply;

    check("test/extended", "--option", "we say\nstock says\n--option\n");
    reply = unit_control_run("list-commands", NULL);
    assert_non_null(strstr(reply, "test/extended"));
    assert_non_null(strstr(reply, "[option]"));
    free(reply);
}

static void
stock_function_without_a_reply_adds_nothing(void **state OVS_UNUSED)
{
    check("test/silent", NULL, "we say\n");
}

static void
functions_are_called_around_a_stock_command(void **state OVS_UNUSED)
{
    n_stock_calls = 0;
    check("test/around", "x", "stock says\n");
    assert_int_equal(n_stock_calls, 1);
    assert_string_equal(around, "both");
}

static void
command_exists_only_once_the_stock_one_does(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    char *reply = unit_control_run("test/early", NULL);

    assert_true(!strncmp(reply, "error: ", 7));
    free(reply);
    unixctl_override_call_stock("test/early", NULL, &s);
    unixctl_override_call_stock("test/unknown", NULL, &s);
    assert_string_equal(ds_cstr(&s), "");
    ds_destroy(&s);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_commands_stay_as_they_are),
        cmocka_unit_test(our_function_answers_with_the_stock_reply_in_its_own),
        cmocka_unit_test(our_usage_and_arguments_hold),
        cmocka_unit_test(stock_function_without_a_reply_adds_nothing),
        cmocka_unit_test(functions_are_called_around_a_stock_command),
        cmocka_unit_test(command_exists_only_once_the_stock_one_does),
    };

    unit_init("test-unixctl-override");
    return cmocka_run_group_tests_name("unixctl-override", tests, setup,
                                       teardown);
}
