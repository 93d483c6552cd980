/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L2: queueing disciplines of links. */

#include <config.h>
#include "link/link-qdisc.h"

#include <linux/pkt_sched.h>

#include "harness/unit.h"
#include "util.h"

#define LINK 7
#define HANDLE(MAJOR) ((uint32_t) (MAJOR) << 16)
#define INGRESS HANDLE(0xffff)

static int
setup(void **state)
{
    *state = link_qdiscs_create();
    return 0;
}

static int
teardown(void **state)
{
    link_qdiscs_destroy(*state);
    return 0;
}

static void
update(struct link_qdiscs *qdiscs, int ifindex, uint32_t parent,
       uint32_t handle, bool gone)
{
    const struct link_qdisc_view view = {
        .ifindex = ifindex, .parent = parent, .handle = handle, .kind = "any",
    };

    link_qdiscs_update(qdiscs, &view, gone);
}

#define ADD(IFINDEX, PARENT, HANDLE) \
    update(*state, IFINDEX, PARENT, HANDLE, false)
#define DEL(IFINDEX, PARENT, HANDLE) \
    update(*state, IFINDEX, PARENT, HANDLE, true)

static void
root_and_ingress_are_told_apart(void **state)
{
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    assert_true(link_qdiscs_has_root(*state, LINK));
    assert_false(link_qdiscs_has_ingress(*state, LINK));
    assert_false(link_qdiscs_has_root(*state, LINK + 1));
    ADD(LINK + 1, TC_H_INGRESS, INGRESS);
    assert_true(link_qdiscs_has_ingress(*state, LINK + 1));
    assert_false(link_qdiscs_has_root(*state, LINK + 1));
    assert_int_equal(link_qdiscs_count(*state), 2);

    DEL(LINK, TC_H_ROOT, HANDLE(1));
    DEL(LINK + 1, TC_H_INGRESS, INGRESS);
    assert_false(link_qdiscs_has_root(*state, LINK));
    assert_false(link_qdiscs_has_ingress(*state, LINK + 1));
    assert_int_equal(link_qdiscs_count(*state), 0);
}

static void
what_the_kernel_gives_a_device_does_not_count(void **state)
{
    ADD(LINK, TC_H_ROOT, 0);
    assert_false(link_qdiscs_has_root(*state, LINK));

    /* Nor does its removal mean that a configured one is gone. */
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    DEL(LINK, TC_H_ROOT, 0);
    assert_true(link_qdiscs_has_root(*state, LINK));
}

static void
disciplines_of_classes_do_not_count(void **state)
{
    ADD(LINK, HANDLE(1) | 1, HANDLE(2));
    ADD(LINK, HANDLE(1), HANDLE(3));
    assert_int_equal(link_qdiscs_count(*state), 0);
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    DEL(LINK, HANDLE(1) | 1, HANDLE(1));
    assert_true(link_qdiscs_has_root(*state, LINK));
}

static void
a_replacement_stays_whichever_is_told_first(void **state)
{
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    DEL(LINK, TC_H_ROOT, HANDLE(1));
    ADD(LINK, TC_H_ROOT, HANDLE(2));
    assert_true(link_qdiscs_has_root(*state, LINK));
    ADD(LINK, TC_H_ROOT, HANDLE(3));
    DEL(LINK, TC_H_ROOT, HANDLE(2));
    assert_true(link_qdiscs_has_root(*state, LINK));
    assert_int_equal(link_qdiscs_count(*state), 1);
    DEL(LINK, TC_H_ROOT, HANDLE(3));
    assert_false(link_qdiscs_has_root(*state, LINK));
}

static void
disciplines_go_with_their_link(void **state)
{
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    ADD(LINK, TC_H_INGRESS, INGRESS);
    ADD(LINK + 1, TC_H_ROOT, HANDLE(1));
    link_qdiscs_remove_link(*state, LINK);
    assert_false(link_qdiscs_has_root(*state, LINK));
    assert_false(link_qdiscs_has_ingress(*state, LINK));
    assert_true(link_qdiscs_has_root(*state, LINK + 1));
    assert_int_equal(link_qdiscs_count(*state), 1);
}

static void
a_sweep_removes_what_was_not_told_again(void **state)
{
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    ADD(LINK, TC_H_INGRESS, INGRESS);
    ADD(LINK + 1, TC_H_ROOT, HANDLE(1));
    link_qdiscs_mark(*state);
    ADD(LINK, TC_H_INGRESS, INGRESS);
    ADD(LINK + 1, TC_H_ROOT, HANDLE(2));
    link_qdiscs_sweep(*state);
    assert_false(link_qdiscs_has_root(*state, LINK));
    assert_true(link_qdiscs_has_ingress(*state, LINK));
    assert_true(link_qdiscs_has_root(*state, LINK + 1));
    link_qdiscs_destroy(NULL);
}

static void
what_the_kernel_says_moves_a_number(void **state)
{
    uint64_t root, ingress;

    assert_int_equal(link_qdiscs_root_seqno(*state, LINK), 0);
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    ADD(LINK, TC_H_INGRESS, INGRESS);
    root = link_qdiscs_root_seqno(*state, LINK);
    ingress = link_qdiscs_ingress_seqno(*state, LINK);
    assert_true(root && ingress && root != ingress);
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    link_qdiscs_class_changed(*state, LINK);
    link_qdiscs_class_changed(*state, LINK + 1);
    assert_int_equal(link_qdiscs_root_seqno(*state, LINK), root + 2);
    assert_int_equal(link_qdiscs_ingress_seqno(*state, LINK), ingress);

    /* Another one has another number, even if it came just after. */
    DEL(LINK, TC_H_INGRESS, INGRESS);
    assert_int_equal(link_qdiscs_ingress_seqno(*state, LINK), 0);
    ADD(LINK, TC_H_INGRESS, INGRESS);
    assert_true(link_qdiscs_ingress_seqno(*state, LINK) > ingress + 1);
}

static void
what_nobody_follows_is_unknown(void **state)
{
    uint64_t root, ingress;

    ADD(LINK, TC_H_ROOT, HANDLE(1));
    assert_true(link_qdiscs_are_known(*state));
    root = link_qdiscs_root_seqno(*state, LINK);

    /* A link may have anything, and that may be another one each time. */
    link_qdiscs_follow(*state, false);
    assert_false(link_qdiscs_are_known(*state));
    assert_int_equal(link_qdiscs_count(*state), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(link_qdiscs_has_root(*state, LINK + i));
        assert_true(link_qdiscs_has_ingress(*state, LINK + i));
        assert_true(link_qdiscs_root_seqno(*state, LINK) > root + 1);
        root = link_qdiscs_root_seqno(*state, LINK);
        ingress = link_qdiscs_ingress_seqno(*state, LINK);
        assert_true(link_qdiscs_ingress_seqno(*state, LINK) > ingress + 1);
    }

    /* What is told late is not taken for all there is. */
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    link_qdiscs_mark(*state);
    link_qdiscs_sweep(*state);
    assert_false(link_qdiscs_are_known(*state));
    assert_int_equal(link_qdiscs_count(*state), 0);
}

static void
what_is_followed_again_is_known_after_a_sweep(void **state)
{
    uint64_t root;

    ADD(LINK, TC_H_ROOT, HANDLE(1));
    root = link_qdiscs_root_seqno(*state, LINK);
    link_qdiscs_follow(*state, false);
    link_qdiscs_follow(*state, true);
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    assert_false(link_qdiscs_are_known(*state));
    assert_true(link_qdiscs_has_ingress(*state, LINK));
    link_qdiscs_mark(*state);
    ADD(LINK, TC_H_ROOT, HANDLE(1));
    link_qdiscs_sweep(*state);
    assert_true(link_qdiscs_are_known(*state));
    assert_false(link_qdiscs_has_ingress(*state, LINK));
    assert_true(link_qdiscs_root_seqno(*state, LINK) > root + 1);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(root_and_ingress_are_told_apart),
        TEST(what_the_kernel_gives_a_device_does_not_count),
        TEST(disciplines_of_classes_do_not_count),
        TEST(a_replacement_stays_whichever_is_told_first),
        TEST(disciplines_go_with_their_link),
        TEST(a_sweep_removes_what_was_not_told_again),
        TEST(what_the_kernel_says_moves_a_number),
        TEST(what_nobody_follows_is_unknown),
        TEST(what_is_followed_again_is_known_after_a_sweep),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
