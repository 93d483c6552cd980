/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L8: the main thread does not wait for the RTNL lock when a link
 * has come or changed. */

#include <config.h>
#include "netdev-linux/rtnl-worker.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>

#include "harness/netns.h"
#include "latch.h"
#include "netdev-provider.h"
#include "ovs-atomic.h"
#include "ovs/compat-netdev.h"
#include "smap.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

/* Device "c", whose driver is scripted. */
#define C (B + 1)

/* The speed of "c" in Mbit/s, and how often the driver was asked. */
static atomic_uint32_t speed, n_asked;

/* The RTNL lock as the thread sees it: while another process holds it, a
 * question waits. */
enum { LOCK_FREE, LOCK_HELD, LOCK_AWAITED };
static atomic_int lock = ATOMIC_VAR_INIT(LOCK_FREE);
static pthread_t main_thread;

static uint32_t
get(atomic_uint32_t *p)
{
    uint32_t value;

    atomic_read(p, &value);
    return value;
}

static int
lock_state(void)
{
    int value;

    atomic_read(&lock, &value);
    return value;
}

int __wrap_af_inet_ioctl(unsigned long int command, const void *arg);
int __real_af_inet_ioctl(unsigned long int command, const void *arg);
int
__wrap_af_inet_ioctl(unsigned long int command, const void *arg)
{
    const struct ifreq *ifr = arg;
    struct ethtool_cmd *cmd;
    uint32_t value;

    if (command != SIOCETHTOOL || strcmp(ifr->ifr_name, "c")) {
        return __real_af_inet_ioctl(command, arg);
    }
    cmd = (struct ethtool_cmd *) ifr->ifr_data;
    if (cmd->cmd != ETHTOOL_GSET && cmd->cmd != ETHTOOL_GDRVINFO) {
        return EOPNOTSUPP;
    }
    if (!pthread_equal(pthread_self(), main_thread)) {
        int held = LOCK_HELD;

        if (atomic_compare_exchange_strong(&lock, &held, LOCK_AWAITED)) {
            while (lock_state() == LOCK_AWAITED) {
                unit_sleep_us(100);
            }
        }
    } else {
        assert_int_equal(lock_state(), LOCK_FREE);
    }
    if (cmd->cmd == ETHTOOL_GDRVINFO) {
        struct ethtool_drvinfo *info = (struct ethtool_drvinfo *) cmd;

        ovs_strlcpy(info->driver, "scripted", sizeof info->driver);
        return 0;
    }
    value = get(&speed);
    atomic_add(&n_asked, 1, &(uint32_t) { 0 });
    memset(cmd, 0, sizeof *cmd);
    cmd->duplex = DUPLEX_FULL;
    ethtool_cmd_speed_set(cmd, value);
    return value ? 0 : EIO;
}

/* How often the main thread has looked for finished jobs. */
static unsigned int n_looked;

bool __wrap_latch_poll(struct latch *);
bool __real_latch_poll(struct latch *);
bool
__wrap_latch_poll(struct latch *latch)
{
    if (pthread_equal(pthread_self(), main_thread)) {
        n_looked++;
    }
    return __real_latch_poll(latch);
}

/* A job whose work takes until it is released. */
struct held {
    struct rtnl_job job;
    atomic_bool release;
    bool done;
};

static void
held_work(struct rtnl_job *job)
{
    struct held *held = CONTAINER_OF(job, struct held, job);
    bool release;

    for (;;) {
        atomic_read(&held->release, &release);
        if (release) {
            break;
        }
        unit_sleep_us(100);
    }
}

static void
held_done(struct rtnl_job *job)
{
    CONTAINER_OF(job, struct held, job)->done = true;
}

/* Returns how often the main thread looks for finished jobs while it waits for
 * them. */
static unsigned int
looks_while_waiting(void)
{
    n_looked = 0;
    rtnl_worker_await();
    return n_looked;
}

/* Even for a single job it waits, as long as it is patient.  If that was in
 * vain, it does not wait for that job again. */
static void
main_thread_waits_for_a_job_once(void **state OVS_UNUSED)
{
    struct held held[2];

    for (int i = 0; i < 2; i++) {
        held[i] = (struct held) {
            .job = { .work = held_work, .done = held_done },
        };
        atomic_init(&held[i].release, false);
    }
    rtnl_worker_run();
    rtnl_worker_add(&held[0].job);
    assert_true(looks_while_waiting() >= 2);
    assert_false(held[0].done);
    assert_int_equal(looks_while_waiting(), 1);

    /* Two jobs. */
    rtnl_worker_add(&held[1].job);
    assert_int_equal(looks_while_waiting(), 1);
    atomic_store(&held[0].release, true);
    unit_wait_until((rtnl_worker_run(), held[0].done));
    assert_false(held[1].done);
    atomic_store(&held[1].release, true);
    unit_wait_until((rtnl_worker_run(), held[1].done));

    /* None. */
    rtnl_worker_run();
    assert_int_equal(looks_while_waiting(), 1);
}

/* What the bridge is told.  It asks when the device has changed. */
static uint32_t
get_speed(const struct netdev *netdev)
{
    uint32_t current;

    return ovs_compat_netdev_get_speed(netdev, &current) ? 0 : current;
}

static int
setup_worker(void **state)
{
    struct netdev *netdev;

    OK(unit_link_add(own, "ifb", C, "c"));
    OK(unit_link_set_up(own, C, true));
    netdev_run();
    atomic_store(&speed, 100);
    OK(netdev_open("c", "system", &netdev));
    unit_wait_until((netdev_run(), get_speed(netdev) == 100));
    atomic_store(&n_asked, 0);
    *state = netdev;
    return 0;
}

static int
teardown_worker(void **state)
{
    atomic_store(&lock, LOCK_FREE);
    netdev_close(*state);
    unit_link_del(own, C);
    netdev_run();
    return 0;
}

/* The link goes down and up while another process holds the lock.  Returns
 * when a question waits for it. */
static void
flap_while_lock_is_held(struct netdev *netdev, uint32_t new_speed)
{
    uint32_t before = get_speed(netdev);

    atomic_store(&lock, LOCK_HELD);
    atomic_store(&speed, new_speed);
    OK(unit_link_set_up(own, C, false));
    OK(unit_link_set_up(own, C, true));
    unit_wait_until((netdev_run(), get_speed(netdev) == before
                     && lock_state() == LOCK_AWAITED));
}

static void
main_thread_goes_on_with_the_last_answer(void **state)
{
    struct netdev *netdev = *state;
    uint64_t seq;

    flap_while_lock_is_held(netdev, 10000);
    for (int i = 0; i < 10; i++) {
        netdev_run();
        assert_int_equal(get_speed(netdev), 100);
    }
    seq = netdev_get_change_seq(netdev);
    atomic_store(&lock, LOCK_FREE);
    unit_wait_until((netdev_run(), get_speed(netdev) == 10000));
    assert_int_not_equal(netdev_get_change_seq(netdev), seq);
    assert_int_equal(get(&n_asked), 1);

    /* Nothing more is asked then. */
    for (int i = 0; i < 10; i++) {
        netdev_run();
        assert_int_equal(get_speed(netdev), 10000);
    }
    assert_int_equal(get(&n_asked), 1);
}

static void
a_change_during_a_question_is_asked_about_once_more(void **state)
{
    struct netdev *netdev = *state;

    flap_while_lock_is_held(netdev, 1000);
    for (int i = 0; i < 5; i++) {
        OK(unit_link_set_up(own, C, false));
        netdev_run();
        OK(unit_link_set_up(own, C, true));
        netdev_run();
        assert_int_equal(get_speed(netdev), 100);
    }
    assert_int_equal(get(&n_asked), 0);
    atomic_store(&lock, LOCK_FREE);
    unit_wait_until((netdev_run(), get(&n_asked) == 2));
    unit_wait_until((netdev_run(), get_speed(netdev) == 1000));
    assert_int_equal(get(&n_asked), 2);
}

static void
an_error_of_the_driver_is_an_answer(void **state)
{
    struct netdev *netdev = *state;

    flap_while_lock_is_held(netdev, 0);
    atomic_store(&lock, LOCK_FREE);
    unit_wait_until((netdev_run(), get_speed(netdev) == 0));
    atomic_store(&speed, 10);
    OK(unit_link_set_up(own, C, false));
    OK(unit_link_set_up(own, C, true));
    unit_wait_until((netdev_run(), get_speed(netdev) == 10));
}

static void
an_answer_about_a_device_that_went_is_dropped(void **state)
{
    struct netdev *netdev = *state;

    flap_while_lock_is_held(netdev, 1000);
    OK(unit_link_del(own, C));
    netdev_run();

    /* Another device of that name. */
    OK(unit_link_add(own, "ifb", C + 1, "c"));
    netdev_run();
    atomic_store(&lock, LOCK_FREE);
    atomic_store(&speed, 40000);
    unit_wait_until((netdev_run(), get_speed(netdev) == 40000));
    OK(unit_link_del(own, C + 1));
    netdev_run();
}

static void
an_answer_about_a_device_that_was_closed_is_dropped(void **state)
{
    struct netdev *netdev = *state;

    flap_while_lock_is_held(netdev, 1000);
    netdev_close(netdev);
    OK(netdev_open("c", "system", &netdev));
    *state = netdev;
    atomic_store(&lock, LOCK_FREE);
    unit_wait_until((netdev_run(), get_speed(netdev) == 1000));
    atomic_store(&speed, 10);
    assert_int_equal(get(&n_asked), 2);
    for (int i = 0; i < 10; i++) {
        netdev_run();
        assert_int_equal(get_speed(netdev), 1000);
    }
}

/* What we set ourselves is seen (L4). */
static void
an_answer_from_before_a_setting_is_dropped(void **state)
{
    struct netdev *netdev = *state;

    flap_while_lock_is_held(netdev, 1000);
    atomic_store(&lock, LOCK_FREE);
    unit_wait_until(get(&n_asked) == 1);
    netdev_set_advertisements(netdev, 0);
    atomic_store(&speed, 40000);
    unit_wait_until((netdev_run(), get_speed(netdev) != 0));
    for (int i = 0; i < 10; i++) {
        netdev_run();
        assert_int_equal(get_speed(netdev), 40000);
        unit_sleep_us(1000);
    }
}

static bool
has_driver(const struct netdev *netdev)
{
    struct smap status = SMAP_INITIALIZER(&status);
    bool has = (!netdev_get_status(netdev, &status)
                && !strcmp(smap_get_def(&status, "driver_name", ""),
                           "scripted"));

    smap_destroy(&status);
    return has;
}

/* The bridge opens a device while another process holds the lock. */
static void
main_thread_goes_on_without_a_first_answer(void **state)
{
    struct netdev *netdev = *state;
    uint64_t seq;

    netdev_close(netdev);
    netdev_run();
    OK(netdev_open("c", "system", &netdev));
    *state = netdev;
    atomic_store(&lock, LOCK_HELD);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(get_speed(netdev), 0);
        assert_false(has_driver(netdev));
        netdev_run();
    }
    assert_int_equal(get(&n_asked), 0);

    /* The bridge looks again when the device has changed. */
    seq = netdev_get_change_seq(netdev);
    unit_wait_until(lock_state() == LOCK_AWAITED);
    atomic_store(&lock, LOCK_FREE);
    unit_wait_until((netdev_run(), netdev_get_change_seq(netdev) >= seq + 2));
    assert_int_equal(get_speed(netdev), 100);
    assert_true(has_driver(netdev));
    assert_int_equal(get(&n_asked), 1);
    assert_int_equal(netdev_get_change_seq(netdev), seq + 2);
}

/* The link changes before the first answer is there. */
static void
a_change_during_the_first_question_is_asked_about_once_more(void **state)
{
    struct netdev *netdev = *state;

    netdev_close(netdev);
    netdev_run();
    OK(netdev_open("c", "system", &netdev));
    *state = netdev;
    atomic_store(&lock, LOCK_HELD);
    assert_int_equal(get_speed(netdev), 0);
    unit_wait_until(lock_state() == LOCK_AWAITED);
    OK(unit_link_set_up(own, C, false));
    netdev_run();
    OK(unit_link_set_up(own, C, true));
    netdev_run();
    atomic_store(&lock, LOCK_FREE);
    unit_wait_until((netdev_run(), get(&n_asked) == 2));
    unit_wait_until((netdev_run(), get_speed(netdev) == 100));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) \
        cmocka_unit_test_setup_teardown(NAME, setup_worker, teardown_worker)
        cmocka_unit_test(main_thread_waits_for_a_job_once),
        TEST(main_thread_goes_on_with_the_last_answer),
        TEST(a_change_during_a_question_is_asked_about_once_more),
        TEST(an_error_of_the_driver_is_an_answer),
        TEST(an_answer_about_a_device_that_went_is_dropped),
        TEST(an_answer_about_a_device_that_was_closed_is_dropped),
        TEST(an_answer_from_before_a_setting_is_dropped),
        TEST(main_thread_goes_on_without_a_first_answer),
        TEST(a_change_during_the_first_question_is_asked_about_once_more),
    };

    main_thread = pthread_self();
    netdev_fixture_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
