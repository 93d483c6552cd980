/* SPDX-License-Identifier: Apache-2.0 */

/* Findings, and what they look like. */

#include <config.h>
#include "unixctl/findings.h"

#include <stdlib.h>
#include <string.h>

#include "harness/control.h"
#include "harness/found.h"
#include "harness/shown.h"
#include "harness/unit.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

static const struct finding_kind one = {
    "one", "It is one too many.", "Take it away.",
};
static const struct finding_kind two = {
    "two", "They are \"two\".", "Take one of them.",
};

static void
text_has_two_lines_for_each(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct findings findings;

    findings_init(&findings);
    findings_to_text(&findings, &s);
    assert_string_equal(ds_cstr(&s), "nothing was found to be wrong\n");

    ds_clear(&s);
    findings_add(&findings, &one, "port %s: %d", "p", 5);
    findings_add(&findings, &two, "here");
    findings_to_text(&findings, &s);
    assert_string_equal(ds_cstr(&s),
                        "one: port p: 5\n"
                        "    It is one too many.  Take it away.\n"
                        "two: here\n"
                        "    They are \"two\".  Take one of them.\n");
    findings_uninit(&findings);
    ds_destroy(&s);
}

static void
json_has_an_object_for_each(void **state OVS_UNUSED)
{
    struct findings findings;
    struct json *json, *expected;

    findings_init(&findings);
    findings_add(&findings, &one, "port %s: %d", "p", 5);
    json = findings_to_json(&findings);
    expected = json_from_string("[{\"name\": \"one\", \"what\": \"port p: 5\","
                                " \"why\": \"It is one too many.\","
                                " \"advice\": \"Take it away.\"}]");
    assert_true(json_equal(json, expected));
    unit_shown("kdp-doctor", json);
    json_destroy(expected);
    json_destroy(json);
    findings_uninit(&findings);
}

static void
source(struct findings *findings, void *what)
{
    findings_add(findings, &one, "%s", (const char *) what);
}

static void
sources_are_asked_in_their_order(void **state OVS_UNUSED)
{
    static char first[] = "first", second[] = "second";
    struct findings findings;

    findings_init(&findings);
    findings_collect(&findings);
    unit_found_nothing(&findings);

    findings_register_source(source, first);
    findings_register_source(source, second);
    findings_collect(&findings);
    assert_string_equal(findings.array[1].what, "second");
    unit_found(&findings, 2, "one", "first");
    findings_uninit(&findings);
}

/* With the sources of the test before. */
static void
command_shows_text_or_json(void **state OVS_UNUSED)
{
    char *text = unit_control_run("kdp/doctor", NULL);
    char *json = unit_control_run("kdp/doctor", "--format", "json", NULL);
    char *error = unit_control_run("kdp/doctor", "--format", "x", NULL);

    assert_string_equal(text,
                        "one: first\n"
                        "    It is one too many.  Take it away.\n"
                        "one: second\n"
                        "    It is one too many.  Take it away.\n");
    assert_int_equal(json[0], '[');
    assert_non_null(strstr(json, "\"second\""));
    assert_true(!strncmp(error, "error: ", 7));
    free(error);
    free(json);
    free(text);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_two_lines_for_each),
        cmocka_unit_test(json_has_an_object_for_each),
        cmocka_unit_test(sources_are_asked_in_their_order),
        cmocka_unit_test(command_shows_text_or_json),
    };

    int result;

    unit_init("test-findings");
    findings_register_command();
    unit_control_start();
    result = cmocka_run_group_tests_name("findings", tests, NULL, NULL);
    unit_control_stop();
    return result;
}
