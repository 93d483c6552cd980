/* SPDX-License-Identifier: Apache-2.0 */

/* U9: a port has as many sockets as it is to have, the kernel knows them, and
 * former ones go; U2: within the budget. */

#include <config.h>
#include "dpif-netlink/upcall-queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/settings.h"
#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/upcall-dest.h"
#include "harness/fault.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "odp-netlink.h"
#include "ovs-thread.h"
#include "smap.h"
#include "unit/dpif-netlink/fallback-fixture.h"
#include "util.h"

/* Sockets that belong to no port. */
#define N_SPECIAL 2

/* How long handlers have worked, if that is made up: for so many milliseconds
 * of each second, and so many of these for the port. */
static struct {
    bool is_made_up;
    unsigned int busy_ms, port_ms;
    uint64_t busy_usec, n_upcalls;      /* So far. */
    uint32_t n_of_port;
} work;

void __wrap_upcall_table_get_work(const struct upcall_table *,
                                  uint64_t *busy_usec, uint64_t *n_upcalls);
void __real_upcall_table_get_work(const struct upcall_table *,
                                  uint64_t *busy_usec, uint64_t *n_upcalls);
void
__wrap_upcall_table_get_work(const struct upcall_table *table,
                             uint64_t *busy_usec, uint64_t *n_upcalls)
{
    if (work.is_made_up) {
        *busy_usec = work.busy_usec += work.busy_ms * 1000;
        *n_upcalls = work.n_upcalls += work.busy_ms * 10;
        work.n_of_port += work.port_ms * 10;
    } else {
        __real_upcall_table_get_work(table, busy_usec, n_upcalls);
    }
}

struct upcall_port_count *__wrap_upcall_table_get_counts(
    const struct upcall_table *, size_t *n);
struct upcall_port_count *__real_upcall_table_get_counts(
    const struct upcall_table *, size_t *n);
struct upcall_port_count *
__wrap_upcall_table_get_counts(const struct upcall_table *table, size_t *n)
{
    struct upcall_port_count *counts = __real_upcall_table_get_counts(table,
                                                                      n);

    for (size_t i = 0; i < *n && work.is_made_up; i++) {
        assert_int_equal(counts[i].port_no, PORT);
        counts[i].n = work.n_of_port;
    }
    return counts;
}

static void
set_port(struct fixture *f, const char *value)
{
    struct smap config = SMAP_INITIALIZER(&config);

    if (value) {
        smap_add(&config, "upcall-port-queues", value);
    }
    settings_set_port(&f->dp, PORT, &config);
    smap_destroy(&config);
}

/* Checks that the kernel sends upcalls of the port to 'n' sockets, which are
 * read, and that there are no others. */
static void
check_queues(struct fixture *f, size_t n)
{
    unit_wait_until((run(f), upcall_table_n_retired(f->dp.upcalls)) == 0);
    run(f);
    assert_int_equal(kernel.vport.n_pids, n);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), n + N_SPECIAL);
    for (size_t i = 0; i < n; i++) {
        check_upcalls_come(f, kernel.pids[i]);
    }
}

static void
setting_is_followed(void **state)
{
    struct fixture *f = *state;

    set_config(f, "upcall-port-queues", "3");
    start(f);
    check_queues(f, 3);
    set_config(f, "upcall-port-queues", "64");
    check_queues(f, 64);
    set_config(f, "upcall-port-queues", "1");
    check_queues(f, 1);
    set_config(f, "upcall-port-queues", "2");
    check_queues(f, 2);

    /* "auto": the port is neither a tunnel nor an uplink. */
    set_config(f, "upcall-port-queues", "auto");
    check_queues(f, 1);
}

static void
wrong_setting_changes_nothing(void **state)
{
    static const char *const wrong[] = { "0", "65", "", "many", "-1" };
    struct fixture *f = *state;

    set_config(f, "upcall-port-queues", "2");
    start(f);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message;

        free(read_log());
        set_config(f, "upcall-port-queues", wrong[i]);
        message = xasprintf("system@dp: other_config:upcall-port-queues is "
                            "\"%s\", expected \"auto\" or 1 to 64; going on "
                            "with 2\n", wrong[i]);
        check_log(message);
        free(message);
    }
    check_queues(f, 2);
}

static void
setting_of_an_interface_goes_first(void **state)
{
    struct fixture *f = *state;

    set_config(f, "upcall-port-queues", "2");
    start(f);
    check_queues(f, 2);
    set_port(f, "4");
    check_queues(f, 4);

    /* Several interfaces with one port, in any order. */
    set_port(f, "3");
    set_port(f, NULL);
    check_queues(f, 3);
    set_port(f, NULL);
    set_port(f, "5");
    set_port(f, "4");
    check_queues(f, 5);
    set_port(f, NULL);
    check_queues(f, 2);
}

static void
kernel_that_takes_fewer_gets_fewer(void **state)
{
    struct fixture *f = *state;
    char *log;

    start(f);
    check_queues(f, 1);
    free(read_log());
    kernel.max_pids = count_total_cores();
    set_config(f, "upcall-port-queues", "64");
    check_queues(f, count_total_cores());
    log = read_log();
    assert_non_null(strstr(log, "system@dp: the kernel does not take 64 "
                           "sockets for the upcalls of one port; ports "
                           "have "));
    free(log);

    kernel.max_pids = 1;
    set_port(f, "1");
    check_queues(f, 1);
    set_port(f, "2");
    check_queues(f, 1);

    /* It is not asked again. */
    free(read_log());
    set_port(f, "7");
    check_queues(f, 1);
    log = read_log();
    assert_null(strstr(log, "does not take"));
    free(log);
}

static void
kernel_that_takes_no_others_keeps_those_it_knows(void **state)
{
    struct fixture *f = *state;

    set_config(f, "upcall-port-queues", "2");
    start(f);
    check_queues(f, 2);
    set_pid_error = ENOMEM;
    assert_false(wakes_within(f, 500));
    free(read_log());
    set_config(f, "upcall-port-queues", "4");
    assert_true(wakes_within(f, 0));
    turn(f);
    check_log("system@dp: giving port 1 4 sockets for its upcalls in place of "
              "2 failed (Cannot allocate memory); trying again\n");
    check_queues(f, 2);
    assert_true(wakes_within(f, 100));
    set_pid_error = 0;
    check_queues(f, 4);
    assert_false(wakes_within(f, 500));
}

/* The port's end is still to be announced. */
static void
port_that_is_gone_is_not_tried_again(void **state)
{
    struct fixture *f = *state;
    char *log;

    set_config(f, "upcall-port-queues", "2");
    start(f);
    check_queues(f, 2);
    set_pid_error = ENODEV;
    set_config(f, "upcall-port-queues", "4");
    free(read_log());
    assert_true(wakes_within(f, 0));
    turn(f);
    log = read_log();
    assert_string_equal(log, "");
    free(log);
    assert_false(wakes_within(f, 500));
    set_pid_error = 0;
    check_queues(f, 2);
}

/* While upcalls are off, another port may get the number. */
static void
port_has_no_setting_from_before_upcalls_were_off(void **state)
{
    struct fixture *f = *state;

    start(f);
    set_port(f, "4");
    check_queues(f, 4);
    assert_int_equal(dispatch_recv_set(&f->dp, false), 0);
    start(f);
    check_queues(f, 1);
    set_port(f, "3");
    check_queues(f, 3);
}

static void
wrong_setting_of_an_interface_is_named(void **state)
{
    static const char *const wrong[] = { "0", "65", "", "many", "-1" };
    struct fixture *f = *state;

    set_config(f, "upcall-port-queues", "2");
    start(f);
    set_port(f, "3");
    check_queues(f, 3);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char *message = xasprintf(
            "system@dp: other_config:upcall-port-queues of the interface of "
            "port 1 (port) is \"%s\", expected \"auto\" or 1 to 64; going on "
            "as without it\n", wrong[i]);

        free(read_log());
        set_port(f, wrong[i]);
        check_log(message);
        free(message);
    }
    check_queues(f, 2);
}

static void
port_gets_more_queues_when_a_shortage_ends(void **state)
{
    struct fixture *f = *state;

    set_config(f, "upcall-port-queues", "2");
    start(f);
    check_queues(f, 2);

    /* Two sockets in place of two would be for nothing. */
    unit_plan_failures(UNIT_CALL_SOCKET, 3, 1, ENFILE);
    set_config(f, "upcall-port-queues", "4");
    turn(f);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(kernel.vport.n_pids, 2);
    assert_int_equal(upcall_table_n_retired(f->dp.upcalls), 0);

    /* Three are more. */
    unit_plan_failures(UNIT_CALL_SOCKET, 4, 1, ENFILE);
    turn(f);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(kernel.vport.n_pids, 3);
    unit_plan_none();
    check_queues(f, 4);
    assert_false(wakes_within(f, 500));
}

static void
set_budget(struct fixture *f, size_t max)
{
    ovs_mutex_lock(&f->dp.mutex);
    assert_true(socket_budget_set_max(&f->dp, max));
    ovs_mutex_unlock(&f->dp.mutex);
}

/* Adds port 'port_no' with 'n' sockets. */
static void
add_other_port(struct fixture *f, uint32_t port_no, unsigned int n)
{
    struct upcall_dest_new new;

    ovs_mutex_lock(&f->dp.mutex);
    assert_int_equal(upcall_dest_prepare(&f->dp, n, "other", &new), 0);
    assert_int_equal(upcall_dest_commit(&f->dp, &new, port_no, "other"), 0);
    upcall_queues_handlers_changed(&f->dp);
    ovs_mutex_unlock(&f->dp.mutex);
}

static void
delete_other_port(struct fixture *f, uint32_t port_no)
{
    ovs_mutex_lock(&f->dp.mutex);
    upcall_queues_port_gone(&f->dp, port_no);
    ovs_mutex_unlock(&f->dp.mutex);
}

static void
port_gets_its_queues_after_it_has_shared(void **state)
{
    struct fixture *f = *state;

    set_config(f, "upcall-port-queues", "4");
    set_budget(f, 1);
    start(f);
    run(f);
    assert_true(upcall_table_is_shared(f->dp.upcalls, PORT));

    set_budget(f, 100);
    unit_wait_until((run(f), kernel.vport.n_pids) == 4);
    check_queues(f, 4);
}

static void
port_gets_the_sockets_that_others_leave(void **state)
{
    struct fixture *f = *state;

    /* Two belong to no port, one is kept. */
    set_config(f, "upcall-port-queues", "4");
    set_budget(f, 10);
    start(f);
    check_queues(f, 4);
    add_other_port(f, PORT + 1, 1);
    add_other_port(f, PORT + 2, 5);
    unit_wait_until((run(f), kernel.vport.n_pids) == 1);

    delete_other_port(f, PORT + 1);
    unit_wait_until((run(f), kernel.vport.n_pids) == 2);
    delete_other_port(f, PORT + 2);
    unit_wait_until((run(f), kernel.vport.n_pids) == 4);
    check_queues(f, 4);
}

static void
queues_count_in_the_budget(void **state)
{
    struct fixture *f = *state;

    set_config(f, "upcall-port-queues", "64");
    set_budget(f, 10);

    /* Two belong to no port, one is kept. */
    start(f);
    check_queues(f, 7);

    /* A smaller budget takes them away. */
    set_budget(f, 5);
    ovs_mutex_lock(&f->dp.mutex);
    upcall_queues_handlers_changed(&f->dp);
    ovs_mutex_unlock(&f->dp.mutex);
    unit_wait_until((run(f), kernel.vport.n_pids) == 2);
    check_queues(f, 2);

    /* A larger one returns them, for example because the administrator has
     * raised the hard limit on open files. */
    set_budget(f, 20);
    unit_wait_until((run(f), kernel.vport.n_pids) == 16);
    check_queues(f, 16);
}

static void
tunnels_begin_with_several(void **state)
{
    struct fixture *f = *state;
    unsigned int n = MIN(MIN(4, upcall_table_n_handlers(f->dp.upcalls)),
                         count_cpu_cores());

    kernel.vport.type = OVS_VPORT_TYPE_GENEVE;
    start(f);
    check_queues(f, n);
    dispatch_handlers_set(&f->dp, 8);
    check_queues(f, MIN(4, count_cpu_cores()));
    dispatch_handlers_set(&f->dp, 1);
    check_queues(f, 1);
}

static void
queues_go_with_dispatch_by_cpu(void **state)
{
    struct fixture *f = *state;

    set_config(f, "upcall-port-queues", "4");
    start(f);
    check_queues(f, 4);
    ovs_mutex_lock(&f->dp.mutex);
    dispatch_set_mode(&f->dp, DISPATCH_PER_CPU);
    ovs_mutex_unlock(&f->dp.mutex);
    run(f);
    run(f);
    assert_int_equal(kernel.vport.n_pids, 1);
    assert_int_equal(upcall_table_n_port_channels(f->dp.upcalls), 0);
    ovs_mutex_lock(&f->dp.mutex);
    dispatch_set_mode(&f->dp, DISPATCH_PER_PORT);
    ovs_mutex_unlock(&f->dp.mutex);
    check_queues(f, 4);
}

static void
uplink_is_the_only_device_of_its_parent(void **state OVS_UNUSED)
{
    char dir[] = "/tmp/test-queues-XXXXXX";
    char *command;

    assert_non_null(mkdtemp(dir));
    command = xasprintf("cd %s && mkdir -p eth0/device/net/eth0 veth0 "
                        "pf0/device/net/pf0 pf0/device/net/pf0vf0 "
                        "odd/device/net", dir);
    assert_int_equal(system(command), 0);
    free(command);
    assert_true(upcall_queues_is_uplink(dir, "eth0"));
    assert_false(upcall_queues_is_uplink(dir, "veth0"));
    assert_false(upcall_queues_is_uplink(dir, "pf0"));
    assert_false(upcall_queues_is_uplink(dir, "odd"));
    assert_false(upcall_queues_is_uplink(dir, "gone"));
    command = xasprintf("rm -r %s", dir);
    assert_int_equal(system(command), 0);
    free(command);
}

/* Checks what is said of a port with 'n_queues', for which handlers worked for
 * 'port_ms' of a second, and for all for 'busy_ms'. */
static void
check_judgement(unsigned int n_handlers, unsigned int n_queues,
                unsigned int port_ms, unsigned int busy_ms, int expected)
{
    struct upcall_queues_second s = {
        .usec = 1000000, .busy_usec = busy_ms * 1000,
        .n_upcalls = 10 * busy_ms, .n_of_port = 10 * port_ms,
        .n_handlers = n_handlers, .n_queues = n_queues,
    };

    assert_int_equal(upcall_queues_judge(&s), expected);
}

static void
port_gets_another_queue_if_that_helps(void **state OVS_UNUSED)
{
    /* It has its handler all the time, and another one sleeps. */
    check_judgement(2, 1, 950, 960, 1);
    check_judgement(4, 1, 800, 3000, 1);
    check_judgement(4, 3, 2700, 2800, 1);

    /* Its handler has time, or works for others. */
    check_judgement(2, 1, 700, 700, 0);
    check_judgement(2, 1, 500, 950, 0);

    /* No handler sleeps, or none is left. */
    check_judgement(2, 1, 950, 1900, 0);
    check_judgement(2, 2, 1900, 1900, 0);
    check_judgement(1, 1, 950, 950, 0);

    /* One fewer would do. */
    check_judgement(4, 2, 400, 400, -1);
    check_judgement(4, 2, 600, 600, 0);
    check_judgement(4, 3, 900, 3900, -1);
    check_judgement(4, 2, 0, 0, -1);
}

/* 'busy_ms' and 'port_ms' of the following seconds. */
static void
set_work(unsigned int busy_ms, unsigned int port_ms)
{
    work.is_made_up = true;
    work.busy_ms = busy_ms;
    work.port_ms = port_ms;
}

static void
port_has_another_queue_while_it_needs_it(void **state)
{
    struct fixture *f = *state;

    start(f);
    set_work(950, 500);
    check_queues(f, 1);
    check_queues(f, 1);
    set_work(950, 950);
    check_queues(f, 2);

    /* There is no third handler. */
    check_queues(f, 2);

    /* Little work gives it time, less takes the queue back after a while. */
    set_work(600, 600);
    check_queues(f, 2);
    set_work(0, 0);
    for (unsigned int i = 1; i < UPCALL_QUEUES_QUIET; i++) {
        turn(f);
        revalidators_run(f);
        assert_int_equal(kernel.vport.n_pids, 2);
    }
    check_queues(f, 1);
    check_queues(f, 1);
    memset(&work, 0, sizeof work);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        TEST(setting_is_followed),
        TEST(wrong_setting_changes_nothing),
        TEST(setting_of_an_interface_goes_first),
        TEST(kernel_that_takes_fewer_gets_fewer),
        TEST(kernel_that_takes_no_others_keeps_those_it_knows),
        TEST(port_that_is_gone_is_not_tried_again),
        TEST(port_has_no_setting_from_before_upcalls_were_off),
        TEST(wrong_setting_of_an_interface_is_named),
        TEST(port_gets_more_queues_when_a_shortage_ends),
        TEST(port_gets_its_queues_after_it_has_shared),
        TEST(port_gets_the_sockets_that_others_leave),
        TEST(queues_count_in_the_budget),
        TEST(port_has_another_queue_while_it_needs_it),
        TEST(tunnels_begin_with_several),
        TEST(queues_go_with_dispatch_by_cpu),
        cmocka_unit_test(port_gets_another_queue_if_that_helps),
        cmocka_unit_test(uplink_is_the_only_device_of_its_parent),
    };

    fallback_init(argv[0]);
    return cmocka_run_group_tests_name("queues", tests, NULL, NULL);
}
