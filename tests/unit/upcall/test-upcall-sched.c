/* SPDX-License-Identifier: Apache-2.0 */

/* U4: a scheduler on its own, without handlers: events, the run queue,
 * sleepers and latches. */

#include <config.h>
#include "upcall/upcall-sched.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "ovs-thread.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "upcall/upcall-channel.h"
#include "util.h"

#define GENERATION 5
#define TOKEN(HANDLER) upcall_token(GENERATION, HANDLER)
#define QUEUE upcall_token_queue(GENERATION)
#define MAX_CHANNELS 40

struct fixture {
    size_t n_fds;
    struct upcall_sched *sched;
    struct upcall_channel *channels[MAX_CHANNELS];
    size_t n_channels;
    int sender;
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    f->n_fds = unit_count_fds();
    assert_int_equal(upcall_sched_create(GENERATION, &f->sched), 0);
    f->sender = unit_sender_open();
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < f->n_channels; i++) {
        upcall_channel_unref(f->channels[i]);
    }
    upcall_sched_destroy(f->sched);
    close(f->sender);
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

/* Makes 'n' channels for ports from 0 on. */
static void
create_channels(struct fixture *f, size_t n)
{
    for (f->n_channels = 0; f->n_channels < n; f->n_channels++) {
        struct upcall_channel *channel;

        assert_int_equal(upcall_channel_create(&channel), 0);
        channel->port_no = f->n_channels;
        f->channels[f->n_channels] = channel;
    }
}

/* Puts a reference to channel 'i' into the run queue. */
static void
push(struct fixture *f, size_t i)
{
    struct upcall_channel *channel = f->channels[i];

    ovs_refcount_ref(&channel->refcount);
    assert_true(upcall_channel_take(channel, TOKEN(0)));
    assert_true(upcall_sched_push(f->sched, channel, TOKEN(0)));
}

/* Takes back what a scheduler had when it was retired. */
static void
release(struct upcall_channel *channel, void *aux OVS_UNUSED)
{
    upcall_channel_release(channel, QUEUE);
    upcall_channel_unref(channel);
}

/* Takes the first channel from the run queue, which must be channel 'i'. */
static void
expect_pop(struct fixture *f, size_t i)
{
    struct upcall_channel *channel = upcall_sched_pop(f->sched, TOKEN(0),
                                                      NULL);
    uint32_t owner;

    assert_ptr_equal(channel, f->channels[i]);
    atomic_read(&channel->owner, &owner);
    assert_int_equal(owner, TOKEN(0));
    upcall_channel_unref(channel);
}

static struct upcall_events
poll_events(struct fixture *f)
{
    struct upcall_events events;

    upcall_sched_poll(f->sched, &events);
    return events;
}

/* Events. */

static void
event_names_its_channel(void **state)
{
    struct fixture *f = *state;
    struct upcall_events events;

    create_channels(f, 3);
    f->channels[2]->port_no = UPCALL_PORT_NONE;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(upcall_sched_add(f->sched, f->channels[i]), 0);
    }
    assert_int_equal(poll_events(f).n_channels, 0);
    unit_send_upcall(f->sender, f->channels[2]->pid, 1);
    events = poll_events(f);
    assert_int_equal(events.n_channels, 1);
    assert_int_equal(events.channels[0].port_no, UPCALL_PORT_NONE);
    assert_int_equal(events.channels[0].serial, f->channels[2]->serial);
    assert_false(events.latched);
    assert_false(events.kicked);
}

static void
epoch_ends_when_no_event_is_left(void **state)
{
    struct fixture *f = *state;
    uint32_t epoch = upcall_sched_epoch(f->sched);

    assert_true(epoch > 0);
    create_channels(f, UPCALL_EVENTS + 1);
    for (size_t i = 0; i < f->n_channels; i++) {
        assert_int_equal(upcall_sched_add(f->sched, f->channels[i]), 0);
        unit_send_upcall(f->sender, f->channels[i]->pid, 1);
    }
    assert_int_equal(poll_events(f).n_channels, UPCALL_EVENTS);
    assert_int_equal(upcall_sched_epoch(f->sched), epoch);
    assert_int_equal(poll_events(f).n_channels, 1);
    assert_int_equal(upcall_sched_epoch(f->sched), epoch + 1);
    assert_int_equal(poll_events(f).n_channels, 0);
    assert_int_equal(upcall_sched_epoch(f->sched), epoch + 2);
}

static void
event_comes_once_for_each_arming(void **state)
{
    struct fixture *f = *state;

    create_channels(f, 1);
    assert_int_equal(upcall_sched_add(f->sched, f->channels[0]), 0);
    for (int i = 0; i < 3; i++) {
        unit_send_upcall(f->sender, f->channels[0]->pid, i);
        assert_int_equal(poll_events(f).n_channels, 1);
        unit_send_upcall(f->sender, f->channels[0]->pid, i);
        assert_int_equal(poll_events(f).n_channels, 0);

        /* There is something to read, which is an event at once, */
        upcall_sched_arm(f->sched, f->channels[0]);
        assert_int_equal(poll_events(f).n_channels, 1);

        /* and there is not. */
        upcall_channel_drain(f->channels[0]);
        upcall_sched_arm(f->sched, f->channels[0]);
        assert_int_equal(poll_events(f).n_channels, 0);
    }
}

static void
channel_that_was_removed_has_no_event_armed_or_not(void **state)
{
    struct fixture *f = *state;

    create_channels(f, 1);
    assert_int_equal(upcall_sched_add(f->sched, f->channels[0]), 0);
    unit_send_upcall(f->sender, f->channels[0]->pid, 1);
    upcall_sched_del(f->sched, f->channels[0]);
    assert_int_equal(poll_events(f).n_channels, 0);
    upcall_sched_arm(f->sched, f->channels[0]);
    assert_int_equal(poll_events(f).n_channels, 0);
}

static void
one_call_leaves_events_to_others(void **state)
{
    struct fixture *f = *state;
    uint64_t seen = 0;

    create_channels(f, MAX_CHANNELS);
    for (size_t i = 0; i < MAX_CHANNELS; i++) {
        assert_int_equal(upcall_sched_add(f->sched, f->channels[i]), 0);
        unit_send_upcall(f->sender, f->channels[i]->pid, i);
    }
    for (size_t n = 0; n < MAX_CHANNELS; n += UPCALL_EVENTS) {
        struct upcall_events events;

        assert_int_equal(upcall_sched_wait(f->sched, -1, &events), 0);
        assert_int_equal(events.n_channels, UPCALL_EVENTS);
        for (size_t i = 0; i < events.n_channels; i++) {
            uint64_t bit = UINT64_C(1)
                           << events.channels[i].port_no;

            assert_false(seen & bit);
            seen |= bit;
        }
    }
    assert_int_equal(poll_events(f).n_channels, 0);
    assert_true(seen == (UINT64_C(1) << MAX_CHANNELS) - 1);
}

/* Checks that 'events' has 'n' channels, and whether there may be more, and
 * that the epoch grew by 'growth' since it was '*epoch'. */
static void
check_events(struct fixture *f, const struct upcall_events *events, size_t n,
             bool more, uint32_t growth, uint32_t *epoch)
{
    assert_int_equal(events->n_channels, n);
    assert_int_equal(events->more, more);
    assert_false(events->kicked || events->called || events->latched);
    assert_int_equal(upcall_sched_epoch(f->sched) - *epoch, growth);
    assert_int_equal(upcall_sched_is_crowded(f->sched), n == UPCALL_EVENTS);
    *epoch += growth;
}

/* A handler that sleeps takes the next event. */
static void
sleepers_are_left_the_events_but_one(void **state)
{
    struct fixture *f = *state;
    uint32_t epoch = upcall_sched_epoch(f->sched);
    struct upcall_events events;

    create_channels(f, 3 * UPCALL_EVENTS + 4);
    for (size_t i = 0; i < f->n_channels; i++) {
        assert_int_equal(upcall_sched_add(f->sched, f->channels[i]), 0);
        unit_send_upcall(f->sender, f->channels[i]->pid, 1);
    }
    upcall_sched_poll(f->sched, &events);
    check_events(f, &events, UPCALL_EVENTS, true, 0, &epoch);

    /* One sleeps: it is not the one that polls, but the one that waits. */
    assert_true(upcall_sched_sleep_begin(f->sched));
    upcall_sched_poll(f->sched, &events);
    check_events(f, &events, 1, true, 1, &epoch);
    assert_int_equal(upcall_sched_wait_counted(f->sched, -1, &events), 0);
    check_events(f, &events, UPCALL_EVENTS, true, 0, &epoch);

    /* Two: there is another one besides it. */
    assert_true(upcall_sched_sleep_begin(f->sched));
    assert_int_equal(upcall_sched_n_sleepers(f->sched), 2);
    assert_int_equal(upcall_sched_wait_counted(f->sched, -1, &events), 0);
    check_events(f, &events, 1, true, 1, &epoch);

    /* Another group takes one or as many as it can. */
    upcall_sched_poll_for_others(f->sched, true, &events);
    check_events(f, &events, 1, true, 1, &epoch);
    upcall_sched_poll_for_others(f->sched, false, &events);
    check_events(f, &events, UPCALL_EVENTS, true, 1, &epoch);
    upcall_sched_sleep_end(f->sched);
    upcall_sched_sleep_end(f->sched);
    upcall_sched_poll(f->sched, &events);
    check_events(f, &events, 1, false, 1, &epoch);
}

static void
retired_scheduler_lets_nobody_sleep(void **state)
{
    struct fixture *f = *state;

    upcall_sched_retire(f->sched, release, NULL);
    for (int i = 0; i < 3; i++) {
        struct upcall_events events;

        assert_int_equal(upcall_sched_wait(f->sched, -1, &events), 0);
        assert_int_equal(events.n_channels, 0);
        assert_true(events.kicked);
    }
}

/* Run queue. */

static void
run_queue_is_first_in_first_out(void **state)
{
    struct fixture *f = *state;

    create_channels(f, MAX_CHANNELS);
    assert_null(upcall_sched_pop(f->sched, TOKEN(0), NULL));

    /* More than fit at first, and around the end of the ring. */
    for (size_t round = 0; round < 5; round++) {
        for (size_t i = 0; i < MAX_CHANNELS; i++) {
            push(f, i);
            assert_int_equal(upcall_sched_n_queued(f->sched), i + 1);
        }
        for (size_t i = 0; i < MAX_CHANNELS; i++) {
            expect_pop(f, i);
            upcall_channel_release(f->channels[i], TOKEN(0));
        }
        assert_int_equal(upcall_sched_n_queued(f->sched), 0);
        assert_null(upcall_sched_pop(f->sched, TOKEN(0), NULL));
        assert_int_equal(upcall_sched_pushed(f->sched),
                         (round + 1) * MAX_CHANNELS);
        assert_int_equal(upcall_sched_popped(f->sched),
                         (round + 1) * MAX_CHANNELS);
    }
}

static void
retired_run_queue_gives_back_what_it_has_and_takes_no_more(void **state)
{
    struct fixture *f = *state;
    uint32_t owner;

    create_channels(f, 3);
    for (size_t i = 0; i < 3; i++) {
        push(f, i);
    }
    upcall_sched_retire(f->sched, release, NULL);
    assert_null(upcall_sched_pop(f->sched, TOKEN(0), NULL));
    assert_int_equal(upcall_sched_n_queued(f->sched), 0);

    /* A handler that wants to put a channel in keeps it. */
    assert_true(upcall_channel_take(f->channels[0], TOKEN(0)));
    assert_false(upcall_sched_push(f->sched, f->channels[0], TOKEN(0)));
    atomic_read(&f->channels[0]->owner, &owner);
    assert_int_equal(owner, TOKEN(0));
}

static void
channels_left_in_the_run_queue_go_with_the_scheduler(void **state)
{
    struct fixture *f = *state;
    size_t n_fds = unit_count_fds();

    create_channels(f, 5);
    for (size_t i = 0; i < 5; i++) {
        push(f, i);
        upcall_channel_unref(f->channels[i]);
    }
    f->n_channels = 0;
    assert_int_equal(unit_count_fds(), n_fds + 5);
    upcall_sched_destroy(f->sched);
    assert_int_equal(unit_count_fds(), n_fds - 3);
    f->sched = NULL;
}

/* Sleepers. */

static void
handlers_that_sleep_count_for_the_share(void **state)
{
    struct fixture *f = *state;

    create_channels(f, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(upcall_sched_share(f->sched), i);
        push(f, i);
    }
    for (size_t n = 1; n <= 8; n++) {
        assert_false(upcall_sched_sleep_begin(f->sched));
        assert_int_equal(upcall_sched_share(f->sched),
                         DIV_ROUND_UP(7, n + 1));
    }
    for (int i = 0; i < 8; i++) {
        upcall_sched_sleep_end(f->sched);
    }
    assert_int_equal(upcall_sched_share(f->sched), 7);
}

static void
nobody_sleeps_while_something_is_in_the_run_queue(void **state)
{
    struct fixture *f = *state;
    struct upcall_events events;

    create_channels(f, 1);
    assert_true(upcall_sched_sleep_begin(f->sched));
    upcall_sched_sleep_end(f->sched);
    push(f, 0);
    assert_false(upcall_sched_sleep_begin(f->sched));
    upcall_sched_sleep_end(f->sched);
    assert_int_equal(upcall_sched_wait(f->sched, -1, &events), 0);
    assert_true(events.kicked);
    expect_pop(f, 0);
    assert_int_equal(upcall_sched_wait(f->sched, 0, &events), 0);
    assert_false(events.kicked);
}

static void
kick_is_for_sleepers_when_there_is_work(void **state)
{
    struct fixture *f = *state;

    create_channels(f, 1);

    /* No work; */
    assert_true(upcall_sched_sleep_begin(f->sched));
    upcall_sched_kick(f->sched, 0);
    assert_false(poll_events(f).kicked);
    upcall_sched_sleep_end(f->sched);

    /* nobody sleeps; */
    push(f, 0);
    upcall_sched_kick(f->sched, 0);
    assert_false(poll_events(f).kicked);

    /* both.  The event is there once for each kick. */
    upcall_sched_sleep_begin(f->sched);
    for (int i = 0; i < 3; i++) {
        upcall_sched_kick(f->sched, 0);
        assert_true(poll_events(f).kicked);
        assert_false(poll_events(f).kicked);
    }
    upcall_sched_sleep_end(f->sched);
}

struct sleeper {
    struct upcall_sched *sched;
    struct upcall_channel *popped;
    atomic_count n_popped;
};

static void *
sleeper_main(void *sleeper_)
{
    struct sleeper *sleeper = sleeper_;

    while (!sleeper->popped) {
        struct upcall_events events;

        unit_check(!upcall_sched_wait(sleeper->sched, -1, &events));
        unit_check(events.kicked);
        sleeper->popped = upcall_sched_pop(sleeper->sched, TOKEN(1), NULL);
    }
    atomic_count_inc(&sleeper->n_popped);
    return NULL;
}

/* A handler of another group takes events of this one that has too much, and
 * with them a kick for a handler that goes to sleep meanwhile. */
static void
kick_that_another_group_meets_wakes_its_sleeper(void **state)
{
    struct fixture *f = *state;
    struct upcall_events events;

    create_channels(f, 1);
    assert_true(upcall_sched_sleep_begin(f->sched));
    push(f, 0);
    upcall_sched_kick(f->sched, 0);
    upcall_sched_poll_for_others(f->sched, false, &events);
    assert_false(events.kicked);
    assert_int_equal(upcall_sched_wait_counted(f->sched, 0, &events), 0);
    assert_true(events.kicked);

    /* What it was for has been taken: nobody is woken for nothing. */
    upcall_sched_kick(f->sched, 0);
    expect_pop(f, 0);
    upcall_sched_poll_for_others(f->sched, false, &events);
    assert_int_equal(upcall_sched_wait_counted(f->sched, 0, &events), 0);
    assert_false(events.kicked);
    upcall_sched_sleep_end(f->sched);
}

static void
push_and_kick_never_miss_one_who_goes_to_sleep(void **state)
{
    struct fixture *f = *state;

    /* Whether the other looks at the queue before the push or sleeps before
     * the kick is left to chance. */
    create_channels(f, 1);
    for (int i = 0; i < 500; i++) {
        struct sleeper sleeper = { .sched = f->sched };
        pthread_t thread;

        atomic_count_init(&sleeper.n_popped, 0);
        thread = ovs_thread_create("sleeper", sleeper_main, &sleeper);
        for (int j = i % 50; j > 0; j--) {
            sched_yield();
        }
        push(f, 0);
        upcall_sched_kick(f->sched, 0);
        unit_wait_until(atomic_count_get(&sleeper.n_popped));
        xpthread_join(thread, NULL);
        assert_ptr_equal(sleeper.popped, f->channels[0]);
        upcall_channel_release(f->channels[0], TOKEN(1));
        upcall_channel_unref(sleeper.popped);
    }
}

/* Latches. */

static void
latch_is_an_event_while_it_is_readable(void **state)
{
    struct fixture *f = *state;
    struct upcall_events events;
    char byte;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(upcall_sched_add_latch(f->sched, fds[0]), 0);
    assert_int_equal(upcall_sched_add_latch(f->sched, fds[0]), 0);
    assert_false(poll_events(f).latched);

    assert_int_equal(write(fds[1], "x", 1), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(upcall_sched_wait(f->sched, -1, &events), 0);
        assert_true(events.latched);
        assert_false(events.kicked || events.called);
        assert_int_equal(events.n_channels, 0);
        assert_true(poll_events(f).latched);
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_false(poll_events(f).latched);

    assert_int_equal(upcall_sched_add_latch(f->sched, -1), EBADF);
    close(fds[0]);
    close(fds[1]);
}

static void
channel_gets_the_number_of_a_closed_latch(void **state)
{
    struct fixture *f = *state;
    struct upcall_events events;
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(upcall_sched_add_latch(f->sched, fds[0]), 0);

    /* A channel's socket takes the lowest free number. */
    close(fds[0]);
    create_channels(f, 1);
    assert_int_equal(upcall_channel_fd(f->channels[0]), fds[0]);
    assert_int_equal(upcall_sched_add(f->sched, f->channels[0]), 0);
    unit_send_upcall(f->sender, f->channels[0]->pid, 1);
    events = poll_events(f);
    assert_int_equal(events.n_channels, 1);
    assert_false(events.latched);
    close(fds[1]);
}

static void
schedulers_have_numbers_of_their_own(void **state)
{
    struct fixture *f = *state;
    uint64_t id = upcall_sched_id(f->sched);

    assert_int_not_equal(id, 0);
    for (int i = 0; i < 3; i++) {
        struct upcall_sched *sched;

        /* Even where the memory of one is used again. */
        assert_int_equal(upcall_sched_create(1, &sched), 0);
        assert_true(upcall_sched_id(sched) > id);
        id = upcall_sched_id(sched);
        upcall_sched_destroy(sched);
    }
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(event_names_its_channel),
        TEST(epoch_ends_when_no_event_is_left),
        TEST(event_comes_once_for_each_arming),
        TEST(channel_that_was_removed_has_no_event_armed_or_not),
        TEST(one_call_leaves_events_to_others),
        TEST(sleepers_are_left_the_events_but_one),
        TEST(retired_scheduler_lets_nobody_sleep),
        TEST(run_queue_is_first_in_first_out),
        TEST(retired_run_queue_gives_back_what_it_has_and_takes_no_more),
        TEST(channels_left_in_the_run_queue_go_with_the_scheduler),
        TEST(handlers_that_sleep_count_for_the_share),
        TEST(nobody_sleeps_while_something_is_in_the_run_queue),
        TEST(kick_is_for_sleepers_when_there_is_work),
        TEST(kick_that_another_group_meets_wakes_its_sleeper),
        TEST(push_and_kick_never_miss_one_who_goes_to_sleep),
        TEST(latch_is_an_event_while_it_is_readable),
        TEST(channel_gets_the_number_of_a_closed_latch),
        TEST(schedulers_have_numbers_of_their_own),
    };

    unit_init("test-upcall-sched");
    unit_start_threads();
    return cmocka_run_group_tests_name("upcall-sched", tests, NULL, NULL);
}
