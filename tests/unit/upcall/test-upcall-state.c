/* SPDX-License-Identifier: Apache-2.0 */

/* U1: the states of a channel.  Every transition that there is, and that each
 * other one is caught. */

#include <config.h>
#include "upcall/upcall-channel.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/unit.h"
#include "util.h"

#define IDLE UPCALL_STATE_IDLE
#define TAKEN UPCALL_STATE_TAKEN
#define SPARSE UPCALL_STATE_SPARSE
#define READING UPCALL_STATE_READING
#define PARTIAL UPCALL_STATE_PARTIAL
#define EMPTY UPCALL_STATE_EMPTY
#define SPENT UPCALL_STATE_SPENT
#define PAUSED UPCALL_STATE_PAUSED
#define QUEUED UPCALL_STATE_QUEUED

#define TOKEN upcall_token(1, 0)
#define QUEUE upcall_token_queue(1)

struct transition {
    enum upcall_state from, to;
};

/* The table of upcall-channel.h, written once more. */
static const struct transition transitions[] = {
    { IDLE, TAKEN }, { IDLE, QUEUED },
    { TAKEN, SPARSE }, { TAKEN, QUEUED }, { TAKEN, READING },
    { TAKEN, SPENT }, { TAKEN, IDLE },
    { SPARSE, READING }, { SPARSE, IDLE },
    { READING, EMPTY }, { READING, PARTIAL }, { READING, SPENT },
    { READING, PAUSED },
    { PARTIAL, READING }, { PARTIAL, IDLE },
    { EMPTY, IDLE },
    { SPENT, QUEUED }, { SPENT, READING }, { SPENT, IDLE },
    { PAUSED, IDLE },
    { QUEUED, TAKEN }, { QUEUED, IDLE },
};

static bool
is_listed(enum upcall_state from, enum upcall_state to)
{
    for (size_t i = 0; i < ARRAY_SIZE(transitions); i++) {
        if (transitions[i].from == from && transitions[i].to == to) {
            return true;
        }
    }
    return false;
}

/* What leads to each state from IDLE. */
static const enum upcall_state way[][4] = {
    [IDLE] = { IDLE },
    [TAKEN] = { TAKEN },
    [SPARSE] = { TAKEN, SPARSE },
    [READING] = { TAKEN, SPARSE, READING },
    [PARTIAL] = { TAKEN, SPARSE, READING, PARTIAL },
    [EMPTY] = { TAKEN, SPARSE, READING, EMPTY },
    [SPENT] = { TAKEN, SPARSE, READING, SPENT },
    [PAUSED] = { TAKEN, SPARSE, READING, PAUSED },
    [QUEUED] = { TAKEN, QUEUED },
};

/* Makes 'state' the state of 'channel' in the way its owner would. */
static void
move(struct upcall_channel *channel, enum upcall_state state)
{
    switch (state) {
    case UPCALL_STATE_IDLE:
        upcall_channel_release(channel,
                               channel->state == QUEUED ? QUEUE : TOKEN);
        break;
    case UPCALL_STATE_TAKEN:
        if (channel->state == IDLE) {
            assert_true(upcall_channel_take(channel, TOKEN));
        } else {
            upcall_channel_dequeue(channel,
                                   channel->state == QUEUED ? QUEUE : TOKEN,
                                   TOKEN);
        }
        break;
    case UPCALL_STATE_QUEUED:
        if (channel->state == IDLE) {
            assert_true(upcall_channel_adopt(channel, QUEUE));
        } else {
            upcall_channel_enqueue(channel, TOKEN, QUEUE);
        }
        break;
    case UPCALL_STATE_SPARSE:
    case UPCALL_STATE_READING:
    case UPCALL_STATE_PARTIAL:
    case UPCALL_STATE_EMPTY:
    case UPCALL_STATE_SPENT:
    case UPCALL_STATE_PAUSED:
    default:
        upcall_channel_set_state(channel, state);
    }
}

static uint32_t
owner_of(struct upcall_channel *channel)
{
    uint32_t owner;

    atomic_read(&channel->owner, &owner);
    return owner;
}

/* Returns a new channel in 'state'. */
static struct upcall_channel *
create_channel(enum upcall_state state)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    for (size_t i = 0; channel->state != state; i++) {
        move(channel, way[state][i]);
    }
    return channel;
}

static void
every_allowed_transition_is_made(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < ARRAY_SIZE(transitions); i++) {
        const struct transition *t = &transitions[i];
        struct upcall_channel *channel = create_channel(t->from);

        move(channel, t->to);
        assert_int_equal(channel->state, t->to);

        /* The owner word goes with the state. */
        assert_int_equal(owner_of(channel), (t->to == IDLE ? 0
                                             : t->to == QUEUED ? QUEUE
                                             : TOKEN));
        upcall_channel_unref(channel);
    }
}

static void
state_tells_who_the_owner_is(void **state OVS_UNUSED)
{
    for (enum upcall_state s = 0; s < UPCALL_N_STATES; s++) {
        assert_int_equal(upcall_state_is_handlers(s),
                         s != IDLE && s != QUEUED);
    }
}

/* Returns true if "change(channel, to)" ends the program for a channel in
 * state 'from'. */
static bool
is_caught(void (*change)(struct upcall_channel *, enum upcall_state),
          enum upcall_state from, enum upcall_state to)
{
    struct upcall_channel *channel = create_channel(from);
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (!pid) {
        static const struct rlimit none;

        /* Neither a core file nor the message. */
        setrlimit(RLIMIT_CORE, &none);
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        change(channel, to);
        _exit(0);
    }
    upcall_channel_unref(channel);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGABRT);
        return true;
    }
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
    return false;
}

static void
every_other_transition_is_caught(void **state OVS_UNUSED)
{
    unsigned int n_caught = 0;

    for (enum upcall_state from = 0; from < UPCALL_N_STATES; from++) {
        for (enum upcall_state to = 0; to < UPCALL_N_STATES; to++) {
            bool caught = is_caught(move, from, to);

            assert_int_equal(upcall_state_may_become(from, to), !caught);
            assert_int_equal(is_listed(from, to), !caught);
            n_caught += caught;
        }
    }
    assert_int_equal(n_caught, (UPCALL_N_STATES * UPCALL_N_STATES
                                - ARRAY_SIZE(transitions)));
}

/* What belongs to the owner word cannot be had without it. */
static void
state_of_another_owner_is_not_set(void **state OVS_UNUSED)
{
    static const struct transition moves[] = {
        { TAKEN, QUEUED }, { SPENT, QUEUED }, { EMPTY, IDLE },
        { IDLE, TAKEN }, { QUEUED, TAKEN },
    };

    for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
        assert_true(is_caught(upcall_channel_set_state, moves[i].from,
                              moves[i].to));
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allowed_transition_is_made),
        cmocka_unit_test(state_tells_who_the_owner_is),
        cmocka_unit_test(every_other_transition_is_caught),
        cmocka_unit_test(state_of_another_owner_is_not_set),
    };

    unit_init("test-upcall-state");
    return cmocka_run_group_tests_name("upcall-state", tests, NULL, NULL);
}
