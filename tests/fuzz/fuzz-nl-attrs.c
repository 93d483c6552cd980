/* SPDX-License-Identifier: Apache-2.0 */

/* Parser of netlink attributes: what it accepts lies within the payload and is
 * what the policy asks for. */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "nl/nl-conn.h"
#include "util.h"

enum { ATTR_NONE, ATTR_U8, ATTR_U16, ATTR_U32, ATTR_U64, ATTR_STRING,
       ATTR_NESTED, ATTR_FLAG, ATTR_BLOB };

static const struct nl_attr_policy policy[] = {
    [ATTR_U8] = { .type = MNL_TYPE_U8 },
    [ATTR_U16] = { .type = MNL_TYPE_U16 },
    [ATTR_U32] = { .type = MNL_TYPE_U32, .required = true },
    [ATTR_U64] = { .type = MNL_TYPE_U64 },
    [ATTR_STRING] = { .type = MNL_TYPE_NUL_STRING },
    [ATTR_NESTED] = { .type = MNL_TYPE_NESTED },
    [ATTR_FLAG] = { .type = MNL_TYPE_FLAG },
    [ATTR_BLOB] = { .type = MNL_TYPE_UNSPEC, .min_len = 6 },
};

static void
check_attrs(const void *payload, size_t size, bool outermost)
{
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    int error = nl_attrs_parse(payload, size, policy, attrs,
                               ARRAY_SIZE(policy));

    if (error) {
        fuzz_check(error == EINVAL);
        return;
    }
    fuzz_check(attrs[ATTR_NONE] == NULL);
    fuzz_check(attrs[ATTR_U32] != NULL);
    for (size_t i = 0; i < ARRAY_SIZE(policy); i++) {
        const char *start = (const char *) attrs[i];
        const char *first = payload;

        if (!start) {
            continue;
        }
        fuzz_check(start >= first
                   && size >= sizeof *attrs[i]
                   && start <= first + size - sizeof *attrs[i]);
        fuzz_check(attrs[i]->nla_len >= sizeof *attrs[i]);
        fuzz_check(start + attrs[i]->nla_len <= first + size);
        fuzz_check(mnl_attr_get_type(attrs[i]) == i);
        fuzz_check(mnl_attr_get_payload_len(attrs[i]) >= policy[i].min_len);
        fuzz_touch(start, attrs[i]->nla_len);
    }
    fuzz_touch(attrs[ATTR_STRING]
               ? mnl_attr_get_str(attrs[ATTR_STRING]) : "",
               attrs[ATTR_STRING]
               ? strlen(mnl_attr_get_str(attrs[ATTR_STRING])) + 1 : 0);
    fuzz_check(!attrs[ATTR_U8]
               || mnl_attr_get_payload_len(attrs[ATTR_U8]) == 1);
    fuzz_check(!attrs[ATTR_U16]
               || mnl_attr_get_payload_len(attrs[ATTR_U16]) == 2);
    fuzz_check(mnl_attr_get_payload_len(attrs[ATTR_U32]) == 4);
    fuzz_check(!attrs[ATTR_U64]
               || mnl_attr_get_payload_len(attrs[ATTR_U64]) == 8);
    if (attrs[ATTR_NESTED] && outermost) {
        check_attrs(mnl_attr_get_payload(attrs[ATTR_NESTED]),
                    mnl_attr_get_payload_len(attrs[ATTR_NESTED]), false);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *payload = fuzz_copy(data, size);

    check_attrs(payload, size, true);
    free(payload);
    return 0;
}

bool
fuzz_accepts(const uint8_t *data, size_t size)
{
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    void *payload = fuzz_copy(data, size);
    int error = nl_attrs_parse(payload, size, policy, attrs,
                               ARRAY_SIZE(policy));

    free(payload);
    return !error;
}

void
fuzz_seeds(fuzz_emit_func *emit, void *aux)
{
    char buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct nlattr *nest;

    mnl_attr_put_u32(nlh, ATTR_U32, 4);
    emit("required", mnl_nlmsg_get_payload(nlh),
         mnl_nlmsg_get_payload_len(nlh), aux);

    mnl_attr_put_u8(nlh, ATTR_U8, 1);
    mnl_attr_put_u16(nlh, ATTR_U16, 2);
    mnl_attr_put_u64(nlh, ATTR_U64, 8);
    mnl_attr_put_strz(nlh, ATTR_STRING, "string");
    mnl_attr_put(nlh, ATTR_FLAG, 0, NULL);
    mnl_attr_put(nlh, ATTR_BLOB, 7, "1234567");
    nest = mnl_attr_nest_start(nlh, ATTR_NESTED);
    mnl_attr_put_u32(nlh, ATTR_U32, 5);
    mnl_attr_nest_end(nlh, nest);
    emit("all", mnl_nlmsg_get_payload(nlh), mnl_nlmsg_get_payload_len(nlh),
         aux);
    emit("empty", "", 0, aux);
}
