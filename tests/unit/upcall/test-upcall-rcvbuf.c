/* SPDX-License-Identifier: Apache-2.0 */

/* U5: receive buffers of all channels stay within a budget, and the log says
 * when the system gives less than what was asked for.  The linker sends
 * setsockopt() and getsockopt() here (--wrap). */

#include <config.h>
#include "upcall/upcall-rcvbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "openvswitch/vlog.h"
#include "unit/upcall/table-fixture.h"
#include "upcall/upcall-info.h"
#include "util.h"

/* What the system gives. */
#define MAX_FDS 4096
static int sizes[MAX_FDS];      /* By descriptor. */
static unsigned int n_set;
static int force_error;         /* Of SO_RCVBUFFORCE. */
static int rmem_max;            /* net.core.rmem_max. */

int __wrap_setsockopt(int, int, int, const void *, socklen_t);
int __real_setsockopt(int, int, int, const void *, socklen_t);
int
__wrap_setsockopt(int fd, int level, int option, const void *value,
                  socklen_t len)
{
    bool force = option == SO_RCVBUFFORCE;
    int size;

    if (level != SOL_SOCKET || (option != SO_RCVBUF && !force)) {
        return __real_setsockopt(fd, level, option, value, len);
    }
    memcpy(&size, value, sizeof size);
    if (force && force_error) {
        errno = force_error;
        return -1;
    }
    unit_check(fd < MAX_FDS);
    sizes[fd] = 2 * (force ? size : MIN(size, rmem_max));
    n_set++;
    return 0;
}

int __wrap_getsockopt(int, int, int, void *, socklen_t *);
int __real_getsockopt(int, int, int, void *, socklen_t *);
int
__wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *len)
{
    if (level != SOL_SOCKET || option != SO_RCVBUF) {
        return __real_getsockopt(fd, level, option, value, len);
    }
    memcpy(value, &sizes[fd], sizeof sizes[fd]);
    return 0;
}

static int log_fd;

/* True if 'message' was logged since the last time. */
static bool
was_logged(const char *message)
{
    static char buf[8192];
    ssize_t n = pread(log_fd, buf, sizeof buf - 1, 0);

    assert_true(n >= 0);
    buf[n] = '\0';
    assert_int_equal(ftruncate(log_fd, 0), 0);
    return strstr(buf, message) != NULL;
}

static int
setup(void **state)
{
    memset(sizes, 0, sizeof sizes);
    n_set = force_error = 0;
    rmem_max = 212992;
    was_logged("");
    return table_setup(state);
}

/* Kernel memory that the channels of 'f', with ports from 0 to 'n_ports' - 1,
 * can take, all of the same size. */
static uint64_t
check_ports(struct fixture *f, uint32_t n_ports, struct upcall_channel **ports)
{
    struct upcall_table_info info;
    uint64_t total = 0;

    upcall_table_get_info(f->table, &info);
    for (uint32_t i = 0; i < n_ports; i++) {
        assert_int_equal(sizes[upcall_channel_fd(ports[i])],
                         info.buffer_size);
        total += info.buffer_size;
    }
    upcall_table_info_uninit(&info);
    return total;
}

static void
largest_size_within_the_budget_is_chosen(void **state OVS_UNUSED)
{
    for (uint64_t mib = 16; mib <= 4096; mib *= 2) {
        for (size_t n = 1; n < 20000; n += 1 + n / 8) {
            uint32_t size = upcall_rcvbuf_choose(mib << 20, n, 2, 0);

            assert_in_range(size, UPCALL_RCVBUF_MIN, UPCALL_RCVBUF_MAX);
            assert_true(size == UPCALL_RCVBUF_MIN
                        || upcall_rcvbuf_total(n, 2, size) <= mib << 20);
            assert_true(size == UPCALL_RCVBUF_MAX
                        || upcall_rcvbuf_total(n, 2, size * 2) > mib << 20);
        }
    }

    /* By default, 500 ports have what stock Open vSwitch gives, and thousands
     * stay within the budget. */
    assert_int_equal(upcall_rcvbuf_choose(UPCALL_BUFFER_MAX, 500, 2, 0),
                     UPCALL_RCVBUF_MAX);
    assert_true(upcall_rcvbuf_total(5000, 2,
                                    upcall_rcvbuf_choose(UPCALL_BUFFER_MAX,
                                                         5000, 2, 0))
                <= UPCALL_BUFFER_MAX);
}

static void
buffers_of_all_ports_follow_their_number(void **state)
{
    enum { N = 40 };
    struct upcall_channel *ports[N];
    const uint64_t max = 16 << 20;
    struct fixture *f = *state;

    upcall_table_set_buffer_max(f->table, max);
    for (uint32_t i = 0; i < N; i++) {
        ports[i] = add_port(f, i);
        assert_true(check_ports(f, i + 1, ports) <= max);
    }
    assert_int_equal(sizes[upcall_channel_fd(ports[0])], 256 * 1024);
    assert_false(was_logged("upcall-buffer-max"));

    /* Ports that come and go do not have those of the others set. */
    n_set = 0;
    upcall_table_del(f->table, N - 1);
    ports[N - 1] = add_port(f, N - 1);
    assert_int_equal(n_set, 2);

    /* Fewer ports have more, another budget too. */
    for (uint32_t i = N; i-- > 8; ) {
        upcall_table_del(f->table, i);
    }
    assert_int_equal(check_ports(f, 8, ports), 8 << 20);
    upcall_table_set_buffer_max(f->table, 64 << 20);
    assert_int_equal(check_ports(f, 8, ports), 16 << 20);
}

static void
budget_that_is_too_small_is_reported_once(void **state)
{
    struct fixture *f = *state;

    upcall_table_set_buffer_max(f->table, 1 << 20);
    for (uint32_t i = 0; i < 8; i++) {
        add_port(f, i);
    }
    assert_false(was_logged("WARN"));
    add_port(f, 8);
    assert_true(was_logged("can take 1 MiB of kernel memory, with the "
                           "smallest receive buffers that are of use, and the "
                           "budget is 1 MiB "
                           "(other_config:upcall-buffer-max)"));
    add_port(f, 9);
    assert_false(was_logged("WARN"));

    /* Again after it was enough, */
    upcall_table_del(f->table, 9);
    upcall_table_del(f->table, 8);
    assert_false(was_logged("WARN"));
    add_port(f, 8);
    assert_true(was_logged("dp: 9 sockets for upcalls can take 1 MiB"));

    /* and for another budget. */
    upcall_table_set_buffer_max(f->table, 1 << 20);
    assert_false(was_logged("WARN"));
    upcall_table_set_buffer_max(f->table, (1 << 20) - 1);
    assert_true(was_logged("the budget is 0 MiB"));
}

static void
channels_of_no_port_keep_the_largest_buffer(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *none = add_port(f, UPCALL_PORT_NONE);
    struct upcall_channel *port = add_port(f, 1);

    upcall_table_set_buffer_max(f->table, 1 << 20);
    assert_int_equal(sizes[upcall_channel_fd(none)], 2 * UPCALL_RCVBUF_MAX);
    assert_int_equal(sizes[upcall_channel_fd(port)], 2 * UPCALL_RCVBUF_MIN);
}

static void
buffer_that_the_system_limits_is_reported(void **state)
{
    struct fixture *f = *state;

    /* With the privilege, the sysctl is of no interest. */
    add_port(f, 1);
    assert_false(was_logged("rmem_max"));

    force_error = EPERM;
    add_port(f, 2);
    assert_true(was_logged("asked for a receive buffer of 1048576 bytes for "
                           "upcalls and got 212992: net.core.rmem_max limits "
                           "it"));

    /* A limit that is high enough. */
    rmem_max = UPCALL_RCVBUF_MAX;
    add_port(f, 3);
    assert_false(was_logged("rmem_max"));
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, table_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(largest_size_within_the_budget_is_chosen),
        TEST(buffers_of_all_ports_follow_their_number),
        TEST(budget_that_is_too_small_is_reported_once),
        TEST(channels_of_no_port_keep_the_largest_buffer),
        TEST(buffer_that_the_system_limits_is_reported),
    };

    unit_init("test-upcall-rcvbuf");
    log_fd = unit_log_open();
    return cmocka_run_group_tests_name("upcall-rcvbuf", tests, NULL, NULL);
}
