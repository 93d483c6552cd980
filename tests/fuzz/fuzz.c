/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *
fuzz_copy(const void *data, size_t size)
{
    void *copy = malloc(size ? size : 1);

    if (!copy) {
        abort();
    }
    if (size) {
        memcpy(copy, data, size);
    }
    return copy;
}

void
fuzz_touch(const void *data, size_t size)
{
    static volatile uint8_t sink;
    const uint8_t *bytes = data;

    for (size_t i = 0; i < size; i++) {
        sink ^= bytes[i];
    }
}

void
fuzz_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    abort();
}
