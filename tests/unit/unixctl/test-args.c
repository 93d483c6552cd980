/* SPDX-License-Identifier: Apache-2.0 */

/* Arguments of the commands that show something. */

#include <config.h>
#include "unixctl/args.h"

#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "util.h"

/* Parses the arguments, which NULL ends, of a command whose other argument is
 * called 'what'. */
static char *
parse(const char *what, bool *json, const char **arg, const char *args[])
{
    const char *argv[8] = { "a/command" };
    int argc = 1;

    while (*args) {
        argv[argc++] = *args++;
    }
    return show_args_parse(argc, argv, what, json, arg);
}

#define PARSE(WHAT, ...) \
    parse(WHAT, &json, &arg, (const char *[]) { __VA_ARGS__, NULL })

static void
check_accepted(const char *args[], bool expected_json,
               const char *expected_arg)
{
    bool json = !expected_json;
    const char *arg = "something";

    assert_null(parse("DP", &json, &arg, args));
    assert_int_equal(json, expected_json);
    if (expected_arg) {
        assert_string_equal(arg, expected_arg);
    } else {
        assert_null(arg);
    }
}

#define CHECK_ACCEPTED(JSON, ARG, ...) \
    check_accepted((const char *[]) { __VA_ARGS__, NULL }, JSON, ARG)

static void
format_and_argument_come_in_any_order(void **state OVS_UNUSED)
{
    check_accepted((const char *[]) { NULL }, false, NULL);
    CHECK_ACCEPTED(false, "br0", "br0");
    CHECK_ACCEPTED(true, NULL, "--format", "json");
    CHECK_ACCEPTED(false, NULL, "--format", "text");
    CHECK_ACCEPTED(true, "br0", "--format", "json", "br0");
    CHECK_ACCEPTED(true, "br0", "br0", "--format", "json");
    CHECK_ACCEPTED(false, "br0", "br0", "--format", "text");
    CHECK_ACCEPTED(false, "", "");
    CHECK_ACCEPTED(false, "b-r", "b-r");

    /* The last one counts. */
    CHECK_ACCEPTED(false, NULL, "--format", "json", "--format", "text");
    CHECK_ACCEPTED(true, NULL, "--format", "text", "--format", "json");

    /* What follows --format is never the other argument. */
    CHECK_ACCEPTED(true, "json", "json", "--format", "json");
}

/* The message tells the value, and what is expected in its place. */
static void
check_refused(const char *what, const char *args[], const char *value,
              const char *expected)
{
    const char *arg;
    bool json;
    char *error = parse(what, &json, &arg, args);

    assert_non_null(error);
    if (!strstr(error, value) || !strstr(error, expected)) {
        unit_die("\"%s\" does not name \"%s\" and \"%s\"", error, value,
                 expected);
    }
    free(error);
}

#define CHECK_REFUSED(WHAT, VALUE, EXPECTED, ...)                       \
    check_refused(WHAT, (const char *[]) { __VA_ARGS__, NULL }, VALUE,  \
                  EXPECTED)

static void
wrong_usage_is_told_by_its_value(void **state OVS_UNUSED)
{
    CHECK_REFUSED("DP", "xml", "--format json", "--format", "xml");
    CHECK_REFUSED("DP", "JSON", "--format json", "--format", "JSON");
    CHECK_REFUSED("DP", "br0", "--format text", "--format", "br0", "br1");
    CHECK_REFUSED("DP", "--format", "--format json", "br0", "--format");
    CHECK_REFUSED("DP", "--json", "[--format text|json] [DP]", "--json");
    CHECK_REFUSED("DP", "--format=json", "[DP]", "--format=json");
    CHECK_REFUSED("DP", "-f", "[DP]", "br0", "-f");
    CHECK_REFUSED("DP", "-f", "[DP]", "-f");
    CHECK_REFUSED("DP", "-", "[DP]", "-");
    CHECK_REFUSED("DP", "br1", "[DP]", "br0", "br1");
    CHECK_REFUSED("FLOW", "b", "[FLOW]", "a", "--format", "json", "b");
}

static void
command_without_another_argument_takes_none(void **state OVS_UNUSED)
{
    const char *arg;
    char *error;
    bool json;

    assert_null(PARSE(NULL, "--format", "json"));
    assert_true(json);
    assert_null(arg);
    error = PARSE(NULL, "br0");
    assert_string_equal(error, "br0: expected [--format text|json]");
    free(error);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format_and_argument_come_in_any_order),
        cmocka_unit_test(wrong_usage_is_told_by_its_value),
        cmocka_unit_test(command_without_another_argument_takes_none),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("show-args", tests, NULL, NULL);
}
