/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the lock on a device's queueing disciplines (O7: the main thread
 * waits for one request about a rule at most). */

#include <config.h>
#include "netdev-linux/ingress-qdisc.h"

#include <errno.h>

#include "harness/unit.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "util.h"

#define IFINDEX 7

/* A thread that takes the lock once. */
struct waiter {
    struct qdisc_lock *lock;
    atomic_bool had_lock;
};

static void *
wait_for_lock(void *waiter_)
{
    struct waiter *waiter = waiter_;

    qdisc_lock_acquire(waiter->lock);
    atomic_store_relaxed(&waiter->had_lock, true);
    qdisc_lock_release(waiter->lock);
    return NULL;
}

static bool
is_waited_for(struct qdisc_lock *lock)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    if (ovs_mutex_trylock(&lock->queue) == EBUSY) {
        return true;
    }
    ovs_mutex_unlock(&lock->queue);
    return false;
}

static void
who_waits_is_before_who_had_it_last(void **state OVS_UNUSED)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct waiter waiter = { .lock = qdisc_lock_get(IFINDEX) };

    for (int i = 0; i < 100; i++) {
        bool had_lock;
        pthread_t thread;

        atomic_init(&waiter.had_lock, false);
        qdisc_lock_acquire(waiter.lock);
        thread = ovs_thread_create("waiter", wait_for_lock, &waiter);
        unit_wait_until(is_waited_for(waiter.lock));
        qdisc_lock_release(waiter.lock);
        qdisc_lock_acquire(waiter.lock);
        atomic_read_relaxed(&waiter.had_lock, &had_lock);
        qdisc_lock_release(waiter.lock);
        xpthread_join(thread, NULL);
        assert_true(had_lock);
    }
}

static void
any_number_has_a_lock(void **state OVS_UNUSED)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    static const int numbers[] = { -ENODEV, -1, 0, 1, INT_MAX };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        struct qdisc_lock *lock = qdisc_lock_get(numbers[i]);

        assert_ptr_equal(lock, qdisc_lock_get(numbers[i]));
        qdisc_lock_acquire(lock);
        qdisc_lock_release(lock);
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_is_before_who_had_it_last),
        cmocka_unit_test(any_number_has_a_lock),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("qdisc-lock", tests, NULL, NULL);
}
