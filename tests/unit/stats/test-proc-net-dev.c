/* SPDX-License-Identifier: Apache-2.0 */

/* Statistics of network devices, from made-up files and the kernel's. */

#include <config.h>
#include "stats/proc-net-dev.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/unit.h"
#include "util.h"

#define HEADER                                                               \
    "Inter-|   Receive                                                |  "   \
    "Transmit\n"                                                             \
    " face |bytes    packets errs drop fifo frame compressed multicast|"     \
    "bytes    packets errs drop fifo colls carrier compressed\n"
#define COUNTS " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"

static unsigned int n_reads;
static unsigned int interrupt_at;       /* That call is interrupted, or 0. */
static unsigned int fail_from;          /* That call and all after it fail with
                                         * EIO, or 0. */

/* Calls after which a test gives up: nobody reads so often. */
#define MAX_READS 10000

ssize_t __wrap_read(int, void *, size_t);
ssize_t __real_read(int, void *, size_t);
ssize_t
__wrap_read(int fd, void *buf, size_t size)
{
    unit_check(++n_reads < MAX_READS);
    if (fail_from && n_reads >= fail_from) {
        errno = EIO;
        return -1;
    }
    if (interrupt_at && n_reads == interrupt_at) {
        errno = EINTR;
        return -1;
    }

    /* A call that succeeds leaves whatever was there. */
    ssize_t n = __real_read(fd, buf, size);
    errno = n < 0 ? errno : EIO;
    return n;
}

/* A folder for the files of a test. */
struct fixture {
    char path[64];
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    ovs_strlcpy(f->path, "/tmp/test-proc-net-dev.XXXXXX", sizeof f->path);
    assert_non_null(mkdtemp(f->path));
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    char *command = xasprintf("rm -rf %s", f->path);

    assert_int_equal(system(command), 0);
    free(command);
    free(f);
    return 0;
}

/* Writes 'content' to the file 'name', a path in the folder whose folders are
 * made.  Returns its path, which the caller frees. */
static char *
put_file(struct fixture *f, const char *name, const char *content)
{
    char *path = xasprintf("%s/%s", f->path, name);
    FILE *stream;

    for (char *p = path + strlen(f->path) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(content, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    return path;
}

static void
a_line_is_told_in_full(void **state OVS_UNUSED)
{
    struct proc_net_dev dev;

    assert_true(proc_net_dev_parse("  eth0:" COUNTS, &dev));
    assert_string_equal(dev.name, "eth0");
    assert_int_equal(dev.rx_bytes, 1);
    assert_int_equal(dev.rx_packets, 2);
    assert_int_equal(dev.rx_errors, 3);
    assert_int_equal(dev.rx_drop, 4);
    assert_int_equal(dev.rx_fifo, 5);
    assert_int_equal(dev.rx_frame, 6);
    assert_int_equal(dev.multicast, 8);
    assert_int_equal(dev.tx_bytes, 9);
    assert_int_equal(dev.tx_packets, 10);
    assert_int_equal(dev.tx_errors, 11);
    assert_int_equal(dev.tx_drop, 12);
    assert_int_equal(dev.tx_fifo, 13);
    assert_int_equal(dev.collisions, 14);
    assert_int_equal(dev.tx_carrier, 15);
}

static void
names_may_be_long_and_strange(void **state OVS_UNUSED)
{
    static const char *const names[] = {
        "a", "fifteen-letters", "eth0.100", "v@x|y", "1", "br-int",
    };
    struct proc_net_dev dev;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        /* As the kernel prints it, and without space before large numbers. */
        char *line = xasprintf("%6s: %s", names[i], COUNTS);

        assert_true(proc_net_dev_parse(line, &dev));
        assert_string_equal(dev.name, names[i]);
        free(line);
        line = xasprintf("%s:%s", names[i], &COUNTS[1]);
        assert_true(proc_net_dev_parse(line, &dev));
        assert_string_equal(dev.name, names[i]);
        free(line);
    }
    assert_false(proc_net_dev_parse("sixteen--letters:" COUNTS, &dev));
    assert_false(proc_net_dev_parse(":" COUNTS, &dev));
    assert_false(proc_net_dev_parse("   :" COUNTS, &dev));
}

static void
numbers_may_be_huge(void **state OVS_UNUSED)
{
    struct proc_net_dev dev;

    assert_true(proc_net_dev_parse("x: 18446744073709551615 4294967296 0 0 0 "
                                   "0 0 0 0 0 0 0 0 0 18446744073709551615 0",
                                   &dev));
    assert_true(dev.rx_bytes == UINT64_MAX);
    assert_true(dev.rx_packets == UINT64_C(1) << 32);
    assert_true(dev.tx_carrier == UINT64_MAX);
    assert_false(proc_net_dev_parse("x: 18446744073709551616 2 3 4 5 6 7 8 9 "
                                    "10 11 12 13 14 15 16", &dev));
}

static void
malformed_lines_are_refused(void **state OVS_UNUSED)
{
    static const char *const lines[] = {
        "", " ", ":", "eth0", "eth0:", "eth0: ", "eth0: x",
        "Inter-|   Receive                |  Transmit",
        " face |bytes    packets errs drop|bytes",
        "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
        "eth0: 1 2 3 4 5 6 7 8 -9 10 11 12 13 14 15 16",
        "eth0: 1 2 3 4 5 6 7 8 +9 10 11 12 13 14 15 16",
        "eth0: 1 2 3 4 5 6 7 8 nine 10 11 12 13 14 15 16",
        "eth0: 1 2 3 4 5 6 7 8 9x 10 11 12 13 14 15 16",
        "eth0: 1 2 3 4 5 6 7 8 9\n10 11 12 13 14 15 16",
        "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16x",
        "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16.5",
    };
    struct proc_net_dev dev;

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        if (proc_net_dev_parse(lines[i], &dev)) {
            fail_msg("\"%s\" is accepted", lines[i]);
        }
    }
}

/* The kernel may come to count more. */
static void
further_columns_are_accepted(void **state OVS_UNUSED)
{
    struct proc_net_dev dev;

    assert_true(proc_net_dev_parse("eth0:" COUNTS " 17 18", &dev));
    assert_true(proc_net_dev_parse("eth0:" COUNTS " ", &dev));
    assert_int_equal(dev.tx_carrier, 15);
}

static void
take_name(const struct proc_net_dev *dev, void *names)
{
    strcat(strcat(names, dev->name), " ");
}

static void
a_file_is_read_and_malformed_lines_are_skipped(void **state)
{
    char names[1024] = "";
    char *path = put_file(*state, "dev",
                          HEADER
                          "    lo:" COUNTS "\n"
                          "fifteen-letters:" COUNTS "\n"
                          "broken: 1 2 3\n"
                          "\n"
                          "  last:" COUNTS);

    assert_int_equal(proc_net_dev_read(path, take_name, names), 0);
    assert_string_equal(names, "lo fifteen-letters last ");
    free(path);

    path = put_file(*state, "empty", "");
    names[0] = '\0';
    assert_int_equal(proc_net_dev_read(path, take_name, names), 0);
    assert_string_equal(names, "");
    free(path);
}

static void
files_that_cannot_be_read_are_told(void **state)
{
    struct fixture *f = *state;
    char names[64] = "";

    assert_int_equal(proc_net_dev_read("/nonexistent", take_name, names),
                     ENOENT);
    assert_int_equal(proc_net_dev_read(f->path, take_name, names), EISDIR);
    assert_string_equal(names, "");
}

static void
take_lo(const struct proc_net_dev *dev, void *n)
{
    assert_string_equal(dev->name, "lo");
    ++*(int *) n;
}

static void
the_kernels_file_is_understood(void **state OVS_UNUSED)
{
    int n = 0;

    /* That of the thread's own network namespace. */
    assert_int_equal(proc_net_dev_read("/proc/thread-self/net/dev", take_lo,
                                       &n), 0);
    assert_int_equal(n, 1);
}

static const uint8_t mac[6] = { 2, 0, 0, 0xab, 0, 9 };

/* Makes what sysfs has of device "eth0" with interface index 7. */
static void
put_device(struct fixture *f, const char *ifindex, const char *address)
{
    free(put_file(f, "eth0/ifindex", ifindex));
    free(put_file(f, "eth0/address", address));
    free(put_file(f, "eth0/statistics/rx_bytes", "42\n"));
}

static int
open_device(struct fixture *f, int ifindex, const uint8_t *hwaddr, size_t n)
{
    int fd = sysfs_net_open(f->path, "eth0", ifindex, hwaddr, n);

    if (fd >= 0) {
        close(fd);
        return 0;
    }
    return -fd;
}

static void
the_device_meant_is_opened_and_no_other(void **state)
{
    static const uint8_t other[6] = { 2, 0, 0, 0xab, 0, 8 };
    struct fixture *f = *state;

    assert_int_equal(open_device(f, 7, mac, 6), ENOENT);
    put_device(f, "7\n", "02:00:00:ab:00:09\n");
    assert_int_equal(open_device(f, 7, mac, 6), 0);
    assert_int_equal(open_device(f, 8, mac, 6), ENODEV);
    assert_int_equal(open_device(f, -7, mac, 6), ENODEV);
    assert_int_equal(open_device(f, 7, other, 6), ENODEV);
}

static void
hardware_addresses_of_other_lengths_are_others(void **state)
{
    static const uint8_t longer[8] = { 2, 0, 0, 0xab, 0, 9, 0, 0 };
    struct fixture *f = *state;

    put_device(f, "7\n", "02:00:00:ab:00:09\n");
    assert_int_equal(open_device(f, 7, longer, 8), ENODEV);
    assert_int_equal(open_device(f, 7, longer, 5), ENODEV);
    assert_int_equal(open_device(f, 7, NULL, 0), ENODEV);
    put_device(f, "7\n", "\n");
    assert_int_equal(open_device(f, 7, mac, 6), ENODEV);
    assert_int_equal(open_device(f, 7, NULL, 0), 0);
    put_device(f, "7\n", "");
    assert_int_equal(open_device(f, 7, NULL, 0), 0);
    put_device(f, "7\n", "2");
    assert_int_equal(open_device(f, 7, mac, 6), ENODEV);
    put_device(f, "7\n", "02:00:00:ab:00:0\n");
    assert_int_equal(open_device(f, 7, mac, 6), ENODEV);
}

static void
malformed_sysfs_is_another_device(void **state)
{
    static const char *const numbers[] = { "", "\n", "x\n", "7x\n", "7 8\n" };
    struct fixture *f = *state;
    char *path;

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        put_device(f, numbers[i], "02:00:00:ab:00:09\n");
        assert_int_equal(open_device(f, 7, mac, 6), ENODEV);
    }
    put_device(f, "7\n", "not an address\n");
    assert_int_equal(open_device(f, 7, mac, 6), ENODEV);

    put_device(f, "7\n", "02:00:00:ab:00:09\n");
    path = xasprintf("%s/eth0/address", f->path);
    assert_int_equal(unlink(path), 0);
    free(path);
    assert_int_equal(open_device(f, 7, mac, 6), ENODEV);
}

static void
a_device_without_statistics_is_told(void **state)
{
    free(put_file(*state, "eth0/ifindex", "7\n"));
    free(put_file(*state, "eth0/address", "02:00:00:ab:00:09\n"));
    assert_int_equal(open_device(*state, 7, mac, 6), ENOENT);
}

static void
counters_are_read(void **state)
{
    struct fixture *f = *state;
    uint64_t value = 0;
    int fd;

    put_device(f, "7\n", "02:00:00:ab:00:09\n");
    free(put_file(f, "eth0/statistics/huge", "18446744073709551615\n"));
    free(put_file(f, "eth0/statistics/bare", "5"));
    free(put_file(f, "eth0/statistics/more", "18446744073709551616\n"));
    free(put_file(f, "eth0/statistics/word", "word\n"));
    free(put_file(f, "eth0/statistics/empty", ""));
    fd = sysfs_net_open(f->path, "eth0", 7, mac, 6);
    assert_true(fd >= 0);
    assert_int_equal(sysfs_net_read(fd, "rx_bytes", &value), 0);
    assert_int_equal(value, 42);
    assert_int_equal(sysfs_net_read(fd, "huge", &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(sysfs_net_read(fd, "bare", &value), 0);
    assert_int_equal(value, 5);
    assert_int_equal(sysfs_net_read(fd, "more", &value), ERANGE);
    assert_int_equal(sysfs_net_read(fd, "word", &value), EINVAL);
    assert_int_equal(sysfs_net_read(fd, "empty", &value), EINVAL);
    assert_int_equal(sysfs_net_read(fd, "absent", &value), ENOENT);
    close(fd);
}

static void
no_descriptor_is_left(void **state)
{
    struct fixture *f = *state;
    char names[64] = "";
    int before, after;

    put_device(f, "7\n", "02:00:00:ab:00:09\n");
    before = open("/dev/null", O_RDONLY);
    close(before);
    open_device(f, 7, mac, 6);
    open_device(f, 8, mac, 6);
    proc_net_dev_read("/proc/net/dev", take_name, names);
    proc_net_dev_read(f->path, take_name, names);
    after = open("/dev/null", O_RDONLY);
    close(after);
    assert_int_equal(after, before);
}

static void
count_device(const struct proc_net_dev *dev, void *n_)
{
    unsigned int *n = n_;
    char *name = xasprintf("dev%u", *n);

    assert_string_equal(dev->name, name);
    assert_int_equal(dev->tx_carrier, 15);
    free(name);
    ++*n;
}

/* What was read before counts, except the line that is cut off. */
static void
a_read_that_fails_is_told_and_not_repeated(void **state)
{
    enum { N = 200, PAGE = 4096 };
    struct fixture *f = *state;
    char *content = xmalloc(N * 64), *path;
    unsigned int n = 0;
    uint64_t value;
    size_t len = 0;

    for (int i = 0; i < N; i++) {
        len += sprintf(content + len, "dev%d:%s\n", i, COUNTS);
    }
    path = put_file(f, "dev", content);
    n_reads = 0;
    fail_from = 1;
    assert_int_equal(proc_net_dev_read(path, count_device, &n), EIO);
    assert_int_equal(n_reads, 1);
    assert_int_equal(n, 0);
    n_reads = 0;
    fail_from = 2;
    assert_int_equal(proc_net_dev_read(path, count_device, &n), EIO);
    assert_int_equal(n_reads, 2);
    content[PAGE] = '\0';
    for (const char *p = content; (p = strchr(p, '\n')); p++) {
        n--;
    }
    assert_int_equal(n, 0);
    free(content);
    free(path);

    /* A counter of its own. */
    free(put_file(f, "counter", "12\n"));
    int dirfd = open(f->path, O_RDONLY | O_DIRECTORY);
    n_reads = 0;
    fail_from = 1;
    assert_int_equal(sysfs_net_read(dirfd, "counter", &value), EIO);
    assert_int_equal(n_reads, 1);
    n_reads = fail_from = 0;
    interrupt_at = 1;
    assert_int_equal(sysfs_net_read(dirfd, "counter", &value), 0);
    interrupt_at = 0;
    assert_int_equal(n_reads, 2);
    assert_int_equal(value, 12);
    close(dirfd);
}

/* A page at a time, wherever in a line that ends. */
static void
a_large_file_takes_few_reads(void **state)
{
    enum { N = 2000, PAGE = 4096 };
    char *content = xmalloc(N * 64), *path;
    unsigned int n = 0;
    size_t len = 0;

    for (int i = 0; i < N; i++) {
        len += sprintf(content + len, "dev%d:%s\n", i, COUNTS);
    }

    /* The end of it has no newline. */
    content[--len] = '\0';
    path = put_file(*state, "dev", content);
    n_reads = 0;
    interrupt_at = 2;
    assert_int_equal(proc_net_dev_read(path, count_device, &n), 0);
    interrupt_at = 0;
    assert_int_equal(n, N);

    /* One that finds the end, and one that was interrupted. */
    assert_int_equal(n_reads, DIV_ROUND_UP(len, PAGE) + 2);
    free(content);
    free(path);
}

static void
a_line_without_end_is_skipped(void **state)
{
    char *content = xmalloc(20001), *path;
    unsigned int n = 0;

    memset(content, 'x', 20000);
    strcpy(content + 20000 - 60, "\ndev0:" COUNTS "\n");
    path = put_file(*state, "dev", content);
    assert_int_equal(proc_net_dev_read(path, count_device, &n), 0);
    assert_int_equal(n, 1);
    free(content);
    free(path);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        cmocka_unit_test(a_line_is_told_in_full),
        cmocka_unit_test(names_may_be_long_and_strange),
        cmocka_unit_test(numbers_may_be_huge),
        cmocka_unit_test(malformed_lines_are_refused),
        cmocka_unit_test(further_columns_are_accepted),
        TEST(a_file_is_read_and_malformed_lines_are_skipped),
        TEST(files_that_cannot_be_read_are_told),
        cmocka_unit_test(the_kernels_file_is_understood),
        TEST(the_device_meant_is_opened_and_no_other),
        TEST(hardware_addresses_of_other_lengths_are_others),
        TEST(malformed_sysfs_is_another_device),
        TEST(a_device_without_statistics_is_told),
        TEST(counters_are_read),
        TEST(no_descriptor_is_left),
        TEST(a_read_that_fails_is_told_and_not_repeated),
        TEST(a_large_file_takes_few_reads),
        TEST(a_line_without_end_is_skipped),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
