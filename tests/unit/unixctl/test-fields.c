/* SPDX-License-Identifier: Apache-2.0 */

/* One description of a structure, shown as text and as JSON. */

#include <config.h>
#include "unixctl/fields.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

struct inner {
    uint64_t big;
    int32_t negative;
};

struct outer {
    bool yes, no;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    int64_t s64;
    char chars[8];
    const char *string;
    char *missing;
    uint64_t array[2];
    uint64_t counts[2];
    struct inner inner, around;
};

static const struct outer outer = {
    .yes = true, .u8 = 200, .u16 = 60000, .u32 = 4200000000u, .s64 = -5,
    .chars = "abc", .string = "text", .array = { 31, 32 },
    .counts = { 41, 42 }, .inner = { .big = UINT64_C(1) << 40,
                                     .negative = -7 },
    .around = { .big = 51 },
};

static const struct inner two[] = { { .big = 1 }, { .big = 2 } };

static struct json *
get_null(const void *member)
{
    assert_ptr_equal(member, &outer.counts);
    return json_null_create();
}

static struct json *
get_nothing(const void *member OVS_UNUSED)
{
    return NULL;
}

static const char *const names[] = { "one", "two words" };

static const struct field inner_fields[] = {
    FIELD(struct inner, big, "big", "GiB", 5, 1 << 30),
    FIELD(struct inner, negative, "negative", "neg", -4),
    { .type = FIELD_END }
};

static const struct field around_fields[] = {
    FIELD(struct inner, big, "b"),
    { .type = FIELD_END }
};

static const struct field fields[] = {
    FIELD(struct outer, yes, "yes", "y", 4),
    FIELD(struct outer, no, "no", "n", 4),
    FIELD(struct outer, u8, "u8"),
    FIELD(struct outer, u16, "u16"),
    FIELD(struct outer, u32, "u32"),
    FIELD(struct outer, s64, "s64", "only in a list"),
    FIELD(struct outer, chars, "chars", "left", -5),
    FIELD(struct outer, string, NULL, "only text", 1),
    FIELD(struct outer, missing, "missing", "gone", 4),
    FIELD_OF_FUNCTION(struct outer, counts, get_null, "null", "null", 5),
    FIELD_OF_FUNCTION(struct outer, u8, get_nothing, "nothing"),
    FIELD_OF_ARRAY(struct outer, array, "array"),
    FIELD_OF_COUNTS(struct outer, counts, names, "counts", NULL, 9),
    FIELD_OF_TABLE(struct outer, inner, inner_fields, "inner"),
    FIELD_OF_TABLE(struct outer, around, around_fields, NULL),
    { .type = FIELD_END }
};

static const struct field lines[] = {
    FIELD(struct outer, u8, NULL, ""),
    FIELD_OF_LINE("second"),
    FIELD(struct outer, u16, "u16", "u16"),
    FIELD(struct outer, u32, "u32", "u32"),
    { .type = FIELD_END }
};

static void
check_json(struct json *json, const char *expected)
{
    char *text = json_to_string(json, JSSF_SORT);

    assert_string_equal(text, expected);
    free(text);
    json_destroy(json);
}

static void
json_has_the_fields_with_a_name(void **state OVS_UNUSED)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "before", "stays");
    fields_put_json(json, fields, &outer);
    check_json(json, "{\"array\":[31,32],\"b\":51,\"before\":\"stays\","
               "\"chars\":\"abc\",\"counts\":{\"one\":41,\"two words\":42},"
               "\"inner\":{\"big\":1099511627776,\"negative\":-7},"
               "\"no\":false,\"null\":null,\"s64\":-5,"
               "\"u16\":60000,\"u32\":4200000000,\"u8\":200,\"yes\":true}");
    check_json(fields_to_json_array(around_fields, two, 2, sizeof two[0]),
               "[{\"b\":1},{\"b\":2}]");
    check_json(fields_to_json(lines, &outer),
               "{\"u16\":60000,\"u32\":4200000000}");
    check_json(fields_to_json_array(around_fields, NULL, 0, sizeof two[0]),
               "[]");
}

static void
text_has_the_fields_with_a_label(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    fields_put_rows(&s, NULL, fields, &outer, 1, sizeof outer);
    assert_string_equal(
        ds_cstr(&s),
        "     y    n left  only text gone  null       one two words   GiB "
        "neg \n"
        "   yes   no abc   text    -     -        41        42  1024 -7  \n");
    ds_clear(&s);
    fields_put_rows(&s, "index", inner_fields, two, 2, sizeof two[0]);
    assert_string_equal(ds_cstr(&s), "    index   GiB neg \n"
                                     "        0     0 0   \n"
                                     "        1     0 0   \n");
    ds_clear(&s);
    fields_put_lines(&s, "title", fields, &outer);
    assert_string_equal(
        ds_cstr(&s),
        "title: y yes, n no, only in a list -5, left abc, only text text, "
        "gone -, null -, one 41, two words 42, GiB 1024, neg -7\n");
    ds_clear(&s);
    fields_put_lines(&s, "first", lines, &outer);
    assert_string_equal(ds_cstr(&s),
                        "first: 200\nsecond: u16 60000, u32 4200000000\n");
    ds_clear(&s);
    fields_put_lines(&s, "none", around_fields, &outer.around);
    assert_string_equal(ds_cstr(&s), "none: \n");
    ds_destroy(&s);
}

static void
integers_are_found_by_their_label(void **state OVS_UNUSED)
{
    long long int value = 0;

    assert_true(fields_get(fields, "only in a list", &outer, &value));
    assert_int_equal(value, -5);

    /* Without its unit, and in a table. */
    assert_true(fields_get(fields, "GiB", &outer, &value));
    assert_int_equal(value, INT64_C(1) << 40);
    assert_true(fields_get(fields, "neg", NULL, &value));
    assert_false(fields_get(fields, "u32", &outer, &value));
    assert_false(fields_get(fields, "", &outer, &value));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_the_fields_with_a_name),
        cmocka_unit_test(text_has_the_fields_with_a_label),
        cmocka_unit_test(integers_are_found_by_their_label),
    };

    unit_init("test-fields");
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
