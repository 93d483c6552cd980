/* SPDX-License-Identifier: Apache-2.0 */

/* The queue of offload threads (O3): one consumer that sleeps, and producers
 * that run at the same time.  Nothing is lost, changes its order among those
 * of one producer, or comes without a wake-up. */

#include <config.h>
#include "unit/offload/mpsc-queue-item.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/unit.h"
#include "util.h"

/* Several producers.  Each one pushes objects that the consumer frees. */

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
        struct kdp_mpsc_node *node;

        /* Both ways to take nodes out. */
        kdp_mpsc_queue_wait(&queue, LLONG_MAX);
        node = kdp_mpsc_queue_pop(&queue);
        if (node) {
            consume(item_of(node), next);
            n++;
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
        cmocka_unit_test(producers_lose_and_reorder_nothing),
        cmocka_unit_test(no_wakeup_is_lost),
        cmocka_unit_test(deadlines_and_kicks_may_meet_pushes),
    };

    return cmocka_run_group_tests_name("mpsc-queue-threads", tests, NULL,
                                       NULL);
}
