/* SPDX-License-Identifier: Apache-2.0 */

/* The queue of offload threads (O3): the order in which nodes come out, pushes
 * that are half-finished, and sleep.  One thread plays all parts, or one other
 * sleeps. */

#include <config.h>
#include "unit/offload/mpsc-queue-item.h"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "harness/unit.h"
#include "util.h"

static uint32_t
wakeups(struct kdp_mpsc_queue *queue)
{
    uint32_t n;

    atomic_read_explicit(&queue->wakeups, &n, memory_order_acquire);
    return n;
}

static bool
is_asleep(struct kdp_mpsc_queue *queue)
{
    struct kdp_mpsc_node *tail;

    atomic_read_explicit(&queue->tail, &tail, memory_order_acquire);
    return tail == &queue->asleep;
}

static void
nodes_come_out_in_the_order_of_pushes(void **state OVS_UNUSED)
{
    struct kdp_mpsc_queue queue;
    struct item items[10];
    unsigned int in = 0, out = 0;

    kdp_mpsc_queue_init(&queue);
    assert_empty(&queue);

    /* Runs of every length up to that of the array, nodes used again. */
    for (unsigned int n = 1; n <= ARRAY_SIZE(items); n++) {
        for (unsigned int i = 0; i < n; i++) {
            items[in % ARRAY_SIZE(items)].seq = in;
            kdp_mpsc_queue_push(&queue, &items[in++ % ARRAY_SIZE(items)].node);
            assert_false(is_empty(&queue));
        }
        for (unsigned int i = 0; i < n; i++) {
            assert_int_equal(item_of(kdp_mpsc_queue_pop(&queue))->seq, out++);
        }
        assert_empty(&queue);
    }
    kdp_mpsc_queue_destroy(&queue);
    kdp_mpsc_queue_destroy(NULL);
}

static void
nodes_pushed_meanwhile_come_later(void **state OVS_UNUSED)
{
    struct kdp_mpsc_queue queue;
    struct item items[100];
    unsigned int out = 0;

    kdp_mpsc_queue_init(&queue);
    for (unsigned int i = 0; i < ARRAY_SIZE(items); i++) {
        items[i].seq = i;
        kdp_mpsc_queue_push(&queue, &items[i].node);
        if (i % 3) {
            assert_int_equal(item_of(kdp_mpsc_queue_pop(&queue))->seq, out++);
        }
    }
    while (out < ARRAY_SIZE(items)) {
        assert_int_equal(item_of(kdp_mpsc_queue_pop(&queue))->seq, out++);
    }
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

static void
half_finished_push_is_busy_not_empty(void **state OVS_UNUSED)
{
    struct kdp_mpsc_node *prev, *node;
    struct kdp_mpsc_queue queue;
    struct item item;

    kdp_mpsc_queue_init(&queue);
    for (int round = 0; round < 3; round++) {
        prev = kdp_mpsc_queue_push_begin__(&queue, &item.node);
        assert_int_equal(kdp_mpsc_queue_poll(&queue, &node), KDP_MPSC_BUSY);
        assert_false(is_empty(&queue));
        assert_true(kdp_mpsc_queue_wait(&queue, LLONG_MAX));
        kdp_mpsc_queue_push_end__(&queue, prev, &item.node);
        assert_int_equal(kdp_mpsc_queue_poll(&queue, &node), KDP_MPSC_NODE);
        assert_ptr_equal(node, &item.node);
        assert_empty(&queue);
    }
    kdp_mpsc_queue_destroy(&queue);
}

static void
half_finished_push_holds_up_what_is_behind_it(void **state OVS_UNUSED)
{
    struct kdp_mpsc_node *prev, *node;
    struct kdp_mpsc_queue queue;
    struct item a, b, c;

    kdp_mpsc_queue_init(&queue);
    kdp_mpsc_queue_push(&queue, &a.node);
    prev = kdp_mpsc_queue_push_begin__(&queue, &b.node);
    kdp_mpsc_queue_push(&queue, &c.node);

    /* The producer of B is going to write into A. */
    assert_ptr_equal(prev, &a.node);
    assert_int_equal(kdp_mpsc_queue_poll(&queue, &node), KDP_MPSC_BUSY);
    assert_int_equal(kdp_mpsc_queue_poll(&queue, &node), KDP_MPSC_BUSY);
    kdp_mpsc_queue_push_end__(&queue, prev, &b.node);
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &a.node);
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &b.node);
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &c.node);
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

static void
order_is_that_in_which_pushes_began(void **state OVS_UNUSED)
{
    struct kdp_mpsc_node *prev[4], *node;
    struct kdp_mpsc_queue queue;
    struct item items[4];

    /* Finished in each order of four: 24 of the numbers below. */
    kdp_mpsc_queue_init(&queue);
    for (unsigned int order = 0; order < 256; order++) {
        unsigned int set = 0, finished = 0;

        for (unsigned int i = 0; i < 4; i++) {
            set |= 1u << ((order >> (2 * i)) & 3);
        }
        if (set != 15) {
            continue;
        }
        for (unsigned int i = 0; i < 4; i++) {
            prev[i] = kdp_mpsc_queue_push_begin__(&queue, &items[i].node);
        }
        for (unsigned int i = 0, n_out = 0; i < 4; i++) {
            unsigned int which = (order >> (2 * i)) & 3;
            enum kdp_mpsc_result result;

            finished |= 1u << which;
            kdp_mpsc_queue_push_end__(&queue, prev[which],
                                      &items[which].node);
            while ((result = kdp_mpsc_queue_poll(&queue, &node))
                   == KDP_MPSC_NODE) {
                assert_ptr_equal(node, &items[n_out].node);
                assert_true(finished & (1u << n_out));
                n_out++;
            }
            assert_int_equal(result, (i < 3 ? KDP_MPSC_BUSY
                                      : KDP_MPSC_EMPTY));
            assert_true(i < 3 || n_out == 4);
        }
        assert_empty(&queue);
    }
    kdp_mpsc_queue_destroy(&queue);
}

/* A consumer that waits once. */
struct sleeper {
    pthread_t thread;
    struct kdp_mpsc_queue *queue;
    long long int deadline;
    bool in_time;
};

static void *
sleep_once(void *sleeper_)
{
    struct sleeper *sleeper = sleeper_;

    sleeper->in_time = kdp_mpsc_queue_wait(sleeper->queue, sleeper->deadline);
    return NULL;
}

static void
sleeper_start(struct sleeper *sleeper, struct kdp_mpsc_queue *queue)
{
    sleeper->queue = queue;
    sleeper->deadline = LLONG_MAX;
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_once,
                                    sleeper), 0);
    unit_wait_until(is_asleep(queue));
}

static void
sleeper_join(struct sleeper *sleeper)
{
    assert_int_equal(pthread_join(sleeper->thread, NULL), 0);
    assert_true(sleeper->in_time);
}

static void
only_the_push_that_ends_a_sleep_wakes(void **state OVS_UNUSED)
{
    struct kdp_mpsc_queue queue;
    struct sleeper sleeper;
    struct item items[10];

    kdp_mpsc_queue_init(&queue);
    for (unsigned int round = 1; round <= 10; round++) {
        sleeper_start(&sleeper, &queue);
        assert_int_equal(wakeups(&queue), round - 1);
        for (unsigned int i = 0; i < 5; i++) {
            kdp_mpsc_queue_push(&queue, &items[i].node);
            assert_int_equal(wakeups(&queue), round);
        }
        sleeper_join(&sleeper);
        for (unsigned int i = 5; i < 10; i++) {
            kdp_mpsc_queue_push(&queue, &items[i].node);
        }
        for (unsigned int i = 0; i < 10; i++) {
            assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &items[i].node);
        }
        assert_empty(&queue);

        /* The consumer is awake. */
        kdp_mpsc_queue_push(&queue, &items[0].node);
        assert_int_equal(wakeups(&queue), round);
        assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &items[0].node);
    }
    kdp_mpsc_queue_destroy(&queue);
}

static void
wait_does_not_sleep_when_there_is_something(void **state OVS_UNUSED)
{
    struct kdp_mpsc_queue queue;
    struct item items[2];

    kdp_mpsc_queue_init(&queue);
    kdp_mpsc_queue_push(&queue, &items[0].node);
    kdp_mpsc_queue_push(&queue, &items[1].node);
    assert_true(kdp_mpsc_queue_wait(&queue, LLONG_MAX));
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &items[0].node);

    /* Seen already, not given out yet. */
    assert_true(kdp_mpsc_queue_wait(&queue, LLONG_MAX));
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &items[1].node);
    assert_int_equal(wakeups(&queue), 0);
    kdp_mpsc_queue_destroy(&queue);
}

static void
half_finished_push_wakes_when_it_is_finished(void **state OVS_UNUSED)
{
    struct kdp_mpsc_queue queue;
    struct kdp_mpsc_node *prev;
    struct sleeper sleeper;
    struct item a, b;

    kdp_mpsc_queue_init(&queue);
    sleeper_start(&sleeper, &queue);
    prev = kdp_mpsc_queue_push_begin__(&queue, &a.node);
    kdp_mpsc_queue_push(&queue, &b.node);

    /* Nothing can be reached, so it would wake for nothing. */
    assert_int_equal(wakeups(&queue), 0);
    kdp_mpsc_queue_push_end__(&queue, prev, &a.node);
    assert_int_equal(wakeups(&queue), 1);
    sleeper_join(&sleeper);
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &a.node);
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &b.node);
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

static void
deadline_ends_a_sleep(void **state OVS_UNUSED)
{
    struct kdp_mpsc_queue queue;
    struct item item;

    kdp_mpsc_queue_init(&queue);
    for (int round = 0; round < 3; round++) {
        long long int deadline = unit_now() + 20;

        assert_false(kdp_mpsc_queue_wait(&queue, 0));
        assert_false(kdp_mpsc_queue_wait(&queue, 999));
        assert_false(kdp_mpsc_queue_wait(&queue, 1000));
        assert_false(kdp_mpsc_queue_wait(&queue, -1));
        assert_false(kdp_mpsc_queue_wait(&queue, LLONG_MIN));
        assert_false(kdp_mpsc_queue_wait(&queue, deadline));
        assert_true(unit_now() >= deadline);
        assert_empty(&queue);

        /* Awake: nobody is woken. */
        kdp_mpsc_queue_push(&queue, &item.node);
        assert_int_equal(wakeups(&queue), 0);
        assert_true(kdp_mpsc_queue_wait(&queue, LLONG_MAX));
        assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &item.node);
    }
    kdp_mpsc_queue_destroy(&queue);
}

static void
kick_is_not_lost(void **state OVS_UNUSED)
{
    struct kdp_mpsc_queue queue;
    struct sleeper sleeper;

    kdp_mpsc_queue_init(&queue);

    /* Asleep. */
    sleeper_start(&sleeper, &queue);
    kdp_mpsc_queue_kick(&queue);
    sleeper_join(&sleeper);
    assert_empty(&queue);

    /* About to fall asleep. */
    kdp_mpsc_queue_kick(&queue);
    kdp_mpsc_queue_kick(&queue);
    assert_true(kdp_mpsc_queue_wait(&queue, LLONG_MAX));
    assert_false(kdp_mpsc_queue_wait(&queue, 0));
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

static void
late_wakeup_does_no_harm(void **state OVS_UNUSED)
{
    struct kdp_mpsc_node *prev, *node;
    struct kdp_mpsc_queue queue;
    struct sleeper sleeper;
    struct item item;

    /* The consumer wakes for another reason while the producer that has to
     * wake it is half-way.  The second time, the dummy has a link already. */
    kdp_mpsc_queue_init(&queue);
    for (int round = 0; round < 2; round++) {
        sleeper_start(&sleeper, &queue);
        prev = kdp_mpsc_queue_push_begin__(&queue, &item.node);
        kdp_mpsc_queue_kick(&queue);
        sleeper_join(&sleeper);
        assert_int_equal(kdp_mpsc_queue_poll(&queue, &node), KDP_MPSC_BUSY);
        assert_true(kdp_mpsc_queue_wait(&queue, LLONG_MAX));

        kdp_mpsc_queue_push_end__(&queue, prev, &item.node);
        assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &item.node);
        assert_empty(&queue);

        /* Once for nothing, no more. */
        assert_true(kdp_mpsc_queue_wait(&queue, LLONG_MAX));
        assert_false(kdp_mpsc_queue_wait(&queue, 0));
    }

    /* And it can be slept on again. */
    sleeper_start(&sleeper, &queue);
    kdp_mpsc_queue_push(&queue, &item.node);
    sleeper_join(&sleeper);
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &item.node);
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_come_out_in_the_order_of_pushes),
        cmocka_unit_test(nodes_pushed_meanwhile_come_later),
        cmocka_unit_test(half_finished_push_is_busy_not_empty),
        cmocka_unit_test(half_finished_push_holds_up_what_is_behind_it),
        cmocka_unit_test(order_is_that_in_which_pushes_began),
        cmocka_unit_test(only_the_push_that_ends_a_sleep_wakes),
        cmocka_unit_test(wait_does_not_sleep_when_there_is_something),
        cmocka_unit_test(half_finished_push_wakes_when_it_is_finished),
        cmocka_unit_test(deadline_ends_a_sleep),
        cmocka_unit_test(kick_is_not_lost),
        cmocka_unit_test(late_wakeup_does_no_harm),
    };

    return cmocka_run_group_tests_name("mpsc-queue", tests, NULL, NULL);
}
