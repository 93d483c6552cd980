/* SPDX-License-Identifier: Apache-2.0 */

/* R4: a process that ends leaves the upcalls that wait to the next one, and
 * processes what it has taken. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "harness/kernel-messages.h"
#include "harness/made-up-clock.h"
#include "harness/unit.h"
#include "ovs-atomic.h"
#include "unit/upcall/table-fixture.h"

/* No time passes for the thread that waits, or too much. */
static bool times_out;

/* When it was to stop waiting. */
static struct timespec waited_until;

/* Some thread has waited. */
static atomic_bool waits;

int __wrap_pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *,
                                  const struct timespec *);

int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                              const struct timespec *until)
{
    waited_until = *until;
    atomic_store(&waits, true);
    return times_out ? ETIMEDOUT : pthread_cond_wait(cond, mutex);
}

/* The batch has been processed. */
static atomic_bool processed;

static bool
is_set(atomic_bool *flag)
{
    bool value;

    atomic_read(flag, &value);
    return value;
}

static void *
halt(void *f_)
{
    const struct fixture *f = f_;

    upcall_table_halt(f->table);
    unit_check(is_set(&processed));
    return NULL;
}

static void
halt_waits_for_batches_that_are_processed(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;
    pthread_t thread;

    atomic_store(&processed, false);
    atomic_store(&waits, false);
    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 0);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    assert_int_equal(pthread_create(&thread, NULL, halt, f), 0);

    /* The batch ends, and is processed after that. */
    unit_wait_until(is_set(&waits));
    while (!upcall_table_recv(f->table, 0, &view)) {
        continue;
    }
    atomic_store(&processed, true);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    assert_int_equal(pthread_join(thread, NULL), 0);

    /* What comes waits. */
    send_to(f, 1, 1);
    expect_nothing(f, 0);
    expect_nothing(f, 1);
    assert_true(stats_of(f, 1).backlog > 0);
}

static void
halt_does_not_wait_for_idle_handlers(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 0);
    expect_batch(f, 0, 0, 1);
    expect_nothing(f, 0);
    upcall_table_halt(f->table);
    send_to(f, 1, 1);
    expect_nothing(f, 0);
}

/* A signal may end the process in a thread of a handler. */
static void
handler_that_halts_does_not_wait_for_itself(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    add_port(f, 1);
    send_to(f, 1, 0);
    expect_batch(f, 0, 0, 1);
    upcall_table_halt(f->table);
    send_to(f, 1, 1);
    expect_nothing(f, 0);
}

static void
halt_does_not_wait_for_ever(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;
    pthread_t thread;

    set_handlers(f, 1);
    add_port(f, 1);
    send_to(f, 1, 0);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    times_out = true;
    unit_made_up_advance(12345678);
    atomic_store(&processed, true);
    assert_int_equal(pthread_create(&thread, NULL, halt, f), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    times_out = false;
    assert_int_equal(waited_until.tv_sec * 1000000
                     + waited_until.tv_nsec / 1000,
                     unit_made_up_usec() + 1000000);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
}

#define N_LOOKS 2000

static void *
look_for_upcalls(void *f_)
{
    struct fixture *f = f_;
    struct upcall_view view;

    for (int i = 0; i < N_LOOKS; i++) {
        unit_check(upcall_table_recv(f->table, 0, &view) == EAGAIN);
    }
    atomic_store(&processed, true);
    return NULL;
}

/* For the thread sanitizer: a thread may begin a batch while another one looks
 * whether it is busy. */
static void
halt_may_meet_a_handler_that_looks_for_upcalls(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;

    set_handlers(f, 1);
    atomic_store(&processed, false);
    assert_int_equal(pthread_create(&thread, NULL, look_for_upcalls, f), 0);
    do {
        upcall_table_halt(f->table);
    } while (!is_set(&processed));
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* R6: the next process did not serve. */
static void
handlers_go_on_with_what_has_waited(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    add_port(f, 1);
    upcall_table_halt(f->table);
    send_to(f, 1, 0);
    expect_nothing(f, 0);
    upcall_table_go_on(f->table);
    expect_batch(f, 0, 0, 1);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, table_setup, table_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(halt_waits_for_batches_that_are_processed),
        TEST(halt_does_not_wait_for_idle_handlers),
        TEST(handler_that_halts_does_not_wait_for_itself),
        TEST(halt_does_not_wait_for_ever),
        TEST(halt_may_meet_a_handler_that_looks_for_upcalls),
        TEST(handlers_go_on_with_what_has_waited),
    };

    unit_init("test-upcall-halt");
    return cmocka_run_group_tests_name("upcall-halt", tests, NULL, NULL);
}
