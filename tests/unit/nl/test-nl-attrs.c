/* SPDX-License-Identifier: Apache-2.0 */

/* Attributes of netlink messages against a policy. */

#include <config.h>
#include "nl/nl-conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "util.h"

enum { ATTR_UNSPEC, ATTR_U8, ATTR_U16, ATTR_U32, ATTR_U64, ATTR_STRING,
       ATTR_NESTED, ATTR_FLAG, ATTR_BLOB, N_ATTRS };

/* Parses one attribute with 'n' bytes of payload at 'data' under a policy for
 * its type alone. */
static int
parse_one(uint16_t type, struct nl_attr_policy policy, const void *data,
          size_t n)
{
    char buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nl_attr_policy policies[N_ATTRS] = { [0] = { .min_len = 0 } };
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    int error;

    policies[type] = policy;
    mnl_attr_put(nlh, type, n, data);
    error = nl_attrs_parse(mnl_nlmsg_get_payload(nlh),
                           mnl_nlmsg_get_payload_len(nlh), policies, attrs,
                           N_ATTRS);
    if (!error) {
        for (int i = 0; i < N_ATTRS; i++) {
            assert_true((attrs[i] != NULL) == (i == type));
        }
        assert_int_equal(mnl_attr_get_payload_len(attrs[type]), n);
    }
    return error;
}

static void
attribute_is_checked_against_its_policy(void **state OVS_UNUSED)
{
    static const struct {
        uint16_t type;
        struct nl_attr_policy policy;
        const char *data;
        size_t n;
        int error;
    } cases[] = {
        { ATTR_U8, { .type = MNL_TYPE_U8 }, "x", 1, 0 },
        { ATTR_U8, { .type = MNL_TYPE_U8 }, "", 0, EINVAL },
        { ATTR_U8, { .type = MNL_TYPE_U8 }, "xy", 2, EINVAL },
        { ATTR_U16, { .type = MNL_TYPE_U16 }, "ab", 2, 0 },
        { ATTR_U16, { .type = MNL_TYPE_U16 }, "a", 1, EINVAL },
        { ATTR_U16, { .type = MNL_TYPE_U16 }, "abc", 3, EINVAL },
        { ATTR_U32, { .type = MNL_TYPE_U32 }, "abcd", 4, 0 },
        { ATTR_U32, { .type = MNL_TYPE_U32 }, "abc", 3, EINVAL },
        { ATTR_U32, { .type = MNL_TYPE_U32 }, "abcde", 5, EINVAL },
        { ATTR_U64, { .type = MNL_TYPE_U64 }, "abcdefgh", 8, 0 },
        { ATTR_U64, { .type = MNL_TYPE_U64 }, "abcdefg", 7, EINVAL },
        { ATTR_STRING, { .type = MNL_TYPE_NUL_STRING }, "name", 5, 0 },
        { ATTR_STRING, { .type = MNL_TYPE_NUL_STRING }, "name", 4, EINVAL },
        { ATTR_STRING, { .type = MNL_TYPE_NUL_STRING }, "", 0, EINVAL },
        { ATTR_NESTED, { .type = MNL_TYPE_NESTED }, "", 0, 0 },
        { ATTR_NESTED, { .type = MNL_TYPE_NESTED }, "abcd", 4, 0 },
        { ATTR_NESTED, { .type = MNL_TYPE_NESTED }, "abc", 3, EINVAL },
        { ATTR_FLAG, { .type = MNL_TYPE_FLAG }, "", 0, 0 },
        { ATTR_FLAG, { .type = MNL_TYPE_FLAG }, "x", 1, EINVAL },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC }, "", 0, 0 },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC }, "abc", 3, 0 },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC, .min_len = 4 }, "abc", 3,
          EINVAL },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC, .min_len = 4 }, "abcd", 4, 0 },
        { ATTR_BLOB, { .type = MNL_TYPE_UNSPEC, .min_len = 4 }, "abcdefg", 7,
          0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int error = parse_one(cases[i].type, cases[i].policy, cases[i].data,
                              cases[i].n);

        if (error != cases[i].error) {
            fail_msg("case %zu: %d instead of %d", i, error, cases[i].error);
        }
    }
}

/* Parses 'len' bytes of the attributes at 'payload'.  ATTR_U32 is
 * required. */
static int
parse_required(const void *payload, size_t len, const struct nlattr *attrs[])
{
    static const struct nl_attr_policy policy[N_ATTRS] = {
        [ATTR_U32] = { .type = MNL_TYPE_U32, .required = true },
        [ATTR_BLOB] = { .type = MNL_TYPE_UNSPEC },
    };

    return nl_attrs_parse(payload, len, policy, attrs, N_ATTRS);
}

static void
required_attribute_may_not_be_missing(void **state OVS_UNUSED)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    const void *payload = mnl_nlmsg_get_payload(nlh);

    assert_int_equal(parse_required(payload, 0, attrs), EINVAL);
    mnl_attr_put_u32(nlh, ATTR_BLOB, 1);
    assert_int_equal(parse_required(payload, mnl_nlmsg_get_payload_len(nlh),
                                    attrs), EINVAL);
    mnl_attr_put_u32(nlh, ATTR_U32, 1);
    assert_int_equal(parse_required(payload, mnl_nlmsg_get_payload_len(nlh),
                                    attrs), 0);
}

static void
last_of_equal_attributes_wins(void **state OVS_UNUSED)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    mnl_attr_put_u32(nlh, ATTR_U32, 1);
    mnl_attr_put_u32(nlh, ATTR_U32, 2);
    assert_int_equal(parse_required(mnl_nlmsg_get_payload(nlh),
                                    mnl_nlmsg_get_payload_len(nlh), attrs),
                     0);
    assert_int_equal(mnl_attr_get_u32(attrs[ATTR_U32]), 2);
}

static void
types_without_a_policy_are_ignored(void **state OVS_UNUSED)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    mnl_attr_put_u8(nlh, ATTR_UNSPEC, 1);
    mnl_attr_put_u8(nlh, N_ATTRS, 1);
    mnl_attr_put_u8(nlh, UINT16_C(0x3fff), 1);
    mnl_attr_put_u32(nlh, ATTR_U32, 7);
    assert_int_equal(parse_required(mnl_nlmsg_get_payload(nlh),
                                    mnl_nlmsg_get_payload_len(nlh), attrs),
                     0);
    assert_null(attrs[ATTR_UNSPEC]);
    assert_int_equal(mnl_attr_get_u32(attrs[ATTR_U32]), 7);
}

static void
bytes_after_the_last_attribute_are_an_error(void **state OVS_UNUSED)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
    const struct nlattr *attrs[N_ATTRS];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    const void *payload = mnl_nlmsg_get_payload(nlh);
    size_t len;

    mnl_attr_put_u32(nlh, ATTR_U32, 7);
    len = mnl_nlmsg_get_payload_len(nlh);
    for (size_t extra = 1; extra < 2 * sizeof(struct nlattr); extra++) {
        assert_int_equal(parse_required(payload, len + extra, attrs), EINVAL);
    }

    /* Padding is none, nor is its absence. */
    mnl_attr_put_u8(nlh, ATTR_BLOB, 7);
    len = mnl_nlmsg_get_payload_len(nlh);
    for (size_t missing = 0; missing <= 3; missing++) {
        assert_int_equal(parse_required(payload, len - missing, attrs), 0);
        assert_non_null(attrs[ATTR_BLOB]);
    }
    assert_int_equal(parse_required(payload, len - 4, attrs), EINVAL);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(attribute_is_checked_against_its_policy),
        cmocka_unit_test(required_attribute_may_not_be_missing),
        cmocka_unit_test(last_of_equal_attributes_wins),
        cmocka_unit_test(types_without_a_policy_are_ignored),
        cmocka_unit_test(bytes_after_the_last_attribute_are_an_error),
    };

    unit_init("test-nl-attrs");
    return cmocka_run_group_tests_name("nl-attrs", tests, NULL, NULL);
}
