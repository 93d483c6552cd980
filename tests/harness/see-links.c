/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/see-links.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "harness/unit.h"
#include "nl/nl-conn.h"
#include "util.h"

int
unit_see_link(const struct nlmsghdr *nlh, void *seen_)
{
    static const struct nl_attr_policy policy[] = {
        [IFLA_IFNAME] = { .type = MNL_TYPE_NUL_STRING, .required = true },
        [IFLA_MTU] = { .type = MNL_TYPE_U32, .required = true },
    };
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    size_t header = sizeof(struct ifinfomsg);
    struct unit_seen *seen = seen_;

    assert_true(mnl_nlmsg_get_payload_len(nlh) >= header);
    assert_int_equal(nl_attrs_parse(mnl_nlmsg_get_payload_offset(nlh, header),
                                    mnl_nlmsg_get_payload_len(nlh) - header,
                                    policy, attrs, ARRAY_SIZE(policy)), 0);
    seen->n++;
    seen->n_lo += !strcmp(mnl_attr_get_str(attrs[IFLA_IFNAME]), "lo");
    seen->mtu = mnl_attr_get_u32(attrs[IFLA_MTU]);
    seen->type = nlh->nlmsg_type;
    return seen->error;
}

void
unit_see_event(const struct nlmsghdr *nlh, int32_t nsid, void *seen_)
{
    struct unit_seen *seen = seen_;

    unit_see_link(nlh, seen);
    seen->nsid = nsid;
}
