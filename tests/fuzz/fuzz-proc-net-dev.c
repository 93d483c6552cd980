/* SPDX-License-Identifier: Apache-2.0 */

/* Parser of lines of /proc/net/dev: what it accepts has a name that fits and
 * numbers that, printed, are accepted again. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "stats/proc-net-dev.h"

/* Copy of 'data' as a string in a block of memory of just that size. */
static char *
copy_line(const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);

    if (!line) {
        abort();
    }
    if (size) {
        memcpy(line, data, size);
    }
    line[size] = '\0';
    return line;
}

static void
check_again(const struct proc_net_dev *dev)
{
    struct proc_net_dev again;
    char line[512];
    int n;

    n = snprintf(line, sizeof line, "%6s: %"PRIu64" %"PRIu64" %"PRIu64
                 " %"PRIu64" %"PRIu64" %"PRIu64" 0 %"PRIu64" %"PRIu64
                 " %"PRIu64" %"PRIu64" %"PRIu64" %"PRIu64" %"PRIu64
                 " %"PRIu64" 0\n", dev->name, dev->rx_bytes, dev->rx_packets,
                 dev->rx_errors, dev->rx_drop, dev->rx_fifo, dev->rx_frame,
                 dev->multicast, dev->tx_bytes, dev->tx_packets,
                 dev->tx_errors, dev->tx_drop, dev->tx_fifo, dev->collisions,
                 dev->tx_carrier);
    fuzz_check(n > 0 && (size_t) n < sizeof line);
    fuzz_check(proc_net_dev_parse(line, &again));
    fuzz_check(!memcmp(dev, &again, sizeof again));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = copy_line(data, size);
    struct proc_net_dev dev;

    /* What it does not fill in is not to look right by chance. */
    memset(&dev, 0xcc, sizeof dev);
    if (proc_net_dev_parse(line, &dev)) {
        size_t n = strnlen(dev.name, sizeof dev.name);

        fuzz_check(n > 0 && n < sizeof dev.name);
        check_again(&dev);
    }
    free(line);
    return 0;
}

bool
fuzz_accepts(const uint8_t *data, size_t size)
{
    char *line = copy_line(data, size);
    struct proc_net_dev dev;
    bool accepted = proc_net_dev_parse(line, &dev);

    free(line);
    return accepted;
}

void
fuzz_seeds(fuzz_emit_func *emit, void *aux)
{
    static const char *const lines[] = {
        "  eth0: 1500 10 0 0 0 0 0 3 3000 20 0 0 0 0 0 0\n",
        "fifteen-letters:18446744073709551615 1 2 3 4 5 6 7 8 9 10 11 12 13 "
        "14 15",
        " face |bytes    packets errs drop fifo frame compressed multicast|"
        "bytes    packets errs drop fifo colls carrier compressed\n",
        "    lo: 1 2 3\n",
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char name[16];

        snprintf(name, sizeof name, "line%zu", i);
        emit(name, lines[i], strlen(lines[i]), aux);
    }
}
