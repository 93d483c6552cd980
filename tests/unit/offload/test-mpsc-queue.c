/* SPDX-License-Identifier: Apache-2.0 */

/* The queue of offload requests. */

#include <config.h>
#include "offload/kdp-mpsc-queue.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/unit.h"
#include "util.h"

/* Seconds after which a test that lost a wake-up is ended. */
#define WATCHDOG 300

struct item {
    struct kdp_mpsc_node node;
    unsigned int producer;
    unsigned int seq;
};

static struct item *
item_of(struct kdp_mpsc_node *node)
{
    return node ? CONTAINER_OF(node, struct item, node) : NULL;
}

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
assert_empty(struct kdp_mpsc_queue *queue)
{
    struct kdp_mpsc_batch batch;
    struct kdp_mpsc_node *node;

    assert_int_equal(kdp_mpsc_queue_poll(queue, &node), KDP_MPSC_EMPTY);
    assert_int_equal(kdp_mpsc_queue_splice(queue, &batch), KDP_MPSC_EMPTY);
    assert_int_equal(kdp_mpsc_batch_poll(&batch, &node), KDP_MPSC_EMPTY);
    assert_null(kdp_mpsc_queue_pop(queue));
    assert_true(kdp_mpsc_queue_is_empty(queue));
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
            assert_false(kdp_mpsc_queue_is_empty(&queue));
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
splice_takes_all(void **state OVS_UNUSED)
{
    struct kdp_mpsc_queue queue;
    struct kdp_mpsc_batch batch;
    struct item items[20];

    kdp_mpsc_queue_init(&queue);

    /* Also what pop has come to already. */
    for (unsigned int i = 0; i < 20; i++) {
        items[i].seq = i;
        kdp_mpsc_queue_push(&queue, &items[i].node);
        if (i == 9) {
            assert_int_equal(item_of(kdp_mpsc_queue_pop(&queue))->seq, 0);
        }
    }
    assert_int_equal(kdp_mpsc_queue_splice(&queue, &batch), KDP_MPSC_NODE);
    assert_empty(&queue);
    for (unsigned int i = 1; i < 20; i++) {
        /* It is apart from the queue. */
        kdp_mpsc_queue_push(&queue, &items[i - 1].node);
        assert_int_equal(item_of(kdp_mpsc_batch_pop(&batch))->seq, i);
    }
    assert_null(kdp_mpsc_batch_pop(&batch));
    for (unsigned int i = 0; i < 19; i++) {
        assert_int_equal(item_of(kdp_mpsc_queue_pop(&queue))->seq, i);
    }

    /* Also when pop has come to all that there is. */
    kdp_mpsc_queue_push(&queue, &items[0].node);
    kdp_mpsc_queue_push(&queue, &items[1].node);
    assert_int_equal(item_of(kdp_mpsc_queue_pop(&queue))->seq, 0);
    assert_int_equal(kdp_mpsc_queue_splice(&queue, &batch), KDP_MPSC_NODE);
    assert_int_equal(item_of(kdp_mpsc_batch_pop(&batch))->seq, 1);
    assert_null(kdp_mpsc_batch_pop(&batch));
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

static void
half_finished_push_is_busy_not_empty(void **state OVS_UNUSED)
{
    struct kdp_mpsc_node *prev, *node;
    struct kdp_mpsc_queue queue;
    struct kdp_mpsc_batch batch;
    struct item item;

    kdp_mpsc_queue_init(&queue);
    for (int round = 0; round < 3; round++) {
        prev = kdp_mpsc_queue_push_begin__(&queue, &item.node);
        assert_int_equal(kdp_mpsc_queue_poll(&queue, &node), KDP_MPSC_BUSY);
        assert_int_equal(kdp_mpsc_queue_splice(&queue, &batch),
                         KDP_MPSC_BUSY);
        assert_false(kdp_mpsc_queue_is_empty(&queue));
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
half_finished_push_holds_up_nothing_before_it(void **state OVS_UNUSED)
{
    struct kdp_mpsc_node *prev, *node;
    struct kdp_mpsc_queue queue;
    struct kdp_mpsc_batch batch;
    struct item a, b, c;

    kdp_mpsc_queue_init(&queue);
    kdp_mpsc_queue_push(&queue, &a.node);
    kdp_mpsc_queue_push(&queue, &b.node);
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &a.node);

    /* B has been cut off, so that C is put behind a dummy. */
    assert_int_equal(kdp_mpsc_queue_splice(&queue, &batch), KDP_MPSC_NODE);
    prev = kdp_mpsc_queue_push_begin__(&queue, &c.node);
    assert_ptr_equal(kdp_mpsc_batch_pop(&batch), &b.node);
    assert_null(kdp_mpsc_batch_pop(&batch));
    assert_int_equal(kdp_mpsc_queue_poll(&queue, &node), KDP_MPSC_BUSY);
    kdp_mpsc_queue_push_end__(&queue, prev, &c.node);
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &c.node);
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

static void
splice_joins_what_was_cut_off_before(void **state OVS_UNUSED)
{
    struct kdp_mpsc_queue queue;
    struct kdp_mpsc_batch batch;
    struct item items[4];

    kdp_mpsc_queue_init(&queue);
    for (int n = 2; n <= 4; n++) {
        struct kdp_mpsc_node *prev, *node;

        /* Looking for the first one cuts it off together with the second. */
        kdp_mpsc_queue_push(&queue, &items[0].node);
        prev = kdp_mpsc_queue_push_begin__(&queue, &items[1].node);
        assert_int_equal(kdp_mpsc_queue_poll(&queue, &node), KDP_MPSC_BUSY);
        for (int i = 2; i < n; i++) {
            kdp_mpsc_queue_push(&queue, &items[i].node);
        }
        assert_int_equal(kdp_mpsc_queue_splice(&queue, &batch),
                         KDP_MPSC_NODE);
        assert_empty(&queue);
        assert_int_equal(kdp_mpsc_batch_poll(&batch, &node), KDP_MPSC_BUSY);
        kdp_mpsc_queue_push_end__(&queue, prev, &items[1].node);
        for (int i = 0; i < n; i++) {
            assert_ptr_equal(kdp_mpsc_batch_pop(&batch), &items[i].node);
        }
        assert_null(kdp_mpsc_batch_pop(&batch));
        assert_empty(&queue);
    }
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
     * wake it is half-way. */
    kdp_mpsc_queue_init(&queue);
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

    /* And it can be slept upon again. */
    sleeper_start(&sleeper, &queue);
    kdp_mpsc_queue_push(&queue, &item.node);
    sleeper_join(&sleeper);
    assert_ptr_equal(kdp_mpsc_queue_pop(&queue), &item.node);
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

/* Several producers, each of which pushes objects that the consumer frees. */

#define N_PRODUCERS 4
#define N_ITEMS 50000

struct producer {
    pthread_t thread;
    struct kdp_mpsc_queue *queue;
    unsigned int id;
};

static void *
produce(void *producer_)
{
    struct producer *producer = producer_;

    for (unsigned int i = 0; i < N_ITEMS; i++) {
        struct item *item = xmalloc(sizeof *item);

        item->producer = producer->id;
        item->seq = i;
        kdp_mpsc_queue_push(producer->queue, &item->node);
    }
    return NULL;
}

static void
consume(struct item *item, unsigned int next[])
{
    unit_check(item->producer < N_PRODUCERS);
    unit_check(item->seq == next[item->producer]);
    next[item->producer]++;
    free(item);
}

static void
producers_lose_and_reorder_nothing(void **state OVS_UNUSED)
{
    struct producer producers[N_PRODUCERS];
    unsigned int next[N_PRODUCERS] = { 0 };
    struct kdp_mpsc_queue queue;
    unsigned int n = 0;

    kdp_mpsc_queue_init(&queue);
    for (unsigned int i = 0; i < N_PRODUCERS; i++) {
        producers[i] = (struct producer) { .queue = &queue, .id = i };
        assert_int_equal(pthread_create(&producers[i].thread, NULL, produce,
                                        &producers[i]), 0);
    }
    while (n < N_PRODUCERS * N_ITEMS) {
        struct kdp_mpsc_batch batch;
        struct kdp_mpsc_node *node;

        /* All ways to take nodes out. */
        kdp_mpsc_queue_wait(&queue, LLONG_MAX);
        node = kdp_mpsc_queue_pop(&queue);
        if (node) {
            consume(item_of(node), next);
            n++;
        }
        if (kdp_mpsc_queue_splice(&queue, &batch) == KDP_MPSC_NODE) {
            while ((node = kdp_mpsc_batch_pop(&batch))) {
                consume(item_of(node), next);
                n++;
            }
        }
        if (kdp_mpsc_queue_poll(&queue, &node) == KDP_MPSC_NODE) {
            consume(item_of(node), next);
            n++;
        }
    }
    for (unsigned int i = 0; i < N_PRODUCERS; i++) {
        assert_int_equal(pthread_join(producers[i].thread, NULL), 0);
        assert_int_equal(next[i], N_ITEMS);
    }
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

/* Each side sleeps until the other has answered, so that a wake-up that got
 * lost stops them all. */

#define N_PLAYERS 3
#define N_GAMES 5000

struct player {
    pthread_t thread;
    struct kdp_mpsc_queue queue;    /* To the player. */
    struct kdp_mpsc_queue *server;
    struct item ball;
};

static struct item *
wait_for_item(struct kdp_mpsc_queue *queue)
{
    struct kdp_mpsc_node *node;

    while (!(node = kdp_mpsc_queue_pop(queue))) {
        kdp_mpsc_queue_wait(queue, LLONG_MAX);
    }
    return item_of(node);
}

static void *
play(void *player_)
{
    struct player *player = player_;

    for (unsigned int i = 0; i < N_GAMES; i++) {
        player->ball.seq = i;
        kdp_mpsc_queue_push(player->server, &player->ball.node);
        unit_check(wait_for_item(&player->queue) == &player->ball);
        unit_check(player->ball.seq == i + 1);
    }
    return NULL;
}

static void
no_wakeup_is_lost(void **state OVS_UNUSED)
{
    struct player players[N_PLAYERS];
    struct kdp_mpsc_queue server;

    kdp_mpsc_queue_init(&server);
    for (unsigned int i = 0; i < N_PLAYERS; i++) {
        struct player *player = &players[i];

        kdp_mpsc_queue_init(&player->queue);
        player->server = &server;
        player->ball.producer = i;
        assert_int_equal(pthread_create(&player->thread, NULL, play, player),
                         0);
    }
    for (unsigned int i = 0; i < N_PLAYERS * N_GAMES; i++) {
        struct item *ball = wait_for_item(&server);

        ball->seq++;
        kdp_mpsc_queue_push(&players[ball->producer].queue, &ball->node);
    }
    for (unsigned int i = 0; i < N_PLAYERS; i++) {
        assert_int_equal(pthread_join(players[i].thread, NULL), 0);
        kdp_mpsc_queue_destroy(&players[i].queue);
    }
    kdp_mpsc_queue_destroy(&server);
}

/* Deadlines and kicks that come at the same time as pushes. */

static void *
produce_slowly(void *producer_)
{
    struct producer *producer = producer_;

    for (unsigned int i = 0; i < N_ITEMS / 10; i++) {
        struct item *item = xmalloc(sizeof *item);

        item->producer = producer->id;
        item->seq = i;
        kdp_mpsc_queue_push(producer->queue, &item->node);
        if (!(i % 7)) {
            kdp_mpsc_queue_kick(producer->queue);
        }

        /* Lets the consumer empty the queue. */
        sched_yield();
    }
    return NULL;
}

static void
deadlines_and_kicks_may_meet_pushes(void **state OVS_UNUSED)
{
    struct producer producers[N_PRODUCERS];
    unsigned int next[N_PRODUCERS] = { 0 };
    struct kdp_mpsc_queue queue;
    unsigned int n = 0;

    kdp_mpsc_queue_init(&queue);
    for (unsigned int i = 0; i < N_PRODUCERS; i++) {
        producers[i] = (struct producer) { .queue = &queue, .id = i };
        assert_int_equal(pthread_create(&producers[i].thread, NULL,
                                        produce_slowly, &producers[i]), 0);
    }
    while (n < N_PRODUCERS * (N_ITEMS / 10)) {
        struct kdp_mpsc_node *node;

        kdp_mpsc_queue_wait(&queue, n % 3 ? unit_now() + n % 2 : LLONG_MAX);
        while ((node = kdp_mpsc_queue_pop(&queue))) {
            consume(item_of(node), next);
            n++;
        }
    }
    for (unsigned int i = 0; i < N_PRODUCERS; i++) {
        assert_int_equal(pthread_join(producers[i].thread, NULL), 0);
    }
    assert_empty(&queue);
    kdp_mpsc_queue_destroy(&queue);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_come_out_in_the_order_of_pushes),
        cmocka_unit_test(nodes_pushed_meanwhile_come_later),
        cmocka_unit_test(splice_takes_all),
        cmocka_unit_test(half_finished_push_is_busy_not_empty),
        cmocka_unit_test(half_finished_push_holds_up_what_is_behind_it),
        cmocka_unit_test(half_finished_push_holds_up_nothing_before_it),
        cmocka_unit_test(splice_joins_what_was_cut_off_before),
        cmocka_unit_test(order_is_that_in_which_pushes_began),
        cmocka_unit_test(only_the_push_that_ends_a_sleep_wakes),
        cmocka_unit_test(wait_does_not_sleep_when_there_is_something),
        cmocka_unit_test(half_finished_push_wakes_when_it_is_finished),
        cmocka_unit_test(deadline_ends_a_sleep),
        cmocka_unit_test(kick_is_not_lost),
        cmocka_unit_test(late_wakeup_does_no_harm),
        cmocka_unit_test(producers_lose_and_reorder_nothing),
        cmocka_unit_test(no_wakeup_is_lost),
        cmocka_unit_test(deadlines_and_kicks_may_meet_pushes),
    };

    alarm(WATCHDOG);
    return cmocka_run_group_tests_name("mpsc-queue", tests, NULL, NULL);
}
