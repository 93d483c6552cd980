/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L2: subscriptions to changes of a link table. */

#include <config.h>
#include <stdlib.h>

#include "unit/link/link-table-fixture.h"
#include "harness/unit.h"
#include "util.h"

struct counter {
    struct fixture *f;
    struct link_subscription *sub;
    struct link_subscription *victim;   /* To unsubscribe when called. */
    bool breeds;                        /* Subscribes when called. */
    unsigned int n;
};

static void
count_change(const struct link_change *change OVS_UNUSED, void *counter_)
{
    struct counter *c = counter_;

    c->n++;
    if (c->victim) {
        link_table_unsubscribe(c->victim);
        c->victim = NULL;
    }
    if (c->breeds) {
        c->breeds = false;
        c->sub = link_table_subscribe(c->f->table, LINK_NSID_ALL,
                                      LINK_CHANGE_ALL, count_change, c);
    }
}

static void
subscribers_get_what_they_asked_for(void **state)
{
    struct fixture *f = *state;
    struct counter mtu = { .f = f }, ns2 = { .f = f };
    struct link_view view = view_of(1, "x");

    mtu.sub = link_table_subscribe(f->table, LINK_NSID_ALL, LINK_CHANGE_MTU,
                                   count_change, &mtu);
    ns2.sub = link_table_subscribe(f->table, 2, LINK_CHANGE_ALL, count_change,
                                   &ns2);
    link_table_update(f->table, 1, &view);
    link_table_update(f->table, 2, &view);
    assert_int_equal(mtu.n, 0);
    assert_int_equal(ns2.n, 1);
    view.has = LINK_HAS_MTU;
    view.mtu = 9;
    view.flags = 1;
    link_table_update(f->table, 1, &view);
    assert_int_equal(mtu.n, 1);
    assert_int_equal(ns2.n, 1);
    link_table_unsubscribe(mtu.sub);
    link_table_unsubscribe(ns2.sub);
    link_table_update(f->table, 2, &view);
    assert_int_equal(mtu.n, 1);
    assert_int_equal(ns2.n, 1);
    link_table_unsubscribe(NULL);
}

static void
subscribers_may_come_and_go_when_called(void **state)
{
    struct fixture *f = *state;
    struct counter killer = { .f = f }, victim = { .f = f };
    struct counter suicide = { .f = f }, parent = { .f = f, .breeds = true };
    struct link_subscription *first;

    victim.sub = link_table_subscribe(f->table, LINK_NSID_ALL,
                                      LINK_CHANGE_ALL, count_change, &victim);
    killer.sub = link_table_subscribe(f->table, LINK_NSID_ALL,
                                      LINK_CHANGE_ALL, count_change, &killer);
    suicide.sub = link_table_subscribe(f->table, LINK_NSID_ALL,
                                       LINK_CHANGE_ALL, count_change,
                                       &suicide);
    first = link_table_subscribe(f->table, LINK_NSID_ALL, LINK_CHANGE_ALL,
                                 count_change, &parent);
    killer.victim = victim.sub;
    suicide.victim = suicide.sub;

    add(f, 1, 1, "x");
    assert_int_equal(killer.n, 1);
    assert_int_equal(victim.n, 0);      /* It would have come after. */
    assert_int_equal(suicide.n, 1);
    assert_int_equal(parent.n, 1);      /* The new one comes with the next. */
    add(f, 1, 1, "y");
    assert_int_equal(killer.n, 2);
    assert_int_equal(victim.n, 0);
    assert_int_equal(suicide.n, 1);
    assert_int_equal(parent.n, 3);
    link_table_unsubscribe(killer.sub);
    link_table_unsubscribe(parent.sub);
    link_table_unsubscribe(first);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(subscribers_get_what_they_asked_for),
        TEST(subscribers_may_come_and_go_when_called),
    };

    unit_init(argv[0]);
    unit_start_threads();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
