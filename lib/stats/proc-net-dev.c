/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "stats/proc-net-dev.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Fits a number in a sysfs file, or the longest hardware address. */
#define SYSFS_VALUE_SIZE 128

bool
proc_net_dev_parse(const char *line, struct proc_net_dev *dev)
{
    /* The receiving side's columns, then the sending side's.  Each side has a
     * column that counts compressed packets. */
    uint64_t *const columns[] = {
        &dev->rx_bytes, &dev->rx_packets, &dev->rx_errors, &dev->rx_drop,
        &dev->rx_fifo, &dev->rx_frame, NULL, &dev->multicast,
        &dev->tx_bytes, &dev->tx_packets, &dev->tx_errors, &dev->tx_drop,
        &dev->tx_fifo, &dev->collisions, &dev->tx_carrier, NULL,
    };
    const char *name = line + strspn(line, " ");
    const char *colon = strrchr(name, ':');

    memset(dev, 0, sizeof *dev);
    if (!colon || colon == name || colon - name >= sizeof dev->name) {
        return false;
    }
    memcpy(dev->name, name, colon - name);

    const char *p = colon + 1;
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        p += strspn(p, " ");
        if (*p < '0' || *p > '9') {
            return false;
        }

        char *end;
        errno = 0;
        unsigned long long int value = strtoull(p, &end, 10);
        if (errno || (*end && !strchr(" \n", *end))) {
            return false;
        }
        if (columns[i]) {
            *columns[i] = value;
        }
        p = end;
    }
    return true;
}

/* Bytes of a file that are read at once.  The kernel returns at most a page
 * each time; the C library would read a quarter of that, the size of a block
 * in /proc. */
#define PROC_READ_SIZE 4096

/* Parses the complete lines in the 'len' bytes at 'buf', and with 'end' also
 * an incomplete last one.  Returns the number of parsed bytes. */
static size_t
proc_net_dev_take(char *buf, size_t len, bool end, proc_net_dev_func *cb,
                  void *aux)
{
    struct proc_net_dev dev;
    char *line = buf, *newline;

    while (line < buf + len) {
        newline = memchr(line, '\n', buf + len - line);
        if (!newline && !end) {
            break;
        }
        newline = newline ? newline : buf + len;
        *newline = '\0';
        if (proc_net_dev_parse(line, &dev)) {
            cb(&dev, aux);
        }
        line = newline + 1;
    }
    return MIN(line - buf, len);
}

int
proc_net_dev_read(const char *path, proc_net_dev_func *cb, void *aux)
{
    char buf[2 * PROC_READ_SIZE + 1];
    size_t len = 0;
    int error = 0;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return errno;
    }
    do {
        n = read(fd, buf + len, PROC_READ_SIZE);
        if (n > 0) {
            len += n;
            size_t done = proc_net_dev_take(buf, len, false, cb, aux);

            /* No line from the kernel is that long. */
            done = len - done < PROC_READ_SIZE ? done : len;
            len -= done;
            memmove(buf, buf + done, len);
        } else if (n < 0 && errno != EINTR) {
            error = errno;
        }
    } while (n > 0 || (n < 0 && !error));
    if (!error) {
        proc_net_dev_take(buf, len, true, cb, aux);
    }
    close(fd);
    return error;
}

/* Reads the small file 'name' in 'dirfd' into 'buf', 'size' bytes, as a string
 * without the newline at its end. */
static int
sysfs_read(int dirfd, const char *name, char *buf, size_t size)
{
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0) {
        return errno;
    }
    do {
        n = read(fd, buf, size - 1);
    } while (n < 0 && errno == EINTR);
    int error = n < 0 ? errno : 0;
    close(fd);
    if (!error) {
        buf[n] = '\0';
        buf[strcspn(buf, "\n")] = '\0';
    }
    return error;
}

int
sysfs_net_read(int dirfd, const char *counter, uint64_t *value)
{
    char buf[SYSFS_VALUE_SIZE], *end;
    int error = sysfs_read(dirfd, counter, buf, sizeof buf);

    if (error) {
        return error;
    }
    errno = 0;
    *value = strtoull(buf, &end, 10);
    return errno ? errno : end == buf || *end ? EINVAL : 0;
}

/* True if 'dirfd' is the directory of the expected device. */
static bool
sysfs_net_is(int dirfd, int ifindex, const uint8_t *hwaddr, size_t hwaddr_len)
{
    char buf[SYSFS_VALUE_SIZE];
    struct ds address = DS_EMPTY_INITIALIZER;
    uint64_t value;
    bool same;

    if (ifindex <= 0 || sysfs_net_read(dirfd, "ifindex", &value)
        || value != (unsigned int) ifindex
        || sysfs_read(dirfd, "address", buf, sizeof buf)) {
        return false;
    }
    for (size_t i = 0; i < hwaddr_len; i++) {
        ds_put_format(&address, "%s%02"PRIx8, i ? ":" : "", hwaddr[i]);
    }
    same = !strcmp(buf, ds_cstr(&address));
    ds_destroy(&address);
    return same;
}

int
sysfs_net_open(const char *root, const char *name, int ifindex,
               const uint8_t *hwaddr, size_t hwaddr_len)
{
    char *path = xasprintf("%s/%s", root, name);
    int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = -ENODEV;

    free(path);
    if (dirfd < 0) {
        return -errno;
    }
    if (sysfs_net_is(dirfd, ifindex, hwaddr, hwaddr_len)) {
        fd = openat(dirfd, "statistics", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
            fd = -errno;
        }
    }
    close(dirfd);
    return fd;
}
