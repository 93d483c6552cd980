/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L2: what is recorded while a part of a dump waits, and when it is
 * forgotten. */

#include <config.h>
#include "link/link-replica.h"

#include <linux/rtnetlink.h>
#include <libmnl/libmnl.h>
#include <string.h>

#include "harness/unit.h"
#include "link/link-msg.h"
#include "util.h"

#define NSID 4000

/* An event of 'type' whose content is 'n' bytes with the value 'byte'. */
static const struct nlmsghdr *
event(uint16_t type, char byte, size_t n)
{
    static char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    memset(mnl_nlmsg_put_extra_header(nlh, n), byte, n);
    nlh->nlmsg_len = MNL_NLMSG_HDRLEN + n;
    return nlh;
}

static void
only_the_ids_that_are_dumped_are_recorded(void **state OVS_UNUSED)
{
    static const uint16_t types[] = { RTM_NEWLINK, RTM_NEWNSID };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        uint16_t type = types[i];
        struct link_newer newer = { .type = 0 };

        link_newer_note(&newer, event(type, 0, 0), NSID, 1);
        assert_false(link_newer_has(&newer, 1));

        link_newer_begin(&newer, type, NSID);
        assert_false(link_newer_has(&newer, 0));
        link_newer_note(&newer, event(type, 0, 0), NSID, 2);
        link_newer_note(&newer, event(type + 1, 0, 0), NSID, 3);
        link_newer_note(&newer, event(type + 2, 0, 0), NSID, 4);
        link_newer_note(&newer, event(type - 1, 0, 0), NSID, 5);
        link_newer_note(&newer, event(type, 0, 0), NSID + 1, 6);
        link_newer_note(&newer, event(type, 0, 0), LINK_NSID_LOCAL, 7);
        for (int id = 0; id < 10; id++) {
            assert_int_equal(link_newer_has(&newer, id), id == 2 || id == 3);
        }
        assert_null(link_newer_next(&newer, NULL));
        link_newer_end(&newer);
        assert_false(link_newer_has(&newer, 2));
        assert_int_equal(newer.type, 0);
    }
}

static void
what_is_newer_than_one_part_is_older_than_the_next(void **state OVS_UNUSED)
{
    struct link_newer newer = { .type = 0 };

    link_newer_begin(&newer, RTM_NEWLINK, LINK_NSID_LOCAL);
    for (int id = 1; id < 100; id++) {
        link_newer_note(&newer, event(RTM_NEWLINK, 0, 0), LINK_NSID_LOCAL, id);
    }
    for (int id = 1; id < 100; id++) {
        assert_true(link_newer_has(&newer, id));
    }
    link_newer_clear(&newer);
    for (int id = 0; id <= 100; id++) {
        assert_false(link_newer_has(&newer, id));
    }

    /* The dump goes on. */
    link_newer_note(&newer, event(RTM_DELLINK, 0, 0), LINK_NSID_LOCAL, 100);
    assert_true(link_newer_has(&newer, 100));
    assert_false(link_newer_has(&newer, 1));
    link_newer_end(&newer);
}

static void
other_events_are_kept_in_order(void **state OVS_UNUSED)
{
    enum { N = 60 };
    const struct nlmsghdr *nlh = NULL;
    struct link_newer newer = { .type = 0 };

    link_newer_begin(&newer, RTM_NEWADDR, LINK_NSID_LOCAL);
    assert_null(link_newer_next(&newer, NULL));
    for (size_t i = 1; i <= N; i++) {
        link_newer_note(&newer, event(RTM_NEWADDR + i % 2, i, i),
                        LINK_NSID_LOCAL, 0);
        link_newer_note(&newer, event(RTM_NEWLINK, 0, i), LINK_NSID_LOCAL, 0);
        link_newer_note(&newer, event(RTM_NEWADDR, 0, i), NSID, 0);
    }
    for (size_t i = 1; i <= N; i++) {
        nlh = link_newer_next(&newer, nlh);
        assert_non_null(nlh);

        const char *content = mnl_nlmsg_get_payload(nlh);
        assert_int_equal(nlh->nlmsg_type, RTM_NEWADDR + i % 2);
        assert_int_equal(mnl_nlmsg_get_payload_len(nlh), i);
        for (size_t j = 0; j < i; j++) {
            assert_int_equal(content[j], i);
        }
    }
    assert_null(link_newer_next(&newer, nlh));
    assert_false(link_newer_has(&newer, 0));

    link_newer_clear(&newer);
    assert_null(link_newer_next(&newer, NULL));
    link_newer_note(&newer, event(RTM_NEWADDR, 7, 1), LINK_NSID_LOCAL, 0);
    nlh = link_newer_next(&newer, NULL);
    assert_int_equal(nlh->nlmsg_len, MNL_NLMSG_HDRLEN + 1);
    assert_null(link_newer_next(&newer, nlh));
    link_newer_end(&newer);
    assert_null(link_newer_next(&newer, NULL));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_ids_that_are_dumped_are_recorded),
        cmocka_unit_test(what_is_newer_than_one_part_is_older_than_the_next),
        cmocka_unit_test(other_events_are_kept_in_order),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
