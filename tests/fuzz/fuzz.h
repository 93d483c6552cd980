/* SPDX-License-Identifier: Apache-2.0 */

#ifndef FUZZ_H
#define FUZZ_H 1

/* Fuzz harnesses
 * ==============
 *
 * One harness for each parser of bytes that the process does not trust.  It
 * defines the function that libFuzzer calls and a generator of seeds, from
 * which a fuzzer finds its way to the deeper parts of the parser.  It links
 * with libFuzzer ("make fuzz") and with fuzz-replay.c, which needs no special
 * compiler ("make check").
 *
 * Folder corpus/ has more seeds for some of the harnesses: what a real kernel
 * sent, which the parser has to accept. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Calls 'emit' for each seed. */
typedef void fuzz_emit_func(const char *name, const void *data, size_t size,
                            void *aux);
void fuzz_seeds(fuzz_emit_func *emit, void *aux);

/* Tells whether the parser accepts 'data'. */
bool fuzz_accepts(const uint8_t *data, size_t size);

/* Copy of 'data' in a block of memory of exactly that size, aligned for
 * netlink, so that an address sanitizer sees the first byte too many.  The
 * caller frees it. */
void *fuzz_copy(const void *data, size_t size);

/* Reads every one of the 'size' bytes at 'data'. */
void fuzz_touch(const void *data, size_t size);

/* Ends the process if CONDITION does not hold. */
#define fuzz_check(CONDITION)                                   \
    do {                                                        \
        if (!(CONDITION)) {                                     \
            fuzz_fail(__FILE__, __LINE__, #CONDITION);          \
        }                                                       \
    } while (0)
void fuzz_fail(const char *file, int line, const char *condition)
    __attribute__((noreturn));

#endif /* tests/fuzz/fuzz.h */
